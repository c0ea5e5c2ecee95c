/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point messages of MPI between two ranks, for the tag_* rows of make bench and for make
 * tagged-tables. tag.c has the measurements of both ranks at work, tag_overlap.c those in which
 * rank 0 computes while its partner waits.
 */
#ifndef WEFT_BENCH_MPI_TAG_H
#define WEFT_BENCH_MPI_TAG_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How rank 1 waits for its part of a message while rank 0 computes. */
enum tag_partner {
	TAG_SLEEP, /* until rank 0 has finished: the NIC needs no process */
	TAG_NAP,   /* in naps, with a call of MPI after each: the library needs it to go on */
	TAG_WAIT,  /* in MPI_Wait(): it has a processor of its own */
};

struct tag_job {
	int rank;
	enum tag_partner partner;
	double seconds; /* of one measurement */
	uint64_t seq;   /* of the last message */
	int rows;       /* printed */
	int peer_fd;    /* a socket between the ranks, beside MPI */
};

/* Ends all ranks with a message. */
void tag_die(const struct tag_job *job, const char *text);
/* Zeroed memory, or the end of the program. */
void *tag_room(const struct tag_job *job, size_t bytes);
/* Rank 0: begins a row of the JSON array. */
void tag_row(struct tag_job *job, const char *mode, size_t bytes);
/* Rank 0: adds the median of the values and the extremes to the row. Sorts them. */
void tag_figure(const char *name, double *values, int num);
/* Rank 0: ends the row. */
void tag_row_end(void);

/* The bytes of message seq: all of them. */
void tag_fill(uint8_t *p, size_t bytes, uint64_t seq);
bool tag_is_right(const uint8_t *p, size_t bytes, uint64_t seq);

/* tag_overlap.c: overlap and progress of one side, with one of the two first; sides below. */
enum tag_side {
	TAG_SEND,      /* rank 0 sends; the receive is posted before */
	TAG_RECV,      /* rank 0 receives; its receive is posted first */
	TAG_RECV_LATE, /* rank 0 receives; the message is sent before */
	TAG_SEND_LATE, /* rank 0 sends; the receive is posted afterwards */
	TAG_SIDES
};
void tag_overlap(struct tag_job *job, enum tag_side side, size_t bytes);
void tag_progress(struct tag_job *job, enum tag_side side, size_t bytes);

#endif /* WEFT_BENCH_MPI_TAG_H */
