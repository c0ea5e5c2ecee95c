/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The payload of a message: SGEs, inline data, and the sinks of reads.
 *
 * Runs for every packet, retransmissions included: each SGE's STag is checked again, so memory that
 * was deregistered meanwhile is never sent. Calls mem.c.
 */
#include "nic_fw/fw_nic.h"

const struct hw_sge *wqe_sge_ext(const struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t i)
{
	const struct fw_wqe_ext *ext = fw_pool_at(&nic->host.wqe_exts, wqe->ext);

	return &ext->sge[i - FW_WQE_SGES];
}

/* Inline data lies in the send queue's ring and may wrap at its end. */
static void gather_inline(const struct fw_wqe *wqe, uint32_t offset, uint32_t bytes,
			  struct fw_tx_frame *frame)
{
	const struct fw_qp *qp = wqe->qp;
	uint64_t ring_bytes = ((uint64_t)qp->sq_mask + 1) * HW_SQ_SLOT_BYTES;
	uint64_t at =
	    ((uint64_t)((wqe->sq_slot + 1) & qp->sq_mask) * HW_SQ_SLOT_BYTES + offset) % ring_bytes;

	while (bytes) {
		uint32_t n = bytes;

		if (n > ring_bytes - at)
			n = (uint32_t)(ring_bytes - at);
		frame->seg[frame->num_seg++] = (struct fw_tx_seg){
		    .mem = qp->sq_ring + at,
		    .client = qp->client,
		    .bytes = n,
		    .kind = FW_TX_MEM,
		};
		frame->bytes += n;
		bytes -= n;
		at = 0;
	}
}

const uint8_t *wqe_data(struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t bytes)
{
	const struct hw_sge *sge = &wqe->sge[0];
	struct fw_mem mem;

	if (wqe->flags & HW_WQE_F_INLINE || wqe->num_sge != 1 || bytes > sge->bytes ||
	    wqe->kind == FW_WQE_READ_RESPONSE ||
	    mem_check(nic, xrc_pd(nic, wqe->qp, wqe->qkey), wqe->qp->qpn, sge->lkey, sge->addr,
		      bytes, 0, &mem) != HW_VENDOR_ERR_NONE)
		return NULL;
	return mem.ptr;
}

enum hw_vendor_err wqe_gather(struct fw_nic *nic, const struct fw_wqe *wqe, uint32_t offset,
			      uint32_t bytes, struct fw_tx_frame *frame, bool *host)
{
	/* The source of a tagged message was named by the process itself. */
	uint32_t need =
	    wqe->kind == FW_WQE_READ_RESPONSE && !wqe->tag_handle ? HW_ACCESS_REMOTE_READ : 0;
	uint32_t pd = xrc_pd(nic, wqe->qp, wqe->qkey);
	uint32_t i;

	if (__builtin_expect(wqe->tag_kind, 0))
		offset -= (uint32_t)sizeof(struct wire_tag);
	if (wqe->flags & HW_WQE_F_INLINE) {
		gather_inline(wqe, offset, bytes, frame);
		return HW_VENDOR_ERR_NONE;
	}
	if (__builtin_expect(wqe->tag_handle && wqe->kind == FW_WQE_READ_RESPONSE && !wqe->num_sge,
			     0))
		return host_up.tag_gather(nic, wqe, offset, bytes, frame);
	for (i = 0; bytes && i < wqe->num_sge; i++) {
		const struct hw_sge *sge = wqe_sge(nic, wqe, i);
		struct fw_tx_seg *seg = &frame->seg[frame->num_seg];
		struct fw_mem mem;
		enum hw_vendor_err err;
		uint32_t n;

		if (offset >= sge->bytes) {
			offset -= sge->bytes;
			continue;
		}
		n = sge->bytes - offset;
		if (n > bytes)
			n = bytes;
		err =
		    mem_check(nic, pd, wqe->qp->qpn, sge->lkey, sge->addr + offset, n, need, &mem);
		if (err != HW_VENDOR_ERR_NONE)
			return err;
		assert(frame->num_seg < FW_TX_SEGS_MAX);
		*seg = (struct fw_tx_seg){
		    .mem = mem.ptr,
		    .addr = mem.addr,
		    .bytes = n,
		    .client = (uint16_t)mem.client,
		    .kind = mem.ptr ? FW_TX_MEM : FW_TX_HOST,
		};
		if (!mem.ptr)
			*host = true;
		frame->num_seg++;
		frame->bytes += n;
		bytes -= n;
		offset = 0;
	}
	return bytes ? HW_VENDOR_ERR_BOUNDS : HW_VENDOR_ERR_NONE;
}

enum {
	SINK_TAGS = 1 << (31 - FW_WQE_SINK_BITS),
};
static_assert(FW_MAX_WQES <= 1 << FW_WQE_SINK_BITS, "a context's number fits into an STag");

/*
 * The tag differs from that of the previous life: a response that comes too late names no request.
 */
void wqe_sink_draw(const struct fw_nic *nic, struct fw_wqe *wqe)
{
	uint32_t random = (uint32_t)(nic->port.random64(nic->port.ctx) >> 32);
	uint32_t step = 1 + random % (SINK_TAGS - 1);

	wqe->sink_tag = (uint16_t)((wqe->sink_tag + step) % SINK_TAGS);
}

/* Consists of the flag, the tag, and the context's number. */
uint32_t wqe_sink_stag(const struct fw_nic *nic, const struct fw_wqe *wqe)
{
	return STAG_SINK_FLAG | (uint32_t)wqe->sink_tag << FW_WQE_SINK_BITS |
	       fw_pool_index(&nic->host.wqes, wqe);
}

struct fw_wqe *wqe_from_sink(struct fw_nic *nic, const struct fw_qp *qp,
			     const struct rdmap_seg *pkt, uint32_t stag)
{
	uint32_t index = stag & ((1u << FW_WQE_SINK_BITS) - 1);
	struct fw_wqe *wqe;

	/* A queue that is being flushed waits for no response any more. */
	if (!(stag & STAG_SINK_FLAG) || index >= nic->host.wqes.high || qp->flushing)
		return NULL;
	wqe = fw_pool_at(&nic->host.wqes, index);
	/* A free context is DONE or in no flow: only its first word is the pool's. */
	if (wqe->qp != qp || !wqe_is_request(wqe) || wqe->state == FW_WQE_DONE ||
	    !wqe_is_under_way(wqe) || wqe->answered || wqe_sink_stag(nic, wqe) != stag ||
	    wqe->ssn != pkt->ssn)
		return NULL;
	/* Other peers may send to the QP, too: they cannot answer a request to this one. */
	if (qp->type == HW_QPT_RD && (wqe->dst_ip != pkt->src_ip || wqe->dst_qpn != pkt->src_qpn))
		return NULL;
	return wqe;
}
