/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that give the NIC bulk work: one dies with 30,000 regions, or as many as it gets, one
 * with many queue pairs, one flushes full queues repeatedly and destroys some in the middle, one
 * resizes a large completion queue, one attaches and dies, one reads all counters.
 *
 * long_turns SOCKET SECONDS [KIND...]: runs all kinds or the named ones (regions, qps, flush,
 * resize, attach, stats) side by side for SECONDS, and restarts each when it has died. Prints
 * "attacking" once each has begun, and at the end the number of rounds of each. Calls libweft.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/weft.h"

enum {
	/* Room remains for two processes of each kind: one that leaves and the next. */
	MOST_REGIONS = 30000,
	MOST_QPS = 6000,
	DEPTH = 8192,
	CQ_ENTRIES = 65536,
	KINDS = 6,
	PAGE = 4096,
};

/* Shared by all processes: rounds begun and completed, of each kind. */
static volatile struct board {
	unsigned begun[KINDS], done[KINDS];
} * board;

static void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "long_turns: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	_exit(1);
}

static struct weft_pd *open_nic(const char *nic)
{
	struct weft_context *context = weft_open_device(nic);
	struct weft_pd *pd = context ? weft_alloc_pd(context) : NULL;

	if (!pd)
		die("%s: %s", nic, strerror(errno));
	return pd;
}

/* Registers as many regions as the NIC gives; then the process ends without deregistering. */
static void die_with_regions(const char *nic)
{
	static uint8_t mem[PAGE];
	struct weft_pd *pd;
	unsigned n = 0;

	/* Mapped regions would meet the limit of weftd's mappings first. */
	setenv("WEFT_MEM", "process_vm", 1);
	pd = open_nic(nic);

	board->begun[0]++;
	while (n < MOST_REGIONS && weft_reg_mr(pd, mem, PAGE, WEFT_ACCESS_LOCAL_WRITE))
		n++;
	if (n < MOST_REGIONS / 32)
		die("only %u regions: %s", n, strerror(errno));
	board->done[0]++;
	_exit(0);
}

static struct weft_qp *new_qp(struct weft_pd *pd, struct weft_cq *cq, uint32_t depth)
{
	struct weft_qp_init_attr attr = {
	    .type = WEFT_QPT_UD,
	    .send_cq = cq,
	    .recv_cq = cq,
	    .cap = {.max_send_wr = depth,
		    .max_recv_wr = depth,
		    .max_send_sge = 1,
		    .max_recv_sge = 1},
	};

	return weft_create_qp(pd, &attr);
}

static void die_with_qps(const char *nic)
{
	struct weft_pd *pd = open_nic(nic);
	struct weft_cq *cq = weft_create_cq(pd->context, 16, NULL, NULL);
	unsigned n = 0;

	board->begun[1]++;
	while (n < MOST_QPS && cq && new_qp(pd, cq, 1))
		n++;
	if (n < MOST_QPS / 32)
		die("only %u queue pairs: %s", n, strerror(errno));
	board->done[1]++;
	_exit(0);
}

/*
 * Polls completions of flushed receives, which come in order; returns when all that were posted
 * have come.
 */
static void drain(struct weft_cq *cq)
{
	struct weft_wc wc[64];
	uint64_t next = 0;

	while (next < DEPTH) {
		int n = weft_poll_cq(cq, 64, wc), i;

		if (n < 0)
			die("poll: %s", strerror(-n));
		for (i = 0; i < n; i++, next++)
			if (wc[i].status != WEFT_WC_WR_FLUSH_ERR || wc[i].wr_id != next)
				die("completion %llu: request %llu, status %d",
				    (unsigned long long)next, (unsigned long long)wc[i].wr_id,
				    (int)wc[i].status);
	}
}

static void post_all(struct weft_qp *qp)
{
	uint64_t i;

	for (i = 0; i < DEPTH; i++) {
		struct weft_recv_wr wr = {.wr_id = i};
		int err = weft_post_recv(qp, &wr, NULL);

		if (err)
			die("post: %s", strerror(-err));
	}
}

static void to_state(struct weft_qp *qp, enum weft_qp_state state)
{
	struct weft_qp_attr attr = {.state = state};
	int err = weft_modify_qp(qp, &attr, WEFT_QP_STATE);

	if (err)
		die("to state %d: %s", (int)state, strerror(-err));
}

/*
 * Fills queues and lets them fail; every other time the queue pair is destroyed while they are
 * flushed.
 */
static void flush_again_and_again(const char *nic)
{
	struct weft_pd *pd = open_nic(nic);
	struct weft_cq *cq = weft_create_cq(pd->context, 2 * DEPTH, NULL, NULL);
	unsigned round;

	board->begun[2]++;
	for (round = 0;; round++) {
		struct weft_qp *qp = cq ? new_qp(pd, cq, DEPTH) : NULL;
		int err = qp ? weft_activate_qp(qp, 1, 0) : -errno;

		if (err)
			die("a queue pair of %d requests: %s", DEPTH, strerror(-err));
		post_all(qp);
		to_state(qp, WEFT_QPS_ERR);
		if (round % 2)
			drain(cq);
		err = weft_destroy_qp(qp);
		if (err)
			die("destroy: %s", strerror(-err));
		board->done[2]++;
	}
}

static void resize_again_and_again(const char *nic)
{
	struct weft_pd *pd = open_nic(nic);
	struct weft_cq *cq = weft_create_cq(pd->context, CQ_ENTRIES, NULL, NULL);

	board->begun[3]++;
	if (!cq)
		die("a large completion queue: %s", strerror(errno));
	for (unsigned round = 0;; round++) {
		int err = weft_resize_cq(cq, round % 2 ? CQ_ENTRIES : CQ_ENTRIES / 2);

		if (err)
			die("resize: %s", strerror(-err));
		board->done[3]++;
	}
}

static void attach_and_die(const char *nic)
{
	board->begun[4]++;
	(void)open_nic(nic);
	board->done[4]++;
	_exit(0);
}

static void ask_again_and_again(const char *nic)
{
	struct weft_pd *pd = open_nic(nic);
	struct weft_stat stats[64];

	board->begun[5]++;
	for (;;) {
		uint32_t cursor = 0;
		int n;

		while ((n = weft_stats(pd->context, 0, &cursor, stats, 64)) > 0)
			;
		if (n < 0)
			die("counters: %s", strerror(-n));
		board->done[5]++;
	}
}

static const struct {
	const char *name, *said;
	void (*run)(const char *nic);
} kinds[KINDS] = {
    {"regions", "died with regions", die_with_regions},
    {"qps", "died with queue pairs", die_with_qps},
    {"flush", "flushed full queues", flush_again_and_again},
    {"resize", "resized", resize_again_and_again},
    {"attach", "attached and died", attach_and_die},
    {"stats", "asked for all counters", ask_again_and_again},
};
static bool asked[KINDS];

/* True if the rounds of all requested kinds have been counted. */
static bool all_of(const volatile unsigned *count)
{
	bool all = true;

	for (unsigned k = 0; k < KINDS; k++)
		all = all && (!asked[k] || count[k]);
	return all;
}

static pid_t start(unsigned kind, const char *nic)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		kinds[kind].run(nic);
	return pid;
}

/* Children that have died are restarted until the time is over; a failed one ends the loop. */
static void attack(const char *nic, long seconds)
{
	time_t end = time(NULL) + seconds;
	pid_t pid[KINDS];
	bool said = false;
	unsigned k;

	for (k = 0; k < KINDS; k++)
		pid[k] = asked[k] ? start(k, nic) : 0;
	while (time(NULL) < end || !all_of(board->done)) {
		if (!said && all_of(board->begun)) {
			said = true;
			printf("attacking\n");
			fflush(stdout);
		}
		for (k = 0; k < KINDS; k++) {
			int status;

			if (!pid[k] || waitpid(pid[k], &status, WNOHANG) != pid[k])
				continue;
			if (!WIFEXITED(status) || WEXITSTATUS(status))
				die("attacker %u failed", k);
			pid[k] = start(k, nic);
		}
		usleep(1000);
	}
	for (k = 0; k < KINDS; k++) {
		if (!pid[k])
			continue;
		kill(pid[k], SIGKILL);
		waitpid(pid[k], NULL, 0);
	}
}

static void ask_for(const char *name)
{
	unsigned k;

	for (k = 0; k < KINDS && strcmp(name, kinds[k].name) != 0; k++)
		;
	if (k == KINDS)
		die("%s: no such kind", name);
	asked[k] = true;
}

int main(int argc, char **argv)
{
	char *slash = argc >= 3 ? strrchr(argv[1], '/') : NULL;
	const char *nic;
	int i;

	if (!slash)
		die("long_turns RUN_DIR/weft0 SECONDS [KIND...]");
	for (i = 3; i < argc; i++)
		ask_for(argv[i]);
	for (i = 0; i < KINDS && argc == 3; i++)
		asked[i] = true;
	*slash = '\0';
	nic = slash + 1;
	setenv("WEFT_RUN_DIR", argv[1], 1);
	board = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	attack(nic, atol(argv[2]));
	for (i = 0; i < KINDS; i++)
		if (asked[i])
			printf("%s: %u times\n", kinds[i].said, board->done[i]);
	return 0;
}
