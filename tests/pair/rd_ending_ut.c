/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a session with many requests, or of one flow with many: the requests complete in
 * slices and in order, the session serves others meanwhile, and flows of which nothing was sent
 * stay. See nic_fw/dgram/rd_ending.c, docs/security.md "Stalls".
 */
#include <arpa/inet.h>

#include "tests/pair/rd_pair.h"

enum {
	MANY = 100, /* requests of each QP */
	FLOWS = 300,
	FAR_QPN = 1000,
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void write_to(const struct fw_qp *dst, uint32_t qp, uint64_t wr_id)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = wr_id, .bytes = 8, .dst = dst};

	rp_req(&rp, 0, A->qp[qp], &req);
}

static void no_limit(uint32_t qp)
{
	struct hw_qp_attr attr = {0};

	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[qp], HW_QPS_RTS, HW_QP_TIMEOUT, &attr), 0);
}

/* Two QPs with MANY requests each, all of them begun, none acknowledged. */
static void begin(void)
{
	uint32_t i;

	rp_begin(&rp);
	no_limit(0);
	no_limit(1);
	rp_open(&rp);
	rp_session(&rp, 0)->cwnd = rp_session(&rp, 0)->cwnd_fp = 0xffff;
	rp.filter = rp_drop_all;
	for (i = 0; i < MANY; i++) {
		write_to(B->qp[0], 0, i);
		write_to(B->qp[1], 1, 1000 + i);
	}
	rp_settle(&rp);
}

/*
 * Takes the completions that there are. Returns their number; each QP's are in the order of its
 * requests: next has the numbers expected of both QPs.
 */
static uint32_t take(uint64_t *next, enum hw_status status)
{
	struct hw_cqe cqe;
	uint32_t n;

	for (n = 0; rp_scqe(&rp, 0, &cqe); n++) {
		uint32_t qp = cqe.wr_id >= 1000;

		CU_ASSERT_EQUAL(cqe.wr_id, next[qp]);
		CU_ASSERT_EQUAL(cqe.status, status);
		next[qp]++;
	}
	return n;
}

/* Polls A until so many completions have come, a slice in a turn at most. */
static void in_turns(uint64_t *next, uint32_t done, uint32_t all, enum hw_status status)
{
	uint32_t turns, n;

	for (turns = 0; done < all && turns < all; turns++) {
		rp_poll(&rp, 0);
		n = take(next, status);
		CU_ASSERT(n <= FW_SLICE_UNITS);
		done += n;
	}
	CU_ASSERT_EQUAL(done, all);
	CU_ASSERT(turns >= (all - FW_SLICE_AT_ONCE) / FW_SLICE_UNITS);
}

static void fails_in_turns(void)
{
	uint64_t next[2] = {0, 1000};
	uint32_t done;

	begin();
	rd_session_fail(A->nic, rp_session(&rp, 0), HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
	done = take(next, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT(done <= FW_SLICE_AT_ONCE);
	in_turns(next, done, 2 * MANY, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_FALSE(rd_ending_pending(A->nic));
	rp.filter = NULL;
	write_to(B->qp[0], 0, 1);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* A new request to the same QP waits for the old ones; one to another QP does not. */
static void new_requests_meanwhile(void)
{
	const struct rd_session *s;
	struct hw_cqe cqe;
	uint64_t next = 0;
	uint32_t i;

	begin();
	s = rp_session(&rp, 0);
	rd_session_fail(A->nic, rp_session(&rp, 0), HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	rp.filter = NULL;
	write_to(B->qp[0], 0, MANY);
	write_to(B->qp[0], 1, 5000);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(s->state, RD_HELLO_SENT);
	CU_ASSERT_TRUE(rd_ending_pending(A->nic));
	rp_quiet(&rp);
	for (i = 0; i < 2 * MANY + 2; i++) {
		CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
		if (cqe.wr_id >= 1000)
			continue;
		CU_ASSERT_EQUAL(cqe.wr_id, next);
		CU_ASSERT_EQUAL(cqe.status,
				next < MANY ? HW_STATUS_REM_ABORT_ERR : HW_STATUS_SUCCESS);
		next++;
	}
	CU_ASSERT_EQUAL(next, MANY + 1);
	rp_expect_none(&rp);
	rp_end(&rp);
}

static void qp_is_destroyed_meanwhile(void)
{
	uint64_t next[2] = {0, 1000};
	uint32_t done;

	begin();
	rd_session_fail(A->nic, rp_session(&rp, 0), HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	done = take(next, HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT(done < MANY);
	host_obj(A->nic, A->client, HW_CMD_DESTROY_QP, A->qp[0]->qpn, NULL);
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(A->port.num_done, 1);
	A->port.num_done = 0;
	done = (uint32_t)next[0];
	take(next, HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT_EQUAL(next[0], done);
	CU_ASSERT_EQUAL(next[1], 1000 + MANY);
	CU_ASSERT_EQUAL(A->nic->rd.flows.used, 0);
	rp.filter = NULL;
	rp_end(&rp);
}

static void qp_in_error_meanwhile(void)
{
	struct hw_qp_attr attr = {0};
	uint32_t i, failed = 0, flushed = 0;
	struct hw_cqe cqe;

	begin();
	rd_session_fail(A->nic, rp_session(&rp, 0), HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	host_modify(A->nic, A->qp[0], HW_QPS_ERR, 0, &attr);
	rp_quiet(&rp);
	for (i = 0; i < 2 * MANY; i++) {
		CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
		if (cqe.wr_id >= 1000)
			continue;
		CU_ASSERT_EQUAL(cqe.wr_id, failed + flushed);
		CU_ASSERT_EQUAL(cqe.status, flushed ? HW_STATUS_WR_FLUSH_ERR : cqe.status);
		flushed += cqe.status == HW_STATUS_WR_FLUSH_ERR;
		failed += cqe.status == HW_STATUS_REM_ABORT_ERR;
	}
	CU_ASSERT_EQUAL(failed + flushed, MANY);
	CU_ASSERT(flushed >= MANY - FW_SLICE_AT_ONCE);
	rp.filter = NULL;
	rp_end(&rp);
}

static void process_leaves_meanwhile(void)
{
	begin();
	rd_session_fail(A->nic, rp_session(&rp, 0), HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	rp_detach(&rp, 0);
	CU_ASSERT_EQUAL(A->nic->rd.flows.used, 0);
	CU_ASSERT_EQUAL(A->nic->host.wqes.used, 0);
	rp_detach(&rp, 1);
	rp_free(&rp);
}

/* A session whose requests have not completed is not evicted. */
static void session_stays_meanwhile(void)
{
	uint64_t next[2] = {0, 1000};
	struct rd_session *s;

	begin();
	s = rp_session(&rp, 0);
	rd_session_fail(A->nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	s->used_ns = 0;
	fw_now(A->nic, rp.wire.now_ns += 2 * RD_EVICT_IDLE_NS);
	CU_ASSERT_FALSE(rd_session_evict(A->nic, 0, FW_NONE));
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(take(next, HW_STATUS_REM_ABORT_ERR), 2 * MANY);
	s->used_ns = 0;
	CU_ASSERT_TRUE(rd_session_evict(A->nic, 0, FW_NONE));
	rp.filter = NULL;
	rp_end(&rp);
}

/*
 * The peer was lost before the second QP's requests began: they stay, whether looked at in their
 * turn or because of a new request, and are carried out once and in order.
 */
static void untouched_flows_stay(void)
{
	uint64_t next[2] = {0, 1000};
	uint32_t i, done = 0;
	struct hw_cqe cqe;

	rp_begin(&rp);
	no_limit(0);
	no_limit(1);
	rp_open(&rp);
	rp.filter = rp_drop_all;
	for (i = 0; i < MANY; i++)
		write_to(B->qp[0], 0, i);
	rp_settle(&rp);
	rp_run(&rp, 1000000);
	rp_restart(&rp, 1);
	rp_run(&rp, 1000000);
	for (i = 0; i < MANY; i++)
		write_to(B->qp[1], 1, 1000 + i);
	rp_settle(&rp);
	rp.filter = NULL;
	for (i = 0; i < 100000 && !RP_CNT(&rp, 0, rd_peer_restarts); i++)
		rp_run(&rp, 10000);
	write_to(B->qp[1], 1, 1000 + MANY);
	rp_run(&rp, 200000000);
	rp_quiet(&rp);
	for (; rp_scqe(&rp, 0, &cqe); done++) {
		bool stays = cqe.wr_id >= 1000;

		CU_ASSERT_EQUAL(cqe.wr_id, next[stays]);
		CU_ASSERT_EQUAL(cqe.status, stays ? HW_STATUS_SUCCESS : HW_STATUS_REM_ABORT_ERR);
		next[stays]++;
	}
	CU_ASSERT_EQUAL(done, 2 * MANY + 1);
	rp_end(&rp);
}

/* A flow that returns to its session begins anew in all that it knew of the packets before. */
static void flow_that_stays_begins_anew(void)
{
	uint64_t next[2] = {0, 1000};
	struct rd_session *s;
	struct rd_flow *flow;
	struct fw_wqe *msg;
	struct fw_list *pos;

	begin();
	s = rp_session(&rp, 0);
	flow = FW_CONTAINER(s->all_flows.next, struct rd_flow, session_node);
	msg = FW_CONTAINER(flow->msgs.next, struct fw_wqe, flow_node);
	CU_ASSERT(msg->begun_ns && flow->outstanding);
	flow->refused = flow->backing_off = flow->withdrew = flow->refused_ended = true;
	flow->withdrawals = 3;
	flow->first_refused = flow->resume_msg = msg;
	flow->stuck.ns = 5;
	flow->since.ns = 5;
	msg->refused = true;
	msg->state = FW_WQE_SENT;
	fw_timer_set(&A->nic->timers, &flow->rnr_timer, A->nic->now_ns + 1000000);
	rd_ending_session(A->nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_PEER_RESTART,
			  msg->begun_ns - 1);
	CU_ASSERT_TRUE(rd_ending_pending(A->nic));
	s->recv.life++;
	CU_ASSERT_TRUE(rd_ending_stays(A->nic, flow));
	CU_ASSERT_EQUAL(flow->life, s->recv.life);
	CU_ASSERT_EQUAL(flow->outstanding, 0);
	CU_ASSERT_EQUAL(flow->withdrawals, 0);
	CU_ASSERT_FALSE(flow->refused || flow->backing_off || flow->withdrew);
	CU_ASSERT_FALSE(flow->refused_ended || flow->first_refused || flow->resume_msg);
	CU_ASSERT_EQUAL(flow->stuck.ns, 0);
	CU_ASSERT_EQUAL(flow->since.ns, A->nic->now_ns);
	CU_ASSERT_FALSE(fw_timer_is_set(&flow->rnr_timer));
	CU_ASSERT_PTR_EQUAL(flow->next, msg);
	CU_ASSERT_TRUE(fw_list_linked(&flow->ready_node));
	fw_list_for_each (pos, &flow->msgs) {
		msg = FW_CONTAINER(pos, struct fw_wqe, flow_node);
		CU_ASSERT_EQUAL(msg->sent_bytes, 0);
		CU_ASSERT_EQUAL(msg->unacked, 0);
		CU_ASSERT_EQUAL(msg->begun_ns, 0);
		CU_ASSERT_EQUAL(msg->state, FW_WQE_QUEUED);
		CU_ASSERT_FALSE(msg->refused);
	}
	rd_session_fail(A->nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
	in_turns(next, take(next, HW_STATUS_RETRY_EXC_ERR), 2 * MANY, HW_STATUS_RETRY_EXC_ERR);
	rp.filter = NULL;
	rp_end(&rp);
}

/* A flow stays if its peer cannot have carried out any of it, and nothing else ends it. */
static void flows_that_do_not_stay(void)
{
	uint64_t next[2] = {0, 1000};
	struct rd_session *s;
	struct rd_flow *flow;
	struct fw_wqe *msg;
	uint64_t since_ns;

	begin();
	s = rp_session(&rp, 0);
	flow = FW_CONTAINER(s->all_flows.next, struct rd_flow, session_node);
	msg = FW_CONTAINER(flow->msgs.next, struct fw_wqe, flow_node);
	since_ns = msg->begun_ns;
	s->end_since_ns = since_ns;
	CU_ASSERT_FALSE(rd_ending_stays(A->nic, flow));
	s->end_since_ns = UINT64_MAX;
	CU_ASSERT_FALSE(rd_ending_stays(A->nic, flow));
	s->end_since_ns = since_ns - 1;
	flow->response = true;
	CU_ASSERT_FALSE(rd_ending_stays(A->nic, flow));
	flow->response = false;
	flow->failing = true;
	CU_ASSERT_FALSE(rd_ending_stays(A->nic, flow));
	flow->failing = false;
	fw_list_add_tail(&s->failing, &flow->done_node);
	CU_ASSERT_FALSE(rd_ending_stays(A->nic, flow));
	fw_list_del(&flow->done_node);
	msg->state = FW_WQE_RESPONSE;
	CU_ASSERT_FALSE(rd_ending_stays(A->nic, flow));
	msg->state = FW_WQE_SENT;
	/* A later one that has begun decides, too. */
	msg = FW_CONTAINER(flow->msgs.next->next, struct fw_wqe, flow_node);
	CU_ASSERT_TRUE_FATAL(msg->begun_ns > 0);
	msg->begun_ns = since_ns - 1;
	CU_ASSERT_FALSE(rd_ending_stays(A->nic, flow));
	msg->begun_ns = since_ns;
	CU_ASSERT_TRUE(rd_ending_stays(A->nic, flow));
	rd_session_fail(A->nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
	in_turns(next, take(next, HW_STATUS_RETRY_EXC_ERR), 2 * MANY, HW_STATUS_RETRY_EXC_ERR);
	rp.filter = NULL;
	rp_end(&rp);
}

/* An earlier end of flows that wait still has the later of both times. */
static void ends_of_two_times(void)
{
	uint64_t next[2] = {0, 1000};
	struct rd_session *s;

	begin();
	s = rp_session(&rp, 0);
	s->end_since_ns = 77;
	rd_ending_session(A->nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE, 50);
	CU_ASSERT_EQUAL(s->end_since_ns, 50);
	CU_ASSERT(fw_list_empty(&s->all_flows) && !fw_list_empty(&s->ended));
	/* Without a flow nothing is noted. */
	rd_ending_session(A->nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE, 90);
	CU_ASSERT_EQUAL(s->end_since_ns, 50);
	CU_ASSERT_EQUAL(s->end_status, HW_STATUS_RETRY_EXC_ERR);
	fw_list_splice_tail(&s->all_flows, &s->ended);
	rd_ending_session(A->nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE, 60);
	CU_ASSERT_EQUAL(s->end_since_ns, 60);
	fw_list_splice_tail(&s->all_flows, &s->ended);
	rd_session_fail(A->nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
	in_turns(next, take(next, HW_STATUS_RETRY_EXC_ERR), 2 * MANY, HW_STATUS_RETRY_EXC_ERR);
	rp.filter = NULL;
	rp_end(&rp);
}

/* Queues a message to a QP of its own: a flow. */
static void cancel(const struct rd_session *s, uint32_t i)
{
	struct fw_wqe *msg = wqe_alloc(A->nic, A->nic->host.null_qp, FW_WQE_CANCEL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(msg);
	msg->dst_ip = s->peer_ip;
	msg->dst_qpn = (1u << 19) | (FAR_QPN + i);
	CU_ASSERT_TRUE_FATAL(rd_flow_send(A->nic, msg));
}

/* Very many flows: those of an end are looked at in turns, too. */
static void many_flows(void)
{
	struct rd_session *s;
	uint32_t i, was, turns;

	rp_begin(&rp);
	rp_open(&rp);
	s = rp_session(&rp, 0);
	rp.filter = rp_drop_all;
	for (i = 0; i < FLOWS; i++)
		cancel(s, i);
	CU_ASSERT_EQUAL(A->nic->rd.flows.used, FLOWS);
	rd_session_renew(A->nic, s);
	CU_ASSERT(A->nic->rd.flows.used >= FLOWS - FW_SLICE_AT_ONCE / FW_SLICE_FLOW_UNITS);
	for (turns = 0; A->nic->rd.flows.used && turns < FLOWS; turns++) {
		was = A->nic->rd.flows.used;
		rp_poll(&rp, 0);
		CU_ASSERT(was - A->nic->rd.flows.used <= FW_SLICE_UNITS / FW_SLICE_FLOW_UNITS);
	}
	CU_ASSERT_EQUAL(A->nic->rd.flows.used, 0);
	rp.filter = NULL;
	rp_end(&rp);
}

static uint32_t looked_at(const struct rd_session *s)
{
	struct fw_list *pos;
	uint32_t n = 0;

	fw_list_for_each (pos, &s->all_flows)
		n += FW_CONTAINER(pos, struct rd_flow, session_node)->look_serial == s->look_serial;
	return n;
}

/* Limits of very many flows: each check looks at some of them in a turn, and at all in the end. */
static void many_limits(void)
{
	uint32_t i, was, now, turns;
	struct rd_session *s;

	rp_begin(&rp);
	rp_open(&rp);
	s = rp_session(&rp, 0);
	rp.filter = rp_drop_all;
	for (i = 0; i < 2 * FLOWS; i++)
		cancel(s, i);
	rp_poll(&rp, 0);
	rd_flow_check_limits(A->nic, s);
	CU_ASSERT_TRUE(rd_ending_pending(A->nic));
	now = looked_at(s);
	CU_ASSERT(now <= 4 * FW_SLICE_AT_ONCE);
	/* A check that comes meanwhile follows this one. */
	CU_ASSERT_TRUE(rd_flow_check_awaiting(A->nic, s));
	for (turns = 0; rd_ending_pending(A->nic) && turns < 2 * FLOWS; turns++) {
		was = now;
		rp_poll(&rp, 0);
		now = looked_at(s);
		CU_ASSERT(now < was || now - was <= 4 * FW_SLICE_UNITS);
	}
	CU_ASSERT(turns >= 2 * (2 * FLOWS - 4 * FW_SLICE_AT_ONCE) / (4 * FW_SLICE_UNITS));
	CU_ASSERT_EQUAL(A->nic->rd.flows.used, 2 * FLOWS);
	CU_ASSERT_FALSE(s->awaits);
	/* All of them end when their limit is over, and no other does. */
	rp.wire.now_ns += 2 * RD_STALE_NS;
	fw_now(A->nic, rp.wire.now_ns);
	rp_quiet(&rp);
	rp.filter = NULL;
	rp_run(&rp, RD_STALE_NS);
	CU_ASSERT_EQUAL(A->nic->rd.flows.used, 0);
	rp_end(&rp);
}

/* A second end while flows of the first one wait: all requests fail, once. */
static void ends_again_meanwhile(void)
{
	uint64_t next[2] = {0, 1000};
	struct rd_session *s;
	uint32_t done;

	begin();
	s = rp_session(&rp, 0);
	rd_session_fail(A->nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	rp.filter = NULL;
	write_to(B->qp[0], 0, MANY);
	rp_poll(&rp, 0);
	rd_session_renew(A->nic, s);
	rp_quiet(&rp);
	for (done = 0; done < 2 * MANY + 1; done++) {
		struct hw_cqe cqe;
		uint32_t qp;

		CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
		qp = cqe.wr_id >= 1000;
		CU_ASSERT_EQUAL(cqe.wr_id, next[qp]);
		CU_ASSERT_EQUAL(cqe.status,
				cqe.wr_id == MANY ? HW_STATUS_SUCCESS : HW_STATUS_REM_ABORT_ERR);
		next[qp]++;
	}
	rp_expect_none(&rp);
	rp_end(&rp);
}

/* The limit of one QP: its requests fail in slices as well, the other QP's go on. */
static void one_flow_in_turns(void)
{
	struct hw_qp_attr attr = {.timeout = 10, .retry_cnt = 1}; /* 8.4 ms */
	uint64_t next[2] = {0, 1000};
	uint32_t done = 0, n, i;

	begin();
	CU_ASSERT_EQUAL(
	    rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_TIMEOUT | HW_QP_RETRY_CNT, &attr), 0);
	for (i = 0; i < 100000 && done < MANY; i++) {
		rp.wire.now_ns += 10000;
		rp_poll(&rp, 0);
		n = take(next, HW_STATUS_RETRY_EXC_ERR);
		CU_ASSERT(n <= FW_SLICE_UNITS);
		done += n;
	}
	CU_ASSERT_EQUAL(next[0], MANY);
	CU_ASSERT_EQUAL(next[1], 1000);
	rp.filter = NULL;
	rp_run(&rp, 3000000000);
	take(next, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(next[1], 1000 + MANY);
	rp_end(&rp);
}

UT_MAIN("pair/rd_ending", UT(fails_in_turns), UT(new_requests_meanwhile),
	UT(qp_is_destroyed_meanwhile), UT(qp_in_error_meanwhile), UT(process_leaves_meanwhile),
	UT(session_stays_meanwhile), UT(untouched_flows_stay), UT(flow_that_stays_begins_anew),
	UT(flows_that_do_not_stay), UT(ends_of_two_times), UT(many_flows), UT(many_limits),
	UT(ends_again_meanwhile), UT(one_flow_in_turns))
