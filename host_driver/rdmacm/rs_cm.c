/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection thread: handles all connection events of the process, so connections are resolved,
 * established and accepted in the background. It also sends keepalives.
 *
 * All sockets of the process share one event channel; the context of an id is its struct rs. An id
 * is destroyed either by rclose() in its caller's thread, which waits until the event being handled
 * is acknowledged, or by this thread after that. The thread starts with the first id and runs until
 * the process ends. Calls rs_conn.c, rs_stream.c, rs_dgram.c and rdma_cm.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host_driver/rdmacm/rs.h"
#include "lib/clock.h"

static struct {
	pthread_mutex_t lock;
	struct rdma_event_channel *channel;
	int kick_fd;
	atomic_bool keepalive; /* a socket uses, or has used, keepalive */
} cm = {.lock = PTHREAD_MUTEX_INITIALIZER, .kick_fd = -1};

enum {
	KEEPALIVE_LOOK_MS = 500,
};

/* ---- passive side -------------------------------------------------------------------------- */

/*
 * Removes the connection from its listener's queue. Returns false if rclose() of the listener
 * already did.
 */
static bool unqueue(struct rs *listener, struct rs *rs)
{
	struct rs **at;
	bool found = false;

	pthread_mutex_lock(&listener->lock);
	for (at = &listener->queue; *at && *at != rs; at = &(*at)->next)
		;
	if (*at) {
		*at = rs->next;
		if (!rs->next)
			listener->queue_end = at;
		listener->queued--;
		listener->ready -= rs->accept_ready;
		found = true;
	}
	pthread_mutex_unlock(&listener->lock);
	return found;
}

static bool enqueue(struct rs *listener, struct rs *rs)
{
	bool room;

	pthread_mutex_lock(&listener->lock);
	room = listener->state == RS_LISTENING && listener->queued < listener->backlog;
	if (room) {
		*listener->queue_end = rs;
		listener->queue_end = &rs->next;
		listener->queued++;
		rs->listener = listener;
		atomic_fetch_add(&listener->refs, 1);
		rs->opts = listener->opts;
	}
	pthread_mutex_unlock(&listener->lock);
	return room;
}

static int accept_it(struct rs *rs, const struct rdma_conn_param *peer)
{
	struct rs_wire_hello hello;
	struct rdma_conn_param param;
	int rc = rs_conn_setup(rs);

	if (rc == 0)
		rc = rs_conn_hello(rs, peer->private_data, peer->private_data_len);
	if (rc == 0) {
		rs_conn_param(rs, &param, &hello);
		rc = rdma_accept(rs->id, &param) < 0 ? -errno : 0;
	}
	return rc;
}

/* Returns the new id if the request is refused. */
static struct rdma_cm_id *request(struct rdma_cm_event *event)
{
	struct rs *listener = event->listen_id->context;
	struct rs *rs = rs_new(listener->family, SOCK_STREAM);
	struct rdma_cm_id *id = event->id;
	int rc;

	if (rs) {
		rs->id = id;
		rs->passive = true;
		rs_set_state(rs, RS_CONNECTING);
	}
	if (!rs || !enqueue(listener, rs)) {
		(void)rdma_reject(id, NULL, 0);
		if (rs)
			rs_put(rs);
		return id;
	}
	pthread_mutex_lock(&rs->lock);
	id->context = rs;
	rc = accept_it(rs, &event->param.conn);
	pthread_mutex_unlock(&rs->lock);
	if (rc == 0 || !unqueue(listener, rs))
		return NULL;
	(void)rdma_reject(id, NULL, 0);
	pthread_mutex_lock(&rs->lock);
	rs_conn_free(rs);
	rs->id = NULL;
	rs_set_state(rs, RS_CLOSED);
	pthread_mutex_unlock(&rs->lock);
	rs_put(listener);
	rs_put(rs);
	return id;
}

/* ---- either side --------------------------------------------------------------------------- */

static void keep_addresses(struct rs *rs)
{
	rs_addr_as(rs->family, rdma_get_local_addr(rs->id), &rs->local);
	rs_addr_as(rs->family, rdma_get_peer_addr(rs->id), &rs->peer);
}

/* Ends a failed connection attempt; the socket may try again. Returns the id. */
static struct rdma_cm_id *connect_failed(struct rs *rs, int err)
{
	struct rdma_cm_id *id = rs->id;

	rs->error = err;
	rs_conn_free(rs);
	rs->id = NULL;
	rs_set_state(rs, RS_OPEN);
	rs_wake(rs);
	return id;
}

static int connect_error(const struct rdma_cm_event *event)
{
	int status = event->status < 0 ? -event->status : event->status;

	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	if (event->event == RDMA_CM_EVENT_UNREACHABLE)
		return ETIMEDOUT;
	if (status == ETIMEDOUT || status == ENETUNREACH || status == ECONNREFUSED)
		return status;
	return event->event == RDMA_CM_EVENT_CONNECT_ERROR ? ECONNREFUSED : EHOSTUNREACH;
}

static int connect_on(struct rs *rs)
{
	struct rs_wire_hello hello;
	struct rdma_conn_param param;
	int rc = rs_conn_setup(rs);

	if (rc < 0)
		return rc;
	rs_conn_param(rs, &param, &hello);
	return rdma_connect(rs->id, &param) < 0 ? -errno : 0;
}

/* Starts the next step of our connection attempt. Returns 0 or a negative errno. */
static int connecting(struct rs *rs, const struct rdma_cm_event *event)
{
	int rc;

	if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED)
		return rdma_resolve_route(rs->id, RS_RESOLVE_MS) < 0 ? -errno : 0;
	if (event->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		return connect_on(rs);
	if (event->event != RDMA_CM_EVENT_ESTABLISHED)
		return -connect_error(event);
	rc = rs->passive ? 0
			 : rs_conn_hello(rs, event->param.conn.private_data,
					 event->param.conn.private_data_len);
	if (rc == 0) {
		keep_addresses(rs);
		rs->last_heard_ns = clock_now_ns();
		rs_set_state(rs, RS_CONNECTED);
		rs_wake(rs);
	}
	return rc;
}

static void make_ready(struct rs *listener, const struct rs *rs)
{
	pthread_mutex_lock(&listener->lock);
	for (struct rs *at = listener->queue; at; at = at->next) {
		if (at != rs)
			continue;
		at->accept_ready = true;
		listener->ready++;
		rs_wake(listener);
	}
	pthread_mutex_unlock(&listener->lock);
}

/* A listener's connection was established or has failed. Returns the id on failure. */
static struct rdma_cm_id *passive_end(struct rs *listener, struct rs *rs, bool failed)
{
	struct rdma_cm_id *id = NULL;

	if (failed && unqueue(listener, rs)) {
		pthread_mutex_lock(&rs->lock);
		id = rs->id;
		rs_conn_free(rs);
		rs->id = NULL;
		rs_set_state(rs, RS_CLOSED);
		pthread_mutex_unlock(&rs->lock);
		rs_put(listener);
		rs_put(rs);
	}
	if (!failed)
		make_ready(listener, rs);
	return id;
}

/* Ends a connection; received data remains readable. */
static void disconnected(struct rs *rs, int err)
{
	(void)rs_stream_progress(rs);
	if (rs->state != RS_CONNECTED)
		return;
	rs_stream_break(rs, rs->stream->fin_seen ? 0 : err);
	if (rdma_disconnect(rs->id) < 0 && errno != EINVAL && errno != ENOTCONN)
		rs->error = errno;
}

/* Returns an id to be destroyed after the event is acknowledged. */
static struct rdma_cm_id *stream_event(struct rs *rs, struct rdma_cm_event *event)
{
	struct rs *listener = NULL;
	struct rdma_cm_id *id = NULL;
	int rc = 0;

	pthread_mutex_lock(&rs->lock);
	if (rs->state == RS_CONNECTING) {
		if (rs->passive) {
			listener = rs->listener;
			atomic_fetch_add(&listener->refs, 1);
		}
		rc = connecting(rs, event);
		if (rc < 0 && !rs->passive)
			id = connect_failed(rs, -rc);
	} else if (rs->state == RS_LISTENING) {
		/* A socket bound to every NIC continues on the others. */
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && rs->id->verbs) {
			rs->error = ENETDOWN;
			rs_wake(rs);
		}
	} else if (rs->state == RS_CONNECTED) {
		if (event->event == RDMA_CM_EVENT_DISCONNECTED)
			disconnected(rs, ECONNRESET);
		else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			disconnected(rs, ENETDOWN);
	}
	pthread_mutex_unlock(&rs->lock);
	if (listener) {
		id = passive_end(listener, rs, rc < 0);
		rs_put(listener);
	}
	return id;
}

static void handle(struct rdma_cm_event *event)
{
	bool is_request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
	struct rdma_cm_id *holder = is_request ? event->listen_id : event->id;
	struct rs *rs = holder->context;
	struct rdma_cm_id *drop = NULL;

	if (rs->type == SOCK_DGRAM) {
		drop = rs_dgram_cm_event(rs, event);
	} else if (is_request) {
		drop = request(event);
	} else {
		drop = stream_event(rs, event);
	}
	(void)rdma_ack_cm_event(event);
	if (drop)
		(void)rdma_destroy_id(drop);
}

/* ---- keepalive ----------------------------------------------------------------------------- */

/* Posts a Write of 0 bytes: if the peer is gone, the request and the connection fail. */
static void keepalive(struct rs *rs, uint64_t now)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE};

	pthread_mutex_lock(&rs->lock);
	if (rs->type == SOCK_STREAM && rs->state == RS_CONNECTED && rs->opts.keepalive) {
		(void)rs_stream_progress(rs);
		if (rs->state == RS_CONNECTED && rs_stream_idle(rs->stream) &&
		    now - rs->last_heard_ns >= (uint64_t)rs->opts.keepidle_s * 1000000000) {
			wr.wr.rdma.remote_addr = rs->stream->peer_ring;
			wr.wr.rdma.rkey = rs->stream->peer_ring_rkey;
			rs->last_heard_ns = now;
			if (rs_stream_post(rs, &wr, 0) < 0)
				rs_stream_break(rs, ECONNRESET);
		}
	}
	pthread_mutex_unlock(&rs->lock);
}

static void keepalives(void)
{
	uint64_t now = clock_now_ns();
	struct rs *rs;
	int at = 0;

	while ((rs = rs_each(&at)) != NULL) {
		keepalive(rs, now);
		rs_put(rs);
	}
}

/* ---- thread -------------------------------------------------------------------------------- */

static void *cm_thread(void *arg)
{
	struct rdma_event_channel *channel = arg;
	struct pollfd p[2] = {{.fd = channel->fd, .events = POLLIN},
			      {.fd = cm.kick_fd, .events = POLLIN}};
	struct rdma_cm_event *event;
	eventfd_t count;

	for (;;) {
		bool tick = atomic_load(&cm.keepalive);

		(void)poll(p, 2, tick ? KEEPALIVE_LOOK_MS : -1);
		(void)eventfd_read(cm.kick_fd, &count);
		while (rdma_get_cm_event(channel, &event) == 0)
			handle(event);
		if (tick)
			keepalives();
	}
	return NULL;
}

static int start_thread(struct rdma_event_channel *channel)
{
	pthread_t thread;
	sigset_t all, old;
	int rc, flags = fcntl(channel->fd, F_GETFL);

	if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&thread, NULL, cm_thread, channel);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0) {
		/*
		 * libweft-sockets distinguishes its own threads from the program's by their names.
		 */
		(void)pthread_setname_np(thread, "weft-rsockets");
		pthread_detach(thread);
	}
	return rc;
}

/* Caller holds cm.lock. */
static int start(void)
{
	int rc;

	if (cm.channel)
		return 0;
	cm.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cm.kick_fd < 0)
		return -errno;
	cm.channel = rdma_create_event_channel();
	rc = cm.channel ? start_thread(cm.channel) : -errno;
	if (rc < 0) {
		if (cm.channel)
			rdma_destroy_event_channel(cm.channel);
		cm.channel = NULL;
		close(cm.kick_fd);
	}
	return rc;
}

int rs_cm_id(struct rs *rs, enum rdma_port_space ps, struct rdma_cm_id **id)
{
	int on = 1, rc;

	pthread_mutex_lock(&cm.lock);
	rc = start();
	if (rc == 0 && rdma_create_id(cm.channel, id, rs, ps) < 0)
		rc = -errno;
	pthread_mutex_unlock(&cm.lock);
	if (rc < 0 || !rs->opts.reuseaddr)
		return rc;
	if (rdma_set_option(*id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)) < 0) {
		rc = -errno;
		(void)rdma_destroy_id(*id);
		*id = NULL;
	}
	return rc;
}

int rs_cm_connect(struct rs *rs, const struct sockaddr *addr)
{
	struct sockaddr_storage to = {0};
	int rc;

	if (!rs->id) {
		rc = rs_cm_id(rs, RDMA_PS_TCP, &rs->id);
		if (rc < 0)
			return rc;
	}
	memcpy(&to, addr, rs_addr_bytes(addr));
	rs_addr_as(rs->family, addr, &rs->peer);
	rs->error = 0;
	rs_set_state(rs, RS_CONNECTING);
	if (rdma_resolve_addr(rs->id, NULL, (struct sockaddr *)&to, RS_RESOLVE_MS) == 0)
		return 0;
	rc = -errno;
	rs_set_state(rs, RS_OPEN);
	/* No operation was started on this id, so it has no event. */
	(void)rdma_destroy_id(rs->id);
	rs->id = NULL;
	return rc;
}

void rs_cm_kick(void)
{
	atomic_store(&cm.keepalive, true);
	if (cm.kick_fd >= 0)
		(void)eventfd_write(cm.kick_fd, 1);
}

/* The thread and the channel belong to the parent. */
void rs_cm_forked(void)
{
	pthread_mutex_init(&cm.lock, NULL);
	cm.channel = NULL;
	if (cm.kick_fd >= 0)
		close(cm.kick_fd);
	cm.kick_fd = -1;
}
