/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Destinations of datagrams: resolves an address to a QPN, and answers such requests from peers.
 *
 * A request is a connection of rdma_cm's UD port space (a SIDR exchange). The answer is an address
 * handle and a QPN. Resolution does not block: datagrams sent meanwhile are queued and sent by the
 * connection thread. Calls rs_end.c and rdma_cm.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/rs_dgram.h"
#include "lib/clock.h"

static void drop_pending(struct rs_dest *d)
{
	rs_parts_free(&d->pending);
	d->pending_end = &d->pending;
	d->num_pending = 0;
}

struct rdma_cm_id *rs_dest_free(struct rs_dest *d)
{
	struct rdma_cm_id *id = d->id;

	drop_pending(d);
	if (d->ah)
		(void)ibv_destroy_ah(d->ah);
	free(d);
	return id;
}

static int ask(struct rs *rs, struct rs_dest *d)
{
	struct sockaddr_in to = d->addr, from = {.sin_family = AF_INET};
	struct sockaddr *src = NULL;
	int rc = rs_cm_id(rs, RDMA_PS_UDP, &d->id);

	if (rc < 0)
		return rc;
	/* A socket with an end on one NIC sends the request from there. */
	if (rs->dgram->num_ends == 1) {
		from.sin_addr = rs->dgram->ends[0]->addr.sin_addr;
		src = (struct sockaddr *)&from;
	}
	d->since_ns = clock_now_ns();
	if (rdma_resolve_addr(d->id, src, (struct sockaddr *)&to, RS_RESOLVE_MS) == 0)
		return 0;
	rc = -errno;
	(void)rdma_destroy_id(d->id);
	d->id = NULL;
	return rc;
}

/* Evicts the least recently used destination, if possible. */
static void forget_one(struct rs_dgram *dg)
{
	struct rs_dest **at = &dg->dests, **last = NULL, *d;

	for (; *at; at = &(*at)->next)
		if (!(*at)->id && (!(*at)->end || (*at)->end->num_free == (*at)->end->num_send))
			last = at;
	if (!last)
		return;
	d = *last;
	*last = d->next;
	dg->num_dests--;
	(void)rs_dest_free(d);
}

static struct rs_dest *new_dest(struct rs *rs, const struct sockaddr_in *addr, int *rc)
{
	struct rs_dgram *dg = rs->dgram;
	struct rs_dest *d;

	if (dg->num_dests == RS_DESTS_MAX)
		forget_one(dg);
	d = dg->num_dests < RS_DESTS_MAX ? calloc(1, sizeof(*d)) : NULL;
	*rc = d ? 0 : -ENOBUFS;
	if (!d)
		return NULL;
	d->addr = *addr;
	d->state = RS_DEST_ASKED;
	d->pending_end = &d->pending;
	*rc = ask(rs, d);
	if (*rc < 0) {
		free(d);
		return NULL;
	}
	dg->num_dests++;
	return d;
}

/*
 * Age at which a destination is resolved again. A known destination stays in use until the answer
 * arrives.
 */
static uint64_t ask_again_ns(const struct rs_dest *d)
{
	return (d->state == RS_DEST_SILENT ? RS_DEST_FORGET_MS : RS_DEST_REFRESH_MS) *
	       (uint64_t)1000000;
}

struct rs_dest *rs_dest_get(struct rs *rs, const struct sockaddr_in *addr, int *rc)
{
	struct rs_dgram *dg = rs->dgram;
	struct rs_dest **at = &dg->dests, *d;

	while ((d = *at) != NULL && (d->addr.sin_port != addr->sin_port ||
				     d->addr.sin_addr.s_addr != addr->sin_addr.s_addr))
		at = &d->next;
	*rc = 0;
	if (d)
		*at = d->next;
	else
		d = new_dest(rs, addr, rc);
	if (!d)
		return NULL;
	d->next = dg->dests;
	dg->dests = d;
	if (!d->id && clock_now_ns() - d->since_ns > ask_again_ns(d)) {
		*rc = ask(rs, d);
		if (*rc == 0 && d->state == RS_DEST_SILENT)
			d->state = RS_DEST_ASKED;
		/* The previous answer remains valid until a new one arrives. */
		if (d->state == RS_DEST_KNOWN)
			*rc = 0;
	}
	return *rc < 0 ? NULL : d;
}

int rs_dest_later(struct rs_dest *d, const struct iovec *iov, int iovcnt, uint32_t bytes)
{
	struct rs_packet *p;
	uint32_t at = 0;

	/* Like an ARP queue, a destination keeps a limited number of pending datagrams. */
	if (d->num_pending == RS_DEST_PENDING_MAX)
		return 0;
	p = calloc(1, sizeof(*p) + bytes);
	if (!p)
		return -ENOBUFS;
	p->data = (uint8_t *)(p + 1);
	p->bytes = bytes;
	for (int i = 0; i < iovcnt; i++) {
		if (iov[i].iov_len)
			memcpy(p->data + at, iov[i].iov_base, iov[i].iov_len);
		at += (uint32_t)iov[i].iov_len;
	}
	*d->pending_end = p;
	d->pending_end = &p->next;
	d->num_pending++;
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void send_pending(struct rs *rs, struct rs_dest *d)
{
	for (struct rs_packet *p = d->pending; p; p = p->next) {
		struct iovec iov = {p->data, p->bytes};

		int rc = rs_end_send(rs, d, &iov, 1, p->bytes);

		/* A datagram without a buffer is lost. */
		if (rc < 0)
			rs->error = -rc;
	}
	drop_pending(d);
}

/* Stores the answer. Returns 0 or a negative errno. */
static int known(struct rs *rs, struct rs_dest *d, struct rdma_cm_event *event)
{
	struct rs_end *end = rs_end_of(rs->dgram, event->id->verbs);
	struct rdma_ud_param *ud = &event->param.ud;

	if (!end)
		return -ENETUNREACH;
	/* The handle remains correct for its address; a handle in use cannot be destroyed. */
	if (d->ah && d->end != end && d->end->num_free == d->end->num_send) {
		(void)ibv_destroy_ah(d->ah);
		d->ah = NULL;
	}
	if (!d->ah) {
		d->ah = ibv_create_ah(end->id->qp->pd, &ud->ah_attr);
		d->end = end;
	}
	if (!d->ah)
		return -errno;
	if (d->end != end)
		return 0;
	d->qpn = ud->qp_num;
	d->qkey = ud->qkey;
	d->state = RS_DEST_KNOWN;
	send_pending(rs, d);
	return 0;
}

/* Sends the request. It names the port of the socket, which differs from that of the id. */
static int ask_port(struct rs *rs, struct rs_dest *d)
{
	struct rs_end *end = rs_end_of(rs->dgram, d->id->verbs);
	struct rs_wire_ask ask = {.magic = be32_put(RS_WIRE_DGRAM_MAGIC)};
	struct rdma_conn_param param = {
	    .private_data = &ask, .private_data_len = sizeof(ask), .retry_count = 7};

	if (!end)
		return -ENETUNREACH;
	memcpy(&ask.port, &end->addr.sin_port, sizeof(ask.port));
	memcpy(ask.ip, &end->addr.sin_addr, sizeof(ask.ip));
	return rdma_connect(d->id, &param) < 0 ? -errno : 0;
}

static int next_step(struct rs *rs, struct rs_dest *d, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED)
		return rdma_resolve_route(d->id, RS_RESOLVE_MS) < 0 ? -errno : 0;
	if (event->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		return ask_port(rs, d);
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		return known(rs, d, event);
	return event->event == RDMA_CM_EVENT_UNREACHABLE || event->event == RDMA_CM_EVENT_REJECTED
		   ? -ECONNREFUSED
		   : -EHOSTUNREACH;
}

/* Handles the answer. Returns the id when it is no longer needed. Under the lock. */
static struct rdma_cm_id *answer(struct rs *rs, struct rdma_cm_event *event)
{
	struct rs_dest *d = rs->dgram ? rs->dgram->dests : NULL;
	struct rdma_cm_id *id;
	int rc;

	while (d && d->id != event->id)
		d = d->next;
	if (!d)
		return NULL;
	rc = next_step(rs, d, event);
	if (rc == 0 && event->event != RDMA_CM_EVENT_ESTABLISHED)
		return NULL;
	if (rc < 0) {
		d->state = RS_DEST_SILENT;
		d->since_ns = clock_now_ns();
		drop_pending(d);
		if (rs->peer.ss_family)
			rs->error = -rc;
	}
	rs_wake(rs);
	id = d->id;
	d->id = NULL;
	return id;
}

/* Answers a peer's request for the QPN of our address. */
static void tell(struct rdma_cm_event *event)
{
	struct sockaddr_in to, asker = {.sin_family = AF_INET};
	struct rdma_conn_param param = {0};
	const struct sockaddr_in *from;
	struct rs_wire_ask ask;

	memcpy(&to, rdma_get_local_addr(event->listen_id), sizeof(to));
	if (event->param.ud.private_data && event->param.ud.private_data_len >= sizeof(ask)) {
		memcpy(&ask, event->param.ud.private_data, sizeof(ask));
		memcpy(&asker.sin_port, &ask.port, sizeof(asker.sin_port));
		/*
		 * The address is taken from the packet's source; the address field of the request
		 * is not trusted.
		 */
		from = (const struct sockaddr_in *)(const void *)rdma_get_peer_addr(event->id);
		asker.sin_addr = from->sin_addr;
	}
	param.qp_num = rs_share_qpn(&to, &asker);
	/* A requester that misses the answer repeats the request. */
	if (param.qp_num)
		(void)rdma_accept(event->id, &param);
	else
		(void)rdma_reject(event->id, NULL, 0);
}

struct rdma_cm_id *rs_dgram_cm_event(struct rs *rs, struct rdma_cm_event *event)
{
	struct rdma_cm_id *drop = NULL;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		tell(event);
		return event->id;
	}
	pthread_mutex_lock(&rs->lock);
	drop = answer(rs, event);
	pthread_mutex_unlock(&rs->lock);
	return drop;
}
