/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection without frames, with segments in flight, whose peer's acknowledgements a test makes.
 */
#ifndef WEFT_TESTS_TCP_ACK_FIX_H
#define WEFT_TESTS_TCP_ACK_FIX_H

#include <arpa/inet.h>

#include "nic_fw/tcp/tcp_flow.h"
#include "tests/bench/host.h"

enum {
	PEER_PORT = 5000,
	OUR_PORT = 6000,
	SEGS = 10,
	MSS = 1000,
	WINDOW = 20 * MSS,
	FIRST = -2500, /* sequence numbers wrap */
	PEER_SEQ = 777,
};
#define MS UINT64_C(1000000)

static struct fw_ut ut;
static struct tcp_flow *flow;
static struct tcp_seg seg[SEGS];
static uint32_t num_acked;
static bool close_at_once;

static inline uint32_t peer(void)
{
	return htonl(0x0a4d0009);
}

static inline void acked(struct fw_nic *nic, struct tcp_flow *f, struct tcp_seg *s, bool ok)
{
	if (!ok)
		return;
	CU_ASSERT_PTR_EQUAL(s, &seg[num_acked]);
	num_acked++;
	if (close_at_once)
		tcp_abort(nic, f);
}

static inline void ended(struct fw_nic *nic, struct tcp_flow *f, enum tcp_end why)
{
	(void)nic;
	(void)f;
	(void)why;
}

static const struct tcp_ops ops = {.acked = acked, .ended = ended};

static inline void begin(uint16_t flags)
{
	uint32_t i;

	fw_ut_begin(&ut);
	ut.nic->tcp.ops[TCP_USER_MPA] = &ops;
	ut.nic->now_ns += 1000 * MS;
	flow = tcp_flow_new(ut.nic, peer(), PEER_PORT, OUR_PORT, TCP_USER_MPA);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	flow->state = TCP_ESTABLISHED;
	flow->flags = flags;
	flow->mss = MSS;
	flow->snd_wnd = flow->snd_wnd_max = WINDOW;
	flow->snd_wl1 = PEER_SEQ;
	flow->cwnd = 50 * MSS;
	flow->ssthresh = 20 * MSS;
	flow->rtt.srtt_ns = 10 * MS;
	flow->rto_ns = 300 * MS;
	flow->reo_mult = 1;
	tcp_number_from(flow, (uint32_t)FIRST, 0);
	for (i = 0; i < SEGS; i++) {
		seg[i] = (struct tcp_seg){.seq = flow->snd_nxt,
					  .bytes = MSS,
					  .sent_ns = ut.nic->now_ns,
					  .flags = TCP_SEG_ULP};
		fw_list_add_tail(&flow->segs, &seg[i].node);
		flow->snd_nxt += MSS;
		flow->pipe += MSS;
	}
	ut.nic->now_ns += 5 * MS;
	num_acked = 0;
	close_at_once = false;
}

static inline bool is_over(void)
{
	return !tcp_find(ut.nic, peer(), PEER_PORT, OUR_PORT);
}

static inline void end(void)
{
	if (!is_over())
		tcp_abort(ut.nic, flow);
	fw_ut_end(&ut);
}

/* The acknowledgement of so many bytes. */
static inline struct tcp_in ack_of(uint32_t bytes)
{
	return (struct tcp_in){.seq = PEER_SEQ,
			       .ack = (uint32_t)FIRST + bytes,
			       .window = WINDOW >> flow->snd_wscale,
			       .flags = WIRE_TCP_ACK};
}

static inline bool comes(const struct tcp_in *in)
{
	return tcp_ack_rx(ut.nic, flow, in);
}

static inline void ack(uint32_t bytes)
{
	struct tcp_in in = ack_of(bytes);

	CU_ASSERT_TRUE(comes(&in));
}

static inline uint32_t una(void)
{
	return flow->snd_una - (uint32_t)FIRST;
}

static inline void duplicate(void)
{
	struct tcp_in in = ack_of(una());

	CU_ASSERT_TRUE(comes(&in));
}

#endif /* WEFT_TESTS_TCP_ACK_FIX_H */
