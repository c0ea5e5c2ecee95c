/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of a process that the kernel swaps out.
 *
 * swapped SOCKET: registers memory that weftd maps and memory that it does not, and says "ready".
 * tests/security/swapped.sh then has the kernel swap out all it can of this process's cgroup, until
 * this says "out": most of a memfd that nobody has locked is. After a line on standard input, pages
 * of the rings and of mapped memory must still be in memory, most of the others must not, and the
 * NIC reads and writes those all the same.
 */
#include <sys/mman.h>

#include "tests/int/hostile.h"

enum {
	PAGE = 4096,
	PAGES = 4096,
	UNLOCKED_PAGES = 512,
	OUTSTANDING = 8,
	MESSAGE_BYTES = 512,
};

static uint32_t reg(struct victim *v, uint8_t *mem)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct hw_cmd_resp resp;

	cmd.u.reg_mr =
	    (struct hw_cmd_reg_mr){.addr = (uintptr_t)mem,
				   .iova = (uintptr_t)mem,
				   .bytes = (uint64_t)PAGES * PAGE,
				   .pd = v->pd,
				   .access = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE};
	must(v, &cmd, &resp);
	return resp.u.mr.stag;
}

static uint8_t pattern(uint32_t page, uint8_t of)
{
	return (uint8_t)(page * 7 + (page >> 8) + of);
}

static void fill(uint8_t *mem, uint8_t of)
{
	for (uint32_t i = 0; i < PAGES; i++)
		memset(mem + (size_t)i * PAGE, pattern(i, of), PAGE);
}

/* Pages of so many that are not in memory. */
static uint32_t pages_out(const uint8_t *mem, uint32_t pages)
{
	static unsigned char there[1 << 16];
	uint32_t out = 0;

	if (pages > sizeof(there) || mincore((void *)(uintptr_t)mem, (size_t)pages * PAGE, there))
		die("mincore: %s", strerror(errno));
	for (uint32_t i = 0; i < pages; i++)
		out += !(there[i] & 1);
	return out;
}

/* Writes every second page, from the first on, to the same page of the other memory. */
static void move(struct victim *v, uint32_t *done, uint32_t first, const uint8_t *from,
		 uint32_t lkey, uint8_t *to, uint32_t rkey)
{
	struct victim sink = *v;
	uint32_t page = first, end = *done + PAGES / 2, posted = *done;

	sink.stag = rkey;
	while (*done < end) {
		*done = completions(v, *done, true);
		if (posted == end || posted - *done == OUTSTANDING) {
			usleep(50);
			continue;
		}
		sink.mem = to + (size_t)page * PAGE;
		post(&sink, HW_WQE_WRITE, (uintptr_t)from + (size_t)page * PAGE, MESSAGE_BYTES,
		     lkey);
		page += 2;
		posted++;
	}
}

static void check(const uint8_t *mem, uint32_t first, uint8_t of, const char *what)
{
	for (uint32_t i = first; i < PAGES; i += 2) {
		for (uint32_t at = 0; at < MESSAGE_BYTES; at++) {
			if (mem[(size_t)i * PAGE + at] != pattern(i, of))
				die("%s: page %u has other bytes", what, i);
		}
	}
}

/* Memory like that which weftd maps, but of this process alone. */
static uint8_t *unlocked_memory(void)
{
	const size_t bytes = (size_t)UNLOCKED_PAGES * PAGE;
	uint8_t *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    make_memfd(bytes, F_SEAL_SHRINK | F_SEAL_GROW), 0);

	if (mem == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return memset(mem, 3, bytes);
}

static void say(const char *text)
{
	printf("%s\n", text);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint32_t own_stag, mapped_stag, done = 0, out, bar_pages, untouched;
	struct hw_mem_piece piece = {.bytes = (uint64_t)PAGES * PAGE};
	uint8_t *own, *mapped, *unlocked;
	struct victim v;
	char line[8];
	int fd = -1;

	if (argc != 2) {
		fprintf(stderr, "swapped: say SOCKET\n");
		return 2;
	}
	socket_path = argv[1];
	own = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (own == MAP_FAILED || madvise(own, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE))
		die("mmap: %s", strerror(errno));
	furnish(&v, 1);
	fill(own, 1);
	own_stag = reg(&v, own);
	mapped = alloc_mem(&v, piece.bytes, 0, &piece.key, &fd);
	fill(mapped, 2);
	if (reg_pieces(&v, (uintptr_t)mapped, &piece, 1, &mapped_stag))
		die("REG_MR");
	bar_pages = (uint32_t)(v.used_bytes / PAGE);
	untouched = pages_out(v.bar, bar_pages);
	if (untouched > bar_pages / 2)
		die("only %u of %u pages of the BAR are used", bar_pages - untouched, bar_pages);
	unlocked = unlocked_memory();
	say("ready");
	while (pages_out(unlocked, UNLOCKED_PAGES) < UNLOCKED_PAGES / 2)
		usleep(10000);
	say("out");
	if (!fgets(line, sizeof(line), stdin))
		die("no line");
	out = pages_out(mapped, PAGES);
	if (out)
		die("%u of %d pages of mapped memory are swapped out", out, PAGES);
	out = pages_out(v.bar, bar_pages) - untouched;
	if (out)
		die("%u of %u pages of the BAR are swapped out", out, bar_pages - untouched);
	out = pages_out(own, PAGES);
	if (out < PAGES / 2)
		die("%u of %d pages are swapped out: nothing was tried", out, PAGES);
	move(&v, &done, 0, own, own_stag, mapped, mapped_stag);
	move(&v, &done, 1, mapped, mapped_stag, own, own_stag);
	check(mapped, 0, 1, "a swapped source");
	check(own, 1, 2, "a swapped sink");
	printf("%u of %d pages were out\n", out, PAGES);
	return 0;
}
