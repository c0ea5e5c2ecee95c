/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on QPs: refused creations, every change of state with every attribute against the tables
 * of verbs, ranges of values, results of queries.
 */
#include "tests/bench/host.h"

#include <arpa/inet.h>

struct rig {
	struct fw_ut ut;
	uint32_t pd;
	struct fw_cq *cq;
};

static void begin(struct rig *rig)
{
	fw_ut_begin(&rig->ut);
	rig->pd = host_pd(rig->ut.nic, 0);
	rig->cq = host_cq(rig->ut.nic, 0, 64, HW_EQ_NONE);
}

static struct hw_cmd create_cmd(const struct rig *rig, enum hw_qp_type type)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};

	cmd.u.create_qp.pd = rig->pd;
	cmd.u.create_qp.type = type;
	cmd.u.create_qp.send_cq = rig->cq->index;
	cmd.u.create_qp.recv_cq = rig->cq->index;
	cmd.u.create_qp.srq = HW_SRQ_NONE;
	cmd.u.create_qp.sq_slots = 16;
	cmd.u.create_qp.max_send_wr = 9;
	cmd.u.create_qp.max_recv_wr = 9;
	cmd.u.create_qp.max_send_sge = 3;
	cmd.u.create_qp.max_recv_sge = 3;
	cmd.u.create_qp.max_inline_bytes = 64;
	return cmd;
}

static void creation_says_what_was_made(void)
{
	struct hw_resp_create_qp *made;
	struct hw_cmd_resp resp;
	struct hw_cmd cmd;
	struct rig rig;

	begin(&rig);
	cmd = create_cmd(&rig, HW_QPT_RD);
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, 0, &cmd, &resp), 0);
	made = &resp.u.create_qp;
	CU_ASSERT_EQUAL(made->sq_slots, 16);
	CU_ASSERT_EQUAL(made->max_send_wr, 9);
	CU_ASSERT_EQUAL(made->max_recv_wr, 16);
	CU_ASSERT_EQUAL(made->rq_entries, 16);
	CU_ASSERT_EQUAL(made->rq_stride_bytes, 64);
	CU_ASSERT_EQUAL(made->max_send_sge, 3);
	CU_ASSERT_EQUAL(made->max_recv_sge, 3);
	CU_ASSERT_EQUAL(made->max_inline_bytes, 64);
	CU_ASSERT_PTR_NOT_NULL(qp_find(rig.ut.nic, made->qpn));
	CU_ASSERT_TRUE(made->record_offset >= HW_BAR_DYNAMIC);
	CU_ASSERT_EQUAL(made->sq_offset % HW_CACHE_LINE_BYTES, 0);
	CU_ASSERT_EQUAL(made->rq_offset % HW_CACHE_LINE_BYTES, 0);
	CU_ASSERT_EQUAL(rig.cq->refs, 2);
	CU_ASSERT_EQUAL(rig.ut.nic->host.pds[rig.pd].refs, 1);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DESTROY_CQ, rig.cq->index, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DEALLOC_PD, rig.pd, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DESTROY_QP, made->qpn, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DESTROY_QP, made->qpn, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(rig.cq->refs, 0);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DESTROY_CQ, rig.cq->index, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_DEALLOC_PD, rig.pd, NULL), 0);
	fw_ut_end(&rig.ut);
}

#define REFUSED(field, value, status)                                                              \
	do {                                                                                       \
		cmd = create_cmd(&rig, HW_QPT_RD);                                                 \
		cmd.u.create_qp.field = (value);                                                   \
		CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, 0, &cmd, &resp), status);                     \
	} while (0)

static void creation_refuses(void)
{
	uint32_t client2, pd2, cq2;
	struct hw_cmd_resp resp;
	struct hw_cmd cmd;
	struct rig rig;

	begin(&rig);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&rig.ut, NULL, &client2), 0);
	pd2 = host_pd(rig.ut.nic, client2);
	cq2 = host_cq(rig.ut.nic, client2, 8, HW_EQ_NONE)->index;
	REFUSED(type, 0, FW_EINVAL);
	REFUSED(type, 8, FW_EINVAL);
	REFUSED(type, UINT32_MAX, FW_EINVAL);
	REFUSED(flags, HW_QP_F_UD_LONG, FW_EINVAL); /* of RD */
	REFUSED(flags, HW_QP_F_BLOCK_SELF_MCAST_LB, FW_EINVAL);
	REFUSED(flags, HW_QP_F_NO_PEER_ERROR, FW_EINVAL);
	REFUSED(flags, 0x40, FW_EINVAL);
	REFUSED(flags, HW_QP_F_LENT | HW_QP_F_TAGGED, FW_EINVAL);
	REFUSED(pd, pd2, FW_EINVAL);
	REFUSED(pd, UINT32_MAX, FW_EINVAL);
	REFUSED(send_cq, cq2, FW_EINVAL);
	REFUSED(recv_cq, cq2, FW_EINVAL);
	REFUSED(recv_cq, 12345, FW_EINVAL);
	REFUSED(srq, 0, FW_EINVAL);
	REFUSED(sq_slots, 0, FW_EINVAL);
	REFUSED(sq_slots, 24, FW_EINVAL);
	REFUSED(sq_slots, 8, FW_EINVAL); /* fewer than requests */
	REFUSED(sq_slots, 2 * HW_MAX_SQ_SLOTS, FW_EINVAL);
	REFUSED(max_send_wr, HW_MAX_WR + 1, FW_EINVAL);
	REFUSED(max_recv_wr, HW_MAX_WR + 1, FW_EINVAL);
	REFUSED(max_recv_wr, UINT32_MAX, FW_EINVAL);
	REFUSED(max_send_sge, HW_MAX_SGE + 1, FW_EINVAL);
	REFUSED(max_recv_sge, HW_MAX_SGE + 1, FW_EINVAL);
	REFUSED(max_inline_bytes, HW_MAX_INLINE_BYTES + 1, FW_EINVAL);
	CU_ASSERT_EQUAL(fw_ids_used(&rig.ut.nic->host.qp_ids), 0);
	CU_ASSERT_EQUAL(rig.cq->refs, 0);
	fw_ut_end(&rig.ut);
}

static void a_full_bar_leaves_nothing_behind(void)
{
	struct fw_client_params params = {.bar_bytes = HW_BAR_DYNAMIC + 56 * HW_BAR_PAGE_BYTES};
	struct hw_cmd_resp resp;
	struct fw_bar *bar;
	struct hw_cmd cmd;
	uint32_t client, num_free, made = 0;
	struct rig rig;
	uint64_t high;

	begin(&rig);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&rig.ut, &params, &client), 0);
	rig.pd = host_pd(rig.ut.nic, client);
	rig.cq = host_cq(rig.ut.nic, client, 8, HW_EQ_NONE);
	bar = &rig.ut.nic->host.clients[client].bar;
	cmd = create_cmd(&rig, HW_QPT_UD);
	cmd.u.create_qp.sq_slots = 128; /* two pages, then receives */
	while (!host_cmd(rig.ut.nic, client, &cmd, &resp))
		made++;
	CU_ASSERT_EQUAL(resp.status, FW_ENOMEM);
	CU_ASSERT_TRUE(made > 3);
	CU_ASSERT_EQUAL(fw_ids_used(&rig.ut.nic->host.qp_ids), made);
	high = bar->high;
	num_free = bar->num_free;
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, client, &cmd, &resp), FW_ENOMEM);
	CU_ASSERT_EQUAL(bar->high, high);
	CU_ASSERT_EQUAL(bar->num_free, num_free);
	fw_ut_end(&rig.ut);
}

static void the_quota_counts(void)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES,
					  .limits.process[HW_SHARE_QP] = 2};
	struct hw_cmd_resp resp;
	struct hw_cmd cmd;
	uint32_t client, first;
	struct rig rig;

	begin(&rig);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&rig.ut, &params, &client), 0);
	rig.pd = host_pd(rig.ut.nic, client);
	rig.cq = host_cq(rig.ut.nic, client, 8, HW_EQ_NONE);
	cmd = create_cmd(&rig, HW_QPT_UD);
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, client, &cmd, &resp), 0);
	first = resp.u.create_qp.qpn;
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, client, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, client, &cmd, &resp), FW_EDQUOT);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, client, HW_CMD_DESTROY_QP, first, NULL), 0);
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, client, &cmd, &resp), 0);
	CU_ASSERT_NOT_EQUAL(resp.u.create_qp.qpn, first); /* in quarantine */
	fw_ut_end(&rig.ut);
}

/*
 * The tables of verbs (drivers/infiniband/core/verbs.c of Linux, qp_state_table; IBA tables 91-94),
 * written out. Changes to RESET and ERR take no attribute.
 */
struct rule {
	uint8_t type;
	uint8_t from, to;
	uint32_t required, optional;
};

#define I      HW_QP_PKEY_INDEX
#define P      HW_QP_PORT
#define Q      HW_QP_QKEY
#define A      HW_QP_ACCESS_FLAGS
#define C      HW_QP_CUR_STATE
#define AL     HW_QP_ALT_PATH
#define M      HW_QP_PATH_MIG_STATE
#define RN     HW_QP_MIN_RNR_TIMER
#define N      HW_QP_EN_SQD_ASYNC_NOTIFY
#define X      (HW_QP_TIMEOUT | HW_QP_RETRY_CNT | HW_QP_RNR_RETRY)
#define MQ     HW_QP_MAX_QP_RD_ATOMIC
#define MD     HW_QP_MAX_DEST_RD_ATOMIC
#define UC_RTR (HW_QP_AV | HW_QP_PATH_MTU | HW_QP_DEST_QPN | HW_QP_RQ_PSN)
#define S      HW_QP_SQ_PSN
#define RD     (A | X | MQ | MD | RN | HW_QP_PATH_MTU)

static const struct rule rules[] = {
    {HW_QPT_UD, HW_QPS_RESET, HW_QPS_INIT, I | P | Q, A},
    {HW_QPT_UD, HW_QPS_INIT, HW_QPS_INIT, 0, I | P | Q | A},
    {HW_QPT_UD, HW_QPS_INIT, HW_QPS_RTR, 0, I | Q | A},
    {HW_QPT_UD, HW_QPS_RTR, HW_QPS_RTS, S, C | Q | A},
    {HW_QPT_UD, HW_QPS_RTS, HW_QPS_RTS, 0, C | Q | A},
    {HW_QPT_UD, HW_QPS_RTS, HW_QPS_SQD, 0, N},
    {HW_QPT_UD, HW_QPS_SQD, HW_QPS_RTS, 0, C | Q | A},
    {HW_QPT_UD, HW_QPS_SQD, HW_QPS_SQD, 0, I | Q | A},
    {HW_QPT_UD, HW_QPS_SQE, HW_QPS_RTS, 0, C | Q | A},
    {HW_QPT_RD, HW_QPS_RESET, HW_QPS_INIT, I | P | Q, RD},
    {HW_QPT_RD, HW_QPS_INIT, HW_QPS_INIT, 0, I | P | Q | RD},
    {HW_QPT_RD, HW_QPS_INIT, HW_QPS_RTR, 0, I | Q | RD},
    {HW_QPT_RD, HW_QPS_RTR, HW_QPS_RTS, S, C | Q | RD},
    {HW_QPT_RD, HW_QPS_RTS, HW_QPS_RTS, 0, C | Q | RD},
    {HW_QPT_RD, HW_QPS_RTS, HW_QPS_SQD, 0, N},
    {HW_QPT_RD, HW_QPS_SQD, HW_QPS_RTS, 0, C | Q | RD},
    {HW_QPT_RD, HW_QPS_SQD, HW_QPS_SQD, 0, I | Q | RD},
    {HW_QPT_RD, HW_QPS_SQE, HW_QPS_RTS, 0, C | Q | RD},
    {HW_QPT_UC, HW_QPS_RESET, HW_QPS_INIT, I | P | A, 0},
    {HW_QPT_UC, HW_QPS_INIT, HW_QPS_INIT, 0, I | P | A},
    {HW_QPT_UC, HW_QPS_INIT, HW_QPS_RTR, UC_RTR, AL | A | I},
    {HW_QPT_UC, HW_QPS_RTR, HW_QPS_RTS, S, C | AL | A | M},
    {HW_QPT_UC, HW_QPS_RTS, HW_QPS_RTS, 0, C | A | AL | M},
    {HW_QPT_UC, HW_QPS_RTS, HW_QPS_SQD, 0, N},
    {HW_QPT_UC, HW_QPS_SQD, HW_QPS_RTS, 0, C | AL | A | M},
    {HW_QPT_UC, HW_QPS_SQD, HW_QPS_SQD, 0, HW_QP_AV | AL | A | I | M},
    {HW_QPT_UC, HW_QPS_SQE, HW_QPS_RTS, 0, C | A},
    {HW_QPT_RC, HW_QPS_RESET, HW_QPS_INIT, I | P | A, HW_QP_TRANSPORT},
    {HW_QPT_RC, HW_QPS_INIT, HW_QPS_INIT, 0, I | P | A | HW_QP_TRANSPORT},
    {HW_QPT_RC, HW_QPS_INIT, HW_QPS_RTR, UC_RTR | MD | RN, AL | A | I | HW_QP_TRANSPORT},
    {HW_QPT_RC, HW_QPS_RTR, HW_QPS_RTS, S | X | MQ, C | AL | A | RN | M},
    {HW_QPT_RC, HW_QPS_RTS, HW_QPS_RTS, 0, C | A | AL | M | RN},
    {HW_QPT_RC, HW_QPS_RTS, HW_QPS_SQD, 0, N},
    {HW_QPT_RC, HW_QPS_SQD, HW_QPS_RTS, 0, C | AL | A | RN | M},
    {HW_QPT_RC, HW_QPS_SQD, HW_QPS_SQD, 0, P | HW_QP_AV | X | MQ | MD | AL | A | I | RN | M},
    {HW_QPT_XRC_SEND, HW_QPS_RESET, HW_QPS_INIT, I | P | A, 0},
    {HW_QPT_XRC_SEND, HW_QPS_INIT, HW_QPS_INIT, 0, I | P | A},
    {HW_QPT_XRC_SEND, HW_QPS_INIT, HW_QPS_RTR, UC_RTR, AL | A | I},
    {HW_QPT_XRC_SEND, HW_QPS_RTR, HW_QPS_RTS, S | X | MQ, C | AL | A | M},
    {HW_QPT_XRC_SEND, HW_QPS_RTS, HW_QPS_RTS, 0, C | A | AL | M},
    {HW_QPT_XRC_SEND, HW_QPS_RTS, HW_QPS_SQD, 0, N},
    {HW_QPT_XRC_SEND, HW_QPS_SQD, HW_QPS_RTS, 0, C | AL | A | M},
    {HW_QPT_XRC_SEND, HW_QPS_SQD, HW_QPS_SQD, 0, P | HW_QP_AV | X | MQ | AL | A | I | M},
    {HW_QPT_XRC_RECV, HW_QPS_RESET, HW_QPS_INIT, I | P | A, 0},
    {HW_QPT_XRC_RECV, HW_QPS_INIT, HW_QPS_INIT, 0, I | P | A},
    {HW_QPT_XRC_RECV, HW_QPS_INIT, HW_QPS_RTR, UC_RTR | MD | RN, AL | A | I},
    {HW_QPT_XRC_RECV, HW_QPS_RTR, HW_QPS_RTS, S | HW_QP_TIMEOUT, C | AL | A | RN | M},
    {HW_QPT_XRC_RECV, HW_QPS_RTS, HW_QPS_RTS, 0, C | A | AL | M | RN},
    {HW_QPT_XRC_RECV, HW_QPS_RTS, HW_QPS_SQD, 0, N},
    {HW_QPT_XRC_RECV, HW_QPS_SQD, HW_QPS_RTS, 0, C | AL | A | RN | M},
    {HW_QPT_XRC_RECV, HW_QPS_SQD, HW_QPS_SQD, 0,
     P | HW_QP_AV | HW_QP_TIMEOUT | MD | AL | A | I | RN | M},
};

static const struct rule *rule_of(uint8_t type, uint8_t from, uint8_t to)
{
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].type == type && rules[i].from == from && rules[i].to == to)
			return &rules[i];
	return NULL;
}

static bool rules_say(uint8_t type, uint8_t from, uint8_t to, uint32_t mask)
{
	const struct rule *rule = rule_of(type, from, to);

	mask &= ~(uint32_t)HW_QP_STATE;
	if (to == HW_QPS_RESET || (to == HW_QPS_ERR && from != HW_QPS_RESET))
		return !mask;
	return rule && (mask & rule->required) == rule->required &&
	       !(mask & ~(rule->required | rule->optional));
}

static void every_transition_with_every_attribute(void)
{
	static const uint8_t types[] = {HW_QPT_UD, HW_QPT_RD,       HW_QPT_UC,
					HW_QPT_RC, HW_QPT_XRC_SEND, HW_QPT_XRC_RECV};
	uint32_t t, from, to, i, j;

	for (t = 0; t < sizeof(types); t++)
		for (from = 0; from < HW_QPS_STATES; from++)
			for (to = 0; to < HW_QPS_STATES; to++) {
				const struct rule *rule =
				    rule_of(types[t], (uint8_t)from, (uint8_t)to);
				uint32_t base = HW_QP_STATE | (rule ? rule->required : 0);

				/*
				 * Each attribute, and each pair, removed from or added to the
				 * required ones.
				 */
				for (i = 0; i <= 31; i++)
					for (j = i; j <= 31; j++) {
						uint32_t mask =
						    base ^ 1u << i ^ (j == i ? 0 : 1u << j);

						CU_ASSERT_EQUAL_FATAL(
						    qp_attr_is_legal(types[t], from, to, mask),
						    rules_say(types[t], (uint8_t)from, (uint8_t)to,
							      mask));
					}
				CU_ASSERT_EQUAL_FATAL(
				    qp_attr_is_legal(types[t], from, to, base),
				    rules_say(types[t], (uint8_t)from, (uint8_t)to, base));
			}
	CU_ASSERT_FALSE(qp_attr_is_legal(77, HW_QPS_RTS, HW_QPS_ERR, HW_QP_STATE));
}

static const struct hw_qp_attr rc_rtr = {
    .av = {.flags = HW_AV_F_GRH, .sgid_index = 1},
    .path_mtu = 1024,
    .dst_qpn = 0x123456,
    .rq_psn = 0xabcdef,
    .max_dest_rd_atomic = 4,
    .min_rnr_timer = 12,
};
#define RC_RTR_MASK (UC_RTR | MD | RN)

static struct fw_qp *rc_in_init(struct rig *rig)
{
	struct fw_qp *qp = host_qp(rig->ut.nic, 0, HW_QPT_RC, rig->pd, rig->cq, HW_SRQ_NONE);
	struct hw_qp_attr attr = {.port = 1, .access = HW_ACCESS_REMOTE_READ};

	CU_ASSERT_EQUAL_FATAL(host_modify(rig->ut.nic, qp, HW_QPS_INIT, I | P | A, &attr), 0);
	return qp;
}

static void rc_goes_all_the_way_and_query_tells(void)
{
	struct hw_qp_attr attr = rc_rtr, rts = {.timeout = 14,
						.retry_cnt = 7,
						.rnr_retry = 6,
						.max_rd_atomic = 3,
						.sq_psn = 0xff000042};
	struct hw_resp_query_qp *query;
	struct hw_cmd_resp resp;
	struct fw_qp *qp;
	struct rig rig;

	begin(&rig);
	qp = rc_in_init(&rig);
	attr.av.dst_ip = htonl(0x0a4d0009);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, RC_RTR_MASK, &attr), 0);
	CU_ASSERT_EQUAL(qp->dst_ip, htonl(0x0a4d0009));
	CU_ASSERT_EQUAL(qp->dst_qpn, 0x123456);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTS, S | X | MQ, &rts), 0);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, 0, HW_CMD_QUERY_QP, qp->qpn, &resp), 0);
	query = &resp.u.query_qp;
	CU_ASSERT_EQUAL(query->type, HW_QPT_RC);
	CU_ASSERT_EQUAL(query->attr.state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(query->attr.cur_state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(query->attr.access, HW_ACCESS_REMOTE_READ);
	CU_ASSERT_EQUAL(query->attr.path_mtu, 1024);
	CU_ASSERT_EQUAL(query->attr.dst_qpn, 0x123456);
	CU_ASSERT_EQUAL(query->attr.rq_psn, 0xabcdef);
	CU_ASSERT_EQUAL(query->attr.sq_psn, 0x42); /* 24 bits */
	CU_ASSERT_EQUAL(query->attr.av.dst_ip, htonl(0x0a4d0009));
	CU_ASSERT_EQUAL(query->attr.timeout, 14);
	CU_ASSERT_EQUAL(query->attr.retry_cnt, 7);
	CU_ASSERT_EQUAL(query->attr.rnr_retry, 6);
	CU_ASSERT_EQUAL(query->attr.min_rnr_timer, 12);
	CU_ASSERT_EQUAL(query->attr.max_rd_atomic, 3);
	CU_ASSERT_EQUAL(query->attr.max_dest_rd_atomic, 4);
	CU_ASSERT_EQUAL(query->attr.port, 1);
	CU_ASSERT_EQUAL(query->max_recv_wr, 16);
	fw_ut_end(&rig.ut);
}

static void incarnations_match_by_psn(void)
{
	struct hw_qp_attr a_rtr = rc_rtr, b_rtr = rc_rtr, a_rts = {.sq_psn = 77},
			  b_rts = {.sq_psn = 88};
	struct fw_qp *a, *b;
	struct rig rig;

	begin(&rig);
	a = rc_in_init(&rig);
	b = rc_in_init(&rig);
	a_rtr.av.dst_ip = b_rtr.av.dst_ip = htonl(0x0a4d0001);
	a_rtr.rq_psn = 88;
	b_rtr.rq_psn = 77;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, a, HW_QPS_RTR, RC_RTR_MASK, &a_rtr), 0);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, b, HW_QPS_RTR, RC_RTR_MASK, &b_rtr), 0);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, a, HW_QPS_RTS, S | X | MQ, &a_rts), 0);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, b, HW_QPS_RTS, S | X | MQ, &b_rts), 0);
	CU_ASSERT_EQUAL(a->incarnation_tx, b->incarnation_rx);
	CU_ASSERT_EQUAL(b->incarnation_tx, a->incarnation_rx);
	CU_ASSERT_NOT_EQUAL(a->incarnation_tx, a->incarnation_rx);
	CU_ASSERT_NOT_EQUAL(a->incarnation_tx, 0);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, a, HW_QPS_RESET, 0, NULL), 0);
	CU_ASSERT_EQUAL(a->incarnation_tx, 0);
	CU_ASSERT_EQUAL(a->dst_qpn, 0);
	fw_ut_end(&rig.ut);
}

/* A path without an address, which a queue pair in SQD gets: it leads to the NIC of its peer. */
static void a_new_path_to_the_same_peer(void)
{
	/* The third NIC has no address: the path stays. */
	const uint32_t ips[] = {htonl(0x0a4d0064), htonl(0x0a4d0001), htonl(0x0a4d0009)};
	const struct hw_qp_attr path = {.av = {.flags = 0}};
	struct hw_qp_attr attr = rc_rtr, rts = {.timeout = 14};
	struct fw_qp *qp;
	struct rig rig;

	begin(&rig);
	attr.av.dst_ip = ips[2];
	for (uint32_t i = 0; i < 3; i++) {
		qp = rc_in_init(&rig);
		attr.dst_qpn = i << FW_QPN_NIC_SHIFT | 5;
		CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, RC_RTR_MASK, &attr), 0);
		CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTS, S | X | MQ, &rts), 0);
		CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_SQD, 0, &rts), 0);
		CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_SQD, HW_QP_AV, &path),
				i < 2 ? 0 : FW_EHOSTUNREACH);
		CU_ASSERT_EQUAL(qp->dst_ip, ips[i]);
	}
	fw_ut_end(&rig.ut);
}

#define RTR_REFUSED(field, value, status)                                                          \
	do {                                                                                       \
		attr = rc_rtr;                                                                     \
		attr.av.dst_ip = htonl(0x0a4d0009);                                                \
		attr.field = (value);                                                              \
		CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, RC_RTR_MASK, &attr),       \
				status);                                                           \
		CU_ASSERT_EQUAL(qp->state, HW_QPS_INIT);                                           \
	} while (0)

static void values_out_of_range_change_nothing(void)
{
	struct hw_qp_attr attr;
	struct fw_qp *qp;
	struct rig rig;

	begin(&rig);
	qp = rc_in_init(&rig);
	RTR_REFUSED(path_mtu, 0, FW_EINVAL);
	RTR_REFUSED(path_mtu, 255, FW_EINVAL);
	RTR_REFUSED(path_mtu, HW_MAX_MTU + 1, FW_EINVAL);
	RTR_REFUSED(dst_qpn, 0x1000000, FW_EINVAL);
	RTR_REFUSED(max_dest_rd_atomic, HW_MAX_RD_ATOMIC + 1, FW_EINVAL);
	RTR_REFUSED(min_rnr_timer, 32, FW_EINVAL);
	RTR_REFUSED(transport, HW_QP_TRANSPORTS, FW_EINVAL);
	RTR_REFUSED(av.reserved, 1, FW_EINVAL);
	RTR_REFUSED(av.flags, 2, FW_EINVAL);
	RTR_REFUSED(av.sgid_index, 2, FW_EINVAL);
	RTR_REFUSED(av.dst_ip, 0, FW_EINVAL);
	RTR_REFUSED(av.dst_ip, htonl(0x7f000001), FW_EINVAL);
	RTR_REFUSED(av.dst_ip, htonl(0xffffffff), FW_EINVAL);
	RTR_REFUSED(av.dst_ip, htonl(0xe0000001), FW_EINVAL);
	RTR_REFUSED(av.dst_ip, htonl(0x0a4e0001), FW_ENETUNREACH); /* no gateway */
	RTR_REFUSED(av.dst_ip, htonl(0x0a4d00ff), FW_ENETUNREACH); /* the subnet's broadcast */
	RTR_REFUSED(av.flags, 0, FW_EHOSTUNREACH);                 /* NIC 2 has no known address */
	CU_ASSERT_EQUAL(qp->dst_qpn, 0);
	CU_ASSERT_EQUAL(qp->dst_ip, 0);
	/* By QPN alone, if the NIC is known. */
	attr = rc_rtr;
	attr.av.flags = 0;
	attr.dst_qpn = 5;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, RC_RTR_MASK, &attr), 0);
	CU_ASSERT_EQUAL(qp->dst_ip, htonl(0x0a4d0064));
	fw_ut_end(&rig.ut);
}

static void more_values(void)
{
	struct hw_qp_attr attr = {.port = 1};
	struct fw_qp *qp;
	struct rig rig;

	begin(&rig);
	qp = host_qp(rig.ut.nic, 0, HW_QPT_RD, rig.pd, rig.cq, HW_SRQ_NONE);
	attr.port = 2;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_INIT, I | P | Q, &attr), FW_EINVAL);
	attr.port = 1;
	attr.pkey_index = 1;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_INIT, I | P | Q, &attr), FW_EINVAL);
	attr.pkey_index = 0;
	attr.access = HW_ACCESS_ALL + 1;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_INIT, I | P | Q | A, &attr), FW_EINVAL);
	attr.access = HW_ACCESS_ALL;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_INIT, I | P | Q | A, &attr), 0);
	CU_ASSERT_EQUAL(qp->access,
			HW_ACCESS_REMOTE_READ | HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_ATOMIC);
	/* Attributes that were not set have RD's defaults. */
	CU_ASSERT_EQUAL(qp->attr.timeout, QP_DEFAULT_TIMEOUT);
	CU_ASSERT_EQUAL(qp->attr.retry_cnt, QP_DEFAULT_RETRY_CNT);
	CU_ASSERT_EQUAL(qp->attr.max_rd_atomic, HW_MAX_RD_ATOMIC);
	attr.timeout = 32;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, HW_QP_TIMEOUT, &attr), FW_EINVAL);
	attr.retry_cnt = 8;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, HW_QP_RETRY_CNT, &attr), FW_EINVAL);
	attr.rnr_retry = 8;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, HW_QP_RNR_RETRY, &attr), FW_EINVAL);
	attr.max_rd_atomic = HW_MAX_RD_ATOMIC + 1;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, MQ, &attr), FW_EINVAL);
	attr.timeout = 0;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, HW_QP_TIMEOUT, &attr), 0);
	CU_ASSERT_EQUAL(qp->attr.timeout, 0);
	attr.cur_state = HW_QPS_SQD;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTS, S | C, &attr), FW_EINVAL);
	attr.cur_state = HW_QPS_RTR;
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTS, S | C, &attr), 0);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_STATES, 0, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, UINT32_MAX, 0, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_SQE, 0, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RTS);
	fw_ut_end(&rig.ut);
}

static void a_second_path_is_not_served(void)
{
	struct hw_qp_attr attr = rc_rtr;
	struct fw_qp *qp;
	struct rig rig;

	begin(&rig);
	qp = rc_in_init(&rig);
	attr.av.dst_ip = htonl(0x0a4d0009);
	CU_ASSERT_EQUAL(host_modify(rig.ut.nic, qp, HW_QPS_RTR, RC_RTR_MASK | AL, &attr),
			FW_EOPNOTSUPP);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_INIT);
	fw_ut_end(&rig.ut);
}

static void another_process_s_qp_is_not_there(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_QP};
	struct hw_cmd_resp resp;
	uint32_t client2;
	struct fw_qp *qp;
	struct rig rig;

	begin(&rig);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&rig.ut, NULL, &client2), 0);
	qp = host_qp(rig.ut.nic, 0, HW_QPT_UD, rig.pd, rig.cq, HW_SRQ_NONE);
	cmd.u.modify_qp.qpn = qp->qpn;
	cmd.u.modify_qp.mask = HW_QP_STATE;
	cmd.u.modify_qp.attr.state = HW_QPS_RESET;
	CU_ASSERT_EQUAL(host_cmd(rig.ut.nic, client2, &cmd, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, client2, HW_CMD_QUERY_QP, qp->qpn, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(rig.ut.nic, client2, HW_CMD_DESTROY_QP, qp->qpn, NULL), FW_EINVAL);
	CU_ASSERT_TRUE(qp->used);
	fw_ut_end(&rig.ut);
}

/* The connection manager sets the peer and its attributes of a QP over TCP. */
static void over_tcp(void)
{
	struct hw_qp_attr attr = {.port = 1, .transport = HW_QP_TRANSPORT_TCP};
	const uint32_t init = HW_QP_STATE | HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_ACCESS_FLAGS;
	struct fw_qp *qp;
	struct fw_cq *cq;
	struct fw_ut ut;
	uint32_t pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, 64, HW_EQ_NONE);
	qp = host_qp(ut.nic, 0, HW_QPT_RC, pd, cq, HW_SRQ_NONE);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_INIT, HW_QP_TRANSPORT, &attr), FW_EINVAL);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_INIT, init, &attr), 0);
	/* Over datagrams it needs all of them. */
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_RTR, 0, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_RTR, HW_QP_TRANSPORT, &attr), 0);
	CU_ASSERT_EQUAL(qp->attr.transport, HW_QP_TRANSPORT_TCP);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_RTS, HW_QP_DEST_QPN, &attr), FW_EINVAL);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_RTS, 0, NULL), 0);
	CU_ASSERT_PTR_NULL(qp->mpa);
	/* QPs of other types have no transport to choose. */
	qp = host_qp(ut.nic, 0, HW_QPT_UC, pd, cq, HW_SRQ_NONE);
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_INIT, init | HW_QP_TRANSPORT, &attr),
			FW_EINVAL);
	CU_ASSERT_EQUAL(qp_attr_excused(qp, &attr, HW_QP_TRANSPORT, HW_QPS_RTR), 0);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/qp_cmd", UT(creation_says_what_was_made), UT(creation_refuses),
	UT(a_full_bar_leaves_nothing_behind), UT(the_quota_counts),
	UT(every_transition_with_every_attribute), UT(rc_goes_all_the_way_and_query_tells),
	UT(incarnations_match_by_psn), UT(a_new_path_to_the_same_peer),
	UT(values_out_of_range_change_nothing), UT(more_values), UT(a_second_path_is_not_served),
	UT(another_process_s_qp_is_not_there), UT(over_tcp))
