/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands, events and filter of cm_pair.h.
 */
#include "tests/pair/cm_pair.h"

#include <stdlib.h>

enum {
	MSG_AT = UDP_TX_HDR_BYTES + sizeof(struct wire_dgram),
};

struct wire_cm *cp_msg(struct bench_frame *frame)
{
	return (void *)(frame->b + MSG_AT);
}

static enum bench_verdict filter(struct rp *rp, const struct rp_info *info)
{
	struct cp *cp = rp->ctx;
	const struct wire_cm *msg;

	if (info->type != WIRE_DGRAM_CM)
		return BENCH_PASS;
	msg = cp_msg(info->frame);
	CU_ASSERT_FATAL(msg->type && msg->type < WIRE_CM_TYPES);
	cp->seen[msg->type]++;
	if ((cp->type && cp->type != msg->type) || !cp->times)
		return BENCH_PASS;
	if (cp->skip) {
		cp->skip--;
		return BENCH_PASS;
	}
	cp->times--;
	return cp->verdict;
}

static void make_eq(struct cp *cp, uint32_t e)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_EQ, .u.create_eq = {.entries = 64, .vector = 0}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(rp_cmd(&cp->rp, e, &cmd, &resp), 0);
	cp->eq[e] = resp.u.create_eq.eq;
}

void cp_begin(struct cp *cp)
{
	memset(cp, 0, sizeof(*cp));
	rp_begin(&cp->rp);
	make_eq(cp, 0);
	make_eq(cp, 1);
	cp->listener = cp->a = cp->b = CP_NONE;
	cp->rp.ctx = cp;
	cp->rp.filter = filter;
}

/* No endpoint, no port, no event queue in use. */
static void check_empty(const struct fw_nic *nic)
{
	uint32_t i, used = 0;

	CU_ASSERT_EQUAL(fw_ids_used(&nic->cm.ids), 0);
	CU_ASSERT_EQUAL(nic->cm.num_listeners, 0);
	CU_ASSERT_TRUE(fw_list_empty(&nic->cm.orphans));
	CU_ASSERT_TRUE(fw_list_empty(&nic->cm.resolving));
	for (i = 0; i < FW_CM_PORT_WORDS; i++)
		used += (nic->net.l4_ports[i] & 0xffff) != 0;
	CU_ASSERT_EQUAL(used, 0);
	CU_ASSERT_EQUAL(nic->mpa.conns.used, 0);
	CU_ASSERT_EQUAL(nic->mpa.setups.used, 0);
	CU_ASSERT_FALSE(neigh_wait_pending(nic));
	for (i = 0, used = 0; i < CM_HASH_SIZE; i++)
		used += nic->cm.hash[i] != 0;
	CU_ASSERT_EQUAL(used, 0);
}

void cp_end_detached(struct cp *cp)
{
	cp->times = 0;
	cp->rp.end[0].port.dead = cp->rp.end[1].port.dead = false;
	rp_run(&cp->rp, 60 * CP_S);
	check_empty(cp->rp.end[0].nic);
	check_empty(cp->rp.end[1].nic);
	rp_free(&cp->rp);
}

void cp_end(struct cp *cp)
{
	uint32_t e, ep;

	for (e = 0; e < 2; e++) {
		const struct fw_nic *nic = cp->rp.end[e].nic;

		for (ep = 0; ep < nic->cm.ids.high; ep++)
			if (nic->cm.eps[ep].state != CM_FREE &&
			    nic->cm.eps[ep].client == cp->rp.end[e].client)
				(void)cp_simple(cp, e, HW_CMD_CM_DESTROY, ep);
	}
	cp->times = 0;
	cp->rp.end[0].port.dead = cp->rp.end[1].port.dead = false;
	rp_run(&cp->rp, 60 * CP_S);
	for (e = 0; e < 2; e++) {
		struct hw_cmd cmd = {.op = HW_CMD_DESTROY_EQ, .u.obj.handle = cp->eq[e]};
		struct hw_cmd_resp resp;

		check_empty(cp->rp.end[e].nic);
		CU_ASSERT_EQUAL(rp_cmd(&cp->rp, e, &cmd, &resp), 0);
	}
	rp_end(&cp->rp);
}

int cp_cmd(struct cp *cp, uint32_t e, enum hw_cmd_op op, const struct hw_cmd_cm *cm,
	   uint32_t *handle)
{
	struct hw_cmd cmd = {.op = op, .u.cm = *cm};
	struct hw_cmd_resp resp;
	int rc = rp_cmd(&cp->rp, e, &cmd, &resp);

	if (handle)
		*handle = resp.u.handle;
	return rc;
}

int cp_simple(struct cp *cp, uint32_t e, enum hw_cmd_op op, uint32_t ep)
{
	const struct hw_cmd_cm cm = {.ep = ep};

	return cp_cmd(cp, e, op, &cm, NULL);
}

enum hw_cm_event_type cp_event(struct cp *cp, uint32_t e, struct hw_resp_cm_event *event)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_EVENT, .u.cm.eq = cp->eq[e]};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(rp_cmd(&cp->rp, e, &cmd, &resp), 0);
	*event = resp.u.cm_event;
	return (enum hw_cm_event_type)event->type;
}

struct hw_resp_cm_event cp_expect(struct cp *cp, uint32_t e, uint32_t ep,
				  enum hw_cm_event_type type)
{
	struct hw_resp_cm_event event;

	CU_ASSERT_EQUAL(cp_event(cp, e, &event), type);
	if (ep != CP_NONE)
		CU_ASSERT_EQUAL(event.ep, ep);
	return event;
}

void cp_expect_none(struct cp *cp)
{
	struct hw_resp_cm_event event;

	CU_ASSERT_EQUAL(cp_event(cp, 0, &event), HW_CM_EVENT_NONE);
	CU_ASSERT_EQUAL(cp_event(cp, 1, &event), HW_CM_EVENT_NONE);
}

uint32_t cp_create(struct cp *cp, uint32_t e)
{
	const struct hw_cmd_cm cm = {.eq = cp->eq[e]};
	uint32_t ep;

	CU_ASSERT_EQUAL_FATAL(cp_cmd(cp, e, HW_CMD_CM_CREATE, &cm, &ep), 0);
	return ep;
}

uint32_t cp_bound(struct cp *cp, uint32_t e, enum hw_cm_space space, uint16_t port)
{
	const struct hw_cmd_cm cm = {.ep = cp_create(cp, e), .space = space, .port = port};

	CU_ASSERT_EQUAL_FATAL(cp_cmd(cp, e, HW_CMD_CM_BIND, &cm, NULL), 0);
	return cm.ep;
}

uint32_t cp_listen(struct cp *cp, enum hw_cm_space space, uint32_t backlog)
{
	const struct hw_cmd_cm cm = {.ep = cp_bound(cp, 1, space, CP_PORT), .arg = backlog};

	CU_ASSERT_EQUAL_FATAL(cp_cmd(cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), 0);
	cp->listener = cm.ep;
	return cm.ep;
}

uint32_t cp_ask(struct cp *cp, enum hw_cm_space space, uint32_t qpn)
{
	const struct hw_cmd_cm cm = {
	    .ep = cp_bound(cp, 0, space, 0),
	    .ip = cp->rp.end[1].nic->config.ip,
	    .port = CP_PORT,
	    .flags = space == HW_CM_UDP ? HW_CM_F_DATAGRAM : 0,
	    .param = {.qpn = qpn, .retry_count = 7, .rnr_retry_count = 6, .qp_type = HW_QPT_RC},
	};

	CU_ASSERT_EQUAL_FATAL(cp_cmd(cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), 0);
	return cm.ep;
}

struct fw_qp *cp_tcp_qp(struct cp *cp, uint32_t e)
{
	const struct hw_qp_attr attr = {
	    .port = 1,
	    .access = RP_ALL_ACCESS,
	    .path_mtu = 1024,
	    .transport = HW_QP_TRANSPORT_TCP,
	    .timeout = 14,
	    .max_rd_atomic = 16,
	    .max_dest_rd_atomic = 16,
	};
	struct fw_qp *qp = rp_qp(&cp->rp, e, HW_QPT_RC, 4);

	CU_ASSERT_EQUAL_FATAL(rp_modify(&cp->rp, e, qp, HW_QPS_INIT,
					HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_ACCESS_FLAGS, &attr),
			      0);
	CU_ASSERT_EQUAL_FATAL(rp_modify(&cp->rp, e, qp, HW_QPS_RTR,
					HW_QP_AV | HW_QP_PATH_MTU | HW_QP_DEST_QPN | HW_QP_RQ_PSN |
					    HW_QP_MAX_DEST_RD_ATOMIC | HW_QP_MIN_RNR_TIMER |
					    HW_QP_TRANSPORT,
					&attr),
			      0);
	CU_ASSERT_EQUAL_FATAL(rp_modify(&cp->rp, e, qp, HW_QPS_RTS,
					HW_QP_SQ_PSN | HW_QP_TIMEOUT | HW_QP_RETRY_CNT |
					    HW_QP_RNR_RETRY | HW_QP_MAX_QP_RD_ATOMIC,
					&attr),
			      0);
	return qp;
}

uint32_t cp_tcp_listen(struct cp *cp, uint16_t mpa, uint32_t backlog)
{
	const struct hw_cmd_cm cm = {.ep = cp_bound(cp, 1, HW_CM_TCP, CP_PORT),
				     .transport = HW_CM_TRANSPORT_TCP,
				     .mpa = mpa,
				     .arg = backlog};

	CU_ASSERT_EQUAL_FATAL(cp_cmd(cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), 0);
	cp->listener = cm.ep;
	return cm.ep;
}

uint32_t cp_tcp_ask(struct cp *cp, uint32_t qpn, uint16_t mpa)
{
	const struct hw_cmd_cm cm = {
	    .ep = cp_bound(cp, 0, HW_CM_TCP, 0),
	    .ip = cp->rp.end[1].nic->config.ip,
	    .port = CP_PORT,
	    .transport = HW_CM_TRANSPORT_TCP,
	    .mpa = mpa,
	    .data_bytes = 5,
	    .data = "hello",
	    .param = {.qpn = qpn, .responder_resources = 7, .initiator_depth = 9},
	};

	CU_ASSERT_EQUAL_FATAL(cp_cmd(cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), 0);
	return cm.ep;
}

int cp_accept(struct cp *cp, uint32_t e, uint32_t ep, uint32_t qpn)
{
	const struct hw_cmd_cm cm = {.ep = ep, .param = {.qpn = qpn, .qkey = 0x55}};

	return cp_cmd(cp, e, HW_CMD_CM_ACCEPT, &cm, NULL);
}

void cp_connected(struct cp *cp, uint32_t qpn_a, uint32_t qpn_b)
{
	if (cp->listener == CP_NONE)
		(void)cp_listen(cp, HW_CM_TCP, 0);
	cp->a = cp_ask(cp, HW_CM_TCP, qpn_a);
	rp_run(&cp->rp, 20 * CP_S);
	cp->b = cp_expect(cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(cp_accept(cp, 1, cp->b, qpn_b), 0);
	rp_run(&cp->rp, 10 * CP_S);
	(void)cp_expect(cp, 0, cp->a, HW_CM_EVENT_RESPONSE);
	CU_ASSERT_EQUAL(cp_simple(cp, 0, HW_CMD_CM_ACCEPT, cp->a), 0);
	rp_run(&cp->rp, 10 * CP_S);
	(void)cp_expect(cp, 1, cp->b, HW_CM_EVENT_ESTABLISHED);
	cp_expect_none(cp);
}

void cp_expect_ended(struct cp *cp)
{
	(void)cp_expect(cp, 0, cp->a, HW_CM_EVENT_DISCONNECTED);
	(void)cp_expect(cp, 0, cp->a, HW_CM_EVENT_TIMEWAIT_EXIT);
	(void)cp_expect(cp, 1, cp->b, HW_CM_EVENT_DISCONNECTED);
	(void)cp_expect(cp, 1, cp->b, HW_CM_EVENT_TIMEWAIT_EXIT);
	cp_expect_none(cp);
}

struct bench_frame *cp_kept(struct cp *cp, uint8_t type)
{
	uint32_t i = cp->rp.wire.num_kept;

	while (i--)
		if (cp_msg(&cp->rp.wire.kept[i])->type == type)
			return &cp->rp.wire.kept[i];
	return NULL;
}

void cp_forge(struct cp *cp, uint32_t to, const struct bench_frame *frame,
	      const struct wire_cm *msg)
{
	static struct frame f;

	f.n = 0;
	frame_add(&f, frame->b, frame->n);
	memcpy(f.b + MSG_AT, msg, sizeof(*msg));
	frame_seal(f.b, f.n, FRAME_KEEP_LENGTHS);
	bench_wire_inject(&cp->rp.wire, to, f.b, f.n);
	rp_settle(&cp->rp);
}
