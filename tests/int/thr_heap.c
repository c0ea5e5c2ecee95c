/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory as programs use it: regions of the brk heap while it grows, shrinks, is forked, discarded
 * and written by other threads; of the stack; of ranges with several kinds of memory. weft0 writes
 * and reads memory of weft1, in this process.
 *
 *	thr_heap ROUNDS
 *
 * Run by heap.sh, also built with ThreadSanitizer. Calls host_driver.
 */
#include "tests/int/host.h"

#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
	PAGE = 4096,
	PAGES = 64,
	BYTES = PAGES * PAGE,
	THREADS = 3,
};

static struct host_end a, b;
static struct weft_cq *cq, *target_cq;
static struct weft_qp *qp, *target;

static void open_all(void)
{
	host_open(&a, "weft0", BYTES);
	host_open(&b, "weft1", PAGE);
	cq = weft_create_cq(a.ctx, 16, NULL, NULL);
	target_cq = weft_create_cq(b.ctx, 16, NULL, NULL);
	host_check(cq && target_cq);
	qp = host_qp(&a, WEFT_QPT_RD, cq, NULL, 4);
	target = host_qp(&b, WEFT_QPT_RD, target_cq, NULL, 4);
}

static void close_all(void)
{
	host_check(weft_destroy_qp(qp) == 0 && weft_destroy_qp(target) == 0);
	host_check(weft_destroy_cq(cq) == 0 && weft_destroy_cq(target_cq) == 0);
	host_close(&a);
	host_close(&b);
}

/* Moves bytes between the start of a.mem and an address of weft1. */
static enum weft_wc_status move(enum weft_wr_opcode opcode, const void *addr, uint32_t rkey,
				size_t bytes)
{
	struct weft_sge sge = {(uintptr_t)a.mem, (uint32_t)bytes, a.mr->lkey};
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .flags = WEFT_SEND_SIGNALED,
				  .ah = a.ah,
				  .dst_qpn = target->qpn,
				  .qkey = HOST_QKEY,
				  .remote_addr = (uintptr_t)addr,
				  .rkey = rkey};
	struct weft_wc wc;
	int n;

	host_check(weft_post_send(qp, &wr, NULL) == 0);
	do {
		n = weft_poll_cq(cq, 1, &wc);
	} while (n == 0);
	host_check(n == 1);
	return wc.status;
}

static void fill(char *p, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (char)(i * 7 + i / 4096 + seed);
}

static void check_filled(const char *p, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++) {
		if (p[i] != (char)(i * 7 + i / 4096 + seed))
			host_die("byte %zu of %zu is %d", i, bytes, p[i]);
	}
}

/* The peer writes all of it and the process sees it; then the other way round. */
static void both_ways(char *p, size_t bytes, const struct weft_mr *mr, unsigned seed)
{
	fill(a.mem, bytes, seed);
	host_check(move(WEFT_WR_WRITE, p, mr->rkey, bytes) == WEFT_WC_SUCCESS);
	host_check(move(WEFT_WR_READ, p, mr->rkey, bytes) == WEFT_WC_SUCCESS);
	check_filled(p, bytes, seed);
	fill(p, bytes, seed + 1);
	host_check(move(WEFT_WR_READ, p, mr->rkey, bytes) == WEFT_WC_SUCCESS);
	check_filled(a.mem, bytes, seed + 1);
}

static struct weft_mr *reg(void *p, size_t bytes)
{
	struct weft_mr *mr = weft_reg_mr(b.pd, p, bytes, HOST_ACCESS_ALL);

	host_check(mr);
	return mr;
}

static void dereg(struct weft_mr *mr)
{
	host_check(weft_dereg_mr(mr) == 0);
}

/*
 * Adds pages at the end of the heap. Sanitizers keep malloc() elsewhere, so the heap has no other
 * user.
 */
static char *heap_pages(size_t pages)
{
	char *p = sbrk(0);

	host_check(sbrk((PAGE - (intptr_t)((uintptr_t)p % PAGE)) % PAGE) != (void *)-1);
	p = sbrk((intptr_t)(pages * PAGE));
	host_check(p != (void *)-1);
	return p;
}

static void heap_to(const char *end)
{
	host_check(sbrk(end - (char *)sbrk(0)) != (void *)-1);
}

static void grows(void)
{
	char *p = heap_pages(PAGES / 2);
	struct weft_mr *part[2], *all;

	part[0] = reg(p + 9 * PAGE + 100, 3 * PAGE);
	part[1] = reg(p + 5, 10);
	host_check(part[0]->mapped && part[1]->mapped);
	both_ways(p + 9 * PAGE + 100, 3 * PAGE, part[0], 1);
	host_check(heap_pages(PAGES / 2) == p + BYTES / 2);
	all = reg(p, BYTES);
	host_check(all->mapped);
	both_ways(p, BYTES, all, 2);
	both_ways(p + 5, 10, part[1], 3);
	dereg(part[0]);
	dereg(part[1]);
	dereg(all);
	heap_to(p);
	puts("a heap that grows: mapped");
}

static void shrinks(void)
{
	char *p = heap_pages(PAGES);
	struct weft_mr *old, *mr;
	enum weft_wc_status status;

	memset(p, 0x33, BYTES);
	old = reg(p, BYTES);
	heap_to(p + 4 * PAGE);
	/* The old pages' content, or an error. */
	memset(a.mem, 0, BYTES);
	status = move(WEFT_WR_READ, p, old->rkey, BYTES);
	for (size_t i = 0; i < BYTES && status == WEFT_WC_SUCCESS; i++)
		host_check(a.mem[i] == 0x33);
	host_check(heap_pages(PAGES - 4) == p + 4 * PAGE);
	for (size_t i = 4 * PAGE; i < BYTES; i++)
		host_check(p[i] == 0);
	mr = reg(p, BYTES);
	host_check(mr->mapped);
	both_ways(p, BYTES, mr, 4);
	/* The old key does not reach the new pages. */
	memset(a.mem, 0x44, BYTES);
	(void)move(WEFT_WR_WRITE, p + 4 * PAGE, old->rkey, BYTES - 4 * PAGE);
	check_filled(p, BYTES, 5);
	dereg(old);
	both_ways(p, BYTES, mr, 6);
	dereg(mr);
	heap_to(p);
	puts("a heap that shrinks under a region: its old pages");
}

static void mixed(void)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct weft_mr *part[8], *all;

	host_check(p != MAP_FAILED);
	for (int i = 0; i < 8; i++)
		part[i] = reg(p + (size_t)(7 - i) * 8 * PAGE + 2 * PAGE, PAGE + (size_t)i);
	all = reg(p + 33, BYTES - 50);
	host_check(all->mapped);
	both_ways(p + 33, BYTES - 50, all, 7);
	for (int i = 0; i < 8; i++)
		dereg(part[i]);
	both_ways(p + 33, BYTES - 50, all, 8);
	dereg(all);
	munmap(p, BYTES);
	puts("a range of eight parts and what lies between: mapped");
}

__attribute__((noinline)) static size_t deeper(unsigned levels)
{
	volatile char room[2 * PAGE] = {0};

	for (size_t i = 0; i < sizeof(room); i += PAGE / 2)
		room[i] = (char)levels;
	return (size_t)room[PAGE] + (levels ? deeper(levels - 1) : 0);
}

/* AddressSanitizer would place the buffer elsewhere. */
__attribute__((no_sanitize_address)) static void stack(void)
{
	char buffer[4 * PAGE];
	struct weft_mr *mr = reg(buffer, sizeof(buffer));

	both_ways(buffer, sizeof(buffer), mr, 9);
	host_check(deeper(100) != 1);
	both_ways(buffer, sizeof(buffer), mr, 10);
	dereg(mr);
	puts("a stack that grows below a region");
}

static void forked(void)
{
	char *p = heap_pages(PAGES), byte = 0, *argv[] = {(char *)(uintptr_t) "true", NULL};
	struct weft_mr *mr = reg(p, BYTES);
	int status, to_child[2];
	pid_t pid;

	both_ways(p, BYTES, mr, 11);
	host_check(pipe(to_child) == 0);
	pid = fork();
	host_check(pid >= 0);
	if (pid == 0) {
		if (read(to_child[0], &byte, 1) != 1)
			_exit(2);
		check_filled(p, BYTES, 12);
		memset(p, 0x66, BYTES);
		/* The child's heap is its own and goes on. */
		if (heap_pages(4) != p + BYTES || p[BYTES] != 0)
			_exit(3);
		heap_to(p + PAGE);
		_exit(p[0] == 0x66 ? 0 : 4);
	}
	both_ways(p, BYTES, mr, 13);
	host_check(write(to_child[1], &byte, 1) == 1);
	host_check(waitpid(pid, &status, 0) == pid && status == 0);
	check_filled(p, BYTES, 14);
	both_ways(p, BYTES, mr, 15);
	close(to_child[0]);
	close(to_child[1]);
	host_check(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL) == 0);
	host_check(waitpid(pid, &status, 0) == pid && status == 0);
	both_ways(p, BYTES, mr, 17);
	dereg(mr);
	heap_to(p);
	puts("fork, and a program started: the child has its own");
}

/* A process detaches from the NIC and attaches again: its heap is mapped again. */
static void reopened(void)
{
	char *p = heap_pages(PAGES);
	struct weft_mr *mr = reg(p + 4 * PAGE, BYTES / 2);

	both_ways(p + 4 * PAGE, BYTES / 2, mr, 18);
	dereg(mr);
	close_all();
	check_filled(p + 4 * PAGE, BYTES / 2, 19);
	open_all();
	check_filled(p + 4 * PAGE, BYTES / 2, 19);
	mr = reg(p, BYTES);
	host_check(mr->mapped);
	check_filled(p + 4 * PAGE, BYTES / 2, 19);
	both_ways(p, BYTES, mr, 20);
	dereg(mr);
	heap_to(p);
	puts("a device closed and opened: mapped again");
}

struct worker {
	char *p;
	int number;
	int stop; /* atomic */
	uint64_t rounds;
};

static void *discard(void *arg)
{
	struct worker *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		host_check(madvise(w->p, BYTES, MADV_DONTNEED) == 0);
		w->rounds++;
	}
	return NULL;
}

/* Pages mapped by the NIC are shared, so discarding them loses nothing. */
static void discarded(int rounds)
{
	struct worker w = {.p = heap_pages(PAGES)};
	struct weft_mr *mr = reg(w.p, BYTES);
	pthread_t thread;

	host_check(mr->mapped);
	host_check(pthread_create(&thread, NULL, discard, &w) == 0);
	for (int i = 0; i < rounds; i++)
		both_ways(w.p, BYTES, mr, (unsigned)i);
	__atomic_store_n(&w.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	dereg(mr);
	heap_to(w.p);
	puts("MADV_DONTNEED in the middle of transfers");
}

/* Each thread adds to its own words in every page. */
static void *add(void *arg)
{
	struct worker *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < PAGES; i++)
			__atomic_fetch_add((uint64_t *)(void *)(w->p + i * PAGE) + w->number, 1,
					   __ATOMIC_RELAXED);
		w->rounds++;
	}
	return NULL;
}

static void written_while_moved(int rounds)
{
	struct worker w[THREADS];
	struct weft_mr *mr[PAGES];
	pthread_t thread[THREADS];
	char *p;

	for (int round = 0; round < rounds; round++) {
		p = heap_pages(PAGES);
		for (int i = 0; i < THREADS; i++) {
			w[i] = (struct worker){.p = p, .number = i};
			host_check(pthread_create(&thread[i], NULL, add, &w[i]) == 0);
		}
		/* Odd pages, then even ones; some in pairs. */
		for (int i = 0; i < PAGES; i++) {
			int page = i < PAGES / 2 ? 2 * i + 1 : 2 * (i - PAGES / 2);

			mr[i] = reg(p + page * PAGE + 64, PAGE - 64);
		}
		for (int i = 0; i < THREADS; i++)
			__atomic_store_n(&w[i].stop, 1, __ATOMIC_RELAXED);
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
		for (int i = 0; i < PAGES; i++) {
			for (int t = 0; t < THREADS; t++)
				host_check(((uint64_t *)(void *)(p + i * PAGE))[t] == w[t].rounds);
			dereg(mr[i]);
		}
		mr[0] = reg(p, BYTES);
		host_check(mr[0]->mapped);
		both_ways(p, BYTES, mr[0], (unsigned)round);
		dereg(mr[0]);
		heap_to(p);
	}
	puts("threads that write while the heap is moved: nothing lost");
}

int main(int argc, char **argv)
{
	int rounds;

	host_check(argc == 2);
	rounds = atoi(argv[1]);
	open_all();
	grows();
	shrinks();
	mixed();
	stack();
	forked();
	reopened();
	discarded(rounds);
	written_while_moved(rounds);
	close_all();
	return 0;
}
