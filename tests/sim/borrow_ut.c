/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs whose ports borrow payload, as those of weftd's built-in switch do (sim_borrow.c): the
 * simulation lends what it says, and the firmware has it copied in time.
 */
#include <string.h>

#include "host_driver/weft_tag.h"
#include "tests/sim/sim_fix.h"
#include "tests/ut.h"

enum {
	BYTES = 3000, /* one packet, more than the least that is borrowed */
	SINK = 100000,
};
#define SILENCE_NS (100000 * FIX_MS)

static const struct pair_attr borrowing = {.borrow = true, .no_crc = true};

static uint64_t lent(const struct sim_nic *nic)
{
	uint64_t settled;

	return sim_nic_lent(nic, &settled);
}

static uint64_t settled(const struct sim_nic *nic)
{
	uint64_t count;

	(void)sim_nic_lent(nic, &count);
	return count;
}

static bool is_lent(void *ctx)
{
	return lent(ctx) > 0;
}

/* Opens a session, so that the next request leaves at once. */
static void begin(struct pair *p, const struct pair_attr *attr)
{
	const struct post first = {.opcode = WEFT_WR_WRITE, .wr_id = 99, .bytes = 8};

	pair_open(p, 1, attr);
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &first) == 0);
	expect(p, &p->a, 99, WEFT_WC_SUCCESS);
}

static void write_one(struct pair *p)
{
	const struct post request = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = SINK};

	memset(p->a.buf, 0x11, BYTES);
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &request) == 0);
}

/* The receiver reads the sender's memory when the frame has arrived. */
static void read_on_arrival(void)
{
	struct pair p;

	begin(&p, &borrowing);
	write_one(&p);
	FIX_REQUIRE(&p, sim_run_until(p.sim, is_lent, p.na, FIX_LIMIT_NS));
	memset(p.a.buf, 0x22, BYTES);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, all_bytes(p.b.buf + SINK, 0x22, BYTES));
	pair_close(&p);
}

static void nothing_is_borrowed_by_default(void)
{
	struct pair p;

	begin(&p, NULL);
	write_one(&p);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, all_bytes(p.b.buf + SINK, 0x11, BYTES));
	FIX_CHECK(&p, !lent(p.na));
	pair_close(&p);
}

/* A request fails while its frames wait in the network: they are copied before it is reported. */
static void settled_at_failure(void)
{
	const struct weft_qp_attr attr = {.timeout = 8, .retry_cnt = 1};
	struct pair p;

	begin(&p, &borrowing);
	FIX_REQUIRE(&p, weft_modify_qp(p.a.qp, &attr, WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT) == 0);
	sim_clog(p.nb, true);
	write_one(&p);
	expect(&p, &p.a, 1, WEFT_WC_RETRY_EXC_ERR);
	memset(p.a.buf, 0x22, BYTES);
	FIX_CHECK(&p, settled(p.na) > 0);
	sim_clog(p.nb, false);
	sim_run_for(p.sim, FIX_MS);
	FIX_CHECK(&p, all_bytes(p.b.buf + SINK, 0x11, BYTES));
	pair_close(&p);
}

/* Likewise where the whole queue pair ends. */
static void settled_at_a_flush(void)
{
	const struct weft_qp_attr err = {.state = WEFT_QPS_ERR};
	struct pair p;

	begin(&p, &borrowing);
	sim_clog(p.nb, true);
	write_one(&p);
	FIX_REQUIRE(&p, sim_run_until(p.sim, is_lent, p.na, FIX_LIMIT_NS));
	FIX_REQUIRE(&p, weft_modify_qp(p.a.qp, &err, WEFT_QP_STATE) == 0);
	expect(&p, &p.a, 1, WEFT_WC_WR_FLUSH_ERR);
	memset(p.a.buf, 0x22, BYTES);
	sim_clog(p.nb, false);
	sim_run_for(p.sim, FIX_MS);
	FIX_CHECK(&p, all_bytes(p.b.buf + SINK, 0x11, BYTES));
	pair_close(&p);
}

/*
 * The memory that a frame in the network borrows is taken away. What was sent arrives; where the
 * mapping has gone, the simulation would end the test.
 */
static void settled_when_memory_goes(void)
{
	enum {
		DEREGISTERED,
		DEAD,
		WAYS
	} way;

	for (way = DEREGISTERED; way < WAYS; way++) {
		struct pair p;

		begin(&p, &borrowing);
		sim_clog(p.nb, true);
		write_one(&p);
		FIX_REQUIRE(&p, sim_run_until(p.sim, is_lent, p.na, FIX_LIMIT_NS));
		if (way == DEREGISTERED) {
			FIX_REQUIRE(&p, weft_dereg_mr(p.a.mr) == 0);
			p.a.mr = NULL;
		} else {
			sim_end_kill(&p.a);
		}
		sim_run_for(p.sim, FIX_MS);
		sim_clog(p.nb, false);
		sim_run_for(p.sim, FIX_MS);
		FIX_CHECK(&p, all_bytes(p.b.buf + SINK, 0x11, BYTES));
		pair_close(&p);
	}
}

static void local(struct pair *p, struct weft_send_wr *wr)
{
	wr->wr_id = 5;
	wr->flags = WEFT_SEND_SIGNALED;
	FIX_REQUIRE(p, weft_post_send(p->a.qp, wr, NULL) == 0);
	expect(p, &p->a, 5, WEFT_WC_SUCCESS);
}

/* Payload of a Read Response was read while the peer had the right. */
static void settled_when_a_right_ends(void)
{
	enum {
		WINDOW,
		REGION,
		WAYS
	} way;

	for (way = WINDOW; way < WAYS; way++) {
		struct post request = {.opcode = WEFT_WR_READ, .wr_id = 1, .bytes = BYTES};
		struct weft_send_wr wr = {.opcode = WEFT_WR_LOCAL_INV};
		struct weft_sge sge;
		struct weft_mw *mw;
		struct weft_mr *mr;
		struct pair p;

		begin(&p, &borrowing);
		mr = weft_reg_mr(p.a.pd, p.a.buf, SINK,
				 WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_LOCAL_WRITE |
				     WEFT_ACCESS_MW_BIND);
		mw = weft_alloc_mw(p.a.pd, 1);
		FIX_REQUIRE(&p, mr && mw);
		memset(p.a.buf, 0x11, BYTES);
		request.rkey = mr->rkey;
		if (way == WINDOW) {
			sge = (struct weft_sge){(uintptr_t)p.a.buf, BYTES, mr->lkey};
			local(&p, &(struct weft_send_wr){.opcode = WEFT_WR_BIND_MW,
							 .rkey = mw->rkey,
							 .mw_access = WEFT_ACCESS_REMOTE_READ,
							 .sg_list = &sge,
							 .num_sge = 1});
			request.rkey = (mw->rkey & ~0xffu) | ((mw->rkey + 1) & 0xff);
		}
		wr.inv_stag = mr->rkey;
		FIX_REQUIRE(&p, post(&p.b, p.ba, &p.a, &request) == 0);
		FIX_REQUIRE(&p, sim_run_until(p.sim, is_lent, p.na, FIX_LIMIT_NS));
		sim_clog(p.nb, true);
		if (way == WINDOW)
			FIX_CHECK(&p, weft_dealloc_mw(mw) == 0);
		else
			local(&p, &wr);
		memset(p.a.buf, 0x22, BYTES);
		sim_clog(p.nb, false);
		expect(&p, &p.b, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, all_bytes(p.b.buf, 0x11, BYTES));
		if (way == REGION)
			FIX_CHECK(&p, weft_dealloc_mw(mw) == 0);
		FIX_CHECK(&p, weft_dereg_mr(mr) == 0);
		pair_close(&p);
	}
}

static struct weft_tag_ep *open_tagged(struct sim_end *end)
{
	struct weft_tag_attr attr = {.send_cq = end->cq,
				     .recv_cq = end->cq,
				     .qkey = SIM_END_QKEY,
				     .eager_bytes = 64,
				     .pool_bytes = 1 << 20};

	sim_proc_move_memory(end->proc);
	return weft_open_tag_ep(end->pd, &attr);
}

/*
 * A receiver reads a message that its sender gives up, since nothing is heard of the receiver. What
 * is under way is copied before that is reported.
 */
static void settled_when_a_peer_is_given_up(void)
{
	struct weft_tag_send_wr send = {.wr_id = 1, .num_sge = 1, .tag = 7};
	struct weft_tag_recv_wr recv = {.wr_id = 2, .num_sge = 1, .tag = 7};
	struct weft_tag_ep *ep[2];
	struct weft_sge from, to;
	struct weft_wc wc;
	struct pair p;

	begin(&p, &borrowing);
	ep[0] = open_tagged(&p.a);
	ep[1] = open_tagged(&p.b);
	FIX_REQUIRE(&p, ep[0] && ep[1]);
	from = sim_end_sge(&p.a, 0, BYTES);
	to = sim_end_sge(&p.b, SINK, BYTES);
	send.sg_list = &from;
	send.ah = p.ab;
	send.dst_qpn = ep[1]->qp->qpn;
	recv.sg_list = &to;
	FIX_REQUIRE(&p, weft_tag_recv(ep[1], &recv, NULL) == 0);
	memset(p.a.buf, 0x11, BYTES);
	FIX_REQUIRE(&p, weft_tag_send(ep[0], &send) == 0);
	FIX_REQUIRE(&p, sim_run_until(p.sim, is_lent, p.na, FIX_LIMIT_NS));
	sim_clog(p.nb, true);
	FIX_REQUIRE(&p, sim_end_wait(&p.a, &wc, 1, SILENCE_NS) == 1);
	FIX_CHECK(&p, wc.wr_id == 1 && wc.status != WEFT_WC_SUCCESS);
	FIX_CHECK(&p, settled(p.na) > 0);
	memset(p.a.buf, 0x22, BYTES);
	sim_clog(p.nb, false);
	sim_run_for(p.sim, FIX_MS);
	/* It has given the sender up, too. */
	FIX_CHECK(&p, all_bytes(p.b.buf + SINK, 0, BYTES));
	weft_close_tag_ep(ep[0]);
	weft_close_tag_ep(ep[1]);
	pair_close(&p);
}

/* Frames without CRC32C carry data, whatever else happens to them; damaged ones are checked. */
static void without_crc(void)
{
	const struct pair_attr attr = {.borrow = true, .no_crc = true, .faults = FIX_FAULTS};
	uint64_t seed;
	struct pair p;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &attr);
		for (i = 0; i < 2; i++) {
			struct post request = {.opcode = i ? WEFT_WR_READ : WEFT_WR_WRITE,
					       .wr_id = i,
					       .offset = i * SINK,
					       .bytes = 60000,
					       .remote_offset = SINK};

			if (!i)
				fill(&p, 7, p.a.buf, 60000);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, filled(&p, 7, (i ? p.a.buf : p.b.buf) + SINK, 60000));
		}
		FIX_CHECK(&p, lent(p.na) && lent(p.nb));
		FIX_CHECK(&p, !sim_nic_stat(p.nb, "drop_dgram_crc"));
		pair_close(&p);
	}
}

/* Times and counts of a run of Writes. */
struct course {
	uint64_t now_ns, events, polls, digest;
};

static struct course course_of(const struct pair_attr *attr, uint8_t byte)
{
	const struct post request = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = 60000, .remote_offset = SINK};
	struct course c;
	struct pair p;

	pair_open(&p, 3, attr);
	memset(p.a.buf, byte, 60000);
	FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, all_bytes(p.b.buf + SINK, byte, 60000));
	c.now_ns = sim_now_ns(p.sim);
	c.events = sim_events(p.sim);
	c.polls = sim_nic_counts(p.na)->polls + sim_nic_counts(p.nb)->polls;
	c.digest = sim_digest(p.sim);
	pair_close(&p);
	return c;
}

static bool same_course(const struct course *a, const struct course *b)
{
	return a->now_ns == b->now_ns && a->events == b->events && a->polls == b->polls;
}

/* Without digest and CRC32C all happens at the same time; the digest knows the frames, or not. */
static void without_digest(void)
{
	const struct pair_attr all = {.faults = FIX_FAULTS},
			       bare = {.faults = FIX_FAULTS, .no_digest = true},
			       both = {.faults = FIX_FAULTS, .no_crc = true, .no_digest = true},
			       checked = {
				   .faults = "corrupt=20", .no_crc = true, .no_digest = true};
	struct course a = course_of(&all, 1), b = course_of(&bare, 1), c = course_of(&both, 1),
		      a2 = course_of(&all, 2), b2 = course_of(&bare, 2);

	CU_ASSERT(same_course(&a, &b) && same_course(&a, &c));
	CU_ASSERT(same_course(&a, &a2) && a.digest != a2.digest);
	CU_ASSERT(same_course(&b, &b2) && b.digest == b2.digest && a.digest != b.digest);
	/* Where frames may change CRC32Cs are computed all the same: damage is found. */
	(void)course_of(&checked, 3);
}

UT_MAIN("sim/borrow", UT(read_on_arrival), UT(nothing_is_borrowed_by_default),
	UT(settled_at_failure), UT(settled_at_a_flush), UT(settled_when_memory_goes),
	UT(settled_when_a_right_ends), UT(settled_when_a_peer_is_given_up), UT(without_crc),
	UT(without_digest))
