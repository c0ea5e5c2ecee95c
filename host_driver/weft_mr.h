/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: protection domains, memory regions and their cache, memory windows. A part of weft.h,
 * whose conventions apply.
 *
 * docs/memory.md compares the ways to memory.
 */
#ifndef WEFT_WEFT_MR_H
#define WEFT_WEFT_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/weft_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------- protection domains, memory */

struct weft_pd {
	struct weft_context *context;
	uint32_t handle;
	void *user;
};

/* Allocates a protection domain. Objects of different domains cannot be used together. */
WEFT_API struct weft_pd *weft_alloc_pd(struct weft_context *context);
/*
 * Frees a protection domain. -EBUSY while a memory region, queue pair or other object of it exists.
 */
WEFT_API WEFT_CHECK_RET int weft_dealloc_pd(struct weft_pd *pd);

/* Access rights: the bits of enum ibv_access_flags. Local read is always granted. */
enum weft_access {
	WEFT_ACCESS_LOCAL_WRITE = 1 << 0,
	WEFT_ACCESS_REMOTE_WRITE = 1 << 1,
	WEFT_ACCESS_REMOTE_READ = 1 << 2,
	WEFT_ACCESS_REMOTE_ATOMIC = 1 << 3,
	WEFT_ACCESS_MW_BIND = 1 << 4,
	WEFT_ACCESS_ZERO_BASED = 1 << 5, /* remote addresses start at 0 */
};

struct weft_mr {
	struct weft_context *context;
	struct weft_pd *pd;
	void *addr;
	size_t bytes;
	uint32_t lkey; /* lkey, rkey and STag are the same number */
	uint32_t rkey;
	bool mapped; /* by the NIC; otherwise each access is a system call of weftd */
	void *user;
};

/*
 * Registers memory of any kind: malloc, mmap, stack, static data, files; read-only memory if access
 * requests no write. Private anonymous memory, including the brk heap but not stacks, is moved onto
 * shared pages where the kernel allows it (WEFT_MEM). Its address and content stay the same, and
 * other threads may write to it meanwhile. mr->mapped is then true and transfers are a memcpy, as
 * for memory of weft_alloc(). All other memory works too, at about 1 us per access. The memory must
 * stay mapped until weft_dereg_mr(); requests that access unmapped memory fail. errno: EINVAL bytes
 * is 0, the address range wraps, remote write or atomic without local write, or an unknown access
 * bit; EFAULT the memory is not mapped or not writable as requested; EDQUOT quota exceeded. For
 * memory that the NIC cannot map: EPERM the process may not open its own /proc/self/mem
 * (PR_SET_DUMPABLE 0), EOPNOTSUPP weftd runs with --unmapped off.
 */
WEFT_API struct weft_mr *weft_reg_mr(struct weft_pd *pd, void *addr, size_t bytes, int access);

/* As weft_reg_mr(). iova is the address of the first byte in work requests and for peers. */
WEFT_API struct weft_mr *weft_reg_mr_iova(struct weft_pd *pd, void *addr, size_t bytes,
					  uint64_t iova, int access);

/*
 * Ends a registration. Blocks until no frame refers to the memory. -EBUSY while a memory window is
 * bound to it; -EINVAL: the region belongs to a cache.
 */
WEFT_API WEFT_CHECK_RET int weft_dereg_mr(struct weft_mr *mr);

/*
 * Changes the access rights of a region, and its protection domain unless pd is NULL. Keys and
 * addresses stay. On failure nothing changes. Returns 0; -EBUSY: a memory window is bound to it;
 * -EINVAL: as for weft_reg_mr(), or WEFT_ACCESS_ZERO_BASED differs, or the region belongs to a
 * cache; -EFAULT: not writable as requested.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_mr(struct weft_mr *mr, struct weft_pd *pd, int access);

/*
 * Allocates memory that the NIC maps and that registration need not move: at least bytes long,
 * page-aligned, zero-filled. Free it with weft_free() and the same length, after deregistration.
 * Every context of the process can use it. If the NIC provides no memory, the result is ordinary
 * memory. Equals weft_alloc_attr() with shared_min_bytes 1.
 */
WEFT_API void *weft_alloc(struct weft_context *context, size_t bytes);
WEFT_API void weft_free(void *addr, size_t bytes);

/* A field of 0 selects its default. */
struct weft_alloc_attr {
	size_t alignment;        /* a power of two up to 4 MiB; default: a page */
	size_t shared_min_bytes; /* smaller requests get plain memory; default 4 KiB */
	/*
	 * Requests from this size on get a mapping and a descriptor of their own; smaller ones
	 * share extents. Default and maximum: 256 KiB.
	 */
	size_t own_min_bytes;
	bool must_be_shared; /* mapped by the NIC whatever its size, or errno ENOMEM */
};

/*
 * Allocates zero-filled memory with the given attributes (NULL: defaults). Small requests get plain
 * memory, as do all if the NIC provides none. Free it with weft_free(). errno EINVAL: bytes is 0,
 * or an invalid alignment.
 */
WEFT_API void *weft_alloc_attr(struct weft_context *context, size_t bytes,
			       const struct weft_alloc_attr *attr);

/* ------------------------------------------------------------- registration cache */

/*
 * Registration costs system calls and a round trip to weftd, so layers that register their users'
 * buffers for one transfer keep the regions for the next one. A cache does this and ensures that no
 * region outlives its memory. Memory that is unmapped, mapped over, moved by mremap() or discarded
 * by madvise(MADV_DONTNEED), also by free(), is withdrawn from the NIC before the call returns. A
 * peer that then uses its rkey gets REM_ACCESS_ERR.
 *
 * The cache uses userfaultfd(2) and a thread of the library. The thread that unmaps waits for it
 * (some tens of microseconds; longer while weftd is stopped). Regions of memory that cannot be
 * watched (file mappings, MAP_SHARED | MAP_ANONYMOUS before Linux 5.19, no userfaultfd, under
 * valgrind) end when they are released: weft_mr_cache_stats.unwatched.
 */
struct weft_mr_cache {
	struct weft_pd *pd;
	void *user;
};

enum weft_mr_cache_policy {
	/* Regions are kept until max_entries is reached or the NIC has no room for a new one. */
	WEFT_MR_CACHE_LAZY = 0,
	WEFT_MR_CACHE_LRU = 1, /* in addition, regions are limited to max_bytes */
	/* Regions are shared by concurrent users; the last release ends them. */
	WEFT_MR_CACHE_IMMEDIATE = 2,
	WEFT_MR_CACHE_OFF = 3, /* every call registers */
};

/* The environment variable WEFT_MR_CACHE (lazy, lru, immediate, off) overrides policy. */
struct weft_mr_cache_attr {
	enum weft_mr_cache_policy policy;
	int access; /* granted in each registration, in addition to the rights of the call */
	uint32_t max_entries; /* 0: 1024. The least recently released region is evicted first */
	/* WEFT_MR_CACHE_LRU: limit of idle and used regions together; 0: none. */
	uint64_t max_bytes;
	/*
	 * Registers exactly the requested bytes. Otherwise whole pages are registered, so that
	 * neighbouring buffers hit the same region; a peer with the rkey can then access other data
	 * in the first and the last page.
	 */
	bool exact;
	/*
	 * Keeps only regions that the NIC maps. Private pages under another region cannot be moved
	 * to where the NIC maps them as long as it exists.
	 */
	bool mapped_only;
};

struct weft_mr_cache_stats {
	uint64_t hits;
	uint64_t misses;        /* registrations */
	uint64_t evictions;     /* idle regions that were evicted */
	uint64_t invalidations; /* regions withdrawn because their memory was unmapped */
	uint64_t unwatched;     /* registrations that could not be kept */
	uint64_t entries;       /* existing regions */
	uint64_t in_use;        /* regions in use */
	uint64_t bytes;         /* size of the existing regions */
};

/*
 * Creates a cache. attr NULL: all fields 0. errno EINVAL: unknown policy, more than 1 Mi entries.
 */
WEFT_API struct weft_mr_cache *weft_create_mr_cache(struct weft_pd *pd,
						    const struct weft_mr_cache_attr *attr);
/* Destroys a cache and its idle regions. -EBUSY: regions are in use. */
WEFT_API WEFT_CHECK_RET int weft_destroy_mr_cache(struct weft_mr_cache *cache);

/*
 * Returns a region that covers the memory with at least these rights, at its own addresses. It may
 * be larger and grant more; concurrent calls may return the same region. The memory must stay
 * mapped until the region is released; otherwise the region is withdrawn and requests that use it
 * fail. errno as for weft_reg_mr(); EINVAL also with WEFT_ACCESS_MW_BIND and _ZERO_BASED.
 */
WEFT_API struct weft_mr *weft_reg_mr_cached(struct weft_mr_cache *cache, void *addr, size_t bytes,
					    int access);
/*
 * Returns true if the region was withdrawn because its memory was unmapped; it can only be
 * released. Always false for a region that is not watched.
 */
WEFT_API bool weft_mr_is_withdrawn(const struct weft_mr *mr);
/* Ends one use of a region from weft_reg_mr_cached(). No effect on other regions. */
WEFT_API void weft_release_mr(struct weft_mr *mr);

/* Deregisters all idle regions. */
WEFT_API WEFT_CHECK_RET int weft_flush_mr_cache(struct weft_mr_cache *cache);
WEFT_API WEFT_CHECK_RET int weft_query_mr_cache(struct weft_mr_cache *cache,
						struct weft_mr_cache_stats *stats);

struct weft_mw {
	struct weft_context *context;
	struct weft_pd *pd;
	uint32_t rkey;
	uint32_t type; /* 1 or 2 */
};

/* Allocates a memory window; bind it with WEFT_WR_BIND_MW. */
WEFT_API struct weft_mw *weft_alloc_mw(struct weft_pd *pd, uint32_t type);
WEFT_API WEFT_CHECK_RET int weft_dealloc_mw(struct weft_mw *mw);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_WEFT_MR_H */
