/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All interleavings of a few sends and receives between two NICs.
 *
 * The test holds every frame. A schedule says, for each NIC, how many frames it has received before
 * it posts its next request; steps of different NICs touch each other through frames alone, so
 * these numbers describe every interleaving, and each once. Frames of a direction are delivered in
 * order, or the newest first where the schedule says so. tag_order_run.c carries it out. For one
 * sender and receives that are not cancelled the matching is the same in all of them: that of the
 * sequential matcher (sim_tag_ref.c), which each run is compared with. With a cancellation the
 * model judges (sim_tag_model.c).
 *
 * WEFT_TAG_ALL=N in the environment divides the strides between the mixes that are run by N; with
 * 2000 all of them are.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/tag_order_run.h"
#include "tests/ut.h"

/*
 * The next one in lexical order: numbers of one NIC do not fall. After a schedule that cannot be
 * because a NIC waits, larger numbers there cannot be either.
 */
static bool next_of(uint32_t *before, uint32_t n, uint32_t most)
{
	uint32_t i = n, k;

	while (i-- > 0) {
		if (before[i] == most)
			continue;
		before[i]++;
		for (k = i + 1; k < n; k++)
			before[k] = before[i];
		return true;
	}
	return false;
}

/* All schedules with at most so many frames before the last post of a NIC. */
static bool all_schedules(const struct mix *mix, uint32_t most, uint32_t newest)
{
	uint32_t n[2] = {mix->sends, mix->recvs + (mix->cancel < mix->recvs)};
	struct schedule s = {.newest = newest};
	enum tag_order_end end;
	uint32_t i;

	do {
		memset(s.before[1], 0, sizeof(s.before[1]));
		do {
			end = tag_order_run(mix, &s, &i);
			if (end == TAG_ORDER_WRONG)
				return false;
			/* No later time is possible for a post that waits in vain. */
			for (; end == TAG_ORDER_RECEIVER_WAITS && i < n[1]; i++)
				s.before[1][i] = most;
		} while (next_of(s.before[1], n[1], most));
	} while (next_of(s.before[0], n[0], most));
	return true;
}

/* The i-th mix of n sends and n receives. */
static struct mix mix_at(uint32_t n, uint32_t i, uint32_t cancel)
{
	struct mix mix = {.sends = n, .recvs = n, .cancel = cancel};
	uint32_t k;

	for (k = 0; k < n; k++) {
		mix.send[k] = (enum send_kind)(i % SEND_KINDS);
		i /= SEND_KINDS;
		mix.recv[k] = (enum recv_kind)(i % RECV_KINDS);
		i /= RECV_KINDS;
	}
	return mix;
}

static uint32_t mixes_of(uint32_t n)
{
	uint32_t all = 1;

	while (n--)
		all *= SEND_KINDS * RECV_KINDS;
	return all;
}

static void all_mixes(uint32_t n, uint32_t most, uint32_t stride, uint32_t cancel, uint32_t newest)
{
	struct tag_order_counts *c = &tag_order_counts;
	bool right = true;
	uint32_t i;

	if (getenv("WEFT_TAG_ALL"))
		stride = 1 + stride / (uint32_t)(1 + atoi(getenv("WEFT_TAG_ALL")));
	memset(c, 0, sizeof(*c));
	for (i = stride / 2; i < mixes_of(n) && right; i += stride) {
		const struct mix mix = mix_at(n, i, cancel);

		right = all_schedules(&mix, most, newest);
	}
	tag_order_close();
	CU_ASSERT(right);
	CU_ASSERT(c->checked > 0);
	printf(" %llu schedules, %llu that cannot be, %llu announcements, %llu used ",
	       (unsigned long long)c->checked, (unsigned long long)c->impossible,
	       (unsigned long long)c->announced, (unsigned long long)c->used);
}

static void two_by_two(void)
{
	all_mixes(2, 3, 29, MOST, 0);
}

static void two_by_two_out_of_order(void)
{
	all_mixes(2, 3, 41, MOST, 0xff);
	all_mixes(2, 3, 61, MOST, 0x31);
}

static void two_by_two_with_a_cancellation(void)
{
	all_mixes(2, 2, 53, 0, 0);
	all_mixes(2, 2, 53, 1, 0);
}

static void three_by_three(void)
{
	all_mixes(3, 3, 4001, MOST, 0);
}

static void three_by_three_with_a_cancellation(void)
{
	all_mixes(3, 2, 3001, 0, 0);
	all_mixes(3, 2, 3001, 1, 0x1b);
}

UT_MAIN("sim/tag_order", UT(two_by_two), UT(two_by_two_out_of_order),
	UT(two_by_two_with_a_cancellation), UT(three_by_three),
	UT(three_by_three_with_a_cancellation))
