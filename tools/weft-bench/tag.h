/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench tag: tagged endpoints (host_driver/weft_tag.h). The parts are crew_fn (crew.h); tag.c
 * lists them. tag_end.c is one end, common to them.
 */
#ifndef WEFT_BENCH_TAG_H
#define WEFT_BENCH_TAG_H

#include "host_driver/weft_tag.h"
#include "tools/weft-bench/crew.h"
#include "tools/weft-bench/end.h"

enum {
	TAG_CQ_ENTRIES = 4096,
};

/* Spaces of tags, in their high halves. */
#define TAG_DATA   (UINT64_C(1) << 32)
#define TAG_CREDIT (UINT64_C(2) << 32)
#define TAG_OTHER  (UINT64_C(3) << 32) /* never matched while something is measured */

struct tag_config {
	bool block;           /* waits sleep */
	uint32_t eager_bytes; /* 0: the default */
	uint32_t access;      /* of the peer: WEFT_ACCESS_REMOTE_* */
};

/* One end. */
struct tag_end {
	struct crew *c;
	struct tag_config cfg;
	struct end end;
	struct weft_tag_ep *ep;
	struct weft_ah *ah;
	uint32_t peer_ip, peer_qpn;
	/* Requests that have not completed. */
	uint32_t sends, recvs;
	struct weft_wc last_recv; /* the receive that completed last */
};

/* Functions return 0, or -1 after an error message. */
int tag_open(struct tag_end *e, struct crew *c, const struct tag_config *cfg);
void tag_close(struct tag_end *e);
/* Memory for messages, registered. */
int tag_alloc(struct tag_end *e, struct end_mem *b, size_t bytes);
void tag_free(struct end_mem *b);

/*
 * Post; wait while the queue is full. offset: of the message in b. *open (may be NULL) is
 * incremented now, and decremented when the send has completed.
 */
int tag_isend(struct tag_end *e, const struct end_mem *b, size_t offset, size_t bytes, uint64_t tag,
	      uint32_t *open);
/* wr_id: in last_recv; *number: for tag_icancel(), or NULL. */
int tag_irecv(struct tag_end *e, const struct end_mem *b, size_t offset, size_t bytes, uint64_t tag,
	      uint64_t wr_id, uint32_t *number);
/* The same with memory of another kind. */
int tag_isend_sge(struct tag_end *e, const struct weft_sge *sge, uint64_t tag, uint32_t *open);
int tag_irecv_sge(struct tag_end *e, const struct weft_sge *sge, uint64_t tag, uint64_t wr_id,
		  uint32_t *number);
int tag_icancel(struct tag_end *e, uint32_t number);
/* Take completions until that few sends, or receives, are open. A failed one is an error. */
int tag_wait_sends(struct tag_end *e, uint32_t left);
int tag_wait_open(struct tag_end *e, const uint32_t *open);
int tag_wait_recvs(struct tag_end *e, uint32_t left);
/* Takes the next completion of a cancelled receive. */
int tag_wait_canceled(struct tag_end *e);
/* Takes the next completion of a receive only; sends may complete meanwhile. */
int tag_wait_recv(struct tag_end *e);

/* An error message unless the last receive got message seq. */
int tag_check(const struct tag_end *e, const uint8_t *p, size_t bytes, uint64_t seq,
	      uint32_t slots);

/* Words between the two processes, beside the NIC. */
int tag_tell(const struct tag_end *e, uint64_t word);
int tag_hear(const struct tag_end *e, uint64_t *word);

/* tag_lat.c */
int tag_lat(struct crew *c, void *arg);
/*
 * Time of half a round trip, us. Both ranks call it. As in MPI programs, a receive is posted right
 * after the send that it answers, or is answered by: while that is under way.
 */
int tag_ping(struct tag_end *e, const struct end_mem *tx, const struct end_mem *rx, size_t bytes,
	     uint32_t reps, uint64_t *seq, double *us);
int tag_match(struct crew *c, void *arg);
/* tag_flow.c */
int tag_bw(struct crew *c, void *arg);
int tag_rate(struct crew *c, void *arg);
/* tag_overlap.c */
int tag_overlap(struct crew *c, void *arg);
/* tag_adapt.c */
int tag_adapt(struct crew *c, void *arg);

/* tag_freq.c */
int tag_freq(struct crew *c, void *arg);

/* tag_ring.c */
int tag_ring(struct crew *c, void *arg);

#endif /* WEFT_BENCH_TAG_H */
