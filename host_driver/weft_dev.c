/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices: discovery, attachment, mapping of the BAR, detachment, limits.
 *
 * The simulator enters through weft_chan.h. Calls the channel (weft_cmd.c), weft_event.c for the
 * asynchronous event queue, and the *_free() functions of every kind of object when a context is
 * closed.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host_driver/weft_cm.h"
#include "host_driver/weft_eq.h"
#include "host_driver/weft_maps.h"
#include "host_driver/weft_mem.h"
#include "host_driver/weft_priv.h"

const char *weft_version(void)
{
	return WEFT_VERSION;
}

static const char *run_dir(void)
{
	const char *dir = secure_getenv("WEFT_RUN_DIR");

	return dir && *dir ? dir : HW_SOCKET_DIR;
}

/*
 * Returns true if a server listens, or if access is denied. A killed weftd leaves its socket file,
 * so the test connects; weftd sees a client that leaves at once.
 */
static bool listens(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct stat st;
	bool yes;
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path) || stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	memcpy(sun.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return true;
	yes = connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0 || errno == EAGAIN ||
	      errno == EACCES;
	close(fd);
	return yes;
}

/* Sorts weft2 before weft10. */
static int compare_devices(const void *a, const void *b)
{
	return strverscmp(((const struct weft_device *)a)->name,
			  ((const struct weft_device *)b)->name);
}

int weft_get_device_list(struct weft_device **list)
{
	struct weft_device *devices = NULL, *grown, dev;
	struct dirent *entry;
	DIR *dir;
	int count = 0;

	*list = NULL;
	dir = opendir(run_dir());
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir))) {
		memset(&dev, 0, sizeof(dev));
		/*
		 * NIC names contain no dot. A name with one may be a memif socket, which uses
		 * another protocol.
		 */
		if (strchr(entry->d_name, '.') || strlen(entry->d_name) >= sizeof(dev.name))
			continue;
		strcpy(dev.name, entry->d_name);
		if (snprintf(dev.path, sizeof(dev.path), "%s/%s", run_dir(), dev.name) >=
			(int)sizeof(dev.path) ||
		    !listens(dev.path))
			continue;
		grown = reallocarray(devices, (size_t)count + 1, sizeof(*devices));
		if (!grown) {
			free(devices);
			closedir(dir);
			return -ENOMEM;
		}
		devices = grown;
		devices[count++] = dev;
	}
	closedir(dir);
	if (count > 0)
		qsort(devices, (size_t)count, sizeof(*devices), compare_devices);
	*list = devices;
	return count;
}

void weft_free_device_list(struct weft_device *list)
{
	free(list);
}

/* Resolves a name, a path or NULL to a socket. Returns 0 or a negative errno. */
static int resolve(const char *name, struct weft_device *dev)
{
	struct weft_device *list;
	int n;

	memset(dev, 0, sizeof(*dev));
	if (!name || !*name)
		name = secure_getenv("WEFT_DEVICE");
	if (!name || !*name) {
		n = weft_get_device_list(&list);
		if (n <= 0)
			return n < 0 ? n : -ENODEV;
		*dev = list[0];
		weft_free_device_list(list);
		return 0;
	}
	if (strchr(name, '/')) {
		if (snprintf(dev->path, sizeof(dev->path), "%s", name) >= (int)sizeof(dev->path))
			return -ENAMETOOLONG;
		name = strrchr(name, '/') + 1;
	} else if (snprintf(dev->path, sizeof(dev->path), "%s/%s", run_dir(), name) >=
		   (int)sizeof(dev->path)) {
		return -ENAMETOOLONG;
	}
	return snprintf(dev->name, sizeof(dev->name), "%s", name) < (int)sizeof(dev->name)
		   ? 0
		   : -ENAMETOOLONG;
}

/*
 * Sets the shard flags for a program that names no shard: WEFT_SHARD selects one, for programs
 * whose peers must be in the same shard (XRC domains). Returns 0 or a negative errno.
 */
static int shard_flags(int shard, uint32_t *flags)
{
	const char *env = secure_getenv("WEFT_SHARD");
	unsigned long number = (unsigned long)shard;
	char *end;

	if (shard < 0) {
		if (!env || !*env)
			return 0;
		errno = 0;
		number = strtoul(env, &end, 10);
		if (errno || *end || *env < '0' || *env > '9')
			return -EINVAL;
	}
	if (number > HW_ATTACH_SHARD_MASK >> HW_ATTACH_SHARD_SHIFT)
		return -ENXIO;
	*flags |= HW_ATTACH_F_SHARD | (uint32_t)number << HW_ATTACH_SHARD_SHIFT;
	return 0;
}

static struct weft_context *open_name(const char *name, uint32_t attach_flags)
{
	const struct weft_chan_ops *ops;
	struct weft_device dev;
	void *chan;
	int rc;

	rc = resolve(name, &dev);
	if (rc == 0)
		rc = weft_chan_connect(dev.path, attach_flags & HW_ATTACH_F_TOOL, &ops, &chan);
	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	return weft_open_channel(ops, chan, dev.name, attach_flags);
}

struct weft_context *weft_open_device(const char *name)
{
	return weft_open_device_attr(name, NULL);
}

static_assert(WEFT_USE_LIBWEFT == (int)HW_USE_LIBWEFT && WEFT_USE_GOAL == (int)HW_USE_GOAL &&
		  WEFT_USE_GOAL <= HW_ATTACH_USE_MASK >> HW_ATTACH_USE_SHIFT,
	      "");
/* The interface above verbs, if there is one. */
static atomic_int verbs_use = WEFT_USE_VERBS;

void weft_dev_set_use(enum weft_use use)
{
	atomic_store(&verbs_use, (int)use);
}

struct weft_context *weft_open_device_attr(const char *name, const struct weft_open_attr *attr)
{
	uint32_t use = attr ? (uint32_t)attr->use : WEFT_USE_LIBWEFT;
	uint32_t flags;
	int rc = 0;

	if (use == WEFT_USE_VERBS)
		use = (uint32_t)atomic_load(&verbs_use);
	if (use > WEFT_USE_GOAL) {
		errno = EINVAL;
		return NULL;
	}
	flags = use << HW_ATTACH_USE_SHIFT;

	if (attr && attr->collectives)
		flags |= HW_ATTACH_F_COLL;
	/* Shards for collectives are selected separately; WEFT_SHARD does not apply to them. */
	if (!attr || !attr->collectives || attr->shard >= 0)
		rc = shard_flags(attr ? attr->shard : -1, &flags);
	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	return open_name(name, flags);
}

struct weft_context *weft_open_tool(const char *name)
{
	return open_name(name, HW_ATTACH_F_TOOL);
}

static struct weft_ctx *ctx_new(const struct weft_chan_ops *ops, void *chan, const char *name,
				uint32_t attach_flags)
{
	struct weft_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	snprintf(ctx->pub.name, sizeof(ctx->pub.name), "%s", name);
	ctx->pub.async_fd = -1;
	ctx->attach_flags = attach_flags;
	ctx->tool = attach_flags & HW_ATTACH_F_TOOL;
	ctx->ops = ops;
	ctx->chan = chan;
	ctx->hangup_fd = ops->hangup_fd ? ops->hangup_fd(chan) : -1;
	ctx->async_eq.event_fd = -1;
	ctx->async_eq.wait_fd = -1;
	weft_mutex_init(&ctx->lock);
	weft_ring_init(ctx);
	pthread_mutex_init(&ctx->ack_lock, NULL);
	pthread_cond_init(&ctx->ack_cond, NULL);
	weft_link_init(&ctx->pd_list);
	weft_link_init(&ctx->xrcd_list);
	weft_link_init(&ctx->mr_list);
	weft_link_init(&ctx->cache_list);
	weft_link_init(&ctx->mw_list);
	weft_link_init(&ctx->ah_list);
	weft_link_init(&ctx->channel_list);
	weft_link_init(&ctx->cq_list);
	weft_link_init(&ctx->srq_list);
	weft_link_init(&ctx->qp_list);
	weft_link_init(&ctx->node);
	return ctx;
}

static int map_bar(struct weft_ctx *ctx, const struct hw_resp_attach *attach, int fd)
{
	if (attach->bar_bytes < HW_BAR_DYNAMIC || attach->bar_bytes % HW_BAR_PAGE_BYTES)
		return -EPROTO;
	if (ctx->ops->map_bar) {
		ctx->bar = ctx->ops->map_bar(ctx->chan, fd, attach->bar_bytes);
		if (!ctx->bar)
			return -errno;
	} else {
		ctx->bar = mmap(NULL, attach->bar_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (ctx->bar == MAP_FAILED) {
			ctx->bar = NULL;
			return -errno;
		}
	}
	ctx->bar_bytes = attach->bar_bytes;
	return 0;
}

/* Seals the BAR and hands it to the NIC. */
static int start(struct weft_ctx *ctx, struct hw_resp_attach *attach)
{
	struct hw_cmd cmd = {.op = HW_CMD_START};
	const struct hw_bar_header *header = ctx->bar;
	struct hw_cmd_resp resp;
	int rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);

	if (rc < 0)
		return rc;
	*attach = resp.u.attach;
	if (attach->bar_bytes != ctx->bar_bytes)
		return -EPROTO;
	if (header->magic != HW_BAR_MAGIC || header->version != HW_BAR_VERSION)
		return -EPROTO;
	ctx->db_ring = (uint32_t *)(void *)((char *)ctx->bar + HW_BAR_DB_RING);
	return 0;
}

/*
 * Sends ATTACH with a descriptor of this process's memory, through which weftd accesses memory that
 * it cannot map. The descriptor has the process's own rights. If it cannot be opened
 * (PR_SET_DUMPABLE 0 without root, no /proc), only mapped memory works.
 */
static int attach_memory(struct weft_ctx *ctx, struct hw_cmd *cmd, struct hw_cmd_resp *resp,
			 int *fds)
{
	int cancel = weft_cancel_off();
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	int rc = -EPERM;

	if (fd >= 0) {
		cmd->u.attach.flags |= HW_ATTACH_F_MEMORY;
		rc = weft_ctx_command(ctx, cmd, fd, resp, fds);
		cmd->u.attach.flags &= ~(uint32_t)HW_ATTACH_F_MEMORY;
		close(fd);
	}
	weft_cancel_restore(cancel);
	return rc;
}

static int attach_command(struct weft_ctx *ctx, struct hw_cmd_resp *resp, int *fds)
{
	struct hw_cmd cmd = {.op = HW_CMD_ATTACH};
	int rc = -EPERM;

	cmd.u.attach.version = HW_CMD_VERSION;
	cmd.u.attach.flags = ctx->attach_flags;
	snprintf(cmd.u.attach.name, sizeof(cmd.u.attach.name), "%s", program_invocation_short_name);
	if (!ctx->tool && !(ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD))
		rc = attach_memory(ctx, &cmd, resp, fds);
	/* EPERM: weftd cannot identify the memory's owner. EINVAL: weftd predates this flag. */
	if (rc == -EPERM || rc == -EINVAL)
		rc = weft_ctx_command(ctx, &cmd, -1, resp, fds);
	if (rc == -EINVAL && cmd.u.attach.flags & HW_ATTACH_USE_MASK) {
		/* weftd predates the interface, which only weftctl shows. */
		cmd.u.attach.flags &= ~(uint32_t)HW_ATTACH_USE_MASK;
		rc = weft_ctx_command(ctx, &cmd, -1, resp, fds);
	}
	if (rc == -EINVAL && cmd.u.attach.flags == HW_ATTACH_F_COLL) {
		/* weftd predates this flag. It has no such shards and still expects ATTACH. */
		cmd.u.attach.flags = 0;
		rc = weft_ctx_command(ctx, &cmd, -1, resp, fds);
	}
	return rc;
}

/* The descriptors are ours from here on. */
static void take_doorbells(struct weft_ctx *ctx, const struct hw_resp_attach *resp, const int *fds)
{
	uint32_t n = resp->num_doorbells;

	for (uint32_t i = 0; i < HW_DOORBELLS_MAX; i++) {
		int fd = i ? fds[WEFT_CHAN_DOORBELLS + i] : fds[1];

		if (fd < 0)
			continue;
		if (i < n) {
			ctx->doorbell_cpu[ctx->num_doorbells] = resp->doorbell_cpu[i];
			ctx->doorbell_fd[ctx->num_doorbells++] = fd;
		} else {
			close(fd);
		}
	}
}

/* Performs ATTACH, maps the BAR, then START, EQ 0 and QUERY_DEVICE. */
static int attach(struct weft_ctx *ctx)
{
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_DEVICE};
	struct hw_cmd_resp resp;
	int fds[WEFT_CHAN_FDS];
	uint64_t eq_offset;
	int rc;

	rc = attach_command(ctx, &resp, fds);
	if (rc < 0)
		return rc;
	if (!ctx->tool) {
		take_doorbells(ctx, &resp.u.attach, fds);
		rc = map_bar(ctx, &resp.u.attach, fds[0]);
		if (rc == 0)
			rc = start(ctx, &resp.u.attach);
		eq_offset = (uint64_t)resp.u.attach.eq0_offset_pages * HW_BAR_PAGE_BYTES;
		if (rc == 0)
			rc = weft_eq_init(ctx, &ctx->async_eq, 0, resp.u.attach.eq0_entries,
					  eq_offset, eq_offset + sizeof(struct hw_eq_record),
					  fds[2]);
		else if (fds[2] >= 0)
			close(fds[2]);
		ctx->pub.async_fd = ctx->async_eq.wait_fd;
		/* The mapping keeps the BAR alive. */
		if (fds[0] >= 0)
			close(fds[0]);
	}
	/* A tool gets none. */
	for (int i = 0; ctx->tool && i < WEFT_CHAN_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	if (rc < 0)
		return rc;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	ctx->device = resp.u.device;
	return rc;
}

/* Releases the NIC and the resources of the context, except for the objects' memory. */
static void ctx_release(struct weft_ctx *ctx)
{
	if (ctx->async_eq.ring)
		weft_eq_destroy(&ctx->async_eq);
	ctx->ops->close(ctx->chan);
	if (ctx->bar && !ctx->ops->map_bar)
		munmap(ctx->bar, ctx->bar_bytes);
	weft_ctx_close_doorbells(ctx);
	weft_ring_end(ctx);
	weft_table_free(&ctx->qps);
	weft_table_free(&ctx->cqs);
	weft_table_free(&ctx->srqs);
	pthread_mutex_destroy(&ctx->lock);
	pthread_mutex_destroy(&ctx->ack_lock);
	pthread_cond_destroy(&ctx->ack_cond);
	free(ctx);
}

struct weft_context *weft_open_channel(const struct weft_chan_ops *ops, void *chan,
				       const char *name, uint32_t attach_flags)
{
	struct weft_ctx *ctx = ctx_new(ops, chan, name, attach_flags);
	int rc;

	if (!ctx) {
		ops->close(chan);
		errno = ENOMEM;
		return NULL;
	}
	rc = weft_fork_init();
	if (rc == 0)
		rc = attach(ctx);
	if (rc < 0) {
		ctx_release(ctx);
		errno = -rc;
		return NULL;
	}
	weft_global_lock();
	weft_link_add(&weft_global.contexts, &ctx->node);
	weft_global_unlock();
	return &ctx->pub;
}

#define FREE_LIST(head, type, free_fn)                                                             \
	while ((head)->next != (head))                                                             \
	free_fn(weft_container_of((head)->next, type, node))

static void pd_free(struct weft_pd_obj *pd)
{
	weft_link_del(&pd->node);
	free(pd);
}

static void mw_free(struct weft_mw_obj *mw)
{
	weft_link_del(&mw->node);
	free(mw);
}

static void ah_free(struct weft_ah_obj *ah)
{
	weft_link_del(&ah->node);
	free(ah);
}

void weft_close_device(struct weft_context *context)
{
	struct weft_ctx *ctx;
	pid_t server;

	if (!context)
		return;
	ctx = weft_ctx_of(context);
	/*
	 * In a child of fork the descriptors are already closed. Memory is not freed, because a
	 * thread that does not exist here may have been changing the lists.
	 */
	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return;
	server = weft_mem_server(ctx);
	weft_global_lock();
	weft_link_del(&ctx->node);
	weft_global_unlock();
	weft_mr_caches_close(ctx);
	FREE_LIST(&ctx->qp_list, struct weft_qp_obj, weft_qp_free);
	FREE_LIST(&ctx->cq_list, struct weft_cq_obj, weft_cq_free);
	FREE_LIST(&ctx->srq_list, struct weft_srq_obj, weft_srq_free);
	FREE_LIST(&ctx->channel_list, struct weft_channel_obj, weft_channel_free);
	FREE_LIST(&ctx->mr_list, struct weft_mr_obj, weft_mr_free);
	FREE_LIST(&ctx->mw_list, struct weft_mw_obj, mw_free);
	FREE_LIST(&ctx->ah_list, struct weft_ah_obj, ah_free);
	FREE_LIST(&ctx->xrcd_list, struct weft_xrcd_obj, weft_xrcd_free);
	FREE_LIST(&ctx->pd_list, struct weft_pd_obj, pd_free);
	ctx_release(ctx);
	weft_global_lock();
	weft_mem_closed(server);
	if (weft_global.contexts.next == &weft_global.contexts)
		weft_maps_close();
	weft_global_unlock();
}

int weft_query_device(struct weft_context *context, struct weft_device_attr *attr)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	const struct hw_resp_device *d = &ctx->device;

	weft_ctx_look(ctx, true);
	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		return -EIO;
	memset(attr, 0, sizeof(*attr));
	memcpy(attr->name, d->name, sizeof(attr->name));
	attr->name[sizeof(attr->name) - 1] = '\0';
	attr->node_guid = d->node_guid;
	attr->max_qp = d->max_qp;
	attr->max_cq = d->max_cq;
	attr->max_srq = d->max_srq;
	attr->max_mr = d->max_mr;
	attr->max_pd = d->max_pd;
	attr->max_ah = d->max_ah;
	attr->max_mw = d->max_mw;
	attr->max_wr = d->max_wr;
	attr->max_cqe = d->max_cqe;
	attr->max_sge = d->max_sge;
	attr->max_inline_bytes = d->max_inline_bytes;
	attr->max_rd_atomic = d->max_rd_atomic;
	attr->max_ud_bytes = d->max_ud_payload_bytes;
	attr->max_ud_long_bytes = d->max_ud_long_bytes;
	attr->num_vectors = d->num_vectors;
	attr->max_peers = d->max_peers;
	attr->shard = d->shard;
	attr->num_shards = d->num_shards;
	attr->max_mcast_grp = d->max_mcast_grp;
	attr->max_mcast_qp_attach = d->max_mcast_qp_attach;
	attr->max_total_mcast_qp_attach = d->max_total_mcast_qp_attach;
	attr->num_coll_shards = d->num_coll_shards;
	attr->max_msg_bytes = d->max_msg_bytes;
	attr->max_mr_bytes = d->max_mr_bytes;
	return 0;
}

int weft_query_port(struct weft_context *context, struct weft_port_attr *attr)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_DEVICE};
	struct hw_cmd_resp resp;
	int rc;

	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc < 0)
		return rc;
	memset(attr, 0, sizeof(*attr));
	attr->link_up = resp.u.device.link_up != 0;
	attr->ip_prefix = resp.u.device.ip_prefix;
	memcpy(attr->mac, resp.u.device.mac, sizeof(attr->mac));
	attr->ip = resp.u.device.ip;
	attr->mtu_bytes = resp.u.device.mtu;
	attr->link_mbps = resp.u.device.link_mbps;
	return 0;
}
