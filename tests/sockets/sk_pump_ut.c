/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/sockets/sk_pump.c: threads between the program's end of a socket pair and an rsocket,
 * whose peer the test plays.
 */
#include <netinet/in.h>
#include <sys/wait.h>

#include "host_driver/sockets/sk_table.c"

#include "host_driver/sockets/sk_pump.c"
#include "tests/sockets/sk_fake.h"
#include "tests/ut.h"

enum {
	LONG_BYTES = 1 << 20, /* more bytes than all buffers between the two hold */
	WAIT_US = 50000,
};

void sk_unmake(struct sk *sk)
{
	(void)sk;
}

void sk_epoll_gone(const struct sk *sk)
{
	(void)sk;
}

/* ---- a connection -----------------------------------------------------------------------------
 */

struct line {
	int program, peer;
};

static struct line line_open(void)
{
	int pair[2], wire[2];

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wire), 0);
	CU_ASSERT_EQUAL_FATAL(sk_pump_stream(wire[0], pair[0]), 0);
	return (struct line){pair[1], wire[1]};
}

static uint8_t byte_at(uint64_t i)
{
	return (uint8_t)((i * 131 >> 4) ^ i);
}

/* Sends as much as fits without a wait; returns how much. */
static uint64_t stuff(int fd)
{
	uint8_t buf[1000];
	uint64_t sent = 0;
	int idle = 0;

	while (idle < 20) {
		ssize_t n;

		for (size_t i = 0; i < sizeof(buf); i++)
			buf[i] = byte_at(sent + i);
		n = send(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL);
		sent += n > 0 ? (uint64_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
		if (n < 0)
			usleep(1000);
	}
	return sent;
}

/* Reads to the end and checks it; returns how much. */
static uint64_t drain(int fd)
{
	uint8_t buf[4096];
	uint64_t got = 0, wrong = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			wrong += buf[i] != byte_at(got + (uint64_t)i);
		got += (uint64_t)n;
	}
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_EQUAL(wrong, 0);
	return got;
}

static void *send_long(void *arg)
{
	int fd = *(int *)arg;
	uint8_t buf[777] = {0};

	for (uint64_t at = 0; at < LONG_BYTES;) {
		uint64_t n = LONG_BYTES - at < sizeof(buf) ? LONG_BYTES - at : sizeof(buf);
		ssize_t rc;

		for (uint64_t i = 0; i < n; i++)
			buf[i] = byte_at(at + i);
		rc = send(fd, buf, n, MSG_NOSIGNAL);
		if (rc <= 0)
			break;
		at += (uint64_t)rc;
	}
	(void)shutdown(fd, SHUT_WR);
	return NULL;
}

/* Both directions at once; the end of each direction reaches the peer. */
static void both_ways(void)
{
	struct line l = line_open();
	pthread_t t[2];

	CU_ASSERT_TRUE(sk_pumps_any());
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t[0], NULL, send_long, &l.program), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t[1], NULL, send_long, &l.peer), 0);
	/* one direction after the other: neither delays the other one */
	CU_ASSERT_EQUAL(drain(l.program), LONG_BYTES);
	CU_ASSERT_EQUAL(drain(l.peer), LONG_BYTES);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	sk_pumps_wait();
	CU_ASSERT_FALSE(sk_pumps_any());
	close(l.program);
	close(l.peer);
}

static void half_closed(void)
{
	struct line l = line_open();
	char buf[8];

	CU_ASSERT_EQUAL(send(l.program, "ask", 3, 0), 3);
	CU_ASSERT_EQUAL(shutdown(l.program, SHUT_WR), 0);
	CU_ASSERT_EQUAL(recv(l.peer, buf, 8, MSG_WAITALL), 3);
	CU_ASSERT_EQUAL(send(l.peer, "answer", 6, 0), 6);
	CU_ASSERT_EQUAL(recv(l.program, buf, 6, MSG_WAITALL), 6);
	CU_ASSERT_EQUAL(close(l.peer), 0);
	CU_ASSERT_EQUAL(recv(l.program, buf, 1, 0), 0);
	close(l.program);
	sk_pumps_wait();
}

/* A program writes and ends without having read: the peer receives all of it. */
static void answer_unread_question(void)
{
	struct line l = line_open();
	uint64_t sent;

	CU_ASSERT_TRUE(stuff(l.peer) > 0); /* never read */
	sent = stuff(l.program);
	CU_ASSERT_TRUE(sent > 0);
	CU_ASSERT_EQUAL(close(l.program), 0);
	CU_ASSERT_EQUAL(drain(l.peer), sent);
	CU_ASSERT_EQUAL(close(l.peer), 0);
	sk_pumps_wait();
}

/* A peer sends and closes while the program still writes: all of its data can be read. */
static void peer_goes_first(void)
{
	struct line l = line_open();
	uint64_t sent = stuff(l.peer);
	ssize_t n;
	int i;

	CU_ASSERT_EQUAL(close(l.peer), 0);
	for (i = 0; i < 10000; i++) {
		n = send(l.program, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			break;
		usleep(100);
	}
	CU_ASSERT_TRUE(i < 10000);
	CU_ASSERT_EQUAL(errno, EPIPE);
	CU_ASSERT_EQUAL(drain(l.program), sent);
	close(l.program);
	sk_pumps_wait();
}

/* A program that reads no more, but writes: received data is discarded, and does not block. */
static void reads_no_more(void)
{
	struct line l = line_open();
	pthread_t t;
	char buf[8];

	CU_ASSERT_EQUAL(shutdown(l.program, SHUT_RD), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, send_long, &l.peer), 0);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(send(l.program, "still", 5, 0), 5);
	CU_ASSERT_EQUAL(recv(l.peer, buf, 5, MSG_WAITALL), 5);
	close(l.program);
	CU_ASSERT_EQUAL(recv(l.peer, buf, 1, 0), 0);
	close(l.peer);
	sk_pumps_wait();
}

/* The wait for a slow peer sleeps, even when the program has ended. */
static void waits_asleep(void)
{
	struct line l = line_open();
	uint64_t sent = stuff(l.program);
	int before;

	CU_ASSERT_EQUAL(close(l.program), 0);
	usleep(WAIT_US);
	before = atomic_load(&fake_polls);
	usleep(WAIT_US);
	CU_ASSERT_TRUE(atomic_load(&fake_polls) - before < 10);
	CU_ASSERT_EQUAL(drain(l.peer), sent);
	close(l.peer);
	sk_pumps_wait();
}

/* ---- a listener ------------------------------------------------------------------------------ */

static int unix_listener(struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t bytes = sizeof(*addr);

	addr->sun_family = AF_UNIX;
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)addr, sizeof(sa_family_t)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fd, 8), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)addr, &bytes), 0);
	return fd;
}

static int caller(const struct sockaddr_un *to)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 6); /* autobind's */

	CU_ASSERT_EQUAL_FATAL(connect(fd, (const struct sockaddr *)to, bytes), 0);
	return fd;
}

/* The program's accept(2) on the pair. -1: the end. */
static int taken(int end, struct sk_passed *what)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {what, sizeof(*what)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	int fd = -1;

	if (recvmsg(end, &msg, MSG_CMSG_CLOEXEC) != sizeof(*what))
		return -1;
	CU_ASSERT_PTR_NOT_NULL_FATAL(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void accepts(void)
{
	struct sockaddr_un nic, kernel;
	int nic_fd = unix_listener(&nic), kernel_fd = unix_listener(&kernel), pair[2];
	struct sk_passed what = {0};
	char buf[8];

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	CU_ASSERT_EQUAL_FATAL(sk_pump_listener(nic_fd, kernel_fd, pair[0]), 0);
	for (int i = 0; i < 6; i++) {
		int peer = caller(i % 2 ? &kernel : &nic), got = taken(pair[1], &what);

		CU_ASSERT_TRUE_FATAL(got >= 0);
		CU_ASSERT_EQUAL(what.is_kernel, i % 2);
		if (!what.is_kernel)
			CU_ASSERT_EQUAL(memcmp(&what.local, &nic, sizeof(sa_family_t) + 6), 0);
		CU_ASSERT_EQUAL(send(peer, "hello", 5, 0), 5);
		CU_ASSERT_EQUAL(recv(got, buf, 5, MSG_WAITALL), 5);
		CU_ASSERT_EQUAL(close(got), 0);
		CU_ASSERT_EQUAL(recv(peer, buf, 1, 0), 0);
		close(peer);
	}
	/* The listener is closed: connections that wait in the pair end, too. */
	{
		int waiting = caller(&nic);

		close(pair[1]);
		CU_ASSERT_TRUE(recv(waiting, buf, 1, 0) <= 0);
		close(waiting);
	}
	sk_pumps_wait();
	CU_ASSERT_EQUAL(fcntl(nic_fd, F_GETFD), -1);
	CU_ASSERT_EQUAL(fcntl(kernel_fd, F_GETFD), -1);
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* A child has no pumps, and keeps none of the ends that its parent serves. */
static void child_has_none(void)
{
	struct line l = line_open();
	struct pump *p = pumps.first;
	int status, end;
	pid_t pid;

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	end = p->end;
	sk_pumps_lock();
	pid = fork();
	sk_pumps_unlock();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		sk_pumps_forked();
		sk_pumps_wait();
		REAL->_exit(!sk_pumps_any() && fcntl(end, F_GETFD) == -1 ? 0 : 1);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(send(l.program, "on", 2, 0), 2);
	close(l.program);
	CU_ASSERT_EQUAL(shutdown(l.peer, SHUT_WR), 0);
	sk_pumps_wait();
	close(l.peer);
}

UT_MAIN("sockets/sk_pump", UT(both_ways), UT(half_closed), UT(answer_unread_question),
	UT(peer_goes_first), UT(reads_no_more), UT(waits_asleep), UT(accepts), UT(child_has_none))
