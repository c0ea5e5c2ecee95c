/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash tables whose keys strangers, peers and processes choose. A generator draws keys that
 * fw_hash() puts into one chain of each table, as anybody can who has read it. No chain may become
 * long by them. See docs/security.md "Stalls".
 */
#include <arpa/inet.h>

#include "tests/bench/host.h"

enum {
	KEYS = 100,
	LONGEST = 5,
	PORT = 4791,
};

static struct fw_ut ut;

/* The number of the chain of three words in a table of this many heads, without a secret. */
static uint32_t chain_of(uint32_t a, uint32_t b, uint32_t c, uint32_t heads)
{
	return fw_hash(a, b, c) % heads;
}

/* Returns the length of the longest chain of a table. */
#define LONGEST_CHAIN(heads, count, table, type)                                                   \
	({                                                                                         \
		uint32_t longest_ = 0, length_, i_;                                                \
		type *entry_;                                                                      \
                                                                                                   \
		for (i_ = 0; i_ < (count); i_++) {                                                 \
			length_ = 0;                                                               \
			fw_chain_for_each (entry_, (heads)[i_], (type *)(table), hash_next)        \
				length_++;                                                         \
			longest_ = length_ > longest_ ? length_ : longest_;                        \
		}                                                                                  \
		longest_;                                                                          \
	})

static void sessions(void)
{
	uint32_t ip, n = 0;

	fw_ut_begin(&ut);
	for (ip = 0x0a000001; n < KEYS; ip++) {
		if (chain_of(htonl(ip), 0, 1, HW_MAX_PEERS))
			continue;
		CU_ASSERT_PTR_NOT_NULL_FATAL(rd_session_get(ut.nic, htonl(ip), 0));
		n++;
	}
	CU_ASSERT(LONGEST_CHAIN(ut.nic->rd.session_hash, HW_MAX_PEERS, ut.nic->rd.peers,
				struct rd_peer) <= LONGEST);
	for (ip = 0; ip < ut.nic->rd.session_ids.high; ip++)
		rd_session_release(ut.nic, rd_rest_wake(ut.nic, &ut.nic->rd.peers[ip]));
	fw_ut_end(&ut);
}

static void connections(void)
{
	static const struct tcp_ops ops;
	struct tcp_flow *flows[KEYS];
	uint32_t ip = 0x0a000001, port = 1, n = 0;

	fw_ut_begin(&ut);
	tcp_serve(ut.nic, TCP_USER_MPA, &ops);
	for (; n < KEYS; port++) {
		if (port == 65535) {
			port = 1;
			ip++;
		}
		if (chain_of(htonl(ip), port, PORT, TCP_HASH_SIZE))
			continue;
		flows[n] = tcp_flow_new(ut.nic, htonl(ip), (uint16_t)port, PORT, TCP_USER_MPA);
		CU_ASSERT_PTR_NOT_NULL_FATAL(flows[n]);
		n++;
	}
	CU_ASSERT(LONGEST_CHAIN(ut.nic->tcp.hash, TCP_HASH_SIZE, fw_pool_table(&ut.nic->tcp.flows),
				struct tcp_flow) <= LONGEST);
	memset(ut.nic->tcp.hash, 0, TCP_HASH_SIZE * sizeof(uint32_t));
	while (n)
		fw_pool_put(&ut.nic->tcp.flows, flows[--n]);
	fw_ut_end(&ut);
}

static void endpoints(void)
{
	uint32_t eq, id, n = 0;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 64);
	for (id = 1; n < KEYS; id++) {
		struct cm_ep *ep;

		if (chain_of(htonl(0x0a4d0002), id, 0, CM_HASH_SIZE))
			continue;
		ep = cm_new(ut.nic, 0, eq);
		CU_ASSERT_PTR_NOT_NULL_FATAL(ep);
		ep->peer_ip = htonl(0x0a4d0002);
		ep->peer_id = id;
		cm_hash(ut.nic, ep);
		n++;
	}
	CU_ASSERT(LONGEST_CHAIN(ut.nic->cm.hash, CM_HASH_SIZE, ut.nic->cm.eps, struct cm_ep) <=
		  LONGEST);
	fw_ut_end(&ut);
}

static void streams(void)
{
	static const uint8_t mac[6] = {0x02, 0x77, 0, 0, 0, 2};
	struct esp_key key = {.service = WIRE_ESP_GOAL, .local = 1, .remote = 2};
	struct esp_stream *s[KEYS];
	uint32_t n = 0;
	int ctx;

	fw_ut_begin(&ut);
	for (key.key = 0; n < KEYS; key.key++) {
		/* The ends of a key were mixed by exclusive or. */
		key.key2 = (uint64_t)(uint32_t)key.key << 32;
		s[n] = esp_open(ut.nic, 0, &key, mac, 0, &ctx);
		CU_ASSERT_PTR_NOT_NULL_FATAL(s[n]);
		n++;
	}
	CU_ASSERT(LONGEST_CHAIN(ut.nic->esp.hash, FW_ESP_HASH_SIZE, ut.nic->esp.streams,
				struct esp_stream) <= LONGEST);
	while (n)
		esp_abort(ut.nic, s[--n]);
	fw_ut_end(&ut);
}

static void neighbours(void)
{
	uint8_t mac[6];
	uint32_t ip, n = 0;

	fw_ut_begin(&ut);
	ut.nic->config.ip_prefix = 8;
	for (ip = 0x0a000001; n < KEYS; ip++) {
		if (chain_of(htonl(ip), 0, 0, HW_MAX_NEIGH))
			continue;
		CU_ASSERT_EQUAL(neigh_lookup(ut.nic, htonl(ip), mac), NEIGH_WAIT);
		n++;
	}
	CU_ASSERT(LONGEST_CHAIN(ut.nic->net.neigh_hash, HW_MAX_NEIGH, ut.nic->net.neigh,
				struct neigh) <= LONGEST);
	fw_ut_end(&ut);
}

static void groups(void)
{
	uint32_t ip, n = 0, longest;
	struct fw_qp *qp;
	struct fw_cq *cq;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, 64, HW_EQ_NONE);
	qp = host_qp(ut.nic, 0, HW_QPT_UD, host_pd(ut.nic, 0), cq, HW_SRQ_NONE);
	host_rts(ut.nic, qp, 0);
	for (ip = 0xef000001; n < KEYS; ip++) {
		if (chain_of(htonl(ip), 0, 0, MCAST_HASH_SIZE))
			continue;
		CU_ASSERT_EQUAL_FATAL(mcast_attach(ut.nic, qp, htonl(ip)), 0);
		n++;
	}
	longest = LONGEST_CHAIN(ut.nic->net.mcast_hash, MCAST_HASH_SIZE,
				fw_pool_table(&ut.nic->net.mcast_group_pool), struct mcast_group);
	CU_ASSERT(longest <= LONGEST);
	longest = LONGEST_CHAIN(ut.nic->net.mac_filter_hash, MAC_FILTER_HASH_SIZE,
				fw_pool_table(&ut.nic->net.mac_filters), struct mac_filter);
	CU_ASSERT(longest <= LONGEST);
	fw_ut_end(&ut);
}

/* Ports of listeners that a process chooses: all of one chain of a table without a hash. */
static void listeners(void)
{
	static const struct tcp_ops ops;
	uint32_t i;

	fw_ut_begin(&ut);
	tcp_serve(ut.nic, TCP_USER_MPA, &ops);
	for (i = 0; i < KEYS; i++)
		CU_ASSERT_EQUAL_FATAL(tcp_listen(ut.nic, (uint16_t)(1 + i * TCP_LISTEN_HASH_SIZE),
						 1, TCP_USER_MPA, NULL),
				      0);
	CU_ASSERT(LONGEST_CHAIN(ut.nic->tcp.listen_hash, TCP_LISTEN_HASH_SIZE,
				ut.nic->tcp.listeners, struct tcp_listener) <= LONGEST);
	for (i = 0; i < KEYS; i++)
		tcp_unlisten(ut.nic, (uint16_t)(1 + i * TCP_LISTEN_HASH_SIZE));
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/chains", UT(sessions), UT(connections), UT(endpoints), UT(streams), UT(neighbours),
	UT(groups), UT(listeners))
