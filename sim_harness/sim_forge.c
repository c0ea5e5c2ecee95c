/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged frames, as an attacker on the wire who knows the format could send.
 *
 * A forged frame is a copy of a real weft datagram with changed fields or a truncated end, and with
 * correct lengths, checksum and CRC32C. Unlike a corrupted frame it reaches the parsers after the
 * CRC check. Some of them, and ARP requests in the name of others, have a third station's MAC.
 * Calls sim_forge_tcp.c. docs/wire-format.md.
 */
#include "sim_harness/sim_int.h"

#include <string.h>

#include "nic_fw/base/crc32c.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	UDP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	DGRAM_AT = UDP_AT + sizeof(struct wire_udp),
	HEADER_BYTES = 100, /* range of the headers, where most changes are made */
	CHANGES_MAX = 3,
};

static bool is_dgram(const struct sim_pkt *pkt)
{
	struct wire_eth eth;
	struct wire_ip ip;
	struct wire_udp udp;

	if (pkt->bytes < DGRAM_AT + sizeof(struct wire_dgram) + WIRE_DGRAM_CRC_BYTES)
		return false;
	memcpy(&eth, pkt->data, sizeof(eth));
	memcpy(&ip, pkt->data + sizeof(eth), sizeof(ip));
	memcpy(&udp, pkt->data + UDP_AT, sizeof(udp));
	return be16_get(eth.type) == WIRE_ETHERTYPE_IPV4 && ip.version_ihl == WIRE_IP_VERSION_IHL &&
	       ip.proto == WIRE_IPPROTO_UDP &&
	       (uint32_t)be16_get(udp.dst_port) - WIRE_DGRAM_PORT < WIRE_DGRAM_SHARDS &&
	       be16_get(udp.bytes) <= pkt->bytes - UDP_AT &&
	       be16_get(udp.bytes) >=
		   sizeof(udp) + sizeof(struct wire_dgram) + WIRE_DGRAM_CRC_BYTES;
}

/* Changes a byte to a nearby, an extreme or a random value. */
static void change(struct sim_prng *prng, uint8_t *byte)
{
	static const uint8_t extremes[] = {0x00, 0xff, 0x7f, 0x80};

	switch (sim_prng_below(prng, 4)) {
	case 0:
		*byte = (uint8_t)(*byte + 1);
		break;
	case 1:
		*byte = (uint8_t)(*byte - 1);
		break;
	case 2:
		*byte = extremes[sim_prng_below(prng, sizeof(extremes))];
		break;
	default:
		*byte = (uint8_t)sim_prng_next(prng);
		break;
	}
}

/* Sets the UDP and IP lengths, the header checksum, and the CRC32C over all of UDP. */
static void seal(struct sim_pkt *pkt, uint32_t udp_bytes)
{
	struct wire_ip *ip = (struct wire_ip *)(void *)(pkt->data + sizeof(struct wire_eth));
	struct wire_udp *udp = (struct wire_udp *)(void *)(pkt->data + UDP_AT);
	uint32_t crc;
	struct be32 wire;

	ip->total_bytes = be16_put((uint16_t)(sizeof(*ip) + udp_bytes));
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	udp->bytes = be16_put((uint16_t)udp_bytes);
	crc = fw_crc32c(FW_CRC32C_INIT, pkt->data + UDP_AT, udp_bytes - WIRE_DGRAM_CRC_BYTES);
	wire = fw_crc32c_wire(crc);
	memcpy(pkt->data + UDP_AT + udp_bytes - WIRE_DGRAM_CRC_BYTES, &wire, sizeof(wire));
}

/* Sets lengths, flags or addresses of IP or UDP that contradict the frame. */
static void lie(struct sim_prng *prng, struct sim_pkt *pkt)
{
	struct wire_ip *ip = (struct wire_ip *)(void *)(pkt->data + sizeof(struct wire_eth));
	struct wire_udp *udp = (struct wire_udp *)(void *)(pkt->data + UDP_AT);
	uint16_t more = (uint16_t)sim_prng_range(prng, 1, 2 + sim_prng_below(prng, 64));

	switch (sim_prng_below(prng, 3)) {
	case 0:
		ip->total_bytes = be16_put((uint16_t)(be16_get(ip->total_bytes) + more));
		udp->bytes = be16_put((uint16_t)(be16_get(udp->bytes) + more));
		break;
	case 1:
		udp->bytes = be16_put((uint16_t)(be16_get(udp->bytes) + more));
		break;
	default:
		change(prng,
		       pkt->data + sim_prng_range(prng, sizeof(struct wire_eth), DGRAM_AT - 1));
		break;
	}
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
}

/* MAC of a third station, which no NIC has. */
const uint8_t sim_forger_mac[6] = {0x02, 0x66, 0x6f, 0x72, 0x67, 0x65};

/* Builds an ARP request in a station's name with the forger's MAC. */
static struct sim_pkt *forge_arp(struct sim *sim, const struct sim_pkt *pkt)
{
	struct sim_pkt *twin;
	struct wire_arp *arp;
	struct wire_eth eth;

	if (pkt->bytes < sizeof(eth) + sizeof(*arp))
		return NULL;
	memcpy(&eth, pkt->data, sizeof(eth));
	arp = (struct wire_arp *)(void *)(pkt->data + sizeof(eth));
	if (be16_get(eth.type) != WIRE_ETHERTYPE_ARP || be16_get(arp->op) != WIRE_ARP_REQUEST)
		return NULL;
	twin = sim_pkt_new(sim, pkt->data, pkt->bytes);
	arp = (struct wire_arp *)(void *)(twin->data + sizeof(eth));
	memcpy(twin->data + sizeof(eth.dst), sim_forger_mac, sizeof(sim_forger_mac));
	memcpy(arp->sender_mac, sim_forger_mac, sizeof(sim_forger_mac));
	return twin;
}

/* Draws the length of a truncated frame: random, or near the end of a header. */
static uint32_t cut(struct sim_prng *prng, uint32_t least, uint32_t udp_bytes)
{
	uint32_t low = sizeof(struct wire_udp) + sizeof(struct wire_dgram);
	uint32_t high = low + sizeof(struct wire_rd) + sizeof(struct wire_rd_ack) + 8;

	if (sim_prng_below(prng, 2) && udp_bytes > high)
		return (uint32_t)sim_prng_range(prng, low, high);
	return (uint32_t)sim_prng_range(prng, least, udp_bytes);
}

struct sim_pkt *sim_forge(struct sim *sim, struct sim_prng *prng, const struct sim_pkt *pkt)
{
	uint32_t least = sizeof(struct wire_udp) + WIRE_DGRAM_CRC_BYTES, udp_bytes, body, n;
	struct wire_udp udp;
	struct sim_pkt *twin;

	if (sim_is_segment(pkt))
		return sim_forge_segment(sim, prng, pkt);
	if (!is_dgram(pkt))
		return forge_arp(sim, pkt);
	memcpy(&udp, pkt->data + UDP_AT, sizeof(udp));
	udp_bytes = be16_get(udp.bytes);
	if (!sim_prng_below(prng, 8))
		udp_bytes = cut(prng, least, udp_bytes);
	/* Allocated with its exact length, so that a sanitizer detects overreads. */
	twin = sim_pkt_new(sim, pkt->data, UDP_AT + udp_bytes);
	body = udp_bytes - least;
	for (n = (uint32_t)sim_prng_range(prng, 1, CHANGES_MAX); n && body; n--) {
		uint32_t span =
		    sim_prng_below(prng, 4) && body > HEADER_BYTES ? HEADER_BYTES : body;

		change(prng, twin->data + DGRAM_AT + sim_prng_below(prng, span));
	}
	seal(twin, udp_bytes);
	if (!sim_prng_below(prng, 4))
		lie(prng, twin);
	/* Some come from another address, where responses are expected. */
	if (!sim_prng_below(prng, 4))
		memcpy(twin->data + sizeof(((struct wire_eth *)0)->dst), sim_forger_mac,
		       sizeof(sim_forger_mac));
	return twin;
}
