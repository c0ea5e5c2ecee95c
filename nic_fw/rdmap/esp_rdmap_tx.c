/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP: the packets of an outgoing stream, one DDP segment in each.
 *
 * A packet is made anew for each transmission, from the message and the process's memory. If that
 * memory is gone the packet is sent empty, and esp_rdmap_run() fails the message in this turn.
 * Calls rdmap_tx.c, wqe_gather.c. RFC 5041 4; docs/wire-esp.md, "RC over ESP".
 */
#include "nic_fw/fw_nic.h"

static_assert((int)ESP_HDR_BYTES + (int)sizeof(struct wire_esp_rdmap) + (int)RDMAP_HDR_MAX <=
		  (int)FW_TX_HDR_BYTES,
	      "headers fit the frame");

bool esp_rdmap_is_notice(const struct esp_rdmap_side *side, const struct esp_xfer *xfer)
{
	return side->qp && xfer == &side->qp->esp->notice;
}

struct fw_wqe *esp_rdmap_msg_of(struct esp_xfer *xfer)
{
	return FW_CONTAINER(xfer, struct fw_wqe, xfer);
}

/* True if the message is the faulty one of its stream, or comes behind it. */
static bool is_spoilt(const struct esp_rdmap_side *side, const struct fw_wqe *msg)
{
	return side->faulty && (int32_t)(msg->ssn - side->fault_ssn) >= 0;
}

/*
 * The payload cannot be read: the frame is sent without it, and esp_rdmap_run() fails the message
 * in this turn. The fault of an earlier message replaces a known one.
 */
static int fault(struct fw_nic *nic, struct esp_rdmap_side *side, const struct fw_wqe *msg,
		 enum hw_vendor_err err)
{
	struct esp_rdmap *esp = side->qp->esp;

	if (is_spoilt(side, msg))
		return -FW_EFAULT;
	side->faulty = true;
	side->fault_due = true;
	side->fault_err = (uint8_t)err;
	side->fault_ssn = msg->ssn;
	if (!fw_list_linked(&esp->fault_node))
		fw_list_add_tail(&nic->rdmap.esp_faults, &esp->fault_node);
	return -FW_EFAULT;
}

/*
 * Packet i of a message has no memory. A peer that has the whole answer is done with the memory,
 * and its acknowledgement may be lost.
 */
static int ask_or_fault(struct fw_nic *nic, struct esp_rdmap_side *side,
			const struct esp_xfer *xfer, uint32_t i, const struct fw_wqe *msg,
			enum hw_vendor_err err)
{
	if (!side->requester && esp_may_have(side->stream, xfer, i))
		return -FW_EAGAIN;
	return fault(nic, side, msg, err);
}

int esp_rdmap_unreadable(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i)
{
	struct esp_rdmap_side *side = ctx;

	if (!side->qp || esp_rdmap_is_notice(side, xfer))
		return -FW_EFAULT;
	return ask_or_fault(nic, side, xfer, i, esp_rdmap_msg_of(xfer), HW_VENDOR_ERR_HOST_FAULT);
}

static void esp_rdmap_tx_put_header(struct fw_tx_frame *frame, uint32_t at,
				    const struct fw_wqe *msg, bool last)
{
	struct wire_esp_rdmap *wire = (struct wire_esp_rdmap *)(void *)(frame->hdr + at);

	memset(wire, 0, sizeof(*wire));
	wire->msg_bytes = be32_put(msg->bytes);
	wire->ssn = be32_put(msg->ssn);
	if (msg->kind != FW_WQE_REQUEST)
		wire->flags |= WIRE_ESP_RDMAP_RESPONSE;
	if (msg->kind == FW_WQE_TERMINATE) {
		memcpy(&wire->imm, &msg->imm_inv, sizeof(wire->imm));
	} else if (last && msg->kind == FW_WQE_REQUEST &&
		   (msg->opcode == HW_WQE_SEND_IMM || msg->opcode == HW_WQE_WRITE_IMM)) {
		wire->flags |= WIRE_ESP_RDMAP_IMM;
		memcpy(&wire->imm, &msg->imm_inv, sizeof(wire->imm));
		if (msg->flags & HW_WQE_F_SOLICITED)
			wire->flags |= WIRE_ESP_RDMAP_SOLICITED;
	}
}

static int put_notice(struct fw_tx_frame *frame, uint32_t at)
{
	struct wire_esp_rdmap *wire = (struct wire_esp_rdmap *)(void *)(frame->hdr + at);

	memset(wire, 0, sizeof(*wire));
	wire->flags = WIRE_ESP_RDMAP_RESPONSE | WIRE_ESP_RDMAP_NOT_READY;
	eth_tx_hdr(frame, at, sizeof(*wire), 0);
	return sizeof(*wire);
}

/*
 * Writes a message's header and DDP segment; the segment's last flag is set on the message's last.
 */
static uint32_t put_segment(struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
			    uint32_t data, struct fw_tx_frame *frame, uint32_t at)
{
	bool last = rdmap_tx_is_self_contained(msg->rdmap_opcode) || offset + data == msg->bytes;
	uint32_t n = sizeof(struct wire_esp_rdmap);

	esp_rdmap_tx_put_header(frame, at, msg, last);
	n += rdmap_tx_header(nic, msg, offset, data, frame->hdr + at + n);
	eth_tx_hdr(frame, at, n, 0);
	return n;
}

static int put_last(struct fw_nic *nic, const struct esp_rdmap_last *last,
		    struct fw_tx_frame *frame, uint32_t at)
{
	struct be32 ssn = be32_put(last->ssn);
	struct fw_wqe msg = {
	    .kind = FW_WQE_TERMINATE,
	    .rdmap_opcode = WIRE_RDMAP_TERMINATE,
	    .bytes = sizeof(struct wire_terminate),
	    .msn = last->ssn,
	    .ssn = last->ssn,
	    .term_layer_etype = last->layer_etype,
	    .term_code = last->code,
	};

	memcpy(&msg.imm_inv, &ssn, sizeof(ssn));
	return (int)put_segment(nic, &msg, 0, 0, frame, at);
}

int esp_rdmap_fill(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i, uint32_t max,
		   struct fw_tx_frame *frame, uint32_t hdr_offset)
{
	struct esp_rdmap_side *side = ctx;
	enum hw_vendor_err err;
	struct fw_wqe *msg;
	bool host = false;
	uint32_t offset, data = 0, n;

	if (!side->qp)
		return put_last(nic, FW_CONTAINER(side, struct esp_rdmap_last, side), frame,
				hdr_offset);
	if (esp_rdmap_is_notice(side, xfer))
		return put_notice(frame, hdr_offset);
	msg = esp_rdmap_msg_of(xfer);
	/*
	 * Nothing behind a packet without its data may be carried out. A packet before it whose
	 * first transmission was lost must bring its data: the peer's acknowledgement completes it.
	 */
	if (is_spoilt(side, msg))
		return -FW_EFAULT;
	offset = i * msg->segment_bytes;
	if (!rdmap_tx_is_self_contained(msg->rdmap_opcode))
		data = msg->bytes - offset < msg->segment_bytes ? msg->bytes - offset
								: msg->segment_bytes;
	n = put_segment(nic, msg, offset, data, frame, hdr_offset);
	assert(n + data <= max);
	err = data ? wqe_gather(nic, msg, offset, data, frame, &host) : HW_VENDOR_ERR_NONE;
	if (data && !(msg->flags & HW_WQE_F_INLINE))
		frame->flags |= FW_TX_F_BORROW;
	if (err == HW_VENDOR_ERR_NONE)
		return (int)(n + data);
	return ask_or_fault(nic, side, xfer, i, msg, err);
}
