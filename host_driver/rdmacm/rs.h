/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsockets: declarations shared by rs_*.c. README.md describes the structure and the protocol.
 *
 * The number of an rsocket is an eventfd reserved for it; a table maps it to struct rs. One thread
 * per process handles all connection events (rs_cm.c). The calling threads handle data, under the
 * locks of the socket:
 *
 * 	send_lock, recv_lock	one sender, one receiver at a time; held while data is copied
 * 	lock			everything else; taken last, never held while sleeping
 *
 * A sleeping thread has entered itself in the socket's list (rs_wait.c). The thread that takes
 * completions wakes the others in the list. A thread can be cancelled only while it sleeps there.
 * The code calls only public functions of librdmacm and libibverbs.
 */
#ifndef WEFT_RDMACM_RS_H
#define WEFT_RDMACM_RS_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "host_driver/rdmacm/rs_flow.h"
#include "host_driver/rdmacm/rs_wire.h"
#include "host_driver/verbs/vb_private.h"
#include "host_driver/weft.h"
#include "host_driver/weft_cancel.h"

#define RS_API __attribute__((visibility("default")))

enum {
	RS_FDS_MAX = 1 << 16,
	RS_BACKLOG_MAX = 4096,
	RS_IOMAPS_MAX = 1 << 12,
	RS_SPIN_US = 10,
	RS_RESOLVE_MS = 2000,
	/*
	 * Each outstanding request has one completion: control messages and the last Write of a
	 * close.
	 */
	RS_CTL_SENDS = RS_CTL_MSGS + 2,
	RS_POLL_BATCH = 16,
	RS_KEEPALIVE_S = 7200,
	RS_MSS_LEAST = 536, /* RFC 9293, 3.7.1 */
	/* Time that rclose() waits for the peer's NIC to acknowledge data. */
	RS_LINGER_S = 10,
};

enum rs_state {
	RS_OPEN,       /* unused so far */
	RS_BOUND,      /* has an address; rlisten() or rconnect() may follow */
	RS_LISTENING,  /* connections are queued until raccept() */
	RS_CONNECTING, /* rconnect(), or a listener's connection not yet established */
	RS_CONNECTED,  /* data flows both ways, or one way after rshutdown() */
	RS_BROKEN,     /* the connection is over; received data can still be read */
	RS_DATAGRAM,   /* a datagram socket with an address */
	RS_CLOSED,     /* rclose() was called */
};

struct rs_opts {
	uint32_t sndbuf, rcvbuf;               /* bytes */
	uint32_t sqsize, rqsize, inline_bytes; /* RDMA_* */
	uint32_t iomap_size;                   /* mappings that the peer may announce to us */
	bool reuseaddr, nodelay, v6only, oobinline, keepalive;
	struct linger linger;
	struct timeval rcvtimeo, sndtimeo; /* zero: none */
	uint32_t keepidle_s;
};

/* A waiting thread: its own eventfd, written by threads that change a condition it may wait for. */
struct rs_waiter {
	int fd;
};

/* A waiter's entry in the list of one socket. */
struct rs_link {
	struct rs_link *next, **pprev;
	struct rs_waiter *waiter;
	bool woken;
};

/* A region of the application's that riomap() registered. */
struct rs_iomap {
	struct rs_iomap *next;
	struct ibv_mr *mr;
	uint64_t offset;
	uint32_t index; /* in the peer's table; UINT32_MAX: local only */
};

/* A stream's objects of a NIC. A later stream of the same sizes can use them: rs_pool.c. */
struct rs_gear {
	struct ibv_pd *pd; /* its own: no other peer of the process reaches the ring */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	/* Receive ring and send buffer, registered for local access as a whole. */
	uint8_t *ring, *buf;
	size_t ring_bytes, buf_bytes;
	struct ibv_mr *mr;
	struct ibv_mr *ring_mr; /* for the peer's Writes into the ring */
	uint32_t sq_size, recvs;
	uint32_t inline_asked, inline_bytes; /* as the socket's options say, and as the QP has it */
	uint32_t mss; /* payload bytes of one packet, reported as TCP_MAXSEG */
};

/* Memory and flow-control state of a connection. */
struct rs_stream {
	struct rs_gear gear;
	struct rs_rx_flow rx;
	struct rs_tx_flow tx;
	struct rs_tx_buf tx_buf;
	struct rs_fifo sends; /* bytes of tx_buf held by each outstanding request, oldest first */
	uint64_t peer_ring;
	uint32_t peer_ring_rkey;
	bool armed;            /* the next completion raises an event */
	bool fin_sent;         /* we send no more data */
	bool fin_seen;         /* the peer sends no more data */
	uint32_t credits_owed; /* credits not sent yet because the send queue was full */
	/*
	 * iomap: the table that the peer writes, our copy of it, and the location of the peer's
	 * table
	 */
	struct rs_wire_iomap *iomap_table, *iomap_peer;
	struct ibv_mr *iomap_mr;
	uint32_t iomap_size, peer_iomap_size;
	uint64_t peer_iomap;
	uint32_t peer_iomap_rkey;
	struct rs_iomap *iomaps;
	uint8_t *iomap_used; /* entries in use of the peer's table, one byte each */
};

struct rs_dgram; /* rs_dgram.c */

struct rs {
	atomic_int refs;
	int fd;
	int family, type;
	pthread_mutex_t lock, send_lock, recv_lock;
	enum rs_state state;
	bool nonblock, read_shut, write_shut;
	bool passive;      /* accepted by a listener */
	bool accept_ready; /* established; protected by the listener's lock */
	int error;         /* SO_ERROR; reset to 0 when read */
	struct rs_opts opts;
	struct rs_link *waiters;
	struct rdma_cm_id *id;
	struct sockaddr_storage local, peer;
	struct rs_stream *stream;
	struct rs_dgram *dgram;
	/* listener: queue of connections in order; connection: the next one in that queue */
	struct rs *listener, *next, *queue, **queue_end;
	int queued, backlog;
	int ready;              /* established connections in the queue */
	uint64_t last_heard_ns; /* keepalive */
};

/* Returns true if a call with these flags (MSG_*) must not block. */
static inline bool rs_dont_wait(const struct rs *rs, int flags)
{
	return rs->nonblock || flags & MSG_DONTWAIT;
}

/* ---- rs_table.c: descriptors ----------------------------------------------------------------- */

/* Returns the socket of a descriptor with a reference; NULL with errno EBADF. */
struct rs *rs_get(int fd);
void rs_put(struct rs *rs);
/* Creates a socket with one reference and no descriptor; NULL with errno. */
struct rs *rs_new(int family, int type);
/* Gives the socket a descriptor, which holds its own reference; -1 with errno. */
int rs_install(struct rs *rs);
/* Releases the descriptor. Returns false if another thread has just done so. */
bool rs_remove(struct rs *rs);
/* Iterates over the open sockets from *at on. Takes a reference; returns NULL at the end. */
struct rs *rs_each(int *at);

/* ---- states: rs_table.c --------------------------------------------------------------------- */

void rs_set_state(struct rs *rs, enum rs_state state);
/* Sets errno and returns -1. */
int rs_fail(int err);

/* ---- rs_wait.c ------------------------------------------------------------------------------ */

/* Returns this thread's waiter; NULL with errno: no descriptor is left. */
struct rs_waiter *rs_waiter(void);
/* Both require the lock. */
void rs_link(struct rs *rs, struct rs_link *link, struct rs_waiter *waiter);
void rs_unlink(struct rs_link *link);
/* Wakes every thread that waits for this socket. Under the lock. */
void rs_wake(struct rs *rs);
/* Clears the wake-ups received so far. */
void rs_waiter_clear(struct rs_waiter *waiter);

/* End of a wait; derived from SO_RCVTIMEO and similar options. */
struct rs_deadline {
	uint64_t ns; /* UINT64_MAX: never */
};
struct rs_deadline rs_deadline_in(const struct timeval *tv);
/* Remaining ms for poll(2), rounded up; -1: no limit. */
int rs_deadline_ms(struct rs_deadline d);
/* Remaining time for ppoll(2), or NULL for no limit. */
const struct timespec *rs_deadline_left(struct rs_deadline d, struct timespec *left);
/*
 * Sleeps until the socket changes. Requires rs->lock, which is released during the sleep. Returns 0
 * (check again), -EINTR, -EAGAIN (deadline passed) or -ENFILE.
 */
int rs_sleep(struct rs *rs, struct rs_deadline deadline);
/* The waits of one call. All zeros: none yet. */
struct rs_looks {
	uint64_t end_ns; /* the thread sleeps from then on; 0: the next wait sets it */
	bool masked;     /* signals are blocked, so that one that comes in a look ends the sleep */
	sigset_t before; /* the program's signal mask */
};
/*
 * As rs_sleep(), with two locks held, side (send_lock or recv_lock) and lock; both are released
 * during the sleep. Takes completions afterwards. Looks for a while before it sleeps. The caller
 * ends its waits with rs_wait_end().
 */
int rs_wait(struct rs *rs, pthread_mutex_t *side, struct rs_deadline deadline,
	    struct rs_looks *looks);
/* Unblocks signals. To be called without locks, as handlers run in it. */
void rs_wait_end(struct rs_looks *looks);

/* ---- rs_spin.c: for the calling thread ------------------------------------------------------ */

/* A wait begins: returns the time until which the thread looks before it sleeps. */
uint64_t rs_spin_begin(void);
/* True if the thread is to sleep now. */
bool rs_spin_over(uint64_t end_ns);
/* A look found nothing: yields, and returns true for another one. Without locks. */
bool rs_spin_again(uint64_t end_ns);
/* The thread has slept since then, and was woken. */
void rs_spin_slept(uint64_t since_ns);

/* ---- rs_pool.c ------------------------------------------------------------------------------ */

/*
 * Fills in gear for a connection of that id and gives the id its QP, in INIT, without receives. The
 * ring is all zeros. Returns 0 or a negative errno. Thread-safe.
 */
int rs_gear_get(struct rdma_cm_id *id, const struct rs_opts *opts, struct rs_gear *g);
/* Takes gear back, if there is any, and its QP from the id. Thread-safe. */
void rs_gear_put(struct rdma_cm_id *id, struct rs_gear *g);
/* Runs in a child of fork. */
void rs_pool_forked(void);

/* ---- rs_cm.c: the connection thread --------------------------------------------------------- */

/* Creates an id whose events go to the connection thread. Returns 0 or a negative errno. */
int rs_cm_id(struct rs *rs, enum rdma_port_space ps, struct rdma_cm_id **id);
/* Starts to resolve and connect. Returns 0 or a negative errno. Under the lock. */
int rs_cm_connect(struct rs *rs, const struct sockaddr *addr);
/* Makes the thread check keepalive soon. */
void rs_cm_kick(void);
/* Runs in a child of fork. */
void rs_cm_forked(void);

/* ---- rs_conn.c: the resources of a connection, all under the lock --------------------------- */

int rs_conn_setup(struct rs *rs);
void rs_conn_param(struct rs *rs, struct rdma_conn_param *param, struct rs_wire_hello *hello);
/* Parses the peer's hello; -EPROTO. */
int rs_conn_hello(struct rs *rs, const void *data, size_t bytes);
void rs_conn_free(struct rs *rs);

/* ---- rs_stream.c, all under the lock unless said -------------------------------------------- */

/* Takes completions; returns their number. */
int rs_stream_progress(struct rs *rs);
/* Requests an event for the next completion. Returns true if completions are already present. */
bool rs_stream_arm(struct rs *rs);
bool rs_stream_waiting(const struct rs *rs);
/* Handles an event of the completion channel. */
void rs_stream_event(struct rs *rs);
short rs_stream_revents(struct rs *rs);
int rs_stream_fin(struct rs *rs);
void rs_stream_break(struct rs *rs, int err);
/*
 * Posts a request that releases buf_bytes of tx_buf when it completes. Returns 0 or a negative
 * errno.
 */
int rs_stream_post(struct rs *rs, struct ibv_send_wr *wr, uint32_t buf_bytes);
bool rs_stream_idle(const struct rs_stream *st);
/* Called without the lock. */
ssize_t rs_stream_send(struct rs *rs, const struct iovec *iov, int iovcnt, int flags);
ssize_t rs_stream_recv(struct rs *rs, const struct iovec *iov, int iovcnt, int flags);
/*
 * Copies the first bytes of buf into tx_buf, as many as fit, for a following request. Returns their
 * number.
 */
uint32_t rs_stream_take(struct rs *rs, const void *buf, uint32_t bytes, struct ibv_sge *sge);

/* ---- rs_iomap.c ----------------------------------------------------------------------------- */

/* Handles a notification that the peer wrote entry index of our table; -EPROTO. Under the lock. */
int rs_iomap_told(struct rs_stream *st, uint32_t index);
void rs_iomap_free(struct rs_stream *st);

/* ---- rs_dgram.c: calls of programs, without the lock ---------------------------------------- */

int rs_dgram_bind(struct rs *rs, const struct sockaddr *addr);
int rs_dgram_connect(struct rs *rs, const struct sockaddr *addr);
ssize_t rs_dgram_send(struct rs *rs, const struct msghdr *msg, int flags);
ssize_t rs_dgram_recv(struct rs *rs, struct msghdr *msg, int flags);
void rs_dgram_close(struct rs *rs);
/* The rest requires the lock. */
/* Waits until the datagrams sent so far have left, or their destinations do not respond. */
void rs_dgram_drain(struct rs *rs);
int rs_dgram_progress(struct rs *rs);
bool rs_dgram_arm(struct rs *rs);
bool rs_dgram_waiting(const struct rs *rs);
void rs_dgram_event(struct rs *rs);
short rs_dgram_revents(struct rs *rs);
/* Stores at most n descriptors that become readable on completions; returns their number. */
int rs_dgram_fds(const struct rs *rs, int *fds, int n);

/* ---- rs_dest.c ------------------------------------------------------------------------------ */

/*
 * Handles an event in the connection thread, without the lock. Returns an id for the caller to
 * destroy, or NULL.
 */
struct rdma_cm_id *rs_dgram_cm_event(struct rs *rs, struct rdma_cm_event *event);

/* rs_share.c: runs in a child of fork. */
void rs_share_forked(void);

/* ---- rs_poll.c: common to streams and datagrams; under the lock ----------------------------- */

void rs_progress(struct rs *rs);
/* Requests an event for the next completion. Returns true if the caller must check again first. */
bool rs_arm(struct rs *rs);
/* Takes events of completion channels. */
void rs_events(struct rs *rs);
enum {
	RS_FDS_OF_ONE = 8
};
/* Stores the descriptors that a sleeper watches; returns their number. */
int rs_fds(const struct rs *rs, int fds[RS_FDS_OF_ONE]);

/* ---- rs_opt.c ------------------------------------------------------------------------------- */

void rs_opts_init(struct rs_opts *opts);
/* The time that a thread looks before it sleeps, at least; true if polling_time sets it. */
uint32_t rs_spin_us(void);
bool rs_spin_is_set(void);

/* ---- addresses (rs_addr.c) ------------------------------------------------------------------ */

socklen_t rs_addr_bytes(const struct sockaddr *addr);
/* Copies an address as getsockname(2) does: truncated, with the full length in *bytes. */
void rs_addr_out(const struct sockaddr_storage *from, struct sockaddr *to, socklen_t *bytes);
/* Converts an IPv4 or IPv6 address to the family of the socket (IPv4-mapped for IPv6). */
void rs_addr_as(int family, const struct sockaddr *from, struct sockaddr_storage *to);
/*
 * Converts an IPv4-mapped address to plain IPv4. Returns false for other families and short
 * addresses.
 */
bool rs_addr_in(const struct sockaddr *from, socklen_t bytes, struct sockaddr_storage *to);
bool rs_addr_any(const struct sockaddr *addr);
bool rs_addr_loopback(const struct sockaddr *addr);
uint16_t rs_addr_port(const struct sockaddr *addr);

#endif /* WEFT_RDMACM_RS_H */
