/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sum of complex numbers of two floats of 32 bits.
 */
#include "host_driver/goal/goal_bpf.h"

enum {
	ELEMS = 512,
};

GOAL_BPF_OP(complex_add, 8, ELEMS)
{
	goal_bpf_floats(view, GOAL_BPF_WHAT(GOAL_BPF_ADD, 32, 2 * ELEMS),
			GOAL_BPF_VEC(GOAL_BPF_IN_RESULT, 0, 1), GOAL_BPF_VEC(GOAL_BPF_IN_A, 0, 1),
			GOAL_BPF_VEC(GOAL_BPF_IN_B, 0, 1));
	return GOAL_BPF_OK;
}
