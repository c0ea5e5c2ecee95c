/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": memory ranges of operations, and their expected content.
 *
 * Calls sim_shadow.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	PICKS = 6, /* attempts to find a free range */
};

uint64_t wv_addr(const struct wv_mr *mr, size_t offset)
{
	return mr->iova + (offset - mr->offset);
}

/* Draws an offset in a region; its ends are as likely as the rest. */
static size_t draw_offset(struct wv *wv, size_t low, size_t high)
{
	switch (wv_below(wv, 6)) {
	case 0:
		return low;
	case 1:
		return high;
	default:
		return low + (size_t)sim_prng_below(&wv->prng, high - low + 1);
	}
}

size_t wv_low_of(const struct wv_mr *mr)
{
	return mr->area == &mr->area->proc->area[0] && mr->offset < WV_WORD_ZONE ? WV_WORD_ZONE
										 : mr->offset;
}

bool wv_reserve(struct wv_proc *proc, struct wv_rq *rq, uint32_t bytes)
{
	uint32_t i;

	for (i = WV_MRS; i-- > 0;) {
		struct wv_mr *mr = &proc->mr[i];
		size_t high = mr->offset + mr->bytes, offset;

		if (!mr->mr || mr->ending || mr->pd != rq->pd ||
		    !(mr->access & WEFT_ACCESS_LOCAL_WRITE))
			continue;
		offset = sim_shadow_find(mr->area->shadow, wv_low_of(mr), high, bytes, true);
		if (offset == high)
			continue;
		rq->reserve_mr = mr;
		rq->reserve_offset = offset;
		rq->reserve_bytes = bytes;
		rq->reserve = sim_shadow_hold(mr->area->shadow, offset, bytes, SIM_HOLD_KEEP, NULL);
		return true;
	}
	return false;
}

void wv_unreserve(struct wv_rq *rq)
{
	sim_shadow_release(rq->reserve);
	rq->reserve = NULL;
	rq->reserve_mr = NULL;
}

struct wv_mr *wv_pick(struct wv_proc *proc, uint32_t pd, uint32_t bytes, uint32_t access,
		      bool write, size_t *offset)
{
	uint32_t tries;

	for (tries = 0; tries < PICKS; tries++) {
		struct wv_mr *mr = &proc->mr[wv_below(proc->wv, WV_MRS)];
		size_t low;

		if (!mr->mr || mr->ending || mr->pd != pd || (mr->access & access) != access)
			continue;
		low = wv_low_of(mr);
		if (low + bytes > mr->offset + mr->bytes)
			continue;
		*offset = draw_offset(proc->wv, low, mr->offset + mr->bytes - bytes);
		if (sim_shadow_free_range(mr->area->shadow, *offset, bytes, write))
			return mr;
	}
	return NULL;
}

static void fail_diff(struct wv *wv, const struct sim_shadow_diff *diff, const struct wv_area *area,
		      const char *what, const struct wv_op *op)
{
	const struct wv_proc *proc = area->proc;

	if (diff->user)
		op = diff->user;
	wv_fail(wv,
		"shadow: weft%u process %u area %u offset %zu: is %02x, expected %02x, %s"
		" (request %" PRIu64 " of QP 0x%x)",
		sim_nic_index(proc->nic), proc->slot, (uint32_t)(area - proc->area), diff->offset,
		diff->is, diff->expected, what, op ? op->m.wr_id : 0, op ? op->qp->model.qpn : 0);
}

static const struct wv_area *area_of(struct wv *wv, const struct sim_shadow *shadow)
{
	const struct wv_proc *proc;
	uint32_t i;

	for (proc = wv->procs; proc; proc = proc->next) {
		for (i = 0; i < WV_AREAS; i++) {
			if (proc->area[i].shadow == shadow)
				return &proc->area[i];
		}
	}
	assert(!"a shadow of no process");
	return NULL;
}

void wv_settle(struct wv *wv, struct sim_hold *hold, const uint8_t *data, const char *what,
	       const struct wv_op *op)
{
	struct sim_shadow *shadow = hold ? hold->shadow : NULL;
	struct sim_shadow_diff diff;

	if (!sim_shadow_settle(hold, data, &diff))
		fail_diff(wv, &diff, area_of(wv, shadow), what, op);
}

void wv_written(struct wv *wv, struct wv_op *op)
{
	struct sim_hold *hold = op->remote;
	struct sim_shadow_diff diff;

	if (!sim_shadow_to_read(hold, &diff))
		fail_diff(wv, &diff, area_of(wv, hold->shadow), "what a Write wrote", op);
	op->reader->remote = hold;
	op->remote = NULL;
}

void wv_adopt(struct wv *wv, struct sim_hold *hold, const char *what, const struct wv_op *op)
{
	struct sim_shadow *shadow = hold ? hold->shadow : NULL;
	struct sim_shadow_diff diff;

	if (!sim_shadow_adopt(hold, &diff))
		fail_diff(wv, &diff, area_of(wv, shadow), what, op);
}

const uint8_t *wv_memory(const struct wv_proc *proc, const struct sim_hold *hold)
{
	return proc->area[hold->shadow == proc->area[1].shadow].mem + hold->offset;
}

void wv_check_memory(struct wv *wv)
{
	const struct wv_proc *proc;
	struct sim_shadow_diff diff;
	uint32_t i;

	wv->checked_ns = sim_now_ns(wv->sim);
	for (proc = wv->procs; proc; proc = proc->next) {
		if (proc->dead)
			continue;
		for (i = 0; i < WV_AREAS; i++) {
			if (!sim_shadow_check(proc->area[i].shadow, &diff)) {
				fail_diff(wv, &diff, &proc->area[i], "in a whole check", NULL);
				return;
			}
			wv->run->bytes += proc->area[i].bytes;
		}
	}
}

struct wv_word *wv_word_take(struct wv_qp *qp, struct wv_qp *dst, uint32_t *index)
{
	struct wv_proc *proc = dst->proc;
	uint32_t i = wv_below(qp->proc->wv, WV_WORDS), n;

	for (n = 0; n < WV_WORDS; n++, i = (i + 1) % WV_WORDS) {
		struct wv_word *word = &proc->word[i];

		if (word->uncertain)
			continue;
		if (word->under_way && (word->owner != qp || word->dst != dst))
			continue;
		*index = i;
		if (!word->under_way) {
			word->owner = qp;
			word->dst = dst;
			memcpy(&word->value, sim_shadow_at(proc->area[0].shadow, i * 8), 8);
			word->hold =
			    sim_shadow_hold(proc->area[0].shadow, i * 8, 8, SIM_HOLD_ANY, NULL);
		}
		return word;
	}
	return NULL;
}

void wv_word_done(struct wv_op *op, bool success)
{
	struct wv_word *word = op->word;

	word->under_way--;
	if (!success)
		word->uncertain = true;
	if (word->under_way || word->uncertain)
		return;
	wv_settle(op->proc->wv, word->hold, (const uint8_t *)&word->value,
		  "the word of atomics that all succeeded", op);
	word->hold = NULL;
}

/*
 * Checks old values of successful additions of 1: each occurs once, none exceeds the number of
 * requests.
 */
void wv_counter_done(struct wv_op *op, bool success)
{
	struct wv_counter *counter = op->counter;
	struct wv *wv = op->proc->wv;
	uint64_t old, nth;

	if (!success)
		return;
	counter->succeeded++;
	memcpy(&old, op->data, sizeof(old));
	nth = old - counter->base;
	if (nth >= counter->issued) {
		wv_fail(wv,
			"atomic: request %" PRIu64 " returned old value %" PRIu64
			" of a counter that was incremented %u times at most",
			op->m.wr_id, nth, counter->issued);
		return;
	}
	if (nth >= counter->seen_bits) {
		uint32_t bits = counter->seen_bits ? counter->seen_bits * 2 : 512;

		while (bits <= nth)
			bits *= 2;
		counter->seen = realloc(counter->seen, bits / 8);
		assert(counter->seen);
		memset(counter->seen + counter->seen_bits / 8, 0, (bits - counter->seen_bits) / 8);
		counter->seen_bits = bits;
	}
	if (counter->seen[nth / 8] >> (nth % 8) & 1)
		wv_fail(wv,
			"atomic: request %" PRIu64 " returned old value %" PRIu64
			" of a counter, as another one did",
			op->m.wr_id, nth);
	counter->seen[nth / 8] |= (uint8_t)(1 << (nth % 8));
}

void wv_check_counters(struct wv *wv)
{
	const struct wv_proc *proc;
	uint32_t i;

	for (proc = wv->procs; proc; proc = proc->next) {
		if (proc->dead)
			continue;
		for (i = 0; i < WV_COUNTERS; i++) {
			const struct wv_counter *counter = &proc->counter[i];
			uint64_t value;

			memcpy(&value, proc->area[0].mem + (WV_WORDS + i) * 8, sizeof(value));
			value -= counter->base;
			if (value < counter->succeeded || value > counter->issued)
				wv_fail(wv,
					"atomic: weft%u process %u: counter %u stands at %" PRIu64
					" after %u additions of which %u succeeded",
					sim_nic_index(proc->nic), proc->slot, i, value,
					counter->issued, counter->succeeded);
		}
	}
}
