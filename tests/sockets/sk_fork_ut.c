/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/sockets/sk_fork.c and sk_exec.c: descriptors when a socket is pumped, tables in a
 * child, and the sockets that an executed program inherits. rsockets are the kernel's Unix sockets
 * here.
 */
#include <netinet/in.h>
#include <sys/wait.h>

#include "host_driver/sockets/sk_exec.c"
#include "host_driver/sockets/sk_fork.c"
#include "host_driver/sockets/sk_pump.c"
#include "host_driver/sockets/sk_table.c"
#include "tests/sockets/sk_fake.h"
#include "tests/ut.h"

static int locks, resets, children;

#define COUNTED(name, count)                                                                       \
	void name(void)                                                                            \
	{                                                                                          \
		count;                                                                             \
	}
COUNTED(sk_nic_lock, locks++)
COUNTED(sk_nic_unlock, locks--)
COUNTED(sk_nic_reset, resets++)
COUNTED(sk_epoll_lock, locks++)
COUNTED(sk_epoll_unlock, locks--)
COUNTED(sk_epoll_reset, resets++)
COUNTED(sk_epoll_forked, children++)

void sk_epoll_gone(const struct sk *sk)
{
	(void)sk;
}

void sk_unmake(struct sk *sk)
{
	if (sk->rfd >= 0)
		(void)REAL->close(sk->rfd);
	sk->rfd = -1;
	sk->mode = SK_KERNEL;
}

void sk_set_mode(struct sk *sk, enum sk_mode mode)
{
	sk->mode = mode;
}

void sk_addr_out(const struct sockaddr_storage *from, struct sockaddr *to, socklen_t *bytes)
{
	if (to && bytes)
		memcpy(to, from, *bytes);
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* A descriptor of the kernel's that stands for a connection, and the peer's end of it. */
static struct sk *connection(int *fd, int *peer, int flags)
{
	struct sk *sk = sk_new(AF_INET, SOCK_STREAM);
	int wire[2];

	CU_ASSERT_PTR_NOT_NULL_FATAL(sk);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wire), 0);
	*fd = socket(AF_INET, SOCK_STREAM | flags, 0);
	CU_ASSERT_TRUE_FATAL(*fd >= 0);
	*peer = wire[1];
	sk->rfd = wire[0];
	sk->mode = SK_NIC;
	CU_ASSERT_TRUE(sk_install(*fd, sk));
	return sk;
}

static void drop(int fd)
{
	sk_remove(fd);
	(void)REAL->close(fd);
}

static bool speaks(int a, int b)
{
	char byte = 0;

	return REAL->send(a, "x", 1, MSG_NOSIGNAL) == 1 && REAL->recv(b, &byte, 1, 0) == 1 &&
	       byte == 'x';
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* All numbers of a socket become the pair's end, each with its own flag, and the shared ones. */
static void numbers_and_flags(void)
{
	int fd, peer, copy;
	struct sk *sk = connection(&fd, &peer, SOCK_NONBLOCK);

	copy = REAL->fcntl(fd, F_DUPFD_CLOEXEC, 0);
	CU_ASSERT_TRUE(sk_install(copy, sk));
	CU_ASSERT_EQUAL(sk_pump_fd(copy), 0);
	CU_ASSERT_EQUAL(sk->mode, SK_PUMPED);
	CU_ASSERT_EQUAL(sk->rfd, -1);
	CU_ASSERT_EQUAL(REAL->fcntl(fd, F_GETFD), 0);
	CU_ASSERT_EQUAL(REAL->fcntl(copy, F_GETFD), FD_CLOEXEC);
	CU_ASSERT_TRUE(REAL->fcntl(fd, F_GETFL) & O_NONBLOCK);
	CU_ASSERT_EQUAL(REAL->send(copy, "y", 1, 0), 1);
	drop(fd);
	CU_ASSERT_TRUE(sk_pumps_any());
	drop(copy);
	sk_put(sk);
	REAL->close(peer);
	sk_pumps_wait();
}

/* Without a peer there is nothing to share; datagrams and the kernel's sockets stay unchanged. */
static void stays_as_it_is(void)
{
	struct sk *sk = sk_new(AF_INET, SOCK_STREAM);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CU_ASSERT_TRUE(sk_install(fd, sk));
	CU_ASSERT_EQUAL(sk_pump_fd(fd), 0);
	CU_ASSERT_EQUAL(sk->mode, SK_KERNEL);
	sk->rfd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sk->mode = SK_NIC;
	CU_ASSERT_EQUAL(sk_pump_fd(fd), 0);
	CU_ASSERT_EQUAL(sk->mode, SK_NIC);
	sk->type = SOCK_DGRAM;
	CU_ASSERT_EQUAL(sk_pump_fd(fd), 0);
	CU_ASSERT_EQUAL(sk->mode, SK_NIC);
	CU_ASSERT_EQUAL(sk_pump_fd(-1), 0);
	CU_ASSERT_EQUAL(sk_pump_fd(fd + 1000), 0);
	CU_ASSERT_FALSE(sk_pumps_any());
	drop(fd);
	sk_put(sk);
}

/* Parent and child use the same connection; locks are held in pairs. */
static void forked(void)
{
	int fd, peer, lone, lone_peer, status;
	struct sk *sk = connection(&fd, &peer, SOCK_CLOEXEC), *dgram;
	pid_t pid;

	dgram = connection(&lone, &lone_peer, SOCK_CLOEXEC);
	dgram->type = SOCK_DGRAM;
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		/* the connection exists, the datagram socket is the kernel's, no pump runs */
		bool ok = sk->mode == SK_PUMPED && dgram->mode == SK_KERNEL && dgram->rfd == -1 &&
			  children == 1 && !sk_pumps_any() && sk_table_mine() &&
			  REAL->send(fd, "child", 5, 0) == 5;

		REAL->_exit(ok ? 0 : 1);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(locks, 0);
	CU_ASSERT_EQUAL(dgram->mode, SK_NIC);
	CU_ASSERT_TRUE(dgram->rfd >= 0);
	{
		char buf[8];

		CU_ASSERT_EQUAL(REAL->recv(peer, buf, 5, MSG_WAITALL), 5);
		CU_ASSERT_EQUAL(memcmp(buf, "child", 5), 0);
	}
	CU_ASSERT_TRUE(speaks(fd, peer));
	CU_ASSERT_TRUE(speaks(peer, fd));
	drop(fd);
	drop(lone);
	sk_put(sk);
	sk_put(dgram);
	REAL->close(peer);
	REAL->close(lone_peer);
	sk_pumps_wait();
}

/* A fork inside the C library: the child starts anew, whichever thread held a lock. */
static void fork_unseen(void)
{
	int fd, peer, status;
	struct sk *sk = connection(&fd, &peer, SOCK_CLOEXEC);
	pid_t pid = REAL->fork();

	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0)
		REAL->_exit(sk->mode == SK_KERNEL && sk->rfd == -1 && resets == 2 &&
				    children == 1 && !sk_pumps_any()
				? 0
				: 1);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(sk->mode, SK_NIC);
	drop(fd);
	sk_put(sk);
	REAL->close(peer);
}

/* Conditions that exec checks. */
static void before_exec(void)
{
	int fd, peer;
	struct sk *sk;

	CU_ASSERT_EQUAL(needed(), CARE_NOT);
	CU_ASSERT_FALSE(has_threads());
	sk = connection(&fd, &peer, SOCK_CLOEXEC);
	CU_ASSERT_EQUAL(needed(), CARE_CLOSE);
	CU_ASSERT_EQUAL(REAL->fcntl(fd, F_SETFD, 0), 0);
	CU_ASSERT_EQUAL(needed(), CARE_STAY);
	sk->mode = SK_KERNEL;
	CU_ASSERT_EQUAL(needed(), CARE_NOT);
	sk->mode = SK_NIC;
	CU_ASSERT_EQUAL(pump_inherited(), 0);
	CU_ASSERT_EQUAL(sk->mode, SK_PUMPED);
	/* a thread of this process serves our socket, and is no thread of the program's */
	CU_ASSERT_EQUAL(needed(), CARE_STAY);
	CU_ASSERT_FALSE(has_threads());
	drop(fd);
	sk_put(sk);
	REAL->close(peer);
	sk_pumps_wait();
	CU_ASSERT_EQUAL(needed(), CARE_NOT);
}

static void *sleeps(void *arg)
{
	char byte;

	return REAL->read(*(int *)arg, &byte, 1) == 1 ? arg : NULL;
}

static void threads_are_seen(void)
{
	pthread_t t;
	int tube[2];

	CU_ASSERT_EQUAL_FATAL(pipe(tube), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, sleeps, &tube[0]), 0);
	CU_ASSERT_TRUE(has_threads());
	CU_ASSERT_EQUAL(REAL->write(tube[1], "x", 1), 1);
	pthread_join(t, NULL);
	close(tube[0]);
	close(tube[1]);
}

static void programs_are_found(void)
{
	struct image im = {.path = "sh", .search = true};

	CU_ASSERT_TRUE(can_run(&im));
	im.path = "no-such-program-anywhere";
	CU_ASSERT_FALSE(can_run(&im));
	im = (struct image){.path = "/bin/sh"};
	CU_ASSERT_TRUE(can_run(&im));
	im.path = "/etc/passwd";
	CU_ASSERT_FALSE(can_run(&im));
	im.path = "/";
	CU_ASSERT_FALSE(can_run(&im));
	im = (struct image){.fd = 3};
	CU_ASSERT_TRUE(can_run(&im));
}

UT_MAIN("sockets/sk_fork", UT(numbers_and_flags), UT(stays_as_it_is), UT(forked), UT(fork_unseen),
	UT(before_exec), UT(threads_are_seen), UT(programs_are_found))
