/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Identifiers: creation, destruction, binding to NICs, migration between channels, synchronous
 * calls.
 *
 * An identifier has an endpoint on the NIC to which it is bound. An identifier bound only to a port
 * has one on each NIC. Calls weft_cm.c. rdma_create_id(3), rdma_migrate_id(3).
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/cm.h"

struct cm_id *cm_id_new(struct cm_channel *channel, void *context, enum rdma_port_space ps,
			enum ibv_qp_type type)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id) {
		errno = ENOMEM;
		return NULL;
	}
	id->pub.channel = &channel->pub;
	id->pub.context = context;
	id->pub.ps = ps;
	id->pub.qp_type = type;
	id->ack_timeout = CM_ACK_TIMEOUT;
	id->retry_count = CM_RETRY_COUNT;
	pthread_cond_init(&id->all_acked, NULL);
	return id;
}

void cm_id_free(struct cm_id *id)
{
	pthread_cond_destroy(&id->all_acked);
	free(id->pub.route.path_rec);
	free(id->ep_attr);
	free(id->connect_data);
	free(id->legs);
	free(id);
}

static int known_space(enum rdma_port_space ps)
{
	return ps == RDMA_PS_TCP || ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB || ps == RDMA_PS_IB;
}

static int id_create(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context,
		     enum rdma_port_space ps, enum ibv_qp_type type)
{
	struct rdma_event_channel *own = NULL;
	struct cm_id *id;

	if (!known_space(ps))
		return cm_error(EINVAL);
	if (!channel)
		channel = own = rdma_create_event_channel();
	if (!channel)
		return -1;
	id = cm_id_new(cm_channel_of(channel), context, ps, type);
	if (!id) {
		if (own)
			rdma_destroy_event_channel(own);
		return cm_error(ENOMEM);
	}
	id->sync = own != NULL;
	*out = &id->pub;
	return 0;
}

CM_API int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
			  enum rdma_port_space ps)
{
	bool ud = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;

	return id_create(channel, id, context, ps, ud ? IBV_QPT_UD : IBV_QPT_RC);
}

/* ---- endpoints ------------------------------------------------------------------------------ */

static int leg_append(struct cm_id *id, struct cm_device *dev, uint32_t ep)
{
	struct cm_leg *legs = realloc(id->legs, ((size_t)id->num_legs + 1) * sizeof(*legs));

	if (!legs)
		return cm_error(ENOMEM);
	id->legs = legs;
	id->legs[id->num_legs++] = (struct cm_leg){.dev = dev, .ep = ep};
	pthread_mutex_lock(&cm_lock);
	dev->ids[ep] = id;
	pthread_mutex_unlock(&cm_lock);
	return 0;
}

int cm_leg_adopt(struct cm_id *id, struct cm_device *dev, uint32_t ep)
{
	return ep < HW_MAX_CM ? leg_append(id, dev, ep) : cm_error(EPROTO);
}

int cm_leg_add(struct cm_id *id, struct cm_device *dev)
{
	struct cm_source *source = cm_source_get(cm_channel_of(id->pub.channel), dev);
	uint32_t ep;
	int rc;

	if (!source)
		return -1;
	rc = weft_cm_create(source->comp, &ep);
	if (rc < 0)
		return cm_error(-rc);
	if (cm_leg_adopt(id, dev, ep) < 0) {
		(void)weft_cm_destroy(dev->weft, ep);
		return -1;
	}
	return 0;
}

static void leg_drop(const struct cm_leg *leg)
{
	pthread_mutex_lock(&leg->dev->events);
	pthread_mutex_lock(&cm_lock);
	leg->dev->ids[leg->ep] = NULL;
	pthread_mutex_unlock(&cm_lock);
	(void)weft_cm_destroy(leg->dev->weft, leg->ep);
	pthread_mutex_unlock(&leg->dev->events);
}

void cm_legs_drop(struct cm_id *id)
{
	for (int i = 0; i < id->num_legs; i++)
		leg_drop(&id->legs[i]);
	id->num_legs = 0;
}

void cm_legs_keep(struct cm_id *id, struct cm_device *dev)
{
	int kept = 0;

	for (int i = 0; i < id->num_legs; i++) {
		if (id->legs[i].dev == dev)
			id->legs[kept++] = id->legs[i];
		else
			leg_drop(&id->legs[i]);
	}
	id->num_legs = kept;
}

int cm_id_attach(struct cm_id *id, struct cm_device *dev)
{
	struct ibv_pd *pd = cm_device_pd(dev);

	if (!pd)
		return -1;
	id->dev = dev;
	id->pub.verbs = dev->verbs;
	id->pub.port_num = CM_PORT_NUM;
	id->pub.pd = pd;
	cm_gid(dev->ip, &id->pub.route.addr.addr.ibaddr.sgid);
	id->pub.route.addr.addr.ibaddr.pkey = 0xffff;
	return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

/*
 * Waits until the program has acknowledged all reported events. No further event can be reported.
 */
static void wait_acked(struct cm_id *id)
{
	pthread_mutex_lock(&cm_lock);
	while (id->acked != id->reported)
		pthread_cond_wait(&id->all_acked, &cm_lock);
	pthread_mutex_unlock(&cm_lock);
}

CM_API int rdma_destroy_id(struct rdma_cm_id *pub)
{
	struct cm_id *id = cm_id_of(pub);
	struct rdma_event_channel *own = id->sync ? pub->channel : NULL;

	cm_mcast_leave_all(id);
	cm_legs_drop(id);
	cm_channel_forget(cm_channel_of(pub->channel), id, NULL);
	if (pub->event)
		rdma_ack_cm_event(pub->event);
	wait_acked(id);
	cm_id_free(id);
	if (own)
		rdma_destroy_event_channel(own);
	return 0;
}

/* ---- channels ------------------------------------------------------------------------------- */

static int legs_move(struct cm_id *id, struct cm_channel *to)
{
	for (int i = 0; i < id->num_legs; i++) {
		const struct cm_leg *leg = &id->legs[i];
		const struct cm_source *source;
		int rc;

		if (leg->dev->is_dead)
			continue;
		source = cm_source_get(to, leg->dev);
		if (!source)
			return -1;
		rc = weft_cm_move(source->comp, leg->ep);
		if (rc < 0)
			return cm_error(-rc);
	}
	return 0;
}

CM_API int rdma_migrate_id(struct rdma_cm_id *pub, struct rdma_event_channel *channel)
{
	struct cm_id *id = cm_id_of(pub);
	struct rdma_event_channel *old = pub->channel, *own = NULL;
	bool was_sync = id->sync;

	if (was_sync && !channel)
		return cm_error(EINVAL);
	if (!channel)
		channel = own = rdma_create_event_channel();
	if (!channel)
		return -1;
	if (legs_move(id, cm_channel_of(channel)) < 0) {
		int err = errno;

		if (own)
			rdma_destroy_event_channel(own);
		return cm_error(err);
	}
	pub->channel = channel;
	id->sync = own != NULL;
	cm_channel_forget(cm_channel_of(old), id, cm_channel_of(channel));
	if (was_sync)
		cm_event_drop(id);
	wait_acked(id);
	if (was_sync)
		rdma_destroy_event_channel(old);
	return 0;
}

int cm_complete(struct cm_id *id)
{
	int status;

	if (!id->sync)
		return 0;
	cm_event_drop(id);
	if (rdma_get_cm_event(id->pub.channel, &id->pub.event) < 0)
		return -1;
	status = id->pub.event->status;
	if (!status)
		return 0;
	if (id->pub.event->event == RDMA_CM_EVENT_REJECTED)
		return cm_error(ECONNREFUSED);
	return cm_error(status < 0 ? -status : EIO);
}
