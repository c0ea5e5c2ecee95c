/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram-iWARP, receiving: checks weft's header and the CRC32C, parses, hands on.
 *
 * Called by udp.c; calls ud_rx(), uc_rx(), rd_rx(), cm_rd_rx(), rd_hello_rx().
 * dgram_parse_ddp() is for these, who know what a malformed segment means to them. All headers lie
 * in the first segment of a frame (FW_RX_HDR_BYTES), payload anywhere. shared_defs/wire_dgram.h,
 * RFC 5041 4, RFC 5040 4, docs/wire-format.md.
 */
#include "nic_fw/fw_nic.h"

/* Headers that a frame holds at least, and at most for the types of one length. */
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
};

static void parse_header(const struct wire_dgram *hdr, struct dgram_pkt *pkt)
{
	pkt->type = hdr->ver_type & 0x0f;
	pkt->flags = hdr->flags;
	pkt->incarnation = be16_get(hdr->incarnation);
	pkt->dst_qpn = be32_get(hdr->dst_qpn);
	pkt->src_qpn = be32_get(hdr->src_qpn);
	pkt->qkey = be32_get(hdr->qkey);
	memcpy(&pkt->imm, &hdr->imm, sizeof(pkt->imm));
	pkt->msg_bytes = be32_get(hdr->msg_bytes);
	pkt->ssn = be32_get(hdr->ssn);
}

/* What the header says fits its type and the length of the datagram. */
static bool check_type(struct fw_nic *nic, const struct dgram_pkt *pkt, uint32_t bytes)
{
	const struct type_bytes *t;

	if (pkt->type >= WIRE_DGRAM_TYPES || !type_bytes[pkt->type].least) {
		FW_DROP(nic, drop_dgram_type);
		return false;
	}
	t = &type_bytes[pkt->type];
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

static void dispatch_rd(struct fw_nic *nic, struct dgram_pkt *pkt, const uint8_t *rest)
{
	const struct wire_rd *rd = (const struct wire_rd *)rest;
	const struct wire_rd_ack *ack = (const struct wire_rd_ack *)(rest + sizeof(*rd));

	if (pkt->type == WIRE_DGRAM_RD_ACK && be32_get(ack->reserved) != 0) {
		FW_DROP(nic, drop_rd_malformed);
		return;
	}
	pkt->data_offset += (uint32_t)sizeof(*rd);
	pkt->data_bytes -= (uint32_t)sizeof(*rd);
	(void)fw_stage_enter(nic, FW_STAGE_RD_RX);
	rd_rx(nic, pkt, rd);
}

static void dispatch_hello(struct fw_nic *nic, const struct dgram_pkt *pkt, const uint8_t *rest)
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

/* A number that the CRC32C has not vouched for yet: it decides about nothing here. */
static void prefetch_receive(struct fw_nic *nic, uint32_t qpn)
{
	const struct fw_qp *qp = qp_find(nic, qpn);

	if (qp)
		rq_prefetch(nic, qp);
}

void dgram_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info,
	      uint8_t src_shard, uint32_t offset, uint32_t bytes)
{
	const struct wire_dgram *hdr;
	struct dgram_pkt pkt = {0};

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
	prefetch_receive(nic, be32_get(hdr->dst_qpn));
	if (!(frame->flags & FW_RX_CRC_OK) &&
	    !eth_crc32c_ok(nic, frame, offset - (uint32_t)sizeof(struct wire_udp),
			   bytes + (uint32_t)sizeof(struct wire_udp))) {
		FW_DROP(nic, drop_dgram_crc);
		return;
	}
	bytes -= WIRE_DGRAM_CRC_BYTES;
	parse_header(hdr, &pkt);
	if (!check_type(nic, &pkt, bytes))
		return;
	if (frame->seg[0].bytes < offset + type_bytes[pkt.type].least) {
		FW_DROP(nic, drop_dgram_short);
		return;
	}
	pkt.frame = frame;
	pkt.ip = info->ip;
	pkt.src_ip = info->src_ip;
	pkt.group = info->group;
	if (pkt.group && pkt.type != WIRE_DGRAM_UD) {
		FW_DROP(nic, drop_dgram_type);
		return;
	}
	pkt.src_shard = src_shard;
	pkt.ce = info->ce;
	pkt.data_offset = offset + (uint32_t)sizeof(*hdr);
	pkt.data_bytes = bytes - (uint32_t)sizeof(*hdr);
	switch ((enum wire_dgram_type)pkt.type) {
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

enum {
	OP_TAGGED = 0xff, /* in place of a queue number */
	OP_NONE = 0xfe,
};

/* Which queue each opcode travels on: RFC 5040 figure 4, RFC 7306 figure 3. */
static const uint8_t opcode_queue[WIRE_RDMAP_OPCODE_MASK + 1] = {
    [WIRE_RDMAP_WRITE] = OP_TAGGED,
    [WIRE_RDMAP_READ_REQUEST] = WIRE_QN_READ_REQUEST,
    [WIRE_RDMAP_READ_RESPONSE] = OP_TAGGED,
    [WIRE_RDMAP_SEND] = WIRE_QN_SEND,
    [WIRE_RDMAP_SEND_INVALIDATE] = WIRE_QN_SEND,
    [WIRE_RDMAP_SEND_SE] = WIRE_QN_SEND,
    [WIRE_RDMAP_SEND_SE_INVALIDATE] = WIRE_QN_SEND,
    [WIRE_RDMAP_TERMINATE] = WIRE_QN_TERMINATE,
    [WIRE_RDMAP_IMMEDIATE] = WIRE_QN_SEND,
    [WIRE_RDMAP_IMMEDIATE_SE] = WIRE_QN_SEND,
    [WIRE_RDMAP_ATOMIC_REQUEST] = WIRE_QN_READ_REQUEST,
    [WIRE_RDMAP_ATOMIC_RESPONSE] = WIRE_QN_ATOMIC_RESPONSE,
    [0xc] = OP_NONE,
    [0xd] = OP_NONE,
    [0xe] = OP_NONE,
    [0xf] = OP_NONE,
};

/* Whether the range is one that may be touched RDMAP says, wrapping ones too (mem_wraps()). */
static void parse_tagged(struct dgram_pkt *pkt, const uint8_t *data)
{
	const struct wire_ddp_tagged *ddp = (const struct wire_ddp_tagged *)data;
	struct be32 offset;

	pkt->stag = be32_get(ddp->stag);
	pkt->to = be64_get(ddp->to);
	pkt->qn = 0;
	pkt->msn = 0;
	/* A record says where in its message a segment stands, and UC; RD's order does it else. */
	memcpy(&offset, &pkt->imm, sizeof(offset));
	pkt->mo = pkt->flags & WIRE_DGRAM_F_RECORD ? be32_get(offset) : 0;
	if (pkt->type == WIRE_DGRAM_UC)
		pkt->mo = pkt->qkey;
}

static bool parse_untagged(struct dgram_pkt *pkt, const uint8_t *data)
{
	const struct wire_ddp_untagged *ddp = (const struct wire_ddp_untagged *)data;

	pkt->stag = be32_get(ddp->inv_stag);
	pkt->to = 0;
	pkt->qn = be32_get(ddp->qn);
	pkt->msn = be32_get(ddp->msn);
	pkt->mo = be32_get(ddp->mo);
	return pkt->qn == opcode_queue[pkt->opcode];
}

/*
 * Bytes of the messages that are one segment of a fixed form; msg_bytes of those that ask for
 * data counts the data. 0: not such a message. A Terminate may go on behind its control word.
 */
static uint32_t fixed_bytes(uint8_t opcode)
{
	switch (opcode) {
	case WIRE_RDMAP_READ_REQUEST:
		return sizeof(struct wire_read_request);
	case WIRE_RDMAP_ATOMIC_REQUEST:
		return sizeof(struct wire_atomic_request);
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		return sizeof(struct wire_atomic_response);
	case WIRE_RDMAP_TERMINATE:
		return sizeof(struct wire_terminate);
	default:
		return 0;
	}
}

/* The segment lies within its message, and is the last exactly when it ends it. */
static bool extent_ok(const struct dgram_pkt *pkt)
{
	uint64_t end = (uint64_t)pkt->mo + pkt->data_bytes;
	uint32_t fixed = fixed_bytes(pkt->opcode);

	if (fixed)
		return pkt->last && pkt->mo == 0 &&
		       (pkt->data_bytes == fixed ||
			(pkt->opcode == WIRE_RDMAP_TERMINATE && pkt->data_bytes > fixed));
	if (pkt->data_bytes == 0 && pkt->msg_bytes != 0)
		return false;
	if (pkt->tagged && !(pkt->flags & WIRE_DGRAM_F_RECORD) && pkt->type != WIRE_DGRAM_UC)
		return pkt->data_bytes <= pkt->msg_bytes &&
		       (pkt->data_bytes < pkt->msg_bytes || pkt->last);
	return end <= pkt->msg_bytes && pkt->last == (end == pkt->msg_bytes);
}

bool dgram_parse_ddp(struct dgram_pkt *pkt)
{
	const uint8_t *data = pkt->frame->seg[0].data + pkt->data_offset;
	uint32_t hdr_bytes;

	if (pkt->data_bytes < 2 || pkt->frame->seg[0].bytes < pkt->data_offset + 2)
		return false;
	pkt->tagged = (data[0] & WIRE_DDP_TAGGED) != 0;
	pkt->last = (data[0] & WIRE_DDP_LAST) != 0;
	pkt->opcode = data[1] & WIRE_RDMAP_OPCODE_MASK;
	if ((data[0] & WIRE_DDP_RESERVED) != 0 ||
	    (data[0] & WIRE_DDP_VERSION_MASK) != WIRE_DDP_VERSION ||
	    (data[1] & WIRE_RDMAP_VERSION_MASK) != WIRE_RDMAP_VERSION ||
	    (data[1] & WIRE_RDMAP_RESERVED) != 0 ||
	    pkt->tagged != (opcode_queue[pkt->opcode] == OP_TAGGED))
		return false;
	hdr_bytes = pkt->tagged ? (uint32_t)sizeof(struct wire_ddp_tagged)
				: (uint32_t)sizeof(struct wire_ddp_untagged);
	if (pkt->data_bytes < hdr_bytes || pkt->frame->seg[0].bytes < pkt->data_offset + hdr_bytes)
		return false;
	pkt->data_offset += hdr_bytes;
	pkt->data_bytes -= hdr_bytes;
	if (pkt->tagged)
		parse_tagged(pkt, data);
	else if (!parse_untagged(pkt, data))
		return false;
	return extent_ok(pkt);
}

uint32_t dgram_segment_bytes(uint32_t mtu, bool rd)
{
	uint32_t overhead = (rd ? (uint32_t)DGRAM_RD_OVERHEAD : (uint32_t)DGRAM_UD_OVERHEAD) +
			    (uint32_t)sizeof(struct wire_ddp_untagged);

	assert(mtu >= HW_MIN_MTU);
	return (mtu - overhead) & ~7u;
}
