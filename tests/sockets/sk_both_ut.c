/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/sockets/sk_conn.c, sk_epoll.c, sk_epoll_wait.c, sk_io.c: sockets of both stacks. A
 * peer that floods one of them leaves the other its part. The kernel's Unix sockets are rsockets
 * here, as many messages and connections as a flood has wait in them, and one of the kernel's waits
 * beside.
 */
#include <netinet/in.h>
#include <sys/un.h>

#include "host_driver/sockets/sk_conn.c"
#include "host_driver/sockets/sk_epoll.c"
#include "host_driver/sockets/sk_epoll_wait.c"
#include "host_driver/sockets/sk_io.c"
#include "host_driver/sockets/sk_table.c"
#include "tests/sockets/sk_fake.h"
#include "tests/ut.h"

enum {
	FLOOD = 100,
	PART = 32, /* calls that one of the kernel's waits for at most */
	KERNELS = 'k',
	NICS = 'n',
};

/* ---- neighbours ------------------------------------------------------------------------------ */

int rbind(int fd, const struct sockaddr *addr, socklen_t bytes)
{
	return REAL->bind(fd, addr, bytes);
}

int rlisten(int fd, int backlog)
{
	return REAL->listen(fd, backlog);
}

int rconnect(int fd, const struct sockaddr *addr, socklen_t bytes)
{
	return REAL->connect(fd, addr, bytes);
}

int rfcntl(int fd, int cmd, ...)
{
	(void)fd;
	(void)cmd;
	return 0;
}

int rgetsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
	return REAL->getsockopt(fd, level, name, value, bytes);
}

ssize_t rsendmsg(int fd, const struct msghdr *msg, int flags)
{
	return REAL->sendmsg(fd, msg, flags);
}

ssize_t rrecvmsg(int fd, struct msghdr *msg, int flags)
{
	return REAL->recvmsg(fd, msg, flags);
}

int sk_high(int fd)
{
	return fd;
}

void sk_high_received(struct msghdr *msg)
{
	(void)msg;
}

bool sk_nic_own(const struct sockaddr *addr, socklen_t bytes)
{
	(void)addr;
	return bytes == 0;
}

bool sk_nic_reaches(const struct sockaddr *addr, socklen_t bytes)
{
	return sk_nic_own(addr, bytes);
}

bool sk_addr_any(const struct sk *sk, const struct sockaddr *addr, socklen_t bytes)
{
	(void)sk;
	return sk_nic_own(addr, bytes);
}

int sk_make(struct sk *sk, int fd)
{
	(void)fd;
	return sk->rfd >= 0 ? 0 : -1;
}

void sk_unmake(struct sk *sk)
{
	if (sk->rfd >= 0)
		(void)REAL->close(sk->rfd);
	sk->rfd = -1;
}

void sk_set_mode(struct sk *sk, enum sk_mode mode)
{
	sk->mode = mode;
}

int sk_timeout_ms(int fd, int name)
{
	(void)fd;
	return name ? -1 : 0;
}

int sk_wait(struct sk *sk, int fd, short events, int timeout_ms)
{
	struct pollfd p[2] = {{.fd = fd, .events = events}, {.fd = sk->rfd, .events = events}};

	return REAL->poll(p, 2, timeout_ms);
}

/* Another thread's work while one waits; once. */
static void (*meanwhile)(void);

int weft_rppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		const sigset_t *mask)
{
	void (*work)(void) = meanwhile;

	meanwhile = NULL;
	if (work) {
		sk_leave();
		work();
		sk_enter();
	}
	return REAL->ppoll(fds, nfds, timeout, mask);
}

int sk_pump_fd(int fd)
{
	(void)fd;
	return 0;
}

int sk_pumped_accept(struct sk *sk, int fd, struct sockaddr *addr, socklen_t *bytes, int flags)
{
	(void)sk;
	return REAL->accept4(fd, addr, bytes, flags);
}

void sk_pumps_wait(void)
{
}

/* ---- a socket of both ------------------------------------------------------------------------ */

/* Returns its descriptor. */
static int both(int type, int rfd)
{
	int fd = REAL->socket(AF_INET, type | SOCK_CLOEXEC, 0);
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sk *sk = sk_new(AF_INET, type);

	CU_ASSERT_TRUE_FATAL(fd >= 0 && sk != NULL);
	CU_ASSERT_EQUAL_FATAL(REAL->bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	if (type == SOCK_STREAM)
		CU_ASSERT_EQUAL_FATAL(REAL->listen(fd, FLOOD), 0);
	sk->rfd = rfd;
	sk->mode = SK_BOTH;
	sk->listening = type == SOCK_STREAM;
	CU_ASSERT_TRUE_FATAL(sk_install(fd, sk));
	sk_put(sk);
	return fd;
}

/* A socket of the kernel's that is connected to fd. */
static int client_of(int fd, int type)
{
	int client = REAL->socket(AF_INET, type | SOCK_CLOEXEC, 0);
	struct sockaddr_in to;
	socklen_t bytes = sizeof(to);

	CU_ASSERT_EQUAL_FATAL(REAL->getsockname(fd, (struct sockaddr *)&to, &bytes), 0);
	CU_ASSERT_EQUAL_FATAL(REAL->connect(client, (struct sockaddr *)&to, bytes), 0);
	return client;
}

static void end(int fd)
{
	sk_remove(fd);
	(void)REAL->close(fd);
}

/* ---- datagrams ------------------------------------------------------------------------------- */

static int peer_of_rsocket;

static int datagrams(void)
{
	int wire[2];

	CU_ASSERT_EQUAL_FATAL(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, wire), 0);
	peer_of_rsocket = wire[1];
	return both(SOCK_DGRAM, wire[0]);
}

static void flood(char what)
{
	while (REAL->send(peer_of_rsocket, &what, 1, MSG_DONTWAIT) == 1)
		;
}

static char received(int fd, int flags)
{
	char what = 0;

	CU_ASSERT_EQUAL(recv(fd, &what, 1, flags), 1);
	return what;
}

/* The NIC's queue is never empty. */
static void a_flood_of_datagrams(void)
{
	int fd = datagrams(), client = client_of(fd, SOCK_DGRAM), i, got;
	const char what = KERNELS;

	for (i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(REAL->send(client, &what, 1, 0), 1);
		for (got = 1; got < FLOOD; got++) {
			flood(NICS);
			if (received(fd, 0) == KERNELS)
				break;
		}
		CU_ASSERT(got > 1 && got <= PART);
	}
	(void)REAL->close(client);
	(void)REAL->close(peer_of_rsocket);
	end(fd);
}

/* The datagram that a call has looked at is the one that the next call takes. */
static void looked_at(void)
{
	int fd = datagrams(), client = client_of(fd, SOCK_DGRAM), i;
	const char what = KERNELS;

	CU_ASSERT_EQUAL(REAL->send(client, &what, 1, 0), 1);
	CU_ASSERT_EQUAL(received(fd, MSG_PEEK), KERNELS);
	flood(NICS);
	CU_ASSERT_EQUAL(received(fd, MSG_PEEK), KERNELS);
	CU_ASSERT_EQUAL(received(fd, 0), KERNELS);
	for (i = 0; i < 3 * PART; i++) {
		char seen;

		flood(NICS);
		if (i % 2)
			(void)REAL->send(client, &what, 1, MSG_DONTWAIT);
		seen = received(fd, MSG_PEEK);
		CU_ASSERT_EQUAL(received(fd, MSG_PEEK), seen);
		CU_ASSERT_EQUAL(received(fd, 0), seen);
	}
	(void)REAL->close(client);
	(void)REAL->close(peer_of_rsocket);
	end(fd);
}

/* Each stack alone, and none. */
static void datagrams_of_one(void)
{
	int fd = datagrams(), client = client_of(fd, SOCK_DGRAM), i;
	char what = KERNELS;

	for (i = 0; i < 2 * PART; i++) {
		CU_ASSERT_EQUAL(REAL->send(client, &what, 1, 0), 1);
		CU_ASSERT_EQUAL(received(fd, 0), KERNELS);
	}
	for (i = 0; i < 2 * PART; i++) {
		what = NICS;
		CU_ASSERT_EQUAL(REAL->send(peer_of_rsocket, &what, 1, 0), 1);
		CU_ASSERT_EQUAL(received(fd, 0), NICS);
	}
	CU_ASSERT_TRUE(recv(fd, &what, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	(void)REAL->close(client);
	(void)REAL->close(peer_of_rsocket);
	end(fd);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* True if the next connection is the kernel's. */
static bool accepts_kernels(int fd)
{
	int conn = accept(fd, NULL, NULL);
	struct sk *sk = sk_get(conn);
	bool kernels = !sk;

	CU_ASSERT_TRUE(conn >= 0);
	if (sk)
		sk_put(sk);
	end(conn);
	return kernels;
}

static void a_flood_of_connections(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int nics = REAL->socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), fd, i, got;
	socklen_t bytes = sizeof(name);

	/* An abstract name of the kernel's choice. */
	CU_ASSERT_EQUAL_FATAL(REAL->bind(nics, (struct sockaddr *)&name, sizeof(sa_family_t)), 0);
	CU_ASSERT_EQUAL_FATAL(REAL->getsockname(nics, (struct sockaddr *)&name, &bytes), 0);
	CU_ASSERT_EQUAL_FATAL(REAL->listen(nics, FLOOD), 0);
	fd = both(SOCK_STREAM, nics);
	for (i = 0; i < 3; i++) {
		int client = client_of(fd, SOCK_STREAM);

		for (got = 1; got < FLOOD; got++) {
			int more = REAL->socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

			CU_ASSERT_EQUAL(REAL->connect(more, (struct sockaddr *)&name, bytes), 0);
			(void)REAL->close(more);
			if (accepts_kernels(fd))
				break;
		}
		CU_ASSERT(got <= PART);
		(void)REAL->close(client);
	}
	end(fd);
}

/* ---- epoll ----------------------------------------------------------------------------------- */

/* A wait with a single place reports each stack's socket in turn. */
static void one_place_in_a_wait(void)
{
	int fd = datagrams(), other = both(SOCK_DGRAM, -1), client = client_of(other, SOCK_DGRAM);
	int epfd = REAL->epoll_create1(EPOLL_CLOEXEC), i, count[2] = {0};
	struct epoll_event event = {.events = EPOLLIN};
	struct sk *sk = sk_get(fd);

	CU_ASSERT_PTR_NOT_NULL_FATAL(sk);
	sk->mode = SK_NIC;
	sk_put(sk);
	sk_remove(other);
	CU_ASSERT_EQUAL(epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event), 0);
	event.data.u32 = 1;
	CU_ASSERT_EQUAL(epoll_ctl(epfd, EPOLL_CTL_ADD, other, &event), 0);
	flood(NICS);
	CU_ASSERT_EQUAL(REAL->send(client, "k", 1, 0), 1);
	for (i = 0; i < 10; i++) {
		CU_ASSERT_EQUAL_FATAL(epoll_wait(epfd, &event, 1, 0), 1);
		count[event.data.u32]++;
	}
	CU_ASSERT_EQUAL(count[0], 5);
	CU_ASSERT_EQUAL(count[1], 5);
	(void)REAL->close(client);
	(void)REAL->close(peer_of_rsocket);
	end(fd);
	(void)REAL->close(other);
	sk_epoll_closed(epfd);
	(void)REAL->close(epfd);
}

static int waited_epfd, waited_fd;

static void wait_for_room(void)
{
	struct epoll_event event = {.events = EPOLLOUT};

	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_MOD, waited_fd, &event), 0);
}

static void another_set(void)
{
	struct epoll_event event = {.events = EPOLLOUT};

	sk_epoll_closed(waited_epfd);
	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_ADD, waited_fd, &event), 0);
}

/* Adds a socket of the NIC, without datagrams, to an empty set. */
static void begin_wait(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct sk *sk;

	waited_fd = datagrams();
	waited_epfd = REAL->epoll_create1(EPOLL_CLOEXEC);
	sk = sk_get(waited_fd);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sk);
	sk->mode = SK_NIC;
	sk_put(sk);
	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_ADD, waited_fd, &event), 0);
}

static void end_wait(void)
{
	(void)REAL->close(peer_of_rsocket);
	end(waited_fd);
	sk_epoll_closed(waited_epfd);
	(void)REAL->close(waited_epfd);
}

/* A change wakes the thread that waits for the set as it was, and costs nothing without one. */
static void a_change_wakes_who_waits(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct pollfd woken = {.events = POLLIN};

	begin_wait();
	woken.fd = sk_epoll_set(waited_epfd)->wake_fd;
	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_MOD, waited_fd, &event), 0);
	CU_ASSERT_EQUAL(REAL->poll(&woken, 1, 0), 0);
	meanwhile = wait_for_room;
	CU_ASSERT_EQUAL(epoll_wait(waited_epfd, &event, 1, 10000), 1);
	CU_ASSERT_EQUAL(event.events, EPOLLOUT);
	CU_ASSERT_EQUAL(REAL->poll(&woken, 1, 0), 0);
	CU_ASSERT_EQUAL(sk_epoll_set(waited_epfd)->waits, 0);
	end_wait();
}

/* The wait of a set that is closed meanwhile ends in no other set of that number. */
static void a_set_closed_in_a_wait(void)
{
	struct epoll_event event;

	begin_wait();
	meanwhile = another_set;
	CU_ASSERT_EQUAL(epoll_wait(waited_epfd, &event, 1, 0), 0);
	CU_ASSERT_EQUAL(sk_epoll_set(waited_epfd)->waits, 0);
	end_wait();
}

static int rung_fd;

static void ring(void)
{
	CU_ASSERT_EQUAL(eventfd_write(rung_fd, 1), 0);
}

static void remove_the_last(void)
{
	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_DEL, waited_fd, NULL), 0);
	meanwhile = ring;
}

static void remove_and_close(void)
{
	remove_the_last();
	meanwhile = NULL;
	sk_epoll_closed(waited_epfd);
}

/* The last socket of the NIC leaves in a wait, which goes on for those of the kernel. */
static void the_last_leaves_in_a_wait(void)
{
	struct epoll_event event = {.events = EPOLLIN};

	begin_wait();
	rung_fd = eventfd(0, EFD_CLOEXEC);
	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_ADD, rung_fd, &event), 0);
	meanwhile = remove_the_last;
	CU_ASSERT_EQUAL(epoll_wait(waited_epfd, &event, 1, 10000), 1);
	CU_ASSERT_EQUAL(event.events, EPOLLIN);
	(void)REAL->close(rung_fd);
	event.events = EPOLLIN;
	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_ADD, waited_fd, &event), 0);
	meanwhile = remove_and_close;
	CU_ASSERT_EQUAL(epoll_wait(waited_epfd, &event, 1, 10000), -1);
	CU_ASSERT_EQUAL(errno, EBADF);
	end_wait();
}

static int (*kernels_wait)(int, struct epoll_event *, int, int, const sigset_t *);

/* The kernel's wait; another thread works just before it. */
static int late_wait(int epfd, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	void (*work)(void) = meanwhile;

	meanwhile = NULL;
	if (work)
		work();
	return kernels_wait(epfd, events, max, ms, mask);
}

static void add_the_first(void)
{
	struct epoll_event event = {.events = EPOLLOUT, .data.u32 = 7};

	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_ADD, waited_fd, &event), 0);
}

/* A thread that waits in the kernel sees the set's first socket of the NIC. */
static void the_first_comes_in_a_wait(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 5}, events[2];
	struct pollfd set = {.events = POLLIN};
	uint64_t count;

	begin_wait();
	set.fd = waited_epfd;
	sk_epoll_closed(waited_epfd);
	rung_fd = eventfd(0, EFD_CLOEXEC);
	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_ADD, rung_fd, &event), 0);
	kernels_wait = real.epoll_pwait;
	real.epoll_pwait = late_wait;
	meanwhile = add_the_first;
	CU_ASSERT_EQUAL(epoll_wait(waited_epfd, events, 2, 10000), 1);
	CU_ASSERT_EQUAL(events[0].data.u32, 7);
	/* The set had one before, and has none. */
	CU_ASSERT_EQUAL(epoll_ctl(waited_epfd, EPOLL_CTL_DEL, waited_fd, NULL), 0);
	meanwhile = add_the_first;
	CU_ASSERT_EQUAL(epoll_wait(waited_epfd, events, 2, 10000), 1);
	CU_ASSERT_EQUAL(events[0].data.u32, 7);
	/* It comes beside an event of the kernel: the program sees no mark. */
	sk_epoll_closed(waited_epfd);
	ring();
	meanwhile = add_the_first;
	CU_ASSERT_EQUAL(epoll_wait(waited_epfd, events, 2, 10000), 1);
	CU_ASSERT_EQUAL(events[0].data.u32, 5);
	CU_ASSERT_EQUAL(REAL->read(rung_fd, &count, sizeof(count)), (ssize_t)sizeof(count));
	CU_ASSERT_EQUAL(sk_epoll_set(waited_epfd)->mark_fd, -1);
	/* Without such a wait the set is not ready. */
	sk_epoll_closed(waited_epfd);
	add_the_first();
	CU_ASSERT_EQUAL(REAL->poll(&set, 1, 0), 0);
	CU_ASSERT_EQUAL(atomic_load(&sk_epoll_kernel_waits), 0);
	/* A child of fork() has none of the waits of its parent. */
	sk_epoll_set(waited_epfd)->waits = 1;
	atomic_store(&sk_epoll_kernel_waits, 1);
	sk_epoll_forked();
	CU_ASSERT_EQUAL(sk_epoll_set(waited_epfd)->waits + atomic_load(&sk_epoll_kernel_waits), 0);
	real.epoll_pwait = kernels_wait;
	(void)REAL->close(rung_fd);
	CU_ASSERT_EQUAL(epoll_ctl(1 << 20, EPOLL_CTL_ADD, waited_fd, &event), -1);
	CU_ASSERT_EQUAL(errno, EBADF);
	end_wait();
}

UT_MAIN("sockets/sk_both", UT(a_flood_of_datagrams), UT(looked_at), UT(datagrams_of_one),
	UT(a_flood_of_connections), UT(one_place_in_a_wait), UT(a_change_wakes_who_waits),
	UT(a_set_closed_in_a_wait), UT(the_last_leaves_in_a_wait), UT(the_first_comes_in_a_wait))
