/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fw_steer(): ports of UDP and of EDP to shards, frames for all shards, and frames cut anywhere.
 */
#include <stdlib.h>

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

static uint8_t frame[128];

static struct wire_ip *ip_hdr(void)
{
	return (struct wire_ip *)(frame + sizeof(struct wire_eth));
}

/* A datagram to a port, with so many bytes of IPv4 options. Returns its length. */
static uint32_t datagram(uint16_t port, uint32_t option_bytes)
{
	struct wire_eth *eth = (struct wire_eth *)frame;
	struct wire_ip *ip = ip_hdr();
	struct wire_udp *udp;

	memset(frame, 0, sizeof(frame));
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = (uint8_t)(0x45 + option_bytes / 4);
	ip->frag = be16_put(WIRE_IP_DF);
	ip->proto = WIRE_IPPROTO_UDP;
	ip->dst = be32_put(0x0a4d0001);
	udp = (struct wire_udp *)((uint8_t *)(ip + 1) + option_bytes);
	udp->dst_port = be16_put(port);
	return (uint32_t)(sizeof(*eth) + sizeof(*ip) + option_bytes + sizeof(*udp));
}

static void port_names_shard(void)
{
	uint32_t shard;
	bool all = true;

	for (shard = 0; shard < 8; shard++) {
		uint32_t n = datagram((uint16_t)(WIRE_DGRAM_PORT + shard), 0);

		CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), shard);
		CU_ASSERT_FALSE(all);
		/* A shard that this NIC does not have. */
		CU_ASSERT_EQUAL(fw_steer(frame, n, 2, NULL, &all), shard < 2 ? shard : 0);
	}
	CU_ASSERT_EQUAL(fw_steer(frame, datagram(WIRE_DGRAM_PORT - 1, 0), 8, NULL, &all), 0);
	CU_ASSERT_EQUAL(fw_steer(frame, datagram(WIRE_DGRAM_PORT + 8, 0), 8, NULL, &all), 0);
}

/* EDP: 4,096 ports for each shard from 0x4000 on; all others go to shard 0. */
static void edp_port_names_shard(void)
{
	struct wire_eth *eth = (struct wire_eth *)frame;
	struct wire_edp *edp = (struct wire_edp *)(eth + 1);
	uint32_t n = sizeof(*eth) + sizeof(*edp), port;
	bool all = true;

	memset(frame, 0, sizeof(frame));
	/* Bytes at the place of the IPv4 header are ignored in a frame of another type. */
	memset(edp, 0xe0, sizeof(*edp));
	eth->type = be16_put(WIRE_ETHERTYPE_ESP);
	for (port = 0; port <= UINT16_MAX; port++) {
		uint32_t shard = port < 0x4000 || port >= 0xc000 ? 0 : port / 0x1000 - 4;

		edp->dst_port = be16_put((uint16_t)port);
		CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), shard);
		CU_ASSERT_EQUAL(fw_steer(frame, n, 3, NULL, &all), shard < 3 ? shard : 0);
	}
	CU_ASSERT_FALSE(all);
	edp->dst_port = be16_put(0x5000);
	CU_ASSERT_EQUAL(fw_steer(frame, n - 1, 8, NULL, &all), 0);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 1);
}

static void options_are_skipped(void)
{
	bool all;

	CU_ASSERT_EQUAL(fw_steer(frame, datagram(WIRE_DGRAM_PORT + 5, 40), 8, NULL, &all), 5);
	CU_ASSERT_EQUAL(fw_steer(frame, datagram(WIRE_DGRAM_PORT + 5, 4), 8, NULL, &all), 5);
}

static void others_go_to_shard_0(void)
{
	uint32_t n = datagram(WIRE_DGRAM_PORT + 3, 0);
	bool all;

	ip_hdr()->proto = WIRE_IPPROTO_ICMP;
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	n = datagram(WIRE_DGRAM_PORT + 3, 0);
	ip_hdr()->frag = be16_put(WIRE_IP_MF);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	ip_hdr()->frag = be16_put(1);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	n = datagram(WIRE_DGRAM_PORT + 3, 0);
	ip_hdr()->version_ihl = 0x65;
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	ip_hdr()->version_ihl = 0x44;
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	((struct wire_eth *)frame)->type = be16_put(WIRE_ETHERTYPE_IPV6);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	CU_ASSERT_FALSE(all);
}

/* Bits 20 to 22 of the port words (after the four spaces) say which shard owns a TCP port. */
static void tcp_goes_where_its_port_is(void)
{
	static uint32_t ports[FW_CM_PORT_WORDS];
	struct wire_icmp_echo *icmp = (void *)(ip_hdr() + 1);
	uint32_t n, at;
	bool all;

	for (at = 0; at < 4; at++)
		ports[at << 16 | 4791] = ~0u;
	ports[4u << 16 | 4791] = 5u << 20 | 1;
	ports[4u << 16 | 4792] = 6u << 20; /* no longer in use */
	n = datagram(4791, 0);
	ip_hdr()->proto = WIRE_IPPROTO_TCP;
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, ports, &all), 5);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 5, ports, &all), 0);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 1, ports, &all), 0);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	/* The first four bytes are enough; a frame may end anywhere. */
	CU_ASSERT_EQUAL(fw_steer(frame, IP_TX_HDR_BYTES + 4, 8, ports, &all), 5);
	CU_ASSERT_EQUAL(fw_steer(frame, IP_TX_HDR_BYTES + 3, 8, ports, &all), 0);
	n = datagram(4792, 8);
	ip_hdr()->proto = WIRE_IPPROTO_TCP;
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, ports, &all), 6);
	ip_hdr()->frag = be16_put(1);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, ports, &all), 0);
	/* An ICMP error goes to the shard that sent the quoted segment. */
	n = datagram(0, 0);
	ip_hdr()->proto = WIRE_IPPROTO_ICMP;
	memset(icmp, 0, sizeof(*icmp));
	icmp->type = WIRE_ICMP_UNREACHABLE;
	*(struct wire_ip *)(icmp + 1) =
	    (struct wire_ip){.version_ihl = WIRE_IP_VERSION_IHL, .proto = WIRE_IPPROTO_TCP};
	*(struct be16 *)((struct wire_ip *)(icmp + 1) + 1) = be16_put(4791);
	n = IP_TX_HDR_BYTES + sizeof(*icmp) + sizeof(struct wire_ip) + 8;
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, ports, &all), 5);
	for (at = IP_TX_HDR_BYTES; at < n - 4; at++)
		(void)fw_steer(frame, at, 8, ports, &all);
	CU_ASSERT_EQUAL(fw_steer(frame, n - 5, 8, ports, &all), 0);
	icmp->type = WIRE_ICMP_ECHO;
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, ports, &all), 0);
	CU_ASSERT_FALSE(all);
}

static void every_shard_sees_arp_and_multicast(void)
{
	uint32_t n = datagram(WIRE_DGRAM_PORT + 3, 0);
	bool all = false;

	ip_hdr()->dst = be32_put(0xe0000001);
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	CU_ASSERT_TRUE(all);
	ip_hdr()->dst = be32_put(0x0a4d0001);
	ip_hdr()->proto = WIRE_IPPROTO_IGMP; /* a query may come to the NIC's own address */
	CU_ASSERT_EQUAL(fw_steer(frame, n, 8, NULL, &all), 0);
	CU_ASSERT_TRUE(all);
	((struct wire_eth *)frame)->type = be16_put(WIRE_ETHERTYPE_ARP);
	CU_ASSERT_EQUAL(fw_steer(frame, 42, 8, NULL, &all), 0);
	CU_ASSERT_TRUE(all);
	CU_ASSERT_EQUAL(fw_steer(frame, 42, 1, NULL, &all), 0);
	CU_ASSERT_FALSE(all);
}

/* Copies of the exact length, so that the sanitizer reports a byte read beyond. */
static void cut_anywhere(void)
{
	uint32_t whole = datagram(WIRE_DGRAM_PORT + 6, 12), n;
	bool all;

	for (n = 0; n <= whole; n++) {
		uint8_t *copy = malloc(n ? n : 1);

		CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
		memcpy(copy, frame, n);
		CU_ASSERT_EQUAL(fw_steer(copy, n, 8, NULL, &all), n < whole ? 0 : 6);
		free(copy);
	}
}

UT_MAIN("nic_fw/net/steer", UT(port_names_shard), UT(edp_port_names_shard), UT(options_are_skipped),
	UT(others_go_to_shard_0), UT(tcp_goes_where_its_port_is),
	UT(every_shard_sees_arp_and_multicast), UT(cut_anywhere))
