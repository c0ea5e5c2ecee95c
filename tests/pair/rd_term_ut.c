/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terminates for requests of a hostile station, which takes none: how many contexts they hold, and
 * what a session walks because of them. docs/security.md "Exhaustion by a neighbour". And one that
 * its peer holds for its turn.
 */
#include <arpa/inet.h>

#include "tests/pair/rd_pair.h"

enum {
	NAMES = 20000,   /* queue pairs that the station feigns */
	CONTEXTS = 4000, /* of the NIC's, in this test */
	FEIGNED = 200,
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* A request of the peer for a queue pair that does not exist here, of a station by one of its
 * names. */
static void refuse(uint32_t station, uint32_t name)
{
	const struct rdmap_error error = {RDMAP_OPERATION, WIRE_TERM_OP_STREAM_CATASTROPHIC};
	const struct rdmap_seg pkt = {.src_ip = htonl(ntohl(A->nic->config.ip) + station),
				      .src_qpn = (A->qp[0]->qpn & ~0xffffu) | name,
				      .dst_qpn = 0x00abcd,
				      .ssn = 1};

	llp_refuse(B->nic, B->nic->host.null_qp, &pkt, &error);
}

/* A datagram of the process of end 1: it needs a context. */
static bool sends(void)
{
	struct rp_req req = {.opcode = HW_WQE_SEND, .bytes = 8};
	struct fw_qp *from = rp_qp(&rp, 1, HW_QPT_UD, 1), *to = rp_qp(&rp, 0, HW_QPT_UD, 1);
	struct hw_cqe cqe = {.status = HW_STATUS_GENERAL_ERR};

	rp_rts(&rp, 0, to);
	rp_rts(&rp, 1, from);
	req.dst = to;
	rp_req(&rp, 1, from, &req);
	rp_run(&rp, 1000000);
	return rp_scqe(&rp, 1, &cqe) && cqe.status == HW_STATUS_SUCCESS;
}

/* Contexts are left for others, and flows: no name has more than those of its station. */
static void names_of_a_station(void)
{
	uint32_t i, max;

	rp_begin(&rp);
	rp_open(&rp);
	max = B->nic->host.wqes.max;
	B->nic->host.wqes.max = CONTEXTS;
	rp.filter = rp_drop_terminates;
	for (i = 0; i < NAMES; i++)
		refuse(0, 1 + i);
	CU_ASSERT(B->nic->host.wqes.used <= RD_ANSWERS);
	CU_ASSERT(B->nic->rd.flows.used <= RD_ANSWERS);
	CU_ASSERT_TRUE(sends());
	B->nic->host.wqes.max = max;
	rp.filter = NULL;
	rp_run(&rp, 2000000000);
	CU_ASSERT_EQUAL(B->nic->rdmap.terminates, 0);
	/* It gets the next ones as soon as it has taken some. */
	i = (uint32_t)RP_CNT(&rp, 1, terminates_tx);
	refuse(0, 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, terminates_tx), i + 1);
	rp_quiet(&rp);
	rp_end(&rp);
}

/* The station takes nothing at all: the timer of its session does not walk a flow for each name. */
static void names_of_a_silent_station(void)
{
	uint64_t most = 0;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_all;
	for (i = 0; i < NAMES; i++)
		refuse(0, 1 + i);
	for (i = 0; i < 4000; i++) {
		fw_walk_steps = 0;
		rp_run(&rp, 100000);
		most = fw_walk_steps > most ? fw_walk_steps : most;
	}
	CU_ASSERT(most > 0 && most <= 8 * RD_ANSWERS);
	rp.filter = NULL;
	rp_run(&rp, 2000000000);
	rp_end(&rp);
}

/* All stations together leave contexts and flows to processes. */
static void names_of_stations(void)
{
	uint32_t i, k;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_all;
	for (i = 0; i < FEIGNED; i++)
		for (k = 0; k < RD_ANSWERS; k++)
			refuse(2 + i, 1 + k);
	CU_ASSERT(B->nic->rdmap.terminates > RD_NOTICES / 2);
	CU_ASSERT(B->nic->rdmap.terminates <= RD_NOTICES);
	CU_ASSERT(B->nic->rd.flows.used <= RD_NOTICES);
	rp.filter = NULL;
	rp_run(&rp, 30000000000);
	CU_ASSERT_EQUAL(B->nic->rdmap.terminates, 0);
	rp_end(&rp);
}

static bool answered; /* the read response may pass */
static uint32_t tries;

/* The answers of end 1 come out of order, and the second try of the Send stays on the way. */
static enum bench_verdict out_of_order(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from == 1)
		return info->ddp && info->opcode == WIRE_RDMAP_READ_RESPONSE && !answered
			   ? BENCH_DROP
			   : BENCH_PASS;
	if (info->type != WIRE_DGRAM_RD)
		return BENCH_PASS;
	if (info->is_void || info->opcode != WIRE_RDMAP_SEND)
		return tries ? BENCH_DROP : BENCH_PASS;
	switch (++tries) {
	case 1:
		return BENCH_PASS;
	case 2:
		return BENCH_KEEP;
	default:
		return BENCH_DROP;
	}
}

/*
 * A peer that holds a Terminate for its turn has acknowledged its arrival, and still repeats the
 * request. The Send fails there, so its second try, which arrives last, takes no receive.
 */
static void held_by_the_peer(void)
{
	struct rp_req read = {.opcode = HW_WQE_READ, .wr_id = 1, .bytes = 8};
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	answered = false;
	tries = 0;
	rp.filter = out_of_order;
	rp_recv(&rp, 1, B->qp[0], 11, 0, 8);
	rp_recv(&rp, 1, B->qp[0], 12, 0, 64);
	read.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &read);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 2, 0, 64);
	for (i = 0; i < 2000 && tries < 2; i++)
		rp_run(&rp, 10000);
	CU_ASSERT_EQUAL_FATAL(tries, 2);
	rp_expect_recv(&rp, 1, 11, HW_STATUS_LOC_LEN_ERR);
	rp_expect_none(&rp);
	answered = true;
	for (i = 0; i < 2000 && !RP_CNT(&rp, 0, terminates_rx); i++)
		rp_run(&rp, 10000);
	rp_run(&rp, 100000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_INV_REQ_ERR);
	rp_release(&rp);
	rp_run(&rp, 10000000);
	rp_expect_none(&rp);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 3, 0, 16);
	rp_run(&rp, 10000000);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 12, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

UT_MAIN("pair/rd_term", UT(names_of_a_station), UT(names_of_a_silent_station),
	UT(names_of_stations), UT(held_by_the_peer))
