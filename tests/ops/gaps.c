/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records how long a program that uses libweft sees no completion, for upgrade_programs.sh: to be
 * preloaded (LD_PRELOAD) in front of libweft.so.
 *
 * A process with completions writes a file WEFT_GAPS.PID: struct gaps, little-endian, which gaps.py
 * reads while the process runs and after it. Each interval of GAPS_MIN_US and more between two
 * calls that returned a completion, of any thread, is a gap. A run of a GOAL schedule that is over
 * counts as a completion. Times are microseconds of the real-time clock, which shells have, too.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/weft_cq.h"
#include "host_driver/weft_goal.h"

enum {
	GAPS_MIN_US = 100,
	GAPS_MAX = 1 << 20, /* of a process; the file is sparse */
};

struct gaps {
	_Atomic uint64_t completions;
	_Atomic uint64_t
	    failed;           /* of them, with an error; flushes follow the end of a connection */
	_Atomic uint64_t num; /* gaps; those beyond GAPS_MAX are not in the file */
	_Atomic uint64_t first_us;
	_Atomic uint64_t last_us;
	struct {
		uint64_t begin_us;
		uint64_t end_us;
	} gap[GAPS_MAX];
};

static struct gaps *gaps;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_file(void)
{
	const char *prefix = getenv("WEFT_GAPS");
	char path[4096];
	int fd;

	gaps = NULL;
	if (!prefix)
		return;
	snprintf(path, sizeof(path), "%s.%d", prefix, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, sizeof(*gaps)) != 0)
		abort();
	gaps = mmap(NULL, sizeof(*gaps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (gaps == MAP_FAILED)
		abort();
	close(fd);
}

/* A child of fork(2) is a process of its own. */
static void in_child(void)
{
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

static void begin(void)
{
	open_file();
	pthread_atfork(NULL, NULL, in_child);
}

static void record(uint64_t completions, uint64_t failed)
{
	uint64_t now_us, last_us, at;
	struct timespec now;

	pthread_once(&once, begin);
	if (!gaps)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	last_us = atomic_exchange(&gaps->last_us, now_us);
	atomic_fetch_add(&gaps->completions, completions);
	atomic_fetch_add(&gaps->failed, failed);
	if (!last_us)
		atomic_store(&gaps->first_us, now_us);
	if (!last_us || now_us < last_us + GAPS_MIN_US)
		return;
	at = atomic_fetch_add(&gaps->num, 1);
	if (at < GAPS_MAX) {
		gaps->gap[at].begin_us = last_us;
		gaps->gap[at].end_us = now_us;
	}
}

/*
 * The function of libweft. A library that a program opens later, such as a component of Open MPI,
 * brings libweft along, outside of the scope that RTLD_NEXT searches.
 */
static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name), *weft;

	if (!function) {
		weft = dlopen("libweft.so.0", RTLD_NOLOAD | RTLD_LAZY);
		function = weft ? dlsym(weft, name) : NULL;
	}
	if (!function)
		abort();
	return function;
}

int weft_poll_cq(struct weft_cq *cq, int max, struct weft_wc *wc)
{
	static int (*real)(struct weft_cq *, int, struct weft_wc *);
	uint64_t failed = 0;
	int n;

	if (!real)
		real = next("weft_poll_cq");
	n = real(cq, max, wc);
	for (int i = 0; i < n; i++)
		failed += wc[i].status != WEFT_WC_SUCCESS && wc[i].status != WEFT_WC_WR_FLUSH_ERR;
	if (n > 0)
		record((uint64_t)n, failed);
	return n;
}

bool weft_goal_test(const struct weft_goal *goal, uint32_t run)
{
	static bool (*real)(const struct weft_goal *, uint32_t);
	bool over;

	if (!real)
		real = next("weft_goal_test");
	over = real(goal, run);
	if (over)
		record(1, 0);
	return over;
}

int weft_goal_wait(struct weft_goal *goal, uint32_t run, uint64_t timeout_ns)
{
	static int (*real)(struct weft_goal *, uint32_t, uint64_t);
	int rc;

	if (!real)
		real = next("weft_goal_wait");
	rc = real(goal, run, timeout_ns);
	if (!rc)
		record(1, 0);
	return rc;
}
