/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of shared extents. Calls weft_maps.c and, for memfds, the channel (ALLOC_MEM,
 * FREE_MEM). docs/host-interface.md, "Memory", has the rules.
 *
 * Once a part of an extent is registered, weftd seals its memfd: no new writable mapping of it can
 * be created. The only exception is a copy of an existing mapping, which mremap(2) creates when the
 * old size is 0. An extent that may grow therefore has an anchor, one page of it that stays mapped.
 * The anchor is inaccessible and not watched by a userfaultfd, because copies would be watched as
 * well.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"

enum {
	WEFT_EXTENTS_MAX = 4096,
	/* Extents without a region are collected beyond this number or size. */
	WEFT_IDLE_EXTENTS = 8,
	WEFT_IDLE_BYTES = 32 << 20,
};

static uint64_t page_bytes(void)
{
	static uint64_t bytes;

	if (!bytes)
		bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

/* Each extent uses a descriptor; most descriptors are left to the process. */
static bool too_many_extents(void)
{
	uint64_t max = WEFT_EXTENTS_MAX, count = 0;
	const struct weft_link *pos;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < max)
		max = limit.rlim_cur / 4;
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next)
		count++;
	return count >= max;
}

int weft_mem_new(struct weft_ctx *ctx, uint64_t bytes, uint64_t slack_bytes,
		 struct weft_extent **out)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_MEM};
	struct weft_extent *extent;
	struct hw_cmd_resp resp;
	int fds[WEFT_CHAN_FDS];
	struct stat st;
	int rc;

	if (ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD || too_many_extents())
		return -EOPNOTSUPP;
	extent = calloc(1, sizeof(*extent));
	if (!extent)
		return -ENOMEM;
	cmd.u.alloc_mem.bytes = bytes;
	cmd.u.alloc_mem.slack_bytes = slack_bytes;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, fds);
	if (rc < 0 && slack_bytes) {
		cmd.u.alloc_mem.slack_bytes = 0;
		rc = weft_ctx_command(ctx, &cmd, -1, &resp, fds);
	}
	if (rc == 0 && (fds[0] < 0 || fstat(fds[0], &st) < 0 || (uint64_t)st.st_size < bytes)) {
		if (fds[0] >= 0)
			close(fds[0]);
		rc = -EPROTO;
	}
	if (rc < 0) {
		free(extent);
		return rc;
	}
	extent->fd = fds[0];
	extent->dev_major = major(st.st_dev);
	extent->dev_minor = minor(st.st_dev);
	extent->inode = st.st_ino;
	extent->key = resp.u.alloc_mem.key;
	extent->bytes = bytes;
	if (cmd.u.alloc_mem.slack_bytes)
		extent->anchor = mmap(NULL, page_bytes(), PROT_NONE, MAP_SHARED, extent->fd, 0);
	/* Without the anchor the extent cannot grow. */
	if (extent->anchor == MAP_FAILED)
		extent->anchor = NULL;
	extent->server = weft_mem_server(ctx);
	extent->refs = 1;
	weft_link_init(&extent->pieces);
	weft_link_add(&weft_global.extents, &extent->node);
	*out = extent;
	return 0;
}

pid_t weft_mem_server(const struct weft_ctx *ctx)
{
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);

	(void)getsockopt(ctx->hangup_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
	return peer.pid;
}

void weft_mem_closed(pid_t server)
{
	struct weft_extent *extent;
	struct weft_link *pos;

	for (pos = weft_global.contexts.next; pos != &weft_global.contexts; pos = pos->next) {
		if (weft_mem_server(weft_container_of(pos, struct weft_ctx, node)) == server)
			return;
	}
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next) {
		extent = weft_container_of(pos, struct weft_extent, node);
		extent->dead = extent->dead || extent->server == server;
	}
}

struct weft_extent *weft_mem_of_vma(const struct weft_vma *vma)
{
	struct weft_link *pos;
	struct weft_extent *e;

	if (!vma->inode || !vma->shared)
		return NULL;
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next) {
		e = weft_container_of(pos, struct weft_extent, node);
		if (e->inode == vma->inode && e->dev_major == vma->dev_major &&
		    e->dev_minor == vma->dev_minor)
			return vma->start == (uintptr_t)e->anchor ? NULL : e;
	}
	return NULL;
}

/*
 * Makes weftd release the memory too. The extent's own connection may be closed; any connection to
 * the same weftd works.
 */
static void give_back(const struct weft_extent *extent)
{
	struct hw_cmd cmd = {.op = HW_CMD_FREE_MEM, .u.free_mem.key = extent->key};
	struct hw_cmd_resp resp;
	struct weft_link *pos;
	struct weft_ctx *ctx;

	for (pos = weft_global.contexts.next; pos != &weft_global.contexts; pos = pos->next) {
		ctx = weft_container_of(pos, struct weft_ctx, node);
		if (!ctx->tool && !(ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD) &&
		    weft_ctx_command(ctx, &cmd, -1, &resp, NULL) == 0)
			return;
	}
}

void weft_mem_forked(struct weft_extent *extent)
{
	if (extent->anchor)
		munmap(extent->anchor, page_bytes());
	extent->anchor = NULL;
}

static bool mark_seen(const struct weft_vma *vma, void *arg)
{
	struct weft_extent *e = weft_mem_of_vma(vma);

	(void)arg;
	if (e)
		e->seen = true;
	return true;
}

void weft_mem_collect(void)
{
	struct weft_link *pos, *next;
	struct weft_extent *e;

	/* No extents: avoid reading a possibly long list of mappings. */
	if (weft_global.extents.next == &weft_global.extents)
		return;
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next)
		weft_container_of(pos, struct weft_extent, node)->seen = false;
	if (weft_maps_walk_shared(0, mark_seen, NULL) < 0)
		return;
	weft_global.idle_extents = 0;
	weft_global.idle_bytes = 0;
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = next) {
		next = pos->next;
		e = weft_container_of(pos, struct weft_extent, node);
		if (e->refs || e->seen)
			continue;
		weft_link_del(&e->node);
		if (e->anchor)
			munmap(e->anchor, page_bytes());
		close(e->fd);
		give_back(e);
		free(e);
	}
}

void weft_mem_hold(struct weft_extent *extent)
{
	extent->refs++;
}

void weft_mem_drop(struct weft_extent *extent)
{
	if (--extent->refs)
		return;
	/* The memory stays shared for the next registration; the heap's extent stays for good. */
	if (extent->heap)
		return;
	weft_global.idle_extents++;
	weft_global.idle_bytes += extent->bytes;
	if (weft_global.idle_extents >= WEFT_IDLE_EXTENTS ||
	    weft_global.idle_bytes >= WEFT_IDLE_BYTES)
		weft_mem_collect();
}

void weft_mem_detach(struct weft_mem_pieces *pieces)
{
	for (uint32_t i = 0; pieces && i < pieces->count; i++) {
		weft_link_del(&pieces->piece[i].node);
		weft_mem_drop(pieces->piece[i].extent);
	}
	free(pieces);
}
