/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eager messages of one packet that meet a posted receive, in their turn.
 *
 * Nothing of such a message is left when it has been delivered, so it needs no context
 * (tag_arrival.c). tag_whole_rx() takes the usual case alone: its bytes have room in mapped memory
 * of the receive's first SGE, and nobody waits for a DONE. It declines every other case before it
 * has changed anything; tag_rx.c then carries the packet out. Calls tag_match.c, tag_posted.c,
 * ddp_rx.c. docs/tagged.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	ENVELOPE = sizeof(struct wire_tag),
};

/* True if the envelope is right, and of a message that is over when its receive is. */
static bool whole_is_plain(const struct rdmap_seg *pkt, const struct wire_tag *env)
{
	return env->kind == WIRE_TAG_EAGER && !env->reserved &&
	       !(env->flags & ~(WIRE_TAG_F_MSG | WIRE_TAG_F_DATA)) && !be32_get(env->handle) &&
	       pkt->msg_bytes == pkt->data_bytes &&
	       be32_get(env->bytes) == pkt->data_bytes - ENVELOPE;
}

/* Finds the receive that takes the message; NULL: none, or one that peers have to do with. */
static struct tag_posted *whole_recv(struct tag_ep *ep, const struct rdmap_seg *pkt,
				     const struct wire_tag *env)
{
	const struct tag_key key = {
	    .src_ip = pkt->src_ip,
	    .src_qpn = pkt->src_qpn,
	    .tag = env->flags & WIRE_TAG_F_MSG ? 0 : be64_get(env->tag),
	    .msg = env->flags & WIRE_TAG_F_MSG,
	};
	struct tag_recv *recv = tag_match_find_recv(&ep->rx->match, &key);
	struct tag_posted *posted = recv ? FW_CONTAINER(recv, struct tag_posted, match) : NULL;

	return posted && !posted->peer && !tag_rtr_is_written(posted) ? posted : NULL;
}

/*
 * Finds the mapped memory of the receive that bytes of the message would fill. False: they are
 * not all in the first SGE, or it is not mapped, or not the process's.
 */
static bool whole_mem(struct fw_nic *nic, const struct tag_posted *posted, uint32_t bytes,
		      struct fw_mem *mem)
{
	const struct hw_sge *sge = &posted->recv.sge[0];

	return posted->used <= sge->bytes && bytes <= sge->bytes - posted->used &&
	       mem_check(nic, posted->recv.pd, 0, sge->lkey, sge->addr + posted->used, bytes,
			 HW_ACCESS_LOCAL_WRITE, mem) == HW_VENDOR_ERR_NONE &&
	       mem->ptr;
}

/* Delivers the message, whose first room bytes were placed. */
static void deliver(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		    const struct wire_tag *env, struct tag_posted *posted)
{
	uint32_t bytes = pkt->msg_bytes - ENVELOPE;
	struct tag_ep *ep = qp->tag;
	struct tag_report report;
	struct hw_cqe cqe = {
	    .wr_id = posted->recv.wr_id,
	    .qpn = qp->qpn,
	    .opcode = HW_CQE_TRECV,
	    .imm_inv = bytes,
	    .src_ip = pkt->src_ip,
	    .src_qpn = pkt->src_qpn,
	    .record_to = env->flags & WIRE_TAG_F_MSG ? 0 : be64_get(env->tag),
	    .sq_index = (uint32_t)posted->used,
	    .flags = pkt->opcode == WIRE_RDMAP_SEND_SE ? HW_CQE_F_SOLICITED : 0,
	};

	if (env->flags & WIRE_TAG_F_DATA) {
		cqe.flags |= HW_CQE_F_IMM;
		cqe.record_map = be64_get(env->data);
	}
	tag_peer_took(nic, ep, pkt);
	ep->matched_posted++;
	FW_COUNT(nic, tag_matched_posted);
	cqe.bytes = tag_posted_reserve(posted, bytes);
	qp->rx_msgs++;
	qp->rx_bytes += cqe.bytes;
	if (cqe.bytes < bytes)
		cqe.status = HW_STATUS_LOC_LEN_ERR;
	report = tag_posted_release(nic, posted, &cqe);
	tag_posted_report(nic, ep, &cqe, &report);
}

bool tag_whole_rx(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt)
{
	struct tag_posted *posted;
	struct eth_cursor cursor;
	struct wire_tag env;
	struct fw_mem mem;
	uint64_t left;
	uint32_t room;

	if (pkt->data_bytes < ENVELOPE || pkt->data_bytes > ENVELOPE + HW_TAG_MAX_EAGER_BYTES)
		return false;
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	eth_cursor_copy(&cursor, &env, ENVELOPE);
	posted = whole_is_plain(pkt, &env) ? whole_recv(qp->tag, pkt, &env) : NULL;
	if (!posted)
		return false;
	left = posted->recv.bytes - posted->used;
	room = cursor.left < left ? cursor.left : (uint32_t)left;
	if (room && !whole_mem(nic, posted, room, &mem))
		return false;
	fw_trace(nic, TRACE_DDP_RX, qp->qpn, pkt->msn, pkt->mo);
	cursor.left = room;
	if (room)
		(void)ddp_place_mem(nic, &mem, 0, &cursor);
	fw_trace(nic, TRACE_RDMAP_RX, qp->qpn, pkt->opcode, pkt->data_bytes);
	deliver(nic, qp, pkt, &env, posted);
	return true;
}
