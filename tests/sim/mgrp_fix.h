/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of reliable groups, included by mgrp*_ut.c: schedules that multicast.
 */
#ifndef WEFT_TESTS_MGRP_FIX_H
#define WEFT_TESTS_MGRP_FIX_H

#include "tests/sim/goal_fix.h"

static inline uint32_t mcast(struct goal_graph *g, struct goal_mem mem, uint32_t rank,
			     uint32_t root, uint32_t tag)
{
	int64_t v = goal_graph_msg(g, rank == root ? GOAL_INSN_MCAST_SEND : GOAL_INSN_MCAST_RECV,
				   &mem, 1, root, tag);

	CU_ASSERT_FATAL(v >= 0);
	return (uint32_t)v;
}

/*
 * Every rank multicasts to all others, twice, with a unicast message beside; all receive them in
 * the same order.
 */
static inline void load_all_to_all(struct goal_fix *fix, uint64_t bytes)
{
	uint32_t i, root, n;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *g = goal_graph_new(i, fix->num);

		for (n = 0; n < 2; n++)
			for (root = 0; root < fix->num; root++)
				(void)mcast(g, goal_fix_mem(fix, i, (2 * root + n) * bytes, bytes),
					    i, root, 7);
		/* The same ranks, tag and count, but another message. */
		goal_fix_send(g, goal_fix_mem(fix, i, 2 * i * bytes, bytes / 2), (i + 1) % fix->num,
			      7);
		goal_fix_recv(g, goal_fix_mem(fix, i, 2 * fix->num * bytes, bytes / 2),
			      (i + fix->num - 1) % fix->num, 7);
		goal_fix_load(fix, i, g);
	}
}

#endif /* WEFT_TESTS_MGRP_FIX_H */
