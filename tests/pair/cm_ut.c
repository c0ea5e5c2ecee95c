/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshake of the connection manager: the events that are reported, and messages that are
 * lost, repeated, late, forged or malformed. Runs nic_fw/cm/cm*.c on two whole NICs (cm_pair.h).
 */
#include "tests/pair/cm_pair.h"

static struct cp cp;

static void fill(uint8_t *data, uint32_t bytes, uint8_t first)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		data[i] = (uint8_t)(first + i);
}

/* Gives private data to an endpoint in pieces, as a process does. */
static void store(uint32_t e, uint32_t ep, const uint8_t *data, uint32_t bytes)
{
	uint32_t at, n;

	for (at = 0; at < bytes; at += n) {
		struct hw_cmd cmd = {.op = HW_CMD_CM_DATA,
				     .u.cm_data = {.ep = ep, .offset = (uint16_t)at}};
		struct hw_cmd_resp resp;

		n = bytes - at < HW_CM_CHUNK_BYTES ? bytes - at : HW_CM_CHUNK_BYTES;
		cmd.u.cm_data.bytes = (uint16_t)n;
		memcpy(cmd.u.cm_data.data, data + at, n);
		CU_ASSERT_EQUAL_FATAL(rp_cmd(&cp.rp, e, &cmd, &resp), 0);
	}
}

static void everything_is_told(void)
{
	struct hw_cmd_cm ask = {.port = CP_PORT,
				.flags = HW_CM_F_STORED | HW_CM_F_SRQ,
				.data_bytes = HW_CM_MAX_RD_DATA,
				.param = {.qpn = 0x123456,
					  .mtu = 1024,
					  .responder_resources = 5,
					  .initiator_depth = 6,
					  .retry_count = 3,
					  .rnr_retry_count = 2,
					  .flow_control = 1,
					  .qp_type = HW_QPT_RC}};
	struct hw_cmd_cm answer = {.data_bytes = 3, .data = {7, 8, 9}, .param = {.qpn = 0xabcdef}};
	struct hw_resp_cm_event ev, ev2;
	uint8_t data[HW_CM_MAX_RD_DATA];

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	ask.ep = cp_bound(&cp, 0, HW_CM_TCP, 4711);
	ask.ip = cp.rp.end[1].nic->config.ip;
	fill(data, sizeof(data), 1);
	store(0, ask.ep, data, sizeof(data));
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &ask, NULL), 0);
	rp_run(&cp.rp, CP_S);
	ev = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	CU_ASSERT_EQUAL(ev.listener, cp.listener);
	CU_ASSERT_EQUAL(ev.peer_ip, cp.rp.end[0].nic->config.ip);
	CU_ASSERT_EQUAL(ev.peer_port, 4711);
	CU_ASSERT_EQUAL(ev.local_port, CP_PORT);
	CU_ASSERT_EQUAL(ev.space, HW_CM_TCP);
	CU_ASSERT_EQUAL(ev.data_bytes, sizeof(data));
	CU_ASSERT_EQUAL(memcmp(ev.data, data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(ev.param.qpn, 0x123456);
	CU_ASSERT_EQUAL(ev.param.mtu, 1024);
	CU_ASSERT_EQUAL(ev.param.responder_resources, 5);
	CU_ASSERT_EQUAL(ev.param.initiator_depth, 6);
	CU_ASSERT_EQUAL(ev.param.retry_count, 3);
	CU_ASSERT_EQUAL(ev.param.rnr_retry_count, 2);
	CU_ASSERT_EQUAL(ev.param.flow_control, 1);
	CU_ASSERT_EQUAL(ev.param.srq, 1);
	CU_ASSERT_EQUAL(ev.param.qp_type, HW_QPT_RC);
	answer.ep = ev.ep;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_ACCEPT, &answer, NULL), 0);
	rp_run(&cp.rp, CP_S);
	ev2 = cp_expect(&cp, 0, ask.ep, HW_CM_EVENT_RESPONSE);
	CU_ASSERT_EQUAL(ev2.param.qpn, 0xabcdef);
	CU_ASSERT_EQUAL(ev2.param.mtu, 1500);
	CU_ASSERT_EQUAL(ev2.data_bytes, 3);
	CU_ASSERT_EQUAL(memcmp(ev2.data, answer.data, 3), 0);
	/* Each end knows the first PSN of the other. */
	CU_ASSERT_EQUAL(ev2.local_psn, ev.param.psn);
	CU_ASSERT_EQUAL(ev.local_psn, ev2.param.psn);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_ACCEPT, ask.ep), 0);
	rp_run(&cp.rp, CP_S);
	(void)cp_expect(&cp, 1, ev.ep, HW_CM_EVENT_ESTABLISHED);
	cp_expect_none(&cp);
	cp_end(&cp);
}

static void end_by(uint32_t way, const struct fw_qp *a)
{
	struct hw_qp_attr attr = {.state = HW_QPS_ERR};
	int rc = 0;

	if (way == 0)
		rc = cp_simple(&cp, 0, HW_CMD_CM_DISCONNECT, cp.a);
	else if (way == 1)
		rc = cp_simple(&cp, 1, HW_CMD_CM_DISCONNECT, cp.b);
	else if (way == 2)
		rc = rp_modify(&cp.rp, 0, a, HW_QPS_ERR, 0, &attr);
	else
		rp_destroy_qp(&cp.rp, 0, a);
	CU_ASSERT_EQUAL(rc, 0);
}

/* The queue pairs end with their connection, and the connection with either of them. */
static void pairs_end_with_it(void)
{
	struct fw_qp *a, *b;
	uint32_t way;

	for (way = 0; way < 4; way++) {
		cp_begin(&cp);
		rp_rc(&cp.rp, &a, &b, NULL);
		cp_connected(&cp, a->qpn, b->qpn);
		CU_ASSERT_EQUAL(a->cm, cp.a + 1);
		CU_ASSERT_EQUAL(b->cm, cp.b + 1);
		end_by(way, a);
		rp_run(&cp.rp, CP_S);
		cp_expect_ended(&cp);
		CU_ASSERT_EQUAL(b->state, HW_QPS_ERR);
		CU_ASSERT(!a->used || a->state == HW_QPS_ERR);
		CU_ASSERT(a->cm == 0 && b->cm == 0);
		/* A repetition does no harm. */
		CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DISCONNECT, cp.a), 0);
		CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DISCONNECT, cp.b), 0);
		cp_expect_none(&cp);
		cp_end(&cp);
	}
}

/*
 * One life of a connection in which messages of one type are lost, doubled or kept; each event is
 * reported once.
 */
static void treated(uint8_t type, enum bench_verdict verdict, uint32_t skip, uint32_t times)
{
	cp_begin(&cp);
	cp.type = type;
	cp.verdict = verdict;
	cp.skip = skip;
	cp.times = times;
	cp_connected(&cp, 0, 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DISCONNECT, cp.a), 0);
	rp_run(&cp.rp, 10 * CP_S);
	cp_expect_ended(&cp);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 0, cm_established), 1);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 1, cm_established), 1);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 0, cm_closed), 1);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 1, cm_closed), 1);
}

static void lost_and_repeated(void)
{
	static const uint8_t types[] = {0,           WIRE_CM_REQ,  WIRE_CM_REP,
					WIRE_CM_RTU, WIRE_CM_DREQ, WIRE_CM_DREP};
	uint32_t i, n;

	for (i = 0; i < sizeof(types); i++) {
		for (n = 1; n <= 3; n++) {
			treated(types[i], BENCH_DROP, 0, n);
			cp_end(&cp);
			treated(types[i], BENCH_TWICE, 0, n);
			cp_end(&cp);
		}
	}
}

/* All earlier messages come again at every stage: nothing happens. */
static void late(void)
{
	uint32_t i, n;

	treated(0, BENCH_COPY, 0, UINT32_MAX);
	n = cp.rp.wire.num_kept;
	CU_ASSERT(n >= 5);
	for (i = 0; i < n; i++)
		bench_wire_deliver(&cp.rp.wire, i);
	rp_run(&cp.rp, CP_S);
	cp_expect_none(&cp);
	/* The process has destroyed its endpoint: the message is a request as any other. */
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.b), 0);
	for (i = 0; i < n; i++)
		bench_wire_deliver(&cp.rp.wire, i);
	rp_settle(&cp.rp);
	cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, cp.b, 0), 0);
	rp_run(&cp.rp, CP_S);
	/* The endpoint that it names is not concerned. */
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_REJECTED);
	cp_expect_none(&cp);
	cp.verdict = BENCH_PASS;
	bench_wire_forget(&cp.rp.wire);
	/* Messages of the first connection come again during a second one. */
	cp_end(&cp);
	treated(0, BENCH_COPY, 0, UINT32_MAX);
	cp.verdict = BENCH_PASS;
	n = cp.rp.wire.num_kept;
	cp_connected(&cp, 0, 0);
	for (i = 0; i < n; i++)
		if (cp_msg(&cp.rp.wire.kept[i])->type != WIRE_CM_REQ)
			bench_wire_deliver(&cp.rp.wire, i);
	rp_run(&cp.rp, CP_S);
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.eps[cp.a].state, CM_ESTABLISHED);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.eps[cp.b].state, CM_ESTABLISHED);
	cp_end(&cp);
}

/*
 * A sender that has not seen a message of a connection cannot end the connection, whatever it
 * sends.
 */
static void forged(void)
{
	const struct bench_frame *req, *rtu;
	struct wire_cm msg, good;
	uint8_t type;
	uint32_t bit;

	cp_begin(&cp);
	cp.verdict = BENCH_COPY;
	cp.times = UINT32_MAX;
	cp_connected(&cp, 0, 0);
	cp.verdict = BENCH_PASS;
	req = cp_kept(&cp, WIRE_CM_REQ);
	rtu = cp_kept(&cp, WIRE_CM_RTU);
	CU_ASSERT_FATAL(req && rtu);
	good = *cp_msg((struct bench_frame *)(uintptr_t)rtu);
	for (type = WIRE_CM_MRA; type < WIRE_CM_TYPES; type++) {
		if (type == WIRE_CM_SIDR_REQ)
			continue;
		for (bit = 0; bit < 128; bit += 5) {
			msg = good;
			msg.type = type;
			((uint8_t *)&msg.src_id)[bit / 8] ^= (uint8_t)(1 << bit % 8);
			cp_forge(&cp, 1, rtu, &msg);
		}
	}
	CU_ASSERT_NOT_EQUAL(CP_CNT(&cp, 1, cm_unknown), 0);
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.eps[cp.a].state, CM_ESTABLISHED);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.eps[cp.b].state, CM_ESTABLISHED);
	/* A sender that knows both numbers can end it. */
	msg = good;
	msg.type = WIRE_CM_DREQ;
	cp_forge(&cp, 1, rtu, &msg);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_DISCONNECTED);
	cp_end(&cp);
}

static void malformed(void)
{
	const struct bench_frame *req;
	struct wire_cm msg, good;
	uint64_t drops;

	cp_begin(&cp);
	cp.verdict = BENCH_COPY;
	cp.times = 1;
	cp_connected(&cp, 0, 0);
	req = cp_kept(&cp, WIRE_CM_REQ);
	CU_ASSERT_FATAL(req != NULL);
	good = *cp_msg((struct bench_frame *)(uintptr_t)req);
	drops = CP_CNT(&cp, 1, drop_cm_malformed);
#define REFUSED(change)                                                                            \
	msg = good;                                                                                \
	change;                                                                                    \
	cp_forge(&cp, 1, req, &msg);                                                               \
	CU_ASSERT_EQUAL(CP_CNT(&cp, 1, drop_cm_malformed), ++drops)
	REFUSED(msg.type = 0);
	REFUSED(msg.type = WIRE_CM_TYPES);
	REFUSED(msg.type = 255);
	REFUSED(msg.flags = 4);
	REFUSED(msg.private_bytes = 1);
	REFUSED(msg.private_bytes = 255);
	REFUSED(msg.src_id = be64_put(0));
	REFUSED(msg.dst_id = be64_put(1));
	REFUSED(msg.space = be16_put(0));
	REFUSED(msg.space = be16_put(0x0107));
	REFUSED(msg.qpn = be32_put(1 << 24));
	REFUSED(msg.psn = be32_put(1 << 24));
	cp_expect_none(&cp);
	/* The message as it was sent is known: it is answered once more, or not at all. */
	cp_forge(&cp, 1, req, &good);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 1, drop_cm_malformed), drops);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 1, cm_requests), 1);
	cp_expect_none(&cp);
	cp_end(&cp);
}

/* The rule of bind(2) for low ports, in each space. Ports that the client has already stay. */
static void low_ports(void)
{
	static const uint16_t spaces[] = {HW_CM_TCP, HW_CM_UDP, HW_CM_IB, HW_CM_IPOIB};
	struct fw_client *client;
	uint32_t i, port;

	cp_begin(&cp);
	client = &cp.rp.end[0].nic->host.clients[cp.rp.end[0].client];
	for (i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		struct hw_cmd_cm cm = {.ep = cp_create(&cp, 0), .space = spaces[i], .port = 1023};

		client->first_port = 1024;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_BIND, &cm, NULL), FW_EACCES);
		cm.flags = HW_CM_F_REUSE;
		cm.port = 1;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_BIND, &cm, NULL), FW_EACCES);
		CU_ASSERT_EQUAL(CP_CNT(&cp, 0, cm_port_denied), 2 * (i + 1));
		cm.port = 1024;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_BIND, &cm, &port), 0);
		CU_ASSERT_EQUAL(port, 1024);
		cm = (struct hw_cmd_cm){.ep = cp_create(&cp, 0), .space = spaces[i]};
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_BIND, &cm, &port), 0);
		CU_ASSERT(port >= HW_CM_EPHEMERAL);
		/* Another client is not concerned. */
		(void)cp_bound(&cp, 1, spaces[i], 1023);
		client->first_port = 0;
		(void)cp_bound(&cp, 0, spaces[i], 1023);
	}
	cp_end(&cp);
}

static void rejected(void)
{
	struct hw_cmd_cm no = {.arg = HW_CM_REJ_CONSUMER, .data_bytes = 4, .data = "why"};
	struct hw_resp_cm_event ev;
	uint32_t lost;

	for (lost = 0; lost < 3; lost++) {
		cp_begin(&cp);
		(void)cp_listen(&cp, HW_CM_TCP, 0);
		cp.type = WIRE_CM_REJ;
		cp.verdict = BENCH_DROP;
		cp.times = lost;
		cp.a = cp_ask(&cp, HW_CM_TCP, 0);
		rp_run(&cp.rp, 200 * CP_MS);
		no.ep = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_REJECT, &no, NULL), 0);
		CU_ASSERT_EQUAL(cp_accept(&cp, 1, no.ep, 0), FW_EINVAL);
		rp_run(&cp.rp, 5 * CP_S);
		ev = cp_expect(&cp, 0, cp.a, HW_CM_EVENT_REJECTED);
		CU_ASSERT_EQUAL(ev.status, HW_CM_REJ_CONSUMER);
		CU_ASSERT_EQUAL(ev.data_bytes, 4);
		CU_ASSERT_STRING_EQUAL((const char *)ev.data, "why");
		cp_expect_none(&cp);
		cp_end(&cp);
	}
	/* No listener: the request is rejected at once, and the endpoint may try again. */
	cp_begin(&cp);
	cp.a = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, 200 * CP_MS);
	ev = cp_expect(&cp, 0, cp.a, HW_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(ev.status, HW_CM_REJ_NO_LISTENER);
	CU_ASSERT_EQUAL(ev.data_bytes, 0);
	cp_expect_none(&cp);
	cp_end(&cp);
}

/* The process of the active end rejects the response. */
static void answer_rejected(void)
{
	struct hw_cmd_cm no = {.arg = HW_CM_REJ_CONSUMER, .data_bytes = 2, .data = {1, 2}};
	struct hw_resp_cm_event ev;
	uint32_t b;

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	no.ep = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, 200 * CP_MS);
	b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, b, 0), 0);
	rp_run(&cp.rp, 200 * CP_MS);
	(void)cp_expect(&cp, 0, no.ep, HW_CM_EVENT_RESPONSE);
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_REJECT, &no, NULL), 0);
	rp_run(&cp.rp, CP_S);
	ev = cp_expect(&cp, 1, b, HW_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(ev.data_bytes, 2);
	cp_expect_none(&cp);
	cp_end(&cp);
}

/* Answers become those of the other kind of request. */
static bool swaps;

static enum bench_verdict swap_kind(struct rp *rp, const struct rp_info *info)
{
	struct frame_view view = frame_read(info->frame->b, info->frame->n);

	(void)rp;
	if (!swaps || info->from == 0 || !view.cm)
		return BENCH_PASS;
	if (view.cm->type == WIRE_CM_SIDR_REP)
		view.cm->type = WIRE_CM_REP;
	else if (view.cm->type == WIRE_CM_REP)
		view.cm->type = WIRE_CM_SIDR_REP;
	else
		return BENCH_PASS;
	rp_reseal(info->frame);
	return BENCH_PASS;
}

/* An answer of the other kind is none: the request is repeated, until the right one comes. */
static void answers_of_the_other_kind(void)
{
	uint32_t b;

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_UDP, 0);
	cp.rp.filter = swap_kind;
	swaps = true;
	cp.a = cp_ask(&cp, HW_CM_UDP, 0x11);
	rp_run(&cp.rp, CP_S);
	b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, b, 0x22), 0);
	rp_run(&cp.rp, CP_S);
	cp_expect_none(&cp);
	swaps = false;
	rp_run(&cp.rp, 5 * CP_S);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, cp.a, HW_CM_EVENT_ESTABLISHED).param.qpn, 0x22);
	cp_expect_none(&cp);
	cp_end(&cp);
}

/* UD: a request asks for the QP at a port; the process gives it, or refuses. */
static void datagrams(void)
{
	static const uint8_t types[] = {WIRE_CM_SIDR_REQ, WIRE_CM_SIDR_REP};
	struct hw_cmd_cm no = {.arg = HW_CM_REJ_CONSUMER};
	struct hw_resp_cm_event ev;
	uint32_t i, b;

	for (i = 0; i < 4; i++) {
		cp_begin(&cp);
		(void)cp_listen(&cp, HW_CM_UDP, 0);
		cp.type = types[i / 2];
		cp.verdict = i % 2 ? BENCH_DROP : BENCH_TWICE;
		cp.times = 2;
		cp.a = cp_ask(&cp, HW_CM_UDP, 0x11);
		rp_run(&cp.rp, CP_S);
		b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
		CU_ASSERT_EQUAL(cp_accept(&cp, 1, b, 0x22), 0);
		rp_run(&cp.rp, 5 * CP_S);
		ev = cp_expect(&cp, 0, cp.a, HW_CM_EVENT_ESTABLISHED);
		CU_ASSERT_EQUAL(ev.param.qpn, 0x22);
		CU_ASSERT_EQUAL(ev.param.qkey, 0x55);
		cp_expect_none(&cp);
		/* No endpoint listens in the other space. */
		cp.times = 0;
		cp.a = cp_ask(&cp, HW_CM_TCP, 0);
		rp_run(&cp.rp, CP_S);
		(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_REJECTED);
		cp.a = cp_ask(&cp, HW_CM_UDP, 0x11);
		rp_run(&cp.rp, CP_S);
		no.ep = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_REJECT, &no, NULL), 0);
		rp_run(&cp.rp, 5 * CP_S);
		(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_REJECTED);
		cp_expect_none(&cp);
		cp_end(&cp);
	}
}

/*
 * Private data take memory while they may have to be sent or reported. No other process's bytes are
 * sent.
 */
static void data_given_back(void)
{
	const struct hw_cmd_cm stored = {
	    .port = CP_PORT, .flags = HW_CM_F_STORED, .data_bytes = 200};
	struct hw_cmd_cm ask = stored, answer = {.data_bytes = 56, .data = {1}};
	uint8_t data[8];
	struct hw_resp_cm_event ev;
	uint32_t i;

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	ask.ep = cp_bound(&cp, 0, HW_CM_TCP, 0);
	ask.ip = cp.rp.end[1].nic->config.ip;
	/* Nothing was stored. */
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &ask, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.data.used, 0);
	/* Only a part was stored: the rest is 0, whatever the memory held before. */
	memset(cm_tx_room(cp.rp.end[0].nic, &cp.rp.end[0].nic->cm.eps[ask.ep]), 0xee, 200);
	cm_tx_drop(cp.rp.end[0].nic, &cp.rp.end[0].nic->cm.eps[ask.ep]);
	fill(data, sizeof(data), 1);
	store(0, ask.ep, data, sizeof(data));
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &ask, NULL), 0);
	rp_run(&cp.rp, CP_S);
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.data.used, 1);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.data.used, 1);
	ev = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	CU_ASSERT_EQUAL(ev.data_bytes, 200);
	for (i = sizeof(data); i < 200; i++)
		CU_ASSERT_EQUAL(ev.data[i], 0);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.data.used, 0);
	answer.ep = ev.ep;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_ACCEPT, &answer, NULL), 0);
	rp_run(&cp.rp, CP_MS);
	/*
	 * Each end holds one block of private data: received and not fetched, sent and not
	 * acknowledged.
	 */
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.data.used, 1);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.data.used, 1);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, ask.ep, HW_CM_EVENT_RESPONSE).data_bytes, 56);
	CU_ASSERT_EQUAL(cp_accept(&cp, 0, ask.ep, 0), 0);
	rp_run(&cp.rp, CP_MS);
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.data.used, 0);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.data.used, 0);
	cp_end(&cp);
}

/*
 * Events wait: the process fetches them in the order in which they happened, also those of several
 * endpoints.
 */
static void events_in_order(void)
{
	uint32_t second;

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	cp.a = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, cp.b, 0), 0);
	rp_run(&cp.rp, CP_S);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_RESPONSE);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_ACCEPT, cp.a), 0);
	rp_run(&cp.rp, CP_MS);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DISCONNECT, cp.a), 0);
	rp_run(&cp.rp, CP_MS);
	second = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_ESTABLISHED);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_DISCONNECTED);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_TIMEWAIT_EXIT);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_DISCONNECTED);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_TIMEWAIT_EXIT);
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, second), 0);
	cp_end(&cp);
}

UT_MAIN("pair/cm", UT(everything_is_told), UT(pairs_end_with_it), UT(lost_and_repeated), UT(late),
	UT(forged), UT(malformed), UT(rejected), UT(answer_rejected), UT(datagrams),
	UT(answers_of_the_other_kind), UT(data_given_back), UT(low_ports), UT(events_in_order))
