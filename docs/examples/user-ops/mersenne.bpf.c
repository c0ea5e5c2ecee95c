/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums modulo the prime 2^61 - 1, as hashes by polynomials need them: a reduction that no NIC has.
 * Elements are below 2^61.
 */
#include "host_driver/goal/goal_bpf.h"

enum {
	ELEMS = 64,
};

GOAL_BPF_OP(mersenne, 8, ELEMS)
{
	const goal_u64 *a = goal_bpf_a(view), *b = goal_bpf_b(view);
	goal_u64 *result = goal_bpf_result(view);
	const goal_u64 prime = (1UL << 61) - 1;

#pragma unroll
	for (int i = 0; i < ELEMS; i++) {
		const goal_u64 sum = a[i] + b[i];

		result[i] = (sum & prime) + (sum >> 61);
	}
	return GOAL_BPF_OK;
}
