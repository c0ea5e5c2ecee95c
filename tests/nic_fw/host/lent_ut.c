/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings that a process lends to its queue pairs: room for them, places that change with each
 * request, and places that are none.
 */
#include "tests/bench/host.h"

struct rig {
	struct fw_ut ut;
	uint32_t pd;
	struct fw_cq *cq;
	struct fw_qp *qp;
	uint64_t room; /* for 8 rings of 1024 bytes */
	uint32_t seen; /* entries of cq */
};

enum {
	RING_BYTES = 1024,
};

static struct hw_cmd create_cmd(const struct rig *rig, enum hw_qp_type type)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};

	cmd.u.create_qp = (struct hw_cmd_create_qp){.pd = rig->pd,
						    .type = type,
						    .send_cq = rig->cq->index,
						    .recv_cq = rig->cq->index,
						    .srq = HW_SRQ_NONE,
						    .sq_slots = 16,
						    .max_send_wr = 16,
						    .max_recv_wr = 16,
						    .max_send_sge = 1,
						    .max_recv_sge = 3,
						    .flags = HW_QP_F_LENT};
	return cmd;
}

static int alloc_rings(struct rig *rig, uint32_t bytes, uint32_t count, uint64_t *offset)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_RINGS, .u.alloc_rings = {bytes, count}};
	struct hw_cmd_resp resp;
	int err = host_cmd(rig->ut.nic, 0, &cmd, &resp);

	*offset = resp.u.rings.offset;
	return err;
}

static void begin(struct rig *rig, enum hw_qp_type type)
{
	struct hw_cmd_resp resp;
	struct hw_cmd cmd;

	memset(rig, 0, sizeof(*rig));
	fw_ut_begin(&rig->ut);
	rig->pd = host_pd(rig->ut.nic, 0);
	rig->cq = host_cq(rig->ut.nic, 0, 64, HW_EQ_NONE);
	CU_ASSERT_EQUAL_FATAL(alloc_rings(rig, RING_BYTES, 8, &rig->room), 0);
	cmd = create_cmd(rig, type);
	CU_ASSERT_EQUAL_FATAL(host_cmd(rig->ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.create_qp.sq_slots, 16);
	CU_ASSERT_EQUAL(resp.u.create_qp.rq_entries, 16);
	CU_ASSERT_EQUAL(resp.u.create_qp.sq_offset, 0);
	CU_ASSERT_EQUAL(resp.u.create_qp.rq_offset, 0);
	rig->qp = qp_find(rig->ut.nic, resp.u.create_qp.qpn);
}

static uint32_t place_of(const struct rig *rig, uint32_t ring)
{
	return (uint32_t)((rig->room + ring * RING_BYTES) / HW_RING_PLACE_BYTES);
}

static uint8_t *ring_at(struct rig *rig, uint32_t ring)
{
	return rig->ut.client[0].bar + rig->room + ring * RING_BYTES;
}

/* A send of no bytes without a destination, which fails by itself; so its wr_id is seen. */
static void post_send(struct rig *rig, uint32_t ring, uint64_t wr_id)
{
	struct hw_sq_wqe wqe = {.opcode = HW_WQE_SEND, .slots = 1, .wr_id = wr_id};
	struct hw_qp_record *record = rig->qp->record;

	memcpy(ring_at(rig, ring) + (size_t)(record->sq_prod & 15) * HW_SQ_SLOT_BYTES, &wqe,
	       sizeof(wqe));
	record->sq_place = place_of(rig, ring);
	record->sq_prod++;
}

static void post_recv(struct rig *rig, uint32_t ring, uint64_t wr_id)
{
	struct hw_rq_wqe wqe = {.wr_id = wr_id};
	struct hw_qp_record *record = rig->qp->record;

	memcpy(ring_at(rig, ring) + (size_t)(record->rq_prod & 15) * rig->qp->rq_stride_bytes, &wqe,
	       sizeof(wqe));
	record->rq_place = place_of(rig, ring);
	record->rq_prod++;
}

static void ring_doorbell(struct rig *rig)
{
	struct fw_client *client = &rig->ut.nic->host.clients[0];

	rig->qp->record->rung = 1;
	client->db_ring[client->header->db_tail++ % HW_DB_RING_ENTRIES] =
	    HW_DB_ENTRY(HW_DB_SQ, rig->qp->qpn);
	fw_ut_poll(&rig->ut, 1000);
}

static uint64_t next_wr_id(struct rig *rig)
{
	struct hw_cqe cqe;

	CU_ASSERT_TRUE_FATAL(host_cqe(rig->cq, rig->seen, &cqe));
	rig->seen++;
	return cqe.wr_id;
}

static void room_for_rings(void)
{
	uint64_t a, b;
	struct rig rig;

	begin(&rig, HW_QPT_UD);
	CU_ASSERT_EQUAL(alloc_rings(&rig, HW_RING_MIN_BYTES, 1, &a), 0);
	CU_ASSERT_EQUAL(a % HW_RING_PLACE_BYTES, 0);
	CU_ASSERT_EQUAL(alloc_rings(&rig, HW_RING_MAX_BYTES, HW_RINGS_MAX, &b), 0);
	CU_ASSERT_TRUE(b >= a + HW_RING_MIN_BYTES || b + (1 << 20) <= a);
	CU_ASSERT_EQUAL(alloc_rings(&rig, HW_RING_MIN_BYTES / 2, 1, &a), FW_EINVAL);
	CU_ASSERT_EQUAL(alloc_rings(&rig, HW_RING_MAX_BYTES * 2, 1, &a), FW_EINVAL);
	CU_ASSERT_EQUAL(alloc_rings(&rig, HW_RING_MIN_BYTES * 3, 1, &a), FW_EINVAL);
	CU_ASSERT_EQUAL(alloc_rings(&rig, HW_RING_MIN_BYTES, 0, &a), FW_EINVAL);
	CU_ASSERT_EQUAL(alloc_rings(&rig, HW_RING_MIN_BYTES, HW_RINGS_MAX + 1, &a), FW_EINVAL);
	/* Until the BAR is full. */
	while (alloc_rings(&rig, HW_RING_MAX_BYTES, HW_RINGS_MAX, &b) == 0)
		CU_ASSERT_TRUE_FATAL(b < FW_UT_BAR_BYTES);
	CU_ASSERT_EQUAL(alloc_rings(&rig, HW_RING_MAX_BYTES, HW_RINGS_MAX, &b), FW_ENOMEM);
	fw_ut_end(&rig.ut);
}

static void queue_pairs_that_cannot_have_them(void)
{
	struct hw_cmd_resp resp;
	struct hw_cmd cmd;
	struct rig rig;

	begin(&rig, HW_QPT_UD);
	cmd = create_cmd(&rig, HW_QPT_RD);
	cmd.u.create_qp.flags |= HW_QP_F_TAGGED;
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd = create_cmd(&rig, HW_QPT_RD);
	cmd.u.create_qp.sq_slots = HW_RING_MAX_BYTES / HW_SQ_SLOT_BYTES * 2;
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd = create_cmd(&rig, HW_QPT_RD);
	cmd.u.create_qp.max_recv_wr = HW_RING_MAX_BYTES / 64 + 1;
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.create_qp.max_recv_wr--;
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, 0, &cmd, &resp), 0);
	fw_ut_end(&rig.ut);
}

/* The room is the process's: it is not given out again with the queue pair. */
static void room_outlives_queue_pairs(void)
{
	struct fw_bar *bar;
	struct rig rig;
	uint64_t high;
	uint32_t holes;

	begin(&rig, HW_QPT_UD);
	bar = &rig.ut.nic->host.clients[0].bar;
	high = bar->high;
	holes = bar->num_free;
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DESTROY_QP, rig.qp->qpn, NULL), 0);
	CU_ASSERT_EQUAL(bar->high, high);
	CU_ASSERT_EQUAL(bar->num_free, holes);
	fw_ut_end(&rig.ut);
}

static void each_request_in_another_ring(void)
{
	struct fw_recv recv;
	struct rig rig;

	begin(&rig, HW_QPT_UD);
	host_rts(rig.ut.nic, rig.qp, 0);
	for (uint32_t i = 0; i < 40; i++) {
		post_send(&rig, i % 3, i);
		ring_doorbell(&rig);
		CU_ASSERT_EQUAL(next_wr_id(&rig), i);
		CU_ASSERT_EQUAL(rig.qp->record->sq_cons, i + 1);
		if (rig.qp->state == HW_QPS_SQE)
			CU_ASSERT_EQUAL(host_modify(rig.ut.nic, rig.qp, HW_QPS_RTS, HW_QP_CUR_STATE,
						    &(struct hw_qp_attr){.cur_state = HW_QPS_SQE}),
					0);
		post_recv(&rig, 3 + i % 4, 100 + i);
		CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 1);
		CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_OK);
		CU_ASSERT_EQUAL(recv.wr_id, 100 + i);
		CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_EMPTY);
	}
	fw_ut_end(&rig.ut);
}

/* Requests that were posted and not fetched are flushed out of the ring that they are in. */
static void flushed_from_their_ring(void)
{
	struct rig rig;

	begin(&rig, HW_QPT_UD);
	host_rts(rig.ut.nic, rig.qp, 0);
	post_send(&rig, 2, 7);
	post_send(&rig, 2, 8);
	post_recv(&rig, 5, 9);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, rig.qp, HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_EQUAL(next_wr_id(&rig), 7);
	CU_ASSERT_EQUAL(next_wr_id(&rig), 8);
	CU_ASSERT_EQUAL(next_wr_id(&rig), 9);
	post_send(&rig, 6, 10);
	ring_doorbell(&rig);
	CU_ASSERT_EQUAL(next_wr_id(&rig), 10);
	fw_ut_end(&rig.ut);
}

/* Beyond what the process has of its BAR: no page there is touched, and no request taken. */
static void places_that_are_none(void)
{
	const struct fw_bar *bar;
	struct fw_recv recv;
	struct rig rig;
	uint64_t end;

	begin(&rig, HW_QPT_UD);
	host_rts(rig.ut.nic, rig.qp, 0);
	bar = &rig.ut.nic->host.clients[0].bar;
	end = bar->charged / HW_RING_PLACE_BYTES;
	rig.qp->record->rq_place = (uint32_t)(end - RING_BYTES / HW_RING_PLACE_BYTES + 1);
	rig.qp->record->rq_prod = 1;
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, rig.qp, &recv), RQ_EMPTY);
	rig.qp->record->rq_place = UINT32_MAX;
	CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 0);
	CU_ASSERT_EQUAL(rig.ut.nic->counters.wqes_bad, 2);
	rig.qp->record->rq_place--;
	rig.qp->record->rq_place = (uint32_t)(end - RING_BYTES / HW_RING_PLACE_BYTES);
	CU_ASSERT_EQUAL(rq_available(rig.ut.nic, rig.qp), 1);
	rig.qp->record->sq_place = (uint32_t)end;
	rig.qp->record->sq_prod = 1;
	ring_doorbell(&rig);
	CU_ASSERT_EQUAL(rig.qp->state, HW_QPS_ERR);
	/* In ERR neither: nothing is flushed that cannot be read, but the receive, which can. */
	rig.qp->record->sq_prod = 5;
	ring_doorbell(&rig);
	CU_ASSERT_EQUAL(rig.qp->record->sq_cons, 0);
	fw_ut_end(&rig.ut);
}

/* The words are nothing to a queue pair with rings of its own. */
static void words_of_other_queue_pairs(void)
{
	struct fw_recv recv;
	struct fw_qp *qp;
	struct rig rig;

	begin(&rig, HW_QPT_UD);
	qp = host_qp(rig.ut.nic, 0, HW_QPT_UD, rig.pd, rig.cq, HW_SRQ_NONE);
	qp->record->rq_place = UINT32_MAX;
	qp->record->sq_place = UINT32_MAX;
	fw_ut_post_recv(qp, 5, 1);
	CU_ASSERT_EQUAL(rq_take(rig.ut.nic, qp, &recv), RQ_OK);
	CU_ASSERT_EQUAL(recv.wr_id, 5);
	CU_ASSERT_TRUE(lent_sq(rig.ut.nic, qp));
	fw_ut_end(&rig.ut);
}

UT_MAIN("nic_fw/host/lent", UT(room_for_rings), UT(queue_pairs_that_cannot_have_them),
	UT(room_outlives_queue_pairs), UT(each_request_in_another_ring),
	UT(flushed_from_their_ring), UT(places_that_are_none), UT(words_of_other_queue_pairs))
