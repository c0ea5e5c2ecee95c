/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Behaviour of librdmacm, call by call, between two NICs of a machine.
 *
 *	calls A B	everything below, one after the other
 *	quota A N	binds identifiers until there are no more: N
 *	dies A B	waits for the end of weftd: every identifier gets an event, once; then for
 *			the next weftd, and connects on its NICs
 *
 * A and B are the NICs' addresses. Built with Debian's headers and library by
 * tests/int/rdmacm_calls.sh, run with weft-run. Ends with status 1 at the first deviation from
 * rdma_cm(7).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/clients/cm_calls.h"

enum {
	WRS = 8,
	SPINS = 30,
};

struct in_addr addr[2];

/* ---- wrong calls ----------------------------------------------------------------------------- */

static void wrong_calls(void)
{
	struct rdma_event_channel *channel = channel_new();
	struct sockaddr_in on = at(addr[0], 0), other = at((struct in_addr){htonl(0xc0000207)}, 0);
	struct rdma_conn_param param = {.responder_resources = 255, .initiator_depth = 255};
	struct rdma_cm_id *id, *second;
	struct rdma_cm_event *event;
	struct ibv_qp_init_attr init = qp_init(NULL);

	FAILS(rdma_create_id(channel, &id, NULL, (enum rdma_port_space)7), EINVAL);
	id = id_new(channel, RDMA_PS_TCP);
	FAILS(rdma_resolve_route(id, 1000), EINVAL);
	FAILS(rdma_connect(id, &param), EINVAL);
	FAILS(rdma_accept(id, &param), EINVAL);
	FAILS(rdma_disconnect(id), EINVAL);
	FAILS(rdma_reject(id, NULL, 0), EINVAL);
	FAILS(rdma_create_qp(id, NULL, &init), EINVAL);
	FAILS(rdma_get_request(id, &second), EINVAL);
	FAILS(rdma_bind_addr(id, sa(&other)), EADDRNOTAVAIL);
	FAILS(rdma_join_multicast(id, sa(&other), NULL), EINVAL);
	FAILS(rdma_migrate_id(id, NULL) == 0 ? rdma_migrate_id(id, NULL) : -2, EINVAL);
	CHECK(rdma_migrate_id(id, channel) == 0);
	CHECK(rdma_bind_addr(id, sa(&on)) == 0 && rdma_get_src_port(id));
	FAILS(rdma_bind_addr(id, sa(&on)), EINVAL);
	FAILS(rdma_connect(id, &param), EINVAL);
	FAILS(rdma_resolve_route(id, 1000), EINVAL);
	CHECK(rdma_listen(id, 1) == 0);
	FAILS(rdma_listen(id, 1), EINVAL);
	FAILS(rdma_resolve_addr(id, NULL, sa(&on), 1000), EINVAL);
	FAILS(rdma_join_multicast(id, sa(&on), NULL), EINVAL);
	/* its port is taken */
	on.sin_port = rdma_get_src_port(id);
	second = id_new(channel, RDMA_PS_TCP);
	FAILS(rdma_bind_addr(second, sa(&on)), EADDRINUSE);
	rdma_destroy_id(second);
	/* the other space has ports of its own */
	second = id_new(channel, RDMA_PS_UDP);
	CHECK(rdma_bind_addr(second, sa(&on)) == 0);
	rdma_destroy_id(second);
	rdma_destroy_id(id);
	no_event(channel);
	FAILS(rdma_get_cm_event(NULL, &event), EINVAL);
	FAILS(rdma_ack_cm_event(NULL), EINVAL);
	rdma_destroy_event_channel(channel);
}

/* ---- private data ---------------------------------------------------------------------------- */

/* A listener on B, and an identifier of A that has a route to it. */
static void ready(struct ends *e, enum rdma_port_space ps)
{
	ends_new(e, addr, ps);
	ends_resolve(e);
}

static void rejected_with(uint8_t bytes)
{
	uint8_t asked[LONGEST], said[LONGEST];
	struct rdma_conn_param param = {
	    .qp_num = 1, .private_data = pattern(asked, bytes, 3), .private_data_len = bytes};
	struct rdma_cm_event *event;
	struct ends e;

	ready(&e, RDMA_PS_TCP);
	CHECK(rdma_connect(e.id, &param) == 0);
	event = next(e.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	check_data(event, bytes, 3);
	CHECK(event->listen_id == e.listener);
	e.peer = event->id;
	rdma_ack_cm_event(event);
	CHECK(rdma_reject(e.peer, pattern(said, bytes, 77), bytes) == 0);
	FAILS(rdma_reject(e.peer, said, bytes), EINVAL);
	event = next(e.client, RDMA_CM_EVENT_REJECTED);
	CHECK(event->status != 0 && event->id == e.id);
	check_data(event, bytes, 77);
	rdma_ack_cm_event(event);
	ends_free(&e);
}

/* Accepts with the longest private data; then the other end disconnects. */
static void accepted_with(uint8_t bytes, int who)
{
	uint8_t said[LONGEST];
	struct rdma_conn_param param = {.private_data = pattern(said, bytes, 99),
					.private_data_len = bytes,
					.responder_resources = 1,
					.initiator_depth = 1,
					.rnr_retry_count = 7};
	struct rdma_cm_event *event;
	struct ends e;

	ready(&e, RDMA_PS_TCP);
	ends_request(&e, &param);
	CHECK(rdma_accept(e.peer, &param) == 0);
	FAILS(rdma_reject(e.peer, NULL, 0), EINVAL);
	event = next(e.client, RDMA_CM_EVENT_ESTABLISHED);
	check_data(event, bytes, 99);
	rdma_ack_cm_event(event);
	done(e.server, RDMA_CM_EVENT_ESTABLISHED);
	FAILS(rdma_connect(e.id, &param), EINVAL);
	CHECK(rdma_disconnect(who ? e.peer : e.id) == 0);
	done(e.client, RDMA_CM_EVENT_DISCONNECTED);
	done(e.server, RDMA_CM_EVENT_DISCONNECTED);
	/* a second call is no error and has no effect */
	CHECK(rdma_disconnect(who ? e.id : e.peer) == 0);
	ends_free(&e);
}

/* ---- posted requests are flushed ------------------------------------------------------------- */

/* Each posted request has one completion, WR_FLUSH_ERR; no other arrives. */
static void flushed(struct ibv_cq *cq, uint64_t first, int count)
{
	uint64_t seen = 0;
	struct ibv_wc wc;

	for (int i = 0; i < count; i++) {
		wait_wc(cq, &wc);
		CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
		CHECK(wc.wr_id >= first && wc.wr_id < first + (uint64_t)count);
		CHECK(!(seen & UINT64_C(1) << (wc.wr_id - first)));
		seen |= UINT64_C(1) << (wc.wr_id - first);
	}
	usleep(20000);
	CHECK(ibv_poll_cq(cq, 1, &wc) == 0);
}

/* who: 0 the active end disconnects, 1 the passive one, 2 the passive one is destroyed */
static void flush(int who)
{
	struct rdma_conn_param param = {.rnr_retry_count = 7, .retry_count = 7};
	static uint8_t mem[64];
	struct ibv_mr *mr;
	struct ends e;
	bool tcp;

	ready(&e, RDMA_PS_TCP);
	ends_connect(&e, &param);
	tcp = ends_over_tcp(&e);
	mr = rdma_reg_msgs(e.id, mem, sizeof(mem));
	CHECK(mr);
	/*
	 * No receive is posted: sends are retried until the end. Over TCP that would be an error of
	 * the stream, and a Send is complete when it has arrived.
	 */
	for (int i = 0; i < WRS; i++) {
		CHECK(rdma_post_recv(e.id, wr_context(100 + i), mem, sizeof(mem), mr) == 0);
		CHECK(tcp ||
		      rdma_post_send(e.id, wr_context(200 + i), mem, sizeof(mem), mr, 0) == 0);
	}
	if (who == 2)
		ends_drop_peer(&e);
	else
		CHECK(rdma_disconnect(who ? e.peer : e.id) == 0);
	flushed(e.id->recv_cq, 100, WRS);
	flushed(e.id->send_cq, 200, tcp ? 0 : WRS);
	done(e.client, RDMA_CM_EVENT_DISCONNECTED);
	/* Later posts are flushed, too. */
	CHECK(rdma_post_recv(e.id, wr_context(300), mem, sizeof(mem), mr) == 0);
	flushed(e.id->recv_cq, 300, 1);
	CHECK(rdma_dereg_mr(mr) == 0);
	if (who != 2)
		done(e.server, RDMA_CM_EVENT_DISCONNECTED);
	ends_free(&e);
}

/* ---- to another channel, with events waiting */

static void migrate(void)
{
	struct rdma_event_channel *other = channel_new();
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct rdma_cm_event *event;
	struct ends e;

	ends_new(&e, addr, RDMA_PS_TCP);
	/* an event of the NIC */
	CHECK(rdma_resolve_addr(e.id, NULL, sa(&e.to), 2000) == 0);
	readable(e.client);
	CHECK(rdma_migrate_id(e.id, other) == 0 && e.id->channel == other);
	no_event(e.client);
	done(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	/* an event of the library */
	CHECK(rdma_resolve_route(e.id, 2000) == 0);
	readable(other);
	CHECK(rdma_migrate_id(e.id, e.client) == 0);
	no_event(other);
	done(e.client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	/* a request that waits for a listener */
	CHECK(id_qp(e.id) == 0);
	CHECK(rdma_connect(e.id, &param) == 0);
	readable(e.server);
	CHECK(rdma_migrate_id(e.listener, other) == 0);
	no_event(e.server);
	event = next(other, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.peer = event->id;
	CHECK(e.peer->channel == other && event->listen_id == e.listener);
	rdma_ack_cm_event(event);
	/* the answer, for an identifier that moved to a channel of its own and back */
	CHECK(rdma_migrate_id(e.peer, e.server) == 0);
	CHECK(id_qp(e.peer) == 0 && rdma_accept(e.peer, &param) == 0);
	readable(e.client);
	CHECK(rdma_migrate_id(e.id, other) == 0);
	done(other, RDMA_CM_EVENT_ESTABLISHED);
	done(e.server, RDMA_CM_EVENT_ESTABLISHED);
	rdma_disconnect(e.id);
	done(other, RDMA_CM_EVENT_DISCONNECTED);
	done(e.server, RDMA_CM_EVENT_DISCONNECTED);
	ends_free(&e);
	rdma_destroy_event_channel(other);
}

/* ---- threads that are cancelled */

struct taker {
	struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	sem_t go;
};

/* Is cancelled at its first cancellation point. */
static void *take(void *arg)
{
	struct taker *t = arg;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	sem_wait(&t->go);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	if (rdma_get_cm_event(t->channel, &t->event) == 0)
		pthread_testcancel();
	return NULL;
}

static void cancel(struct taker *t)
{
	pthread_t thread;
	void *end;

	sem_init(&t->go, 0, 0);
	CHECK(pthread_create(&thread, NULL, take, t) == 0 && pthread_cancel(thread) == 0);
	sem_post(&t->go);
	alarm(LIMIT_S);
	CHECK(pthread_join(thread, &end) == 0 && end == PTHREAD_CANCELED);
	alarm(0);
}

/* Cancelled while it waits, and not with an event: no event is lost, and nothing stays locked. */
static void cancelled(void)
{
	struct taker t = {0};
	struct ends e;

	ends_new(&e, addr, RDMA_PS_TCP);
	t.channel = e.client;
	CHECK(fcntl(e.client->fd, F_SETFL, 0) == 0);
	cancel(&t);
	CHECK(!t.event);
	/* an event of the NIC */
	CHECK(rdma_resolve_addr(e.id, NULL, sa(&e.to), 2000) == 0);
	readable(e.client);
	cancel(&t);
	CHECK(t.event && t.event->event == RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(rdma_ack_cm_event(t.event) == 0);
	/* an event of the library */
	CHECK(rdma_resolve_route(e.id, 2000) == 0);
	cancel(&t);
	CHECK(t.event && t.event->event == RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(rdma_ack_cm_event(t.event) == 0);
	ends_free(&e);
}

/* ---- a descriptor that is readable has an event ---------------------------------------------- */

/* Polls for the next event without sleep: often it is there before the NIC's interrupt. */
static void spin(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct pollfd pfd = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;
	bool is_readable = false;

	alarm(LIMIT_S);
	for (;;) {
		if (rdma_get_cm_event(channel, &event) < 0) {
			CHECK(errno == EAGAIN && !is_readable);
			is_readable = poll(&pfd, 1, 0) > 0;
			continue;
		}
		if (event->event == type)
			break;
		CHECK(event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT && rdma_ack_cm_event(event) == 0);
		is_readable = false;
	}
	alarm(0);
	CHECK(rdma_ack_cm_event(event) == 0);
}

static void spinning(void)
{
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct ends e;

	ready(&e, RDMA_PS_TCP);
	ends_request(&e, &param);
	CHECK(fcntl(e.client->fd, F_SETFL, O_NONBLOCK) == 0);
	CHECK(fcntl(e.server->fd, F_SETFL, O_NONBLOCK) == 0);
	CHECK(rdma_accept(e.peer, &param) == 0);
	spin(e.client, RDMA_CM_EVENT_ESTABLISHED);
	spin(e.server, RDMA_CM_EVENT_ESTABLISHED);
	CHECK(rdma_disconnect(e.id) == 0);
	spin(e.server, RDMA_CM_EVENT_DISCONNECTED);
	spin(e.client, RDMA_CM_EVENT_DISCONNECTED);
	ends_free(&e);
}

/* ---- more than one end */

static void calls(void)
{
	static const uint8_t sizes[] = {0, 1, 56, 57, 96, LONGEST};

	wrong_calls();
	for (size_t i = 0; i < sizeof(sizes); i++) {
		rejected_with(sizes[i]);
		accepted_with(sizes[i], i & 1);
	}
	for (int who = 0; who < 3; who++)
		flush(who);
	migrate();
	cancelled();
	for (int i = 0; i < SPINS; i++)
		spinning();
	names();
	endpoints(false);
	endpoints(true);
	groups();
	puts("done");
}

static void quota(int most)
{
	struct rdma_event_channel *channel = channel_new();
	struct sockaddr_in on = at(addr[0], 0);
	struct rdma_cm_id *id[1000];
	int n = 0;

	CHECK(most < 1000);
	for (;;) {
		id[n] = id_new(channel, RDMA_PS_TCP);
		if (rdma_bind_addr(id[n], sa(&on)) < 0)
			break;
		n++;
		CHECK(n <= most);
	}
	CHECK(errno == EDQUOT && n == most);
	/* a freed place is another one's */
	rdma_destroy_id(id[0]);
	id[0] = id_new(channel, RDMA_PS_TCP);
	CHECK(rdma_bind_addr(id[0], sa(&on)) == 0);
	while (n >= 0)
		rdma_destroy_id(id[n--]);
	puts("done");
}

/* The process goes on with the NICs of the next weftd, which have the same addresses. */
static void connects_again(struct rdma_event_channel *channel, const struct ibv_context *old)
{
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct sockaddr_in on = at(addr[0], 0);
	struct rdma_cm_id *id = id_new(channel, RDMA_PS_TCP);
	struct ends e;

	FAILS(rdma_bind_addr(id, sa(&on)), EADDRNOTAVAIL);
	puts("gone");
	fflush(stdout);
	while (rdma_bind_addr(id, sa(&on)) < 0)
		usleep(10000);
	CHECK(id->verbs && id->verbs != old);
	rdma_destroy_id(id);
	ready(&e, RDMA_PS_TCP);
	ends_connect(&e, &param);
	ends_free(&e);
}

static void dies(void)
{
	struct rdma_conn_param param = {.rnr_retry_count = 7};
	struct rdma_cm_id *told[2] = {NULL};
	struct rdma_cm_event *event;
	struct rdma_cm_id *sync;
	struct sockaddr_in on = at(addr[0], 0);
	struct ibv_wc wc;
	struct ends e;

	ready(&e, RDMA_PS_TCP);
	ends_connect(&e, &param);
	CHECK(rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP) == 0);
	CHECK(rdma_bind_addr(sync, sa(&on)) == 0 && rdma_listen(sync, 1) == 0);
	puts("waiting");
	fflush(stdout);
	done(e.client, RDMA_CM_EVENT_DEVICE_REMOVAL);
	/* the listener and its connection, in either order */
	for (int i = 0; i < 2; i++) {
		event = next(e.server, RDMA_CM_EVENT_DEVICE_REMOVAL);
		told[i] = event->id;
		rdma_ack_cm_event(event);
	}
	CHECK(told[0] != told[1] && (told[0] == e.peer || told[1] == e.peer) &&
	      (told[0] == e.listener || told[1] == e.listener));
	FAILS(rdma_get_request(sync, &told[0]), EINVAL);
	CHECK(sync->event && sync->event->event == RDMA_CM_EVENT_DEVICE_REMOVAL);
	no_event(e.client);
	no_event(e.server);
	connects_again(e.client, e.id->verbs);
	CHECK(ibv_poll_cq(e.id->send_cq, 1, &wc) == 0);
	rdma_destroy_ep(sync);
	ends_free(&e);
	puts("done");
}

int main(int argc, char **argv)
{
	if (argc != 4 || !inet_aton(argv[2], &addr[0]))
		die("usage: cm_calls calls|dies A B, cm_calls quota A N");
	if (!strcmp(argv[1], "quota"))
		quota(atoi(argv[3]));
	else if (!inet_aton(argv[3], &addr[1]))
		die("%s is no address", argv[3]);
	else if (!strcmp(argv[1], "calls"))
		calls();
	else
		dies();
	return 0;
}
