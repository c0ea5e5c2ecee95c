/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell ring as a hostile process fills it: kinds and numbers that do not exist, queue pairs
 * of others, more entries than a turn reads, rings that wrap.
 */
#include <stdlib.h>

#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static struct fw_client *client(void)
{
	return &A->nic->host.clients[A->client];
}

/* Kinds 0 and 3 to 255, numbers of no object: each is counted and has no effect. */
static void garbage(void)
{
	uint64_t bad;
	uint32_t i;

	rp_begin(&rp);
	bad = RP_CNT(&rp, 0, doorbells_bad);
	for (i = 3; i < 256; i++)
		rp_ring_raw(&rp, 0, i << 24 | (i == HW_DB_CMD ? HW_CMD_SLOTS : A->qp[0]->qpn));
	rp_ring_raw(&rp, 0, A->qp[0]->qpn);
	rp_ring_raw(&rp, 0, HW_DB_ENTRY(HW_DB_SQ, 0));
	rp_ring_raw(&rp, 0, HW_DB_ENTRY(HW_DB_SQ, 0xffffff));
	rp_ring_raw(&rp, 0, HW_DB_ENTRY(HW_DB_SQ, A->qp[1]->qpn + 1));
	rp_ring_raw(&rp, 0, HW_DB_ENTRY(HW_DB_SQ, B->qp[0]->qpn));
	rp_ring_raw(&rp, 0, HW_DB_ENTRY(HW_DB_CQ_ARM, HW_MAX_CQ));
	rp_ring_raw(&rp, 0, HW_DB_ENTRY(HW_DB_CQ_ARM, 0xffffff));
	rp_ring_raw(&rp, 0, HW_DB_ENTRY(HW_DB_CQ_ARM, 77));
	rp_settle(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, doorbells_bad), bad + 253 + 8);
	CU_ASSERT_FALSE(db_pending(A->nic));
	rp_end(&rp);
}

/* Another process cannot ring this one's queue pairs nor arm its CQs. */
static void of_another_client(void)
{
	struct fw_client_params params = {
	    .bar_bytes = RP_BAR_BYTES, .pid = 2, .uid = 2, .name = "other"};
	struct rp_req req = {.opcode = HW_WQE_WRITE};
	struct hw_resp_attach attach;
	uint32_t other, *ring;

	rp_begin(&rp);
	params.bar = calloc(1, RP_BAR_BYTES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(params.bar);
	CU_ASSERT_EQUAL(fw_client_attach(A->nic, &params, &other, &attach), 0);
	rp_settle(&rp);
	req.dst = B->qp[0];
	A->qp[0]->record->rung = 1; /* so that rp_req() rings nothing */
	rp_req(&rp, 0, A->qp[0], &req);
	ring = (void *)((uint8_t *)params.bar + HW_BAR_DB_RING);
	ring[0] = HW_DB_ENTRY(HW_DB_SQ, A->qp[0]->qpn);
	ring[1] = HW_DB_ENTRY(HW_DB_CQ_ARM, A->scq->index);
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, doorbells_bad), 2);
	CU_ASSERT_EQUAL(A->qp[0]->record->rung, 1);
	CU_ASSERT_EQUAL(ring[0], 0);
	rp_expect_none(&rp);
	A->qp[0]->record->rung = 0;
	rp_ring(&rp, 0, A->qp[0]);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(fw_client_detach(A->nic, other), FW_DETACH_DONE);
	free(params.bar);
	rp_end(&rp);
}

/* A turn reads a limited number of entries of one client; the rest is pending. */
static void quantum(void)
{
	uint64_t before;
	uint32_t i;

	rp_begin(&rp);
	for (i = 0; i < 3 * DB_CLIENT_QUANTUM + 5; i++)
		rp_ring_raw(&rp, 0, HW_DB_ENTRY(HW_DB_SQ, A->qp[0]->qpn));
	for (i = 1; i <= 4; i++) {
		before = RP_CNT(&rp, 0, doorbells);
		CU_ASSERT_TRUE(db_pending(A->nic));
		CU_ASSERT_TRUE(fw_sleep(A->nic, true) == false);
		fw_sleep(A->nic, false);
		CU_ASSERT_EQUAL(db_poll(A->nic), i < 4 ? DB_CLIENT_QUANTUM : 5);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, doorbells) - before, i < 4 ? DB_CLIENT_QUANTUM : 5);
	}
	CU_ASSERT_FALSE(db_pending(A->nic));
	CU_ASSERT_TRUE(fw_sleep(A->nic, true));
	CU_ASSERT_EQUAL(((struct hw_bar_header *)(void *)A->bar)->sleeping, 1);
	fw_sleep(A->nic, false);
	CU_ASSERT_EQUAL(((struct hw_bar_header *)(void *)A->bar)->sleeping, 0);
	rp_end(&rp);
}

/* Processes see where the NIC polls: from the start, after each move, and while it sleeps. */
static void where_it_polls(void)
{
	struct fw_client_params params = {
	    .bar_bytes = RP_BAR_BYTES, .pid = 2, .uid = 2, .name = "other"};
	struct hw_resp_attach attach;
	const struct hw_bar_header *header, *others;
	uint32_t other;

	rp_begin(&rp);
	header = (const void *)A->bar;
	CU_ASSERT_EQUAL(header->poll_cpu, 0);
	A->port.poll_cpu = 3;
	params.bar = calloc(1, RP_BAR_BYTES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(params.bar);
	CU_ASSERT_EQUAL(fw_client_attach(A->nic, &params, &other, &attach), 0);
	others = params.bar;
	CU_ASSERT_EQUAL(others->poll_cpu, 3);
	A->port.poll_cpu = 2;
	CU_ASSERT_TRUE(fw_sleep(A->nic, true));
	CU_ASSERT_TRUE(header->poll_cpu == 2 && others->poll_cpu == 2);
	A->port.poll_cpu = 5;
	fw_sleep(A->nic, false);
	CU_ASSERT_TRUE(header->poll_cpu == 5 && others->poll_cpu == 5);
	CU_ASSERT_EQUAL(fw_client_detach(A->nic, other), FW_DETACH_DONE);
	free(params.bar);
	rp_end(&rp);
}

/* The ring and its free-running index wrap; every entry counts once and is cleared. */
static void wrap(void)
{
	struct hw_bar_header *header;
	uint32_t *ring, i, k;

	rp_begin(&rp);
	header = (void *)A->bar;
	ring = (void *)(A->bar + HW_BAR_DB_RING);
	/* The ring is empty: both sides may begin at any index. */
	rp_settle(&rp);
	header->db_tail = 0u - 100;
	client()->db_head = 0u - 100;
	for (i = 0; i < 300; i++) {
		struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = i};

		req.dst = B->qp[0];
		rp_req(&rp, 0, A->qp[0], &req);
		rp_settle(&rp);
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(A->qp[0]->record->rung, 0);
	}
	CU_ASSERT_EQUAL(client()->db_head, 200);
	for (i = 0, k = 0; i < HW_DB_RING_ENTRIES; i++)
		k |= ring[i];
	CU_ASSERT_EQUAL(k, 0);
	/* An entry beyond the NIC's index waits for those before it. */
	ring[(client()->db_head + 1) % HW_DB_RING_ENTRIES] = HW_DB_ENTRY(HW_DB_SQ, A->qp[0]->qpn);
	CU_ASSERT_EQUAL(db_poll(A->nic), 0);
	ring[client()->db_head % HW_DB_RING_ENTRIES] = HW_DB_ENTRY(HW_DB_SQ, A->qp[0]->qpn);
	CU_ASSERT_EQUAL(db_poll(A->nic), 2);
	header->db_tail += 2;
	rp_end(&rp);
}

/* A doorbell for a QP that may not send yet is no error; its requests are sent later. */
static void before_rts(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 3};
	struct fw_qp *qp;

	rp_begin(&rp);
	qp = rp_qp(&rp, 0, HW_QPT_RD, 1);
	req.dst = B->qp[0];
	rp_req(&rp, 0, qp, &req);
	rp_quiet(&rp);
	rp_expect_none(&rp);
	rp_rts(&rp, 0, qp);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, doorbells_bad), 0);
	rp_end(&rp);
}

UT_MAIN("pair/db", UT(garbage), UT(of_another_client), UT(quantum), UT(where_it_polls), UT(wrap),
	UT(before_rts))
