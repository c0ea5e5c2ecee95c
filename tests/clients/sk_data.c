/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain sockets program, call by call. It expects the kernel's behaviour, so it passes on an
 * address of the kernel by itself, and on a NIC's under weft-run --sockets.
 *
 *	sk_data ADDRESS
 *
 * Servers and clients in one process and its children: streams by all calls that move data, poll,
 * select, epoll (level, edge, one shot), copies of descriptors, fork, stdio, descriptors passed to
 * others, datagrams, and a listener on every address that also serves 127.0.0.1. Built with
 * sk_calls.c and run by tests/int/weft_run_sockets.sh. Prints failures; exit status 0 if there were
 * none.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/clients/sk_calls.h"

enum {
	STREAM_BYTES = 20000000,
	LONGEST = 200000,
	CLIENTS = 12,
};

/* ---- streams --------------------------------------------------------------------------------- */

struct job {
	int fd, way;
};

static void *sender(void *arg)
{
	struct job *j = arg;
	unsigned int seed = (unsigned int)j->way + 1;
	uint8_t *buf = malloc(LONGEST);
	uint64_t sent = 0;

	CHECK(buf);
	while (sent < STREAM_BYTES) {
		size_t n = (size_t)(rand_r(&seed) % (rand_r(&seed) % 3 ? 2000 : LONGEST)) + 1;
		ssize_t got;

		if (n > STREAM_BYTES - sent)
			n = STREAM_BYTES - sent;
		for (size_t i = 0; i < n; i++)
			buf[i] = byte_at(sent + i, j->way);
		if (n % 3 == 0) {
			struct iovec iov[2] = {{buf, n / 3}, {buf + n / 3, n - n / 3}};
			struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

			got = n % 2 ? writev(j->fd, iov, 2) : sendmsg(j->fd, &msg, 0);
		} else {
			got = n % 2 ? send(j->fd, buf, n, MSG_NOSIGNAL) : write(j->fd, buf, n);
		}
		CHECK(got == (ssize_t)n);
		sent += n;
	}
	CHECK(shutdown(j->fd, SHUT_WR) == 0);
	CHECK(send(j->fd, buf, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	free(buf);
	return NULL;
}

static void *receiver(void *arg)
{
	struct job *j = arg;
	unsigned int seed = (unsigned int)j->way + 77;
	uint8_t *buf = malloc(LONGEST);
	uint64_t got = 0;
	ssize_t n;

	CHECK(buf);
	do {
		size_t want = (size_t)rand_r(&seed) % LONGEST + 2;
		struct iovec iov[2] = {{buf, want / 2}, {buf + want / 2, want - want / 2}};

		if (want % 3 == 0)
			n = readv(j->fd, iov, 2);
		else
			n = want % 3 == 1 ? read(j->fd, buf, want)
					  : recv(j->fd, buf, want, want % 7 ? 0 : MSG_WAITALL);
		CHECK(n >= 0);
		for (ssize_t i = 0; i < n; i++)
			CHECK(buf[i] == byte_at(got + (uint64_t)i, j->way));
		got += (uint64_t)n;
	} while (n > 0);
	CHECK(got == STREAM_BYTES);
	free(buf);
	return NULL;
}

static void both_ways(int listen_fd)
{
	pthread_t t[4];
	struct job j[4];
	int fd[2];

	pair(listen_fd, fd);
	for (int i = 0; i < 4; i++) {
		j[i] = (struct job){fd[(i / 2 + i) % 2], i / 2};
		CHECK(pthread_create(&t[i], NULL, i % 2 ? receiver : sender, &j[i]) == 0);
	}
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(close(fd[0]) == 0 && close(fd[1]) == 0);
}

static void small_calls(int listen_fd)
{
	struct timeval tv = {.tv_usec = 50000};
	char buf[100];
	int fd[2], n, copy, err;
	socklen_t len = sizeof(err);

	pair(listen_fd, fd);
	CHECK(poll_one(fd[1], POLLIN | POLLOUT, 0) == POLLOUT);
	CHECK(send(fd[0], "question", 8, 0) == 8);
	CHECK(recv(fd[1], buf, 8, MSG_WAITALL | MSG_PEEK) > 0);
	CHECK(poll_one(fd[1], POLLIN, WAIT_MS) == POLLIN);
	do {
		CHECK(ioctl(fd[1], FIONREAD, &n) == 0);
	} while (n < 8);
	CHECK(n == 8);
	/* a copy is the same socket, which ends when the last copy is closed */
	copy = dup(fd[1]);
	CHECK(copy >= 0 && close(fd[1]) == 0);
	CHECK(recv(copy, buf, 8, MSG_WAITALL) == 8 && memcmp(buf, "question", 8) == 0);
	CHECK(dup2(copy, fd[1]) == fd[1] && close(copy) == 0);
	copy = fcntl(fd[1], F_DUPFD_CLOEXEC, 100);
	CHECK(copy >= 100 && close(fd[1]) == 0);
	CHECK(setsockopt(copy, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	CHECK(recv(copy, buf, 1, 0) == -1 && errno == EAGAIN);
	CHECK(fcntl(copy, F_SETFL, O_NONBLOCK) == 0 && read(copy, buf, 1) == -1 && errno == EAGAIN);
	CHECK(getsockopt(copy, SOL_SOCKET, SO_ERROR, &err, &len) == 0 && err == 0);
	CHECK(setsockopt(copy, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) == 0);
	CHECK(getsockopt(copy, IPPROTO_TCP, TCP_NODELAY, &err, &len) == 0 && err);
	CHECK(close(copy) == 0);
	CHECK(poll_one(fd[0], POLLIN | POLLRDHUP, WAIT_MS) & POLLIN);
	CHECK(read(fd[0], buf, 1) == 0);
	CHECK(close(fd[0]) == 0);
	CHECK(close(fd[0]) == -1 && errno == EBADF);
}

static void files(int listen_fd)
{
	FILE *f = tmpfile();
	uint8_t *buf = malloc(STREAM_BYTES / 4);
	off_t at = 1000;
	size_t got = 0, bytes = STREAM_BYTES / 4;
	int fd[2];
	pid_t pid;

	CHECK(f && buf);
	for (size_t i = 0; i < bytes; i++)
		buf[i] = byte_at(i, 5);
	CHECK(fwrite(buf, 1, bytes, f) == bytes && fflush(f) == 0);
	pair(listen_fd, fd);
	CHECK(lseek(fileno(f), 10, SEEK_SET) == 10);
	CHECK(sendfile(fd[0], fileno(f), &at, 100) == 100 && at == 1100);
	CHECK(lseek(fileno(f), 0, SEEK_CUR) == 10);
	CHECK(sendfile(fd[0], fileno(f), NULL, 50) == 50 && lseek(fileno(f), 0, SEEK_CUR) == 60);
	CHECK(recv(fd[1], buf, 150, MSG_WAITALL) == 150);
	CHECK(buf[0] == byte_at(1000, 5) && buf[99] == byte_at(1099, 5));
	CHECK(buf[100] == byte_at(10, 5) && buf[149] == byte_at(59, 5));
	/* many bytes, sent by a child */
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		ssize_t n = 1;

		for (at = 0; (size_t)at < bytes && n > 0;)
			n = sendfile(fd[0], fileno(f), &at, bytes - (size_t)at);
		_exit((size_t)at == bytes ? 0 : 1);
	}
	CHECK(close(fd[0]) == 0);
	while (got < bytes) {
		ssize_t n = recv(fd[1], buf + got, bytes - got, 0);

		CHECK(n > 0);
		got += (size_t)n;
	}
	CHECK(recv(fd[1], buf, 1, 0) == 0);
	for (size_t i = 0; i < 150; i++)
		CHECK(i == 0 || buf[i] == byte_at(i, 5));
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(close(fd[1]) == 0 && fclose(f) == 0);
	free(buf);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int connecting(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&server, sizeof(server)) == 0 || errno == EINPROGRESS);
	return fd;
}

static void selects(int listen_fd)
{
	struct timeval tv = {.tv_usec = 20000};
	int fd = connecting(), peer, err;
	socklen_t len = sizeof(err);
	fd_set r, w;

	FD_ZERO(&w);
	FD_SET(fd, &w);
	CHECK(select(fd + 1, NULL, &w, NULL, NULL) == 1 && FD_ISSET(fd, &w));
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 && err == 0);
	FD_ZERO(&r);
	FD_SET(listen_fd, &r);
	CHECK(select(listen_fd + 1, &r, NULL, NULL, NULL) == 1 && FD_ISSET(listen_fd, &r));
	peer = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	CHECK(peer >= 0 && fcntl(peer, F_GETFL) & O_NONBLOCK && fcntl(peer, F_GETFD) & FD_CLOEXEC);
	FD_ZERO(&r);
	FD_SET(peer, &r);
	CHECK(select(peer + 1, &r, NULL, NULL, &tv) == 0 && !FD_ISSET(peer, &r));
	CHECK(tv.tv_sec == 0 && tv.tv_usec == 0);
	CHECK(write(fd, "x", 1) == 1);
	FD_SET(peer, &r);
	CHECK(select(peer + 1, &r, NULL, NULL, NULL) == 1);
	CHECK(close(fd) == 0 && close(peer) == 0);
}

/* Clients each send a byte, receive it back, and repeat, all in one epoll set. */
static void epolls(int listen_fd, uint32_t mode)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = listen_fd}, got[5];
	int ep = epoll_create1(EPOLL_CLOEXEC), clients[CLIENTS], rounds[CLIENTS + 100] = {0};
	int ended = 0;

	CHECK(ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, listen_fd, &e) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, listen_fd, &e) == -1 && errno == EEXIST);
	CHECK(epoll_wait(ep, got, 5, 0) == 0);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = connecting();
		e = (struct epoll_event){.events = EPOLLOUT | mode, .data.fd = clients[i]};
		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, clients[i], &e) == 0);
	}
	while (ended < CLIENTS) {
		int n = epoll_wait(ep, got, 5, WAIT_MS);

		CHECK(n > 0);
		for (int i = 0; i < n; i++) {
			int fd = got[i].data.fd, mine = -1;
			char byte;

			for (int c = 0; c < CLIENTS; c++)
				mine = clients[c] == fd ? c : mine;
			if (fd == listen_fd) {
				fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK);
				CHECK(fd >= 0);
				e = (struct epoll_event){.events = EPOLLIN | mode, .data.fd = fd};
				CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0);
				continue;
			}
			if (mine >= 0 && !rounds[mine]) {
				CHECK(got[i].events & EPOLLOUT);
			} else {
				ssize_t bytes = recv(fd, &byte, 1, 0);

				CHECK(got[i].events & EPOLLIN);
				CHECK(bytes >= 0);
				if (bytes == 0) {
					CHECK(mine < 0 && close(fd) == 0);
					ended++;
					continue;
				}
				CHECK(recv(fd, &byte, 1, 0) <= 0);
			}
			if (mine >= 0 && ++rounds[mine] == 10) {
				CHECK(close(fd) == 0);
				clients[mine] = -1;
				continue;
			}
			CHECK(send(fd, "a", 1, MSG_NOSIGNAL) == 1);
			if (mode == EPOLLET && !(mine >= 0 && rounds[mine] == 1))
				continue;
			e = (struct epoll_event){.events = EPOLLIN | mode, .data.fd = fd};
			CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e) == 0);
		}
	}
	CHECK(epoll_ctl(ep, EPOLL_CTL_DEL, listen_fd, NULL) == 0);
	CHECK(epoll_wait(ep, got, 5, 0) == 0 && close(ep) == 0);
}

/* Edge-triggered and one-shot events are reported once, and poll sees a ready set. */
static void epoll_modes(int listen_fd)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET}, got;
	int fd[2], ep = epoll_create1(0);
	char byte;

	pair(listen_fd, fd);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd[1], &e) == 0);
	CHECK(poll_one(ep, POLLIN, 0) == 0);
	CHECK(write(fd[0], "ab", 2) == 2);
	CHECK(poll_one(ep, POLLIN, WAIT_MS) == POLLIN);
	CHECK(epoll_wait(ep, &got, 1, WAIT_MS) == 1 && got.events == EPOLLIN);
	CHECK(epoll_wait(ep, &got, 1, 20) == 0);
	CHECK(read(fd[1], &byte, 1) == 1 && read(fd[1], &byte, 1) == 1);
	e.events = EPOLLIN | EPOLLONESHOT;
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, fd[1], &e) == 0);
	CHECK(write(fd[0], "c", 1) == 1);
	CHECK(epoll_wait(ep, &got, 1, WAIT_MS) == 1 && epoll_wait(ep, &got, 1, 20) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, fd[1], &e) == 0);
	CHECK(epoll_wait(ep, &got, 1, WAIT_MS) == 1);
	CHECK(close(fd[1]) == 0 && epoll_ctl(ep, EPOLL_CTL_MOD, fd[1], &e) == -1);
	CHECK(close(fd[0]) == 0 && close(ep) == 0);
}

/* The lowest free number, and any number that the program chooses. */
static void numbers(int listen_fd)
{
	int fd[2], first = dup(0), next;

	CHECK(first >= 0);
	pair(listen_fd, fd);
	next = dup(0);
	CHECK(fd[0] == first + 1 && fd[1] == first + 2 && next == first + 3);
	for (int to = next + 1; to < next + 100; to++)
		CHECK(dup2(0, to) == to);
	CHECK(write(fd[0], "still here", 10) == 10);
	expect(fd[1], "still here");
	for (int i = first; i < next + 100; i++)
		CHECK(close(i) == 0);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A child serves a connection that its parent has accepted; earlier data is not lost. */
static void serves(int listen_fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	char byte;
	int fd[2], status;
	pid_t pid;

	pair(listen_fd, fd);
	CHECK(write(fd[0], "before", 6) == 6);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(close(fd[0]) == 0);
		expect(fd[1], "before");
		CHECK(getpeername(fd[1], (struct sockaddr *)&a, &len) == 0);
		CHECK(dprintf(fd[1], "port %d.", ntohs(a.sin_port)) > 0);
		/* exec: only the descriptor remains */
		CHECK(dup2(fd[1], 0) == 0 && dup2(fd[1], 1) == 1 && close(fd[1]) == 0);
		execlp("cat", "cat", NULL);
		_exit(127);
	}
	CHECK(close(fd[1]) == 0);
	expect(fd[0], "port ");
	do {
		CHECK(recv(fd[0], &byte, 1, 0) == 1);
	} while (byte != '.');
	CHECK(write(fd[0], "echo", 4) == 4);
	expect(fd[0], "echo");
	CHECK(shutdown(fd[0], SHUT_WR) == 0 && read(fd[0], &byte, 1) == 0);
	CHECK(close(fd[0]) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Children accept from their parent's listener, as pre-forking servers do. */
static void prefork(int listen_fd)
{
	int status, fd;
	pid_t pid[2];

	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0);
		if (pid[i])
			continue;
		fd = accept(listen_fd, NULL, NULL);
		CHECK(fd >= 0 && write(fd, "served", 6) == 6 && close(fd) == 0);
		exit(0);
	}
	for (int i = 0; i < 2; i++) {
		fd = client();
		expect(fd, "served");
		CHECK(close(fd) == 0);
	}
	for (int i = 0; i < 2; i++)
		CHECK(waitpid(pid[i], &status, 0) == pid[i] && status == 0);
	/* the parent still has it */
	fd = client();
	status = accept(listen_fd, NULL, NULL);
	CHECK(status >= 0 && write(status, "parent", 6) == 6);
	expect(fd, "parent");
	CHECK(close(fd) == 0 && close(status) == 0);
}

static void stdio(int listen_fd)
{
	char line[100];
	int fd[2];
	FILE *f;

	pair(listen_fd, fd);
	f = fdopen(fd[1], "r+");
	CHECK(f && write(fd[0], "line one\nline two\n", 18) == 18);
	CHECK(fgets(line, sizeof(line), f) && strcmp(line, "line one\n") == 0);
	CHECK(fgets(line, sizeof(line), f) && strcmp(line, "line two\n") == 0);
	CHECK(fprintf(f, "%d lines\n", 2) == 8 && fflush(f) == 0);
	expect(fd[0], "2 lines\n");
	CHECK(fclose(f) == 0 && read(fd[0], line, 1) == 0 && close(fd[0]) == 0);
}

/* A descriptor passes through a socket of the kernel, and bytes through a pipe. */
static void passed(int listen_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	char byte = 1;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fd[2], mail[2], tube[2], got;

	pair(listen_fd, fd);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, mail) == 0 && pipe(tube) == 0);
	*c = (struct cmsghdr){
	    .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(c), &fd[1], sizeof(int));
	CHECK(sendmsg(mail[0], &msg, 0) == 1 && close(fd[1]) == 0);
	CHECK(recvmsg(mail[1], &msg, 0) == 1);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	CHECK(write(fd[0], "through", 7) == 7);
	expect(got, "through");
	CHECK(write(tube[1], "spliced", 7) == 7);
	CHECK(splice(tube[0], NULL, fd[0], NULL, 7, 0) == 7);
	expect(got, "spliced");
	for (int i = 0; i < 2; i++)
		CHECK(close(mail[i]) == 0 && close(tube[i]) == 0);
	CHECK(close(got) == 0 && recv(fd[0], &byte, 1, 0) == 0 && close(fd[0]) == 0);
}

static volatile sig_atomic_t pipes;

static void on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

static void errors(int listen_fd)
{
	struct sockaddr_in nobody = server;
	int fd[2], lone = socket(AF_INET, SOCK_STREAM, 0), i;

	nobody.sin_port = htons(1);
	CHECK(connect(lone, (struct sockaddr *)&nobody, sizeof(nobody)) == -1);
	CHECK(errno == ECONNREFUSED && close(lone) == 0);
	signal(SIGPIPE, on_pipe);
	pair(listen_fd, fd);
	CHECK(close(fd[1]) == 0);
	for (i = 0; i < 1000 && write(fd[0], "x", 1) == 1; i++)
		usleep(1000);
	CHECK(i < 1000 && (errno == ECONNRESET || (errno == EPIPE && pipes == 1)));
	CHECK(close(fd[0]) == 0);
	signal(SIGPIPE, SIG_DFL);
}

/* ---- every address, datagrams ---------------------------------------------------------------- */

/* A listener on every address also receives the kernel's connections. */
static void everywhere(void)
{
	struct sockaddr_in local = {.sin_family = AF_INET}, in = server;
	int fd = listener("0.0.0.0"), a = client(), b, peer[2];
	socklen_t len = sizeof(in);

	local.sin_port = server.sin_port;
	local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	b = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(b >= 0 && connect(b, (struct sockaddr *)&local, sizeof(local)) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(poll_one(fd, POLLIN, WAIT_MS) == POLLIN);
		peer[i] = accept(fd, NULL, NULL);
		CHECK(peer[i] >= 0 && write(peer[i], "hello", 5) == 5);
	}
	expect(a, "hello");
	expect(b, "hello");
	CHECK(getsockname(peer[0], (struct sockaddr *)&in, &len) == 0 &&
	      in.sin_port == local.sin_port);
	CHECK(close(a) == 0 && close(b) == 0 && close(peer[0]) == 0 && close(peer[1]) == 0);
	CHECK(close(fd) == 0);
}

static void datagrams(void)
{
	struct sockaddr_in to = server, any = {.sin_family = AF_INET}, from, local = any;
	char out[3][10] = {"first", "second", "third"}, in[3][10];
	struct iovec iov_out[3], iov_in[3];
	struct mmsghdr mout[3] = {0}, min[3] = {0};
	socklen_t len = sizeof(from);
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	int c = socket(AF_INET, SOCK_DGRAM, 0), n = 0;

	CHECK(a >= 0 && b >= 0 && c >= 0);
	CHECK(bind(b, (struct sockaddr *)&any, sizeof(any)) == 0);
	CHECK(getsockname(b, (struct sockaddr *)&any, &len) == 0 && any.sin_port);
	to.sin_port = local.sin_port = any.sin_port;
	local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(poll_one(b, POLLIN, 0) == 0);
	CHECK(sendto(a, "ask", 3, 0, (struct sockaddr *)&to, sizeof(to)) == 3);
	CHECK(poll_one(b, POLLIN, WAIT_MS) == POLLIN);
	CHECK(ioctl(b, FIONREAD, &n) == 0 && n == 3);
	CHECK(recvfrom(b, in[0], 10, 0, (struct sockaddr *)&from, &len) == 3);
	CHECK(sendto(b, "answer", 6, 0, (struct sockaddr *)&from, sizeof(from)) == 6);
	CHECK(recv(a, in[0], 10, 0) == 6 && memcmp(in[0], "answer", 6) == 0);
	/* sent by the kernel, to the same socket, which waits in its call */
	CHECK(sendto(c, "kernel", 6, 0, (struct sockaddr *)&local, sizeof(local)) == 6);
	CHECK(recv(b, in[0], 10, 0) == 6 && memcmp(in[0], "kernel", 6) == 0);
	CHECK(connect(a, (struct sockaddr *)&to, sizeof(to)) == 0);
	for (int i = 0; i < 3; i++) {
		iov_out[i] = (struct iovec){out[i], strlen(out[i])};
		iov_in[i] = (struct iovec){in[i], sizeof(in[i])};
		mout[i].msg_hdr = (struct msghdr){.msg_iov = &iov_out[i], .msg_iovlen = 1};
		min[i].msg_hdr = (struct msghdr){.msg_iov = &iov_in[i], .msg_iovlen = 1};
	}
	CHECK(sendmmsg(a, mout, 3, 0) == 3 && mout[1].msg_len == 6);
	CHECK(recvmmsg(b, min, 3, 0, NULL) == 3);
	for (int i = 0; i < 3; i++)
		CHECK(min[i].msg_len == strlen(out[i]) &&
		      memcmp(in[i], out[i], min[i].msg_len) == 0);
	CHECK(recvmmsg(b, min, 3, MSG_DONTWAIT, NULL) == -1 && errno == EAGAIN);
	CHECK(close(a) == 0 && close(b) == 0 && close(c) == 0);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 2 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1) {
		fprintf(stderr, "usage: sk_data ADDRESS\n");
		return 2;
	}
	fd = listener(NULL);
	numbers(fd);
	both_ways(fd);
	small_calls(fd);
	selects(fd);
	epolls(fd, 0);
	epolls(fd, EPOLLET);
	epolls(fd, EPOLLONESHOT);
	epoll_modes(fd);
	errors(fd);
	stdio(fd);
	passed(fd);
	serves(fd);
	files(fd);
	/* the listener has another form now */
	epolls(fd, EPOLLET);
	both_ways(fd);
	prefork(fd);
	CHECK(close(fd) == 0);
	everywhere();
	datagrams();
	return puts("ok") < 0;
}
