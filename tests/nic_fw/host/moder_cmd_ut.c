/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings and counters of vectors: ranges, all or nothing, each vector by itself, settings at
 * start; the histogram of waits; CQs that name a vector.
 */
#include "tests/nic_fw/host/moder_fix.h"

static int command(struct moder_fix *f, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	cmd->op = HW_CMD_COALESCE;
	return host_cmd(f->ut.nic, 0, cmd, resp);
}

static void ranges(void)
{
	static const uint32_t highest[] = {1023, 255, 1023, 255, 1023, 255, 1023, 255};
	struct hw_cmd_resp resp;
	struct moder_fix f;
	uint32_t i;

	fix_begin(&f);
	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		struct hw_cmd cmd = {0};

		cmd.u.coalesce.set = 1u << i;
		cmd.u.coalesce.coalesce.param[i] = highest[i];
		CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
		CU_ASSERT_EQUAL(resp.u.coalesce.coalesce.param[i], highest[i]);
		CU_ASSERT_EQUAL(resp.u.coalesce.now.param[i], highest[i]);
		CU_ASSERT_EQUAL(resp.u.coalesce.num_vectors, HW_NUM_VECTORS);
		cmd.u.coalesce.coalesce.param[i]++;
		CU_ASSERT_EQUAL(command(&f, &cmd, &resp), FW_EINVAL);
		/* Fields outside the mask are ignored. */
		cmd.u.coalesce.set = 0;
		CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
		CU_ASSERT_EQUAL(resp.u.coalesce.coalesce.param[i], highest[i]);
		CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_interrupts), 0);
	}
	fix_end(&f);
}

static void all_or_nothing(void)
{
	static const struct hw_coalesce bad[] = {
	    {.param = {5, 5, 5, 5, 5, 5, 5, 256}},
	    {.param = {5}, .mode = HW_COALESCE_MODES},
	    {.param = {5}, .mode = UINT32_MAX},
	    {.param = {5}, .mode = 2, .target_percentile = 9900, .target_ns = 999},
	    {.param = {5}, .mode = 2, .target_percentile = 9900, .target_ns = 1000001},
	    {.param = {5}, .mode = 2, .target_percentile = 4999, .target_ns = 20000},
	    {.param = {5}, .mode = 2, .target_percentile = 10000, .target_ns = 20000},
	    {.param = {5}, .reserved = 1},
	};
	struct fw_config config;
	struct hw_cmd_resp resp;
	struct moder_fix f;
	uint32_t i;

	fix_begin(&f);
	config = f.ut.nic->config;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hw_cmd cmd = {0};
		struct fw_ut other;

		cmd.u.coalesce.set = HW_COALESCE_SET_ALL;
		cmd.u.coalesce.coalesce = bad[i];
		CU_ASSERT_EQUAL(command(&f, &cmd, &resp), FW_EINVAL);
		cmd.u.coalesce.set = 0;
		memset(&cmd.u.coalesce.coalesce, 0, sizeof(cmd.u.coalesce.coalesce));
		CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
		CU_ASSERT_EQUAL(resp.u.coalesce.coalesce.param[0], 0);
		CU_ASSERT_EQUAL(resp.u.coalesce.coalesce.mode, HW_COALESCE_FIXED);
		/* A NIC does not start with such a setting either. */
		config.coalesce[i % HW_NUM_VECTORS] = bad[i];
		fw_ut_begin(&other);
		CU_ASSERT_PTR_NULL(
		    fw_init(&config, &f.ut.nic->port, other.arena, other.arena_bytes));
		config.coalesce[i % HW_NUM_VECTORS] = (struct hw_coalesce){0};
		fw_ut_end(&other);
	}
	fix_end(&f);
}

static void vectors(void)
{
	struct hw_cmd cmd = {0};
	struct hw_cmd_resp resp;
	struct moder_fix f;
	uint32_t v;

	fix_begin(&f);
	for (v = 0; v < HW_NUM_VECTORS; v++) {
		cmd.u.coalesce = (struct hw_cmd_coalesce){.vector = v, .set = 1};
		cmd.u.coalesce.coalesce.param[0] = 10 + v;
		CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
	}
	for (v = 0; v < HW_NUM_VECTORS; v++) {
		cmd.u.coalesce = (struct hw_cmd_coalesce){.vector = v};
		CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
		CU_ASSERT_EQUAL(resp.u.coalesce.coalesce.param[0], 10 + v);
	}
	cmd.u.coalesce.vector = HW_NUM_VECTORS;
	CU_ASSERT_EQUAL(command(&f, &cmd, &resp), FW_EINVAL);
	cmd.u.coalesce = (struct hw_cmd_coalesce){.vector = HW_COALESCE_ALL_VECTORS, .set = 2};
	cmd.u.coalesce.coalesce.param[1] = 7;
	CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
	for (v = 0; v < HW_NUM_VECTORS; v++) {
		CU_ASSERT_EQUAL(f.ut.nic->host.vectors[v].coalesce.param[0], 10 + v);
		CU_ASSERT_EQUAL(f.ut.nic->host.vectors[v].coalesce.param[1], 7);
	}
	cmd = (struct hw_cmd){.op = HW_CMD_VECTOR};
	cmd.u.obj.handle = HW_NUM_VECTORS;
	CU_ASSERT_EQUAL(host_cmd(f.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.obj.handle = 0;
	CU_ASSERT_EQUAL(host_cmd(f.ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.vector.event_queues, 2); /* EQ 0, and the channel's */
	fix_end(&f);
}

/* The fields of a target are not kept in the other modes. */
static void modes(void)
{
	struct hw_cmd cmd = {0};
	struct hw_cmd_resp resp;
	struct moder_fix f;

	fix_begin(&f);
	cmd.u.coalesce.set = HW_COALESCE_SET_MODE;
	cmd.u.coalesce.coalesce = (struct hw_coalesce){
	    .mode = HW_COALESCE_TARGET, .target_percentile = 9900, .target_ns = 20000};
	CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.coalesce.coalesce.target_ns, 20000);
	CU_ASSERT_EQUAL(f.eq->moder.mode, HW_COALESCE_TARGET);
	cmd.u.coalesce.coalesce.mode = HW_COALESCE_ADAPTIVE;
	CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.coalesce.coalesce.target_ns, 0);
	/* A completion that one mode holds back is reported by the next mode. */
	cmd.u.coalesce.coalesce.mode = HW_COALESCE_TARGET;
	CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), 0);
	fw_ut_poll(&f.ut, 5 * US);
	cmd.u.coalesce.coalesce = (struct hw_coalesce){.mode = HW_COALESCE_FIXED};
	CU_ASSERT_EQUAL(command(&f, &cmd, &resp), 0);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	fix_end(&f);
}

static void waits_are_counted(void)
{
	struct hw_resp_vector v;
	struct moder_fix f;
	uint64_t sum = 0;
	uint32_t i;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_frames, 10);
	fix_ready(&f);
	for (i = 0; i < 10; i++) {
		fix_cqe(&f, MODER_RX, 3 * US);
		sum += 3 * US * (9 - i);
	}
	CU_ASSERT_EQUAL(fw_vector(f.ut.nic, 0, &v), 0);
	CU_ASSERT_EQUAL(v.wait_sum_ns, sum);
	CU_ASSERT_EQUAL(v.wait[0], 1);
	for (i = 0; i < 10; i++) {
		uint32_t bucket = hw_vector_bucket_of(3 * US * i);

		CU_ASSERT_TRUE(v.wait[bucket] >= 1);
		v.wait[bucket]--;
	}
	for (i = 0; i < HW_VECTOR_BUCKETS; i++)
		CU_ASSERT_EQUAL(v.wait[i], 0);
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_completions], 10);
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_events], 1);
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_interrupts], 1);
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_coalesced], 9);
	/* More turns than are distinguished: none is lost, and none counts as too recent. */
	fix_set(&f, HW_COALESCE_rx_frames, 200);
	fix_ready(&f);
	for (i = 0; i < 200; i++) {
		fix_cqe(&f, MODER_RX, 100);
		f.cq->record->cons = f.cq->prod;
	}
	CU_ASSERT_EQUAL(fix_irqs(&f), 2);
	CU_ASSERT_EQUAL(fw_vector(f.ut.nic, 0, &v), 0);
	for (i = 0, sum = 0; i < HW_VECTOR_BUCKETS; i++)
		sum += v.wait[i];
	CU_ASSERT_EQUAL(sum, 210);
	fix_end(&f);
}

/* The first CQ assigns its event queue to the vector that it names; counters stay in place. */
static void a_cq_names_a_vector(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_CQ};
	struct hw_cmd_resp resp;
	struct moder_fix f;
	uint32_t number;

	fix_begin(&f);
	number = fw_ut_eq(&f.ut, 0, 8);
	cmd.u.create_cq.entries = 8;
	cmd.u.create_cq.eq = number;
	cmd.u.create_cq.flags = (HW_NUM_VECTORS + 1u) << HW_CQ_VECTOR_SHIFT;
	CU_ASSERT_EQUAL(host_cmd(f.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.create_cq.flags = 1;
	CU_ASSERT_EQUAL(host_cmd(f.ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.create_cq.flags = (3 + 1u) << HW_CQ_VECTOR_SHIFT;
	CU_ASSERT_EQUAL(host_cmd(f.ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(eq_own(f.ut.nic, 0, number)->vector, 3);
	CU_ASSERT_EQUAL(f.ut.nic->host.vectors[3].event_queues, 1);
	CU_ASSERT_EQUAL(f.ut.nic->host.vectors[0].event_queues, 2);
	cmd.u.create_cq.flags = (5 + 1u) << HW_CQ_VECTOR_SHIFT;
	CU_ASSERT_EQUAL(host_cmd(f.ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(eq_own(f.ut.nic, 0, number)->vector, 3);
	fix_end(&f);
}

UT_MAIN("nic_fw/host/moder_cmd", UT(ranges), UT(all_or_nothing), UT(vectors), UT(modes),
	UT(waits_are_counted), UT(a_cq_names_a_vector))
