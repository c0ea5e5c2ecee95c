/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram-iWARP, receiving: checks weft's header and the CRC32C, parses, and dispatches.
 *
 * Calls ud_rx(), uc_rx(), rd_rx(), cm_rd_rx(), rd_hello_rx(). Each of them calls dgram_parse_ddp(),
 * because each reacts differently to a malformed segment. All headers lie in the first segment of a
 * frame (FW_RX_HDR_BYTES), payload anywhere. shared_defs/wire_dgram.h, RFC 5041 4, RFC 5040 4,
 * docs/wire-format.md.
 */
#include "nic_fw/fw_nic.h"

/* Bytes of headers in a frame: at least, or (exact) exactly. */
struct type_bytes {
	uint32_t least;
	bool exact;
	uint8_t flags; /* allowed */
};

static const struct type_bytes type_bytes[WIRE_DGRAM_TYPES] = {
    [WIRE_DGRAM_UD] = {sizeof(struct wire_dgram) + 2, false,
		       WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED | WIRE_DGRAM_F_RECORD},
    [WIRE_DGRAM_RD] = {sizeof(struct wire_dgram) + sizeof(struct wire_rd), false,
		       WIRE_DGRAM_F_ALL & ~WIRE_DGRAM_F_RECORD},
    [WIRE_DGRAM_RD_ACK] = {sizeof(struct wire_dgram) + sizeof(struct wire_rd) +
			       sizeof(struct wire_rd_ack),
			   true, WIRE_DGRAM_F_ACK | WIRE_DGRAM_F_ECE | WIRE_DGRAM_F_MORE},
    [WIRE_DGRAM_RD_HELLO] = {sizeof(struct wire_dgram) + sizeof(struct wire_rd_hello), false, 0},
    [WIRE_DGRAM_RD_PROBE] = {sizeof(struct wire_dgram) + sizeof(struct wire_rd), true,
			     WIRE_DGRAM_F_ACK | WIRE_DGRAM_F_ECE | WIRE_DGRAM_F_MORE},
    [WIRE_DGRAM_CM] = {sizeof(struct wire_dgram) + sizeof(struct wire_cm), false, 0},
    [WIRE_DGRAM_UC] = {sizeof(struct wire_dgram) + 2, false,
		       WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED},
    [WIRE_DGRAM_RD_BUNDLE] = {sizeof(struct wire_dgram) + sizeof(struct wire_rd), false,
			      WIRE_DGRAM_F_RESPONSE | WIRE_DGRAM_F_ACK | WIRE_DGRAM_F_ECE |
				  WIRE_DGRAM_F_MORE},
};

static void parse_header(const struct wire_dgram *hdr, struct rdmap_seg *pkt)
{
	pkt->flags = hdr->flags;
	pkt->incarnation = be16_get(hdr->incarnation);
	pkt->dst_qpn = be32_get(hdr->dst_qpn);
	pkt->src_qpn = be32_get(hdr->src_qpn);
	pkt->qkey = be32_get(hdr->qkey);
	memcpy(&pkt->imm, &hdr->imm, sizeof(pkt->imm));
	pkt->msg_bytes = be32_get(hdr->msg_bytes);
	pkt->ssn = be32_get(hdr->ssn);
}

/* Checks that the header fits its type and the length of the datagram. */
static bool dgram_check_type(struct fw_nic *nic, const struct rdmap_seg *pkt, uint32_t bytes)
{
	uint8_t type = pkt->hdr->type;
	const struct type_bytes *t;

	if (type >= WIRE_DGRAM_TYPES || !type_bytes[type].least) {
		FW_DROP(nic, drop_dgram_type);
		return false;
	}
	t = &type_bytes[type];
	if (bytes < t->least || (t->exact && bytes > t->least)) {
		FW_DROP(nic, drop_dgram_short);
		return false;
	}
	if ((pkt->flags & ~t->flags) != 0 || (pkt->dst_qpn | pkt->src_qpn) >> 24 != 0 ||
	    (t->exact && (pkt->dst_qpn | pkt->src_qpn) != 0)) {
		FW_DROP(nic, drop_dgram_type);
		return false;
	}
	return true;
}

static void dispatch_rd(struct fw_nic *nic, struct rdmap_seg *pkt, const uint8_t *rest)
{
	const struct wire_rd *rd = (const struct wire_rd *)rest;
	const struct wire_rd_ack *ack = (const struct wire_rd_ack *)(rest + sizeof(*rd));

	if (pkt->hdr->type == WIRE_DGRAM_RD_ACK && be32_get(ack->reserved) != 0) {
		FW_DROP(nic, drop_rd_malformed);
		return;
	}
	pkt->data_offset += (uint32_t)sizeof(*rd);
	pkt->data_bytes -= (uint32_t)sizeof(*rd);
	(void)fw_stage_enter(nic, FW_STAGE_RD_RX);
	rd_rx(nic, pkt, rd);
}

static void dispatch_hello(struct fw_nic *nic, const struct rdmap_seg *pkt, const uint8_t *rest)
{
	const struct wire_rd_hello *hello = (const struct wire_rd_hello *)rest;

	uint32_t key_bytes = be16_get(hello->key_bytes);

	if (pkt->data_bytes != sizeof(*hello) + key_bytes || key_bytes > WIRE_RD_HELLO_KEY_MAX) {
		FW_DROP(nic, drop_dgram_short);
		return;
	}
	if (pkt->dst_qpn || pkt->src_qpn) {
		FW_DROP(nic, drop_dgram_type);
		return;
	}
	if (hello->reserved || (hello->flags & ~WIRE_RD_HELLO_ALL) != 0 ||
	    be32_get(hello->reserved2) || key_bytes % 4 ||
	    (be16_get(hello->key_type) == WIRE_RD_KEY_NONE && key_bytes)) {
		FW_DROP(nic, drop_rd_malformed);
		return;
	}
	rd_hello_rx(nic, pkt, hello);
}

/*
 * Checks the CRC32C of a datagram of bytes at offset. It covers the UDP header with checksum 0: a
 * kernel or a device on the way may fill the checksum in.
 */
static bool dgram_crc_ok(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t offset,
			 uint32_t bytes)
{
	struct wire_udp udp;

	offset -= (uint32_t)sizeof(udp);
	memcpy(&udp, frame->seg[0].data + offset, sizeof(udp));
	if (__builtin_expect(!be16_get(udp.checksum), 1))
		return eth_crc32c_ok(nic, frame, offset, bytes + (uint32_t)sizeof(udp));
	udp.checksum = be16_put(0);
	return eth_crc32c_ok_from(nic, nic->port.crc32c(FW_CRC32C_INIT, &udp, sizeof(udp)), frame,
				  offset + (uint32_t)sizeof(udp), bytes);
}

/* True if the datagram, or each packet of the run, is right; else it is dropped, or declined. */
static bool dgram_check_crc(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t offset,
			    uint32_t bytes)
{
	if (__builtin_expect(frame->run > 1, 0)) {
		if (eth_run_crc_ok(nic, frame))
			return true;
		eth_run_decline(nic);
		return false;
	}
	if (dgram_crc_ok(nic, frame, offset, bytes))
		return true;
	FW_DROP(nic, drop_dgram_crc);
	return false;
}

void dgram_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info,
	      uint8_t src_shard, uint32_t offset, uint32_t bytes)
{
	const struct wire_dgram *hdr;
	struct rdmap_seg pkt = {0};
	struct dgram_hdr own = {0};

	if (bytes < sizeof(*hdr) + WIRE_DGRAM_CRC_BYTES ||
	    frame->seg[0].bytes < offset + sizeof(*hdr)) {
		FW_DROP(nic, drop_dgram_short);
		return;
	}
	hdr = (const struct wire_dgram *)(frame->seg[0].data + offset);
	if (hdr->ver_type >> 4 != WIRE_DGRAM_VERSION) {
		FW_DROP(nic, drop_dgram_version);
		return;
	}
	if (__builtin_expect(frame->run > 1, 0) && (hdr->ver_type & 0x0f) != WIRE_DGRAM_RD) {
		eth_run_decline(nic);
		return;
	}
	/* The CRC32C has not been checked yet, so the number only selects a prefetch. */
	own.qp = qp_find(nic, be32_get(hdr->dst_qpn));
	if (own.qp)
		rq_prefetch(nic, own.qp);
	if (!(frame->flags & FW_RX_CRC_OK) && !dgram_check_crc(nic, frame, offset, bytes))
		return;
	bytes -= WIRE_DGRAM_CRC_BYTES;
	own.type = hdr->ver_type & 0x0f;
	pkt.hdr = &own;
	parse_header(hdr, &pkt);
	if (!dgram_check_type(nic, &pkt, bytes))
		return;
	if (frame->seg[0].bytes < offset + type_bytes[own.type].least) {
		FW_DROP(nic, drop_dgram_short);
		return;
	}
	pkt.frame = frame;
	own.ip = info->ip;
	pkt.src_ip = info->src_ip;
	own.group = info->group;
	if (own.group && own.type != WIRE_DGRAM_UD) {
		FW_DROP(nic, drop_dgram_type);
		return;
	}
	pkt.src_shard = src_shard;
	own.ce = info->ce;
	pkt.data_offset = offset + (uint32_t)sizeof(*hdr);
	pkt.data_bytes = bytes - (uint32_t)sizeof(*hdr);
	switch ((enum wire_dgram_type)own.type) {
	case WIRE_DGRAM_UD:
		(void)fw_stage_enter(nic, FW_STAGE_UD_RX);
		ud_rx(nic, &pkt);
		break;
	case WIRE_DGRAM_UC:
		(void)fw_stage_enter(nic, FW_STAGE_UD_RX);
		uc_rx(nic, &pkt);
		break;
	case WIRE_DGRAM_RD:
	case WIRE_DGRAM_RD_ACK:
	case WIRE_DGRAM_RD_PROBE:
	case WIRE_DGRAM_RD_BUNDLE:
		dispatch_rd(nic, &pkt, (const uint8_t *)(hdr + 1));
		break;
	case WIRE_DGRAM_RD_HELLO:
		dispatch_hello(nic, &pkt, (const uint8_t *)(hdr + 1));
		break;
	case WIRE_DGRAM_CM:
		dgram_up.cm(nic, &pkt);
		break;
	case WIRE_DGRAM_TYPES:
		break;
	}
}

bool dgram_parse_ddp(struct rdmap_seg *pkt)
{
	bool uc = pkt->hdr->type == WIRE_DGRAM_UC;
	struct rdmap_error error;
	struct be32 offset;

	/* Segments of a Write-Record and of UC carry their offset in the message. */
	memcpy(&offset, &pkt->imm, sizeof(offset));
	pkt->tagged_mo = uc || (pkt->flags & WIRE_DGRAM_F_RECORD);
	pkt->mo = uc ? pkt->qkey : be32_get(offset);
	return ddp_parse(pkt, DDP_WEFT, &error) == RDMAP_OK;
}

uint32_t dgram_segment_bytes(uint32_t mtu, bool rd)
{
	uint32_t overhead = (rd ? (uint32_t)DGRAM_RD_OVERHEAD : (uint32_t)DGRAM_UD_OVERHEAD) +
			    (uint32_t)sizeof(struct wire_ddp_untagged);

	assert(mtu >= HW_MIN_MTU);
	return (mtu - overhead) & ~7u;
}
