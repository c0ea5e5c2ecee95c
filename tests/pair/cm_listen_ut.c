/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listeners and ports of the connection manager over TCP between two whole NICs (cm_pair.h):
 * backlogs, ports that shards and the kernel share, ports used again, connections to nobody.
 */
#include "tests/pair/cm_tcp_fix.h"

static void nobody(void)
{
	begin();
	cp.a = cp_tcp_ask(&cp, qa->qpn, 0);
	run(100);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, cp.a, HW_CM_EVENT_REJECTED).status,
			HW_CM_REJ_NO_LISTENER);
	/* Requests for datagrams and for other spaces do not reach a listener of TCP. */
	{
		struct hw_cmd_cm cm = {.ep = cp_bound(&cp, 1, HW_CM_UDP, 77),
				       .transport = HW_CM_TRANSPORT_TCP};

		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), FW_EOPNOTSUPP);
		cm.ip = cp.rp.end[0].nic->config.ip;
		cm.port = 1;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_CONNECT, &cm, NULL), FW_EOPNOTSUPP);
		cm.ep = cp_bound(&cp, 1, HW_CM_TCP, 78);
		cm.transport = HW_CM_TRANSPORTS;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), FW_EINVAL);
		cm.transport = HW_CM_TRANSPORT_TCP;
		cm.mpa = 0x80;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), FW_EINVAL);
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_CONNECT, &cm, NULL), FW_EINVAL);
	}
	cp.rp.end[1].port.dead = true;
	cp.a = cp_tcp_ask(&cp, 0, 0);
	run(11000);
	CU_ASSERT_EQUAL(cp_expect(&cp, 0, cp.a, HW_CM_EVENT_UNREACHABLE).status, FW_ETIMEDOUT);
	cp.rp.end[1].port.dead = false;
	cp_end(&cp);
}

/* A listener for TCP accepts requests for datagrams too, and reports the transport of each. */
static void both_transports(void)
{
	struct hw_resp_cm_event ev;

	begin();
	bring_to(1, 0, 0);
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, cp.b, qb->qpn), 0);
	run(100);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_RESPONSE);
	(void)cp_ask(&cp, HW_CM_TCP, 0);
	run(100);
	ev = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	CU_ASSERT_EQUAL(ev.transport, HW_CM_TRANSPORT_RD);
	CU_ASSERT_EQUAL(ev.listener, cp.listener);
	cp_end(&cp);
}

/*
 * A limited number of requests waits for a listener's process; further ones succeed after it has
 * fetched some.
 */
static void backlog(void)
{
	uint32_t i;

	begin();
	(void)cp_tcp_listen(&cp, 0, 2);
	for (i = 0; i < 5; i++)
		(void)cp_tcp_ask(&cp, 0, 0);
	run(100);
	CU_ASSERT(cp.rp.end[1].nic->cm.eps[cp.listener].waiting <= 2);
	for (i = 0; i < 5; i++) {
		struct hw_resp_cm_event ev;
		uint32_t tries = 0;

		while (cp_event(&cp, 1, &ev) == HW_CM_EVENT_NONE && tries++ < 9)
			run(1000);
		CU_ASSERT_EQUAL(ev.type, HW_CM_EVENT_REQUEST);
	}
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.eps[cp.listener].waiting, 0);
	cp_end(&cp);
}

/*
 * A server that listens again soon refuses no request; without a new listener the requests are
 * refused in the end.
 */
static void between_listeners(void)
{
	begin();
	(void)cp_tcp_listen(&cp, 0, 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.listener), 0);
	cp.a = cp_tcp_ask(&cp, 0, 0);
	run(800);
	cp_expect_none(&cp);
	(void)cp_tcp_listen(&cp, 0, 0);
	run(1000);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.listener), 0);
	cp.a = cp_tcp_ask(&cp, 0, 0);
	run(12000);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_REJECTED);
	cp_end(&cp);
}

/* A TCP port belongs to one shard until nothing of it is left there. */
static void one_shard_has_it(void)
{
	struct fw_nic *nic[2];
	uint32_t e;

	begin();
	for (e = 0; e < 2; e++) {
		nic[e] = cp.rp.end[e].nic;
		nic[e]->port.cm_ports = cp.rp.end[0].nic->net.l4_ports;
		nic[e]->config.shard = (uint8_t)(3 * e);
	}
	CU_ASSERT_EQUAL(l4_port_hold(nic[1], 9), 0);
	CU_ASSERT_EQUAL(l4_port_hold(nic[1], 9), 0);
	CU_ASSERT_EQUAL(l4_port_owner(nic[0]->net.l4_ports, 9), 3);
	CU_ASSERT_EQUAL(l4_port_hold(nic[0], 9), FW_EADDRINUSE);
	l4_port_drop(nic[1], 9);
	CU_ASSERT_EQUAL(l4_port_hold(nic[0], 9), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(l4_port_hold(nic[0], 10), 0);
	l4_port_drop(nic[1], 9);
	/* Frames still go to the shard that owns a port while its connection is in TIME-WAIT. */
	CU_ASSERT_EQUAL(l4_port_owner(nic[0]->net.l4_ports, 9), 3);
	CU_ASSERT_EQUAL(l4_port_hold(nic[0], 9), 0);
	CU_ASSERT_EQUAL(l4_port_owner(nic[0]->net.l4_ports, 9), 0);
	l4_port_drop(nic[0], 9);
	l4_port_drop(nic[0], 10);
	for (e = 0; e < 2; e++) {
		nic[e]->port.cm_ports = NULL;
		nic[e]->config.shard = 0;
	}
	cp_end(&cp);
}

/*
 * The port of a NIC that shares its address with the kernel: ports in use by the kernel are not
 * given.
 */
static struct {
	uint8_t taken[65536];
	uint32_t num_taken;
	uint16_t one;  /* a port of the kernel */
	bool odd;      /* all odd ports belong to the kernel */
	bool not_turn; /* taken twice, or given back twice */
	int why;       /* result for a port of the kernel */
} kernel;

static int kernel_port(void *ctx, uint16_t port, bool in)
{
	(void)ctx;
	kernel.not_turn |= kernel.taken[port] == in;
	if (in && (port == kernel.one || (kernel.odd && port & 1)))
		return kernel.why;
	kernel.taken[port] = in;
	kernel.num_taken += in ? 1 : UINT32_MAX;
	return 0;
}

static void somebody_else_has_it(void)
{
	struct hw_cmd_cm cm = {.transport = HW_CM_TRANSPORT_TCP};
	uint32_t port;
	uint32_t e, i;

	begin();
	memset(&kernel, 0, sizeof(kernel));
	for (e = 0; e < 2; e++)
		cp.rp.end[e].nic->port.tcp_port = e ? kernel_port : NULL;
	kernel.one = 22;
	kernel.why = FW_EADDRINUSE;
	cm.ep = cp_bound(&cp, 1, HW_CM_TCP, 22);
	for (i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), FW_EADDRINUSE);
	cm.ip = cp.rp.end[0].nic->config.ip;
	cm.port = 9;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_CONNECT, &cm, NULL), FW_EADDRINUSE);
	CU_ASSERT_EQUAL(kernel.num_taken, 0);
	/*
	 * A port that cannot be reserved at the kernel is not usable either, even if it is free
	 * there.
	 */
	kernel.why = FW_EMFILE;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), FW_EMFILE);
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_CONNECT, &cm, NULL), FW_EMFILE);
	CU_ASSERT_EQUAL(kernel.num_taken, 0);
	kernel.one = 0;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), 0);
	CU_ASSERT_TRUE(kernel.taken[22]);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cm.ep), 0);
	CU_ASSERT_EQUAL(kernel.num_taken, 0);
	/* Ports that the NIC chooses by itself are usable. */
	kernel.odd = true;
	kernel.why = FW_EADDRINUSE;
	for (i = 0; i < 20; i++) {
		cm = (struct hw_cmd_cm){.ep = cp_create(&cp, 1), .space = HW_CM_TCP};
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_BIND, &cm, &port), 0);
		CU_ASSERT_FALSE(port & 1);
		CU_ASSERT_EQUAL(kernel.num_taken, 0);
		CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cm.ep), 0);
	}
	/*
	 * A port is taken once for a listener and its connections, and given back with the last of
	 * them.
	 */
	kernel.odd = false;
	(void)cp_tcp_listen(&cp, 0, 0);
	cp.a = cp_tcp_ask(&cp, 0, 0);
	run(100);
	cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.listener), 0);
	CU_ASSERT_TRUE(kernel.taken[CP_PORT]);
	CU_ASSERT_EQUAL(kernel.num_taken, 1);
	CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.b), 0);
	run(100);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(kernel.num_taken, 0);
	CU_ASSERT_FALSE(kernel.not_turn);
	cp_end(&cp);
}

/* The same two ports again and again. */
static void again(void)
{
	struct hw_cmd_cm cm = {.transport = HW_CM_TRANSPORT_TCP};
	uint32_t i;

	begin();
	(void)cp_tcp_listen(&cp, 0, 0);
	cm.ep = cp_bound(&cp, 0, HW_CM_TCP, 5000);
	cm.ip = cp.rp.end[1].nic->config.ip;
	cm.port = CP_PORT;
	for (i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), 0);
		run(100);
		cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
		CU_ASSERT_EQUAL(cp_simple(&cp, 1, HW_CMD_CM_DESTROY, cp.b), 0);
		run(100);
		(void)cp_expect(&cp, 0, cm.ep, HW_CM_EVENT_REJECTED);
	}
	cp_end(&cp);
}

/* A failed request leaves its queue pair free and the endpoint usable for another request. */
static void another_qp(void)
{
	struct hw_cmd_cm cm = {.transport = HW_CM_TRANSPORT_TCP, .port = CP_PORT};
	struct hw_cmd_cm no = {.arg = HW_CM_REJ_CONSUMER};
	struct fw_qp *other;
	uint32_t rd;

	for (rd = 0; rd < 2; rd++) {
		begin();
		other = cp_tcp_qp(&cp, 0);
		(void)cp_tcp_listen(&cp, 0, 0);
		cm.transport = rd ? HW_CM_TRANSPORT_RD : HW_CM_TRANSPORT_TCP;
		cm.ep = cp_bound(&cp, 0, HW_CM_TCP, 0);
		cm.ip = cp.rp.end[1].nic->config.ip;
		cm.param.qpn = qa->qpn;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), 0);
		CU_ASSERT_EQUAL(qa->cm, cm.ep + 1);
		run(100);
		no.ep = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_REJECT, &no, NULL), 0);
		run(100);
		(void)cp_expect(&cp, 0, cm.ep, HW_CM_EVENT_REJECTED);
		CU_ASSERT_EQUAL(qa->cm, 0);
		/* The same holds for a request that is refused at once. */
		memset(&kernel, 0, sizeof(kernel));
		kernel.one = cp.rp.end[0].nic->cm.eps[cm.ep].local_port;
		kernel.why = FW_EADDRINUSE;
		cp.rp.end[0].nic->port.tcp_port = kernel_port;
		cm.transport = HW_CM_TRANSPORT_TCP;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), FW_EADDRINUSE);
		CU_ASSERT_EQUAL(qa->cm, 0);
		kernel.one = 0;
		cm.param.qpn = other->qpn;
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), 0);
		run(100);
		cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
		CU_ASSERT_EQUAL(cp_accept(&cp, 1, cp.b, qb->qpn), 0);
		run(100);
		(void)cp_expect(&cp, 0, cm.ep, HW_CM_EVENT_RESPONSE);
		CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_ACCEPT, cm.ep), 0);
		CU_ASSERT_PTR_NOT_NULL(other->mpa);
		CU_ASSERT_PTR_NULL(qa->mpa);
		cp_end(&cp);
	}
}

/* An endpoint listens after requests of its own: parameters of peers have the place of its share.
 */
static void after_requests(void)
{
	struct fw_nic *nic;
	struct hw_resp_cm_event ev;
	uint32_t held;

	begin();
	nic = cp.rp.end[0].nic;
	bring_to(2, 0, 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_REJECT, cp.a), 0);
	run(100);
	held = (uint32_t)nic->share.holders[0].process->held[HW_SHARE_LISTENER];
	{
		struct hw_cmd_cm cm = {.ep = cp.a, .transport = HW_CM_TRANSPORT_TCP, .arg = 1};
		struct hw_cmd_cm ask = {.ep = cp.a, .ip = cp.rp.end[1].nic->config.ip, .arg = 1000};

		/* The event of the address waits while the endpoint listens. */
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_RESOLVE, &ask, NULL), 0);
		CU_ASSERT_EQUAL(nic->cm.eps[cp.a].param.qpn, 0);
		CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_LISTEN, &cm, NULL), 0);
	}
	CU_ASSERT_EQUAL(nic->cm.eps[cp.a].state, CM_LISTEN);
	CU_ASSERT_EQUAL(nic->share.holders[0].process->held[HW_SHARE_LISTENER], held + 1);
	ev = cp_expect(&cp, 0, cp.a, HW_CM_EVENT_RESOLVED);
	CU_ASSERT_EQUAL(ev.local_psn, 0);
	for (uint32_t i = 0; i < sizeof(ev.param); i++)
		CU_ASSERT_EQUAL(((const uint8_t *)&ev.param)[i], 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, cp.a), 0);
	CU_ASSERT_EQUAL(nic->share.holders[0].process->held[HW_SHARE_LISTENER], held);
	cp_end(&cp);
}

UT_MAIN("pair/cm_listen", UT(nobody), UT(both_transports), UT(backlog), UT(between_listeners),
	UT(one_shard_has_it), UT(somebody_else_has_it), UT(again), UT(another_qp),
	UT(after_requests))
