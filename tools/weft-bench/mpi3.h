/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench mpi3: chapter 3 of Rashti's thesis, and the overlap benchmark of SCI-MPICH. The parts
 * are crew_fn (crew.h); mpi3.c lists them.
 */
#ifndef WEFT_BENCH_MPI3_H
#define WEFT_BENCH_MPI3_H

#include "tools/weft-bench/mp.h"

enum {
	MPI3_EAGER_BYTES = 8192,
	MPI3_BUDGET_BYTES =
	    8 << 20, /* most bytes that one block of a figure moves, in one direction */
};

/* mpi3_basic.c */
int mpi3_basic(struct crew *c, void *arg);
int mpi3_pairs(struct crew *c, void *arg);
int mpi3_reuse(struct crew *c, void *arg);
/* mpi3_qps.c */
int mpi3_qps(struct crew *c, void *arg);
/* mpi3_overlap.c, mpi3_progress.c */
int mpi3_overlap(struct crew *c, void *arg);
int mpi3_progress(struct crew *c, void *arg);
int mpi3_sci(struct crew *c, void *arg);

/* mpi3_partner.c: common to the parts. */

/* Repetitions of a message of that many bytes in one block. */
uint32_t mpi3_reps(const struct opts *o, uint64_t bytes);
/* 0, or -1 after an error message if it is not message seq. */
int mpi3_check(const uint8_t *p, size_t bytes, uint64_t seq);
/* "eager", "get" or "put" */
const char *mpi3_proto_str(const struct mp_config *cfg, size_t bytes);

/* mpi3_busy.c: work of a fixed amount. */

/*
 * Pins rank 0 to the first allowed processor, its partner to the last: the partner stands for
 * another computer, and must take nothing from the computing rank.
 */
void mpi3_pin(const struct crew *c);

/* Amount of work that takes 1 us here, measured. */
struct mpi3_busy {
	double spins_per_us;
	double passes_per_us; /* DAXPY over vectors of the length set */
	double *x, *y;
	size_t doubles;
};

/* vector_bytes: of DAXPY's vectors. -1 after an error message if memory is exhausted. */
int mpi3_busy_open(struct mpi3_busy *b, size_t vector_bytes);
void mpi3_busy_close(struct mpi3_busy *b);
/* Does work that takes this time if undisturbed; one pass of DAXPY at least. */
void mpi3_busy_fixed(const struct mpi3_busy *b, double us);
void mpi3_busy_daxpy(struct mpi3_busy *b, double us);

/*
 * mpi3_partner.c: rank 0 measures; its partner does what a token requests, and sleeps otherwise.
 */
enum mpi3_order {
	MPI3_END,
	MPI3_RECEIVE, /* one message, answered with a token that has its time */
	MPI3_SEND, /* one message: the token comes back when it is ready, and then once more to it
		    */
};

struct mpi3_token {
	uint64_t order;
	uint64_t bytes;
	uint64_t seq;
	uint64_t ns;
};

struct mpi3_way {
	uint32_t eager_bytes;
	enum mp_proto proto;
};

/* Connects the two, lets rank 0 measure over messages of at most max_bytes, and ends both. */
int mpi3_with_partner(struct crew *c, const struct mpi3_way *way, size_t max_bytes,
		      int (*measure)(struct mp *mp, void *arg), void *arg);

int mpi3_tell(struct mp *mp, enum mpi3_order order, uint64_t bytes, uint64_t seq);
/* The answer to MPI3_RECEIVE. */
int mpi3_answer(struct mp *mp, uint64_t *ns);

/*
 * A message that the partner has ready and sends on request. mpi3_pull() begins the receive first,
 * so that a clock started before covers the whole message, including the request.
 */
struct mpi3_pull {
	struct mpi3_token token;
	struct mp_req *asked, *data;
};
int mpi3_prepare(struct mp *mp, struct mpi3_pull *p, uint64_t bytes, uint64_t seq);
int mpi3_pull(struct mp *mp, struct mpi3_pull *p, void *buf);
/* Waits until it has arrived. */
int mpi3_pulled(struct mp *mp, struct mpi3_pull *p);

#endif /* WEFT_BENCH_MPI3_H */
