/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of acknowledgements: packets under way, and ACKs for them.
 */
#ifndef WEFT_TESTS_PAIR_RD_ACK_FIX_H
#define WEFT_TESTS_PAIR_RD_ACK_FIX_H

#include "tests/pair/rd_pair.h"

enum {
	W = 5, /* packets in flight */
	PATTERNS = 3 * 3 * 3 * 3 * 3,
};

static struct rp rp;

static inline struct rd_session *sender(void)
{
	return rp_session(&rp, 0);
}

/* Passes an ACK to the sender directly, without the wire. */
static inline void hear(uint32_t ack, uint64_t received, const uint64_t refused[4], uint32_t rnr_ns)
{
	struct wire_rd rd = {.ack = be32_put(ack)};
	struct wire_rd_ack map;
	uint32_t i;

	memset(&map, 0, sizeof(map));
	map.received[0] = be64_put(received);
	for (i = 0; refused && i < 4; i++)
		map.refused[i] = be64_put(refused[i]);
	map.rnr_timer_ns = be32_put(rnr_ns);
	fw_now(rp.end[0].nic, rp.wire.now_ns);
	rd_ack_rx(rp.end[0].nic, sender(), &rd, &map, false);
}

/* Posts n Writes of 8 bytes in one flow, which are lost; returns their first PSN. */
static inline uint32_t post_lost(uint32_t n)
{
	uint32_t psn, i;

	rp.filter = rp_drop_data;
	psn = sender()->tx_psn;
	for (i = 0; i < n; i++) {
		struct rp_req req = {
		    .opcode = HW_WQE_WRITE, .dst = rp.end[1].qp[0], .bytes = 8, .wr_id = i};

		rp_req(&rp, 0, rp.end[0].qp[0], &req);
		rp_settle(&rp);
	}
	CU_ASSERT_EQUAL_FATAL(sender()->tx_psn, psn + n);
	return psn;
}

/* Both ends discard the session; open requests of the sender fail. */
static inline void start_over(void)
{
	struct hw_cqe cqe;
	uint32_t e;

	rp.filter = NULL;
	for (e = 0; e < 2; e++)
		rd_session_fail(rp.end[e].nic, rp_session(&rp, e), HW_STATUS_REM_ABORT_ERR,
				HW_VENDOR_ERR_NONE);
	/* Requests that a lying peer accepted after one that it refused keep their status. */
	while (rp_scqe(&rp, 0, &cqe))
		CU_ASSERT_TRUE(cqe.status == HW_STATUS_REM_ABORT_ERR ||
			       cqe.status == HW_STATUS_SUCCESS);
	rp_check_pools(&rp, 0, 0);
	rp_check_pools(&rp, 1, 0);
	rp_open(&rp);
}

#endif /* WEFT_TESTS_PAIR_RD_ACK_FIX_H */
