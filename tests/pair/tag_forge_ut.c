/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints, and lies of a peer or of the process itself: writes beyond an announced
 * receive, segments that disagree about their message, handles of another life, numbers of claims.
 */
#include "tests/pair/tag_pair.h"

static struct tp tp;

#define MEM(e) (tp.rp.end[e].mem)
#define NIC(e) (tp.rp.end[e].nic)

enum {
	LONG = 20000,
	SINK = 400000,
	FORGED_AT = 900000,
	AROUND = 4096, /* bytes before and behind a receive that are looked at */
};

/* Both ends know of each other, so that receives are announced. */
static void begin(void)
{
	tp_begin(&tp);
	rp_fill(MEM(0), 200000, 4);
	tp_recv(&tp, 1, 1000, 99, 0, 8);
	tp_send(&tp, 0, 1000, 99, 0, 8);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 1000, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 1000, HW_STATUS_SUCCESS);
}

static struct tag_ep *ep_of(uint32_t e, const struct fw_qp *qp)
{
	return &NIC(e)->tag.eps[qp - NIC(e)->host.qps];
}

/* ---- announced receives -------------------------------------------------------------------- */

/* Posts a receive that is announced; returns the handle that the peer gets. */
static uint32_t announce(uint64_t wr_id)
{
	const struct tag_posted *posted;
	const struct tag_peer *peer;

	memset(MEM(1) + SINK - AROUND, 0xee, LONG + 2 * AROUND);
	tp_recv(&tp, 1, wr_id, 1, SINK, LONG);
	rp_quiet(&tp.rp);
	peer = ep_of(1, tp.qp[1])->last_peer;
	CU_ASSERT_FATAL(peer && peer->num_announced == 1);
	posted = FW_CONTAINER(peer->announced.next, struct tag_posted, peer_node);
	return STAG_SINK_FLAG | (uint32_t)posted->generation << TAG_POSTED_BITS |
	       fw_pool_index(&NIC(1)->tag.posteds, posted);
}

static bool is_untouched(const uint8_t *p, uint32_t bytes)
{
	while (bytes && *p == 0xee)
		p++, bytes--;
	return !bytes;
}

/* A Write or a Read that a process of end e posts itself, to a handle. */
static void by_handle(uint32_t e, struct fw_qp *qp, const struct fw_qp *dst, uint8_t opcode,
		      uint32_t stag, uint64_t to, uint32_t bytes, enum hw_status status)
{
	const struct rp_end *end = &tp.rp.end[e];
	struct hw_sge sge = {(uintptr_t)end->mem + FORGED_AT, bytes, end->stag};
	struct hw_sq_wqe wqe = {.opcode = opcode,
				.flags = HW_WQE_F_SIGNALED,
				.slots = 2,
				.num_sge = 1,
				.wr_id = to,
				.ah = end->ah,
				.dst_qpn = dst->qpn,
				.qkey = RP_QKEY,
				.rkey = stag,
				.remote_addr = to};

	rp_write_sq(qp, &wqe, &sge, sizeof(sge));
	rp_ring(&tp.rp, e, qp);
	rp_quiet(&tp.rp);
	rp_expect_send(&tp.rp, e, to, status);
}

static void write_sink(uint32_t stag, uint64_t to, uint32_t bytes, enum hw_status status)
{
	by_handle(0, tp.qp[0], tp.qp[1], HW_WQE_WRITE, stag, to, bytes, status);
}

/* The peer writes where and as long as it likes: nothing but the receive changes, nothing ends. */
static void written_beyond(void)
{
	static const struct {
		uint64_t to;
		uint32_t bytes;
	} wrong[] = {{LONG - 99, 100}, {LONG, 1},     {LONG + 1, 1}, {UINT64_MAX - 49, 100},
		     {UINT64_MAX, 1},  {0, LONG + 1}, {0, 70000}};
	uint32_t handle, i;

	begin();
	handle = announce(1);
	write_sink(handle, 0, 100, HW_STATUS_SUCCESS);
	write_sink(handle, LONG - 100, 100, HW_STATUS_SUCCESS);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		write_sink(handle, wrong[i].to, wrong[i].bytes, HW_STATUS_REM_ACCESS_ERR);
		CU_ASSERT(is_untouched(MEM(1) + SINK - AROUND, AROUND));
		CU_ASSERT(is_untouched(MEM(1) + SINK + LONG, AROUND));
		tp_check(&tp, 1, 1, 0, 0);
		rp_expect_none(&tp.rp);
	}
	tp_send(&tp, 0, 2, 1, 0, LONG);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, LONG, 4));
	tp_end(&tp);
}

/* A handle is good for one peer of one endpoint, for one announcement. */
static void other_handles(void)
{
	const struct hw_cmd_tag_open open = {.eager_bytes = TP_EAGER_BYTES};
	const enum hw_status no = HW_STATUS_REM_ACCESS_ERR;
	struct fw_qp *other;
	uint32_t handle, old;

	begin();
	other = tp_qp(&tp, 1, &open);
	handle = announce(1);
	write_sink(handle ^ 1 << TAG_POSTED_BITS, 0, 100, no);
	write_sink(handle ^ 1u << 30, 0, 100, no);
	write_sink(handle ^ 1, 0, 100, no);
	write_sink(handle | (TAG_MAX_POSTEDS - 1), 0, 100, no);
	by_handle(0, tp.rp.end[0].qp[0], tp.qp[1], HW_WQE_WRITE, handle, 0, 100, no);
	by_handle(0, tp.qp[0], other, HW_WQE_WRITE, handle, 0, 100, no);
	CU_ASSERT(is_untouched(MEM(1) + SINK, LONG));
	tp_send(&tp, 0, 2, 1, 0, LONG);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	write_sink(handle, 0, 100, no);
	/* The same place of the table, announced again. */
	old = handle;
	handle = announce(3);
	CU_ASSERT_EQUAL(handle % TAG_MAX_POSTEDS, old % TAG_MAX_POSTEDS);
	write_sink(old, 0, 100, no);
	CU_ASSERT(is_untouched(MEM(1) + SINK, LONG));
	tp_send(&tp, 0, 4, 1, 0, LONG);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 3, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 4, HW_STATUS_SUCCESS);
	rp_destroy_qp(&tp.rp, 1, other);
	tp_end(&tp);
}

/* An open send of another life is not read. */
static void old_send(void)
{
	const enum hw_status no = HW_STATUS_REM_ACCESS_ERR;
	uint32_t handle[2], secret[2], i;

	begin();
	for (i = 0; i < 2; i++) {
		const struct tag_send *send;

		tp_send(&tp, 0, i, 77, 0, LONG);
		rp_quiet(&tp.rp);
		send = FW_CONTAINER(ep_of(0, tp.qp[0])->sends.next, struct tag_send, ep_node);
		handle[i] = tag_send_handle(NIC(0), send);
		secret[i] = send->secret;
		by_handle(1, tp.qp[1], tp.qp[0], HW_WQE_READ, handle[i], secret[i], 100,
			  HW_STATUS_SUCCESS);
		if (i) {
			by_handle(1, tp.qp[1], tp.qp[0], HW_WQE_READ, handle[0], secret[1], 100,
				  no);
			by_handle(1, tp.qp[1], tp.qp[0], HW_WQE_READ, handle[1], secret[0], 100,
				  no);
		}
		tp_recv(&tp, 1, 10 + i, 77, SINK, LONG);
		rp_quiet(&tp.rp);
		tp_expect(&tp, 1, 10 + i, HW_STATUS_SUCCESS);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
	}
	CU_ASSERT_EQUAL(handle[0] % TAG_MAX_SENDS, handle[1] % TAG_MAX_SENDS);
	tp_end(&tp);
}

/*
 * An unexpected RTS outlives its sender, and the successor has a send of the same handle: its data
 * is not taken for that of the message, and it is not ended.
 */
static void successor(void)
{
	struct tag_send *send;

	begin();
	memset(MEM(1) + SINK, 0xee, LONG);
	tp_send(&tp, 0, 1, 77, 0, LONG);
	rp_quiet(&tp.rp);
	send = FW_CONTAINER(ep_of(0, tp.qp[0])->sends.next, struct tag_send, ep_node);
	send->secret ^= 1;
	tp_recv(&tp, 1, 2, 77, SINK, LONG);
	rp_run(&tp.rp, 100000000);
	rp_expect_recv(&tp.rp, 1, 2, HW_STATUS_REM_ACCESS_ERR);
	rp_expect_none(&tp.rp);
	CU_ASSERT(is_untouched(MEM(1) + SINK, LONG));
	CU_ASSERT_EQUAL(tp_query(&tp, 0).open_sends, 1);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 0, tp.qp[0], HW_QPS_ERR, 0, NULL), 0);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_WR_FLUSH_ERR);
	tp_end(&tp);
}

/* ---- changed on the wire --------------------------------------------------------------------- */

/* Changes to packets of end 0. */
static struct {
	uint8_t put_changes;   /* handle of a PUT: bits of its generation */
	bool put_fails;        /* a PUT says that its sender failed */
	uint32_t msg_bytes;    /* added to that of second segments */
	uint32_t mo;           /* and to their place */
	bool first_is_dropped; /* of each message of several segments */
	uint32_t changed;
} change;

static enum bench_verdict alter(struct rp *rp, const struct rp_info *info)
{
	struct wire_ddp_untagged *ddp = (struct wire_ddp_untagged *)(void *)info->ddp;
	struct wire_tag *env;

	(void)rp;
	if (info->from || !ddp || info->opcode != WIRE_RDMAP_SEND || info->is_void)
		return BENCH_PASS;
	env = (struct wire_tag *)(void *)(ddp + 1);
	if (!be32_get(ddp->mo) && change.first_is_dropped && !info->last)
		return BENCH_DROP;
	if (!be32_get(ddp->mo) && change.put_changes && env->kind == WIRE_TAG_PUT)
		env->stag =
		    be32_put(be32_get(env->stag) ^ (uint32_t)change.put_changes << TAG_POSTED_BITS);
	else if (!be32_get(ddp->mo) && change.put_fails && env->kind == WIRE_TAG_PUT)
		env->status = HW_STATUS_LOC_PROT_ERR;
	else if (be32_get(ddp->mo) && !info->last && change.msg_bytes)
		ddp->mo = be32_put(be32_get(ddp->mo) + change.mo);
	else
		return BENCH_PASS;
	info->dgram->msg_bytes =
	    be32_put(be32_get(info->dgram->msg_bytes) + (info->last ? 0 : change.msg_bytes));
	change.changed++;
	rp_reseal(info->frame);
	return BENCH_PASS;
}

/* A PUT that names another life of the receive completes nothing. */
static void forged_put(void)
{
	struct tp_op cancel = {.op = HW_TAG_CANCEL};

	begin();
	(void)announce(1);
	cancel.number = tp.qp[1]->record->rq_prod - 1;
	memset(&change, 0, sizeof(change));
	change.put_changes = 1;
	tp.rp.filter = alter;
	tp_send(&tp, 0, 2, 1, 0, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT(change.changed > 0);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_REM_OP_ERR);
	tp_check(&tp, 1, 1, 0, 0);
	rp_expect_none(&tp.rp);
	tp.rp.filter = NULL;
	tp_op(&tp, 1, &cancel);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	tp_end(&tp);
}

/* A PUT whose sender failed ends the receive with an error, once. */
static void failed_put(void)
{
	begin();
	(void)announce(1);
	memset(&change, 0, sizeof(change));
	change.put_fails = true;
	tp.rp.filter = alter;
	tp_send(&tp, 0, 2, 1, 0, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(change.changed, 1);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 1, HW_STATUS_REM_OP_ERR);
	tp_check(&tp, 1, 0, 0, 0);
	rp_expect_none(&tp.rp);
	tp_end(&tp);
}

/*
 * Unexpected messages lie side by side in the pool. One has a segment that says that it lies
 * further behind, in a longer message: the others stay as they were. Or it says another length.
 */
static void forged_segment(void)
{
	enum {
		MSGS = 8
	};
	uint32_t i, k;

	for (k = 0; k < 3; k++) {
		begin();
		for (i = 0; i < MSGS; i++)
			tp_send(&tp, 0, i, i, i * 100, TP_EAGER_BYTES);
		rp_quiet(&tp.rp);
		for (i = 0; i < MSGS; i++)
			tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
		/* The hole is for the one that is changed. */
		tp_recv(&tp, 1, 0, 0, SINK, TP_EAGER_BYTES);
		rp_quiet(&tp.rp);
		tp_expect(&tp, 1, 0, HW_STATUS_SUCCESS);
		memset(&change, 0, sizeof(change));
		change.msg_bytes = k == 1 ? 8 : TP_EAGER_BYTES;
		change.mo = k == 1 ? 0 : TP_EAGER_BYTES;
		change.first_is_dropped = k == 2;
		if (k == 2)
			change.msg_bytes = change.mo = HW_TAG_MAX_EAGER_BYTES;
		tp.rp.filter = alter;
		tp_send(&tp, 0, 50, 50, FORGED_AT, TP_EAGER_BYTES);
		if (k == 2) {
			/* Before anything else is known of the message. */
			rp_run(&tp.rp, 20000);
			CU_ASSERT(RP_CNT(&tp.rp, 1, tag_malformed) > 0);
			CU_ASSERT(ep_of(1, tp.qp[1])->pool.used <= MSGS * TP_EAGER_BYTES);
			change.first_is_dropped = false;
		}
		rp_run(&tp.rp, 100000000);
		rp_quiet(&tp.rp);
		CU_ASSERT(change.changed > 0);
		tp.rp.filter = NULL;
		tp_expect_sent(&tp, 0, 50, HW_STATUS_REM_OP_ERR);
		tp_check(&tp, 1, 0, MSGS - 1, 0);
		for (i = 1; i < MSGS; i++) {
			tp_recv(&tp, 1, i, i, SINK, TP_EAGER_BYTES);
			rp_quiet(&tp.rp);
			tp_expect(&tp, 1, i, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(memcmp(MEM(1) + SINK, MEM(0) + i * 100, TP_EAGER_BYTES), 0);
		}
		tp_end(&tp);
	}
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void claim_by(struct fw_qp *qp, uint32_t number, uint32_t bytes, enum hw_status status)
{
	const struct rp_end *end = &tp.rp.end[1];
	struct hw_sge sge = {(uintptr_t)end->mem + SINK, bytes, end->stag};
	struct hw_tag_rq_wqe wqe = {
	    .op = HW_TAG_CLAIMED, .num_sge = 1, .number = number, .wr_id = number};
	struct hw_cqe cqe;

	tp_write_op(qp, &wqe, &sge);
	tp_ring(&tp, 1, qp);
	rp_quiet(&tp.rp);
	cqe = rp_expect_recv(&tp.rp, 1, number, status);
	CU_ASSERT_EQUAL(cqe.bytes, status == HW_STATUS_SUCCESS ? bytes : 0);
	CU_ASSERT_EQUAL(cqe.vendor_err == HW_VENDOR_ERR_NO_MESSAGE, status != HW_STATUS_SUCCESS);
}

/* Peeks at the first message of a tag and claims it; returns the number. */
static uint32_t claim(uint64_t tag)
{
	struct tp_op peek = {.op = HW_TAG_PEEK, .flags = HW_TAG_F_CLAIM, .wr_id = 1, .tag = tag};

	tp_op(&tp, 1, &peek);
	rp_quiet(&tp.rp);
	return tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS).sq_index;
}

/* A process names claims that it has not: of nothing, of another serial, place or endpoint. */
static void claims(void)
{
	const struct hw_cmd_tag_open open = {.eager_bytes = TP_EAGER_BYTES};
	const enum hw_status no = HW_STATUS_GENERAL_ERR;
	struct fw_qp *other;
	uint32_t number, again, i;

	tp_begin(&tp);
	rp_fill(MEM(0), 1000, 3);
	other = tp_qp(&tp, 1, &open);
	/* In the first place of the table, and not claimed. */
	for (i = 0; i < 2; i++)
		tp_send(&tp, 0, i, i, 0, 100 + i);
	rp_quiet(&tp.rp);
	for (i = 0; i < 2; i++)
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
	number = claim(1);
	CU_ASSERT_EQUAL(number % (1 << TAG_CLAIM_BITS), 1);
	claim_by(tp.qp[1], 0, 100, no);
	claim_by(tp.qp[1], number ^ 1u << TAG_CLAIM_BITS, 101, no);
	claim_by(tp.qp[1], number ^ 1u << 31, 101, no);
	claim_by(tp.qp[1], number ^ 1, 101, no);
	claim_by(tp.qp[1], number | ((1 << TAG_CLAIM_BITS) - 1), 101, no);
	claim_by(other, number, 101, no);
	tp_check(&tp, 1, 0, 2, 0);
	claim_by(tp.qp[1], number, 101, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, 101, 3));
	/* The same place, claimed again. */
	tp_send(&tp, 0, 5, 1, 0, 102);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 5, HW_STATUS_SUCCESS);
	again = claim(1);
	CU_ASSERT_EQUAL(again % (1 << TAG_CLAIM_BITS), 1);
	claim_by(tp.qp[1], number, 102, no);
	claim_by(tp.qp[1], again, 102, HW_STATUS_SUCCESS);
	tp_recv(&tp, 1, 9, 0, SINK, 100);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 9, HW_STATUS_SUCCESS);
	rp_destroy_qp(&tp.rp, 1, other);
	tp_end(&tp);
}

UT_MAIN("pair/tag_forge", UT(written_beyond), UT(other_handles), UT(old_send), UT(successor),
	UT(forged_put), UT(failed_put), UT(forged_segment), UT(claims))
