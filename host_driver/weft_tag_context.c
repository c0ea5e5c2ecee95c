/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints: what a context and the endpoints that take its receives share.
 *
 * The table of a context's receives lives as long as one of them does: their completions come at
 * any endpoint, and name its slots. Calls weft_tag_done.c. nic_fw/tag/tag_context.c is the NIC's
 * side. docs/tagged.md, "Contexts".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/weft_tag_priv.h"

enum {
	ORPHANS_FIRST = 16,
};

static int shared_new(struct weft_tag *tag, uint32_t max_recvs)
{
	struct weft_tag_shared *shared = calloc(1, sizeof(*shared));

	if (!shared)
		return -ENOMEM;
	shared->refs = 1;
	pthread_mutex_init(&shared->lock, NULL);
	tag->shared = shared;
	tag->context = true;
	return weft_tag_slots_init(&shared->recvs, max_recvs);
}

int weft_tag_shared_init(struct weft_tag *tag, const struct weft_tag_attr *attr, uint32_t max_recvs)
{
	struct weft_tag *context;

	if (attr->context)
		return attr->receives_of ? -EINVAL : shared_new(tag, max_recvs);
	if (!attr->receives_of)
		return weft_tag_slots_init(&tag->recvs, max_recvs);
	context = weft_container_of(attr->receives_of, struct weft_tag, pub);
	if (!context->context)
		return -EINVAL;
	tag->shared = context->shared;
	__atomic_add_fetch(&tag->shared->refs, 1, __ATOMIC_RELAXED);
	return 0;
}

void weft_tag_shared_put(struct weft_tag *tag)
{
	struct weft_tag_shared *shared = tag->shared;

	if (!shared || __atomic_sub_fetch(&shared->refs, 1, __ATOMIC_ACQ_REL))
		return;
	weft_tag_slots_free(&shared->recvs);
	pthread_mutex_destroy(&shared->lock);
	free(shared->orphans);
	free(shared);
}

void weft_tag_orphan(struct weft_qp_obj *qp, const struct hw_cqe *cqe)
{
	struct weft_tag_shared *shared = qp->tag->shared;
	struct weft_wc wc, *more;
	uint32_t max;

	if (!weft_tag_fill(qp, cqe, &wc))
		return;
	pthread_mutex_lock(&shared->lock);
	if (shared->num_orphans == shared->max_orphans) {
		max = shared->max_orphans ? 2 * shared->max_orphans : ORPHANS_FIRST;
		more = realloc(shared->orphans, max * sizeof(*more));
		if (more) {
			shared->orphans = more;
			shared->max_orphans = max;
		}
	}
	if (shared->num_orphans < shared->max_orphans)
		shared->orphans[shared->num_orphans++] = wc;
	else
		shared->orphans_lost = true;
	pthread_mutex_unlock(&shared->lock);
}

int weft_take_tag_orphans(struct weft_tag_ep *context, int max, struct weft_wc *wc)
{
	struct weft_tag_shared *shared = weft_container_of(context, struct weft_tag, pub)->shared;
	uint32_t n;
	int rc;

	if (!shared || max < 0)
		return -EINVAL;
	pthread_mutex_lock(&shared->lock);
	n = shared->num_orphans < (uint32_t)max ? shared->num_orphans : (uint32_t)max;
	if (n) {
		memcpy(wc, shared->orphans, n * sizeof(*wc));
		shared->num_orphans -= n;
		memmove(shared->orphans, shared->orphans + n, shared->num_orphans * sizeof(*wc));
	}
	rc = !n && shared->orphans_lost ? -ENOMEM : (int)n;
	if (rc == -ENOMEM)
		shared->orphans_lost = false;
	pthread_mutex_unlock(&shared->lock);
	return rc;
}
