/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft-fi.so: the libfabric provider "weft". Objects and functions that its files share.
 *
 * Each object is the public struct of libfabric (first member) and the libweft object behind it.
 * The provider has no thread and no progress of its own: the NIC matches, moves and completes; the
 * functions here translate requests and completions. The manual pages of libfabric 1.17 (fi_*(3))
 * have the semantics, host_driver/weft_tag.h the layer below, README.md the choices made.
 *
 * Locks, in this order: wf_cntr.lock, wf_work.lock, wf_cq.lock, wf_qp.lock, wf_av.lock.
 */
#ifndef WEFT_FI_WEFT_H
#define WEFT_FI_WEFT_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "host_driver/fabric/wf_queue.h"
#include "host_driver/weft.h"
#include "host_driver/weft_tag.h"

enum {
	WF_IOV = 4,             /* pieces of a message */
	WF_INJECT_BYTES = 512,  /* inline data of a request */
	WF_TX_SIZE = 1024,      /* requests of a send queue, by default and at most */
	WF_RX_SIZE = 1024,      /* receives that the NIC has not seen yet */
	WF_CQ_SIZE = 1024,      /* completions of a queue, at first; it grows */
	WF_POLL = 16,           /* completions taken from the NIC at once */
	WF_NOTES = 64,          /* receives for data that comes with an RDMA Write */
	WF_MIN_MULTI_RECV = 64, /* FI_OPT_MIN_MULTI_RECV, bytes, by default */
	WF_EAGER_BYTES_MAX = 65536,
	WF_SCRATCH_BYTES = 4096, /* registered memory of a domain */
	WF_QKEY = 0x77656674,
};

#define WF_PROTO       (FI_PROV_SPECIFIC | 0x7766u)
#define WF_PROTO_DGRAM (FI_PROV_SPECIFIC | 0x7767u)

/* Capabilities of send queues, of receive queues, and of a domain. */
#define WF_TX_CAPS                                                                                 \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_COLLECTIVE | FI_SEND | FI_READ | FI_WRITE)
#define WF_RX_CAPS                                                                                 \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_COLLECTIVE | FI_RECV | FI_REMOTE_READ |      \
	 FI_REMOTE_WRITE | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE)
#define WF_DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV)
/* Flags that an endpoint's op_flags may have. */
#define WF_TX_FLAGS                                                                                \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |                   \
	 FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_MORE | FI_REMOTE_CQ_DATA)
#define WF_RX_FLAGS (FI_COMPLETION | FI_MULTI_RECV | FI_MORE)
/* The same of datagram endpoints. */
#define WF_DGRAM_TX_CAPS (FI_MSG | FI_MULTICAST | FI_SEND)
#define WF_DGRAM_RX_CAPS (FI_MSG | FI_RECV | FI_SOURCE)
#define WF_DGRAM_TX_FLAGS                                                                          \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_MORE |         \
	 FI_REMOTE_CQ_DATA | FI_MULTICAST)
#define WF_DGRAM_RX_FLAGS (FI_COMPLETION | FI_MORE)
/*
 * Messages of a pair are matched in order, and after the RDMA Writes and atomics before them;
 * atomics of a pair are carried out in order (RD flows).
 */
#define WF_ORDER                                                                                   \
	(FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |                 \
	 FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
/*
 * Tag of the messages that carry the data of fi_writedata(): endpoints with FI_RMA leave this bit
 * to the provider (fi_ep_attr.mem_tag_format).
 */
#define WF_NOTE_TAG (UINT64_C(1) << 63)
/* With both: messages by which endpoints join a collective group (wf_join.c). */
#define WF_JOIN_TAG (UINT64_C(1) << 62)
/* Capabilities for which the provider has messages of its own: the highest bit of tags is theirs.
 */
#define WF_OWN_TAGS (FI_RMA | FI_COLLECTIVE)

extern struct fi_provider wf_provider;

#define WF_WARN(subsystem, ...) FI_WARN(&wf_provider, subsystem, __VA_ARGS__)
#define WF_INFO(subsystem, ...) FI_INFO(&wf_provider, subsystem, __VA_ARGS__)

/*
 * An endpoint's address as it travels between programs: a sockaddr_in whose sin_zero holds the QPN,
 * big-endian. sin_port repeats its low 16 bits, so that the address prints as a distinct one. With
 * sin_zero 0 (a program filled in an ordinary address) the port is the QPN.
 */
struct wf_addr {
	uint32_t ip; /* network byte order */
	uint32_t qpn;
};

/* --------------------------------------------------------------- wf_info.c, wf_fabric.c */

int wf_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	       const struct fi_info *hints, struct fi_info **info);

struct wf_group;
struct wf_run;
struct wf_join;
struct wf_joins;

/* Collectives of a fabric (wf_work.c). */
struct wf_work {
	pthread_mutex_t lock;
	struct wf_group *groups;
	struct wf_run *runs;
	atomic_int count; /* joins and runs under way */
	atomic_int joins; /* of them */
};

struct wf_fabric {
	struct fid_fabric fid;
	atomic_int refs;
	struct wf_work work;
};

/* Looks at what is under way. No lock but that of a counter is held. */
void wf_work_progress(struct wf_fabric *fabric);
static inline bool wf_work_busy(const struct wf_fabric *fabric)
{
	return atomic_load_explicit(&fabric->work.count, memory_order_relaxed) != 0;
}

/* Joins go on while the program reads, by no event. */
static inline bool wf_work_joins(const struct wf_fabric *fabric)
{
	return atomic_load(&fabric->work.joins) != 0;
}
/*
 * A thread is about to sleep: arms the events of runs. True: some of what is under way raises none,
 * so the thread must look again soon. No lock but that of a counter is held.
 */
bool wf_work_arm(struct wf_fabric *fabric);

int wf_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* ---------------------------------------------------------------------- wf_param.c */

/* Settings of the environment; defined once, before the others are read. */
void wf_param_define(void);
enum weft_tag_announce wf_param_announce(void);
/* Sets never and uses. */
void wf_param_keep_buffers(struct weft_tag_mem_attr *attr);
/* 0: the device's default. */
uint32_t wf_param_eager_bytes(void);

/* --------------------------------------------------------------------- wf_domain.c */

struct wf_domain {
	struct fid_domain fid;
	struct wf_fabric *fabric;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_mr_cache *cache;
	struct weft_tag_mem *mem;
	struct weft_device_attr device;
	struct weft_port_attr port;
	int mr_mode;
	enum fi_av_type av_type;
	struct wf_eq *mr_eq; /* of fi_domain_bind(), for FI_REG_MR */
	uint64_t caps;
	atomic_int refs;
	/* A word that takes results of atomics that were not requested. */
	uint64_t *scratch;
	struct weft_mr *scratch_mr;
};

int wf_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		   void *context);
/* Makes a domain of an open context, which it owns from then on. For tests, too. */
int wf_domain_new(struct wf_fabric *fabric, const struct fi_info *info,
		  struct weft_context *context, struct fid_domain **domain, void *user);

/* ----------------------------------------------------------------------- wf_addr.c */

struct sockaddr_in wf_addr_out(struct wf_addr addr);
/* False: not an IPv4 unicast address with a QPN. */
bool wf_addr_in(const void *sockaddr, struct wf_addr *addr);
/*
 * Resolves a host (name or number; NULL and loopback: ip) and a service, the QPN of the endpoint. 0
 * or a negative errno.
 */
int wf_addr_resolve(const char *node, const char *service, uint64_t flags, uint32_t ip,
		    struct wf_addr *addr);

/* ------------------------------------------------------------------------- wf_av.c */

struct wf_peer {
	struct wf_addr addr;
	struct weft_ah *ah; /* NULL: removed, or not there yet */
	fi_addr_t next;     /* of the same hash */
};

struct wf_av {
	struct fid_av fid;
	struct wf_domain *domain;
	struct wf_eq *eq;
	enum fi_av_type type;
	uint64_t flags;
	atomic_int refs;
	pthread_mutex_t lock;
	/*
	 * Chunks do not move, so requests read them without the lock. count rises only; a place
	 * of a removed peer is given again.
	 */
	struct wf_peer *_Atomic *chunk;
	atomic_size_t count;
	fi_addr_t *hash; /* of addresses to their first place */
	size_t hash_size;
	fi_addr_t free;            /* first removed place */
	struct wf_way *ways;       /* address handles by IP address */
	struct wf_av_share *share; /* named: memory of all processes */
};

int wf_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
	       void *context);
/* Finds a peer; NULL: no such address. */
const struct wf_peer *wf_av_peer(struct wf_av *av, fi_addr_t addr);
/* Finds the fi_addr_t of an endpoint; FI_ADDR_NOTAVAIL: not inserted. */
fi_addr_t wf_av_find(struct wf_av *av, struct wf_addr addr);

/* The memory of a named address vector, which processes of one user share (wf_av_share.c). */
struct wf_av_share {
	struct wf_share_head *head;
	size_t max, bytes;
	bool owner;
	char name[128];
};

/* Creates (owner) or opens a share; -FI_EEXIST, -FI_ENOENT, ... */
int wf_av_share_open(const char *name, bool owner, size_t max, struct wf_av_share **share);
void wf_av_share_close(struct wf_av_share *share);
/* Publishes place index. */
int wf_av_share_put(struct wf_av_share *share, size_t index, struct wf_addr addr);
/* Reads places that were published; their number. */
size_t wf_av_share_count(const struct wf_av_share *share);
struct wf_addr wf_av_share_get(const struct wf_av_share *share, size_t index);
/* The fi_addr_t of each place, for fi_av_attr.map_addr. */
void *wf_av_share_map(const struct wf_av_share *share);

/* ------------------------------------------------------------------------- wf_mr.c */

struct wf_mr {
	struct fid_mr fid;
	struct wf_domain *domain;
	struct weft_mr *mr;
	uintptr_t base;
	uint64_t iova;    /* of base, in requests of this process */
	bool local_write; /* the NIC may write to it for requests of this process */
};

extern struct fi_ops_mr wf_mr_ops;

/* How the memory of a request that comes without descriptor is provided. */
enum wf_use {
	WF_USE_SEND,   /* read; a copy will do */
	WF_USE_RECV,   /* written once, until the completion: likewise */
	WF_USE_DIRECT, /* written in place */
};

/* Memory that a request holds until it has completed, by piece. */
struct wf_piece {
	struct weft_mr *mr;      /* of the registration cache */
	struct weft_tag_buf buf; /* of weft_tag_get_buf() */
	enum {
		WF_PIECE_DESC,
		WF_PIECE_MR,
		WF_PIECE_BUF
	} kind;
	uint32_t bytes;
};
struct wf_hold {
	uint32_t count; /* pieces; 0: nothing is held */
	struct wf_piece piece[WF_IOV];
};

/*
 * Makes SGEs of a request's memory: by its descriptors, or by libweft for pieces without one. Empty
 * pieces are left out. Returns the number of SGEs, or a negative errno, with nothing held.
 */
int wf_mr_sges(struct wf_domain *domain, const struct iovec *iov, void **desc, size_t count,
	       enum wf_use use, struct weft_sge *sge, struct wf_hold *hold);
/* Ends the use; bytes: of the pieces together, that the NIC has written. */
void wf_mr_release(struct wf_domain *domain, struct wf_hold *hold, size_t bytes);

/* Queues, counters and wait sets: wf_queue.h. */

/* ------------------------------------------------------------------- wf_ep.c, wf_op.c */

/* Kinds of requests that counters count; indices of wf_qp.cntr. WF_COUNTS: none. */
enum wf_count {
	WF_SENDS,
	WF_RECVS,
	WF_READS,
	WF_WRITES,
	WF_COUNTS
};

/* A request of an endpoint, until its completion. Its address is the wr_id. */
struct wf_op {
	struct wf_op *next, *prev; /* free ones; posted receives */
	struct wf_qp *qp;
	struct wf_cq *cq; /* where places are reserved, one for each part */
	void *context;
	void *buf;
	uint64_t flags;  /* of the completion: FI_SEND | FI_TAGGED ... */
	uint32_t number; /* receives: weft_tag_cancel() */
	uint8_t count;   /* wf_count */
	uint8_t parts;   /* completions of the NIC that are outstanding; 0: free */
	bool silent;     /* no entry on success */
	bool posted;     /* in wf_qp.posted */
	bool claims;     /* a peek that stores its claim in context */
	bool note;       /* a receive of the provider: data of a peer's RDMA Write */
	bool multi;
	int err, prov_errno;  /* of a part */
	struct wf_join *join; /* a message of the provider */
	struct wf_hold hold;
};

struct wf_mc;
struct wf_srx;
struct wf_stx;

/* The endpoint that wf_ep and its aliases share: ep or ud, by its type. */
struct wf_qp {
	struct wf_domain *domain;
	struct wf_av *av;
	struct wf_cq *tx_cq, *rx_cq; /* bound; once enabled, never NULL */
	struct wf_cq *own_cq;        /* in place of a queue that is not bound */
	struct wf_eq *eq;
	struct wf_cntr *cntr[WF_COUNTS];
	/* NULL: not enabled, a datagram endpoint, or a shared receive context. */
	struct weft_tag_ep *ep;
	/* Where receives are posted: ep, or the context's; NULL: another context has them. */
	struct weft_tag_ep *rx_ep;
	struct weft_qp *ud; /* of a datagram endpoint that is enabled */
	/* wf_srx.h: of the context itself, or the one that is bound; NULL. */
	struct wf_srx *srx;
	struct wf_stx *stx;
	struct wf_qp *next_member; /* wf_srx.members */
	uint32_t joined_qpn;
	bool is_context; /* a shared receive context */
	bool shares_rx, shares_tx, joined_srx;
	bool dgram;
	struct wf_mc *groups; /* that the endpoint has joined; under lock */
	atomic_int joined;    /* groups that stand on it: it is closed after them */
	uint64_t caps;
	size_t max_msg_bytes;
	uint32_t tx_size, rx_size;
	bool tx_selective, rx_selective;
	bool source; /* completions name the sender's fi_addr_t */
	bool directed;
	bool bound; /* a reference on the queues, the vector and the counters is held */
	uint32_t notes_missing;
	uint32_t min_multi_recv_bytes;
	uint64_t tag_mask; /* bits of a tag that the application has */
	atomic_int refs;   /* wf_ep that stand on it */
	pthread_mutex_t lock;
	struct wf_op *free;
	struct wf_op posted; /* list head of receives, oldest first */
	struct wf_op silent; /* wr_id of requests without completion: their errors */
	struct wf_op_chunk *chunks;
	struct wf_joins *joins; /* collective groups joined so far; under wf_work.lock */
};

struct wf_ep {
	struct fid_ep fid;
	struct wf_qp *qp;
	uint64_t tx_flags, rx_flags; /* op_flags */
};

int wf_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
/* Makes and frees what a shared receive context has of an endpoint. 0 or a negative errno. */
int wf_ep_new_context(struct wf_domain *domain, const struct fi_rx_attr *attr, struct wf_srx *srx,
		      void *context, struct wf_ep **ep);
void wf_ep_free_context(struct wf_ep *ep);

static inline bool wf_qp_is_open(const struct wf_qp *qp)
{
	return qp->ep || qp->ud;
}

/* wf_join.c: a request of a join is over, or will not be; all joins of an endpoint are. */
void wf_join_done(struct wf_join *join, bool received, bool ok);
void wf_join_forget(struct wf_qp *qp);

extern struct fi_ops_cm wf_cm_ops;
extern struct fi_ops_msg wf_msg_ops;
extern struct fi_ops_tagged wf_tagged_ops;
extern struct fi_ops_rma wf_rma_ops;
extern struct fi_ops_atomic wf_atomic_ops;

/* Prepares the pool of requests of a zeroed endpoint. */
void wf_op_init(struct wf_qp *qp);
/* Gives back all requests of a closed endpoint, with their regions and places. */
void wf_op_fini(struct wf_qp *qp);
/*
 * Takes a request from the pool and reserves places for its parts. NULL: no place is free, or no
 * memory (-FI_EAGAIN for the caller's caller).
 */
struct wf_op *wf_op_get(struct wf_qp *qp, struct wf_cq *cq, uint8_t parts);
/* Gives back a request that was not posted. */
void wf_op_drop(struct wf_op *op);
/* True if a completion of the NIC is needed to finish the request. */
static inline bool wf_op_needed(const struct wf_qp *qp, enum wf_count count, uint64_t flags,
				const struct wf_hold *hold)
{
	return (flags & FI_COMPLETION) || qp->cntr[count] || hold->count;
}
/* Posts a receive and puts it on the list for fi_cancel(). 0 or a negative errno. */
int wf_op_post_recv(struct wf_op *op, const struct weft_tag_recv_wr *wr);
/* Withdraws the receives of a join. */
void wf_op_cancel_join(struct wf_qp *qp, const struct wf_join *join);
/* Finds the oldest posted receive with this context; withdraws it. 0, -FI_ENOENT ... */
int wf_op_cancel(struct wf_qp *qp, const void *context);
/*
 * Handles a completion of the NIC: counts it, releases memory, and fills in entry. False: there is
 * nothing to report. The queue's lock is held.
 */
bool wf_op_done(const struct weft_wc *wc, struct wf_entry *entry);
/* Fills in a completion of op at this endpoint (NULL: none): err and all that it brings. */
void wf_op_fill(struct wf_entry *entry, const struct wf_op *op, const struct weft_wc *wc,
		const struct wf_qp *at);
/* Posts the first receives for data that comes with RDMA Writes. 0 or a negative errno. */
int wf_op_post_notes(struct wf_qp *qp);
/* Posts one of them again. */
int wf_op_post_note(struct wf_op *op);

/* Flags of a request made by a function without flags, and by one with. */
static inline uint64_t wf_ep_tx_flags(const struct wf_ep *ep)
{
	return ep->tx_flags | (ep->qp->tx_selective ? 0 : FI_COMPLETION);
}
static inline uint64_t wf_ep_tx_msg_flags(const struct wf_ep *ep, uint64_t flags)
{
	return flags | (ep->qp->tx_selective ? 0 : FI_COMPLETION);
}
static inline uint64_t wf_ep_rx_flags(const struct wf_ep *ep)
{
	return ep->rx_flags | (ep->qp->rx_selective ? 0 : FI_COMPLETION);
}
static inline uint64_t wf_ep_rx_msg_flags(const struct wf_ep *ep, uint64_t flags)
{
	return flags | (ep->qp->rx_selective ? 0 : FI_COMPLETION);
}

/* ----------------------------------------------------------------------- wf_send.c */

/* A message to send or a receive to post, tagged or not. */
struct wf_msg {
	const struct iovec *iov;
	void **desc;
	size_t count;
	fi_addr_t addr;
	uint64_t tag, ignore;
	uint64_t data;
	void *context;
	bool tagged;
};

/* flags: FI_COMPLETION, FI_INJECT, FI_REMOTE_CQ_DATA, FI_DELIVERY_COMPLETE ... */
ssize_t wf_send(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags);
/* flags: FI_COMPLETION, FI_MULTI_RECV; tagged: FI_PEEK, FI_CLAIM, FI_DISCARD. */
ssize_t wf_recv(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags);

/* The result of a call that the type of the endpoint has not, or that comes before fi_enable(). */
static inline ssize_t wf_not_open(const struct wf_qp *qp)
{
	return qp->dgram ? -FI_ENOSYS : -FI_EOPBADSTATE;
}

/* A message to send, ready to be posted. */
struct wf_outgoing {
	struct weft_sge sge[WF_IOV];
	uint32_t num_sge;
	bool in_line;     /* the NIC copies the data when it is posted */
	struct wf_op *op; /* NULL: no completion is needed */
	uint64_t wr_id;
};

/* Provides memory and, if it is needed, a request. 0 or a negative errno, with nothing held. */
int wf_send_prepare(struct wf_qp *qp, const struct wf_msg *msg, uint64_t flags, uint32_t max_inline,
		    struct wf_outgoing *out);
/* Takes a request for a receive into msg. 0 or a negative errno. use: of its memory. */
int wf_recv_prepare(struct wf_qp *qp, const struct wf_msg *msg, uint64_t flags, enum wf_use use,
		    struct weft_sge *sge, uint32_t *num_sge, struct wf_op **op);

/* -------------------------------------------------------------------- wf_dgram.c */

/* Opens and closes the queue pair of a datagram endpoint. 0 or a negative errno. */
int wf_dgram_open(struct wf_qp *qp);
void wf_dgram_close(struct wf_qp *qp);
ssize_t wf_dgram_send(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags);
ssize_t wf_dgram_recv(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags);
/* A send has failed, which stops the queue: lets it go on. */
void wf_dgram_resume(struct wf_qp *qp);

/* ----------------------------------------------------------------------- wf_mc.c */

/* Joins a group of datagram endpoints. 0 or a negative errno. */
int wf_mc_join(struct wf_qp *qp, const void *addr, uint64_t flags, struct fid_mc **mc,
	       void *context);
/* The address handle of a group that the endpoint has joined to send; NULL: none has that address.
 */
struct weft_ah *wf_mc_way(struct wf_qp *qp, fi_addr_t addr);

/* Translates what posting returned: -ENOMEM of a full queue is -FI_EAGAIN. */
static inline ssize_t wf_post_result(int rc)
{
	return rc == -ENOMEM ? -FI_EAGAIN : rc;
}

/* --------------------------------------------------------------------- wf_atomic.c */

int wf_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		    struct fi_atomic_attr *attr, uint64_t flags);

int wf_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			struct fi_collective_attr *attr, uint64_t flags);

/* Logs an object that could not be destroyed, unless the NIC is gone with all of them. */
void wf_expect(int rc, const char *what);

/* Refusals, for entries of tables that libfabric calls without looking. */
int wf_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int wf_no_control(struct fid *fid, int command, void *arg);
int wf_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif /* WEFT_FI_WEFT_H */
