/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the workload "verbs" share.
 *
 * sim_wl_verbs.c	  start, one step after another, the end
 * sim_wl_verbs_proc.c	  processes and their objects come and go
 * sim_wl_verbs_mem.c	  ranges of memory, words of atomics, whole checks
 * sim_wl_verbs_send.c	  requests: what they do, what they may lead to
 * sim_wl_verbs_key.c	  windows, and keys that end while they are in use
 * sim_wl_verbs_misuse.c  requests that must fail
 * sim_wl_verbs_recv.c	  receives
 * sim_wl_verbs_done.c	  completions, given to the model; what a request's end means for memory
 * sim_wl_verbs_ctl.c	  changes of state, resets, destruction, deaths
 * sim_wl_verbs_event.c	  asynchronous events
 * sim_wl_verbs_cq.c	  a CQ that overruns
 *
 * One event moves the whole workload, so that blocking calls, which run the simulation, never
 * nest. Everything is drawn from one stream of the seed.
 */
#ifndef WEFT_SIM_WL_VERBS_H
#define WEFT_SIM_WL_VERBS_H

#include "sim_harness/sim_model.h"
#include "sim_harness/sim_shadow.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	WV_NICS = 32,  /* that a QPN can name */
	WV_SHARDS = 8, /* of a NIC */
	WV_PROCS_PER_NIC = 3,
	WV_PDS = 2,
	WV_AREAS = 2,
	WV_MRS = 6,
	WV_MWS = 8, /* of each PD one of type 1, others of type 2 */
	WV_CQS = 3,
	WV_QPS = 12, /* of one process */
	WV_SGES = 16,
	WV_BATCH = 6,
	WV_WORDS = 32, /* for atomics, at the front of area 0 */
	WV_COUNTERS = 4,
	WV_WORD_ZONE = 4096,
	WV_INLINE_BYTES = 200,
	WV_MAX_WR = 64,
	WV_GRH_BYTES = 40,
};

struct wv;
struct wv_proc;
struct wv_qp;

struct wv_area {
	struct wv_proc *proc;
	uint8_t *mem;
	size_t bytes;
	struct sim_shadow *shadow;
};

struct wv_mr {
	struct weft_mr *mr; /* NULL: not registered now */
	struct wv_area *area;
	size_t offset, bytes; /* in the area */
	uint32_t access;
	uint32_t pd;
	uint64_t iova;
	struct wv_op *ending; /* it is being invalidated: nothing uses it any more */
	bool dead;            /* and that is over */
};

/* What a window gives access to. */
struct wv_binding {
	struct wv_mr *mr;
	size_t offset, bytes; /* in the region's area */
	uint32_t access;
	uint64_t base; /* remote address of the first byte */
};

enum wv_mw_state {
	WV_MW_FREE,
	WV_MW_BINDING, /* a request that binds it is under way */
	WV_MW_BOUND,
	WV_MW_ENDING, /* one that ends the binding is */
	WV_MW_LOST,   /* nobody can say: it is replaced */
};

struct wv_mw {
	struct weft_mw *mw;
	struct wv_proc *proc;
	uint32_t pd, type;
	enum wv_mw_state state;
	uint32_t rkey; /* the current one */
	struct wv_binding bound;
	struct wv_qp *qp;    /* that bound it; type 2 is open through it alone */
	struct wv_op *op;    /* what changes it */
	struct wv_op *users; /* requests that reach through it */
};

/* Eight bytes that one flow at a time changes by atomics: their value is known. */
struct wv_word {
	struct wv_qp *owner, *dst;
	struct sim_hold *hold;
	uint64_t value;
	uint32_t under_way;
	bool uncertain; /* an operation on it failed: never used again */
};

/* Eight bytes that everybody adds 1 to. */
struct wv_counter {
	struct sim_hold *hold;
	uint64_t base;
	uint32_t issued, succeeded;
	uint8_t *seen; /* a bit per old value that was returned */
	uint32_t seen_bits;
};

struct wv_cq {
	struct weft_cq *cq;
	struct weft_comp_channel *channel; /* NULL: polled */
	uint32_t eq;                       /* of the channel */
	uint32_t used;                     /* completions that may come or wait */
	uint32_t num_arms;
	bool armed, interrupted, masked;
	bool polled; /* arming is due */
};

struct wv_rq {
	struct sim_model_rq model;
	struct weft_srq *srq;
	uint32_t pd;
	uint32_t max_wr, max_sge;
	uint32_t msg_bytes; /* longest message that fits */
	uint32_t wanted;    /* receives to keep posted */
	uint32_t spoilt;    /* of them that may fail, since their memory was deregistered */
	struct wv_mr
	    *reserve_mr; /* memory set aside for one receive; used when there is no other */
	size_t reserve_offset;
	uint32_t reserve_bytes;
	struct sim_hold *reserve; /* what of it is not used */
	bool reserve_used;
	bool sloppy; /* some are too small, or bad */
	struct wv_cq *cq;
};

enum wv_qp_state {
	WV_LIVE,
	WV_FAILED, /* ERR or SQE; not all of its completions were polled */
	WV_IDLE,   /* the same, all is polled */
	WV_GONE,
};

struct wv_qp {
	struct sim_model_qp model;
	struct weft_qp *qp;
	struct wv_proc *proc;
	struct wv_cq *scq, *rcq;
	struct wv_rq *rq;
	struct wv_rq own_rq;
	struct wv_qp *peer; /* RC */
	uint32_t pd, qkey, access;
	enum wv_qp_state state;
	enum weft_qp_state expected; /* what a query must say when it failed, RESET: unknown */
	uint32_t last_wqe_events, error_events, comm_events; /* since the last reset */
	bool broken; /* RC: either end may fail at any time */
	bool esp;    /* RC: over streams instead of reliable datagrams */
	bool short_retry, short_rnr;
	uint32_t max_send_bytes;
};

struct wv_recv {
	struct sim_model_recv model;
	struct wv_rq *rq;
	struct wv_proc *proc;
	uint32_t num_sge;
	struct weft_sge sge[4];
	struct sim_hold *hold[4];
	uint8_t *was[4]; /* what stood there when the memory was deregistered */
	bool reserve;    /* in the memory set aside */
};

struct wv_op {
	struct sim_model_send m;
	struct wv_proc *proc;
	struct wv_qp *qp, *dst;
	uint8_t *data;
	uint32_t num_local;
	struct sim_hold *local[WV_SGES];
	uint32_t local_at[WV_SGES]; /* offset of the piece in data */
	struct sim_hold *remote;
	struct wv_op *reader; /* reads what this one writes */
	struct wv_op *writer; /* and the other way round */
	bool writer_failed;
	bool unlike; /* brought something else, of a Write that had not ended yet */
	struct wv_word *word;
	struct wv_counter *counter;
	uint32_t rkey;
	struct wv_mw *via; /* the window that it reaches through */
	struct wv_op *via_next;
	struct wv_mw *changes; /* the window that it binds or ends */
	enum wv_mw_state changes_from;
	struct wv_binding bind;
	struct wv_mr *ends_mr; /* the region that it invalidates */
	uint64_t old_value;
	bool scribble; /* inline: the source may change at once */
	bool spoils;   /* RC: brings the connection down */
	bool expects_rem_abort;
};

struct wv_proc {
	struct wv *wv;
	struct sim_nic *nic;
	uint32_t slot;
	struct sim_proc *proc;
	struct weft_context *context;
	struct weft_pd *pd[WV_PDS];
	struct weft_ah *ah[WV_PDS];
	struct wv_area area[WV_AREAS];
	struct wv_mr mr[WV_MRS];
	struct wv_mw mw[WV_MWS];
	struct {
		uint32_t rkey;
		uint64_t addr;
		bool valid;
	} stale[WV_PDS]; /* of a window that was bound */
	struct wv_word word[WV_WORDS];
	struct wv_counter counter[WV_COUNTERS];
	struct wv_cq cq[WV_CQS];
	struct wv_rq srq[1];
	bool has_srq;
	struct wv_qp *qp[WV_QPS];
	uint32_t num_qp;
	uint32_t channels;
	uint32_t async_irqs, async_events; /* ever */
	uint32_t limit; /* of the SRQ, while its event is still to come; 0: none */
	uint32_t max_ud_bytes, max_ud_long_bytes;
	bool dead;
	struct wv_proc *next; /* of all that ever were */
};

struct wv {
	struct sim_run *run;
	struct sim *sim;
	struct sim_prng prng;
	struct sim_prng moder_prng; /* of moderation alone */
	struct sim_model model;
	struct wv_proc *slot[WV_NICS * WV_PROCS_PER_NIC];
	uint32_t num_slots;
	uint32_t num_nics;
	uint32_t procs_of_nic;
	struct wv_proc *procs;     /* newest first */
	struct sim_model_qp **qps; /* all that ever were */
	uint32_t num_qps, max_qps;
	void **ids; /* by number in wr_id: struct wv_op or struct wv_recv */
	uint8_t *is_recv;
	uint32_t num_ids, max_ids;
	uint8_t *buffer; /* for a received message */
	uint32_t *nic_generation;
	uint32_t *known_generation; /* of a NIC, [from shard][to shard]: proved by a success */
	uint64_t checked_ns;
	uint64_t stop_ns; /* when the run began to stop */
	uint64_t idle_ns; /* step interval while nothing happens */
	uint32_t misuse_ppm, chaos_ppm, death_ppm;
	bool esp, keys, events, moderation;
	bool fault_due, restart_due; /* of sim_on_fault() */
	uint32_t fault_nic;
	uint32_t unique;
	bool progress;
};

#define WV_BUFFER_BYTES (256u * 1024)

static inline uint32_t wv_below(struct wv *wv, uint32_t n)
{
	return (uint32_t)sim_prng_below(&wv->prng, n);
}

static inline uint32_t wv_range(struct wv *wv, uint32_t low, uint32_t high)
{
	return (uint32_t)sim_prng_range(&wv->prng, low, high);
}

/* sim_wl_verbs.c */
/* Notes a failure; the text begins with its oracle. */
#define wv_fail(wv, ...) sim_run_fail((wv)->run, __VA_ARGS__)
static inline bool wv_failed(const struct wv *wv)
{
	return wv->run->failure[0] != '\0';
}
/* A number for wr_id; object is found by it again. */
uint64_t wv_id(struct wv *wv, void *object, bool is_recv);
/* Nothing was posted under it: the caller frees the object. */
void wv_id_undo(struct wv *wv, uint64_t wr_id);

/* sim_wl_verbs_proc.c */
int wv_proc_start(struct wv *wv, uint32_t slot);
/* The shared receive queue of a process. */
int wv_srq_new(struct wv_proc *proc);
/* The process is dead or closed: its objects as far as the host has them. */
void wv_proc_end(struct wv_proc *proc);
void wv_proc_free(struct wv_proc *proc);
struct wv_qp *wv_qp_new(struct wv_proc *proc, enum weft_qp_type type, uint32_t flags, uint32_t pd);
int wv_qp_activate(struct wv_qp *qp);
int wv_rc_connect(struct wv_qp *a, struct wv_qp *b);
int wv_rc_pair(struct wv *wv);

/* sim_wl_verbs_mem.c */
/*
 * A range of a region of the PD with these rights (WEFT_ACCESS_*) that is free for reading or
 * writing. NULL: none found.
 */
struct wv_mr *wv_pick(struct wv_proc *proc, uint32_t pd, uint32_t bytes, uint32_t access,
		      bool write, size_t *offset);
/* Sets memory aside for one receive of the queue; false: there is none. */
bool wv_reserve(struct wv_proc *proc, struct wv_rq *rq, uint32_t bytes);
void wv_unreserve(struct wv_rq *rq);
/* From where in its area the region may be used by all: words for atomics stand aside. */
size_t wv_low_of(const struct wv_mr *mr);
/* The address that requests use for an offset of the region's area. */
uint64_t wv_addr(const struct wv_mr *mr, size_t offset);
void wv_settle(struct wv *wv, struct sim_hold *hold, const uint8_t *data, const char *what,
	       const struct wv_op *op);
/* The Write is complete, and its range goes to the request that reads it. */
void wv_written(struct wv *wv, struct wv_op *op);
void wv_adopt(struct wv *wv, struct sim_hold *hold, const char *what, const struct wv_op *op);
void wv_check_memory(struct wv *wv);
/* What stands in a range of the process now. */
const uint8_t *wv_memory(const struct wv_proc *proc, const struct sim_hold *hold);
struct wv_word *wv_word_take(struct wv_qp *qp, struct wv_qp *dst, uint32_t *index);
void wv_word_done(struct wv_op *op, bool success);
void wv_counter_done(struct wv_op *op, bool success);
void wv_check_counters(struct wv *wv);

/* sim_wl_verbs_send.c */
/* What the session of two QPs knows of the generation of the second one's NIC. */
uint32_t *wv_known_generation(const struct wv_qp *qp, const struct wv_qp *dst);
void wv_send(struct wv_qp *qp);
/* Where only unsignalled requests are left: posts what makes them known to be complete. */
void wv_send_last(struct wv_qp *qp);
/* Posts a signalled request behind all others, if there is room for one. */
void wv_send_marker(struct wv_qp *qp);
uint32_t wv_draw_bytes(struct wv *wv, uint32_t max);
/* What a request to dst may lead to as things stand. */
uint32_t wv_outcomes(const struct wv_qp *qp, const struct wv_qp *dst);
void wv_op_free(struct wv_op *op);
/* Data that nobody needs any more. */
void wv_op_tidy(struct wv_op *op);

/* sim_wl_verbs_key.c */
int wv_mws_new(struct wv_proc *proc);
/* A range of a window of dst's that is open to requests to it; NULL: none found. */
struct wv_mw *wv_mw_pick(struct wv_qp *dst, uint32_t bytes, uint32_t access, bool write,
			 size_t *offset);
/* The request reaches through the window. */
void wv_mw_use(struct wv_op *op, struct wv_mw *mw);
/* These fill a request in; false: there is nothing to bind or to invalidate. */
bool wv_draft_bind(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr,
		   struct weft_sge *sge);
/* One that is carried out when all before it are complete, and changes nothing. */
bool wv_draft_unbind(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr,
		     struct weft_sge *sge);
bool wv_draft_local_inv(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr);
bool wv_draft_send_inv(struct wv_qp *dst, struct wv_op *op, struct weft_send_wr *wr);
/* The request was not posted. */
void wv_key_undo(struct wv_op *op);
void wv_key_ended(struct wv_op *op, bool success);
/* The Send that invalidates was received. */
void wv_key_invalidated(struct wv_op *op);
/* The QP was reset or destroyed: windows of type 2 are unbound. */
void wv_key_qp_gone(struct wv_qp *qp);
/* Whether a window is, or may be, bound to it. */
bool wv_has_windows(const struct wv_mr *mr);
/* Replaces what was invalidated. */
void wv_keys_step(struct wv_proc *proc);
void wv_dereg_in_use(struct wv_proc *proc);

/* sim_wl_verbs_misuse.c */
/* Makes the request one that must fail, or leaves it as it is. */
bool wv_misuse(struct wv_qp *qp, struct wv_qp *dst, struct wv_op *op, struct weft_send_wr *wr,
	       struct weft_sge *sge);
void wv_misuse_calls(struct wv_proc *proc);

/* sim_wl_verbs_recv.c */
void wv_replenish(struct wv_proc *proc, struct wv_rq *rq, struct wv_qp *qp);
void wv_received(struct wv_qp *qp, struct wv_recv *recv, const struct weft_wc *wc);
/* The buffers of a receive that will not complete. */
void wv_recv_drop(struct wv_recv *recv);
/* Its memory; NULL is allowed. */
void wv_recv_free(struct wv_recv *recv);
void wv_rq_drop(struct wv_rq *rq);

/* sim_wl_verbs_done.c */
void wv_poll(struct wv_proc *proc);
void wv_poll_cq(struct wv_proc *proc, struct wv_cq *cq);
void wv_ended(void *ctx, struct sim_model_send *send);

/* sim_wl_verbs_ctl.c */
void wv_recover(struct wv_proc *proc);
void wv_chaos(struct wv_proc *proc);
/* Makes a full CQ larger, for what must not wait until others have completed. */
void wv_make_room(struct wv_proc *proc, struct wv_cq *cq);
/* The QP has failed, or may have: it is not posted to until it is recovered. */
void wv_qp_failed(struct wv_qp *qp, enum weft_qp_state state);
void wv_rc_broken(struct wv_qp *qp);
void wv_qp_forget(struct wv_qp *qp);
void wv_kill(struct wv_proc *proc);
void wv_restart(struct wv *wv, struct sim_nic *nic);

/* sim_wl_verbs_event.c */
/* A CQ that is to overrun and its QP, and what they have told. */
struct wv_events {
	const struct weft_cq *cq;
	const struct weft_qp *qp;
	uint32_t cq_err, qp_fatal;
};
/* Sets another moderation of interrupts now and then, masks channels and takes masks off. */
void wv_moderate(struct wv_proc *proc);
/* Takes and judges what has come; odd: what is expected besides, or NULL. */
void wv_take_events(struct wv_proc *proc, struct wv_events *odd);
/* Nothing is under way: what waits has been announced. */
void wv_expect_interrupted(struct wv_proc *proc);
/* The QP shares its receive queue and is in ERR. */
void wv_expect_last_wqe(struct wv_qp *qp);
/* Whether the SRQ has told what it had to; may set another limit. */
void wv_check_limit(struct wv_proc *proc);

/* sim_wl_verbs_cq.c */
/* Fills a CQ of its own beyond its end, and looks what becomes of it. */
void wv_overrun(struct wv_proc *proc);

static inline struct wv_op *wv_op_of(const struct sim_model_send *send)
{
	return (struct wv_op *)(uintptr_t)((uintptr_t)send - offsetof(struct wv_op, m));
}

static inline struct wv_qp *wv_qp_of(const struct sim_model_qp *qp)
{
	return (struct wv_qp *)(uintptr_t)((uintptr_t)qp - offsetof(struct wv_qp, model));
}

#endif /* WEFT_SIM_WL_VERBS_H */
