/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket of a memif: its creation, access control, and messages. The directory is opened once
 * and the socket accessed relative to that descriptor, so that every step concerns the directory
 * that was checked. unix(7).
 */
#include "dpdk_app/wire/memif_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/client/fd_drop.h"
#include "dpdk_app/log.h"

enum {
	SOCKET_BACKLOG = 4,
	SOCKET_MODE = 0600,
	SOCKET_FDS = 4, /* accepted per message, to be closed; the kernel discards more */
};

static int dir_open(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char dir[108] = ".";
	struct stat st;
	int fd;

	*name = slash ? slash + 1 : path;
	if (slash == path)
		snprintf(dir, sizeof(dir), "/");
	else if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		int err = -errno;

		log_error("memif at %s: its directory %s: %s", path, dir, strerror(-err));
		if (fd >= 0)
			close(fd);
		return err;
	}
	if ((st.st_uid && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX))) {
		log_error("memif at %s: other users may replace files in %s; use a directory of "
			  "root or of weftd's user with mode 0755 or less",
			  path, dir);
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Returns the address of a name in the opened directory. */
static int address(struct sockaddr_un *addr, const struct memif_listener *listener)
{
	int n;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	n = snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d/%s",
		     listener->dir_fd, listener->name);
	return n < (int)sizeof(addr->sun_path) ? 0 : -ENAMETOOLONG;
}

static bool is_ours(const struct stat *st, uid_t user)
{
	return S_ISSOCK(st->st_mode) &&
	       (!st->st_uid || st->st_uid == geteuid() || st->st_uid == user);
}

/* Removes the socket of a killed server, which would make bind() fail. Never follows a link. */
static int remove_stale(const struct memif_listener *listener, uid_t user)
{
	struct sockaddr_un addr;
	struct stat st;
	int err, fd;

	if (fstatat(listener->dir_fd, listener->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (!is_ours(&st, user))
		return -EEXIST;
	err = address(&addr, listener);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)) || errno != ECONNREFUSED)
		err = -EADDRINUSE;
	else if (unlinkat(listener->dir_fd, listener->name, 0))
		err = -errno;
	close(fd);
	return err;
}

/* Its inode is created with the final mode, so other users can connect at no time. */
static int bind_private(struct memif_listener *listener, uid_t user)
{
	struct sockaddr_un addr;
	struct stat st;
	mode_t mask;
	int err = address(&addr, listener);

	if (err)
		return err;
	mask = umask(0777 & ~SOCKET_MODE);
	err = bind(listener->fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	if (!err && fstatat(listener->dir_fd, listener->name, &st, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	if (err)
		return err;
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	if (user != (uid_t)-1 &&
	    fchownat(listener->dir_fd, listener->name, user, (gid_t)-1, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return listen(listener->fd, SOCKET_BACKLOG) ? -errno : 0;
}

int memif_socket_listen(struct memif_listener *listener, const char *path, uid_t user)
{
	const char *name;
	int err;

	listener->fd = -1;
	listener->name[0] = '\0';
	listener->dir_fd = dir_open(path, &name);
	if (listener->dir_fd < 0)
		return listener->dir_fd;
	snprintf(listener->name, sizeof(listener->name), "%s", name);
	err = remove_stale(listener, user);
	if (!err) {
		listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		err = listener->fd < 0 ? -errno : bind_private(listener, user);
	}
	if (!err)
		return 0;
	if (err == -EADDRINUSE)
		log_error("memif at %s: another process is its server; stop that one first", path);
	else if (err == -EEXIST)
		log_error("memif at %s: the path is not a socket of weftd; remove it, or choose "
			  "another path",
			  path);
	else
		log_error("memif at %s: %s", path, strerror(-err));
	memif_socket_unlisten(listener);
	return err;
}

void memif_socket_unlisten(struct memif_listener *listener)
{
	struct stat st;

	if (listener->fd >= 0) {
		close(listener->fd);
		if (!fstatat(listener->dir_fd, listener->name, &st, AT_SYMLINK_NOFOLLOW) &&
		    st.st_dev == listener->dev && st.st_ino == listener->ino &&
		    unlinkat(listener->dir_fd, listener->name, 0))
			log_verbose("%s: %s", listener->name, strerror(errno));
	}
	if (listener->dir_fd >= 0)
		close(listener->dir_fd);
	listener->fd = listener->dir_fd = -1;
}

int memif_socket_accept(const struct memif_listener *listener)
{
	return accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int memif_socket_connect(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.107s", path);
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

bool memif_socket_allowed(int fd, uid_t user)
{
	struct ucred cred;
	socklen_t bytes = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) || bytes != sizeof(cred))
		return false;
	return !cred.uid || cred.uid == geteuid() || (user != (uid_t)-1 && cred.uid == user);
}

int memif_socket_send(int fd, const struct memif_msg *msg, int with_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg)};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (with_fd >= 0) {
		struct cmsghdr *c;

		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &with_fd, sizeof(int));
	}
	n = sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n == (ssize_t)sizeof(*msg))
		return 0;
	return n < 0 ? -errno : -EPROTO;
}

/* Takes the descriptors of a message; returns their number. */
static uint32_t take_fds(struct msghdr *header, int fds[SOCKET_FDS])
{
	uint32_t num = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < bytes / sizeof(int) && num < SOCKET_FDS; i++)
			memcpy(&fds[num++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
	return num;
}

int memif_socket_recv(int fd, struct memif_msg *msg, int *with_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SOCKET_FDS * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = msg, .iov_len = sizeof(*msg)};
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	int fds[SOCKET_FDS];
	uint32_t num;
	ssize_t n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*with_fd = -1;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : 0;
	num = take_fds(&header, fds);
	if (n == (ssize_t)sizeof(*msg) && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    num <= 1) {
		if (num)
			*with_fd = fds[0];
		return 1;
	}
	for (uint32_t i = 0; i < num; i++)
		fd_drop(fds[i]);
	return n || num ? -EPROTO : 0;
}
