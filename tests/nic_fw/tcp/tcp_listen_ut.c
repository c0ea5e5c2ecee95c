/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Very many half-open connections: the end of their listener and the repetition of their SYN-ACKs
 * take turns, and strangers cannot choose their chain. Turns are counted; nothing is timed. See
 * nic_fw/tcp/tcp_listen.c, docs/security.md "Stalls".
 */
#include <arpa/inet.h>

#include "nic_fw/tcp/tcp_flow.h"
#include "tests/bench/frame.h"
#include "tests/bench/host.h"

enum {
	PORT = 4000,
	OTHER_PORT = 4001,
	HALF = TCP_MAX_SYNS / 2, /* of one listener */
	FIRST_PORT = 1000,
	LONGEST_CHAIN = 16,
};

static struct fw_ut ut;

static bool never_accepted(struct fw_nic *nic, void *ctx, struct tcp_flow *flow)
{
	(void)nic;
	(void)ctx;
	(void)flow;
	return false;
}

static const struct tcp_ops ops = {.accepted = never_accepted};

static void begin(void)
{
	fw_ut_begin(&ut);
	tcp_serve(ut.nic, TCP_USER_MPA, &ops);
	CU_ASSERT_EQUAL_FATAL(tcp_listen(ut.nic, PORT, 8, TCP_USER_MPA, NULL), 0);
	fw_ut_poll(&ut, 1000);
}

static void syn(uint32_t ip, uint16_t from, uint16_t to, uint32_t seq)
{
	static const uint8_t peer[6] = {0x02, 0x77, 0, 0, 1, 1};
	struct wire_tcp *tcp;
	struct frame f;

	frame_eth(&f, ut.nic->config.mac, peer, WIRE_ETHERTYPE_IPV4);
	frame_ip(&f, WIRE_IPPROTO_TCP, ip, ut.nic->config.ip);
	tcp = frame_tcp(&f, from, to, WIRE_TCP_SYN, NULL, 0);
	tcp->seq = be32_put(seq);
	tcp->window = be16_put(1000);
	frame_seal(f.b, f.n, 0);
	bench_port_put(&ut.port, f.b, f.n, 0);
	fw_ut_poll(&ut, 1);
}

static void syns(uint16_t to, uint32_t n)
{
	uint32_t i, used = ut.nic->tcp.syns.used;

	for (i = 0; i < n; i++)
		syn(htonl(0x0a4d0020 + i % 64), (uint16_t)(FIRST_PORT + i), to, i);
	CU_ASSERT_EQUAL_FATAL(ut.nic->tcp.syns.used, used + n);
}

static void end(void)
{
	tcp_unlisten(ut.nic, PORT);
	while (tcp_syn_pending(ut.nic))
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* A new listener of the port has nothing of the old one's, and the others lose nothing. */
static void listener_ends_in_turns(void)
{
	uint32_t was, left, turns, sent;

	begin();
	CU_ASSERT_EQUAL(tcp_listen(ut.nic, OTHER_PORT, 8, TCP_USER_MPA, NULL), 0);
	syns(OTHER_PORT, 100);
	syns(PORT, HALF);
	tcp_unlisten(ut.nic, PORT);
	left = ut.nic->tcp.syns.used;
	CU_ASSERT(left >= HALF + 100 - FW_SLICE_AT_ONCE);
	CU_ASSERT_EQUAL(tcp_listen(ut.nic, PORT, 8, TCP_USER_MPA, NULL), 0);
	/* The address and port of an old one: a new SYN, whatever its number is. */
	sent = ut.port.frames_sent;
	syn(htonl(0x0a4d0020), FIRST_PORT, PORT, 12345);
	CU_ASSERT_EQUAL(ut.port.frames_sent, sent + 1);
	CU_ASSERT_EQUAL(tcp_find_listener(ut.nic, PORT)->syns, 1);
	for (turns = 0; tcp_syn_pending(ut.nic) && turns < HALF; turns++) {
		was = ut.nic->tcp.syns.used;
		fw_ut_poll(&ut, 1000);
		left = ut.nic->tcp.syns.used;
		CU_ASSERT(was - left <= FW_SLICE_UNITS);
	}
	CU_ASSERT_EQUAL(left, 101);
	CU_ASSERT(turns >= (HALF - FW_SLICE_AT_ONCE) / FW_SLICE_UNITS);
	CU_ASSERT_EQUAL(tcp_find_listener(ut.nic, OTHER_PORT)->syns, 100);
	tcp_unlisten(ut.nic, OTHER_PORT);
	end();
}

/* All are due at one moment; entries of several numbers of tries wait beside one another. */
static void synacks_in_turns(void)
{
	uint32_t try, sent, all, turns;

	begin();
	syns(PORT, HALF - 1);
	for (try = 1; try < TCP_SYNACK_TRIES; try++) {
		ut.now_ns += TCP_SECOND_NS << try;
		all = ut.port.frames_sent + HALF - 1;
		for (turns = 0; ut.port.frames_sent < all && turns < HALF; turns++) {
			sent = ut.port.frames_sent;
			fw_ut_poll(&ut, 1);
			CU_ASSERT(ut.port.frames_sent - sent <= TCP_SYNACK_TURN);
		}
		CU_ASSERT(turns >= HALF / TCP_SYNACK_TURN);
		fw_ut_poll(&ut, 1);
		CU_ASSERT_EQUAL(ut.port.frames_sent, all);
	}
	/* A young one waits for its second, not for those that wait longer. */
	syn(htonl(0x0a4d0070), 7, PORT, 1);
	sent = ut.port.frames_sent;
	fw_ut_poll(&ut, TCP_SECOND_NS);
	CU_ASSERT_EQUAL(ut.port.frames_sent, sent + 1);
	ut.now_ns += TCP_SECOND_NS << TCP_SYNACK_TRIES;
	for (turns = 0; ut.nic->tcp.syns.used && turns < 2 * HALF; turns++)
		fw_ut_poll(&ut, TCP_SECOND_NS);
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_half_open_lost, HALF);
	end();
}

/* Addresses and ports of equal hash, as a stranger computes it. */
static void strangers_choose_no_chain(void)
{
	uint32_t ip = 0x0a4d0020, port = 1, n = 0, i, longest = 0;

	begin();
	while (n < 200) {
		if (fw_hash(htonl(ip), port, PORT) % TCP_SYN_HASH_SIZE == 0) {
			syn(htonl(ip), (uint16_t)port, PORT, n);
			n++;
		}
		if (++port == 65536) {
			port = 1;
			ip++;
		}
	}
	CU_ASSERT_EQUAL(ut.nic->tcp.syns.used, n);
	for (i = 0; i < TCP_SYN_HASH_SIZE; i++) {
		uint32_t at = ut.nic->tcp.syn_hash[i], length = 0;

		for (; at; length++)
			at = ((struct tcp_syn *)fw_pool_at(&ut.nic->tcp.syns, at - 1))->hash_next;
		if (length > longest)
			longest = length;
	}
	CU_ASSERT(longest <= LONGEST_CHAIN);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_listen", UT(listener_ends_in_turns), UT(synacks_in_turns),
	UT(strangers_choose_no_chain))
