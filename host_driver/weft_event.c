/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting: completion channels, arming of CQs, asynchronous events.
 *
 * Path of an event: weft_req_notify_cq() -> doorbell -> nic_fw/host/cq.c, moder.c, eq.c -> eventfd
 * -> weft_get_cq_event() -> weft_poll_cq(). Calls weft_eq.c for the queues and weft_db.h to arm.
 * docs/host-interface.md, "Arming", pair C2.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/weft_db.h"
#include "host_driver/weft_eq.h"

enum {
	/*
	 * At most one event per CQ is pending, since it must be armed again. The NIC holds back
	 * events that do not fit.
	 */
	WEFT_CHANNEL_ENTRIES = 4096,
};

struct weft_comp_channel *weft_create_comp_channel(struct weft_context *context, uint32_t vector)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_EQ};
	struct weft_channel_obj *channel;
	struct hw_cmd_resp resp;
	int fds[WEFT_CHAN_FDS];
	int rc;

	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return NULL;
	cmd.u.create_eq.vector = vector;
	cmd.u.create_eq.entries = WEFT_CHANNEL_ENTRIES;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, fds);
	if (rc == 0) {
		const struct hw_resp_create_eq *r = &resp.u.create_eq;

		rc = weft_eq_init(ctx, &channel->eq, r->eq, r->entries, r->record_offset,
				  r->ring_offset, fds[0]);
		/* The memory may have been used by another ring. */
		if (rc == 0)
			memset(channel->eq.ring, 0, r->entries * sizeof(*channel->eq.ring));
		else
			(void)weft_ctx_command_obj(ctx, HW_CMD_DESTROY_EQ, r->eq);
	}
	if (rc < 0) {
		free(channel);
		errno = -rc;
		return NULL;
	}
	channel->pub.context = context;
	channel->pub.fd = channel->eq.wait_fd;
	pthread_mutex_lock(&ctx->lock);
	weft_link_add(&ctx->channel_list, &channel->node);
	pthread_mutex_unlock(&ctx->lock);
	return &channel->pub;
}

void weft_channel_free(struct weft_channel_obj *channel)
{
	weft_link_del(&channel->node);
	weft_eq_destroy(&channel->eq);
	free(channel);
}

int weft_destroy_comp_channel(struct weft_comp_channel *pub)
{
	struct weft_channel_obj *channel = weft_container_of(pub, struct weft_channel_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	pthread_mutex_lock(&ctx->lock);
	rc = channel->refs ? -EBUSY : 0;
	pthread_mutex_unlock(&ctx->lock);
	if (rc < 0)
		return rc;
	rc = weft_ctx_command_obj(ctx, HW_CMD_DESTROY_EQ, channel->eq.number);
	if (rc < 0 && rc != -EIO)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	weft_channel_free(channel);
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}

int weft_mask_comp_channel(struct weft_comp_channel *pub, bool masked)
{
	struct weft_channel_obj *channel = weft_container_of(pub, struct weft_channel_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	struct hw_eq_record *record = channel->eq.record;

	if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		return -EIO;
	__atomic_store_n(&record->masked, masked, __ATOMIC_RELEASE);
	if (!masked)
		weft_db_ring(ctx, &record->rung, HW_DB_ENTRY(HW_DB_EQ, channel->eq.number));
	return 0;
}

/* told: completions covered by the last event do not raise another one. */
static int arm_cq(struct weft_cq *pub, bool solicited_only, bool told)
{
	struct weft_cq_obj *cq = weft_container_of(pub, struct weft_cq_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	uint32_t arm = HW_CQ_ARM_ARMED | (solicited_only ? HW_CQ_ARM_SOLICITED : 0), index;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	if (!pub->channel)
		return -EINVAL;
	pthread_mutex_lock(&cq->lock);
	index = told && (int32_t)(cq->told - cq->cons) > 0 ? cq->told : cq->cons;
	__atomic_store_n(&cq->armed, true, __ATOMIC_RELAXED);
	weft_barrier_cq_arm(cq->record, arm | (index & HW_CQ_ARM_INDEX));
	weft_db_ring(ctx, &cq->record->rung, HW_DB_ENTRY(HW_DB_CQ_ARM, pub->handle));
	pthread_mutex_unlock(&cq->lock);
	return 0;
}

int weft_req_notify_cq(struct weft_cq *pub, bool solicited_only)
{
	return arm_cq(pub, solicited_only, false);
}

int weft_req_notify_cq_untold(struct weft_cq *pub, bool solicited_only)
{
	return arm_cq(pub, solicited_only, true);
}

void weft_cq_told(struct weft_cq *pub)
{
	struct weft_cq_obj *cq = weft_container_of(pub, struct weft_cq_obj, pub);

	pthread_mutex_lock(&cq->lock);
	if ((int32_t)(cq->told - cq->cons) < 0)
		cq->told = cq->cons;
	while (cq->told - cq->cons <= cq->mask && weft_cq_peek(cq, cq->told))
		cq->told++;
	pthread_mutex_unlock(&cq->lock);
}

/* Takes a completion event from the queue. Under eq->lock. */
static struct weft_cq_obj *take_cq(struct weft_ctx *ctx, struct weft_channel_obj *channel)
{
	struct weft_cq_obj *cq;
	struct hw_eqe eqe;

	while (weft_eq_take(&channel->eq, &eqe)) {
		if (eqe.type != HW_EVENT_COMPLETION)
			continue;
		cq = weft_table_get(&ctx->cqs, eqe.id);
		if (cq && cq->pub.handle == eqe.id && cq->pub.channel == &channel->pub)
			return cq;
	}
	return NULL;
}

/* When the NIC is gone, every armed CQ gets its event, because flushed requests wait in it. */
static struct weft_cq_obj *take_armed(struct weft_ctx *ctx, const struct weft_channel_obj *channel)
{
	struct weft_cq_obj *cq, *found = NULL;
	struct weft_link *pos;

	pthread_mutex_lock(&ctx->lock);
	for (pos = ctx->cq_list.next; pos != &ctx->cq_list && !found; pos = pos->next) {
		cq = weft_container_of(pos, struct weft_cq_obj, node);
		if (cq->pub.channel == &channel->pub &&
		    __atomic_load_n(&cq->armed, __ATOMIC_RELAXED))
			found = cq;
	}
	pthread_mutex_unlock(&ctx->lock);
	return found;
}

/* The only cancellation point in a call that waits for an event. */
static int wait_for_entry(struct weft_ctx *ctx, const struct weft_eq *eq, int cancel)
{
	int rc;

	weft_cancel_restore(cancel);
	rc = weft_eq_wait(ctx, eq);
	(void)weft_cancel_off();
	return rc;
}

/* Returns 0 with the CQ of the next event, or a negative errno. */
static int next_cq(struct weft_channel_obj *channel, int cancel, struct weft_cq_obj **found)
{
	struct weft_ctx *ctx = weft_ctx_of(channel->pub.context);
	struct weft_cq_obj *cq;
	bool gone;
	int rc;

	for (;;) {
		if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
			return -EIO;
		weft_ctx_look(ctx, false);
		gone = weft_ctx_state(ctx) == WEFT_CTX_GONE;
		pthread_mutex_lock(&channel->eq.lock);
		cq = take_cq(ctx, channel);
		if (!cq && gone)
			cq = take_armed(ctx, channel);
		if (cq) {
			__atomic_store_n(&cq->armed, false, __ATOMIC_RELAXED);
			weft_acks_got(ctx, &cq->comp_acks);
		}
		pthread_mutex_unlock(&channel->eq.lock);
		*found = cq;
		if (cq)
			return 0;
		if (gone)
			return -EIO;
		rc = weft_eq_may_block(&channel->eq) ? wait_for_entry(ctx, &channel->eq, cancel)
						     : -EAGAIN;
		if (rc == -EAGAIN) {
			/*
			 * A hang-up also makes the descriptor readable: report -EIO then, not
			 * -EAGAIN.
			 */
			weft_ctx_look(ctx, true);
			if (weft_ctx_state(ctx) == WEFT_CTX_GONE)
				continue;
		}
		if (rc < 0)
			return rc;
		weft_ctx_look(ctx, true);
	}
}

int weft_get_cq_event(struct weft_comp_channel *pub, struct weft_cq **out, void **user)
{
	struct weft_channel_obj *channel = weft_container_of(pub, struct weft_channel_obj, pub);
	int cancel = weft_cancel_off();
	struct weft_cq_obj *cq;
	int rc = next_cq(channel, cancel, &cq);

	weft_cancel_restore(cancel);
	if (rc < 0)
		return rc;
	if (out)
		*out = &cq->pub;
	if (user)
		*user = cq->pub.user;
	return 0;
}

void weft_ack_cq_events(struct weft_cq *pub, uint32_t count)
{
	struct weft_cq_obj *cq = weft_container_of(pub, struct weft_cq_obj, pub);

	weft_acks_done(weft_ctx_of(pub->context), &cq->comp_acks, count);
}

/*
 * Converts an entry to an event. Returns false if its object no longer exists. Under async_eq.lock.
 */
static bool make_event(struct weft_ctx *ctx, const struct hw_eqe *eqe,
		       struct weft_async_event *event)
{
	struct weft_acks *acks = NULL;

	memset(event, 0, sizeof(*event));
	event->type = (enum weft_event_type)eqe->type;
	if (weft_eqe_is_qp(eqe->type)) {
		struct weft_qp_obj *qp = weft_table_get(&ctx->qps, eqe->id);

		if (!qp || qp->pub.qpn != eqe->id)
			return false;
		event->qp = &qp->pub;
		acks = &qp->async_acks;
		if (eqe->type == HW_EVENT_QP_FATAL || eqe->type == HW_EVENT_QP_ACCESS_ERR ||
		    eqe->type == HW_EVENT_QP_REQ_ERR)
			weft_qp_saw_error(qp);
		ctx->tell_qp = qp->same;
		ctx->tell_type = event->type;
		if (qp->same)
			weft_eq_signal(&ctx->async_eq);
	} else if (eqe->type == HW_EVENT_CQ_ERR) {
		struct weft_cq_obj *cq = weft_table_get(&ctx->cqs, eqe->id);

		if (!cq || cq->pub.handle != eqe->id)
			return false;
		event->cq = &cq->pub;
		acks = &cq->async_acks;
	} else if (eqe->type == HW_EVENT_SRQ_LIMIT || eqe->type == HW_EVENT_SRQ_ERR) {
		struct weft_srq_obj *srq = weft_table_get(&ctx->srqs, eqe->id);

		if (!srq || srq->pub.handle != eqe->id)
			return false;
		event->srq = &srq->pub;
		acks = &srq->async_acks;
	} else if (eqe->type == HW_EVENT_DEVICE_FATAL) {
		if (ctx->fatal_delivered)
			return false;
		ctx->fatal_delivered = true;
		weft_ctx_set_gone(ctx);
	} else if (eqe->type == HW_EVENT_COMPLETION || eqe->type >= HW_EVENTS) {
		return false;
	}
	if (eqe->type == HW_EVENT_PEER_ERROR) {
		event->peer_ssn = eqe->aux;
		event->peer_ip = eqe->aux2;
		event->peer_layer_etype = eqe->layer_etype;
		event->peer_code = eqe->code;
	}
	if (acks)
		weft_acks_got(ctx, acks);
	return true;
}

/* Delivers the event to each handle of a QP, as the kernel's devices do. Under async_eq.lock. */
static void tell_next(struct weft_ctx *ctx, struct weft_async_event *event)
{
	struct weft_qp_obj *qp = ctx->tell_qp;

	memset(event, 0, sizeof(*event));
	event->type = ctx->tell_type;
	event->qp = &qp->pub;
	weft_acks_got(ctx, &qp->async_acks);
	ctx->tell_qp = qp->same;
	if (!qp->same)
		weft_eq_settle(&ctx->async_eq);
}

/* Takes the next pending event. Returns false if there is none. */
static bool take_async(struct weft_ctx *ctx, bool gone, struct weft_async_event *event)
{
	static const struct hw_eqe fatal = {.type = HW_EVENT_DEVICE_FATAL};
	struct hw_eqe eqe;
	bool found = false;

	pthread_mutex_lock(&ctx->async_eq.lock);
	if (ctx->tell_qp) {
		tell_next(ctx, event);
		found = true;
	}
	while (!found && weft_eq_take(&ctx->async_eq, &eqe))
		found = make_event(ctx, &eqe, event);
	/* A killed weftd could not write this event. */
	if (!found && gone)
		found = make_event(ctx, &fatal, event);
	pthread_mutex_unlock(&ctx->async_eq.lock);
	return found;
}

static int next_async(struct weft_ctx *ctx, int cancel, struct weft_async_event *event)
{
	bool gone;
	int rc;

	for (;;) {
		if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
			return -EIO;
		weft_ctx_look(ctx, true);
		gone = weft_ctx_state(ctx) == WEFT_CTX_GONE;
		if (take_async(ctx, gone, event))
			return 0;
		if (gone)
			return -EIO;
		if (!weft_eq_may_block(&ctx->async_eq))
			return -EAGAIN;
		rc = wait_for_entry(ctx, &ctx->async_eq, cancel);
		if (rc < 0)
			return rc;
	}
}

int weft_get_async_event(struct weft_context *context, struct weft_async_event *event)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	int cancel, rc;

	if (ctx->tool)
		return -EINVAL;
	cancel = weft_cancel_off();
	rc = next_async(ctx, cancel, event);
	weft_cancel_restore(cancel);
	return rc;
}

void weft_ack_async_event(const struct weft_async_event *event)
{
	if (event->qp)
		weft_acks_done(weft_ctx_of(event->qp->context),
			       &weft_container_of(event->qp, struct weft_qp_obj, pub)->async_acks,
			       1);
	if (event->cq)
		weft_acks_done(weft_ctx_of(event->cq->context),
			       &weft_container_of(event->cq, struct weft_cq_obj, pub)->async_acks,
			       1);
	if (event->srq)
		weft_acks_done(weft_ctx_of(event->srq->context),
			       &weft_container_of(event->srq, struct weft_srq_obj, pub)->async_acks,
			       1);
}
