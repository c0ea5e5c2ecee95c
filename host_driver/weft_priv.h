/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private objects of libweft, and functions shared by its files.
 *
 * Every public struct is the first member of a private one. Not installed. WEFT_API is on functions
 * that libraries of other folders call.
 *
 * Lock order (a lock may be taken only after those above it):
 *
 * 	weft_tag_mem_obj.lock	memory for copies of tagged messages, counts of uses
 * 	weft_global.lock	contexts of the process, memory extents; held during a registration
 * 	cq->lock		one CQ: polling, arming, resizing; two CQs in address order
 * 	channel->eq.lock	the event queue of one completion channel
 * 	ctx->lock		lists and tables of objects of a context
 * 	qp->sq.lock, qp->rq.lock, srq->lock
 * 	ctx->rings.lock		rings in stock; queues and CQs that have one are only tried under it
 * 	ctx->async_eq.lock	the queue of asynchronous events
 * 	weft_watch_lock()	registration caches; nothing is allocated or freed under it
 * 	ctx->ack_lock		counts of events delivered and acknowledged
 *
 * Calls check that a context is WEFT_CTX_LIVE before they take a lock: in a child of fork, locks
 * may be held by threads that do not exist there.
 */
#ifndef WEFT_PRIV_H
#define WEFT_PRIV_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "host_driver/weft.h"
#include "host_driver/weft_cancel.h"
#include "host_driver/weft_chan.h"
#include "host_driver/weft_lock.h"
#include "host_driver/weft_ring.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cmd.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_wqe.h"

#define weft_container_of(ptr, type, member)                                                       \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct weft_link {
	struct weft_link *next;
	struct weft_link *prev;
};

static inline void weft_link_init(struct weft_link *head)
{
	head->next = head;
	head->prev = head;
}

static inline void weft_link_add(struct weft_link *head, struct weft_link *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void weft_link_del(struct weft_link *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	weft_link_init(node);
}

enum {
	WEFT_TABLE_LEAF_BITS = 8,
	WEFT_TABLE_LEAVES = 1 << (16 - WEFT_TABLE_LEAF_BITS),
};

/*
 * Maps an object number (its low 16 bits) to the object. Leaves are never removed while the context
 * lives, so a lookup takes no lock. Entries change under ctx->lock.
 */
struct weft_table {
	void **leaf[WEFT_TABLE_LEAVES];
};

enum weft_ctx_state {
	WEFT_CTX_LIVE = 0,
	WEFT_CTX_GONE = 1,   /* the NIC no longer exists: outstanding requests are flushed */
	WEFT_CTX_FORKED = 2, /* a child of fork: no object may be accessed */
};

/* Host side of one event queue of the NIC. */
struct weft_eq {
	pthread_mutex_t lock;
	struct hw_eq_record *record;
	struct hw_eqe *ring;
	uint32_t entries;
	uint32_t cons;
	uint32_t number;
	int event_fd; /* the NIC's interrupt; -1: none */
	int wait_fd;  /* epoll of event_fd and the channel's hang-up, which users poll; or -1 */
};

struct weft_ctx {
	struct weft_context pub;
	uint32_t state;        /* weft_ctx_state, atomic */
	uint32_t attach_flags; /* HW_ATTACH_F_* */
	bool tool;
	const struct weft_chan_ops *ops;
	void *chan;
	int hangup_fd;
	int doorbell_fd[HW_DOORBELLS_MAX];
	int doorbell_cpu[HW_DOORBELLS_MAX];
	uint32_t num_doorbells;
	void *bar; /* begins with struct hw_bar_header */
	uint64_t bar_bytes;
	uint32_t *db_ring;
	struct hw_resp_device device;

	struct weft_eq async_eq;
	bool fatal_delivered; /* under async_eq.lock */
	/* Likewise: next handle that gets the last event, and its type (weft_qp_obj.same). */
	struct weft_qp_obj *tell_qp;
	enum weft_event_type tell_type;

	pthread_mutex_t lock;
	struct weft_table qps;
	struct weft_table cqs;
	struct weft_table srqs;
	struct weft_link pd_list, mr_list, mw_list, ah_list, cache_list, xrcd_list;
	struct weft_link channel_list, cq_list, srq_list, qp_list;
	bool ud_stuck; /* the last weft_ud_settle() timed out; atomic */
	struct weft_ring_stock rings;

	pthread_mutex_t ack_lock;
	pthread_cond_t ack_cond;

	/* weft_slot.c: a bit of each slot that a thread has, and the slots' last commands. */
	uint32_t slots_used; /* atomic */
	uint32_t slot_serial[HW_CMD_SLOTS];

	uint64_t last_look_ns; /* time when the NIC was last known to be alive; atomic */
	struct weft_link node; /* in weft_global.contexts */
};

struct weft_pd_obj {
	struct weft_pd pub;
	struct weft_link node;
};

struct weft_xrcd_obj {
	struct weft_xrcd pub;
	uint32_t refs; /* handles of QPs that the NIC does not count; under ctx->lock */
	struct weft_link node;
};

struct weft_mem_pieces;
struct weft_cached;

struct weft_mr_obj {
	struct weft_mr pub;
	struct weft_mem_pieces *pieces; /* shared pages that hold it, or NULL */
	/* Entry of weft_mr_cache.c; NULL: the user's own registration. */
	struct weft_cached *cached;
	struct weft_link vm_node; /* pieces NULL: in weft_global.vm_mrs */
	struct weft_link node;
};

struct weft_mw_obj {
	struct weft_mw pub;
	struct weft_link node;
};

struct weft_ah_obj {
	struct weft_ah pub;
	struct weft_link node;
};

struct weft_channel_obj {
	struct weft_comp_channel pub;
	struct weft_eq eq;
	uint32_t refs; /* number of CQs; under ctx->lock */
	struct weft_link node;
	/* weft_cm.c, under eq.lock: */
	bool cm_due;      /* the NIC may have events without an entry in the queue */
	uint32_t cm_idle; /* unsuccessful checks since the last event */
};

/* Numbers of events delivered for an object and acknowledged; under ctx->ack_lock. */
struct weft_acks {
	uint32_t got;
	uint32_t acked;
};

struct weft_qp_obj;
struct weft_tag;

struct weft_cq_obj {
	struct weft_cq pub;
	pthread_mutex_t lock;
	struct hw_cq_record *record;
	struct hw_cqe *ring;
	uint32_t cons; /* entries taken, free-running */
	uint32_t mask;
	uint32_t shift;              /* log2 of the entries */
	struct weft_qp_obj *last_qp; /* cache: the QP of the last completion */
	bool armed;                  /* an event is requested and has not arrived; atomic */
	const void *poller;          /* the thread with the most empty polls; atomic */
	uint32_t polls;              /* its lead over the others; atomic */
	uint32_t shared;             /* nonzero: several threads poll it (weft_poll.c); atomic */
	uint32_t told; /* entries below this index existed when the last event was taken */
	struct weft_acks comp_acks;
	struct weft_acks async_acks;
	uint32_t refs; /* queues of QPs, XRC SRQs; under ctx->lock */
	struct weft_link node;
};

/*
 * The host's record of a posted send request. Requests are retired in queue order, and their slots
 * can then be reused: a signaled one once its completion was polled (on RD QPs, completions to
 * different peers may be out of order), an unsignaled one once the NIC's sq_cons has passed it.
 */
struct weft_sq_wr {
	uint32_t end; /* free-running number of the next slot after it */
	/* Equal to end: completion polled; atomic, written under the send CQ's lock. */
	uint32_t done;
	uint8_t slots;
	bool signaled;
};

struct weft_sq {
	struct weft_lock lock;
	uint32_t gave_us;      /* lent: when it gave its ring to another queue (weft_ring.c) */
	uint8_t *ring;         /* lent: NULL while it has none; then the queue is empty */
	uint32_t slots;        /* a power of two */
	uint32_t head;         /* slots posted, free-running */
	uint32_t tail;         /* slots retired */
	uint32_t wr_mask;      /* size of wr (a power of two) minus 1 */
	uint32_t wr_head;      /* requests posted, free-running */
	uint32_t wr_tail;      /* requests retired */
	struct weft_sq_wr *wr; /* lent: NULL with the ring; atomic */
	uint32_t *wr_of_slot;  /* number of the request that ends in this slot; atomic */
};

struct weft_rq {
	struct weft_lock lock;
	uint32_t gave_us; /* as weft_sq.gave_us */
	uint8_t *ring;    /* as weft_sq.ring */
	uint32_t entries; /* a power of two */
	uint32_t stride_bytes;
	uint32_t head; /* requests posted, free-running */
	uint32_t tail; /* requests completed; atomic, written under the receive CQ's lock */
	/* wr_id of requests between tail and head, in any order; lent: NULL with the ring; atomic
	 */
	uint64_t *wr_id;
};

struct weft_qp_obj {
	struct weft_qp pub;
	uint32_t state; /* enum weft_qp_state as known to the host; atomic */
	bool in_error;  /* a failure was seen: receives need a doorbell to be flushed; atomic */
	bool lent;      /* its rings are of the context's stock (weft_ring.h) */
	bool joined;    /* counted in its domain's refs */
	struct hw_qp_record *record; /* NULL: XRC_RECV */
	struct weft_sq sq;
	struct weft_rq rq;
	uint32_t
	    rq_taken;     /* tagged endpoint: rq_cons when it was read last, as the NIC writes it */
	uint32_t ud_mark; /* sq_prod when weft_ud_mark() was called; under ctx->lock */
	struct weft_acks async_acks;
	/*
	 * XRC_RECV: next handle of this process for the same QP; the first one is in ctx->qps. The
	 * NIC counts all of them as one. Under ctx->lock and async_eq.lock.
	 */
	struct weft_qp_obj *same;
	struct weft_tag *tag; /* a tagged endpoint (weft_tag_priv.h), or NULL */
	struct weft_link node;
};
static_assert(sizeof(struct weft_qp_obj) <= 248, "one for each connection: docs/scaling.md");

struct weft_srq_obj {
	struct weft_srq pub;
	pthread_mutex_t lock;
	struct hw_srq_record *record;
	uint8_t *ring;
	uint32_t entries;
	uint32_t stride_bytes;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t head;
	uint32_t refs; /* number of QPs; under ctx->lock */
	struct weft_acks async_acks;
	struct weft_link node;
};

/* State shared by the whole process (weft_ctx.c). */
struct weft_global {
	pthread_mutex_t lock;
	struct weft_link contexts;
	struct weft_link extents; /* weft_mem.h */
	struct weft_link vm_mrs;  /* regions accessed through process_vm */
	uint32_t idle_extents; /* extents that lost their last region since the last collection */
	uint64_t idle_bytes;
	int cancel_state; /* of the thread that holds the lock */
};
extern struct weft_global weft_global;

/* Take and release the lock; its holder cannot be cancelled (weft_cancel_off()). */
void weft_global_lock(void);
void weft_global_unlock(void);

static inline struct weft_ctx *weft_ctx_of(const struct weft_context *context)
{
	return weft_container_of(context, struct weft_ctx, pub);
}

static inline enum weft_ctx_state weft_ctx_state(const struct weft_ctx *ctx)
{
	return (enum weft_ctx_state)__atomic_load_n(&ctx->state, __ATOMIC_ACQUIRE);
}

/* ---- weft_ctx.c: state, tables, acknowledgements; all thread-safe */

/* Marks the NIC as gone: new requests are rejected and outstanding ones flushed. Idempotent. */
void weft_ctx_set_gone(struct weft_ctx *ctx);
/* Checks whether the NIC is gone, at most every 10 ms unless now is set. */
void weft_ctx_look(struct weft_ctx *ctx, bool now);
/* Wakes a sleeping NIC. */
void weft_ctx_wake(struct weft_ctx *ctx);

/* Closes the doorbells; the NIC cannot be woken any more. */
void weft_ctx_close_doorbells(struct weft_ctx *ctx);
/*
 * Sends a command. Returns 0 with resp, the NIC's negative errno, or -EIO when it is gone. fds:
 * room for WEFT_CHAN_FDS descriptors of the answer, or NULL if none are expected.
 */
int weft_ctx_command(struct weft_ctx *ctx, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
		     int *fds);
/* Sends a command with one object number (hw_cmd.u.obj). */
int weft_ctx_command_obj(struct weft_ctx *ctx, enum hw_cmd_op op, uint32_t handle);
/* Sets an entry. Under ctx->lock. Returns 0 or -ENOMEM. */
int weft_table_set(struct weft_table *table, uint32_t number, void *object);
/*
 * Clears an entry if it still refers to object: once the NIC has released a number, another thread
 * may have it for a new object. Under ctx->lock.
 */
void weft_table_clear(struct weft_table *table, uint32_t number, const void *object);
void weft_table_free(struct weft_table *table);

static inline void *weft_table_get(const struct weft_table *table, uint32_t number)
{
	void **leaf = __atomic_load_n(
	    &table->leaf[(number >> WEFT_TABLE_LEAF_BITS) & (WEFT_TABLE_LEAVES - 1)],
	    __ATOMIC_ACQUIRE);

	if (!leaf)
		return NULL;
	return __atomic_load_n(&leaf[number & ((1u << WEFT_TABLE_LEAF_BITS) - 1)],
			       __ATOMIC_ACQUIRE);
}

/* Count one delivered event of an object, or count acknowledgements. */
void weft_acks_got(struct weft_ctx *ctx, struct weft_acks *acks);
void weft_acks_done(struct weft_ctx *ctx, struct weft_acks *acks, uint32_t count);
/* Blocks until all delivered events are acknowledged. */
void weft_acks_wait(struct weft_ctx *ctx, const struct weft_acks *acks);

/* Returns a pointer into the BAR, or NULL if [offset, offset + bytes) exceeds it. */
void *weft_ctx_bar(const struct weft_ctx *ctx, uint64_t offset, uint64_t bytes);

void weft_mutex_init(pthread_mutex_t *lock);

/* ---- weft_event.c */

void weft_channel_free(struct weft_channel_obj *channel);
/*
 * Arming with verbs semantics: an event covers all completions present when it is taken. Programs
 * arm the CQ first and then poll it empty, so those completions must not raise a second event.
 * weft_cq_told() follows weft_get_cq_event(). Later completions raise an event at once.
 */
WEFT_API void weft_cq_told(struct weft_cq *cq);
WEFT_API int weft_req_notify_cq_untold(struct weft_cq *cq, bool solicited_only);

/* ---- the objects: unlink and free the host's part without notifying the NIC */

/*
 * weft_create_cq() with an interrupt vector, as in verbs: the first CQ of a channel moves the
 * channel to that vector. -1: the channel's own.
 */
WEFT_API struct weft_cq *weft_create_cq_vector(struct weft_context *context, uint32_t entries,
					       struct weft_comp_channel *channel, int vector,
					       void *user);
void weft_cq_free(struct weft_cq_obj *cq);
void weft_qp_free(struct weft_qp_obj *qp);
void weft_srq_free(struct weft_srq_obj *srq);
void weft_mr_free(struct weft_mr_obj *mr);
void weft_xrcd_free(struct weft_xrcd_obj *xrcd);

/* weft_cq.c: lock and unlock the CQs of a QP in order (they may be the same). */
void weft_cq_lock_pair(struct weft_cq_obj *a, struct weft_cq_obj *b);
void weft_cq_unlock_pair(struct weft_cq_obj *a, struct weft_cq_obj *b);
/* Removes the pending completions of a QP from a CQ and frees their slots. Under cq->lock. */
void weft_cq_purge(struct weft_cq_obj *cq, struct weft_qp_obj *qp);
/* Likewise for those of an XRC SRQ. */
void weft_cq_purge_srq(struct weft_cq_obj *cq, uint32_t srq);

/* ---- weft_qp.c, weft_post.c */

/*
 * As weft_post_send(), but posts nothing if one request of the list is invalid. For
 * host_driver/verbs.
 */
WEFT_API int weft_post_send_whole(struct weft_qp *qp, const struct weft_send_wr *wr);
/* Retires completed requests (see struct weft_sq_wr). Under sq->lock. */
void weft_sq_retire(struct weft_qp_obj *qp);
/*
 * Notes that the QP is or may be in its error state, so that requests posted from now on are
 * flushed.
 */
void weft_qp_saw_error(struct weft_qp_obj *qp);
/* Rings the doorbell of its send queue without new requests. */
void weft_qp_ring(struct weft_qp_obj *qp);
/* As weft_create_qp(). tag: the QP becomes a tagged endpoint and owns it; NULL: another QP. */
struct weft_qp *weft_qp_create(struct weft_pd *pd, struct weft_qp_init_attr *attr,
			       struct weft_tag *tag);
/* The two halves of weft_activate_qp(): to INIT, and from there to RTS. */
int weft_qp_to_init(struct weft_qp *qp, uint32_t qkey, uint32_t access);
int weft_qp_to_rts(struct weft_qp *qp);
void weft_av_to_hw(struct hw_av *hw, const struct weft_av *av);
/* Common parts of create and open, before and after the NIC's answer. */
struct weft_qp_obj *weft_qp_new(struct weft_context *context, struct weft_pd *pd,
				const struct weft_qp_init_attr *attr);
int weft_qp_publish(struct weft_ctx *ctx, struct weft_qp_obj *qp);
/*
 * weft_xrc.c: removes a handle of an XRC_RECV QP. Returns true if other handles of this process
 * keep the QP; only the memory of this one is left. Returns false if it is the last; the QP can no
 * longer be found by its number.
 */
bool weft_qp_leave(struct weft_ctx *ctx, struct weft_qp_obj *qp);

/* ---- weft_poll.c */

/*
 * Returns how often a waiting thread polls before the next weft_poll_yield(). The first value is 1
 * if this thread's last yield showed that others need its CPU: they may be the ones it waits for.
 */
uint32_t weft_poll_spins(bool first);
/* Yields the CPU, unless WEFT_YIELD forbids it. */
void weft_poll_yield(void);
/* Returns true if the NIC needs the CPU of this thread, or may need it, to answer. */
bool weft_poll_needs_cpu(const struct weft_ctx *ctx);
/* Fills in the completion of a request that the NIC, which is gone, will not complete. */
void weft_fill_flush(struct weft_wc *wc, const struct weft_qp_obj *qp, uint64_t wr_id,
		     enum weft_wc_opcode opcode);
/* Returns the CQ entry at index, or NULL if the NIC has not written it. Under cq->lock. */
struct hw_cqe *weft_cq_peek(const struct weft_cq_obj *cq, uint32_t index);

/* ---- weft_mr_cache.c */

/* Returns true if a cache of this domain exists. */
bool weft_mr_caches_use(struct weft_ctx *ctx, const struct weft_pd *pd);
/* Returns true for a cached region that the NIC does not know any more. */
bool weft_mr_is_dead(const struct weft_mr_obj *mr);
/* Closes the caches of a context that is being closed, with all their regions. */
void weft_mr_caches_close(struct weft_ctx *ctx);

/* ---- weft_fork.c */

/* Installs the fork handlers, once per process. Returns 0 or a negative errno. */
int weft_fork_init(void);

/*
 * weft_qp.c, for host_driver/verbs. Some programs post datagrams and do not wait for them: mckey
 * posts its last ones, destroys the address handle and the queue pair, and exits, when other
 * devices have already sent them. Waits until the NIC, which may share its CPU with the caller, has
 * read the requests posted so far to UD queue pairs (qp NULL: all of the context), at most 200 ms,
 * and not again while the same requests remain. Returns the number of pauses.
 */
WEFT_API uint32_t weft_ud_settle(struct weft_ctx *ctx, struct weft_qp_obj *qp);
/*
 * The two halves of weft_ud_settle(): record the requests posted so far; return true while the NIC
 * has not read all of them.
 */
void weft_ud_mark(struct weft_ctx *ctx, struct weft_qp_obj *qp);
bool weft_ud_is_unread(struct weft_ctx *ctx, const struct weft_qp_obj *qp);

/* Tells the processor that this thread polls. */
static inline void weft_pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif /* WEFT_PRIV_H */
