/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: the public interface of the weft NIC. An application includes only this header, which
 * has requests, events and tools, and includes the rest: weft_device.h, weft_mr.h, weft_cq.h,
 * weft_qp.h, weft_atomic.h, weft_coalesce.h.
 *
 * The interface follows verbs: device, protection domain, memory region, completion queue, queue
 * pair, work request, completion. A context is one attachment of the process to one NIC
 * (weft_open_device). All objects belong to a context and are destroyed with it.
 *
 * Conventions:
 * - Functions that return int return 0 (or a count) on success and a negative errno on failure.
 *   Functions that return a pointer return NULL and set errno. Every call may also return -EIO (the
 *   NIC is gone: weftd ended, or this is a child of fork and the context belongs to the parent) and
 *   -ENOMEM.
 * - Lengths are in bytes. The last part of a name is the unit of a time. IPv4 addresses are in
 *   network byte order (as in struct in_addr); QPNs and all other numbers are in host order.
 *   Immediate data is transferred as 32 bits in memory order: use htonl() between different
 *   machines.
 * - Thread safety: every call may be made from any thread at any time, but no thread may use an
 *   object during or after its destruction. Posting locks one send or receive queue, polling locks
 *   one completion queue; the data path has no global lock. No call is async-signal-safe. A thread
 *   may be cancelled (pthread_cancel(3)) while it waits in weft_get_cq_event() or
 *   weft_get_async_event(); no event is lost.
 * - fork: the parent is not affected. In the child, registered memory is a private copy, and calls
 *   on contexts opened before the fork return -EIO. The child may close them and open new ones.
 * - A call blocks only if its description says so. A blocked call returns when the NIC goes away.
 *
 * Environment: WEFT_RUN_DIR (directory of the NICs' sockets, default /run/weft), WEFT_DEVICE
 * (device opened by weft_open_device(NULL)), WEFT_SHARD (shard for programs that name none),
 * WEFT_YIELD (auto, never, or the number of empty polls, rounds of polls in a thread with several
 * CQs, after which weft_poll_cq yields the processor), WEFT_MEM (auto; process_vm: registration
 * never moves memory onto shared pages), WEFT_MR_CACHE (policy of registration caches).
 *
 * docs/host-interface.md describes the interface between library and NIC.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/weft_atomic.h"
#include "host_driver/weft_cq.h"
#include "host_driver/weft_device.h"
#include "host_driver/weft_mr.h"
#include "host_driver/weft_qp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------- posting */

struct weft_sge {
	uint64_t addr; /* (uintptr_t)pointer, or an offset from the region's iova */
	uint32_t bytes;
	uint32_t lkey;
};

enum weft_wr_opcode {
	WEFT_WR_SEND = 0,
	WEFT_WR_SEND_IMM = 1,
	WEFT_WR_SEND_INV = 2,  /* not UD */
	WEFT_WR_WRITE = 3,     /* not UD */
	WEFT_WR_WRITE_IMM = 4, /* not UD */
	WEFT_WR_READ = 5,      /* not UD, UC */
	WEFT_WR_FETCH_ADD = 6, /* not UD, UC: 8 bytes, 8-aligned; the SGE receives the old value */
	WEFT_WR_CMP_SWAP = 7,  /* as FETCH_ADD */
	WEFT_WR_LOCAL_INV = 8,
	WEFT_WR_BIND_MW = 9,
	WEFT_WR_WRITE_RECORD = 10, /* UD only */
	/*
	 * RD only: atomic_op on an element of atomic_type, aligned to its size; the SGEs have its
	 * bytes and receive the old value.
	 */
	WEFT_WR_ATOMIC = 12,
};

/* weft_send_wr.flags */
enum weft_send_flags {
	WEFT_SEND_SIGNALED = 0x01,  /* generates a completion; failures always do */
	WEFT_SEND_SOLICITED = 0x02, /* the peer's completion is solicited */
	WEFT_SEND_FENCE = 0x04,     /* starts after earlier reads and atomics have completed */
	WEFT_SEND_INLINE = 0x08,    /* data is copied at posting; lkeys are ignored */
};

struct weft_send_wr {
	const struct weft_send_wr *next;
	uint64_t wr_id;
	const struct weft_sge *sg_list;
	uint32_t num_sge;
	enum weft_wr_opcode opcode;
	uint32_t flags;       /* enum weft_send_flags */
	uint32_t imm;         /* *_IMM */
	uint32_t inv_stag;    /* SEND_INV: the peer's STag; LOCAL_INV: a local one */
	uint32_t rkey;        /* WRITE*, READ, atomics: the peer's; BIND_MW: the window's */
	uint64_t remote_addr; /* WRITE*, READ, atomics */
	uint64_t compare_add; /* CMP_SWAP, ATOMIC: value to compare; FETCH_ADD: value to add */
	uint64_t swap;        /* CMP_SWAP: value to store; ATOMIC: operand */
	uint32_t mw_access;   /* BIND_MW: enum weft_access; sg_list[0] gives range and region */
	struct weft_ah *ah;   /* UD, RD */
	uint32_t dst_qpn;     /* UD, RD */
	uint32_t qkey; /* UD, RD; high bit set: the QP's own Q_Key is used. XRC: the peer's srqn */
	enum weft_atomic_op atomic_op;     /* ATOMIC */
	enum weft_atomic_type atomic_type; /* ATOMIC */
};

struct weft_recv_wr {
	const struct weft_recv_wr *next;
	uint64_t wr_id;
	const struct weft_sge *sg_list;
	uint32_t num_sge;
};

/*
 * Posts a list of send requests in order, with one doorbell. On failure the requests before *bad_wr
 * (which may be NULL) were posted. Without WEFT_SEND_INLINE the NIC owns the memory until
 * completion. -ENOMEM: the send queue is full, poll its CQ; -EINVAL: opcode not supported by the QP
 * type, too many SGEs or inline bytes, no address handle, or QP state RESET, INIT or RTR. Errors
 * that only the NIC can detect (keys, bounds, rights) are reported in the completion's status.
 */
WEFT_API WEFT_CHECK_RET int weft_post_send(struct weft_qp *qp, const struct weft_send_wr *wr,
					   const struct weft_send_wr **bad_wr);

/*
 * Posts receive buffers. UD without WEFT_QP_F_UD_LONG: 40 bytes of GRH precede the data. -ENOMEM:
 * queue full; -EINVAL: too many SGEs, state RESET, or the QP has an SRQ.
 */
WEFT_API WEFT_CHECK_RET int weft_post_recv(struct weft_qp *qp, const struct weft_recv_wr *wr,
					   const struct weft_recv_wr **bad_wr);
WEFT_API WEFT_CHECK_RET int weft_post_srq_recv(struct weft_srq *srq, const struct weft_recv_wr *wr,
					       const struct weft_recv_wr **bad_wr);

/* --------------------------------------------------------- asynchronous events */

enum weft_event_type {
	WEFT_EVENT_NONE = 0,
	WEFT_EVENT_CQ_ERR = 2,   /* cq: overrun */
	WEFT_EVENT_QP_FATAL = 3, /* qp is set, also in the next four */
	WEFT_EVENT_QP_REQ_ERR = 4,
	WEFT_EVENT_QP_ACCESS_ERR = 5,
	WEFT_EVENT_COMM_EST = 6,
	WEFT_EVENT_QP_LAST_WQE = 7,
	WEFT_EVENT_SRQ_LIMIT = 8, /* srq */
	WEFT_EVENT_SRQ_ERR = 9,
	WEFT_EVENT_PORT_ACTIVE = 10,
	WEFT_EVENT_PORT_ERR = 11,
	WEFT_EVENT_DEVICE_FATAL = 12, /* weftd ended; the last event of a context */
	WEFT_EVENT_PEER_ERROR = 13,   /* qp: a peer refused a datagram that it sent; see peer_* */
	WEFT_EVENT_SQ_DRAINED = 14,   /* qp: drained in SQD; requested with en_sqd_async_notify */
	WEFT_EVENT_GOAL_RUN = 15,     /* a run of a schedule has finished; handled by libgoal */
	WEFT_EVENT_CM = 16,           /* event of the connection manager; handled by librdmacm */
	WEFT_EVENT_TAG_POOL_LOW = 17, /* qp: weft_tag_attr.pool_low_bytes */
};

struct weft_async_event {
	enum weft_event_type type;
	struct weft_qp *qp; /* the object that the type names; the others are NULL */
	struct weft_cq *cq;
	struct weft_srq *srq;
	uint32_t peer_ssn; /* PEER_ERROR: number of the refused message */
	uint32_t peer_ip;  /* network byte order */
	/* Layer and error type of the Terminate message (RFC 5040, 4.8). */
	uint8_t peer_layer_etype;
	uint8_t peer_code;
};

/*
 * Takes the next asynchronous event. Blocks unless async_fd has O_NONBLOCK. Each event must be
 * acknowledged; until then the object in it cannot be destroyed. -EAGAIN (O_NONBLOCK), -EINTR;
 * -EIO: the NIC is gone and WEFT_EVENT_DEVICE_FATAL was delivered.
 */
WEFT_API WEFT_CHECK_RET int weft_get_async_event(struct weft_context *context,
						 struct weft_async_event *event);
WEFT_API void weft_ack_async_event(const struct weft_async_event *event);

/* ----------------------------------------------------------------------- tools */

struct weft_stat {
	char name[40]; /* name as in ethtool -S */
	uint64_t value;
};

/*
 * Returns the counters of one shard from number *cursor (initially 0) on, at most max, and advances
 * *cursor. The result is their number; 0: end of list. -EINVAL: no such shard.
 */
WEFT_API WEFT_CHECK_RET int weft_stats(struct weft_context *context, uint32_t shard,
				       uint32_t *cursor, struct weft_stat *stats, uint32_t max);

enum weft_list_kind {
	WEFT_LIST_CLIENTS = 0,
	WEFT_LIST_QPS = 1,
	WEFT_LIST_MRS = 2,
	WEFT_LIST_CQS = 3,
	WEFT_LIST_NEIGHBOURS = 4,
	WEFT_LIST_PEERS = 5,
	WEFT_LIST_GROUPS = 6,
	WEFT_LIST_SHARES = 7, /* shares of users and processes in a shard's tables */
	WEFT_LIST_USERS = 8,  /* their shares in the whole weftd; shard 0 */
	WEFT_LIST_COLLS = 9,  /* collectives of MPI libraries, by process */
};

/* docs/host-interface.md, "Lists", describes the fields for each kind. */
struct weft_list_item {
	uint32_t id;
	uint32_t client;
	uint32_t state;
	uint32_t type;
	uint64_t a, b;
	uint8_t mac[6];
	uint16_t forged; /* client: rsocket datagrams it dropped as forged, see weft_cm.h */
	union {
		char name[24];
		uint64_t more[2]; /* colls, peers */
	};
};

/*
 * Lists the objects of all processes on one shard; cursor and result as for weft_stats(). max must
 * be at least WEFT_LIST_MIN. A call may return fewer than max items (by less than WEFT_LIST_MIN)
 * before the end.
 */
#define WEFT_LIST_MIN 6
WEFT_API WEFT_CHECK_RET int weft_list(struct weft_context *context, enum weft_list_kind kind,
				      uint32_t shard, uint32_t *cursor,
				      struct weft_list_item *items, uint32_t max);

/* weft_upgrade(): texts end with a 0. */
struct weft_upgrade {
	uint64_t longest_ns; /* time that a core spent on the change, at most */
	uint32_t pid;        /* of weftd: all its NICs are upgraded together */
	uint32_t shards;
	char version[32]; /* of the firmware that ran */
	char version_new[32];
	char why[96]; /* after -ENOEXEC: why the image was refused */
};

/*
 * Lets weftd go on with another firmware, of which fd is the file; the caller keeps fd. Programs do
 * not notice it. check: only asks whether it could. Returns 0; -ENOEXEC: the image was refused, and
 * nothing was changed; -EPERM: the caller is neither root nor weftd's user; or another negative
 * errno. Thread-safe.
 */
WEFT_API WEFT_CHECK_RET int weft_upgrade(struct weft_context *context, int fd, bool check,
					 struct weft_upgrade *upgrade);

/*
 * Starts a capture. *fd becomes a pipe that delivers a pcapng stream of every frame of the NIC
 * until it is closed. -EPERM: not root.
 */
WEFT_API WEFT_CHECK_RET int weft_capture(struct weft_context *context, int *fd);

enum weft_change {
	WEFT_CHANGE_LINE = 0,   /* a line of a configuration file takes effect */
	WEFT_CHANGE_RELOAD = 1, /* the configuration file, where it can be changed */
	WEFT_CHANGE_SHOW = 2,   /* line: a word; text: its values in force */
};

/*
 * Changes the weftd of this NIC while it runs, from a tool's context. text receives lines for the
 * operator, at most max bytes with the final NUL. Returns 0; a positive errno if weftd refused the
 * change and text says why: EINVAL a wrong line, EBUSY forbidden at present, ENOTSUP not while it
 * runs; or a negative one: -EPERM not root or weftd's user, -EINVAL line too long, -ENOSPC text too
 * long.
 */
WEFT_API WEFT_CHECK_RET int weft_change(struct weft_context *context, enum weft_change kind,
					const char *line, char *text, size_t max);

/* Return a name, never NULL: "SUCCESS", "RETRY_EXC_ERR", etc. May be called from any thread. */
WEFT_API const char *weft_wc_status_str(enum weft_wc_status status);
WEFT_API const char *weft_wc_opcode_str(enum weft_wc_opcode opcode);
WEFT_API const char *weft_vendor_err_str(uint32_t vendor_err);
WEFT_API const char *weft_event_type_str(enum weft_event_type type);
WEFT_API const char *weft_qp_state_str(enum weft_qp_state state);
WEFT_API const char *weft_qp_type_str(enum weft_qp_type type);

#ifdef __cplusplus
}
#endif

/* After the declarations above, which it needs. */
#include "host_driver/weft_coalesce.h"

#endif /* WEFT_WEFT_H */
