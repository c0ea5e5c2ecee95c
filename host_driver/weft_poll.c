/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes completions.
 *
 * Per entry: check the phase (pair C1), copy, find the QP, mark the request as done. When there is
 * none: yield the processor if cores are scarce, and check that the NIC is alive; if it is not,
 * complete the outstanding requests. The style is that of rdma-core's providers.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/weft_barrier.h"
#include "host_driver/weft_priv.h"
#include "host_driver/weft_tag_priv.h"
#include "lib/clock.h"

enum {
	WEFT_LOOK_POLLS = 64, /* empty polls between two reads of the clock */
	/*
	 * WEFT_YIELD=auto: number of empty polls before a yield. A yield that returns at once
	 * (under WEFT_YIELD_SHORT_NS) shows that no other thread needed the processor, so the next
	 * one waits twice as long. A longer yield resets the number to the minimum. With few
	 * processors it starts at the minimum, with more at the maximum: yields about 10 us apart
	 * cost almost nothing and detect in time that there are more pollers than processors.
	 */
	WEFT_YIELD_POLLS_MIN = 1,
	WEFT_YIELD_POLLS_MAX = 256,
	WEFT_YIELD_SHORT_NS = 1500,
	WEFT_FEW_CPUS = 2,
	/* Empty rounds after which the program's yields are counted, and how many are many. */
	WEFT_COUNT_ROUNDS = 64,
	WEFT_COUNT_MANY = 16,
	/*
	 * Threads that share a CQ poll it under a lock of their program, and some programs (UCX)
	 * use spin locks. If the lock's holder yields, the others spin for their whole time slices.
	 * After a yield of this length on a CQ polled by several threads, the thread therefore does
	 * not yield for this many times as long. The CQ counts as shared until this many long
	 * yields have passed without a change of threads.
	 */
	WEFT_YIELD_LONG_NS = 1000000,
	WEFT_YIELD_REST = 8,
	WEFT_SHARED_YIELDS = 16,
	WEFT_POLLS_MAX = 4096,
	WEFT_POLLS_OTHER = 16,
	WEFT_SPIN_LOOKS = 100, /* with a pause each: about 3 us */
	WEFT_OTHERS_MAX = 64,  /* polls of other CQs after which a round is over */
};

enum weft_yield_mode {
	WEFT_YIELD_UNKNOWN = 0,
	WEFT_YIELD_NEVER,
	WEFT_YIELD_FIXED,
	WEFT_YIELD_AUTO,
};

/* Per thread: a thread that polls several CQs in turn has one empty poll for each round. */
struct weft_idle {
	const struct weft_cq_obj *first; /* a round begins with this CQ; never dereferenced */
	uint32_t others;                 /* empty polls of other CQs since */
	uint32_t empty;
	uint32_t after; /* empty polls before the next yield */
	enum weft_yield_mode mode;
	uint32_t since_yield;
	int64_t rest_until_ns; /* no yield before this time */
	uint32_t rounds;       /* since the switches of the thread were counted */
	uint32_t yields;       /* of ours, since then */
	long switches;         /* that it had then, and did not want */
	bool program_yields;   /* between its polls */
	bool found;            /* the last poll of this thread had completions */
	int64_t spin_until_ns; /* no yield before this time; 0: it has passed */
};
static __thread struct weft_idle idle __attribute__((tls_model("initial-exec")));

/* A yield that lets another thread run counts as a switch that the thread did not want. */
static long switches_now(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nivcsw;
}

/*
 * Detects a program that yields between its polls, as Open MPI does with more ranks than slots: a
 * yield of ours would let all threads of this CPU run twice for each of its polls.
 */
static void note_round(void)
{
	long switches;

	if (++idle.rounds < WEFT_COUNT_ROUNDS)
		return;
	switches = switches_now();
	idle.program_yields = switches - idle.switches - (long)idle.yields >= WEFT_COUNT_MANY;
	idle.switches = switches;
	idle.rounds = 0;
	idle.yields = 0;
}

static void idle_init(void)
{
	const char *env = secure_getenv("WEFT_YIELD");
	cpu_set_t cpus;
	unsigned long n;
	char *end;

	idle.after = WEFT_YIELD_POLLS_MIN;
	idle.mode = WEFT_YIELD_AUTO;
	if (env && strcmp(env, "never") == 0) {
		idle.mode = WEFT_YIELD_NEVER;
	} else if (env && *env && strcmp(env, "auto") != 0) {
		n = strtoul(env, &end, 10);
		if (*end == '\0' && n <= UINT32_MAX) {
			idle.mode = n ? WEFT_YIELD_FIXED : WEFT_YIELD_NEVER;
			idle.after = (uint32_t)n;
		}
	}
	if (idle.mode == WEFT_YIELD_AUTO && sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
	    CPU_COUNT(&cpus) > WEFT_FEW_CPUS)
		idle.after = WEFT_YIELD_POLLS_MAX;
	idle.switches = switches_now();
}

/*
 * Records the polling thread: the thread whose polls outweigh those of the others, where a poll of
 * another thread counts several times. A thread that polls occasionally beside a constantly polling
 * one (UCX has one for UD) does not make the CQ shared.
 */
static void note_poller(struct weft_cq_obj *cq)
{
	const void *poller = __atomic_load_n(&cq->poller, __ATOMIC_RELAXED);
	uint32_t polls = __atomic_load_n(&cq->polls, __ATOMIC_RELAXED);

	if (poller == &idle) {
		if (polls < WEFT_POLLS_MAX)
			__atomic_store_n(&cq->polls, polls + 1, __ATOMIC_RELAXED);
	} else if (polls > WEFT_POLLS_OTHER) {
		__atomic_store_n(&cq->polls, polls - WEFT_POLLS_OTHER, __ATOMIC_RELAXED);
	} else {
		__atomic_store_n(&cq->polls, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&cq->poller, &idle, __ATOMIC_RELAXED);
		if (poller)
			__atomic_store_n(&cq->shared, WEFT_SHARED_YIELDS, __ATOMIC_RELAXED);
	}
}

/* Returns true if several threads poll the CQ; called after a long yield. */
static bool is_shared(struct weft_cq_obj *cq)
{
	uint32_t left = __atomic_load_n(&cq->shared, __ATOMIC_RELAXED);

	if (left)
		__atomic_store_n(&cq->shared, left - 1, __ATOMIC_RELAXED);
	return left;
}

/* cq: the CQ that was empty; NULL: something else was polled. */
static void yield(struct weft_cq_obj *cq)
{
	int64_t start_ns, took_ns;

	idle.since_yield = 0;
	if (idle.mode == WEFT_YIELD_FIXED) {
		sched_yield();
		return;
	}
	start_ns = (int64_t)clock_now_ns();
	if (cq && start_ns < idle.rest_until_ns)
		return;
	idle.yields++;
	sched_yield();
	took_ns = (int64_t)clock_now_ns() - start_ns;
	if (cq && took_ns > WEFT_YIELD_LONG_NS && is_shared(cq))
		idle.rest_until_ns = start_ns + took_ns + took_ns * WEFT_YIELD_REST;
	if (took_ns > WEFT_YIELD_SHORT_NS)
		idle.after = WEFT_YIELD_POLLS_MIN;
	else if (idle.after < WEFT_YIELD_POLLS_MAX)
		idle.after *= 2;
}

uint32_t weft_poll_spins(bool first)
{
	static int cpus;

	if (idle.mode == WEFT_YIELD_UNKNOWN)
		idle_init();
	if (!cpus)
		cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	/* If the NIC needs this CPU to progress, further polls are useless. */
	if (cpus == 1)
		return 1;
	return first && idle.mode == WEFT_YIELD_AUTO && idle.after == WEFT_YIELD_POLLS_MIN
		   ? 1
		   : WEFT_SPIN_LOOKS;
}

void weft_poll_yield(void)
{
	if (idle.mode != WEFT_YIELD_NEVER)
		yield(NULL);
}

bool weft_poll_needs_cpu(const struct weft_ctx *ctx)
{
	const struct hw_bar_header *header = ctx->bar;
	uint32_t cpu = __atomic_load_n(&header->poll_cpu, __ATOMIC_RELAXED);

	if (!cpu || cpu == (uint32_t)sched_getcpu() + 1)
		return true;
	/* A NIC with a doorbell for each CPU wakes on that of the process that rings. */
	return ctx->num_doorbells > 1 && __atomic_load_n(&header->sleeping, __ATOMIC_RELAXED);
}

/*
 * Returns true if the wait has just begun, and the NIC polls on another CPU. Programs poll until
 * nothing is left, and then handle what they found; and such a NIC answers most requests within a
 * microsecond or two, which is less than two switches of threads take. A NIC that works on the CPUs
 * of the programs that ring needs this one sooner or later.
 */
static bool spins(const struct weft_ctx *ctx)
{
	bool first = idle.found;
	int64_t now_ns;

	idle.found = false;
	if (!first && !idle.spin_until_ns)
		return false;
	if (ctx->num_doorbells > 1 || weft_poll_needs_cpu(ctx)) {
		idle.spin_until_ns = 0;
		return false;
	}
	now_ns = (int64_t)clock_now_ns();
	if (first)
		idle.spin_until_ns = now_ns + WEFT_YIELD_SHORT_NS;
	else if (now_ns >= idle.spin_until_ns)
		idle.spin_until_ns = 0;
	return idle.spin_until_ns;
}

/*
 * Runs after a poll that found cq empty: yields the processor if cores are scarce. The caller holds
 * no lock of ours. Out of line, so that polls which find completions do not pay for it.
 */
static __attribute__((noinline)) void weft_poll_empty(struct weft_ctx *ctx, struct weft_cq_obj *cq)
{
	if (idle.mode == WEFT_YIELD_UNKNOWN)
		idle_init();
	if (++idle.empty % WEFT_LOOK_POLLS == 0)
		weft_ctx_look(ctx, false);
	note_poller(cq);
	if (idle.mode == WEFT_YIELD_AUTO && spins(ctx))
		return;
	if (cq != idle.first && idle.first && ++idle.others < WEFT_OTHERS_MAX)
		return;
	idle.first = cq;
	idle.others = 0;
	if (idle.mode == WEFT_YIELD_AUTO) {
		note_round();
		if (idle.program_yields)
			return;
	}
	if (idle.mode != WEFT_YIELD_NEVER && ++idle.since_yield >= idle.after)
		yield(cq);
}

void weft_poll_again(void)
{
	if (idle.mode == WEFT_YIELD_UNKNOWN)
		idle_init();
	if (idle.mode != WEFT_YIELD_NEVER && ++idle.since_yield >= idle.after)
		yield(NULL);
}

struct hw_cqe *weft_cq_peek(const struct weft_cq_obj *cq, uint32_t index)
{
	struct hw_cqe *cqe = &cq->ring[index & cq->mask];
	uint32_t phase = weft_barrier_cqe_word(cqe) >> 24;

	return phase == ((index >> cq->shift & 1) ^ 1) ? cqe : NULL;
}

/* Marks the request of a send completion as done; pairs with weft_sq_retire(). */
static void sq_done(struct weft_qp_obj *qp, uint32_t sq_index)
{
	struct weft_sq *sq = &qp->sq;
	struct weft_sq_wr *wr = __atomic_load_n(&sq->wr, __ATOMIC_ACQUIRE);
	uint32_t number;

	/* A failed unsignalled request: the queue was empty since, and gave up its ring. */
	if (!wr)
		return;
	number =
	    __atomic_load_n(&sq->wr_of_slot[(sq_index - 1) & (sq->slots - 1)], __ATOMIC_RELAXED);
	wr += number & sq->wr_mask;
	/*
	 * A failed unsignalled request may be retired already and its slot reused; then end differs
	 * from done, and this store has no effect.
	 */
	__atomic_store_n(&wr->done, sq_index, __ATOMIC_RELEASE);
}

/*
 * Completes one receive of the queue. Receives complete in the order in which messages end, which
 * may differ from the posting order, so the wr_id is searched; usually it is the first.
 */
static void rq_done(struct weft_qp_obj *qp, uint64_t wr_id)
{
	struct weft_rq *rq = &qp->rq;
	uint64_t *of = __atomic_load_n(&rq->wr_id, __ATOMIC_ACQUIRE);
	uint32_t head = __atomic_load_n(&rq->head, __ATOMIC_ACQUIRE);
	uint32_t mask = rq->entries - 1;
	uint32_t i;

	if (!of)
		return;
	for (i = rq->tail; i != head && of[i & mask] != wr_id; i++)
		;
	if (i == head)
		return;
	of[i & mask] = of[rq->tail & mask];
	__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE);
}

static struct weft_qp_obj *find_qp(struct weft_ctx *ctx, struct weft_cq_obj *cq, uint32_t qpn)
{
	struct weft_qp_obj *qp = cq->last_qp;

	if (qp && qp->pub.qpn == qpn)
		return qp;
	qp = weft_table_get(&ctx->qps, qpn);
	/* Only the QP's own CQs forget it when it is destroyed; an XRC_RECV QP has none. */
	if (!qp || qp->pub.qpn != qpn ||
	    (qp->pub.send_cq != &cq->pub && qp->pub.recv_cq != &cq->pub))
		return NULL;
	cq->last_qp = qp;
	return qp;
}

static void retire(struct weft_qp_obj *qp, const struct hw_cqe *cqe)
{
	bool takes_receive = cqe->opcode == HW_CQE_RECV || cqe->opcode == HW_CQE_RECV_WRITE_IMM;

	if (cqe->opcode < HW_CQE_RECV)
		sq_done(qp, cqe->sq_index);
	else if (takes_receive)
		rq_done(qp, cqe->wr_id);
	/* A failed UD receive (LOC_LEN_ERR) does not affect its QP. */
	if (cqe->status != HW_STATUS_SUCCESS &&
	    (cqe->status == HW_STATUS_WR_FLUSH_ERR || cqe->opcode < HW_CQE_RECV ||
	     qp->pub.type != WEFT_QPT_UD))
		weft_qp_saw_error(qp);
}

static void fill_wc(struct weft_wc *wc, const struct hw_cqe *cqe)
{
	bool record = cqe->opcode == HW_CQE_RECV_WRITE_RECORD;

	wc->wr_id = cqe->wr_id;
	wc->timestamp_ns = cqe->timestamp_ns;
	wc->status = (enum weft_wc_status)cqe->status;
	wc->opcode = (enum weft_wc_opcode)cqe->opcode;
	wc->vendor_err = record ? HW_VENDOR_ERR_NONE : cqe->vendor_err;
	wc->bytes = cqe->bytes;
	wc->qpn = cqe->qpn;
	wc->src_qpn = cqe->src_qpn;
	wc->src_ip = cqe->src_ip;
	wc->flags = cqe->flags & ~(uint32_t)HW_CQE_F_XRC;
	wc->imm = cqe->flags & HW_CQE_F_IMM ? cqe->imm_inv : 0;
	wc->inv_stag = cqe->flags & HW_CQE_F_INV ? cqe->imm_inv : 0;
	wc->record_stag = record ? cqe->sq_index : 0;
	wc->record_piece_bytes = record ? cqe->vendor_err : 0;
	wc->record_to = cqe->record_to;
	wc->record_map = cqe->record_map;
}

/* Takes up to max completions that the NIC has written. Under cq->lock. */
static int reap(struct weft_ctx *ctx, struct weft_cq_obj *cq, int max, struct weft_wc *wc)
{
	const struct hw_cqe *cqe;
	struct weft_qp_obj *qp;
	uint32_t cons = cq->cons;
	int n = 0;

	while (n < max && (cqe = weft_cq_peek(cq, cons))) {
		cons++;
		if (!(cqe->flags & HW_CQE_F_XRC)) {
			qp = find_qp(ctx, cq, cqe->qpn);
			if (!qp)
				continue;
			if (qp->tag && cqe->opcode >= HW_CQE_TSEND) {
				n += weft_tag_take(qp, cqe, &wc[n]);
				continue;
			}
			retire(qp, cqe);
		}
		fill_wc(&wc[n++], cqe);
	}
	if (cons != cq->cons) {
		/* Read without the lock by weft_cq_waiting(). */
		__atomic_store_n(&cq->cons, cons, __ATOMIC_RELAXED);
		weft_barrier_cq_cons(cq->record, cons);
	}
	return n;
}

static enum weft_wc_opcode wc_opcode(uint8_t wqe_opcode)
{
	switch ((enum hw_wqe_opcode)wqe_opcode) {
	case HW_WQE_WRITE:
	case HW_WQE_WRITE_IMM:
	case HW_WQE_WRITE_RECORD:
		return WEFT_WC_WRITE;
	case HW_WQE_READ:
		return WEFT_WC_READ;
	case HW_WQE_FETCH_ADD:
		return WEFT_WC_FETCH_ADD;
	case HW_WQE_CMP_SWAP:
		return WEFT_WC_CMP_SWAP;
	case HW_WQE_ATOMIC:
		return WEFT_WC_ATOMIC;
	case HW_WQE_LOCAL_INV:
		return WEFT_WC_LOCAL_INV;
	case HW_WQE_BIND_MW:
		return WEFT_WC_BIND_MW;
	case HW_WQE_SEND:
	case HW_WQE_SEND_IMM:
	case HW_WQE_SEND_INV:
	case HW_WQE_OPCODES:
		break;
	case HW_WQE_TSEND:
		return WEFT_WC_TSEND;
	}
	return WEFT_WC_SEND;
}

void weft_fill_flush(struct weft_wc *wc, const struct weft_qp_obj *qp, uint64_t wr_id,
		     enum weft_wc_opcode opcode)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = wr_id;
	wc->status = WEFT_WC_WR_FLUSH_ERR;
	wc->vendor_err = WEFT_VENDOR_ERR_NIC_GONE;
	wc->opcode = opcode;
	wc->qpn = qp->pub.qpn;
}

static int flush_sq(struct weft_qp_obj *qp, int max, struct weft_wc *wc)
{
	struct weft_sq *sq = &qp->sq;
	const struct hw_sq_wqe *wqe;
	struct weft_sq_wr *wr;
	uint32_t i, cons, start;
	int n = 0;

	weft_lock_take(&sq->lock);
	weft_sq_retire(qp);
	cons = weft_barrier_sq_cons(qp->record);
	for (i = sq->wr_tail; i != sq->wr_head && n < max; i++) {
		wr = &sq->wr[i & sq->wr_mask];
		if (wr->done == wr->end || (!wr->signaled && (int32_t)(cons - wr->end) >= 0))
			continue;
		start = wr->end - wr->slots;
		wqe = (const struct hw_sq_wqe *)(const void *)(sq->ring +
							       (size_t)(start & (sq->slots - 1)) *
								   HW_SQ_SLOT_BYTES);
		/* weft_tag_flush() completes those in the tables of a tagged endpoint. */
		if (wqe->opcode != HW_WQE_TSEND || !weft_tag_is_token(wqe->wr_id))
			weft_fill_flush(&wc[n++], qp, wqe->wr_id, wc_opcode(wqe->opcode));
		wr->signaled = true;
		wr->done = wr->end;
	}
	weft_sq_retire(qp);
	weft_lock_give(&sq->lock);
	return n;
}

static int flush_rq(struct weft_qp_obj *qp, int max, struct weft_wc *wc)
{
	struct weft_rq *rq = &qp->rq;
	int n = 0;

	if (!rq->entries || qp->tag)
		return 0;
	weft_lock_take(&rq->lock);
	while (n < max && rq->tail != rq->head) {
		weft_fill_flush(&wc[n++], qp, rq->wr_id[rq->tail & (rq->entries - 1)],
				WEFT_WC_RECV);
		__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE);
	}
	weft_lock_give(&rq->lock);
	return n;
}

/*
 * The NIC is gone and all its completions were taken: flushes the outstanding requests. Under
 * cq->lock. Posting is rejected by now, or checks the state under the queue's lock before this
 * function takes it. Receives of shared receive queues belong to no queue pair and are not
 * completed. A program that waits only for one of them would poll for good, so it gets -EIO when
 * nothing else is left.
 */
static int flush(struct weft_ctx *ctx, struct weft_cq_obj *cq, int max, struct weft_wc *wc)
{
	struct weft_link *pos;
	const struct weft_srq_obj *srq;
	struct weft_qp_obj *qp;
	bool shared = false;
	int n = 0;

	pthread_mutex_lock(&ctx->lock);
	for (pos = ctx->qp_list.next; pos != &ctx->qp_list && n < max; pos = pos->next) {
		qp = weft_container_of(pos, struct weft_qp_obj, node);
		if (qp->pub.send_cq == &cq->pub)
			n += flush_sq(qp, max - n, wc + n);
		if (qp->pub.recv_cq == &cq->pub)
			n += flush_rq(qp, max - n, wc + n);
		if (qp->tag)
			n += weft_tag_flush(qp, &cq->pub, max - n, wc + n);
		shared |= qp->pub.recv_cq == &cq->pub && qp->pub.srq;
	}
	for (pos = ctx->srq_list.next; pos != &ctx->srq_list && !shared; pos = pos->next) {
		srq = weft_container_of(pos, struct weft_srq_obj, node);
		shared = srq->pub.cq == &cq->pub;
	}
	pthread_mutex_unlock(&ctx->lock);
	return n == 0 && max > 0 && shared ? -EIO : n;
}

/*
 * The record that another thread takes or resizes changes under this look: its answer is out of
 * date then, as any answer would be. Rings stay mapped as long as the context.
 */
bool weft_cq_waiting(struct weft_cq *pub)
{
	struct weft_cq_obj *cq = weft_container_of(pub, struct weft_cq_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);

	if (weft_cq_peek(cq, __atomic_load_n(&cq->cons, __ATOMIC_RELAXED)))
		return true;
	if (++idle.empty % WEFT_LOOK_POLLS == 0)
		weft_ctx_look(ctx, false);
	return weft_ctx_state(ctx) != WEFT_CTX_LIVE;
}

int weft_poll_cq(struct weft_cq *pub, int max, struct weft_wc *wc)
{
	struct weft_cq_obj *cq = weft_container_of(pub, struct weft_cq_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int n;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	pthread_mutex_lock(&cq->lock);
	n = reap(ctx, cq, max, wc);
	if (n == 0 && weft_ctx_state(ctx) == WEFT_CTX_GONE) {
		/*
		 * The state was read after the queue was empty; the NIC may have added entries in
		 * between.
		 */
		n = reap(ctx, cq, max, wc);
		if (n == 0)
			n = flush(ctx, cq, max, wc);
	}
	pthread_mutex_unlock(&cq->lock);
	if (n <= 0 && max > 0) {
		weft_poll_empty(ctx, cq);
	} else {
		idle.since_yield = 0;
		idle.found = n > 0;
	}
	return n;
}
