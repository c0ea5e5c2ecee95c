/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended reliable connections with faults: one QP pair, SRQs of two processes behind it, each
 * with memory and a completion queue of its own; domains that processes share by a file; a QP that
 * outlives the process that made it; a wrong SRQ, a foreign key and a destroyed SRQ.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/sim/sim_fix.h"
#include "tests/tmp.h"

enum {
	SINK = 512 * 1024,
	SLOT = 8192,
	WR = 32,
	MSGS = 60,
};

/* a sends to the QP that b made; c, on b's NIC, has an SRQ of the same domain. */
struct xrc {
	struct pair p;
	struct sim *sim;
	struct sim_end c;
	int file;
	struct weft_xrcd *xb, *xc;
	struct weft_srq *sb, *sc;
	struct weft_qp *send, *recv;
};

static void init_qp(struct xrc *x, struct weft_qp *qp)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT,
				    .port = 1,
				    .access = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
					      WEFT_ACCESS_REMOTE_ATOMIC};

	FIX_REQUIRE(x, weft_modify_qp(qp, &attr,
				      WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
					  WEFT_QP_ACCESS_FLAGS) == 0);
}

static void connect_send(struct xrc *x, struct weft_qp *qp, uint32_t dst_qpn,
			 const struct sim_nic *peer, uint32_t sq_psn, uint32_t rq_psn)
{
	const int rtr =
	    WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU | WEFT_QP_DEST_QPN | WEFT_QP_RQ_PSN;
	const int rts = WEFT_QP_STATE | WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT | WEFT_QP_RNR_RETRY |
			WEFT_QP_SQ_PSN | WEFT_QP_MAX_QP_RD_ATOMIC;
	struct weft_qp_attr attr = {.state = WEFT_QPS_RTR,
				    .path_mtu_bytes = 4096,
				    .dst_qpn = dst_qpn,
				    .rq_psn = rq_psn,
				    .av = weft_av_ip(sim_nic_ip(peer))};

	init_qp(x, qp);
	FIX_REQUIRE(x, weft_modify_qp(qp, &attr, rtr) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS,
				     .timeout = 10,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .sq_psn = sq_psn,
				     .max_rd_atomic = 8};
	FIX_REQUIRE(x, weft_modify_qp(qp, &attr, rts) == 0);
}

static void connect_recv(struct xrc *x)
{
	const int rtr = WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU | WEFT_QP_DEST_QPN |
			WEFT_QP_RQ_PSN | WEFT_QP_MAX_DEST_RD_ATOMIC | WEFT_QP_MIN_RNR_TIMER;
	struct weft_qp_attr attr = {.state = WEFT_QPS_RTR,
				    .path_mtu_bytes = 4096,
				    .dst_qpn = x->send->qpn,
				    .rq_psn = 0x111111,
				    .max_dest_rd_atomic = 8,
				    .min_rnr_timer = 5,
				    .av = weft_av_ip(sim_nic_ip(x->p.na))};

	init_qp(x, x->recv);
	FIX_REQUIRE(x, weft_modify_qp(x->recv, &attr, rtr) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS, .sq_psn = 0x222222, .timeout = 10};
	FIX_REQUIRE(x, weft_modify_qp(x->recv, &attr,
				      WEFT_QP_STATE | WEFT_QP_SQ_PSN | WEFT_QP_TIMEOUT) == 0);
}

static void xrc_open(struct xrc *x, uint64_t seed)
{
	static const struct pair_attr faulty = {.faults = FIX_FAULTS};
	struct weft_qp_init_attr send = {.type = WEFT_QPT_XRC_SEND,
					 .cap = {.max_send_wr = MSGS + 4, .max_send_sge = 2}};
	struct weft_qp_init_attr recv = {.type = WEFT_QPT_XRC_RECV};
	struct weft_srq_attr attr = {.max_wr = WR, .max_sge = 1};

	memset(x, 0, sizeof(*x));
	pair_open(&x->p, seed, &faulty);
	x->sim = x->p.sim;
	FIX_REQUIRE(x, sim_end_open(&x->c, x->p.nb, &faulty.b) == 0);
	x->file = open(tmp_root(), O_TMPFILE | O_RDWR, 0600);
	FIX_REQUIRE(x, x->file >= 0);
	x->xb = weft_open_xrcd(x->p.b.context, x->file, O_CREAT | O_EXCL);
	x->xc = weft_open_xrcd(x->c.context, x->file, 0);
	FIX_REQUIRE(x, x->xb && x->xc);
	x->sb = weft_create_xrc_srq(x->p.b.pd, x->xb, x->p.b.cq, &attr);
	x->sc = weft_create_xrc_srq(x->c.pd, x->xc, x->c.cq, &attr);
	FIX_REQUIRE(x, x->sb && x->sc && x->sb->srqn != x->sc->srqn);
	send.send_cq = send.recv_cq = x->p.a.cq;
	recv.xrcd = x->xb;
	x->send = weft_create_qp(x->p.a.pd, &send);
	x->recv = weft_create_qp(NULL, &recv);
	FIX_REQUIRE(x, x->send && x->recv);
	connect_send(x, x->send, x->recv->qpn, x->p.nb, 0x111111, 0x222222);
	connect_recv(x);
}

static void xrc_close(struct xrc *x)
{
	sim_end_close(&x->c);
	pair_close(&x->p);
	close(x->file);
}

/* A request of a that names an SRQ, and memory of an end behind it. */
static void request(struct xrc *x, const struct weft_srq *srq, const struct sim_end *peer,
		    const struct post *what)
{
	struct weft_sge sge = sim_end_sge(&x->p.a, what->offset, what->bytes);
	struct weft_send_wr wr = {.wr_id = what->wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = what->opcode,
				  .flags = WEFT_SEND_SIGNALED,
				  .imm = what->imm,
				  .rkey = peer->mr->rkey,
				  .remote_addr = (uintptr_t)peer->buf + what->remote_offset,
				  .compare_add = what->compare_add,
				  .qkey = srq->srqn};

	FIX_REQUIRE(x, weft_post_send(x->send, &wr, NULL) == 0);
}

static void receive(struct xrc *x, struct weft_srq *srq, struct sim_end *end, uint64_t wr_id)
{
	struct weft_sge sge = sim_end_sge(end, SINK + wr_id * SLOT, SLOT);
	struct weft_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	FIX_REQUIRE(x, weft_post_srq_recv(srq, &wr, NULL) == 0);
}

/* Receives the next message of an end, in order, and posts its receive again. */
static void arrived(struct xrc *x, struct weft_srq *srq, struct sim_end *end, uint32_t i)
{
	struct weft_wc wc;

	FIX_REQUIRE(x, sim_end_wait(end, &wc, 1, FIX_LIMIT_NS) == 1);
	FIX_CHECK(x, wc.status == WEFT_WC_SUCCESS && wc.qpn == x->recv->qpn);
	FIX_CHECK(x, wc.imm == i && wc.bytes == 100 + i * 113);
	FIX_CHECK(x, filled(&x->p, i, end->buf + SINK + wc.wr_id * SLOT, wc.bytes));
	receive(x, srq, end, wc.wr_id);
}

/* Messages to two SRQs by turns: each receives its own, in order, in its own memory. */
static void exchange(struct xrc *x, bool to_b)
{
	uint32_t i;

	for (i = 0; i < MSGS; i++) {
		struct post what = {.opcode = WEFT_WR_SEND_IMM,
				    .imm = i,
				    .wr_id = i,
				    .offset = (size_t)i * SLOT,
				    .bytes = 100 + i * 113};
		bool b = to_b && i % 2;

		fill(&x->p, i, x->p.a.buf + what.offset, what.bytes);
		request(x, b ? x->sb : x->sc, &x->c, &what);
	}
	for (i = 0; i < MSGS; i++)
		if (to_b && i % 2)
			arrived(x, x->sb, &x->p.b, i);
		else
			arrived(x, x->sc, &x->c, i);
	for (i = 0; i < MSGS; i++)
		expect(&x->p, &x->p.a, i, WEFT_WC_SUCCESS);
}

static void two_srqs(void)
{
	struct xrc x;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		xrc_open(&x, seed);
		for (i = 0; i < WR; i++) {
			receive(&x, x.sb, &x.p.b, i);
			receive(&x, x.sc, &x.c, i);
		}
		exchange(&x, true);
		xrc_close(&x);
	}
}

/* RDMA goes to the memory of the SRQ's protection domain, and to no other. */
static void operations(void)
{
	struct xrc x;
	uint64_t seed, old;
	struct weft_wc wc;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct post foreign = {.opcode = WEFT_WR_WRITE, .wr_id = 9, .bytes = 100};

		xrc_open(&x, seed);
		for (i = 0; i < 20; i++) {
			uint32_t bytes = 1 + i * 1777;
			struct post put = {.opcode = WEFT_WR_WRITE_IMM,
					   .wr_id = 1,
					   .imm = i,
					   .bytes = bytes,
					   .remote_offset = SINK};
			struct post get = {.opcode = WEFT_WR_READ,
					   .wr_id = 2,
					   .bytes = bytes,
					   .offset = SINK,
					   .remote_offset = SINK};
			struct post add = {.opcode = WEFT_WR_FETCH_ADD,
					   .wr_id = 3,
					   .bytes = 8,
					   .offset = SINK + 65536,
					   .compare_add = 5,
					   .remote_offset = SINK + 65536};

			receive(&x, x.sc, &x.c, 0);
			fill(&x.p, i, x.p.a.buf, bytes);
			request(&x, x.sc, &x.c, &put);
			request(&x, x.sc, &x.c, &get);
			request(&x, x.sc, &x.c, &add);
			expect(&x.p, &x.p.a, 1, WEFT_WC_SUCCESS);
			expect(&x.p, &x.p.a, 2, WEFT_WC_SUCCESS);
			expect(&x.p, &x.p.a, 3, WEFT_WC_SUCCESS);
			wc = expect(&x.p, &x.c, 0, WEFT_WC_SUCCESS);
			FIX_CHECK(&x, wc.opcode == WEFT_WC_RECV_WRITE_IMM && wc.imm == i);
			FIX_CHECK(&x, filled(&x.p, i, x.c.buf + SINK, bytes));
			FIX_CHECK(&x, filled(&x.p, i, x.p.a.buf + SINK, bytes));
			memcpy(&old, x.p.a.buf + SINK + 65536, 8);
			FIX_CHECK(&x, old == 5 * i);
		}
		/* b's key, in the name of c's SRQ */
		request(&x, x.sc, &x.p.b, &foreign);
		expect(&x.p, &x.p.a, 9, WEFT_WC_REM_ACCESS_ERR);
		xrc_close(&x);
	}
}

static void next_event(struct xrc *x, struct weft_context *context, enum weft_event_type type,
		       const struct weft_qp *qp)
{
	struct weft_async_event event;

	FIX_REQUIRE(x, weft_get_async_event(context, &event) == 0);
	FIX_CHECK(x, event.type == type && event.qp == qp);
	weft_ack_async_event(&event);
}

/* The QP lives on in the process that has opened it, and ends with that process. */
static void maker_leaves(void)
{
	struct post last = {.opcode = WEFT_WR_SEND, .wr_id = 77, .bytes = 10};
	struct weft_qp_attr attr;
	struct weft_qp *opened;
	struct xrc x;
	uint32_t i;

	xrc_open(&x, 1);
	opened = weft_open_qp(x.xc, x.recv->qpn, &x);
	FIX_REQUIRE(&x, opened && opened->qpn == x.recv->qpn && opened->user == &x);
	FIX_CHECK(&x, !weft_open_qp(x.xc, x.p.b.qp->qpn, NULL) && errno == EINVAL);
	FIX_CHECK(&x, weft_close_xrcd(x.xc) == -EBUSY && weft_close_xrcd(x.xb) == -EBUSY);
	for (i = 0; i < WR; i++)
		receive(&x, x.sc, &x.c, i);
	exchange(&x, false);
	sim_proc_kill(x.p.b.proc);
	exchange(&x, false);
	FIX_REQUIRE(&x, weft_query_qp(opened, &attr, NULL) == 0);
	FIX_CHECK(&x, attr.state == WEFT_QPS_RTS && attr.dst_qpn == x.send->qpn);
	FIX_REQUIRE(&x, weft_destroy_qp(opened) == 0);
	request(&x, x.sc, &x.c, &last);
	expect(&x.p, &x.p.a, 77, WEFT_WC_REM_OP_ERR);
	xrc_close(&x);
}

static void no_event(struct xrc *x, struct sim_end *end)
{
	struct weft_async_event event;

	sim_proc_set_nonblocking(end->proc, true);
	FIX_CHECK(x, weft_get_async_event(end->context, &event) == -EAGAIN);
	sim_proc_set_nonblocking(end->proc, false);
}

/* A process may open a QP several times: each handle gets its events, and the last one frees it. */
static void handles(void)
{
	struct weft_qp_attr err = {.state = WEFT_QPS_ERR};
	struct weft_qp *c[3], *b;
	struct weft_xrcd *xd;
	struct xrc x;
	uint32_t round, qpn, i;
	int user[4];

	for (round = 0; round < 4; round++) {
		xrc_open(&x, 1 + round);
		xd = weft_open_xrcd(x.c.context, x.file, 0);
		FIX_REQUIRE(&x, xd);
		qpn = x.recv->qpn;
		b = weft_open_qp(x.xb, x.recv->qpn, &user[3]);
		c[0] = weft_open_qp(x.xc, x.recv->qpn, &user[0]);
		c[2] = weft_open_qp(x.xc, x.recv->qpn, &user[2]);
		c[1] = weft_open_qp(xd, x.recv->qpn, &user[1]);
		FIX_REQUIRE(&x, b && c[0] && c[1] && c[2] && b != x.recv && b->user == &user[3]);
		for (i = 0; i < 3; i++)
			FIX_CHECK(&x, c[i]->qpn == qpn && c[i]->user == &user[i]);
		for (i = 0; i < WR; i++)
			receive(&x, x.sc, &x.c, i);
		exchange(&x, false);
		FIX_CHECK(&x, weft_close_xrcd(xd) == -EBUSY);
		FIX_CHECK(&x, weft_destroy_qp(x.recv) == 0);
		x.recv = b;
		exchange(&x, false);
		FIX_REQUIRE(&x, weft_modify_qp(b, &err, WEFT_QP_STATE) == 0);
		/* One handle is closed while its event waits, the first or a later one. */
		if (round < 3)
			FIX_CHECK(&x, weft_destroy_qp(c[round]) == 0);
		for (i = 0; i < 3; i++)
			if (i != round)
				next_event(&x, x.c.context, WEFT_EVENT_QP_LAST_WQE, c[i]);
		next_event(&x, x.p.b.context, WEFT_EVENT_QP_LAST_WQE, b);
		no_event(&x, &x.c);
		no_event(&x, &x.p.b);
		for (i = 0; i < 3; i++)
			FIX_CHECK(&x, i == round || weft_destroy_qp(c[i]) == 0);
		FIX_CHECK(&x, weft_close_xrcd(xd) == 0);
		FIX_CHECK(&x, weft_destroy_qp(b) == 0);
		FIX_CHECK(&x, !weft_open_qp(x.xc, qpn, NULL) && errno == EINVAL);
		xrc_close(&x);
	}
}

/* No such SRQ in the domain: both ends of the connection fail, and every process gets an event. */
static void wrong_srq(void)
{
	struct post what = {.opcode = WEFT_WR_SEND, .wr_id = 5, .bytes = 10};
	struct weft_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct weft_srq *plain, *elsewhere;
	struct weft_xrcd *own;
	struct weft_qp *opened;
	struct xrc x;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		struct weft_srq none = {.srqn = 0}, wild = {.srqn = 0xffffffff};
		const struct weft_srq *name;

		xrc_open(&x, 1 + i);
		opened = weft_open_qp(x.xc, x.recv->qpn, NULL);
		own = weft_open_xrcd(x.c.context, -1, O_CREAT);
		plain = weft_create_srq(x.c.pd, &attr);
		FIX_REQUIRE(&x, opened && own && plain && plain->srqn == 0);
		elsewhere = weft_create_xrc_srq(x.c.pd, own, x.c.cq, &attr);
		FIX_REQUIRE(&x, elsewhere);
		none.srqn = plain->handle + 1; /* its number if it were an XRC one */
		name = i == 0 ? elsewhere : i == 1 ? &none : &wild;
		if (i == 3) {
			FIX_REQUIRE(&x, weft_destroy_srq(x.sc) == 0);
			name = &wild;
		}
		request(&x, name, &x.c, &what);
		expect(&x.p, &x.p.a, 5, WEFT_WC_REM_INV_REQ_ERR);
		next_event(&x, x.p.b.context, WEFT_EVENT_QP_LAST_WQE, x.recv);
		next_event(&x, x.p.b.context, WEFT_EVENT_QP_REQ_ERR, x.recv);
		next_event(&x, x.c.context, WEFT_EVENT_QP_LAST_WQE, opened);
		next_event(&x, x.c.context, WEFT_EVENT_QP_REQ_ERR, opened);
		FIX_CHECK(&x, sim_nic_stat(x.p.nb, "drop_xrc_srq") > 0);
		xrc_close(&x);
	}
}

/* Destroying an SRQ removes its CQ's entries; a half-received message fails at its sender. */
static void srq_goes(void)
{
	struct post what = {.opcode = WEFT_WR_SEND, .wr_id = 5, .bytes = SLOT};
	struct weft_wc wc;
	struct xrc x;
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		xrc_open(&x, seed);
		FIX_CHECK(&x, weft_destroy_cq(x.c.cq) == -EBUSY);
		receive(&x, x.sc, &x.c, 0);
		receive(&x, x.sc, &x.c, 1);
		request(&x, x.sc, &x.c, &what);
		expect(&x.p, &x.p.a, 5, WEFT_WC_SUCCESS);
		request(&x, x.sc, &x.c, &what);
		sim_run_for(x.sim, seed * 1000);
		FIX_REQUIRE(&x, weft_destroy_srq(x.sc) == 0);
		FIX_CHECK(&x, weft_poll_cq(x.c.cq, 1, &wc) == 0);
		FIX_REQUIRE(&x, sim_end_wait(&x.p.a, &wc, 1, FIX_LIMIT_NS) == 1);
		FIX_CHECK(&x, wc.status == WEFT_WC_SUCCESS || wc.status == WEFT_WC_REM_INV_REQ_ERR);
		FIX_CHECK(&x, weft_poll_cq(x.c.cq, 1, &wc) == 0);
		xrc_close(&x);
	}
}

static void domains(void)
{
	struct weft_qp_init_attr recv = {.type = WEFT_QPT_XRC_RECV};
	struct weft_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct weft_xrcd *d[2];
	struct xrc x;
	int file;

	xrc_open(&x, 1);
	file = open(tmp_root(), O_TMPFILE | O_RDWR, 0600);
	FIX_REQUIRE(&x, file >= 0);
	FIX_CHECK(&x, !weft_open_xrcd(x.c.context, file, 0) && errno == EAGAIN);
	FIX_CHECK(&x, !weft_open_xrcd(x.c.context, x.file, O_CREAT | O_EXCL) && errno == EINVAL);
	FIX_CHECK(&x, !weft_open_xrcd(x.c.context, 1000000, O_CREAT) && errno == EBADF);
	d[0] = weft_open_xrcd(x.c.context, file, O_CREAT);
	d[1] = weft_open_xrcd(x.c.context, file, O_CREAT);
	FIX_REQUIRE(&x, d[0] && d[1]);
	FIX_CHECK(&x, weft_close_xrcd(d[0]) == 0);
	FIX_CHECK(&x, weft_close_xrcd(d[1]) == 0);
	FIX_CHECK(&x, !weft_open_xrcd(x.p.b.context, file, 0) && errno == EAGAIN);
	/* of another context, of none */
	FIX_CHECK(&x, !weft_create_xrc_srq(x.c.pd, x.xb, x.c.cq, &attr) && errno == EINVAL);
	FIX_CHECK(&x, !weft_create_xrc_srq(x.c.pd, x.xc, x.p.b.cq, &attr) && errno == EINVAL);
	FIX_CHECK(&x, !weft_create_xrc_srq(x.c.pd, NULL, x.c.cq, &attr) && errno == EINVAL);
	FIX_CHECK(&x, !weft_create_qp(NULL, &recv) && errno == EINVAL);
	/* nothing is posted to a receiving end */
	FIX_CHECK(&x, weft_post_recv(x.recv, &(struct weft_recv_wr){0}, NULL) == -EINVAL);
	FIX_CHECK(&x, weft_post_send(x.recv, &(struct weft_send_wr){0}, NULL) == -EINVAL);
	close(file);
	xrc_close(&x);
}

/* Messages to a sending end fail, although the two are connected. */
static void sending_end(void)
{
	struct weft_qp_init_attr init = {.type = WEFT_QPT_XRC_SEND,
					 .cap = {.max_send_wr = 4, .max_send_sge = 2}};
	struct post what = {.wr_id = 3, .bytes = 10};
	struct weft_qp *at_b;
	struct xrc x;

	xrc_open(&x, 1);
	init.send_cq = init.recv_cq = x.p.a.cq;
	x.send = weft_create_qp(x.p.a.pd, &init);
	init.send_cq = init.recv_cq = x.p.b.cq;
	at_b = weft_create_qp(x.p.b.pd, &init);
	FIX_REQUIRE(&x, x.send && at_b);
	connect_send(&x, x.send, at_b->qpn, x.p.nb, 1, 2);
	connect_send(&x, at_b, x.send->qpn, x.p.na, 2, 1);
	request(&x, x.sb, &x.p.b, &what);
	expect(&x.p, &x.p.a, 3, WEFT_WC_REM_INV_REQ_ERR);
	FIX_CHECK(&x, sim_nic_stat(x.p.nb, "drop_xrc_srq") == 1);
	/* and it has no receives */
	init.cap.max_recv_wr = 1;
	FIX_CHECK(&x, !weft_create_qp(x.p.b.pd, &init) && errno == EINVAL);
	xrc_close(&x);
}

UT_MAIN("sim/xrc", UT(two_srqs), UT(operations), UT(maker_leaves), UT(handles), UT(wrong_srq),
	UT(srq_goes), UT(domains), UT(sending_end))
