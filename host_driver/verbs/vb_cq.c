/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion channels and queues, their events and their moderation.
 *
 * vb_poll.c polls. Calls weft_cq.c and weft_event.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/verbs/vb.h"
#include "host_driver/weft_priv.h"

VB_API struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct vb_channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return vb_null(ENOMEM);
	channel->weft = weft_create_comp_channel(vb_context_of(context)->weft, 0);
	if (!channel->weft) {
		free(channel);
		return NULL;
	}
	channel->weft->user = channel;
	channel->ibv.context = context;
	channel->ibv.fd = channel->weft->fd;
	return &channel->ibv;
}

VB_API int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct vb_channel *channel = vb_channel_of(ibv);
	int rc = weft_destroy_comp_channel(channel->weft);

	if (rc < 0)
		return vb_result(rc);
	free(channel);
	return 0;
}

static struct vb_cq *cq_new(struct ibv_context *context, int cqe, void *cq_context,
			    struct ibv_comp_channel *channel, int comp_vector)
{
	struct vb_context *c = vb_context_of(context);
	struct vb_cq *cq;

	if (cqe < 1 || (uint32_t)cqe > c->attr.max_cqe || comp_vector < 0 ||
	    comp_vector >= context->num_comp_vectors)
		return vb_null(EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return vb_null(ENOMEM);
	cq->weft = weft_create_cq_vector(
	    c->weft, (uint32_t)cqe, channel ? vb_channel_of(channel)->weft : NULL, comp_vector, cq);
	if (!cq->weft) {
		free(cq);
		return NULL;
	}
	cq->ibv.context = context;
	cq->ibv.channel = channel;
	cq->ibv.cq_context = cq_context;
	cq->ibv.handle = cq->weft->handle;
	cq->ibv.cqe = (int)cq->weft->entries;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	pthread_mutex_init(&cq->poll_lock, NULL);
	if (channel)
		__atomic_add_fetch(&channel->refcnt, 1, __ATOMIC_RELAXED);
	return cq;
}

VB_API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	struct vb_cq *cq = cq_new(context, cqe, cq_context, channel, comp_vector);

	return cq ? &cq->ibv : NULL;
}

/* Provides every read_*() whatever wc_flags requests, since each completion holds all fields. */
static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t known =
	    IBV_CREATE_CQ_SUP_WC_FLAGS &
	    ~((uint64_t)IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO);
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct vb_cq *cq;

	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return vb_null(EINVAL);
	if (attr->wc_flags & ~known || flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
		return vb_null(EOPNOTSUPP);
	cq = cq_new(context, (int)attr->cqe, attr->cq_context, attr->channel,
		    (int)attr->comp_vector);
	if (!cq)
		return NULL;
	cq->single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	vb_poll_fill_ex(cq);
	return &cq->ex;
}

VB_API int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct vb_cq *cq = vb_cq_of(ibv);
	int rc = cqe < 1 ? -EINVAL : weft_resize_cq(cq->weft, (uint32_t)cqe);

	if (rc == 0)
		ibv->cqe = (int)cq->weft->entries;
	/* Verbs report a size below the number of pending completions as an invalid argument. */
	return vb_result(rc == -EBUSY ? -EINVAL : rc);
}

static int modify_cq(struct ibv_cq *ibv, struct ibv_modify_cq_attr *attr)
{
	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return vb_result(-EINVAL);
	return vb_result(
	    weft_modify_cq(vb_cq_of(ibv)->weft, attr->moderate.cq_count, attr->moderate.cq_period));
}

VB_API int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct vb_cq *cq = vb_cq_of(ibv);
	int rc = weft_destroy_cq(cq->weft);

	if (rc < 0)
		return vb_result(rc);
	if (ibv->channel)
		__atomic_sub_fetch(&ibv->channel->refcnt, 1, __ATOMIC_RELAXED);
	pthread_mutex_destroy(&cq->poll_lock);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	free(cq);
	return 0;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return vb_result(weft_req_notify_cq_untold(vb_cq_of(cq)->weft, solicited_only != 0));
}

/* Returns -1 on failure, as the manual page specifies. */
VB_API int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	void *user;
	int rc = weft_get_cq_event(vb_channel_of(channel)->weft, NULL, &user);

	if (rc < 0)
		return vb_result(rc) ? -1 : 0;
	*cq = &((struct vb_cq *)user)->ibv;
	weft_cq_told(vb_cq_of(*cq)->weft);
	*cq_context = (*cq)->cq_context;
	return 0;
}

VB_API void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	weft_ack_cq_events(vb_cq_of(cq)->weft, nevents);
}

void vb_cq_ops(struct vb_context *c)
{
	c->verbs.context.ops.poll_cq = vb_poll_cq;
	c->verbs.context.ops.req_notify_cq = req_notify_cq;
	c->verbs.create_cq_ex = create_cq_ex;
	c->verbs.modify_cq = modify_cq;
}
