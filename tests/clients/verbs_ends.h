/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends for verbs_data.c: a device each, memory of several origins with a shadow of its expected
 * content, completion queues of both kinds, and pairs of QPs ("lanes") between them.
 *
 * For programs of libibverbs: built with the system's headers and library, run with weft-run.
 * Messages go to standard error; die() ends with status 1.
 */
#ifndef WEFT_TESTS_VERBS_ENDS_H
#define WEFT_TESTS_VERBS_ENDS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NUM_REGIONS = 4,
	REGION_BYTES = 2 << 20,
	MAX_SGE = 6,
	QUEUE_WR = 64,
	CQ_ENTRIES = 1024,
	INLINE_BYTES = 200,
	GRH_BYTES = 40,
	QKEY = 0x11111111,
	LIMIT_S = 60, /* seconds until a missing event is a failure */
};

struct region {
	uint8_t *mem;
	uint8_t *shadow; /* expected content of mem */
	struct ibv_mr *mr;
	size_t used; /* of this batch */
};

/* Bytes of a region, and several of them. */
struct piece {
	struct region *region;
	uint32_t at, bytes;
};

struct pieces {
	uint32_t num;
	struct piece piece[MAX_SGE];
};

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	union {
		struct ibv_cq *cq;
		struct ibv_cq_ex *cq_ex;
	};
	bool extended; /* polled by ibv_start_poll() */
	struct ibv_srq *srq;
	struct region region[NUM_REGIONS];
	union ibv_gid gid;
	uint32_t mtu; /* most of a UD message */
};

/* A QP at each end, connected to each other (UD: with the other's address). */
struct lane {
	enum ibv_qp_type type;
	bool srq;     /* receives from the end's SRQ */
	bool builder; /* sends by ibv_wr_*() */
	struct ibv_qp *qp[2];
	struct ibv_ah *ah[2]; /* UD: the address handle of qp[i] for the other end */
};

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die("%s:%d: %s: %m", __FILE__, __LINE__, #cond);                           \
	} while (0)

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A draw below n, from the sequence that the seed began. */
void draw_seed(uint64_t seed);
uint32_t draw(uint32_t n);

/* Takes memory that no other part of the batch uses; false: there is no more. */
bool place(struct end *e, uint32_t bytes, uint32_t align, struct piece *p);
/* Cuts the bytes into a few pieces, of which some are empty. */
bool place_all(struct end *e, uint32_t bytes, struct pieces *list);
/* Draws the content of a piece, which is then expected there. */
void fill(const struct piece *p);

/* Opens a device by name. gid_index: the GID that peers use. */
void end_open(struct end *e, const char *device, int gid_index, bool extended);
void end_close(struct end *e);

/* gid_index -1: without a GRH, as ibv_rc_pingpong without -g. */
void lane_open(struct lane *lane, struct end end[2], int gid_index);
void lane_close(struct lane *lane);

/* Polls up to max completions, from either kind of queue. */
int end_poll(struct end *e, int max, struct ibv_wc *wc);
/* Requests an event; poll again before end_sleep(), which waits for it. */
void end_arm(struct end *e);
void end_sleep(struct end *e);

/* Compares all memory with its expected content; prints the first difference. */
bool end_right(const struct end *e, int which);

#endif /* WEFT_TESTS_VERBS_ENDS_H */
