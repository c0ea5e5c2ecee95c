/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of librdmacm and libibverbs that moves data over an RC connection and checks every
 * byte: weft's end with weft-run, siw's end in its guest; the other end is another rc_peer or
 * mpa_sock.c. peer.h has their protocol.
 *
 * rc_peer --help lists the options. All runs with --misdeed expect the connection to end and the QP
 * to be in error. Both sides get --size, the active one all other options. Exit codes: 0, 1 wrong,
 * 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "tests/interop/peer.h"

enum {
	RECVS = 2 * PEER_WINDOW,
	SENDS = 4 * PEER_WINDOW,
	READS = 4, /* in flight */
	WR_RECV = 1 << 16,
	WR_READ = 1 << 17,
};

struct rc {
	struct peer p;
	bool victim, read_victim, bad_write, bad_read;
	struct peer_hello hello;

	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *listener;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	uint8_t *mem; /* sink's slots, source's slots, notes, receives */
	uint8_t *notes, *recvs;
	struct ibv_mr *mr;

	bool disconnected;
	bool failed;                    /* a request with a result of its own */
	enum ibv_wc_status read_status; /* of a Read that failed */
	bool flushed;                   /* a Read that the end of the connection flushed */
	uint32_t posted, completed;     /* work requests sent */
	uint32_t next_note;
};

/* ---- requests */

static void post_recv(struct rc *rc, uint32_t slot)
{
	struct ibv_sge sge = {.addr = (uintptr_t)(rc->recvs + (size_t)slot * rc->p.stride),
			      .length = rc->p.stride,
			      .lkey = rc->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = WR_RECV | slot, .sg_list = &sge, .num_sge = 1}, *bad;

	errno = ibv_post_recv(rc->id->qp, &wr, &bad);
	CHECK(!errno, "ibv_post_recv");
}

static void post(struct rc *rc, enum ibv_wr_opcode opcode, void *from, uint32_t bytes,
		 uint64_t remote, uint32_t stag, uint64_t wr_id)
{
	struct ibv_sge sge = {.addr = (uintptr_t)from, .length = bytes, .lkey = rc->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .sg_list = &sge,
				 .num_sge = bytes ? 1 : 0,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	wr.wr.rdma.remote_addr = remote;
	wr.wr.rdma.rkey = stag;
	errno = ibv_post_send(rc->id->qp, &wr, &bad);
	CHECK(!errno, "ibv_post_send");
	rc->posted++;
}

static void send_note(struct rc *rc, enum peer_kind kind, uint32_t number)
{
	struct peer_note note = peer_note(kind, number);
	uint8_t *at = rc->notes + rc->next_note * sizeof(note);

	rc->next_note = (rc->next_note + 1) % SENDS;
	memcpy(at, &note, sizeof(note));
	post(rc, IBV_WR_SEND, at, sizeof(note), 0, 0, 0);
}

static bool has_room(const struct rc *rc, uint32_t requests)
{
	return rc->posted - rc->completed + requests <= SENDS;
}

static void tell(struct rc *rc)
{
	if (!peer_due(&rc->p) || !has_room(rc, 1))
		return;
	rc->p.told = rc->p.received;
	send_note(rc, PEER_NOTE_ACK, rc->p.told);
}

static void produce(struct rc *rc)
{
	while (rc->p.sent < rc->p.count && rc->p.sent - rc->p.acked < PEER_WINDOW &&
	       has_room(rc, 3)) {
		uint32_t slot = rc->p.sent % PEER_SLOTS;
		uint8_t *from = rc->p.source + (size_t)slot * rc->p.stride;

		if (!rc->p.quick)
			peer_fill(&rc->p, from, rc->p.sent);
		if (rc->p.op == PEER_WRITE) {
			post(rc, IBV_WR_RDMA_WRITE, from, rc->p.bytes,
			     rc->p.peer_addr + (uint64_t)slot * rc->p.stride, rc->p.peer_stag, 0);
			send_note(rc, PEER_NOTE_DATA, rc->p.sent);
		} else {
			post(rc, IBV_WR_SEND, from, rc->p.bytes, 0, 0, 0);
		}
		rc->p.sent++;
	}
}

static void read_on(struct rc *rc)
{
	while (rc->p.reads < rc->p.count && rc->p.reads - rc->p.received < READS &&
	       has_room(rc, 2)) {
		uint32_t slot = rc->p.reads % PEER_SLOTS;

		post(rc, IBV_WR_RDMA_READ, rc->p.sink + (size_t)slot * rc->p.stride, rc->p.bytes,
		     rc->p.peer_addr + (uint64_t)slot * rc->p.stride, rc->p.peer_stag,
		     WR_READ | rc->p.reads);
		rc->p.reads++;
	}
}

/* ---- completions */

static void complete(struct rc *rc, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id & 0xffff;

	if (wc->status != IBV_WC_SUCCESS && wc->wr_id & WR_READ)
		rc->read_status = wc->status;
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		rc->flushed = true;
	} else if (wc->status != IBV_WC_SUCCESS) {
		fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
		rc->failed = true;
	} else if (wc->wr_id & WR_RECV) {
		peer_take(&rc->p, rc->recvs + (size_t)slot * rc->p.stride, wc->byte_len);
		post_recv(rc, slot);
	} else if (wc->wr_id & WR_READ) {
		peer_check_data(&rc->p,
				rc->p.sink + (size_t)(rc->p.received % PEER_SLOTS) * rc->p.stride,
				wc->byte_len, rc->p.received % PEER_SLOTS);
	}
	if (!(wc->wr_id & WR_RECV))
		rc->completed++;
}

/* ---- the connection */

static struct rdma_cm_event *next_event(struct rc *rc, int timeout_ms)
{
	struct pollfd wait = {.fd = rc->channel->fd, .events = POLLIN};
	uint64_t until = clock_now_ms() + (uint64_t)timeout_ms;
	struct rdma_cm_event *event;

	do {
		(void)poll(&wait, 1, timeout_ms);
		if (!rdma_get_cm_event(rc->channel, &event))
			return event;
	} while (clock_now_ms() < until);
	return NULL;
}

static struct rdma_cm_event *expect(struct rc *rc, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next_event(rc, PEER_LIMIT_S * 1000);

	CHECK(event, rdma_event_str(type));
	if (event->event == type)
		return event;
	errno = 0;
	fprintf(stderr, "rc_peer: %s (%d), not %s\n", rdma_event_str(event->event), event->status,
		rdma_event_str(type));
	exit(1);
}

static void expect_and_ack(struct rc *rc, enum rdma_cm_event_type type)
{
	rdma_ack_cm_event(expect(rc, type));
}

static void make_qp(struct rc *rc)
{
	size_t slots = (size_t)PEER_SLOTS * rc->p.stride;
	size_t bytes = 2 * slots + SENDS * sizeof(struct peer_note) + (size_t)RECVS * rc->p.stride;
	struct ibv_qp_init_attr attr = {
	    .qp_type = IBV_QPT_RC,
	    .cap = {
		.max_send_wr = SENDS, .max_recv_wr = RECVS, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_pd *pd = ibv_alloc_pd(rc->id->verbs);

	CHECK(pd, "ibv_alloc_pd");
	rc->completions = ibv_create_comp_channel(rc->id->verbs);
	CHECK(rc->completions, "ibv_create_comp_channel");
	fcntl(rc->completions->fd, F_SETFL, O_NONBLOCK);
	rc->cq = ibv_create_cq(rc->id->verbs, SENDS + RECVS, NULL, rc->completions, 0);
	CHECK(rc->cq, "ibv_create_cq");
	CHECK(!posix_memalign((void **)&rc->mem, 4096, bytes), "memory");
	memset(rc->mem, 0, bytes);
	rc->p.sink = rc->mem;
	rc->p.source = rc->p.sink + slots;
	rc->recvs = rc->p.source + slots;
	rc->notes = rc->recvs + (size_t)RECVS * rc->p.stride;
	rc->mr =
	    ibv_reg_mr(pd, rc->mem, bytes,
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(rc->mr, "ibv_reg_mr");
	attr.send_cq = attr.recv_cq = rc->cq;
	CHECK(!rdma_create_qp(rc->id, pd, &attr), "rdma_create_qp");
	for (uint32_t i = 0; i < RECVS; i++)
		post_recv(rc, i);
	for (uint32_t i = 0; i < PEER_SLOTS; i++)
		peer_fill(&rc->p, rc->p.source + (size_t)i * rc->p.stride, i);
}

static void meet(struct rc *rc, const struct rdma_conn_param *param)
{
	errno = 0;
	peer_meet(&rc->p, param->private_data, param->private_data_len);
}

static struct rdma_conn_param my_param(struct rc *rc)
{
	/* Reads are from the source's buffer, Writes to the sink's. */
	uint8_t *buffer = rc->p.op == PEER_READ ? rc->p.source : rc->p.sink;

	rc->hello = peer_hello(&rc->p, rc->mr->rkey, (uintptr_t)buffer);
	return (struct rdma_conn_param){.private_data = &rc->hello,
					.private_data_len = sizeof(rc->hello),
					.responder_resources = READS,
					.initiator_depth = READS,
					.retry_count = 7,
					.rnr_retry_count = 7};
}

static void listen_on(struct rc *rc, struct sockaddr_in *addr)
{
	struct rdma_conn_param param;
	struct rdma_cm_event *event;

	CHECK(!rdma_create_id(rc->channel, &rc->listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	CHECK(!rdma_bind_addr(rc->listener, (struct sockaddr *)addr), "rdma_bind_addr");
	CHECK(!rdma_listen(rc->listener, 4), "rdma_listen");
	printf("listening\n");
	fflush(stdout);
	event = expect(rc, RDMA_CM_EVENT_CONNECT_REQUEST);
	rc->id = event->id;
	meet(rc, &event->param.conn);
	rdma_ack_cm_event(event);
	make_qp(rc);
	param = my_param(rc);
	CHECK(!rdma_accept(rc->id, &param), "rdma_accept");
	expect_and_ack(rc, RDMA_CM_EVENT_ESTABLISHED);
}

static void connect_to(struct rc *rc, struct sockaddr_in *addr)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(rc->p.own_port)};
	struct rdma_conn_param param;
	struct rdma_cm_event *event;

	CHECK(!rdma_create_id(rc->channel, &rc->id, NULL, RDMA_PS_TCP), "rdma_create_id");
	if (rc->p.own_port)
		CHECK(!rdma_bind_addr(rc->id, (struct sockaddr *)&own), "rdma_bind_addr");
	CHECK(!rdma_resolve_addr(rc->id, NULL, (struct sockaddr *)addr, 5000), "rdma_resolve_addr");
	expect_and_ack(rc, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(rc->id, 5000), "rdma_resolve_route");
	expect_and_ack(rc, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(rc);
	param = my_param(rc);
	CHECK(!rdma_connect(rc->id, &param), "rdma_connect");
	event = expect(rc, RDMA_CM_EVENT_ESTABLISHED);
	meet(rc, &event->param.conn);
	rdma_ack_cm_event(event);
	usleep(rc->p.wait_ms * 1000);
	send_note(rc, PEER_NOTE_GO, 0);
	rc->p.go = true;
}

/* ---- the run */

static bool all_done(const struct rc *rc)
{
	bool acked = !peer_is_source(&rc->p) || rc->p.acked == rc->p.count;
	bool told = !peer_is_sink(&rc->p) || rc->p.told == rc->p.count;

	return acked && told && (rc->posted == rc->completed || rc->flushed);
}

/* Polls all completions. False: none. */
static bool reap(struct rc *rc)
{
	struct ibv_wc wc[16];
	bool any = false;
	int n;

	do {
		n = ibv_poll_cq(rc->cq, 16, wc);
		CHECK(n >= 0, "ibv_poll_cq");
		for (int i = 0; i < n; i++)
			complete(rc, &wc[i]);
		any |= n > 0;
	} while (n == 16);
	return any;
}

/* Sleeps until something completes or the connection has news: the other end may need the CPU. */
static void idle(struct rc *rc)
{
	struct pollfd wait[] = {{.fd = rc->channel->fd, .events = POLLIN},
				{.fd = rc->completions->fd, .events = POLLIN}};
	struct ibv_cq *cq;
	void *context;

	errno = ibv_req_notify_cq(rc->cq, 0);
	CHECK(!errno, "ibv_req_notify_cq");
	/* Completions before the request for an event are not reported by it. */
	if (reap(rc))
		return;
	(void)poll(wait, 2, 100);
	if (wait[1].revents & POLLIN && !ibv_get_cq_event(rc->completions, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

static void turn(struct rc *rc)
{
	struct rdma_cm_event *event;
	bool any = reap(rc);

	if (!rc->failed && !rc->flushed && !rc->disconnected && rc->p.go) {
		if (peer_is_sink(&rc->p) && rc->p.op == PEER_READ)
			read_on(rc);
		else if (peer_is_source(&rc->p) && rc->p.op != PEER_READ && !rc->bad_read)
			produce(rc); /* siw drops its pending sends when a Read is wrong */
		tell(rc);
	}
	event = next_event(rc, 0);
	if (!event) {
		if (!any)
			idle(rc);
		return;
	}
	errno = 0;
	CHECK(event->event == RDMA_CM_EVENT_DISCONNECTED ||
		  event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT,
	      rdma_event_str(event->event));
	rdma_ack_cm_event(event);
	rc->disconnected = true;
}

static void run(struct rc *rc)
{
	uint64_t start = clock_now_ms(), took;
	bool ended;

	while (!all_done(rc)) {
		errno = 0;
		CHECK(!rc->failed, "a request failed");
		CHECK(clock_now_ms() - start < PEER_LIMIT_S * 1000, "not done in time");
		/* Completions before the end may not have been polled yet. */
		ended = rc->disconnected;
		turn(rc);
		CHECK(!ended || all_done(rc), "the connection ended before its time");
	}
	took = clock_now_ms() - start;
	printf("ok: %u messages of %u bytes in %u ms\n", rc->p.count, rc->p.bytes, (unsigned)took);
	if (peer_ends(&rc->p))
		CHECK(!rdma_disconnect(rc->id) || errno == EINVAL, "rdma_disconnect");
	while (!rc->disconnected) {
		errno = 0;
		CHECK(clock_now_ms() - start < PEER_LIMIT_S * 1000, "no end in time");
		turn(rc);
	}
}

static bool is_siw(const struct rc *rc)
{
	return !strncmp(ibv_get_device_name(rc->id->verbs->device), "siw", 3);
}

/*
 * siw of Linux 6.1 reports no state at all (0, which is RESET), so a flushed request must suffice.
 * After a wrong Read by its peer it resets the connection and flushes neither earlier nor later
 * posts.
 */
static bool qp_in_error(struct rc *rc)
{
	bool siw = is_siw(rc);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	CHECK(!ibv_query_qp(rc->id->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	if (siw && rc->read_victim)
		return true;
	return rc->flushed &&
	       (attr.qp_state == IBV_QPS_ERR || (siw && attr.qp_state == IBV_QPS_RESET));
}

/*
 * One end writes to or reads from an invalid STag; both see the connection end, and their requests
 * flushed. A Write that TCP has carried is complete for iWARP, a Read never is.
 */
static void run_bad(struct rc *rc)
{
	uint64_t start = clock_now_ms();
	uint32_t stag = rc->p.peer_stag ^ 0x00ff0000;

	if (rc->bad_write)
		post(rc, IBV_WR_RDMA_WRITE, rc->p.source, rc->p.bytes, rc->p.peer_addr, stag, 0);
	if (rc->bad_read)
		post(rc, IBV_WR_RDMA_READ, rc->p.sink, rc->p.bytes, rc->p.peer_addr, stag, WR_READ);
	while (!rc->disconnected || !qp_in_error(rc) || rc->bad_read != !!rc->read_status) {
		errno = 0;
		CHECK(clock_now_ms() - start < PEER_LIMIT_S * 1000,
		      !rc->disconnected ? "no disconnect in time"
		      : rc->flushed     ? "no error in time"
					: "no flushed request in time");
		turn(rc);
	}
	errno = 0;
	CHECK(!rc->bad_read || is_siw(rc) || rc->read_status == IBV_WC_REM_ACCESS_ERR,
	      "the Read failed for another reason");
	printf("ok: the connection ended, the QP is in error%s\n",
	       rc->bad_read ? ", the Read failed" : "");
}

static bool take_misdeed(struct cli *cli, const char *word)
{
	struct rc *rc = cli->values;

	rc->bad_write = !strcmp(word, "stag");
	rc->bad_read = !strcmp(word, "read");
	rc->read_victim = !strcmp(word, "read-victim");
	rc->victim = rc->read_victim || !strcmp(word, "victim");
	return rc->bad_write || rc->bad_read || rc->victim ||
	       cli_wrong(cli, "--misdeed takes stag, read, victim or read-victim, not \"%s\"",
			 word);
}

static const struct cli_option rows[] = {
    PEER_ROWS(struct rc),
    {.name = "misdeed",
     .letter = 'x',
     .value = "WORD",
     .apply = take_misdeed,
     .help =
	 "stag: write to an STag that does not exist; read: read from one; victim, read-victim: "
	 "the other end does so"},
};

static const struct cli_program program = {
    .name = "rc_peer",
    .usage = "rc_peer listen|connect ADDRESS PORT [OPTION]...",
    .about = "Moves data over an RC connection of librdmacm and checks every byte.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(*rows),
};

int main(int argc, char **argv)
{
	static struct rc rc;
	struct sockaddr_in addr;
	int status = peer_parse(&program, &rc, &rc.p, &addr, argc, argv);

	if (status != CLI_RUN)
		return status;
	rc.channel = rdma_create_event_channel();
	CHECK(rc.channel, "rdma_create_event_channel");
	fcntl(rc.channel->fd, F_SETFL, O_NONBLOCK);
	if (rc.p.passive)
		listen_on(&rc, &addr);
	else
		connect_to(&rc, &addr);
	if (rc.victim || rc.bad_write || rc.bad_read)
		run_bad(&rc);
	else
		run(&rc);
	rdma_destroy_qp(rc.id);
	ibv_dereg_mr(rc.mr);
	CHECK(!ibv_destroy_cq(rc.cq), "ibv_destroy_cq");
	ibv_destroy_comp_channel(rc.completions);
	rdma_destroy_id(rc.id);
	if (rc.listener)
		rdma_destroy_id(rc.listener);
	rdma_destroy_event_channel(rc.channel);
	free(rc.mem);
	return 0;
}
