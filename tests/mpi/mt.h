/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common code of the MPI programs of this folder: options, patterns that every byte is checked
 * against, and failures. Implemented by mt.c; each program is one area of MPI (README.md).
 *
 * A failure at any rank is one line on stderr, "PROGRAM: rank R: PART: what was wrong", and exit
 * status 1 of the whole job. A hanging job prints the part and ends itself.
 */
#ifndef WEFT_TESTS_MPI_MT_H
#define WEFT_TESTS_MPI_MT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Filled in by mt_start(). */
struct mt {
	const char *program;
	int rank, ranks;      /* of MPI_COMM_WORLD */
	size_t max_bytes;     /* the largest message */
	int rounds;           /* repetitions of the random parts */
	bool quick;           /* fewer sizes and roots */
	bool flush_requests;  /* rma: Rget's data is checked only after a flush (README.md) */
	bool issend;          /* p2p: MPI_Issend and a wait in place of MPI_Ssend (README.md) */
	unsigned long checks; /* buffers compared by this rank */
};
extern struct mt mt;

/*
 * Reads the options, starts MPI with at least this level of threads, and starts the watch for
 * hangs. Ends the job when an option is wrong (exit status 2) or the library lacks the level.
 */
void mt_start(int argc, char **argv, int thread_level);

/* All ranks: rank 0 prints how much was checked; MPI ends. Returns the exit status of main(). */
int mt_end(void);

/* Names the part of the program that runs now, for failures and hangs. Not for threads. */
void mt_part(const char *name);

/* Ends the job. */
void mt_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#define MT_CHECK(cond, ...)                                                                        \
	do {                                                                                       \
		if (!(cond))                                                                       \
			mt_fail(__VA_ARGS__);                                                      \
	} while (0)

/*
 * The blocking call, or the one that starts it and wait(&request), with the same arguments; wait
 * may be MT_WAIT.
 */
#define MT_CALL(nonblocking, wait, blocking, starting, ...)                                        \
	do {                                                                                       \
		if (nonblocking) {                                                                 \
			MPI_Request request_;                                                      \
			starting(__VA_ARGS__, &request_);                                          \
			wait(&request_);                                                           \
		} else {                                                                           \
			blocking(__VA_ARGS__);                                                     \
		}                                                                                  \
	} while (0)
#define MT_WAIT(request) MPI_Wait(request, MPI_STATUS_IGNORE)

/* Memory without zero bytes; never NULL. bytes 0 is allowed. */
void *mt_alloc(size_t bytes);

uint64_t mt_seed(int from, int to, int tag, size_t count);

/* Random numbers that are the same at every rank: *state is the seed and changes. */
uint32_t mt_random(uint64_t *state, uint32_t below);

/* Byte i of a pattern depends on seed and i alone. */
void mt_fill(void *buf, size_t bytes, uint64_t seed);
void mt_same(const void *buf, size_t bytes, uint64_t seed, const char *what);
/* Checks that all bytes have this value: bytes outside a message must be unchanged. */
void mt_untouched(const void *buf, size_t bytes, uint8_t value, const char *what);

/*
 * The sizes to test, ascending and not above mt.max_bytes, ended by SIZE_MAX: around the limits at
 * which protocols change.
 */
const size_t *mt_sizes(void);

#endif /* WEFT_TESTS_MPI_MT_H */
