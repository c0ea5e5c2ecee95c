/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers to processes: sent at once, or queued with copies of their descriptors while the process
 * does not read. Commands of a process with too many queued answers are not read.
 *
 * Descriptors in a socket also count in the process's share. The kernel limits them to the number
 * of open descriptors (RLIMIT_NOFILE) and, beyond that, rejects them for all processes
 * (ETOOMANYREFS).
 *
 * Control thread only. Calls client.c and the kernel: sendmsg(2), unix(7) SCM_RIGHTS, SIOCOUTQ.
 */
#include "dpdk_app/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int send_answer(struct client *c, const struct hw_cmd_resp *resp, const int *fd,
		       uint32_t num_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(CLIENT_FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)resp, sizeof(*resp)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (num_fds) {
		struct cmsghdr *cm = &control.align;

		mh.msg_control = control.bytes;
		mh.msg_controllen = CMSG_SPACE(num_fds * sizeof(int));
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(num_fds * sizeof(int));
		memcpy(CMSG_DATA(cm), fd, num_fds * sizeof(int));
	}
	return sendmsg(c->sock_fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void client_settle_fds(struct client *c)
{
	int unread_bytes;

	if (!c->fds_unread || c->sock_fd < 0 || ioctl(c->sock_fd, SIOCOUTQ, &unread_bytes) ||
	    unread_bytes)
		return;
	client_give_fds(c, (uint32_t)c->fds_unread);
	c->fds_unread = 0;
}

void client_set_events(struct client *c)
{
	bool pause =
	    c->num_outstanding >= CLIENT_OUTSTANDING || c->num_answers >= CLIENT_ANSWERS_MAX;
	struct epoll_event ev = {
	    .events = EPOLLRDHUP | (pause ? 0 : (uint32_t)EPOLLIN) |
		      (c->num_answers ? (uint32_t)EPOLLOUT : 0),
	    .data.ptr = &c->socket_source,
	};

	if (c->sock_fd < 0)
		return;
	c->paused = pause;
	if (c->events == ev.events)
		return;
	c->events = ev.events;
	epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, c->sock_fd, &ev);
}

static void answer_free(struct client_answer *a)
{
	for (uint32_t i = 0; i < a->num_fds; i++)
		close(a->fd[i]);
	free(a);
}

/* The process does not read: queues the answer with its own descriptors. */
static void queue_answer(struct client *c, const struct hw_cmd_resp *resp, const int *fd,
			 uint32_t num_fds)
{
	struct client_answer *a = calloc(1, sizeof(*a));

	if (!a) {
		client_doom(c);
		return;
	}
	a->resp = *resp;
	for (uint32_t i = 0; i < num_fds; i++) {
		a->fd[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 3);
		if (a->fd[i] < 0) {
			answer_free(a);
			client_doom(c);
			return;
		}
		a->num_fds++;
	}
	*c->answers_tail = a;
	c->answers_tail = &a->next;
	c->num_answers++;
	client_set_events(c);
}

void client_answer(struct client *c, uint32_t op, uint32_t tag, struct hw_cmd_resp *resp,
		   const int *fd, uint32_t num_fds)
{
	int err = -EAGAIN;

	if (c->sock_fd < 0)
		return;
	resp->op = op;
	resp->tag = tag;
	if (!c->answers)
		err = send_answer(c, resp, fd, num_fds);
	if (err == -EAGAIN)
		queue_answer(c, resp, fd, num_fds);
	else if (err)
		client_doom(c);
	else
		c->fds_unread += num_fds;
}

void client_flush_answers(struct client *c)
{
	while (c->answers) {
		struct client_answer *a = c->answers;
		int err = send_answer(c, &a->resp, a->fd, a->num_fds);

		if (err == -EAGAIN)
			return;
		c->answers = a->next;
		if (!c->answers)
			c->answers_tail = &c->answers;
		c->num_answers--;
		c->fds_unread += a->num_fds;
		answer_free(a);
		if (err) {
			client_doom(c);
			return;
		}
	}
	client_set_events(c);
}

void client_drop_answers(struct client *c)
{
	while (c->answers) {
		struct client_answer *a = c->answers;

		c->answers = a->next;
		answer_free(a);
	}
}
