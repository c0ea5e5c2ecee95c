/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of several datagrams: reassembly of long Sends, and Write-Records.
 *
 * A long Send is gathered in a buffer of the NIC by MO and takes a receive only when it is whole. A
 * Write-Record is placed segment by segment where its STag says. The receive CQ gets a completion
 * when all segments have come, or, with those that came, when a timer fires. Entries are keyed by
 * (source IP, source QPN, ssn), and bounded in all and per QP. Calls ud_deliver() and ddp_rx.c.
 * Rashti's thesis 6.3.4 (validity map), Grant et al. (IPDPS 2011); docs/wire-format.md "UD".
 */
#include "nic_fw/fw_nic.h"

#define TERM_RDMAP_PROTECTION (WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION)

/* Chains are per QP, because all members of a group have the same message. */
static uint32_t *ud_reasm_chain_head(struct fw_nic *nic, const struct fw_qp *qp, uint32_t src_ip,
				     uint32_t src_qpn, uint32_t ssn)
{
	return &nic->ud.hash[fw_hash_keyed5(&nic->hash_key, src_ip, src_qpn, ssn, qp->qpn, 0) %
			     FW_HASH_SIZE];
}

static struct ud_reasm *ud_reasm_find(struct fw_nic *nic, const struct fw_qp *qp,
				      const struct rdmap_seg *pkt)
{
	struct ud_reasm *r;

	fw_chain_for_each (r, *ud_reasm_chain_head(nic, qp, pkt->src_ip, pkt->src_qpn, pkt->ssn),
			   fw_pool_table(&nic->ud.reasms), hash_next)
		if (r->qp == qp && r->src_ip == pkt->src_ip && r->src_qpn == pkt->src_qpn &&
		    r->ssn == pkt->ssn)
			return r;
	return NULL;
}

/* Removes it from all lists; the caller still has its memory and buffer. */
static void ud_reasm_detach(struct fw_nic *nic, struct ud_reasm *r)
{
	fw_chain_del(ud_reasm_chain_head(nic, r->qp, r->src_ip, r->src_qpn, r->ssn), r,
		     fw_pool_table(&nic->ud.reasms), hash_next);
	fw_timer_cancel(&nic->timers, &r->timer);
	fw_list_del(&r->qp_node);
	r->qp->msgs_open--;
}

static void ud_reasm_release(struct fw_nic *nic, struct ud_reasm *r)
{
	nic->host.clients[r->qp->client].share->user->ud_reasms--;
	if (r->buffer != FW_NONE)
		fw_pool_put(&nic->ud.buffers, fw_pool_at(&nic->ud.buffers, r->buffer));
	fw_pool_put(&nic->ud.reasms, r);
}

static void ud_reasm_put(struct fw_nic *nic, struct ud_reasm *r)
{
	ud_reasm_detach(nic, r);
	ud_reasm_release(nic, r);
}

static uint32_t count_bits(uint64_t word)
{
	return (uint32_t)__builtin_popcountll(word);
}

/* True if every piece of the message has come. */
static bool ud_reasm_is_whole(const struct ud_reasm *r)
{
	return r->last_bytes && r->segment_bytes &&
	       count_bits(r->got) == (r->msg_bytes + r->segment_bytes - 1) / r->segment_bytes;
}

static void complete_record(struct fw_nic *nic, struct ud_reasm *r, bool partial)
{
	struct fw_qp *qp = r->qp;
	struct hw_cqe cqe = {
	    .opcode = HW_CQE_RECV_WRITE_RECORD,
	    .bytes = r->msg_bytes,
	    .qpn = qp->qpn,
	    .src_qpn = r->src_qpn,
	    .src_ip = r->src_ip,
	    .sq_index = r->stag,
	    .record_to = r->to,
	    .record_map = r->got,
	    .vendor_err = r->segment_bytes,
	};

	if (!r->segment_bytes && r->msg_bytes) {
		/* Only the last of several pieces came: reported as if there were two. */
		cqe.vendor_err = r->msg_bytes - r->last_bytes;
		cqe.record_map = UINT64_C(1) << 1;
	}
	if (partial)
		cqe.flags |= HW_CQE_F_PARTIAL;
	if (r->flags & WIRE_DGRAM_F_SOLICITED)
		cqe.flags |= HW_CQE_F_SOLICITED;
	FW_COUNT(nic, ud_rx_records);
	if (partial)
		FW_COUNT(nic, ud_rx_records_partial);
	qp->rx_msgs++;
	qp->rx_bytes += r->msg_bytes;
	ud_reasm_put(nic, r);
	if (!cq_post(nic, qp->recv_cq, &cqe))
		qp_error(nic, qp, HW_EVENT_QP_FATAL);
}

void ud_reasm_timer_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct ud_reasm *r = FW_CONTAINER(timer, struct ud_reasm, timer);

	if (!fw_waited(nic, &r->since, r->wait_ns - 1)) {
		fw_timer_set(&nic->timers, timer, nic->now_ns + UD_REASM_AGAIN_NS);
		return;
	}
	if (r->record) {
		complete_record(nic, r, true);
		return;
	}
	FW_COUNT(nic, ud_reassembly_timeouts);
	ud_reasm_put(nic, r);
}

static void wait_for_rest(struct fw_nic *nic, struct ud_reasm *r, uint64_t wait_ns)
{
	r->since = fw_moment_now(nic);
	r->wait_ns = wait_ns;
	fw_timer_set(&nic->timers, &r->timer, nic->now_ns + wait_ns);
}

static struct ud_reasm *ud_reasm_begin(struct fw_nic *nic, struct fw_qp *qp,
				       const struct rdmap_seg *pkt)
{
	uint32_t *head = ud_reasm_chain_head(nic, qp, pkt->src_ip, pkt->src_qpn, pkt->ssn);
	bool record = pkt->flags & WIRE_DGRAM_F_RECORD;
	struct fw_account *user = nic->host.clients[qp->client].share->user;
	uint8_t *buffer = NULL;
	struct ud_reasm *r;

	if (qp->msgs_open >= UD_REASM_PER_QP)
		return NULL;
	if (!share_pool_may(&nic->ud.reasms, user->ud_reasms)) {
		FW_COUNT(nic, ud_reasms_share_refused);
		return NULL;
	}
	r = fw_pool_get(&nic->ud.reasms);
	if (!r)
		return NULL;
	if (!record) {
		buffer = fw_pool_get(&nic->ud.buffers);
		if (!buffer) {
			fw_pool_put(&nic->ud.reasms, r);
			return NULL;
		}
	}
	memset(r, 0, sizeof(*r));
	r->qp = qp;
	r->src_ip = pkt->src_ip;
	r->src_qpn = pkt->src_qpn;
	r->ssn = pkt->ssn;
	r->record = record;
	r->opcode = pkt->opcode;
	r->msg_bytes = pkt->msg_bytes;
	r->stag = pkt->stag;
	r->to = pkt->to - pkt->mo;
	r->buffer = buffer ? fw_pool_index(&nic->ud.buffers, buffer) : FW_NONE;
	fw_chain_add(head, &r->hash_next, fw_pool_index(&nic->ud.reasms, r));
	fw_list_add_tail(&qp->recv_msgs, &r->qp_node);
	qp->msgs_open++;
	user->ud_reasms++;
	fw_timer_init(&r->timer, FW_TIMER_UD_REASM);
	wait_for_rest(nic, r, UD_REASM_TIMEOUT_NS);
	return r;
}

enum segment {
	SEGMENT_NEW,
	SEGMENT_AGAIN,
	SEGMENT_BAD,
};

/*
 * Checks the last segment against the piece size; without one it waits for a segment that reveals
 * it.
 */
static bool last_fits(uint32_t segment_bytes, uint32_t mo, uint32_t bytes)
{
	if (!segment_bytes)
		return mo == 0 || bytes <= mo;
	return mo % segment_bytes == 0 && bytes <= segment_bytes;
}

/*
 * Checks a segment's place: all but the last have one size, and are at multiples of it. Changes
 * nothing unless the segment is new.
 */
static enum segment fit(struct ud_reasm *r, const struct rdmap_seg *pkt)
{
	uint32_t segment_bytes = r->segment_bytes, bit;

	if (pkt->msg_bytes != r->msg_bytes || pkt->opcode != r->opcode ||
	    (pkt->flags & WIRE_DGRAM_F_RECORD) != (r->record ? WIRE_DGRAM_F_RECORD : 0) ||
	    (r->record && (pkt->stag != r->stag || pkt->to - pkt->mo != r->to)))
		return SEGMENT_BAD;
	if (pkt->last) {
		if (r->last_bytes)
			return pkt->data_bytes == r->last_bytes ? SEGMENT_AGAIN : SEGMENT_BAD;
		if (!last_fits(segment_bytes, pkt->mo, pkt->data_bytes))
			return SEGMENT_BAD;
		r->last_bytes = pkt->data_bytes;
		if (pkt->mo == 0)
			r->segment_bytes = pkt->data_bytes;
		if (r->segment_bytes)
			r->got |= UINT64_C(1) << (pkt->mo / r->segment_bytes);
		return SEGMENT_NEW;
	}
	if (!segment_bytes) {
		segment_bytes = pkt->data_bytes;
		if (r->last_bytes &&
		    !last_fits(segment_bytes, r->msg_bytes - r->last_bytes, r->last_bytes))
			return SEGMENT_BAD;
	}
	bit = pkt->mo / segment_bytes;
	if (pkt->data_bytes != segment_bytes || pkt->mo % segment_bytes != 0 ||
	    (r->msg_bytes - 1) / segment_bytes >= UD_MAX_SEGMENTS)
		return SEGMENT_BAD;
	if (r->got >> bit & 1)
		return SEGMENT_AGAIN;
	if (!r->segment_bytes && r->last_bytes)
		r->got |= UINT64_C(1) << ((r->msg_bytes - r->last_bytes) / segment_bytes);
	r->segment_bytes = segment_bytes;
	r->got |= UINT64_C(1) << bit;
	return SEGMENT_NEW;
}

/* Checks that the STag allows this segment; otherwise notifies the sender. */
static bool check_record(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			 struct fw_mem *mem)
{
	enum hw_vendor_err err = HW_VENDOR_ERR_ACCESS;
	uint8_t code;

	if (qp->access & HW_ACCESS_REMOTE_WRITE)
		err = guess_mem_check(nic, qp, pkt, pkt->stag, pkt->to, pkt->data_bytes,
				      HW_ACCESS_REMOTE_WRITE, mem);
	if (err == HW_VENDOR_ERR_NONE)
		return true;
	if (err == HW_VENDOR_ERR_BOUNDS)
		code = WIRE_TERM_PROT_BASE_BOUNDS;
	else if (err == HW_VENDOR_ERR_ACCESS)
		code = WIRE_TERM_PROT_ACCESS;
	else
		code = WIRE_TERM_PROT_INVALID_STAG;
	FW_DROP(nic, drop_ud_protection);
	ud_tx_error(nic, qp, pkt, TERM_RDMAP_PROTECTION, code);
	return false;
}

/*
 * Places the payload. Runs before the segment is noted, so that the map shows data that are there.
 * A duplicate may write a record's bytes again; they are the same, or the sender forges data in
 * memory that it may write anyway.
 */
static bool ud_reasm_place(struct fw_nic *nic, struct fw_qp *qp, const struct ud_reasm *r,
			   const struct rdmap_seg *pkt)
{
	struct eth_cursor cursor;
	struct fw_mem mem;

	if (!r->record) {
		uint8_t *buffer = fw_pool_at(&nic->ud.buffers, r->buffer);

		eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
		eth_cursor_copy(&cursor, buffer + pkt->mo, pkt->data_bytes);
		return true;
	}
	if (!check_record(nic, qp, pkt, &mem))
		return false;
	if (pkt->data_bytes && !ddp_place_segment(nic, &mem, 0, pkt)) {
		/* The page is not available now: the segment is lost. */
		if (nic->host.mem_busy) {
			FW_DROP(nic, drop_ud_busy);
			return false;
		}
		FW_DROP(nic, drop_ud_protection);
		ud_tx_error(nic, qp, pkt, TERM_RDMAP_PROTECTION, WIRE_TERM_PROT_BASE_BOUNDS);
		return false;
	}
	return true;
}

static void ud_reasm_finish_send(struct fw_nic *nic, struct ud_reasm *r,
				 const struct rdmap_seg *pkt)
{
	struct rdmap_seg whole = *pkt;

	whole.flags = r->flags;
	whole.imm = r->imm;
	whole.mo = 0;
	whole.last = true;
	/* A full CQ ends the QP, which flushes its messages: this one is detached before. */
	ud_reasm_detach(nic, r);
	ud_deliver(nic, r->qp, &whole, fw_pool_at(&nic->ud.buffers, r->buffer));
	ud_reasm_release(nic, r);
}

static void note(struct fw_nic *nic, struct ud_reasm *r, const struct rdmap_seg *pkt)
{
	r->flags |= pkt->flags;
	if (pkt->flags & WIRE_DGRAM_F_IMM)
		r->imm = pkt->imm;
	if (ud_reasm_is_whole(r) || (r->record && !r->msg_bytes)) {
		if (r->record)
			complete_record(nic, r, false);
		else
			ud_reasm_finish_send(nic, r, pkt);
	} else if (r->record && r->last_bytes &&
		   r->timer.deadline_ns > nic->now_ns + UD_RECORD_GRACE_NS) {
		wait_for_rest(nic, r, UD_RECORD_GRACE_NS);
	}
}

void ud_reasm_rx(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt)
{
	struct ud_reasm *r = ud_reasm_find(nic, qp, pkt);
	bool fresh = !r;
	uint32_t segment_bytes, last_bytes;
	uint64_t got;

	if (pkt->msg_bytes > HW_MAX_UD_MSG_BYTES) {
		FW_DROP(nic, drop_ud_too_long);
		return;
	}
	if (!r)
		r = ud_reasm_begin(nic, qp, pkt);
	if (!r) {
		FW_DROP(nic, drop_ud_reassembly_full);
		return;
	}
	got = r->got;
	segment_bytes = r->segment_bytes;
	last_bytes = r->last_bytes;
	switch (fit(r, pkt)) {
	case SEGMENT_BAD:
		FW_DROP(nic, drop_ddp_malformed);
		break;
	case SEGMENT_AGAIN:
		return;
	case SEGMENT_NEW:
		if (ud_reasm_place(nic, qp, r, pkt)) {
			note(nic, r, pkt);
			return;
		}
		r->got = got;
		r->segment_bytes = segment_bytes;
		r->last_bytes = last_bytes;
		break;
	}
	/* A stranger's first segment that is useless must not keep an entry. */
	if (fresh)
		ud_reasm_put(nic, r);
}

bool ud_flush_step(struct fw_nic *nic, struct fw_qp *qp)
{
	while (!fw_list_empty(&qp->recv_msgs)) {
		if (!slice_take(nic, 1))
			return false;
		ud_reasm_put(nic, FW_CONTAINER(qp->recv_msgs.next, struct ud_reasm, qp_node));
	}
	return true;
}
