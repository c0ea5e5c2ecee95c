/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resources of a stream connection (QP, completion queue, rings) and the hello messages that both
 * ends exchange at its start.
 *
 * All functions run under the lock of the socket. Calls rdma_cm, libibverbs, rs_pool.c
 * and rs_flow.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/rs.h"

enum {
	MTU_BYTES_BY_ENUM = 128, /* << enum ibv_mtu */
};

static int make_memory(struct rs *rs, struct rs_stream *st)
{
	const int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_pd *pd = rs->id->qp->pd;
	const struct rs_opts *o = &rs->opts;
	int rc;

	rc = rs_block_get(pd, o->rcvbuf, o->sndbuf, &st->block);
	if (rc < 0)
		return rc;
	st->ring_mr = ibv_reg_mr(pd, st->block.ring, o->rcvbuf, remote);
	if (!st->ring_mr)
		return -errno;
	rc = rs_rx_init(&st->rx, o->rcvbuf, o->rqsize);
	rs_buf_init(&st->tx_buf, o->sndbuf);
	if (rc == 0)
		rc = rs_fifo_init(&st->sends, st->sq_size);
	if (rc < 0 || !o->iomap_size)
		return rc;
	st->iomap_size = o->iomap_size;
	st->iomap_peer = calloc(st->iomap_size, sizeof(*st->iomap_peer));
	st->iomap_table = calloc(st->iomap_size, sizeof(*st->iomap_table));
	if (!st->iomap_peer || !st->iomap_table)
		return -ENOMEM;
	st->iomap_mr =
	    ibv_reg_mr(pd, st->iomap_table, st->iomap_size * sizeof(*st->iomap_table), remote);
	return st->iomap_mr ? 0 : -errno;
}

static int make_qp(struct rs *rs, struct rs_stream *st)
{
	const struct rs_opts *o = &rs->opts;
	struct ibv_qp_init_attr init = {
	    .send_cq = st->cq,
	    .recv_cq = st->cq,
	    .cap = {.max_send_wr = st->sq_size,
		    .max_recv_wr = o->rqsize + RS_CTL_MSGS,
		    .max_send_sge = 1,
		    .max_recv_sge = 1,
		    .max_inline_data = o->inline_bytes},
	    .qp_type = IBV_QPT_RC,
	    .sq_sig_all = 1,
	};

	if (rdma_create_qp(rs->id, NULL, &init) < 0) {
		/* A smaller inline limit is acceptable. */
		init.cap.max_inline_data = 0;
		if (rdma_create_qp(rs->id, NULL, &init) < 0)
			return -errno;
	}
	st->inline_bytes = init.cap.max_inline_data;
	if (st->inline_bytes > o->inline_bytes)
		st->inline_bytes = o->inline_bytes;
	return 0;
}

static int post_recvs(struct rs *rs)
{
	struct ibv_recv_wr wr = {0}, *bad;

	for (uint32_t i = 0; i < rs->opts.rqsize + RS_CTL_MSGS; i++) {
		int rc = ibv_post_recv(rs->id->qp, &wr, &bad);

		if (rc)
			return -rc;
	}
	return 0;
}

static int setup(struct rs *rs, struct rs_stream *st)
{
	uint32_t cqe = rs->opts.sqsize + RS_CTL_SENDS + rs->opts.rqsize + RS_CTL_MSGS;
	struct ibv_port_attr port;
	int flags, rc;

	if (ibv_query_port(rs->id->verbs, rs->id->port_num, &port))
		return -errno;
	st->mss = (MTU_BYTES_BY_ENUM << port.active_mtu) - (uint32_t)sizeof(struct rs_wire_dgram);
	st->sq_size = rs->opts.sqsize + RS_CTL_SENDS;
	st->channel = ibv_create_comp_channel(rs->id->verbs);
	if (!st->channel)
		return -errno;
	flags = fcntl(st->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(st->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	st->cq = ibv_create_cq(rs->id->verbs, (int)cqe, rs, st->channel, 0);
	if (!st->cq)
		return -errno;
	rc = make_qp(rs, st);
	if (rc == 0)
		rc = make_memory(rs, st);
	return rc == 0 ? post_recvs(rs) : rc;
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
	    .ring_addr = be64_put((uintptr_t)st->block.ring),
	    .ring_rkey = be32_put(st->ring_mr->rkey),
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

static void dereg(struct ibv_mr *mr)
{
	if (mr)
		(void)ibv_dereg_mr(mr);
}

/* Destroys the QP first, so that the peer can no longer write into the memory. */
void rs_conn_free(struct rs *rs)
{
	struct rs_stream *st = rs->stream;

	if (!st)
		return;
	rs->stream = NULL;
	if (rs->id && rs->id->qp)
		rdma_destroy_qp(rs->id);
	rs_iomap_free(st);
	dereg(st->ring_mr);
	dereg(st->iomap_mr);
	if (st->cq)
		(void)ibv_destroy_cq(st->cq);
	if (st->channel)
		(void)ibv_destroy_comp_channel(st->channel);
	rs_block_put(&st->block);
	rs_fifo_free(&st->sends);
	rs_fifo_free(&st->rx.msgs);
	rs_fifo_free(&st->tx.msgs);
	free(st->iomap_table);
	free(st->iomap_peer);
	free(st->iomap_used);
	free(st);
}
