/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints at the ends of rd_pair.h: operations, sends, completions.
 */
#ifndef WEFT_TESTS_TAG_PAIR_H
#define WEFT_TESTS_TAG_PAIR_H

#include "tests/pair/rd_pair.h"

enum {
	TP_POOL_BYTES = 1 << 20,
	TP_EAGER_BYTES = 4096,
};

struct tp {
	struct rp rp;
	struct fw_qp *qp[2]; /* NULL: the end was started again, without an endpoint */
	uint8_t *pool[2];
	uint32_t pool_stag[2];
};

/* A receive, a peek, the receive of a claim. Fields that are 0 get defaults: a tag of 0. */
struct tp_op {
	uint8_t op; /* 0: HW_TAG_RECV */
	uint8_t flags;
	uint64_t wr_id;
	uint64_t tag, ignore;
	uint32_t offset; /* of the buffer in the end's memory */
	uint32_t bytes;
	uint32_t num_sge; /* parts of the buffer; 0: 1 */
	uint32_t number;
	uint32_t min_free_bytes;
	uint32_t lkey; /* 0: the end's own region */
};

/* Two ends with an endpoint each, and an open session. */
void tp_begin(struct tp *tp);
/* With other attributes; 0 of pool_bytes: no pool. */
void tp_begin_with(struct tp *tp, const struct hw_cmd_tag_open *open);
/* Asserts that nothing is left, and frees all. */
void tp_end(struct tp *tp);
/* Asserts that no message, receive and send is left at an end but so many. */
void tp_check(struct tp *tp, uint32_t e, uint32_t posted, uint32_t arrivals, uint32_t sends);
/* Makes one more endpoint of an end, which has no pool. */
struct fw_qp *tp_qp(struct tp *tp, uint32_t e, const struct hw_cmd_tag_open *open);

/* Posts an operation to end e, for messages of the other end's endpoint; returns its place. */
uint32_t tp_op(struct tp *tp, uint32_t e, const struct tp_op *op);
/* Writes an operation without a doorbell. */
uint32_t tp_write_op(struct fw_qp *qp, const struct hw_tag_rq_wqe *wqe, const struct hw_sge *sge);
void tp_ring(struct tp *tp, uint32_t e, struct fw_qp *qp);
uint32_t tp_recv(struct tp *tp, uint32_t e, uint64_t wr_id, uint64_t tag, uint32_t offset,
		 uint32_t bytes);
/* Sends bytes from offset of the end's memory to the other end. */
void tp_send(struct tp *tp, uint32_t e, uint64_t wr_id, uint64_t tag, uint32_t offset,
	     uint32_t bytes);
void tp_send_flags(struct tp *tp, uint32_t e, uint64_t wr_id, uint64_t tag, uint32_t offset,
		   uint32_t bytes, uint32_t tsend_flags, uint8_t wqe_flags);

/* Takes the next completion of a receive, peek, or send, and asserts what it says. */
struct hw_cqe tp_expect(struct tp *tp, uint32_t e, uint64_t wr_id, enum hw_status status);
struct hw_cqe tp_expect_sent(struct tp *tp, uint32_t e, uint64_t wr_id, enum hw_status status);
struct hw_resp_tag_query tp_query(struct tp *tp, uint32_t e);

#endif /* WEFT_TESTS_TAG_PAIR_H */
