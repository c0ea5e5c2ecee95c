/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: the wire of rsockets. A hostile peer of a stream: its hello, its messages with any
 * immediate, writes into the ring and into the table of mappings at any time, and completions with
 * errors, while the program sends, receives, peeks and maps. Bytes that it reads are those at the
 * place where the protocol says that they are; what it sends stays within the peer's ring, in
 * requests that the queue has room for, and receives are posted anew.
 *
 * rsock_dgram.c does the same for datagrams; the first byte of an input chooses. Runs rs_flow.c,
 * rs_stream.c, rs_conn.c and rs_iomap.c over verbs that this file plays.
 */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/rsock.h"
#include "tests/fuzz/take.h"

#include "host_driver/rdmacm/rs_flow.c"
#include "host_driver/rdmacm/rs_spin.c"
#include "host_driver/rdmacm/rs_stream.c"
#include "host_driver/rdmacm/rs_table.c"
#include "host_driver/rdmacm/rs_wait.c"
#include "host_driver/rdmacm/rs_conn.c"
#include "host_driver/rdmacm/rs_pool.c"
#include "host_driver/rdmacm/rs_iomap.c"
#include "tests/bench/stubs/rs_stubs.h"

enum {
	MSGS = 16,
	RING = 8192,
	BUF = 6000,
	IOMAPS = 4,
	WCS = 64,
	STEPS = 400,
	LONGEST = 9000,
};

static struct {
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_qp qp;
	struct ibv_cq cq;
	struct ibv_comp_channel channel;
	struct ibv_mr mr;
	struct rdma_cm_id id;
	struct ibv_wc wc[WCS];
	int num_wc;
	uint32_t recvs, sends; /* posted, not completed */
	uint64_t read_bytes;   /* by the program */
} nic;

/* ---- verbs ----------------------------------------------------------------------------------- */

static int post_send_fn(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const struct rs_stream *st = ((struct rs *)qp->qp_context)->stream;
	uint64_t bytes = wr->num_sge ? wr->sg_list->length : 0;

	(void)bad;
	take_check(++nic.sends <= st->gear.sq_size, "more requests than the send queue holds");
	if (wr->num_sge)
		take_check(wr->sg_list->addr - (uintptr_t)st->gear.buf <= BUF - bytes,
			   "a request beyond the send buffer");
	/* Writes without immediate go where the peer's mapping says. */
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && wr->wr.rdma.rkey == st->peer_ring_rkey &&
	    rs_wire_imm_type(ntohl(wr->imm_data)) == RS_WIRE_DATA)
		take_check(wr->wr.rdma.remote_addr - st->peer_ring + bytes <= st->tx.ring_bytes,
			   "data beyond the peer's ring");
	return 0;
}

static int post_recv_fn(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)bad;
	take_check(wr->num_sge == 0, "a receive with a buffer");
	nic.recvs++;
	return 0;
}

static int poll_cq_fn(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	n = n < nic.num_wc ? n : nic.num_wc;
	memcpy(wc, nic.wc, (size_t)n * sizeof(*wc));
	nic.num_wc -= n;
	memmove(nic.wc, nic.wc + n, (size_t)nic.num_wc * sizeof(*wc));
	return n;
}

static int notify_fn(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

static void complete(struct ibv_wc wc)
{
	if (nic.num_wc < WCS)
		nic.wc[nic.num_wc++] = wc;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
	(void)channel;
	(void)cq;
	(void)user;
	return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	(void)cq;
	(void)n;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t bytes, int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	(void)access;
	take_check(mr != NULL, "no memory");
	mr->context = &nic.context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = bytes;
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t bytes, uint64_t iova,
				unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, bytes, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

/* ---- parts that a connected stream does not use ---------------------------------------------- */

RS_STUBS_OF_VERBS
RS_STUBS_OF_LOOKS
RS_STUBS_OF_STREAMS

void rs_opts_init(struct rs_opts *opts)
{
	*opts = (struct rs_opts){.sndbuf = BUF, .rcvbuf = RING};
}

bool rs_spin_is_set(void)
{
	return true;
}

uint32_t rs_spin_us(void)
{
	return 0;
}

int rs_fds(const struct rs *rs, int fds[RS_FDS_OF_ONE])
{
	(void)rs;
	(void)fds;
	return 0;
}

/* ---- a connection ---------------------------------------------------------------------------- */

static struct rs_stream *stream_new(void)
{
	struct rs_stream *st = calloc(1, sizeof(*st));

	take_check(st != NULL, "no memory");
	st->gear.cq = &nic.cq;
	st->gear.channel = &nic.channel;
	st->gear.ring = calloc(1, RING);
	st->gear.buf = calloc(1, BUF);
	st->gear.ring_bytes = RING;
	st->gear.buf_bytes = BUF;
	st->gear.ring_mr = st->gear.mr = &nic.mr;
	st->gear.sq_size = MSGS + RS_CTL_SENDS;
	st->gear.inline_bytes = 64;
	st->iomap_size = IOMAPS;
	st->iomap_table = calloc(IOMAPS, sizeof(*st->iomap_table));
	st->iomap_peer = calloc(IOMAPS, sizeof(*st->iomap_peer));
	take_check(!rs_rx_init(&st->rx, RING, MSGS) &&
		       !rs_fifo_init(&st->sends, st->gear.sq_size) && st->gear.ring &&
		       st->gear.buf && st->iomap_table && st->iomap_peer,
		   "no memory");
	rs_buf_init(&st->tx_buf, BUF);
	return st;
}

static struct rs *open_one(struct take *in)
{
	struct rs *rs = rs_new(AF_INET, SOCK_STREAM);
	struct rs_wire_hello hello;
	uint8_t right = take_u8(in);
	uint32_t bytes = right & 1 ? sizeof(hello) : take_u8(in);

	memset(&nic, 0, sizeof(nic));
	take_check(rs != NULL, "no memory");
	nic.context.ops.post_send = post_send_fn;
	nic.context.ops.post_recv = post_recv_fn;
	nic.context.ops.poll_cq = poll_cq_fn;
	nic.context.ops.req_notify_cq = notify_fn;
	nic.qp.context = nic.cq.context = nic.channel.context = &nic.context;
	nic.qp.qp_context = rs;
	nic.qp.pd = &nic.pd;
	nic.channel.fd = -1;
	nic.id.qp = &nic.qp;
	nic.recvs = MSGS + RS_CTL_MSGS;
	rs->id = &nic.id;
	rs->nonblock = true;
	rs->stream = stream_new();
	rs_set_state(rs, RS_CONNECTING);
	take_bytes(in, &hello, sizeof(hello));
	if (right & 2)
		hello.magic = be32_put(RS_WIRE_MAGIC);
	if (right & 4) {
		hello.msgs = be32_put(be32_get(hello.msgs) % 64);
		hello.ring_bytes = be32_put(be32_get(hello.ring_bytes) % 65536);
		hello.iomap_size = be32_put(be32_get(hello.iomap_size) % 8);
	}
	if (!rs_conn_hello(rs, &hello, bytes)) {
		take_check(rs->stream->tx.ring_bytes >= RS_RING_BYTES_MIN &&
			       rs->stream->tx.msgs.room >= RS_MSGS_MIN && bytes >= sizeof(hello),
			   "a wrong hello was taken");
		rs_set_state(rs, RS_CONNECTED);
	}
	return rs;
}

static void close_one(struct rs *rs)
{
	struct rs_stream *st = rs->stream;

	rs_iomap_free(st);
	rs_fifo_free(&st->sends);
	rs_fifo_free(&st->rx.msgs);
	rs_fifo_free(&st->tx.msgs);
	free(st->gear.ring);
	free(st->gear.buf);
	free(st->iomap_table);
	free(st->iomap_peer);
	free(st->iomap_used);
	free(st);
	rs->stream = NULL;
	rs->id = NULL;
	rs_put(rs);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A message of the peer. right: it fits; otherwise it has any fields. */
static void arrives(struct rs *rs, struct take *in, uint8_t what)
{
	const struct rs_stream *st = rs->stream;
	uint32_t value = take_u16(in), to_end = st->rx.ring_bytes - st->rx.at;
	struct ibv_wc wc = {.wr_id = WR_RECV, .wc_flags = IBV_WC_WITH_IMM};

	if (!nic.recvs || nic.num_wc == WCS)
		return;
	nic.recvs--;
	switch (what & 7) {
	case 0:
	case 1:
	case 2:
		value %= to_end + 1;
		wc.byte_len = value;
		wc.imm_data = htonl(rs_wire_imm(RS_WIRE_DATA, value));
		break;
	case 3:
		wc.imm_data = htonl(rs_wire_imm(
		    RS_WIRE_CREDIT, st->tx.msgs.count ? value % (st->tx.msgs.count + 1) : 0));
		break;
	case 4:
		wc.imm_data = htonl(rs_wire_imm(RS_WIRE_IOMAP, value % IOMAPS));
		break;
	case 5:
		wc.imm_data = htonl(rs_wire_imm(RS_WIRE_FIN, value));
		break;
	case 6:
		wc.imm_data = take_u32(in);
		wc.byte_len =
		    take_u8(in) & 1 ? take_u32(in) : rs_wire_imm_value(ntohl(wc.imm_data));
		break;
	default:
		wc.status = (enum ibv_wc_status)(value % 24);
		wc.wc_flags = value >> 8 & 1 ? IBV_WC_WITH_IMM : 0;
		break;
	}
	complete(wc);
}

/* The peer writes where it has the right to. */
static void writes(struct rs *rs, struct take *in)
{
	struct rs_stream *st = rs->stream;
	uint32_t at = take_u16(in) % RING, n = take_u8(in);

	if (at & 1) {
		at = at % (IOMAPS * (uint32_t)sizeof(*st->iomap_table) - 32);
		take_bytes(in, (uint8_t *)st->iomap_table + at, n % 32);
	} else {
		take_bytes(in, st->gear.ring + at, n < RING - at ? n : RING - at);
	}
}

static void finishes(struct take *in)
{
	uint8_t n = take_u8(in) % 8;

	for (; n && nic.sends && nic.num_wc < WCS; n--) {
		nic.sends--;
		complete((struct ibv_wc){.wr_id = WR_SEND,
					 .status = take_u8(in) == 0xff ? IBV_WC_RETRY_EXC_ERR
								       : IBV_WC_SUCCESS});
	}
}

/* The program reads; what it gets is the ring's, from the place that the protocol says. */
static void reads(struct rs *rs, struct take *in)
{
	static uint8_t buf[LONGEST];
	const struct rs_stream *st = rs->stream;
	uint32_t want = take_u16(in) % LONGEST, split = want ? take_u16(in) % want : 0, i;
	struct iovec iov[3] = {{buf, split}, {NULL, 0}, {buf + split, want - split}};
	int flags = take_u8(in) & 1 ? MSG_PEEK : 0;
	uint64_t from = nic.read_bytes;
	ssize_t n;

	n = rs_stream_recv(rs, iov, 3, flags | MSG_DONTWAIT);
	if (n <= 0)
		return;
	take_check(n <= (ssize_t)want, "more read than wanted");
	for (i = 0; i < (uint32_t)n; i++)
		take_check(buf[i] == st->gear.ring[(from + i) % RING], "bytes of another place");
	if (!flags)
		nic.read_bytes += (uint64_t)n;
	take_check(nic.read_bytes % RING == st->rx.from, "the place of the next byte");
}

static void sends(struct rs *rs, struct take *in)
{
	static uint8_t buf[LONGEST];
	struct iovec iov[2] = {{buf, take_u16(in) % (LONGEST / 2)}, {buf, take_u8(in)}};
	ssize_t n = rs_stream_send(rs, iov, 2, MSG_DONTWAIT);

	take_check(n <= (ssize_t)(iov[0].iov_len + iov[1].iov_len), "more sent than given");
}

/* Writes through the peer's mappings, and makes one. */
static void maps(struct rs *rs, struct take *in)
{
	static uint8_t region[4][64];
	static const uint8_t data[256];
	struct write w = {.from = data, .offset = take_u32(in), .left = take_u8(in)};
	uint8_t what = take_u8(in);
	off_t offset = what;
	int64_t rc = 1;

	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	if (what & 1)
		(void)map(rs, region[what >> 1 & 3], sizeof(region[0]), PROT_WRITE, &offset);
	else if (what & 2)
		(void)unmap(rs, region[what >> 2 & 3], sizeof(region[0]));
	else
		while (w.left && rc > 0) {
			rc = until(rs, write_step, &w, MSG_DONTWAIT);
			take_check(rc <= (int64_t)w.left, "more written than given");
			w.from += rc > 0 ? rc : 0;
			w.offset += rc > 0 ? (uint64_t)rc : 0;
			w.left -= rc > 0 ? (size_t)rc : 0;
		}
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
}

static void stream(struct take *in)
{
	struct rs *rs = open_one(in);
	uint32_t steps = 0;

	while (in->left && steps++ < STEPS) {
		uint8_t what = take_u8(in);

		switch (what >> 5) {
		case 0:
		case 1:
			arrives(rs, in, what);
			break;
		case 2:
			writes(rs, in);
			break;
		case 3:
			finishes(in);
			break;
		case 4:
			reads(rs, in);
			break;
		case 5:
			sends(rs, in);
			break;
		case 6:
			maps(rs, in);
			break;
		default:
			pthread_mutex_lock(&rs->lock);
			if (what & 1 && rs->state == RS_CONNECTED && !rs->stream->fin_sent &&
			    rs_stream_sq_room(rs->stream))
				(void)rs_stream_fin(rs);
			(void)rs_stream_progress(rs);
			(void)rs_stream_revents(rs);
			pthread_mutex_unlock(&rs->lock);
		}
		if (rs->state == RS_CONNECTED && !nic.num_wc)
			take_check(nic.recvs == MSGS + RS_CTL_MSGS,
				   "a receive was not posted anew");
		take_check(rs->stream->rx.unread_bytes <= RING, "more bytes than the ring holds");
	}
	close_one(rs);
}

void fuzz_rsock_begin(void)
{
}

void fuzz_rsock(const uint8_t *data, size_t bytes)
{
	struct take in = {data, bytes};

	if (take_u8(&in) & 1)
		stream(&in);
	else
		rsock_dgram(&in);
}
