/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends of a stream of rsockets over a simulated wire, which keeps posted messages until a test
 * delivers them. A program includes it once, after the sources that it tests (rs_stream.c,
 * rs_flow.c, rs_table.c, rs_wait.c), as it defines their neighbours.
 *
 * A Write without a receive would be an RNR on a NIC: flow control must prevent it, so the wire
 * fails the test.
 *
 * Source: host_driver/rdmacm/rs.h, infiniband/verbs.h.
 */
#ifndef TESTS_BENCH_STUBS_RS_PAIR_H
#define TESTS_BENCH_STUBS_RS_PAIR_H

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host_driver/rdmacm/rs.h"
#include "tests/bench/stubs/rs_stubs.h"
#include "tests/ut.h"

enum {
	MSGS = 16,
	WCS = 256,
	RING = 8192,
	BUF = 6000,
	IOMAPS = 4,
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
		uint64_t at = w.wr.wr.rdma.remote_addr - (uintptr_t)to->gear.ring;

		CU_ASSERT_FATAL(at + w.bytes <= RING);
		memcpy(to->gear.ring + at, w.data, w.bytes);
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

static uint32_t sleeps; /* waits for the descriptor of a completion channel */

int rs_fds(const struct rs *rs, int fds[RS_FDS_OF_ONE])
{
	sleeps++;
	fds[0] = rs->stream->gear.channel->fd;
	return 1;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static struct rs_stream *stream_new(struct side *s)
{
	struct rs_stream *st = calloc(1, sizeof(*st));

	CU_ASSERT_PTR_NOT_NULL_FATAL(st);
	st->gear.channel = &s->channel;
	st->gear.cq = &s->cq;
	st->gear.ring = malloc(RING);
	st->gear.buf = malloc(BUF);
	st->gear.ring_bytes = RING;
	st->gear.buf_bytes = BUF;
	st->gear.ring_mr = st->gear.mr = &s->mr;
	st->gear.sq_size = MSGS + RS_CTL_SENDS;
	st->gear.inline_bytes = 64;
	CU_ASSERT_EQUAL_FATAL(rs_rx_init(&st->rx, RING, MSGS), 0);
	CU_ASSERT_EQUAL_FATAL(rs_tx_init(&st->tx, RING, MSGS), 0);
	CU_ASSERT_EQUAL_FATAL(rs_fifo_init(&st->sends, st->gear.sq_size), 0);
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
		ends[i].rs->stream->peer_ring = (uintptr_t)ends[1 - i].rs->stream->gear.ring;
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
		free(st->gear.ring);
		free(st->gear.buf);
		free(st);
		rs_put(ends[i].rs);
	}
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

#endif
