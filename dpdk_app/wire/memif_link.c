/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory and descriptors of a memif connection: a client creates them, a server adopts them if
 * memif_check.h accepts them. Calls hostmem.c and the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dpdk_app/client/fd_drop.h"
#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/wire/memif.h"

struct memif_link *memif_link_new(const struct memif_conf *conf)
{
	struct memif_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->server = conf->server;
	link->buffer_bytes = conf->buffer_bytes;
	link->frame_bytes = conf->frame_bytes;
	link->rx.fd = link->tx.fd = -1;
	return link;
}

void memif_link_free(struct memif_link *link)
{
	if (!link)
		return;
	for (uint32_t i = 0; i < link->num_regions; i++)
		hostmem_unmap(link->region[i].map);
	if (link->rx.fd >= 0)
		close(link->rx.fd);
	if (link->tx.fd >= 0)
		close(link->tx.fd);
	free(link);
}

/* Populated here, so that the core does not incur the page faults. */
static int link_map(struct memif_link *link, int fd, uint64_t bytes)
{
	struct hostmem *map;
	int err = hostmem_map_foreign(fd, bytes, &map);

	if (err)
		return err;
	link->region[link->num_regions++] =
	    (struct memif_region){.base = hostmem_start(map), .bytes = bytes, .map = map};
	return 0;
}

int memif_link_make(struct memif_link *link, uint32_t log2_slots, int *fd)
{
	uint64_t bytes = memif_ring_region_bytes(log2_slots, link->buffer_bytes);
	int err = hostmem_create("memif", bytes, fd);

	if (err)
		return err;
	err = link_map(link, *fd, bytes);
	link->rx.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	link->tx.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!err && (link->rx.fd < 0 || link->tx.fd < 0))
		err = -errno;
	if (err) {
		close(*fd);
		*fd = -1;
		return err;
	}
	memif_ring_format(link, log2_slots);
	return 0;
}

static uint64_t link_bytes(const struct memif_link *link)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < link->num_regions; i++)
		bytes += link->region[i].bytes;
	return bytes;
}

const char *memif_link_region(struct memif_link *link, const struct memif_add_region *add, int fd)
{
	const char *wrong = "the region has no descriptor";

	if (fd >= 0)
		wrong = memif_check_region(fd, add, link->num_regions, link_bytes(link));
	if (!wrong && link_map(link, fd, add->bytes))
		wrong = "the region cannot be mapped for writing";
	fd_drop(fd);
	return wrong;
}

const char *memif_link_ring(struct memif_link *link, const struct memif_add_ring *add, int fd)
{
	struct memif_ring *ring = add->flags & MEMIF_RING_S2M ? &link->rx : &link->tx;
	const char *wrong = NULL;

	if (!memif_check_eventfd(fd))
		wrong = "the ring has no eventfd";
	else if (ring->shared)
		wrong = "a second ring in one direction";
	else
		wrong = memif_check_ring(link->region, link->num_regions, add);
	if (wrong) {
		fd_drop(fd);
		return wrong;
	}
	ring->shared = (void *)(link->region[add->region].base + add->offset);
	ring->slots = UINT32_C(1) << add->log2_slots;
	ring->next = 0;
	ring->fd = fd;
	return NULL;
}
