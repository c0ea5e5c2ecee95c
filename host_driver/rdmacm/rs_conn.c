/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of a stream connection and the hello messages that both ends exchange at its start.
 *
 * All functions run under the lock of the socket. Calls libibverbs, rs_pool.c and rs_flow.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/rs.h"

enum {
	RECVS_AT_ONCE = 64,
};

static int make_tables(const struct rs *rs, struct rs_stream *st)
{
	const struct rs_opts *o = &rs->opts;
	int rc = rs_rx_init(&st->rx, o->rcvbuf, o->rqsize);

	rs_buf_init(&st->tx_buf, o->sndbuf);
	if (rc == 0)
		rc = rs_fifo_init(&st->sends, st->gear.sq_size);
	if (rc < 0 || !o->iomap_size)
		return rc;
	st->iomap_size = o->iomap_size;
	st->iomap_peer = calloc(st->iomap_size, sizeof(*st->iomap_peer));
	st->iomap_table = calloc(st->iomap_size, sizeof(*st->iomap_table));
	if (!st->iomap_peer || !st->iomap_table)
		return -ENOMEM;
	st->iomap_mr =
	    ibv_reg_mr(st->gear.pd, st->iomap_table, st->iomap_size * sizeof(*st->iomap_table),
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return st->iomap_mr ? 0 : -errno;
}

static int post_recvs(const struct rs_gear *g)
{
	struct ibv_recv_wr wr[RECVS_AT_ONCE] = {0}, *bad;

	for (uint32_t done = 0, n; done < g->recvs; done += n) {
		int rc;

		n = g->recvs - done < RECVS_AT_ONCE ? g->recvs - done : RECVS_AT_ONCE;
		for (uint32_t i = 0; i < n; i++)
			wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		rc = ibv_post_recv(g->qp, wr, &bad);
		if (rc)
			return -rc;
	}
	return 0;
}

static int setup(struct rs *rs, struct rs_stream *st)
{
	int rc = rs_gear_get(rs->id, &rs->opts, &st->gear);

	if (rc == 0)
		rc = make_tables(rs, st);
	return rc == 0 ? post_recvs(&st->gear) : rc;
}

int rs_conn_setup(struct rs *rs)
{
	int rc;

	rs->stream = calloc(1, sizeof(*rs->stream));
	if (!rs->stream)
		return -ENOMEM;
	rc = setup(rs, rs->stream);
	/* A failed call without errno is still a failure. */
	return rc < 0 ? rc : 0;
}

void rs_conn_param(struct rs *rs, struct rdma_conn_param *param, struct rs_wire_hello *hello)
{
	const struct rs_stream *st = rs->stream;

	*hello = (struct rs_wire_hello){
	    .magic = be32_put(RS_WIRE_MAGIC),
	    .msgs = be32_put(st->rx.msgs.room),
	    .ring_addr = be64_put((uintptr_t)st->gear.ring),
	    .ring_rkey = be32_put(st->gear.ring_mr->rkey),
	    .ring_bytes = be32_put(st->rx.ring_bytes),
	    .iomap_addr = be64_put((uintptr_t)st->iomap_table),
	    .iomap_rkey = be32_put(st->iomap_mr ? st->iomap_mr->rkey : 0),
	    .iomap_size = be32_put(st->iomap_size),
	};
	*param = (struct rdma_conn_param){
	    .private_data = hello,
	    .private_data_len = sizeof(*hello),
	    .responder_resources = 1,
	    .initiator_depth = 1,
	    .flow_control = 1,
	    .retry_count = 7,
	    .rnr_retry_count = 7,
	};
}

int rs_conn_hello(struct rs *rs, const void *data, size_t bytes)
{
	struct rs_stream *st = rs->stream;
	struct rs_wire_hello hello;
	uint32_t msgs, ring_bytes, iomap_size;

	if (!data || bytes < sizeof(hello))
		return -EPROTO;
	memcpy(&hello, data, sizeof(hello));
	msgs = be32_get(hello.msgs);
	ring_bytes = be32_get(hello.ring_bytes);
	iomap_size = be32_get(hello.iomap_size);
	if (be32_get(hello.magic) != RS_WIRE_MAGIC || msgs < RS_MSGS_MIN || msgs > RS_MSGS_MAX ||
	    ring_bytes < RS_RING_BYTES_MIN || ring_bytes > RS_RING_BYTES_MAX ||
	    iomap_size > RS_IOMAPS_MAX)
		return -EPROTO;
	st->peer_ring = be64_get(hello.ring_addr);
	st->peer_ring_rkey = be32_get(hello.ring_rkey);
	st->peer_iomap = be64_get(hello.iomap_addr);
	st->peer_iomap_rkey = be32_get(hello.iomap_rkey);
	st->peer_iomap_size = iomap_size;
	if (iomap_size) {
		st->iomap_used = calloc(iomap_size, 1);
		if (!st->iomap_used)
			return -ENOMEM;
	}
	return rs_tx_init(&st->tx, ring_bytes, msgs);
}

/* Gives the QP up first, so that the peer can no longer write into the memory. */
void rs_conn_free(struct rs *rs)
{
	struct rs_stream *st = rs->stream;

	if (!st)
		return;
	rs->stream = NULL;
	rs_iomap_free(st);
	if (st->iomap_mr)
		(void)ibv_dereg_mr(st->iomap_mr);
	rs_gear_put(rs->id, &st->gear);
	rs_fifo_free(&st->sends);
	rs_fifo_free(&st->rx.msgs);
	rs_fifo_free(&st->tx.msgs);
	free(st->iomap_table);
	free(st->iomap_peer);
	free(st->iomap_used);
	free(st);
}
