/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring exchange with buffers as programs have them: both ranks send to the other and receive at
 * once, in buffers that are allocated for each size and freed afterwards, in two passes. Memory of
 * mmap(), of plain malloc(), which serves large blocks from the brk heap in the second pass since
 * glibc raises its threshold with the first free(), and of malloc() with the heap alone (M_MMAP_MAX
 * 0). Calls mp.c, whose messages go by rendezvous.
 *
 * A figure is the bytes that a rank sends and receives over the time of an exchange. Each pass
 * registers its buffers in its first exchange, which is not counted. Every byte of the last message
 * is checked.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/clock.h"
#include "tools/weft-bench/mp.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/reg.h"

enum {
	HEAP_EAGER_BYTES = 1024,
	HEAP_PASSES = 2,
	HEAP_REPS = 40, /* exchanges of a block, at most */
};

static const struct {
	const char *name;
	bool is_mmap;
	bool heap_alone;
} kinds[] = {
    {"mmap", true, false},
    {"malloc", false, false},
    {"malloc, heap", false, true},
};

static void *take(bool is_mmap, size_t bytes)
{
	void *p =
	    is_mmap ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		    : malloc(bytes);

	p = p == MAP_FAILED ? NULL : p;
	if (!p)
		fail("no %zu bytes of memory for buffers", bytes);
	return p;
}

static void give(bool is_mmap, void *p, size_t bytes)
{
	if (is_mmap && p)
		munmap(p, bytes);
	else if (!is_mmap)
		free(p);
}

static int exchange(struct mp *mp, const uint8_t *out, uint8_t *in, size_t bytes)
{
	struct mp_req *recv = mp_irecv(mp, in, bytes);
	struct mp_req *send = recv ? mp_isend(mp, out, bytes) : NULL;

	return !send || mp_wait(mp, send) || mp_wait(mp, recv) ? -1 : 0;
}

static int heap_cell(struct crew *c, struct mp *mp, size_t kind, int pass, size_t bytes)
{
	uint8_t *out = take(kinds[kind].is_mmap, bytes), *in = take(kinds[kind].is_mmap, bytes);
	uint32_t reps = c->o->iters < HEAP_REPS ? (uint32_t)c->o->iters : HEAP_REPS;
	double mib_s[CREW_BLOCKS];
	int rc = !out || !in ? -1 : 0;
	uint64_t start;
	json_t *row;

	if (!rc) {
		pattern_fill(out, bytes, bytes + (uint64_t)c->rank, 1);
		memset(in, 0, bytes);
	}
	for (int block = -1; block < CREW_BLOCKS && !rc; block++) {
		crew_barrier(c);
		start = clock_now_ns();
		for (uint32_t i = 0; i < (block < 0 ? 1 : reps) && !rc; i++)
			rc = exchange(mp, out, in, bytes);
		if (block >= 0)
			mib_s[block] = 2.0 * reps * (double)bytes / (1 << 20) /
				       ((double)(clock_now_ns() - start) / 1e9);
	}
	if (!rc && pattern_check(in, bytes, bytes + !c->rank, 1) != bytes)
		rc = fail("%zu bytes did not come as they were sent", bytes);
	/* The partner may still read. */
	crew_barrier(c);
	give(kinds[kind].is_mmap, out, bytes);
	give(kinds[kind].is_mmap, in, bytes);
	if (rc || c->rank)
		return rc;
	row = json_pack("{s:s, s:s, s:i, s:I}", "part", "heap", "memory", kinds[kind].name, "pass",
			pass + 1, "bytes", (json_int_t)bytes);
	crew_figure(row, "mib_s", mib_s);
	return crew_row(c, row);
}

int reg_heap(struct crew *c, void *arg)
{
	static const size_t sizes[] = {64 << 10, 256 << 10, 1 << 20, 2 << 20};
	const struct mp_config cfg = {
	    .eager_bytes = HEAP_EAGER_BYTES, .proto = MP_GET, .policy = WEFT_MR_CACHE_LAZY};
	int rc = 0;

	(void)arg;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]) && !rc; kind++) {
		struct mp mp;

		if (kinds[kind].heap_alone)
			mallopt(M_MMAP_MAX, 0);
		if (mp_open(&mp, c, &cfg))
			return -1;
		for (int pass = 0; pass < HEAP_PASSES; pass++)
			for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]) && !rc; s++)
				if (sizes[s] <= c->o->size)
					rc = heap_cell(c, &mp, kind, pass, sizes[s]);
		crew_barrier(c);
		mp_close(&mp);
	}
	return rc;
}
