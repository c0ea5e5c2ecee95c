/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that measure together; see crew.h. Calls nothing of libweft, since fork comes before
 * any NIC is opened.
 */
#include "tools/weft-bench/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/stats.h"
#include "tools/weft-bench/report.h"

const char *crew_device(const struct crew *c)
{
	return c->rank % 2 && c->o->device2 ? c->o->device2 : c->o->device;
}

void crew_barrier(struct crew *c)
{
	pthread_barrier_wait(&c->shared->barrier);
}

int crew_exchange(struct crew *c, const void *mine, void *theirs, size_t bytes)
{
	if (send(c->partner_fd, mine, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		return fail("rank %d cannot write to its partner: %s", c->rank, strerror(errno));
	if (recv(c->partner_fd, theirs, bytes, MSG_WAITALL) != (ssize_t)bytes)
		return fail("the partner of rank %d has ended", c->rank);
	return 0;
}

double crew_sum(struct crew *c, double mine)
{
	double sum = 0;

	c->shared->value[c->rank] = mine;
	crew_barrier(c);
	for (int i = 0; i < c->ranks; i++)
		sum += c->shared->value[i];
	crew_barrier(c);
	return sum;
}

int crew_row(struct crew *c, json_t *row)
{
	char *text = json_dumps(row, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
	int rc = 0;

	json_decref(row);
	if (!text || dprintf(c->out_fd, "%s\n", text) < 0)
		rc = fail("cannot hand over a row");
	free(text);
	return rc;
}

void crew_figure(json_t *row, const char *name, double *blocks)
{
	char key[64];

	stats_sort(blocks, CREW_BLOCKS);
	json_object_set_new(row, name, json_real(blocks[CREW_BLOCKS / 2]));
	snprintf(key, sizeof(key), "%s_min", name);
	json_object_set_new(row, key, json_real(blocks[0]));
	snprintf(key, sizeof(key), "%s_max", name);
	json_object_set_new(row, key, json_real(blocks[CREW_BLOCKS - 1]));
}

/* ---- the parent -------------------------------------------------------------------------------
 */

static struct crew_shared *shared_make(int ranks)
{
	pthread_barrierattr_t attr;
	struct crew_shared *s;

	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return NULL;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&s->barrier, &attr, (unsigned int)ranks);
	pthread_barrierattr_destroy(&attr);
	return s;
}

/* The life of one rank, which must not outlive parent. */
static void rank_main(struct crew *c, crew_fn fn, void *arg, pid_t parent)
{
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(BENCH_FAILED);
	rc = fn(c, arg);
	fflush(NULL);
	/* Not exit(): memory of the parent is not this process's to free. */
	_exit(rc ? BENCH_FAILED : BENCH_OK);
}

/* Waits for all; the first failure ends the others. */
static int await_all(const pid_t *pids, int count)
{
	int left = count, rc = 0, status, i;
	bool gone[CREW_MAX] = {false};
	pid_t pid;

	while (left) {
		pid = wait(&status);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return fail("wait: %s", strerror(errno));
		for (i = 0; i < count && pids[i] != pid; i++)
			;
		if (i == count)
			continue;
		gone[i] = true;
		left--;
		if (WIFEXITED(status) && WEXITSTATUS(status) == BENCH_OK)
			continue;
		if (!rc && WIFSIGNALED(status))
			fail("rank %d ended by signal %d", i, WTERMSIG(status));
		rc = -1;
		for (i = 0; i < count; i++)
			if (!gone[i])
				kill(pids[i], SIGKILL);
	}
	return rc;
}

static int collect(int fd, json_t *rows)
{
	FILE *f = fdopen(fd, "r");
	char *line = NULL;
	size_t space = 0;
	int rc = 0;

	if (!f)
		return fail("rows: %s", strerror(errno));
	rewind(f);
	while (!rc && getline(&line, &space, f) > 0) {
		json_t *row = json_loads(line, 0, NULL);

		if (!row || json_array_append_new(rows, row))
			rc = fail("a row cannot be read: %s", line);
	}
	free(line);
	fclose(f);
	return rc;
}

static int start_all(struct crew *c, crew_fn fn, void *arg, pid_t *pids)
{
	int fds[CREW_MAX / 2][2], started = 0, rc = 0, i;
	pid_t parent = getpid();

	for (i = 0; i < (c->ranks + 1) / 2; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds[i]))
			return fail("socketpair: %s", strerror(errno));
	for (c->rank = 0; c->rank < c->ranks && !rc; c->rank++) {
		pids[c->rank] = fork();
		if (pids[c->rank] < 0) {
			rc = fail("fork: %s", strerror(errno));
		} else if (!pids[c->rank]) {
			c->partner_fd = fds[c->rank / 2][c->rank % 2];
			/* Closed, so that the end of the other process is noticed. */
			for (i = 0; i < (c->ranks + 1) / 2; i++)
				for (int k = 0; k < 2; k++)
					if (fds[i][k] != c->partner_fd)
						close(fds[i][k]);
			rank_main(c, fn, arg, parent);
		} else {
			started++;
		}
	}
	for (i = 0; i < (c->ranks + 1) / 2; i++) {
		close(fds[i][0]);
		close(fds[i][1]);
	}
	for (i = 0; rc && i < started; i++)
		kill(pids[i], SIGKILL);
	return await_all(pids, started) ? -1 : rc;
}

int crew_run(const struct opts *o, int ranks, crew_fn fn, void *arg, json_t *rows)
{
	struct crew c = {.o = o, .ranks = ranks};
	pid_t pids[CREW_MAX];
	int rc = -1;

	c.out_fd = memfd_create("rows", MFD_CLOEXEC);
	c.shared = shared_make(ranks);
	if (c.out_fd < 0 || !c.shared)
		fail("no memory for %d processes: %s", ranks, strerror(errno));
	else
		rc = start_all(&c, fn, arg, pids);
	if (!rc)
		rc = collect(c.out_fd, rows);
	else if (c.out_fd >= 0)
		close(c.out_fd);
	if (c.shared)
		munmap(c.shared, sizeof(*c.shared));
	return rc;
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static bool same_fields(json_t *a, json_t *b)
{
	const char *key;
	json_t *value;

	if (!a || json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach (b, key, value)
		if (!json_object_get(a, key))
			return false;
	return true;
}

/* A blank is put before each column. */
static int width_of(const char *key)
{
	return strlen(key) < 9 ? 9 : (int)strlen(key);
}

static void print_row(json_t *row, bool head)
{
	const char *key;
	json_t *value;

	json_object_foreach (row, key, value) {
		int width = width_of(key);

		if (head)
			printf(" %*s", width, key);
		else if (json_is_string(value))
			printf(" %*s", width, json_string_value(value));
		else if (json_is_integer(value))
			printf(" %*lld", width, (long long)json_integer_value(value));
		else if (json_is_real(value))
			printf(" %*.4g", width, json_real_value(value));
		else
			printf(" %*s", width, json_is_true(value) ? "yes" : "no");
	}
	printf("\n");
}

void crew_print(const json_t *rows)
{
	json_t *row, *last = NULL;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (!same_fields(last, row)) {
			printf("\n");
			print_row(row, true);
		}
		print_row(row, false);
		last = row;
	}
}

int crew_parts(const struct opts *o, const struct crew_part *parts, size_t num)
{
	json_t *rows = json_array(), *j;
	int rc = 0, ranks;

	for (const struct crew_part *part = parts; part < parts + num; part++) {
		if (o->part && strcmp(o->part, part->name))
			continue;
		for (ranks = part->least_ranks; ranks <= part->most_ranks && !rc; ranks *= 2)
			rc = crew_run(o, ranks, part->fn, NULL, rows);
	}
	if (!rc && o->json) {
		j = report_base(o, o->device ? o->device : "");
		json_object_set(j, "rows", rows);
		report_json(j);
	} else if (!rc) {
		crew_print(rows);
	}
	json_decref(rows);
	return rc ? BENCH_FAILED : BENCH_OK;
}
