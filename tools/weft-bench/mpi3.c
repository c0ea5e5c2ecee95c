/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench mpi3: chapter 3 of Rashti's thesis, with a message layer of this program in MPI's
 * place (mp.h). Calls mpi3_*.c in processes of their own (crew.c). docs/memory.md has the figures.
 *
 *	basic		3.3.2: latency, ping-pong bandwidth, bandwidth both ways, by size
 *	qps		3.4.1: normalised latency and throughput over 1 to 16 queue pairs
 *	pairs		3.4.2: the same over 1 to 8 pairs of processes
 *	reuse		3.5.2: latency when 0, 50 or 100 % of the buffers are used again
 *	overlap		3.6.1: computation hidden by sends and by receives (equation 3.4)
 *	progress	3.6.2: progress of messages while their process computes
 *	sci		SCI-MPICH's overlap with FIXED and DAXPY work (equation 3)
 */
#include "tools/weft-bench/mpi3.h"

static const struct crew_part parts[] = {
    {"basic", mpi3_basic, 2, 2}, {"qps", mpi3_qps, 2, 2},         {"pairs", mpi3_pairs, 2, 16},
    {"reuse", mpi3_reuse, 2, 2}, {"overlap", mpi3_overlap, 2, 2}, {"progress", mpi3_progress, 2, 2},
    {"sci", mpi3_sci, 2, 2},
};

int mpi3_run(struct opts *o)
{
	return crew_parts(o, parts, sizeof(parts) / sizeof(parts[0]));
}
