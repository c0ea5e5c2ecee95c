/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that removes pages from under the NIC, as fast as it can.
 *
 * punch SOCKET SECONDS, e.g. /run/weft/weft0 10: a process of libweft has PUNCH_BYTES (environment;
 * 2 GiB) of memory registered and writes into it by RDMA to itself all the time, so that the core
 * touches it. A second thread punches holes into the memory and into the unused half of the BAR:
 * fallocate(2), madvise(2) MADV_REMOVE, ftruncate(2), pwrite(2). A core that faults on a page of a
 * hole in progress waits until the hole is complete. The program prints "attacking" when it has
 * begun. Exit status 1: the kernel allowed one of these calls. SECONDS 0: until each was tried
 * once.
 *
 * punch SOCKET regions COUNT: registers up to COUNT regions of a page, prints their number and
 * "registered", and waits to be killed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/clock.h"
#include "lib/prng.h"
#include "tests/int/host.h"

enum {
	PAGE = 4096,
	WINDOW = 16,
};

static struct host_end end;
static atomic_bool over;
static uint64_t tried, succeeded, writes;

/* A memfd of weftd as the process has it. */
struct target {
	uint8_t *start;
	uint64_t bytes;
	uint64_t offset; /* offset of start in the file */
	int fd;          /* descriptor of the same file; -1: none is open */
};

/* Finds the longest mapping of memfd:NAME. */
static struct target find(const char *name)
{
	struct target target = {.fd = -1};
	unsigned long start, stop, offset, inode = 0, number;
	char line[512], mark[64];
	struct stat st;
	FILE *maps = fopen("/proc/self/maps", "re");

	host_check(maps);
	snprintf(mark, sizeof(mark), "/memfd:%s ", name);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, mark) ||
		    sscanf(line, "%lx-%lx rw-s %lx %*s %lu", &start, &stop, &offset, &number) != 4)
			continue;
		if (stop - start > target.bytes) {
			target.start = (uint8_t *)start;
			target.bytes = stop - start;
			target.offset = offset;
			inode = number;
		}
	}
	fclose(maps);
	host_check(target.start);
	for (int fd = 3; fd < 256 && target.fd < 0; fd++) {
		if (fstat(fd, &st) == 0 && st.st_ino == inode)
			target.fd = fd;
	}
	return target;
}

static void count(bool ok)
{
	tried++;
	succeeded += ok;
}

/* Tries all ways on a part of the target. */
static void punch(const struct target *target, uint64_t at, uint64_t bytes)
{
	const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	off_t offset = (off_t)(target->offset + at);

	count(madvise(target->start + at, bytes, MADV_REMOVE) == 0);
	if (target->fd < 0)
		return;
	count(fallocate(target->fd, hole, offset, (off_t)bytes) == 0);
	count(fallocate(target->fd, FALLOC_FL_ZERO_RANGE, offset, (off_t)bytes) == 0);
	count(ftruncate(target->fd, PAGE) == 0);
	count(pwrite(target->fd, "x", 1, offset) == 1);
}

static void *attack(void *seconds)
{
	struct target mem = find("weft-mem"), bar = find("weft-bar");
	uint64_t end_ms = clock_now_ms() + 1000 * *(uint64_t *)seconds;

	do {
		punch(&mem, 0, mem.bytes);
		punch(&bar, bar.bytes / 2, bar.bytes / 2);
		/* Fills the pages again, so that there is something to punch. */
		for (uint64_t at = 0; at < mem.bytes && succeeded; at += PAGE)
			mem.start[at] = 1;
	} while (clock_now_ms() < end_ms);
	atomic_store(&over, true);
	return NULL;
}

/* Writes to page after page of the memory, until the attack is over. */
static void write_about(void)
{
	struct weft_cq *cq = weft_create_cq(end.ctx, 4 * WINDOW, NULL, NULL);
	struct weft_qp *qp;
	struct weft_wc wc[WINDOW];
	uint64_t seed = 1, under_way = 0;

	host_check(cq);
	qp = host_qp(&end, WEFT_QPT_RD, cq, NULL, 2 * WINDOW);
	while (!atomic_load(&over) || under_way) {
		int n = weft_poll_cq(cq, WINDOW, wc);

		host_check(n >= 0);
		for (int i = 0; i < n; i++)
			host_check(wc[i].status == WEFT_WC_SUCCESS);
		under_way -= (uint64_t)n;
		writes += (uint64_t)n;
		while (under_way < WINDOW && !atomic_load(&over)) {
			uint64_t to = prng_next(&seed) % (end.bytes / PAGE) * PAGE;
			struct weft_sge sge = {(uint64_t)(uintptr_t)end.mem, 64, end.mr->lkey};
			struct weft_send_wr wr = {
			    .opcode = WEFT_WR_WRITE,
			    .flags = WEFT_SEND_SIGNALED,
			    .sg_list = &sge,
			    .num_sge = 1,
			    .remote_addr = (uint64_t)(uintptr_t)end.mem + to,
			    .rkey = end.mr->rkey,
			    .ah = end.ah,
			    .dst_qpn = qp->qpn,
			    .qkey = HOST_QKEY,
			};

			host_check(weft_post_send(qp, &wr, NULL) == 0);
			under_way++;
		}
	}
	host_check(weft_destroy_qp(qp) == 0 && weft_destroy_cq(cq) == 0);
}

static int run_punch(const char *nic, uint64_t seconds)
{
	const char *env = getenv("PUNCH_BYTES");
	uint64_t bytes = env ? strtoull(env, NULL, 0) : UINT64_C(2) << 30;
	pthread_t thread;

	host_check(bytes >= PAGE);
	host_open(&end, nic, bytes);
	host_check(end.mr->mapped);
	host_check(pthread_create(&thread, NULL, attack, &seconds) == 0);
	printf("attacking\n");
	fflush(stdout);
	write_about();
	pthread_join(thread, NULL);
	printf("tried %lu, succeeded %lu; %lu writes\n", (unsigned long)tried,
	       (unsigned long)succeeded, (unsigned long)writes);
	host_close(&end);
	return succeeded ? 1 : 0;
}

static int run_regions(const char *nic, uint64_t wanted)
{
	uint64_t n = 0;

	host_open(&end, nic, wanted * PAGE);
	host_check(end.mr->mapped);
	while (n < wanted) {
		struct weft_mr *mr =
		    weft_reg_mr(end.pd, end.mem + n * PAGE, PAGE, WEFT_ACCESS_LOCAL_WRITE);

		if (!mr)
			break;
		host_check(mr->mapped);
		n++;
	}
	printf("%lu\nregistered\n", (unsigned long)n);
	fflush(stdout);
	return pause();
}

int main(int argc, char **argv)
{
	char *slash = argc > 1 ? strrchr(argv[1], '/') : NULL;

	if (!slash || argc != (argc > 2 && strcmp(argv[2], "regions") == 0 ? 4 : 3)) {
		fprintf(stderr, "punch: say SOCKET SECONDS, or SOCKET regions COUNT\n");
		return 2;
	}
	*slash = '\0';
	setenv("WEFT_RUN_DIR", argv[1], 1);
	if (argc == 4)
		return run_regions(slash + 1, strtoull(argv[3], NULL, 0));
	return run_punch(slash + 1, strtoull(argv[2], NULL, 0));
}
