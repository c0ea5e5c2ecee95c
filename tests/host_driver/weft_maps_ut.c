/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_maps.c: lines of /proc/self/maps.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "host_driver/weft_maps.h"
#include "tests/ut.h"

static void lines(void)
{
	struct weft_vma v;

	CU_ASSERT_TRUE(weft_maps_parse("7f12a0000000-7f12a0021000 rw-p 00000000 00:00 0 ", &v));
	CU_ASSERT_EQUAL(v.start, 0x7f12a0000000);
	CU_ASSERT_EQUAL(v.end, 0x7f12a0021000);
	CU_ASSERT_TRUE(v.readable && v.writable && !v.executable && !v.shared && !v.special);
	CU_ASSERT_EQUAL(v.inode, 0);
	CU_ASSERT_TRUE(weft_maps_parse("400000-452000 r-xs 0001f000 fd:12 12345678901 /a b/c", &v));
	CU_ASSERT_TRUE(v.readable && !v.writable && v.executable && v.shared && !v.special);
	CU_ASSERT_EQUAL(v.offset, 0x1f000);
	CU_ASSERT_EQUAL(v.dev_major, 0xfd);
	CU_ASSERT_EQUAL(v.dev_minor, 0x12);
	CU_ASSERT_EQUAL(v.inode, 12345678901);
	CU_ASSERT_TRUE(weft_maps_parse("1000-2000 rw-p 00000000 00:00 0    [heap]", &v));
	CU_ASSERT_TRUE(v.special);
	CU_ASSERT_TRUE(weft_maps_parse("1000-2000 rw-p 00000000 00:00 0    [anon:mine]", &v));
	CU_ASSERT_FALSE(v.special);
	CU_ASSERT_TRUE(weft_maps_parse(
	    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", &v));
	CU_ASSERT_FALSE(v.readable);
}

static void not_lines(void)
{
	const char *bad[] = {"",
			     "1000",
			     "1000-",
			     "1000-2000",
			     "1000-2000 rw",
			     "1000-2000 rw-p",
			     "1000-2000 rw-p 0",
			     "1000-2000 rw-p 0 00",
			     "1000-2000 rw-p 0 00:00",
			     "1000-2000 rw-p 0 00:00 ",
			     "x000-2000 rw-p 00000000 00:00 0",
			     "1000 2000 rw-p 00000000 00:00 0"};
	struct weft_vma v;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CU_ASSERT_FALSE(weft_maps_parse(bad[i], &v));
}

struct search {
	uint64_t addr;
	struct weft_vma found;
	uint64_t last_end;
	unsigned count;
	bool sorted;
};

static bool search_for(const struct weft_vma *vma, void *arg)
{
	struct search *s = arg;

	s->count++;
	s->sorted = s->sorted && vma->start >= s->last_end && vma->end > vma->start;
	s->last_end = vma->end;
	if (s->addr >= vma->start && s->addr < vma->end)
		s->found = *vma;
	return true;
}

/* More mappings than one read returns: none is missed or torn. */
static void many_mappings(void)
{
	enum {
		MAPPINGS = 400,
		PAGE = 4096
	};
	uint8_t *p = mmap(NULL, 2 * MAPPINGS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct search s;
	unsigned wrong = 0;

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(p, MAP_FAILED);
	for (int i = 0; i < MAPPINGS; i++)
		CU_ASSERT_EQUAL(mprotect(p + 2 * i * PAGE, PAGE, PROT_READ), 0);
	for (int i = 0; i < MAPPINGS; i += 37) {
		s = (struct search){.addr = (uintptr_t)(p + 2 * i * PAGE), .sorted = true};
		CU_ASSERT_EQUAL(weft_maps_walk(search_for, &s), 0);
		wrong += !s.sorted || s.count < MAPPINGS || s.found.start != s.addr ||
			 s.found.end != s.addr + PAGE || !s.found.readable || s.found.writable;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	munmap(p, 2 * MAPPINGS * PAGE);
}

static bool first_only(const struct weft_vma *vma, void *arg)
{
	(void)vma;
	++*(unsigned *)arg;
	return false;
}

static void walk_stops(void)
{
	unsigned count = 0;

	CU_ASSERT_EQUAL(weft_maps_walk(first_only, &count), 0);
	CU_ASSERT_EQUAL(count, 1);
}

UT_MAIN("host_driver/weft_maps", UT(lines), UT(not_lines), UT(many_mappings), UT(walk_stops))
