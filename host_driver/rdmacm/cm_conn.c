/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: bind, resolve, listen, connect, accept, reject, disconnect.
 *
 * The permitted states of each call are those of the kernel's rdma_cm. Calls weft_cm.c, cm_id.c and
 * cm_qp.c. rdma_bind_addr(3), rdma_resolve_addr(3), rdma_connect(3), rdma_accept(3).
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/rdmacm/cm.h"

enum {
	PORT_TRIES = 64, /* automatic ports to try until one is free on all NICs */
};

static struct sockaddr *src(struct cm_id *id)
{
	return &id->pub.route.addr.src_addr;
}

static struct sockaddr *dst(struct cm_id *id)
{
	return &id->pub.route.addr.dst_addr;
}

static int leg_bind(struct cm_id *id, struct cm_device *dev, uint16_t *port)
{
	const struct cm_leg *leg;
	int rc;

	if (cm_leg_add(id, dev) < 0)
		return -1;
	leg = &id->legs[id->num_legs - 1];
	rc = weft_cm_bind(dev->weft, leg->ep, (enum hw_cm_space)id->pub.ps, port, id->reuse);
	return cm_result(rc);
}

/* Returns the errno for an address that belongs to no NIC of this machine. */
static int not_ours(uint32_t ip)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = ip};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&in, sizeof(in));

	if (fd >= 0)
		close(fd);
	return rc == 0 ? ENODEV : EADDRNOTAVAIL;
}

static int bind_each(struct cm_id *id, uint16_t *port)
{
	int n;
	struct cm_device *const *all = cm_devices(&n);

	for (int i = 0; i < n; i++)
		if (!all[i]->is_dead && leg_bind(id, all[i], port) < 0)
			return -1;
	return id->num_legs ? 0 : cm_error(ENODEV);
}

/* The port chosen by the first NIC may be in use on another. */
static int bind_any(struct cm_id *id, uint16_t *port)
{
	const uint16_t asked = *port;
	int tries = PORT_TRIES;

	while (bind_each(id, port) < 0) {
		if (asked || errno != EADDRINUSE || !--tries)
			return -1;
		cm_legs_drop(id);
		*port = 0;
	}
	return 0;
}

static int bind_ip(struct cm_id *id, uint32_t ip, uint16_t *port)
{
	struct cm_device *dev = cm_device_by_ip(ip);

	if (!dev)
		return cm_error(not_ours(ip));
	return leg_bind(id, dev, port) < 0 ? -1 : cm_id_attach(id, dev);
}

/* Address of this machine on any NIC. libfabric uses it for a server without a given address. */
static bool is_any(uint32_t ip)
{
	return ip == INADDR_ANY || ntohl(ip) >> 24 == IN_LOOPBACKNET;
}

CM_API int rdma_bind_addr(struct rdma_cm_id *pub, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(pub);
	uint16_t port;
	uint32_t ip;
	int err, rc;

	if (!addr || id->state != CM_ID_IDLE)
		return cm_error(EINVAL);
	err = cm_addr_get(addr, &ip, &port);
	if (err)
		return cm_error(err);
	rc = is_any(ip) ? bind_any(id, &port) : bind_ip(id, ip, &port);
	if (rc < 0) {
		err = errno;
		cm_legs_drop(id);
		return cm_error(err);
	}
	memcpy(src(id), addr,
	       addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
	cm_addr_set_port(src(id), port);
	id->state = CM_ID_BOUND;
	return 0;
}

/* ---- the active side ------------------------------------------------------------------------ */

/* Binds to the NIC with a route to ip, unless the program chose one. */
static int towards(struct cm_id *id, uint32_t ip)
{
	struct cm_device *dev;
	uint16_t port = 0;

	if (id->dev)
		return 0;
	dev = cm_device_towards(ip);
	if (!dev)
		return cm_error(ENODEV);
	if (id->state == CM_ID_IDLE) {
		if (leg_bind(id, dev, &port) < 0)
			return -1;
		id->any_port = true;
	} else {
		port = cm_addr_port(src(id));
		cm_legs_keep(id, dev);
	}
	cm_addr_set(src(id), dev->ip, port);
	id->state = CM_ID_BOUND;
	return id->num_legs ? cm_id_attach(id, dev) : cm_error(ENODEV);
}

static bool is_set(const struct sockaddr *addr)
{
	uint32_t ip;
	uint16_t port;

	return addr && addr->sa_family && (cm_addr_get(addr, &ip, &port) || ip || port);
}

CM_API int rdma_resolve_addr(struct rdma_cm_id *pub, struct sockaddr *from, struct sockaddr *to,
			     int timeout_ms)
{
	struct cm_id *id = cm_id_of(pub);
	uint16_t port;
	uint32_t ip;
	int rc;

	if (!to || (id->state != CM_ID_IDLE && id->state != CM_ID_BOUND))
		return cm_error(EINVAL);
	rc = cm_addr_get(to, &ip, &port);
	if (rc)
		return cm_error(rc);
	if (id->state == CM_ID_IDLE && is_set(from) && rdma_bind_addr(pub, from) < 0)
		return -1;
	if (towards(id, ip) < 0)
		return -1;
	/* An address of this machine: use the NIC's own. */
	if (is_any(ip))
		ip = id->dev->ip;
	cm_addr_set(dst(id), ip, port);
	cm_gid(ip, &pub->route.addr.addr.ibaddr.dgid);
	id->state = CM_ID_ADDR_QUERY;
	rc = weft_cm_resolve(id->dev->weft, id->legs[0].ep, ip,
			     timeout_ms > 0 ? (uint32_t)timeout_ms : 0);
	if (rc < 0) {
		id->state = CM_ID_BOUND;
		return cm_error(-rc);
	}
	return cm_complete(id);
}

/* A RoCE device has a path record; an iWARP device has none. */
static int set_path(struct cm_id *id)
{
	struct ibv_sa_path_rec *path;

	if (!id->dev->is_ib)
		return 0;
	path = calloc(1, sizeof(*path));
	if (!path)
		return cm_error(ENOMEM);
	path->dgid = id->pub.route.addr.addr.ibaddr.dgid;
	path->sgid = id->pub.route.addr.addr.ibaddr.sgid;
	path->hop_limit = CM_HOP_LIMIT;
	path->traffic_class = id->tos;
	path->reversible = 1;
	path->numb_path = 1;
	path->pkey = htons(CM_PKEY);
	path->mtu = (uint8_t)cm_mtu(id->dev->mtu);
	path->packet_life_time = CM_ACK_TIMEOUT - 1;
	free(id->pub.route.path_rec);
	id->pub.route.path_rec = path;
	id->pub.route.num_paths = 1;
	return 0;
}

CM_API int rdma_resolve_route(struct rdma_cm_id *pub, int timeout_ms)
{
	struct cm_id *id = cm_id_of(pub);

	(void)timeout_ms;
	if (id->state != CM_ID_ADDR_RESOLVED)
		return cm_error(EINVAL);
	if (set_path(id) < 0)
		return -1;
	id->state = CM_ID_ROUTE_RESOLVED;
	if (cm_event_local(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0) < 0)
		return -1;
	return cm_complete(id);
}

static int check_param(const struct cm_id *id, const struct rdma_conn_param *param)
{
	if (id->pub.ps != RDMA_PS_TCP)
		return 0;
	if (!id->pub.qp && !param)
		return cm_error(EINVAL);
	if (!param)
		return 0;
	if ((param->responder_resources != RDMA_MAX_RESP_RES &&
	     param->responder_resources > id->dev->max_rd_atomic) ||
	    (param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	     param->initiator_depth > id->dev->max_rd_atomic))
		return cm_error(EINVAL);
	return 0;
}

/* Parameters sent to the peer. The depths are those of the identifier. */
static void fill_param(const struct cm_id *id, const struct rdma_conn_param *param,
		       struct hw_cm_param *hw)
{
	const struct ibv_qp *qp = id->pub.qp;

	*hw = (struct hw_cm_param){
	    .qpn = qp      ? qp->qp_num
		   : param ? param->qp_num
			   : 0,
	    .qkey = cm_is_ud(id) ? RDMA_UDP_QKEY : 0,
	    .mtu = id->dev->mtu,
	    .responder_resources = id->responder_resources,
	    .initiator_depth = id->initiator_depth,
	    .retry_count = param ? param->retry_count : CM_RETRY_COUNT,
	    .rnr_retry_count = param ? param->rnr_retry_count : CM_RETRY_COUNT,
	    .flow_control = param ? param->flow_control != 0 : 1,
	    .srq = qp ? qp->srq != NULL : param && param->srq,
	    .qp_type = (uint8_t)id->pub.qp_type,
	};
}

/* Returns the lower layer of its connections on that NIC. */
static const struct weft_cm_llp *llp(const struct cm_id *id, const struct cm_device *dev)
{
	static const struct weft_cm_llp tcp = {.transport = HW_CM_TRANSPORT_TCP};

	return cm_is_tcp(id, dev) ? &tcp : NULL;
}

struct private
{
	struct weft_cm_data cm;
	uint8_t data[UINT8_MAX]; /* length limit of rdma_conn_param */
};

/*
 * Concatenates the private data from rdma_create_ep() and that of the call. Returns 0, or -1 and
 * errno.
 */
static int private_of(const struct cm_id *id, const struct rdma_conn_param *param,
		      struct private *p)
{
	size_t more = param && param->private_data ? param->private_data_len : 0;

	if (id->connect_bytes > sizeof(p->data) || more > sizeof(p->data) - id->connect_bytes)
		return cm_error(EINVAL);
	if (id->connect_bytes)
		memcpy(p->data, id->connect_data, id->connect_bytes);
	if (more)
		memcpy(p->data + id->connect_bytes, param->private_data, more);
	p->cm = (struct weft_cm_data){p->data, (uint32_t)(id->connect_bytes + more)};
	return 0;
}

/*
 * Replaces an automatically chosen port whose previous connection to that peer is still remembered.
 */
static int other_port(struct cm_id *id)
{
	struct cm_device *dev = id->dev;
	uint16_t port = 0;

	cm_legs_drop(id);
	if (leg_bind(id, dev, &port) < 0)
		return -errno;
	cm_addr_set_port(src(id), port);
	return 0;
}

static int connect_leg(struct cm_id *id, uint32_t ip, uint16_t port, const struct hw_cm_param *hw,
		       const struct weft_cm_data *data)
{
	int rc = -EADDRNOTAVAIL;

	for (int i = 0; i < PORT_TRIES && rc == -EADDRNOTAVAIL; i++) {
		if (i && (!id->any_port || (rc = other_port(id)) < 0))
			break;
		rc = weft_cm_connect(id->dev->weft, id->legs[0].ep, ip, port, cm_is_ud(id),
				     llp(id, id->dev), hw, data);
	}
	return rc;
}

CM_API int rdma_connect(struct rdma_cm_id *pub, struct rdma_conn_param *param)
{
	struct cm_id *id = cm_id_of(pub);
	struct private data;
	struct hw_cm_param hw;
	uint16_t port;
	uint32_t ip;
	int rc;

	if (id->state != CM_ID_ROUTE_RESOLVED || cm_addr_get(dst(id), &ip, &port))
		return cm_error(EINVAL);
	if (check_param(id, param) < 0 || private_of(id, param, &data) < 0)
		return -1;
	id->responder_resources = param && param->responder_resources != RDMA_MAX_RESP_RES
				      ? param->responder_resources
				      : id->dev->max_rd_atomic;
	id->initiator_depth = param && param->initiator_depth != RDMA_MAX_INIT_DEPTH
				  ? param->initiator_depth
				  : id->dev->max_rd_atomic;
	fill_param(id, param, &hw);
	id->over_tcp = cm_is_tcp(id, id->dev);
	id->retry_count = hw.retry_count;
	id->state = CM_ID_CONNECT;
	rc = connect_leg(id, ip, port, &hw, &data.cm);
	if (rc < 0) {
		id->state = CM_ID_ROUTE_RESOLVED;
		return cm_error(-rc);
	}
	id->connect_bytes = 0;
	return cm_complete(id);
}

CM_API int rdma_establish(struct rdma_cm_id *pub)
{
	struct cm_id *id = cm_id_of(pub);

	if (pub->qp || !id->num_legs || cm_is_ud(id))
		return cm_error(EINVAL);
	return cm_result(weft_cm_accept(id->dev->weft, id->legs[0].ep, NULL, NULL));
}

/* ---- the passive side ----------------------------------------------------------------------- */

CM_API int rdma_listen(struct rdma_cm_id *pub, int backlog)
{
	struct cm_id *id = cm_id_of(pub);
	struct sockaddr_in any = {.sin_family = AF_INET};
	int rc;

	if (id->state == CM_ID_IDLE && rdma_bind_addr(pub, (struct sockaddr *)&any) < 0)
		return -1;
	if (id->state != CM_ID_BOUND)
		return cm_error(EINVAL);
	for (int i = 0; i < id->num_legs; i++) {
		rc = weft_cm_listen(id->legs[i].dev->weft, id->legs[i].ep,
				    backlog > 0 ? (uint32_t)backlog : 0, llp(id, id->legs[i].dev));
		if (rc < 0)
			return cm_error(-rc);
	}
	id->state = CM_ID_LISTEN;
	return 0;
}

CM_API int rdma_accept(struct rdma_cm_id *pub, struct rdma_conn_param *param)
{
	struct cm_id *id = cm_id_of(pub);
	struct private data;
	struct hw_cm_param hw;
	int rc;

	if (!id->passive || id->state != CM_ID_CONNECT)
		return cm_error(EINVAL);
	if (check_param(id, param) < 0 || private_of(id, param, &data) < 0)
		return -1;
	if (param && param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		id->initiator_depth = param->initiator_depth;
	if (param && param->responder_resources != RDMA_MAX_RESP_RES)
		id->responder_resources = param->responder_resources;
	if (id->initiator_depth > id->dev->max_rd_atomic)
		id->initiator_depth = id->dev->max_rd_atomic;
	if (id->responder_resources > id->dev->max_rd_atomic)
		id->responder_resources = id->dev->max_rd_atomic;
	if (pub->qp && !cm_is_ud(id) && cm_qp_connect(id) < 0)
		return -1;
	fill_param(id, param, &hw);
	rc = weft_cm_accept(id->dev->weft, id->legs[0].ep, &hw, &data.cm);
	if (rc < 0) {
		cm_qp_fail(id);
		return cm_error(-rc);
	}
	if (!cm_is_ud(id))
		return cm_complete(id);
	/* No event follows: the request's event was the last one. */
	if (id->sync)
		cm_event_drop(id);
	return 0;
}

static int reject(struct rdma_cm_id *pub, const void *private_data, uint8_t bytes, uint32_t reason)
{
	struct cm_id *id = cm_id_of(pub);
	struct weft_cm_data data = {private_data, private_data ? bytes : 0};

	if (!id->dev || !id->num_legs)
		return cm_error(EINVAL);
	return cm_result(
	    weft_cm_reject(id->dev->weft, id->legs[0].ep, (enum hw_cm_reason)reason, &data));
}

CM_API int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return reject(id, private_data, private_data_len, HW_CM_REJ_CONSUMER);
}

CM_API int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
			   uint8_t private_data_len)
{
	return reject(id, private_data, private_data_len, HW_CM_REJ_VENDOR_OPTION);
}

CM_API int rdma_disconnect(struct rdma_cm_id *pub)
{
	struct cm_id *id = cm_id_of(pub);
	int rc;

	if (!id->dev || !id->num_legs)
		return cm_error(EINVAL);
	cm_qp_fail(id);
	rc = weft_cm_disconnect(id->dev->weft, id->legs[0].ep);
	if (rc < 0)
		return cm_error(-rc);
	return cm_is_ud(id) ? 0 : cm_complete(id);
}

/* Accepts the events of which an iWARP device needs no notification. */
CM_API int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	if (!id->verbs || event != IBV_EVENT_COMM_EST)
		return cm_error(EINVAL);
	return 0;
}
