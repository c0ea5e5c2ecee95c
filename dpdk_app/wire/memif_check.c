/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of the objects that a memif client announces: memory, rings, eventfds. Calls the kernel;
 * memfd seals: fcntl(2), F_GET_SEALS.
 */
#include "dpdk_app/wire/memif_check.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

const char *memif_check_ring(const struct memif_region *region, uint32_t num_regions,
			     const struct memif_add_ring *ring)
{
	const struct memif_ring_shared *at;
	uint32_t cookie;

	if (ring->index)
		return "ring index: one ring in each direction";
	if (!ring->log2_slots || ring->log2_slots > MEMIF_MAX_LOG2)
		return "size of the ring";
	if (ring->region >= num_regions)
		return "region of the ring";
	if (ring->offset % MEMIF_RING_ALIGN)
		return "alignment of the ring";
	if (ring->offset + memif_ring_bytes(ring->log2_slots) > region[ring->region].bytes)
		return "ring beyond its region";
	at = (const void *)(region[ring->region].base + ring->offset);
	cookie = __atomic_load_n(&at->cookie, __ATOMIC_RELAXED);
	return cookie == MEMIF_COOKIE ? NULL : "cookie of the ring";
}

const char *memif_check_region(int fd, const struct memif_add_region *add, uint32_t num_regions,
			       uint64_t used_bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (num_regions == MEMIF_MAX_REGIONS || add->index != num_regions)
		return "index of the region";
	/* Checked first: only memory files have seals. */
	if (seals < 0)
		return "the region is not a memfd";
	if (!(seals & F_SEAL_SHRINK))
		return "the region is not sealed against shrinking (F_SEAL_SHRINK)";
	/* A punched hole in huge pages may not be refillable. */
	if (fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return "the region is not of ordinary pages";
	/* The size is read after the seal was verified, so it cannot shrink any more. */
	if (fstat(fd, &st) || st.st_size <= 0)
		return "size of the region";
	if (!add->bytes || add->bytes > (uint64_t)st.st_size)
		return "the region is smaller than announced";
	if (add->bytes > MEMIF_MAX_BYTES || used_bytes > MEMIF_MAX_BYTES - add->bytes)
		return "the regions are larger than 256 MiB";
	return NULL;
}

bool memif_check_eventfd(int fd)
{
	static const char kind[] = "anon_inode:[eventfd]";
	char path[32], name[sizeof(kind)];
	int flags = fcntl(fd, F_GETFL);
	ssize_t n;

	if (flags < 0 || flags & O_PATH)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* This name comes from the kernel: names of files begin with a slash. */
	n = readlink(path, name, sizeof(name));
	return n == (ssize_t)sizeof(kind) - 1 && !memcmp(name, kind, sizeof(kind) - 1);
}
