/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs of registering and of copying small messages, measured once in a process.
 *
 * The copy is measured over memory larger than the first cache levels, since a program's buffers
 * are seldom all in them. Registration is that of a page of private memory, which the NIC has to
 * move; it hardly depends on the length of small buffers. Rashti's thesis, 5.3.3. Calls
 * weft_mr_cache.c. weft_tag_mem.c uses the result.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/weft_tag_mem.h"
#include "lib/clock.h"

enum {
	TRIES = 5, /* the least time counts: others were disturbed */
	PAGE_BYTES = 4096,
	LOOKS = 256,
	COPY_SPAN_BYTES = 2 << 20,
	COPY_TOTAL_BYTES = 512 << 10, /* of one measurement */
	FIRST_BYTES = 1024,
	/* If nothing can be registered: no buffer is. */
	NO_REG_NS = 1000000000,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct weft_tag_cost measured;
static __thread struct weft_pd *measure_pd;

/* Time of one registration of new memory and of its end. */
static double reg_ns(struct weft_pd *pd)
{
	double best = NO_REG_NS;

	for (int i = 0; i < TRIES; i++) {
		char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t start = clock_now_ns();
		struct weft_mr *mr;

		if (page == MAP_FAILED)
			continue;
		page[0] = 1;
		start = clock_now_ns();
		mr = weft_reg_mr(pd, page, PAGE_BYTES, WEFT_ACCESS_LOCAL_WRITE);
		if (mr && weft_dereg_mr(mr) == 0) {
			double ns = (double)(clock_now_ns() - start);

			best = ns < best ? ns : best;
		}
		munmap(page, PAGE_BYTES);
	}
	return best;
}

static double look_loop_ns(struct weft_mr_cache *cache, char *page)
{
	struct weft_mr *held = weft_reg_mr_cached(cache, page, PAGE_BYTES, 0), *mr = held;
	double best = NO_REG_NS;

	for (int i = 0; i < TRIES && mr; i++) {
		uint64_t start = clock_now_ns();
		double ns;

		for (int k = 0; k < LOOKS && mr; k++) {
			mr = weft_reg_mr_cached(cache, page, PAGE_BYTES, 0);
			if (mr)
				weft_release_mr(mr);
		}
		ns = (double)(clock_now_ns() - start) / LOOKS;
		best = mr && ns < best ? ns : best;
	}
	if (held)
		weft_release_mr(held);
	return best;
}

/* Time of finding a region in a cache and of releasing it. */
static double look_ns(struct weft_pd *pd)
{
	struct weft_mr_cache *cache = weft_create_mr_cache(pd, NULL);
	double ns = NO_REG_NS;
	char *page;

	if (!cache)
		return ns;
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED) {
		page[0] = 1;
		ns = look_loop_ns(cache, page);
	}
	/* Fails only if the NIC is gone, and all registrations with it. */
	if (weft_destroy_mr_cache(cache) < 0)
		ns = NO_REG_NS;
	if (page != MAP_FAILED)
		munmap(page, PAGE_BYTES);
	return ns;
}

static double copy_ns(char *from, char *to, size_t bytes)
{
	double best = NO_REG_NS;
	size_t at = 0;

	for (int i = 0; i < TRIES; i++) {
		uint64_t start = clock_now_ns();
		double ns;

		for (size_t done = 0; done < COPY_TOTAL_BYTES; done += bytes) {
			memcpy(to + at, from + at, bytes);
			at = (at + bytes) % (COPY_SPAN_BYTES / 2);
		}
		ns = (double)(clock_now_ns() - start) * (double)bytes / COPY_TOTAL_BYTES;
		best = ns < best ? ns : best;
	}
	return best;
}

static void measure(void)
{
	char *span = malloc(COPY_SPAN_BYTES);

	measured.reg_ns = reg_ns(measure_pd);
	measured.look_ns = look_ns(measure_pd);
	if (span)
		memset(span, 1, COPY_SPAN_BYTES);
	for (uint32_t i = 0; i < WEFT_TAG_COST_SIZES; i++)
		measured.copy_ns[i] =
		    span ? copy_ns(span, span + COPY_SPAN_BYTES / 2, (size_t)FIRST_BYTES << i) : 0;
	free(span);
}

const struct weft_tag_cost *weft_tag_cost(struct weft_pd *pd)
{
	measure_pd = pd;
	(void)pthread_once(&once, measure);
	return &measured;
}

double weft_tag_cost_copy_ns(const struct weft_tag_cost *cost, size_t bytes)
{
	uint32_t i = 0;

	while (i < WEFT_TAG_COST_SIZES - 2 && (size_t)FIRST_BYTES << (i + 1) < bytes)
		i++;
	/* On the line through two measured lengths. */
	return cost->copy_ns[i] + (cost->copy_ns[i + 1] - cost->copy_ns[i]) *
				      ((double)bytes / (double)(FIRST_BYTES << i) - 1);
}

uint32_t weft_tag_cost_uses(const struct weft_tag_cost *cost, size_t bytes)
{
	double gain = weft_tag_cost_copy_ns(cost, bytes) - cost->look_ns, n;

	if (bytes < WEFT_TAG_COST_MIN_BYTES || gain <= 0)
		return UINT32_MAX;
	n = cost->reg_ns / gain;
	return n < UINT32_MAX / 2 ? (uint32_t)n + 1 : UINT32_MAX;
}
