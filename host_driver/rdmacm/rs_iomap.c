/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * riomap(), riounmap(), riowrite(): direct writes into the peer's memory.
 *
 * To map memory, a side writes an entry into the peer's table and notifies the peer by a message in
 * stream order. The peer copies the entry when it takes the message. Calls rs_stream.c and
 * libibverbs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host_driver/rdmacm/rs.h"

int rs_iomap_told(struct rs_stream *st, uint32_t index)
{
	if (index >= st->iomap_size)
		return -EPROTO;
	/* One copy only: the peer may overwrite the entry at any time. */
	memcpy(&st->iomap_peer[index], &st->iomap_table[index], sizeof(st->iomap_peer[index]));
	return 0;
}

void rs_iomap_free(struct rs_stream *st)
{
	struct rs_iomap *next;

	for (struct rs_iomap *m = st->iomaps; m; m = next) {
		next = m->next;
		(void)ibv_dereg_mr(m->mr);
		free(m);
	}
	st->iomaps = NULL;
}

static int connected(const struct rs *rs)
{
	if (rs->type != SOCK_STREAM)
		return EOPNOTSUPP;
	if (rs->state == RS_BROKEN || (rs->state == RS_CONNECTED && rs->write_shut))
		return EPIPE;
	return rs->state == RS_CONNECTED ? 0 : ENOTCONN;
}

/*
 * Runs step until it makes progress or fails, and sleeps in between; step returns 0 for "no room".
 * Under both locks.
 */
static int64_t until(struct rs *rs, int64_t (*step)(struct rs *, void *), void *arg, int flags)
{
	struct rs_deadline deadline = rs_deadline_in(&rs->opts.sndtimeo);
	struct rs_looks looks = {0};

	int64_t rc;

	do {
		int err = connected(rs);

		rc = err ? -err : step(rs, arg);
		if (rc)
			break;
		rc = rs_dont_wait(rs, flags) ? -EAGAIN
					     : rs_wait(rs, &rs->send_lock, deadline, &looks);
	} while (rc == 0);
	rs_wait_end(&looks);
	return rc;
}

/* ---- announcing entries to the peer --------------------------------------------------------- */

struct tell {
	uint32_t index;
	struct rs_wire_iomap entry;
};

static int64_t tell_step(struct rs *rs, void *arg)
{
	const struct tell *t = arg;
	struct rs_stream *st = rs->stream;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
	    .sg_list = &sge,
	    .num_sge = 1,
	    .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
	    .imm_data = htonl(rs_wire_imm(RS_WIRE_IOMAP, t->index)),
	    .wr.rdma = {.remote_addr = st->peer_iomap + t->index * sizeof(t->entry),
			.rkey = st->peer_iomap_rkey},
	};
	int rc;

	if (st->tx.msgs.count == st->tx.msgs.room)
		return 0;
	/* An entry must not be split. */
	if (rs_buf_room(&st->tx_buf, sizeof(t->entry)) < sizeof(t->entry)) {
		if (st->sends.count)
			return 0;
		/* No request is outstanding, so only the buffer's end is in the way: start over. */
		rs_buf_init(&st->tx_buf, st->tx_buf.bytes);
	}
	if (!rs_stream_take(rs, &t->entry, sizeof(t->entry), &sge))
		return 0;
	(void)rs_tx_sent(&st->tx, 0);
	rc = rs_stream_post(rs, &wr, sge.length);
	return rc < 0 ? rc : 1;
}

static uint32_t free_entry(const struct rs_stream *st)
{
	uint32_t i = 0;

	while (i < st->peer_iomap_size && st->iomap_used[i])
		i++;
	return i;
}

/* Maps a region that the peer may write. Returns 0 or a negative errno. */
static int map_remote(struct rs *rs, struct rs_iomap *m, size_t len)
{
	struct rs_stream *st = rs->stream;
	struct tell t = {.index = free_entry(st)};
	int64_t rc;

	if (t.index == st->peer_iomap_size)
		return -ENOSPC;
	t.entry = (struct rs_wire_iomap){.offset = be64_put(m->offset),
					 .addr = be64_put((uintptr_t)m->mr->addr),
					 .bytes = be64_put(len),
					 .rkey = be32_put(m->mr->rkey)};
	st->iomap_used[t.index] = 1;
	rc = until(rs, tell_step, &t, 0);
	/* The peer was not notified of the entry. */
	if (rc < 0 && rs->stream)
		rs->stream->iomap_used[t.index] = 0;
	if (rc < 0)
		return (int)rc;
	m->index = t.index;
	return 0;
}

static int map(struct rs *rs, void *buf, size_t len, int prot, off_t *offset)
{
	int access = IBV_ACCESS_LOCAL_WRITE | (prot ? IBV_ACCESS_REMOTE_WRITE : 0);
	struct rs_iomap *m;
	int rc = -connected(rs);

	if (rc < 0)
		return rc;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	if (*offset == -1)
		*offset = (off_t)(uintptr_t)buf;
	m->offset = (uint64_t)*offset;
	m->index = UINT32_MAX;
	m->mr = ibv_reg_mr(rs->id->qp->pd, buf, len, access);
	if (!m->mr) {
		rc = -errno;
		free(m);
		return rc;
	}
	if (prot)
		rc = map_remote(rs, m, len);
	if (rc < 0) {
		(void)ibv_dereg_mr(m->mr);
		free(m);
		return rc;
	}
	m->next = rs->stream->iomaps;
	rs->stream->iomaps = m;
	return 0;
}

static void lock(struct rs *rs)
{
	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	rs_progress(rs);
}

static void unlock(struct rs *rs)
{
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
}

RS_API off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	struct rs *rs;
	int rc;

	if (!buf || !len || flags || (prot != PROT_NONE && prot != PROT_WRITE) || offset < -1)
		return rs_fail(EINVAL);
	rs = rs_get(socket);
	if (!rs)
		return -1;
	lock(rs);
	rc = map(rs, buf, len, prot, &offset);
	unlock(rs);
	rs_put(rs);
	return rc < 0 ? rs_fail(-rc) : offset;
}

static int unmap(struct rs *rs, const void *buf, size_t len)
{
	struct rs_iomap **at, *m;
	struct tell t = {0};
	int rc = 0;

	if (!rs->stream)
		return -ENOTCONN;
	at = &rs->stream->iomaps;
	while ((m = *at) != NULL && (m->mr->addr != buf || m->mr->length != len))
		at = &m->next;
	if (!m)
		return -EINVAL;
	*at = m->next;
	/* A peer that is gone needs no notification. */
	if (m->index != UINT32_MAX && connected(rs) == 0) {
		t.index = m->index;
		rc = (int)until(rs, tell_step, &t, 0);
		if (rs->stream && rc > 0)
			rs->stream->iomap_used[t.index] = 0;
	}
	if (ibv_dereg_mr(m->mr))
		rc = -errno;
	free(m);
	return rc < 0 && rc != -EPIPE ? rc : 0;
}

RS_API int riounmap(int socket, void *buf, size_t len)
{
	struct rs *rs = rs_get(socket);
	int rc;

	if (!rs)
		return -1;
	lock(rs);
	rc = unmap(rs, buf, len);
	unlock(rs);
	rs_put(rs);
	return rc < 0 ? rs_fail(-rc) : 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct write {
	const uint8_t *from;
	uint64_t offset;
	size_t left;
};

/* Returns the entry that contains offset; *bytes: from there to its end. */
static const struct rs_wire_iomap *find(const struct rs_stream *st, uint64_t offset,
					uint64_t *bytes)
{
	for (uint32_t i = 0; i < st->iomap_size; i++) {
		const struct rs_wire_iomap *e = &st->iomap_peer[i];
		uint64_t begin = be64_get(e->offset), length = be64_get(e->bytes);

		if (length && offset >= begin && offset - begin < length) {
			*bytes = length - (offset - begin);
			return e;
		}
	}
	return NULL;
}

static int64_t write_step(struct rs *rs, void *arg)
{
	struct write *w = arg;
	struct rs_stream *st = rs->stream;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
	uint64_t bytes;
	const struct rs_wire_iomap *e = find(st, w->offset, &bytes);
	int rc;

	if (!e)
		return -EINVAL;
	if (bytes > w->left)
		bytes = w->left;
	if (bytes > RS_PIECE_BYTES_MAX)
		bytes = RS_PIECE_BYTES_MAX;
	if (!rs_stream_take(rs, w->from, (uint32_t)bytes, &sge))
		return 0;
	if (sge.length <= st->gear.inline_bytes)
		wr.send_flags = IBV_SEND_INLINE;
	wr.wr.rdma.remote_addr = be64_get(e->addr) + (w->offset - be64_get(e->offset));
	wr.wr.rdma.rkey = be32_get(e->rkey);
	rc = rs_stream_post(rs, &wr, sge.length);
	return rc < 0 ? rc : (int64_t)sge.length;
}

RS_API size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	struct write w = {.from = buf, .offset = (uint64_t)offset, .left = count};
	struct rs *rs = rs_get(socket);
	int64_t rc = 0;

	if (!rs)
		return (size_t)-1;
	lock(rs);
	while (w.left) {
		rc = until(rs, write_step, &w, flags);
		if (rc < 0)
			break;
		w.from += rc;
		w.offset += (uint64_t)rc;
		w.left -= (size_t)rc;
	}
	unlock(rs);
	rs_put(rs);
	return rc < 0 && w.left == count ? (size_t)rs_fail((int)-rc) : count - w.left;
}
