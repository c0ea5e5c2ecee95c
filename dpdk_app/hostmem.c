/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings of processes' memory and the SIGBUS handler. The registry is an array that the
 * handler can read at any moment: an entry's base is stored last when it is made, cleared first
 * when it goes.
 *
 * Called by client.c and client_cmd.c on the control thread; calls the kernel.
 */
#include "dpdk_app/hostmem.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpdk_app/client.h"

enum {
	HOSTMEM_MAX_MAPPINGS = 1 << 20, /* of all processes; address space only */
	HOSTMEM_NONE = UINT32_MAX,
};

struct hostmem_slot {
	_Atomic(uintptr_t) base; /* 0: free */
	uintptr_t start;         /* base and the offset within the page */
	size_t bytes;
	size_t page_bytes;
	struct client *owner;
	uint32_t next_free;
};

static struct hostmem_slot *hostmem_slots;
static _Atomic(uint32_t) hostmem_num_slots;
static uint32_t hostmem_free_head = HOSTMEM_NONE;
static void *hostmem_by_start; /* tree of struct hostmem_slot */
static int hostmem_control_fd = -1;

/*
 * Replaces the page that could not be had by an empty one of our own, so that the access
 * goes on, and leaves it to the control thread to end the process.
 */
static void hostmem_on_sigbus(int signo, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	uint32_t n = atomic_load_explicit(&hostmem_num_slots, memory_order_acquire);
	const uint64_t one = 1;
	const void *page;

	(void)context;
	for (uint32_t i = 0; i < n; i++) {
		struct hostmem_slot *slot = &hostmem_slots[i];
		uintptr_t base = atomic_load_explicit(&slot->base, memory_order_acquire);

		if (!base || at < base || at - base >= slot->bytes)
			continue;
		/* From base on: of pages that are larger than its alignment, too. */
		at -= (at - base) % slot->page_bytes;
		page = mmap((void *)at, slot->page_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (page == MAP_FAILED)
			break;
		atomic_store_explicit(&slot->owner->dead, true, memory_order_relaxed);
		if (write(hostmem_control_fd, &one, sizeof(one)) < 0)
			return; /* the control thread is awake already */
		return;
	}
	/* Not memory of a process: our own mistake, and the core dump should show it. */
	signal(signo, SIG_DFL);
}

int hostmem_init(int control_fd)
{
	struct sigaction action = {.sa_sigaction = hostmem_on_sigbus, .sa_flags = SA_SIGINFO};

	hostmem_control_fd = control_fd;
	hostmem_slots =
	    mmap(NULL, sizeof(*hostmem_slots) * HOSTMEM_MAX_MAPPINGS, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (hostmem_slots == MAP_FAILED)
		return -errno;
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

int hostmem_create(const char *name, uint64_t bytes, int *fd)
{
	int err;

	if (!bytes || bytes > INT64_MAX)
		return -EINVAL;
	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	if (!ftruncate(*fd, (off_t)bytes) &&
	    !fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return 0;
	err = -errno;
	close(*fd);
	*fd = -1;
	return err;
}

int hostmem_check(int fd, uint64_t offset, uint64_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0)
		return -EINVAL;
	if (!(seals & F_SEAL_SHRINK))
		return -EPERM;
	if (fstat(fd, &st))
		return -errno;
	/* Sealed first, measured then: it cannot become smaller any more. */
	if (!bytes || st.st_size < 0 || bytes > (uint64_t)st.st_size ||
	    offset > (uint64_t)st.st_size - bytes)
		return -EINVAL;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	uintptr_t x = ((const struct hostmem_slot *)a)->start;
	uintptr_t y = ((const struct hostmem_slot *)b)->start;

	return (x > y) - (x < y);
}

static struct hostmem_slot *slot_take(void)
{
	uint32_t n = atomic_load_explicit(&hostmem_num_slots, memory_order_relaxed);
	struct hostmem_slot *slot;

	if (hostmem_free_head != HOSTMEM_NONE) {
		slot = &hostmem_slots[hostmem_free_head];
		hostmem_free_head = slot->next_free;
		return slot;
	}
	if (n == HOSTMEM_MAX_MAPPINGS)
		return NULL;
	atomic_store_explicit(&hostmem_num_slots, n + 1, memory_order_release);
	return &hostmem_slots[n];
}

static void slot_give(struct hostmem_slot *slot)
{
	slot->next_free = hostmem_free_head;
	hostmem_free_head = (uint32_t)(slot - hostmem_slots);
}

int hostmem_map(struct client *owner, int fd, uint64_t offset, uint64_t bytes, bool write,
		void **start)
{
	struct hostmem_slot *slot = slot_take();
	struct stat st;
	uint64_t skip;
	void *base;
	int err;

	if (!slot)
		return -ENOMEM;
	if (fstat(fd, &st)) {
		slot_give(slot);
		return -errno;
	}
	/* The block size of a memfd is the size of its pages, huge ones included. */
	slot->page_bytes = st.st_blksize > 0 ? (size_t)st.st_blksize : 4096;
	skip = offset % slot->page_bytes;
	slot->bytes = (bytes + skip + slot->page_bytes - 1) / slot->page_bytes * slot->page_bytes;
	base = mmap(NULL, slot->bytes, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, fd,
		    (off_t)(offset - skip));
	if (base == MAP_FAILED) {
		err = -errno;
		slot_give(slot);
		return err;
	}
	slot->owner = owner;
	slot->start = (uintptr_t)base + skip;
	if (!tsearch(slot, &hostmem_by_start, by_start)) {
		munmap(base, slot->bytes);
		slot_give(slot);
		return -ENOMEM;
	}
	atomic_store_explicit(&slot->base, (uintptr_t)base, memory_order_release);
	*start = (void *)slot->start;
	return 0;
}

void hostmem_unmap(void *start)
{
	const struct hostmem_slot key = {.start = (uintptr_t)start};
	struct hostmem_slot **found = tfind(&key, &hostmem_by_start, by_start);
	struct hostmem_slot *slot;
	uintptr_t base;

	if (!found)
		return;
	slot = *found;
	tdelete(slot, &hostmem_by_start, by_start);
	base = atomic_exchange(&slot->base, 0);
	munmap((void *)base, slot->bytes);
	slot_give(slot);
}
