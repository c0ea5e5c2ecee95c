/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the DDP and RDMAP headers of one segment, and finds the error of a malformed one.
 *
 * Datagrams that do not parse are dropped; a stream ends with a Terminate that has the error. Reads
 * nothing but the frame, calls nothing. RFC 5041 4, 8; RFC 5040 4, 7; RFC 7306 5, 6.
 */
#include "nic_fw/fw_nic.h"

enum {
	QN_TAGGED = 0xff, /* in place of a queue number */
	QN_NONE = 0xfe,
};

/* The queue of each opcode (RFC 5040 figure 4, RFC 7306 figure 3), and its length if fixed. */
static const struct {
	uint8_t qn;
	uint8_t bytes;
} opcodes[WIRE_RDMAP_OPCODE_MASK + 1] = {
    [WIRE_RDMAP_WRITE] = {QN_TAGGED, 0},
    [WIRE_RDMAP_READ_REQUEST] = {WIRE_QN_READ_REQUEST, sizeof(struct wire_read_request)},
    [WIRE_RDMAP_READ_RESPONSE] = {QN_TAGGED, 0},
    [WIRE_RDMAP_SEND] = {WIRE_QN_SEND, 0},
    [WIRE_RDMAP_SEND_INVALIDATE] = {WIRE_QN_SEND, 0},
    [WIRE_RDMAP_SEND_SE] = {WIRE_QN_SEND, 0},
    [WIRE_RDMAP_SEND_SE_INVALIDATE] = {WIRE_QN_SEND, 0},
    [WIRE_RDMAP_TERMINATE] = {WIRE_QN_TERMINATE, 0},
    [WIRE_RDMAP_IMMEDIATE] = {WIRE_QN_SEND, WIRE_IMMEDIATE_BYTES},
    [WIRE_RDMAP_IMMEDIATE_SE] = {WIRE_QN_SEND, WIRE_IMMEDIATE_BYTES},
    [WIRE_RDMAP_ATOMIC_REQUEST] = {WIRE_QN_READ_REQUEST, sizeof(struct wire_atomic_request)},
    [WIRE_RDMAP_ATOMIC_RESPONSE] = {WIRE_QN_ATOMIC_RESPONSE, sizeof(struct wire_atomic_response)},
    [0xc] = {QN_NONE, 0},
    [0xd] = {QN_NONE, 0},
    [0xe] = {QN_NONE, 0},
    [0xf] = {QN_NONE, 0},
};

uint32_t ddp_fixed_bytes(uint8_t opcode)
{
	return opcodes[opcode].bytes;
}

/*
 * Checks a message of one segment. The segment of a Terminate may continue behind its control word.
 */
static bool ddp_parse_is_whole(const struct rdmap_seg *pkt, uint32_t bytes)
{
	return pkt->last && pkt->mo == 0 &&
	       (pkt->data_bytes == bytes ||
		(pkt->opcode == WIRE_RDMAP_TERMINATE && pkt->data_bytes > bytes));
}

/*
 * Checks that the segment lies within its message, and is the last exactly when it ends it. For a
 * message that requests data msg_bytes counts the data.
 */
static bool extent_ok(const struct rdmap_seg *pkt)
{
	uint64_t end = (uint64_t)pkt->mo + pkt->data_bytes;

	if (pkt->qn != WIRE_QN_SEND)
		return ddp_parse_is_whole(pkt, pkt->opcode == WIRE_RDMAP_TERMINATE
						   ? (uint32_t)sizeof(struct wire_terminate)
						   : ddp_fixed_bytes(pkt->opcode));
	if (pkt->data_bytes == 0 && pkt->msg_bytes != 0)
		return false;
	if (pkt->tagged && !pkt->tagged_mo)
		return pkt->data_bytes <= pkt->msg_bytes &&
		       (pkt->data_bytes < pkt->msg_bytes || pkt->last);
	return end <= pkt->msg_bytes && pkt->last == (end == pkt->msg_bytes);
}

/* Takes the header's fields, and advances behind it. False: the header is incomplete. */
static bool take_header(struct rdmap_seg *pkt, const uint8_t *data, uint32_t contiguous_bytes)
{
	const struct wire_ddp_tagged *tagged = (const struct wire_ddp_tagged *)data;
	const struct wire_ddp_untagged *untagged = (const struct wire_ddp_untagged *)data;
	uint32_t hdr = sizeof(*untagged);

	if (pkt->data_bytes < 2 || contiguous_bytes < 2)
		return false;
	pkt->tagged = (data[0] & WIRE_DDP_TAGGED) != 0;
	pkt->last = (data[0] & WIRE_DDP_LAST) != 0;
	pkt->opcode = data[1] & WIRE_RDMAP_OPCODE_MASK;
	if (pkt->tagged)
		hdr = sizeof(*tagged);
	if (pkt->data_bytes < hdr || contiguous_bytes < hdr)
		return false;
	pkt->data_offset += hdr;
	pkt->data_bytes -= hdr;
	if (pkt->tagged) {
		pkt->stag = be32_get(tagged->stag);
		pkt->to = be64_get(tagged->to);
		pkt->qn = 0;
		pkt->msn = 0;
		if (!pkt->tagged_mo)
			pkt->mo = 0;
	} else {
		pkt->stag = be32_get(untagged->inv_stag);
		pkt->to = 0;
		pkt->qn = be32_get(untagged->qn);
		pkt->msn = be32_get(untagged->msn);
		pkt->mo = be32_get(untagged->mo);
	}
	return true;
}

/*
 * Parses the segment of a Send that is whole, and right: of most messages. False: it is another,
 * and nothing was changed.
 */
static inline bool parse_whole_send(struct rdmap_seg *pkt, const uint8_t *data,
				    uint32_t contiguous_bytes)
{
	const struct wire_ddp_untagged *h = (const struct wire_ddp_untagged *)data;
	const uint32_t hdr = sizeof(*h);
	struct be32 qn = be32_put(WIRE_QN_SEND), mo = be32_put(0);

	if (pkt->data_bytes < hdr || contiguous_bytes < hdr ||
	    pkt->data_bytes - hdr != pkt->msg_bytes ||
	    h->ddp_ctrl != (WIRE_DDP_LAST | WIRE_DDP_VERSION) ||
	    h->rdmap_ctrl != (WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND) ||
	    memcmp(&h->qn, &qn, sizeof(qn)) != 0 || memcmp(&h->mo, &mo, sizeof(mo)) != 0)
		return false;
	pkt->tagged = false;
	pkt->last = true;
	pkt->opcode = WIRE_RDMAP_SEND;
	pkt->data_offset += hdr;
	pkt->data_bytes -= hdr;
	pkt->stag = be32_get(h->inv_stag);
	pkt->to = 0;
	pkt->qn = WIRE_QN_SEND;
	pkt->msn = be32_get(h->msn);
	pkt->mo = 0;
	return true;
}

enum rdmap_result ddp_parse(struct rdmap_seg *pkt, enum ddp_form form, struct rdmap_error *error)
{
	const struct fw_rx_frame *frame = pkt->frame;
	const uint8_t *data = frame->seg[0].data + pkt->data_offset;

	if (form == DDP_WEFT && frame->seg[0].bytes >= pkt->data_offset &&
	    parse_whole_send(pkt, data, frame->seg[0].bytes - pkt->data_offset))
		return RDMAP_OK;
	if (frame->seg[0].bytes < pkt->data_offset ||
	    !take_header(pkt, data, frame->seg[0].bytes - pkt->data_offset))
		return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
	if ((data[0] & WIRE_DDP_VERSION_MASK) != WIRE_DDP_VERSION)
		return pkt->tagged ? rdmap_error_of(error, DDP_TAGGED, WIRE_TERM_T_VERSION)
				   : rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_VERSION);
	if (!pkt->tagged && pkt->qn >= DDP_QUEUES)
		return rdmap_error_of(error, DDP_UNTAGGED, WIRE_TERM_UT_INVALID_QN);
	if ((data[1] & WIRE_RDMAP_VERSION_MASK) != WIRE_RDMAP_VERSION)
		return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_VERSION);
	if (opcodes[pkt->opcode].qn != (pkt->tagged ? (uint32_t)QN_TAGGED : pkt->qn))
		return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_OPCODE);
	if (form == DDP_WEFT &&
	    ((data[0] & WIRE_DDP_RESERVED) || (data[1] & WIRE_RDMAP_RESERVED) || !extent_ok(pkt)))
		return rdmap_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
	return RDMAP_OK;
}
