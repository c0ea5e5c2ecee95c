/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Behaviour of librdmacm, for cm_calls.c: rdma_create_ep() and its synchronous calls,
 * rdma_getaddrinfo(), groups.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/clients/cm_calls.h"

/* ---- endpoints */

struct endpoint {
	struct rdma_cm_id *listen;
	pthread_t thread;
	bool refuse;
};

static void *serve(void *arg)
{
	struct endpoint *ep = arg;
	static uint8_t mem[64];
	uint8_t said[LONGEST];
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	CHECK(rdma_get_request(ep->listen, &id) == 0);
	check_data(id->event, 20, 1);
	if (ep->refuse) {
		CHECK(rdma_reject(id, pattern(said, 9, 5), 9) == 0);
		rdma_destroy_ep(id);
		return NULL;
	}
	mr = rdma_reg_msgs(id, mem, sizeof(mem));
	CHECK(mr && rdma_post_recv(id, NULL, mem, sizeof(mem), mr) == 0);
	CHECK(rdma_accept(id, NULL) == 0);
	CHECK(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(wc.byte_len == 33 && is_pattern(mem, 33, 44));
	CHECK(rdma_disconnect(id) == 0);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return NULL;
}

static void serve_begin(struct endpoint *ep, char *port, size_t bytes)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP};
	struct ibv_qp_init_attr init = qp_init(NULL);
	struct rdma_addrinfo *res;
	char name[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &addr[1], name, sizeof(name));
	CHECK(rdma_getaddrinfo(name, "0", &hints, &res) == 0);
	CHECK(res->ai_flags & RAI_PASSIVE && res->ai_family == AF_INET);
	CHECK(res->ai_qp_type == IBV_QPT_RC && res->ai_port_space == RDMA_PS_TCP);
	CHECK(res->ai_src_len == sizeof(struct sockaddr_in) && !res->ai_dst_len);
	CHECK(rdma_create_ep(&ep->listen, res, NULL, &init) == 0);
	rdma_freeaddrinfo(res);
	CHECK(rdma_listen(ep->listen, 4) == 0);
	snprintf(port, bytes, "%u", ntohs(rdma_get_src_port(ep->listen)));
	CHECK(pthread_create(&ep->thread, NULL, serve, ep) == 0);
}

/* The hints' source address, and private data that precedes that of rdma_connect(). */
static struct rdma_cm_id *active(const char *port)
{
	struct sockaddr_in from = at(addr[0], 0);
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP,
				      .ai_flags = RAI_NUMERICHOST,
				      .ai_src_len = sizeof(from),
				      .ai_src_addr = sa(&from)};
	struct ibv_qp_init_attr init = qp_init(NULL);
	struct rdma_addrinfo *res;
	char name[INET_ADDRSTRLEN];
	struct rdma_cm_id *id;

	inet_ntop(AF_INET, &addr[1], name, sizeof(name));
	CHECK(rdma_getaddrinfo(name, port, &hints, &res) == 0);
	CHECK(res->ai_dst_len == sizeof(from) && res->ai_src_len == sizeof(from));
	CHECK(memcmp(res->ai_src_addr, &from, sizeof(from)) == 0);
	res->ai_connect = malloc(12);
	CHECK(res->ai_connect);
	pattern(res->ai_connect, 12, 1);
	res->ai_connect_len = 12;
	CHECK(rdma_create_ep(&id, res, NULL, &init) == 0);
	rdma_freeaddrinfo(res);
	CHECK(id->qp && id->send_cq && id->recv_cq && id->pd);
	CHECK(((struct sockaddr_in *)rdma_get_local_addr(id))->sin_addr.s_addr == addr[0].s_addr);
	return id;
}

void endpoints(bool refuse)
{
	struct endpoint ep = {.refuse = refuse};
	static uint8_t mem[64];
	uint8_t more[LONGEST];
	struct rdma_conn_param param = {.private_data = pattern(more, LONGEST, 13),
					.private_data_len = 244,
					.rnr_retry_count = 7};
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char port[8];

	serve_begin(&ep, port, sizeof(port));
	id = active(port);
	mr = rdma_reg_msgs(id, pattern(mem, sizeof(mem), 44), sizeof(mem));
	CHECK(mr);
	/* together one byte too much */
	FAILS(rdma_connect(id, &param), EINVAL);
	param.private_data_len = 8;
	if (refuse) {
		FAILS(rdma_connect(id, &param), ECONNREFUSED);
		CHECK(id->event && id->event->event == RDMA_CM_EVENT_REJECTED);
		check_data(id->event, 9, 5);
	} else {
		CHECK(rdma_connect(id, &param) == 0);
		CHECK(rdma_post_send(id, NULL, mem, 33, mr, IBV_SEND_SIGNALED) == 0);
		CHECK(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
		CHECK(rdma_disconnect(id) == 0);
	}
	CHECK(pthread_join(ep.thread, NULL) == 0);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(ep.listen);
}

void names(void)
{
	struct sockaddr_in to = at(addr[1], 7);
	struct rdma_addrinfo numeric = {.ai_flags = RAI_NUMERICHOST};
	struct rdma_addrinfo datagram = {.ai_qp_type = IBV_QPT_UD, .ai_port_space = RDMA_PS_UDP};
	struct rdma_addrinfo only = {.ai_family = AF_INET,
				     .ai_port_space = RDMA_PS_TCP,
				     .ai_qp_type = IBV_QPT_RC,
				     .ai_dst_len = sizeof(to),
				     .ai_dst_addr = sa(&to)};
	struct rdma_addrinfo *res;

	FAILS(rdma_getaddrinfo(NULL, NULL, NULL, &res), EINVAL);
	CHECK(rdma_getaddrinfo("no-number", "1", &numeric, &res) != 0);
	CHECK(rdma_getaddrinfo("127.0.0.1", "no-such-service", &numeric, &res) != 0);
	CHECK(rdma_getaddrinfo("127.0.0.1", "7471", &datagram, &res) == 0);
	CHECK(res->ai_qp_type == IBV_QPT_UD && res->ai_port_space == RDMA_PS_UDP);
	CHECK(ntohs(((struct sockaddr_in *)res->ai_dst_addr)->sin_port) == 7471);
	rdma_freeaddrinfo(res);
	CHECK(rdma_getaddrinfo(NULL, NULL, &only, &res) == 0);
	CHECK(res->ai_dst_len == sizeof(to) && memcmp(res->ai_dst_addr, &to, sizeof(to)) == 0);
	rdma_freeaddrinfo(res);
}

/* ---- groups */

static void joined(struct member *m, struct sockaddr_in *group, bool send_only)
{
	struct rdma_cm_join_mc_attr_ex attr = {
	    .comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
	    .join_flags =
		send_only ? RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER : RDMA_MC_JOIN_FLAG_FULLMEMBER,
	    .addr = sa(group)};
	struct rdma_cm_event *event;

	if (send_only)
		CHECK(rdma_join_multicast_ex(m->id, &attr, m) == 0);
	else
		CHECK(rdma_join_multicast(m->id, sa(group), m) == 0);
	event = next(m->channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	CHECK(event->id == m->id && event->param.ud.private_data == m);
	CHECK(event->param.ud.qp_num == 0xffffff && event->param.ud.ah_attr.is_global);
	member_ah(m, &event->param.ud);
	rdma_ack_cm_event(event);
}

/*
 * Two groups: B is in the first for a while, in the second always. Datagrams of A to the first and
 * then to the second arrive in this order, or the second alone.
 */
void groups(void)
{
	const uint32_t own = (uint32_t)getpid() & 0xffff; /* several may run at once */
	struct sockaddr_in first = at((struct in_addr){htonl(0xef4d0000 | own)}, 0);
	struct sockaddr_in second = at((struct in_addr){htonl(0xef4e0000 | own)}, 0);
	struct rdma_cm_join_mc_attr_ex bad = {.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS,
					      .addr = sa(&first)};
	struct ibv_ah *to_first;
	struct member a, b;

	member_new(&a, addr[0]);
	member_new(&b, addr[1]);
	FAILS(rdma_join_multicast_ex(a.id, &bad, NULL), EINVAL);
	FAILS(rdma_leave_multicast(a.id, sa(&first)), EADDRNOTAVAIL);
	joined(&a, &first, true);
	to_first = a.ah;
	a.ah = NULL;
	joined(&a, &second, true);
	joined(&b, &second, false);
	joined(&b, &first, false);
	member_send(&a, to_first, 1);
	member_send(&a, a.ah, 2);
	CHECK(member_receive(&b) == 1);
	CHECK(member_receive(&b) == 2);
	CHECK(rdma_leave_multicast(b.id, sa(&first)) == 0);
	FAILS(rdma_leave_multicast(b.id, sa(&first)), EADDRNOTAVAIL);
	member_send(&a, to_first, 3);
	member_send(&a, a.ah, 4);
	CHECK(member_receive(&b) == 4);
	/* a member that only sends receives nothing */
	joined(&b, &first, true);
	member_send(&a, to_first, 5);
	member_send(&a, a.ah, 6);
	CHECK(member_receive(&b) == 6);
	ibv_destroy_ah(to_first);
	member_free(&a);
	member_free(&b);
}
