/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd: software RDMA NICs on poll-mode cores.
 *
 * Start: arguments, locks, DPDK, NICs, cores, sockets, "ready". Then the control thread serves
 * (control.c) and the cores poll (lcore.c) until a signal. Shutdown runs in reverse order. Calls
 * all of dpdk_app.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/app.h"
#include "dpdk_app/check.h"
#include "dpdk_app/client/client.h"
#include "dpdk_app/control/capture_conf.h"
#include "dpdk_app/control/change.h"
#include "dpdk_app/control/control.h"
#include "dpdk_app/eal.h"
#include "dpdk_app/firmware.h"
#include "dpdk_app/runner.h"
#include "dpdk_app/power.h"
#include "dpdk_app/sleep.h"
#include "dpdk_app/lcore.h"
#include "dpdk_app/log.h"
#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/nic.h"
#include "dpdk_app/client/notify.h"
#include "dpdk_app/client/populate.h"
#include "dpdk_app/native.h"
#include "dpdk_app/opener.h"
#include "dpdk_app/privilege.h"
#include "dpdk_app/rings.h"
#include "dpdk_app/sandbox.h"
#include "dpdk_app/control/telemetry.h"
#include "dpdk_app/client/user.h"
#include "dpdk_app/wire/list_ports.h"
#include "dpdk_app/wire/pci_card.h"
#include "dpdk_app/wire/wire.h"
#include "dpdk_app/tsan.h"

enum {
	EXIT_USAGE = 2,
};

/* Every event queue of every process needs a descriptor. */
static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	/* Some kernels charge AF_XDP's memory to this limit. */
	limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
	(void)setrlimit(RLIMIT_MEMLOCK, &limit);
}

static int make_rings(struct app *app)
{
	app->done = rings_new("done", MSG_DONE_RING);
	if (!app->done)
		return -ENOMEM;
	for (uint32_t i = 0; i < app->num_cores; i++) {
		char name[RTE_RING_NAMESIZE];

		snprintf(name, sizeof(name), "msgs_%u", i);
		app->core[i]->msgs = rings_new(name, MSG_CORE_RING);
		if (!app->core[i]->msgs)
			return -ENOMEM;
	}
	return 0;
}

static int start_cores(struct app *app)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < app->num_cores; i++) {
		struct core *core = app->core[i];

		if (core->num_shards)
			err = irq_init(&core->irqs);
		power_init(core);
		if (!err)
			err = sleep_init(core);
	}
	for (uint32_t i = 0; !err && i < app->num_cores; i++) {
		TSAN_RELEASE(app->core[i]);
		runner_start(app->core[i]);
		err = rte_eal_remote_launch(lcore_main, app->core[i], app->core[i]->lcore);
	}
	return err;
}

/* Formats the CPUs of a NIC's shards: "1, 3 (coll)". */
static const char *shard_cpus(const struct nic *nic, char *text, size_t bytes)
{
	size_t used = 0;

	for (uint32_t i = 0; i < nic->num_shards && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%d%s", i ? ", " : "",
					 nic->shard[i].core->cpu,
					 i >= nic->num_shards - nic->num_coll ? " (coll)" : "");
	return text;
}

static void say_ready(const struct app *app)
{
	char last[sizeof(app->nic[0].name) + 4] = "";

	for (uint32_t i = 0; i < app->num_nics; i++) {
		const struct nic *nic = &app->nic[i];
		char ip[INET_ADDRSTRLEN], cpus[128];

		inet_ntop(AF_INET, &nic->conf->ip, ip, sizeof(ip));
		log_nic_verbose(nic->name, "%s/%u, MTU %u, %u shard%s on CPU%s %s, %s", ip,
				nic->conf->ip_prefix, nic->mtu, nic->num_shards,
				nic->num_shards == 1 ? "" : "s", nic->num_shards == 1 ? "" : "s",
				shard_cpus(nic, cpus, sizeof(cpus)), nic->wire->how);
		if (nic->conf->wire != CONF_WIRE_SWITCH && !app->conf.verbose)
			log_nic_info(nic->name, "%s/%u on %s", ip, nic->conf->ip_prefix,
				     nic->wire->how);
	}
	log_verbose("CRC32C by %s, %s", accel_name(),
		    app->hugepages ? "hugepages" : "ordinary memory");
	if (app->num_nics > 1)
		snprintf(last, sizeof(last), " to %s", app->nic[app->num_nics - 1].name);
	printf("weftd: ready: %u NIC%s, %s%s, in %s; %u core%s, process %d\n", app->num_nics,
	       app->num_nics == 1 ? "" : "s", app->nic[0].name, last, app->conf.run_dir,
	       app->num_cores, app->num_cores == 1 ? "" : "s", (int)getpid());
	fflush(stdout);
	notify_send("READY=1");
}

/* Packets and tables are allocated by now: the remaining memory is for processes. */
static void share_out(const struct app *app)
{
	const struct user_tables tables = user_find_tables();

	user_init(&app->conf.quota, &tables);
	log_verbose("for processes: %llu descriptors, %llu MiB of queues",
		    (unsigned long long)tables.descriptors,
		    (unsigned long long)(tables.bytes >> 20));
}

/* Drops the rights that are needed only for the start, before a core reads the first frame. */
static int give_up_rights(const struct app *app)
{
	int err;

	hostcopy_allow();
	if (app->conf.keep_port_rights) {
		err = opener_start();
		if (err)
			return err;
	}
	err = privilege_drop(privilege_needed(app));
	if (err || app->conf.no_seccomp)
		return err;
	err = sandbox_process(app->conf.keep_port_rights);
	if (err)
		log_error("system calls cannot be filtered: %s; --seccomp off disables the filter",
			  strerror(-err));
	return err;
}

/* Runs everything that needs DPDK; returns when weftd must end. */
static int serve(struct app *app)
{
	bool running = false;
	int err = make_rings(app);

	if (!err)
		err = nic_open_all(app);
	if (!err)
		err = telemetry_init(app);
	if (!err)
		share_out(app);
	if (!err)
		err = nic_listen_all(app);
	if (!err)
		err = runner_create(app);
	if (!err)
		err = give_up_rights(app);
	if (!err)
		err = populate_init(app);
	if (!err)
		err = start_cores(app);
	running = !err;
	if (!err) {
		capture_conf_begin(app);
		say_ready(app);
		err = control_run(app);
		notify_send("STOPPING=1");
	}
	if (running) {
		control_stop_cores(app);
		rte_eal_mp_wait_lcore();
		for (uint32_t i = 0; i < app->num_cores; i++)
			TSAN_ACQUIRE(app->core[i]);
		populate_end();
		control_drop_messages(app);
	}
	client_free_all();
	nic_close_all(app);
	return err;
}

int main(int argc, char **argv)
{
	static struct app app;
	char error[CONF_ERROR_CHARS];
	bool started;
	int err;

	switch (args_parse(argc, argv, &app.conf, error)) {
	case ARGS_DONE:
		return EXIT_SUCCESS;
	case ARGS_WRONG:
		if (check_requested(argc, argv, &app.conf))
			return check_run(&app.conf, error);
		log_error("%s", error);
		return EXIT_USAGE;
	case ARGS_RUN:
		break;
	}
	if (app.conf.check)
		return check_run(&app.conf, "");
	if (app.conf.list_ports)
		return list_ports(stdout, PCI_CARD_SYS, PCI_CARD_DEV) ? EXIT_FAILURE : EXIT_SUCCESS;
	log_set_level(app.conf.verbose ? LOG_LEVEL_DEBUG : (enum log_level)app.conf.log_level);
	if (log_set_format((enum log_format)app.conf.log_format))
		return EXIT_FAILURE;
	change_init(&app, argc, argv);
	app.run_fd = -1;
	accel_init();
	raise_limits();
	err = privilege_begin(&app.conf);
	if (!err && *app.conf.log)
		err = log_open(app.conf.log);
	/* Before there are threads, descriptors of use to it, or a filter of system calls. */
	if (!err && !app.conf.no_native_ops)
		native_start(!app.conf.no_seccomp);
	if (!err)
		firmware_start(!app.conf.no_seccomp);
	if (!err)
		err = control_init(&app);
	if (!err)
		err = hostmem_init(app.control_fd);
	if (!err)
		err = nic_plan(&app);
	if (!err)
		err = nic_lock_all(&app);
	if (!err)
		err = eal_start(&app, nic_memory_bytes(&app), nic_spare_bytes(&app));
	started = !err;
	if (started) {
		err = serve(&app);
		for (uint32_t i = 0; i < app.num_cores; i++)
			sleep_close(app.core[i]);
		eal_end();
	}
	nic_unlock_all(&app);
	for (uint32_t i = 0; i < app.num_cores; i++)
		free(app.core[i]);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
