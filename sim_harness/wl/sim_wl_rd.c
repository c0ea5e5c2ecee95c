/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads rd_mix and rd_send: reliable datagrams with all operations, checking every byte.
 *
 * Each process has a memory window for each of the peers that write to it. Each writer keeps a
 * shadow of the window's expected content: it is the only writer there and has one operation at a
 * time per slot. Reads and atomics are compared with the shadow. Two-sided messages contain a
 * number per pair (to check order, losses and duplicates) and a pattern. At the end all windows are
 * compared with all shadows. Half of the processes poll, the others sleep until completion events;
 * half of them have memory that the NIC has not mapped.
 */
#include "sim_harness/wl/sim_wl_actor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	RD_PEERS = 4, /* number of processes to which each one writes */
	RD_SLOTS = 4, /* per window; one operation at a time in each */
	RD_SLOT_BYTES = 24576,
	RD_WINDOW_BYTES = RD_SLOTS * RD_SLOT_BYTES,
	RD_RECVS = 16,
	RD_WR_RECV = 1000, /* wr_id of the first receive */
	RD_SGES = 16,
	RD_INLINE_BYTES = 256,
	RD_BEFORE = 0xee,
	RD_LATER = RD_SLOTS + 1, /* messages of a flow that may be under way */
	RD_STALE = 0xdd,         /* what was sent is overwritten: a NIC must not read it again */
};

struct rd_op {
	bool busy;
	enum sim_op kind;
	uint32_t bytes;
	uint32_t at; /* offset in the slot */
	uint64_t add, compare, swap;
};

/* State of an initiator for one peer. */
struct rd_target {
	uint32_t index; /* index of the peer */
	struct weft_ah *ah;
	uint8_t *shadow; /* RD_WINDOW_BYTES */
	uint32_t seq;    /* two-sided messages posted */
	struct rd_op op[RD_SLOTS];
};

struct rd_actor {
	struct sim_run *run;
	struct sim_end end;
	uint32_t index;
	uint32_t num_targets;
	bool events;
	bool trusts_events; /* does not poll again after arming */
	bool stepping;
	bool step_due;
	struct rd_target target[RD_PEERS];
	uint32_t expect[RD_PEERS]; /* next number from the d-th initiator */
	struct sim_prng prng;
	uint32_t under_way;
};

struct rd_state {
	bool sends_only;
	uint32_t num;
	struct rd_actor *actors;
};

/* Layout of a process's buffer. */
static size_t window_offset(uint32_t d)
{
	return (size_t)d * RD_WINDOW_BYTES;
}

static size_t stage_offset(uint32_t t, uint32_t slot)
{
	return window_offset(RD_PEERS) + (size_t)(t * RD_SLOTS + slot) * RD_SLOT_BYTES;
}

static size_t recv_offset(uint32_t r)
{
	return stage_offset(RD_PEERS, 0) + (size_t)r * RD_SLOT_BYTES;
}

/* A request under construction. */
struct rd_post {
	struct weft_send_wr wr;
	struct weft_sge sge[RD_SGES];
};

/* Divides [offset, offset + bytes) into a random number of SGEs, including empty ones. */
static void make_sges(struct rd_actor *a, struct rd_post *post, size_t offset, uint32_t bytes)
{
	uint32_t n = sim_prng_below(&a->prng, 4) ? 1 : (uint32_t)sim_prng_range(&a->prng, 1, 16);
	bool empty = !bytes;
	uint32_t rest = bytes, i, piece;

	for (i = 0; i < n; i++, offset += piece, rest -= piece) {
		piece = i + 1 == n ? rest : (uint32_t)sim_prng_below(&a->prng, rest + 1);
		post->sge[i] = sim_end_sge(&a->end, offset, piece);
	}
	post->wr.num_sge = !empty || n > 1 ? n : (uint32_t)sim_prng_below(&a->prng, 2);
}

static enum sim_op draw_kind(struct rd_actor *a)
{
	struct rd_state *st = a->run->state;

	if (st->sends_only)
		return sim_prng_below(&a->prng, 2) ? SIM_OP_SEND : SIM_OP_SEND_IMM;
	return (enum sim_op)sim_prng_below(&a->prng, SIM_OPS);
}

static uint32_t draw_bytes(struct rd_actor *a)
{
	switch (sim_prng_below(&a->prng, 4)) {
	case 0:
		return (uint32_t)sim_prng_below(&a->prng, 65);
	case 1:
		return (uint32_t)sim_prng_below(&a->prng, 4097);
	default:
		return (uint32_t)sim_prng_below(&a->prng, RD_SLOT_BYTES + 1);
	}
}

static void fill_two_sided(struct rd_actor *a, struct rd_target *t, struct rd_op *op,
			   struct rd_post *post, uint8_t *stage)
{
	post->wr.imm = t->seq;
	if (op->kind == SIM_OP_SEND) {
		/* Without immediate data the number precedes the pattern. */
		if (op->bytes < sizeof(t->seq))
			op->bytes = sizeof(t->seq);
		memcpy(stage, &t->seq, sizeof(t->seq));
		sim_pattern(a->run->sim, a->index, t->index, t->seq, stage + sizeof(t->seq),
			    op->bytes - sizeof(t->seq));
	} else {
		sim_pattern(a->run->sim, a->index, t->index, t->seq, stage, op->bytes);
	}
	t->seq++;
}

static void fill_atomic(struct rd_actor *a, struct rd_target *t, struct rd_op *op, uint32_t slot,
			struct rd_post *post)
{
	uint64_t now;

	op->bytes = 8;
	op->at = (uint32_t)sim_prng_below(&a->prng, RD_SLOT_BYTES / 8) * 8;
	memcpy(&now, t->shadow + slot * RD_SLOT_BYTES + op->at, 8);
	op->add = sim_prng_next(&a->prng);
	op->compare = sim_prng_below(&a->prng, 2) ? now : op->add;
	op->swap = sim_prng_next(&a->prng);
	post->wr.compare_add = op->kind == SIM_OP_FETCH_ADD ? op->add : op->compare;
	post->wr.swap = op->swap;
}

static void post_op(struct rd_actor *a, uint32_t ti, uint32_t slot)
{
	static const enum weft_wr_opcode opcodes[SIM_OPS] = {
	    [SIM_OP_SEND] = WEFT_WR_SEND,         [SIM_OP_SEND_IMM] = WEFT_WR_SEND_IMM,
	    [SIM_OP_WRITE] = WEFT_WR_WRITE,       [SIM_OP_WRITE_IMM] = WEFT_WR_WRITE_IMM,
	    [SIM_OP_READ] = WEFT_WR_READ,         [SIM_OP_FETCH_ADD] = WEFT_WR_FETCH_ADD,
	    [SIM_OP_CMP_SWAP] = WEFT_WR_CMP_SWAP,
	};
	struct rd_state *st = a->run->state;
	struct rd_target *t = &a->target[ti];
	struct rd_actor *peer = &st->actors[t->index];
	struct rd_op *op = &t->op[slot];
	uint8_t *stage = a->end.buf + stage_offset(ti, slot);
	struct rd_post post = {.wr = {.sg_list = post.sge, .flags = WEFT_SEND_SIGNALED}};
	int rc;

	op->kind = draw_kind(a);
	op->bytes = draw_bytes(a);
	op->at = (uint32_t)sim_prng_below(&a->prng, RD_SLOT_BYTES - op->bytes + 1);
	if (op->kind == SIM_OP_FETCH_ADD || op->kind == SIM_OP_CMP_SWAP)
		fill_atomic(a, t, op, slot, &post);
	else if (op->kind == SIM_OP_WRITE)
		sim_prng_fill(&a->prng, stage, op->bytes);
	else if (op->kind != SIM_OP_READ)
		fill_two_sided(a, t, op, &post, stage);
	if (op->kind == SIM_OP_READ || op->kind == SIM_OP_FETCH_ADD || op->kind == SIM_OP_CMP_SWAP)
		memset(stage, 0xee, op->bytes);
	make_sges(a, &post, stage_offset(ti, slot), op->bytes);
	if (op->kind == SIM_OP_FETCH_ADD || op->kind == SIM_OP_CMP_SWAP) {
		post.wr.num_sge = 1;
		post.sge[0] = sim_end_sge(&a->end, stage_offset(ti, slot), 8);
	} else if (op->kind != SIM_OP_READ && op->bytes <= RD_INLINE_BYTES &&
		   sim_prng_below(&a->prng, 2)) {
		post.wr.flags |= WEFT_SEND_INLINE;
	}
	if (!sim_prng_below(&a->prng, 4))
		post.wr.flags |= WEFT_SEND_FENCE;
	if (!sim_prng_below(&a->prng, 4))
		post.wr.flags |= WEFT_SEND_SOLICITED;
	post.wr.opcode = opcodes[op->kind];
	post.wr.wr_id = ti * RD_SLOTS + slot;
	post.wr.ah = t->ah;
	post.wr.dst_qpn = peer->end.qp->qpn;
	post.wr.qkey = SIM_END_QKEY;
	post.wr.rkey = peer->end.mr->rkey;
	/* This process is the peer's ti-th initiator. */
	post.wr.remote_addr =
	    (uintptr_t)peer->end.buf + window_offset(ti) + slot * RD_SLOT_BYTES + op->at;
	rc = weft_post_send(a->end.qp, &post.wr, NULL);
	if (rc == -ENOMEM) {
		/* Slots are retired in order, so one slow peer may fill the queue. Try later. */
		if (op->kind == SIM_OP_SEND || op->kind == SIM_OP_SEND_IMM ||
		    op->kind == SIM_OP_WRITE_IMM)
			t->seq--;
		return;
	}
	if (rc) {
		sim_run_fail(a->run, "post: weft%u: a %s: %s", a->index, sim_op_name(op->kind),
			     strerror(-rc));
		return;
	}
	op->busy = true;
	a->under_way++;
}

/* Checks the result of a completed operation against the shadow. */
static void op_done(struct rd_actor *a, uint32_t ti, uint32_t slot)
{
	struct rd_target *t = &a->target[ti];
	struct rd_op *op = &t->op[slot];
	uint8_t *stage = a->end.buf + stage_offset(ti, slot);
	uint8_t *shadow = t->shadow + slot * RD_SLOT_BYTES + op->at;
	bool right = true;
	uint64_t old, value;

	switch (op->kind) {
	case SIM_OP_WRITE:
	case SIM_OP_WRITE_IMM:
		memcpy(shadow, stage, op->bytes);
		memset(stage, RD_STALE, op->bytes);
		break;
	case SIM_OP_READ:
		right = !memcmp(shadow, stage, op->bytes);
		break;
	case SIM_OP_FETCH_ADD:
	case SIM_OP_CMP_SWAP:
		right = !memcmp(shadow, stage, 8);
		memcpy(&old, shadow, 8);
		if (op->kind == SIM_OP_FETCH_ADD)
			value = old + op->add;
		else
			value = old == op->compare ? op->swap : old;
		memcpy(shadow, &value, 8);
		break;
	case SIM_OP_SEND:
	case SIM_OP_SEND_IMM:
		memset(stage, RD_STALE, op->bytes);
		break;
	case SIM_OPS:
		break;
	}
	if (!right)
		sim_run_fail(a->run,
			     "shadow: weft%u: a %s of %u bytes from weft%u brought wrong bytes",
			     a->index, sim_op_name(op->kind), op->bytes, t->index);
	op->busy = false;
	a->under_way--;
	a->run->done[op->kind]++;
	a->run->bytes += op->bytes;
}

/*
 * Bytes behind a message stay as they were, unless data of a later message of the same flow had
 * come first, whose receive the message took over (nic_fw/rdmap/recv.c).
 */
static void check_beyond(struct rd_actor *a, const uint8_t *at, uint32_t bytes, uint32_t src,
			 uint32_t seq)
{
	struct rd_state *st = a->run->state;
	static uint8_t sent[RD_SLOT_BYTES], imm[RD_SLOT_BYTES];
	uint32_t from = wl_actor_changed(at, bytes, RD_SLOT_BYTES, RD_BEFORE), later, n;

	if (from == RD_SLOT_BYTES)
		return;
	for (later = seq + 1; later <= seq + RD_LATER; later++) {
		sim_pattern(a->run->sim, src, a->index, later, imm, sizeof(imm));
		memcpy(sent, &later, sizeof(later));
		memcpy(sent + sizeof(later), imm, sizeof(sent) - sizeof(later));
		for (n = from; n < RD_SLOT_BYTES && (at[n] == imm[n] || at[n] == RD_BEFORE); n++)
			;
		if (n == RD_SLOT_BYTES)
			return;
		for (n = from; n < RD_SLOT_BYTES && (at[n] == sent[n] || at[n] == RD_BEFORE); n++)
			;
		if (n == RD_SLOT_BYTES)
			return;
	}
	sim_run_fail(a->run,
		     "beyond: weft%u: of message %u of weft%u (%u bytes) byte %u behind it changed",
		     a->index, seq, st->actors[src].index, bytes, from - bytes);
}

/* Checks a message received from a peer. */
static void received(struct rd_actor *a, const struct weft_wc *wc)
{
	struct rd_state *st = a->run->state;
	uint32_t r = (uint32_t)(wc->wr_id - RD_WR_RECV), d, src = 0, seq = wc->imm, skip = 0;
	uint8_t *at = a->end.buf + recv_offset(r);
	bool right = true;

	for (d = 0; d < a->num_targets; d++) {
		src = (a->index + st->num - 1 - d) % st->num;
		if (st->actors[src].end.qp->qpn == wc->src_qpn)
			break;
	}
	if (d == a->num_targets) {
		sim_run_fail(a->run, "order: weft%u: a message of unknown QP 0x%x", a->index,
			     wc->src_qpn);
		return;
	}
	if (!(wc->flags & WEFT_WC_F_IMM)) {
		skip = sizeof(seq);
		memcpy(&seq, at, sizeof(seq));
	}
	if (seq != a->expect[d])
		sim_run_fail(a->run, "order: weft%u: message %u of weft%u came as number %u",
			     a->index, seq, src, a->expect[d]);
	a->expect[d]++;
	if (wc->opcode == WEFT_WC_RECV)
		right = wc->bytes >= skip && sim_pattern_check(a->run->sim, src, a->index, seq,
							       at + skip, wc->bytes - skip);
	if (!right)
		sim_run_fail(a->run,
			     "shadow: weft%u: message %u of weft%u (%u bytes) has wrong bytes",
			     a->index, seq, src, wc->bytes);
	else if (wc->opcode == WEFT_WC_RECV)
		check_beyond(a, at, wc->bytes, src, seq);
	a->run->received++;
	memset(at, RD_BEFORE, RD_SLOT_BYTES);
	if (sim_end_recv(&a->end, wc->wr_id, recv_offset(r), RD_SLOT_BYTES))
		sim_run_fail(a->run, "post: weft%u: a receive could not be posted", a->index);
}

static void handle(struct rd_actor *a, const struct weft_wc *wc)
{
	bool is_recv = wc->wr_id >= RD_WR_RECV;
	uint32_t t = is_recv ? 0 : (uint32_t)wc->wr_id / RD_SLOTS;
	uint32_t slot = is_recv ? 0 : (uint32_t)wc->wr_id % RD_SLOTS;

	if (wc->status != WEFT_WC_SUCCESS)
		sim_run_fail(
		    a->run, "completion: weft%u: %s %" PRIu64 " completed with %s (%s)", a->index,
		    is_recv ? "receive" : sim_op_name(a->target[t].op[slot].kind), wc->wr_id,
		    weft_wc_status_str(wc->status), weft_vendor_err_str(wc->vendor_err));
	else if (is_recv)
		received(a, wc);
	else
		op_done(a, t, slot);
}

static uint64_t pause_ns(struct rd_actor *a, uint64_t low_ns, uint64_t high_ns)
{
	return sim_slow_ns(sim_proc_nic(a->end.proc), sim_prng_range(&a->prng, low_ns, high_ns));
}

static void arm(struct sim *sim, void *ctx, uint64_t arg)
{
	struct rd_actor *a = ctx;

	(void)sim, (void)arg;
	if (!a->run->failure[0] && !a->run->closed && weft_req_notify_cq(a->end.cq, false))
		sim_run_fail(a->run, "post: weft%u: arming failed", a->index);
}

/* Takes completions until there are none; with events, arms and possibly polls again. */
static void reap(struct rd_actor *a)
{
	struct weft_wc wc[8];
	bool armed = !a->events;
	int n, i;

	for (;;) {
		n = weft_poll_cq(a->end.cq, 8, wc);
		for (i = 0; i < n; i++)
			handle(a, &wc[i]);
		if (a->run->failure[0] || (n <= 0 && armed))
			return;
		if (n <= 0 && a->trusts_events) {
			/*
			 * A completion may arrive in between: arming then raises the event itself.
			 */
			sim_at(a->run->sim, sim_now_ns(a->run->sim) + pause_ns(a, 0, 3000), arm, a,
			       0);
			return;
		}
		if (n <= 0) {
			if (weft_req_notify_cq(a->end.cq, false))
				sim_run_fail(a->run, "post: weft%u: arming failed", a->index);
			armed = true;
		}
	}
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct rd_actor *a = ctx;
	uint32_t t, slot, want;
	struct weft_cq *cq;

	a->step_due = false;
	if (a->run->failure[0] || a->run->closed)
		return;
	/* arg: an interrupt arrived, so there is an event to take. */
	if (arg && !weft_get_cq_event(a->end.channel, &cq, NULL))
		weft_ack_cq_events(cq, 1);
	reap(a);
	want = a->run->stopping ? 0 : (uint32_t)sim_prng_range(&a->prng, 1, RD_SLOTS);
	for (; want && !a->run->failure[0]; want--) {
		t = (uint32_t)sim_prng_below(&a->prng, a->num_targets);
		slot = (uint32_t)sim_prng_below(&a->prng, RD_SLOTS);
		if (!a->target[t].op[slot].busy)
			post_op(a, t, slot);
	}
	if (!a->events) {
		a->step_due = true;
		sim_at(sim, sim_now_ns(sim) + pause_ns(a, 200, 6000), step, a, 0);
	}
}

static void interrupted(void *ctx, struct sim_proc *proc, uint32_t eq)
{
	struct rd_actor *a = ctx;
	struct sim *sim = sim_nic_sim(sim_proc_nic(proc));

	if (!eq || a->step_due || a->run->closed)
		return;
	a->step_due = true;
	sim_at(sim, sim_now_ns(sim) + pause_ns(a, 1000, 8000), step, a, 1);
}

static int start_actor(struct sim_run *run, struct rd_actor *a, uint32_t i)
{
	struct rd_state *st = run->state;
	struct sim_end_attr attr = {.bytes = recv_offset(RD_RECVS),
				    .unmapped = i % 4 >= 2,
				    .events = i % 2,
				    .srq_wr = i % 8 >= 4 ? RD_RECVS : 0};
	uint32_t r;
	int rc;

	a->run = run;
	a->index = i;
	a->events = attr.events;
	a->trusts_events = i % 4 == 1;
	a->num_targets = st->num - 1 < RD_PEERS ? st->num - 1 : RD_PEERS;
	sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
	rc = sim_end_open(&a->end, sim_nic_at(run->sim, i), &attr);
	if (rc)
		return rc;
	sim_prng_fill(&a->prng, a->end.buf, window_offset(RD_PEERS));
	memset(a->end.buf + recv_offset(0), RD_BEFORE, (size_t)RD_RECVS * RD_SLOT_BYTES);
	sim_proc_on_irq(a->end.proc, interrupted, a);
	for (r = 0; r < RD_RECVS && !rc; r++)
		rc = sim_end_recv(&a->end, RD_WR_RECV + r, recv_offset(r), RD_SLOT_BYTES);
	return rc;
}

static int meet_peers(struct sim_run *run, struct rd_actor *a)
{
	struct rd_state *st = run->state;
	uint32_t t;

	for (t = 0; t < a->num_targets; t++) {
		struct rd_target *target = &a->target[t];

		target->index = (a->index + 1 + t) % st->num;
		target->ah = sim_end_ah(&a->end, sim_nic_at(run->sim, target->index));
		if (!target->ah)
			return -errno;
		target->shadow = malloc(RD_WINDOW_BYTES);
		assert(target->shadow);
		memcpy(target->shadow, st->actors[target->index].end.buf + window_offset(t),
		       RD_WINDOW_BYTES);
	}
	return 0;
}

static int start(struct sim_run *run, bool sends_only)
{
	struct rd_state *st = calloc(1, sizeof(*st));
	uint32_t i;
	int rc = 0;

	assert(st);
	run->state = st;
	st->sends_only = sends_only;
	st->num = sim_nic_count(run->sim);
	st->actors = calloc(st->num, sizeof(*st->actors));
	assert(st->actors);
	for (i = 0; i < st->num && !rc; i++)
		rc = start_actor(run, &st->actors[i], i);
	for (i = 0; i < st->num && !rc; i++)
		rc = meet_peers(run, &st->actors[i]);
	for (i = 0; i < st->num && !rc; i++)
		sim_at(run->sim, sim_now_ns(run->sim) + i, step, &st->actors[i], 0);
	return rc;
}

static int start_mix(struct sim_run *run)
{
	return start(run, false);
}

static int start_sends(struct sim_run *run)
{
	return start(run, true);
}

static bool quiet(struct sim_run *run)
{
	struct rd_state *st = run->state;
	uint32_t i, d;

	for (i = 0; i < st->num; i++) {
		struct rd_actor *a = &st->actors[i];

		if (a->under_way)
			return false;
		for (d = 0; d < a->num_targets; d++) {
			uint32_t src = (i + st->num - 1 - d) % st->num;

			if (a->expect[d] != st->actors[src].target[d].seq)
				return false;
		}
	}
	return true;
}

static void check(struct sim_run *run)
{
	struct rd_state *st = run->state;
	uint32_t i, t;

	for (i = 0; i < st->num; i++) {
		for (t = 0; t < st->actors[i].num_targets; t++) {
			struct rd_target *target = &st->actors[i].target[t];
			const uint8_t *is = st->actors[target->index].end.buf + window_offset(t);

			if (memcmp(is, target->shadow, RD_WINDOW_BYTES))
				sim_run_fail(
				    run,
				    "shadow: weft%u's window for weft%u differs from the shadow",
				    target->index, i);
		}
	}
}

static void close_all(struct sim_run *run)
{
	struct rd_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sim_end_close(&st->actors[i].end);
}

static void stop(struct sim_run *run)
{
	struct rd_state *st = run->state;
	uint32_t i, t;

	for (i = 0; i < st->num; i++) {
		for (t = 0; t < RD_PEERS; t++)
			free(st->actors[i].target[t].shadow);
		sim_end_close(&st->actors[i].end);
	}
	free(st->actors);
	free(st);
}

const struct sim_workload sim_wl_rd_mix = {
    .name = "rd_mix",
    .help = "all operations of reliable datagrams against a shadow of every byte",
    .start = start_mix,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 3,
};

const struct sim_workload sim_wl_rd_send = {
    .name = "rd_send",
    .help = "reliable messages alone: order, once, every byte",
    .start = start_sends,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 1,
};
