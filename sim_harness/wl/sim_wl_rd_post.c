/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads rd_mix and rd_send: requests.
 *
 * Draws an operation, its length and its pieces, fills what it sends, and posts it. Calls libweft
 * and sim_end.c.
 */
#include "sim_harness/wl/sim_wl_rd.h"

#include <errno.h>
#include <string.h>

#include "shared_defs/hw_atomic.h"

enum {
	RD_SGES = 16,
	RD_INLINE_BYTES = 256,
};

/* A request under construction. */
struct rd_request {
	struct weft_send_wr wr;
	struct weft_sge sge[RD_SGES];
};

/* Divides [offset, offset + bytes) into a random number of SGEs, including empty ones. */
static void make_sges(struct rd_actor *a, struct rd_request *post, size_t offset, uint32_t bytes)
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
			   struct rd_request *post, uint8_t *stage)
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
			struct rd_request *post)
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

/* Draws an operation of any type; half of the comparands are what is there. */
static void fill_typed(struct rd_actor *a, struct rd_target *t, struct rd_op *op, uint32_t slot,
		       struct rd_request *post)
{
	uint8_t *shadow = t->shadow + slot * RD_SLOT_BYTES;

	do {
		op->atomic_op = (uint8_t)sim_prng_below(&a->atomics, HW_ATOMIC_OPS);
		op->atomic_type = (uint8_t)sim_prng_below(&a->atomics, HW_ATOMIC_TYPES);
	} while (!hw_atomic_is_valid(HW_ATOMIC_CODE(op->atomic_op, op->atomic_type)));
	op->bytes = hw_atomic_bytes(op->atomic_type);
	op->at = (uint32_t)sim_prng_below(&a->atomics, RD_SLOT_BYTES / op->bytes) * op->bytes;
	op->swap = sim_prng_next(&a->atomics);
	op->compare = sim_prng_next(&a->atomics);
	if (sim_prng_below(&a->atomics, 2))
		memcpy(&op->compare, shadow + op->at, op->bytes);
	post->wr.atomic_op = (enum weft_atomic_op)op->atomic_op;
	post->wr.atomic_type = (enum weft_atomic_type)op->atomic_type;
	post->wr.compare_add = op->compare;
	post->wr.swap = op->swap;
}

static bool is_atomic(const struct rd_op *op)
{
	return op->kind == SIM_OP_FETCH_ADD || op->kind == SIM_OP_CMP_SWAP;
}

void wl_rd_post(struct rd_actor *a, uint32_t ti, uint32_t slot)
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
	uint8_t *stage = a->end.buf + rd_stage_offset(ti, slot);
	struct rd_request post = {.wr = {.sg_list = post.sge, .flags = WEFT_SEND_SIGNALED}};
	int rc;

	op->kind = draw_kind(a);
	op->bytes = draw_bytes(a);
	op->at = (uint32_t)sim_prng_below(&a->prng, RD_SLOT_BYTES - op->bytes + 1);
	op->typed =
	    is_atomic(op) && sim_prng_below(&a->atomics, 100) < a->run->param[RD_PARAM_TYPED];
	if (op->typed)
		fill_typed(a, t, op, slot, &post);
	else if (is_atomic(op))
		fill_atomic(a, t, op, slot, &post);
	else if (op->kind == SIM_OP_WRITE)
		sim_prng_fill(&a->prng, stage, op->bytes);
	else if (op->kind != SIM_OP_READ)
		fill_two_sided(a, t, op, &post, stage);
	if (op->kind == SIM_OP_READ)
		memset(stage, 0xee, op->bytes);
	else if (is_atomic(op))
		memset(stage, RD_BEFORE, sizeof(uint64_t));
	make_sges(a, &post, rd_stage_offset(ti, slot), op->bytes);
	if (is_atomic(op)) {
		post.wr.num_sge = 1;
		post.sge[0] = sim_end_sge(&a->end, rd_stage_offset(ti, slot), op->bytes);
	} else if (op->kind != SIM_OP_READ && op->bytes <= RD_INLINE_BYTES &&
		   sim_prng_below(&a->prng, 2)) {
		post.wr.flags |= WEFT_SEND_INLINE;
	}
	if (!sim_prng_below(&a->prng, 4))
		post.wr.flags |= WEFT_SEND_FENCE;
	if (!sim_prng_below(&a->prng, 4))
		post.wr.flags |= WEFT_SEND_SOLICITED;
	post.wr.opcode = op->typed ? WEFT_WR_ATOMIC : opcodes[op->kind];
	post.wr.wr_id = ti * RD_SLOTS + slot;
	post.wr.ah = t->ah;
	post.wr.dst_qpn = peer->end.qp->qpn;
	post.wr.qkey = SIM_END_QKEY;
	post.wr.rkey = peer->end.mr->rkey;
	/* This process is the peer's ti-th initiator. */
	post.wr.remote_addr =
	    (uintptr_t)peer->end.buf + rd_window_offset(ti) + slot * RD_SLOT_BYTES + op->at;
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
