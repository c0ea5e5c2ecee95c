/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that wait for receivers of the built-in switch, in order per receiver. See switch_hold.h.
 *
 * Runs on the sender's core.
 */
#include "dpdk_app/wire/switch_hold.h"

#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/borrow.h"

uint32_t switch_hold_put(struct switch_holds *holds, uint32_t to, struct rte_mbuf **frames,
			 uint32_t n, uint64_t now_ns)
{
	struct switch_hold *hold = &holds->to[to];
	uint32_t room = SWITCH_HOLD_FRAMES - hold->count;

	if (room > SWITCH_HOLD_TOTAL - holds->total)
		room = SWITCH_HOLD_TOTAL - holds->total;
	if (n > room)
		n = room;
	if (!n)
		return 0;
	if (!hold->count)
		hold->since_ns = now_ns;
	memcpy(&hold->frame[hold->count], frames, n * sizeof(frames[0]));
	hold->count += n;
	holds->total += n;
	holds->mask |= UINT32_C(1) << to;
	return n;
}

bool switch_hold_alive(const struct switch_holds *holds, uint32_t to, uint64_t now_ns)
{
	return now_ns - holds->to[to].since_ns < SWITCH_ALIVE_NS;
}

/* Removes the first n frames. */
static void hold_take(struct switch_holds *holds, uint32_t to, uint32_t n)
{
	struct switch_hold *hold = &holds->to[to];

	hold->count -= n;
	holds->total -= n;
	memmove(&hold->frame[0], &hold->frame[n], hold->count * sizeof(hold->frame[0]));
	if (!hold->count)
		holds->mask &= ~(UINT32_C(1) << to);
}

uint32_t switch_hold_flush(struct switch_holds *holds, switch_hold_fn fn, void *ctx,
			   uint64_t now_ns, uint64_t *stuck)
{
	uint32_t moved = 0;

	for (uint32_t left = holds->mask; left; left &= left - 1) {
		uint32_t to = (uint32_t)__builtin_ctz(left);
		struct switch_hold *hold = &holds->to[to];
		uint32_t took = fn(ctx, to, hold->frame, hold->count);

		if (took) {
			hold->since_ns = now_ns;
		} else if (now_ns - hold->since_ns >= SWITCH_HOLD_NS) {
			took = hold->count;
			*stuck += borrow_count(hold->frame, took);
			rte_pktmbuf_free_bulk(hold->frame, took);
		}
		hold_take(holds, to, took);
		moved += took;
	}
	return moved;
}

void switch_hold_forget(struct switch_holds *holds, uint32_t to)
{
	rte_pktmbuf_free_bulk(holds->to[to].frame, holds->to[to].count);
	hold_take(holds, to, holds->to[to].count);
}

void switch_hold_drop(struct switch_holds *holds)
{
	for (uint32_t to = 0; to < CONF_MAX_NICS; to++)
		switch_hold_forget(holds, to);
}
