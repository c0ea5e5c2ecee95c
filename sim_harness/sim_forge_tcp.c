/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged TCP segments, as a hostile NIC could send on its own connection, or an attacker between
 * two NICs.
 *
 * A forged segment is a copy of a real one and arrives before it: FPDUs with changed bytes and a
 * correct CRC32C, segments truncated anywhere, numbers, flags, windows and options close to or far
 * from the expected ones. RFC 5044 4.1, RFC 9293 3.1.
 */
#include "sim_harness/sim_int.h"

#include <string.h>

#include "nic_fw/base/crc32c.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_mpa.h"
#include "shared_defs/wire_tcp.h"

enum {
	TCP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	HEADER_BYTES = 32, /* of an FPDU or a set-up frame, where most changes are made */
	CHANGES_MAX = 3,
	NEAR = 3000,
};

/* Returns the offset of the payload; 0: not a segment. */
static uint32_t payload_at(const struct sim_pkt *pkt)
{
	struct wire_tcp tcp;
	struct wire_eth eth;
	struct wire_ip ip;
	uint32_t head_bytes, total;

	if (pkt->bytes < TCP_AT + sizeof(tcp))
		return 0;
	memcpy(&eth, pkt->data, sizeof(eth));
	memcpy(&ip, pkt->data + sizeof(eth), sizeof(ip));
	memcpy(&tcp, pkt->data + TCP_AT, sizeof(tcp));
	head_bytes = tcp.data_offset >> 4 << 2;
	total = be16_get(ip.total_bytes);
	if (be16_get(eth.type) != WIRE_ETHERTYPE_IPV4 || ip.version_ihl != WIRE_IP_VERSION_IHL ||
	    ip.proto != WIRE_IPPROTO_TCP || head_bytes < sizeof(tcp) ||
	    total < sizeof(ip) + head_bytes || total > pkt->bytes - sizeof(eth))
		return 0;
	return TCP_AT + head_bytes;
}

bool sim_is_segment(const struct sim_pkt *pkt)
{
	return payload_at(pkt) != 0;
}

/* Corrects the CRC32C of the first FPDU; markers are not supported. */
static void seal_fpdu(uint8_t *fpdu, uint32_t bytes, uint32_t ulpdu_bytes)
{
	uint32_t body = (uint32_t)(sizeof(struct wire_mpa_fpdu) + ulpdu_bytes + 3) & ~UINT32_C(3);
	struct be32 crc;

	if (body + WIRE_MPA_CRC_BYTES > bytes)
		return;
	crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, fpdu, body));
	memcpy(fpdu + body, &crc, sizeof(crc));
}

/* Sets lengths and checksums of IP and TCP. */
static void seal(struct sim_pkt *pkt)
{
	struct wire_ip *ip = (struct wire_ip *)(void *)(pkt->data + sizeof(struct wire_eth));
	struct wire_tcp *tcp = (struct wire_tcp *)(void *)(pkt->data + TCP_AT);
	uint32_t bytes = pkt->bytes - TCP_AT, sum;
	struct wire_tcp_pseudo pseudo = {.proto = WIRE_IPPROTO_TCP,
					 .bytes = be16_put((uint16_t)bytes)};

	ip->total_bytes = be16_put((uint16_t)(sizeof(*ip) + bytes));
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	memcpy(&pseudo.src, &ip->src, sizeof(pseudo.src));
	memcpy(&pseudo.dst, &ip->dst, sizeof(pseudo.dst));
	tcp->checksum = be16_put(0);
	sum = wire_sum_add(wire_sum_add(0, &pseudo, sizeof(pseudo)), tcp, bytes);
	tcp->checksum = be16_put(wire_sum_fold(sum));
}

static void change_payload(struct sim_prng *prng, uint8_t *payload, uint32_t bytes)
{
	static const uint8_t extremes[] = {0x00, 0xff, 0x7f, 0x80, 0x01, 0x40};
	bool first = sim_prng_below(prng, 4) != 0;
	struct wire_mpa_fpdu fpdu = {be16_put(0)};
	uint32_t n, was;

	if (bytes >= sizeof(fpdu))
		memcpy(&fpdu, payload, sizeof(fpdu));
	was = be16_get(fpdu.ulpdu_bytes);
	for (n = (uint32_t)sim_prng_range(prng, 1, CHANGES_MAX); n; n--) {
		uint32_t span = first && bytes > HEADER_BYTES ? HEADER_BYTES : bytes;
		uint8_t *at = payload + sim_prng_below(prng, span);

		if (sim_prng_below(prng, 2))
			*at = extremes[sim_prng_below(prng, sizeof(extremes))];
		else
			*at = (uint8_t)sim_prng_next(prng);
	}
	if (sim_prng_below(prng, 8))
		seal_fpdu(payload, bytes, was);
}

static uint32_t shifted(struct sim_prng *prng, uint32_t number)
{
	switch (sim_prng_below(prng, 3)) {
	case 0:
		return number + (uint32_t)sim_prng_range(prng, 1, NEAR);
	case 1:
		return number - (uint32_t)sim_prng_range(prng, 1, NEAR);
	default:
		return (uint32_t)sim_prng_next(prng);
	}
}

static void change_header(struct sim_prng *prng, struct sim_pkt *pkt, uint32_t head_bytes)
{
	static const uint8_t flags[] = {
	    WIRE_TCP_RST,
	    WIRE_TCP_RST | WIRE_TCP_ACK,
	    WIRE_TCP_FIN | WIRE_TCP_ACK,
	    WIRE_TCP_SYN,
	    WIRE_TCP_SYN | WIRE_TCP_ACK,
	    0,
	    WIRE_TCP_URG | WIRE_TCP_ACK | WIRE_TCP_PSH,
	    WIRE_TCP_ECE | WIRE_TCP_CWR | WIRE_TCP_ACK,
	};
	struct wire_tcp *tcp = (struct wire_tcp *)(void *)(pkt->data + TCP_AT);
	uint8_t value;

	switch (sim_prng_below(prng, 6)) {
	case 0:
	case 1:
		tcp->flags = flags[sim_prng_below(prng, sizeof(flags))];
		break;
	case 2:
		tcp->seq = be32_put(shifted(prng, be32_get(tcp->seq)));
		break;
	case 3:
		tcp->ack = be32_put(shifted(prng, be32_get(tcp->ack)));
		break;
	case 4:
		tcp->window = be16_put((uint16_t)(sim_prng_below(prng, 2) ? 0 : 0xffff));
		break;
	default:
		value = (uint8_t)sim_prng_next(prng);
		if (head_bytes > sizeof(*tcp))
			pkt->data[TCP_AT + sizeof(*tcp) +
				  sim_prng_below(prng, head_bytes - sizeof(*tcp))] = value;
		else
			tcp->data_offset = value;
		break;
	}
}

struct sim_pkt *sim_forge_segment(struct sim *sim, struct sim_prng *prng, const struct sim_pkt *pkt)
{
	uint32_t at = payload_at(pkt),
		 bytes = be16_get(((const struct wire_ip *)(const void *)(pkt->data +
									  sizeof(struct wire_eth)))
				      ->total_bytes) +
			 (uint32_t)sizeof(struct wire_eth);
	struct sim_pkt *twin;

	if (bytes > at && !sim_prng_below(prng, 6))
		bytes = at + (uint32_t)sim_prng_below(prng, bytes - at + 1);
	twin = sim_pkt_new(sim, pkt->data, bytes);
	if (bytes > at && sim_prng_below(prng, 4))
		change_payload(prng, twin->data + at, bytes - at);
	if (bytes == at || !sim_prng_below(prng, 3))
		change_header(prng, twin, at - TCP_AT);
	if (sim_prng_below(prng, 16))
		seal(twin);
	return twin;
}
