/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts: receives that several endpoints of a process take. Order over all members, buffers of
 * many messages, peeks, cancelling; members and contexts that end; commands of a hostile process.
 * docs/tagged.md "Contexts".
 */
#include "tests/pair/tag_pair.h"

#include <stdlib.h>

enum {
	LONG = 3 * TP_EAGER_BYTES,
	SINK = 1 << 16,
	MEMBERS = 3,
	POOL = TP_POOL_BYTES / 4,
	MANY = 3000,
};

static struct tp tp;
static struct fw_qp *own, *context, *member[MEMBERS];

#define NIC    (tp.rp.end[1].nic)
#define MEM(e) (tp.rp.end[e].mem)

/* The member, which the next messages of end 0 go to, has a part of the pool of its own. */
static struct fw_qp *member_new(uint32_t i)
{
	const struct hw_cmd_tag_open open = {
	    .eager_bytes = TP_EAGER_BYTES,
	    .pool_bytes = POOL,
	    .flags = HW_TAG_OPEN_F_MEMBER,
	    .context_qpn = context->qpn,
	};
	struct fw_qp *qp;

	tp.pool[1] += i * POOL;
	qp = tp_qp(&tp, 1, &open);
	tp.pool[1] -= i * POOL;
	return qp;
}

static void begin(void)
{
	const struct hw_cmd_tag_open none = {.eager_bytes = TP_EAGER_BYTES};
	const struct hw_cmd_tag_open open = {
	    .eager_bytes = TP_EAGER_BYTES,
	    .flags = HW_TAG_OPEN_F_CONTEXT,
	};
	uint32_t i;

	tp_begin_with(&tp, &none);
	own = tp.qp[1];
	context = tp_qp(&tp, 1, &open);
	for (i = 0; i < MEMBERS; i++)
		member[i] = member_new(i);
	rp_fill(MEM(0), LONG, 7);
}

static void end(void)
{
	uint32_t i;

	tp.qp[1] = own;
	for (i = 0; i < MEMBERS; i++)
		if (member[i])
			rp_destroy_qp(&tp.rp, 1, member[i]);
	if (context)
		rp_destroy_qp(&tp.rp, 1, context);
	tp_end(&tp);
}

/* Sends to a member, and lets it arrive. */
static void send_to(struct fw_qp *to, uint64_t tag, uint32_t bytes)
{
	tp.qp[1] = to;
	tp_send(&tp, 0, 99, tag, 0, bytes);
	rp_quiet(&tp.rp);
}

static uint32_t post(const struct tp_op *op)
{
	uint32_t place;

	tp.qp[1] = context;
	place = tp_op(&tp, 1, op);
	rp_quiet(&tp.rp);
	return place;
}

static uint32_t receive(uint64_t wr_id, uint64_t tag, uint32_t bytes)
{
	const struct tp_op op = {
	    .wr_id = wr_id, .tag = tag, .offset = SINK, .bytes = bytes, .flags = HW_TAG_F_ANY_SRC};

	return post(&op);
}

/* Asserts the next completion, and where it is. */
static struct hw_cqe expect_at(const struct fw_qp *at, uint64_t wr_id, enum hw_status status)
{
	struct hw_cqe cqe = rp_expect_recv(&tp.rp, 1, wr_id, status);

	CU_ASSERT_EQUAL(cqe.qpn, at->qpn);
	return cqe;
}

static void sent(void)
{
	tp_expect_sent(&tp, 0, 99, HW_STATUS_SUCCESS);
}

/* Receives in the order of their posting, whichever member the messages are to. */
static void order(void)
{
	static const uint32_t bytes[] = {0, 1, 1000, TP_EAGER_BYTES, LONG};
	uint32_t i;

	begin();
	for (i = 0; i < 5; i++) {
		/* The receive first, then the message first. */
		receive(2 * i, 5, LONG);
		receive(2 * i + 1, 5, LONG);
		send_to(member[2], 5, bytes[i]);
		CU_ASSERT_EQUAL(expect_at(member[2], 2 * i, HW_STATUS_SUCCESS).bytes, bytes[i]);
		CU_ASSERT(rp_filled(MEM(1) + SINK, bytes[i], 7));
		send_to(member[0], 5, bytes[i]);
		expect_at(member[0], 2 * i + 1, HW_STATUS_SUCCESS);
		sent();
		sent();
		send_to(member[1], 5, bytes[i]);
		send_to(member[0], 5, bytes[i]);
		memset(MEM(1) + SINK, 0, LONG);
		receive(50 + i, 5, LONG);
		expect_at(member[1], 50 + i, HW_STATUS_SUCCESS);
		CU_ASSERT(rp_filled(MEM(1) + SINK, bytes[i], 7));
		receive(60 + i, 5, LONG);
		expect_at(member[0], 60 + i, HW_STATUS_SUCCESS);
		rp_quiet(&tp.rp);
		sent();
		sent();
	}
	tp_check(&tp, 1, 0, 0, 0);
	end();
}

/* A receive of a known source is not announced: the sender's endpoint is not the only receiver. */
static void no_announcement(void)
{
	const struct tp_op op = {.wr_id = 1, .tag = 5, .offset = SINK, .bytes = LONG};

	begin();
	receive(2, 4, 10);
	send_to(member[0], 4, 10);
	expect_at(member[0], 2, HW_STATUS_SUCCESS);
	sent();
	post(&op);
	CU_ASSERT_EQUAL(NIC->counters.tag_announced, 0);
	send_to(member[1], 5, LONG);
	expect_at(member[1], 1, HW_STATUS_SUCCESS);
	sent();
	CU_ASSERT(rp_filled(MEM(1) + SINK, LONG, 7));
	end();
}

/* The last completion of a buffer is apart, and says how many there were. */
static void multi(void)
{
	const struct tp_op op = {.wr_id = 1,
				 .flags = HW_TAG_F_MULTI | HW_TAG_F_ANY_SRC,
				 .tag = 5,
				 .offset = SINK,
				 .bytes = 1000,
				 .min_free_bytes = 100};
	struct hw_cqe cqe;
	uint32_t i;

	begin();
	post(&op);
	for (i = 0; i < MEMBERS; i++) {
		send_to(member[i], 5, 300);
		cqe = expect_at(member[i], 1, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.sq_index, 300 * i);
		CU_ASSERT_EQUAL(cqe.bytes, 300);
		CU_ASSERT_EQUAL(cqe.flags & HW_CQE_F_RELEASED, 0);
		sent();
	}
	/* 100 bytes are left. */
	send_to(member[0], 5, 1);
	expect_at(member[0], 1, HW_STATUS_SUCCESS);
	sent();
	cqe = expect_at(member[0], 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_RELEASED);
	CU_ASSERT_EQUAL(cqe.bytes, 0);
	CU_ASSERT_EQUAL(cqe.imm_inv, 4);
	/* Cancelled after a message: likewise. */
	i = post(&op);
	send_to(member[2], 5, 1);
	expect_at(member[2], 1, HW_STATUS_SUCCESS);
	sent();
	post(&(struct tp_op){.op = HW_TAG_CANCEL, .number = i});
	cqe = expect_at(member[0], 1, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_RELEASED);
	CU_ASSERT_EQUAL(cqe.imm_inv, 1);
	end();
}

/* An operation that ends without a message completes at the first endpoint, without any at the
 * context. */
static void without_message(void)
{
	const struct tp_op peek = {.op = HW_TAG_PEEK, .wr_id = 3, .tag = 5};
	uint32_t place, i;

	begin();
	for (i = 0; i <= MEMBERS; i++) {
		const struct fw_qp *home = i < MEMBERS ? member[i] : context;

		place = receive(2, 5, 10);
		post(&(struct tp_op){.op = HW_TAG_CANCEL, .number = place});
		CU_ASSERT_EQUAL(expect_at(home, 2, HW_STATUS_WR_FLUSH_ERR).vendor_err,
				HW_VENDOR_ERR_CANCELED);
		post(&peek);
		CU_ASSERT_EQUAL(expect_at(home, 3, HW_STATUS_GENERAL_ERR).vendor_err,
				HW_VENDOR_ERR_NO_MESSAGE);
		if (i < MEMBERS) {
			rp_destroy_qp(&tp.rp, 1, member[i]);
			member[i] = NULL;
		}
	}
	end();
}

static void peek_and_claim(void)
{
	struct hw_cqe cqe;

	begin();
	send_to(member[1], 5, 100);
	send_to(member[2], 5, 200);
	sent();
	sent();
	post(&(struct tp_op){.op = HW_TAG_PEEK, .wr_id = 3, .tag = 5, .flags = HW_TAG_F_CLAIM});
	cqe = expect_at(member[1], 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, 100);
	post(&(struct tp_op){.op = HW_TAG_PEEK, .wr_id = 4, .tag = 5, .flags = HW_TAG_F_DISCARD});
	CU_ASSERT_EQUAL(expect_at(member[2], 4, HW_STATUS_SUCCESS).bytes, 200);
	post(&(struct tp_op){.op = HW_TAG_CLAIMED,
			     .wr_id = 5,
			     .number = cqe.sq_index,
			     .offset = SINK,
			     .bytes = 100});
	expect_at(member[1], 5, HW_STATUS_SUCCESS);
	CU_ASSERT(rp_filled(MEM(1) + SINK, 100, 7));
	/* The claim of a member that has ended is void. */
	send_to(member[1], 5, 100);
	sent();
	post(&(struct tp_op){.op = HW_TAG_PEEK, .wr_id = 6, .tag = 5, .flags = HW_TAG_F_CLAIM});
	cqe = expect_at(member[1], 6, HW_STATUS_SUCCESS);
	rp_destroy_qp(&tp.rp, 1, member[1]);
	member[1] = NULL;
	post(&(struct tp_op){.op = HW_TAG_CLAIMED, .wr_id = 7, .number = cqe.sq_index});
	expect_at(member[0], 7, HW_STATUS_GENERAL_ERR);
	end();
}

/* A member takes its messages with it; the context's receives stay for the others. */
static void member_ends(void)
{
	begin();
	receive(1, 5, 10);
	send_to(member[0], 6, 10);
	send_to(member[1], 6, 10);
	sent();
	sent();
	CU_ASSERT_EQUAL(context->tag->match.num_arrived, 2);
	rp_destroy_qp(&tp.rp, 1, member[0]);
	member[0] = NULL;
	CU_ASSERT_EQUAL(context->tag->match.num_arrived, 1);
	CU_ASSERT_EQUAL(context->tag->num_members, MEMBERS - 1);
	receive(2, 6, 10);
	expect_at(member[1], 2, HW_STATUS_SUCCESS);
	receive(3, 6, 10);
	CU_ASSERT_EQUAL(context->tag->match.num_posted, 2);
	send_to(member[2], 6, 10);
	expect_at(member[2], 3, HW_STATUS_SUCCESS);
	send_to(member[2], 5, 10);
	expect_at(member[2], 1, HW_STATUS_SUCCESS);
	sent();
	sent();
	end();
}

/* No receive takes a message of a member in error, whose messages go in many slices. */
static void member_fails(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < MANY; i++) {
		send_to(member[0], 5, 0);
		sent();
	}
	send_to(member[1], 5, 10);
	sent();
	qp_error(NIC, member[0], HW_EVENT_QP_FATAL);
	CU_ASSERT(member[0]->tag->num_arrivals > 0);
	tp.qp[1] = context;
	tp_op(&tp, 1,
	      &(struct tp_op){
		  .wr_id = 1, .tag = 5, .offset = SINK, .bytes = 10, .flags = HW_TAG_F_ANY_SRC});
	rp_quiet(&tp.rp);
	expect_at(member[1], 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(context->tag->match.num_arrived, 0);
	CU_ASSERT_PTR_EQUAL(member[0]->tag->rx, member[0]->tag);
	end();
}

/* A receive that a message of a closed member had taken comes back at another one. */
static void member_ends_receiving(void)
{
	begin();
	tp.rp.filter = rp_drop_read_responses;
	receive(1, 5, LONG);
	tp.qp[1] = member[1];
	tp_send(&tp, 0, 99, 5, 0, LONG);
	rp_run(&tp.rp, 1000000);
	CU_ASSERT_EQUAL(member[1]->tag->num_arrivals, 1);
	CU_ASSERT_EQUAL(context->tag->match.num_posted, 0);
	rp_destroy_qp(&tp.rp, 1, member[1]);
	member[1] = NULL;
	tp.rp.filter = NULL;
	expect_at(member[0], 1, HW_STATUS_WR_FLUSH_ERR);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 99, HW_STATUS_REM_OP_ERR);
	end();
}

/* The end of a context ends its members. */
static void context_ends(void)
{
	struct hw_cmd_resp resp;
	struct hw_cmd cmd = {.op = HW_CMD_DESTROY_QP};
	uint32_t i;

	begin();
	cmd.u.obj.handle = context->qpn;
	receive(1, 5, 10);
	for (i = 0; i < MEMBERS; i++)
		send_to(member[i], 6 + i, i == 2 ? LONG : 10);
	CU_ASSERT_EQUAL(rp_cmd(&tp.rp, 1, &cmd, &resp), 0);
	context = NULL;
	rp_quiet(&tp.rp);
	for (i = 0; i < MEMBERS; i++) {
		CU_ASSERT_EQUAL(member[i]->state, HW_QPS_ERR);
		CU_ASSERT_PTR_EQUAL(member[i]->tag->rx, member[i]->tag);
	}
	sent();
	sent();
	tp_expect_sent(&tp, 0, 99, HW_STATUS_REM_ABORT_ERR);
	end();
}

static int open_with(struct fw_qp *qp, uint32_t flags, uint32_t context_qpn, uint32_t reserved)
{
	struct hw_cmd cmd = {.op = HW_CMD_TAG_OPEN,
			     .u.tag_open = {.qpn = qp->qpn,
					    .eager_bytes = TP_EAGER_BYTES,
					    .flags = flags,
					    .context_qpn = context_qpn,
					    .reserved = reserved}};
	struct hw_cmd_resp resp;

	return rp_cmd(&tp.rp, 1, &cmd, &resp);
}

/* Commands and operations that are refused. */
static void refused(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	const struct hw_qp_attr attr = {.port = 1, .qkey = RP_QKEY};
	struct rp_end *e = &tp.rp.end[1];
	struct hw_cmd_resp resp;
	struct fw_qp *qp, *other;
	struct hw_cmd made;
	uint32_t pd;

	begin();
	cmd.u.create_qp = (struct hw_cmd_create_qp){.pd = e->pd,
						    .type = HW_QPT_RD,
						    .send_cq = e->scq->index,
						    .recv_cq = e->rcq->index,
						    .srq = HW_SRQ_NONE,
						    .sq_slots = 16,
						    .max_send_wr = 8,
						    .max_recv_wr = 8,
						    .max_send_sge = 1,
						    .max_recv_sge = 1,
						    .flags = HW_QP_F_TAGGED};
	made = cmd;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&tp.rp, 1, &cmd, &resp), 0);
	qp = qp_find(e->nic, resp.u.create_qp.qpn);
	CU_ASSERT_EQUAL_FATAL(rp_modify(&tp.rp, 1, qp, HW_QPS_INIT,
					HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY, &attr),
			      0);
	CU_ASSERT_EQUAL(open_with(qp, HW_TAG_OPEN_F_MEMBER, 0, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(open_with(qp, HW_TAG_OPEN_F_MEMBER, qp->qpn, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(open_with(qp, HW_TAG_OPEN_F_MEMBER, own->qpn, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(open_with(qp, HW_TAG_OPEN_F_MEMBER, member[0]->qpn, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(open_with(qp, HW_TAG_OPEN_F_MEMBER, tp.qp[0]->qpn ^ 0xffff, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(open_with(qp, 0, context->qpn, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(open_with(qp, HW_TAG_OPEN_F_MEMBER, context->qpn, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(
	    open_with(qp, HW_TAG_OPEN_F_MEMBER | HW_TAG_OPEN_F_CONTEXT, context->qpn, 0),
	    FW_EINVAL);
	CU_ASSERT_EQUAL(
	    open_with(qp, HW_TAG_OPEN_F_NO_ANNOUNCE | HW_TAG_OPEN_F_ANNOUNCE_ALWAYS, 0, 0),
	    FW_EINVAL);
	CU_ASSERT_EQUAL(open_with(qp, HW_TAG_OPEN_F_ALL + 1, 0, 0), FW_EINVAL);
	/* Another PD. */
	cmd = (struct hw_cmd){.op = HW_CMD_ALLOC_PD};
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&tp.rp, 1, &cmd, &resp), 0);
	pd = resp.u.handle;
	made.u.create_qp.pd = pd;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&tp.rp, 1, &made, &resp), 0);
	other = qp_find(e->nic, resp.u.create_qp.qpn);
	CU_ASSERT_EQUAL_FATAL(rp_modify(&tp.rp, 1, other, HW_QPS_INIT,
					HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY, &attr),
			      0);
	CU_ASSERT_EQUAL(open_with(other, HW_TAG_OPEN_F_MEMBER, context->qpn, 0), FW_EINVAL);
	rp_destroy_qp(&tp.rp, 1, other);
	cmd = (struct hw_cmd){.op = HW_CMD_DEALLOC_PD, .u.obj.handle = pd};
	CU_ASSERT_EQUAL(rp_cmd(&tp.rp, 1, &cmd, &resp), 0);
	/* A context that ends takes no more members. */
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, context, HW_QPS_ERR, 0, &attr), 0);
	CU_ASSERT_EQUAL(open_with(qp, HW_TAG_OPEN_F_MEMBER, context->qpn, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(open_with(qp, 0, 0, 0), 0);
	rp_destroy_qp(&tp.rp, 1, qp);
	end();
}

/* A member has no receives of its own. */
static void own_receive(void)
{
	begin();
	tp.qp[1] = member[0];
	tp_recv(&tp, 1, 1, 5, SINK, 10);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(expect_at(member[0], 1, HW_STATUS_LOC_QP_OP_ERR).vendor_err,
			HW_VENDOR_ERR_OPCODE);
	end();
}

/* The process ends, with all that waits. */
static void process_ends(void)
{
	uint32_t e;

	begin();
	receive(1, 5, 10);
	send_to(member[0], 6, 10);
	send_to(member[1], 7, LONG);
	sent();
	rp_detach(&tp.rp, 1);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 99, HW_STATUS_REM_ABORT_ERR);
	for (e = 0; e < 2; e++)
		tp_check(&tp, e, 0, 0, 0);
	rp_detach(&tp.rp, 0);
	rp_free(&tp.rp);
	for (e = 0; e < 2; e++)
		free(tp.pool[e]);
}

UT_MAIN("pair/tag_context", UT(order), UT(no_announcement), UT(multi), UT(without_message),
	UT(peek_and_claim), UT(member_ends), UT(member_fails), UT(member_ends_receiving),
	UT(context_ends), UT(refused), UT(own_receive), UT(process_ends))
