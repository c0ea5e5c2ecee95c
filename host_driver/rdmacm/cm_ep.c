/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints of the synchronous interface, their connection requests, and options.
 *
 * Calls cm_id.c and cm_conn.c. rdma_create_ep(3), rdma_get_request(3), rdma_set_option(3).
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/cm.h"

static int keep_attr(struct cm_id *id, struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	id->ep_pd = pd;
	if (!attr)
		return 0;
	id->ep_attr = malloc(sizeof(*attr));
	if (!id->ep_attr)
		return cm_error(ENOMEM);
	*id->ep_attr = *attr;
	id->ep_attr->qp_type = id->pub.qp_type;
	return 0;
}

static int make_active(struct cm_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *attr)
{
	if (rdma_resolve_addr(&id->pub, res->ai_src_addr, res->ai_dst_addr, CM_EP_TIMEOUT_MS) < 0 ||
	    rdma_resolve_route(&id->pub, CM_EP_TIMEOUT_MS) < 0)
		return -1;
	if (attr) {
		attr->qp_type = id->pub.qp_type;
		if (rdma_create_qp(&id->pub, pd, attr) < 0)
			return -1;
	}
	if (!res->ai_connect_len)
		return 0;
	id->connect_data = malloc(res->ai_connect_len);
	if (!id->connect_data)
		return cm_error(ENOMEM);
	memcpy(id->connect_data, res->ai_connect, res->ai_connect_len);
	id->connect_bytes = res->ai_connect_len;
	return 0;
}

CM_API int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd,
			  struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *pub;
	struct cm_id *id;
	int rc;

	if (rdma_create_id(NULL, &pub, NULL, (enum rdma_port_space)res->ai_port_space) < 0)
		return -1;
	id = cm_id_of(pub);
	if (res->ai_qp_type)
		pub->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	if (res->ai_flags & RAI_PASSIVE)
		rc = rdma_bind_addr(pub, res->ai_src_addr) < 0 ? -1 : keep_attr(id, pd, attr);
	else
		rc = make_active(id, res, pd, attr);
	if (rc < 0) {
		int err = errno;

		rdma_destroy_ep(pub);
		return cm_error(err);
	}
	*out = pub;
	return 0;
}

CM_API void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	(void)rdma_destroy_id(id);
}

CM_API int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
	struct cm_id *id = cm_id_of(listen);
	struct rdma_cm_event *event;
	int err = 0;

	if (!id->sync)
		return cm_error(EINVAL);
	cm_event_drop(id);
	if (rdma_get_cm_event(listen->channel, &event) < 0)
		return -1;
	if (event->status)
		err = event->status < 0 ? -event->status : EIO;
	else if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		err = EINVAL;
	if (!err && id->ep_attr) {
		struct ibv_qp_init_attr attr = *id->ep_attr;

		if (rdma_create_qp(event->id, id->ep_pd, &attr) < 0)
			err = errno;
	}
	if (!err) {
		*out = event->id;
		(*out)->event = event;
		return 0;
	}
	listen->event = event;
	return cm_error(err);
}

static int option_id(struct cm_id *id, int name, const void *value, size_t bytes)
{
	int on;

	switch (name) {
	case RDMA_OPTION_ID_TOS:
		if (bytes != sizeof(id->tos))
			return cm_error(EINVAL);
		memcpy(&id->tos, value, bytes);
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		if (bytes != sizeof(on) || id->state != CM_ID_IDLE)
			return cm_error(EINVAL);
		memcpy(&on, value, sizeof(on));
		id->reuse = on != 0;
		return 0;
	case RDMA_OPTION_ID_AFONLY:
		/* The NICs have IPv4 addresses only: a wildcard of either family means those. */
		if (bytes != sizeof(on) || (id->state != CM_ID_IDLE && id->state != CM_ID_BOUND))
			return cm_error(EINVAL);
		memcpy(&on, value, sizeof(on));
		return on && id->pub.route.addr.src_addr.sa_family == AF_INET6
			   ? cm_error(EOPNOTSUPP)
			   : 0;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (bytes != sizeof(id->ack_timeout) || *(const uint8_t *)value > 31)
			return cm_error(EINVAL);
		memcpy(&id->ack_timeout, value, bytes);
		return 0;
	default:
		return cm_error(ENOSYS);
	}
}

/* Path options are ignored: there is only one path. */
CM_API int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval,
			   size_t optlen)
{
	if (level == RDMA_OPTION_ID)
		return option_id(cm_id_of(id), optname, optval, optlen);
	return cm_error(level == RDMA_OPTION_IB ? EOPNOTSUPP : ENOSYS);
}

CM_API int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || id->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return cm_error(EINVAL);
	return cm_error(EOPNOTSUPP);
}

/* No NIC supports enhanced connection establishment: vendor 0. */
CM_API int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (id->qp || !ece)
		return cm_error(EINVAL);
	memset(ece, 0, sizeof(*ece));
	return 0;
}
