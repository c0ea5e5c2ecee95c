/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of handshakes: one NIC with a listener, a peer whose segments the test
 * makes, and the last frame that the NIC sent. Included by tcp_handshake_ut.c,
 * tcp_cookie_ut.c, tcp_active_ut.c and tcp_close_ut.c.
 */
#ifndef WEFT_TESTS_TCP_HANDSHAKE_FIX_H
#define WEFT_TESTS_TCP_HANDSHAKE_FIX_H

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "nic_fw/tcp/tcp_flow.h"
#include "tests/bench/frame.h"
#include "tests/bench/host.h"

enum {
	PORT = 4000, /* of the listener */
	PEER_PORT = 1000,
	IRS = 0xfffffffe, /* the peer's numbers wrap in the handshake */
	WINDOW = 1000,
	MSS = 1400,
	TS_VAL = 0x80000005,
	WSCALE = 9,
	ECN_SETUP = WIRE_TCP_ECE | WIRE_TCP_CWR,
	ALL_OPTIONS = TCP_F_TS | TCP_F_SACK | TCP_F_WSCALE,
};
#define PEER_IP htonl(0x0a4d0020)

static const uint8_t peer_mac[6] = {0x02, 0x77, 0, 0, 1, 1};

static struct fw_ut ut;
static struct tcp_flow *flow; /* that was accepted, or that the test began */
static bool refuses;
static uint32_t opened, closed, ended;
static enum tcp_end end_why;
static uint8_t came[256]; /* bytes of the stream */
static uint32_t came_bytes;

/* The last segment that the NIC sent. */
static struct {
	struct frame f;
	uint8_t flags;
	uint32_t seq, ack;
	uint16_t window;
	struct tcp_options opt;
	uint32_t count; /* so many were sent */
} out;

static inline bool note_accepted(struct fw_nic *nic, void *ctx, struct tcp_flow *made)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(ctx, &ut);
	flow = made;
	return !refuses;
}

static inline void note_opened(struct fw_nic *nic, struct tcp_flow *of)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(of, flow);
	opened++;
}

static inline uint32_t take(struct fw_nic *nic, struct tcp_flow *of,
			    const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	(void)nic;
	(void)of;
	CU_ASSERT_FATAL(came_bytes + bytes <= sizeof(came));
	memcpy(came + came_bytes, frame->seg[0].data + offset, bytes);
	came_bytes += bytes;
	return bytes;
}

static inline struct tcp_seg *nothing(struct fw_nic *nic, struct tcp_flow *of, uint32_t max)
{
	(void)nic;
	(void)of;
	(void)max;
	return NULL;
}

static inline void note_closed(struct fw_nic *nic, struct tcp_flow *of)
{
	(void)nic;
	(void)of;
	closed++;
}

static inline void note_end(struct fw_nic *nic, struct tcp_flow *of, enum tcp_end why)
{
	(void)nic;
	(void)of;
	ended++;
	end_why = why;
}

static const struct tcp_ops ops = {.accepted = note_accepted,
				   .opened = note_opened,
				   .receive = take,
				   .next = nothing,
				   .peer_closed = note_closed,
				   .ended = note_end};

static inline void keep(struct bench_port *port, struct bench_frame *frame)
{
	struct frame_view view = frame_read(frame->b, frame->n);

	(void)port;
	if (view.tcp) {
		memcpy(out.f.b, frame->b, frame->n);
		out.f.n = frame->n;
		/* Its lengths and checksums are right. */
		frame_seal(out.f.b, out.f.n, 0);
		CU_ASSERT_EQUAL(memcmp(out.f.b, frame->b, frame->n), 0);
		out.flags = view.tcp->flags;
		out.seq = be32_get(view.tcp->seq);
		out.ack = be32_get(view.tcp->ack);
		out.window = be16_get(view.tcp->window);
		CU_ASSERT_TRUE(tcp_opt_parse((const uint8_t *)(view.tcp + 1),
					     (view.tcp->data_offset >> 4) * 4u - 20, &out.opt));
		CU_ASSERT_EQUAL(be32_get(view.ip->dst), ntohl(PEER_IP));
		CU_ASSERT(memcmp(view.eth->dst, peer_mac, 6) == 0);
		CU_ASSERT_EQUAL(be16_get(view.tcp->urgent), 0);
		out.count++;
	}
	free(frame->b);
}

static inline struct tcp_listener *listener(void)
{
	return tcp_find_listener(ut.nic, PORT);
}

static inline void begin(void)
{
	fw_ut_begin(&ut);
	ut.now_ns += UINT64_C(1000000000000);
	ut.port.sent = keep;
	memset(&out, 0, sizeof(out));
	flow = NULL;
	refuses = false;
	opened = closed = ended = came_bytes = 0;
	tcp_serve(ut.nic, TCP_USER_MPA, &ops);
	CU_ASSERT_EQUAL_FATAL(tcp_listen(ut.nic, PORT, 2, TCP_USER_MPA, &ut), 0);
	/* Its place is not given to another one. */
	CU_ASSERT_TRUE_FATAL(listener()->used);
	fw_ut_poll(&ut, 1000);
}

/* Each end takes one connection out of the list, which the loop that follows relies on. */
static inline void end_time_wait(void)
{
	uint32_t n;

	for (n = ut.nic->tcp.flows.used; n && !fw_list_empty(&ut.nic->tcp.time_wait); n--)
		tcp_end(ut.nic,
			FW_CONTAINER(ut.nic->tcp.time_wait.next, struct tcp_flow, wait_node),
			TCP_END_CLOSED);
	CU_ASSERT_TRUE_FATAL(fw_list_empty(&ut.nic->tcp.time_wait));
	tcp_drop_time_wait(ut.nic);
}

static inline void end(void)
{
	uint32_t turns;

	if (flow && !ended)
		tcp_abort(ut.nic, flow);
	end_time_wait();
	tcp_unlisten(ut.nic, PORT);
	for (turns = 0; tcp_syn_pending(ut.nic); turns++) {
		CU_ASSERT_FATAL(turns < 10000);
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
	CU_ASSERT_EQUAL(ut.nic->tcp.flows.used, 0);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* A segment of the peer. */
struct seg {
	uint8_t flags;
	uint32_t seq, ack;
	uint16_t options; /* TCP_F_*: TS; of a SYN also SACK, WSCALE */
	uint16_t mss;     /* of a SYN; 0: none */
	uint32_t ts_val, ts_ecr;
	uint8_t wscale;
	uint16_t window;
	const char *data;
	bool ce;       /* marked on the way */
	uint16_t from; /* port; 0: PEER_PORT */
};

static inline struct seg syn_of(uint16_t options, uint8_t ecn)
{
	return (struct seg){.flags = (uint8_t)(WIRE_TCP_SYN | ecn),
			    .seq = IRS,
			    .options = options,
			    .mss = MSS,
			    .ts_val = TS_VAL,
			    .wscale = WSCALE,
			    .window = WINDOW};
}

/* The ACK that ends the handshake of what the NIC sent last. */
static inline struct seg ack_of(uint16_t options)
{
	return (struct seg){.flags = WIRE_TCP_ACK,
			    .seq = IRS + 1,
			    .ack = out.seq + 1,
			    .options = options,
			    .ts_val = TS_VAL + 3,
			    .ts_ecr = out.opt.ts_val,
			    .window = WINDOW};
}

/* It arrives, dt_ns later. */
static inline void arrives_at(const struct seg *s, uint16_t to, uint64_t dt_ns)
{
	uint8_t opts[WIRE_TCP_OPT_MAX_BYTES];
	uint32_t n = 0;
	struct wire_tcp *tcp;
	struct wire_ip *ip;
	struct frame f;

	if (s->flags & WIRE_TCP_SYN && s->mss)
		n = tcp_opt_syn(opts, s->mss, s->options, s->wscale, s->ts_val, s->ts_ecr);
	else if (s->options & TCP_F_TS)
		n = tcp_opt_ts(opts, s->ts_val, s->ts_ecr);
	frame_eth(&f, ut.nic->config.mac, peer_mac, WIRE_ETHERTYPE_IPV4);
	ip = frame_ip(&f, WIRE_IPPROTO_TCP, PEER_IP, ut.nic->config.ip);
	ip->tos = s->ce ? 3 : 0;
	tcp = frame_tcp(&f, s->from ? s->from : PEER_PORT, to, s->flags, opts, n);
	tcp->seq = be32_put(s->seq);
	tcp->ack = be32_put(s->ack);
	tcp->window = be16_put(s->window);
	if (s->data)
		frame_add(&f, s->data, strlen(s->data));
	frame_seal(f.b, f.n, 0);
	bench_port_put(&ut.port, f.b, f.n, 0);
	fw_ut_poll(&ut, dt_ns);
}

static inline void arrives(const struct seg *s)
{
	arrives_at(s, PORT, 1);
}

#endif /* WEFT_TESTS_TCP_HANDSHAKE_FIX_H */
