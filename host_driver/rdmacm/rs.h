/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsockets: what the files rs_*.c share. README.md has the picture and the protocol.
 *
 * An rsocket's number is a descriptor that is kept for it alone (an eventfd); a table leads from
 * it to struct rs. All events of connections of a process come to one thread (rs_cm.c); data is
 * handled by whoever calls, under the locks of the socket:
 *
 *	send_lock, recv_lock	one sender, one receiver at a time; kept while data is copied
 *	lock			everything else; taken last, never held while sleeping
 *
 * A thread that sleeps has entered itself in the list of the socket (rs_wait.c); whoever takes
 * completions wakes the others in it. A thread may
 * be cancelled while it sleeps there, and nowhere else. Below are the public calls of librdmacm and
 * libibverbs, nothing else.
 */
#ifndef WEFT_RDMACM_RS_H
#define WEFT_RDMACM_RS_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "host_driver/rdmacm/rs_flow.h"
#include "host_driver/rdmacm/rs_wire.h"
#include "host_driver/weft_cancel.h"

#define RS_API __attribute__((visibility("default")))

enum {
	RS_FDS_MAX = 1 << 16,
	RS_BACKLOG_MAX = 4096,
	RS_IOMAPS_MAX = 1 << 12,
	RS_SPIN_US = 10,
	RS_RESOLVE_MS = 2000,
	/* Each request that is under way has one completion: control and the last Write of a close.
	 */
	RS_CTL_SENDS = RS_CTL_MSGS + 2,
	RS_POLL_BATCH = 16,
	RS_KEEPALIVE_S = 7200,
	RS_MSS_LEAST = 536, /* RFC 9293, 3.7.1 */
	/* What rclose() gives data that the peer's NIC does not acknowledge. */
	RS_LINGER_S = 10,
};

enum rs_state {
	RS_OPEN,       /* nothing has been asked of it */
	RS_BOUND,      /* it has an address; rlisten() or rconnect() may follow */
	RS_LISTENING,  /* connections are queued until raccept() */
	RS_CONNECTING, /* rconnect(), or a listener's connection that is not established yet */
	RS_CONNECTED,  /* data goes both ways, or one after rshutdown() */
	RS_BROKEN,     /* the connection is over; what had arrived can still be read */
	RS_DATAGRAM,   /* a datagram socket with an address */
	RS_CLOSED,     /* rclose() was called */
};

struct rs_opts {
	uint32_t sndbuf, rcvbuf;               /* bytes */
	uint32_t sqsize, rqsize, inline_bytes; /* RDMA_* */
	uint32_t iomap_size;                   /* mappings that the peer may make known to us */
	bool reuseaddr, nodelay, v6only, oobinline, keepalive;
	struct linger linger;
	struct timeval rcvtimeo, sndtimeo; /* zero: none */
	uint32_t keepidle_s;
};

/* A thread that waits: its own eventfd, written by those who change what it may wait for. */
struct rs_waiter {
	int fd;
};

/* Its entry in the list of one socket. */
struct rs_link {
	struct rs_link *next, **pprev;
	struct rs_waiter *waiter;
	bool woken;
};

/* A region of the caller's that riomap() registered. */
struct rs_iomap {
	struct rs_iomap *next;
	struct ibv_mr *mr;
	uint64_t offset;
	uint32_t index; /* in the peer's table; UINT32_MAX: local only */
};

/* A connection's memory and its accounts. */
struct rs_stream {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	uint8_t *ring, *buf; /* received; to be sent */
	uint32_t ring_bytes, buf_bytes;
	struct ibv_mr *ring_mr, *buf_mr;
	struct rs_rx_flow rx;
	struct rs_tx_flow tx;
	struct rs_tx_buf tx_buf;
	struct rs_fifo sends; /* bytes of tx_buf of each request under way, oldest first */
	uint32_t sq_size, inline_bytes;
	uint32_t mss; /* bytes of a datagram in one packet, as TCP_MAXSEG says */
	uint64_t peer_ring;
	uint32_t peer_ring_rkey;
	bool armed;            /* an event comes for the next completion */
	bool fin_sent;         /* we send no more */
	bool fin_seen;         /* the peer sends no more */
	uint32_t credits_owed; /* that found no room in the send queue */
	/* iomap: the table that the peer writes, our copy of it, where its table is */
	struct rs_wire_iomap *iomap_table, *iomap_peer;
	struct ibv_mr *iomap_mr;
	uint32_t iomap_size, peer_iomap_size;
	uint64_t peer_iomap;
	uint32_t peer_iomap_rkey;
	struct rs_iomap *iomaps;
	uint8_t *iomap_used; /* entries of the peer's table, a byte each */
};

struct rs_dgram; /* rs_dgram.c */

struct rs {
	atomic_int refs;
	int fd;
	int family, type;
	pthread_mutex_t lock, send_lock, recv_lock;
	enum rs_state state;
	bool nonblock, read_shut, write_shut;
	bool passive;      /* a listener's connection */
	bool accept_ready; /* it is established; of the listener's lock */
	int error;         /* SO_ERROR; 0 after it was read */
	struct rs_opts opts;
	struct rs_link *waiters;
	struct rdma_cm_id *id;
	struct sockaddr_storage local, peer;
	struct rs_stream *stream;
	struct rs_dgram *dgram;
	/* of a listener: established connections, in order; of a connection: the next one */
	struct rs *listener, *next, *queue, **queue_end;
	int queued, backlog;
	int ready;              /* of the queued ones: established */
	uint64_t last_heard_ns; /* keepalive */
};

/* A call with these flags (MSG_*) is not to wait. */
static inline bool rs_dont_wait(const struct rs *rs, int flags)
{
	return rs->nonblock || flags & MSG_DONTWAIT;
}

/* ---- rs_table.c: descriptors ----------------------------------------------------------------- */

/* The socket behind a number, held for the caller; NULL with errno EBADF. */
struct rs *rs_get(int fd);
void rs_put(struct rs *rs);
/* A new socket, one reference, without a number yet; NULL with errno. */
struct rs *rs_new(int family, int type);
/* Gives it a number, which holds a reference of its own; -1 with errno. */
int rs_install(struct rs *rs);
/* Takes the number away. False: somebody else just did. */
bool rs_remove(struct rs *rs);
/* All sockets with a number, one after the other from *at on; held for the caller; NULL: the end.
 */
struct rs *rs_each(int *at);
/* Once a process: handlers of fork. */
void rs_init(void);
uint64_t rs_now_ns(void);

/* ---- states: rs_table.c
 * -------------------------------------------------------------------------- */

void rs_set_state(struct rs *rs, enum rs_state state);
/* errno = err; -1 */
int rs_fail(int err);

/* ---- rs_wait.c ---------------------------------------------------------------------------------
 */

/* Of this thread; NULL with errno: no descriptor is left. */
struct rs_waiter *rs_waiter(void);
/* Both under the lock. */
void rs_link(struct rs *rs, struct rs_link *link, struct rs_waiter *waiter);
void rs_unlink(struct rs_link *link);
/* Everybody who waits for this socket looks again. Under the lock. */
void rs_wake(struct rs *rs);
/* The wake-ups that came so far have been seen. */
void rs_waiter_clear(struct rs_waiter *waiter);

/* When a wait ends; from SO_RCVTIMEO and the like. */
struct rs_deadline {
	uint64_t ns; /* UINT64_MAX: never */
};
struct rs_deadline rs_deadline_in(const struct timeval *tv);
/* ms for poll(2): -1 never, rounded up. */
int rs_deadline_ms(struct rs_deadline d);
/* For ppoll(2): left, or NULL. */
const struct timespec *rs_deadline_left(struct rs_deadline d, struct timespec *left);
/*
 * Sleeps until something of the socket changes. Called and left with rs->lock held, which is not
 * held meanwhile. 0: look again; -EINTR, -EAGAIN (the deadline), -ENFILE.
 */
int rs_sleep(struct rs *rs, struct rs_deadline deadline);
/*
 * The same with two locks held, side (send_lock or recv_lock) and lock, neither of them meanwhile;
 * then completions are taken. At first it spins: *spin_end is 0 then.
 */
int rs_wait(struct rs *rs, pthread_mutex_t *side, struct rs_deadline deadline, uint64_t *spin_end);

/* ---- rs_cm.c: the thread of connections --------------------------------------------------------
 */

/* An id whose events come to the thread; 0 or a negative errno. */
int rs_cm_id(struct rs *rs, enum rdma_port_space ps, struct rdma_cm_id **id);
/* Resolving and connecting began; 0 or a negative errno. Under the lock. */
int rs_cm_connect(struct rs *rs, const struct sockaddr *addr);
/* Looks at keepalive soon. */
void rs_cm_kick(void);
/* In a child of fork. */
void rs_cm_forked(void);

/* ---- rs_conn.c: the resources of a connection, all under the lock -------------------------------
 */

int rs_conn_setup(struct rs *rs);
void rs_conn_param(struct rs *rs, struct rdma_conn_param *param, struct rs_wire_hello *hello);
/* What the peer said of itself; -EPROTO. */
int rs_conn_hello(struct rs *rs, const void *data, size_t bytes);
void rs_conn_free(struct rs *rs);

/* ---- rs_stream.c, all under the lock unless said -----------------------------------------------
 */

/* Takes completions; how many there were. */
int rs_stream_progress(struct rs *rs);
/* An event will come for the next completion. True: something was there just now. */
bool rs_stream_arm(struct rs *rs);
/* An event came. */
void rs_stream_event(struct rs *rs);
short rs_stream_revents(struct rs *rs);
int rs_stream_fin(struct rs *rs);
void rs_stream_break(struct rs *rs, int err);
/* A request, whose buf_bytes of tx_buf are free once it is done; 0 or a negative errno. */
int rs_stream_post(struct rs *rs, struct ibv_send_wr *wr, uint32_t buf_bytes);
/* Requests that data may use now. */
uint32_t rs_stream_sq_room(const struct rs_stream *st);
bool rs_stream_idle(const struct rs_stream *st);
/* Without the lock. */
ssize_t rs_stream_send(struct rs *rs, const struct iovec *iov, int iovcnt, int flags);
ssize_t rs_stream_recv(struct rs *rs, const struct iovec *iov, int iovcnt, int flags);
/* Puts the first bytes of buf into tx_buf, as far as they fit, for a request that follows. */
uint32_t rs_stream_take(struct rs *rs, const void *buf, uint32_t bytes, struct ibv_sge *sge);

/* ---- rs_iomap.c --------------------------------------------------------------------------------
 */

/* The peer wrote entry index of our table; -EPROTO. Under the lock. */
int rs_iomap_told(struct rs_stream *st, uint32_t index);
void rs_iomap_free(struct rs_stream *st);

/* ---- rs_dgram.c: calls of programs, without the lock -------------------------------------------
 */

int rs_dgram_bind(struct rs *rs, const struct sockaddr *addr);
int rs_dgram_connect(struct rs *rs, const struct sockaddr *addr);
ssize_t rs_dgram_send(struct rs *rs, const struct msghdr *msg, int flags);
ssize_t rs_dgram_recv(struct rs *rs, struct msghdr *msg, int flags);
void rs_dgram_close(struct rs *rs);
/* Under the lock: */
/* Until what was sent has left, or nobody answers for its destination. */
void rs_dgram_drain(struct rs *rs);
int rs_dgram_progress(struct rs *rs);
bool rs_dgram_arm(struct rs *rs);
void rs_dgram_event(struct rs *rs);
short rs_dgram_revents(struct rs *rs);
/* Descriptors that tell of completions, at most n; their number. */
int rs_dgram_fds(const struct rs *rs, int *fds, int n);

/* ---- rs_dest.c ---------------------------------------------------------------------------------
 */

/* Of the thread of connections, without the lock. Returns an id to be destroyed. */
struct rdma_cm_id *rs_dgram_cm_event(struct rs *rs, struct rdma_cm_event *event);

/* rs_share.c: in a child of fork. */
void rs_share_forked(void);

/* ---- rs_poll.c: what both kinds have; under the lock --------------------------------------------
 */

void rs_progress(struct rs *rs);
/* POLLIN and the like as they are now. */
short rs_revents(struct rs *rs);
/* Tells the next completion; true: look again first. */
bool rs_arm(struct rs *rs);
/* Takes events of completion channels. */
void rs_events(struct rs *rs);
enum {
	RS_FDS_OF_ONE = 8
};
/* Descriptors that a sleeper watches. */
int rs_fds(const struct rs *rs, int fds[RS_FDS_OF_ONE]);

/* ---- rs_opt.c ----------------------------------------------------------------------------------
 */

void rs_opts_init(struct rs_opts *opts);
uint32_t rs_spin_us(void);

/* ---- addresses (rs_addr.c) ---------------------------------------------------------------------
 */

socklen_t rs_addr_bytes(const struct sockaddr *addr);
/* Copies as getsockname(2) does: cut, with the whole length in *bytes. */
void rs_addr_out(const struct sockaddr_storage *from, struct sockaddr *to, socklen_t *bytes);
/* An IPv4 or IPv6 address in the family of the socket (IPv4-mapped where that is IPv6). */
void rs_addr_as(int family, const struct sockaddr *from, struct sockaddr_storage *to);
/* The plain IPv4 form of an IPv4-mapped address. False: neither IPv4 nor IPv6, or too short. */
bool rs_addr_in(const struct sockaddr *from, socklen_t bytes, struct sockaddr_storage *to);
bool rs_addr_any(const struct sockaddr *addr);
bool rs_addr_loopback(const struct sockaddr *addr);
uint16_t rs_addr_port(const struct sockaddr *addr);
void rs_addr_set_port(struct sockaddr *addr, uint16_t port);

#endif /* WEFT_RDMACM_RS_H */
