/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload xrc: extended reliable connections in a ring, each with the shared receive queues of two
 * processes behind it, whose limits are set again and again.
 *
 * Each NIC has a process that sends to the next NIC and receives from the one before, and a second
 * one that has a receive queue of the same domain. A message names one of the two queues; it
 * arrives there once, in order, whole, and changes no byte of its receive behind it. A Read and an
 * atomic go to the memory of the queue that they name. Receives are posted late, so that queues run
 * empty. When fewer are left than the limit says, its event has come. Calls libweft. IBA annex A14.
 */
#include "sim_harness/wl/sim_wl_actor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	QUEUES = 2, /* the first is of the process that receives the connection */
	RECVS = 24, /* per queue */
	SENDS = 10,
	MAX_BYTES = 9000,
	SLOT_BYTES = MAX_BYTES + 312,
	BEFORE = 0xee,
	STALE = 0xdd,
	FIFO = 64, /* messages to a queue that have not arrived; more than SENDS */
	SQ_PSN = 0x111111,
	RQ_PSN = 0x222222,
	/* (retries + 1) times 4.096 us << TIMEOUT: longer than any fault, shorter than the drain.
	 */
	TIMEOUT = 18,
	LIMIT_STEPS = 40, /* average steps until a new limit is set */
};

struct xrc_actor;

/* A shared receive queue, and the messages on their way to it. */
struct xrc_queue {
	struct xrc_actor *actor;
	struct sim_end *end;
	struct weft_srq *srq;
	uint32_t fifo_seq[FIFO], fifo_bytes[FIFO]; /* in order */
	uint32_t head, tail;
	uint32_t idle_recvs; /* one bit per receive that is not posted */
	uint32_t posted;     /* receives without a completion */
	uint32_t limit;      /* 0: no event is due */
	uint64_t counter;    /* the word that atomics change, as it must be */
};

struct xrc_op {
	enum sim_op kind;
	uint32_t bytes, queue;
};

struct xrc_actor {
	struct sim_run *run;
	struct sim_end end, second;
	uint32_t index;
	int file;
	struct weft_xrcd *xrcd[QUEUES];
	struct xrc_queue queue[QUEUES];
	struct weft_qp *out, *in;
	struct sim_prng prng;
	uint32_t sending; /* one bit per send buffer */
	uint32_t seq;
	struct xrc_op op[SENDS];
	bool atomic_open; /* one at a time, so that its result is known */
};

struct xrc_state {
	uint32_t num;
	struct xrc_actor *actors;
};

static struct xrc_actor *next_of(const struct xrc_actor *a)
{
	struct xrc_state *st = a->run->state;

	return &st->actors[(a->index + 1) % st->num];
}

static uint32_t prev_of(const struct xrc_actor *a)
{
	struct xrc_state *st = a->run->state;

	return (a->index + st->num - 1) % st->num;
}

/* Layout of a process's buffer: receives, send buffers, memory for Reads, the atomics' word. */
static size_t send_offset(uint32_t i)
{
	return (size_t)(RECVS + i) * SLOT_BYTES;
}

static size_t const_offset(void)
{
	return send_offset(SENDS);
}

static size_t word_offset(void)
{
	return const_offset() + SLOT_BYTES;
}

static size_t landing_offset(void)
{
	return word_offset() + SLOT_BYTES;
}

/* ---- receives -------------------------------------------------------------------------------- */

static void post_recv(struct xrc_queue *q, uint32_t r)
{
	struct weft_sge sge = sim_end_sge(q->end, (size_t)r * SLOT_BYTES, SLOT_BYTES);
	struct weft_recv_wr wr = {.wr_id = r, .sg_list = &sge, .num_sge = 1};
	int rc;

	memset(q->end->buf + (size_t)r * SLOT_BYTES, BEFORE, SLOT_BYTES);
	rc = weft_post_srq_recv(q->srq, &wr, NULL);
	if (rc)
		sim_run_fail(q->actor->run, "post: weft%u: a receive: %s", q->actor->index,
			     strerror(-rc));
	q->idle_recvs &= ~(1u << r);
	q->posted++;
}

/* Posts some of the receives that are not posted. */
static void replenish(struct xrc_queue *q, bool all)
{
	struct sim_prng *prng = &q->actor->prng;
	uint32_t r;

	for (r = 0; r < RECVS; r++) {
		if (q->idle_recvs >> r & 1 && (all || sim_prng_chance(prng, 200000)))
			post_recv(q, r);
	}
}

static void take_events(struct xrc_queue *q)
{
	struct weft_async_event event;

	while (!weft_get_async_event(q->end->context, &event)) {
		if (event.type != WEFT_EVENT_SRQ_LIMIT || event.srq != q->srq || !q->limit)
			sim_run_fail(q->actor->run, "event: weft%u: type %u, limit %u",
				     q->actor->index, event.type, q->limit);
		q->limit = 0;
		weft_ack_async_event(&event);
	}
}

/* Receives without a completion are at least as many as those in the queue. */
static void check_limit(struct xrc_queue *q)
{
	struct weft_srq_attr attr;
	int rc;

	take_events(q);
	if (q->limit && q->posted < q->limit)
		sim_run_fail(q->actor->run,
			     "event: weft%u: %u receives are left of an XRC SRQ with limit %u, and "
			     "it has not told",
			     q->actor->index, q->posted, q->limit);
	if (q->limit || q->actor->run->stopping || sim_prng_below(&q->actor->prng, LIMIT_STEPS))
		return;
	/* It may be reached, and reported, before the call returns. */
	attr.limit = q->limit = (uint32_t)sim_prng_range(&q->actor->prng, 1, RECVS);
	rc = weft_modify_srq(q->srq, &attr, WEFT_SRQ_LIMIT);
	if (rc)
		sim_run_fail(q->actor->run, "call: setting the limit of an SRQ: %s", strerror(-rc));
}

static bool untouched(const uint8_t *at, uint32_t from)
{
	return wl_actor_changed(at, from, SLOT_BYTES, BEFORE) == SLOT_BYTES;
}

/*
 * True if the bytes behind a message are those of a later one to this queue: its data came first,
 * and the message took over its receive.
 */
static bool taken_over(const struct xrc_queue *q, const uint8_t *at, uint32_t from)
{
	static uint8_t want[SLOT_BYTES];
	uint32_t i, n;

	for (i = q->head; i != q->tail; i++) {
		uint32_t bytes = q->fifo_bytes[i % FIFO];

		sim_pattern(q->actor->run->sim, prev_of(q->actor), 1, q->fifo_seq[i % FIFO], want,
			    bytes);
		for (n = from; n < bytes && (at[n] == want[n] || at[n] == BEFORE); n++)
			;
		if (n >= bytes && bytes > from && untouched(at, bytes))
			return true;
	}
	return false;
}

static void received(struct xrc_queue *q, const struct weft_wc *wc)
{
	struct xrc_actor *a = q->actor;
	uint32_t due = q->fifo_seq[q->head % FIFO], bytes = q->fifo_bytes[q->head % FIFO];
	const uint8_t *at = q->end->buf + wc->wr_id * SLOT_BYTES;

	q->posted--;
	q->idle_recvs |= 1u << wc->wr_id;
	if (q->head == q->tail || wc->imm != due || wc->bytes != bytes || wc->qpn != a->in->qpn) {
		sim_run_fail(a->run, "order: weft%u: message %u of %u bytes, where %u was due",
			     a->index, wc->imm, wc->bytes, due);
		return;
	}
	q->head++;
	a->run->received++;
	a->run->bytes += bytes;
	if (wc->opcode == WEFT_WC_RECV_WRITE_IMM)
		return;
	if (!sim_pattern_check(a->run->sim, prev_of(a), 1, due, at, bytes))
		sim_run_fail(a->run, "shadow: weft%u: message %u has wrong bytes", a->index, due);
	else if (!untouched(at, bytes) && !taken_over(q, at, bytes))
		sim_run_fail(a->run, "beyond: weft%u: bytes behind message %u (%u bytes) changed",
			     a->index, due, bytes);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void finished(struct xrc_actor *a, uint32_t slot)
{
	struct xrc_actor *to = next_of(a);
	struct xrc_op *op = &a->op[slot];
	struct xrc_queue *q = &to->queue[op->queue];
	uint8_t *at = a->end.buf + send_offset(slot);
	uint64_t old;

	a->sending &= ~(1u << slot);
	a->run->done[op->kind]++;
	if (op->kind == SIM_OP_READ) {
		if (!sim_pattern_check(a->run->sim, to->index, 2, op->queue, at, op->bytes) ||
		    !untouched(at, op->bytes))
			sim_run_fail(a->run, "shadow: weft%u: a Read of %u bytes has wrong bytes",
				     a->index, op->bytes);
	} else if (op->kind == SIM_OP_FETCH_ADD) {
		memcpy(&old, at, sizeof(old));
		if (old != q->counter)
			sim_run_fail(a->run, "shadow: weft%u: an atomic returned %llu, not %llu",
				     a->index, (unsigned long long)old,
				     (unsigned long long)q->counter);
		q->counter += slot + 1;
		a->atomic_open = false;
	}
	memset(at, STALE, SLOT_BYTES);
}

static enum sim_op draw_kind(struct xrc_actor *a, const struct xrc_queue *q)
{
	static const enum sim_op kinds[] = {SIM_OP_SEND_IMM, SIM_OP_SEND_IMM, SIM_OP_WRITE_IMM,
					    SIM_OP_READ, SIM_OP_FETCH_ADD};
	enum sim_op kind = kinds[sim_prng_below(&a->prng, 5)];

	if (kind == SIM_OP_FETCH_ADD && a->atomic_open)
		kind = SIM_OP_READ;
	if (q->tail - q->head == FIFO && (kind == SIM_OP_SEND_IMM || kind == SIM_OP_WRITE_IMM))
		kind = SIM_OP_READ;
	return kind;
}

static void post(struct xrc_actor *a)
{
	static const enum weft_wr_opcode opcodes[SIM_OPS] = {
	    [SIM_OP_SEND_IMM] = WEFT_WR_SEND_IMM,
	    [SIM_OP_WRITE_IMM] = WEFT_WR_WRITE_IMM,
	    [SIM_OP_READ] = WEFT_WR_READ,
	    [SIM_OP_FETCH_ADD] = WEFT_WR_FETCH_ADD,
	};
	uint32_t slot = wl_actor_free(a->sending, SENDS);
	uint32_t which = (uint32_t)sim_prng_below(&a->prng, QUEUES);
	struct xrc_queue *q = &next_of(a)->queue[which];
	struct weft_send_wr wr = {.num_sge = 1, .flags = WEFT_SEND_SIGNALED};
	struct xrc_op op = {draw_kind(a, q), 0, which};
	struct weft_sge sge;
	uint8_t *at;
	int rc;

	op.bytes =
	    (uint32_t)sim_prng_below(&a->prng, sim_prng_below(&a->prng, 2) ? MAX_BYTES + 1 : 500);
	if (slot == SENDS)
		return;
	at = a->end.buf + send_offset(slot);
	wr.rkey = q->end->mr->rkey;
	wr.remote_addr = (uintptr_t)q->end->buf;
	if (op.kind == SIM_OP_READ || op.kind == SIM_OP_FETCH_ADD) {
		memset(at, BEFORE, SLOT_BYTES);
		wr.remote_addr += op.kind == SIM_OP_READ ? const_offset() : word_offset();
	} else {
		a->seq++;
		sim_pattern(a->run->sim, a->index, 1, a->seq, at, op.bytes);
		wr.remote_addr += landing_offset();
		q->fifo_seq[q->tail % FIFO] = a->seq;
		q->fifo_bytes[q->tail++ % FIFO] = op.bytes;
	}
	if (op.kind == SIM_OP_FETCH_ADD) {
		op.bytes = 8;
		a->atomic_open = true;
	}
	sge = sim_end_sge(&a->end, send_offset(slot), op.bytes);
	wr.sg_list = &sge;
	wr.wr_id = slot;
	wr.opcode = opcodes[op.kind];
	wr.imm = a->seq;
	wr.compare_add = slot + 1;
	wr.qkey = q->srq->srqn;
	rc = weft_post_send(a->out, &wr, NULL);
	if (rc)
		sim_run_fail(a->run, "post: weft%u: a request: %s", a->index, strerror(-rc));
	a->op[slot] = op;
	a->sending |= 1u << slot;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Takes the completions of a process; the second one only receives. */
static void poll_end(struct xrc_actor *a, uint32_t which)
{
	struct xrc_queue *q = &a->queue[which];
	struct weft_wc wc[8];
	int n, i;

	do {
		n = weft_poll_cq(q->end->cq, 8, wc);
		for (i = 0; i < n && !a->run->failure[0]; i++) {
			if (wc[i].status != WEFT_WC_SUCCESS)
				wl_actor_failed(a->run, a->index, &wc[i], "a request");
			else if (!which && wc[i].qpn == a->out->qpn)
				finished(a, (uint32_t)wc[i].wr_id);
			else
				received(q, &wc[i]);
		}
	} while (n == 8 && !a->run->failure[0]);
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct xrc_actor *a = ctx;
	uint32_t i;

	(void)sim;
	(void)arg;
	for (i = 0; i < QUEUES && !a->run->failure[0] && !a->run->closed; i++) {
		poll_end(a, i);
		check_limit(&a->queue[i]);
		replenish(&a->queue[i], a->run->stopping);
	}
	if (a->run->failure[0] || a->run->closed)
		return;
	if (!a->run->stopping && sim_prng_chance(&a->prng, 600000))
		post(a);
	wl_actor_again(&a->end, &a->prng, 500, 15000, step, a);
}

/* ---- start and end --------------------------------------------------------------------------- */

static int start_queue(struct xrc_actor *a, uint32_t which)
{
	struct weft_srq_attr attr = {.max_wr = RECVS, .max_sge = 1};
	struct xrc_queue *q = &a->queue[which];
	uint32_t r;

	q->actor = a;
	q->end = which ? &a->second : &a->end;
	memset(q->end->buf, BEFORE, q->end->bytes);
	memset(q->end->buf + word_offset(), 0, sizeof(q->counter));
	sim_pattern(a->run->sim, a->index, 2, which, q->end->buf + const_offset(), MAX_BYTES);
	sim_proc_set_nonblocking(q->end->proc, true);
	a->xrcd[which] = weft_open_xrcd(q->end->context, a->file, O_CREAT);
	if (!a->xrcd[which])
		return -errno;
	q->srq = weft_create_xrc_srq(q->end->pd, a->xrcd[which], q->end->cq, &attr);
	if (!q->srq)
		return -errno;
	for (r = 0; r < RECVS; r++)
		post_recv(q, r);
	return 0;
}

/* Opens the second process on the shard of the first: a domain is in one shard. */
static int open_second(struct xrc_actor *a, const struct sim_end_attr *attr)
{
	struct sim_nic *nic = sim_proc_nic(a->end.proc);
	uint32_t tries;
	int rc = 0;

	for (tries = 0; tries < SIM_MAX_SHARDS && !rc; tries++) {
		rc = sim_end_open(&a->second, nic, attr);
		if (!rc && sim_proc_shard(a->second.proc) == sim_proc_shard(a->end.proc))
			return 0;
		if (!rc)
			sim_end_close(&a->second);
	}
	return rc ? rc : -EXDEV;
}

static int start_actor(struct sim_run *run, struct xrc_actor *a, uint32_t i)
{
	struct sim_end_attr attr = {.bytes = landing_offset() + SLOT_BYTES,
				    .max_wr = 2 * RECVS,
				    .inactive = true,
				    .unmapped = i % 4 >= 2};
	struct weft_qp_init_attr out = {.type = WEFT_QPT_XRC_SEND,
					.cap = {.max_send_wr = 2 * SENDS, .max_send_sge = 1}};
	struct weft_qp_init_attr in = {.type = WEFT_QPT_XRC_RECV};
	uint32_t k;
	int rc;

	a->run = run;
	a->index = i;
	sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
	/* A domain has the name of a file. */
	a->file = memfd_create("xrcd", MFD_CLOEXEC);
	assert(a->file >= 0);
	rc = sim_end_open(&a->end, sim_nic_at(run->sim, i), &attr);
	if (!rc)
		rc = open_second(a, &attr);
	for (k = 0; k < QUEUES && !rc; k++)
		rc = start_queue(a, k);
	if (rc)
		return rc;
	out.send_cq = out.recv_cq = a->end.cq;
	in.xrcd = a->xrcd[0];
	a->out = weft_create_qp(a->end.pd, &out);
	a->in = weft_create_qp(NULL, &in);
	return a->out && a->in ? 0 : -errno;
}

static int init_qp(struct weft_qp *qp)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT,
				    .port = 1,
				    .access = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
					      WEFT_ACCESS_REMOTE_ATOMIC};

	return weft_modify_qp(
	    qp, &attr, WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT | WEFT_QP_ACCESS_FLAGS);
}

static int meet(struct xrc_actor *a)
{
	struct xrc_actor *to = next_of(a);
	const int rtr =
	    WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU | WEFT_QP_DEST_QPN | WEFT_QP_RQ_PSN;
	struct weft_qp_attr attr = {.state = WEFT_QPS_RTR,
				    .path_mtu_bytes = 4096,
				    .dst_qpn = to->in->qpn,
				    .rq_psn = RQ_PSN,
				    .av = weft_av_ip(sim_nic_ip(sim_proc_nic(to->end.proc)))};
	int rc = init_qp(a->out);

	if (!rc)
		rc = weft_modify_qp(a->out, &attr, rtr);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS,
				     .timeout = TIMEOUT,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .sq_psn = SQ_PSN,
				     .max_rd_atomic = 8};
	if (!rc)
		rc = weft_modify_qp(a->out, &attr,
				    WEFT_QP_STATE | WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT |
					WEFT_QP_RNR_RETRY | WEFT_QP_SQ_PSN |
					WEFT_QP_MAX_QP_RD_ATOMIC);
	if (!rc)
		rc = init_qp(to->in);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR,
				     .path_mtu_bytes = 4096,
				     .dst_qpn = a->out->qpn,
				     .rq_psn = SQ_PSN,
				     .max_dest_rd_atomic = 8,
				     .min_rnr_timer = 5,
				     .av = weft_av_ip(sim_nic_ip(sim_proc_nic(a->end.proc)))};
	if (!rc)
		rc = weft_modify_qp(to->in, &attr,
				    rtr | WEFT_QP_MAX_DEST_RD_ATOMIC | WEFT_QP_MIN_RNR_TIMER);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS, .sq_psn = RQ_PSN, .timeout = TIMEOUT};
	return rc ? rc
		  : weft_modify_qp(to->in, &attr, WEFT_QP_STATE | WEFT_QP_SQ_PSN | WEFT_QP_TIMEOUT);
}

static int start(struct sim_run *run)
{
	struct xrc_state *st = calloc(1, sizeof(*st));
	uint32_t i;
	int rc = 0;

	assert(st);
	run->state = st;
	st->num = sim_nic_count(run->sim);
	st->actors = calloc(st->num, sizeof(*st->actors));
	assert(st->actors);
	for (i = 0; i < st->num; i++)
		st->actors[i].file = -1;
	for (i = 0; i < st->num && !rc; i++)
		rc = start_actor(run, &st->actors[i], i);
	for (i = 0; i < st->num && !rc; i++)
		rc = meet(&st->actors[i]);
	if (!rc)
		wl_actor_start(run, step, st->actors, sizeof(*st->actors), st->num);
	return rc;
}

static bool quiet(struct sim_run *run)
{
	struct xrc_state *st = run->state;
	uint32_t i, k;

	for (i = 0; i < st->num; i++) {
		struct xrc_actor *a = &st->actors[i];

		if (a->sending)
			return false;
		for (k = 0; k < QUEUES; k++) {
			if (a->queue[k].head != a->queue[k].tail)
				return false;
		}
	}
	return true;
}

/* The words that atomics changed, and the memory that Reads read, which nothing may change. */
static void check(struct sim_run *run)
{
	struct xrc_state *st = run->state;
	uint32_t i, k;

	for (i = 0; i < st->num; i++) {
		for (k = 0; k < QUEUES; k++) {
			struct xrc_queue *q = &st->actors[i].queue[k];
			const uint8_t *buf = q->end->buf;

			if (memcmp(buf + word_offset(), &q->counter, sizeof(q->counter)) != 0 ||
			    !sim_pattern_check(run->sim, i, 2, k, buf + const_offset(), MAX_BYTES))
				sim_run_fail(run, "shadow: weft%u: memory of queue %u is wrong", i,
					     k);
		}
	}
}

static void close_all(struct sim_run *run)
{
	struct xrc_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		sim_end_close(&st->actors[i].second);
		sim_end_close(&st->actors[i].end);
	}
}

static void stop(struct sim_run *run)
{
	struct xrc_state *st = run->state;
	uint32_t i;

	close_all(run);
	for (i = 0; i < st->num; i++) {
		if (st->actors[i].file >= 0)
			close(st->actors[i].file);
	}
	free(st->actors);
	free(st);
}

const struct sim_workload sim_wl_xrc = {
    .name = "xrc",
    .help = "extended reliable connections, shared receive queues of two processes, their limits",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 2,
};
