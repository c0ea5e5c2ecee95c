/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic of good.h. Calls proc.c.
 */
#include "tests/fuzz/good.h"

#include "tests/fuzz/coll.h"

enum {
	PATIENCE_S = 5,
	MODERATED_MS = 20,
	RECV = 0x100, /* in a wr_id: the receive of this slot */
};

static struct good {
	struct side {
		uint32_t pd, ah, stag;
		struct hw_resp_create_eq eq;
		struct hw_resp_create_cq cq;
		uint32_t eq_cons, cons;
		struct w_qp rd, rc;
	} side[2];
	struct slot {
		bool send_due, recv_due; /* completions */
		uint8_t from;
		uint8_t kind;
		uint32_t bytes;
		uint32_t serial; /* seed of the pattern; 0: never used */
	} slot[GOOD_SLOTS];
	uint32_t serial;
	uint32_t qkey;
	uint32_t due;
	struct coll coll;
	uint32_t coll_serial; /* slot of the exchanged bytes; 0: none */
	uint32_t irqs_of,
	    irqs; /* the process that waits for an interrupt, and its count of interrupts */
} good, begun;

static struct w_proc *proc(uint32_t e)
{
	return &w->proc[GOOD_PROC + e];
}

static uint8_t *source(uint32_t e, uint32_t slot)
{
	return proc(e)->mem + slot * GOOD_SLOT_BYTES;
}

static uint8_t *sink(uint32_t e, uint32_t slot)
{
	return source(e, slot) + GOOD_MAX_BYTES;
}

static void fill(uint8_t *mem, uint32_t bytes, uint32_t serial)
{
	uint32_t i, x = serial * 2654435761u;

	for (i = 0; i < bytes; i++)
		mem[i] = (uint8_t)(x >> 24 ^ i * 13);
}

static void check_filled(const uint8_t *mem, uint32_t bytes, uint32_t serial, const char *what)
{
	uint32_t i, x = serial * 2654435761u;

	for (i = 0; i < bytes; i++)
		W_CHECK(mem[i] == (uint8_t)(x >> 24 ^ i * 13), "good: byte %u of %u is wrong (%s)",
			i, bytes, what);
}

static void check_zero(const uint8_t *mem, uint32_t bytes)
{
	static const uint8_t zero[GOOD_MAX_BYTES];

	W_CHECK(!memcmp(mem, zero, bytes), "good: memory was written that nobody wrote");
}

/* ---- set-up ------------------------------------------------------------------------------ */

static void make_side(uint32_t e)
{
	struct side *s = &good.side[e];
	struct hw_cmd_create_qp create = {.type = HW_QPT_RD, .srq = HW_SRQ_NONE};

	proc_attach(proc(e), e);
	s->pd = proc_pd(proc(e));
	proc_cq(proc(e), proc_eq(proc(e), &s->eq), &s->cq);
	s->stag = proc_reg(proc(e), s->pd, 0, W_MEM_BYTES, W_ALL_ACCESS, true);
	create.pd = s->pd;
	create.send_cq = create.recv_cq = s->cq.cq;
	proc_qp(proc(e), &s->rd, &create);
	create.type = HW_QPT_RC;
	proc_qp(proc(e), &s->rc, &create);
}

/* An eighth of each memory is for collectives: a second slot needs no room. */
static void join_side(uint32_t e)
{
	uint8_t *mem = proc(e)->mem + GOOD_SLOTS * GOOD_SLOT_BYTES;

	good.coll.key = UINT64_C(0x99aabbccddeeff00);
	good.coll.end[e] = (struct coll_end){
	    .p = proc(e),
	    .pd = good.side[e].pd,
	    .stag = {good.side[e].stag, good.side[e].stag},
	    .mem = mem,
	    .other = mem + GOOD_SLOT_BYTES - 1024,
	    .bytes = {GOOD_SLOT_BYTES - 1024 - COLL_SLOT_AT, 1024},
	};
}

void good_begin(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++)
		make_side(e);
	for (e = 0; e < 2; e++) {
		struct side *s = &good.side[e];

		W_CHECK(!proc_rts(proc(e), &s->rd, 1, NULL) &&
			    !proc_rts(proc(e), &s->rc, 1, &good.side[!e].rc),
			"good: no RTS");
		s->ah = proc_ah(proc(e), s->pd, w->nic[!e].fw->config.ip);
		join_side(e);
	}
	coll_begin(&good.coll);
	begun = good;
}

void good_start(uint32_t secret)
{
	struct hw_qp_attr attr = {.qkey = secret & 0x7fffffff};
	uint32_t e;

	good = begun;
	good.qkey = attr.qkey;
	for (e = 0; e < 2; e++)
		W_CHECK(
		    !proc_modify(proc(e), good.side[e].rd.made.qpn, HW_QPS_RTS, HW_QP_QKEY, &attr),
		    "good: no Q_Key");
}

/* ---- posting ----------------------------------------------------------------------------- */

static const uint8_t opcodes[GOOD_KINDS] = {
    [GOOD_RD_SEND] = HW_WQE_SEND, [GOOD_RD_WRITE] = HW_WQE_WRITE,
    [GOOD_RD_READ] = HW_WQE_READ, [GOOD_RD_ADD] = HW_WQE_FETCH_ADD,
    [GOOD_RC_SEND] = HW_WQE_SEND, [GOOD_RC_WRITE] = HW_WQE_WRITE,
    [GOOD_RC_READ] = HW_WQE_READ,
};

static void post_recv(uint32_t e, const struct w_qp *qp, uint32_t slot, uint32_t bytes)
{
	struct hw_rq_wqe wqe = {.wr_id = slot | RECV, .num_sge = 1};
	struct hw_sge sge = {
	    .addr = (uintptr_t)sink(e, slot), .bytes = bytes, .lkey = good.side[e].stag};

	proc_recv(proc(e), qp->made.record_offset + offsetof(struct hw_qp_record, rq_prod),
		  qp->made.rq_offset, qp->made.rq_entries, qp->made.rq_stride_bytes, &wqe, &sge);
}

/* Source and destination of the data. */
static void prepare(const struct slot *s, uint32_t slot, struct hw_sge *sge, uint64_t *remote)
{
	uint32_t from = s->from;

	memset(sink(0, slot), 0, GOOD_MAX_BYTES);
	memset(sink(1, slot), 0, GOOD_MAX_BYTES);
	fill(source(0, slot), GOOD_MAX_BYTES, s->serial);
	fill(source(1, slot), GOOD_MAX_BYTES, s->serial + 1);
	sge->bytes = s->bytes;
	sge->lkey = good.side[from].stag;
	switch (opcodes[s->kind]) {
	case HW_WQE_READ:
		sge->addr = (uintptr_t)sink(from, slot);
		*remote = (uintptr_t)source(!from, slot);
		break;
	case HW_WQE_FETCH_ADD:
		sge->addr = (uintptr_t)sink(from, slot);
		*remote = (uintptr_t)sink(!from, slot);
		break;
	default:
		sge->addr = (uintptr_t)source(from, slot);
		*remote = (uintptr_t)sink(!from, slot);
		break;
	}
}

void good_post(uint32_t e, uint32_t slot, enum good_kind kind, uint32_t bytes)
{
	struct side *side = &good.side[e];
	struct slot *s = &good.slot[slot];
	bool rc = kind >= GOOD_RC_SEND;
	const struct w_qp *qp = rc ? &side->rc : &side->rd;
	const struct w_qp *to = rc ? &good.side[!e].rc : &good.side[!e].rd;
	struct hw_sge sge;
	struct hw_sq_wqe wqe = {
	    .opcode = opcodes[kind],
	    .flags = HW_WQE_F_SIGNALED,
	    .num_sge = 1,
	    .slots = (uint8_t)hw_sq_slots(sizeof(sge)),
	    .wr_id = slot,
	    .ah = side->ah,
	    .dst_qpn = to->made.qpn,
	    .qkey = good.qkey,
	    .rkey = good.side[!e].stag,
	    .compare_add = 5,
	};

	if (s->send_due || s->recv_due)
		return;
	bytes = 1 + bytes % GOOD_MAX_BYTES;
	good.serial += 2;
	*s = (struct slot){.send_due = true,
			   .recv_due = wqe.opcode == HW_WQE_SEND,
			   .from = (uint8_t)e,
			   .kind = (uint8_t)kind,
			   .bytes = wqe.opcode == HW_WQE_FETCH_ADD ? 8 : bytes,
			   .serial = good.serial};
	prepare(s, slot, &sge, &wqe.remote_addr);
	good.due += 1u + s->recv_due;
	if (s->recv_due)
		post_recv(!e, to, slot, s->bytes);
	proc_wqe(proc(e), qp, &wqe, &sge, sizeof(sge), true);
	proc_ring_sq(proc(e), qp);
}

static uint8_t *exchanged(uint32_t e)
{
	return good.coll.end[e].mem + COLL_SLOT_AT;
}

void good_run(void)
{
	uint32_t e;

	if (good.coll_serial)
		return;
	good.coll_serial = good.serial += 2;
	for (e = 0; e < 2; e++) {
		fill(exchanged(e), SCHED_EXCHANGE_BYTES, good.coll_serial + e);
		memset(exchanged(e) + SCHED_EXCHANGE_BYTES, 0, SCHED_EXCHANGE_BYTES);
		W_CHECK(coll_start(&good.coll, e, SCHED_EXCHANGE, 0), "good: no run record");
	}
}

/* ---- checking ---------------------------------------------------------------------------- */

static void check_slot(uint32_t slot)
{
	const struct slot *s = &good.slot[slot];
	uint32_t to = opcodes[s->kind] == HW_WQE_READ ? s->from : !s->from;
	uint64_t sum;

	if (!s->serial)
		return;
	check_filled(source(0, slot), GOOD_MAX_BYTES, s->serial, "source");
	check_filled(source(1, slot), GOOD_MAX_BYTES, s->serial + 1, "source");
	check_zero(sink(to, slot) + s->bytes, GOOD_MAX_BYTES - s->bytes);
	if (opcodes[s->kind] == HW_WQE_FETCH_ADD) {
		memcpy(&sum, sink(to, slot), sizeof(sum));
		W_CHECK(sum == 5, "good: an atomic was executed %llu times",
			(unsigned long long)(sum / 5));
		check_zero(sink(!to, slot), GOOD_MAX_BYTES);
		return;
	}
	check_zero(sink(!to, slot), GOOD_MAX_BYTES);
	check_filled(sink(to, slot), s->bytes, s->serial + (to == s->from ? !s->from : s->from),
		     "sink");
}

static void take(uint32_t e, const struct hw_cqe *cqe)
{
	uint32_t slot = (uint32_t)cqe->wr_id & ~(uint32_t)RECV;
	bool recv = cqe->wr_id & RECV;
	struct slot *s = &good.slot[slot % GOOD_SLOTS];

	W_CHECK(slot < GOOD_SLOTS && (recv ? s->recv_due : s->send_due),
		"good: a completion of nothing, wr_id %llx", (unsigned long long)cqe->wr_id);
	W_CHECK(cqe->status == HW_STATUS_SUCCESS, "good: kind %u failed: status %u, vendor %u",
		s->kind, cqe->status, cqe->vendor_err);
	W_CHECK(e == (recv ? !s->from : s->from), "good: a completion in another queue");
	W_CHECK(!recv || cqe->bytes == s->bytes, "good: %u bytes of %u", cqe->bytes, s->bytes);
	if (recv)
		s->recv_due = false;
	else
		s->send_due = false;
	good.due--;
	if (!s->recv_due && !s->send_due)
		check_slot(slot);
}

static void take_run(void)
{
	uint32_t e, i;

	if (!good.coll_serial || !coll_idle(&good.coll))
		return;
	for (e = 0; e < 2; e++) {
		for (i = 0; i < COLL_RECORDS; i++) {
			const struct hw_goal_run *record = coll_record(&good.coll, e, i);

			W_CHECK(record->status == HW_GOAL_OK,
				"good: a run failed: status %u, rank %u", record->status,
				record->rank);
		}
		check_filled(exchanged(e), SCHED_EXCHANGE_BYTES, good.coll_serial + e,
			     "run's source");
		check_filled(exchanged(e) + SCHED_EXCHANGE_BYTES, SCHED_EXCHANGE_BYTES,
			     good.coll_serial + !e, "run");
	}
	good.coll_serial = 0;
}

void good_poll(void)
{
	struct hw_cqe cqe;
	uint32_t e;

	take_run();

	for (e = 0; e < 2; e++)
		while (proc_cqe(proc(e), &good.side[e].cq, &good.side[e].cons, &cqe))
			take(e, &cqe);
}

bool good_idle(void)
{
	good_poll();
	return !good.due && !good.coll_serial;
}

static void wait_idle(void)
{
	world_run(PATIENCE_S * W_S, good_idle);
	W_CHECK(good_idle(), "good: %u completions, %u runs have not come", good.due,
		!!good.coll_serial);
}

static bool interrupted(void)
{
	return proc(good.irqs_of)->irqs != good.irqs;
}

void good_finish(void)
{
	uint32_t e, slot;

	wait_idle();
	good_run();
	for (e = 0; e < 2; e++) {
		const struct hw_resp_create_cq *cq = &good.side[e].cq;
		struct hw_cq_record *record = (void *)(proc(e)->bar + cq->record_offset);
		uint32_t irqs = proc(e)->irqs;

		record->arm = HW_CQ_ARM_ARMED | (good.side[e].cons & HW_CQ_ARM_INDEX);
		proc_ring(proc(e), HW_DB_CQ_ARM, cq->cq,
			  cq->record_offset + offsetof(struct hw_cq_record, rung));
		good_post(e, e, GOOD_RD_SEND, 3000);
		wait_idle();
		/* The other process may have set the vector's moderation, which is allowed here. */
		good.irqs_of = e;
		good.irqs = irqs;
		world_run(MODERATED_MS * W_MS, interrupted);
		W_CHECK(proc(e)->irqs != irqs, "good: no interrupt");
		/* The next event comes when this one's completions are taken. */
		while (proc_eqe(proc(e), &good.side[e].eq, &good.side[e].eq_cons))
			;
	}
	for (slot = 0; slot < GOOD_SLOTS; slot++)
		check_slot(slot);
}
