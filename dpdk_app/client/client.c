/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections of processes: their list, their commands, their end. client_accept.c makes them. A
 * connection ends when its socket closes, its pidfd reports the process's end, or its memory fails.
 * Its shard detaches it first; then its memory is unmapped and its descriptors are closed.
 *
 * Calls client_cmd.c, client_mem.c, msg.c and hostmem.c. Control thread only.
 */
#include "dpdk_app/client/client.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rte_ring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/client/client_mem.h"
#include "dpdk_app/client/extent.h"
#include "dpdk_app/client/fd_drop.h"
#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/log.h"
#include "dpdk_app/client/msg.h"

enum {
	CLIENT_READS_PER_EVENT = 8, /* then other clients have their turn */
	CLIENT_PACKET_FDS = 253,    /* SCM_MAX_FD */
};

static struct client *client_list;
static uint32_t client_total;

int client_take_fds(struct client *c, uint32_t n, struct hw_resp_quota *quota)
{
	int err;

	client_settle_fds(c);
	err = user_take(c->account, HW_SHARE_DESCRIPTOR, n, quota);
	if (!err)
		c->num_fds += n;
	return err;
}

void client_give_fds(struct client *c, uint32_t n)
{
	assert(c->num_fds >= n);
	c->num_fds -= n;
	user_give(c->account, HW_SHARE_DESCRIPTOR, n);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void client_drop_socket(int sock)
{
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t bytes = sizeof(cred);

	if (sock < 0)
		return;
	(void)getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &bytes);
	(void)shutdown(sock, SHUT_RDWR);
	fd_drop_of(sock, cred.uid);
}

void client_enlist(struct client *c)
{
	c->next = client_list;
	c->link = &client_list;
	if (client_list)
		client_list->link = &c->next;
	client_list = c;
	client_total++;
	c->nic->num_clients++;
}

uint32_t client_count(void)
{
	return client_total;
}

static bool process_ended(int pid_fd)
{
	struct pollfd p = {.fd = pid_fd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

int client_take_memory(struct client *c, int fd)
{
	int err = c->pid_fd < 0 ? -EPERM : client_mem_check(fd, c->pid);

	/* Checked after the pid was used: it still belonged to the process that connected. */
	if (!err && process_ended(c->pid_fd))
		err = -EPERM;
	if (err) {
		atomic_fetch_add_explicit(&c->nic->memory_refused, 1, memory_order_relaxed);
		log_at(LOG_LEVEL_DEBUG, LOG_HERE, CLIENT_SUBJECT(c),
		       "process %d sent a descriptor that does not refer to its own memory",
		       (int)c->pid);
		return err;
	}
	close_fd(&c->mem_fd);
	c->mem_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return c->mem_fd < 0 ? -errno : 0;
}

void client_set_state(struct client *c, enum client_state state)
{
	switch (state) {
	case CLIENT_CONNECTED:
	case CLIENT_OFFERED:
		assert(!c->num_attached);
		break;
	case CLIENT_ATTACHING:
		assert(c->state == CLIENT_CONNECTED || c->state == CLIENT_OFFERED);
		break;
	case CLIENT_LIVE:
		assert(c->state == CLIENT_ATTACHING || c->state == CLIENT_DETACHING);
		break;
	case CLIENT_DETACHING:
		assert(c->doomed);
		break;
	}
	c->state = state;
}

/* ---- commands */

/* Takes the first descriptor of a packet and closes the others; *count is their number. */
static int take_fds(const struct client *c, struct msghdr *mh, uint32_t *count)
{
	int first = -1;

	*count = 0;
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(mh); cm; cm = CMSG_NXTHDR(mh, cm)) {
		size_t n;

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int), sizeof(fd));
			if (++*count == 1)
				first = fd;
			else
				fd_drop_of(fd, c->uid);
		}
	}
	return first;
}

/* Reads one packet. Returns false if there is none or the connection has ended. */
static bool read_command(struct client *c)
{
	/*
	 * Room for all descriptors that a packet can carry: the kernel would close the rest itself,
	 * on this thread.
	 */
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(CLIENT_PACKET_FDS * sizeof(int))];
	} control;
	struct hw_cmd_pieces packet = {0};
	const struct hw_cmd *cmd = &packet.cmd;
	struct iovec iov = {&packet, sizeof(packet)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes)};
	/* MSG_TRUNC returns the packet's own length, so that an oversized one is detected. */
	ssize_t n = recvmsg(c->sock_fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	uint32_t num_fds;
	int fd, status;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* An empty packet may carry descriptors, too. */
	fd = n < 0 ? -1 : take_fds(c, &mh, &num_fds);
	if (n <= 0) {
		fd_drop_of(fd, c->uid);
		client_doom(c);
		return false;
	}
	status = client_check(cmd, (size_t)n, num_fds, c->state, c->tool);
	if (!status) {
		client_run(c, &packet, fd);
	} else {
		struct hw_cmd_resp resp = {.status = status};

		fd_drop_of(fd, c->uid);
		client_answer(c, cmd->op, cmd->tag, &resp, NULL, 0);
	}
	return !c->doomed;
}

void client_socket_event(struct client *c, uint32_t events)
{
	if (c->sock_fd < 0)
		return;
	if (events & EPOLLOUT)
		client_flush_answers(c);
	if (events & EPOLLIN) {
		client_settle_fds(c);
		for (int i = 0; i < CLIENT_READS_PER_EVENT; i++) {
			if (c->doomed || c->num_outstanding >= CLIENT_OUTSTANDING ||
			    c->num_answers >= CLIENT_ANSWERS_MAX || !read_command(c))
				break;
		}
		if (!c->doomed)
			client_set_events(c);
	}
	/* A process that closed its end expects no answer. */
	if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		client_doom(c);
}

/* ---- end of a connection */

/* Detaches from the next shard if no core uses this client any more. */
static void detach_next(struct client *c)
{
	struct shard *shard;
	struct msg *msg;

	if (!c->num_attached || c->state == CLIENT_ATTACHING)
		return;
	shard = c->tool ? &c->nic->shard[c->num_attached - 1] : c->shard;
	msg = msg_new(MSG_DETACH, shard, c);
	if (msg && !msg_send(msg)) {
		client_set_state(c, CLIENT_DETACHING);
		c->num_outstanding++;
		return;
	}
	/* client_sweep() tries again. */
	msg_free(msg);
}

void client_doom(struct client *c)
{
	if (c->doomed)
		return;
	c->doomed = true;
	atomic_store_explicit(&c->over, true, memory_order_relaxed);
	/* Removed from epoll now; closed later. */
	if (c->sock_fd >= 0)
		epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, c->sock_fd, NULL);
	client_drop_socket(c->sock_fd);
	c->sock_fd = -1;
	close_fd(&c->pid_fd);
	log_at(LOG_LEVEL_DEBUG, LOG_HERE, CLIENT_SUBJECT(c), "process %d (%s) is gone", (int)c->pid,
	       c->name);
	detach_next(c);
}

/* Populates pages of the BAR before a core uses them: a page fault costs a core 10 us or more. */
static void make_ahead(struct client *c)
{
	uint64_t ahead = atomic_exchange_explicit(&c->bar_ahead, 0, memory_order_acquire);
	uint64_t offset = ahead & ~(uint64_t)(HOSTMEM_PAGE_BYTES - 1);

	if (ahead && !c->doomed)
		hostmem_make((uint8_t *)c->bar + offset, (ahead - offset) * HOSTMEM_PAGE_BYTES);
}

void client_msg_back(struct msg *msg)
{
	struct client *c = msg->client;

	make_ahead(c);
	if (client_coalesce_next(c, msg) || client_hold(c, msg))
		return;
	c->num_outstanding--;
	switch (msg->kind) {
	case MSG_ATTACH:
		client_attach_back(c, msg);
		if (c->doomed && !c->num_outstanding) {
			/*
			 * It may be live, and doomed by its answer while the core accepted no
			 * detach.
			 */
			if (c->state == CLIENT_ATTACHING)
				client_set_state(c, CLIENT_LIVE);
			detach_next(c);
		}
		break;
	case MSG_CMD:
	case MSG_COALESCE:
	case MSG_VECTOR:
		client_cmd_back(c, msg);
		break;
	case MSG_DETACH:
		c->num_attached--;
		client_set_state(c, CLIENT_LIVE);
		detach_next(c);
		break;
	case MSG_STATS:
	case MSG_CALL:
	case MSG_QUIT:
		break; /* belongs to no client */
	}
	msg_free(msg);
	if (!c->doomed && c->paused)
		client_set_events(c);
}

static bool has_other_connection(const struct client *c)
{
	for (const struct client *other = client_list; other; other = other->next) {
		if (other != c && other->uid == c->uid && other->pid == c->pid)
			return true;
	}
	return false;
}

static void client_free(struct client *c)
{
	client_drop_answers(c);
	/* The shard released its mappings of this client before it answered the detach. */
	if (c->shard)
		client_drain_unmap(c->shard);
	if (c->shard && !c->tool)
		c->shard->num_processes--;
	client_xrcd_forget_all(c);
	client_hold_drop(c);
	if (c->worker)
		client_copy_end(c);
	else
		user_give(c->account, HW_SHARE_CONNECTION, 1);
	if (c->bar_map) {
		hostmem_unmap(c->bar_map);
		user_give(c->account, HW_SHARE_MAPPING, 1);
	}
	if (!has_other_connection(c))
		extent_forget_process(c->uid, c->pid);
	client_drop_socket(c->sock_fd);
	close_fd(&c->pid_fd);
	close_fd(&c->mem_fd);
	for (uint32_t i = 0; i < HW_DOORBELLS_MAX; i++)
		close_fd(&c->doorbell_fd[i]);
	close_fd(&c->bar_fd);
	for (uint32_t i = 0; i < HW_MAX_EQ_PER_CLIENT; i++)
		close_fd(&c->eq_fd[i]);
	client_give_fds(c, (uint32_t)c->num_fds);
	user_give(c->account, HW_SHARE_BYTES, c->bar_taken_bytes + CLIENT_OWN_BYTES);
	user_on_nic(c->account, c->nic->index, -1);
	user_leave(c->account);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	client_total--;
	c->nic->num_clients--;
	free(c->change);
	free(c);
}

void client_reap(void)
{
	struct client *next;

	for (struct client *c = client_list; c; c = next) {
		next = c->next;
		if (c->doomed && !c->num_outstanding && !c->num_attached)
			client_free(c);
	}
	client_copy_reap();
}

static void memory_failed(struct client *c)
{
	atomic_store_explicit(&c->dead, true, memory_order_relaxed);
}

static void find_failed(void)
{
	if (!hostmem_any_failed())
		return;
	extent_find_failed(memory_failed);
	for (struct client *c = client_list; c; c = c->next) {
		if (c->bar_map && hostmem_failed(c->bar_map))
			memory_failed(c);
	}
}

bool client_sweep(uint64_t now_ns)
{
	const uint64_t patience_ns = UINT64_C(1000000000) * CLIENT_UNATTACHED_S;
	bool waits = false;

	find_failed();
	for (struct client *c = client_list; c; c = c->next) {
		if (atomic_load_explicit(&c->dead, memory_order_relaxed) && !c->doomed) {
			log_at(LOG_LEVEL_ERROR, LOG_HERE, CLIENT_SUBJECT(c),
			       "memory of process %d (%s) failed: it is detached", (int)c->pid,
			       c->name);
			client_doom(c);
		}
		if ((c->state == CLIENT_CONNECTED || c->state == CLIENT_OFFERED) && !c->doomed) {
			if (now_ns - c->connected_ns > patience_ns)
				client_doom(c);
			else
				waits = true;
		}
		if (c->held)
			client_hold_over(c);
		if (c->doomed && !c->num_outstanding && c->num_attached) {
			detach_next(c);
			waits = true;
		}
	}
	return waits;
}

struct fw_client_params client_params(const struct client *c)
{
	struct fw_client_params params = {
	    .bar = c->bar,
	    .bar_bytes = c->bar_bytes,
	    .pid = (uint32_t)c->pid,
	    .uid = user_uid(c->account),
	    .tool = c->tool,
	    .use = (uint8_t)c->use,
	    .sees_all = c->uid == 0 || c->uid == geteuid(),
	    .first_port = c->first_port,
	    .limits = *user_limits(),
	};

	memcpy(params.name, c->name, sizeof(c->name));
	return params;
}

const struct client *client_blocking(const struct nic *nic)
{
	for (const struct client *c = client_list; c; c = c->next) {
		if (c->nic == nic && !c->tool && c->state != CLIENT_CONNECTED)
			return c;
	}
	return NULL;
}

void client_doom_all(const struct nic *nic, bool tools)
{
	for (struct client *c = client_list; c; c = c->next) {
		if (c->nic == nic && (tools || (!c->tool && c->state != CLIENT_CONNECTED)))
			client_doom(c);
	}
}

void client_free_all(void)
{
	struct client *next;

	for (struct client *c = client_list; c; c = next) {
		next = c->next;
		client_free(c);
	}
}

void client_drain_unmap(struct shard *shard)
{
	void *region;

	while (!rte_ring_sc_dequeue(shard->unmap, &region)) {
		extent_region_free(region);
		shard->num_mappings--;
	}
}
