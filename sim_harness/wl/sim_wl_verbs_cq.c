/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": a completion queue that overruns.
 *
 * A private QP completes more requests than its CQ holds, without polling. The entries written
 * until then must stay unchanged, and the QP must enter its error state (IBA 10.2.9.3,
 * docs/host-interface.md, "Completion queues"). Calls libweft.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <errno.h>
#include <string.h>

enum {
	TOO_MANY = 3,
	MAX_ENTRIES = 16,
	NO_SUCH_INDEX = 0xfff1,
	WAITS = 2000,
	FIRST_WR_ID = 7000,
};
#define WAIT_NS UINT64_C(10000)

static void fail(struct wv_proc *proc, const char *what, int rc)
{
	wv_fail(proc->wv, "cq: weft%u process %u: a CQ that overruns: %s: %d",
		sim_nic_index(proc->nic), proc->slot, what, rc);
}

/* Posts datagrams to an unused address: they complete when sent. */
static int fill(struct wv_proc *proc, struct weft_qp *qp, uint32_t n)
{
	struct weft_send_wr wr = {.opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED,
				  .ah = proc->ah[0],
				  .dst_qpn = (qp->qpn & ~0xffffu) | NO_SUCH_INDEX};
	uint32_t i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		wr.wr_id = FIRST_WR_ID + i;
		rc = weft_post_send(qp, &wr, NULL);
	}
	return rc;
}

static bool is_in_error(struct wv_proc *proc, struct weft_qp *qp)
{
	struct weft_qp_attr attr;
	uint32_t waits;

	for (waits = 0; waits < WAITS; waits++) {
		if (weft_query_qp(qp, &attr, NULL))
			return false;
		if (attr.state == WEFT_QPS_ERR)
			return true;
		sim_run_for(proc->wv->sim, WAIT_NS);
	}
	return false;
}

static void check(struct wv_proc *proc, struct weft_cq *cq, struct weft_qp *qp, uint32_t entries)
{
	struct wv_events odd = {.cq = cq, .qp = qp};
	struct weft_wc wc[MAX_ENTRIES + TOO_MANY];
	uint32_t i;
	int n;

	if (!is_in_error(proc, qp)) {
		fail(proc, "its QP did not go to ERR", (int)entries);
		return;
	}
	wv_take_events(proc, &odd);
	if (!wv_failed(proc->wv) && (odd.cq_err != 1 || odd.qp_fatal != 1)) {
		fail(proc, "its events", (int)(odd.cq_err + odd.qp_fatal));
		return;
	}
	n = weft_poll_cq(cq, (int)(entries + TOO_MANY), wc);
	if (n != (int)entries) {
		fail(proc, "number of completions", n);
		return;
	}
	for (i = 0; i < entries; i++) {
		if (wc[i].wr_id != FIRST_WR_ID + i || wc[i].status != WEFT_WC_SUCCESS ||
		    wc[i].qpn != qp->qpn)
			fail(proc, "a completion was written over, or is wrong", (int)i);
	}
}

void wv_overrun(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	struct weft_qp_init_attr init = {.type = WEFT_QPT_UD};
	uint32_t entries = 1u << wv_below(wv, 5);
	struct weft_cq *cq = weft_create_cq(proc->context, entries, NULL, NULL);
	struct weft_qp *qp;
	int rc;

	if (!cq) {
		fail(proc, "creating it", errno);
		return;
	}
	init.send_cq = init.recv_cq = cq;
	init.cap.max_send_wr = MAX_ENTRIES + TOO_MANY;
	qp = cq->entries == entries ? weft_create_qp(proc->pd[0], &init) : NULL;
	if (!qp) {
		fail(proc, "creating its QP", errno);
		return;
	}
	rc = weft_activate_qp(qp, 1, 0);
	if (!rc)
		rc = fill(proc, qp, entries + wv_range(wv, 1, TOO_MANY));
	if (rc)
		fail(proc, "filling it", rc);
	else
		check(proc, cq, qp, entries);
	rc = weft_destroy_qp(qp);
	if (!rc)
		rc = weft_destroy_cq(cq);
	if (rc && !wv_failed(wv))
		fail(proc, "destroying it", rc);
}
