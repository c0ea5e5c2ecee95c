/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The top of the ladder: a process that answers each datagram with its first bytes. Runs in a child
 * of its own; calls libweft.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/weft-bench/end.h"
#include "tools/weft-bench/ladder_frame.h"
#include "tools/weft-bench/ladder_host.h"

enum {
	HOST_RECEIVES = 16,
	HOST_SLOT_BYTES = 128, /* GRH and payload */
	HOST_GRH_BYTES = 40,
};

struct host {
	struct end end;
	struct weft_qp *qp;
	struct weft_ah *ah;
	struct end_mem mem;
};

static int post_receive(struct host *h, uint64_t slot)
{
	struct weft_sge sge = {.addr = (uintptr_t)(h->mem.p + slot * HOST_SLOT_BYTES),
			       .bytes = HOST_SLOT_BYTES,
			       .lkey = h->mem.mr->lkey};
	struct weft_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};

	return weft_post_recv(h->qp, &wr, NULL);
}

static int open_host(struct host *h, const char *device, uint32_t peer_ip)
{
	struct weft_av av = weft_av_ip(peer_ip);
	struct weft_qp_init_attr init = {.type = WEFT_QPT_UD,
					 .cap = {.max_send_wr = 2 * HOST_RECEIVES,
						 .max_recv_wr = HOST_RECEIVES,
						 .max_send_sge = 1,
						 .max_recv_sge = 1,
						 .max_inline_bytes = LADDER_PAYLOAD}};
	int rc;

	if (end_open(&h->end, device) || end_open_cq(&h->end, 4 * HOST_RECEIVES, false) ||
	    !(h->qp = end_qp(&h->end, &init)) ||
	    end_mem_open(&h->end, &h->mem, END_MEM_WEFT, HOST_RECEIVES * HOST_SLOT_BYTES,
			 WEFT_ACCESS_LOCAL_WRITE))
		return -1;
	h->ah = weft_create_ah(h->end.pd, &av);
	if (!h->ah)
		return fail("a process that answers: %s", strerror(errno));
	rc = weft_activate_qp(h->qp, BENCH_QKEY, 0);
	for (uint64_t i = 0; !rc && i < HOST_RECEIVES; i++)
		rc = post_receive(h, i);
	return rc ? fail("a process that answers: %s", strerror(-rc)) : 0;
}

static int answer(struct host *h, uint64_t slot)
{
	struct weft_sge sge = {.addr =
				   (uintptr_t)(h->mem.p + slot * HOST_SLOT_BYTES + HOST_GRH_BYTES),
			       .bytes = LADDER_PAYLOAD,
			       .lkey = h->mem.mr->lkey};
	struct weft_send_wr wr = {.opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED | WEFT_SEND_INLINE,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .ah = h->ah,
				  .dst_qpn = LADDER_QPN,
				  .qkey = BENCH_QKEY};
	int rc = weft_post_send(h->qp, &wr, NULL);

	return rc ? rc : post_receive(h, slot);
}

int ladder_host(const char *device, uint32_t peer_ip, int qpn_fd)
{
	struct host h = {0};
	struct weft_wc wc[8];
	int n = 0, rc = open_host(&h, device, peer_ip);

	if (!rc && write(qpn_fd, &h.qp->qpn, sizeof(h.qp->qpn)) != sizeof(h.qp->qpn))
		rc = fail("a process that answers: %s", strerror(errno));
	/* Runs until it is killed. */
	while (!rc && (n = weft_poll_cq(h.end.cq, 8, wc)) >= 0) {
		for (int i = 0; !rc && i < n; i++) {
			if (wc[i].status != WEFT_WC_SUCCESS)
				rc = fail("a process that answers: a request failed: %s",
					  weft_wc_status_str(wc[i].status));
			else if (wc[i].opcode == WEFT_WC_RECV)
				rc = answer(&h, wc[i].wr_id);
		}
	}
	if (n < 0)
		rc = fail("a process that answers: %s", strerror(-n));
	end_close(&h.end);
	return rc ? BENCH_FAILED : BENCH_OK;
}
