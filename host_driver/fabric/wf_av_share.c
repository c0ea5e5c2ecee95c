/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named address vectors: the process that opens one without FI_READ owns it and publishes addresses
 * in shared memory; others of the same user open it with FI_READ. fi_av_open(3), "Shared AVs".
 */
#include "host_driver/fabric/fi_weft.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x7765667461763031)

/*
 * The memory: this head, then the fi_addr_t of each place, then their addresses. Pages are used as
 * places are.
 */
struct wf_share_head {
	_Atomic uint64_t magic; /* set last */
	uint64_t max;
	_Atomic uint64_t count;
};

static fi_addr_t *map_of(const struct wf_av_share *share)
{
	return (fi_addr_t *)(share->head + 1);
}

static struct wf_addr *addrs_of(const struct wf_av_share *share)
{
	return (struct wf_addr *)(map_of(share) + share->max);
}

static size_t bytes_of(size_t max)
{
	return sizeof(struct wf_share_head) + max * (sizeof(fi_addr_t) + sizeof(struct wf_addr));
}

/* Makes the name of the memory; only processes of the user can open it. */
static int make_name(const char *name, char *path, size_t size)
{
	int n = snprintf(path, size, "/weft-av.%u.%s", (unsigned int)getuid(), name);

	if (n < 0 || (size_t)n >= size)
		return -FI_EINVAL;
	for (path++; *path; path++) {
		if (*path == '/')
			*path = '_';
	}
	return 0;
}

/* Opens the memory and sizes it (owner) or checks it. A descriptor, or a negative errno. */
static int open_memory(struct wf_av_share *share, size_t max)
{
	struct stat st;
	int fd, error;

	if (share->owner) {
		/* A name that an owner which was killed has left is taken over. */
		shm_unlink(share->name);
		fd = shm_open(share->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		share->bytes = bytes_of(max);
		if (ftruncate(fd, (off_t)share->bytes) == 0)
			return fd;
		error = errno;
		shm_unlink(share->name);
	} else {
		fd = shm_open(share->name, O_RDONLY | O_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		error = EINVAL;
		if (fstat(fd, &st) == 0 && st.st_uid == getuid() &&
		    (size_t)st.st_size == bytes_of(max)) {
			share->bytes = (size_t)st.st_size;
			return fd;
		}
	}
	close(fd);
	return -error;
}

int wf_av_share_open(const char *name, bool owner, size_t max, struct wf_av_share **out)
{
	struct wf_av_share *share = calloc(1, sizeof(*share));
	int fd, rc;

	if (!share)
		return -FI_ENOMEM;
	share->owner = owner;
	share->max = max;
	rc = make_name(name, share->name, sizeof(share->name));
	fd = rc ? rc : open_memory(share, max);
	if (fd < 0) {
		free(share);
		return fd;
	}
	share->head =
	    mmap(NULL, share->bytes, owner ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	rc = (void *)share->head == MAP_FAILED ? -errno : 0;
	close(fd);
	if (rc) {
		if (owner)
			shm_unlink(share->name);
		free(share);
		return rc;
	}
	if (owner) {
		share->head->max = max;
		atomic_store_explicit(&share->head->magic, MAGIC, memory_order_release);
	} else if (atomic_load_explicit(&share->head->magic, memory_order_acquire) != MAGIC ||
		   share->head->max != max) {
		wf_av_share_close(share);
		return -FI_EINVAL;
	}
	*out = share;
	return 0;
}

void wf_av_share_close(struct wf_av_share *share)
{
	munmap(share->head, share->bytes);
	if (share->owner)
		shm_unlink(share->name);
	free(share);
}

int wf_av_share_put(struct wf_av_share *share, size_t index, struct wf_addr addr)
{
	if (index >= share->max)
		return -FI_ENOMEM;
	map_of(share)[index] = index;
	addrs_of(share)[index] = addr;
	if (index >= atomic_load(&share->head->count))
		atomic_store_explicit(&share->head->count, index + 1, memory_order_release);
	return 0;
}

size_t wf_av_share_count(const struct wf_av_share *share)
{
	size_t count = atomic_load_explicit(&share->head->count, memory_order_acquire);

	return count < share->max ? count : share->max;
}

struct wf_addr wf_av_share_get(const struct wf_av_share *share, size_t index)
{
	return addrs_of(share)[index];
}

void *wf_av_share_map(const struct wf_av_share *share)
{
	return map_of(share);
}
