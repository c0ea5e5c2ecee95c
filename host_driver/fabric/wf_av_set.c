/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of addresses of a vector, in order: the members of a collective group. fi_av_set(3).
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/fabric/wf_coll.h"

enum {
	FIRST_ROOM = 16,
};

#define SET_FLAGS                                                                                  \
	(FI_UNIVERSE | FI_BARRIER_SET | FI_BROADCAST_SET | FI_ALLTOALL_SET | FI_ALLREDUCE_SET |    \
	 FI_ALLGATHER_SET | FI_REDUCE_SCATTER_SET | FI_REDUCE_SET | FI_SCATTER_SET |               \
	 FI_GATHER_SET)

struct wf_set {
	struct fid_av_set fid;
	struct wf_av *av;
	pthread_mutex_t lock;
	fi_addr_t *addr;
	size_t count, room;
};

static struct wf_set *set_of(const struct fid_av_set *fid)
{
	return container_of(fid, struct wf_set, fid);
}

struct wf_av *wf_av_set_av(const struct fid_av_set *fid)
{
	return set_of(fid)->av;
}

fi_addr_t wf_av_set_addr(const struct fid_av_set *fid)
{
	return WF_GROUP_ADDR | (uintptr_t)set_of(fid);
}

fi_addr_t *wf_av_set_members(const struct fid_av_set *fid, size_t *count)
{
	struct wf_set *set = set_of(fid);
	fi_addr_t *copy;

	pthread_mutex_lock(&set->lock);
	copy = calloc(set->count + 1, sizeof(*copy));
	if (copy && set->count)
		memcpy(copy, set->addr, set->count * sizeof(*copy));
	*count = set->count;
	pthread_mutex_unlock(&set->lock);
	return copy;
}

static bool has(const fi_addr_t *addrs, size_t count, fi_addr_t addr)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (addrs[i] == addr)
			return true;
	return false;
}

/* Appends an address that is not there. The lock is held. */
static int append(struct wf_set *set, fi_addr_t addr)
{
	if (set->count == set->room) {
		size_t room = set->room ? 2 * set->room : FIRST_ROOM;
		fi_addr_t *more = realloc(set->addr, room * sizeof(*more));

		if (!more)
			return -FI_ENOMEM;
		set->addr = more;
		set->room = room;
	}
	set->addr[set->count++] = addr;
	return 0;
}

static int set_insert(struct fid_av_set *fid, fi_addr_t addr)
{
	struct wf_set *set = set_of(fid);
	int rc = -FI_EINVAL;

	pthread_mutex_lock(&set->lock);
	if (wf_av_peer(set->av, addr) && !has(set->addr, set->count, addr))
		rc = append(set, addr);
	pthread_mutex_unlock(&set->lock);
	return rc;
}

/* Keeps the addresses that are in the list, or those that are not. The order stays. */
static void keep(struct wf_set *set, const fi_addr_t *list, size_t count, bool listed)
{
	size_t i, n = 0;

	pthread_mutex_lock(&set->lock);
	for (i = 0; i < set->count; i++)
		if (has(list, count, set->addr[i]) == listed)
			set->addr[n++] = set->addr[i];
	set->count = n;
	pthread_mutex_unlock(&set->lock);
}

static int set_remove(struct fid_av_set *fid, fi_addr_t addr)
{
	struct wf_set *set = set_of(fid);
	bool there;

	pthread_mutex_lock(&set->lock);
	there = has(set->addr, set->count, addr);
	pthread_mutex_unlock(&set->lock);
	keep(set, &addr, 1, false);
	return there ? 0 : -FI_EINVAL;
}

/* Calls keep() or appends, with the members of src. */
static int combine(struct fid_av_set *dst, const struct fid_av_set *src, bool add, bool listed)
{
	struct wf_set *set = set_of(dst);
	fi_addr_t *list;
	size_t i, count;
	int rc = 0;

	if (set->av != wf_av_set_av(src))
		return -FI_EINVAL;
	list = wf_av_set_members(src, &count);
	if (!list)
		return -FI_ENOMEM;
	if (!add)
		keep(set, list, count, listed);
	pthread_mutex_lock(&set->lock);
	for (i = 0; add && i < count && !rc; i++)
		if (!has(set->addr, set->count, list[i]))
			rc = append(set, list[i]);
	pthread_mutex_unlock(&set->lock);
	free(list);
	return rc;
}

static int set_union(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return combine(dst, src, true, false);
}

static int set_intersect(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return combine(dst, src, false, true);
}

static int set_diff(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return combine(dst, src, false, false);
}

static int set_addr(struct fid_av_set *fid, fi_addr_t *coll_addr)
{
	*coll_addr = wf_av_set_addr(fid);
	return 0;
}

static int set_close(struct fid *fid)
{
	struct wf_set *set = container_of(fid, struct wf_set, fid.fid);

	atomic_fetch_sub(&set->av->refs, 1);
	pthread_mutex_destroy(&set->lock);
	free(set->addr);
	free(set);
	return 0;
}

static struct fi_ops set_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = set_close,
    .bind = wf_no_bind,
    .control = wf_no_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_av_set set_ops = {
    .size = sizeof(struct fi_ops_av_set),
    .set_union = set_union,
    .intersect = set_intersect,
    .diff = set_diff,
    .insert = set_insert,
    .remove = set_remove,
    .addr = set_addr,
};

/* Inserts the first members: a range of places, or all. 0 or a negative errno. */
static int fill(struct wf_set *set, const struct fi_av_set_attr *attr)
{
	size_t places = atomic_load(&set->av->count);
	fi_addr_t i, first = attr->start_addr, last = attr->end_addr;
	uint64_t stride = attr->stride;
	int rc = 0;

	if (attr->flags & FI_UNIVERSE) {
		first = 0;
		last = places;
		stride = 1;
	} else if (first == FI_ADDR_NOTAVAIL && last == FI_ADDR_NOTAVAIL) {
		return 0;
	}
	if (first > last || !stride)
		return -FI_EINVAL;
	for (i = first; i < places && i <= last && !rc; i += stride) {
		if (wf_av_peer(set->av, i))
			rc = append(set, i);
		if (stride > places)
			break;
	}
	return rc || !attr->count || set->count <= attr->count ? rc : -FI_EINVAL;
}

int wf_av_set_open(struct fid_av *fid, struct fi_av_set_attr *attr, struct fid_av_set **out,
		   void *context)
{
	struct wf_av *av = container_of(fid, struct wf_av, fid);
	struct wf_set *set;
	int rc;

	/* A key would stand for a group that a manager of the fabric has made. */
	if (!attr || (attr->flags & ~(uint64_t)SET_FLAGS) || attr->comm_key_size)
		return -FI_EINVAL;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->fid.fid.fclass = FI_CLASS_AV_SET;
	set->fid.fid.context = context;
	set->fid.fid.ops = &set_fi_ops;
	set->fid.ops = &set_ops;
	set->av = av;
	pthread_mutex_init(&set->lock, NULL);
	atomic_fetch_add(&av->refs, 1);
	rc = fill(set, attr);
	if (rc) {
		set_close(&set->fid.fid);
		return rc;
	}
	*out = &set->fid;
	return 0;
}
