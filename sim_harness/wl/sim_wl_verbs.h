/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations shared by the files of the workload "verbs".
 *
 * 	sim_wl_verbs.c		  start, steps, end
 * 	sim_wl_verbs_proc.c	  creation and destruction of processes and their objects
 * 	sim_wl_verbs_mem.c	  memory ranges, words of atomics, full checks
 * 	sim_wl_verbs_draft.c	  requests under construction: their memory and effects
 * 	sim_wl_verbs_send.c	  requests: their possible results, posting
 * 	sim_wl_verbs_key.c	  windows, and keys that end while in use
 * 	sim_wl_verbs_mr.c	  regions that end while in use
 * 	sim_wl_verbs_misuse.c  requests that must fail
 * 	sim_wl_verbs_recv.c	  receives
 * 	sim_wl_verbs_done.c	  completions, passed to the model; effects on memory
 * 	sim_wl_verbs_ctl.c	  state changes, resets, destruction, deaths
 * 	sim_wl_verbs_event.c	  asynchronous events
 * 	sim_wl_verbs_cq.c	  a CQ that overruns
 *
 * One event drives the whole workload, so that blocking calls, which run the simulation, never
 * nest. All random values come from one stream of the seed.
 */
#ifndef WEFT_SIM_WL_VERBS_H
#define WEFT_SIM_WL_VERBS_H

#include "sim_harness/sim_model.h"
#include "sim_harness/sim_shadow.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	WV_NICS = 32,  /* limit of the QPN encoding */
	WV_SHARDS = 8, /* per NIC */
	WV_PROCS_PER_NIC = 3,
	WV_PDS = 2,
	WV_AREAS = 2,
	WV_MRS = 6,
	WV_MWS = 8, /* per PD one of type 1, the others of type 2 */
	WV_CQS = 3,
	WV_QPS = 12, /* per process */
	WV_SGES = 16,
	WV_BATCH = 6,
	WV_WORDS = 32, /* for atomics, at the start of area 0 */
	WV_COUNTERS = 4,
	WV_WORD_ZONE = 4096,
	WV_INLINE_BYTES = 200,
	WV_MAX_WR = 64,
	WV_GRH_BYTES = 40,
	WV_REMOTE_ACCESS = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ,
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
	struct weft_mr *mr; /* NULL: currently not registered */
	struct wv_area *area;
	size_t offset, bytes; /* within the area */
	uint32_t access;
	uint32_t pd;
	uint64_t iova;
	struct wv_op *ending; /* it is being invalidated: no new use */
	bool dead;            /* its invalidation has completed */
};

/* The range to which a window grants access. */
struct wv_binding {
	struct wv_mr *mr;
	size_t offset, bytes; /* within the region's area */
	uint32_t access;
	uint64_t base; /* remote address of the first byte */
};

enum wv_mw_state {
	WV_MW_FREE,
	WV_MW_BINDING, /* a request that binds it is outstanding */
	WV_MW_BOUND,
	WV_MW_ENDING, /* a request that ends the binding is outstanding */
	WV_MW_LOST,   /* state unknown: it will be replaced */
};

struct wv_mw {
	struct weft_mw *mw;
	struct wv_proc *proc;
	uint32_t pd, type;
	enum wv_mw_state state;
	uint32_t rkey; /* the current one */
	struct wv_binding bound;
	struct wv_qp *qp;    /* QP that bound it; type 2 can be used only through it */
	struct wv_op *op;    /* request that changes it */
	struct wv_op *users; /* requests that access memory through it */
};

/* Eight bytes that one flow at a time changes by atomics: their value is known. */
struct wv_word {
	struct wv_qp *owner, *dst;
	struct sim_hold *hold;
	uint64_t value;
	uint32_t under_way;
	bool uncertain; /* an operation on it failed: never used again */
};

/* Eight bytes to which all flows add 1. */
struct wv_counter {
	struct sim_hold *hold;
	uint64_t base;
	uint32_t issued, succeeded;
	uint8_t *seen; /* one bit per returned old value */
	uint32_t seen_bits;
};

struct wv_cq {
	struct weft_cq *cq;
	struct weft_comp_channel *channel; /* NULL: polled */
	uint32_t eq;                       /* of the channel */
	uint32_t used;                     /* completions pending or expected */
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
	/* Part of wanted: receives that may fail because their memory was deregistered. */
	uint32_t spoilt;
	struct wv_mr *reserve_mr; /* memory reserved for one receive, used when there is no other */
	size_t reserve_offset;
	uint32_t reserve_bytes;
	struct sim_hold *reserve; /* its unused part */
	bool reserve_used;
	bool sloppy; /* some are too small or invalid */
	struct wv_cq *cq;
};

enum wv_qp_state {
	WV_LIVE,
	WV_FAILED, /* ERR or SQE; not all completions were polled */
	WV_IDLE,   /* ERR or SQE; all completions were polled */
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
	/* Required result of a query after a failure; RESET: unknown. */
	enum weft_qp_state expected;
	uint32_t last_wqe_events, error_events, comm_events; /* since the last reset */
	bool broken; /* RC: either end may fail at any time */
	bool esp;    /* RC: over ESP streams instead of RD */
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
	uint8_t *was[4]; /* content at the time of deregistration */
	bool reserve;    /* uses the reserved memory */
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
	struct wv_op *reader; /* the request that reads this one's data */
	struct wv_op *writer; /* the request whose data this one reads */
	bool writer_failed;
	bool unlike; /* returned data that differs from a Write that had not ended yet */
	struct wv_word *word;
	struct wv_counter *counter;
	uint32_t rkey;
	struct wv_mw *via; /* window through which it accesses memory */
	struct wv_op *via_next;
	struct wv_mw *changes; /* window that it binds or unbinds */
	enum wv_mw_state changes_from;
	struct wv_binding bind;
	struct wv_mr *ends_mr; /* region that it invalidates */
	uint64_t old_value;
	bool scribble; /* inline: the source may change at once */
	bool spoils;   /* RC: ends the connection */
	bool expects_rem_abort;
};

/* A request under construction. */
struct wv_draft {
	struct wv_op *op;
	struct weft_send_wr wr;
	struct weft_sge sge[WV_SGES + 1];
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
	} stale[WV_PDS]; /* earlier binding of a window */
	struct wv_word word[WV_WORDS];
	struct wv_counter counter[WV_COUNTERS];
	struct wv_cq cq[WV_CQS];
	struct wv_rq srq[1];
	bool has_srq;
	struct wv_qp *qp[WV_QPS];
	uint32_t num_qp;
	uint32_t channels;
	uint32_t async_irqs, async_events; /* total */
	uint32_t limit;                    /* of the SRQ, until its event arrives; 0: none */
	uint32_t max_ud_bytes, max_ud_long_bytes;
	bool dead;
	struct wv_proc *next; /* list of all past and present processes */
};

struct wv {
	struct sim_run *run;
	struct sim *sim;
	struct sim_prng prng;
	struct sim_prng moder_prng; /* for moderation only */
	struct sim_model model;
	struct wv_proc *slot[WV_NICS * WV_PROCS_PER_NIC];
	uint32_t num_slots;
	uint32_t num_nics;
	uint32_t procs_of_nic;
	struct wv_proc *procs;     /* newest first */
	struct sim_model_qp **qps; /* all past and present QPs */
	uint32_t num_qps, max_qps;
	void **ids; /* by number in wr_id: struct wv_op or struct wv_recv */
	uint8_t *is_recv;
	uint32_t num_ids, max_ids;
	uint8_t *buffer; /* for a received message */
	uint32_t *nic_generation;
	uint32_t *known_generation; /* of a NIC, [from shard][to shard]: confirmed by a success */
	uint64_t checked_ns;
	uint64_t stop_ns; /* start of the stopping phase */
	uint64_t idle_ns; /* step interval without progress */
	uint32_t misuse_ppm, chaos_ppm, death_ppm;
	bool esp, keys, events, moderation;
	bool fault_due, restart_due; /* set by sim_on_fault() */
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
/* Reports a failure; the text begins with its oracle. */
#define wv_fail(wv, ...) sim_run_fail((wv)->run, __VA_ARGS__)
static inline bool wv_failed(const struct wv *wv)
{
	return wv->run->failure[0] != '\0';
}
/* Returns a number for wr_id that leads back to the object. */
uint64_t wv_id(struct wv *wv, void *object, bool is_recv);
/* Nothing was posted with it: the caller frees the object. */
void wv_id_undo(struct wv *wv, uint64_t wr_id);

/* sim_wl_verbs_proc.c */
int wv_proc_start(struct wv *wv, uint32_t slot);
/* Creates the shared receive queue of a process. */
int wv_srq_new(struct wv_proc *proc);
/* The process is dead or closed: frees its objects on the host. */
void wv_proc_end(struct wv_proc *proc);
void wv_proc_free(struct wv_proc *proc);
struct wv_qp *wv_qp_new(struct wv_proc *proc, enum weft_qp_type type, uint32_t flags, uint32_t pd);
int wv_qp_activate(struct wv_qp *qp);
int wv_rc_connect(struct wv_qp *a, struct wv_qp *b);
int wv_rc_pair(struct wv *wv);

/* sim_wl_verbs_mem.c */
/*
 * Returns a free range for reading or writing in a region of the PD with these rights
 * (WEFT_ACCESS_*); NULL: none found.
 */
struct wv_mr *wv_pick(struct wv_proc *proc, uint32_t pd, uint32_t bytes, uint32_t access,
		      bool write, size_t *offset);
/* Reserves memory for one receive of the queue. Returns false if there is none. */
bool wv_reserve(struct wv_proc *proc, struct wv_rq *rq, uint32_t bytes);
void wv_unreserve(struct wv_rq *rq);
/* Returns the start of the region's general part in its area; words for atomics precede it. */
size_t wv_low_of(const struct wv_mr *mr);
/* Returns the address that requests use for an offset of the region's area. */
uint64_t wv_addr(const struct wv_mr *mr, size_t offset);
void wv_settle(struct wv *wv, struct sim_hold *hold, const uint8_t *data, const char *what,
	       const struct wv_op *op);
/* The Write has completed: its range goes to the request that reads it. */
void wv_written(struct wv *wv, struct wv_op *op);
void wv_adopt(struct wv *wv, struct sim_hold *hold, const char *what, const struct wv_op *op);
void wv_check_memory(struct wv *wv);
/* Returns the current content of a range of the process. */
const uint8_t *wv_memory(const struct wv_proc *proc, const struct sim_hold *hold);
struct wv_word *wv_word_take(struct wv_qp *qp, struct wv_qp *dst, uint32_t *index);
void wv_word_done(struct wv_op *op, bool success);
void wv_counter_done(struct wv_op *op, bool success);
void wv_check_counters(struct wv *wv);

/* sim_wl_verbs_draft.c */
/* Drafts one request; before: the one before it in the batch. False: no memory for it now. */
bool wv_draft(struct wv_qp *qp, struct wv_qp *dst, struct wv_draft *draft, struct wv_draft *before);
/* Releases the resources of an abandoned draft. */
void wv_draft_undo(struct wv_op *op);

/* sim_wl_verbs_send.c */
/* Returns the generation of the second QP's NIC known to the session of two QPs. */
uint32_t *wv_known_generation(const struct wv_qp *qp, const struct wv_qp *dst);
void wv_send(struct wv_qp *qp);
/* If only unsignaled requests are left, posts a signaled one that proves their completion. */
void wv_send_last(struct wv_qp *qp);
/* Posts a signaled request after all others, if there is room. */
void wv_send_marker(struct wv_qp *qp);
/* Returns the currently possible results of a request to dst. */
uint32_t wv_outcomes(const struct wv_qp *qp, const struct wv_qp *dst);
void wv_op_free(struct wv_op *op);
/* Frees data that is no longer needed. */
void wv_op_tidy(struct wv_op *op);

/* sim_wl_verbs_key.c */
int wv_mws_new(struct wv_proc *proc);
/* Returns a range of a window of dst that is open to requests; NULL: none found. */
struct wv_mw *wv_mw_pick(struct wv_qp *dst, uint32_t bytes, uint32_t access, bool write,
			 size_t *offset);
/* Makes the request access memory through the window. */
void wv_mw_use(struct wv_op *op, struct wv_mw *mw);
/* These fill in a request; false: there is nothing to bind or to invalidate. */
bool wv_draft_bind(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr,
		   struct weft_sge *sge);
/*
 * Fills in a request that is executed after all earlier ones have completed and that changes
 * nothing.
 */
bool wv_draft_unbind(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr,
		     struct weft_sge *sge);
bool wv_draft_local_inv(struct wv_qp *qp, struct wv_op *op, struct weft_send_wr *wr);
bool wv_draft_send_inv(struct wv_qp *dst, struct wv_op *op, struct weft_send_wr *wr);
/* The request was not posted. */
void wv_key_undo(struct wv_op *op);
void wv_key_ended(struct wv_op *op, bool success);
/* The Send with Invalidate was received. */
void wv_key_invalidated(struct wv_op *op);
/* The QP was reset or destroyed: windows of type 2 are unbound. */
void wv_key_qp_gone(struct wv_qp *qp);
/* Returns true if a window is or may be bound to it. */
bool wv_has_windows(const struct wv_mr *mr);
/* Replaces invalidated keys. */
void wv_keys_step(struct wv_proc *proc);
/* The request may fail from now on because a key of its peer ends. */
void wv_may_be_refused(struct wv_op *op);
/* The request can no longer change memory. */
void wv_freeze_remote(struct wv_op *op);
void wv_call_failed(struct wv_proc *proc, const char *what, int rc);

/* sim_wl_verbs_mr.c */
/* Returns the key of a region that a request on qp may invalidate, and begins that; 0: none. */
uint32_t wv_mr_draw_inv(struct wv_qp *qp, struct wv_op *op);
/* The invalidation has completed. */
void wv_mr_ended(struct wv *wv, struct wv_mr *mr);
/* Registers an invalidated region again. */
void wv_mr_renew(struct wv_mr *mr);
void wv_dereg_in_use(struct wv_proc *proc);

/* sim_wl_verbs_misuse.c */
/* Turns the request into one that must fail, or leaves it unchanged. */
bool wv_misuse(struct wv_qp *qp, struct wv_qp *dst, struct wv_op *op, struct weft_send_wr *wr,
	       struct weft_sge *sge);
void wv_misuse_calls(struct wv_proc *proc);

/* sim_wl_verbs_recv.c */
void wv_replenish(struct wv_proc *proc, struct wv_rq *rq, struct wv_qp *qp);
void wv_received(struct wv_qp *qp, struct wv_recv *recv, const struct weft_wc *wc);
/* Frees its memory; NULL is permitted. */
void wv_recv_free(struct wv_recv *recv);
void wv_rq_drop(struct wv_rq *rq);

/* sim_wl_verbs_done.c */
void wv_poll(struct wv_proc *proc);
void wv_poll_cq(struct wv_proc *proc, struct wv_cq *cq);
void wv_ended(void *ctx, struct sim_model_send *send);

/* sim_wl_verbs_ctl.c */
void wv_recover(struct wv_proc *proc);
void wv_chaos(struct wv_proc *proc);
/* Enlarges a full CQ for a request that must not wait for other completions. */
void wv_make_room(struct wv_proc *proc, struct wv_cq *cq);
/* The QP has or may have failed: no posts until it is recovered. */
void wv_qp_failed(struct wv_qp *qp, enum weft_qp_state state);
void wv_rc_broken(struct wv_qp *qp);
void wv_kill(struct wv_proc *proc);
void wv_restart(struct wv *wv, struct sim_nic *nic);

/* sim_wl_verbs_event.c */
/* A CQ that will overrun, its QP, and their events. */
struct wv_events {
	const struct weft_cq *cq;
	const struct weft_qp *qp;
	uint32_t cq_err, qp_fatal;
};
/* Occasionally changes interrupt moderation, masks and unmasks channels. */
void wv_moderate(struct wv_proc *proc);
/* Takes and checks events. odd: additionally expected ones, or NULL. */
void wv_take_events(struct wv_proc *proc, struct wv_events *odd);
/* Nothing is outstanding: pending completions must have raised an event. */
void wv_expect_interrupted(struct wv_proc *proc);
/* The QP shares its receive queue and is in ERR. */
void wv_expect_last_wqe(struct wv_qp *qp);
/* Checks that the SRQ has raised its limit event; may set another limit. */
void wv_check_limit(struct wv_proc *proc);

/* sim_wl_verbs_cq.c */
/* Fills a private CQ beyond its end and checks the effects. */
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
