/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams: writes bytes into the peer's ring, reads bytes from the local ring, returns credits,
 * ends a direction.
 *
 * All requests are signaled: a completion means that the bytes are in the peer's memory. Receives
 * have no buffers and are reposted as soon as they complete, since rs_flow.c provides flow control.
 * Calls rs_flow.c, rs_wait.c and libibverbs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "host_driver/rdmacm/rs.h"
#include "lib/clock.h"

enum {
	WR_RECV = 0,
	WR_SEND = 1,
	/* Copying fewer bytes takes less time than releasing the lock. */
	COPY_LOCKED_BYTES = 4096,
};

/* ---- requests ------------------------------------------------------------------------------ */

/* Returns the number of requests that data may use now. */
static uint32_t rs_stream_sq_room(const struct rs_stream *st)
{
	uint32_t used = st->sends.count + RS_CTL_SENDS;

	return used < st->gear.sq_size ? st->gear.sq_size - used : 0;
}

bool rs_stream_idle(const struct rs_stream *st)
{
	return st->sends.count == 0;
}

int rs_stream_post(struct rs *rs, struct ibv_send_wr *wr, uint32_t buf_bytes)
{
	struct rs_stream *st = rs->stream;
	struct ibv_send_wr *bad;
	int rc;

	wr->wr_id = WR_SEND;
	wr->send_flags |= IBV_SEND_SIGNALED;
	rc = ibv_post_send(rs->id->qp, wr, &bad);
	if (rc)
		return -rc;
	rs_fifo_push(&st->sends, buf_bytes);
	return 0;
}

static int post_imm(struct rs *rs, enum rs_wire_type type, uint32_t value, uint32_t offset,
		    struct ibv_sge *sge)
{
	struct rs_stream *st = rs->stream;
	struct ibv_send_wr wr = {
	    .sg_list = sge,
	    .num_sge = sge ? 1 : 0,
	    .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
	    .imm_data = htonl(rs_wire_imm(type, value)),
	    .wr.rdma = {.remote_addr = st->peer_ring + offset, .rkey = st->peer_ring_rkey},
	};

	if (sge && sge->length <= st->gear.inline_bytes)
		wr.send_flags |= IBV_SEND_INLINE;
	return rs_stream_post(rs, &wr, sge ? sge->length : 0);
}

void rs_stream_break(struct rs *rs, int err)
{
	if (rs->state != RS_CONNECTED)
		return;
	rs->error = err;
	rs_set_state(rs, RS_BROKEN);
	rs_wake(rs);
}

/* Credits that found no room before are included. */
static void post_credits(struct rs *rs)
{
	struct rs_stream *st = rs->stream;
	int rc;

	st->credits_owed += rs_rx_take_credits(&st->rx);
	if (!st->credits_owed || rs->state != RS_CONNECTED ||
	    st->sends.count >= st->gear.sq_size - 1)
		return;
	rc = post_imm(rs, RS_WIRE_CREDIT, st->credits_owed, 0, NULL);
	if (rc < 0)
		rs_stream_break(rs, ECONNRESET);
	st->credits_owed = 0;
}

int rs_stream_fin(struct rs *rs)
{
	int rc = post_imm(rs, RS_WIRE_FIN, 0, 0, NULL);

	if (rc == 0)
		rs->stream->fin_sent = true;
	return rc;
}

/* ---- completions --------------------------------------------------------------------------- */

static int took_message(struct rs_stream *st, const struct ibv_wc *wc)
{
	uint32_t imm = ntohl(wc->imm_data), value = rs_wire_imm_value(imm);

	/* After the FIN only credits are valid. */
	if (!(wc->wc_flags & IBV_WC_WITH_IMM) ||
	    (st->fin_seen && rs_wire_imm_type(imm) != RS_WIRE_CREDIT))
		return -EPROTO;
	switch (rs_wire_imm_type(imm)) {
	case RS_WIRE_DATA:
		return value == wc->byte_len ? rs_rx_arrived(&st->rx, value) : -EPROTO;
	case RS_WIRE_CREDIT:
		return rs_tx_credit(&st->tx, value);
	case RS_WIRE_FIN:
		st->fin_seen = true;
		return 0;
	case RS_WIRE_IOMAP:
		if (rs_rx_arrived(&st->rx, 0) < 0)
			return -EPROTO;
		return rs_iomap_told(st, value);
	default:
		return -EPROTO;
	}
}

static int repost(struct rs *rs)
{
	struct ibv_recv_wr wr = {.wr_id = WR_RECV}, *bad;

	return ibv_post_recv(rs->id->qp, &wr, &bad) ? -ECONNRESET : 0;
}

/* Maps the status of a failed request to an errno. */
static int wc_error(const struct rs_stream *st, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_RETRY_EXC_ERR || wc->status == IBV_WC_RESP_TIMEOUT_ERR)
		return ETIMEDOUT;
	return wc->status == IBV_WC_WR_FLUSH_ERR && st->fin_seen ? 0 : ECONNRESET;
}

static void take(struct rs *rs, const struct ibv_wc *wc)
{
	struct rs_stream *st = rs->stream;
	int rc = 0;

	if (wc->wr_id == WR_SEND)
		rs_buf_release(&st->tx_buf, rs_fifo_pop(&st->sends));
	if (rs->state != RS_CONNECTED)
		return;
	if (wc->status != IBV_WC_SUCCESS) {
		rs_stream_break(rs, wc_error(st, wc));
		return;
	}
	if (wc->wr_id == WR_SEND)
		return;
	rc = took_message(st, wc);
	if (rc == 0)
		rc = repost(rs);
	if (rc < 0)
		rs_stream_break(rs, -rc);
}

bool rs_stream_waiting(const struct rs *rs)
{
	const struct rs_stream *st = rs->stream;

	return st && st->gear.cq && weft_cq_waiting(weft_cm_cq(st->gear.cq));
}

/* Returns the number of completions taken. */
int rs_stream_progress(struct rs *rs)
{
	struct rs_stream *st = rs->stream;
	struct ibv_wc wc[RS_POLL_BATCH];
	int n, all = 0;

	if (!st || (rs->state != RS_CONNECTED && rs->state != RS_BROKEN))
		return 0;
	while (weft_cq_waiting(weft_cm_cq(st->gear.cq))) {
		n = ibv_poll_cq(st->gear.cq, RS_POLL_BATCH, wc);
		for (int i = 0; i < n; i++)
			take(rs, &wc[i]);
		if (n < 0)
			rs_stream_break(rs, ENETDOWN);
		if (n <= 0)
			break;
		all += n;
	}
	if (!all)
		return 0;
	post_credits(rs);
	if (rs->opts.keepalive)
		rs->last_heard_ns = clock_now_ns();
	rs_wake(rs);
	return all;
}

bool rs_stream_arm(struct rs *rs)
{
	struct rs_stream *st = rs->stream;

	if (!st || rs->state != RS_CONNECTED)
		return false;
	if (!st->armed) {
		if (ibv_req_notify_cq(st->gear.cq, 0)) {
			rs_stream_break(rs, ENETDOWN);
			return true;
		}
		st->armed = true;
	}
	return rs_stream_progress(rs) > 0;
}

void rs_stream_event(struct rs *rs)
{
	struct rs_stream *st = rs->stream;
	struct ibv_cq *cq;
	void *user;

	if (!st || !st->armed)
		return;
	if (ibv_get_cq_event(st->gear.channel, &cq, &user) == 0) {
		ibv_ack_cq_events(cq, 1);
		st->armed = false;
	}
	(void)rs_stream_progress(rs);
}

/* Returns true if a request of maximum length could be posted. */
static bool writable(const struct rs *rs)
{
	const struct rs_stream *st = rs->stream;

	return rs_tx_piece(&st->tx, RS_PIECE_BYTES_MAX) && rs_buf_room(&st->tx_buf, 1) &&
	       rs_stream_sq_room(st);
}

short rs_stream_revents(struct rs *rs)
{
	const struct rs_stream *st = rs->stream;
	bool over = rs->state == RS_BROKEN;
	int ev = rs->error ? POLLERR : 0;

	if (rs->state == RS_CONNECTING)
		return 0;
	if (rs->state != RS_CONNECTED && !over)
		return (short)(ev | POLLOUT | POLLHUP);
	if (st->rx.unread_bytes)
		ev |= POLLIN | POLLRDNORM;
	if (over || st->fin_seen || rs->read_shut)
		ev |= POLLIN | POLLRDNORM | POLLRDHUP;
	if (over || rs->write_shut || writable(rs))
		ev |= POLLOUT | POLLWRNORM;
	/* Data that the peer sent before it closed is read first. */
	if ((over && !st->rx.unread_bytes) || (st->fin_seen && st->fin_sent))
		ev |= POLLHUP;
	return (short)ev;
}

/* ---- sending ------------------------------------------------------------------------------- */

/* Position of the next byte in a list of buffers. */
struct iov_at {
	const struct iovec *iov;
	int left;
	size_t skip;
};

static size_t iov_bytes(const struct iovec *iov, int n)
{
	size_t all = 0;

	for (int i = 0; i < n; i++)
		all += iov[i].iov_len;
	return all;
}

static void iov_copy(struct iov_at *at, uint8_t *mem, size_t bytes, bool out_of_iov)
{
	while (bytes) {
		size_t here = at->iov->iov_len - at->skip;
		size_t n = here < bytes ? here : bytes;

		/* An empty buffer may have no address. */
		if (n) {
			uint8_t *user = (uint8_t *)at->iov->iov_base + at->skip;

			memcpy(out_of_iov ? mem : user, out_of_iov ? user : mem, n);
		}
		mem += n;
		bytes -= n;
		at->skip += n;
		if (at->skip == at->iov->iov_len && at->left > 1) {
			at->iov++;
			at->left--;
			at->skip = 0;
		}
	}
}

/* Returns 0 if sending is possible, EAGAIN if not yet, or another errno. */
static int may_send(struct rs *rs)
{
	int err = rs->error;

	if (rs->state == RS_CONNECTING)
		return EAGAIN;
	if (rs->state == RS_CLOSED)
		return EBADF;
	if (rs->state != RS_CONNECTED && rs->state != RS_BROKEN)
		return ENOTCONN;
	if (rs->state == RS_BROKEN && err) {
		rs->error = 0;
		return err;
	}
	return rs->state == RS_BROKEN || rs->write_shut ? EPIPE : 0;
}

/*
 * Sends one message of the greatest possible length. Returns its length, 0 (no room) or a negative
 * errno.
 */
static int64_t send_piece(struct rs *rs, struct iov_at *at, size_t want)
{
	struct rs_stream *st = rs->stream;
	uint32_t bytes, offset;
	struct ibv_sge sge;
	int rc;

	if (!rs_stream_sq_room(st))
		return 0;
	bytes = rs_buf_room(&st->tx_buf, rs_tx_piece(&st->tx, want));
	if (!bytes)
		return 0;
	offset = rs_tx_sent(&st->tx, bytes);
	sge = (struct ibv_sge){.addr = (uintptr_t)(st->gear.buf + rs_buf_take(&st->tx_buf, bytes)),
			       .length = bytes,
			       .lkey = st->gear.mr->lkey};
	if (bytes > COPY_LOCKED_BYTES)
		pthread_mutex_unlock(&rs->lock);
	iov_copy(at, (uint8_t *)(uintptr_t)sge.addr, bytes, true);
	if (bytes > COPY_LOCKED_BYTES)
		pthread_mutex_lock(&rs->lock);
	rc = may_send(rs);
	if (rc)
		return -rc;
	rc = post_imm(rs, RS_WIRE_DATA, bytes, offset, &sge);
	if (rc < 0)
		rs_stream_break(rs, ECONNRESET);
	return rc < 0 ? -ECONNRESET : (int64_t)bytes;
}

uint32_t rs_stream_take(struct rs *rs, const void *buf, uint32_t bytes, struct ibv_sge *sge)
{
	struct rs_stream *st = rs->stream;
	uint32_t room = rs_stream_sq_room(st) ? rs_buf_room(&st->tx_buf, bytes) : 0;

	if (!room)
		return 0;
	*sge = (struct ibv_sge){.addr = (uintptr_t)(st->gear.buf + rs_buf_take(&st->tx_buf, room)),
				.length = room,
				.lkey = st->gear.mr->lkey};
	memcpy((void *)(uintptr_t)sge->addr, buf, room);
	return room;
}

ssize_t rs_stream_send(struct rs *rs, const struct iovec *iov, int iovcnt, int flags)
{
	struct rs_deadline deadline = rs_deadline_in(&rs->opts.sndtimeo);
	struct iov_at at = {iov, iovcnt, 0};
	size_t want = iov_bytes(iov, iovcnt), done = 0;
	struct rs_looks looks = {0};
	int64_t n;
	int err = 0;

	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	(void)rs_stream_progress(rs);
	for (;;) {
		err = may_send(rs);
		if (err && err != EAGAIN)
			break;
		if (!err && done == want)
			break;
		n = err ? 0 : send_piece(rs, &at, want - done);
		if (n < 0) {
			err = (int)-n;
			break;
		}
		if (n > 0) {
			done += (size_t)n;
			looks.end_ns = 0;
			continue;
		}
		err = rs_dont_wait(rs, flags) ? EAGAIN
					      : -rs_wait(rs, &rs->send_lock, deadline, &looks);
		if (err)
			break;
	}
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
	rs_wait_end(&looks);
	return done || !err ? (ssize_t)done : rs_fail(err);
}

/* ---- receiving ----------------------------------------------------------------------------- */

/* Returns 0 if more data may arrive, 1 at the end, or a negative errno. */
static int may_recv(struct rs *rs)
{
	int err = rs->error;

	if (rs->state == RS_CLOSED)
		return -EBADF;
	if (rs->state == RS_CONNECTING)
		return 0;
	if (rs->state != RS_CONNECTED && rs->state != RS_BROKEN)
		return -ENOTCONN;
	if (rs->read_shut)
		return 1;
	if (rs->stream->rx.unread_bytes)
		return 0;
	if (rs->state == RS_BROKEN && err) {
		rs->error = 0;
		return -err;
	}
	return rs->state == RS_BROKEN || rs->stream->fin_seen;
}

/* Copies available data, up to want bytes. skip: bytes that a peek has already seen. */
static uint32_t recv_some(struct rs *rs, struct iov_at *at, size_t want, uint32_t skip, int flags)
{
	struct rs_stream *st = rs->stream;
	uint32_t offset, bytes;

	if (rs->state != RS_CONNECTED && rs->state != RS_BROKEN)
		return 0;
	bytes = rs_rx_stretch(&st->rx, skip, &offset);
	if (bytes > want)
		bytes = (uint32_t)want;
	if (!bytes)
		return 0;
	if (bytes > COPY_LOCKED_BYTES)
		pthread_mutex_unlock(&rs->lock);
	if (!(flags & MSG_TRUNC))
		iov_copy(at, st->gear.ring + offset, bytes, false);
	if (bytes > COPY_LOCKED_BYTES)
		pthread_mutex_lock(&rs->lock);
	if (!(flags & MSG_PEEK)) {
		rs_rx_read(&st->rx, bytes);
		post_credits(rs);
	}
	return bytes;
}

ssize_t rs_stream_recv(struct rs *rs, const struct iovec *iov, int iovcnt, int flags)
{
	struct rs_deadline deadline = rs_deadline_in(&rs->opts.rcvtimeo);
	struct iov_at at = {iov, iovcnt, 0};
	size_t want = iov_bytes(iov, iovcnt), done = 0;
	struct rs_looks looks = {0};
	int rc = 0;

	pthread_mutex_lock(&rs->recv_lock);
	pthread_mutex_lock(&rs->lock);
	(void)rs_stream_progress(rs);
	while (done < want) {
		uint32_t n;

		rc = may_recv(rs);
		if (rc)
			break;
		n = recv_some(rs, &at, want - done, flags & MSG_PEEK ? (uint32_t)done : 0, flags);
		done += n;
		if (n)
			continue;
		if (done && (!(flags & MSG_WAITALL) || flags & MSG_PEEK))
			break;
		rc = rs_dont_wait(rs, flags) ? -EAGAIN
					     : rs_wait(rs, &rs->recv_lock, deadline, &looks);
		if (rc < 0)
			break;
	}
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->recv_lock);
	rs_wait_end(&looks);
	return done || rc >= 0 ? (ssize_t)done : rs_fail(-rc);
}
