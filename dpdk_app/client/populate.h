/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepares memory before a core accesses it, outside the cores and the control thread: sealing a
 * memfd may wait for its process, and mapping gigabytes takes time.
 *
 * A few helper threads execute jobs in slices, alternating between users. The functions are called
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
	/* Size of a slice: the kernel holds the lock of weftd's address space for its duration. */
	POPULATE_SLICE_BYTES = 1 << 20,
	/* Smaller jobs are executed immediately. */
	POPULATE_NOW_BYTES = 64 << 10,
};

struct populate_job {
	struct populate_job *next;
	uid_t uid;     /* owner; users take turns */
	const int *fd; /* memfds to seal first; the caller keeps them open, and the array valid */
	uint32_t num_fds;
	uint8_t *start; /* whole pages to map; bytes 0: none */
	uint64_t bytes;
	bool make;                 /* weftd's own memory, such as a BAR's: hostmem_make() */
	const _Atomic(bool) *over; /* set: the result is no longer needed */
	int status;                /* 0 or -errno; -ECANCELED: over was set */
	/* Called on the control thread when done; the caller owns the job again. */
	void (*done)(struct populate_job *job, void *arg);
	void *arg;
};

/* Starts the threads; without them jobs are executed immediately. Returns 0 or -errno. */
int populate_init(struct app *app) __attribute__((warn_unused_result));
/* Starts a job. populate_drain() calls done() later; for a small job, done() runs here. */
void populate_start(struct populate_job *job);
/* Calls done() for finished jobs. */
void populate_drain(void);
/* Ends the threads. Remaining jobs finish with -ECANCELED. */
void populate_end(void);

#endif /* WEFT_APP_POPULATE_H */
