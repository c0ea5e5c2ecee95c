/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable datagrams, receiving: whole messages into receives, errors of peers into events.
 *
 * Segments of longer messages and Write-Records go to ud_reasm.c, which passes the whole message to
 * ud_deliver(). Calls rq.c, ddp_rx.c, cq.c. A faulty message affects that message alone. The QP
 * stays usable, so that no stranger can silence it, where Rashti's thesis (6.3.3) puts it in Error.
 * IBA 11.6.2 (completions), A17 (GRH of RoCEv2).
 */
#include "nic_fw/fw_nic.h"

/* RDMAP's layer is 0 and DDP's 1: upper four bits; the error type in the lower. */
#define TERM_RDMAP_OPERATION (WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_OPERATION)
#define TERM_DDP_UNTAGGED    (WIRE_TERM_LAYER_DDP << 4 | WIRE_TERM_DDP_UNTAGGED)

/* True if the packet may reach the QP; otherwise counts the reason. */
static inline bool may_reach(struct fw_nic *nic, const struct fw_qp *qp,
			     const struct rdmap_seg *pkt)
{
	if (!qp_can_receive(qp)) {
		FW_DROP(nic, drop_qp_state);
		return false;
	}
	/* A Terminate carries the Q_Key of the message at fault, not ours. */
	if (pkt->opcode != WIRE_RDMAP_TERMINATE && pkt->qkey != qp->qkey) {
		FW_DROP(nic, drop_qkey);
		return false;
	}
	return true;
}

/* Returns the QP that the packet names, if the packet may reach it. */
static inline struct fw_qp *ud_rx_find_qp(struct fw_nic *nic, const struct rdmap_seg *pkt)
{
	struct fw_qp *qp = pkt->hdr->qp;

	if (!qp || !qp_is_live(nic, qp)) {
		FW_DROP(nic, drop_no_qp);
		return NULL;
	}
	if (qp->type != HW_QPT_UD) {
		FW_DROP(nic, drop_qp_type);
		return NULL;
	}
	return may_reach(nic, qp, pkt) ? qp : NULL;
}

/*
 * A peer could not carry out a message of ours. Such a message can be forged, so it only raises an
 * event.
 */
static void ud_rx_terminate(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	struct wire_terminate term;
	struct eth_cursor cursor;
	struct hw_eqe eqe = {.type = HW_EVENT_PEER_ERROR, .id = qp->qpn, .aux2 = pkt->src_ip};
	struct be32 ssn;

	if (pkt->mo != 0 || !pkt->last || pkt->data_bytes < sizeof(term)) {
		FW_DROP(nic, drop_ddp_malformed);
		return;
	}
	FW_COUNT(nic, ud_errors_rx);
	if (qp->flags & HW_QP_F_NO_PEER_ERROR ||
	    !ud_rate_limit(nic->now_ns, &nic->ud.event_ns, &nic->ud.event_tokens))
		return;
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	eth_cursor_copy(&cursor, &term, sizeof(term));
	memcpy(&ssn, &pkt->imm, sizeof(ssn));
	eqe.aux = be32_get(ssn);
	eqe.code = term.code;
	eqe.layer_etype = term.layer_etype;
	eq_post(nic, qp->client, 0, &eqe);
}

static inline void ud_rx_send(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt)
{
	if (pkt->mo == 0 && pkt->last) {
		ud_deliver(nic, qp, pkt, NULL);
		return;
	}
	if (!(qp->flags & HW_QP_F_UD_LONG) || pkt->msg_bytes > HW_MAX_UD_MSG_BYTES) {
		FW_DROP(nic, drop_ud_too_long);
		ud_tx_error(nic, qp, pkt, TERM_DDP_UNTAGGED, WIRE_TERM_UT_TOO_LONG);
		return;
	}
	ud_reasm_rx(nic, qp, pkt);
}

/*
 * Delivers a Send to a group: each attached QP gets a copy and uses a receive of its own. IBA
 * 9.8.3.2, 10.5.2.
 */
static void rx_group(struct fw_nic *nic, struct rdmap_seg *pkt)
{
	struct fw_list *pos;

	if (pkt->dst_qpn != WIRE_DGRAM_GROUP_QPN) {
		FW_DROP(nic, drop_no_qp);
		return;
	}
	if (pkt->opcode != WIRE_RDMAP_SEND && pkt->opcode != WIRE_RDMAP_SEND_SE) {
		FW_DROP(nic, drop_ddp_malformed);
		return;
	}
	FW_COUNT(nic, mcast_rx_packets);
	pkt->hdr->group->rx_packets++;
	fw_list_for_each (pos, &pkt->hdr->group->members) {
		struct fw_qp *qp = FW_CONTAINER(pos, struct mcast_member, group_node)->qp;

		if (qp->flags & HW_QP_F_BLOCK_SELF_MCAST_LB && pkt->src_qpn == qp->qpn &&
		    pkt->src_ip == nic->config.ip) {
			FW_COUNT(nic, mcast_rx_self_blocked);
			continue;
		}
		if (!qp_is_live(nic, qp) || !may_reach(nic, qp, pkt))
			continue;
		fw_trace(nic, TRACE_UD_RX, qp->qpn, pkt->src_qpn, pkt->ssn);
		FW_COUNT(nic, mcast_rx_copies);
		ud_rx_send(nic, qp, pkt);
	}
}

void ud_rx(struct fw_nic *nic, struct rdmap_seg *pkt)
{
	bool record = pkt->flags & WIRE_DGRAM_F_RECORD;
	struct fw_qp *qp;

	if (!dgram_parse_ddp(pkt) || record != pkt->tagged ||
	    (record && pkt->flags & WIRE_DGRAM_F_IMM)) {
		FW_DROP(nic, drop_ddp_malformed);
		return;
	}
	if (pkt->hdr->group) {
		rx_group(nic, pkt);
		return;
	}
	qp = ud_rx_find_qp(nic, pkt);
	if (!qp)
		return;
	fw_trace(nic, TRACE_UD_RX, qp->qpn, pkt->src_qpn, pkt->ssn);
	switch ((enum wire_rdmap_opcode)pkt->opcode) {
	case WIRE_RDMAP_SEND:
	case WIRE_RDMAP_SEND_SE:
		ud_rx_send(nic, qp, pkt);
		return;
	case WIRE_RDMAP_WRITE:
		ud_reasm_rx(nic, qp, pkt);
		return;
	case WIRE_RDMAP_TERMINATE:
		ud_rx_terminate(nic, qp, pkt);
		return;
	case WIRE_RDMAP_SEND_INVALIDATE: /* a datagram does not prove its sender */
	case WIRE_RDMAP_SEND_SE_INVALIDATE:
	case WIRE_RDMAP_READ_REQUEST:
	case WIRE_RDMAP_READ_RESPONSE:
	case WIRE_RDMAP_IMMEDIATE:
	case WIRE_RDMAP_IMMEDIATE_SE:
	case WIRE_RDMAP_ATOMIC_REQUEST:
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		break;
	}
	FW_DROP(nic, drop_ddp_malformed);
	ud_tx_error(nic, qp, pkt, TERM_RDMAP_OPERATION, WIRE_TERM_OP_OPCODE);
}

/* Scatters one contiguous piece over the receive. */
static enum hw_vendor_err place_piece(struct fw_nic *nic, const struct fw_recv *recv,
				      uint64_t offset, const void *data, uint32_t bytes)
{
	struct fw_rx_frame piece;
	struct eth_cursor cursor;

	piece.seg[0].data = data;
	piece.seg[0].bytes = bytes;
	piece.num_seg = 1;
	piece.bytes = bytes;
	/* Only one segment is initialized: clearing the others would cost more than the copy. */
	eth_cursor_init(&cursor, &piece, 0, bytes);
	return ddp_place_sges(nic, recv->pd, recv->sge, recv->num_sge, offset, &cursor);
}

/*
 * Makes the 40 bytes before the data, as RoCEv2 over IPv4 has them: 20 unused, then the IPv4
 * header. Options are left out, and the header is corrected for that.
 */
static inline void ud_rx_grh(const struct rdmap_seg *pkt, uint8_t grh[HW_GRH_BYTES])
{
	const size_t unused = HW_GRH_BYTES - sizeof(struct wire_ip);
	struct wire_ip ip;

	memset(grh, 0, unused);
	memcpy(grh + unused, pkt->hdr->ip, sizeof(ip));
	if (__builtin_expect(pkt->hdr->ip->version_ihl == WIRE_IP_VERSION_IHL, 1))
		return;
	ip = *pkt->hdr->ip;
	ip.version_ihl = WIRE_IP_VERSION_IHL;
	ip.checksum = be16_put(0);
	ip.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &ip, sizeof(ip))));
	memcpy(grh + unused, &ip, sizeof(ip));
}

/*
 * Places the message if it fits into the receive's first SGE and that is mapped: one check for all
 * of it. False: it was not placed.
 */
static bool ud_rx_place_one(struct fw_nic *nic, const struct fw_recv *recv,
			    const struct rdmap_seg *pkt, uint32_t grh_bytes)
{
	uint32_t bytes = grh_bytes + pkt->data_bytes;
	struct fw_mem mem;

	if (!bytes || !recv->num_sge || bytes > recv->sge[0].bytes ||
	    mem_check(nic, recv->pd, 0, recv->sge[0].lkey, recv->sge[0].addr, bytes,
		      HW_ACCESS_LOCAL_WRITE, &mem) != HW_VENDOR_ERR_NONE ||
	    !mem.ptr)
		return false;
	if (grh_bytes)
		ud_rx_grh(pkt, mem.ptr);
	return ddp_place_segment(nic, &mem, grh_bytes, pkt);
}

static enum hw_vendor_err ud_rx_place(struct fw_nic *nic, const struct fw_recv *recv,
				      const struct rdmap_seg *pkt, const uint8_t *buffer,
				      uint32_t grh_bytes)
{
	enum hw_vendor_err err = HW_VENDOR_ERR_NONE;
	uint8_t grh[HW_GRH_BYTES];
	struct eth_cursor cursor;

	if (!buffer && ud_rx_place_one(nic, recv, pkt, grh_bytes))
		return HW_VENDOR_ERR_NONE;
	if (grh_bytes) {
		ud_rx_grh(pkt, grh);
		err = place_piece(nic, recv, 0, grh, sizeof(grh));
	}
	if (err != HW_VENDOR_ERR_NONE || !pkt->msg_bytes)
		return err;
	if (buffer)
		return place_piece(nic, recv, grh_bytes, buffer, pkt->msg_bytes);
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	return ddp_place_sges(nic, recv->pd, recv->sge, recv->num_sge, grh_bytes, &cursor);
}

static void ud_rx_complete(struct fw_nic *nic, struct fw_qp *qp, const struct hw_cqe *cqe)
{
	if (!cq_post(nic, qp->recv_cq, cqe))
		qp_error(nic, qp, HW_EVENT_QP_FATAL);
}

void ud_deliver(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		const uint8_t *buffer)
{
	uint32_t grh_bytes = qp->flags & HW_QP_F_UD_LONG ? 0 : HW_GRH_BYTES;
	struct hw_cqe cqe = {
	    .opcode = HW_CQE_RECV, .qpn = qp->qpn, .src_qpn = pkt->src_qpn, .src_ip = pkt->src_ip};
	struct fw_recv recv;
	enum rq_result taken = rq_look(nic, qp, &recv);
	enum hw_vendor_err err;

	if (taken == RQ_EMPTY) {
		FW_DROP(nic, drop_ud_no_receive);
		return;
	}
	cqe.wr_id = recv.wr_id;
	if (taken == RQ_BAD) {
		FW_COUNT(nic, wqes_bad);
		rq_taken(nic, qp);
		FW_DROP(nic, drop_ud_protection);
		cqe.status = HW_STATUS_LOC_QP_OP_ERR;
		cqe.vendor_err = HW_VENDOR_ERR_NUM_SGE;
		ud_rx_complete(nic, qp, &cqe);
		return;
	}
	if ((uint64_t)pkt->msg_bytes + grh_bytes > recv.bytes) {
		rq_taken(nic, qp);
		FW_DROP(nic, drop_ud_too_long);
		ud_tx_error(nic, qp, pkt, TERM_DDP_UNTAGGED, WIRE_TERM_UT_TOO_LONG);
		cqe.status = HW_STATUS_LOC_LEN_ERR;
		cqe.vendor_err = HW_VENDOR_ERR_TOO_LONG;
		ud_rx_complete(nic, qp, &cqe);
		return;
	}
	err = ud_rx_place(nic, &recv, pkt, buffer, grh_bytes);
	/*
	 * The page is not available now: the datagram is lost, and the receive serves the next one.
	 */
	if (err == HW_VENDOR_ERR_HOST_FAULT && nic->host.mem_busy) {
		FW_DROP(nic, drop_ud_busy);
		return;
	}
	rq_taken(nic, qp);
	if (err != HW_VENDOR_ERR_NONE) {
		FW_DROP(nic, drop_ud_protection);
		cqe.status = HW_STATUS_LOC_PROT_ERR;
		cqe.vendor_err = err;
		ud_rx_complete(nic, qp, &cqe);
		return;
	}
	FW_COUNT(nic, ud_rx_msgs);
	qp->rx_msgs++;
	qp->rx_bytes += pkt->msg_bytes;
	cqe.bytes = pkt->msg_bytes + grh_bytes;
	cqe.flags = grh_bytes ? HW_CQE_F_GRH : 0;
	if (pkt->flags & WIRE_DGRAM_F_IMM) {
		cqe.flags |= HW_CQE_F_IMM;
		cqe.imm_inv = pkt->imm;
	}
	if (pkt->opcode == WIRE_RDMAP_SEND_SE)
		cqe.flags |= HW_CQE_F_SOLICITED;
	ud_rx_complete(nic, qp, &cqe);
}
