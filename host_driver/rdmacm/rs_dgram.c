/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram sockets: the calls of programs.
 *
 * rs_dgram.h describes the structure. Calls rs_end.c, rs_dest.c and rs_wait.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/rs_dgram.h"

enum {
	GIDS_MAX = 16,
};

/* ---- addresses ------------------------------------------------------------------------------- */

/* Stores at most n IPv4 addresses of the device's port 1; returns their number. */
static int addresses(struct ibv_context *verbs, struct in_addr *addr, int n)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct ibv_port_attr port;
	int found = 0;

	if (ibv_query_port(verbs, 1, &port))
		return 0;
	for (int i = 0; i < port.gid_tbl_len && i < GIDS_MAX && found < n; i++) {
		union ibv_gid gid;

		if (ibv_query_gid(verbs, 1, i, &gid) == 0 &&
		    memcmp(gid.raw, mapped, sizeof(mapped)) == 0)
			memcpy(&addr[found++], gid.raw + 12, sizeof(*addr));
	}
	return found;
}

/* Opens an end on every NIC, all with the same port. */
static int open_all(struct rs *rs, struct sockaddr_in *bind_to)
{
	struct ibv_context **list;
	struct in_addr addr;
	int num, rc = 0;

	list = rdma_get_devices(&num);
	if (!list)
		return -errno;
	for (int i = 0; i < num && rc == 0 && rs->dgram->num_ends < RS_ENDS_MAX; i++) {
		if (addresses(list[i], &addr, 1) != 1)
			continue;
		bind_to->sin_addr = addr;
		rc = rs_end_open(rs, bind_to);
	}
	rdma_free_devices(list);
	bind_to->sin_addr.s_addr = htonl(INADDR_ANY);
	return rc < 0 || rs->dgram->num_ends ? rc : -ENODEV;
}

/* Destroys ids without the lock, since their event handlers may be waiting for it. */
static void close_dgram(struct rs *rs)
{
	struct rdma_cm_id *ids[RS_ENDS_MAX * RS_IDS_OF_END], *id;
	struct sockaddr_in ports[RS_ENDS_MAX];
	struct rs_packet *p, *next;
	struct rs_dgram *dg;
	struct rs_dest *d, *next_dest;
	int n = 0, num_ports = 0;

	pthread_mutex_lock(&rs->lock);
	dg = rs->dgram;
	rs->dgram = NULL;
	pthread_mutex_unlock(&rs->lock);
	if (!dg)
		return;
	for (d = dg->dests; d; d = next_dest) {
		next_dest = d->next;
		id = rs_dest_free(d);
		if (id)
			(void)rdma_destroy_id(id);
	}
	for (p = dg->queue; p; p = next) {
		next = p->next;
		if (!p->end)
			free(p);
	}
	rs_parts_free(&dg->parts);
	for (int i = 0; i < dg->num_ends; i++) {
		if (dg->ends[i]->listen_id)
			ports[num_ports++] = dg->ends[i]->addr;
		n += rs_end_close(dg->ends[i], ids + n);
	}
	while (n--)
		(void)rdma_destroy_id(ids[n]);
	while (num_ports--)
		rs_share_inherit(&ports[num_ports]);
	free(dg);
}

/* Caller holds the lock. */
static int bind_it(struct rs *rs, const struct sockaddr *addr)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	/*
	 * No NIC has a loopback address. As in the kernel's rdma_cm, it stands for any address of
	 * this machine.
	 */
	bool all = rs_addr_any(addr) || rs_addr_loopback(addr);
	int rc;

	if (rs->state != RS_OPEN)
		return -EINVAL;
	if (addr->sa_family != AF_INET && !all)
		return -EADDRNOTAVAIL;
	if (all)
		to.sin_port = htons(rs_addr_port(addr));
	else
		memcpy(&to, addr, sizeof(to));
	rs->dgram = calloc(1, sizeof(*rs->dgram));
	if (!rs->dgram)
		return -ENOMEM;
	rs->dgram->queue_end = &rs->dgram->queue;
	rc = all ? open_all(rs, &to) : rs_end_open(rs, &to);
	if (rc < 0)
		return rc;
	rs_addr_as(rs->family, (struct sockaddr *)&to, &rs->local);
	rs_set_state(rs, RS_DATAGRAM);
	return 0;
}

int rs_dgram_bind(struct rs *rs, const struct sockaddr *addr)
{
	bool mine;
	int rc;

	pthread_mutex_lock(&rs->lock);
	mine = rs->state == RS_OPEN;
	rc = bind_it(rs, addr);
	pthread_mutex_unlock(&rs->lock);
	if (rc < 0 && mine)
		close_dgram(rs);
	return rc;
}

/* Binds an unbound socket to a port on first use. */
static int bind_any(struct rs *rs)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	bool open;

	pthread_mutex_lock(&rs->lock);
	open = rs->state == RS_OPEN;
	pthread_mutex_unlock(&rs->lock);
	return open ? rs_dgram_bind(rs, (struct sockaddr *)&any) : 0;
}

int rs_dgram_connect(struct rs *rs, const struct sockaddr *addr)
{
	struct rs_dest *d;
	int rc;

	if (addr->sa_family != AF_INET)
		return -ENETUNREACH;
	rc = bind_any(rs);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&rs->lock);
	if (rs->state != RS_DATAGRAM) {
		rc = -EBADF;
	} else {
		d = rs_dest_get(rs, (const struct sockaddr_in *)addr, &rc);
		if (d)
			rs_addr_as(rs->family, addr, &rs->peer);
		for (int i = 0; d && i < rs->dgram->num_ends; i++)
			rs_share_connected(rs->dgram->ends[i], (const struct sockaddr_in *)addr);
		/* Reports the address that the peer sees. */
		if (d && rs->dgram->num_ends == 1)
			rs_addr_as(rs->family, (struct sockaddr *)&rs->dgram->ends[0]->addr,
				   &rs->local);
	}
	pthread_mutex_unlock(&rs->lock);
	return rc;
}

static bool is_idle(const struct rs_dgram *dg)
{
	for (const struct rs_dest *d = dg->dests; d; d = d->next)
		if (d->num_pending)
			return false;
	for (int i = 0; i < dg->num_ends; i++)
		if (dg->ends[i]->num_free < dg->ends[i]->num_send)
			return false;
	return true;
}

void rs_dgram_drain(struct rs *rs)
{
	struct timeval limit = {.tv_sec = RS_RESOLVE_MS / 1000};
	struct rs_deadline deadline = rs_deadline_in(&limit);
	int rc = 0;

	(void)rs_dgram_progress(rs);
	while (rs->dgram && !is_idle(rs->dgram) && !rs->error && rc != -EAGAIN && rc != -ENFILE)
		rc = rs_sleep(rs, deadline);
}

void rs_dgram_close(struct rs *rs)
{
	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->recv_lock);
	close_dgram(rs);
	pthread_mutex_unlock(&rs->recv_lock);
	pthread_mutex_unlock(&rs->send_lock);
}

/* ---- completions ----------------------------------------------------------------------------- */

int rs_dgram_progress(struct rs *rs)
{
	struct rs_dgram *dg = rs->dgram;
	int all = 0;

	for (int i = 0; dg && i < dg->num_ends; i++)
		all += rs_end_progress(rs, dg->ends[i]);
	if (all)
		rs_wake(rs);
	return all;
}

bool rs_dgram_waiting(const struct rs *rs)
{
	const struct rs_dgram *dg = rs->dgram;

	for (int i = 0; dg && i < dg->num_ends; i++)
		if (weft_cq_waiting(weft_cm_cq(dg->ends[i]->cq)))
			return true;
	return false;
}

bool rs_dgram_arm(struct rs *rs)
{
	struct rs_dgram *dg = rs->dgram;

	for (int i = 0; dg && i < dg->num_ends; i++) {
		struct rs_end *end = dg->ends[i];

		if (!end->armed && ibv_req_notify_cq(end->cq, 0)) {
			rs->error = ENETDOWN;
			return true;
		}
		end->armed = true;
	}
	return rs_dgram_progress(rs) > 0;
}

void rs_dgram_event(struct rs *rs)
{
	struct rs_dgram *dg = rs->dgram;
	struct ibv_cq *cq;
	void *user;

	for (int i = 0; dg && i < dg->num_ends; i++) {
		struct rs_end *end = dg->ends[i];

		if (end->armed && ibv_get_cq_event(end->channel, &cq, &user) == 0) {
			ibv_ack_cq_events(cq, 1);
			end->armed = false;
		}
	}
	(void)rs_dgram_progress(rs);
}

int rs_dgram_fds(const struct rs *rs, int *fds, int n)
{
	const struct rs_dgram *dg = rs->dgram;
	int i = 0;

	for (; dg && i < dg->num_ends && i < n; i++)
		fds[i] = dg->ends[i]->channel->fd;
	return i;
}

/* Returns true if a datagram of any size could be sent. */
static bool writable(const struct rs_dgram *dg)
{
	uint32_t parts;

	for (int i = 0; dg && i < dg->num_ends; i++) {
		parts = RS_DGRAM_BYTES_MAX / dg->part_bytes + 1;
		if (dg->ends[i]->num_free < parts && dg->ends[i]->num_free < dg->ends[i]->num_send)
			return false;
	}
	return true;
}

short rs_dgram_revents(struct rs *rs)
{
	int ev = rs->error ? POLLERR : 0;

	if ((rs->dgram && rs->dgram->queue) || rs->read_shut)
		ev |= POLLIN | POLLRDNORM;
	if (writable(rs->dgram))
		ev |= POLLOUT | POLLWRNORM;
	return (short)ev;
}

static int take_error(struct rs *rs)
{
	int err = rs->error;

	rs->error = 0;
	return -err;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Returns the address of the message, or the connected peer. */
static int destination(const struct rs *rs, const struct msghdr *msg, struct sockaddr_storage *to)
{
	if (msg->msg_name && msg->msg_namelen) {
		if (!rs_addr_in(msg->msg_name, msg->msg_namelen, to))
			return -EINVAL;
	} else if (!rs->peer.ss_family ||
		   !rs_addr_in((const struct sockaddr *)&rs->peer, sizeof(rs->peer), to)) {
		return -EDESTADDRREQ;
	}
	return to->ss_family == AF_INET ? 0 : -ENETUNREACH;
}

/* Returns 1 (sent or lost), 0 (no room) or a negative errno. Under the locks. */
static int try_send(struct rs *rs, const struct sockaddr_in *to, const struct msghdr *msg,
		    uint32_t bytes)
{
	struct rs_dest *d;
	int rc;

	if (rs->state != RS_DATAGRAM)
		return -EBADF;
	if (rs->error)
		return take_error(rs);
	d = rs_dest_get(rs, to, &rc);
	if (!d)
		return rc;
	switch (d->state) {
	case RS_DEST_KNOWN:
		return rs_end_send(rs, d, msg->msg_iov, (int)msg->msg_iovlen, bytes);
	case RS_DEST_ASKED:
		rc = rs_dest_later(d, msg->msg_iov, (int)msg->msg_iovlen, bytes);
		return rc < 0 ? rc : 1;
	case RS_DEST_SILENT:
		break;
	}
	return rs->peer.ss_family ? -ECONNREFUSED : 1;
}

ssize_t rs_dgram_send(struct rs *rs, const struct msghdr *msg, int flags)
{
	struct rs_deadline deadline = rs_deadline_in(&rs->opts.sndtimeo);
	struct sockaddr_storage to;
	struct rs_looks looks = {0};
	size_t bytes = 0;
	int rc;

	for (size_t i = 0; i < msg->msg_iovlen; i++)
		bytes += msg->msg_iov[i].iov_len;
	if (bytes > RS_DGRAM_BYTES_MAX)
		return rs_fail(EMSGSIZE);
	rc = bind_any(rs);
	if (rc < 0)
		return rs_fail(-rc);
	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	(void)rs_dgram_progress(rs);
	rc = destination(rs, msg, &to);
	while (rc == 0) {
		rc = try_send(rs, (struct sockaddr_in *)&to, msg, (uint32_t)bytes);
		if (rc == 0)
			rc = rs_dont_wait(rs, flags)
				 ? -EAGAIN
				 : rs_wait(rs, &rs->send_lock, deadline, &looks);
	}
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
	rs_wait_end(&looks);
	return rc < 0 ? rs_fail(-rc) : (ssize_t)bytes;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static size_t scatter(const struct msghdr *msg, const uint8_t *from, size_t bytes)
{
	size_t done = 0;

	for (size_t i = 0; i < msg->msg_iovlen && done < bytes; i++) {
		size_t n = msg->msg_iov[i].iov_len;

		if (n > bytes - done)
			n = bytes - done;
		if (n)
			memcpy(msg->msg_iov[i].iov_base, from + done, n);
		done += n;
	}
	return done;
}

/* Copies the first datagram to the caller; excess bytes are lost. Under the locks. */
static ssize_t deliver(struct rs *rs, struct msghdr *msg, int flags)
{
	struct rs_dgram *dg = rs->dgram;
	struct rs_packet *p = dg->queue;
	struct sockaddr_storage src;
	size_t bytes = p->bytes, done;

	rs_addr_as(rs->family, (struct sockaddr *)&p->src, &src);
	if (msg->msg_name)
		rs_addr_out(&src, msg->msg_name, &msg->msg_namelen);
	else
		msg->msg_namelen = 0;
	done = scatter(msg, p->data, bytes);
	msg->msg_flags = done < bytes ? MSG_TRUNC : 0;
	msg->msg_controllen = 0;
	if (!(flags & MSG_PEEK)) {
		dg->queue = p->next;
		if (!p->next)
			dg->queue_end = &dg->queue;
		rs_packet_done(rs, p);
	}
	return (ssize_t)(flags & MSG_TRUNC ? bytes : done);
}

ssize_t rs_dgram_recv(struct rs *rs, struct msghdr *msg, int flags)
{
	struct rs_deadline deadline = rs_deadline_in(&rs->opts.rcvtimeo);
	struct rs_looks looks = {0};
	ssize_t got = 0;
	int rc = bind_any(rs);

	if (rc < 0)
		return rs_fail(-rc);
	pthread_mutex_lock(&rs->recv_lock);
	pthread_mutex_lock(&rs->lock);
	(void)rs_dgram_progress(rs);
	while (rc == 0) {
		if (rs->state != RS_DATAGRAM)
			rc = -EBADF;
		else if (rs->dgram->queue)
			break;
		else if (rs->error)
			rc = take_error(rs);
		else
			rc = rs_dont_wait(rs, flags)
				 ? -EAGAIN
				 : rs_wait(rs, &rs->recv_lock, deadline, &looks);
	}
	if (rc == 0)
		got = deliver(rs, msg, flags);
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->recv_lock);
	rs_wait_end(&looks);
	return rc < 0 ? rs_fail(-rc) : got;
}
