/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocator of the BAR: fit, merging, fragmentation beyond its memory of holes, records, and
 * memory that is zero when it is given out, whatever the process wrote.
 */
#include "tests/bench/host.h"

#define PAGE HW_BAR_PAGE_BYTES
#define UNIT FW_BAR_UNIT_BYTES

/* A client without rings: all of its records' pages are there, and no hole. */
static struct fw_bar *begin(struct fw_ut *ut)
{
	struct fw_bar *bar;
	uint64_t got;

	fw_ut_begin(ut);
	bar = &ut->nic->host.clients[0].bar;
	while (bar->num_free)
		CU_ASSERT_EQUAL_FATAL(bar_alloc(ut->nic, 0, UNIT, &got), 0);
	return bar;
}

static void small_rings_share_pages(void)
{
	uint64_t a, b, c, d, e;
	struct fw_bar *bar;
	struct fw_ut ut;

	bar = begin(&ut);
	CU_ASSERT_EQUAL(bar->high % PAGE, 0);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, 1, &a), 0);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, UNIT + 1, &b), 0);
	CU_ASSERT_TRUE(a >= HW_BAR_DYNAMIC);
	CU_ASSERT_EQUAL(b, a + UNIT);
	/* A page and more begins at a page. The rest of the page before is a hole, and used. */
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, PAGE + 1, &c), 0);
	CU_ASSERT_EQUAL(c, a + PAGE);
	CU_ASSERT_EQUAL(bar->num_free, 1);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, PAGE - 3 * UNIT, &d), 0);
	CU_ASSERT_EQUAL(d, b + 2 * UNIT);
	CU_ASSERT_EQUAL(bar->num_free, 0);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, UNIT, &e), 0);
	CU_ASSERT_EQUAL(e, c + PAGE + UNIT);
	/* All of it comes back. */
	bar_free(ut.nic, 0, b, UNIT + 1);
	bar_free(ut.nic, 0, e, UNIT);
	bar_free(ut.nic, 0, d, PAGE - 3 * UNIT);
	bar_free(ut.nic, 0, c, PAGE + 1);
	CU_ASSERT_EQUAL(bar->high, b);
	CU_ASSERT_EQUAL(bar->num_free, 0);
	fw_ut_end(&ut);
}

/* A hole that has room only off a page is left to small rings, and both of its rests are kept. */
static void holes_are_cut_at_pages(void)
{
	uint64_t small, hole, end, got;
	struct fw_bar *bar;
	struct fw_ut ut;

	bar = begin(&ut);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, UNIT, &small), 0);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, PAGE - UNIT, &got), 0);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, 2 * PAGE, &hole), 0);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, UNIT, &end), 0);
	/* From a unit of the first page to the end of the third. */
	bar_free(ut.nic, 0, got, PAGE - UNIT);
	bar_free(ut.nic, 0, hole, 2 * PAGE);
	CU_ASSERT_EQUAL(bar->num_free, 1);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, PAGE + UNIT, &got), 0);
	CU_ASSERT_EQUAL(got, hole);
	CU_ASSERT_EQUAL_FATAL(bar->num_free, 2);
	CU_ASSERT_EQUAL(bar->free[0].offset, small + UNIT);
	CU_ASSERT_EQUAL(bar->free[0].bytes, PAGE - UNIT);
	CU_ASSERT_EQUAL(bar->free[1].offset, hole + PAGE + UNIT);
	CU_ASSERT_EQUAL(bar->free[1].bytes, PAGE - UNIT);
	/* Neither has a page. */
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, PAGE, &got), 0);
	CU_ASSERT_TRUE(got > end);
	fw_ut_end(&ut);
}

/* Rings of all sizes, made and destroyed in any order: none shares a byte with another. */
static void many_rings_never_overlap(void)
{
	enum {
		RINGS = 300,
		TURNS = 20000,
	};
	struct ring {
		uint64_t offset, bytes;
	} ring[RINGS] = {{0}};
	static uint8_t owner[FW_UT_BAR_BYTES / UNIT];
	uint64_t high, i, rng = 7;
	struct fw_bar *bar;
	struct fw_ut ut;

	bar = begin(&ut);
	high = bar->high;
	memset(owner, 0, sizeof(owner));
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		struct ring *r;

		rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		r = &ring[(rng >> 33) % RINGS];
		if (r->bytes) {
			for (i = 0; i < r->bytes; i += UNIT)
				owner[(r->offset + i) / UNIT] = 0;
			bar_free(ut.nic, 0, r->offset, r->bytes);
			r->bytes = 0;
			continue;
		}
		r->bytes = 1 + (rng >> 40) % (turn % 3 ? PAGE : 4 * PAGE);
		if (bar_alloc(ut.nic, 0, r->bytes, &r->offset)) {
			r->bytes = 0;
			continue;
		}
		CU_ASSERT_EQUAL_FATAL(r->offset % (r->bytes < PAGE ? UNIT : PAGE), 0);
		CU_ASSERT_TRUE_FATAL(r->offset >= high && r->offset + r->bytes <= bar->high);
		for (i = 0; i < r->bytes; i += UNIT) {
			CU_ASSERT_EQUAL_FATAL(owner[(r->offset + i) / UNIT], 0);
			owner[(r->offset + i) / UNIT] = 1;
		}
	}
	for (i = 0; i < RINGS; i++)
		if (ring[i].bytes)
			bar_free(ut.nic, 0, ring[i].offset, ring[i].bytes);
	CU_ASSERT_EQUAL(bar->num_free, 0);
	CU_ASSERT_EQUAL(bar->high, high);
	fw_ut_end(&ut);
}

static void holes_merge_and_are_used_first(void)
{
	struct fw_bar *bar;
	struct fw_ut ut;
	uint64_t at[5], got;
	uint32_t i;

	bar = begin(&ut);
	for (i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, PAGE, &at[i]), 0);
	bar_free(ut.nic, 0, at[0], PAGE);
	bar_free(ut.nic, 0, at[2], PAGE);
	CU_ASSERT_EQUAL(bar->num_free, 2);
	bar_free(ut.nic, 0, at[1], PAGE);
	CU_ASSERT_EQUAL(bar->num_free, 1);
	CU_ASSERT_EQUAL(bar->free[0].offset, at[0]);
	CU_ASSERT_EQUAL(bar->free[0].bytes, 3 * PAGE);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, 2 * PAGE, &got), 0);
	CU_ASSERT_EQUAL(got, at[0]);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, PAGE, &got), 0);
	CU_ASSERT_EQUAL(got, at[2]);
	CU_ASSERT_EQUAL(bar->num_free, 0);
	/* Freeing the last block returns the whole space after it. */
	bar_free(ut.nic, 0, at[3], PAGE);
	bar_free(ut.nic, 0, at[4], PAGE);
	CU_ASSERT_EQUAL(bar->num_free, 0);
	CU_ASSERT_EQUAL(bar->high, at[3]);
	fw_ut_end(&ut);
}

static void full_is_enomem_and_changes_nothing(void)
{
	struct fw_bar *bar;
	struct fw_ut ut;
	uint64_t rest, got, high;

	bar = begin(&ut);
	rest = bar->bytes - bar->high;
	high = bar->high;
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, rest + 1, &got), -FW_ENOMEM);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, UINT64_C(1) << 62, &got), -FW_ENOMEM);
	CU_ASSERT_EQUAL(bar->high, high);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, rest, &got), 0);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, 1, &got), -FW_ENOMEM);
	bar_free(ut.nic, 0, high, rest);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, rest, &got), 0);
	fw_ut_end(&ut);
}

static void more_holes_than_are_remembered(void)
{
	enum {
		HOLES = FW_BAR_EXTENTS + 40
	};
	static uint64_t at[2 * HOLES];
	struct fw_client_params params = {.bar_bytes = HW_BAR_DYNAMIC + (2 * HOLES + 256) * PAGE};
	struct fw_bar *bar;
	struct fw_ut ut;
	uint32_t client, i;
	uint64_t got;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	bar = &ut.nic->host.clients[client].bar;
	for (i = 0; i < 2 * HOLES; i++)
		CU_ASSERT_EQUAL_FATAL(bar_alloc(ut.nic, client, PAGE, &at[i]), 0);
	for (i = 0; i < HOLES; i++)
		bar_free(ut.nic, client, at[2 * i], PAGE);
	CU_ASSERT_EQUAL(bar->num_free, FW_BAR_EXTENTS);
	for (i = 1; i < bar->num_free; i++)
		CU_ASSERT_TRUE_FATAL(bar->free[i - 1].offset + bar->free[i - 1].bytes <
				     bar->free[i].offset);
	/* A larger hole displaces one of a page; the page between two joins all three. */
	for (i = 1; at[i] < bar->free[FW_BAR_EXTENTS / 2].offset; i += 2)
		;
	bar_free(ut.nic, client, at[i], PAGE);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, client, 3 * PAGE, &got), 0);
	CU_ASSERT_EQUAL(got, at[i - 1]);
	/* Every remembered page can be allocated, and each only once. */
	for (i = 0; bar->num_free; i++)
		CU_ASSERT_EQUAL_FATAL(bar_alloc(ut.nic, client, PAGE, &got), 0);
	CU_ASSERT_EQUAL(i, FW_BAR_EXTENTS - 2);
	fw_ut_end(&ut);
}

/* Where the table of holes is full, the smallest of them is lost, wherever it lies. */
static void smallest_hole_is_forgotten(void)
{
	enum {
		HOLES = FW_BAR_EXTENTS + 1
	};
	static const uint32_t places[] = {0, 1, 77, FW_BAR_EXTENTS - 1};
	static uint64_t at[HOLES], wall;
	struct fw_client_params params = {.bar_bytes = HW_BAR_DYNAMIC + (3 * HOLES + 256) * PAGE};
	struct fw_bar *bar;
	struct fw_ut ut;
	uint32_t client, i, k;

	for (k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
		uint32_t small = places[k];

		fw_ut_begin(&ut);
		CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
		bar = &ut.nic->host.clients[client].bar;
		while (bar->num_free)
			CU_ASSERT_EQUAL_FATAL(bar_alloc(ut.nic, client, UNIT, &wall), 0);
		for (i = 0; i < HOLES; i++) {
			CU_ASSERT_EQUAL_FATAL(
			    bar_alloc(ut.nic, client, i == small ? PAGE : 2 * PAGE, &at[i]), 0);
			CU_ASSERT_EQUAL_FATAL(bar_alloc(ut.nic, client, PAGE, &wall), 0);
		}
		for (i = 0; i < HOLES; i++)
			bar_free(ut.nic, client, at[i], i == small ? PAGE : 2 * PAGE);
		CU_ASSERT_EQUAL(bar->num_free, FW_BAR_EXTENTS);
		for (i = 0; i < bar->num_free; i++) {
			CU_ASSERT_EQUAL(bar->free[i].bytes, 2 * PAGE);
			CU_ASSERT_EQUAL(bar->free[i].offset, at[i < small ? i : i + 1]);
		}
		fw_ut_end(&ut);
	}
}

/* A core does not spend its time on clearing: the process clears where it needs zeroes. */
static void freed_pages_are_used_again(void)
{
	struct fw_ut ut;
	uint64_t a, b;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, 2 * PAGE, &a), 0);
	memset(ut.client[0].bar + a, 0x5a, 2 * PAGE);
	bar_free(ut.nic, 0, a, 2 * PAGE);
	CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, 2 * PAGE, &b), 0);
	CU_ASSERT_EQUAL(a, b);
	CU_ASSERT_EQUAL(ut.client[0].bar[b + 2 * PAGE - 1], 0x5a);
	fw_ut_end(&ut);
}

static void records_share_pages_and_are_zero(void)
{
	uint64_t at[70], again;
	struct fw_ut ut;
	uint32_t i, j;

	fw_ut_begin(&ut);
	for (i = 0; i < 70; i++) {
		CU_ASSERT_EQUAL_FATAL(bar_record_alloc(ut.nic, 0, &at[i]), 0);
		CU_ASSERT_EQUAL(at[i] % HW_CACHE_LINE_BYTES, 0);
		for (j = 0; j < i; j++)
			CU_ASSERT_NOT_EQUAL(at[i], at[j]);
	}
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].bar.num_record_pages, FW_BAR_RECORD_CHUNK);
	/* The process writes over its records, also freed ones: nothing is read from there. */
	memset(ut.client[0].bar + HW_BAR_DYNAMIC, 0xff, FW_UT_BAR_BYTES - HW_BAR_DYNAMIC);
	bar_record_free(ut.nic, 0, at[5]);
	bar_record_free(ut.nic, 0, at[40]);
	CU_ASSERT_EQUAL(bar_record_alloc(ut.nic, 0, &again), 0);
	CU_ASSERT_TRUE(again == at[5] || again == at[40]);
	for (i = 0; i < FW_BAR_RECORD_BYTES; i++)
		CU_ASSERT_EQUAL(ut.client[0].bar[again + i], 0);
	CU_ASSERT_EQUAL(bar_record_alloc(ut.nic, 0, &again), 0);
	CU_ASSERT_TRUE(again == at[5] || again == at[40]);
	fw_ut_end(&ut);
}

static uint64_t ahead_bytes;
static uint64_t ahead[FW_BAR_RECORD_PAGES];
static uint32_t num_ahead;

static void note_ahead(void *ctx, uint32_t client, uint64_t offset, uint64_t bytes)
{
	(void)ctx;
	CU_ASSERT_EQUAL(client, 0);
	CU_ASSERT_EQUAL(offset % PAGE, 0);
	for (ahead_bytes += bytes; bytes; bytes -= PAGE, offset += PAGE)
		ahead[num_ahead++] = offset;
}

/* A port that makes pages between two commands has made those of each record. */
static void pages_of_records_are_announced_in_time(void)
{
	uint32_t i, j, known;
	uint64_t offset;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	num_ahead = 0;
	ahead_bytes = 0;
	ut.nic->port.bar_ahead = note_ahead;
	/* The records of ATTACH were made before bar_ahead was set, so none is noted. */
	for (i = 0; i < FW_BAR_RECORD_CHUNK * PAGE / FW_BAR_RECORD_BYTES; i++)
		CU_ASSERT_EQUAL_FATAL(bar_record_alloc(ut.nic, 0, &offset), 0);
	CU_ASSERT_EQUAL(num_ahead, FW_BAR_RECORD_CHUNK);
	for (i = 0; i < 4000; i++) {
		known = num_ahead;
		CU_ASSERT_EQUAL_FATAL(bar_record_alloc(ut.nic, 0, &offset), 0);
		for (j = 0; j < known && ahead[j] != offset / PAGE * PAGE; j++)
			;
		CU_ASSERT_TRUE(j < known);
	}
	/* Few more than are used, and none again for those that came back. */
	CU_ASSERT(ahead_bytes <=
		  UINT64_C(4000) * FW_BAR_RECORD_BYTES + 3 * FW_BAR_RECORD_CHUNK * PAGE);
	known = num_ahead;
	for (i = 0; i < 1000; i++) {
		bar_record_free(ut.nic, 0, offset);
		CU_ASSERT_EQUAL_FATAL(bar_record_alloc(ut.nic, 0, &offset), 0);
	}
	CU_ASSERT_EQUAL(num_ahead, known);
	fw_ut_end(&ut);
}

static void records_run_out_with_the_bar(void)
{
	struct fw_client_params params = {.bar_bytes = HW_BAR_DYNAMIC + 20 * PAGE};
	uint64_t offset;
	struct fw_ut ut;
	uint32_t client, n = 0;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	while (!bar_record_alloc(ut.nic, client, &offset))
		n++;
	/* EQ 0 takes 64 bytes and 4096 entries of 16: 17 pages. */
	CU_ASSERT_EQUAL(n, 3 * PAGE / FW_BAR_RECORD_BYTES);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/bar", UT(small_rings_share_pages), UT(holes_are_cut_at_pages),
	UT(many_rings_never_overlap), UT(holes_merge_and_are_used_first),
	UT(full_is_enomem_and_changes_nothing), UT(more_holes_than_are_remembered),
	UT(smallest_hole_is_forgotten), UT(freed_pages_are_used_again),
	UT(records_share_pages_and_are_zero), UT(pages_of_records_are_announced_in_time),
	UT(records_run_out_with_the_bar))
