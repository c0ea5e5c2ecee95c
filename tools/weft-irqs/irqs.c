/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session of counting: loads weft_irqs.bpf.c for the running kernel, names the processes, starts.
 *
 * Calls libbpf and irqs_read.c. The programs are tried as tp_btf first, then as raw tracepoints.
 * Optional tracepoints that a kernel lacks are left out.
 */
#include "tools/weft-irqs/irqs_private.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Kind of the loaded program of a tracepoint. */
enum irqs_kind {
	IRQS_TP_BTF,
	IRQS_RAW_TP,
	IRQS_KINDS,
};

static const char *const kind_prefix[IRQS_KINDS] = {
    [IRQS_TP_BTF] = "tp_btf/",
    [IRQS_RAW_TP] = "raw_tp/",
};

/* Optional: without these a kernel still reports the rest. */
static const char *const optional[IRQS_OPTIONAL] = {
    "irq_handler_entry",   "irq_handler_exit", "hrtimer_expire_entry",
    "hrtimer_expire_exit", "napi_poll",
};

int irqs_fail(struct irqs *irqs, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(irqs->message, irqs->message_bytes, fmt, ap);
	va_end(ap);
	return rc;
}

static int print_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static int print_stderr(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, fmt, ap);
}

/*
 * ---- features of the kernel -------------------------------------------------------------------
 */

/* Pids in the kernel's tracepoints are those of the first namespace. */
static bool in_first_pid_namespace(void)
{
	static const ino_t first = 0xeffffffc; /* PROC_PID_INIT_INO of linux/proc_ns.h */
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == first;
}

/* Finds the type to which btf_trace_NAME points; NULL: no such tracepoint. */
static const struct btf_type *tracepoint_type(const struct btf *btf, const char *name)
{
	const struct btf_type *type;
	char typedef_name[64];
	int id;

	snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return NULL;
	type = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	return type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
}

static bool is_optional(const char *tracepoint)
{
	for (uint32_t i = 0; i < IRQS_OPTIONAL; i++)
		if (!strcmp(tracepoint, optional[i]))
			return true;
	return false;
}

/* Selects programs of one kind, if their tracepoints exist, for loading. */
static int choose_programs(struct irqs *irqs, const struct btf *btf, enum irqs_kind kind)
{
	size_t prefix = strlen(kind_prefix[kind]);
	const char *section, *tracepoint;
	struct bpf_program *program;

	irqs->num_missing = 0;
	bpf_object__for_each_program(program, irqs->skel->obj)
	{
		section = bpf_program__section_name(program);
		if (!strcmp(section, "raw_tp")) { /* flush() is run, not attached */
			bpf_program__set_autoattach(program, false);
			continue;
		}
		bpf_program__set_autoload(program, false);
		if (strncmp(section, kind_prefix[kind], prefix) != 0)
			continue;
		tracepoint = section + prefix;
		if (tracepoint_type(btf, tracepoint)) {
			bpf_program__set_autoload(program, true);
			continue;
		}
		if (!is_optional(tracepoint))
			return irqs_fail(irqs, -EOPNOTSUPP, "this kernel has no tracepoint %s",
					 tracepoint);
		for (uint32_t i = 0; i < IRQS_OPTIONAL; i++)
			if (!strcmp(tracepoint, optional[i]))
				irqs->missing[irqs->num_missing++] = optional[i];
	}
	return 0;
}

static void set_constants(struct irqs *irqs, const struct btf *btf, const struct irqs_options *o)
{
	const struct btf_type *type = tracepoint_type(btf, "sched_switch");

	irqs->skel->rodata->all_processes = o->all;
	irqs->skel->rodata->num_names = o->num_names;
	for (uint32_t i = 0; i < o->num_names; i++)
		snprintf((char *)irqs->skel->rodata->names[i], IRQS_NAME, "%s", o->names[i]);
	/* void *data, bool, two tasks, and since 5.18 the state */
	irqs->skel->rodata->switch_has_state = type && btf_vlen(type) >= 5;
}

/* ---- loading -------------------------------------------------------------------------------- */

static int load_kind(struct irqs *irqs, const struct btf *btf, enum irqs_kind kind)
{
	int rc;

	irqs->skel = weft_irqs__open();
	if (!irqs->skel)
		return irqs_fail(irqs, -errno, "cannot open the BPF programs: %s", strerror(errno));
	rc = choose_programs(irqs, btf, kind);
	if (rc == 0) {
		set_constants(irqs, btf, &irqs->options);
		rc = weft_irqs__load(irqs->skel);
		if (rc)
			irqs_fail(irqs, rc, "the kernel refuses the BPF programs: %s",
				  strerror(-rc));
	}
	if (rc) {
		weft_irqs__destroy(irqs->skel);
		irqs->skel = NULL;
	}
	return rc;
}

static bool is_locked_down(void)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char text[128] = "";

	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return strstr(text, "[confidentiality]") != NULL;
}

static int load(struct irqs *irqs)
{
	struct btf *btf;
	int rc;

	if (access("/sys/kernel/btf/vmlinux", F_OK))
		return irqs_fail(
		    irqs, -EOPNOTSUPP,
		    "this kernel does not describe its types (/sys/kernel/btf/vmlinux, "
		    "CONFIG_DEBUG_INFO_BTF)");
	if (is_locked_down())
		return irqs_fail(
		    irqs, -EPERM,
		    "this kernel is locked down (confidentiality): BPF may not read it");
	if (!in_first_pid_namespace())
		return irqs_fail(
		    irqs, -EOPNOTSUPP,
		    "this is a namespace of pids of its own: run it outside the container");
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return irqs_fail(irqs, -errno, "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	rc = irqs->options.raw ? -EOPNOTSUPP : load_kind(irqs, btf, IRQS_TP_BTF);
	if (rc && (rc != -EPERM || !geteuid()))
		rc = load_kind(irqs, btf, IRQS_RAW_TP);
	btf__free(btf);
	if (rc == -EPERM && geteuid())
		irqs_fail(irqs, rc, "counting needs root, or CAP_BPF and CAP_PERFMON");
	return rc;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* A line of /proc/PID/status; false: no such process, or line. */
static bool status_line(pid_t pid, const char *key, char *value, size_t bytes)
{
	char path[64], line[256];
	size_t length = strlen(key);
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, length) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(value, bytes, "%s", line + length + strspn(line + length, " \t"));
		found = true;
	}
	fclose(f);
	return found;
}

/* Gives the process a slot as select_process() of weft_irqs.bpf.c does. */
static int select_pid(struct irqs *irqs, uint32_t pid, const char *comm)
{
	struct irqs_proc_ref ref = {0}, old;
	struct irqs_proc proc = {.pid = pid};
	int rc;

	if (!bpf_map_lookup_elem(bpf_map__fd(irqs->skel->maps.procs), &pid, &old))
		return 0;
	ref.slot = __atomic_fetch_add(&irqs->skel->data->slots_used, 1, __ATOMIC_RELAXED);
	if (ref.slot >= IRQS_SLOTS) {
		ref.slot = IRQS_SLOT_OTHERS;
		__atomic_fetch_add(&irqs->skel->bss->lost.processes, 1, __ATOMIC_RELAXED);
	} else {
		snprintf(proc.comm, sizeof(proc.comm), "%s", comm);
		rc = bpf_map_update_elem(bpf_map__fd(irqs->skel->maps.slots), &ref.slot, &proc,
					 BPF_ANY);
		if (rc)
			return rc;
	}
	return bpf_map_update_elem(bpf_map__fd(irqs->skel->maps.procs), &pid, &ref, BPF_ANY);
}

int irqs_add_pid(struct irqs *irqs, pid_t pid)
{
	char comm[IRQS_NAME], tgid[16];
	int rc;

	if (pid <= 0 || !status_line(pid, "Name:", comm, sizeof(comm)) ||
	    !status_line(pid, "Tgid:", tgid, sizeof(tgid)))
		return irqs_fail(irqs, -ESRCH, "there is no process %d", (int)pid);
	rc = select_pid(irqs, (uint32_t)strtoul(tgid, NULL, 10), comm);
	if (rc)
		return irqs_fail(irqs, rc, "process %d: %s", (int)pid, strerror(-rc));
	/* It may be running on some processor, which counted it as another's until now. */
	return irqs->started ? irqs_flush(irqs) : 0;
}

static bool is_wanted(const struct irqs_options *o, const char *comm)
{
	for (uint32_t i = 0; i < o->num_names; i++)
		if (!strcmp(o->names[i], comm))
			return true;
	return false;
}

static int add_named(struct irqs *irqs)
{
	char comm[IRQS_NAME];
	struct dirent *entry;
	int rc = 0;
	DIR *dir;

	if (!irqs->options.num_names)
		return 0;
	dir = opendir("/proc");
	if (!dir)
		return irqs_fail(irqs, -errno, "/proc: %s", strerror(errno));
	while (rc == 0 && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !status_line(pid, "Name:", comm, sizeof(comm)) ||
		    !is_wanted(&irqs->options, comm))
			continue;
		rc = irqs_add_pid(irqs, pid);
		if (rc == -ESRCH) /* it has just ended */
			rc = 0;
	}
	closedir(dir);
	return rc;
}

static int check_options(struct irqs *irqs, const struct irqs_options *o)
{
	if (o->num_names > IRQS_NAMES)
		return irqs_fail(irqs, -EINVAL, "at most %d names of processes", (int)IRQS_NAMES);
	for (uint32_t i = 0; i < o->num_names; i++)
		if (!*o->names[i] || strlen(o->names[i]) >= IRQS_NAME)
			return irqs_fail(irqs, -EINVAL,
					 "'%s' is no name of a process: the kernel keeps 1 to %d "
					 "characters",
					 o->names[i], (int)IRQS_NAME - 1);
	return 0;
}

int irqs_open(struct irqs **out, const struct irqs_options *options, char *message,
	      size_t message_bytes)
{
	struct irqs *irqs = calloc(1, sizeof(*irqs));
	int rc;

	*out = NULL;
	if (!irqs) {
		snprintf(message, message_bytes, "out of memory");
		return -ENOMEM;
	}
	irqs->options = *options;
	irqs->message = message;
	irqs->message_bytes = message_bytes;
	irqs->num_cpus = libbpf_num_possible_cpus();
	libbpf_set_print(options->verbose ? print_stderr : print_nothing);
	rc = check_options(irqs, options);
	if (rc == 0)
		rc = load(irqs);
	for (uint32_t i = 0; rc == 0 && i < options->num_pids; i++)
		rc = irqs_add_pid(irqs, options->pids[i]);
	if (rc == 0)
		rc = add_named(irqs);
	if (rc) {
		irqs_close(irqs);
		return rc;
	}
	*out = irqs;
	return 0;
}

/* ---- starting ------------------------------------------------------------------------------- */

int irqs_flush(struct irqs *irqs)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int rc;

	run.flags = BPF_F_TEST_RUN_ON_CPU;
	for (int cpu = 0; cpu < irqs->num_cpus; cpu++) {
		run.cpu = (uint32_t)cpu;
		rc = bpf_prog_test_run_opts(bpf_program__fd(irqs->skel->progs.flush), &run);
		if (rc && rc != -ENXIO) /* offline */
			return irqs_fail(irqs, rc, "cannot read what processor %d runs: %s%s", cpu,
					 strerror(-rc),
					 rc == -EINVAL ? " (a kernel of 5.12 or later can)" : "");
	}
	return 0;
}

int irqs_start(struct irqs *irqs)
{
	int rc;

	if (!irqs->started) {
		rc = weft_irqs__attach(irqs->skel);
		if (rc)
			return irqs_fail(irqs, rc,
					 "the kernel refuses to attach the BPF programs: %s",
					 strerror(-rc));
		irqs->started = true;
	}
	irqs_report_free(irqs->base);
	irqs->base = NULL;
	return irqs_snapshot(irqs, &irqs->base);
}

void irqs_close(struct irqs *irqs)
{
	if (!irqs)
		return;
	if (irqs->skel)
		weft_irqs__destroy(irqs->skel);
	irqs_report_free(irqs->base);
	free(irqs);
}
