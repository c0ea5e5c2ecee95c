/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Number of runs of each workload since its last failure, over several soaks.
 *
 * The record is a text file of lines "workload runs". A failure resets its workload's count. Calls
 * libc.
 */
#include "sim_harness/sim_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static uint32_t index_of(const char *name)
{
	const struct sim_workload *w;
	uint32_t i;

	for (i = 0; (w = sim_workload_at(i)); i++) {
		if (!strcmp(w->name, name))
			return i;
	}
	return SIM_TALLY_MAX;
}

int sim_tally_load(struct sim_tally *tally, const char *path)
{
	FILE *f = fopen(path, "re");
	char name[32];
	uint64_t runs;
	bool right;

	memset(tally, 0, sizeof(*tally));
	if (!f)
		return errno == ENOENT ? 0 : -errno;
	/* Removed workloads are dropped. */
	while (fscanf(f, "%31s %" SCNu64, name, &runs) == 2) {
		uint32_t i = index_of(name);

		if (i < SIM_TALLY_MAX)
			tally->runs[i] = runs;
	}
	right = feof(f) && !ferror(f);
	fclose(f);
	return right ? 0 : -EINVAL;
}

void sim_tally_add(struct sim_tally *tally, const struct sim_workload *workload, bool failed)
{
	uint32_t i = index_of(workload->name);

	if (i < SIM_TALLY_MAX)
		tally->runs[i] = failed ? 0 : tally->runs[i] + 1;
}

int sim_tally_save(const struct sim_tally *tally, const char *path)
{
	const struct sim_workload *w;
	FILE *f = fopen(path, "we");
	uint32_t i;
	bool wrong;

	if (!f)
		return -errno;
	for (i = 0; i < SIM_TALLY_MAX && (w = sim_workload_at(i)); i++)
		fprintf(f, "%s %" PRIu64 "\n", w->name, tally->runs[i]);
	wrong = ferror(f);
	wrong |= fclose(f) != 0;
	return wrong ? -EIO : 0;
}

void sim_tally_print(const struct sim_tally *tally)
{
	const struct sim_workload *w;
	uint32_t i;

	fputs("seeds borne since the last failure:", stdout);
	for (i = 0; i < SIM_TALLY_MAX && (w = sim_workload_at(i)); i++) {
		if (w->weight || tally->runs[i])
			printf(" %s %" PRIu64, w->name, tally->runs[i]);
	}
	putchar('\n');
	fflush(stdout);
}
