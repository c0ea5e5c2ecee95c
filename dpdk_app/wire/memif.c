/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control channel of a memif, as server and as client: access control, the set-up steps, the
 * end of a connection. memif_proto.h describes the order of messages. Calls memif_socket.c and
 * memif_link.c; the core is notified through memif.offered.
 */
#include "dpdk_app/wire/memif.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "dpdk_app/app.h"
#include "dpdk_app/client/fd_drop.h"
#include "dpdk_app/sleep.h"
#include "dpdk_app/log.h"
#include "dpdk_app/control/stats.h"

enum {
	MEMIF_RETRY_NS = 1000000000, /* interval of a client's connection attempts */
	MEMIF_SETUP_NS = 2000000000, /* time limit of a set-up */
	MEMIF_SAY_NS = 1000000000,   /* minimum interval between log lines on rejections */
	MEMIF_PER_EVENT = 32,        /* messages or connections */
};

static const char memif_name[] = "weftd " WEFT_VERSION;

static void count(_Atomic(uint64_t) *event)
{
	atomic_fetch_add_explicit(event, 1, memory_order_relaxed);
}

/* Counts every rejection, logs few: a stranger must not fill the log. */
static void complain(struct memif *m, const char *what)
{
	uint64_t now_ns = app_clock_ns();

	if (m->said_ns && now_ns - m->said_ns < MEMIF_SAY_NS)
		return;
	m->said_ns = now_ns;
	log_nic_info(m->nic->name, "memif at %s: %s; weftctl stats %s counts memif_*", m->conf.path,
		     what, m->nic->name);
}

static void timer_set(struct memif *m, uint32_t ns)
{
	const struct itimerspec when = {
	    .it_value = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}};

	if (timerfd_settime(m->timer_fd, 0, &when, NULL))
		log_nic_error(m->nic->name, "timer: %s", strerror(errno));
}

static void set_state(struct memif *m, enum memif_state state)
{
	m->state = state;
	switch (state) {
	case MEMIF_IDLE:
		timer_set(m, m->conf.server ? 0 : MEMIF_RETRY_NS);
		break;
	case MEMIF_AWAIT_HELLO:
	case MEMIF_AWAIT_INIT:
		m->step = 0;
		timer_set(m, MEMIF_SETUP_NS);
		break;
	case MEMIF_SETUP:
	case MEMIF_AWAIT_CONNECTED:
		break; /* one time-out covers the whole set-up */
	case MEMIF_UP:
	case MEMIF_LEAVING:
		timer_set(m, 0);
		break;
	}
}

static int watch(struct memif *m, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int send_kind(struct memif *m, struct memif_msg *msg, enum memif_kind kind, int fd)
{
	msg->kind = (uint16_t)kind;
	return memif_socket_send(m->socket_fd, msg, fd);
}

static void send_disconnect(int fd, const char *why)
{
	struct memif_msg msg = {.kind = MEMIF_MSG_DISCONNECT};

	snprintf(msg.u.disconnect.reason, sizeof(msg.u.disconnect.reason), "%s", why);
	/* It may have disconnected already, with the same result. */
	if (memif_socket_send(fd, &msg, -1))
		log_verbose("memif: the peer was not notified: %s", why);
}

/* ---- the core */

static void offer(struct memif *m, struct memif_link *link)
{
	struct core *core = m->nic->shard[0].core;

	atomic_store_explicit(&m->offered, link, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->offers, 1, memory_order_release);
	core_wake(core);
}

static void begin(struct memif *m, int fd);

/* The core has released the memory: frees it, and accepts a waiting connection. */
static void left(struct memif *m)
{
	int fd = m->waiting_fd;

	sleep_unwatch_port(m->nic->shard[0].core, m->link->rx.fd);
	memif_link_free(m->link);
	m->link = NULL;
	m->waiting_fd = -1;
	set_state(m, MEMIF_IDLE);
	if (fd >= 0)
		begin(m, fd);
}

/* Ends the connection. The peer gets the reason, unless it is gone (NULL). */
static void hang_up(struct memif *m, const char *why)
{
	if (why) {
		send_disconnect(m->socket_fd, why);
		complain(m, why);
	}
	/* The socket may stay open for a while without further communication. */
	(void)epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, m->socket_fd, NULL);
	(void)shutdown(m->socket_fd, SHUT_RDWR);
	fd_drop(m->socket_fd);
	m->socket_fd = -1;
	if (m->region_fd >= 0)
		close(m->region_fd);
	m->region_fd = -1;
	if (m->state == MEMIF_UP) {
		count(&m->events.disconnected);
		log_nic_limited(&m->link_said, app_clock_ns(), m->nic->name,
				"memif at %s: link down: %s", m->conf.path,
				why ? why : "the peer has gone");
		set_state(m, MEMIF_LEAVING);
		offer(m, NULL);
		return;
	}
	memif_link_free(m->link);
	m->link = NULL;
	set_state(m, MEMIF_IDLE);
}

/* Both ends are set up: the core may begin. */
static void go_up(struct memif *m)
{
	int err = sleep_watch_port(m->nic->shard[0].core, m->link->rx.fd);

	if (err) {
		m->link->deaf = true;
		log_nic_verbose(m->nic->name, "frames on its memif cannot wake the core: %s",
				strerror(-err));
	}
	count(&m->events.connected);
	log_nic_limited(&m->link_said, app_clock_ns(), m->nic->name,
			"memif at %s: link up: the peer is there", m->conf.path);
	atomic_store(&m->broken, false);
	set_state(m, MEMIF_UP);
	offer(m, m->link);
}

/* Peers with this name ensure that a sleeping receiver is signalled for each frame. */
static void note_name(struct memif_link *link, const char name[MEMIF_NAME_BYTES])
{
	link->deaf = strncmp(name, "weftd ", 6) != 0;
}

/* ---- messages to a server; each returns NULL, or the reason to end the connection */

static const char *bad(_Atomic(uint64_t) *event, const char *why)
{
	count(event);
	return why;
}

static const char *acknowledge(struct memif *m)
{
	struct memif_msg msg = {0};

	return send_kind(m, &msg, MEMIF_MSG_ACK, -1)
		   ? bad(&m->events.bad_message, "answers are not read")
		   : NULL;
}

static const char *on_init(struct memif *m, const struct memif_init *init)
{
	char secret[MEMIF_SECRET_BYTES] = "";

	if (m->state != MEMIF_AWAIT_INIT)
		return bad(&m->events.bad_message, "INIT out of order");
	if (init->version != MEMIF_VERSION)
		return bad(&m->events.bad_message, "another version than 2.0");
	if (init->mode != MEMIF_MODE_ETHERNET || init->id)
		return bad(&m->events.bad_message,
			   "only interface 0 in mode ethernet is available");
	memcpy(secret, m->conf.secret, strnlen(m->conf.secret, sizeof(secret)));
	if (secret[0] && memcmp(secret, init->secret, sizeof(secret)))
		return bad(&m->events.refused_secret, "wrong secret");
	m->link = memif_link_new(&m->conf);
	if (!m->link)
		return "no memory";
	note_name(m->link, init->name);
	set_state(m, MEMIF_SETUP);
	return acknowledge(m);
}

static const char *on_add_region(struct memif *m, const struct memif_add_region *add, int fd)
{
	const char *wrong = memif_link_region(m->link, add, fd);

	return wrong ? bad(&m->events.bad_region, wrong) : acknowledge(m);
}

static const char *on_add_ring(struct memif *m, const struct memif_add_ring *ring, int fd)
{
	const char *wrong = memif_link_ring(m->link, ring, fd);

	return wrong ? bad(&m->events.bad_ring, wrong) : acknowledge(m);
}

static const char *on_connect(struct memif *m)
{
	struct memif_msg msg = {0};

	if (!m->link->rx.shared || !m->link->tx.shared)
		return bad(&m->events.bad_ring, "a ring is missing");
	memif_ring_begin(m->link);
	snprintf(msg.u.if_name, sizeof(msg.u.if_name), "%s", m->nic->name);
	if (send_kind(m, &msg, MEMIF_MSG_CONNECTED, -1))
		return bad(&m->events.bad_message, "answers are not read");
	go_up(m);
	return NULL;
}

/* ---- messages to a client */

static const char *on_hello(struct memif *m, const struct memif_hello *hello)
{
	struct memif_msg msg = {0};
	uint32_t log2_slots = m->conf.log2_slots;

	if (hello->min_version > MEMIF_VERSION || hello->max_version < MEMIF_VERSION)
		return bad(&m->events.bad_message, "another version than 2.0");
	if (hello->max_log2_ring_size < log2_slots)
		log2_slots = hello->max_log2_ring_size;
	if (!log2_slots)
		return bad(&m->events.bad_message, "HELLO without room for a ring");
	m->link = memif_link_new(&m->conf);
	if (!m->link || memif_link_make(m->link, log2_slots, &m->region_fd))
		return "no memory";
	note_name(m->link, hello->name);
	set_state(m, MEMIF_SETUP);
	msg.u.init.version = MEMIF_VERSION;
	msg.u.init.mode = MEMIF_MODE_ETHERNET;
	/* Neither name is terminated when it fills its field. */
	memcpy(msg.u.init.secret, m->conf.secret,
	       strnlen(m->conf.secret, sizeof(msg.u.init.secret)));
	snprintf(msg.u.init.name, sizeof(msg.u.init.name), "%s", memif_name);
	return send_kind(m, &msg, MEMIF_MSG_INIT, -1) ? "INIT cannot be sent" : NULL;
}

static int send_ring(struct memif *m, const struct memif_ring *ring, uint16_t flags)
{
	struct memif_msg msg = {0};

	msg.u.add_ring.flags = flags;
	msg.u.add_ring.offset = (uint32_t)((const uint8_t *)ring->shared - m->link->region[0].base);
	msg.u.add_ring.log2_slots = (uint8_t)__builtin_ctz(ring->slots);
	return send_kind(m, &msg, MEMIF_MSG_ADD_RING, ring->fd);
}

/* Sends the next set-up message; each waits for the ACK of the previous one. */
static const char *on_ack(struct memif *m)
{
	struct memif_msg msg = {0};
	int err;

	switch (m->step++) {
	case 0:
		msg.u.add_region.bytes = m->link->region[0].bytes;
		err = send_kind(m, &msg, MEMIF_MSG_ADD_REGION, m->region_fd);
		close(m->region_fd);
		m->region_fd = -1;
		break;
	case 1:
		err = send_ring(m, &m->link->tx, MEMIF_RING_S2M);
		break;
	case 2:
		err = send_ring(m, &m->link->rx, 0);
		break;
	default:
		snprintf(msg.u.if_name, sizeof(msg.u.if_name), "%s", m->nic->name);
		err = send_kind(m, &msg, MEMIF_MSG_CONNECT, -1);
		set_state(m, MEMIF_AWAIT_CONNECTED);
		break;
	}
	return err ? "the server does not read" : NULL;
}

/* ---- both */

static const char *on_message(struct memif *m, const struct memif_msg *msg, int *fd)
{
	bool setup = m->state == MEMIF_SETUP;
	bool server = m->conf.server;
	int with_fd = *fd;

	if (server && setup && msg->kind == MEMIF_MSG_ADD_REGION) {
		*fd = -1;
		return on_add_region(m, &msg->u.add_region, with_fd);
	}
	if (server && setup && msg->kind == MEMIF_MSG_ADD_RING) {
		*fd = -1;
		return on_add_ring(m, &msg->u.add_ring, with_fd);
	}
	if (server && msg->kind == MEMIF_MSG_INIT)
		return on_init(m, &msg->u.init);
	if (server && setup && msg->kind == MEMIF_MSG_CONNECT)
		return on_connect(m);
	if (m->state == MEMIF_AWAIT_HELLO && msg->kind == MEMIF_MSG_HELLO)
		return on_hello(m, &msg->u.hello);
	if (!server && setup && msg->kind == MEMIF_MSG_ACK)
		return on_ack(m);
	if (m->state == MEMIF_AWAIT_CONNECTED && msg->kind == MEMIF_MSG_CONNECTED) {
		memif_ring_begin(m->link);
		go_up(m);
		return NULL;
	}
	return bad(&m->events.bad_message, "a message out of order, or of an unknown kind");
}

/* Logs the peer's reason for disconnecting, printable characters only. */
static void say_disconnect(const struct memif *m, const struct memif_disconnect *disconnect)
{
	char text[MEMIF_REASON_BYTES + 1] = "";

	for (uint32_t i = 0; i < MEMIF_REASON_BYTES && disconnect->reason[i]; i++)
		text[i] = disconnect->reason[i] >= ' ' && disconnect->reason[i] < 127
			      ? disconnect->reason[i]
			      : '?';
	log_nic_verbose(m->nic->name, "memif at %s: the peer disconnects: %s", m->conf.path, text);
}

static void on_socket(struct memif *m)
{
	for (uint32_t i = 0; i < MEMIF_PER_EVENT && m->socket_fd >= 0; i++) {
		struct memif_msg msg;
		const char *why;
		int fd, got = memif_socket_recv(m->socket_fd, &msg, &fd);

		if (got == -EAGAIN)
			return;
		if (!got) {
			hang_up(m, NULL);
			return;
		}
		if (got < 0) {
			hang_up(m, bad(&m->events.bad_message, "size of a message"));
			return;
		}
		if (msg.kind == MEMIF_MSG_DISCONNECT) {
			say_disconnect(m, &msg.u.disconnect);
			fd_drop(fd);
			hang_up(m, NULL);
			return;
		}
		why = on_message(m, &msg, &fd);
		fd_drop(fd);
		if (why)
			hang_up(m, why);
	}
}

/* Starts with a connected peer: a server sends HELLO, a client waits for it. */
static void begin(struct memif *m, int fd)
{
	struct memif_msg msg = {0};
	struct memif_hello *hello = &msg.u.hello;

	m->socket_fd = fd;
	if (watch(m, fd)) {
		hang_up(m, "no memory");
		return;
	}
	if (!m->conf.server) {
		set_state(m, MEMIF_AWAIT_HELLO);
		return;
	}
	set_state(m, MEMIF_AWAIT_INIT);
	snprintf(hello->name, sizeof(hello->name), "%s", memif_name);
	hello->min_version = hello->max_version = MEMIF_VERSION;
	hello->max_region = MEMIF_MAX_REGIONS - 1;
	hello->max_log2_ring_size = MEMIF_MAX_LOG2;
	if (send_kind(m, &msg, MEMIF_MSG_HELLO, -1))
		hang_up(m, NULL);
}

static void on_listen(struct memif *m)
{
	for (uint32_t i = 0; i < MEMIF_PER_EVENT; i++) {
		int fd = memif_socket_accept(&m->listener);

		if (fd < 0)
			return;
		if (!memif_socket_allowed(fd, m->conf.user)) {
			count(&m->events.refused_user);
			complain(m,
				 "refused a process of another user; uid=N of --port allows one");
			fd_drop(fd);
		} else if (m->state == MEMIF_IDLE) {
			begin(m, fd);
		} else if (m->state == MEMIF_LEAVING && m->waiting_fd < 0) {
			m->waiting_fd = fd;
		} else {
			count(&m->events.refused_busy);
			send_disconnect(fd, "Already connected");
			fd_drop(fd);
		}
	}
}

static void on_timer(struct memif *m)
{
	uint64_t expirations;
	int fd;

	if (read(m->timer_fd, &expirations, sizeof(expirations)) < 0)
		return; /* set again meanwhile */
	if (m->socket_fd >= 0) {
		hang_up(m, bad(&m->events.timeouts, "the set-up took too long"));
		return;
	}
	if (m->conf.server || m->state != MEMIF_IDLE)
		return;
	fd = memif_socket_connect(m->conf.path);
	if (fd >= 0 && memif_socket_allowed(fd, m->conf.user)) {
		begin(m, fd);
		return;
	}
	if (fd >= 0) {
		count(&m->events.refused_user);
		complain(m, "its server runs as another user; uid=N of --port allows one");
		fd_drop(fd);
	}
	timer_set(m, MEMIF_RETRY_NS);
}

void memif_serve(struct memif *m)
{
	struct epoll_event ev[4];
	bool timer = false, listener = false;
	int n = epoll_wait(m->epoll_fd, ev, 4, 0);

	/* Handle the connection first: a new client may be the one that has just disconnected. */
	for (int i = 0; i < n; i++) {
		timer = timer || ev[i].data.fd == m->timer_fd;
		listener = listener || ev[i].data.fd == m->listener.fd;
		if (ev[i].data.fd == m->socket_fd)
			on_socket(m);
	}
	if (m->state == MEMIF_UP && atomic_load_explicit(&m->broken, memory_order_acquire))
		hang_up(m, "invalid heads or tails in its rings, or unmapped memory");
	if (m->state == MEMIF_LEAVING && atomic_load_explicit(&m->taken, memory_order_acquire) ==
					     atomic_load_explicit(&m->offers, memory_order_relaxed))
		left(m);
	if (timer)
		on_timer(m);
	if (listener)
		on_listen(m);
}

int memif_fd(const struct memif *m)
{
	return m->epoll_fd;
}

struct memif *memif_open(struct nic *nic, const struct memif_conf *conf)
{
	struct memif *m = calloc(1, sizeof(*m));
	int err = 0;

	if (!m)
		return NULL;
	m->nic = nic;
	m->conf = *conf;
	m->socket_fd = m->waiting_fd = m->region_fd = -1;
	m->listener.fd = m->listener.dir_fd = -1;
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	m->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (m->epoll_fd < 0 || m->timer_fd < 0)
		err = -errno;
	if (!err)
		err = watch(m, m->timer_fd);
	if (!err && conf->server) {
		err = memif_socket_listen(&m->listener, conf->path, conf->user);
		if (!err)
			err = watch(m, m->listener.fd);
	}
	if (err) {
		memif_close(m);
		errno = -err;
		return NULL;
	}
	/* As soon as the control thread serves. */
	if (!conf->server)
		timer_set(m, 1);
	return m;
}

void memif_close(struct memif *m)
{
	if (m->socket_fd >= 0) {
		send_disconnect(m->socket_fd, "weftd ends");
		fd_drop(m->socket_fd);
	}
	if (m->waiting_fd >= 0)
		fd_drop(m->waiting_fd);
	if (m->region_fd >= 0)
		close(m->region_fd);
	memif_link_free(m->link);
	memif_socket_unlisten(&m->listener);
	if (m->timer_fd >= 0)
		close(m->timer_fd);
	if (m->epoll_fd >= 0)
		close(m->epoll_fd);
	free(m);
}

uint32_t memif_stats(const struct memif *m, struct hw_stat *stat, uint32_t max)
{
	const struct memif_counts *c = &m->counts;
	const struct memif_events *e = &m->events;
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
	    {"rx", c->rx},
	    {"tx", c->tx},
	    {"rx_bad_buffer", c->rx_bad_buffer},
	    {"rx_bad_chain", c->rx_bad_chain},
	    {"rx_bad_length", c->rx_bad_length},
	    {"rx_nombuf", c->rx_nombuf},
	    {"tx_bad_buffer", c->tx_bad_buffer},
	    {"tx_no_room", c->tx_no_room},
	    {"tx_full", c->tx_full},
	    {"bad_index", c->bad_index},
	    {"bad_memory", c->bad_memory},
	    {"connected", e->connected},
	    {"disconnected", e->disconnected},
	    {"refused_user", e->refused_user},
	    {"refused_busy", e->refused_busy},
	    {"refused_secret", e->refused_secret},
	    {"bad_message", e->bad_message},
	    {"bad_region", e->bad_region},
	    {"bad_ring", e->bad_ring},
	    {"timeouts", e->timeouts},
	};
	uint32_t n = 0;

	while (n < sizeof(all) / sizeof(all[0]) && n < max) {
		stats_put(&stat[n], "memif_", all[n].name, all[n].value);
		n++;
	}
	return n;
}
