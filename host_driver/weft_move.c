/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves pages of the process onto shared pages in place, without stopping other threads.
 *
 * Steps per chunk: userfaultfd write-protects the pages, so that writers wait; the content is
 * copied through a second mapping of the shared pages, the window; mremap(2) moves that mapping
 * into place; the writers are woken and continue in the new pages (userfaultfd(2),
 * ioctl_userfaultfd(2)).
 *
 * Between protecting and mapping this thread must not write to the pages itself. It calls no
 * function that could take a lock or allocate, only raw system calls. Without the privilege to
 * handle kernel faults (UFFD_USER_MODE_ONLY), a system call of another thread that writes to such a
 * page would fail instead of wait. In that case pages are moved only while the process is
 * single-threaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"
#include "host_driver/weft_watch.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum {
	/* Chunk size: a writer waits for at most one chunk. */
	WEFT_MOVE_CHUNK_BYTES = 4 << 20,
	WEFT_MOVE_PAGE_BYTES = 4096, /* granularity of the search for empty pages */
};

static bool single_threaded(void)
{
	struct stat st;

	/*
	 * The link count is the number of subdirectories (one per thread) plus 2 for "." and "..".
	 * libweft's own threads write only to their stacks.
	 */
	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3 + weft_watch_threads();
}

static int open_uffd(uint64_t features, int flags)
{
	struct uffdio_api api = {.api = UFFD_API, .features = features};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api) < 0) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/*
 * *unpopulated: absent pages are protected too. Otherwise they must be populated first, and a page
 * that the process discards at that moment is not protected (Linux before 6.4).
 */
static int get_uffd(bool *unpopulated)
{
	const uint64_t all = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_UNPOPULATED |
			     UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
	int flags = 0, fd;

	fd = open_uffd(all, flags);
	if (fd == -EPERM) {
		if (!single_threaded())
			return -EPERM;
		flags = UFFD_USER_MODE_ONLY;
		fd = open_uffd(all, flags);
	}
	*unpopulated = fd >= 0;
	if (fd == -EINVAL)
		fd = open_uffd(UFFD_FEATURE_PAGEFAULT_FLAG_WP, flags);
	return fd;
}

/*
 * Marks functions that run while pages are protected. AddressSanitizer would keep their variables
 * in heap memory, possibly in the same pages, and would report reads of memory that it has poisoned
 * there.
 */
#define WEFT_PLAIN __attribute__((no_sanitize_address, no_sanitize_thread))

typedef uint64_t weft_any_u64 __attribute__((may_alias));

WEFT_PLAIN static bool is_zero(uint64_t page)
{
	const weft_any_u64 *word = (const weft_any_u64 *)(uintptr_t)page;
	uint64_t any = 0;

	for (unsigned i = 0; i < WEFT_MOVE_PAGE_BYTES / sizeof(*word); i += 8) {
		for (unsigned k = 0; k < 8; k++)
			any |= word[i + k];
		if (any)
			return false;
	}
	return true;
}

/* volatile keeps the compiler from emitting memcpy(), which AddressSanitizer replaces. */
WEFT_PLAIN static void copy_page(uint8_t *to, uint64_t page)
{
	const weft_any_u64 *from = (const weft_any_u64 *)(uintptr_t)page;
	volatile weft_any_u64 *word = (volatile weft_any_u64 *)(void *)to;

	for (unsigned i = 0; i < WEFT_MOVE_PAGE_BYTES / sizeof(*from); i++)
		word[i] = from[i];
}

/* Copies into the window; zero: the window is empty, so pages of zeros are skipped. */
WEFT_PLAIN static void copy_out(uint8_t *window, bool zero, uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end; at += WEFT_MOVE_PAGE_BYTES) {
		if (!zero || !is_zero(at))
			copy_page(window + (at - start), at);
	}
}

/* Moves one chunk. On failure returns false and leaves it unchanged. */
WEFT_PLAIN static bool move_chunk(int uffd, uint8_t *window, bool zero, uint64_t start,
				  uint64_t end)
{
	struct uffdio_writeprotect protect = {
	    .range = {.start = start, .len = end - start},
	    .mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	struct uffdio_range range = {.start = start, .len = end - start};
	bool moved;
	int rc;

	do {
		rc = ioctl(uffd, UFFDIO_WRITEPROTECT, &protect);
	} while (rc < 0 && errno == EAGAIN);
	if (rc < 0)
		return false;
	copy_out(window, zero, start, end);
	moved = syscall(SYS_mremap, window, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED,
			start) == (long)start;
	if (!moved) {
		protect.mode = 0;
		do {
			rc = ioctl(uffd, UFFDIO_WRITEPROTECT, &protect);
		} while (rc < 0 && errno == EAGAIN);
	}
	/* Writers that waited on the old pages fault again and find the new ones. */
	(void)ioctl(uffd, UFFDIO_WAKE, &range);
	return moved;
}

WEFT_PLAIN static uint64_t move_range(int uffd, uint8_t *window, bool zero, uint64_t start,
				      uint64_t end)
{
	uint64_t at, to;

	for (at = start; at < end; at = to) {
		to = end - at > WEFT_MOVE_CHUNK_BYTES ? at + WEFT_MOVE_CHUNK_BYTES : end;
		if (!move_chunk(uffd, window + (at - start), zero, at, to))
			break;
	}
	return at - start;
}

WEFT_PLAIN uint64_t weft_move_pages(uint8_t *window, bool zero, uint64_t start, uint64_t end)
{
	struct uffdio_register reg = {
	    .range = {.start = start, .len = end - start},
	    .mode = UFFDIO_REGISTER_MODE_WP,
	};
	sigset_t all, before;
	uint64_t moved = 0;
	bool unpopulated;
	int uffd;

	uffd = get_uffd(&unpopulated);
	if (uffd < 0)
		return 0;
	/* A signal handler in this thread could write to the pages and wait for good. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (ioctl(uffd, UFFDIO_REGISTER, &reg) == 0 &&
	    (unpopulated ||
	     madvise((void *)(uintptr_t)start, end - start, MADV_POPULATE_READ) == 0))
		moved = move_range(uffd, window, zero, start, end);
	/* Closing removes the remaining protection and wakes all waiting threads. */
	close(uffd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return moved;
}
