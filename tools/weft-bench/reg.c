/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench reg: the cost of registering memory, and the savings by the registration cache. Calls
 * reg_cost.c, reg_ping.c and reg_heap.c in processes of their own (crew.c). docs/memory.md has the
 * figures.
 */
#include "tools/weft-bench/reg.h"

static const struct crew_part parts[] = {
    {"cost", reg_cost, 1, 1},
    {"policy", reg_policies, 1, 1},
    {"table2", reg_ping, 2, 2},
    {"heap", reg_heap, 2, 2},
};

int reg_run(struct opts *o)
{
	return crew_parts(o, parts, sizeof(parts) / sizeof(parts[0]));
}
