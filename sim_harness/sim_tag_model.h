/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of tagged messages: which receive may take which message.
 *
 * The poster passes each send and each operation of a receive queue to the model, and then the
 * completions. The order in which messages of different senders arrive is free, so the model
 * does not predict: it derives from each match what it says of the order of arrival, and reports
 * matches that no order explains. For a receive r1, an operation r2 behind it in the same queue,
 * and messages a1, a2 that they took:
 *
 *	if r1 asks for messages like a2, then a1 arrived before a2.
 *
 * For otherwise r1 would have taken a2: when it was posted, or when a2 arrived. Messages of one
 * sender arrive in the order of its posts; so a contradiction shows at once. What is concluded
 *about messages of different senders is collected; at the end it must have no cycle. A peek is an
 * operation that takes nothing; a receive that was cancelled has taken nothing until the
 * cancellation was posted. MPI 4.1, section 3.5.
 *
 * struct sim_tag_ref is the other half: a sequential matcher that takes the order of arrival.
 * The model is independent of the simulator and of memory.
 */
#ifndef WEFT_SIM_TAG_MODEL_H
#define WEFT_SIM_TAG_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SIM_TAG_WHY_BYTES = 240,
};

/* An endpoint, for its whole life. */
struct sim_tag_end {
	uint32_t index;
	uint32_t ip, qpn;
	bool gone;   /* closed, killed or in error */
	bool unsure; /* requests to it and from it may fail */
	/* The one whose receives it takes: itself, or a context, which holds what follows. */
	struct sim_tag_end *rx;
	/* private to the model */
	struct sim_tag_op **ops; /* in posting order */
	uint32_t num_ops, max_ops;
	uint32_t low; /* operations before it were over before any message that is under way */
	struct sim_tag_pair **from; /* pairs whose receiver it is */
	uint32_t num_from, max_from;
};

/* A sender and a receiver. */
struct sim_tag_pair {
	uint32_t index;
	struct sim_tag_end *src, *dst;
	struct sim_tag_msg **msgs; /* in posting order */
	uint32_t num_msgs, max_msgs;
	uint32_t open; /* messages before it are settled */
};

/* A message. The poster fills in the first part. */
struct sim_tag_msg {
	bool msg; /* untagged */
	bool sync;
	bool has_data;
	bool lost; /* its send failed, or its receive */
	uint64_t tag;
	uint64_t data;
	uint32_t bytes;
	bool waits; /* its send completes after its match alone */
	/* private to the model */
	struct sim_tag_pair *pair;
	uint32_t number;  /* in the pair */
	uint64_t posted;  /* number of the model's events, likewise below */
	uint64_t sent;    /* its send completed; 0: not yet */
	uint64_t settled; /* it was received, discarded or lost; 0: not yet */
	bool matched;
	uint32_t taken_by; /* operation of dst; UINT32_MAX */
	uint32_t seen_by;  /* first operation of dst that saw it unexpected; UINT32_MAX */
};

enum sim_tag_kind {
	SIM_TAG_RECV,
	SIM_TAG_PEEK,   /* a message stays where it is */
	SIM_TAG_TAKING, /* a peek that claims or discards */
	SIM_TAG_MULTI,
};

/* Operation of a receive queue. The poster fills in the first part. */
struct sim_tag_op {
	enum sim_tag_kind kind;
	bool msg;
	bool any_src;
	uint32_t src_ip, src_qpn;
	uint64_t tag, ignore;
	/* private to the model */
	struct sim_tag_end *end;
	uint32_t index; /* in end->ops */
	uint64_t posted;
	uint64_t cancel; /* its cancellation was posted; 0: not */
	uint64_t done;
	bool failed; /* it ended in a way that says nothing of the order */
	bool found_none;
	struct sim_tag_msg *last; /* that it took or saw */
	/* Messages that it asks for, which operations behind it took while it was posted. */
	struct sim_tag_msg **passed;
	uint32_t num_passed, max_passed;
	bool must_match; /* one of these passed before it could be cancelled */
};

struct sim_tag_model {
	char why[SIM_TAG_WHY_BYTES];
	uint64_t matches;
	/* private */
	uint64_t events;
	struct sim_tag_end **ends;
	uint32_t num_ends, max_ends;
	struct sim_tag_pair **pairs;
	uint32_t num_pairs, max_pairs;
	struct sim_tag_edge *edges;
	size_t num_edges, max_edges;
};

/* Conclusion about messages of different senders: one arrived before the other. */
struct sim_tag_edge {
	struct sim_tag_msg *before, *after;
};

void sim_tag_model_init(struct sim_tag_model *model);
void sim_tag_model_free(struct sim_tag_model *model);

struct sim_tag_end *sim_tag_end_new(struct sim_tag_model *model, uint32_t ip, uint32_t qpn);
/* The pair of two endpoints. */
struct sim_tag_pair *sim_tag_pair_get(struct sim_tag_model *model, struct sim_tag_end *src,
				      struct sim_tag_end *dst);
/* True if messages of the pair may fail. */
static inline bool sim_tag_pair_unsure(const struct sim_tag_pair *pair)
{
	return pair->src->gone || pair->dst->gone || pair->src->rx->unsure || pair->dst->rx->unsure;
}

/* Returns a new message, zeroed, that is to be filled in and posted; or taken back. */
struct sim_tag_msg *sim_tag_msg_post(struct sim_tag_model *model, struct sim_tag_pair *pair);
void sim_tag_msg_unpost(struct sim_tag_msg *msg);
/* Its send completed. ok: with success. */
void sim_tag_msg_sent(struct sim_tag_model *model, struct sim_tag_msg *msg, bool ok);
/* It will not be received: its send failed, or its sender is gone. */
void sim_tag_msg_lost(struct sim_tag_model *model, struct sim_tag_msg *msg);

/* Likewise for operations. */
struct sim_tag_op *sim_tag_op_post(struct sim_tag_model *model, struct sim_tag_end *end);
void sim_tag_op_unpost(struct sim_tag_op *op);
void sim_tag_op_cancel(struct sim_tag_model *model, struct sim_tag_op *op);

bool sim_tag_op_takes(const struct sim_tag_op *op, const struct sim_tag_msg *msg);

/*
 * Reports of completions. They return false if that cannot be, and model->why says why. Messages
 * of a MULTI receive are reported in the order of their offsets; ordered is false for one whose
 * place among them is not known.
 */
bool sim_tag_op_matched(struct sim_tag_model *model, struct sim_tag_op *op, struct sim_tag_msg *msg,
			bool ordered);
/* A MULTI receive takes no more messages. */
bool sim_tag_op_released(struct sim_tag_model *model, struct sim_tag_op *op);
/* A peek saw the message. */
bool sim_tag_op_saw(struct sim_tag_model *model, struct sim_tag_op *op, struct sim_tag_msg *msg);
/* A peek found nothing. */
bool sim_tag_op_none(struct sim_tag_model *model, struct sim_tag_op *op);
/* A receive was withdrawn. */
bool sim_tag_op_canceled(struct sim_tag_model *model, struct sim_tag_op *op);
/* It ended with a failure that the poster thinks right, or in a way that it cannot judge. */
void sim_tag_op_failed(struct sim_tag_model *model, struct sim_tag_op *op);

/* At the end: conclusions about the order of arrival must have no cycle. */
bool sim_tag_model_check(struct sim_tag_model *model);

/* ---- sim_tag_ref.c: the sequential matcher */

struct sim_tag_ref;

struct sim_tag_ref *sim_tag_ref_new(void);
void sim_tag_ref_free(struct sim_tag_ref *ref);
/* A message arrives. Returns the receive that takes it; NULL: it is unexpected. */
struct sim_tag_op *sim_tag_ref_arrive(struct sim_tag_ref *ref, struct sim_tag_msg *msg);
/* A receive is posted. Returns the message that it takes; NULL: it waits. */
struct sim_tag_msg *sim_tag_ref_post(struct sim_tag_ref *ref, struct sim_tag_op *op);
/* The message that a peek would report; NULL. */
struct sim_tag_msg *sim_tag_ref_peek(const struct sim_tag_ref *ref, const struct sim_tag_op *op);
/* Withdraws a receive. Returns false if it does not wait. */
bool sim_tag_ref_cancel(struct sim_tag_ref *ref, const struct sim_tag_op *op);

#endif /* WEFT_SIM_TAG_MODEL_H */
