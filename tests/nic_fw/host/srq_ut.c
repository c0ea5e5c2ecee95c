/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of shared receive queues: what is made and refused, whose they are, the limit, and that
 * an end gives everything back. Receives of them: rq_ut; XRC: xrc_ut. See nic_fw/host/srq.c.
 */
#include "tests/bench/host.h"

enum {
	MAX_WR = 5,
	ENTRIES = 8,
	MAX_SGE = 3,
	SHARE = 2,
	MASK_MAX_WR = 1,
	MASK_LIMIT = 2,
	SMALL_BAR_BYTES = 4 << 20,
};

static struct fw_ut ut;
static uint32_t client, pd;

static void begin(uint64_t bar_bytes)
{
	struct fw_client_params params = {.bar_bytes = bar_bytes, .pid = 1, .uid = 1};
	uint32_t kind;

	for (kind = 0; kind < HW_SHARES_SHARD; kind++)
		params.limits.process[kind] = params.limits.user[kind] = 4096;
	if (bar_bytes == FW_UT_BAR_BYTES)
		params.limits.process[HW_SHARE_SRQ] = SHARE;
	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	pd = host_pd(ut.nic, client);
}

static void end(void)
{
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.srq_ids), 0);
	/* No reference to the domain is left. */
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_DEALLOC_PD, pd, NULL), 0);
	fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

static struct hw_cmd_srq sound(void)
{
	return (struct hw_cmd_srq){.pd = pd, .max_wr = MAX_WR, .max_sge = MAX_SGE};
}

static int command(enum hw_cmd_op op, const struct hw_cmd_srq *srq, struct hw_resp_srq *made)
{
	struct hw_cmd cmd = {.op = op, .u.srq = *srq};
	struct hw_cmd_resp resp;
	int status = host_cmd(ut.nic, client, &cmd, &resp);

	if (made)
		*made = resp.u.srq;
	return status;
}

static int create(const struct hw_cmd_srq *srq, struct hw_resp_srq *made)
{
	return command(HW_CMD_CREATE_SRQ, srq, made);
}

static int destroy(uint32_t srq)
{
	return host_obj(ut.nic, client, HW_CMD_DESTROY_SRQ, srq, NULL);
}

static int set_limit(uint32_t srq, uint32_t mask, uint32_t limit, struct hw_resp_srq *now)
{
	struct hw_cmd_srq modify = {.srq = srq, .mask = mask, .limit = limit};

	return command(HW_CMD_MODIFY_SRQ, &modify, now);
}

static void sizes_are_rounded_up(void)
{
	struct hw_cmd_srq srq;
	struct hw_resp_srq made;
	struct hw_cmd_resp resp;

	begin(FW_UT_BAR_BYTES);
	srq = sound();
	CU_ASSERT_EQUAL_FATAL(create(&srq, &made), 0);
	CU_ASSERT_EQUAL(made.max_wr, ENTRIES);
	CU_ASSERT_EQUAL(made.entries, ENTRIES);
	CU_ASSERT_EQUAL(made.max_sge, MAX_SGE);
	CU_ASSERT_EQUAL(made.stride_bytes, hw_rq_stride_bytes(MAX_SGE));
	CU_ASSERT_EQUAL(made.limit, 0);
	CU_ASSERT_EQUAL(made.srqn, 0);
	CU_ASSERT_NOT_EQUAL(made.record_offset, made.ring_offset);
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_QUERY_SRQ, made.srq, &resp), 0);
	CU_ASSERT_EQUAL(memcmp(&resp.u.srq, &made, sizeof(made)), 0);
	CU_ASSERT_EQUAL(destroy(made.srq), 0);
	CU_ASSERT_EQUAL(destroy(made.srq), FW_EINVAL);
	/* The largest. */
	srq.max_wr = HW_MAX_WR;
	srq.max_sge = HW_MAX_SGE;
	CU_ASSERT_EQUAL_FATAL(create(&srq, &made), 0);
	CU_ASSERT_EQUAL(destroy(made.srq), 0);
	end();
}

static void refused(struct hw_cmd_srq srq)
{
	CU_ASSERT_EQUAL(create(&srq, NULL), FW_EINVAL);
}

static void wrong_ones_are_refused(void)
{
	struct hw_cmd_srq srq;

	begin(FW_UT_BAR_BYTES);
	srq = sound();
	srq.flags = HW_SRQ_F_ALL + 1;
	refused(srq);
	/* A domain and a queue of completions are for XRC, which needs both. */
	srq = sound();
	srq.xrcd = 1;
	refused(srq);
	srq = sound();
	srq.cq = 1;
	refused(srq);
	srq = sound();
	srq.flags = HW_SRQ_F_XRC;
	refused(srq);
	srq = sound();
	srq.pd = pd + 1;
	refused(srq);
	srq = sound();
	srq.max_wr = 0;
	refused(srq);
	srq.max_wr = HW_MAX_WR + 1;
	refused(srq);
	srq = sound();
	srq.max_sge = HW_MAX_SGE + 1;
	refused(srq);
	end();
}

static void nobody_elses(void)
{
	struct hw_cmd_srq srq, modify = {.mask = MASK_LIMIT, .limit = 1};
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_SRQ};
	struct hw_resp_srq made;
	struct hw_cmd_resp resp;

	begin(FW_UT_BAR_BYTES);
	srq = sound();
	CU_ASSERT_EQUAL_FATAL(create(&srq, &made), 0);
	modify.srq = made.srq;
	cmd.u.srq = modify;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_QUERY_SRQ, made.srq, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_SRQ, made.srq, NULL), FW_EINVAL);
	/* A number that was never given. */
	CU_ASSERT_EQUAL(destroy(made.srq + 1), FW_EINVAL);
	CU_ASSERT_EQUAL(destroy(UINT32_MAX), FW_EINVAL);
	CU_ASSERT_EQUAL(destroy(made.srq), 0);
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_LIMIT, 1, NULL), FW_EINVAL);
	end();
}

/* Takes the next event of the process; 0: none. */
static uint32_t event(uint32_t srq)
{
	struct hw_eqe eqe;

	if (!fw_ut_event(&ut, client, 0, &eqe))
		return 0;
	CU_ASSERT_EQUAL(eqe.id, srq);
	return eqe.type;
}

static void a_limit_is_set(void)
{
	struct hw_cmd_srq srq;
	struct hw_resp_srq made, now;
	struct fw_srq *queue;

	begin(FW_UT_BAR_BYTES);
	srq = sound();
	CU_ASSERT_EQUAL_FATAL(create(&srq, &made), 0);
	queue = &ut.nic->host.srqs[made.srq];
	queue->record->prod = ENTRIES;
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_LIMIT, ENTRIES, &now), 0);
	CU_ASSERT_EQUAL(now.limit, ENTRIES);
	CU_ASSERT_EQUAL(event(made.srq), 0);
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_LIMIT, ENTRIES + 1, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_MAX_WR, 0, NULL), FW_EOPNOTSUPP);
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_MAX_WR | MASK_LIMIT, 1, NULL), FW_EOPNOTSUPP);
	CU_ASSERT_EQUAL(set_limit(made.srq, 4, 1, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(set_limit(made.srq, 0, 1, &now), 0);
	CU_ASSERT_EQUAL(now.limit, ENTRIES);
	/* One is taken: the event comes, and no further one. */
	srq_taken(ut.nic, queue);
	CU_ASSERT_EQUAL(queue->record->cons, 1);
	CU_ASSERT_EQUAL(event(made.srq), HW_EVENT_SRQ_LIMIT);
	srq_taken(ut.nic, queue);
	CU_ASSERT_EQUAL(event(made.srq), 0);
	/* A limit that is crossed already. */
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_LIMIT, ENTRIES - 2, &now), 0);
	CU_ASSERT_EQUAL(event(made.srq), 0);
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_LIMIT, ENTRIES - 1, &now), 0);
	CU_ASSERT_EQUAL(now.limit, 0);
	CU_ASSERT_EQUAL(event(made.srq), HW_EVENT_SRQ_LIMIT);
	/* 0 takes it back. */
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_LIMIT, ENTRIES - 2, NULL), 0);
	CU_ASSERT_EQUAL(set_limit(made.srq, MASK_LIMIT, 0, &now), 0);
	CU_ASSERT_EQUAL(now.limit, 0);
	srq_taken(ut.nic, queue);
	CU_ASSERT_EQUAL(event(made.srq), 0);
	CU_ASSERT_EQUAL(destroy(made.srq), 0);
	end();
}

static void one_that_is_used_stays(void)
{
	struct hw_resp_srq made;
	struct hw_cmd_srq srq;
	struct fw_cq *cq;
	struct fw_qp *qp;

	begin(FW_UT_BAR_BYTES);
	srq = sound();
	CU_ASSERT_EQUAL_FATAL(create(&srq, &made), 0);
	cq = host_cq(ut.nic, client, 16, HW_EQ_NONE);
	qp = host_qp(ut.nic, client, HW_QPT_UD, pd, cq, made.srq);
	CU_ASSERT_EQUAL(destroy(made.srq), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_DESTROY_QP, qp->qpn, NULL), 0);
	/* It keeps its domain. */
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_DEALLOC_PD, pd, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(destroy(made.srq), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_DESTROY_CQ, cq->index, NULL), 0);
	end();
}

static void a_process_has_its_share(void)
{
	struct hw_resp_srq made[SHARE + 1];
	struct hw_cmd_srq srq;
	uint32_t i;

	begin(FW_UT_BAR_BYTES);
	srq = sound();
	for (i = 0; i < SHARE; i++)
		CU_ASSERT_EQUAL_FATAL(create(&srq, &made[i]), 0);
	CU_ASSERT_EQUAL(create(&srq, NULL), FW_EDQUOT);
	CU_ASSERT_EQUAL(destroy(made[0].srq), 0);
	CU_ASSERT_EQUAL_FATAL(create(&srq, &made[0]), 0);
	CU_ASSERT_EQUAL(create(&srq, NULL), FW_EDQUOT);
	for (i = 0; i < SHARE; i++)
		CU_ASSERT_EQUAL(destroy(made[i].srq), 0);
	end();
}

/* As many as its memory holds, each time. */
static void memory_comes_back(void)
{
	struct hw_resp_srq made[64];
	struct hw_cmd_srq srq;
	uint32_t i, n, first = 0, turn;
	int status;

	begin(SMALL_BAR_BYTES);
	for (turn = 0; turn < 3; turn++) {
		srq = sound();
		srq.max_wr = 2048;
		for (n = 0; n < 64 && !(status = create(&srq, &made[n])); n++)
			;
		CU_ASSERT_FATAL(n && n < 64);
		CU_ASSERT_EQUAL(status, FW_ENOMEM);
		CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.srq_ids), n);
		first = turn ? first : n;
		CU_ASSERT_EQUAL(n, first);
		/* A queue that gets no ring leaves no record behind. */
		for (i = 0; i < 5000; i++)
			CU_ASSERT_EQUAL(create(&srq, NULL), FW_ENOMEM);
		for (i = 0; i < n; i++)
			CU_ASSERT_EQUAL(destroy(made[i].srq), 0);
	}
	end();
}

UT_MAIN("nic_fw/host/srq", UT(sizes_are_rounded_up), UT(wrong_ones_are_refused), UT(nobody_elses),
	UT(a_limit_is_set), UT(one_that_is_used_stays), UT(a_process_has_its_share),
	UT(memory_comes_back))
