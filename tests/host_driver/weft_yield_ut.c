/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Yields of empty polls: by WEFT_YIELD, by the number of processors, and by the time of the last
 * yield. The clock, the processors and sched_yield() are the test's own. Each case polls in a
 * thread of its own, since each thread keeps its own statistics.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

static uint64_t fake_ns = 1000000000;
static uint64_t yield_ns; /* duration of the next ones */
static uint32_t yields;
static int num_cpus;
static long switches; /* of the thread, which it did not want */
static long switches_a_yield;

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	(void)who;
	*usage = (struct rusage){.ru_nivcsw = switches};
	return 0;
}

int sched_yield(void)
{
	yields++;
	switches += switches_a_yield;
	fake_ns += yield_ns;
	return 0;
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *cpus)
{
	(void)pid;
	CPU_ZERO_S(bytes, cpus);
	for (int i = 0; i < num_cpus; i++)
		CPU_SET_S((size_t)i, bytes, cpus);
	return 0;
}

int sched_getcpu(void)
{
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(fake_ns / 1000000000);
	ts->tv_nsec = (long)(fake_ns % 1000000000);
	return 0;
}

static struct fake_setup rig;

/* Polls n times without a completion; returns the number of yields. */
static uint32_t poll_in_vain(uint32_t n)
{
	uint32_t before = yields;
	struct weft_wc wc;

	for (uint32_t i = 0; i < n; i++)
		CU_ASSERT_EQUAL(weft_poll_cq(rig.cq, 1, &wc), 0);
	return yields - before;
}

static void in_thread(void *(*fn)(void *), int cpus, const char *mode)
{
	const struct weft_qp_cap cap = {4, 4, 1, 1, 0};
	pthread_t thread;

	num_cpus = cpus;
	yield_ns = 300;
	if (mode)
		setenv("WEFT_YIELD", mode, 1);
	else
		unsetenv("WEFT_YIELD");
	fake_setup(&rig, WEFT_QPT_RD, &cap, 16);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, fn, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_join(thread, NULL), 0);
	fake_teardown(&rig);
}

/*
 * At once, then ever more rarely while no other thread wants the processor; at each poll when one
 * does.
 */
static void *few(void *arg)
{
	CU_ASSERT_EQUAL(poll_in_vain(1), 1);
	CU_ASSERT_EQUAL(poll_in_vain(2 + 4 + 8), 3);
	CU_ASSERT_EQUAL(poll_in_vain(16 + 32 + 64 + 128), 4);
	CU_ASSERT_EQUAL(poll_in_vain(2560), 10);
	yield_ns = 4000000;
	CU_ASSERT_EQUAL(poll_in_vain(256), 1);
	CU_ASSERT_EQUAL(poll_in_vain(10), 10);
	return arg;
}

static void few_processors(void)
{
	in_thread(few, 1, NULL);
	in_thread(few, 2, "auto");
}

/* Rarely from the start, and at each poll as soon as one shows too many pollers. */
static void *many(void *arg)
{
	CU_ASSERT_EQUAL(poll_in_vain(255), 0);
	CU_ASSERT_EQUAL(poll_in_vain(1), 1);
	CU_ASSERT_EQUAL(poll_in_vain(2560), 10);
	yield_ns = 4000000;
	CU_ASSERT_EQUAL(poll_in_vain(256), 1);
	CU_ASSERT_EQUAL(poll_in_vain(10), 10);
	yield_ns = 300;
	CU_ASSERT_EQUAL(poll_in_vain(1 + 2 + 4 + 8), 4);
	return arg;
}

static void many_processors(void)
{
	in_thread(many, 3, NULL);
	in_thread(many, 64, "auto");
}

static void *poll_as_told(void *arg)
{
	(void)poll_in_vain(*(uint32_t *)arg);
	return NULL;
}

static void another_polls(uint32_t n)
{
	pthread_t other;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, poll_as_told, &n), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_join(other, NULL), 0);
}

/*
 * Several threads poll a CQ under a lock of their program, for which the others may spin. A long
 * yield shows that they do; then none for eight times as long. It counts as this thread's alone
 * again when only it has polled through sixteen such yields.
 */
static void *in_turns(void *arg)
{
	yield_ns = 4000000;
	CU_ASSERT_EQUAL(poll_in_vain(5), 5);
	another_polls(1);
	for (int i = 0; i < 16; i++) {
		CU_ASSERT_EQUAL(poll_in_vain(1), 1);
		CU_ASSERT_EQUAL(poll_in_vain(1000), 0);
		fake_ns += 8 * yield_ns - 1;
		CU_ASSERT_EQUAL(poll_in_vain(1000), 0);
		fake_ns++;
	}
	CU_ASSERT_EQUAL(poll_in_vain(10), 10);
	/* A thread that polls now and then does not count; one that polls as often does. */
	another_polls(100);
	CU_ASSERT_EQUAL(poll_in_vain(10), 10);
	another_polls(400);
	CU_ASSERT_EQUAL(poll_in_vain(1), 1);
	CU_ASSERT_EQUAL(poll_in_vain(1000), 0);
	fake_ns += 8 * yield_ns;
	/* Short yields cost no other thread anything. */
	yield_ns = 900000;
	CU_ASSERT_EQUAL(poll_in_vain(10), 10);
	return arg;
}

static void several_threads(void)
{
	in_thread(in_turns, 2, NULL);
}

/* Polls n times, with so many yields of the program's own; returns the number of ours. */
static uint32_t poll_and_yield(uint32_t n, uint32_t part)
{
	uint32_t ours = 0;

	for (uint32_t i = 0; i < n; i++) {
		ours += poll_in_vain(1);
		switches += i % part == 0;
	}
	return ours;
}

/*
 * Threads compute or poll on this CPU. While the program itself yields at least at each fourth
 * poll, no poll does; our own yields are not taken for the program's.
 */
static void *program_yields(void *arg)
{
	yield_ns = 100000;
	switches_a_yield = 1;
	CU_ASSERT_EQUAL(poll_in_vain(640), 640);
	CU_ASSERT_EQUAL(poll_and_yield(64, 1), 63);
	CU_ASSERT_EQUAL(poll_and_yield(640, 1), 0);
	CU_ASSERT_EQUAL(poll_and_yield(640, 4), 0);
	CU_ASSERT_EQUAL(poll_and_yield(64, 8), 1);
	CU_ASSERT_EQUAL(poll_and_yield(640, 8), 640);
	CU_ASSERT_EQUAL(poll_in_vain(640), 640);
	return arg;
}

static void program_that_yields(void)
{
	switches = 1000000;
	in_thread(program_yields, 2, NULL);
	switches_a_yield = 0;
}

/* The NIC polls on this CPU, or on the next one. */
static void poll_on(bool here)
{
	struct hw_bar_header *header = weft_ctx_of(rig.context)->bar;

	header->poll_cpu = here ? 1 : 2;
}

/* A completion ends the wait: no yield until the next one has lasted for 1.5 us. */
static void *after_a_completion(void *arg)
{
	struct weft_wc wc;

	poll_on(false);
	yield_ns = 100000;
	CU_ASSERT_EQUAL(poll_in_vain(10), 10);
	fake_cqe(rig.nic, rig.cq,
		 (struct hw_cqe){.qpn = rig.qp->qpn, .opcode = HW_CQE_RECV_WRITE_RECORD});
	CU_ASSERT_EQUAL(weft_poll_cq(rig.cq, 1, &wc), 1);
	/* The program has handled it when the wait begins. */
	fake_ns += 5000;
	CU_ASSERT_EQUAL(poll_in_vain(1), 0);
	fake_ns += 1499;
	CU_ASSERT_EQUAL(poll_in_vain(5), 0);
	fake_ns++;
	CU_ASSERT_EQUAL(poll_in_vain(5), 5);
	return arg;
}

/* Asserts that empty polls yield right after a completion. */
static void yields_at_once(void)
{
	struct weft_wc wc;

	fake_cqe(rig.nic, rig.cq,
		 (struct hw_cqe){.qpn = rig.qp->qpn, .opcode = HW_CQE_RECV_WRITE_RECORD});
	CU_ASSERT_EQUAL(weft_poll_cq(rig.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(poll_in_vain(5), 5);
}

/* A NIC that polls on this CPU, or works on the CPUs of programs, needs this one. */
static void *where_the_nic_needs_it(void *arg)
{
	struct weft_ctx *ctx = weft_ctx_of(rig.context);
	uint32_t num = ctx->num_doorbells;

	yield_ns = 100000;
	CU_ASSERT_EQUAL(poll_in_vain(10), 10);
	poll_on(true);
	yields_at_once();
	poll_on(false);
	ctx->num_doorbells = 2;
	yields_at_once();
	ctx->num_doorbells = num;
	return arg;
}

static void begin_of_a_wait(void)
{
	in_thread(after_a_completion, 1, NULL);
	in_thread(where_the_nic_needs_it, 1, NULL);
}

static void *never(void *arg)
{
	CU_ASSERT_EQUAL(poll_in_vain(5000), 0);
	return arg;
}

static void *every_third(void *arg)
{
	struct weft_wc wc;

	CU_ASSERT_EQUAL(poll_in_vain(30), 10);
	/* A completion ends the series. */
	CU_ASSERT_EQUAL(poll_in_vain(2), 0);
	fake_cqe(rig.nic, rig.cq,
		 (struct hw_cqe){.qpn = rig.qp->qpn, .opcode = HW_CQE_RECV_WRITE_RECORD});
	CU_ASSERT_EQUAL(weft_poll_cq(rig.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(poll_in_vain(2), 0);
	CU_ASSERT_EQUAL(poll_in_vain(1), 1);
	return arg;
}

static void as_told(void)
{
	in_thread(never, 1, "never");
	in_thread(never, 8, "0");
	in_thread(every_third, 8, "3");
	/* no number: as if it were unset */
	in_thread(few, 2, "3x");
	unsetenv("WEFT_YIELD");
}

/* A thread that polls several CQs in turn yields once a round, also after one of them is gone. */
static void *in_rounds(void *arg)
{
	struct weft_cq *other = weft_create_cq(rig.context, 16, NULL, NULL);
	uint32_t before = yields;
	struct weft_wc wc;

	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	for (int i = 0; i < 1 + 2 + 4 + 8; i++) {
		CU_ASSERT_EQUAL(weft_poll_cq(other, 1, &wc), 0);
		CU_ASSERT_EQUAL(weft_poll_cq(rig.cq, 1, &wc), 0);
	}
	CU_ASSERT_EQUAL(yields - before, 4);
	CU_ASSERT_EQUAL(weft_destroy_cq(other), 0);
	CU_ASSERT_EQUAL(poll_in_vain(63), 0);
	CU_ASSERT_EQUAL(poll_in_vain(16), 1);
	return arg;
}

static void several_queues(void)
{
	in_thread(in_rounds, 2, NULL);
	unsetenv("WEFT_YIELD");
}

/* Looks do not yield, however many; a thread that waits yields as one does whose polls are empty.
 */
static void *looks(void *arg)
{
	struct weft_wc wc;

	for (int i = 0; i < 1000; i++)
		CU_ASSERT_FALSE(weft_cq_waiting(rig.cq));
	CU_ASSERT_EQUAL(yields, 0);
	for (int i = 0; i < 1 + 2 + 4 + 8; i++)
		weft_poll_again();
	CU_ASSERT_EQUAL(yields, 4);
	fake_cqe(rig.nic, rig.cq,
		 (struct hw_cqe){.qpn = rig.qp->qpn, .opcode = HW_CQE_RECV_WRITE_RECORD});
	CU_ASSERT_TRUE(weft_cq_waiting(rig.cq));
	CU_ASSERT_TRUE(weft_cq_waiting(rig.cq));
	CU_ASSERT_EQUAL(weft_poll_cq(rig.cq, 1, &wc), 1);
	CU_ASSERT_FALSE(weft_cq_waiting(rig.cq));
	return arg;
}

static void without_polls(void)
{
	yields = 0;
	in_thread(looks, 2, NULL);
	unsetenv("WEFT_YIELD");
}

UT_MAIN("host_driver/weft_yield", UT(few_processors), UT(many_processors), UT(several_threads),
	UT(as_told), UT(several_queues), UT(without_polls), UT(program_that_yields),
	UT(begin_of_a_wait))
