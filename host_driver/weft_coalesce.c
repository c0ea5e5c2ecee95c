/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: settings and counters of the NIC's vectors.
 *
 * Calls the channel. nic_fw/host/moder*.c answers; weftd applies a setting to every shard.
 */
#include <errno.h>
#include <string.h>

#include "host_driver/weft_priv.h"

#define SAME(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #ours)

SAME(HW_COALESCE_rx_usecs, WEFT_COALESCE_RX_USECS);
SAME(HW_COALESCE_rx_frames, WEFT_COALESCE_RX_FRAMES);
SAME(HW_COALESCE_tx_usecs, WEFT_COALESCE_TX_USECS);
SAME(HW_COALESCE_tx_frames, WEFT_COALESCE_TX_FRAMES);
SAME(HW_COALESCE_rx_usecs_irq, WEFT_COALESCE_RX_USECS_IRQ);
SAME(HW_COALESCE_rx_frames_irq, WEFT_COALESCE_RX_FRAMES_IRQ);
SAME(HW_COALESCE_tx_usecs_irq, WEFT_COALESCE_TX_USECS_IRQ);
SAME(HW_COALESCE_tx_frames_irq, WEFT_COALESCE_TX_FRAMES_IRQ);
SAME(HW_COALESCE_NUM_PARAMS, WEFT_COALESCE_NUM_PARAMS);
SAME(HW_COALESCE_ADAPTIVE, WEFT_COALESCE_ADAPTIVE);
SAME(HW_COALESCE_TARGET, WEFT_COALESCE_TARGET);
SAME(HW_COALESCE_SET_ALL, WEFT_COALESCE_SET_ALL);
SAME(HW_COALESCE_ALL_VECTORS, WEFT_COALESCE_ALL_VECTORS);
SAME(HW_VECTOR_BUCKETS, WEFT_VECTOR_BUCKETS);
/* The counters of struct weft_vector are in the NIC's order. */
#define X(name) SAME(HW_VECTOR_##name, offsetof(struct weft_vector, name) / sizeof(uint64_t));
HW_VECTOR_COUNTERS(X)
#undef X

static void from_hw(struct weft_coalesce *c, const struct hw_coalesce *hw)
{
	memcpy(c->param, hw->param, sizeof(c->param));
	c->mode = (enum weft_coalesce_mode)hw->mode;
	c->target_percentile = hw->target_percentile;
	c->target_ns = hw->target_ns;
}

int weft_query_coalesce(struct weft_context *context, uint32_t vector, struct weft_coalesce *set,
			struct weft_coalesce *now)
{
	struct hw_cmd cmd = {.op = HW_CMD_COALESCE, .u.coalesce.vector = vector};
	struct hw_cmd_resp resp;
	int rc;

	/* For all vectors the NIC would answer with the first one. */
	if (vector == WEFT_COALESCE_ALL_VECTORS)
		return -EINVAL;
	rc = weft_ctx_command(weft_ctx_of(context), &cmd, -1, &resp, NULL);
	if (rc < 0)
		return rc;
	if (set)
		from_hw(set, &resp.u.coalesce.coalesce);
	if (now)
		from_hw(now, &resp.u.coalesce.now);
	return 0;
}

int weft_set_coalesce(struct weft_context *context, uint32_t vector, uint32_t mask,
		      const struct weft_coalesce *coalesce)
{
	struct hw_cmd cmd = {.op = HW_CMD_COALESCE};
	struct hw_cmd_coalesce *c = &cmd.u.coalesce;
	struct hw_cmd_resp resp;

	if (!mask || mask & ~WEFT_COALESCE_SET_ALL)
		return -EINVAL;
	c->vector = vector;
	c->set = mask;
	memcpy(c->coalesce.param, coalesce->param, sizeof(c->coalesce.param));
	if (mask & WEFT_COALESCE_SET_MODE)
		c->coalesce.mode = (uint32_t)coalesce->mode;
	if (mask & WEFT_COALESCE_SET_MODE && coalesce->mode == WEFT_COALESCE_TARGET) {
		c->coalesce.target_percentile = coalesce->target_percentile;
		c->coalesce.target_ns = coalesce->target_ns;
	}
	return weft_ctx_command(weft_ctx_of(context), &cmd, -1, &resp, NULL);
}

static void add(struct weft_vector *sum, const struct hw_resp_vector *hw)
{
#define X(name) sum->name += hw->counter[HW_VECTOR_##name];
	HW_VECTOR_COUNTERS(X)
#undef X
	for (uint32_t i = 0; i < WEFT_VECTOR_BUCKETS; i++)
		sum->wait[i] += hw->wait[i];
	sum->wait_sum_ns += hw->wait_sum_ns;
	sum->event_queues += hw->event_queues;
}

int weft_query_vector(struct weft_context *context, uint32_t vector, uint32_t shard,
		      struct weft_vector *counters)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	struct hw_cmd cmd = {.op = HW_CMD_VECTOR, .u.obj.handle = vector};
	uint32_t first = shard, end = shard + 1, num_shards = ctx->device.num_shards;
	struct weft_vector sum = {0};
	struct hw_cmd_resp resp;
	int rc;

	if (shard == WEFT_COALESCE_ALL_SHARDS) {
		first = 0;
		end = num_shards ? num_shards : 1;
	}
	for (cmd.u.obj.shard = first; cmd.u.obj.shard != end; cmd.u.obj.shard++) {
		rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
		if (rc < 0)
			return rc;
		add(&sum, &resp.u.vector);
	}
	*counters = sum;
	return 0;
}

uint64_t weft_vector_bucket_ns(uint32_t bucket)
{
	return hw_vector_bucket_ns(bucket < HW_VECTOR_BUCKETS ? bucket : HW_VECTOR_BUCKETS);
}

uint64_t weft_vector_wait_ns(const struct weft_vector *counters, uint32_t percentile)
{
	uint64_t total = 0, below = 0, rank;

	for (uint32_t i = 0; i < WEFT_VECTOR_BUCKETS; i++)
		total += counters->wait[i];
	if (percentile > 10000)
		percentile = 10000;
	/* Rounded up: with one completion, every percentile is that one. */
	rank = total / 10000 * percentile + (total % 10000 * percentile + 9999) / 10000;
	if (!rank)
		return 0;
	for (uint32_t i = 0; i < WEFT_VECTOR_BUCKETS; i++) {
		uint64_t n = counters->wait[i];
		uint64_t from = hw_vector_bucket_ns(i), width = hw_vector_bucket_ns(i + 1) - from;

		if (below + n < rank) {
			below += n;
			continue;
		}
		/*
		 * Times are assumed to be spread evenly within a bucket; in the first bucket they
		 * are 0.
		 */
		return i ? from + (uint64_t)((double)width * (double)(rank - below) / (double)n)
			 : 0;
	}
	return hw_vector_bucket_ns(WEFT_VECTOR_BUCKETS);
}
