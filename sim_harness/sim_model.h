/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of verbs: the legal completions, their order and their content.
 *
 * The poster of a request passes its possible results to the model (struct sim_model_send). Each
 * polled completion is then checked: it must belong to a posted, incomplete request whose turn it
 * is, with correct status, opcode, length, immediate data, source and flags. Messages are followed
 * to their receives: each arrives once, in the order of its flow, with its bytes. Rules:
 * IBA 9.5, 10.8.5, 10.10.2, 11.6.2; ARCHITECTURE.md, "RD in one page", for RD, where completions
 * are in order per destination, and local failures in the order of the queue.
 *
 * The model is independent of the simulator and of memory.
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
	SIM_MODEL_UD_KEPT = 4096, /* datagrams to a QP that may still arrive or be polled */
	SIM_MODEL_LENGTHS = 64,   /* lists of messages by length, modulo this */
};

struct sim_model_qp;

/* A posted receive. */
struct sim_model_recv {
	struct sim_model_recv *next, *prev; /* list of its queue, in posting order */
	struct sim_model_rq *rq;
	uint64_t wr_id;
	uint32_t capacity; /* bytes */
	bool bad;          /* one of its SGEs is invalid */
	bool spoilt;       /* one of its SGEs was invalid earlier */
	bool done;
};

/* A receive queue, of a QP or shared. */
struct sim_model_rq {
	struct sim_model_recv *first, *last;
	uint32_t outstanding;
	bool strict;        /* completes in posting order */
	bool meets_longer;  /* messages longer than its receives may arrive */
	bool meets_bad_inv; /* messages that name an STag they cannot invalidate may arrive */
};

/* A posted send request. The poster fills in the first part. */
struct sim_model_send {
	uint64_t wr_id;
	enum weft_wr_opcode opcode;
	uint32_t flags;           /* weft_send_flags; with SIGNALED if the QP signals all */
	uint32_t allowed;         /* set of possible statuses; may grow while it is outstanding */
	int vendor;               /* expected for a failure; or SIM_ANY_VENDOR */
	uint32_t bytes;           /* length of the data; for READ, of the result */
	uint32_t imm, inv_stag;   /* as in the request */
	const uint8_t *data;      /* of a message, while sim_model_send_kept() */
	struct sim_model_qp *dst; /* NULL: no receiver */
	uint32_t dst_qpn, dst_ip; /* its flow on an RD QP */
	/* private to the model */
	struct sim_model_qp *qp;
	struct sim_model_send *next, *prev;       /* list of the send queue */
	struct sim_model_send *in_next, *in_prev; /* list of messages that dst may still receive */
	struct sim_model_send *like_next, *like_prev; /* those of them with a length alike */
	bool inbound;
	bool done;
	bool dropped;   /* the QP was reset or destroyed: no completion follows */
	bool doomed;    /* posted to a failed queue: it will be flushed */
	bool withdrawn; /* its memory was deregistered: it may fail here after delivery */
	bool skipped;   /* a later message of its flow was received */
	uint32_t received;
	enum weft_wc_status status;
	uint32_t incarnation; /* of the sending QP */
};

struct sim_model_qp {
	enum weft_qp_type type;
	uint32_t qpn, ip;
	bool grh; /* UD: 40 bytes precede the data */
	struct sim_model_rq *rq;
	/* private to the model */
	struct sim_model_send *first, *last;
	uint32_t outstanding;
	struct sim_model_send *in_first, *in_last;
	/* The same messages by length: the list may have thousands. */
	struct sim_model_like {
		struct sim_model_send *first, *last;
	} like[SIM_MODEL_LENGTHS];
	uint32_t in_count;
	uint32_t incarnation; /* number of resets */
	bool failed;          /* only flush completions can follow */
	bool flushing;        /* it is or may be in ERR or SQE: send requests may be flushed */
	bool recv_flushing;
	bool lossy; /* receive completions may have been lost with the QP or its CQ */
};

struct sim_model {
	/*
	 * Called when a request ends by its own completion, a later one of its flow, or with its
	 * QP.
	 */
	void (*ended)(void *ctx, struct sim_model_send *send);
	void *ctx;
	bool may_duplicate; /* the network may duplicate datagrams */
	bool peers_restart; /* receives may be aborted */
	char why[SIM_MODEL_WHY_BYTES];
};

void sim_model_post_send(struct sim_model_qp *qp, struct sim_model_send *send);
void sim_model_post_recv(struct sim_model_rq *rq, struct sim_model_recv *recv);

/* Undoes the latest post, which the library rejected. */
void sim_model_unpost_send(struct sim_model_send *send);

/* Adds possible results for every outstanding request to dst. NULL: no effect. */
void sim_model_widen(struct sim_model_qp *const *qps, uint32_t n, const struct sim_model_qp *dst,
		     uint32_t allowed);

/*
 * Checks a completion of a send request of qp. Returns false if it is illegal; model->why explains.
 * Calls ended() for this request and for the unsignaled ones before it that it proves complete.
 */
bool sim_model_send_wc(struct sim_model *model, struct sim_model_qp *qp,
		       struct sim_model_send *send, const struct weft_wc *wc);

/*
 * Checks a completion of a receive. data: content of its buffers from the GRH on, NULL if not
 * accessible. *message is the received message; NULL unless it succeeded.
 */
bool sim_model_recv_wc(struct sim_model *model, struct sim_model_qp *qp,
		       struct sim_model_recv *recv, const struct weft_wc *wc, const uint8_t *data,
		       const struct sim_model_send **message);

/*
 * Returns true if a posted request must produce a completion, that is, it cannot succeed silently.
 */
bool sim_model_is_told(const struct sim_model_send *send);
/* Returns true if some request of the QP must still produce a completion. */
bool sim_model_is_due(const struct sim_model_qp *qp);

/*
 * All completions of a QP in ERR or SQE were polled, including those of the last posted requests:
 * the remaining requests have succeeded silently. Returns false if one of them should have
 * completed.
 */
bool sim_model_flushed(struct sim_model *model, struct sim_model_qp *qp);

/* The QP was reset or destroyed: its send queue produces no more completions. */
void sim_model_drop_sends(struct sim_model *model, struct sim_model_qp *qp);
/* The QP works again, after a reset (which drops first) or from SQE. */
void sim_model_revive(struct sim_model_qp *qp);
/* The receive is no longer posted. */
void sim_model_drop_recv(struct sim_model_recv *recv);

/* Its receiver can no longer receive it. */
void sim_model_forget(struct sim_model_send *send);
/* Returns true if its data is still needed, because it may be received. */
bool sim_model_send_kept(const struct sim_model_send *send);
/*
 * At the end: checks that a successful message was received, unless its receiver lost completions.
 */
bool sim_model_message_ok(struct sim_model *model, const struct sim_model_send *send);

/* Returns true if an opcode consumes a receive of the peer. */
bool sim_model_two_sided(enum weft_wr_opcode opcode);

#endif /* WEFT_SIM_MODEL_H */
