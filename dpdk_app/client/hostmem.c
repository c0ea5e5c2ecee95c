/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings of memory that weftd shares with processes, and the SIGBUS handler. The registry is an
 * array that the handler can read at any time: an entry's base is stored last on creation and
 * cleared first on removal. Calls the kernel: memfd_create(2), fcntl(2) F_ADD_SEALS, mremap(2),
 * mlock2(2), mincore(2), madvise(2).
 */
#include "dpdk_app/client/hostmem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "dpdk_app/client/unmap.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif

enum {
	HOSTMEM_SLOTS = 1 << 20, /* address space only */
	HOSTMEM_NONE = UINT32_MAX,
	HOSTMEM_DEFAULT_MAX = 65530, /* vm.max_map_count if it cannot be read */
	HOSTMEM_LOOK_PAGES = 256,    /* pages per mincore(2) call */
	HOSTMEM_SPARE_PAGES = 256,
};
/* Memory locking is used only if weftd may lock at least this much, the length of a BAR. */
#define HOSTMEM_LOCK_PROBE_BYTES (UINT64_C(1) << 30)

struct hostmem {
	_Atomic(uintptr_t) base; /* 0: unused */
	size_t bytes;            /* whole pages */
	uint32_t mappings;       /* upper bound of the kernel's mappings */
	_Atomic(bool) failed;
	uint32_t next_free;
};

static struct hostmem *hostmem_slots;
static _Atomic(uint32_t) hostmem_num_slots;
static uint32_t hostmem_free_head = HOSTMEM_NONE;
static uint32_t hostmem_mappings, hostmem_max_mappings;
static _Atomic(bool) hostmem_new_failure;
static bool hostmem_locks;
static int hostmem_control_fd = -1;
static int hostmem_spare_fd = -1; /* HOSTMEM_SPARE_PAGES populated pages */
static _Atomic(uint32_t) hostmem_spares_used;

/*
 * Maps an empty private page at an address. If the kernel accounts memory strictly and has none
 * left (vm.overcommit_memory 2), which is likely when pages are missing, it maps one of the spare
 * pages created at the start. Clients that need a second round of them share pages with others that
 * are also about to be ended.
 */
static bool put_page(void *at)
{
	uint32_t spare;
	void *page;

	page = mmap(at, HOSTMEM_PAGE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (page != MAP_FAILED)
		return true;
	spare = atomic_fetch_add_explicit(&hostmem_spares_used, 1, memory_order_relaxed) %
		HOSTMEM_SPARE_PAGES;
	page = mmap(at, HOSTMEM_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    hostmem_spare_fd, (off_t)spare * HOSTMEM_PAGE_BYTES);
	if (page == MAP_FAILED)
		return false;
	memset(at, 0, HOSTMEM_PAGE_BYTES);
	return true;
}

/*
 * Replaces the missing page by an empty private one so that the access continues. The control
 * thread then ends the processes that use the mapping.
 */
static void hostmem_on_sigbus(int signo, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	uint32_t n = atomic_load_explicit(&hostmem_num_slots, memory_order_acquire);
	const uint64_t one = 1;

	(void)context;
	for (uint32_t i = 0; i < n; i++) {
		struct hostmem *map = &hostmem_slots[i];
		uintptr_t base = atomic_load_explicit(&map->base, memory_order_acquire);

		if (!base || at < base || at - base >= map->bytes)
			continue;
		at -= at % HOSTMEM_PAGE_BYTES;
		if (!put_page((void *)at))
			break;
		atomic_store_explicit(&map->failed, true, memory_order_relaxed);
		atomic_store_explicit(&hostmem_new_failure, true, memory_order_release);
		if (write(hostmem_control_fd, &one, sizeof(one)) < 0)
			return; /* the control thread is already awake */
		return;
	}
	/* Not a process's memory: a bug of weftd, which the core dump should show. */
	signal(signo, SIG_DFL);
}

static uint32_t max_map_count(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned int count = HOSTMEM_DEFAULT_MAX;

	if (file) {
		if (fscanf(file, "%u", &count) != 1)
			count = HOSTMEM_DEFAULT_MAX;
		fclose(file);
	}
	return count;
}

/*
 * Returns true if pages can be locked, so that they are not swapped out. Needs CAP_IPC_LOCK or
 * RLIMIT_MEMLOCK.
 */
static bool may_lock(void)
{
	void *probe = mmap(NULL, HOSTMEM_LOCK_PROBE_BYTES, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool may;

	if (probe == MAP_FAILED)
		return false;
	may = !mlock2(probe, HOSTMEM_LOCK_PROBE_BYTES, MLOCK_ONFAULT);
	munmap(probe, HOSTMEM_LOCK_PROBE_BYTES);
	return may;
}

static int make_spares(void)
{
	const uint64_t bytes = (uint64_t)HOSTMEM_SPARE_PAGES * HOSTMEM_PAGE_BYTES;

	hostmem_spare_fd = memfd_create("weftd-spare", MFD_CLOEXEC);
	if (hostmem_spare_fd < 0)
		return -errno;
	return fallocate(hostmem_spare_fd, 0, 0, (off_t)bytes) ? -errno : 0;
}

int hostmem_init(int control_fd)
{
	struct sigaction action = {.sa_sigaction = hostmem_on_sigbus, .sa_flags = SA_SIGINFO};
	uint32_t maps = max_map_count();
	int err = make_spares();

	if (err)
		return err;
	hostmem_control_fd = control_fd;
	/* One eighth is reserved for weftd itself and for mappings split by failed pages. */
	hostmem_max_mappings = maps - maps / 8;
	hostmem_locks = may_lock();
	if (!hostmem_locks)
		log_info("memory of processes is not locked: cores wait for swapped pages; give "
			 "weftd CAP_IPC_LOCK or LimitMEMLOCK=infinity");
	hostmem_slots = mmap(NULL, sizeof(*hostmem_slots) * HOSTMEM_SLOTS, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (hostmem_slots == MAP_FAILED) {
		err = -errno;
		log_error("no address space for the list of mappings: %s; raise `ulimit -v`",
			  strerror(-err));
		return err;
	}
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
	if (!ftruncate(*fd, (off_t)bytes) && !fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return 0;
	err = -errno;
	close(*fd);
	*fd = -1;
	return err;
}

int hostmem_seal(int fd)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	int err, seals;

	if (!fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return 0;
	err = errno;
	/* A concurrent registration, or the process itself, has already sealed it. */
	seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && (seals & wanted) == wanted ? 0 : -err;
}

static struct hostmem *slot_take(void)
{
	uint32_t n = atomic_load_explicit(&hostmem_num_slots, memory_order_relaxed);
	struct hostmem *map;

	if (hostmem_free_head != HOSTMEM_NONE) {
		map = &hostmem_slots[hostmem_free_head];
		hostmem_free_head = map->next_free;
		return map;
	}
	if (n == HOSTMEM_SLOTS)
		return NULL;
	atomic_store_explicit(&hostmem_num_slots, n + 1, memory_order_release);
	return &hostmem_slots[n];
}

static void slot_give(struct hostmem *map)
{
	map->next_free = hostmem_free_head;
	hostmem_free_head = (uint32_t)(map - hostmem_slots);
}

/* fd -1: address space only. populate: the pages are mapped now and are not locked. */
static int map_new(int fd, uint64_t bytes, uint32_t mappings, bool populate, struct hostmem **out)
{
	struct hostmem *map;
	void *base;
	int err;

	if (!bytes || bytes > INT64_MAX - HOSTMEM_PAGE_BYTES)
		return -EINVAL;
	if (mappings > hostmem_max_mappings - hostmem_mappings)
		return -ENOSPC;
	map = slot_take();
	if (!map)
		return -ENOSPC;
	map->bytes = (bytes + HOSTMEM_PAGE_BYTES - 1) & ~(uint64_t)(HOSTMEM_PAGE_BYTES - 1);
	map->mappings = mappings;
	atomic_store_explicit(&map->failed, false, memory_order_relaxed);
	if (fd >= 0)
		base = mmap(NULL, map->bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | (populate ? MAP_POPULATE : 0), fd, 0);
	else
		base = mmap(NULL, map->bytes, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) {
		err = -errno;
		slot_give(map);
		return err;
	}
	/*
	 * The right to lock was tested at the start. If locking fails nevertheless, pages can be
	 * swapped out.
	 */
	if (fd >= 0 && hostmem_locks && !populate)
		(void)mlock2(base, map->bytes, MLOCK_ONFAULT);
	hostmem_mappings += mappings;
	atomic_store_explicit(&map->base, (uintptr_t)base, memory_order_release);
	*out = map;
	return 0;
}

int hostmem_map(int fd, uint64_t bytes, struct hostmem **map)
{
	return map_new(fd, bytes, 1, false, map);
}

int hostmem_map_foreign(int fd, uint64_t bytes, struct hostmem **map)
{
	return map_new(fd, bytes, 1, true, map);
}

int hostmem_reserve(uint64_t bytes, uint32_t pieces, struct hostmem **map)
{
	return map_new(-1, bytes, pieces, false, map);
}

int hostmem_place(struct hostmem *map, uint64_t at, const struct hostmem *from, uint64_t offset,
		  uint64_t bytes)
{
	uint8_t *source = hostmem_start(from), *to = hostmem_start(map) + at, *copy;

	if (offset % HOSTMEM_PAGE_BYTES || bytes % HOSTMEM_PAGE_BYTES || at % HOSTMEM_PAGE_BYTES ||
	    !bytes || at > map->bytes || bytes > map->bytes - at || offset > INT64_MAX - bytes)
		return -EINVAL;
	if (offset < from->bytes) {
		copy = mremap(source + offset, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
		return copy == MAP_FAILED ? -errno : 0;
	}
	/*
	 * A copy may be longer than its source mapping, so copy from the start and unmap the
	 * excess.
	 */
	copy = mremap(source, 0, offset + bytes, MREMAP_MAYMOVE);
	if (copy == MAP_FAILED)
		return -errno;
	if (mremap(copy + offset, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) {
		munmap(copy, offset + bytes);
		return -ENOMEM;
	}
	munmap(copy, offset);
	return 0;
}

void hostmem_unmap(struct hostmem *map)
{
	uintptr_t base = atomic_exchange(&map->base, 0);

	unmap((void *)base, map->bytes);
	hostmem_mappings -= map->mappings;
	slot_give(map);
}

uint8_t *hostmem_start(const struct hostmem *map)
{
	return (uint8_t *)atomic_load_explicit(&map->base, memory_order_relaxed);
}

bool hostmem_failed(const struct hostmem *map)
{
	return atomic_load_explicit(&map->failed, memory_order_relaxed);
}

bool hostmem_any_failed(void)
{
	return atomic_load_explicit(&hostmem_new_failure, memory_order_relaxed) &&
	       atomic_exchange_explicit(&hostmem_new_failure, false, memory_order_acquire);
}

/* Returns true if all pages are present; populating absent pages would charge them to weftd. */
static bool are_there(uint8_t *start, uint64_t pages)
{
	unsigned char there[HOSTMEM_LOOK_PAGES];

	if (mincore(start, pages * HOSTMEM_PAGE_BYTES, there))
		return false;
	for (uint64_t i = 0; i < pages; i++) {
		if (!(there[i] & 1))
			return false;
	}
	return true;
}

int hostmem_populate(void *start, uint64_t bytes)
{
	uint64_t pages = bytes / HOSTMEM_PAGE_BYTES;
	uint8_t *at = start;
	int rc;

	while (pages) {
		uint64_t n = pages < HOSTMEM_LOOK_PAGES ? pages : HOSTMEM_LOOK_PAGES;

		if (!are_there(at, n))
			return -ENOMEM;
		do {
			rc = madvise(at, n * HOSTMEM_PAGE_BYTES, MADV_POPULATE_WRITE);
		} while (rc && errno == EINTR);
		if (rc)
			return -ENOMEM;
		at += n * HOSTMEM_PAGE_BYTES;
		pages -= n;
	}
	return 0;
}

void hostmem_make(void *start, uint64_t bytes)
{
	/* On failure the pages are populated, or the failure detected, on first access. */
	(void)madvise(start, bytes, MADV_POPULATE_WRITE);
}

bool hostmem_locks_pages(void)
{
	return hostmem_locks;
}

uint32_t hostmem_count(void)
{
	return hostmem_mappings;
}

uint32_t hostmem_max(void)
{
	return hostmem_max_mappings;
}
