/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polling: ibv_poll_cq(), and the operations of an ibv_cq_ex behind ibv_start_poll() and
 * ibv_wc_read_*().
 *
 * Statuses and opcodes of libweft have the numbers of verbs. Calls weft_poll.c.
 */
#include <errno.h>
#include <time.h>

#include "host_driver/verbs/vb.h"
#include "lib/clock.h"

static_assert((int)WEFT_WC_RESP_TIMEOUT_ERR == IBV_WC_RESP_TIMEOUT_ERR, "");
static_assert((int)WEFT_WC_WR_FLUSH_ERR == IBV_WC_WR_FLUSH_ERR, "");
static_assert((int)WEFT_WC_LOCAL_INV == IBV_WC_LOCAL_INV, "");
static_assert((int)WEFT_WC_RECV_WRITE_IMM == IBV_WC_RECV_RDMA_WITH_IMM, "");

static unsigned int flags_of(const struct weft_wc *w)
{
	return (w->flags & WEFT_WC_F_GRH ? IBV_WC_GRH : 0) |
	       (w->flags & WEFT_WC_F_IMM ? IBV_WC_WITH_IMM : 0) |
	       (w->flags & WEFT_WC_F_INV ? IBV_WC_WITH_INV : 0);
}

enum {
	/*
	 * Header type of a datagram: IPv4 (2) followed by UDP (8). RoCE devices report it in the
	 * service level, which Ethernet does not use (IBA annex A17.4.5.1: a flag in the
	 * completion). UCX's ud_verbs drops datagrams without it.
	 */
	SL_IPV4_UDP = 0x8 | 0x2,
};

static uint8_t sl_of(const struct weft_wc *w)
{
	return w->flags & WEFT_WC_F_GRH ? SL_IPV4_UDP : 0;
}

static void to_wc(const struct weft_wc *w, struct ibv_wc *wc)
{
	*wc = (struct ibv_wc){
	    .wr_id = w->wr_id,
	    .status = (enum ibv_wc_status)w->status,
	    .opcode = (enum ibv_wc_opcode)w->opcode,
	    .vendor_err = w->vendor_err,
	    .byte_len = w->bytes,
	    .qp_num = w->qpn,
	    .src_qp = w->src_qpn,
	    .wc_flags = flags_of(w),
	    .sl = sl_of(w),
	};
	if (w->flags & WEFT_WC_F_INV)
		wc->invalidated_rkey = w->inv_stag;
	else
		wc->imm_data = w->imm;
}

int vb_poll_cq(struct ibv_cq *ibv, int num_entries, struct ibv_wc *wc)
{
	struct weft_cq *cq = vb_cq_of(ibv)->weft;
	struct weft_wc w[VB_POLL_BATCH];
	int got = 0;

	while (got < num_entries) {
		int want = num_entries - got < VB_POLL_BATCH ? num_entries - got : VB_POLL_BATCH;
		int n = weft_poll_cq(cq, want, w);

		if (n < 0)
			return got ? got : n;
		for (int i = 0; i < n; i++)
			to_wc(&w[i], &wc[got + i]);
		got += n;
		if (n < want)
			break;
	}
	return got;
}

/* ---- ibv_cq_ex ----------------------------------------------------------------------------- */

static struct vb_cq *ex_of(struct ibv_cq_ex *ex)
{
	return VB_OF(ex, struct vb_cq, ex);
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct vb_cq *cq = ex_of(ex);
	int n = weft_poll_cq(cq->weft, 1, &cq->wc);

	if (n == 0)
		return ENOENT;
	if (n < 0)
		return -n;
	ex->wr_id = cq->wc.wr_id;
	ex->status = (enum ibv_wc_status)cq->wc.status;
	return 0;
}

/*
 * The lock is held until end_poll() only when a completion was found: after ENOENT there is no
 * end_poll().
 */
static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct vb_cq *cq = ex_of(ex);
	int rc;

	if (attr->comp_mask)
		return EINVAL;
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->poll_lock);
	rc = next_poll(ex);
	if (rc && !cq->single_threaded)
		pthread_mutex_unlock(&cq->poll_lock);
	return rc;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct vb_cq *cq = ex_of(ex);

	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->poll_lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)ex_of(ex)->wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return ex_of(ex)->wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return ex_of(ex)->wc.bytes;
}

/* ibv_wc_read_invalidated_rkey() calls it too. */
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	const struct weft_wc *w = &ex_of(ex)->wc;

	return w->flags & WEFT_WC_F_INV ? w->inv_stag : w->imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return ex_of(ex)->wc.qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return ex_of(ex)->wc.src_qpn;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return flags_of(&ex_of(ex)->wc);
}

/* Ethernet has no LIDs. VLAN tags are not delivered. */
static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return sl_of(&ex_of(ex)->wc);
}

static uint8_t read_none(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return ex_of(ex)->wc.timestamp_ns;
}

static uint64_t read_wallclock(struct ibv_cq_ex *ex)
{
	return ex_of(ex)->wc.timestamp_ns + clock_read_ns(CLOCK_REALTIME) - clock_now_ns();
}

static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	(void)ex;
	*info = (struct ibv_wc_tm_info){0};
}

void vb_poll_fill_ex(struct vb_cq *cq)
{
	struct ibv_cq_ex *ex = &cq->ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_none;
	ex->read_completion_ts = read_completion_ts;
	ex->read_cvlan = read_cvlan;
	ex->read_flow_tag = read_slid;
	ex->read_tm_info = read_tm_info;
	ex->read_completion_wallclock_ns = read_wallclock;
}
