/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NICs: opened on first use and kept while the library is loaded, as librdmacm keeps its
 * devices. When weftd has ended, the next call that needs a NIC looks for the NICs of a weftd that
 * was started since.
 *
 * They are the devices that ibv_get_device_list() returns; WEFT_VERBS_DEVICE restricts them to one.
 * WEFT_LLP selects the lower layer of RDMA_PS_TCP connections. Calls libibverbs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/cm.h"
#include "host_driver/verbs/vb_private.h"

pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * The NICs of a time. Earlier lists stay, and so do NICs that are gone: other threads walk them,
 * and programs have their contexts and identifiers.
 */
struct cm_list {
	struct cm_list *before;
	int count;
	struct cm_device *dev[];
};
static struct cm_list *devices; /* the present one; NULL: no NIC was opened yet */
static int most_devices;        /* that there were at a time */

/* WEFT_LLP is tcp or rd. By default an iWARP device uses TCP and a RoCE device uses datagrams. */
static bool wants_tcp(const struct cm_device *dev)
{
	const char *llp = secure_getenv("WEFT_LLP");

	if (llp && !strcmp(llp, "tcp"))
		return true;
	return !(llp && !strcmp(llp, "rd")) && !dev->is_ib;
}

static struct cm_device *device_open(struct ibv_device *ibv)
{
	struct cm_device *dev = calloc(1, sizeof(*dev));
	struct weft_device_attr attr;
	struct weft_port_attr port;

	if (!dev)
		return NULL;
	dev->ids = calloc(HW_MAX_CM, sizeof(struct cm_id *));
	dev->verbs = dev->ids ? ibv_open_device(ibv) : NULL;
	if (!dev->verbs)
		goto fail;
	dev->weft = weft_cm_context(dev->verbs);
	if (weft_query_device(dev->weft, &attr) < 0 || weft_query_port(dev->weft, &port) < 0) {
		ibv_close_device(dev->verbs);
		goto fail;
	}
	dev->ip = port.ip;
	dev->prefix = port.ip_prefix;
	dev->mtu = port.mtu_bytes;
	dev->max_rd_atomic =
	    (uint8_t)(attr.max_rd_atomic < UINT8_MAX ? attr.max_rd_atomic : UINT8_MAX - 1);
	dev->is_ib = ibv->transport_type == IBV_TRANSPORT_IB;
	dev->has_tcp = wants_tcp(dev);
	pthread_mutex_init(&dev->events, NULL);
	return dev;
fail:
	free(dev->ids);
	free(dev);
	return NULL;
}

static bool is_gone(const struct cm_device *dev)
{
	struct weft_device_attr attr;

	return dev->is_dead || weft_query_device(dev->weft, &attr) < 0;
}

static bool has_name(const struct cm_list *list, const char *name)
{
	for (int i = 0; i < list->count; i++)
		if (!strcmp(ibv_get_device_name(list->dev[i]->verbs->device), name))
			return true;
	return false;
}

/* Another look may find more than the list has. Caller holds devices_lock. */
static bool is_stale(void)
{
	if (!devices || devices->count < most_devices)
		return true;
	for (int i = 0; i < devices->count; i++)
		if (is_gone(devices->dev[i]))
			return true;
	return false;
}

/* The NICs that are left, and those that have come. Caller holds devices_lock. */
static void look(void)
{
	int n = 0, left, old = devices ? devices->count : 0;
	struct ibv_device **there = ibv_get_device_list(&n);
	size_t bytes = sizeof(struct cm_list) + (size_t)(old + n) * sizeof(struct cm_device *);
	struct cm_list *next = calloc(1, bytes);

	for (int i = 0; next && i < old; i++)
		if (!is_gone(devices->dev[i]))
			next->dev[next->count++] = devices->dev[i];
	left = next ? next->count : 0;
	for (int i = 0; next && there && i < n; i++) {
		struct cm_device *dev =
		    has_name(next, ibv_get_device_name(there[i])) ? NULL : device_open(there[i]);

		if (dev)
			next->dev[next->count++] = dev;
	}
	if (there)
		ibv_free_device_list(there);
	if (!next || (left == old && next->count == old)) {
		free(next);
		return;
	}
	next->before = devices;
	devices = next;
	if (most_devices < next->count)
		most_devices = next->count;
}

/* The NICs belong to the parent. A child opens them again on first use. */
static void forked(void)
{
	pthread_mutex_init(&cm_lock, NULL);
	pthread_mutex_init(&devices_lock, NULL);
	devices = NULL;
	most_devices = 0;
}

static void watch_forks(void)
{
	/* Without the handler a child's calls fail with EIO. */
	if (pthread_atfork(NULL, NULL, forked) != 0)
		errno = ENOMEM;
}

struct cm_device *const *cm_devices(int *count)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct cm_list *list;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&devices_lock);
	if (is_stale())
		look();
	list = devices;
	pthread_mutex_unlock(&devices_lock);
	*count = list ? list->count : 0;
	if (!*count)
		errno = ENODEV;
	return list ? list->dev : NULL;
}

static struct cm_device *find_ip(struct cm_device *const *all, int n, uint32_t ip)
{
	for (int i = 0; i < n; i++)
		if (all[i]->ip == ip)
			return all[i];
	return NULL;
}

struct cm_device *cm_device_by_ip(uint32_t ip)
{
	int n;
	struct cm_device *const *all = cm_devices(&n);

	return find_ip(all, n, ip);
}

static bool on_link(const struct cm_device *dev, uint32_t ip)
{
	uint32_t mask = dev->prefix ? htonl(0xffffffffu << (32 - dev->prefix)) : 0;

	return ((ip ^ dev->ip) & mask) == 0;
}

/*
 * Returns the NIC with this address, else the one with the longest matching prefix, else the first
 * one, which may have a gateway.
 */
struct cm_device *cm_device_towards(uint32_t ip)
{
	int n;
	struct cm_device *const *all = cm_devices(&n);
	struct cm_device *best = find_ip(all, n, ip);

	if (best || !n)
		return best;
	for (int i = 0; i < n; i++)
		if (on_link(all[i], ip) && (!best || all[i]->prefix > best->prefix))
			best = all[i];
	return best ? best : all[0];
}

struct ibv_pd *cm_device_pd(struct cm_device *dev)
{
	pthread_mutex_lock(&devices_lock);
	if (!dev->pd)
		dev->pd = ibv_alloc_pd(dev->verbs);
	pthread_mutex_unlock(&devices_lock);
	return dev->pd;
}

struct ibv_xrcd *cm_device_xrcd(struct cm_device *dev)
{
	struct ibv_xrcd_init_attr attr = {
	    .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
	    .fd = -1,
	    .oflags = O_CREAT,
	};

	pthread_mutex_lock(&devices_lock);
	if (!dev->xrcd)
		dev->xrcd = ibv_open_xrcd(dev->verbs, &attr);
	pthread_mutex_unlock(&devices_lock);
	return dev->xrcd;
}

enum ibv_mtu cm_mtu(uint32_t bytes)
{
	enum {
		SMALLEST = 128, /* half of IBV_MTU_256 */
	};
	int mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (uint32_t)SMALLEST << (mtu + 1) <= bytes)
		mtu++;
	return (enum ibv_mtu)mtu;
}

CM_API struct ibv_context **rdma_get_devices(int *num)
{
	int n;
	struct cm_device *const *all = cm_devices(&n);
	struct ibv_context **list = calloc((size_t)n + 1, sizeof(struct ibv_context *));

	if (num)
		*num = 0;
	if (!list || !n) {
		free(list);
		errno = n ? ENOMEM : ENODEV;
		return NULL;
	}
	for (int i = 0; i < n; i++)
		list[i] = all[i]->verbs;
	if (num)
		*num = n;
	return list;
}

CM_API void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
