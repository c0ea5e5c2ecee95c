/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/sockets/sk_table.c: descriptors and the sockets behind them, threads inside a call,
 * the owner of the table, signals' handlers.
 */
#include <setjmp.h>
#include <sys/wait.h>

#include "host_driver/sockets/sk_table.c"
#include "tests/ut.h"

static atomic_int unmade, gone, waited, early;

void sk_unmake(struct sk *sk)
{
	unmade++;
	sk->rfd = -1;
}

void sk_epoll_gone(const struct sk *sk)
{
	early += sk->fds != 0;
	gone++;
}

void sk_pumps_wait(void)
{
	waited++;
}

static struct sk *made(int fd)
{
	struct sk *sk = sk_new(AF_INET, SOCK_STREAM);

	CU_ASSERT_PTR_NOT_NULL_FATAL(sk);
	CU_ASSERT_TRUE(sk_install(fd, sk));
	return sk;
}

static struct sk *is(int fd)
{
	struct sk *sk = sk_get(fd);

	if (sk)
		sk_put(sk);
	return sk;
}

/* Copies are the same socket, which ends with the last of them, and its last user frees it. */
static void copies(void)
{
	struct sk *sk = made(500), *held;
	int at = 0, before = unmade;

	CU_ASSERT_PTR_EQUAL(is(500), sk);
	CU_ASSERT_PTR_NULL(is(501));
	CU_ASSERT_TRUE(sk_install(501, sk));
	CU_ASSERT_TRUE(sk_install(499, sk));
	CU_ASSERT_EQUAL(sk->fds, 3);
	CU_ASSERT_EQUAL(sk_next_fd(sk, &at), 499);
	CU_ASSERT_EQUAL(sk_next_fd(sk, &at), 500);
	CU_ASSERT_EQUAL(sk_next_fd(sk, &at), 501);
	CU_ASSERT_EQUAL(sk_next_fd(sk, &at), -1);
	/* onto itself: none ends */
	CU_ASSERT_TRUE(sk_install(500, sk));
	CU_ASSERT_EQUAL(sk->fds, 3);
	sk_remove(500);
	sk_remove(500);
	sk_remove(499);
	CU_ASSERT_EQUAL(unmade, before);
	held = sk_get(501);
	CU_ASSERT_PTR_EQUAL(held, sk);
	sk_remove(501);
	CU_ASSERT_EQUAL(unmade, before + 1);
	CU_ASSERT_EQUAL(gone, unmade);
	CU_ASSERT_PTR_NULL(is(501));
	CU_ASSERT_EQUAL(held->refs, 2); /* references of made(), and of sk_get() */
	sk_put(held);
	sk_put(sk);
}

/* Giving a number to another socket ends the earlier one. */
static void replaced(void)
{
	struct sk *a = made(600), *b = sk_new(AF_INET6, SOCK_DGRAM);
	int before = unmade;

	CU_ASSERT_TRUE(sk_install(600, b));
	CU_ASSERT_EQUAL(unmade, before + 1);
	CU_ASSERT_PTR_EQUAL(is(600), b);
	CU_ASSERT_EQUAL(a->refs, 1);
	sk_put(a);
	sk_remove(600);
	sk_put(b);
}

static void limits(void)
{
	struct sk *sk = sk_new(AF_INET, SOCK_STREAM);

	CU_ASSERT_PTR_NOT_NULL_FATAL(sk);
	CU_ASSERT_FALSE(sk_install(-1, sk));
	CU_ASSERT_FALSE(sk_install(SK_FDS_MAX, sk));
	CU_ASSERT_PTR_NULL(sk_get(-1));
	CU_ASSERT_PTR_NULL(sk_get(SK_FDS_MAX));
	CU_ASSERT_PTR_NULL(sk_get(INT32_MAX));
	sk_remove(-1);
	sk_remove(SK_FDS_MAX);
	CU_ASSERT_TRUE(sk_install(SK_FDS_MAX - 1, sk));
	CU_ASSERT_PTR_EQUAL(is(SK_FDS_MAX - 1), sk);
	sk_remove(SK_FDS_MAX - 1);
	CU_ASSERT_EQUAL(sk->refs, 1);
	sk_put(sk);
}

/* Each socket once, however many numbers it has. */
static void enumeration(void)
{
	struct sk *a = made(700), *b = made(702), *sk;
	int at = 0, n = 0;

	CU_ASSERT_TRUE(sk_install(701, a));
	CU_ASSERT_TRUE(sk_install(703, a));
	while ((sk = sk_next(&at)) != NULL) {
		CU_ASSERT_TRUE((n == 0 && sk == a) || (n == 1 && sk == b));
		n++;
		sk_put(sk);
	}
	CU_ASSERT_EQUAL(n, 2);
	for (int fd = 700; fd < 704; fd++)
		sk_remove(fd);
	sk_put(a);
	sk_put(b);
}

/* Calls of rsockets go to the C library. */
static void inside_is_not_ours(void)
{
	struct sk *sk = made(800);

	CU_ASSERT_TRUE(sk_outside());
	sk_enter();
	sk_enter();
	CU_ASSERT_PTR_NULL(is(800));
	sk_leave();
	CU_ASSERT_FALSE(sk_outside());
	sk_remove(800); /* rsockets close a number that is one of ours by chance */
	sk_leave();
	CU_ASSERT_TRUE(sk_outside());
	CU_ASSERT_PTR_EQUAL(is(800), sk);
	sk_remove(800);
	sk_put(sk);
}

static jmp_buf out;

__attribute__((noinline)) static void deep(int n)
{
	volatile char room[1000];

	room[0] = (char)n;
	if (n > 0)
		deep(n - 1);
	else
		sk_enter();
	if (n == 0)
		longjmp(out, room[0] + 1);
	room[1] = 0;
}

/* A handler that leaves a call by longjmp(3) does not leave the thread inside for ever. */
static void left_by_longjmp(void)
{
	if (setjmp(out) == 0)
		deep(3);
	CU_ASSERT_TRUE(sk_outside());
}

/*
 * A child of vfork(2) uses its parent's table and changes nothing in it; one of fork has its own.
 */
static void whose(void)
{
	struct sk *sk = made(900);
	int status, before = waited;
	pid_t pid;

	CU_ASSERT_TRUE(sk_table_mine());
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		bool ok = !sk_table_mine() && !sk_install(901, sk);

		sk_remove(900);
		ok = ok && is(900) == sk;
		sk_table_forked();
		ok = ok && sk_table_mine() && sk_install(901, sk);
		sk_remove(900);
		ok = ok && !is(900) && is(901) == sk && sk->fds == 1;
		/* not by our _exit(): its sockets are not checked */
		REAL->_exit(ok ? 0 : 1);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(waited, before);
	sk_remove(900);
	sk_put(sk);
}

/* A process that ends closes its sockets, the last number of each, and waits for its pumps. */
static void the_end(void)
{
	int status;
	pid_t pid = fork();

	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		struct sk *sk;

		sk_table_forked();
		sk = made(1000);
		(void)sk_install(1001, sk);
		unmade = waited = 0;
		close_all();
		REAL->_exit(unmade == 1 && waited == 1 && !is(1000) && !is(1001) ? 0 : 1);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void restarts(void)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;

	/* the sanitizers' fault handlers are installed, without SA_RESTART */
	CU_ASSERT_TRUE(sk_restart());
	CU_ASSERT_EQUAL(sigaction(SIGUSR1, &act, &old), 0);
	CU_ASSERT_TRUE(sk_restart());
	act.sa_flags = 0;
	CU_ASSERT_EQUAL(sigaction(SIGUSR1, &act, NULL), 0);
	CU_ASSERT_FALSE(sk_restart());
	CU_ASSERT_EQUAL(sigaction(SIGUSR1, &old, NULL), 0);
	CU_ASSERT_TRUE(sk_restart());
}

enum {
	ROUNDS = 3000,
	THREADS = 4,
};

/* Several threads install, look up and remove the same few numbers. */
static void *busy(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		int fd;

		seed = seed * 1664525 + 1013904223;
		fd = 1100 + (int)(seed >> 8) % 5;
		if (seed >> 30 == 0) {
			struct sk *sk = sk_new(AF_INET, SOCK_STREAM);

			(void)sk_install(fd, sk);
			(void)sk_install(fd + 1, sk);
			sk_put(sk);
		} else if (seed >> 30 == 1) {
			sk_remove(fd);
		} else {
			struct sk *sk = sk_get(fd);

			if (sk) {
				pthread_mutex_lock(&sk->lock);
				sk->sndbuf++;
				pthread_mutex_unlock(&sk->lock);
				sk_put(sk);
			}
		}
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&t[i], NULL, busy, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int fd = 1100; fd < 1110; fd++)
		sk_remove(fd);
	CU_ASSERT_PTR_NULL(sk_next(&(int){0}));
	/* count of lookups without a socket while it had a number */
	CU_ASSERT_EQUAL(early, 0);
}

UT_MAIN("sockets/sk_table", UT(copies), UT(replaced), UT(limits), UT(enumeration),
	UT(inside_is_not_ours), UT(left_by_longjmp), UT(whose), UT(the_end), UT(restarts),
	UT(threads))
