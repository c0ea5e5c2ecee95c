/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The EAL's command line. The control thread is EAL thread 0 and may run on all CPUs, or on those
 * with the role ctl. Each core is a pinned EAL thread. Nothing is shared with other DPDK processes,
 * so any number of weftds can run on a machine.
 */
#include "dpdk_app/eal.h"

#include <errno.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/eal_dir.h"
#include "dpdk_app/log.h"

enum {
	EAL_ARGS_MAX = 24 + 2 * CONF_MAX_NICS,
	EAL_TEXT_MAX = 2048,
};

struct eal_args {
	int argc;
	char *argv[EAL_ARGS_MAX];
	/* argv's strings: the EAL reorders argv and modifies some of them. */
	char *owned[EAL_ARGS_MAX];
};

uint32_t eal_cpus(int *cpu, uint32_t max)
{
	cpu_set_t set;
	uint32_t n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (int i = 0; i < CPU_SETSIZE && n < max; i++) {
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	}
	return n;
}

static bool hugepages_free(uint64_t bytes)
{
	static const struct {
		const char *path;
		uint64_t page_bytes;
	} sizes[] = {
	    {"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", 2 << 20},
	    {"/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", 1 << 30},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		FILE *file = fopen(sizes[i].path, "re");
		unsigned long long pages = 0;

		if (!file)
			continue;
		if (fscanf(file, "%llu", &pages) != 1)
			pages = 0;
		fclose(file);
		if (pages * sizes[i].page_bytes >= bytes)
			return true;
	}
	return false;
}

#ifdef __SANITIZE_ADDRESS__
/* Suppresses leaks of libbpf at exit, which are not weftd's. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libbpf.so\n";
}
#endif

static void add(struct eal_args *args, const char *text)
{
	if (args->argc < EAL_ARGS_MAX) {
		args->owned[args->argc] = strdup(text);
		args->argv[args->argc] = args->owned[args->argc];
		args->argc++;
	}
}

/* Returns the CPUs on which the control threads may run. */
static uint32_t control_cpus(const struct app *app, int *cpu, uint32_t max)
{
	const struct conf *conf = &app->conf;
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->num_cores; i++) {
		if (conf->core[i].role == CONF_ROLE_CTL)
			cpu[n++] = conf->core[i].cpu;
	}
	return n ? n : eal_cpus(cpu, max);
}

/*
 * DPDK's own threads may use the CPUs that this thread may use and no core has: restrict them to
 * these.
 */
static int pin_control(const struct app *app)
{
	int cpu[CPU_SETSIZE];
	uint32_t n = control_cpus(app, cpu, CPU_SETSIZE);
	cpu_set_t set;

	CPU_ZERO(&set);
	for (uint32_t i = 0; i < n; i++)
		CPU_SET(cpu[i], &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* Builds "0@(0,1),1@2,2@3": EAL thread number at CPUs. */
static void add_lcores(struct eal_args *args, const struct app *app)
{
	int cpu[CPU_SETSIZE];
	uint32_t n = control_cpus(app, cpu, CPU_SETSIZE);
	char text[EAL_TEXT_MAX * 2];
	size_t used = 0;

	used += (size_t)snprintf(text, sizeof(text), "0@(");
	for (uint32_t i = 0; i < n && used < EAL_TEXT_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? "," : "",
					 cpu[i]);
	used += (size_t)snprintf(text + used, sizeof(text) - used, ")");
	for (uint32_t i = 0; i < app->num_cores; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ",%u@%d",
					 app->core[i]->lcore, app->core[i]->cpu);
	add(args, "--lcores");
	add(args, text);
}

/*
 * Prefix of DPDK's directory, which holds the telemetry socket. It is the same at each start, so
 * that leftovers of a killed weftd are found. The NIC locks ensure that run directory and name
 * belong to one process.
 */
static void file_prefix(const struct app *app, char *prefix, size_t bytes)
{
	const char *dir = app->conf.run_dir;
	uint32_t hash = 2166136261u; /* FNV-1a */

	if (!strcmp(dir, HW_SOCKET_DIR)) {
		snprintf(prefix, bytes, "weftd-%s", app->conf.name);
		return;
	}
	for (; *dir; dir++)
		hash = (hash ^ (uint8_t)*dir) * 16777619u;
	snprintf(prefix, bytes, "weftd-%s-%08x", app->conf.name, hash);
}

/* Returns the parent of DPDK's directory, after runtime_dir() has ensured that it exists. */
static const char *runtime_parent(void)
{
	const char *dir = getenv("RUNTIME_DIRECTORY");

	if (!dir)
		dir = getuid() ? getenv("XDG_RUNTIME_DIR") : "/var/run";
	return dir ? dir : "/var/run";
}

/*
 * For a user without a private runtime directory, DPDK would use /tmp, where another user could
 * have created the directory before. Use the run directory instead. Returns false if the path of
 * the telemetry socket would be too long.
 */
static bool runtime_dir(const struct app *app)
{
	char prefix[96], path[512];
	const char *dir = getenv("RUNTIME_DIRECTORY");

	if (getuid() && !dir && !getenv("XDG_RUNTIME_DIR"))
		setenv("RUNTIME_DIRECTORY", app->conf.run_dir, 1);
	file_prefix(app, prefix, sizeof(prefix));
	return (size_t)snprintf(path, sizeof(path), "%s/dpdk/%s/dpdk_telemetry.v2:1",
				runtime_parent(),
				prefix) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

/* A card whose DMA is not translated takes physical addresses: DPDK has those of hugepages. */
static int hugepages_wanted(const struct app *app, uint64_t bytes)
{
	for (uint32_t i = 0; !app->hugepages && i < app->num_nics; i++) {
		if (!app->nic[i].card_physical)
			continue;
		log_error("--port pci:%s: without an IOMMU it needs %llu MiB in free hugepages: "
			  "echo %llu > /proc/sys/vm/nr_hugepages",
			  app->nic[i].conf->device, (unsigned long long)(bytes >> 20) + 1,
			  (unsigned long long)(bytes >> 21) + 1);
		return -ENOMEM;
	}
	return 0;
}

int eal_start(struct app *app, uint64_t bytes, uint64_t spare_bytes)
{
	static struct eal_args args; /* the EAL keeps pointers to it */
	char text[96];
	bool pci = false;
	int n, swept;

	add(&args, "weftd");
	add_lcores(&args, app);
	file_prefix(app, text, sizeof(text));
	add(&args, "--file-prefix");
	add(&args, text);
	for (uint32_t i = 0; i < app->conf.num_nics; i++) {
		if (app->conf.nic[i].wire != CONF_WIRE_PCI)
			continue;
		pci = true;
		add(&args, "-a");
		add(&args, app->conf.nic[i].device);
	}
	if (!pci) {
		add(&args, "--no-pci");
		/* AF_XDP needs contiguous pools; no device needs physical addresses. */
		add(&args, "--iova-mode");
		add(&args, "va");
	}
	app->hugepages = hugepages_free(bytes);
	n = hugepages_wanted(app, bytes);
	if (n)
		return n;
	if (app->hugepages) {
		add(&args, "--in-memory");
	} else {
		add(&args, "--no-huge");
		add(&args, "--no-shconf");
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)((bytes + spare_bytes) >> 20) + 1);
		add(&args, "-m");
		add(&args, text);
	}
	if (!runtime_dir(app)) {
		log_verbose("the run directory's path is too long for DPDK's telemetry");
		add(&args, "--no-telemetry");
	}
	add(&args, "--log-level");
	add(&args, app->conf.verbose ? "info" : "error");
	n = pin_control(app);
	if (n < 0) {
		log_error("--cores: the control threads cannot be bound to their CPUs: %s",
			  strerror(-n));
		return n;
	}
	swept = eal_dir_sweep(runtime_parent());
	n = rte_eal_init(args.argc, args.argv);
	eal_dir_hold(swept, rte_eal_get_runtime_dir());
	if (n < 0) {
		log_error("DPDK cannot start: %s; --verbose shows its own messages",
			  rte_strerror(rte_errno));
		return -rte_errno;
	}
	/* DPDK would also log to syslog, by system calls that a core may not make. */
	(void)rte_openlog_stream(stderr);
	return 0;
}

void eal_end(void)
{
	char path[512];

	/* The directory's name contains the file prefix. */
	snprintf(path, sizeof(path), "%s/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
	rte_eal_cleanup();
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}
