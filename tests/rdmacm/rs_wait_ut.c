/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_wait.c: calls of a stream that wait, beside other threads and signals.
 */
#include <stdlib.h>

#include "host_driver/rdmacm/rs_flow.c"
#include "host_driver/rdmacm/rs_spin.c"
#include "host_driver/rdmacm/rs_stream.c"
#include "host_driver/rdmacm/rs_table.c"
/* Other threads act while a thread that waits has let go of the lock. */
static bool wait_ut_over(uint64_t end_ns);
static bool wait_ut_again(uint64_t end_ns);
#define rs_spin_over  wait_ut_over
#define rs_spin_again wait_ut_again
#include "host_driver/rdmacm/rs_wait.c"
#undef rs_spin_over
#undef rs_spin_again
#include "tests/bench/stubs/rs_pair.h"

/* Time-outs, and non-blocking calls. */
static void not_for_ever(void)
{
	char byte = 0;

	setup(false);
	ends[0].rs->opts.rcvtimeo.tv_usec = 20000;
	CU_ASSERT_EQUAL(recv_into(ends[0].rs, &byte, 1, 0), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	CU_ASSERT_EQUAL(recv_into(ends[1].rs, &byte, 1, MSG_DONTWAIT), -1);
	CU_ASSERT_EQUAL(errno, EAGAIN);
	teardown();
}

static bool raises;           /* a signal comes in a look */
static struct rs *taken_from; /* another thread takes its completions, as soon as it can */

static void count_signal(int sig)
{
	(void)sig;
	sleeps++;
}

static void take_away(void)
{
	if (!taken_from)
		return;
	(void)deliver(&ends[1]);
	if (pthread_mutex_trylock(&taken_from->lock) != 0)
		return;
	(void)rs_stream_progress(taken_from);
	pthread_mutex_unlock(&taken_from->lock);
}

static bool wait_ut_over(uint64_t end_ns)
{
	take_away();
	/* The signal comes in a look, however late the thread is. */
	return taken_from || (!raises && rs_spin_over(end_ns));
}

static bool wait_ut_again(uint64_t end_ns)
{
	take_away();
	if (raises)
		CU_ASSERT_EQUAL(raise(SIGUSR1), 0);
	raises = false;
	return !taken_from && rs_spin_again(end_ns);
}

/* Data that another thread takes from the queue just before a thread sleeps: it does not sleep. */
static void taken_by_another(void)
{
	char byte = 'x';

	setup(false);
	ends[0].rs->opts.rcvtimeo.tv_usec = 200000;
	CU_ASSERT_EQUAL(send_some(ends[1].rs, &byte, 1, 0), 1);
	byte = 0;
	sleeps = 0;
	taken_from = ends[0].rs;
	CU_ASSERT_EQUAL(recv_into(ends[0].rs, &byte, 1, 0), 1);
	CU_ASSERT_EQUAL(byte, 'x');
	CU_ASSERT_EQUAL(sleeps, 0);
	taken_from = NULL;
	teardown();
}

/* A handler that runs while a thread looks ends its call as one that runs in its sleep does. */
static void signal_in_a_look(void)
{
	struct sigaction act = {.sa_handler = count_signal}, old;
	sigset_t mask;
	char byte;

	setup(false);
	ends[0].rs->opts.rcvtimeo.tv_sec = 1;
	CU_ASSERT_EQUAL_FATAL(sigaction(SIGUSR1, &act, &old), 0);
	raises = true;
	errno = 0;
	CU_ASSERT_EQUAL(recv_into(ends[0].rs, &byte, 1, 0), -1);
	CU_ASSERT_EQUAL(errno, EINTR);
	CU_ASSERT_FALSE(raises);
	CU_ASSERT_EQUAL(sigaction(SIGUSR1, &old, NULL), 0);
	CU_ASSERT_EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	CU_ASSERT_EQUAL(sigismember(&mask, SIGUSR1), 0);
	teardown();
}

UT_MAIN("rdmacm/rs_wait", UT(not_for_ever), UT(taken_by_another), UT(signal_in_a_look))
