/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sum of 64-bit integers: what GOAL_ADD does, to compare with it.
 */
#include "host_driver/goal/goal_bpf.h"

enum {
	ELEMS = 128,
};

GOAL_BPF_OP(sum, 8, ELEMS)
{
	const goal_u64 *a = goal_bpf_a(view), *b = goal_bpf_b(view);
	goal_u64 *result = goal_bpf_result(view);

#pragma unroll
	for (int i = 0; i < ELEMS; i++)
		result[i] = a[i] + b[i];
	return GOAL_BPF_OK;
}
