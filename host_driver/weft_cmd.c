/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control channel over weftd's UNIX socket (SOCK_SEQPACKET): one packet per command, one packet
 * per answer, descriptors by SCM_RIGHTS.
 *
 * Implements the operations of weft_chan.h. Several threads may have commands outstanding: answers
 * arrive in any order and are matched by tag. A waiting thread that finds no reader reads the
 * answers for all threads. docs/host-interface.md, "Commands".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/weft_chan.h"
#include "lib/clock.h"

enum {
	/* Limit for weftd to stop using a process's memory at detach. */
	WEFT_DETACH_TIMEOUT_MS = 10000,
	/*
	 * After this time without an answer, the state of weftd's process is checked; a stopped
	 * weftd is not waited for.
	 */
	WEFT_PATIENCE_MS = 2000,
	/* A running weftd answers a tool within this time, or does not work. */
	WEFT_TOOL_TIMEOUT_MS = 10000,
	/* The same for a weftd that was found stopped before. */
	WEFT_SILENT_MS = 50,
};

struct weft_sock_wait {
	struct weft_sock_wait *next;
	uint32_t tag;
	bool done;
	struct hw_cmd_resp *resp;
	int *fds;
};

struct weft_sock {
	int fd;
	bool tool; /* no command may wait without limit */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool reading; /* a thread is in recvmsg() */
	bool gone;
	bool silent; /* marked as gone because weftd did not answer */
	uint32_t next_tag;
	struct weft_sock_wait *waits;
};

/* Takes the descriptors of a packet. Descriptors without a place in fds are closed. */
static void take_fds(struct msghdr *msg, int *fds)
{
	size_t taken = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (taken < WEFT_CHAN_FDS)
				fds[taken++] = fd;
			else
				close(fd);
		}
	}
}

/* Receives one packet. Returns false if the NIC is gone. */
static bool sock_recv(int fd, struct hw_cmd_resp *resp, int *fds)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * WEFT_CHAN_FDS)];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = resp, .iov_len = sizeof(*resp)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	int reset = 0;
	ssize_t n;

	for (int i = 0; i < WEFT_CHAN_FDS; i++)
		fds[i] = -1;
	/*
	 * After weftd closed the connection in response to a command, earlier packets can still be
	 * read.
	 */
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !reset++)));
	if (n <= 0)
		return false;
	take_fds(&msg, fds);
	/* A short packet is not an answer: use tag 0 and no status. */
	if ((size_t)n < sizeof(*resp))
		memset(resp, 0, sizeof(*resp));
	return true;
}

static bool sock_send(int fd, const struct hw_cmd *cmd, int fd_in)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)cmd, .iov_len = hw_cmd_bytes(cmd)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fd_in >= 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd_in, sizeof(int));
	}
	do {
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)iov.iov_len;
}

/*
 * Passes an answer to the thread that waits for it. Tag 0 rejects the connection; it was sent
 * before weftd read the ATTACH. Under sock->lock.
 */
static void sock_deliver(struct weft_sock *sock, const struct hw_cmd_resp *resp, int *fds)
{
	struct weft_sock_wait *w;
	int i;

	for (w = sock->waits; w; w = w->next) {
		if ((w->tag == resp->tag || (!resp->tag && resp->status)) && !w->done)
			break;
	}
	for (i = 0; i < WEFT_CHAN_FDS; i++) {
		if (w)
			w->fds[i] = fds[i];
		else if (fds[i] >= 0)
			close(fds[i]);
	}
	if (!w)
		return;
	*w->resp = *resp;
	w->done = true;
}

/* poll(2) for input, restarted after signals. */
static bool readable_within(int fd, int timeout_ms)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	int64_t end_ms, left_ms = timeout_ms;
	int n;

	end_ms = (int64_t)clock_now_ms() + timeout_ms;
	do {
		n = poll(&pfd, 1, (int)left_ms);
		left_ms = end_ms - (int64_t)clock_now_ms();
	} while (n < 0 && errno == EINTR && left_ms > 0);
	return n == 1;
}

/* Returns the process at the other end; 0: unknown. */
static pid_t peer_of(int fd)
{
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) || peer.pid <= 0 ? 0
										       : peer.pid;
}

/*
 * Returns true if the peer's process is stopped (SIGSTOP, a debugger); false also if that cannot be
 * determined.
 */
static bool peer_is_stopped(int fd)
{
	pid_t peer = peer_of(fd);
	char path[32], text[512];
	const char *state;
	ssize_t n;
	int stat_fd;

	if (!peer)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)peer);
	stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (stat_fd < 0)
		return false;
	n = read(stat_fd, text, sizeof(text) - 1);
	close(stat_fd);
	text[n > 0 ? n : 0] = '\0';
	/* The process name before it is in parentheses and may contain some. */
	state = strrchr(text, ')');
	return state && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

/* The last weftd that was found stopped or stuck: it has up to 32 NICs, and each has a socket. */
static atomic_int silent_pid;

/*
 * Waits until the socket is readable. Returns false if weftd is stopped or a tool's time limit has
 * passed.
 */
static bool sock_await(const struct weft_sock *sock)
{
	pid_t peer = peer_of(sock->fd);
	bool known = peer && peer == atomic_load(&silent_pid);
	int patience_ms = known ? WEFT_SILENT_MS : WEFT_PATIENCE_MS;

	for (int waited_ms = 0; !readable_within(sock->fd, patience_ms);) {
		waited_ms += patience_ms;
		if (peer_is_stopped(sock->fd) ||
		    (sock->tool && waited_ms >= WEFT_TOOL_TIMEOUT_MS)) {
			if (peer)
				atomic_store(&silent_pid, peer);
			return false;
		}
	}
	if (known)
		atomic_store(&silent_pid, 0);
	return true;
}

/*
 * Waits for w and reads for all threads when no other thread does. limited: does not wait for a
 * stopped weftd. Under sock->lock, which is released while waiting.
 */
static void sock_wait(struct weft_sock *sock, struct weft_sock_wait *w, bool limited)
{
	struct hw_cmd_resp resp;
	int fds[WEFT_CHAN_FDS];
	bool ok, silent;

	while (!w->done && !sock->gone) {
		if (sock->reading) {
			pthread_cond_wait(&sock->cond, &sock->lock);
			continue;
		}
		sock->reading = true;
		pthread_mutex_unlock(&sock->lock);
		silent = limited && !sock_await(sock);
		ok = !silent && sock_recv(sock->fd, &resp, fds);
		pthread_mutex_lock(&sock->lock);
		sock->reading = false;
		sock->silent = silent;
		if (ok)
			sock_deliver(sock, &resp, fds);
		else
			sock->gone = true;
		pthread_cond_broadcast(&sock->cond);
	}
}

static int sock_command(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp,
			int fds_out[WEFT_CHAN_FDS])
{
	struct weft_sock *sock = chan;
	struct weft_sock_wait w = {.resp = resp, .fds = fds_out}, **at;
	/* A program that has not yet opened the device loses nothing by an error. */
	bool limited = sock->tool || cmd->op == HW_CMD_ATTACH || cmd->op == HW_CMD_START;
	bool gone, sent;

	for (int i = 0; i < WEFT_CHAN_FDS; i++)
		fds_out[i] = -1;
	pthread_mutex_lock(&sock->lock);
	if (++sock->next_tag == 0)
		sock->next_tag = 1;
	w.tag = sock->next_tag;
	cmd->tag = w.tag;
	w.next = sock->waits;
	sock->waits = &w;
	gone = sock->gone;
	pthread_mutex_unlock(&sock->lock);
	/*
	 * Without the lock: a full socket drains only while answers are taken, which needs the
	 * lock. A packet is sent as a whole, so threads need no mutual order here.
	 */
	sent = !gone && sock_send(sock->fd, cmd, fd_in);
	pthread_mutex_lock(&sock->lock);
	/* The first command on a rejected connection: the reason can still be read. */
	if (!sent && !gone && (cmd->op != HW_CMD_ATTACH || errno != EPIPE)) {
		sock->gone = true;
		pthread_cond_broadcast(&sock->cond);
	}
	sock_wait(sock, &w, limited);
	gone = !w.done && !sock->silent;
	for (at = &sock->waits; *at != &w; at = &(*at)->next)
		;
	*at = w.next;
	pthread_mutex_unlock(&sock->lock);
	return w.done ? 0 : gone ? -EIO : -ETIMEDOUT;
}

static int sock_hangup_fd(void *chan)
{
	struct weft_sock *sock = chan;

	return sock->fd;
}

/*
 * Ends the sending direction and waits until weftd has closed its end, which it does after the
 * firmware has released everything of this process.
 */
static void sock_close(void *chan)
{
	struct weft_sock *sock = chan;
	struct hw_cmd_resp resp;
	int fds[WEFT_CHAN_FDS];

	if (!sock->gone && shutdown(sock->fd, SHUT_WR) == 0) {
		while (readable_within(sock->fd, WEFT_DETACH_TIMEOUT_MS) &&
		       sock_recv(sock->fd, &resp, fds)) {
			for (int i = 0; i < WEFT_CHAN_FDS; i++) {
				if (fds[i] >= 0)
					close(fds[i]);
			}
		}
	}
	close(sock->fd);
	pthread_cond_destroy(&sock->cond);
	pthread_mutex_destroy(&sock->lock);
	free(sock);
}

/* The memory of sock is not freed: a thread of the parent may have been changing it. */
static void sock_abandon(void *chan)
{
	struct weft_sock *sock = chan;

	close(sock->fd);
	sock->fd = -1;
}

static const struct weft_chan_ops sock_ops = {
    .flags = WEFT_CHAN_F_SLOTS,
    .command = sock_command,
    .hangup_fd = sock_hangup_fd,
    .close = sock_close,
    .abandon = sock_abandon,
};

int weft_chan_connect(const char *path, bool tool, const struct weft_chan_ops **ops, void **chan)
{
	/* Without a limit, connect() blocks for good when the accept queue is full. */
	const struct timeval limit = {.tv_sec = WEFT_TOOL_TIMEOUT_MS / 1000}, none = {0};
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct weft_sock *sock;
	int rc;

	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	memcpy(sun.sun_path, path, strlen(path) + 1);
	sock = calloc(1, sizeof(*sock));
	if (!sock)
		return -ENOMEM;
	sock->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock->fd < 0) {
		rc = -errno;
		free(sock);
		return rc;
	}
	sock->tool = tool;
	(void)setsockopt(sock->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do {
		rc = connect(sock->fd, (struct sockaddr *)&sun, sizeof(sun));
	} while (rc < 0 && errno == EINTR);
	if (!tool && !rc)
		(void)setsockopt(sock->fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	if (rc < 0) {
		rc = errno == ENOENT ? -ENODEV : errno == EAGAIN ? -ETIMEDOUT : -errno;
		close(sock->fd);
		free(sock);
		return rc;
	}
	pthread_mutex_init(&sock->lock, NULL);
	pthread_cond_init(&sock->cond, NULL);
	*ops = &sock_ops;
	*chan = sock;
	return 0;
}
