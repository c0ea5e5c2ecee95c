/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: requests, learning, failure, re-confirmation, routes.
 */
#include "tests/bench/stubs/net.h"
#include "tests/nic_fw/net/neigh_fix.h"

static struct wire_arp *arp_of(struct frame *f)
{
	return (struct wire_arp *)(f->b + sizeof(struct wire_eth));
}

static void check_request(struct frame *f, uint32_t ip, const uint8_t *dst_mac)
{
	CU_ASSERT_EQUAL(f->n, 42);
	CU_ASSERT_EQUAL(f->flags, FW_TX_F_CONTROL);
	CU_ASSERT_EQUAL(memcmp(net_eth(f)->dst, dst_mac, 6), 0);
	CU_ASSERT_EQUAL(memcmp(net_eth(f)->src, net_mac, 6), 0);
	CU_ASSERT_EQUAL(be16_get(net_eth(f)->type), WIRE_ETHERTYPE_ARP);
	CU_ASSERT_EQUAL(be16_get(arp_of(f)->op), WIRE_ARP_REQUEST);
	CU_ASSERT_EQUAL(memcmp(arp_of(f)->sender_mac, net_mac, 6), 0);
	CU_ASSERT_EQUAL(be32_get(arp_of(f)->sender_ip), 0x0a4d0001);
	CU_ASSERT_EQUAL(memcmp(&arp_of(f)->target_ip, &ip, 4), 0);
}

static void asks_and_learns(void)
{
	net_init(0);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 1);
	check_request(&net.sent[0], NET_PEER_IP, net_broadcast);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	CU_ASSERT_EQUAL(memcmp(mac, net_peer_mac, 6), 0);
	CU_ASSERT_EQUAL(net.ah_done.calls, 1);
	CU_ASSERT_EQUAL(net.ah_done.ip, NET_PEER_IP);
	CU_ASSERT_TRUE(net.ah_done.ok);
	CU_ASSERT_EQUAL(net.session_done.calls, 1);
	CU_ASSERT_EQUAL(fw_timers_next_ns(&net.nic->timers), UINT64_MAX);
	/* No request is open: an answer is ignored, whether its address is the same or another. */
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_IP);
	CU_ASSERT_EQUAL(net.session_done.calls, 1);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	CU_ASSERT_EQUAL(memcmp(mac, net_peer_mac, 6), 0);
	CU_ASSERT_EQUAL(CNT(arp_replies_rx), 3);
	CU_ASSERT_EQUAL(CNT(arp_conflicts), 1);
	net_end();
}

static void gives_up_and_tries_anew_later(void)
{
	uint32_t i;

	net_init(0);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	for (i = 1; i < NEIGH_TRIES; i++) {
		net_advance(NEIGH_RETRY_NS);
		CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	}
	CU_ASSERT_EQUAL(net.ah_done.calls, 0);
	net_advance(NEIGH_RETRY_NS);
	CU_ASSERT_EQUAL(net.ah_done.calls, 1);
	CU_ASSERT_FALSE(net.ah_done.ok);
	CU_ASSERT_FALSE(net.session_done.ok);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, NEIGH_TRIES);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_UNREACHABLE);
	net_advance(NEIGH_HOLD_NS - 1);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_UNREACHABLE);
	net_advance(1);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	/* A failed entry is requested again when its station sends. */
	for (i = 0; i < NEIGH_TRIES; i++)
		net_advance(NEIGH_RETRY_NS);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_UNREACHABLE);
	net_flush();
	net.num_sent = 0;
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, net_peer_mac, NET_IP);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 2);
	check_request(&net.sent[0], NET_PEER_IP, net_broadcast);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_end();
}

static void answers_requests(void)
{
	struct frame *f;

	net_init(0);
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, net_peer_mac, NET_IP);
	net_flush();
	/*
	 * A station that requests our MAC will be answered soon. Its own MAC is requested first,
	 * and only the reply to that is believed.
	 */
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 2);
	check_request(&net.sent[0], NET_PEER_IP, net_broadcast);
	f = &net.sent[1];
	CU_ASSERT_EQUAL(memcmp(net_eth(f)->dst, net_peer_mac, 6), 0);
	CU_ASSERT_EQUAL(be16_get(arp_of(f)->op), WIRE_ARP_REPLY);
	CU_ASSERT_EQUAL(memcmp(arp_of(f)->sender_mac, net_mac, 6), 0);
	CU_ASSERT_EQUAL(be32_get(arp_of(f)->sender_ip), 0x0a4d0001);
	CU_ASSERT_EQUAL(memcmp(arp_of(f)->target_mac, net_peer_mac, 6), 0);
	CU_ASSERT_EQUAL(be32_get(arp_of(f)->target_ip), 0x0a4d0002);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	/* A probe is answered, and nothing is learned from it. */
	rx_arp(WIRE_ARP_REQUEST, 0, other_mac, NET_IP);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 3);
	CU_ASSERT_EQUAL(net.nic->net.neigh_count, 1);
	/* For another address: nothing. */
	rx_arp(WIRE_ARP_REQUEST, net_ip(10, 77, 0, 9), other_mac, net_ip(10, 77, 0, 8));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 3);
	CU_ASSERT_EQUAL(net.nic->net.neigh_count, 1);
	net_end();
	/* Other shards send nothing, and receive the reply to shard 0's request. */
	net_init(4);
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, net_peer_mac, NET_IP);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 0);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_end();
}

/*
 * Shard 0 knows the station and requests nothing. The station asks for our address before each
 * packet, and another shard has to know the sender of that packet: it requests the address itself.
 */
static void shard_0_knows_it(void)
{
	uint32_t i;

	net_init(4);
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, net_peer_mac, NET_IP);
	CU_ASSERT_EQUAL(CNT(arp_tx), 0);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
	check_request(&net.sent[0], NET_PEER_IP, net_broadcast);
	/* That is enough for the packets that follow, and for the station's next question. */
	for (i = 0; i < 3; i++)
		(void)neigh_source(net.nic, NET_PEER_IP, net_peer_mac);
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, net_peer_mac, NET_IP);
	(void)neigh_source(net.nic, NET_PEER_IP, net_peer_mac);
	CU_ASSERT_EQUAL(CNT(arp_tx), 1);
	/* It was lost: the station's next packet causes another one. */
	net_advance(NEIGH_RETRY_NS);
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, net_peer_mac, NET_IP);
	(void)neigh_source(net.nic, NET_PEER_IP, net_peer_mac);
	CU_ASSERT_EQUAL(CNT(arp_tx), 2);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_RIGHT);
	net_end();
}

/* A flood of such pairs causes no more requests than a flood of packets. */
static void flood_of_questions(void)
{
	uint8_t from[6] = {0x02, 0, 0, 0, 9, 9};
	uint32_t i;

	net_init(4);
	net.nic->config.ip_prefix = 8;
	for (i = 0; i < 5000; i++) {
		uint32_t ip = net_ip(10, 80, i >> 8, 1 + (i & 127));

		rx_arp(WIRE_ARP_REQUEST, ip, from, NET_IP);
		(void)neigh_source(net.nic, ip, from);
		net_flush();
		net.num_sent = 0;
	}
	CU_ASSERT_TRUE(CNT(arp_tx) > 0);
	CU_ASSERT_TRUE(CNT(arp_tx) <= 64);
	net_end();
}

/* Unrequested ARP teaches nothing, neither before an address is known nor after. */
static void unasked_words_teach_nothing(void)
{
	uint32_t i;

	net_init(0);
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, other_mac, NET_PEER_IP);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_PEER_IP);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_IP);
	CU_ASSERT_EQUAL(net.nic->net.neigh_count, 0);
	net_learn_peer();
	for (i = 0; i < 100; i++) {
		net_advance(10000000);
		rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, other_mac, NET_PEER_IP);
		rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_PEER_IP);
		rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, other_mac, NET_IP);
		rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_IP);
		CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
		CU_ASSERT_EQUAL(memcmp(mac, net_peer_mac, 6), 0);
		net_flush();
		/* A peer that is asked whether it is still there replies. */
		if (fw_timers_next_ns(&net.nic->timers) != UINT64_MAX)
			rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
		net.num_sent = 0;
	}
	CU_ASSERT_EQUAL(CNT(arp_conflicts), 400);
	CU_ASSERT_EQUAL(net.session_done.calls, 1);
	net_end();
}

/*
 * An address has moved: its former station is asked first; if that is silent, the request is
 * broadcast.
 */
static void moved(void)
{
	net_init(0);
	net_learn_peer();
	net_advance(NEIGH_CONFLICT_NS);
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, other_mac, NET_PEER_IP);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
	check_request(&net.sent[0], NET_PEER_IP, net_peer_mac);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_IP); /* to another request */
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	CU_ASSERT_EQUAL(memcmp(mac, net_peer_mac, 6), 0);
	net_advance(NEIGH_VERIFY_NS);
	net_advance(NEIGH_VERIFY_NS);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 3);
	check_request(&net.sent[1], NET_PEER_IP, net_peer_mac);
	check_request(&net.sent[2], NET_PEER_IP, net_broadcast);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	CU_ASSERT_EQUAL(memcmp(mac, other_mac, 6), 0);
	CU_ASSERT_EQUAL(net.session_done.calls, 2);
	net_end();
}

/* The reply was damaged: the true station is accepted 100 ms after it is first received. */
static void damaged_answer(void)
{
	net_init(0);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_IP);
	net_flush();
	net.num_sent = 0;
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_WRONG);
	net_advance(NEIGH_VERIFY_NS);
	net_advance(NEIGH_VERIFY_NS);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 3);
	check_request(&net.sent[0], NET_PEER_IP, other_mac);
	check_request(&net.sent[1], NET_PEER_IP, other_mac);
	check_request(&net.sent[2], NET_PEER_IP, net_broadcast);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_RIGHT);
	/* Requests caused by others' frames are a second apart: this one waits. */
	net.num_sent = 0;
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, other_mac), NEIGH_SOURCE_WRONG);
	net_advance(NEIGH_CONFLICT_NS - 2 * NEIGH_VERIFY_NS - 1);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net_advance(1);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
	check_request(&net.sent[0], NET_PEER_IP, net_peer_mac);
	net_end();
}

/* Our request was lost, and its station is received: it is asked again early. */
static void lost_question(void)
{
	uint32_t i;

	net_init(0);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	net_advance(NEIGH_REASK_NS - 1);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	CU_ASSERT_EQUAL(CNT(arp_tx), 1);
	net_advance(1);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	CU_ASSERT_EQUAL(CNT(arp_tx), 2);
	/* That consumes none of our own attempts, and does not delay them. */
	for (i = 1; i < NEIGH_TRIES; i++) {
		net_advance(NEIGH_RETRY_NS);
		CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	}
	CU_ASSERT_EQUAL(CNT(arp_tx), 1 + NEIGH_TRIES);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_end();
}

/* A request of ours is not answered: it is broadcast now, though another request is pending. */
static void doubt_does_not_wait(void)
{
	net_init(0);
	net_learn_peer();
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, other_mac, NET_PEER_IP);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, other_mac, NET_PEER_IP);
	net_flush();
	net.num_sent = 0;
	neigh_doubt(net.nic, NET_PEER_IP);
	neigh_doubt(net.nic, NET_PEER_IP);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
	check_request(&net.sent[0], NET_PEER_IP, net_broadcast);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, other_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	CU_ASSERT_EQUAL(memcmp(mac, other_mac, 6), 0);
	net_end();
}

/* The source of a packet against the table: of a station, of a peer beyond the gateway, ours. */
static void sources(void)
{
	uint32_t beyond = net_ip(192, 168, 3, 4);

	net_init(0);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
	check_request(&net.sent[0], NET_PEER_IP, net_broadcast);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_RIGHT);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, other_mac), NEIGH_SOURCE_WRONG);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_IP, net_mac), NEIGH_SOURCE_RIGHT);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_IP, other_mac), NEIGH_SOURCE_WRONG);
	CU_ASSERT_EQUAL(neigh_source(net.nic, beyond, other_mac), NEIGH_SOURCE_UNKNOWN);
	rx_arp(WIRE_ARP_REPLY, NET_GATEWAY, other_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_source(net.nic, beyond, other_mac), NEIGH_SOURCE_RIGHT);
	CU_ASSERT_EQUAL(neigh_source(net.nic, beyond, net_peer_mac), NEIGH_SOURCE_WRONG);
	net.nic->config.gateway = 0;
	CU_ASSERT_EQUAL(neigh_source(net.nic, beyond, other_mac), NEIGH_SOURCE_WRONG);
	/* The route of an answer: the table's, or back to the sender if the table has none. */
	neigh_answer(net.nic, NET_PEER_IP, other_mac, mac);
	CU_ASSERT_EQUAL(memcmp(mac, net_peer_mac, 6), 0);
	neigh_answer(net.nic, net_ip(10, 77, 0, 9), other_mac, mac);
	CU_ASSERT_EQUAL(memcmp(mac, other_mac, 6), 0);
	net_end();
}

/*
 * A stranger's address is requested once, again when it sends again, and the failure is reported to
 * none.
 */
static void strangers_question(void)
{
	net_init(0);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	CU_ASSERT_EQUAL(CNT(arp_tx), 1);
	net_advance(NEIGH_REASK_NS);
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	CU_ASSERT_EQUAL(CNT(arp_tx), 2);
	net_advance(NEIGH_RETRY_NS);
	CU_ASSERT_EQUAL(fw_timers_next_ns(&net.nic->timers), UINT64_MAX);
	CU_ASSERT_EQUAL(net.session_done.calls, 0);
	/* A need of our own starts a request of our own, with all its attempts. */
	CU_ASSERT_EQUAL(neigh_source(net.nic, NET_PEER_IP, net_peer_mac), NEIGH_SOURCE_UNKNOWN);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	CU_ASSERT_EQUAL(CNT(arp_tx), 3);
	net_advance(NEIGH_RETRY_NS);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	CU_ASSERT_EQUAL(CNT(arp_tx), 4);
	net_end();
}

/* A flood in the names of thousands causes few requests, and displaces no other entries. */
static void flood_of_sources(void)
{
	uint8_t from[6] = {0x02, 0, 0, 0, 9, 9};
	uint32_t i, waiting = 0;

	net_init(0);
	net.nic->config.ip_prefix = 8;
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_WAIT);
	for (i = 0; i < 5000; i++) {
		(void)neigh_source(net.nic, net_ip(10, 80, i >> 8, i & 255), from);
		net_flush();
		net.num_sent = 0;
	}
	CU_ASSERT_TRUE(CNT(arp_tx) <= 1 + 64);
	/* From as many MACs: the number of pending requests is still bounded. */
	for (i = 0; i < 20000; i++) {
		from[3] = (uint8_t)i;
		from[4] = (uint8_t)(i >> 8);
		(void)neigh_source(net.nic, net_ip(10, 81, i >> 8, i & 255), from);
		net_flush();
		net.num_sent = 0;
	}
	CU_ASSERT_TRUE(CNT(arp_tx) <= 1 + 64 * NEIGH_RATES);
	for (i = 0; i < net.nic->net.neigh_count; i++)
		waiting += fw_timer_is_set(&net.nic->net.neigh[i].timer);
	CU_ASSERT_EQUAL(waiting, 1 + NEIGH_STRANGERS);
	net_learn_peer();
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	/* And a new address that we need finds room. */
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, net_ip(10, 90, 0, 1), mac), NEIGH_WAIT);
	rx_arp(WIRE_ARP_REPLY, net_ip(10, 90, 0, 1), other_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, net_ip(10, 90, 0, 1), mac), NEIGH_OK);
	net_end();
}

static void routes(void)
{
	net_init(0);
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, NET_PEER_IP), NET_PEER_IP);
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, net_ip(10, 77, 1, 2)), NET_GATEWAY);
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, net_ip(10, 77, 0, 255)), 0);
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, net_ip(10, 77, 0, 0)), 0);
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, net_ip(255, 255, 255, 255)), 0);
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, net_ip(224, 0, 0, 1)), 0);
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, net_ip(127, 0, 0, 1)), 0);
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, 0), 0);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, 0, mac), NEIGH_UNREACHABLE);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_IP, mac), NEIGH_OK);
	CU_ASSERT_EQUAL(memcmp(mac, net_mac, 6), 0);
	/* Through the gateway: its address is requested, and serves all addresses beyond it. */
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, net_ip(10, 77, 1, 2), mac), NEIGH_WAIT);
	net_flush();
	check_request(&net.sent[0], NET_GATEWAY, net_broadcast);
	rx_arp(WIRE_ARP_REPLY, NET_GATEWAY, other_mac, NET_IP);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, net_ip(192, 168, 3, 4), mac), NEIGH_OK);
	CU_ASSERT_EQUAL(memcmp(mac, other_mac, 6), 0);
	net.nic->config.gateway = 0;
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, net_ip(192, 168, 3, 4), mac), NEIGH_UNREACHABLE);
	net.nic->config.ip_prefix = 31;
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, net_ip(10, 77, 0, 0)), net_ip(10, 77, 0, 0));
	net.nic->config.ip_prefix = 32;
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, NET_PEER_IP), 0);
	net.nic->config.ip_prefix = 0;
	CU_ASSERT_EQUAL(neigh_next_hop(net.nic, net_ip(8, 8, 8, 8)), net_ip(8, 8, 8, 8));
	net_end();
}

static void confirms_while_in_use(void)
{
	net_init(0);
	net_learn_peer();
	net_advance(NEIGH_CONFIRM_NS - 1);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net_advance(1);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 1);
	check_request(&net.sent[0], NET_PEER_IP, net_peer_mac);
	net_learn_peer();
	CU_ASSERT_EQUAL(fw_timers_next_ns(&net.nic->timers), UINT64_MAX);
	/*
	 * Silent: asked twice by unicast, twice by broadcast, in use meanwhile; then it has failed.
	 */
	net_advance(NEIGH_CONFIRM_NS);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_advance(NEIGH_RETRY_NS);
	net_advance(NEIGH_RETRY_NS);
	net_advance(NEIGH_RETRY_NS);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 5);
	check_request(&net.sent[2], NET_PEER_IP, net_peer_mac);
	check_request(&net.sent[3], NET_PEER_IP, net_broadcast);
	net_advance(NEIGH_RETRY_NS);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_UNREACHABLE);
	net_end();
}

/* The doubt ends with the answer: a later confirmation has the time of each other one. */
static void confirms_after_a_doubt(void)
{
	net_init(0);
	net_learn_peer();
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, other_mac, NET_PEER_IP);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 1);
	net_advance(NEIGH_CONFIRM_NS);
	CU_ASSERT_EQUAL(neigh_lookup(net.nic, NET_PEER_IP, mac), NEIGH_OK);
	net_advance(NEIGH_VERIFY_NS);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 2);
	rx_arp(WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
	/* Nor does it count as a verification: the next doubt is looked into at once. */
	rx_arp(WIRE_ARP_REQUEST, NET_PEER_IP, other_mac, NET_PEER_IP);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 3);
	check_request(&net.sent[2], NET_PEER_IP, net_peer_mac);
	net_end();
}

static void malformed(void)
{
	static const uint8_t multicast[6] = {0x01, 0, 0x5e, 0, 0, 1}, zero[6] = {0};
	struct frame f;
	uint32_t n;

	net_init(0);
	for (n = 14; n < 42; n++) {
		net_put_arp(&f, WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);
		f.n = n;
		net_rx(&f);
	}
	CU_ASSERT_EQUAL(CNT(drop_arp_malformed), 28);
#define MALFORMED(change)                                                                          \
	net_put_arp(&f, WIRE_ARP_REPLY, NET_PEER_IP, net_peer_mac, NET_IP);                        \
	change;                                                                                    \
	net_rx(&f)
	MALFORMED(arp_of(&f)->hw_type = be16_put(6));
	MALFORMED(arp_of(&f)->proto_type = be16_put(WIRE_ETHERTYPE_IPV6));
	MALFORMED(arp_of(&f)->hw_bytes = 8);
	MALFORMED(arp_of(&f)->proto_bytes = 16);
	MALFORMED(arp_of(&f)->op = be16_put(0));
	MALFORMED(arp_of(&f)->op = be16_put(3));
	MALFORMED(memcpy(arp_of(&f)->sender_mac, multicast, 6));
	MALFORMED(memcpy(arp_of(&f)->sender_mac, zero, 6));
	MALFORMED(arp_of(&f)->sender_ip = be32_put(0x0a4d0001)); /* claims to be us */
	CU_ASSERT_EQUAL(CNT(drop_arp_malformed), 37);
	/* Well-formed, but no station of this link can have such an address. */
	rx_arp(WIRE_ARP_REPLY, net_ip(10, 99, 0, 1), other_mac, NET_IP);
	rx_arp(WIRE_ARP_REPLY, net_ip(10, 77, 0, 255), other_mac, NET_IP);
	CU_ASSERT_EQUAL(net.nic->net.neigh_count, 0);
	CU_ASSERT_EQUAL(net_drops(), 37);
	net_end();
}

UT_MAIN("nic_fw/net/neigh", UT(asks_and_learns), UT(gives_up_and_tries_anew_later),
	UT(answers_requests), UT(shard_0_knows_it), UT(flood_of_questions),
	UT(unasked_words_teach_nothing), UT(moved), UT(damaged_answer), UT(lost_question),
	UT(doubt_does_not_wait), UT(sources), UT(strangers_question), UT(flood_of_sources),
	UT(routes), UT(confirms_while_in_use), UT(confirms_after_a_doubt), UT(malformed))
