/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of calls by collective, form and outcome, and the line at the end of the program.
 */
#include <inttypes.h>
#include <stdio.h>

#include "host_driver/ompi/cw.h"

/* [CW_TAKEN]: ran on the NIC; the others: reasons for which a call was handed on. Atomic. */
static struct {
	uint64_t calls, bytes;
} counts[CW_COLLS][CW_FORMS][CW_REASON_COUNT + 1];

static const char *const names[CW_COLLS] = {
#define X(name, id, goal) [CW_##id] = #name,
    CW_COLLECTIVES(X)
#undef X
};

static const char *const reasons[CW_REASON_COUNT] = {
#define X(name, text) [CW_REASON_##name] = text,
    CW_REASONS(X)
#undef X
};

const char *cw_coll_name(enum cw_coll coll)
{
	return names[coll];
}

void cw_count(const struct cw_call *call, enum cw_form form, enum cw_reason reason)
{
	__atomic_add_fetch(&counts[call->coll][form][reason].calls, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&counts[call->coll][form][reason].bytes, call->large_bytes,
			   __ATOMIC_RELAXED);
}

struct sum {
	uint64_t calls[CW_REASON_COUNT + 1], bytes[CW_REASON_COUNT + 1];
	uint64_t all_calls, all_bytes;
};

static void add(struct sum *sum, enum cw_coll coll, enum cw_form form)
{
	uint32_t i;

	for (i = 0; i <= CW_REASON_COUNT; i++) {
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

	printf("coll_weft: rank %d: %s%s: %" PRIu64 " of %" PRIu64 " calls (%.1f %%) and %" PRIu64
	       " of %" PRIu64 " bytes (%.1f %%) ran on the NIC; handed on by",
	       rank, form, name, sum->calls[CW_TAKEN], sum->all_calls,
	       percent(sum->calls[CW_TAKEN], sum->all_calls), sum->bytes[CW_TAKEN], sum->all_bytes,
	       percent(sum->bytes[CW_TAKEN], sum->all_bytes));
	for (i = 0; i < CW_REASON_COUNT; i++)
		printf("%s %s %" PRIu64, i ? "," : "", reasons[i], sum->calls[i]);
	printf("\n");
}

void cw_count_report(int rank)
{
	int verbose = mca_coll_weft_component.verbose, coll, form;
	struct sum all = {.all_calls = 0};

	if (verbose < 1 || (verbose == 1 && rank != 0))
		return;
	for (coll = 0; coll < CW_COLLS; coll++)
		for (form = 0; form < CW_FORMS; form++) {
			struct sum one = {.all_calls = 0};

			add(&all, (enum cw_coll)coll, (enum cw_form)form);
			add(&one, (enum cw_coll)coll, (enum cw_form)form);
			if (verbose > 1 && one.all_calls)
				print(rank, form == CW_NONBLOCKING ? "i" : "", names[coll], &one);
		}
	print(rank, "", "all collectives", &all);
	fflush(stdout);
}
