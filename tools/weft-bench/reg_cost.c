/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of registering memory, by size and kind, and of finding it in a registration cache.
 * Calls libweft alone.
 *
 *	alloc	of weft_alloc(): nothing is moved
 *	first	of mmap() as malloc() takes it, first registration: its pages are moved onto
 *		shared ones
 *	again	the same memory, registered once more
 *	vm	MAP_SHARED of a process: not mapped by the NIC
 *	miss	of mmap(), through the cache, which then watches it
 *	hit	the same, found in the cache
 *
 * The host's part is the processor time of the calling thread; the NIC's part is its other waiting
 * time, for weftd's answer. The time of an empty command (weft_query_port()) is given, too: the
 * part of the NIC's time that is the round trip.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/weft-bench/end.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/reg.h"

enum kind {
	KIND_ALLOC,
	KIND_FIRST,
	KIND_AGAIN,
	KIND_VM,
	KIND_MISS,
	KIND_HIT,
	KINDS
};

static const char *const kind_names[KINDS] = {
    [KIND_ALLOC] = "alloc", [KIND_FIRST] = "first", [KIND_AGAIN] = "again",
    [KIND_VM] = "vm",       [KIND_MISS] = "miss",   [KIND_HIT] = "hit",
};

enum {
	COST_BUDGET_BYTES = 64 << 20, /* bytes of memory that are touched for one size and kind */
	COST_REPS_MIN = 3,
	COST_EMPTY_REPS = 200,
	COST_HITS = 64, /* lookups between two readings of the clock */
	POLICY_BUFFERS = 64,
	POLICY_BYTES = 64 << 10,
	POLICY_USES = 2000,
	ACCESS = WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_REMOTE_WRITE,
};

struct cost {
	const struct opts *o;
	struct end end;
	struct weft_mr_cache *cache;
	enum kind kind;
	size_t bytes;
};

/* Times of one call, or the sum of some. */
struct spent {
	double wall_us;
	double host_us;
};

/* Times of one repetition. */
struct sample {
	struct spent reg;
	struct spent dereg;
};

static struct spent clock_now(void)
{
	return (struct spent){clock_now_us(), (double)clock_read_ns(CLOCK_THREAD_CPUTIME_ID) / 1e3};
}

static struct spent since(struct spent from)
{
	struct spent now = clock_now();

	return (struct spent){now.wall_us - from.wall_us, now.host_us - from.host_us};
}

static int take_memory(struct cost *k, struct end_mem *m)
{
	enum end_mem_kind kind = k->kind == KIND_ALLOC ? END_MEM_WEFT
				 : k->kind == KIND_VM  ? END_MEM_SHARED
						       : END_MEM_PRIVATE;

	if (end_mem_alloc(&k->end, m, kind, k->bytes))
		return -1;
	pattern_fill(m->p, k->bytes, k->bytes, 1);
	return 0;
}

static int once(const struct cost *k, void *p, struct sample *s)
{
	struct spent from = clock_now();
	struct weft_mr *mr = weft_reg_mr(k->end.pd, p, k->bytes, ACCESS);
	int rc;

	s->reg = since(from);
	if (!mr)
		return fail("cannot register %zu bytes: %s", k->bytes, strerror(errno));
	if (k->kind != KIND_VM && !mr->mapped)
		return fail("%zu bytes of kind %s are not mapped by the NIC", k->bytes,
			    kind_names[k->kind]);
	from = clock_now();
	rc = weft_dereg_mr(mr);
	s->dereg = since(from);
	return rc ? fail("cannot deregister: %s", strerror(-rc)) : 0;
}

/* Times of the cache: a miss is one, hits are many between two readings. */
static int once_cached(const struct cost *k, void *p, struct sample *s)
{
	uint32_t uses = k->kind == KIND_HIT ? COST_HITS : 1, i;
	struct weft_mr *mr[COST_HITS];
	struct spent from = clock_now();

	for (i = 0; i < uses; i++) {
		mr[i] = weft_reg_mr_cached(k->cache, p, k->bytes, ACCESS);
		if (!mr[i])
			return fail("cannot register %zu bytes: %s", k->bytes, strerror(errno));
	}
	s->reg = since(from);
	from = clock_now();
	for (i = 0; i < uses; i++)
		weft_release_mr(mr[i]);
	s->dereg = since(from);
	s->reg.wall_us /= uses;
	s->reg.host_us /= uses;
	s->dereg.wall_us /= uses;
	s->dereg.host_us /= uses;
	return 0;
}

/* A repetition with memory of its own, whose content is checked in the end. */
static int repeat(struct cost *k, struct sample *s)
{
	bool cached = k->kind == KIND_MISS || k->kind == KIND_HIT;
	struct end_mem m;
	uint8_t *p;
	size_t at;
	int rc;

	if (take_memory(k, &m))
		return -1;
	p = m.p;
	rc = cached ? once_cached(k, p, s) : once(k, p, s);
	if (!rc && k->kind == KIND_AGAIN)
		rc = once(k, p, s);
	if (!rc && k->kind == KIND_HIT)
		rc = once_cached(k, p, s);
	at = pattern_check(p, k->bytes, k->bytes, 1);
	end_mem_free(&m);
	if (!rc && at != k->bytes)
		rc = fail("registering %zu bytes changed byte %zu", k->bytes, at);
	return rc;
}

static double reg_wall(const struct sample *s)
{
	return s->reg.wall_us;
}

static double reg_host(const struct sample *s)
{
	return s->reg.host_us;
}

static double dereg_wall(const struct sample *s)
{
	return s->dereg.wall_us;
}

static double dereg_host(const struct sample *s)
{
	return s->dereg.host_us;
}

static double median(const struct sample *s, uint32_t count, double (*of)(const struct sample *),
		     double *low, double *high)
{
	double v[COST_EMPTY_REPS] = {0};

	for (uint32_t i = 0; i < count; i++)
		v[i] = of(&s[i]);
	stats_sort(v, count);
	*low = v[count / 10];
	*high = v[count - 1 - count / 10];
	return v[count / 2];
}

/* Medians, and for the whole the bounds of the first and last tenth. */
static int cost_row(struct crew *c, const struct cost *k, const struct sample *s, uint32_t reps)
{
	double low, high, dlow, dhigh, x, reg, dereg, reg_us, dereg_us;

	reg_us = median(s, reps, reg_wall, &low, &high);
	dereg_us = median(s, reps, dereg_wall, &dlow, &dhigh);
	reg = median(s, reps, reg_host, &x, &x);
	dereg = median(s, reps, dereg_host, &x, &x);
	return crew_row(c, json_pack("{s:s, s:s, s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
				     "part", "cost", "kind", kind_names[k->kind], "bytes",
				     (json_int_t)k->bytes, "reps", (int)reps, "reg_us", reg_us,
				     "reg_us_p10", low, "reg_us_p90", high, "reg_host_us", reg,
				     "reg_nic_us", reg_us > reg ? reg_us - reg : 0.0, "dereg_us",
				     dereg_us, "dereg_host_us", dereg, "dereg_nic_us",
				     dereg_us > dereg ? dereg_us - dereg : 0.0));
}

static uint32_t reps_of(const struct opts *o, size_t bytes)
{
	size_t reps = COST_BUDGET_BYTES / bytes;

	if (reps > o->iters)
		reps = o->iters;
	if (reps > COST_EMPTY_REPS)
		reps = COST_EMPTY_REPS;
	return reps < COST_REPS_MIN ? COST_REPS_MIN : (uint32_t)reps;
}

static int cost_open(struct cost *k, struct crew *c, const struct weft_mr_cache_attr *attr)
{
	*k = (struct cost){.o = c->o};
	if (end_open(&k->end, crew_device(c)))
		return -1;
	k->cache = weft_create_mr_cache(k->end.pd, attr);
	return k->cache ? 0 : fail("no registration cache: %s", strerror(errno));
}

static int measure_empty(struct crew *c, struct cost *k)
{
	struct sample s[COST_EMPTY_REPS];
	struct weft_port_attr port;
	double low, high, x, us, host_us;

	for (uint32_t i = 0; i < COST_EMPTY_REPS; i++) {
		struct spent from = clock_now();
		int rc = weft_query_port(k->end.context, &port);

		s[i].reg = since(from);
		if (rc)
			return fail("the NIC does not answer: %s", strerror(-rc));
	}
	us = median(s, COST_EMPTY_REPS, reg_wall, &low, &high);
	host_us = median(s, COST_EMPTY_REPS, reg_host, &x, &x);
	return crew_row(c, json_pack("{s:s, s:f, s:f, s:f, s:f}", "part", "empty_command", "us", us,
				     "us_p10", low, "us_p90", high, "host_us", host_us));
}

int reg_cost(struct crew *c, void *arg)
{
	struct sample s[COST_EMPTY_REPS];
	struct cost k;

	(void)arg;
	if (cost_open(&k, c, NULL) || measure_empty(c, &k))
		return -1;
	for (k.bytes = 4096; k.bytes <= c->o->size; k.bytes *= 4) {
		uint32_t reps = reps_of(c->o, k.bytes);

		for (int kind = 0; kind < KINDS; kind++) {
			k.kind = (enum kind)kind;
			/* The first repetition warms up the state that the size shares. */
			if (repeat(&k, &s[0]))
				return -1;
			for (uint32_t i = 0; i < reps; i++)
				if (repeat(&k, &s[i]))
					return -1;
			if (cost_row(c, &k, s, reps))
				return -1;
		}
	}
	end_close(&k.end);
	return 0;
}

/* ---- policies ---------------------------------------------------------------------------------
 */

/* Four of five uses go to a fifth of the buffers. */
static uint32_t next_buffer(uint64_t *state)
{
	uint32_t hot = POLICY_BUFFERS / 5, r;

	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	r = (uint32_t)(*state >> 33);
	return r % 5 ? (r / 5) % hot : hot + (r / 5) % (POLICY_BUFFERS - hot);
}

static int run_policy(struct crew *c, const char *name, const struct weft_mr_cache_attr *attr)
{
	struct end_mem buffer[POLICY_BUFFERS];
	struct weft_mr_cache_stats stats;
	double us[CREW_BLOCKS];
	uint64_t state = 1, from;
	struct cost k;
	json_t *row;

	if (cost_open(&k, c, attr))
		return -1;
	k.kind = KIND_FIRST;
	k.bytes = POLICY_BYTES;
	for (int i = 0; i < POLICY_BUFFERS; i++)
		if (take_memory(&k, &buffer[i]))
			return -1;
	for (int block = 0; block < CREW_BLOCKS; block++) {
		from = clock_now_ns();
		for (int i = 0; i < POLICY_USES / CREW_BLOCKS; i++) {
			uint8_t *p = buffer[next_buffer(&state)].p;
			struct weft_mr *mr = weft_reg_mr_cached(k.cache, p, k.bytes, ACCESS);

			if (!mr)
				return fail("cannot register: %s", strerror(errno));
			weft_release_mr(mr);
		}
		us[block] = (double)(clock_now_ns() - from) / 1e3 / (POLICY_USES / CREW_BLOCKS);
	}
	if (weft_query_mr_cache(k.cache, &stats))
		return fail("the cache does not tell its figures");
	row = json_pack("{s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I}", "part", "policy", "policy",
			name, "buffers", POLICY_BUFFERS, "bytes_each", POLICY_BYTES, "hits",
			(json_int_t)stats.hits, "misses", (json_int_t)stats.misses, "evictions",
			(json_int_t)stats.evictions, "entries", (json_int_t)stats.entries,
			"kept_bytes", (json_int_t)stats.bytes);
	crew_figure(row, "us_per_use", us);
	for (int i = 0; i < POLICY_BUFFERS; i++) {
		if (pattern_check(buffer[i].p, k.bytes, k.bytes, 1) != k.bytes)
			return fail("registering changed buffer %d", i);
		end_mem_free(&buffer[i]);
	}
	end_close(&k.end);
	return crew_row(c, row);
}

int reg_policies(struct crew *c, void *arg)
{
	const struct weft_mr_cache_attr lazy = {.policy = WEFT_MR_CACHE_LAZY};
	const struct weft_mr_cache_attr few = {.policy = WEFT_MR_CACHE_LAZY, .max_entries = 16};
	const struct weft_mr_cache_attr half = {.policy = WEFT_MR_CACHE_LRU,
						.max_bytes = POLICY_BUFFERS * POLICY_BYTES / 2};
	const struct weft_mr_cache_attr quarter = {.policy = WEFT_MR_CACHE_LRU,
						   .max_bytes = POLICY_BUFFERS * POLICY_BYTES / 4};
	const struct weft_mr_cache_attr immediate = {.policy = WEFT_MR_CACHE_IMMEDIATE};
	const struct weft_mr_cache_attr off = {.policy = WEFT_MR_CACHE_OFF};

	(void)arg;
	return run_policy(c, "lazy", &lazy) || run_policy(c, "lazy, 16", &few) ||
	       run_policy(c, "lru, 1/2", &half) || run_policy(c, "lru, 1/4", &quarter) ||
	       run_policy(c, "immediate", &immediate) || run_policy(c, "off", &off);
}
