/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of calls by collective, form and outcome, and the line at the end of the program. The NIC
 * gets sums, which weftctl shows while the program runs (GOAL_CountCollective()).
 */
#include <inttypes.h>
#include <stdio.h>

#include "host_driver/mpi/mc.h"

/* [MC_TAKEN]: ran on the NIC; the others: reasons for which the MPI library carried a call out. */
static struct {
	uint64_t calls, bytes;
} counts[MC_COLLS][MC_FORMS][MC_REASON_COUNT + 1];

static const char *const reasons[MC_REASON_COUNT] = {
#define X(name, text) [MC_REASON_##name] = text,
    MC_REASONS(X)
#undef X
};

/* The communicator of the job, on whose NIC the process is seen; NULL: there is none. */
static GOAL_Comm shown;

void mc_count_show(GOAL_Comm goal)
{
	__atomic_store_n(&shown, goal, __ATOMIC_RELEASE);
}

/* An atomic addition takes 6 ns; a call that the host carries out takes 3 us. */
static void increase(uint64_t *count, uint64_t by)
{
	if (mc_settings.threads)
		__atomic_add_fetch(count, by, __ATOMIC_RELAXED);
	else
		*count += by;
}

void mc_count(enum mc_coll coll, enum mc_form form, enum mc_reason reason, uint64_t bytes)
{
	GOAL_Comm job = __atomic_load_n(&shown, __ATOMIC_ACQUIRE);

	if (job)
		GOAL_CountCollective(job, reason == MC_TAKEN, bytes);
	increase(&counts[coll][form][reason].calls, 1);
	increase(&counts[coll][form][reason].bytes, bytes);
}

struct sum {
	uint64_t calls[MC_REASON_COUNT + 1], bytes[MC_REASON_COUNT + 1];
	uint64_t all_calls, all_bytes;
};

static void add(struct sum *sum, enum mc_coll coll, enum mc_form form)
{
	uint32_t i;

	for (i = 0; i <= MC_REASON_COUNT; i++) {
		sum->calls[i] += counts[coll][form][i].calls;
		sum->bytes[i] += counts[coll][form][i].bytes;
		sum->all_calls += counts[coll][form][i].calls;
		sum->all_bytes += counts[coll][form][i].bytes;
	}
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void print(int rank, const char *form, const char *name, const struct sum *sum)
{
	uint32_t i;

	printf("%s: rank %d: %s%s: %" PRIu64 " of %" PRIu64 " calls (%.1f %%) and %" PRIu64
	       " of %" PRIu64 " bytes (%.1f %%) ran on the NIC; %s",
	       mc_settings.who, rank, form, name, sum->calls[MC_TAKEN], sum->all_calls,
	       percent(sum->calls[MC_TAKEN], sum->all_calls), sum->bytes[MC_TAKEN], sum->all_bytes,
	       percent(sum->bytes[MC_TAKEN], sum->all_bytes), mc_settings.left);
	for (i = 0; i < mc_settings.num_reasons; i++)
		printf("%s %s %" PRIu64, i ? "," : "", reasons[i], sum->calls[i]);
	printf("\n");
}

void mc_count_report(int rank)
{
	int verbose = mc_settings.verbose, coll, form;
	struct sum all = {.all_calls = 0};

	if (verbose < 1 || (verbose == 1 && rank != 0))
		return;
	for (coll = 0; coll < MC_COLLS; coll++)
		for (form = 0; form < MC_FORMS; form++) {
			struct sum one = {.all_calls = 0};

			add(&all, (enum mc_coll)coll, (enum mc_form)form);
			add(&one, (enum mc_coll)coll, (enum mc_form)form);
			if (verbose > 1 && one.all_calls)
				print(rank, form == MC_NONBLOCKING ? "i" : "",
				      mc_coll_name((enum mc_coll)coll), &one);
		}
	print(rank, "", "all collectives", &all);
	fflush(stdout);
}
