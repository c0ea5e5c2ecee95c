/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IGMP between NICs and a router with an older version: its queries are answered in its version, by
 * one member of a group for all; a leaving member reports so if that version can; and when the
 * router has been silent for long enough, version 3 is used again. Bytes and counters are tested by
 * tests/nic_fw/net/igmp_ut.c. RFC 3376 7.2.1, RFC 2236 3, RFC 1112 appendix I.
 */
#include "tests/sim/sim_fix.h"

#include <arpa/inet.h>

#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_igmp.h"
#include "shared_defs/wire_ip.h"

enum {
	NICS = 5, /* the first NIC is in both groups, the others in the first group */
	GROUPS = 2,
	RESPONSE_100MS = 20, /* the response time of a version 2 query, in its units */
	V1_RESPONSE_S = 10,
	OLDER_S = 2 * 125, /* robustness, query interval */
};
#define SECOND (1000 * FIX_MS)

struct net {
	struct sim *sim;
	struct sim_end end[NICS];
	/* seen on the wire */
	uint32_t v1[GROUPS], v2[GROUPS], leaves[GROUPS], v3;
};

static uint32_t group_ip(uint32_t g)
{
	return htonl(0xef010300u + g);
}

static enum sim_verdict overhear(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct net *n = ctx;
	struct wire_igmp igmp;
	struct wire_ip ip;
	uint32_t g, group;
	size_t at;

	(void)from;
	if (bytes < sizeof(struct wire_eth) + sizeof(ip) || frame[12] != 8 || frame[13])
		return SIM_PASS;
	memcpy(&ip, frame + sizeof(struct wire_eth), sizeof(ip));
	if (ip.proto != WIRE_IPPROTO_IGMP)
		return SIM_PASS;
	at = sizeof(struct wire_eth) + 4u * (ip.version_ihl & 15);
	CU_ASSERT_FATAL(bytes >= at + sizeof(igmp));
	memcpy(&igmp, frame + at, sizeof(igmp));
	n->v3 += igmp.type == WIRE_IGMP_V3_REPORT;
	memcpy(&group, &igmp.group, sizeof(group));
	for (g = 0; g < GROUPS; g++) {
		if (group != group_ip(g))
			continue;
		n->v1[g] += igmp.type == WIRE_IGMP_V1_REPORT;
		n->v2[g] += igmp.type == WIRE_IGMP_V2_REPORT;
		n->leaves[g] += igmp.type == WIRE_IGMP_V2_LEAVE;
	}
	return SIM_PASS;
}

static void forget(struct net *n)
{
	memset(n->v1, 0, sizeof(n->v1));
	memset(n->v2, 0, sizeof(n->v2));
	memset(n->leaves, 0, sizeof(n->leaves));
	n->v3 = 0;
}

static int attach(struct net *n, uint32_t i, uint32_t g, bool in)
{
	uint8_t gid[16];

	weft_mcast_gid(group_ip(g), gid);
	return in ? weft_attach_mcast(n->end[i].qp, gid) : weft_detach_mcast(n->end[i].qp, gid);
}

static void net_open(struct net *n, uint64_t seed)
{
	const struct sim_end_attr attr = {.type = WEFT_QPT_UD};
	uint32_t i;

	memset(n, 0, sizeof(*n));
	n->sim = sim_new(NULL, seed);
	CU_ASSERT_FATAL(n->sim != NULL);
	for (i = 0; i < NICS; i++)
		(void)sim_nic_new(n->sim);
	for (i = 0; i < NICS; i++) {
		FIX_REQUIRE(n, sim_end_open(&n->end[i], sim_nic_at(n->sim, i), &attr) == 0);
		FIX_REQUIRE(n, attach(n, i, 0, true) == 0);
	}
	FIX_REQUIRE(n, attach(n, 0, 1, true) == 0);
	/* The reports about joining have been sent. */
	sim_run_for(n->sim, 5 * SECOND);
	sim_set_filter(n->sim, overhear, n);
}

static void net_close(struct net *n)
{
	uint32_t i;

	for (i = 0; i < NICS; i++)
		sim_end_close(&n->end[i]);
	sim_run_for(n->sim, 5 * SECOND);
	sim_free(n->sim);
}

/* A general query of version 1 or 2 is sent to all; version 2 has the option that it requires. */
static void query(struct net *n, uint32_t version)
{
	uint8_t frame[64] = {0x01, 0x00, 0x5e, 0, 0, 1, 2, 0, 0, 0, 0, 0xfe, 8, 0};
	uint32_t head = sizeof(struct wire_ip) + (version == 2 ? WIRE_IP_ROUTER_ALERT_BYTES : 0);
	struct wire_ip ip = {
	    .version_ihl = (uint8_t)(0x40 | head / 4),
	    .total_bytes = be16_put((uint16_t)(head + sizeof(struct wire_igmp))),
	    .ttl = 1,
	    .proto = WIRE_IPPROTO_IGMP,
	};
	struct wire_igmp igmp = {.type = WIRE_IGMP_QUERY,
				 .max_resp_code = version == 2 ? RESPONSE_100MS : 0};
	uint8_t *at = frame + sizeof(struct wire_eth);
	uint32_t dst = htonl(WIRE_IGMP_ALL_SYSTEMS), src = htonl(0x0a4d00feu), i;
	struct be16 sum;

	memcpy(&ip.src, &src, sizeof(src));
	memcpy(&ip.dst, &dst, sizeof(dst));
	memcpy(at, &ip, sizeof(ip));
	if (version == 2) {
		at[sizeof(ip)] = WIRE_IP_OPTION_ROUTER_ALERT;
		at[sizeof(ip) + 1] = WIRE_IP_ROUTER_ALERT_BYTES;
	}
	sum = be16_put(wire_sum_fold(wire_sum_add(0, at, head)));
	memcpy(at + offsetof(struct wire_ip, checksum), &sum, sizeof(sum));
	igmp.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &igmp, sizeof(igmp))));
	memcpy(at + head, &igmp, sizeof(igmp));
	forget(n);
	for (i = 0; i < NICS; i++)
		sim_inject(sim_nic_at(n->sim, i), frame,
			   sizeof(struct wire_eth) + head + sizeof(igmp));
}

/* One answer for each group, from any member: two only if they crossed on the wire. */
static void version_2(void)
{
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct net n;

		net_open(&n, seed);
		query(&n, 2);
		sim_run_for(n.sim, (RESPONSE_100MS * 100 + 300) * FIX_MS);
		FIX_CHECK(&n, n.v2[0] == 1);
		FIX_CHECK(&n, n.v2[1] == 1);
		FIX_CHECK(&n, !n.v3 && !n.v1[0] && !n.v1[1]);
		/* The only member of a group leaves, then joins again. */
		FIX_CHECK(&n, attach(&n, 0, 1, false) == 0);
		sim_run_for(n.sim, 3 * SECOND);
		FIX_CHECK(&n, n.leaves[1] >= 1 && !n.leaves[0] && !n.v3);
		FIX_CHECK(&n, attach(&n, 0, 1, true) == 0);
		sim_run_for(n.sim, 25 * SECOND);
		FIX_CHECK(&n, n.v2[1] > 1 && !n.v3);
		net_close(&n);
	}
}

static void version_1(void)
{
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct net n;

		net_open(&n, seed);
		query(&n, 1);
		sim_run_for(n.sim, V1_RESPONSE_S * SECOND + 300 * FIX_MS);
		FIX_CHECK(&n, n.v1[0] == 1);
		FIX_CHECK(&n, n.v1[1] == 1);
		FIX_CHECK(&n, !n.v3 && !n.v2[0] && !n.v2[1]);
		/* Version 1 has no message for leaving. */
		FIX_CHECK(&n, attach(&n, 0, 1, false) == 0);
		sim_run_for(n.sim, 3 * SECOND);
		FIX_CHECK(&n, !n.leaves[1] && !n.v3);
		/* A version 2 query is ignored while the older router may be there. */
		query(&n, 2);
		sim_run_for(n.sim, (RESPONSE_100MS * 100 + 300) * FIX_MS);
		FIX_CHECK(&n, n.v1[0] == 1 && !n.v2[0] && !n.v3);
		net_close(&n);
	}
}

/* The old router is silent: the next report is of version 3. */
static void back_to_version_3(void)
{
	uint32_t version;

	for (version = 1; version <= 2; version++) {
		uint64_t older_ns =
		    OLDER_S * SECOND +
		    (version == 1 ? V1_RESPONSE_S * SECOND : RESPONSE_100MS * 100 * FIX_MS);
		struct net n;

		net_open(&n, version);
		query(&n, version);
		sim_run_for(n.sim, older_ns - SECOND);
		forget(&n);
		FIX_CHECK(&n, attach(&n, 1, 1, true) == 0);
		sim_run_for(n.sim, SECOND / 2);
		FIX_CHECK(&n, n.v1[1] + n.v2[1] >= 1 && !n.v3);
		sim_run_for(n.sim, 30 * SECOND);
		forget(&n);
		FIX_CHECK(&n, attach(&n, 2, 1, true) == 0);
		sim_run_for(n.sim, 5 * SECOND);
		FIX_CHECK(&n, n.v3 >= 1 && !n.v1[1] && !n.v2[1]);
		net_close(&n);
	}
}

UT_MAIN("sim/igmp", UT(version_2), UT(version_1), UT(back_to_version_3))
