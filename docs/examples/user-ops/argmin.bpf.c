/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lesser of two values, with its index; the lower index where values are equal. Elements are
 * pairs of 64-bit integers: value, index. Without branches, since each branch doubles the paths
 * that the NIC must check.
 */
#include "host_driver/goal/goal_bpf.h"

enum {
	ELEMS = 16,
};

struct pair {
	goal_u64 value, index;
};

/* All bits set if x < y as signed numbers, otherwise 0. */
static __attribute__((always_inline)) goal_u64 less(goal_u64 x, goal_u64 y)
{
	return -goal_bpf_opaque(((x - y) ^ ((x ^ y) & ((x - y) ^ x))) >> 63);
}

GOAL_BPF_OP(argmin, sizeof(struct pair), ELEMS)
{
	const struct pair *a = goal_bpf_a(view), *b = goal_bpf_b(view);
	struct pair *result = goal_bpf_result(view);

#pragma unroll
	for (int i = 0; i < ELEMS; i++) {
		const struct pair x = a[i], y = b[i];
		const goal_u64 take =
		    less(y.value, x.value) | (~less(x.value, y.value) & less(y.index, x.index));

		result[i].value = (y.value & take) | (x.value & ~take);
		result[i].index = (y.index & take) | (x.index & ~take);
	}
	return GOAL_BPF_OK;
}
