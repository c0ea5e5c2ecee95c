/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delivers events of the NICs and of the library itself to programs.
 *
 * rdma_get_cm_event() first takes events made by the library, then reads the event queue of each
 * NIC of the channel. A response for an identifier with a queue pair is handled here: the queue
 * pair moves to RTS and the peer is notified, as librdmacm does for InfiniBand. Calls weft_cm.c and
 * cm_qp.c. rdma_get_cm_event(3).
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/rdmacm/cm.h"

struct cm_event *cm_event_new(struct cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct cm_event *event = calloc(1, sizeof(*event));

	if (!event) {
		errno = ENOMEM;
		return NULL;
	}
	event->owner = id;
	event->pub.id = &id->pub;
	event->pub.event = type;
	event->pub.status = status;
	return event;
}

int cm_event_local(struct cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct cm_event *event = cm_event_new(id, type, status);

	if (!event)
		return -1;
	cm_channel_put(cm_channel_of(id->pub.channel), event);
	return 0;
}

/* Counts an event as acknowledged. */
static void cm_event_done(struct cm_id *id)
{
	pthread_mutex_lock(&cm_lock);
	id->acked++;
	pthread_cond_broadcast(&id->all_acked);
	pthread_mutex_unlock(&cm_lock);
}

CM_API int rdma_ack_cm_event(struct rdma_cm_event *pub)
{
	struct cm_event *event = cm_event_of(pub);

	if (!event)
		return cm_error(EINVAL);
	cm_event_done(event->owner);
	free(event);
	return 0;
}

void cm_event_drop(struct cm_id *id)
{
	if (id->pub.event)
		rdma_ack_cm_event(id->pub.event);
	id->pub.event = NULL;
}

/* ---- events of a NIC ------------------------------------------------------------------------ */

/* Converts depths to the receiver's view: the peer's initiator depth is our responder resources. */
static void set_conn(struct cm_event *event, const struct hw_resp_cm_event *hw)
{
	struct rdma_conn_param *conn = &event->pub.param.conn;

	conn->responder_resources = hw->param.initiator_depth;
	conn->initiator_depth = hw->param.responder_resources;
	conn->flow_control = hw->param.flow_control;
	conn->retry_count = hw->param.retry_count;
	conn->rnr_retry_count = hw->param.rnr_retry_count;
	conn->srq = hw->param.srq;
	conn->qp_num = hw->param.qpn;
	conn->private_data = hw->data_bytes ? event->data : NULL;
	conn->private_data_len = (uint8_t)hw->data_bytes;
}

static void set_ud(struct cm_event *event, const struct cm_id *id,
		   const struct hw_resp_cm_event *hw)
{
	struct rdma_ud_param *ud = &event->pub.param.ud;

	cm_ah_attr(id, hw->peer_ip, &ud->ah_attr);
	ud->qp_num = hw->param.qpn;
	ud->qkey = hw->param.qkey;
	ud->private_data = hw->data_bytes ? event->data : NULL;
	ud->private_data_len = (uint8_t)hw->data_bytes;
}

static void set_param(struct cm_event *event, const struct cm_id *id,
		      const struct hw_resp_cm_event *hw)
{
	memcpy(event->data, hw->data, hw->data_bytes);
	if (cm_is_ud(id))
		set_ud(event, id, hw);
	else
		set_conn(event, hw);
}

/* Creates the identifier for a request. It takes ownership of the NIC's endpoint. */
static struct cm_id *request_id(struct cm_id *listener, struct cm_device *dev,
				const struct hw_resp_cm_event *hw)
{
	struct cm_id *id = cm_id_new(cm_channel_of(listener->pub.channel), listener->pub.context,
				     listener->pub.ps, listener->pub.qp_type);

	if (!id)
		return NULL;
	if (cm_leg_adopt(id, dev, hw->ep) < 0 || cm_id_attach(id, dev) < 0) {
		cm_legs_drop(id);
		cm_id_free(id);
		return NULL;
	}
	id->passive = true;
	id->over_tcp = hw->transport == HW_CM_TRANSPORT_TCP;
	id->state = CM_ID_CONNECT;
	id->peer = hw->param;
	id->local_psn = hw->local_psn;
	id->tos = listener->tos;
	id->ack_timeout = listener->ack_timeout;
	id->responder_resources = hw->param.initiator_depth;
	id->initiator_depth = hw->param.responder_resources;
	id->retry_count = hw->param.retry_count;
	cm_addr_set(&id->pub.route.addr.src_addr, dev->ip, hw->local_port);
	cm_addr_set(&id->pub.route.addr.dst_addr, hw->peer_ip, hw->peer_port);
	return id;
}

/* Returns false when no identifier can be created; the request is then rejected. */
static bool on_request(struct cm_event *event, struct cm_id *listener, struct cm_device *dev,
		       const struct hw_resp_cm_event *hw)
{
	struct cm_id *id = request_id(listener, dev, hw);

	if (!id) {
		(void)weft_cm_destroy(dev->weft, hw->ep);
		return false;
	}
	event->pub.event = RDMA_CM_EVENT_CONNECT_REQUEST;
	event->pub.listen_id = &listener->pub;
	event->pub.id = &id->pub;
	set_param(event, id, hw);
	if (listener->sync && rdma_migrate_id(&id->pub, NULL) < 0) {
		cm_legs_drop(id);
		cm_id_free(id);
		return false;
	}
	return true;
}

static void on_response(struct cm_event *event, struct cm_id *id, const struct hw_resp_cm_event *hw)
{
	id->peer = hw->param;
	id->local_psn = hw->local_psn;
	id->responder_resources = hw->param.initiator_depth;
	id->initiator_depth = hw->param.responder_resources;
	set_param(event, id, hw);
	event->pub.event = RDMA_CM_EVENT_CONNECT_RESPONSE;
	if (!id->pub.qp)
		return;
	if (cm_qp_connect(id) < 0 ||
	    cm_result(weft_cm_accept(id->dev->weft, id->legs[0].ep, NULL, NULL)) < 0) {
		event->pub.event = RDMA_CM_EVENT_CONNECT_ERROR;
		event->pub.status = -errno;
		id->conn_error = true;
		return;
	}
	event->pub.event = RDMA_CM_EVENT_ESTABLISHED;
}

static bool on_resolved(struct cm_event *event, struct cm_id *id, uint32_t err)
{
	if (id->state != CM_ID_ADDR_QUERY)
		return false;
	id->state = err ? CM_ID_BOUND : CM_ID_ADDR_RESOLVED;
	event->pub.event = err ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED;
	event->pub.status = -(int)err;
	return true;
}

static bool on_end(struct cm_event *event, struct cm_id *id, enum rdma_cm_event_type type,
		   int status)
{
	if (id->conn_error)
		return false;
	id->state = CM_ID_DISCONNECT;
	event->pub.event = type;
	event->pub.status = status;
	return true;
}

static bool on_rejected(struct cm_event *event, struct cm_id *id, const struct hw_resp_cm_event *hw)
{
	set_param(event, id, hw);
	cm_qp_fail(id);
	/* An iWARP device reports only one reason. */
	return on_end(event, id, RDMA_CM_EVENT_REJECTED,
		      id->dev->is_ib ? (int)hw->status : -ECONNREFUSED);
}

/* Fills in the event. Returns false if programs do not receive it. */
static bool translate(struct cm_event *event, struct cm_id *id, struct cm_device *dev,
		      const struct hw_resp_cm_event *hw)
{
	switch ((enum hw_cm_event_type)hw->type) {
	case HW_CM_EVENT_RESOLVED:
		return on_resolved(event, id, hw->status);
	case HW_CM_EVENT_REQUEST:
		return on_request(event, id, dev, hw);
	case HW_CM_EVENT_RESPONSE:
		on_response(event, id, hw);
		return true;
	case HW_CM_EVENT_REJECTED:
		return on_rejected(event, id, hw);
	case HW_CM_EVENT_UNREACHABLE:
		cm_qp_fail(id);
		/* The TCP connection was made, but MPA set-up failed. */
		return on_end(event, id,
			      hw->status == EPROTO ? RDMA_CM_EVENT_CONNECT_ERROR
						   : RDMA_CM_EVENT_UNREACHABLE,
			      -(int)hw->status);
	case HW_CM_EVENT_ESTABLISHED:
		if (cm_is_ud(id))
			set_param(event, id, hw);
		event->pub.event = RDMA_CM_EVENT_ESTABLISHED;
		return true;
	case HW_CM_EVENT_DISCONNECTED:
		return on_end(event, id, RDMA_CM_EVENT_DISCONNECTED, 0);
	case HW_CM_EVENT_TIMEWAIT_EXIT:
		event->pub.event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
		return dev->is_ib;
	case HW_CM_EVENT_NONE:
	case HW_CM_EVENTS:
		break;
	}
	return false;
}

/*
 * Returns the owner of the endpoint and counts the event as reported; NULL: the endpoint has no
 * owner.
 */
static struct cm_id *claim(struct cm_device *dev, const struct hw_resp_cm_event *hw)
{
	uint32_t ep = hw->type == HW_CM_EVENT_REQUEST ? hw->listener : hw->ep;
	struct cm_id *id;

	pthread_mutex_lock(&cm_lock);
	id = ep < HW_MAX_CM ? dev->ids[ep] : NULL;
	if (id)
		id->reported++;
	pthread_mutex_unlock(&cm_lock);
	return id;
}

static int take(const struct cm_source *source, struct hw_resp_cm_event *hw, struct cm_id **id)
{
	int rc;

	pthread_mutex_lock(&source->dev->events);
	rc = weft_cm_get_event(source->comp, hw);
	if (rc == 0)
		*id = claim(source->dev, hw);
	pthread_mutex_unlock(&source->dev->events);
	return rc;
}

/* Returns the next event of a NIC that is for programs; NULL: none. */
static struct cm_event *from_source(const struct cm_source *source, bool *gone)
{
	struct hw_resp_cm_event hw;
	struct cm_id *id;
	int rc;

	while ((rc = take(source, &hw, &id)) == 0) {
		bool request = hw.type == HW_CM_EVENT_REQUEST;
		struct cm_event *event =
		    id ? cm_event_new(id, RDMA_CM_EVENT_CONNECT_ERROR, 0) : NULL;

		if (event && translate(event, id, source->dev, &hw))
			return event;
		if (!event && request)
			(void)weft_cm_destroy(source->dev->weft, hw.ep);
		free(event);
		if (id)
			cm_event_done(id);
	}
	*gone = rc == -EIO;
	return NULL;
}

/* ---- events of the library ------------------------------------------------------------------ */

/*
 * Returns an identifier to which the loss of its NIC was not yet reported, with a reference; NULL:
 * none is left.
 */
static struct cm_id *pin_untold(struct cm_device *dev)
{
	struct cm_id *id = NULL;

	pthread_mutex_lock(&cm_lock);
	dev->is_dead = true;
	for (uint32_t ep = 0; ep < HW_MAX_CM && !id; ep++)
		if (dev->ids[ep] && !dev->ids[ep]->removed)
			id = dev->ids[ep];
	if (id) {
		id->removed = true;
		id->reported++;
	}
	pthread_mutex_unlock(&cm_lock);
	return id;
}

/* Reports the loss of a NIC once to each of its identifiers, on whatever channel. */
static void device_gone(struct cm_device *dev)
{
	struct cm_id *id;

	while ((id = pin_untold(dev)) != NULL) {
		(void)cm_event_local(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
		cm_event_done(id);
	}
}

static struct cm_event *take_local(struct cm_channel *channel)
{
	struct cm_event *event;
	uint64_t count;
	ssize_t n;

	pthread_mutex_lock(&channel->lock);
	event = channel->first;
	if (event) {
		channel->first = event->next;
		if (!channel->first)
			channel->last = &channel->first;
		pthread_mutex_lock(&cm_lock);
		event->owner->reported++;
		pthread_mutex_unlock(&cm_lock);
	}
	if (!channel->first && channel->local_told) {
		channel->local_told = false;
		do {
			n = read(channel->local_fd, &count, sizeof(count));
		} while (n < 0 && errno == EINTR);
	}
	pthread_mutex_unlock(&channel->lock);
	return event;
}

/*
 * Stops watching a NIC that is gone, since its descriptor would stay readable. Returns true on the
 * first call.
 */
static bool drop_source(struct cm_channel *channel, struct cm_source *source)
{
	bool first;

	pthread_mutex_lock(&channel->lock);
	first = !source->is_gone;
	source->is_gone = true;
	if (first)
		cm_source_unwatch(channel, source);
	pthread_mutex_unlock(&channel->lock);
	return first;
}

static struct cm_event *next_event(struct cm_channel *channel)
{
	struct cm_event *event = take_local(channel);
	struct cm_source *source;

	if (event)
		return event;
	pthread_mutex_lock(&channel->lock);
	source = channel->sources;
	pthread_mutex_unlock(&channel->lock);
	for (; source && !event; source = source->next) {
		bool gone = false;

		event = from_source(source, &gone);
		if (!gone || !drop_source(channel, source))
			continue;
		device_gone(source->dev);
		return take_local(channel);
	}
	return event;
}

/* The only cancellation point: a thread here holds neither a lock nor an event. */
static int wait_readable(int fd, int cancel)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	int rc;

	weft_cancel_restore(cancel);
	rc = poll(&pfd, 1, -1);
	(void)weft_cancel_off();
	return rc;
}

static int get_event(struct cm_channel *channel, int cancel, struct rdma_cm_event **out)
{
	struct cm_event *event;

	for (;;) {
		event = next_event(channel);
		if (event && event->pub.event == RDMA_CM_EVENT_MULTICAST_JOIN &&
		    cm_mcast_joined(event) < 0) {
			event->pub.event = RDMA_CM_EVENT_MULTICAST_ERROR;
			event->pub.status = -errno;
		}
		if (event) {
			*out = &event->pub;
			return 0;
		}
		if (fcntl(channel->pub.fd, F_GETFL) & O_NONBLOCK)
			return cm_error(EAGAIN);
		if (wait_readable(channel->pub.fd, cancel) < 0)
			return -1;
	}
}

CM_API int rdma_get_cm_event(struct rdma_event_channel *pub, struct rdma_cm_event **out)
{
	int cancel, rc;

	if (!pub || !out)
		return cm_error(EINVAL);
	cancel = weft_cancel_off();
	rc = get_event(cm_channel_of(pub), cancel, out);
	weft_cancel_restore(cancel);
	return rc;
}
