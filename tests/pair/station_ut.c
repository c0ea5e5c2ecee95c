/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One station's packets take a part of tables that all stations share, and leave the rest to
 * others: packets of RD before their turn, responses to reads. docs/security.md "Exhaustion by a
 * neighbour".
 */
#include "tests/pair/rd_pair.h"

enum {
	HELD = 30,      /* places, in this test */
	SENDS = 28,     /* behind one that is lost, within the first window */
	CONTEXTS = 300, /* of the NIC's, in this test */
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static uint32_t first; /* PSN of the packet that is lost */
static bool known;

static enum bench_verdict lose_first(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from || info->type != WIRE_DGRAM_RD || !info->ddp)
		return BENCH_PASS;
	if (!known)
		first = info->psn;
	known = true;
	return info->psn == first ? BENCH_DROP : BENCH_PASS;
}

static void post(uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++) {
		rp_recv(&rp, 1, B->qp[0], i, 4096 + i * 64, 64);
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, i * 64, 64);
	}
	rp_settle(&rp);
}

/* Two thirds are for one station; its packets beyond count as lost, and come again. */
static void early_packets(void)
{
	struct hw_cqe cqe;
	uint32_t i, max, held;

	rp_begin(&rp);
	rp_open(&rp);
	max = B->nic->rd.held.max;
	B->nic->rd.held.max = HELD;
	known = false;
	rp.filter = lose_first;
	post(0, SENDS - 4);
	held = B->nic->rd.held.used;
	CU_ASSERT_EQUAL(held, HELD / 3 * 2);
	CU_ASSERT(RP_CNT(&rp, 1, drop_rd_no_memory) > 0);
	/* The next ones come from another station. */
	rp_session(&rp, 1)->station ^= 1;
	post(SENDS - 4, 4);
	CU_ASSERT(B->nic->rd.held.used > held);
	rp.filter = NULL;
	rp_run(&rp, 2000000000);
	for (i = 0; i < SENDS; i++) {
		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe) && cqe.status == HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_rcqe(&rp, 1, &cqe) && cqe.status == HW_STATUS_SUCCESS);
	}
	CU_ASSERT_EQUAL(B->nic->station.used[STATION_RD_HELD], 0);
	B->nic->rd.held.max = max;
	rp_end(&rp);
}

static enum bench_verdict drop_responses(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->from == 1 && info->ddp && info->opcode == WIRE_RDMAP_READ_RESPONSE
		   ? BENCH_DROP
		   : BENCH_PASS;
}

/* A read of eight bytes by a queue pair of the peer that only its packets name. */
static enum rdmap_result reads(uint32_t name, uint8_t station)
{
	const struct wire_read_request req = {.bytes = be32_put(8),
					      .src_stag = be32_put(B->stag),
					      .src_to = be64_put((uintptr_t)B->mem)};
	const struct rdmap_seg pkt = {.src_ip = A->nic->config.ip,
				      .src_qpn = (A->qp[0]->qpn & ~0xffffu) | name,
				      .dst_qpn = B->qp[name % 2]->qpn,
				      .station = station,
				      .ssn = 1};
	struct rdmap_error error;

	/* The queue pair would answer only so many at a time; there may be thousands of them. */
	B->qp[name % 2]->responder_slots = 0;
	return rdmap_read_request(B->nic, B->qp[name % 2], &pkt, &req, &error);
}

/* Its reads leave contexts to the reads of others, and to processes here. */
static void responses(void)
{
	uint32_t i, max, taken = 0, others = 0;
	uint8_t station;

	rp_begin(&rp);
	rp_open(&rp);
	max = B->nic->host.wqes.max;
	B->nic->host.wqes.max = CONTEXTS;
	station = rp_session(&rp, 1)->station;
	rp.filter = drop_responses;
	for (i = 0; i < 2 * CONTEXTS; i++)
		taken += reads(1 + i, station) == RDMAP_OK;
	CU_ASSERT_EQUAL(taken, CONTEXTS / 4 * 3 / 3 * 2);
	for (i = 0; i < 2 * CONTEXTS; i++)
		others += reads(10000 + i, station ^ 1) == RDMAP_OK;
	CU_ASSERT(others > CONTEXTS / 8);
	/* A process has a quarter in any case. */
	for (i = 0; i < 2 * CONTEXTS; i++)
		(void)reads(20000 + i, (uint8_t)i);
	CU_ASSERT(B->nic->host.wqes.used <= CONTEXTS / 4 * 3);
	CU_ASSERT_TRUE(RP_CNT(&rp, 1, responses_held_back) > 0);
	rp_send(&rp, 1, B->qp[0], A->qp[0], 7, 0, 8);
	rp_recv(&rp, 0, A->qp[0], 7, 0, 8);
	rp_run(&rp, 10000000);
	rp_expect_send(&rp, 1, 7, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 0, 7, HW_STATUS_SUCCESS);
	B->nic->host.wqes.max = max;
	rp.filter = NULL;
	rp_run(&rp, 60000000000);
	CU_ASSERT_EQUAL(B->nic->station.used[STATION_RESPONSES], 0);
	rp_end(&rp);
}

/* A notice counts for the station of its session, and for the session. */
static void notices(void)
{
	struct rd_flow flow = {.session = NULL};
	struct fw_wqe msg = {.flow = &flow};
	struct fw_nic *nic;
	uint32_t before;

	rp_begin(&rp);
	rp_open(&rp);
	nic = rp.end[0].nic;
	flow.session = rp_session(&rp, 0);
	CU_ASSERT_NOT_EQUAL(flow.session->station, STATION_NONE);
	before = nic->rdmap.notices_to[flow.session->index];
	rd_notice_charge(nic, &msg);
	CU_ASSERT_EQUAL(msg.station, flow.session->station);
	CU_ASSERT_EQUAL(msg.notice_to, flow.session->index + 1);
	CU_ASSERT_EQUAL(nic->rdmap.notices_to[flow.session->index], before + 1);
	nic->rdmap.notices_to[flow.session->index]--;
	station_give(nic, msg.station, STATION_NOTICES);
	rp_end(&rp);
}

UT_MAIN("pair/station", UT(notices), UT(early_packets), UT(responses))
