/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_maps.c: lines of /proc/self/maps, and answers of the kernel for one mapping.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
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
	CU_ASSERT_TRUE(v.heap && !v.special);
	CU_ASSERT_TRUE(weft_maps_parse("1000-2000 rw-p 00000000 00:00 0    [stack]", &v));
	CU_ASSERT_TRUE(v.special && !v.heap);
	CU_ASSERT_TRUE(weft_maps_parse("1000-2000 rw-p 00000000 00:00 0    [anon:mine]", &v));
	CU_ASSERT_FALSE(v.special || v.heap);
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

/* More mappings than one read returns: none is missed or split. */
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

/* The mapping at an address, by a walk that begins there. */
static struct weft_vma at(const void *addr)
{
	struct search s = {.addr = (uintptr_t)addr, .sorted = true};

	CU_ASSERT_EQUAL(weft_maps_walk_from(s.addr, search_for, &s), 0);
	CU_ASSERT_TRUE(s.sorted);
	return s.found;
}

/* On the main thread's stack. AddressSanitizer has variables elsewhere. */
static const void *on_stack(void)
{
	return (const void *)getauxval(AT_EXECFN);
}

/* Every field of a mapping, by a walk from its address. */
static void kinds(void)
{
	enum {
		PAGE = 4096
	};
	int fd = memfd_create("file", MFD_CLOEXEC);
	uint8_t *file, *heap = sbrk(PAGE);
	struct weft_vma v;

	CU_ASSERT_EQUAL(ftruncate(fd, 8 * PAGE), 0);
	file = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 3 * PAGE);
	v = at(file + PAGE);
	CU_ASSERT_TRUE(v.shared && v.readable && v.writable && !v.executable && v.inode);
	CU_ASSERT_EQUAL(v.offset + ((uintptr_t)file - v.start), 3 * PAGE);
	v = at(heap);
	CU_ASSERT_TRUE(v.heap && !v.special && !v.shared && v.writable && !v.inode);
	v = at(on_stack());
	CU_ASSERT_TRUE(v.special && !v.heap && v.writable);
	v = at((const void *)(uintptr_t)kinds);
	CU_ASSERT_TRUE(v.executable && !v.writable && v.inode && !v.special);
	munmap(file, 2 * PAGE);
	close(fd);
}

static bool count_of_memfd(const struct weft_vma *vma, void *arg)
{
	struct search *s = arg;

	s->count += vma->shared && vma->start >= s->addr && vma->end <= s->last_end;
	return true;
}

/* A walk over shared mappings misses none. */
static void shared_mappings(void)
{
	enum {
		PAGE = 4096,
		MAPPINGS = 50
	};
	int fd = memfd_create("file", MFD_CLOEXEC);
	uint8_t *p = mmap(NULL, 2 * MAPPINGS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct search s = {.addr = (uintptr_t)p, .last_end = (uintptr_t)p + 2 * MAPPINGS * PAGE};

	CU_ASSERT_EQUAL(ftruncate(fd, PAGE), 0);
	for (int i = 0; i < MAPPINGS; i++) {
		uint8_t *page = p + 2 * i * PAGE;

		CU_ASSERT_PTR_EQUAL(
		    mmap(page, PAGE, i % 2 ? PROT_NONE : PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0),
		    page);
	}
	CU_ASSERT_EQUAL(weft_maps_walk_shared(0, count_of_memfd, &s), 0);
	CU_ASSERT_EQUAL(s.count, MAPPINGS);
	s.count = 0;
	CU_ASSERT_EQUAL(weft_maps_walk_shared((uintptr_t)p + PAGE, count_of_memfd, &s), 0);
	CU_ASSERT_TRUE(s.count >= MAPPINGS - 1 && s.count <= MAPPINGS);
	munmap(p, 2 * MAPPINGS * PAGE);
	close(fd);
}

/* A program that closes foreign descriptors, or has another file under their numbers. */
static void descriptor_closed(void)
{
	struct rlimit limit;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), lowest;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
	lowest = limit.rlim_cur / 2 < 1000 ? (int)(limit.rlim_cur / 2) : 1000;
	CU_ASSERT_TRUE(at(on_stack()).special);
	for (int fd = lowest; fd < lowest + 8; fd++)
		close(fd);
	CU_ASSERT_TRUE(at(on_stack()).special);
	for (int fd = lowest; fd < lowest + 8; fd++)
		CU_ASSERT_EQUAL(dup2(null, fd), fd);
	CU_ASSERT_TRUE(at(on_stack()).special);
	weft_maps_close();
	CU_ASSERT_TRUE(at(on_stack()).special);
	for (int fd = lowest; fd < lowest + 8; fd++)
		CU_ASSERT_EQUAL(close(fd), 0); /* none of these was closed */
	close(null);
	CU_ASSERT_TRUE(at(on_stack()).special);
	weft_maps_close();
	/* That was the last one. */
	CU_ASSERT_EQUAL(fcntl(lowest + 8, F_GETFD), -1);
}

/* A child of fork, with the handlers or without, gets its own mappings. */
static void in_children(void)
{
	enum {
		PAGE = 4096
	};
	uint8_t *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = -1;

	CU_ASSERT_TRUE(at(p).readable);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (i)
				weft_maps_forked();
			munmap(p, PAGE);
			_exit(at(p).readable ? 1 : 0);
		}
		CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
		CU_ASSERT_EQUAL(status, 0);
	}
	munmap(p, PAGE);
}

UT_MAIN("host_driver/weft_maps", UT(lines), UT(not_lines), UT(many_mappings), UT(walk_stops),
	UT(kinds), UT(shared_mappings), UT(descriptor_closed), UT(in_children))
