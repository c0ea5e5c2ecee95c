/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable datagrams, sending: Sends and Write-Records, and error messages to peers; and the
 * messages of unreliable connections.
 *
 * Calls neigh.c, rdmap_tx.c for the DDP/RDMAP header, wqe_gather.c for the payload, and eth_tx.c.
 * wqe.c calls ud_tx() again for a request that it could not finish. A request completes when the
 * NIC has taken it (wqe_complete() ensures that the port has read the memory). DDP cuts messages
 * longer than a frame. Thesis 6.3.2, 6.3.3; RFC 5041 5.
 */
#include "nic_fw/fw_nic.h"

enum {
	UD_SHARD_SHIFT = 16, /* of a QPN: nic_index(5) | shard(3) | index(16) */
	UD_HDR_BYTES = UDP_TX_HDR_BYTES + sizeof(struct wire_dgram),
};

/* Returns the shard whose port a request goes to. */
static uint8_t dst_shard(const struct fw_wqe *wqe)
{
	if (wqe->hop_limit)
		return 0;
	return (uint8_t)(wqe->dst_qpn >> UD_SHARD_SHIFT & (WIRE_DGRAM_SHARDS - 1));
}

/*
 * One frame on the wire serves all members elsewhere; the internal link serves those on this NIC,
 * in this shard or another.
 */
static void set_group(const struct fw_nic *nic, const struct fw_wqe *wqe, struct fw_tx_frame *frame)
{
	ip_tx_ttl(frame, wqe->hop_limit);
	if (nic->config.num_shards > 1 || mcast_has_members(mcast_find(nic, wqe->dst_ip)))
		frame->flags |= FW_TX_F_ALSO_LOOP;
}

/* Returns the payload of the segment that starts at offset. */
static uint32_t segment_bytes(const struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t offset)
{
	uint32_t one_frame = nic->config.mtu - (uint32_t)DGRAM_UD_OVERHEAD -
			     (uint32_t)sizeof(struct wire_ddp_untagged);
	uint32_t left = wqe->bytes - offset;
	bool uc = wqe->qp->type == HW_QPT_UC;
	uint32_t max;

	if (!uc && wqe->bytes <= one_frame)
		return left;
	max = dgram_segment_bytes(nic->config.mtu, false);
	/* The maximum that both ends agreed on, limited by this end's frames. */
	if (uc && max > wqe->qp->attr.path_mtu)
		max = wqe->qp->attr.path_mtu;
	return left < max ? left : max;
}

static void write_dgram(const struct fw_wqe *wqe, uint32_t offset, bool last,
			struct wire_dgram *hdr)
{
	bool record = wqe->opcode == HW_WQE_WRITE_RECORD, uc = wqe->qp->type == HW_QPT_UC;

	hdr->ver_type = (uint8_t)(WIRE_DGRAM_VERSION << 4 | (uc ? WIRE_DGRAM_UC : WIRE_DGRAM_UD));
	hdr->flags = 0;
	hdr->incarnation = be16_put(wqe->incarnation);
	hdr->dst_qpn = be32_put(wqe->dst_qpn);
	hdr->src_qpn = be32_put(wqe->qp->qpn);
	hdr->qkey = be32_put(uc ? offset : wqe->qkey);
	hdr->imm = be32_put(0);
	hdr->msg_bytes = be32_put(wqe->bytes);
	hdr->ssn = be32_put(wqe->ssn);
	if (record) {
		hdr->flags |= WIRE_DGRAM_F_RECORD;
		if (wqe->flags & HW_WQE_F_SOLICITED)
			hdr->flags |= WIRE_DGRAM_F_SOLICITED;
		hdr->imm = be32_put(offset);
	} else if ((wqe->opcode == HW_WQE_SEND_IMM || wqe->opcode == HW_WQE_WRITE_IMM) && last) {
		hdr->flags |= WIRE_DGRAM_F_IMM;
		if (wqe->opcode == HW_WQE_WRITE_IMM && wqe->flags & HW_WQE_F_SOLICITED)
			hdr->flags |= WIRE_DGRAM_F_SOLICITED;
		memcpy(&hdr->imm, &wqe->imm_inv, sizeof(hdr->imm));
	}
}

enum send_result {
	SENT,
	SEND_LATER,  /* no room */
	SEND_FAILED, /* *err has the reason */
};

/* Writes the headers of a segment. Returns their bytes after UDP and weft's. */
FW_INLINE uint32_t write_headers(struct fw_nic *nic, const struct fw_wqe *wqe, const uint8_t *mac,
				 uint32_t offset, uint32_t bytes, struct fw_tx_frame *frame)
{
	bool last = offset + bytes == wqe->bytes;
	uint32_t ddp_bytes;

	write_dgram(wqe, offset, last, (struct wire_dgram *)(frame->hdr + UDP_TX_HDR_BYTES));
	ddp_bytes = rdmap_tx_header(nic, wqe, offset, bytes, frame->hdr + UD_HDR_BYTES);
	udp_tx_header_not_ect(nic, frame, wqe->dst_ip, mac, dst_shard(wqe),
			      (uint32_t)sizeof(struct wire_dgram) + ddp_bytes + bytes +
				  WIRE_DGRAM_CRC_BYTES);
	if (wqe->hop_limit)
		set_group(nic, wqe, frame);
	return ddp_bytes;
}

/* Sends one frame: the segment [offset, offset + bytes) of the message. */
static enum send_result send_segment(struct fw_nic *nic, const struct fw_wqe *wqe,
				     const uint8_t *mac, uint32_t offset, uint32_t bytes,
				     enum hw_vendor_err *err)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	bool host = false;
	uint32_t ddp_bytes;
	int status;

	if (!frame || !eth_tx_room(nic))
		return SEND_LATER;
	ddp_bytes = write_headers(nic, wqe, mac, offset, bytes, frame);
	eth_tx_headers(frame, IP_TX_HDR_BYTES, UD_HDR_BYTES - IP_TX_HDR_BYTES + ddp_bytes,
		       FW_TX_F_CRC_BEGIN);
	if (bytes) {
		*err = wqe_gather(nic, wqe, offset, bytes, frame, &host);
		if (*err != HW_VENDOR_ERR_NONE)
			return SEND_FAILED;
	}
	frame->seg[frame->num_seg - 1].flags |= FW_TX_F_CRC_END;
	if (!host) {
		eth_tx_commit(nic, frame);
		return SENT;
	}
	/* A missing page of the process is detected when the port reads it: read it now. */
	status = eth_tx_try_now(nic, frame);
	if (status == -FW_EAGAIN)
		return SEND_LATER;
	/* The page is not available now: the datagram is lost, as it may be on a wire. */
	if (!status || status == -FW_EBUSY)
		return SENT;
	*err = HW_VENDOR_ERR_HOST_FAULT;
	return SEND_FAILED;
}

/* Counts a message of which all was sent. */
static inline void ud_tx_count(struct fw_nic *nic, const struct fw_wqe *wqe)
{
	if (wqe->qp->type == HW_QPT_UC)
		FW_COUNT(nic, uc_tx_msgs);
	else
		FW_COUNT(nic, ud_tx_msgs);
	if (wqe->hop_limit)
		FW_COUNT(nic, mcast_tx_msgs);
	fw_trace(nic, TRACE_UD_TX, wqe->qp->qpn, wqe->wr_id, wqe->ssn);
}

static bool ud_tx_send_message(struct fw_nic *nic, struct fw_wqe *wqe)
{
	enum hw_vendor_err err = HW_VENDOR_ERR_NONE;
	uint8_t mac[WIRE_MAC_BYTES];
	uint32_t sent = 0;

	switch (neigh_lookup(nic, wqe->dst_ip, mac)) {
	case NEIGH_OK:
		break;
	case NEIGH_WAIT: /* ends: ARP answers or gives up after NEIGH_TRIES */
		return false;
	case NEIGH_UNREACHABLE:
		FW_DROP(nic, drop_neigh_unresolved);
		wqe_complete(nic, wqe, HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
		return true;
	}
	do {
		uint32_t bytes = segment_bytes(nic, wqe, wqe->sent_bytes);

		if (wqe->qp->type == HW_QPT_UC && sent++ == UC_BURST)
			return false;
		switch (send_segment(nic, wqe, mac, wqe->sent_bytes, bytes, &err)) {
		case SENT:
			break;
		case SEND_LATER:
			return false;
		case SEND_FAILED:
			wqe_complete_in_order(nic, wqe, HW_STATUS_LOC_PROT_ERR, err);
			return true;
		}
		wqe->sent_bytes += bytes;
	} while (wqe->sent_bytes < wqe->bytes);
	ud_tx_count(nic, wqe);
	wqe_complete(nic, wqe, HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
	return true;
}

bool ud_tx(struct fw_nic *nic, struct fw_wqe *wqe)
{
	uint8_t stage = fw_stage_enter(nic, FW_STAGE_UD_TX);
	bool done = ud_tx_send_message(nic, wqe);

	(void)fw_stage_enter(nic, stage);
	return done;
}

/* ud_tx() continues an unfinished request when the QP is served again. */
static bool ud_tx_send(struct fw_nic *nic, struct fw_wqe *wqe)
{
	(void)ud_tx(nic, wqe);
	return true;
}

static_assert(UD_HDR_BYTES + sizeof(struct wire_ddp_untagged) + LLP_NOW_BYTES <= FW_TX_HDR_BYTES &&
		  LLP_NOW_BYTES + sizeof(struct wire_ddp_untagged) + DGRAM_UD_OVERHEAD <=
		      HW_MIN_MTU,
	      "data fit behind the headers, and into each frame");
static_assert(sizeof(struct wire_ddp_tagged) <= sizeof(struct wire_ddp_untagged), "likewise");

/* The data are copied behind the headers: the frame needs no memory of the process. */
static bool ud_tx_now(struct fw_nic *nic, const struct fw_wqe *wqe, const uint8_t *data)
{
	uint8_t stage = fw_stage_enter(nic, FW_STAGE_UD_TX);
	uint8_t mac[WIRE_MAC_BYTES];
	struct fw_tx_frame *frame = NULL;
	uint32_t ddp_bytes;

	if (neigh_lookup(nic, wqe->dst_ip, mac) == NEIGH_OK)
		frame = eth_tx_begin(nic);
	if (frame && eth_tx_room(nic)) {
		ddp_bytes = write_headers(nic, wqe, mac, 0, wqe->bytes, frame);
		if (wqe->bytes)
			memcpy(frame->hdr + UD_HDR_BYTES + ddp_bytes, data, wqe->bytes);
		eth_tx_headers(frame, IP_TX_HDR_BYTES,
			       UD_HDR_BYTES - IP_TX_HDR_BYTES + ddp_bytes + wqe->bytes,
			       FW_TX_F_CRC_BEGIN | FW_TX_F_CRC_END);
		eth_tx_commit_hdr(nic, frame, WIRE_DGRAM_CRC_BYTES);
		ud_tx_count(nic, wqe);
	} else {
		frame = NULL;
	}
	(void)fw_stage_enter(nic, stage);
	return frame;
}

const struct llp_ops ud_llp_ops = {
    .send_imm = true,
    .send = ud_tx_send,
    .send_now = ud_tx_now,
    .resume = ud_tx,
    .flush_receives = ud_flush_step,
};

const struct llp_ops uc_llp_ops = {
    .send_imm = true,
    .send = ud_tx_send,
    .send_now = ud_tx_now,
    .resume = ud_tx,
};

bool ud_rate_limit(uint64_t now_ns, uint64_t *last_ns, uint32_t *spent)
{
	uint64_t regained = (now_ns - *last_ns) / UD_ERROR_INTERVAL_NS;

	if (regained >= *spent) {
		*spent = 0;
		*last_ns = now_ns;
	} else {
		*spent -= (uint32_t)regained;
		*last_ns += regained * UD_ERROR_INTERVAL_NS;
	}
	if (*spent >= UD_ERROR_BURST)
		return false;
	++*spent;
	return true;
}

void ud_tx_error(struct fw_nic *nic, const struct fw_qp *qp, const struct rdmap_seg *pkt,
		 uint8_t layer_etype, uint8_t code)
{
	const struct wire_eth *eth = (const void *)pkt->frame->seg[0].data;
	struct fw_tx_frame *frame;
	uint8_t *at;
	struct wire_terminate term = {.layer_etype = layer_etype, .code = code};
	struct wire_ddp_untagged ddp = {
	    .ddp_ctrl = WIRE_DDP_LAST | WIRE_DDP_VERSION,
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_TERMINATE,
	    .qn = be32_put(WIRE_QN_TERMINATE),
	    .msn = be32_put(pkt->ssn),
	};
	struct wire_dgram hdr = {
	    .ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_UD,
	    .dst_qpn = be32_put(pkt->src_qpn),
	    .src_qpn = be32_put(qp->qpn),
	    .qkey = be32_put(pkt->qkey),
	    .imm = be32_put(pkt->ssn),
	    .msg_bytes = be32_put(sizeof(term)),
	    .ssn = be32_put(pkt->ssn),
	};
	uint32_t bytes = sizeof(hdr) + sizeof(ddp) + sizeof(term);

	/*
	 * An error message is never answered with one, nor a datagram to a group (RFC 1122 3.2.2),
	 * nor one that uses the address of another station.
	 */
	if (pkt->opcode == WIRE_RDMAP_TERMINATE || pkt->hdr->group ||
	    neigh_source(nic, pkt->src_ip, eth->src) != NEIGH_SOURCE_RIGHT ||
	    !ud_rate_limit(nic->now_ns, &nic->ud.error_ns, &nic->ud.error_tokens))
		return;
	frame = eth_tx_begin(nic);
	if (!frame)
		return;
	udp_tx_header_not_ect(nic, frame, pkt->src_ip, eth->src, pkt->src_shard,
			      bytes + WIRE_DGRAM_CRC_BYTES);
	at = frame->hdr + UDP_TX_HDR_BYTES;
	memcpy(at, &hdr, sizeof(hdr));
	memcpy(at + sizeof(hdr), &ddp, sizeof(ddp));
	memcpy(at + sizeof(hdr) + sizeof(ddp), &term, sizeof(term));
	eth_tx_headers(frame, IP_TX_HDR_BYTES, (uint32_t)sizeof(struct wire_udp) + bytes,
		       FW_TX_F_CRC_BEGIN | FW_TX_F_CRC_END);
	eth_tx_commit(nic, frame);
	FW_COUNT(nic, ud_errors_tx);
}
