/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_stream.c and rs_wait.c: two ends of a stream over a simulated wire, which
 * keeps posted messages until a test delivers them; and peers that break the rules.
 *
 * A Write without a receive would be an RNR on a NIC: flow control must prevent it, so the wire
 * fails the test.
 */
#include <stdlib.h>

#include "host_driver/rdmacm/rs_flow.c"
#include "host_driver/rdmacm/rs_spin.c"
#include "host_driver/rdmacm/rs_stream.c"
#include "host_driver/rdmacm/rs_table.c"
#include "host_driver/rdmacm/rs_wait.c"
#include "tests/bench/stubs/rs_stubs.h"
#include "tests/ut.h"

enum {
	MSGS = 16,
	WCS = 256,
	RING = 8192,
	BUF = 6000,
	IOMAPS = 4,
	STREAM = 300000, /* bytes of a test, each way */
	LONGEST = 5000,
};

/* Posted, not delivered. */
struct on_wire {
	struct ibv_send_wr wr;
	uint32_t bytes;
	uint8_t *data;
};

struct side {
	struct ibv_context context;
	struct ibv_qp qp;
	struct ibv_cq cq;
	struct ibv_comp_channel channel;
	struct rdma_cm_id id;
	struct ibv_mr mr;
	struct rs *rs;
	struct side *peer;
	int recvs;
	bool armed;
	struct ibv_wc wcs[WCS];
	int num_wcs;
	struct on_wire wire[WCS];
	int num_wire;
};

static struct side ends[2];
/* Lock of the simulated parts: threads of different sockets meet here. */
static pthread_mutex_t world = PTHREAD_MUTEX_INITIALIZER;

static struct side *side_of(const struct ibv_context *context)
{
	return context == &ends[0].context ? &ends[0] : &ends[1];
}

/* ---- the wire -------------------------------------------------------------------------------- */

static void complete(struct side *s, struct ibv_wc wc)
{
	CU_ASSERT_FATAL(s->num_wcs < WCS);
	s->wcs[s->num_wcs++] = wc;
	if (s->armed)
		CU_ASSERT_EQUAL(eventfd_write(s->channel.fd, 1), 0);
	s->armed = false;
}

static int post_send_fn(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct side *s = side_of(qp->context);
	struct on_wire *w;

	(void)bad;
	pthread_mutex_lock(&world);
	CU_ASSERT_FATAL(s->num_wire < WCS);
	w = &s->wire[s->num_wire++];
	*w = (struct on_wire){.wr = *wr, .bytes = wr->num_sge ? wr->sg_list->length : 0};
	w->data = malloc(w->bytes + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w->data);
	if (w->bytes)
		memcpy(w->data, (void *)(uintptr_t)wr->sg_list->addr, w->bytes);
	/*
	 * A request that is not inline is read when it is delivered: its buffer must stay unchanged
	 * until then.
	 */
	if (wr->num_sge && !(wr->send_flags & IBV_SEND_INLINE))
		CU_ASSERT_EQUAL(wr->sg_list->lkey, s->mr.lkey);
	pthread_mutex_unlock(&world);
	return 0;
}

static int post_recv_fn(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)bad;
	CU_ASSERT_EQUAL(wr->num_sge, 0);
	pthread_mutex_lock(&world);
	side_of(qp->context)->recvs++;
	pthread_mutex_unlock(&world);
	return 0;
}

static int poll_cq_fn(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct side *s = side_of(cq->context);

	pthread_mutex_lock(&world);
	n = n < s->num_wcs ? n : s->num_wcs;
	memcpy(wc, s->wcs, (size_t)n * sizeof(*wc));
	s->num_wcs -= n;
	memmove(s->wcs, s->wcs + n, (size_t)s->num_wcs * sizeof(*wc));
	pthread_mutex_unlock(&world);
	return n;
}

static int notify_fn(struct ibv_cq *cq, int solicited)
{
	(void)solicited;
	pthread_mutex_lock(&world);
	side_of(cq->context)->armed = true;
	pthread_mutex_unlock(&world);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
	struct side *s = side_of(channel->context);
	eventfd_t count;

	*cq = &s->cq;
	*user = NULL;
	return eventfd_read(channel->fd, &count);
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	(void)cq;
	CU_ASSERT_EQUAL(n, 1);
}

/* The first request of a side arrives at the other. False: there is none. */
static bool deliver(struct side *s)
{
	struct on_wire w;

	pthread_mutex_lock(&world);
	if (!s->num_wire) {
		pthread_mutex_unlock(&world);
		return false;
	}
	w = s->wire[0];
	s->num_wire--;
	memmove(s->wire, s->wire + 1, (size_t)s->num_wire * sizeof(w));
	CU_ASSERT_FATAL(s->peer->recvs > 0);
	s->peer->recvs--;
	CU_ASSERT_EQUAL(w.wr.opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
	if (w.bytes) {
		const struct rs_stream *to = s->peer->rs->stream;
		uint64_t at = w.wr.wr.rdma.remote_addr - (uintptr_t)to->block.ring;

		CU_ASSERT_FATAL(at + w.bytes <= RING);
		memcpy(to->block.ring + at, w.data, w.bytes);
	}
	free(w.data);
	complete(s->peer, (struct ibv_wc){.wr_id = WR_RECV,
					  .status = IBV_WC_SUCCESS,
					  .byte_len = w.bytes,
					  .imm_data = w.wr.imm_data,
					  .wc_flags = IBV_WC_WITH_IMM});
	complete(s, (struct ibv_wc){.wr_id = WR_SEND, .status = IBV_WC_SUCCESS});
	pthread_mutex_unlock(&world);
	return true;
}

/* ---- stand-ins for the other files ---- */

void rs_opts_init(struct rs_opts *opts)
{
	*opts = (struct rs_opts){.sndbuf = BUF, .rcvbuf = RING};
}

void rs_pool_forked(void)
{
}

bool rs_spin_is_set(void)
{
	return true;
}

uint32_t rs_spin_us(void)
{
	return 1;
}

int rs_iomap_told(struct rs_stream *st, uint32_t index)
{
	(void)st;
	return index < IOMAPS ? 0 : -EPROTO;
}

RS_STUBS_OF_STREAMS
RS_STUBS_OF_LOOKS

int rs_fds(const struct rs *rs, int fds[RS_FDS_OF_ONE])
{
	fds[0] = rs->stream->channel->fd;
	return 1;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static struct rs_stream *stream_new(struct side *s)
{
	struct rs_stream *st = calloc(1, sizeof(*st));

	CU_ASSERT_PTR_NOT_NULL_FATAL(st);
	st->channel = &s->channel;
	st->cq = &s->cq;
	st->block.ring = malloc(RING);
	st->block.buf = malloc(BUF);
	st->block.ring_bytes = RING;
	st->block.buf_bytes = BUF;
	st->ring_mr = st->block.mr = &s->mr;
	st->sq_size = MSGS + RS_CTL_SENDS;
	st->inline_bytes = 64;
	CU_ASSERT_EQUAL_FATAL(rs_rx_init(&st->rx, RING, MSGS), 0);
	CU_ASSERT_EQUAL_FATAL(rs_tx_init(&st->tx, RING, MSGS), 0);
	CU_ASSERT_EQUAL_FATAL(rs_fifo_init(&st->sends, st->sq_size), 0);
	rs_buf_init(&st->tx_buf, BUF);
	return st;
}

static void setup(bool nonblock)
{
	memset(ends, 0, sizeof(ends));
	for (int i = 0; i < 2; i++) {
		struct side *s = &ends[i];

		s->context.ops.post_send = post_send_fn;
		s->context.ops.post_recv = post_recv_fn;
		s->context.ops.poll_cq = poll_cq_fn;
		s->context.ops.req_notify_cq = notify_fn;
		s->qp.context = s->cq.context = s->channel.context = &s->context;
		s->channel.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		CU_ASSERT_FATAL(s->channel.fd >= 0);
		s->mr.lkey = (uint32_t)i + 7;
		s->id.qp = &s->qp;
		s->peer = &ends[1 - i];
		s->recvs = MSGS + RS_CTL_MSGS;
		s->rs = rs_new(AF_INET, SOCK_STREAM);
		CU_ASSERT_PTR_NOT_NULL_FATAL(s->rs);
		s->rs->id = &s->id;
		s->rs->nonblock = nonblock;
		s->rs->stream = stream_new(s);
		rs_set_state(s->rs, RS_CONNECTING);
		rs_set_state(s->rs, RS_CONNECTED);
	}
	for (int i = 0; i < 2; i++)
		ends[i].rs->stream->peer_ring = (uintptr_t)ends[1 - i].rs->stream->block.ring;
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++) {
		struct rs_stream *st = ends[i].rs->stream;

		while (ends[i].num_wire)
			free(ends[i].wire[--ends[i].num_wire].data);
		close(ends[i].channel.fd);
		rs_fifo_free(&st->sends);
		rs_fifo_free(&st->rx.msgs);
		rs_fifo_free(&st->tx.msgs);
		free(st->block.ring);
		free(st->block.buf);
		free(st);
		rs_put(ends[i].rs);
	}
}

static uint32_t lcg;

static uint32_t random_below(uint32_t n)
{
	lcg = lcg * 1664525 + 1013904223;
	return (lcg >> 8) % n;
}

static uint8_t byte_at(uint64_t i, int way)
{
	return (uint8_t)((i * 167 >> 3) ^ i ^ (unsigned int)way);
}

static ssize_t send_some(struct rs *rs, const void *data, size_t bytes, int flags)
{
	struct iovec iov = {(void *)(uintptr_t)data, bytes};

	return rs_stream_send(rs, &iov, 1, flags);
}

static ssize_t recv_into(struct rs *rs, void *data, size_t bytes, int flags)
{
	struct iovec iov = {data, bytes};

	return rs_stream_recv(rs, &iov, 1, flags);
}

static short revents(struct rs *rs)
{
	return rs_stream_revents(rs);
}

/* ---- data ------------------------------------------------------------------------------------ */

struct way {
	struct rs *from, *to;
	int number;
	uint64_t sent, got;
};

static void send_random(struct way *w)
{
	static uint8_t buf[LONGEST + 1];
	uint32_t n = 1 + random_below(random_below(3) ? 300 : LONGEST), a, b;
	struct iovec iov[4];
	ssize_t rc;

	if (n > STREAM - w->sent)
		n = (uint32_t)(STREAM - w->sent);
	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++)
		buf[i] = byte_at(w->sent + i, w->number);
	a = random_below(n + 1);
	b = a + random_below(n - a + 1);
	iov[0] = (struct iovec){buf, a};
	iov[1] = (struct iovec){NULL, 0};
	iov[2] = (struct iovec){buf + a, b - a};
	iov[3] = (struct iovec){buf + b, n - b};
	rc = rs_stream_send(w->from, iov, 4, 0);
	if (rc < 0)
		CU_ASSERT_EQUAL_FATAL(errno, EAGAIN);
	w->sent += rc > 0 ? (uint64_t)rc : 0;
	/* The caller's memory may be reused. */
	memset(buf, 0xee, sizeof(buf));
}

static void recv_random(struct way *w)
{
	static uint8_t buf[LONGEST];
	uint32_t want = 1 + random_below(LONGEST), wrong = 0;
	int flags = random_below(4) ? 0 : MSG_PEEK;
	ssize_t n = recv_into(w->to, buf, want, flags);

	if (n < 0)
		CU_ASSERT_EQUAL_FATAL(errno, EAGAIN);
	for (ssize_t i = 0; i < n; i++)
		wrong += buf[i] != byte_at(w->got + (uint64_t)i, w->number);
	CU_ASSERT_EQUAL_FATAL(wrong, 0);
	if (n > 0 && !flags)
		w->got += (uint64_t)n;
}

/* Both ways at once, with late delivery: every byte in order, and it ends. */
static void any_order(void)
{
	for (uint32_t seed = 1; seed <= 4; seed++) {
		struct way ways[2];
		char byte = 0;

		lcg = seed;
		setup(true);
		ways[0] = (struct way){ends[0].rs, ends[1].rs, 0, 0, 0};
		ways[1] = (struct way){ends[1].rs, ends[0].rs, 1, 0, 0};
		while (ways[0].got < STREAM || ways[1].got < STREAM) {
			uint32_t what = random_below(10), i = random_below(2);

			if (what < 3)
				send_random(&ways[i]);
			else if (what < 6)
				recv_random(&ways[i]);
			else
				(void)deliver(&ends[i]);
		}
		for (int i = 0; i < 2; i++) {
			CU_ASSERT_EQUAL(rs_stream_fin(ends[i].rs), 0);
			while (deliver(&ends[i]))
				;
		}
		for (int i = 0; i < 2; i++) {
			CU_ASSERT_EQUAL(recv_into(ends[i].rs, &byte, 1, 0), 0);
			CU_ASSERT_TRUE(rs_stream_idle(ends[i].rs->stream));
			CU_ASSERT_EQUAL(ends[i].recvs, MSGS + RS_CTL_MSGS);
			CU_ASSERT_EQUAL(revents(ends[i].rs) & (POLLHUP | POLLRDHUP),
					POLLHUP | POLLRDHUP);
		}
		teardown();
	}
}

static void peeks(void)
{
	struct rs *a, *b;
	char buf[20] = {0};

	setup(true);
	a = ends[0].rs;
	b = ends[1].rs;
	CU_ASSERT_EQUAL(revents(a), POLLOUT | POLLWRNORM);
	CU_ASSERT_EQUAL(send_some(a, "0123", 4, 0), 4);
	CU_ASSERT_EQUAL(send_some(a, "456789", 6, 0), 6);
	CU_ASSERT_EQUAL(recv_into(b, buf, 1, 0), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	while (deliver(&ends[0]))
		;
	CU_ASSERT_EQUAL(recv_into(b, buf, 20, MSG_PEEK), 10);
	CU_ASSERT_EQUAL(memcmp(buf, "0123456789", 10), 0);
	CU_ASSERT_EQUAL(recv_into(b, buf, 3, MSG_TRUNC), 3); /* discarded */
	CU_ASSERT_EQUAL(recv_into(b, buf, 20, MSG_WAITALL), 7);
	CU_ASSERT_EQUAL(memcmp(buf, "3456789", 7), 0);
	CU_ASSERT_EQUAL(recv_into(b, buf, 0, 0), 0);
	CU_ASSERT_EQUAL(send_some(a, "", 0, 0), 0);
	teardown();
}

/* ---- peers that break the rules ---------------------------------------------------------------
 */

/* A message that our sending half did not make arrives at b. */
static void forge(uint32_t imm, uint32_t byte_len, unsigned int wc_flags)
{
	ends[1].recvs--;
	complete(&ends[1], (struct ibv_wc){.wr_id = WR_RECV,
					   .status = IBV_WC_SUCCESS,
					   .byte_len = byte_len,
					   .imm_data = htonl(imm),
					   .wc_flags = wc_flags});
}

/* It ends the connection: reported once, then it is closed. */
static void is_broken(int err)
{
	struct rs *b = ends[1].rs;
	char byte = 0;

	CU_ASSERT_EQUAL(recv_into(b, &byte, 1, 0), err ? -1 : 0);
	if (err)
		CU_ASSERT_EQUAL(errno, err);
	CU_ASSERT_EQUAL(b->state, RS_BROKEN);
	CU_ASSERT_EQUAL(recv_into(b, &byte, 1, 0), 0);
	CU_ASSERT_EQUAL(send_some(b, &byte, 1, 0), -1);
	CU_ASSERT_EQUAL(errno, EPIPE);
	CU_ASSERT_EQUAL(revents(b) & (POLLIN | POLLHUP), POLLIN | POLLHUP);
}

static void wrong_messages(void)
{
	const struct {
		uint32_t imm, byte_len;
		unsigned int flags;
	} wrong[] = {
	    {rs_wire_imm(RS_WIRE_DATA, 10), 9, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_DATA, 10), 10, 0}, /* no immediate: not of rsockets */
	    {rs_wire_imm(RS_WIRE_DATA, RING + 1), RING + 1, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_DATA, RS_WIRE_VALUE_MASK), RS_WIRE_VALUE_MASK, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_CREDIT, 1), 0, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_CREDIT, RS_WIRE_VALUE_MASK), 0, IBV_WC_WITH_IMM},
	    {rs_wire_imm(RS_WIRE_IOMAP, IOMAPS), 0, IBV_WC_WITH_IMM},
	    {rs_wire_imm((enum rs_wire_type)4, 0), 0, IBV_WC_WITH_IMM},
	    {UINT32_MAX, 0, IBV_WC_WITH_IMM},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		setup(true);
		forge(wrong[i].imm, wrong[i].byte_len, wrong[i].flags);
		is_broken(EPROTO);
		teardown();
	}
}

/* Valid by itself, and invalid at this point. */
static void wrong_order(void)
{
	/* more messages than allowed */
	setup(true);
	for (int i = 0; i <= MSGS; i++)
		forge(rs_wire_imm(RS_WIRE_DATA, 1), 1, IBV_WC_WITH_IMM);
	(void)rs_stream_progress(ends[1].rs);
	CU_ASSERT_EQUAL(ends[1].rs->state, RS_BROKEN);
	CU_ASSERT_EQUAL(ends[1].rs->stream->rx.unread_bytes, MSGS);
	teardown();
	/* data after the end */
	setup(true);
	forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
	forge(rs_wire_imm(RS_WIRE_DATA, 1), 1, IBV_WC_WITH_IMM);
	is_broken(EPROTO);
	teardown();
	/* a second end */
	setup(true);
	forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
	forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
	is_broken(EPROTO);
	teardown();
	/* credits after the end are valid */
	setup(true);
	CU_ASSERT_EQUAL(send_some(ends[1].rs, "x", 1, 0), 1);
	forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
	forge(rs_wire_imm(RS_WIRE_CREDIT, 1), 0, IBV_WC_WITH_IMM);
	(void)rs_stream_progress(ends[1].rs);
	CU_ASSERT_EQUAL(ends[1].rs->state, RS_CONNECTED);
	CU_ASSERT_EQUAL(ends[1].rs->stream->tx.free_bytes, RING);
	teardown();
}

/* A peer that never gives credits stops us; one that gives all of them at once does not. */
static void credits(void)
{
	static uint8_t data[RING];
	struct rs *b;
	ssize_t n, all = 0;

	setup(true);
	b = ends[1].rs;
	while ((n = send_some(b, data, 100, 0)) > 0) {
		all += n;
		CU_ASSERT_FATAL(all <= RING);
		while (deliver(&ends[1]))
			;
	}
	CU_ASSERT_EQUAL(errno, EAGAIN);
	CU_ASSERT_EQUAL(all, MSGS * 100);
	CU_ASSERT_FALSE(revents(b) & POLLOUT);
	forge(rs_wire_imm(RS_WIRE_CREDIT, MSGS), 0, IBV_WC_WITH_IMM);
	CU_ASSERT_TRUE(send_some(b, data, RING, 0) > 0);
	CU_ASSERT_EQUAL(b->state, RS_CONNECTED);
	teardown();
}

static void failed_requests(void)
{
	const struct {
		enum ibv_wc_status status;
		bool fin;
		int err;
	} cases[] = {
	    {IBV_WC_RETRY_EXC_ERR, false, ETIMEDOUT},
	    {IBV_WC_RESP_TIMEOUT_ERR, false, ETIMEDOUT},
	    {IBV_WC_REM_ACCESS_ERR, false, ECONNRESET},
	    {IBV_WC_WR_FLUSH_ERR, false, ECONNRESET},
	    {IBV_WC_WR_FLUSH_ERR, true, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setup(true);
		CU_ASSERT_EQUAL(send_some(ends[1].rs, "x", 1, 0), 1);
		if (cases[i].fin)
			forge(rs_wire_imm(RS_WIRE_FIN, 0), 0, IBV_WC_WITH_IMM);
		complete(&ends[1], (struct ibv_wc){.wr_id = WR_SEND, .status = cases[i].status});
		complete(&ends[1],
			 (struct ibv_wc){.wr_id = WR_RECV, .status = IBV_WC_WR_FLUSH_ERR});
		is_broken(cases[i].err);
		CU_ASSERT_TRUE(rs_stream_idle(ends[1].rs->stream));
		teardown();
	}
}

/* ---- threads --------------------------------------------------------------------------------- */

static atomic_bool over;

static void *wire_thread(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		bool some = deliver(&ends[0]);

		if (!deliver(&ends[1]) && !some)
			usleep(50);
	}
	return NULL;
}

static void *send_thread(void *arg)
{
	struct way *w = arg;

	while (w->sent < STREAM)
		send_random(w);
	return NULL;
}

static void *recv_thread(void *arg)
{
	struct way *w = arg;
	uint8_t buf[777];
	ssize_t n;

	while (w->got < STREAM) {
		n = recv_into(w->to, buf, sizeof(buf), 0);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			if (buf[i] != byte_at(w->got + (uint64_t)i, w->number))
				return NULL;
		w->got += (uint64_t)n;
	}
	return NULL;
}

/* Blocking calls, a sender and a receiver, while the wire delivers by itself. */
static void blocking(void)
{
	struct way w;
	pthread_t t[3];

	lcg = 9;
	setup(false);
	atomic_store(&over, false);
	w = (struct way){ends[0].rs, ends[1].rs, 0, 0, 0};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t[0], NULL, wire_thread, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t[1], NULL, send_thread, &w), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t[2], NULL, recv_thread, &w), 0);
	pthread_join(t[1], NULL);
	pthread_join(t[2], NULL);
	atomic_store(&over, true);
	pthread_join(t[0], NULL);
	CU_ASSERT_EQUAL(w.got, STREAM);
	teardown();
}

/* Time-outs, and non-blocking calls. */
static void not_for_ever(void)
{
	char byte = 0;

	setup(false);
	ends[0].rs->opts.rcvtimeo.tv_usec = 20000;
	CU_ASSERT_EQUAL(recv_into(ends[0].rs, &byte, 1, 0), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	CU_ASSERT_EQUAL(recv_into(ends[1].rs, &byte, 1, MSG_DONTWAIT), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	teardown();
}

UT_MAIN("rdmacm/rs_stream", UT(any_order), UT(peeks), UT(wrong_messages), UT(wrong_order),
	UT(credits), UT(failed_requests), UT(blocking), UT(not_for_ever))
