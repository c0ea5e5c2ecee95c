/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * result = alpha * a + b on floats of 32 bits. alpha is the first float of the arguments.
 */
#include "host_driver/goal/goal_bpf.h"

enum {
	ELEMS = 1024,
};

GOAL_BPF_OP(saxpy, 4, ELEMS)
{
	goal_bpf_floats(view, GOAL_BPF_WHAT(GOAL_BPF_MUL, 32, ELEMS),
			GOAL_BPF_VEC(GOAL_BPF_IN_WORK, 0, 1), GOAL_BPF_VEC(GOAL_BPF_IN_A, 0, 1),
			GOAL_BPF_VEC(GOAL_BPF_IN_ARGS, 0, 0));
	goal_bpf_floats(view, GOAL_BPF_WHAT(GOAL_BPF_ADD, 32, ELEMS),
			GOAL_BPF_VEC(GOAL_BPF_IN_RESULT, 0, 1),
			GOAL_BPF_VEC(GOAL_BPF_IN_WORK, 0, 1), GOAL_BPF_VEC(GOAL_BPF_IN_B, 0, 1));
	return GOAL_BPF_OK;
}
