/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timeouts that were needless: what shows it, what does not, and what is as before then.
 * nic_fw/tcp/tcp_frto.c; RFC 5682, RFC 3522.
 */
#include "tests/nic_fw/tcp/tcp_ack_fix.h"

/* As fire_rto() of tcp_timer.c. */
static void timeout(void)
{
	tcp_frto_begin(ut.nic, flow);
	tcp_cong_rto(ut.nic, flow);
	tcp_mark_all_lost(flow);
	/* The first segment goes again. */
	tcp_seg_mark(flow, &seg[num_acked], TCP_SEG_RETRANS | TCP_SEG_EVER, 0);
	seg[num_acked].sent_ns = ut.nic->now_ns;
	ut.nic->now_ns += 20 * MS;
}

static uint64_t spurious(void)
{
	return ut.nic->counters.tcp_spurious_timeouts;
}

static void an_original_that_arrives_shows_a_needless_timeout(void)
{
	begin(TCP_F_SACK);
	timeout();
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_WAIT);
	CU_ASSERT_EQUAL(flow->cwnd, MSS);
	flow->backoff = 1;
	/* The copy may have caused the first ACK. */
	ack(MSS);
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_NEW);
	CU_ASSERT_EQUAL(spurious(), 0);
	/* It cannot have caused that of the second segment. */
	ack(2 * MSS);
	CU_ASSERT_EQUAL(spurious(), 1);
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_OFF);
	CU_ASSERT_EQUAL(flow->lost, 0);
	CU_ASSERT(flow->cwnd >= 50 * MSS);
	CU_ASSERT_FALSE(flow->flags & TCP_F_LOSS);
	CU_ASSERT_EQUAL(flow->rack_sent_ns, seg[1].sent_ns);
	end();
}

static void a_duplicate_after_new_data_shows_a_loss(void)
{
	begin(0);
	timeout();
	ack(MSS);
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_NEW);
	/* New data went first. */
	flow->snd_nxt += 100;
	flow->cwnd = MSS;
	duplicate();
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_OFF);
	CU_ASSERT_EQUAL(flow->cwnd, 3 * MSS);
	CU_ASSERT_EQUAL(spurious(), 0);
	/* Now an original counts no more. */
	flow->snd_nxt -= 100;
	ack(3 * MSS);
	CU_ASSERT_EQUAL(spurious(), 0);
	end();
}

/* RFC 3522: an echo of the time before the timeout, unless a duplicate is reported. */
static void an_echo_of_the_time_before(void)
{
	struct tcp_in in;
	uint32_t k;

	for (k = 0; k < 4; k++) {
		begin(k == 3 ? TCP_F_SACK : TCP_F_SACK | TCP_F_TS);
		flow->ts_offset = 99;
		timeout();
		in = ack_of(MSS);
		in.opt.has_ts = true;
		in.opt.ts_ecr = flow->rto_ts - (k != 1);
		if (k == 2) {
			in.opt.num_sack = 1;
			in.opt.sack[0] = (struct tcp_block){(uint32_t)FIRST - 10, (uint32_t)FIRST};
		}
		CU_ASSERT_EQUAL(flow->rto_ts,
				tcp_ts_now(ut.nic->now_ns - 20 * MS) + flow->ts_offset);
		CU_ASSERT_TRUE(comes(&in));
		CU_ASSERT_EQUAL(spurious(), k == 0);
		end();
	}
}

static void timeouts_that_are_not_looked_at(void)
{
	begin(TCP_F_SACK);
	flow->state = TCP_SYN_SENT;
	tcp_frto_begin(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_OFF);
	flow->state = TCP_ESTABLISHED;
	/* The repair of a loss was lost. */
	flow->frto = TCP_FRTO_WAIT;
	flow->flags |= TCP_F_RECOVERY;
	tcp_frto_begin(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_OFF);
	/* A further timeout of the same loss decides nothing. */
	flow->frto = TCP_FRTO_WAIT;
	flow->backoff = 1;
	tcp_frto_begin(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_WAIT);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_frto", UT(an_original_that_arrives_shows_a_needless_timeout),
	UT(a_duplicate_after_new_data_shows_a_loss), UT(an_echo_of_the_time_before),
	UT(timeouts_that_are_not_looked_at))
