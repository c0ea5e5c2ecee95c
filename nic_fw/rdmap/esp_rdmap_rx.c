/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP, receiving: a stream's packets as DDP segments, in their order.
 *
 * Calls rdmap_rx.c, and esp_rdmap.c with the peer's reports on our requests. A packet that cannot
 * be carried out now, or at all, is not taken. RFC 5040 7, RFC 5041 7; docs/wire-esp.md, "RC over
 * ESP".
 */
#include "nic_fw/fw_nic.h"

/* Delay until a packet that found no memory is offered again. */
#define NO_MEMORY_NS UINT64_C(100000)

static bool esp_rdmap_rx_parse(const struct esp_rdmap_side *side, const struct fw_rx_frame *frame,
			       uint32_t offset, uint32_t bytes, struct wire_esp_rdmap *wire,
			       struct rdmap_seg *pkt)
{
	const struct fw_qp *qp = side->qp;
	struct rdmap_error error;
	struct eth_cursor cursor;
	bool whole = bytes >= sizeof(*wire);

	memset(wire, 0, sizeof(*wire));
	if (whole) {
		eth_cursor_init(&cursor, frame, offset, bytes);
		eth_cursor_copy(&cursor, wire, sizeof(*wire));
	}
	*pkt = (struct rdmap_seg){
	    .frame = frame,
	    .stream = true,
	    .station = esp_station(side->stream),
	    .src_ip = qp->dst_ip,
	    .src_qpn = qp->dst_qpn,
	    .src_shard = (uint8_t)(qp->dst_qpn >> FW_QPN_SHARD_SHIFT & (WIRE_DGRAM_SHARDS - 1)),
	    .dst_qpn = qp->qpn,
	    .incarnation =
		wire->flags & WIRE_ESP_RDMAP_RESPONSE ? qp->incarnation_tx : qp->incarnation_rx,
	    .msg_bytes = be32_get(wire->msg_bytes),
	    .ssn = be32_get(wire->ssn),
	    .data_offset = offset + (uint32_t)sizeof(*wire),
	    .data_bytes = whole ? bytes - (uint32_t)sizeof(*wire) : 0,
	};
	memcpy(&pkt->imm, &wire->imm, sizeof(pkt->imm));
	if (wire->flags & WIRE_ESP_RDMAP_IMM)
		pkt->flags |= WIRE_DGRAM_F_IMM;
	if (wire->flags & WIRE_ESP_RDMAP_SOLICITED)
		pkt->flags |= WIRE_DGRAM_F_SOLICITED;
	if (wire->flags & WIRE_ESP_RDMAP_RESPONSE)
		pkt->flags |= WIRE_DGRAM_F_RESPONSE;
	/* The stream of our requests carries answers only, and the other one requests only. */
	if (!whole || (wire->flags & ~WIRE_ESP_RDMAP_FLAGS) || wire->reserved[0] ||
	    wire->reserved[1] || wire->reserved[2] ||
	    !(wire->flags & WIRE_ESP_RDMAP_RESPONSE) == side->requester)
		return false;
	if (wire->flags & WIRE_ESP_RDMAP_NOT_READY)
		return side->requester && bytes == sizeof(*wire);
	return ddp_parse(pkt, DDP_WEFT, &error) == RDMAP_OK;
}

/* The peer has no receive for the first request that it has not taken. */
static void rx_not_ready(struct fw_nic *nic, struct fw_qp *qp)
{
	struct fw_wqe *msg;

	FW_COUNT(nic, esp_rdmap_rnr_rx);
	qp->esp->look_rnr = true;
	if (qp->attr.rnr_retry == 7 || qp->esp->rnr_tries++ < qp->attr.rnr_retry)
		return;
	msg = esp_rdmap_unacked(qp);
	if (msg && !msg->answered)
		requester_fail(nic, msg, HW_STATUS_RNR_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
}

void esp_rdmap_ready_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct esp_rdmap *esp = FW_CONTAINER(timer, struct esp_rdmap, ready_timer);

	if (esp->in.stream)
		esp_resume(nic, esp->in.stream);
	/* Resumes an answer whose buffer was not available. */
	if (esp->out.stream)
		esp_resume(nic, esp->out.stream);
}

/* Leaves the packet to the stream, which offers it again after the QP's RNR timer. */
static enum esp_verdict not_ready(struct fw_nic *nic, struct fw_qp *qp, bool notify)
{
	struct esp_rdmap *esp = qp->esp;
	uint64_t wait_ns = notify ? qp_rnr_timer_ns(qp->attr.min_rnr_timer) : NO_MEMORY_NS;

	fw_timer_set(&nic->timers, &esp->ready_timer, nic->now_ns + wait_ns);
	if (notify && !esp->noticed) {
		FW_COUNT(nic, esp_rdmap_rnr_tx);
		esp->noticed = true;
		esp->notice.packets = 1;
		esp_send(nic, esp->in.stream, &esp->notice);
	}
	return ESP_FULL;
}

static void rx_malformed(struct fw_nic *nic, const struct esp_rdmap_side *side,
			 struct rdmap_seg *pkt)
{
	const struct rdmap_error error = {RDMAP_OPERATION, WIRE_TERM_OP_OPCODE};
	struct fw_wqe *msg;

	FW_DROP(nic, drop_esp_malformed);
	if (!side->requester) {
		/* The receive that it was meant for, if any, is unknown. */
		pkt->tagged = true;
		rdmap_rx_error(nic, side->qp, pkt, &error);
		return;
	}
	/* A request that has failed may wait for its turn. */
	msg = side->qp->sq_failing ? NULL : requester_oldest(side->qp);
	if (msg)
		requester_fail(nic, msg, HW_STATUS_BAD_RESP_ERR, HW_VENDOR_ERR_NONE);
}

enum esp_verdict esp_rdmap_receive(struct fw_nic *nic, void *ctx, const struct fw_rx_frame *frame,
				   uint32_t offset, uint32_t bytes)
{
	struct esp_rdmap_side *side = ctx;
	bool requester = side->requester;
	struct rdmap_error error = {0, 0};
	struct wire_esp_rdmap wire;
	enum rdmap_result result;
	struct rdmap_seg pkt = {.stream = true};

	/*
	 * Packets after a Terminate are ignored. They are not taken before the peer has it, because
	 * the acknowledgement would mean that they were carried out.
	 */
	if (!side->qp)
		return FW_CONTAINER(side, struct esp_rdmap_last, side)->delivered ? ESP_TAKEN
										  : ESP_FULL;
	/*
	 * Memory of an ending process is out of reach at once, while its queue pairs end in slices.
	 * The peer must see the end of the stream, not an access error.
	 */
	if (!qp_is_live(nic, side->qp))
		return requester ? ESP_TAKEN : ESP_FULL;
	/* A packet without data comes from a peer that failed. */
	if (!bytes) {
		side->hollow = true;
		return ESP_TAKEN;
	}
	if (!esp_rdmap_rx_parse(side, frame, offset, bytes, &wire, &pkt)) {
		rx_malformed(nic, side, &pkt);
		return requester ? ESP_TAKEN : ESP_FULL;
	}
	if (wire.flags & WIRE_ESP_RDMAP_NOT_READY) {
		rx_not_ready(nic, side->qp);
		return ESP_TAKEN;
	}
	/*
	 * The packet was sent before its data went away: only the Terminate, or the stream's end,
	 * follows.
	 */
	if (side->hollow && pkt.opcode != WIRE_RDMAP_TERMINATE)
		return requester ? ESP_TAKEN : ESP_FULL;
	if (rdmap_rx_whole(nic, side->qp, &pkt))
		return ESP_TAKEN;
	result = rdmap_rx_place(nic, side->qp, &pkt, true, &error);
	if (result == RDMAP_OK)
		result = rdmap_rx_finish(nic, side->qp, &pkt, NULL, &error);
	switch (result) {
	case RDMAP_OK:
	case RDMAP_VOID:
		break;
	case RDMAP_REFUSE:
	case RDMAP_DROP:
		return not_ready(nic, side->qp, result == RDMAP_REFUSE);
	case RDMAP_ERROR:
		/* Not taken, because the acknowledgement would mean that it was carried out. */
		rdmap_rx_error(nic, side->qp, &pkt, &error);
		return requester ? ESP_TAKEN : ESP_FULL;
	}
	return ESP_TAKEN;
}
