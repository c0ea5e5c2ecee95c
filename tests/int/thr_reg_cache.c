/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registration cache against a peer that keeps old keys: weft0 reads memory of weft1 with rkeys
 * that the cache of weft1 handed out. While the memory is mapped, a read returns its content. Once
 * the call that unmaps it has returned, a read fails with REM_ACCESS_ERR and never returns the old
 * content.
 *
 *	thr_reg_cache ROUNDS
 *
 * Tests each way to lose memory in turn, in all kinds of memory; in a child of fork; then threads
 * that map where others have just unmapped. Run by threads.sh, also built with ThreadSanitizer.
 * Calls host_driver.
 */
#include "tests/int/host.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
	PAGE = 4096,
	BYTES = 64 * PAGE,
	THREADS = 4,
	ACCESS = WEFT_ACCESS_REMOTE_READ,
};

static struct host_end a, b;
static struct weft_mr_cache *cache;

/* Reader: a queue pair of its own, and a word of a.mem. */
struct reader {
	struct weft_cq *cq, *target_cq;
	struct weft_qp *qp, *target;
	uint64_t *word;
	int rounds;
};

static void reader_open(struct reader *r, int index)
{
	r->cq = weft_create_cq(a.ctx, 16, NULL, NULL);
	r->target_cq = weft_create_cq(b.ctx, 16, NULL, NULL);
	host_check(r->cq && r->target_cq);
	r->qp = host_qp(&a, WEFT_QPT_RD, r->cq, NULL, 4);
	r->target = host_qp(&b, WEFT_QPT_RD, r->target_cq, NULL, 4);
	r->word = (uint64_t *)(void *)a.mem + 64 * index;
}

static void reader_close(struct reader *r)
{
	host_check(weft_destroy_qp(r->qp) == 0 && weft_destroy_qp(r->target) == 0);
	host_check(weft_destroy_cq(r->cq) == 0 && weft_destroy_cq(r->target_cq) == 0);
}

/* Reads the word at an address of weft1; returns the completion status. */
static enum weft_wc_status read_word(struct reader *r, const void *addr, uint32_t rkey,
				     uint64_t *value)
{
	struct weft_sge sge = {(uintptr_t)r->word, sizeof(*r->word), a.mr->lkey};
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_READ,
				  .flags = WEFT_SEND_SIGNALED,
				  .ah = a.ah,
				  .dst_qpn = r->target->qpn,
				  .qkey = HOST_QKEY,
				  .remote_addr = (uintptr_t)addr,
				  .rkey = rkey};
	struct weft_wc wc;
	int n;

	host_check(weft_post_send(r->qp, &wr, NULL) == 0);
	do {
		n = weft_poll_cq(r->cq, 1, &wc);
	} while (n == 0);
	host_check(n == 1);
	*value = *r->word;
	return wc.status;
}

static void expect(struct reader *r, const void *addr, uint32_t rkey, uint64_t value)
{
	uint64_t got;
	enum weft_wc_status status = read_word(r, addr, rkey, &got);

	if (status != WEFT_WC_SUCCESS || got != value)
		host_die("read %#llx with %s, not %#llx", (unsigned long long)got,
			 weft_wc_status_str(status), (unsigned long long)value);
}

static void expect_refused(struct reader *r, const void *addr, uint32_t rkey, const char *what)
{
	uint64_t got;
	enum weft_wc_status status = read_word(r, addr, rkey, &got);

	if (status != WEFT_WC_REM_ACCESS_ERR)
		host_die("after %s: %s, %#llx", what, weft_wc_status_str(status),
			 (unsigned long long)got);
}

/* Registers, releases, and returns the rkey. */
static uint32_t publish(void *p, size_t bytes)
{
	struct weft_mr *mr = weft_reg_mr_cached(cache, p, bytes, ACCESS);
	uint32_t rkey;

	host_check(mr);
	rkey = mr->rkey;
	weft_release_mr(mr);
	return rkey;
}

static uint64_t invalidations(void)
{
	struct weft_mr_cache_stats stats;

	host_check(weft_query_mr_cache(cache, &stats) == 0);
	return stats.invalidations;
}

/* ---- ways ------------------------------------------------------------------------------------ */

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	host_check(p != MAP_FAILED);
	return p;
}

static void by_munmap(char *p)
{
	host_check(munmap(p, BYTES) == 0);
}

static void by_mapping_over(char *p)
{
	char *q =
	    mmap(p, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	host_check(p == q);
	memset(p, 0x22, BYTES);
}

static void by_mremap(char *p)
{
	char *q = map(BYTES);

	host_check(mremap(p, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q);
	host_check(q[0] == 0x11);
}

static void by_moving_over(char *p)
{
	char *q = map(BYTES);

	host_check(mremap(q, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p);
}

static void by_discarding(char *p)
{
	host_check(madvise(p, BYTES, MADV_DONTNEED) == 0);
}

static void by_brk(char *p)
{
	(void)p;
	host_check(sbrk(-2 * BYTES) != (void *)-1);
}

static char *of_brk(void)
{
	char *p = sbrk(2 * BYTES);

	host_check(p != (void *)-1);
	return p + (PAGE - (uintptr_t)p % PAGE) % PAGE;
}

static char *of_mmap(void)
{
	return map(BYTES);
}

static char *of_weft(void)
{
	char *p = weft_alloc(b.ctx, BYTES);

	host_check(p);
	return p;
}

static char *unmapped(void)
{
	setenv("WEFT_MEM", "process_vm", 1);
	return map(BYTES);
}

static const struct {
	const char *name;
	char *(*take)(void);
	void (*give)(char *p);
} ways[] = {
    {"munmap", of_mmap, by_munmap},
    {"munmap of weft_alloc", of_weft, by_munmap},
    {"munmap, not shared", unmapped, by_munmap},
    {"mmap over it", of_mmap, by_mapping_over},
    {"mmap over it, not shared", unmapped, by_mapping_over},
    {"mremap", of_mmap, by_mremap},
    {"mremap, not shared", unmapped, by_mremap},
    {"mremap over it", of_mmap, by_moving_over},
    {"mremap over it, not shared", unmapped, by_moving_over},
    {"MADV_DONTNEED", of_mmap, by_discarding},
    {"MADV_DONTNEED, not shared", unmapped, by_discarding},
    {"brk", of_brk, by_brk},
};

static void each_way(struct reader *r)
{
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint64_t before = invalidations();
		char *p = ways[i].take();
		uint32_t rkey;

		memset(p, 0x11, BYTES);
		rkey = publish(p, BYTES);
		expect(r, p, rkey, 0x1111111111111111);
		expect(r, p + BYTES - 8, rkey, 0x1111111111111111);
		host_check(publish(p + 100, 1000) == rkey);
		ways[i].give(p);
		expect_refused(r, p, rkey, ways[i].name);
		expect_refused(r, p + BYTES - 8, rkey, ways[i].name);
		host_check(invalidations() == before + 1);
		unsetenv("WEFT_MEM");
		printf("refused after %s\n", ways[i].name);
	}
}

/* A child that discards its copy does not unmap the parent's memory. */
static void child_of_fork(struct reader *r)
{
	struct weft_mr_cache_stats stats;
	char *p = map(BYTES);
	uint32_t rkey;
	int status;
	pid_t pid;

	memset(p, 0x33, BYTES);
	rkey = publish(p, BYTES);
	expect(r, p, rkey, 0x3333333333333333);
	pid = fork();
	host_check(pid >= 0);
	if (pid == 0) {
		memset(p, 0x44, BYTES);
		if (munmap(p, BYTES) < 0 || weft_reg_mr_cached(cache, p, 1, ACCESS) ||
		    weft_query_mr_cache(cache, &stats) != -EIO)
			_exit(1);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	host_check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		   WEXITSTATUS(status) == 0);
	expect(r, p, rkey, 0x3333333333333333);
	host_check(munmap(p, BYTES) == 0);
	expect_refused(r, p, rkey, "munmap after fork");
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *map_and_unmap(void *arg)
{
	struct reader *r = arg;

	for (int i = 0; i < r->rounds; i++) {
		size_t bytes = (size_t)(1 + i % 3) * PAGE;
		char *p = map(bytes);
		uint64_t stamp = (uint64_t)(uintptr_t)r << 16 | (uint64_t)i;
		struct weft_mr *mr;

		memcpy(p + 8, &stamp, sizeof(stamp));
		mr = weft_reg_mr_cached(cache, p, bytes, ACCESS);
		host_check(mr);
		expect(r, p + 8, mr->rkey, stamp);
		weft_release_mr(mr);
		host_check(munmap(p, bytes) == 0);
	}
	return NULL;
}

static void threads(struct reader *readers, int rounds)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++) {
		readers[i].rounds = rounds;
		host_check(pthread_create(&thread[i], NULL, map_and_unmap, &readers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%d threads: %llu regions withdrawn\n", THREADS,
	       (unsigned long long)invalidations());
}

/*
 * A region of memory that the NIC cannot map ends with its memory, although the cache still has it:
 * what is there now can be moved. A cache of mapped regions alone does not keep such a region.
 */
static void after_unmapped(void)
{
	struct weft_mr_cache_attr attr = {.mapped_only = true};
	struct weft_mr_cache *strict = weft_create_mr_cache(b.pd, &attr);
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct weft_mr_cache_stats stats;
	struct weft_mr *mr;
	void *again;

	host_check(strict && p != MAP_FAILED);
	mr = weft_reg_mr_cached(cache, p, BYTES, 0);
	host_check(mr && !mr->mapped);
	weft_release_mr(mr);
	mr = weft_reg_mr_cached(strict, p, BYTES, 0);
	host_check(mr && !mr->mapped);
	weft_release_mr(mr);
	host_check(weft_query_mr_cache(strict, &stats) == 0 && stats.entries == 0);
	again =
	    mmap(p, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	host_check(again == p);
	mr = weft_reg_mr_cached(strict, p, BYTES, 0);
	host_check(mr && mr->mapped);
	weft_release_mr(mr);
	host_check(weft_query_mr_cache(strict, &stats) == 0 && stats.entries == 1);
	host_check(weft_destroy_mr_cache(strict) == 0);
	munmap(p, BYTES);
	host_check(weft_flush_mr_cache(cache) == 0);
}

int main(int argc, char **argv)
{
	struct weft_mr_cache_attr attr = {.access = WEFT_ACCESS_LOCAL_WRITE};
	struct reader readers[THREADS];
	struct weft_mr_cache_stats stats;

	host_check(argc == 2);
	host_open(&a, "weft0", 16 * PAGE);
	host_open(&b, "weft1", PAGE);
	cache = weft_create_mr_cache(b.pd, &attr);
	host_check(cache);
	for (int i = 0; i < THREADS; i++)
		reader_open(&readers[i], i);
	each_way(&readers[0]);
	after_unmapped();
	child_of_fork(&readers[0]);
	threads(readers, atoi(argv[1]));
	host_check(weft_query_mr_cache(cache, &stats) == 0);
	host_check(stats.entries == 0 && stats.unwatched == 0);
	for (int i = 0; i < THREADS; i++)
		reader_close(&readers[i]);
	host_check(weft_destroy_mr_cache(cache) == 0);
	host_close(&a);
	host_close(&b);
	return 0;
}
