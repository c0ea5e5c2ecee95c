/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": completions, and the effects of a request's end on memory.
 *
 * Polls a process's CQs, those with events only after an event, passes each completion to the
 * model, and settles the memory that the request held. Calls libweft, sim_model*.c,
 * sim_wl_verbs_mem.c and sim_wl_verbs_recv.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	POLL_AT_ONCE = 16,
};

static void count(struct wv *wv, const struct wv_op *op)
{
	static const enum sim_op ops[] = {
	    [WEFT_WR_SEND] = SIM_OP_SEND,           [WEFT_WR_SEND_IMM] = SIM_OP_SEND_IMM,
	    [WEFT_WR_SEND_INV] = SIM_OP_SEND,       [WEFT_WR_WRITE] = SIM_OP_WRITE,
	    [WEFT_WR_WRITE_IMM] = SIM_OP_WRITE_IMM, [WEFT_WR_READ] = SIM_OP_READ,
	    [WEFT_WR_FETCH_ADD] = SIM_OP_FETCH_ADD, [WEFT_WR_CMP_SWAP] = SIM_OP_CMP_SWAP,
	};

	if ((uint32_t)op->m.opcode < sizeof(ops) / sizeof(ops[0]))
		wv->run->done[ops[op->m.opcode]]++;
	wv->run->bytes += op->m.bytes;
}

/* A request to a restarted NIC succeeded: its session is the new one. */
static void confirm(struct wv *wv, const struct wv_op *op)
{
	if (!op->m.dst || op->dst->proc->dead || op->qp->model.type == WEFT_QPT_UD || op->qp->esp)
		return;
	*wv_known_generation(op->qp, op->dst) =
	    wv->nic_generation[sim_nic_index(op->dst->proc->nic)];
}

/*
 * Returns true if the Write that a Read reads back may still turn out to have failed locally
 * because its memory was deregistered. Over RD such a failure waits for the whole queue, but its
 * flow does not wait for it.
 */
static bool is_writer_open(const struct wv_op *op)
{
	return op->writer && !op->writer->m.done && op->qp->model.type == WEFT_QPT_RD &&
	       op->writer->m.allowed & SIM_LOCAL_FAULTS;
}

/*
 * Records that such a Read returned other bytes than the Write wrote. This can be judged only after
 * the Write has ended, and the Read's sink is reused earlier.
 */
static void note_unlike(struct wv_op *op, const struct sim_hold *hold, uint32_t at)
{
	if (memcmp(wv_memory(op->proc, hold), op->data + at, hold->bytes) != 0)
		op->unlike = true;
}

static void judge_reader(struct wv *wv, const struct wv_op *op)
{
	if (op->reader && op->reader->unlike)
		wv_fail(wv,
			"shadow: request %" PRIu64 " of QP 0x%x did not bring what request %" PRIu64
			" before it wrote, which succeeded",
			op->reader->m.wr_id, op->qp->model.qpn, op->m.wr_id);
}

static void end_local(struct wv *wv, struct wv_op *op, bool success)
{
	bool sink = op->m.opcode == WEFT_WR_READ || op->word || op->counter;
	bool open = success && is_writer_open(op);
	bool exact = success && sink && !op->counter && !op->writer_failed && !open &&
		     !(op->word && op->word->uncertain);
	uint32_t i;

	for (i = 0; i < op->num_local; i++) {
		struct sim_hold *hold = op->local[i];

		op->local[i] = NULL;
		if (!hold)
			continue;
		if (hold->kind == SIM_HOLD_READ)
			sim_shadow_release(hold);
		else if (exact)
			wv_settle(wv, hold, op->data + op->local_at[i], "what a request brought",
				  op);
		else {
			if (success && op->counter)
				memcpy(op->data + op->local_at[i], wv_memory(op->proc, hold),
				       hold->bytes);
			if (open)
				note_unlike(op, hold, op->local_at[i]);
			/* Its value depends on the results of earlier requests. */
			if (op->word || op->writer_failed || open)
				hold->kind = SIM_HOLD_ANY;
			wv_adopt(wv, hold, "the sink of a request that failed", op);
		}
	}
}

/* Ends the hold on the remote range of a Write or a Read. */
static void end_remote(struct wv *wv, struct wv_op *op, bool success)
{
	struct sim_hold *hold = op->remote;

	if (!hold)
		return;
	if (hold->kind == SIM_HOLD_READ) {
		sim_shadow_release(hold);
		op->remote = NULL;
	} else if (success && op->reader && !op->reader->m.done) {
		wv_written(wv, op);
	} else if (success) {
		wv_settle(wv, hold, op->data, "what a Write wrote", op);
		op->remote = NULL;
	} else if (op->dst && op->dst->state == WV_GONE) {
		wv_adopt(wv, hold, "the target of a Write that failed", op);
		op->remote = NULL;
	}
	/* Otherwise it stays: late packets may still arrive. */
}

void wv_ended(void *ctx, struct sim_model_send *send)
{
	struct wv *wv = ctx;
	struct wv_op *op = wv_op_of(send);
	bool success = !send->dropped && send->status == WEFT_WC_SUCCESS;

	wv->progress = true;
	op->qp->scq->used--;
	if (op->word && !success)
		op->word->uncertain = true;
	wv_key_ended(op, success);
	end_local(wv, op, success);
	end_remote(wv, op, success);
	if (op->word)
		wv_word_done(op, success);
	if (op->counter)
		wv_counter_done(op, success);
	if (!success && op->reader)
		op->reader->writer_failed = true;
	if (success) {
		judge_reader(wv, op);
		count(wv, op);
		confirm(wv, op);
	}
	if (op->writer)
		wv_op_tidy(op->writer);
	wv_op_tidy(op);
}

static struct wv_qp *find_qp(const struct wv_proc *proc, uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < proc->num_qp; i++) {
		if (proc->qp[i]->model.qpn == qpn)
			return proc->qp[i];
	}
	return NULL;
}

/* Derives the QP's state from the failure of a request. */
static void note_failure(struct wv_qp *qp, const struct wv_op *op, const struct weft_wc *wc)
{
	if (wc->status == WEFT_WC_SUCCESS)
		return;
	if (qp->model.type == WEFT_QPT_RC) {
		wv_qp_failed(qp, WEFT_QPS_ERR);
		wv_rc_broken(qp);
	} else if (SIM_LOCAL_FAULTS >> wc->status & 1) {
		wv_qp_failed(qp, WEFT_QPS_SQE);
	}
	(void)op;
}

static void one(struct wv_proc *proc, const struct weft_wc *wc)
{
	struct wv *wv = proc->wv;
	struct wv_qp *qp = find_qp(proc, wc->qpn);
	bool is_recv = wc->wr_id & 1;
	uint64_t n = wc->wr_id >> 1;

	if (!qp || n >= wv->num_ids || is_recv != (wc->opcode >= WEFT_WC_RECV)) {
		wv_fail(wv,
			"completion: weft%u process %u: of nothing that was posted: wr_id %" PRIu64
			", QP 0x%x, %s",
			sim_nic_index(proc->nic), proc->slot, wc->wr_id, wc->qpn,
			weft_wc_opcode_str(wc->opcode));
		return;
	}
	if (is_recv) {
		struct wv_recv *recv = wv->ids[n];

		wv_received(qp, recv, wc);
		if (wc->status != WEFT_WC_SUCCESS && qp->model.type == WEFT_QPT_RC) {
			wv_qp_failed(qp, WEFT_QPS_ERR);
			wv_rc_broken(qp);
		}
		return;
	}
	if (!sim_model_send_wc(&wv->model, &qp->model, &((struct wv_op *)wv->ids[n])->m, wc)) {
		wv_fail(wv, "%s", wv->model.why);
		return;
	}
	note_failure(qp, wv->ids[n], wc);
}

void wv_poll_cq(struct wv_proc *proc, struct wv_cq *cq)
{
	struct wv *wv = proc->wv;
	struct weft_wc wc[POLL_AT_ONCE];
	uint32_t seen = 0;
	int n, i;

	do {
		n = weft_poll_cq(cq->cq, (int)wv_range(wv, 1, POLL_AT_ONCE), wc);
		for (i = 0; i < n && !wv_failed(wv); i++)
			one(proc, &wc[i]);
		seen += n > 0 ? (uint32_t)n : 0;
	} while (n > 0 && !wv_failed(wv));
	if (n < 0)
		wv_fail(wv, "call: polling a CQ: %s", strerror(-n));
	if (seen)
		wv->progress = true;
}

/*
 * With events: polls only after an event, and does not poll after arming, so that a completion
 * whose event is lost is never found. In every second case the process pauses between the last poll
 * and arming, and completions arrive in between.
 */
static void poll_events(struct wv_proc *proc, struct wv_cq *cq)
{
	struct weft_cq *got = NULL;

	if (cq->armed) {
		if (!cq->interrupted)
			return;
		cq->interrupted = false;
		if (weft_get_cq_event(cq->channel, &got, NULL) || got != cq->cq) {
			wv_fail(proc->wv, "event: weft%u process %u: an interrupt without event",
				sim_nic_index(proc->nic), proc->slot);
			return;
		}
		weft_ack_cq_events(got, 1);
		cq->armed = false;
	}
	if (!cq->polled) {
		wv_poll_cq(proc, cq);
		cq->polled = cq->num_arms++ % 2;
		if (cq->polled)
			return;
	}
	cq->polled = false;
	if (weft_req_notify_cq(cq->cq, false))
		wv_fail(proc->wv, "call: arming a CQ failed");
	cq->armed = true;
}

void wv_poll(struct wv_proc *proc)
{
	uint32_t i;

	for (i = 0; i < WV_CQS && !wv_failed(proc->wv); i++) {
		if (proc->cq[i].channel)
			poll_events(proc, &proc->cq[i]);
		else
			wv_poll_cq(proc, &proc->cq[i]);
	}
}
