/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends of connections and members of groups; see cm_ends.h. Used by cm_calls.c.
 */
#define _GNU_SOURCE
#include "tests/clients/cm_ends.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	QUEUE_WR = 16,
	GRH_BYTES = 40,
	TIMEOUT_MS = 5000,
	BACKLOG = 8,
};

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

struct sockaddr_in at(struct in_addr addr, uint16_t port)
{
	return (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_addr = addr, .sin_port = htons(port)};
}

struct rdma_event_channel *channel_new(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	CHECK(channel);
	return channel;
}

struct rdma_cm_id *id_new(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	static int context;
	struct rdma_cm_id *id;

	CHECK(rdma_create_id(channel, &id, &context, ps) == 0);
	CHECK(id->channel == channel && id->context == &context && id->ps == ps);
	return id;
}

struct ibv_qp_init_attr qp_init(struct rdma_cm_id *id)
{
	return (struct ibv_qp_init_attr){.qp_context = id,
					 .qp_type = id ? id->qp_type : IBV_QPT_RC,
					 .cap = {.max_send_wr = QUEUE_WR,
						 .max_recv_wr = QUEUE_WR,
						 .max_send_sge = 1,
						 .max_recv_sge = 1}};
}

int id_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = qp_init(id);

	return rdma_create_qp(id, NULL, &init);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* RoCE devices report the end of TIME-WAIT some time after the end, iWARP ones never. */
static bool is_timewait(struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT)
		return false;
	CHECK(rdma_ack_cm_event(event) == 0);
	return true;
}

struct rdma_cm_event *next(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	alarm(LIMIT_S);
	do {
		CHECK(rdma_get_cm_event(channel, &event) == 0);
	} while (is_timewait(event));
	alarm(0);
	if (event->event != type)
		die("%s (status %d) where %s was due", rdma_event_str(event->event), event->status,
		    rdma_event_str(type));
	return event;
}

void done(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next(channel, type);

	CHECK(event->status == 0);
	CHECK(rdma_ack_cm_event(event) == 0);
}

void readable(struct rdma_event_channel *channel)
{
	struct pollfd pfd = {.fd = channel->fd, .events = POLLIN};

	CHECK(poll(&pfd, 1, LIMIT_S * 1000) == 1);
}

void no_event(struct rdma_event_channel *channel)
{
	int flags = fcntl(channel->fd, F_GETFL);
	struct rdma_cm_event *event;

	CHECK(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) == 0);
	errno = 0;
	while (rdma_get_cm_event(channel, &event) == 0)
		if (!is_timewait(event))
			die("%s where nothing was due", rdma_event_str(event->event));
	CHECK(errno == EAGAIN);
	CHECK(fcntl(channel->fd, F_SETFL, flags) == 0);
}

void wait_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	alarm(LIMIT_S);
	while (ibv_poll_cq(cq, 1, wc) == 0)
		;
	alarm(0);
}

/* ---- connections ----------------------------------------------------------------------------- */

void ends_new(struct ends *e, const struct in_addr addr[2], enum rdma_port_space ps)
{
	struct sockaddr_in from = at(addr[0], 0);

	memset(e, 0, sizeof(*e));
	e->to = at(addr[1], 0);
	e->client = channel_new();
	e->server = channel_new();
	e->listener = id_new(e->server, ps);
	CHECK(rdma_bind_addr(e->listener, sa(&e->to)) == 0);
	CHECK(rdma_listen(e->listener, BACKLOG) == 0);
	e->to.sin_port = rdma_get_src_port(e->listener);
	e->id = id_new(e->client, ps);
	CHECK(rdma_bind_addr(e->id, sa(&from)) == 0 && e->id->verbs);
}

void ends_resolve(struct ends *e)
{
	CHECK(rdma_resolve_addr(e->id, NULL, sa(&e->to), TIMEOUT_MS) == 0);
	done(e->client, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(rdma_resolve_route(e->id, TIMEOUT_MS) == 0);
	done(e->client, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

bool ends_over_tcp(const struct ends *e)
{
	return e->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

void ends_request(struct ends *e, struct rdma_conn_param *param)
{
	struct rdma_cm_event *event;

	CHECK(id_qp(e->id) == 0);
	CHECK(rdma_connect(e->id, param) == 0);
	event = next(e->server, RDMA_CM_EVENT_CONNECT_REQUEST);
	e->peer = event->id;
	/* MPA carries no QPN. */
	CHECK(event->param.conn.qp_num == (ends_over_tcp(e) ? 0 : e->id->qp->qp_num));
	CHECK(rdma_ack_cm_event(event) == 0);
	CHECK(id_qp(e->peer) == 0);
}

void ends_connect(struct ends *e, struct rdma_conn_param *param)
{
	ends_request(e, param);
	CHECK(rdma_accept(e->peer, param) == 0);
	done(e->client, RDMA_CM_EVENT_ESTABLISHED);
	done(e->server, RDMA_CM_EVENT_ESTABLISHED);
}

static void drop(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	CHECK(rdma_destroy_id(id) == 0);
}

void ends_drop_peer(struct ends *e)
{
	drop(e->peer);
	e->peer = NULL;
}

void ends_free(struct ends *e)
{
	no_event(e->client);
	no_event(e->server);
	if (e->peer)
		ends_drop_peer(e);
	drop(e->id);
	drop(e->listener);
	rdma_destroy_event_channel(e->client);
	rdma_destroy_event_channel(e->server);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void post_receive(struct member *m, uintptr_t slot)
{
	uint8_t *mem = m->mem[slot];

	CHECK(rdma_post_recv(m->id, wr_context(slot), mem, sizeof(m->mem[0]), m->mr) == 0);
}

bool is_pattern(const void *data, size_t bytes, uint8_t first)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < bytes; i++)
		if (p[i] != (uint8_t)(first + i))
			return false;
	return true;
}

void *pattern(uint8_t *data, size_t bytes, uint8_t first)
{
	for (size_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(first + i);
	return data;
}

void check_data(const struct rdma_cm_event *event, size_t bytes, uint8_t first)
{
	CHECK(event->param.conn.private_data_len == bytes);
	CHECK(is_pattern(event->param.conn.private_data, bytes, first));
}

void member_new(struct member *m, struct in_addr addr)
{
	struct sockaddr_in on = at(addr, 0);

	memset(m, 0, sizeof(*m));
	m->channel = channel_new();
	m->id = id_new(m->channel, RDMA_PS_UDP);
	CHECK(rdma_bind_addr(m->id, sa(&on)) == 0);
	CHECK(id_qp(m->id) == 0);
	m->mr = rdma_reg_msgs(m->id, m->mem, sizeof(m->mem));
	CHECK(m->mr);
	for (uintptr_t slot = 1; slot <= SLOTS; slot++)
		post_receive(m, slot);
}

void member_free(struct member *m)
{
	if (m->ah)
		CHECK(ibv_destroy_ah(m->ah) == 0);
	/* Destroying it leaves its groups. */
	rdma_destroy_qp(m->id);
	CHECK(rdma_dereg_mr(m->mr) == 0);
	CHECK(rdma_destroy_id(m->id) == 0);
	rdma_destroy_event_channel(m->channel);
}

void member_ah(struct member *m, struct rdma_ud_param *param)
{
	if (m->ah)
		CHECK(ibv_destroy_ah(m->ah) == 0);
	m->ah = ibv_create_ah(m->id->pd, &param->ah_attr);
	CHECK(m->ah);
	m->qpn = param->qp_num;
	m->qkey = param->qkey;
}

void member_send(struct member *m, struct ibv_ah *ah, uint8_t number)
{
	struct ibv_sge sge = {(uintptr_t)m->mem[0], 1, m->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.ud = {.ah = ah, .remote_qpn = m->qpn, .remote_qkey = m->qkey}};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	m->mem[0][0] = number;
	CHECK(ibv_post_send(m->id->qp, &wr, &bad) == 0);
	wait_wc(m->id->send_cq, &wc);
	CHECK(wc.status == IBV_WC_SUCCESS);
}

uint8_t member_receive(struct member *m)
{
	struct ibv_wc wc;
	uint8_t number;

	wait_wc(m->id->recv_cq, &wc);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == GRH_BYTES + 1);
	number = m->mem[wc.wr_id][GRH_BYTES];
	post_receive(m, wc.wr_id);
	return number;
}
