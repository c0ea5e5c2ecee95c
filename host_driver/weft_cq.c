/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues: create, resize, moderate, destroy.
 *
 * weft_poll.c takes completions, weft_event.c arms. Calls the channel; nic_fw/host/cq.c and
 * cq_cmd.c are the NIC's side.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/weft_barrier.h"
#include "host_driver/weft_eq.h"
#include "host_driver/weft_tag_priv.h"

/*
 * Invalidates all entries of a new ring, whose memory may have been used by another ring. This also
 * populates the pages before the NIC writes to them.
 */
static void clear_ring(struct hw_cqe *ring, uint32_t entries)
{
	for (uint32_t i = 0; i < entries; i++) {
		if (ring[i].phase)
			ring[i].phase = 0;
	}
}

/*
 * Stores the locations of ring and record from the NIC's answer. Returns 0 or -EPROTO. The handle
 * is unchanged: other threads read it without a lock while a CQ is resized.
 */
static int map_ring(struct weft_ctx *ctx, struct weft_cq_obj *cq,
		    const struct hw_resp_create_cq *resp)
{
	struct hw_cq_record *record;
	struct hw_cqe *ring;
	uint32_t entries = resp->entries;

	record = weft_ctx_bar(ctx, resp->record_offset, sizeof(*record));
	ring = weft_ctx_bar(ctx, resp->ring_offset, (uint64_t)entries * sizeof(*ring));
	if (!record || !ring || !entries || (entries & (entries - 1)))
		return -EPROTO;
	cq->record = record;
	cq->ring = ring;
	cq->mask = entries - 1;
	cq->shift = (uint32_t)__builtin_ctz(entries);
	cq->pub.entries = entries;
	return 0;
}

static int publish(struct weft_ctx *ctx, struct weft_cq_obj *cq)
{
	int rc;

	pthread_mutex_lock(&ctx->lock);
	rc = weft_table_set(&ctx->cqs, cq->pub.handle, cq);
	if (rc == 0) {
		weft_link_add(&ctx->cq_list, &cq->node);
		if (cq->pub.channel)
			weft_container_of(cq->pub.channel, struct weft_channel_obj, pub)->refs++;
	}
	pthread_mutex_unlock(&ctx->lock);
	return rc;
}

struct weft_cq *weft_create_cq(struct weft_context *context, uint32_t entries,
			       struct weft_comp_channel *channel, void *user)
{
	return weft_create_cq_vector(context, entries, channel, -1, user);
}

struct weft_cq *weft_create_cq_vector(struct weft_context *context, uint32_t entries,
				      struct weft_comp_channel *channel, int vector, void *user)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_CQ};
	struct weft_cq_obj *cq;
	struct hw_cmd_resp resp;
	int rc;

	if (channel && channel->context != context) {
		errno = EINVAL;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	weft_mutex_init(&cq->lock);
	weft_link_init(&cq->node);
	cq->pub.context = context;
	cq->pub.channel = channel;
	cq->pub.user = user;
	cmd.u.create_cq.entries = entries;
	cmd.u.create_cq.eq =
	    channel ? weft_container_of(channel, struct weft_channel_obj, pub)->eq.number
		    : HW_EQ_NONE;
	if (channel && vector >= 0)
		cmd.u.create_cq.flags = ((uint32_t)vector + 1) << HW_CQ_VECTOR_SHIFT;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc == 0) {
		cq->pub.handle = resp.u.create_cq.cq;
		rc = map_ring(ctx, cq, &resp.u.create_cq);
		if (rc == 0) {
			clear_ring(cq->ring, cq->pub.entries);
			rc = publish(ctx, cq);
		}
		if (rc < 0)
			(void)weft_ctx_command_obj(ctx, HW_CMD_DESTROY_CQ, resp.u.create_cq.cq);
	}
	if (rc < 0) {
		pthread_mutex_destroy(&cq->lock);
		free(cq);
		errno = -rc;
		return NULL;
	}
	return &cq->pub;
}

int weft_resize_cq(struct weft_cq *pub, uint32_t entries)
{
	struct weft_cq_obj *cq = weft_container_of(pub, struct weft_cq_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	struct hw_cmd cmd = {.op = HW_CMD_RESIZE_CQ};
	struct hw_cmd_resp resp;
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	cmd.u.cq.cq = pub->handle;
	cmd.u.cq.entries = entries;
	/*
	 * Locked across the command: the NIC moves the entries from cons on into the new ring, and
	 * no thread may take one from the old ring meanwhile.
	 */
	pthread_mutex_lock(&cq->lock);
	weft_barrier_cq_cons(cq->record, cq->cons);
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc == 0)
		rc = map_ring(ctx, cq, &resp.u.create_cq);
	pthread_mutex_unlock(&cq->lock);
	return rc;
}

int weft_modify_cq(struct weft_cq *pub, uint16_t count, uint32_t period_us)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_CQ};
	struct hw_cmd_resp resp;

	cmd.u.cq.cq = pub->handle;
	cmd.u.cq.count = count;
	cmd.u.cq.period_us = period_us;
	return weft_ctx_command(weft_ctx_of(pub->context), &cmd, -1, &resp, NULL);
}

void weft_cq_free(struct weft_cq_obj *cq)
{
	weft_link_del(&cq->node);
	pthread_mutex_destroy(&cq->lock);
	free(cq);
}

int weft_destroy_cq(struct weft_cq *pub)
{
	struct weft_cq_obj *cq = weft_container_of(pub, struct weft_cq_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	struct weft_channel_obj *channel = NULL;
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	pthread_mutex_lock(&ctx->lock);
	rc = cq->refs ? -EBUSY : 0;
	pthread_mutex_unlock(&ctx->lock);
	if (rc < 0)
		return rc;
	rc = weft_ctx_command_obj(ctx, HW_CMD_DESTROY_CQ, pub->handle);
	if (rc < 0 && rc != -EIO)
		return rc;
	/* take_armed() must not return a CQ that is being destroyed. */
	__atomic_store_n(&cq->armed, false, __ATOMIC_RELAXED);
	if (pub->channel) {
		channel = weft_container_of(pub->channel, struct weft_channel_obj, pub);
		weft_eq_purge(&channel->eq, weft_eqe_of_cq_comp, pub->handle);
	}
	weft_eq_purge(&ctx->async_eq, weft_eqe_of_cq, pub->handle);
	weft_acks_wait(ctx, &cq->comp_acks);
	weft_acks_wait(ctx, &cq->async_acks);
	pthread_mutex_lock(&ctx->lock);
	weft_table_clear(&ctx->cqs, pub->handle, cq);
	if (channel)
		channel->refs--;
	weft_cq_free(cq);
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}

void weft_cq_lock_pair(struct weft_cq_obj *a, struct weft_cq_obj *b)
{
	pthread_mutex_lock(a < b ? &a->lock : &b->lock);
	if (a != b)
		pthread_mutex_lock(a < b ? &b->lock : &a->lock);
}

void weft_cq_unlock_pair(struct weft_cq_obj *a, struct weft_cq_obj *b)
{
	if (a != b)
		pthread_mutex_unlock(&b->lock);
	pthread_mutex_unlock(&a->lock);
}

/*
 * Removes the pending entries that drop() selects and moves the rest towards the end. The rest
 * keeps its order, and the NIC regains the freed slots at once; otherwise a process that counts its
 * outstanding requests would see an overrun. Each slot keeps its phase, which belongs to the index.
 * Under cq->lock.
 */
static void weft_cq_sweep(struct weft_cq_obj *cq,
			  bool (*drop)(const struct hw_cqe *cqe, const void *arg), const void *arg)
{
	uint32_t end = cq->cons, to, i, told = 0;

	while (end - cq->cons <= cq->mask && weft_cq_peek(cq, end))
		end++;
	for (i = to = end; i != cq->cons;) {
		const struct hw_cqe *from = &cq->ring[--i & cq->mask];
		struct hw_cqe *slot;
		uint8_t phase;

		if (drop(from, arg))
			continue;
		told += (int32_t)(cq->told - i) > 0;
		if (--to == i)
			continue;
		slot = &cq->ring[to & cq->mask];
		phase = slot->phase;
		*slot = *from;
		slot->phase = phase;
	}
	if (to == cq->cons)
		return;
	__atomic_store_n(&cq->cons, to, __ATOMIC_RELAXED);
	cq->told = to + told;
	weft_barrier_cq_cons(cq->record, to);
}

/* A receive of an XRC SRQ belongs to the SRQ, not to the QP. */
static bool weft_cq_is_of_qp(const struct hw_cqe *cqe, const void *qpn)
{
	return cqe->qpn == *(const uint32_t *)qpn && !(cqe->flags & HW_CQE_F_XRC);
}

static bool weft_cq_is_of_srq(const struct hw_cqe *cqe, const void *srq)
{
	return cqe->flags & HW_CQE_F_XRC && cqe->sq_index == *(const uint32_t *)srq;
}

/* Receives of a context are not lost with the endpoint at which they have completed. */
static void keep_orphans(struct weft_cq_obj *cq, struct weft_qp_obj *qp)
{
	const struct hw_cqe *cqe;
	uint32_t i;

	for (i = cq->cons; i - cq->cons <= cq->mask && (cqe = weft_cq_peek(cq, i)); i++)
		if (weft_cq_is_of_qp(cqe, &qp->pub.qpn) && cqe->opcode > HW_CQE_TSEND)
			weft_tag_orphan(qp, cqe);
}

void weft_cq_purge(struct weft_cq_obj *cq, struct weft_qp_obj *qp)
{
	if (qp->tag && qp->tag->shared && !qp->tag->context)
		keep_orphans(cq, qp);
	weft_cq_sweep(cq, weft_cq_is_of_qp, &qp->pub.qpn);
	if (cq->last_qp == qp)
		cq->last_qp = NULL;
}

void weft_cq_purge_srq(struct weft_cq_obj *cq, uint32_t srq)
{
	weft_cq_sweep(cq, weft_cq_is_of_srq, &srq);
}
