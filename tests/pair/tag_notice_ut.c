/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NACKs and DONEs of tagged endpoints for a hostile station, which acknowledges none: whose
 * contexts they hold, and that they come later if it takes them. docs/security.md "Exhaustion by a
 * neighbour".
 */
#include <arpa/inet.h>

#include "tests/pair/tag_pair.h"

enum {
	RTRS = 20000,    /* that the station sends */
	CONTEXTS = 4000, /* of the NIC's, in this test */
	FLOWS = 4000,    /* likewise */
	MESSAGES = 1000, /* that want an answer when they are matched */
	BATCH = 50,      /* that the queues hold */
};

static struct tp tp;

#define A  (&tp.rp.end[0])
#define B  (&tp.rp.end[1])
#define MS UINT64_C(1000000)

/* The station takes no message of the NIC's own; the rest of the session goes on. */
static enum bench_verdict drop_notices(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return info->from == 1 && info->ddp && info->opcode == WIRE_RDMAP_SEND &&
		       info->type == WIRE_DGRAM_RD && !info->is_void
		   ? BENCH_DROP
		   : BENCH_PASS;
}

static const struct fw_account *process(void)
{
	return B->nic->host.clients[B->client].share->user;
}

/* An RTR of the station's that must be refused. */
static enum rdmap_result announce(uint32_t name)
{
	const struct wire_tag env = {.kind = WIRE_TAG_RTR,
				     .bytes = be32_put(100000),
				     .stag = be32_put(STAG_SINK_FLAG | name)};
	const struct rdmap_seg pkt = {.src_ip = A->nic->config.ip,
				      .src_qpn = tp.qp[0]->qpn,
				      .dst_qpn = tp.qp[1]->qpn,
				      .flags = WIRE_DGRAM_F_RESPONSE,
				      .ssn = 1};

	return tag_rtr_rx(B->nic, tp.qp[1], &pkt, &env);
}

/* A datagram of the process of end 1: it needs a context. */
static bool sends(void)
{
	struct rp_req req = {.opcode = HW_WQE_SEND, .bytes = 8};
	struct fw_qp *from = rp_qp(&tp.rp, 1, HW_QPT_UD, 1), *to = rp_qp(&tp.rp, 0, HW_QPT_UD, 1);
	struct hw_cqe cqe = {.status = HW_STATUS_GENERAL_ERR};

	rp_rts(&tp.rp, 0, to);
	rp_rts(&tp.rp, 1, from);
	req.dst = to;
	rp_req(&tp.rp, 1, from, &req);
	rp_run(&tp.rp, MS);
	return rp_scqe(&tp.rp, 1, &cqe) && cqe.status == HW_STATUS_SUCCESS;
}

/* The process whose endpoint refuses them keeps its contexts and its flows. */
static void nacks(void)
{
	uint32_t i, wqes, flows;

	tp_begin(&tp);
	wqes = B->nic->host.wqes.max;
	flows = B->nic->rd.flows.max;
	B->nic->host.wqes.max = CONTEXTS;
	B->nic->rd.flows.max = FLOWS;
	tp.rp.filter = drop_notices;
	for (i = 0; i < RTRS; i++)
		CU_ASSERT_EQUAL(announce(1 + i), i < RD_ANSWERS ? RDMAP_OK : RDMAP_REFUSE);
	CU_ASSERT_EQUAL(process()->wqes, 0);
	CU_ASSERT(B->nic->host.wqes.used <= RD_ANSWERS);
	CU_ASSERT(B->nic->rd.flows.used <= RD_ANSWERS);
	CU_ASSERT_TRUE(sends());
	B->nic->host.wqes.max = wqes;
	B->nic->rd.flows.max = flows;
	tp.rp.filter = NULL;
	rp_run(&tp.rp, 4000 * MS);
	CU_ASSERT_EQUAL(B->nic->station.used[STATION_NOTICES], 0);
	/* It gets the next one as soon as it has taken some. */
	CU_ASSERT_EQUAL(announce(1), RDMAP_OK);
	tp_end(&tp);
}

static uint32_t completed(uint32_t e, bool (*take)(struct rp *, uint32_t, struct hw_cqe *))
{
	struct hw_cqe cqe;
	uint32_t n = 0;

	for (; take(&tp.rp, e, &cqe); n++)
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	return n;
}

/*
 * Synchronous messages that receives are posted for: each is answered by a DONE. ACKs are lost with
 * those.
 */
static void match(uint32_t from, uint32_t n)
{
	uint32_t i, received = 0;

	for (i = from; i < from + n; i++) {
		tp_recv(&tp, 1, i, i, 0, 8);
		tp_send_flags(&tp, 0, i, i, 0, 8, HW_TSEND_F_SYNC, 0);
	}
	for (i = 0; i < 200 && received < n; i++) {
		rp_run(&tp.rp, MS);
		received += completed(1, rp_rcqe);
	}
	CU_ASSERT_EQUAL(received, n);
}

/* Its receives complete; what it owes their senders holds messages and no contexts of its own. */
static void dones(void)
{
	uint32_t i, sent = 0;

	tp_begin(&tp);
	tp.rp.filter = drop_notices;
	for (i = 0; i < MESSAGES; i += BATCH)
		match(i, BATCH);
	CU_ASSERT_EQUAL(process()->wqes, 0);
	CU_ASSERT_EQUAL(B->nic->station.used[STATION_NOTICES], RD_ANSWERS);
	CU_ASSERT_EQUAL(B->nic->tag.arrivals.used, MESSAGES - RD_ANSWERS);
	CU_ASSERT_FALSE(tag_pending(B->nic));
	tp.rp.filter = NULL;
	for (i = 0; i < 2000 && sent < MESSAGES; i++) {
		rp_run(&tp.rp, MS);
		sent += completed(0, rp_scqe);
	}
	CU_ASSERT_EQUAL(sent, MESSAGES);
	tp_end(&tp);
}

/* The end of an endpoint waits for a peer that takes none, but not for long. */
static void ends(bool heard)
{
	struct hw_qp_attr attr = {0};
	uint32_t i;

	tp_begin(&tp);
	tp.rp.filter = drop_notices;
	for (i = 0; i < MESSAGES; i += BATCH)
		match(i, BATCH);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_ERR, 0, &attr), 0);
	if (heard)
		tp.rp.filter = NULL;
	rp_run(&tp.rp, TAG_OWING_MAX_NS + 200 * MS);
	CU_ASSERT_EQUAL(B->nic->tag.arrivals.used, 0);
	if (heard)
		CU_ASSERT_EQUAL(completed(0, rp_scqe), MESSAGES);
	tp.rp.filter = NULL;
	rp_run(&tp.rp, 4000 * MS);
	CU_ASSERT_EQUAL(B->nic->station.used[STATION_NOTICES], 0);
}

static void ends_heard(void)
{
	ends(true);
	tp_end(&tp);
}

static void ends_unheard(void)
{
	struct hw_qp_attr attr = {0};
	struct hw_cqe cqe;

	ends(false);
	/* The sends that nobody reported wait until their own endpoint ends. */
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 0, tp.qp[0], HW_QPS_ERR, 0, &attr), 0);
	rp_run(&tp.rp, 100 * MS);
	while (rp_scqe(&tp.rp, 0, &cqe))
		;
	tp_end(&tp);
}

UT_MAIN("pair/tag_notice", UT(nacks), UT(dones), UT(ends_heard), UT(ends_unheard))
