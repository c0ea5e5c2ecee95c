/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers of the FPDUs of a run, and CRC32Cs, which are computed with fewer steps: the same for
 * each length of a run, tagged and untagged, with timestamps and without, first pieces and last,
 * with numbers that wrap. nic_fw/mpa/mpa_run.c.
 */
#include <string.h>

#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_run.h"
#include "tests/nic_fw/run_crc.h"
#include "tests/ut.h"

enum {
	SEGMENT = 1428,
	IP_AT = sizeof(struct wire_eth),
	TCP_AT = IP_TX_HDR_BYTES,
};

/* A form of the headers: of DDP, and of TCP. */
struct form {
	bool tagged, ts, last;
};

static uint32_t mpa_at(const struct form *form)
{
	return TCP_AT + (uint32_t)sizeof(struct wire_tcp) +
	       (form->ts ? (uint32_t)WIRE_TCP_TS_PADDED_BYTES : 0);
}

/* Makes the headers of a run of such segments. Returns their length. */
static uint32_t make(uint8_t *hdr, const struct form *form)
{
	struct wire_eth *eth = (void *)hdr;
	struct wire_ip *ip = (void *)(hdr + IP_AT);
	struct wire_tcp *tcp = (void *)(hdr + TCP_AT);
	struct wire_mpa_fpdu *fpdu = (void *)(hdr + mpa_at(form));
	struct wire_ddp_tagged *to = (void *)(fpdu + 1);
	struct wire_ddp_untagged *mo = (void *)(fpdu + 1);
	uint32_t ddp = form->tagged ? (uint32_t)sizeof(*to) : (uint32_t)sizeof(*mo);
	uint32_t end = mpa_at(form) + (uint32_t)sizeof(*fpdu) + ddp;

	for (uint32_t i = 0; i < FW_TX_HDR_BYTES; i++)
		hdr[i] = (uint8_t)(i * 11 + 3);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->proto = WIRE_IPPROTO_TCP;
	ip->total_bytes = be16_put((uint16_t)(end - IP_AT + SEGMENT + WIRE_MPA_CRC_BYTES));
	ip->id = be16_put(UINT16_MAX);
	tcp->seq = be32_put(UINT32_MAX - SEGMENT);
	tcp->data_offset = (uint8_t)((mpa_at(form) - TCP_AT) / 4 << 4);
	tcp->flags = (uint8_t)(WIRE_TCP_ACK | (form->last ? WIRE_TCP_PSH : 0));
	tcp->checksum = be16_put((uint16_t)tcp_pseudo_sum(
	    ip->src, ip->dst, be16_get(ip->total_bytes) - (uint32_t)sizeof(*ip)));
	fpdu->ulpdu_bytes = be16_put((uint16_t)(ddp + SEGMENT));
	to->ddp_ctrl =
	    (uint8_t)((form->tagged ? WIRE_DDP_TAGGED : 0) | (form->last ? WIRE_DDP_LAST : 0));
	if (form->tagged)
		to->to = be64_put(UINT64_MAX - 3 * SEGMENT);
	else
		mo->mo = be32_put(UINT32_MAX - SEGMENT);
	return end;
}

static struct form form_of(uint32_t i)
{
	return (struct form){.tagged = i & 1, .ts = i & 2, .last = i & 4};
}

static void same_crcs(void)
{
	for (uint32_t i = 0; i < 8; i++) {
		const struct form form = form_of(i);

		for (uint32_t packets = 2; packets <= FW_RUN_MAX; packets++) {
			const struct fw_run run = {.packets = packets,
						   .segment_bytes = SEGMENT,
						   .bytes = packets * SEGMENT - 76};
			uint8_t of_run[FW_TX_HDR_BYTES];
			uint32_t bytes = make(of_run, &form);

			run_crc_check(&run, of_run, bytes, mpa_at(&form));
		}
	}
}

/* Checks what differs from the headers of the first: all else is the same. */
static void check(const uint8_t *of_run, const uint8_t *hdr, const struct form *form, uint32_t i,
		  const struct fw_run *run)
{
	const bool last = i + 1 == run->packets;
	const uint32_t less = last ? run->packets * SEGMENT - run->bytes : 0;
	const struct wire_ip *first_ip = (const void *)(of_run + IP_AT);
	const struct wire_tcp *first_tcp = (const void *)(of_run + TCP_AT);
	const uint8_t *first_ddp = of_run + mpa_at(form) + 2;
	uint32_t ddp = form->tagged ? 14 : 18, total = be16_get(first_ip->total_bytes) - less;
	uint8_t want[FW_TX_HDR_BYTES];
	struct wire_ip *ip = (void *)(want + IP_AT);
	struct wire_tcp *tcp = (void *)(want + TCP_AT);
	struct be16 *length = (void *)(want + mpa_at(form));
	struct wire_ddp_tagged *to = (void *)(length + 1);
	struct wire_ddp_untagged *mo = (void *)(length + 1);

	memcpy(want, of_run, sizeof(want));
	ip->total_bytes = be16_put((uint16_t)total);
	ip->id = be16_put((uint16_t)(UINT16_MAX + i));
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	tcp->seq = be32_put(be32_get(first_tcp->seq) + i * (2 + ddp + SEGMENT + 4));
	tcp->flags = (uint8_t)(WIRE_TCP_ACK | (form->last && last ? WIRE_TCP_PSH : 0));
	tcp->checksum =
	    be16_put((uint16_t)tcp_pseudo_sum(ip->src, ip->dst, total - (uint32_t)sizeof(*ip)));
	*length = be16_put((uint16_t)(ddp + SEGMENT - less));
	to->ddp_ctrl = (uint8_t)(first_ddp[0] & ~(last ? 0 : WIRE_DDP_LAST));
	if (form->tagged)
		to->to = be64_put(UINT64_MAX - 3 * SEGMENT + (uint64_t)i * SEGMENT);
	else
		mo->mo = be32_put(UINT32_MAX - SEGMENT + i * SEGMENT);
	CU_ASSERT(memcmp(hdr, want, FW_TX_HDR_BYTES) == 0);
}

static void each_packet(void)
{
	const struct fw_run run = {
	    .packets = 5, .segment_bytes = SEGMENT, .bytes = 4 * SEGMENT + 424};

	for (uint32_t k = 0; k < 8; k++) {
		const struct form form = form_of(k);
		uint8_t of_run[FW_TX_HDR_BYTES];

		(void)make(of_run, &form);
		for (uint32_t i = 0; i < run.packets; i++) {
			uint8_t hdr[FW_TX_HDR_BYTES];

			memcpy(hdr, of_run, sizeof(hdr));
			fw_run_hdr(hdr, i, &run);
			check(of_run, hdr, &form, i, &run);
		}
	}
}

UT_MAIN("nic_fw/mpa/mpa_run", UT(same_crcs), UT(each_packet))
