/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of verbs: which completions may come, in which order, saying what.
 *
 * Whoever posts a request tells the model what it may lead to (struct sim_model_send); each
 * completion polled is then judged: is it of a request that is posted and not complete, is it its
 * turn, are status, opcode, length, immediate data, source and flags right. Messages are
 * followed to their receives: each once, in the order of its flow, with its bytes.
 * Rules: IBA 9.5, 10.8.5, 10.10.2, 11.6.2; ARCHITECTURE.md "RD in one page" for RD, where
 * completions are in order per destination, and local failures in the order of the queue.
 *
 * Knows nothing of the simulator, nor of memory. Used by sim_wl_verbs*.c, tests/sim.
 */
#ifndef WEFT_SIM_MODEL_H
#define WEFT_SIM_MODEL_H

#include "host_driver/weft.h"

/* Sets of enum weft_wc_status. */
#define SIM_MAY(status) (1u << WEFT_WC_##status)
#define SIM_LOCAL_FAULTS                                                                           \
	(SIM_MAY(LOC_LEN_ERR) | SIM_MAY(LOC_QP_OP_ERR) | SIM_MAY(LOC_PROT_ERR) |                   \
	 SIM_MAY(MW_BIND_ERR) | SIM_MAY(LOC_ACCESS_ERR))

enum {
	SIM_ANY_VENDOR = -1,
	SIM_MODEL_WHY_BYTES = 240,
	SIM_MODEL_UD_KEPT = 4096, /* datagrams to a QP that may still arrive, or be polled */
};

struct sim_model_qp;

/* A receive that is posted. */
struct sim_model_recv {
	struct sim_model_recv *next, *prev; /* of its queue, in order of posting */
	struct sim_model_rq *rq;
	uint64_t wr_id;
	uint32_t capacity; /* bytes */
	bool bad;          /* one of its SGEs is not valid */
	bool spoilt;       /* one of them was, and is not any more */
	bool done;
};

/* A receive queue: of a QP, or shared. */
struct sim_model_rq {
	struct sim_model_recv *first, *last;
	uint32_t outstanding;
	bool strict;        /* completes in the order of posting */
	bool meets_longer;  /* messages longer than its receives may come */
	bool meets_bad_inv; /* those that cannot invalidate what they name */
};

/* A send request that is posted. The poster fills the first part. */
struct sim_model_send {
	uint64_t wr_id;
	enum weft_wr_opcode opcode;
	uint32_t flags;           /* weft_send_flags; with SIGNALED where the QP signals all */
	uint32_t allowed;         /* set of statuses; may grow while it is under way */
	int vendor;               /* of a failure, SIM_ANY_VENDOR */
	uint32_t bytes;           /* of data; what a READ brings */
	uint32_t imm, inv_stag;   /* as in the request */
	const uint8_t *data;      /* of a message, while sim_model_send_kept() */
	struct sim_model_qp *dst; /* NULL: nobody */
	uint32_t dst_qpn, dst_ip; /* the flow it belongs to on an RD QP */
	/* the model's */
	struct sim_model_qp *qp;
	struct sim_model_send *next, *prev;       /* of the send queue */
	struct sim_model_send *in_next, *in_prev; /* of what dst may still receive */
	bool inbound;
	bool done;
	bool dropped;   /* the QP was reset or destroyed: no completion comes */
	bool doomed;    /* posted to a queue that had failed: it is flushed */
	bool withdrawn; /* its memory was deregistered: it may fail here after it was delivered */
	bool skipped;   /* a later message of its flow was received */
	uint32_t received;
	enum weft_wc_status status;
	uint32_t incarnation; /* of the sending QP */
};

struct sim_model_qp {
	enum weft_qp_type type;
	uint32_t qpn, ip;
	bool grh; /* UD: 40 bytes before the data */
	struct sim_model_rq *rq;
	/* the model's */
	struct sim_model_send *first, *last;
	uint32_t outstanding;
	struct sim_model_send *in_first, *in_last;
	uint32_t in_count;
	uint32_t incarnation; /* counts resets */
	bool failed;          /* only flushed completions can follow */
	bool flushing;        /* send requests may be flushed: it is, or may be, in ERR or SQE */
	bool recv_flushing;
	bool lossy; /* completions of receives may have been lost with the QP or its CQ */
};

struct sim_model {
	/* A request ended, by its own completion, a later one of its flow, or with its QP. */
	void (*ended)(void *ctx, struct sim_model_send *send);
	void *ctx;
	bool may_duplicate; /* the network makes two of a datagram */
	bool peers_restart; /* receives may be aborted */
	char why[SIM_MODEL_WHY_BYTES];
};

void sim_model_post_send(struct sim_model_qp *qp, struct sim_model_send *send);
void sim_model_post_recv(struct sim_model_rq *rq, struct sim_model_recv *recv);

/* Takes back the latest posts that the library refused. */
void sim_model_unpost_send(struct sim_model_send *send);

/* Every request under way to dst may now also end so. For dst NULL nothing. */
void sim_model_widen(struct sim_model_qp *const *qps, uint32_t n, const struct sim_model_qp *dst,
		     uint32_t allowed);

/*
 * Judges a completion of a send request of qp. False: it may not be, model->why says why. Calls
 * ended() for this one and for the unsignalled ones before it that it proves complete.
 */
bool sim_model_send_wc(struct sim_model *model, struct sim_model_qp *qp,
		       struct sim_model_send *send, const struct weft_wc *wc);

/*
 * Judges a completion of a receive; data: what stands in its buffers from the GRH on, NULL where
 * it cannot be looked at. *message is what was received, NULL unless it succeeded.
 */
bool sim_model_recv_wc(struct sim_model *model, struct sim_model_qp *qp,
		       struct sim_model_recv *recv, const struct weft_wc *wc, const uint8_t *data,
		       const struct sim_model_send **message);

/* Whether the end of a posted request will be told: nothing lets it succeed silently. */
bool sim_model_is_told(const struct sim_model_send *send);
/* Whether a completion is still to come of some request of the QP. */
bool sim_model_is_due(const struct sim_model_qp *qp);

/*
 * All completions of a QP that is in ERR or SQE were polled, those of the last requests posted
 * among them: what is left has succeeded silently. False: a request that would have had to
 * complete is left.
 */
bool sim_model_flushed(struct sim_model *model, struct sim_model_qp *qp);

/* Reset or destroyed: nothing of its send queue completes any more. */
void sim_model_drop_sends(struct sim_model *model, struct sim_model_qp *qp);
/* It works anew: after a reset (which drops first), or from SQE. */
void sim_model_revive(struct sim_model_qp *qp);
/* The receive is no longer posted. */
void sim_model_drop_recv(struct sim_model_recv *recv);

/* Its receiver cannot receive it any more. */
void sim_model_forget(struct sim_model_send *send);
/* Whether its data is still needed: it may yet be received. */
bool sim_model_send_kept(const struct sim_model_send *send);
/* At the end: a message that succeeded was received, unless its receiver lost completions. */
bool sim_model_message_ok(struct sim_model *model, const struct sim_model_send *send);

/* Whether an opcode takes a receive of the peer. */
bool sim_model_two_sided(enum weft_wr_opcode opcode);

#endif /* WEFT_SIM_MODEL_H */
