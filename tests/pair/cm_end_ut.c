/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ends of the connection manager: time, processes and NICs that end, ports, quotas, and
 * commands that states do not allow. Runs nic_fw/cm/cm*.c on two whole NICs (cm_pair.h).
 */
#include "tests/pair/cm_pair.h"

static struct cp cp;

static int bind_to(uint32_t e, uint32_t ep, enum hw_cm_space space, uint16_t port, bool reuse,
		   uint32_t *given)
{
	const struct hw_cmd_cm cm = {
	    .ep = ep, .space = space, .port = port, .flags = reuse ? HW_CM_F_REUSE : 0};

	return cp_cmd(&cp, e, HW_CMD_CM_BIND, &cm, given);
}

static int listen_at(uint32_t e, uint32_t ep)
{
	return cp_simple(&cp, e, HW_CMD_CM_LISTEN, ep);
}

static int resolve(uint32_t ep, uint32_t ip, uint32_t ms)
{
	const struct hw_cmd_cm cm = {.ep = ep, .ip = ip, .arg = ms};

	return cp_cmd(&cp, 0, HW_CMD_CM_RESOLVE, &cm, NULL);
}

/* Time until an event of a type arrives at end 0, in ms from now; 0: not within limit_ms. */
static uint64_t event_after_ms(enum hw_cm_event_type type, uint64_t limit_ms)
{
	struct hw_resp_cm_event ev;
	uint64_t ms;

	for (ms = 100; ms <= limit_ms; ms += 100) {
		rp_run(&cp.rp, 100 * CP_MS);
		if (cp_event(&cp, 0, &ev) == type)
			return ms;
	}
	return 0;
}

static void nobody_answers(void)
{
	uint64_t ms;

	cp_begin(&cp);
	cp_connected(&cp, 0, 0); /* so that the neighbour is known */
	cp.rp.end[1].port.dead = true;
	cp.listener = cp_ask(&cp, HW_CM_TCP, 0);
	ms = event_after_ms(HW_CM_EVENT_UNREACHABLE, 60000);
	CU_ASSERT(ms > 5000 && ms < 15000);
	/* The endpoint may try again. */
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.eps[cp.listener].state, CM_IDLE);
	/* The end of a connection needs none either. */
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DISCONNECT, cp.a), 0);
	ms = event_after_ms(HW_CM_EVENT_DISCONNECTED, 60000);
	CU_ASSERT(ms > 1000 && ms < 8000);
	cp_end(&cp);
}

static void peer_is_gone(void)
{
	struct fw_qp *a, *b;
	uint64_t ms;

	cp_begin(&cp);
	rp_rc(&cp.rp, &a, &b, NULL);
	cp_connected(&cp, a->qpn, b->qpn);
	/* Silence alone does not end a connection. */
	rp_run(&cp.rp, 300 * CP_S);
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(a->state, HW_QPS_RTS);
	cp.rp.end[1].port.dead = true;
	ms = event_after_ms(HW_CM_EVENT_DISCONNECTED, 100000);
	CU_ASSERT(ms > 14000 && ms < 40000);
	CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 0, cm_peers_lost), 1);
	cp.rp.end[1].port.dead = false;
	/* The other end learns of it when it sends a request. */
	rp_run(&cp.rp, 40 * CP_S);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_DISCONNECTED);
	CU_ASSERT_EQUAL(b->state, HW_QPS_ERR);
	cp_end(&cp);
}

static void peer_restarts(void)
{
	uint64_t ms;

	cp_begin(&cp);
	cp_connected(&cp, 0, 0);
	rp_restart(&cp.rp, 1);
	ms = event_after_ms(HW_CM_EVENT_DISCONNECTED, 100000);
	CU_ASSERT(ms > 0 && ms < 25000);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 0, cm_peers_lost), 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, cp.a), 0);
	cp_end_detached(&cp);
}

/* A slow process is waited for; a process that never answers is not waited for without end. */
static void patience(void)
{
	uint32_t b;

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	cp.a = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, 60 * CP_S);
	b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, b, 0), 0);
	rp_run(&cp.rp, 60 * CP_S);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_RESPONSE);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_ACCEPT, cp.a), 0);
	rp_run(&cp.rp, CP_S);
	(void)cp_expect(&cp, 1, b, HW_CM_EVENT_ESTABLISHED);
	cp.a = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, 130 * CP_S);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_UNREACHABLE);
	b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	(void)cp_expect(&cp, 1, b, HW_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, b, 0), FW_EINVAL);
	cp_expect_none(&cp);
	cp_end(&cp);
}

/* Runs a connection up to stage: 0 requested, 1 received, 2 accepted, 3 established. */
static void bring_to(uint32_t stage)
{
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	cp.a = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	if (stage > 0)
		cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	if (stage > 1)
		CU_ASSERT_EQUAL(cp_accept(&cp, 1, cp.b, 0), 0);
	rp_run(&cp.rp, CP_S);
	if (stage > 1)
		(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_RESPONSE);
	if (stage > 2) {
		CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_ACCEPT, cp.a), 0);
		rp_run(&cp.rp, CP_S);
		(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_ESTABLISHED);
	}
}

/* A process that ends in any state: its peer is notified and nothing is left. */
static void process_dies(void)
{
	/* The events at the other end. */
	static const enum hw_cm_event_type told[2][4] = {
	    {HW_CM_EVENT_REQUEST, HW_CM_EVENT_REJECTED, HW_CM_EVENT_ESTABLISHED,
	     HW_CM_EVENT_DISCONNECTED},
	    {HW_CM_EVENT_REJECTED, HW_CM_EVENT_REJECTED, HW_CM_EVENT_DISCONNECTED,
	     HW_CM_EVENT_DISCONNECTED},
	};
	uint32_t stage, e;

	for (e = 0; e < 2; e++) {
		for (stage = 0; stage < 4; stage++) {
			cp_begin(&cp);
			bring_to(stage);
			rp_detach(&cp.rp, e);
			rp_run(&cp.rp, 20 * CP_S);
			(void)cp_expect(&cp, !e, CP_NONE, told[e][stage]);
			rp_detach(&cp.rp, !e);
			cp_end_detached(&cp);
		}
	}
}

/*
 * A listener holds a limited number of requests that were not fetched; further requests are
 * repeated by their senders.
 */
static void backlog(void)
{
	uint32_t i, fetched[5];

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 2);
	for (i = 0; i < 5; i++)
		(void)cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.eps[cp.listener].waiting, 2);
	CU_ASSERT_NOT_EQUAL(CP_CNT(&cp, 1, drop_cm_backlog), 0);
	for (i = 0; i < 5; i++) {
		fetched[i] = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
		rp_run(&cp.rp, 2 * CP_S);
	}
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.eps[cp.listener].waiting, 0);
	/* Requests that were not fetched end with the listener; the others stay. */
	(void)cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.listener), 0);
	rp_run(&cp.rp, 7500 * CP_MS);
	(void)cp_expect(&cp, 0, CP_NONE, HW_CM_EVENT_REJECTED);
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, fetched[4], 0), 0);
	cp_end(&cp);
}

/*
 * A server that accepts a connection, closes its listener and makes another one on the same port.
 */
static void listens_anew(void)
{
	uint32_t a, b, tcp;

	cp_begin(&cp);
	cp_connected(&cp, 0, 0);
	/* One request waits; another one arrives while there is no listener. */
	a = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_MS);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.listener), 0);
	b = cp_ask(&cp, HW_CM_TCP, 0);
	/* Another space is no different. */
	(void)cp_ask(&cp, HW_CM_UDP, 0);
	rp_run(&cp.rp, 300 * CP_MS);
	cp_expect_none(&cp);
	CU_ASSERT_NOT_EQUAL(CP_CNT(&cp, 1, drop_cm_early), 0);
	tcp = cp_listen(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	cp_expect_none(&cp);
	/* Datagrams come second: a stream listener that is still there refuses none of them. */
	(void)cp_listen(&cp, HW_CM_UDP, 0);
	rp_run(&cp.rp, 2 * CP_S);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, a), 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, b), 0);
	/* Some seconds later the port is as if it had never had a listener. */
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, tcp), 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.listener), 0);
	rp_run(&cp.rp, 7 * CP_S);
	while (cp_event(&cp, 1, &(struct hw_resp_cm_event){0}) != HW_CM_EVENT_NONE)
		;
	a = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, 10 * CP_MS);
	(void)cp_expect(&cp, 0, a, HW_CM_EVENT_REJECTED);
	cp_end(&cp);
}

static void quota(void)
{
	struct fw_client *client;
	struct hw_cmd_cm cm;
	uint32_t i, ep;

	cp_begin(&cp);
	cm = (struct hw_cmd_cm){.eq = cp.eq[1]};
	client = &cp.rp.end[1].nic->host.clients[cp.rp.end[1].client];
	client->share->process->limit[HW_SHARE_CM] = 3;
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	for (i = 0; i < 2; i++)
		ep = cp_create(&cp, 1);
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_CREATE, &cm, NULL), FW_EDQUOT);
	/* A request needs a port as well. */
	cp.a = cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	cp_expect_none(&cp);
	CU_ASSERT_NOT_EQUAL(CP_CNT(&cp, 1, drop_cm_backlog), 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, ep), 0);
	rp_run(&cp.rp, 3 * CP_S);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	CU_ASSERT_EQUAL(client->share->held[HW_SHARE_CM], 3);
	cp_end(&cp);
}

static void ports(void)
{
	uint32_t a, b, c, port;

	cp_begin(&cp);
	a = cp_bound(&cp, 1, HW_CM_TCP, 5000);
	b = cp_create(&cp, 1);
	CU_ASSERT_EQUAL(bind_to(1, b, HW_CM_TCP, 5000, false, NULL), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(bind_to(1, b, HW_CM_TCP, 5000, true, NULL), FW_EADDRINUSE);
	/* Each space has ports of its own. */
	CU_ASSERT_EQUAL(bind_to(1, b, HW_CM_UDP, 5000, false, NULL), 0);
	CU_ASSERT_EQUAL(bind_to(1, b, HW_CM_UDP, 5001, false, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, a), 0);
	a = cp_create(&cp, 1);
	CU_ASSERT_EQUAL(bind_to(1, a, 0x0107, 5000, false, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(bind_to(1, a, HW_CM_TCP, 5000, true, NULL), 0);
	c = cp_create(&cp, 1);
	CU_ASSERT_EQUAL(bind_to(1, c, HW_CM_TCP, 5000, true, NULL), 0);
	/* A port is listened on by one endpoint. */
	CU_ASSERT_EQUAL(listen_at(1, c), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, a), 0);
	CU_ASSERT_EQUAL(listen_at(1, c), 0);
	CU_ASSERT_EQUAL(listen_at(1, c), 0);
	a = cp_create(&cp, 1);
	CU_ASSERT_EQUAL(bind_to(1, a, HW_CM_TCP, 5000, true, NULL), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(listen_at(1, a), FW_EINVAL);
	/* The NIC chooses any free port. */
	CU_ASSERT_EQUAL(bind_to(1, a, HW_CM_TCP, 0, false, &port), 0);
	CU_ASSERT(port >= HW_CM_EPHEMERAL && port < HW_CM_EPHEMERAL_END);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.num_listeners, 1);
	cp_end(&cp);
}

static void all_ports_taken(void)
{
	uint32_t *words, i, ep;

	cp_begin(&cp);
	words = cp.rp.end[0].nic->net.l4_ports;
	for (i = HW_CM_EPHEMERAL; i < HW_CM_EPHEMERAL_END; i++)
		words[i] = 1;
	words[40000] = 0;
	ep = cp_create(&cp, 0);
	CU_ASSERT_EQUAL(bind_to(0, ep, HW_CM_TCP, 0, false, &i), 0);
	CU_ASSERT_EQUAL(i, 40000);
	ep = cp_create(&cp, 0);
	CU_ASSERT_EQUAL(bind_to(0, ep, HW_CM_TCP, 0, false, NULL), FW_EADDRNOTAVAIL);
	for (i = HW_CM_EPHEMERAL; i < HW_CM_EPHEMERAL_END; i++)
		if (i != 40000)
			words[i] = 0;
	cp_end(&cp);
}

static void addresses(void)
{
	struct hw_resp_cm_event ev;
	uint32_t ep;

	cp_begin(&cp);
	ep = cp_create(&cp, 0);
	CU_ASSERT_EQUAL(resolve(ep, cp.rp.end[1].nic->config.ip, 2000), 0);
	CU_ASSERT_EQUAL(resolve(ep, cp.rp.end[1].nic->config.ip, 2000), FW_EINVAL);
	rp_run(&cp.rp, CP_S);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, ep, HW_CM_EVENT_RESOLVED).status, 0);
	/* The NIC's own address. */
	CU_ASSERT_EQUAL(resolve(ep, cp.rp.end[0].nic->config.ip, 2000), 0);
	rp_run(&cp.rp, CP_S);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, ep, HW_CM_EVENT_RESOLVED).status, 0);
	/* An address in another network, without a gateway. */
	CU_ASSERT_EQUAL(resolve(ep, 0x01020304, 2000), 0);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, ep, HW_CM_EVENT_RESOLVED).status, FW_ENETUNREACH);
	/* No host has the address. */
	CU_ASSERT_EQUAL(resolve(ep, cp.rp.end[1].nic->config.ip ^ 0x70000000, 600000), 0);
	rp_run(&cp.rp, 20 * CP_S);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, ep, HW_CM_EVENT_RESOLVED).status, FW_EHOSTUNREACH);
	CU_ASSERT_EQUAL(resolve(ep, cp.rp.end[1].nic->config.ip ^ 0x60000000, 1), 0);
	rp_run(&cp.rp, 2 * CP_MS);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, ep, HW_CM_EVENT_RESOLVED).status, FW_ETIMEDOUT);
	/* The endpoint is destroyed meanwhile. */
	CU_ASSERT_EQUAL(resolve(ep, cp.rp.end[1].nic->config.ip ^ 0x50000000, 2000), 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, ep), 0);
	rp_run(&cp.rp, 20 * CP_S);
	CU_ASSERT_EQUAL(cp_event(&cp, 0, &ev), HW_CM_EVENT_NONE);
	cp_end(&cp);
}

/* Every command in every state that does not allow it. */
static void states_refuse(void)
{
	struct hw_cmd_cm cm = {.port = CP_PORT};
	uint32_t idle, i;

	cp_begin(&cp);
	cp_connected(&cp, 0, 0);
	idle = cp_create(&cp, 0);
	cm.ip = cp.rp.end[1].nic->config.ip;
	cm.ep = idle;
	/* The endpoint is not bound. */
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(listen_at(0, idle), FW_EINVAL);
	/* The endpoint has not requested a connection. */
	CU_ASSERT_EQUAL(cp_accept(&cp, 0, idle, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_REJECT, idle), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DISCONNECT, idle), FW_EINVAL);
	/* The endpoint is connected. */
	cm.ep = cp.a;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(listen_at(0, cp.a), FW_EINVAL);
	CU_ASSERT_EQUAL(listen_at(1, cp.b), FW_EINVAL);
	CU_ASSERT_EQUAL(resolve(cp.a, cm.ip, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_accept(&cp, 0, cp.a, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_REJECT, cp.a), FW_EINVAL);
	CU_ASSERT_EQUAL(bind_to(0, cp.a, HW_CM_TCP, 1, false, NULL), FW_EINVAL);
	/* The endpoint is a listener. */
	cm.ep = cp.listener;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_CONNECT, &cm, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, cp.listener, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DISCONNECT, cp.listener), FW_EINVAL);
	/* Commands on endpoints that do not exist. */
	for (i = HW_CMD_CM_DESTROY; i < HW_CMD_CM_EVENT; i++)
		CU_ASSERT_EQUAL(cp_simple(&cp, 0, (enum hw_cmd_op)i, 77), FW_EINVAL);
	cm = (struct hw_cmd_cm){.eq = 0};
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_EVENT, &cm, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CREATE, &cm, NULL), FW_EINVAL);
	cp_expect_none(&cp);
	cp_end(&cp);
}

/*
 * One entry in the event queue reports any number of events. An endpoint that moves takes its
 * events along.
 */
static void event_queues(void)
{
	struct hw_cmd create = {.op = HW_CMD_CREATE_EQ, .u.create_eq = {.entries = 8}};
	struct hw_cmd destroy = {.op = HW_CMD_DESTROY_EQ};
	struct hw_cmd event = {.op = HW_CMD_CM_EVENT};
	struct hw_cmd_cm move;
	struct hw_cmd_resp resp;
	uint32_t irqs;

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	irqs = cp.rp.end[1].port.num_irqs;
	(void)cp_ask(&cp, HW_CM_TCP, 0);
	(void)cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	CU_ASSERT_EQUAL(cp.rp.end[1].port.num_irqs, irqs + 1);
	move = (struct hw_cmd_cm){.ep = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep};
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&cp.rp, 1, &create, &resp), 0);
	move.eq = resp.u.create_eq.eq;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_MOVE, &move, NULL), 0);
	cp.rp.end[0].port.dead = true;
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, move.ep, 0), 0);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	rp_run(&cp.rp, 20 * CP_S);
	CU_ASSERT_EQUAL(cp.rp.end[1].port.num_irqs, irqs + 2);
	event.u.cm.eq = move.eq;
	CU_ASSERT_EQUAL(rp_cmd(&cp.rp, 1, &event, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.cm_event.type, HW_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(resp.u.cm_event.ep, move.ep);
	/* The queue is in use until the endpoint is destroyed. */
	destroy.u.obj.handle = move.eq;
	CU_ASSERT_EQUAL(rp_cmd(&cp.rp, 1, &destroy, &resp), FW_EBUSY);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, move.ep), 0);
	CU_ASSERT_EQUAL(rp_cmd(&cp.rp, 1, &destroy, &resp), 0);
	cp_end(&cp);
}

/* Requests that wait for a listener end with it; fetched requests do not. */
static void requests_move(void)
{
	struct hw_cmd create = {.op = HW_CMD_CREATE_EQ, .u.create_eq = {.entries = 8}};
	struct hw_cmd event = {.op = HW_CMD_CM_EVENT};
	struct hw_cmd_cm move;
	struct hw_cmd_resp resp;
	uint32_t fetched, i;

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	for (i = 0; i < 3; i++)
		(void)cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	fetched = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&cp.rp, 1, &create, &resp), 0);
	move = (struct hw_cmd_cm){.ep = cp.listener, .eq = resp.u.create_eq.eq};
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_MOVE, &move, NULL), 0);
	cp_expect_none(&cp);
	event.u.cm.eq = move.eq;
	for (i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(rp_cmd(&cp.rp, 1, &event, &resp), 0);
		CU_ASSERT_EQUAL(resp.u.cm_event.type, HW_CM_EVENT_REQUEST);
		CU_ASSERT_EQUAL(resp.u.cm_event.listener, cp.listener);
		CU_ASSERT_NOT_EQUAL(resp.u.cm_event.ep, fetched);
		CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, resp.u.cm_event.ep), 0);
	}
	CU_ASSERT_EQUAL(rp_cmd(&cp.rp, 1, &event, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.cm_event.type, HW_CM_EVENT_NONE);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, fetched), 0);
	cp_end(&cp);
}

/*
 * A station connects to a server, or a process to a station, that never acknowledges an end: such
 * endpoints are in no share, and others find places.
 */
static void ends_that_stay_unanswered(void)
{
	enum {
		ENDPOINTS = 12
	};
	uint32_t i, max, again;

	cp_begin(&cp);
	cp_connected(&cp, 0, 0);
	max = cp.rp.end[0].nic->cm.ids.max;
	cp.rp.end[0].nic->cm.ids.max = ENDPOINTS;
	cp.rp.end[0].nic->cm.ids.quarantine = 0;
	cp.type = WIRE_CM_DREP;
	cp.verdict = BENCH_DROP;
	cp.times = 10000;
	for (i = 1; i < 2 * ENDPOINTS; i++) {
		CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, cp.a), 0);
		rp_run(&cp.rp, 5 * CP_MS);
		(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_DISCONNECTED);
		CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.b), 0);
		cp.a = cp_ask(&cp, HW_CM_TCP, 0);
		rp_run(&cp.rp, 5 * CP_MS);
		cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
		CU_ASSERT_EQUAL(cp_accept(&cp, 1, cp.b, 0), 0);
		rp_run(&cp.rp, 5 * CP_MS);
		(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_RESPONSE);
		CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_ACCEPT, cp.a), 0);
		rp_run(&cp.rp, 5 * CP_MS);
		(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_ESTABLISHED);
	}
	/* Another one is there for everybody while the peer is silent. */
	CU_ASSERT_EQUAL(fw_ids_used(&cp.rp.end[0].nic->cm.ids), ENDPOINTS);
	again = cp_create(&cp, 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, again), 0);
	cp.times = 0;
	cp.rp.end[0].nic->cm.ids.max = max;
	cp_end(&cp);
}

UT_MAIN("pair/cm_end", UT(nobody_answers), UT(peer_is_gone), UT(peer_restarts), UT(patience),
	UT(process_dies), UT(backlog), UT(listens_anew), UT(quota), UT(ports), UT(all_ports_taken),
	UT(addresses), UT(states_refuse), UT(event_queues), UT(requests_move),
	UT(ends_that_stay_unanswered))
