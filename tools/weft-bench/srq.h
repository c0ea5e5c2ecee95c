/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench srq: one process that many peers send to. Rank 0 receives, rank 1 plays all peers;
 * each peer is an RC queue pair. Common to srq.c, srq_end.c and srq_flow.c. Functions return 0, or
 * -1 after an error message.
 */
#ifndef WEFT_BENCH_SRQ_H
#define WEFT_BENCH_SRQ_H

#include "tools/weft-bench/crew.h"
#include "tools/weft-bench/end.h"
#include "tools/weft-bench/srq_pool.h"

enum {
	SRQ_TARGET = 256, /* receives of the shared queue at the start */
	SRQ_LIMIT = 64,   /* its low watermark */
	SRQ_SLOTS = 2048, /* slots to send from */
	SRQ_CLASSES = 11, /* messages by size: up to 64 bytes, 128, ... 64 Ki */
	SRQ_PING_BYTES = 64,
	SRQ_PING_RECVS = 4,
};

/* Marks the wr_id of a message of the latency test, in the control page. */
#define SRQ_ID_CONTROL (UINT64_C(1) << 32)
#define SRQ_ID_CREDIT  (UINT64_C(1) << 33)

/* In the control page. */
enum {
	SRQ_CTL_CREDITS = 0, /* the sender's: how many the receiver has consumed */
	SRQ_CTL_PING = 256,  /* receives of the latency test, SRQ_CTL_STRIDE apart */
	SRQ_CTL_STRIDE = 256,
	SRQ_CTL_BYTES = 4096,
};

struct srq_end {
	struct crew *c;
	bool receiver;
	bool shared; /* the receiver's queue pairs share their receives */
	uint32_t peers;
	struct end end;
	struct weft_qp **qp;  /* one for each peer, and one with its own receives for latency */
	uint16_t *peer_at;    /* by the low bits of a QPN */
	struct srq_pool pool; /* receiver, shared */
	struct end_mem mem;   /* receiver, own receives; sender: slots */
	struct end_mem control;
	uint64_t partner_control;
	uint32_t partner_rkey;
	uint64_t flows; /* begun: the one that credits belong to */
};

/* Counted by the receiver. */
struct srq_counts {
	uint64_t messages;
	uint64_t unexpected;
	uint64_t bytes;
	uint64_t by_class[SRQ_CLASSES];
	uint64_t unexpected_by_class[SRQ_CLASSES];
	uint64_t bytes_by_class[SRQ_CLASSES];
	double msg_s[CREW_BLOCKS];
};

/* Pattern of arrival. */
struct srq_pattern {
	const char *name;
	uint32_t batch; /* consumed in an order of its own; two batches may be
			   in flight */
};

int srq_end_open(struct srq_end *e, struct crew *c, bool shared);
void srq_end_close(struct srq_end *e);

/* Finds the receive of a completion; posts it again. */
uint8_t *srq_end_at(struct srq_end *e, uint64_t wr_id);
int srq_end_give(struct srq_end *e, uint64_t wr_id);
int srq_end_post_ping(struct srq_end *e, struct weft_qp *qp, uint32_t slot);

/* Polls up to max completions, all of them successful. Returns their number, or -1. */
int srq_end_poll(struct srq_end *e, int max, struct weft_wc *wc);

/* Messages of a pattern from the peers to the receiver; counts is filled there. */
int srq_flow(struct srq_end *e, const struct srq_pattern *pattern, struct srq_counts *counts);

/* Half round trips over a queue pair with own receives and one with shared ones, block by block. */
int srq_latency(struct srq_end *e, double *own_us, double *shared_us);

#endif /* WEFT_BENCH_SRQ_H */
