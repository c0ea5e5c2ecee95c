/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of goal-bench: processes that it starts itself, one on each NIC of the host in turn, or
 * those of mpirun, srun or a static list; and their exchange between measurements.
 *
 * Calls goal.h, and weft.h to find the NICs.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_driver/weft.h"
#include "tools/goal-bench/bench.h"
#include "tools/usage.h"

enum {
	MAC_TEXT = 18, /* with the comma */
};

int ranks_sync(struct bench *b)
{
	if (b->size_of_group == 1)
		return 0;
	return GOAL_Wait(GOAL_Run(b->sync)) == GOAL_SUCCESS ? 0
							    : bench_goal_fail("the barrier before");
}

int ranks_gather(const double *mine, int count, double *all)
{
	GOAL_Schedule s = GOAL_GatherSchedule(GOAL_CommWorld(), mine, all,
					      count * (int64_t)sizeof(*mine), 0, GOAL_ALG_LINEAR);
	int rc;

	if (!s)
		return bench_goal_fail("gather of the figures");
	rc = GOAL_Wait(GOAL_Run(s));
	GOAL_FreeSchedule(s);
	return rc == GOAL_SUCCESS ? 0 : bench_goal_fail("gather of the figures");
}

/* The least value of all ranks. Small and untimed, so its place does not matter. */
static int least(double *value)
{
	GOAL_Schedule s = GOAL_AllreduceSchedule(GOAL_CommWorld(), GOAL_IN_PLACE, value, 1,
						 GOAL_MIN, GOAL_FLOAT, 64, GOAL_ALG_AUTO);
	int rc;

	if (!s)
		return bench_goal_fail("allreduce of the figures");
	rc = GOAL_Wait(GOAL_Run(s));
	GOAL_FreeSchedule(s);
	return rc == GOAL_SUCCESS ? 0 : bench_goal_fail("allreduce of the figures");
}

int ranks_agree(struct bench *b, int rc)
{
	double value = rc;

	if (b->size_of_group > 1 && least(&value) < 0)
		return -1;
	return value < 0 ? -1 : 0;
}

int ranks_iters(struct bench *b, double us, int fewest, int most)
{
	double count = b->iters;

	if (!b->iters) {
		count = us > 0 ? b->seconds * 1e6 / us : most;
		count = count < fewest ? fewest : count > most ? most : count;
	}
	if (b->size_of_group > 1 && least(&count) < 0)
		return -1;
	return (int)count;
}

/* ---- one rank ------------------------------------------------------------------------------- */

static int print_rows(json_t *rows)
{
	char *text = json_dumps(rows, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));

	if (!text)
		return bench_fail("out of memory");
	puts(text);
	free(text);
	return 0;
}

static int rank_main(struct bench *b)
{
	int rc;

	if (GOAL_Init() != GOAL_SUCCESS)
		return bench_goal_fail("GOAL_Init");
	b->rank = GOAL_MyRank();
	b->size_of_group = GOAL_GroupSize();
	if (b->rank == 0)
		b->rows = json_array();
	if (b->size_of_group > BENCH_MAX_RANKS)
		return bench_fail("%d ranks: at most %d", b->size_of_group, BENCH_MAX_RANKS);
	b->sync = GOAL_BarrierSchedule(GOAL_CommWorld(), GOAL_ALG_AUTO);
	if (!b->sync)
		return bench_goal_fail("barrier");
	rc = b->mode(b);
	if (rc == 0 && b->rank == 0)
		rc = print_rows(b->rows);
	json_decref(b->rows);
	GOAL_FreeSchedule(b->sync);
	if (rc == 0 && GOAL_Finalize() != GOAL_SUCCESS)
		rc = bench_goal_fail("GOAL_Finalize");
	return rc;
}

/* Without NICs. */
static int alone_main(struct bench *b)
{
	int rc;

	b->size_of_group = 1;
	b->rows = json_array();
	rc = b->mode(b);
	if (rc == 0)
		rc = print_rows(b->rows);
	json_decref(b->rows);
	return rc;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* WEFT_PEERS for b->ranks on the first b->nics NICs, whose names go to names. */
static int find_nics(struct bench *b, char *list, char names[][32])
{
	struct weft_device *device;
	int count = weft_get_device_list(&device), i, rc = 0;

	if (count <= 0)
		return bench_fail(
		    "no NIC: start weftd, or name the folder of its sockets with --run-dir");
	if (b->nics > count)
		rc = bench_fail("%d NICs requested, %d exist", b->nics, count);
	else if (b->nics)
		count = b->nics;
	list[0] = '\0';
	for (i = 0; rc == 0 && i < b->ranks; i++) {
		const char *name = device[i % count].name;
		struct weft_context *tool = weft_open_tool(name);
		struct weft_port_attr port;

		if (!tool || weft_query_port(tool, &port) < 0) {
			rc = bench_fail("%s: %s", name, strerror(errno));
		} else {
			sprintf(list + strlen(list), "%s%02x:%02x:%02x:%02x:%02x:%02x",
				i ? "," : "", port.mac[0], port.mac[1], port.mac[2], port.mac[3],
				port.mac[4], port.mac[5]);
			snprintf(names[i], sizeof(names[i]), "%s", name);
		}
		if (tool)
			weft_close_device(tool);
	}
	weft_free_device_list(device);
	return rc;
}

static int child(struct bench *b, int rank, const char *list, const char *name, pid_t job)
{
	char text[24];

	snprintf(text, sizeof(text), "%d", rank);
	setenv("WEFT_RANK", text, 1);
	snprintf(text, sizeof(text), "goal-bench-%d", (int)job);
	setenv("WEFT_JOB", text, 1);
	setenv("WEFT_PEERS", list, 1);
	setenv("WEFT_DEVICE", name, 1);
	return rank_main(b) < 0 ? BENCH_FAILED : BENCH_OK;
}

/* Waits for all; when one fails the others are ended, since they would only repeat the error. */
static int wait_for_ranks(pid_t *pid, int ranks)
{
	int left, status, i, rc = BENCH_OK;

	for (left = ranks; left; left--) {
		pid_t p = wait(&status);

		for (i = 0; i < ranks; i++)
			pid[i] = pid[i] == p ? 0 : pid[i];
		if (WIFEXITED(status) && WEXITSTATUS(status) == BENCH_OK)
			continue;
		if (rc == BENCH_OK && WIFSIGNALED(status))
			bench_fail("a rank was ended by signal %d", WTERMSIG(status));
		for (i = 0; rc == BENCH_OK && i < ranks; i++) {
			if (pid[i])
				kill(pid[i], SIGTERM);
		}
		rc = BENCH_FAILED;
	}
	return rc;
}

/* WEFT_KEY for all of them. */
static int draw_key(void)
{
	uint64_t key[2];
	char text[2 * sizeof(key) + 1];

	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return bench_fail("no random numbers");
	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, key[0], key[1]);
	return setenv("WEFT_KEY", text, 1);
}

static int fork_ranks(struct bench *b)
{
	char list[BENCH_MAX_RANKS * MAC_TEXT + 1], names[BENCH_MAX_RANKS][32];
	pid_t pid[BENCH_MAX_RANKS], job = getpid();
	int i;

	if (draw_key() < 0 || find_nics(b, list, names) < 0)
		return BENCH_FAILED;
	b->shared = mmap(NULL, sizeof(*b->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b->shared == MAP_FAILED) {
		bench_fail("out of memory");
		return BENCH_FAILED;
	}
	fflush(stdout);
	for (i = 0; i < b->ranks; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			_exit(output_end(child(b, i, list, names[i], job)));
		}
		if (pid[i] < 0) {
			bench_fail("fork: %s", strerror(errno));
			while (i--)
				kill(pid[i], SIGTERM);
			return BENCH_FAILED;
		}
	}
	return wait_for_ranks(pid, b->ranks);
}

int ranks_run(struct bench *b)
{
	if (b->alone)
		return alone_main(b) < 0 ? BENCH_FAILED : BENCH_OK;
	if (secure_getenv("WEFT_PEERS") || getenv("PMIX_RANK"))
		return rank_main(b) < 0 ? BENCH_FAILED : BENCH_OK;
	return fork_ranks(b);
}
