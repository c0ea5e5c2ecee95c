/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * New connections of processes: accepts one, counts it in the shares of its process and user, or
 * rejects it with the reason.
 *
 * Calls client.c, user.c, fds.c and port_right.c. Control thread only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/fd_drop.h"
#include "dpdk_app/client/fds.h"
#include "dpdk_app/log.h"
#include "dpdk_app/port_right.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum {
	ACCEPT_UNATTACHED_MAX = 64, /* connections of a NIC in addition to those that can attach */
	ACCEPT_FULL_US = 1000,      /* pause when a connection cannot even be rejected */
	ACCEPT_FDS = 3,             /* per connection: socket, process, memory */
};

static int spare_fd = -1; /* reserve for refuse_one() */
static bool full_reported;

/* Returns a descriptor for the process that connected; -1: the kernel provides none. */
static int open_pidfd(int sock, pid_t pid)
{
	socklen_t bytes = sizeof(int);
	int fd;

	if (!getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &bytes))
		return fd;
	/*
	 * Kernels before 6.5 only know the pid, which may have been reused after the process ended.
	 */
	if (errno != ENOPROTOOPT || pid <= 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int watch(const struct client *c, int fd, uint32_t events, struct control_source *source)
{
	struct epoll_event ev = {.events = events, .data.ptr = source};

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static struct client *new_client(struct nic *nic, int sock, int epoll_fd)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->nic = nic;
	c->state = CLIENT_CONNECTED;
	c->connected_ns = app_clock_ns();
	c->sock_fd = sock;
	c->epoll_fd = epoll_fd;
	c->pid_fd = c->mem_fd = c->bar_fd = -1;
	for (uint32_t i = 0; i < HW_DOORBELLS_MAX; i++)
		c->doorbell_fd[i] = -1;
	for (uint32_t i = 0; i < HW_MAX_EQ_PER_CLIENT; i++)
		c->eq_fd[i] = -1;
	c->irqs.fd = c->eq_fd;
	c->answers_tail = &c->answers;
	c->socket_source = (struct control_source){CONTROL_SOCKET, c};
	c->process_source = (struct control_source){CONTROL_PROCESS, c};
	client_enlist(c);
	return c;
}

static void report_full(const struct nic *nic)
{
	if (!full_reported)
		log_nic_error(nic->name,
			      "no descriptor is left for processes that attach; raise the limit "
			      "of weftd (ulimit -n, LimitNOFILE=)");
	full_reported = true;
}

/*
 * No descriptor is left. A connection that stayed in the queue would wake the control thread again
 * immediately. It is accepted with a reserve descriptor and closed.
 */
static void refuse_one(const struct nic *nic)
{
	int sock;

	report_full(nic);
	if (spare_fd >= 0)
		close(spare_fd);
	spare_fd = -1;
	sock = accept4(nic->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	/* The limit was lowered below the reserve's number: avoid using a whole CPU. */
	if (sock < 0 && (errno == EMFILE || errno == ENFILE))
		usleep(ACCEPT_FULL_US);
	/* Closed at once, not by a helper thread, because its number is needed again. */
	if (sock >= 0)
		close(sock);
}

static int accept_one(const struct nic *nic)
{
	const int bytes = CLIENT_SOCKET_BYTES;
	int sock;

	if (spare_fd < 0)
		spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sock = accept4(nic->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE)
			refuse_one(nic);
		return -1;
	}
	sock = fds_take(sock, FDS_CLIENTS);
	if (sock < 0)
		report_full(nic);
	else
		full_reported = false;
	/*
	 * Limits the memory of weftd that unread answers use. If the call fails, the kernel's
	 * default applies.
	 */
	if (sock >= 0)
		(void)setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return sock;
}

/*
 * Counts a connection in the shares of its process and user. Returns 0, or EDQUOT or ENOMEM without
 * a change.
 */
static int take_shares(const struct nic *nic, struct user_process *account,
		       struct hw_resp_quota *quota)
{
	uint32_t max = HW_MAX_CLIENTS * nic->num_shards + ACCEPT_UNATTACHED_MAX;
	int err;

	if (client_count() >= CLIENT_MAX_TOTAL || nic->num_clients >= max)
		return ENOMEM;
	err = user_may_connect(account, nic->index, max, quota);
	if (!err)
		err = user_take(account, HW_SHARE_CONNECTION, 1, quota);
	if (err)
		return err;
	err = user_take(account, HW_SHARE_DESCRIPTOR, ACCEPT_FDS, quota);
	if (!err) {
		err = user_take(account, HW_SHARE_BYTES, CLIENT_OWN_BYTES, quota);
		if (err)
			user_give(account, HW_SHARE_DESCRIPTOR, ACCEPT_FDS);
	}
	if (err)
		user_give(account, HW_SHARE_CONNECTION, 1);
	return err;
}

static void give_shares(struct user_process *account)
{
	user_give(account, HW_SHARE_CONNECTION, 1);
	user_give(account, HW_SHARE_DESCRIPTOR, ACCEPT_FDS);
	user_give(account, HW_SHARE_BYTES, CLIENT_OWN_BYTES);
}

/*
 * Sends the reason before the connection ends: an answer to the ATTACH that the process is about to
 * send.
 */
static void refuse(const struct nic *nic, int sock, struct user_process *account, int err,
		   const struct hw_resp_quota *quota)
{
	struct hw_cmd_resp resp = {.op = HW_CMD_ATTACH, .status = err};

	if (err == EDQUOT) {
		resp.u.quota = *quota;
		user_report(account, nic->name, "connecting", quota);
	} else {
		log_nic_verbose(nic->name, "a connection was rejected: too many connections");
	}
	(void)!send(sock, &resp, sizeof(resp), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Creates a client for an accepted connection; NULL: it was rejected. */
static struct client *admit(struct nic *nic, int sock, int epoll_fd, const struct ucred *cred)
{
	struct user_process *account = user_join(cred->uid, cred->pid);
	struct hw_resp_quota quota = {0};
	struct client *c = NULL;
	int err = account ? take_shares(nic, account, &quota) : ENOMEM;

	if (err)
		refuse(nic, sock, account, err, &quota);
	else
		c = new_client(nic, sock, epoll_fd);
	if (!c) {
		if (!err)
			give_shares(account);
		user_leave(account);
		return NULL;
	}
	user_on_nic(account, nic->index, 1);
	c->account = account;
	c->num_fds = ACCEPT_FDS;
	c->pid = cred->pid;
	c->uid = cred->uid;
	return c;
}

void client_accept(struct nic *nic, int epoll_fd)
{
	int sock = accept_one(nic);
	struct ucred cred;
	socklen_t bytes = sizeof(cred);
	struct client *c = NULL;
	int err;

	if (sock < 0)
		return;
	if (!getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) && !fd_drop_owed(cred.uid))
		c = admit(nic, sock, epoll_fd, &cred);
	if (!c) {
		client_drop_socket(sock);
		return;
	}
	c->pid_fd = open_pidfd(sock, cred.pid);
	c->first_port = port_right_first(c->pid, c->uid, c->pid_fd);
	err = watch(c, sock, EPOLLIN | EPOLLRDHUP, &c->socket_source);
	if (!err && c->pid_fd >= 0)
		err = watch(c, c->pid_fd, EPOLLIN, &c->process_source);
	if (err)
		client_doom(c);
}
