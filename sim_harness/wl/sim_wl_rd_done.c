/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads rd_mix and rd_send: completions.
 *
 * Compares what an operation brought, and what a peer sent, with the shadow and the pattern of the
 * message. Calls libweft, sim_wl_actor.c and sim_end.c.
 */
#include "sim_harness/sim_atomic.h"
#include "sim_harness/wl/sim_wl_rd.h"

#include <inttypes.h>
#include <string.h>

enum {
	RD_LATER = RD_SLOTS + 1, /* messages of a flow that may be under way */
	RD_STALE = 0xdd,         /* what was sent is overwritten: a NIC must not read it again */
};

/* True if the bytes behind the old value of an atomic are as they were, up to eight in all. */
static bool is_before(const uint8_t *stage, uint32_t bytes)
{
	while (bytes < sizeof(uint64_t) && stage[bytes] == RD_BEFORE)
		bytes++;
	return bytes == sizeof(uint64_t);
}

/* Checks the result of a completed operation against the shadow. */
static void op_done(struct rd_actor *a, uint32_t ti, uint32_t slot)
{
	struct rd_target *t = &a->target[ti];
	struct rd_op *op = &t->op[slot];
	uint8_t *stage = a->end.buf + rd_stage_offset(ti, slot);
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
		right = !memcmp(shadow, stage, op->bytes) && is_before(stage, op->bytes);
		if (op->typed) {
			(void)sim_atomic_expect(op->atomic_op, op->atomic_type, shadow, op->swap,
						op->compare);
			break;
		}
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
	uint8_t *at = a->end.buf + rd_recv_offset(r);
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
	if (sim_end_recv(&a->end, wc->wr_id, rd_recv_offset(r), RD_SLOT_BYTES))
		sim_run_fail(a->run, "post: weft%u: a receive could not be posted", a->index);
}

void wl_rd_done(struct rd_actor *a, const struct weft_wc *wc)
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
