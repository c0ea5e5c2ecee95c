/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a job on the NICs of a running weftd: a context for each rank, all in this process, which
 * sleeps while the NICs work.
 *
 * Calls libweft and ranks.c. Ranks take the NICs in turn. NICs of one weftd share a clock, so the
 * times of their run records compare: the common start is when the first of them took its doorbell.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tools/goal-run/goal_run.h"

struct nics {
	char **name;
	uint32_t num;
};

static void nics_free(struct nics *nics)
{
	for (uint32_t i = 0; i < nics->num; i++)
		free(nics->name[i]);
	free(nics->name);
}

static bool nics_add(struct nics *nics, const char *name, size_t length)
{
	char **more = realloc(nics->name, (nics->num + 1) * sizeof(*more));

	if (!more)
		return false;
	nics->name = more;
	more[nics->num] = strndup(name, length);
	return more[nics->num++] != NULL;
}

/* The names of a list, or every NIC. */
static int find_nics(struct nics *nics, const char *list)
{
	struct weft_device *devices;
	bool ok = true;
	int count, i;

	for (; list && *list && ok; list += strcspn(list, ","), list += *list == ',')
		ok = nics_add(nics, list, strcspn(list, ","));
	if (nics->num || !ok)
		return ok ? RUN_OK : run_fail("not enough memory");
	count = weft_get_device_list(&devices);
	if (count <= 0)
		return run_fail("no NIC here: is weftd running? (--sim and --model need none)");
	for (i = 0; i < count && ok; i++)
		ok = nics_add(nics, devices[i].name, sizeof(devices[i].name));
	weft_free_device_list(devices);
	return ok ? RUN_OK : run_fail("not enough memory");
}

static void *alloc(struct ranks *ranks, uint32_t rank, uint64_t bytes)
{
	return weft_alloc(ranks->rank[rank].context, bytes);
}

static int open_all(struct ranks *ranks, const struct nics *nics)
{
	uint32_t i;
	int rc = RUN_OK;

	for (i = 0; rc == RUN_OK && i < ranks->num; i++) {
		const char *name = nics->name[i % nics->num];

		ranks->rank[i].context = weft_open_device(name);
		rc = ranks->rank[i].context
			 ? ranks_open(ranks, i)
			 : run_fail("rank %" PRIu32 ": %s: %s", i, name, strerror(errno));
	}
	return rc == RUN_OK ? ranks_join(ranks) : rc;
}

static void close_all(struct ranks *ranks)
{
	struct rank *ranked = ranks->rank;
	uint32_t i;

	for (i = 0; ranked && i < ranks->num; i++) {
		struct rank *r = &ranked[i];

		weft_goal_close(r->goal);
		r->goal = NULL;
		if (r->context)
			weft_close_device(r->context);
		if (r->buf)
			weft_free(r->buf, r->bytes);
		if (r->pool)
			weft_free(r->pool, r->pool_bytes);
		if (r->trace.entries)
			weft_free(r->trace.entries, r->trace.bytes);
	}
	ranks_end(ranks);
}

/* The NICs end every run, at the latest by their time-out, unless they are gone. */
static int wait_all(struct ranks *ranks)
{
	uint32_t i;
	int rc;

	for (i = 0; i < ranks->num; i++) {
		struct rank *r = &ranks->rank[i];

		do
			rc = weft_goal_wait(r->goal, r->run, UINT64_MAX);
		while (rc == -EINTR);
		if (rc)
			return run_fail("rank %" PRIu32 ": its NIC is gone: %s", i, strerror(-rc));
	}
	return RUN_OK;
}

static void note_times(const struct ranks *ranks, struct finish *f, uint32_t run)
{
	uint64_t start_ns = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < ranks->num; i++)
		if (ranks->rank[i].result.start_ns < start_ns)
			start_ns = ranks->rank[i].result.start_ns;
	for (i = 0; i < ranks->num; i++)
		finish_set(f, run, i, ranks->rank[i].result.finish_ns - start_ns);
}

int run_on_nics(const struct job *job, const struct opts *o, struct finish *f)
{
	const char *list = o->devices ? o->devices : secure_getenv("WEFT_DEVICE");
	struct nics nics = {0};
	struct ranks ranks = {0};
	uint32_t run;
	int rc = find_nics(&nics, list);

	if (rc == RUN_OK)
		rc = ranks_begin(&ranks, job, o);
	ranks.alloc = alloc;
	if (rc == RUN_OK && getrandom(ranks.key, sizeof(ranks.key), 0) != sizeof(ranks.key))
		rc = run_fail("no random numbers: %s", strerror(errno));
	if (rc == RUN_OK)
		rc = open_all(&ranks, &nics);
	for (run = 0; rc == RUN_OK && run < o->warmup + o->repeat; run++) {
		rc = ranks_start(&ranks, run);
		if (rc == RUN_OK)
			rc = wait_all(&ranks);
		if (rc == RUN_OK)
			rc = ranks_check(&ranks, run);
		if (rc == RUN_OK && run >= o->warmup)
			note_times(&ranks, f, run - o->warmup);
	}
	close_all(&ranks);
	f->nics = nics.num < job->num_ranks ? nics.num : job->num_ranks;
	nics_free(&nics);
	return rc;
}
