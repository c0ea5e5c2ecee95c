/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory made ready before a core touches it, off the cores and off the control thread: sealing a
 * memfd may wait for its process, and mapping the pages of gigabytes takes a while.
 *
 * A few helper threads work on jobs, a slice of each in turn, users in turn. Functions are called
 * on the control thread.
 */
#ifndef WEFT_APP_POPULATE_H
#define WEFT_APP_POPULATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct app;

enum {
	POPULATE_THREADS = 2,
	/* In one go: the kernel keeps the lock of weftd's address space for as long. */
	POPULATE_SLICE_BYTES = 1 << 20,
	/* So little that nobody has to wait for it: done at once. */
	POPULATE_NOW_BYTES = 64 << 10,
};

struct populate_job {
	struct populate_job *next;
	uid_t uid;     /* for whom: users take turns */
	const int *fd; /* memfds to be sealed first; the caller keeps them open, and the list */
	uint32_t num_fds;
	uint8_t *start; /* whole pages to be mapped; bytes 0: none */
	uint64_t bytes;
	bool make;                 /* they are weftd's own to make, as a BAR's: hostmem_make() */
	const _Atomic(bool) *over; /* set: nobody waits for it any more */
	int status;                /* 0 or -errno; -ECANCELED: it was over */
	/* On the control thread, when it is done. The job is the caller's again. */
	void (*done)(struct populate_job *job, void *arg);
	void *arg;
};

/* Starts the threads; without them each job is done at once. 0 or -errno. */
int populate_init(struct app *app) __attribute__((warn_unused_result));
/* Takes a job on; done() follows, from populate_drain() or, of a small one, at once. */
void populate_start(struct populate_job *job);
/* Calls done() of the jobs that have come to their end. */
void populate_drain(void);
/* Ends the threads. Jobs that are left are drained with -ECANCELED. */
void populate_end(void);

#endif /* WEFT_APP_POPULATE_H */
