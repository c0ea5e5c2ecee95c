/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events and errors of libibverbs: asynchronous events, the death of weftd, and refused calls.
 *
 *	events A B	every event that a program can cause
 *	port A		PORT_ERR, then PORT_ACTIVE, which the script causes
 *	dies A B HOW	waits for the end of weftd: in ibv_get_cq_event() (HOW is sleep), or polling
 *	domain A HAS	opens an XRC domain of /dev/null twice, in two contexts: EXDEV the second
 *			time where the two are in different shards (HAS is apart)
 *	refused A	calls that are not supported, and wrong arguments: errno
 *	spins A		polls an empty queue until it is killed
 *
 * A and B are devices. Built with verbs_ends.c and run by tests/int/verbs_events.sh and
 * tests/clients/spinners.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/clients/verbs_ends.h"
#include "tests/tmp.h"

#define FAILS(call, err) CHECK((errno = 0, (call) == NULL) && errno == (err))

static struct end end[2];

/* An event that never comes ends the program. */
static struct ibv_async_event next_event(struct ibv_context *ctx)
{
	struct ibv_async_event event;

	alarm(LIMIT_S);
	CHECK(ibv_get_async_event(ctx, &event) == 0);
	alarm(0);
	printf("%s\n", ibv_event_type_str(event.event_type));
	return event;
}

/* Checks that no event waits: EAGAIN where the descriptor does not block. */
static void no_event(struct ibv_context *ctx)
{
	struct ibv_async_event event;
	int flags = fcntl(ctx->async_fd, F_GETFL);

	CHECK(fcntl(ctx->async_fd, F_SETFL, flags | O_NONBLOCK) == 0);
	CHECK(ibv_get_async_event(ctx, &event) == -1 && errno == EAGAIN);
	CHECK(fcntl(ctx->async_fd, F_SETFL, flags) == 0);
}

/* Waits for one completion. */
static struct ibv_wc done(struct end *e)
{
	struct ibv_wc wc;

	alarm(LIMIT_S);
	while (end_poll(e, 1, &wc) == 0)
		;
	alarm(0);
	return wc;
}

static void drain(struct end *e)
{
	struct ibv_wc wc;

	while (end_poll(e, 1, &wc))
		;
}

static struct ibv_sge part(struct end *e, uint32_t bytes)
{
	return (struct ibv_sge){(uintptr_t)e->region[0].mem, bytes, e->region[0].mr->lkey};
}

static void receive(struct end *e, struct ibv_qp *qp, struct ibv_srq *srq, uint32_t bytes)
{
	struct ibv_sge sge = part(e, bytes);
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK((qp ? ibv_post_recv(qp, &wr, &bad) : ibv_post_srq_recv(srq, &wr, &bad)) == 0);
}

static void send_to(struct end *e, struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t bytes,
		    uint32_t rkey)
{
	struct ibv_sge sge = part(e, bytes);
	struct ibv_send_wr wr = {.wr_id = 2,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)end[1].region[0].mem, rkey}};
	struct ibv_send_wr *bad;

	CHECK(ibv_post_send(qp, &wr, &bad) == 0);
}

static void set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state, .en_sqd_async_notify = 1};

	CHECK(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE |
				(state == IBV_QPS_SQD ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0)) == 0);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct ibv_qp *doomed;
static int destroyed; /* atomic */

static void *destroy(void *arg)
{
	CHECK(ibv_destroy_qp(doomed) == 0);
	__atomic_store_n(&destroyed, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/* A QP of an SRQ goes to error; until its event is acknowledged it cannot be destroyed. */
static void last_wqe(void)
{
	struct lane lane = {.type = IBV_QPT_RC, .srq = true};
	struct ibv_async_event event;
	pthread_t thread;

	lane_open(&lane, end, 1);
	set_state(lane.qp[1], IBV_QPS_ERR);
	event = next_event(end[1].ctx);
	CHECK(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == lane.qp[1]);
	doomed = lane.qp[1];
	CHECK(pthread_create(&thread, NULL, destroy, NULL) == 0);
	usleep(50000);
	CHECK(!__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST));
	ibv_ack_async_event(&event);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(ibv_destroy_qp(lane.qp[0]) == 0);
	no_event(end[1].ctx);
}

/* A peer's Write with a wrong key, a peer's Send that is longer than the receive. */
static void wrong_requests(void)
{
	static const enum ibv_event_type types[] = {IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_REQ_ERR};
	struct ibv_async_event event;

	for (int i = 0; i < 2; i++) {
		struct lane lane = {.type = IBV_QPT_RC};

		lane_open(&lane, end, 1);
		if (i == 1)
			receive(&end[1], lane.qp[1], NULL, 10);
		send_to(&end[0], lane.qp[0], i ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 100,
			end[1].region[0].mr->rkey ^ 0x55);
		event = next_event(end[1].ctx);
		CHECK(event.event_type == types[i] && event.element.qp == lane.qp[1]);
		ibv_ack_async_event(&event);
		CHECK(done(&end[0]).status == (i ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_ACCESS_ERR));
		drain(&end[1]);
		lane_close(&lane);
		no_event(end[1].ctx);
	}
}

/*
 * More completions than the CQ holds: an event of the CQ, and one of the QP that lost a completion.
 */
static void overrun(void)
{
	struct lane lane = {.type = IBV_QPT_RC};
	struct ibv_async_event event;
	struct end small = end[1];
	bool cq = false, qp = false;

	CHECK((small.cq = ibv_create_cq(small.ctx, 4, NULL, NULL, 0)));
	lane_open(&lane, (struct end[2]){end[0], small}, 1);
	for (int i = 0; i <= small.cq->cqe; i++)
		receive(&small, lane.qp[1], NULL, 100);
	for (int i = 0; i <= small.cq->cqe; i++)
		send_to(&end[0], lane.qp[0], IBV_WR_SEND, 100, 0);
	for (int i = 0; i < 2; i++) {
		event = next_event(small.ctx);
		if (event.event_type == IBV_EVENT_CQ_ERR)
			cq = event.element.cq == small.cq;
		else if (event.event_type == IBV_EVENT_QP_FATAL)
			qp = event.element.qp == lane.qp[1];
		ibv_ack_async_event(&event);
	}
	CHECK(cq && qp);
	drain(&end[0]);
	lane_close(&lane);
	CHECK(ibv_destroy_cq(small.cq) == 0);
	no_event(small.ctx);
}

/* Below the limit one event comes, once. */
static void srq_limit(void)
{
	struct lane lane = {.type = IBV_QPT_RC, .srq = true};
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct ibv_async_event event;

	lane_open(&lane, end, 1);
	for (int i = 0; i < 3; i++)
		receive(&end[1], NULL, end[1].srq, 100);
	CHECK(ibv_modify_srq(end[1].srq, &attr, IBV_SRQ_LIMIT) == 0);
	send_to(&end[0], lane.qp[0], IBV_WR_SEND, 10, 0);
	CHECK(done(&end[1]).status == IBV_WC_SUCCESS);
	no_event(end[1].ctx);
	send_to(&end[0], lane.qp[0], IBV_WR_SEND, 10, 0);
	event = next_event(end[1].ctx);
	CHECK(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == end[1].srq);
	ibv_ack_async_event(&event);
	CHECK(done(&end[1]).status == IBV_WC_SUCCESS);
	CHECK(ibv_query_srq(end[1].srq, &attr) == 0 && attr.srq_limit == 0);
	send_to(&end[0], lane.qp[0], IBV_WR_SEND, 10, 0);
	CHECK(done(&end[1]).status == IBV_WC_SUCCESS);
	for (int i = 0; i < 3; i++)
		CHECK(done(&end[0]).status == IBV_WC_SUCCESS);
	no_event(end[1].ctx);
	lane_close(&lane);
}

static void drained(void)
{
	struct lane lane = {.type = IBV_QPT_RC};
	struct ibv_async_event event;

	lane_open(&lane, end, 1);
	set_state(lane.qp[0], IBV_QPS_SQD);
	event = next_event(end[0].ctx);
	CHECK(event.event_type == IBV_EVENT_SQ_DRAINED && event.element.qp == lane.qp[0]);
	ibv_ack_async_event(&event);
	lane_close(&lane);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
	CHECK(init.qp_type == IBV_QPT_XRC_RECV);
	return attr.qp_state;
}

/* The receiving end of an extended connection in two contexts, as two processes have it. */
static void opened(void)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_xrcd_init_attr attr = {.comp_mask =
					      IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = open(tmp_root(), O_TMPFILE | O_RDWR, 0600),
					  .oflags = O_CREAT};
	struct ibv_qp_init_attr_ex recv = {.qp_type = IBV_QPT_XRC_RECV,
					   .comp_mask = IBV_QP_INIT_ATTR_XRCD};
	struct ibv_qp_open_attr open = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						     IBV_QP_OPEN_ATTR_TYPE |
						     IBV_QP_OPEN_ATTR_CONTEXT,
					.qp_context = end,
					.qp_type = IBV_QPT_XRC_RECV};
	struct ibv_context *ctx[2] = {end[0].ctx, ibv_open_device(end[0].ctx->device)};
	struct ibv_async_event event;
	struct ibv_xrcd *xrcd[2];
	struct ibv_qp *qp[2];

	CHECK(ctx[1] && attr.fd >= 0);
	for (int i = 0; i < 2; i++)
		CHECK((xrcd[i] = ibv_open_xrcd(ctx[i], &attr)));
	recv.xrcd = xrcd[0];
	CHECK((qp[0] = ibv_create_qp_ex(ctx[0], &recv)));
	open.xrcd = xrcd[1];
	open.qp_num = qp[0]->qp_num + 1;
	FAILS(ibv_open_qp(ctx[1], &open), EINVAL);
	open.qp_num = qp[0]->qp_num;
	CHECK((qp[1] = ibv_open_qp(ctx[1], &open)));
	CHECK(qp[1]->qp_num == qp[0]->qp_num && qp[1]->qp_context == end);
	CHECK(ibv_modify_qp(qp[1], &init,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	      0);
	CHECK(state_of(qp[0]) == IBV_QPS_INIT);
	set_state(qp[0], IBV_QPS_ERR);
	for (int i = 0; i < 2; i++) {
		event = next_event(ctx[i]);
		CHECK(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED &&
		      event.element.qp == qp[i]);
		ibv_ack_async_event(&event);
		CHECK(ibv_close_xrcd(xrcd[i]) == EBUSY);
	}
	CHECK(ibv_destroy_qp(qp[0]) == 0 && ibv_close_xrcd(xrcd[0]) == 0);
	CHECK(state_of(qp[1]) == IBV_QPS_ERR);
	CHECK(ibv_destroy_qp(qp[1]) == 0);
	FAILS(ibv_open_qp(ctx[1], &open), EINVAL);
	CHECK(ibv_close_xrcd(xrcd[1]) == 0 && ibv_close_device(ctx[1]) == 0);
	close(attr.fd);
}

/* Contexts are given to shards in turn; a domain belongs to one shard. */
static void domain(const char *device, bool apart)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask =
					      IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = open("/dev/null", O_RDONLY),
					  .oflags = O_CREAT};
	struct ibv_context *ctx[2];
	struct ibv_xrcd *xrcd[2];

	end_open(&end[0], device, 1, false);
	ctx[0] = end[0].ctx;
	CHECK((ctx[1] = ibv_open_device(ctx[0]->device)));
	CHECK((xrcd[0] = ibv_open_xrcd(ctx[0], &attr)));
	for (int i = 0; apart && i < 3; i++) {
		FAILS(ibv_open_xrcd(ctx[1], &attr), EXDEV);
		attr.oflags = i ? 0 : O_CREAT | O_EXCL;
	}
	/* Free for the other shard, when no process has it open. */
	CHECK(!apart || ibv_close_xrcd(xrcd[0]) == 0);
	attr.oflags = O_CREAT;
	CHECK((xrcd[1] = ibv_open_xrcd(ctx[1], &attr)));
	if (apart) {
		FAILS(ibv_open_xrcd(ctx[0], &attr), EXDEV);
		/* Its process's end frees it, too. */
		CHECK(ibv_close_device(ctx[1]) == 0);
		for (int i = 0; i < LIMIT_S * 1000 && !(xrcd[0] = ibv_open_xrcd(ctx[0], &attr));
		     i++)
			usleep(1000);
		CHECK(xrcd[0] && ibv_close_xrcd(xrcd[0]) == 0);
	} else {
		CHECK(ibv_close_xrcd(xrcd[0]) == 0 && ibv_close_xrcd(xrcd[1]) == 0);
		CHECK(ibv_close_device(ctx[1]) == 0);
	}
	close(attr.fd);
	end_close(&end[0]);
}

static void events(char **device)
{
	for (int i = 0; i < 2; i++)
		end_open(&end[i], device[i], 1, false);
	no_event(end[0].ctx);
	last_wqe();
	wrong_requests();
	overrun();
	srq_limit();
	drained();
	opened();
	for (int i = 0; i < 2; i++)
		end_close(&end[i]);
}

static void port(const char *device)
{
	static const enum ibv_event_type types[] = {IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE};
	static const enum ibv_port_state states[] = {IBV_PORT_DOWN, IBV_PORT_ACTIVE};
	struct ibv_async_event event;
	struct ibv_port_attr attr;

	end_open(&end[0], device, 1, false);
	CHECK(ibv_query_port(end[0].ctx, 1, &attr) == 0 && attr.state == IBV_PORT_ACTIVE);
	puts("waiting");
	for (int i = 0; i < 2; i++) {
		event = next_event(end[0].ctx);
		CHECK(event.event_type == types[i] && event.element.port_num == 1);
		ibv_ack_async_event(&event);
		CHECK(ibv_query_port(end[0].ctx, 1, &attr) == 0 && attr.state == states[i]);
	}
	end_close(&end[0]);
}

/* ---- the death of weftd ---------------------------------------------------------------------- */

enum {
	POSTED = 8, /* of each kind, to each end */
};

static void *await_fatal(void *arg)
{
	struct end *e = arg;
	struct ibv_async_event event;

	CHECK(ibv_get_async_event(e->ctx, &event) == 0);
	CHECK(event.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	CHECK(ibv_get_async_event(e->ctx, &event) == -1 && errno == EIO);
	return NULL;
}

static void all_refused(struct end *e, struct lane *lane)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = e->cq, .recv_cq = e->cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_sge sge = part(e, 8);
	struct ibv_send_wr send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_device_attr device_attr;
	struct ibv_port_attr port_attr;

	CHECK(ibv_post_send(lane->qp[0], &send, &bad_send) == EIO && bad_send == &send);
	CHECK(ibv_post_recv(lane->qp[0], &recv, &bad_recv) == EIO && bad_recv == &recv);
	CHECK(ibv_post_srq_recv(e->srq, &recv, &bad_recv) == EIO && bad_recv == &recv);
	CHECK(ibv_modify_qp(lane->qp[0], &attr, IBV_QP_STATE) == EIO);
	CHECK(ibv_query_qp(lane->qp[0], &attr, IBV_QP_STATE, &init) == EIO);
	CHECK(ibv_query_port(e->ctx, 1, &port_attr) == EIO);
	CHECK(ibv_query_device(e->ctx, &device_attr) == EIO);
	CHECK(ibv_resize_cq(e->cq, 16) == EIO);
	FAILS(ibv_alloc_pd(e->ctx), EIO);
	FAILS(ibv_reg_mr(e->pd, e->region[0].mem, 4096, 0), EIO);
	FAILS(ibv_create_comp_channel(e->ctx), EIO);
	FAILS(ibv_create_cq(e->ctx, 8, NULL, NULL, 0), EIO);
	FAILS(ibv_create_srq(e->pd, &srq), EIO);
	FAILS(ibv_create_qp(e->pd, &init), EIO);
}

/*
 * Receives at both ends, and Sends without receives at the other end, which therefore never
 * complete by themselves.
 */
static void dies(char **device, const char *how)
{
	bool sleep = strcmp(how, "sleep") == 0;
	struct lane lane = {.type = IBV_QPT_RC}, silent = {.type = IBV_QPT_RC};
	pthread_t thread[2];
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		end_open(&end[i], device[i], 1, false);
	lane_open(&lane, end, 1);
	lane_open(&silent, end, 1);
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_create(&thread[i], NULL, await_fatal, &end[i]) == 0);
		for (int k = 0; k < POSTED; k++) {
			receive(&end[i], lane.qp[i], NULL, 100);
			send_to(&end[i], silent.qp[i], IBV_WR_SEND, 100, 0);
		}
		end_arm(&end[i]);
	}
	puts("posted");
	for (int i = 0; i < 2; i++) {
		if (sleep)
			end_sleep(&end[i]);
		for (int k = 0; k < 2 * POSTED; k++) {
			wc = done(&end[i]);
			CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
			CHECK(wc.wr_id == 1 || wc.wr_id == 2);
		}
		CHECK(end_poll(&end[i], 1, &wc) == 0);
		CHECK(pthread_join(thread[i], NULL) == 0);
		all_refused(&end[i], &lane);
	}
	lane_close(&lane);
	lane_close(&silent);
	for (int i = 0; i < 2; i++)
		end_close(&end[i]);
	puts("flushed");
}

/* ---- refused calls */

static void refused_objects(struct end *e)
{
	struct ibv_qp_init_attr raw = {.send_cq = e->cq,
				       .recv_cq = e->cq,
				       .cap = {1, 1, 1, 1, 0},
				       .qp_type = IBV_QPT_RAW_PACKET};
	struct ibv_qp_init_attr rc = raw;
	struct ibv_srq_init_attr_ex tm = {.attr = {1, 1, 0},
					  .comp_mask = IBV_SRQ_INIT_ATTR_TYPE |
						       IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TM,
					  .srq_type = IBV_SRQT_TM,
					  .pd = e->pd};
	struct ibv_wq_init_attr wq = {0};
	struct ibv_rwq_ind_table_init_attr table = {0};
	struct ibv_counters_init_attr counters = {0};
	struct ibv_td_init_attr td = {0};
	struct ibv_parent_domain_init_attr parent = {0};
	struct ibv_alloc_dm_attr dm = {.length = 64};

	FAILS(ibv_create_qp(e->pd, &raw), EOPNOTSUPP);
	FAILS(ibv_create_srq_ex(e->ctx, &tm), EOPNOTSUPP);
	FAILS(ibv_create_wq(e->ctx, &wq), EOPNOTSUPP);
	FAILS(ibv_create_rwq_ind_table(e->ctx, &table), EOPNOTSUPP);
	FAILS(ibv_create_counters(e->ctx, &counters), EOPNOTSUPP);
	FAILS(ibv_alloc_td(e->ctx, &td), EOPNOTSUPP);
	FAILS(ibv_alloc_parent_domain(e->ctx, &parent), EOPNOTSUPP);
	FAILS(ibv_alloc_dm(e->ctx, &dm), EOPNOTSUPP);
	FAILS(ibv_alloc_null_mr(e->pd), EOPNOTSUPP);
	FAILS(ibv_reg_dmabuf_mr(e->pd, 0, 4096, 0, 0, 0), EOPNOTSUPP);
	FAILS(ibv_import_device(0), EOPNOTSUPP);
	rc.qp_type = IBV_QPT_RC;
	rc.send_cq = NULL;
	FAILS(ibv_create_qp(e->pd, &rc), EINVAL);
	rc.send_cq = e->cq;
	rc.cap.max_send_wr = 1 << 30;
	FAILS(ibv_create_qp(e->pd, &rc), EINVAL);
	rc.cap.max_send_wr = 1;
}

static void refused_arguments(struct end *e)
{
	struct ibv_ah_attr ah = {.port_num = 2};
	struct ibv_device_attr_ex attr_ex;
	struct ibv_query_device_ex_input input = {.comp_mask = 1};
	struct ibv_srq_attr resize = {.max_wr = 256};
	struct ibv_modify_cq_attr moderation = {.attr_mask = 1 << 5};
	struct ibv_cq_init_attr_ex cq = {.cqe = 8, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG};
	struct ibv_xrcd_init_attr xrcd = {.comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1};
	struct ibv_port_attr port_attr;
	union ibv_gid gid;
	uint16_t pkey;

	FAILS(ibv_create_cq(e->ctx, 0, NULL, NULL, 0), EINVAL);
	FAILS(ibv_create_cq(e->ctx, 1 << 30, NULL, NULL, 0), EINVAL);
	FAILS(ibv_create_cq(e->ctx, 8, NULL, NULL, 1 << 20), EINVAL);
	FAILS(ibv_create_cq_ex(e->ctx, &cq), EOPNOTSUPP);
	FAILS(ibv_create_ah(e->pd, &ah), EINVAL);
	FAILS(ibv_open_xrcd(e->ctx, &xrcd), EINVAL);
	FAILS(ibv_reg_mr(e->pd, e->region[0].mem, 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	FAILS(ibv_reg_mr(e->pd, e->region[0].mem, 4096, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
	CHECK(ibv_query_port(e->ctx, 2, &port_attr) == EINVAL);
	CHECK(ibv_query_gid(e->ctx, 1, 99, &gid) == -1 && errno == EINVAL);
	CHECK(ibv_query_pkey(e->ctx, 1, 1, &pkey) == -1 && errno == EINVAL);
	CHECK(ibv_query_device_ex(e->ctx, &input, &attr_ex) == EINVAL);
	CHECK(ibv_modify_srq(e->srq, &resize, IBV_SRQ_MAX_WR) == EOPNOTSUPP);
	CHECK(ibv_modify_cq(e->cq, &moderation) == EINVAL);
	CHECK(ibv_resize_cq(e->cq, 0) == EINVAL);
	CHECK(ibv_advise_mr(e->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0) == EOPNOTSUPP);
}

static void refused_of_qp(struct end *e)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = e->cq, .recv_cq = e->cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .alt_port_num = 1};
	union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct ibv_sge sge[2] = {part(e, 8), part(e, 8)};
	struct ibv_recv_wr recv = {.sg_list = sge, .num_sge = 2}, *bad_recv;
	struct ibv_send_wr send = {.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;
	struct ibv_flow_attr flow = {0};
	struct ibv_qp *qp = ibv_create_qp(e->pd, &init);

	CHECK(qp);
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == EINVAL); /* RESET to RTS */
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_RATE_LIMIT) == EOPNOTSUPP);
	FAILS(ibv_create_flow(qp, &flow), EOPNOTSUPP);
	CHECK(ibv_attach_mcast(qp, &group, 0) == EINVAL);
	CHECK(ibv_post_send(qp, &send, &bad_send) == EINVAL && bad_send == &send);
	CHECK(ibv_post_recv(qp, &recv, &bad_recv) == EINVAL && bad_recv == &recv);
	CHECK(ibv_destroy_cq(e->cq) == EBUSY);
	CHECK(ibv_dealloc_pd(e->pd) == EBUSY);
	CHECK(ibv_destroy_comp_channel(e->channel) == EBUSY);
	CHECK(ibv_destroy_qp(qp) == 0);
}

static void refused(const char *device)
{
	end_open(&end[0], device, 1, false);
	refused_objects(&end[0]);
	refused_arguments(&end[0]);
	refused_of_qp(&end[0]);
	end_close(&end[0]);
}

/* Waits as programs do for an event that never comes. */
static void spins(const char *device)
{
	struct ibv_wc wc;

	end_open(&end[0], device, 1, false);
	puts("spinning");
	for (;;)
		CHECK(ibv_poll_cq(end[0].cq, 1, &wc) == 0);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && strcmp(argv[1], "events") == 0)
		events(argv + 2);
	else if (argc == 3 && strcmp(argv[1], "port") == 0)
		port(argv[2]);
	else if (argc == 5 && strcmp(argv[1], "dies") == 0)
		dies(argv + 2, argv[4]);
	else if (argc == 4 && strcmp(argv[1], "domain") == 0)
		domain(argv[2], strcmp(argv[3], "apart") == 0);
	else if (argc == 3 && strcmp(argv[1], "refused") == 0)
		refused(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "spins") == 0)
		spins(argv[2]);
	else
		return 2;
	return 0;
}
