/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Target device: two NICs of a running weftd, a blocking process on each (dev_end.c).
 *
 * Settings go to all vectors of both NICs, as ESPGOAL set both nodes. open() reads the initial
 * settings of each vector of each NIC, and restore() puts them back. The processes are made at the
 * first measurement, and again when one of them has died. Interrupts are those that the NICs
 * counted (HW_CMD_VECTOR). Processor time is that of the two processes, by the kernel's account or
 * by weft-irqs (dev_host.c); the work of weftd to wake them is on its own cores. Calls libweft as a
 * tool.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_driver/weft.h"
#include "shared_defs/hw_limits.h"
#include "tools/weft-measure/dev_end.h"
#include "tools/weft-measure/dev_host.h"

enum {
	ENDS = 2,
	PING_REPEATS = 1000,
	PING_LEAST = 50, /* which also show how long one takes */
	PING_WARMUP = 20,
	PING_MS = 400, /* for all of them, where messages wait long */
	BULK_1_REPEATS = 20,
	BULK_10_REPEATS = 4,
	CHUNK_BYTES = 4096,
	BLOCK = 32,
	STREAM_BYTES = 65536,
	STREAM_REPEATS = 2000,
	STREAM_LEAST = 100,
	STREAM_WARMUP = 50,
	STREAM_WINDOW = 64,
	LOOK_MS = 50,     /* between looks at *stop */
	LIMIT_MS = 30000, /* a load that does not end is an error */
};

struct nic {
	char name[32];
	struct weft_context *context; /* a tool's */
	uint32_t num_vectors;
	struct weft_coalesce initial[HW_NUM_VECTORS];
	bool changed;
};

struct child {
	pid_t pid; /* 0: none */
	int fd;
	struct dev_shared *shared;
};

struct tune_target {
	struct nic nic[ENDS];
	struct child child[ENDS];
	struct dev_host host;
	char what[768];
};

/* ---- NICs ------------------------------------------------------------------------------------ */

static int open_nic(struct nic *nic, char *error)
{
	struct weft_device_attr attr;
	uint32_t v;
	int rc;

	nic->context = weft_open_tool(nic->name);
	if (!nic->context)
		return tune_error(error, -errno, "%s: %s (weftctl list names the NICs)", nic->name,
				  strerror(errno));
	rc = weft_query_device(nic->context, &attr);
	nic->num_vectors = attr.num_vectors < HW_NUM_VECTORS ? attr.num_vectors : HW_NUM_VECTORS;
	for (v = 0; v < nic->num_vectors && !rc; v++)
		rc = weft_query_coalesce(nic->context, v, &nic->initial[v], NULL);
	if (rc)
		return tune_error(error, rc, "%s: its settings cannot be read: %s", nic->name,
				  strerror(-rc));
	return 0;
}

static int set_nic(struct nic *nic, const struct weft_coalesce *coalesce, char *error)
{
	int rc = weft_set_coalesce(nic->context, WEFT_COALESCE_ALL_VECTORS, WEFT_COALESCE_SET_ALL,
				   coalesce);

	nic->changed = true;
	if (rc == -EPERM)
		return tune_error(error, rc, "%s: only root and weftd's own user may set it",
				  nic->name);
	if (rc == -EIO)
		return tune_error(error, rc, "%s: weftd has ended", nic->name);
	return rc ? tune_error(error, rc, "%s: the setting was refused: %s", nic->name,
			       strerror(-rc))
		  : 0;
}

static int restore_nic(struct nic *nic, char *error)
{
	uint32_t v;
	int rc = 0;

	if (!nic->changed)
		return 0;
	for (v = 0; v < nic->num_vectors && !rc; v++)
		rc = weft_set_coalesce(nic->context, v, WEFT_COALESCE_SET_ALL, &nic->initial[v]);
	if (rc)
		return tune_error(error, rc, "%s: the initial settings could not be put back: %s",
				  nic->name, rc == -EIO ? "weftd has ended" : strerror(-rc));
	nic->changed = false;
	return 0;
}

static uint64_t interrupts(const struct nic *nic)
{
	struct weft_vector counters;
	uint64_t sum = 0;
	uint32_t v;

	for (v = 0; v < nic->num_vectors; v++) {
		if (!weft_query_vector(nic->context, v, WEFT_COALESCE_ALL_SHARDS, &counters))
			sum += counters.interrupts;
	}
	return sum;
}

/* The NIC behind this one in the list, or before it: another of the same weftd, most likely. */
static int other_nic(const char *name, char *other, size_t bytes, char *error)
{
	struct weft_device *list;
	int n = weft_get_device_list(&list), i, at = -1;

	for (i = 0; i < n; i++) {
		if (!strcmp(list[i].name, name))
			at = i;
	}
	if (n > 1 && at >= 0)
		snprintf(other, bytes, "%s", list[(at + 1) % n].name);
	if (n > 0)
		weft_free_device_list(list);
	if (at < 0)
		return tune_error(error, -ENODEV, "there is no NIC '%s' (weftctl list)", name);
	if (n < 2)
		return tune_error(error, -ENODEV,
				  "%s is alone: measuring takes two NICs (weftd --nics 2)", name);
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void reap(struct child *child)
{
	if (!child->pid)
		return;
	close(child->fd);
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
}

static void reap_all(struct tune_target *target)
{
	uint32_t i;

	for (i = 0; i < ENDS; i++)
		reap(&target->child[i]);
}

static int spawn(struct tune_target *target, uint32_t i, char *error)
{
	struct child *child = &target->child[i];
	struct dev_shared *s = child->shared;
	pid_t parent = getpid();
	int fds[2];

	memset(s, 0, sizeof(*s));
	s->is_a = i == 0;
	s->cpu = dev_cpu_for(target->nic[i].name, i);
	snprintf(s->device, sizeof(s->device), "%s", target->nic[i].name);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return tune_error(error, -errno, "socketpair: %s", strerror(errno));
	child->pid = fork();
	if (child->pid < 0) {
		child->pid = 0;
		close(fds[0]);
		close(fds[1]);
		return tune_error(error, -errno, "fork: %s", strerror(errno));
	}
	if (!child->pid) {
		/* The target ends it, in its turn; it dies with the target in any case. */
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		if (i && target->child[0].pid)
			close(target->child[0].fd);
		_exit(getppid() == parent ? dev_end_main(fds[1], s) : 1);
	}
	close(fds[1]);
	child->fd = fds[0];
	return 0;
}

/* Reports the last error of a process that has ended. */
static int ended(struct tune_target *target, uint32_t i, char *error)
{
	const struct dev_shared *s = target->child[i].shared;

	if (s->error[0])
		return tune_error(error, -EPIPE, "%s", s->error);
	return tune_error(error, -EPIPE, "the process on %s has died", target->nic[i].name);
}

/* The next word of either end into word and *from. -EPIPE, -EINTR, -ETIMEDOUT. */
static int hear(struct tune_target *target, const volatile bool *stop, uint32_t *from,
		enum dev_word *word, char *error)
{
	struct pollfd fds[ENDS];
	uint32_t i, waited_ms;
	uint8_t byte;

	for (i = 0; i < ENDS; i++)
		fds[i] = (struct pollfd){.fd = target->child[i].fd, .events = POLLIN};
	for (waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += LOOK_MS) {
		if (*stop)
			return tune_error(error, -EINTR, "stopped");
		if (poll(fds, ENDS, LOOK_MS) <= 0)
			continue;
		for (i = 0; i < ENDS; i++) {
			if (!fds[i].revents)
				continue;
			*from = i;
			if (recv(fds[i].fd, &byte, 1, MSG_DONTWAIT) != 1)
				return ended(target, i, error);
			*word = (enum dev_word)byte;
			return *word == DEV_FAILED ? ended(target, i, error) : 0;
		}
	}
	return tune_error(error, -ETIMEDOUT, "%s and %s: nothing has moved for %u s",
			  target->nic[0].name, target->nic[1].name, LIMIT_MS / 1000);
}

/* Waits until the ends of the mask have said the word. */
static int expect(struct tune_target *target, const volatile bool *stop, uint32_t mask,
		  enum dev_word want, char *error)
{
	enum dev_word word = want;
	uint32_t from = 0;
	int rc = 0;

	while (mask && !rc) {
		rc = hear(target, stop, &from, &word, error);
		if (!rc && (word != want || !(mask >> from & 1)))
			rc = tune_error(error, -EPROTO, "the process on %s said %d",
					target->nic[from].name, (int)word);
		if (!rc)
			mask &= ~(UINT32_C(1) << from);
	}
	return rc;
}

static int tell(struct tune_target *target, uint32_t i, enum dev_word word, char *error)
{
	uint8_t byte = (uint8_t)word;

	if (send(target->child[i].fd, &byte, 1, MSG_NOSIGNAL) == 1)
		return 0;
	return ended(target, i, error);
}

static int start_ends(struct tune_target *target, const volatile bool *stop, char *error)
{
	uint32_t i;
	int rc = 0;

	if (target->child[0].pid && target->child[1].pid)
		return 0;
	reap_all(target);
	for (i = 0; i < ENDS && !rc; i++)
		rc = spawn(target, i, error);
	if (!rc)
		rc = expect(target, stop, (1u << ENDS) - 1, DEV_READY, error);
	for (i = 0; i < ENDS && !rc; i++) {
		target->child[i].shared->peer_ip = target->child[!i].shared->ip;
		target->child[i].shared->peer_qpn = target->child[!i].shared->qpn;
		rc = tell(target, i, DEV_CONNECT, error);
	}
	return rc ? rc : expect(target, stop, (1u << ENDS) - 1, DEV_RUNNING, error);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static struct load_plan plan_of(enum tune_work work, double effort)
{
	struct load_plan plan = {
	    .kind = LOAD_BULK, .chunk_bytes = CHUNK_BYTES, .block = BLOCK, .repeats = 1};

	switch (work) {
	case TUNE_WORK_PING:
		plan.kind = LOAD_PING;
		plan.warmup = PING_WARMUP;
		plan.repeats = tune_repeats(PING_REPEATS, effort, PING_LEAST);
		break;
	case TUNE_WORK_BULK_1:
		plan.bytes = (uint64_t)TUNE_MB;
		plan.repeats = tune_repeats(BULK_1_REPEATS, effort, 3);
		break;
	case TUNE_WORK_BULK_10:
		plan.bytes = (uint64_t)(10 * TUNE_MB);
		plan.repeats = tune_repeats(BULK_10_REPEATS, effort, 1);
		break;
	case TUNE_WORK_STREAM:
		plan.kind = LOAD_STREAM;
		plan.chunk_bytes = STREAM_BYTES;
		plan.warmup = STREAM_WARMUP;
		plan.repeats = tune_repeats(STREAM_REPEATS, effort, STREAM_LEAST);
		plan.window = STREAM_WINDOW;
		break;
	case TUNE_WORKS:
		break;
	}
	return plan;
}

static int run_load(struct tune_target *target, const struct load_plan *plan,
		    const volatile bool *stop, char *error)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < ENDS; i++)
		target->child[i].shared->plan = *plan;
	/* B listens before A begins. */
	rc = tell(target, 1, DEV_RUN, error);
	if (!rc)
		rc = expect(target, stop, 1u << 1, DEV_RUNNING, error);
	if (!rc)
		rc = tell(target, 0, DEV_RUN, error);
	if (!rc)
		rc = expect(target, stop, 1u << 0, DEV_RUNNING, error);
	return rc ? rc : expect(target, stop, (1u << ENDS) - 1, DEV_DONE, error);
}

/* Fewer pings where each takes long: their spread is no wider for it. */
static int shorten(struct tune_target *target, struct load_plan *plan, double effort,
		   const volatile bool *stop, char *error)
{
	struct load_plan first = *plan;
	double ns, fit;
	int rc;

	first.repeats = PING_LEAST;
	rc = run_load(target, &first, stop, error);
	if (rc)
		return rc;
	ns = 2 * load_quantile(&target->child[0].shared->load, 0.5);
	fit = PING_MS * 1e6 * effort / ns;
	if (fit < plan->repeats)
		plan->repeats = fit < PING_LEAST ? PING_LEAST : (uint32_t)fit;
	return 0;
}

static int measure_work(struct tune_target *target, enum tune_work work,
			const struct tune_effort *effort, struct tune_result *result,
			const volatile bool *stop, char *error)
{
	struct load_plan plan = plan_of(work, effort->effort);
	struct dev_shared *a = target->child[0].shared, *b = target->child[1].shared;
	uint64_t irqs_a = interrupts(&target->nic[0]), irqs_b = interrupts(&target->nic[1]);
	struct tune_outcome run = {.load = &a->load};
	int rc = 0;

	if (work == TUNE_WORK_PING)
		rc = shorten(target, &plan, effort->effort, stop, error);
	if (work == TUNE_WORK_STREAM)
		dev_host_begin(&target->host, target->child[0].pid);
	if (!rc)
		rc = run_load(target, &plan, stop, error);
	if (rc)
		return rc;
	run.seconds = a->seconds;
	run.irqs_a = interrupts(&target->nic[0]) - irqs_a;
	run.irqs_b = interrupts(&target->nic[1]) - irqs_b;
	run.busy_a = a->cpu_seconds / a->seconds;
	run.busy_b = b->cpu_seconds / b->seconds;
	if (work == TUNE_WORK_STREAM)
		dev_host_end(&target->host, &run);
	tune_work_result(work, &run, result);
	return 0;
}

static int device_measure(struct tune_target *target, const struct tune_effort *effort,
			  struct tune_result *result, const volatile bool *stop, char *error)
{
	int rc = start_ends(target, stop, error);

	if (!rc)
		rc = tune_measure_works(target, measure_work, effort, result, stop, error);
	/* Whatever they were at: the next measurement begins anew. */
	if (rc)
		reap_all(target);
	return rc;
}

/* ---- the target ------------------------------------------------------------------------------ */

static void device_close(struct tune_target *target)
{
	uint32_t i;

	reap_all(target);
	dev_host_close(&target->host);
	for (i = 0; i < ENDS; i++) {
		if (target->nic[i].context)
			weft_close_device(target->nic[i].context);
		if (target->child[i].shared)
			munmap(target->child[i].shared, sizeof(struct dev_shared));
	}
	free(target);
}

static int open_all(struct tune_target *target, const char *name, char *error)
{
	const char *peer = tune_split_name(name, target->nic[0].name, sizeof(target->nic[0].name));
	uint32_t i;
	void *mem;
	int rc = 0;

	if (peer)
		snprintf(target->nic[1].name, sizeof(target->nic[1].name), "%s", peer);
	else
		rc = other_nic(target->nic[0].name, target->nic[1].name,
			       sizeof(target->nic[1].name), error);
	if (!rc && !strcmp(target->nic[0].name, target->nic[1].name))
		rc = tune_error(error, -EINVAL, "--peer: %s is the NIC itself: name another", peer);
	for (i = 0; i < ENDS && !rc; i++) {
		mem = mmap(NULL, sizeof(struct dev_shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (mem == MAP_FAILED)
			return tune_error(error, -ENOMEM, "out of memory");
		target->child[i].shared = mem;
		rc = open_nic(&target->nic[i], error);
	}
	return rc;
}

static bool was_adaptive(const struct tune_target *target)
{
	uint32_t i, v;

	for (i = 0; i < ENDS; i++) {
		for (v = 0; v < target->nic[i].num_vectors; v++)
			if (target->nic[i].initial[v].mode != WEFT_COALESCE_FIXED)
				return true;
	}
	return false;
}

static struct tune_target *device_open(const char *name, char *error)
{
	struct tune_target *target = calloc(1, sizeof(*target));

	if (!target) {
		tune_error(error, -ENOMEM, "out of memory");
		return NULL;
	}
	if (open_all(target, name, error)) {
		device_close(target);
		return NULL;
	}
	dev_host_open(&target->host);
	snprintf(
	    target->what, sizeof(target->what),
	    "%s and %s, a blocking process on each. Ping-pong of %d B; bulk in frames of %d B, "
	    "%d asked for at a time; a stream of %d B. Wake-ups, switches and softirqs%s%s%s.%s",
	    target->nic[0].name, target->nic[1].name, LOAD_SMALL_BYTES, CHUNK_BYTES, BLOCK,
	    STREAM_BYTES, target->host.irqs ? " are weft-irqs'" : " are not counted (",
	    target->host.message, target->host.irqs ? "" : ")",
	    was_adaptive(target) ? TUNE_ADAPTIVE_TEXT : "");
	return target;
}

static int device_apply(struct tune_target *target, const struct tune_setting *setting, char *error)
{
	struct weft_coalesce coalesce;
	uint32_t i;
	int rc = 0;

	tune_coalesce(setting, &coalesce);
	for (i = 0; i < ENDS && !rc; i++)
		rc = set_nic(&target->nic[i], &coalesce, error);
	return rc;
}

static void device_initial(const struct tune_target *target, struct tune_setting *setting)
{
	memcpy(setting->param, target->nic[0].initial[0].param, sizeof(setting->param));
}

static int device_restore(struct tune_target *target, char *error)
{
	uint32_t i;
	int rc = 0, one;

	/* A failure of the first is no reason to leave the second. */
	for (i = 0; i < ENDS; i++) {
		one = restore_nic(&target->nic[i], error);
		rc = rc ? rc : one;
	}
	return rc;
}

static const char *device_describe(const struct tune_target *target)
{
	return target->what;
}

const struct tune_target_ops tune_target_device = {
    .name = "device",
    .metrics = TUNE_ALL_METRICS,
    .open = device_open,
    .params = tune_nic_params,
    .modes = tune_nic_modes,
    .apply = device_apply,
    .measure = device_measure,
    .initial = device_initial,
    .restore = device_restore,
    .close = device_close,
    .describe = device_describe,
};
