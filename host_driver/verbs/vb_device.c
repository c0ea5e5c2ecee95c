/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices and contexts: ibv_get_device_list(), ibv_open_device() and related verbs.
 *
 * Each NIC of a weftd is a device of type iWARP (RNIC). With WEFT_VERBS_TRANSPORT=ib, which
 * weft-run --transport sets, it appears as a RoCE device to programs that reject iWARP.
 * WEFT_VERBS_DEVICE restricts the list to one device. Calls host_driver/weft_dev.c through weft.h.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/verbs/vb.h"

#undef ibv_get_device_list

/* It holds a mutex, whose size is the machine's. */
static_assert(sizeof(struct verbs_context) == 608 + sizeof(pthread_mutex_t),
	      "rdma-core 44 on 64-bit machines");

/* Takes a reference. */
static struct vb_device *vb_device_get(struct vb_device *device)
{
	atomic_fetch_add(&device->refs, 1);
	return device;
}

void vb_device_put(struct vb_device *device)
{
	if (atomic_fetch_sub(&device->refs, 1) == 1)
		free(device);
}

static bool wants_ib(void)
{
	const char *transport = secure_getenv("WEFT_VERBS_TRANSPORT");

	return transport && strcmp(transport, "ib") == 0;
}

/* Queries the GUID from the NIC: programs read it before they open the device. */
static bool read_guid(struct vb_device *device)
{
	struct weft_context *tool = weft_open_tool(device->weft.path);
	struct weft_device_attr attr;
	bool ok;

	if (!tool)
		return false;
	ok = weft_query_device(tool, &attr) == 0;
	device->guid = ok ? attr.node_guid : 0;
	weft_close_device(tool);
	return ok;
}

static struct vb_device *device_new(const struct weft_device *weft, int index)
{
	struct vb_device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->weft = *weft;
	d->index = index;
	d->ibv.node_type = wants_ib() ? IBV_NODE_CA : IBV_NODE_RNIC;
	d->ibv.transport_type = wants_ib() ? IBV_TRANSPORT_IB : IBV_TRANSPORT_IWARP;
	snprintf(d->ibv.name, sizeof(d->ibv.name), "%s", weft->name);
	snprintf(d->ibv.dev_name, sizeof(d->ibv.dev_name), "uverbs%d", index);
	snprintf(d->ibv.dev_path, sizeof(d->ibv.dev_path), "/sys/class/infiniband_verbs/uverbs%d",
		 index);
	snprintf(d->ibv.ibdev_path, sizeof(d->ibv.ibdev_path), "/sys/class/infiniband/%s",
		 weft->name);
	atomic_init(&d->refs, 1);
	if (!read_guid(d)) {
		vb_device_put(d);
		return NULL;
	}
	return d;
}

static void list_free(struct ibv_device **list)
{
	for (struct ibv_device **d = list; d && *d; d++)
		vb_device_put(vb_device_of(*d));
	free(list);
}

/*
 * Returns an array that ends with NULL. Without a weftd it is empty, as on a machine without a
 * device.
 */
VB_API struct ibv_device **ibv_get_device_list(int *num_devices)
{
	const char *only = secure_getenv("WEFT_VERBS_DEVICE");
	struct ibv_device **list;
	struct weft_device *found;
	int n = weft_get_device_list(&found), count = 0;

	if (num_devices)
		*num_devices = 0;
	if (n < 0)
		return vb_null(-n);
	list = calloc((size_t)n + 1, sizeof(struct ibv_device *));
	for (int i = 0; list && i < n; i++) {
		struct vb_device *d;

		if (only && *only && strcmp(only, found[i].name) != 0)
			continue;
		d = device_new(&found[i], i);
		if (d)
			list[count++] = &d->ibv;
	}
	weft_free_device_list(found);
	if (!list)
		return vb_null(ENOMEM);
	if (num_devices)
		*num_devices = count;
	return list;
}

/* Open devices stay valid as long as their contexts. */
VB_API void ibv_free_device_list(struct ibv_device **list)
{
	list_free(list);
}

VB_API const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

VB_API __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return vb_device_of(device)->guid;
}

VB_API int ibv_get_device_index(struct ibv_device *device)
{
	return vb_device_of(device)->index;
}

struct ibv_context *vb_context_new(struct vb_device *device, struct weft_context *weft)
{
	struct vb_context *c = calloc(1, sizeof(*c));
	struct ibv_context *ibv;
	int rc;

	if (!c)
		return vb_null(ENOMEM);
	c->weft = weft;
	rc = weft_query_device(weft, &c->attr);
	if (rc < 0) {
		free(c);
		return vb_null(-rc);
	}
	c->device = vb_device_get(device);
	c->weft->user = c;
	c->verbs.sz = sizeof(c->verbs);
	ibv = &c->verbs.context;
	ibv->device = &device->ibv;
	ibv->cmd_fd = -1;
	ibv->async_fd = c->weft->async_fd;
	ibv->num_comp_vectors = (int)c->attr.num_vectors;
	ibv->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ibv->mutex, NULL);
	vb_query_ops(c);
	vb_mem_ops(c);
	vb_cq_ops(c);
	vb_qp_ops(c);
	vb_srq_ops(c);
	vb_xrc_ops(c);
	return ibv;
}

/* Opens the NIC; errno as set by weft_open_device(). */
VB_API struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct vb_device *d = vb_device_of(device);
	const struct weft_open_attr attr = {.shard = -1, .use = WEFT_USE_VERBS};
	struct weft_context *weft = weft_open_device_attr(d->weft.path, &attr);
	struct ibv_context *context = weft ? vb_context_new(d, weft) : NULL;

	if (weft && !context)
		weft_close_device(weft);
	return context;
}

VB_API int ibv_close_device(struct ibv_context *context)
{
	struct vb_context *c = vb_context_of(context);

	weft_close_device(c->weft);
	pthread_mutex_destroy(&context->mutex);
	vb_device_put(c->device);
	free(c);
	return 0;
}

/* libweft protects parents across fork() without a request. */
VB_API int ibv_fork_init(void)
{
	return 0;
}

VB_API enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

/* Used by provider libraries; a fork needs no preparation. */
VB_API int ibv_dontfork_range(void *base, size_t size);
VB_API int ibv_dofork_range(void *base, size_t size);

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
