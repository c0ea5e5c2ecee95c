/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_poll.c with descriptors that are no rsockets: signals that come before the
 * sleep, times, the caller's mask. What a thread does before it sleeps is the test's.
 */
#include <signal.h>
#include <unistd.h>

#include "host_driver/rdmacm/rs_poll.c"
#include "host_driver/rdmacm/rs_table.c"
#include "host_driver/rdmacm/rs_wait.c"
#include "tests/bench/stubs/rs_stubs.h"
#include "tests/ut.h"

RS_STUBS_BEGIN
RS_UNCALLED(int, rs_dgram_progress, struct rs *rs)
RS_UNCALLED(int, rs_stream_progress, struct rs *rs)
RS_UNCALLED(short, rs_dgram_revents, struct rs *rs)
RS_UNCALLED(short, rs_stream_revents, struct rs *rs)
RS_UNCALLED(bool, rs_dgram_arm, struct rs *rs)
RS_UNCALLED(bool, rs_stream_arm, struct rs *rs)
RS_UNCALLED(bool, rs_dgram_waiting, const struct rs *rs)
RS_UNCALLED(bool, rs_stream_waiting, const struct rs *rs)
RS_UNCALLED(void, rs_dgram_event, struct rs *rs)
RS_UNCALLED(void, rs_stream_event, struct rs *rs)
RS_UNCALLED(int, rs_dgram_fds, const struct rs *rs, int *fds, int n)
RS_UNCALLED(void, rs_opts_init, struct rs_opts *opts)
RS_UNCALLED(void, rs_cm_forked, void)
RS_UNCALLED(void, rs_share_forked, void)
RS_UNCALLED(void, rs_pool_forked, void)
RS_STUBS_END

static uint32_t looks, slept, handled;
static bool raises;

uint64_t rs_spin_begin(void)
{
	looks = 0;
	return clock_now_ns() + 1000000000;
}

bool rs_spin_over(uint64_t end_ns)
{
	return clock_now_ns() >= end_ns;
}

/* Two looks; a signal comes in the first. */
bool rs_spin_again(uint64_t end_ns)
{
	(void)end_ns;
	if (raises && !looks)
		CU_ASSERT_EQUAL(raise(SIGUSR1), 0);
	return looks++ < 2;
}

void rs_spin_slept(uint64_t since_ns)
{
	(void)since_ns;
	slept++;
}

static void handle(int sig)
{
	(void)sig;
	handled++;
}

/* Polls the reading end of a pipe for 20 ms. */
static int poll_pipe(bool full, const sigset_t *mask)
{
	const struct timespec time = {.tv_nsec = 20000000};
	struct pollfd p;
	int fds[2], rc;

	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	if (full)
		CU_ASSERT_EQUAL(write(fds[1], "x", 1), 1);
	p = (struct pollfd){.fd = fds[0], .events = POLLIN};
	slept = 0;
	rc = weft_rppoll(&p, 1, &time, mask);
	if (rc == 1)
		CU_ASSERT_EQUAL(p.revents, POLLIN);
	close(fds[0]);
	close(fds[1]);
	return rc;
}

/* A handler that runs before the sleep would not end it, and its program would wait for good. */
static void signal_before_the_sleep(void)
{
	struct sigaction act = {.sa_handler = handle}, old;
	sigset_t none, usr1;

	sigaction(SIGUSR1, &act, &old);
	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	raises = true;
	handled = 0;
	errno = 0;
	CU_ASSERT_EQUAL(poll_pipe(false, NULL), -1);
	CU_ASSERT_EQUAL(errno, EINTR);
	CU_ASSERT_EQUAL(handled, 1);
	CU_ASSERT_EQUAL(slept, 1);
	/* With the caller's mask, which lets it through, or does not. */
	errno = 0;
	CU_ASSERT_EQUAL(poll_pipe(false, &none), -1);
	CU_ASSERT_EQUAL(errno, EINTR);
	CU_ASSERT_EQUAL(handled, 2);
	CU_ASSERT_EQUAL(poll_pipe(false, &usr1), 0);
	CU_ASSERT_EQUAL(handled, 3);
	raises = false;
	sigaction(SIGUSR1, &old, NULL);
}

static void without_signals(void)
{
	CU_ASSERT_EQUAL(poll_pipe(false, NULL), 0);
	CU_ASSERT_EQUAL(looks, 3);
	CU_ASSERT_EQUAL(slept, 1);
	CU_ASSERT_EQUAL(poll_pipe(true, NULL), 1);
	CU_ASSERT_EQUAL(slept, 0);
}

UT_MAIN("rdmacm/rs_poll", UT(signal_before_the_sleep), UT(without_signals))
