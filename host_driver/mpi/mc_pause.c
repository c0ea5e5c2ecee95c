/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a rank that waits gives its CPU up.
 *
 * A rank that waits spins in the MPI library's progress. Where ranks and weftd share CPUs it would
 * do so for a whole slice of the scheduler, while weftd waits for the CPU to carry the collective
 * out. The library does not say whether a look is one of MPI_Wait() or of MPI_Test(): looks of a
 * program that computes in between are apart, and those do not yield, since a yield costs the
 * program a slice of its computation.
 */
#include <sched.h>
#include <stdbool.h>

#include "host_driver/mpi/mc.h"
#include "lib/clock.h"

enum {
	PAUSE_LOOKS = 20,     /* without an end, one after the other, before a yield */
	PAUSE_APART_NS = 5000 /* a look later than this is the first of a row */
};

void mc_pause(bool found)
{
	static __thread uint32_t looks;
	static __thread uint64_t last_ns;
	uint64_t now_ns = clock_now_ns();

	if (found || now_ns - last_ns > PAUSE_APART_NS) {
		looks = 0;
	} else if (++looks > PAUSE_LOOKS) {
		sched_yield();
		now_ns = clock_now_ns();
	}
	last_ns = now_ns;
}
