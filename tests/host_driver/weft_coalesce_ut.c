/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_coalesce.c: commands for settings and counters of vectors, and percentiles of
 * their waiting times.
 */
#include <errno.h>
#include <string.h>

#include "host_driver/weft_chan.h"
#include "host_driver/weft_priv.h"
#include "tests/ut.h"

/* A NIC of three shards behind the channel; it notes the last command. */
static struct nic {
	struct hw_cmd last;
	uint32_t commands;
	int32_t status;
	uint32_t vectors_asked; /* bit of each shard that got VECTOR */
} nic;

static int command(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
		   int fds_out[WEFT_CHAN_FDS])
{
	(void)chan;
	(void)fd_in;
	for (int i = 0; i < WEFT_CHAN_FDS; i++)
		fds_out[i] = -1;
	memset(resp, 0, sizeof(*resp));
	nic.last = *cmd;
	nic.commands++;
	if (cmd->op == HW_CMD_QUERY_DEVICE) {
		resp->u.device.num_shards = 3;
		resp->u.device.num_vectors = 8;
		return 0;
	}
	resp->status = nic.status;
	if (nic.status)
		return 0;
	if (cmd->op == HW_CMD_COALESCE) {
		for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
			resp->u.coalesce.coalesce.param[i] = 100 + i;
			resp->u.coalesce.now.param[i] = 200 + i;
		}
		resp->u.coalesce.coalesce.mode = HW_COALESCE_TARGET;
		resp->u.coalesce.coalesce.target_percentile = 9900;
		resp->u.coalesce.coalesce.target_ns = 20000;
	} else if (cmd->op == HW_CMD_VECTOR) {
		nic.vectors_asked |= 1u << cmd->u.obj.shard;
		for (uint32_t i = 0; i < HW_VECTOR_NUM_COUNTERS; i++)
			resp->u.vector.counter[i] = 1000 * cmd->u.obj.shard + i;
		resp->u.vector.wait[cmd->u.obj.shard] = 5;
		resp->u.vector.wait_sum_ns = 10;
		resp->u.vector.event_queues = 1 + cmd->u.obj.shard;
	}
	return 0;
}

static void closed(void *chan)
{
	(void)chan;
}

static const struct weft_chan_ops ops = {.command = command, .close = closed};

static struct weft_context *open_tool(void)
{
	struct weft_context *context;

	memset(&nic, 0, sizeof(nic));
	context = weft_open_channel(&ops, &nic, "weft0", HW_ATTACH_F_TOOL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	nic.commands = 0;
	return context;
}

static void queries(void)
{
	struct weft_context *context = open_tool();
	struct weft_coalesce set, now;

	CU_ASSERT_EQUAL(weft_query_coalesce(context, 5, &set, &now), 0);
	CU_ASSERT_EQUAL(nic.last.op, HW_CMD_COALESCE);
	CU_ASSERT_EQUAL(nic.last.u.coalesce.vector, 5);
	CU_ASSERT_EQUAL(nic.last.u.coalesce.set, 0);
	CU_ASSERT_EQUAL(set.param[WEFT_COALESCE_TX_FRAMES_IRQ], 107);
	CU_ASSERT_EQUAL(set.mode, WEFT_COALESCE_TARGET);
	CU_ASSERT_EQUAL(set.target_percentile, 9900);
	CU_ASSERT_EQUAL(set.target_ns, 20000);
	CU_ASSERT_EQUAL(now.param[WEFT_COALESCE_RX_USECS], 200);
	CU_ASSERT_EQUAL(now.mode, WEFT_COALESCE_FIXED);
	CU_ASSERT_EQUAL(weft_query_coalesce(context, 0, NULL, NULL), 0);
	nic.commands = 0;
	CU_ASSERT_EQUAL(weft_query_coalesce(context, WEFT_COALESCE_ALL_VECTORS, &set, &now),
			-EINVAL);
	CU_ASSERT_EQUAL(nic.commands, 0);
	nic.status = EINVAL;
	set.param[0] = 7;
	CU_ASSERT_EQUAL(weft_query_coalesce(context, 8, &set, &now), -EINVAL);
	CU_ASSERT_EQUAL(set.param[0], 7);
	weft_close_device(context);
}

static void sets(void)
{
	struct weft_context *context = open_tool();
	struct weft_coalesce c = {.param = {1, 2, 3, 4, 5, 6, 7, 8},
				  .mode = WEFT_COALESCE_TARGET,
				  .target_percentile = 9900,
				  .target_ns = 20000};
	const struct hw_cmd_coalesce *cmd = &nic.last.u.coalesce;

	CU_ASSERT_EQUAL(weft_set_coalesce(context, 3, WEFT_COALESCE_SET_ALL, &c), 0);
	CU_ASSERT_EQUAL(cmd->vector, 3);
	CU_ASSERT_EQUAL(cmd->set, HW_COALESCE_SET_ALL);
	CU_ASSERT_EQUAL(cmd->coalesce.param[HW_COALESCE_tx_frames_irq], 8);
	CU_ASSERT_EQUAL(cmd->coalesce.mode, HW_COALESCE_TARGET);
	CU_ASSERT_EQUAL(cmd->coalesce.target_ns, 20000);
	/* Fields outside the mask are not sent: a target belongs to the mode. */
	CU_ASSERT_EQUAL(weft_set_coalesce(context, WEFT_COALESCE_ALL_VECTORS,
					  WEFT_COALESCE_SET(WEFT_COALESCE_TX_USECS), &c),
			0);
	CU_ASSERT_EQUAL(cmd->vector, HW_COALESCE_ALL_VECTORS);
	CU_ASSERT_EQUAL(cmd->set, 4);
	CU_ASSERT_EQUAL(cmd->coalesce.mode, 0);
	CU_ASSERT_EQUAL(cmd->coalesce.target_ns, 0);
	c.mode = WEFT_COALESCE_ADAPTIVE;
	CU_ASSERT_EQUAL(weft_set_coalesce(context, 0, WEFT_COALESCE_SET_MODE, &c), 0);
	CU_ASSERT_EQUAL(cmd->coalesce.mode, HW_COALESCE_ADAPTIVE);
	CU_ASSERT_EQUAL(cmd->coalesce.target_percentile, 0);
	nic.commands = 0;
	CU_ASSERT_EQUAL(weft_set_coalesce(context, 0, 0, &c), -EINVAL);
	CU_ASSERT_EQUAL(weft_set_coalesce(context, 0, 1u << 8, &c), -EINVAL);
	CU_ASSERT_EQUAL(weft_set_coalesce(context, 0, 1u << 31, &c), -EINVAL);
	CU_ASSERT_EQUAL(nic.commands, 0);
	nic.status = EPERM;
	CU_ASSERT_EQUAL(weft_set_coalesce(context, 0, 1, &c), -EPERM);
	weft_close_device(context);
}

static void counters(void)
{
	struct weft_context *context = open_tool();
	struct weft_vector v;

	CU_ASSERT_EQUAL(weft_query_vector(context, 4, 2, &v), 0);
	CU_ASSERT_EQUAL(nic.vectors_asked, 4);
	CU_ASSERT_EQUAL(nic.last.u.obj.handle, 4);
	CU_ASSERT_EQUAL(v.completions, 2000);
	CU_ASSERT_EQUAL(v.mode_changes, 2000 + HW_VECTOR_mode_changes);
	CU_ASSERT_EQUAL(v.event_queues, 3);
	nic.vectors_asked = nic.commands = 0;
	CU_ASSERT_EQUAL(weft_query_vector(context, 4, WEFT_COALESCE_ALL_SHARDS, &v), 0);
	CU_ASSERT_EQUAL(nic.vectors_asked, 7);
	CU_ASSERT_EQUAL(nic.commands, 3);
	CU_ASSERT_EQUAL(v.interrupts, 3000 + 3 * HW_VECTOR_interrupts);
	CU_ASSERT_TRUE(v.wait[0] == 5 && v.wait[1] == 5 && v.wait[2] == 5 && !v.wait[3]);
	CU_ASSERT_EQUAL(v.wait_sum_ns, 30);
	CU_ASSERT_EQUAL(v.event_queues, 6);
	nic.status = EINVAL;
	CU_ASSERT_EQUAL(weft_query_vector(context, 8, 0, &v), -EINVAL);
	CU_ASSERT_EQUAL(v.event_queues, 6);
	CU_ASSERT_EQUAL(weft_query_vector(context, 0, UINT32_MAX - 1, &v), -EINVAL);
	weft_close_device(context);
}

static void percentiles(void)
{
	struct weft_vector v = {0};

	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 9900), 0);
	v.wait[0] = 100;
	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 9900), 0);
	/* Half of them at once, the others from 256 to 511 ns. */
	v.wait[1] = 100;
	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 5000), 0);
	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 7500), 384);
	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 10000), 512);
	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 20000), 512);
	/* One count in the last bucket: no percentile overflows. */
	memset(&v, 0, sizeof(v));
	v.wait[WEFT_VECTOR_BUCKETS - 1] = 1;
	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 5000), 4096 * 256);
	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 0), 0);
	/* So many counts that a product with 10,000 would overflow. */
	memset(&v, 0, sizeof(v));
	v.wait[0] = UINT64_MAX / 2;
	v.wait[3] = UINT64_MAX / 2;
	CU_ASSERT_EQUAL(weft_vector_wait_ns(&v, 4999), 0);
	CU_ASSERT_TRUE(weft_vector_wait_ns(&v, 9999) > 900 &&
		       weft_vector_wait_ns(&v, 9999) <= 1024);
}

/*
 * Every time is in the bucket that begins at or before it, and each bucket is at most a quarter
 * wide.
 */
static void buckets(void)
{
	CU_ASSERT_EQUAL(weft_vector_bucket_ns(0), 0);
	CU_ASSERT_EQUAL(weft_vector_bucket_ns(4), 1024);
	CU_ASSERT_EQUAL(weft_vector_bucket_ns(1000), weft_vector_bucket_ns(WEFT_VECTOR_BUCKETS));
	for (uint32_t i = 0; i < WEFT_VECTOR_BUCKETS; i++) {
		uint64_t from = weft_vector_bucket_ns(i), to = weft_vector_bucket_ns(i + 1);

		CU_ASSERT_TRUE(from < to && (i < 4 || 4 * (to - from) <= from));
		CU_ASSERT_EQUAL(hw_vector_bucket_of(from), i);
		CU_ASSERT_EQUAL(hw_vector_bucket_of(to - 1), i);
	}
	CU_ASSERT_EQUAL(hw_vector_bucket_of(UINT64_MAX), WEFT_VECTOR_BUCKETS - 1);
}

UT_MAIN("host_driver/weft_coalesce", UT(queries), UT(sets), UT(counters), UT(percentiles),
	UT(buckets))
