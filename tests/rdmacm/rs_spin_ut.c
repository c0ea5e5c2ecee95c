/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a thread looks before it sleeps: longer after short sleeps, shortly after long ones and
 * where yields take long, and as polling_time says. Clock and yields are the test's own. Each case
 * runs in a thread of its own, since each thread has its own time.
 */
#include <pthread.h>
#include <time.h>

#include "host_driver/rdmacm/rs_spin.c"
#include "tests/ut.h"

#define LONG_NS UINT64_C(3000000)

static uint64_t fake_ns = 1000000000;
static uint64_t yield_ns;
static uint32_t yields, least_us;
static bool set;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(fake_ns / 1000000000);
	ts->tv_nsec = (long)(fake_ns % 1000000000);
	return 0;
}

void weft_poll_again(void)
{
	yields++;
	fake_ns += yield_ns;
}

uint32_t rs_spin_us(void)
{
	return least_us;
}

bool rs_spin_is_set(void)
{
	return set;
}

/* Looks to the end of a wait; returns its length in us. */
static uint64_t look_us(void)
{
	uint64_t begin_ns = fake_ns, end_ns = rs_spin_begin();

	while (rs_spin_again(end_ns))
		;
	return (fake_ns - begin_ns) / 1000;
}

static void sleep_us(uint64_t us)
{
	uint64_t since_ns = fake_ns;

	fake_ns += us * 1000;
	rs_spin_slept(since_ns);
}

static void in_thread(void *(*fn)(void *))
{
	pthread_t thread;

	least_us = 10;
	set = false;
	yield_ns = 1000;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, fn, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_join(thread, NULL), 0);
}

static void *short_sleeps(void *arg)
{
	static const uint64_t us[] = {10, 20, 40, 80, 160, 200, 200};

	for (uint32_t i = 0; i < sizeof(us) / sizeof(us[0]); i++) {
		CU_ASSERT_EQUAL(look_us(), us[i]);
		sleep_us(200);
	}
	/* A look yields each time. */
	yields = 0;
	CU_ASSERT_EQUAL(look_us(), 200);
	CU_ASSERT_EQUAL(yields, 200);
	sleep_us(201);
	CU_ASSERT_EQUAL(look_us(), 10);
	sleep_us(1);
	CU_ASSERT_EQUAL(look_us(), 20);
	return arg;
}

static void longer_and_shorter(void)
{
	in_thread(short_sleeps);
}

static void *crowd(void *arg)
{
	uint64_t until_ns;

	(void)look_us();
	sleep_us(100);
	CU_ASSERT_EQUAL(look_us(), 20);
	/* One long yield changes nothing, nor does another one much later. */
	for (uint32_t i = 0; i < 2; i++) {
		yield_ns = LONG_NS;
		CU_ASSERT_EQUAL(look_us(), LONG_NS / 1000);
		yield_ns = 1000;
		CU_ASSERT_EQUAL(look_us(), 20);
		fake_ns += 16 * LONG_NS;
	}
	/* Two in a row do, and then each that follows an end of it. */
	yield_ns = LONG_NS;
	(void)look_us();
	for (uint32_t i = 0; i < 2; i++) {
		yield_ns = LONG_NS;
		CU_ASSERT_EQUAL(look_us(), LONG_NS / 1000);
		until_ns = fake_ns + 100 * LONG_NS;
		yield_ns = 1000;
		while (fake_ns + 150000 < until_ns) {
			CU_ASSERT_EQUAL(look_us(), 0);
			sleep_us(100);
		}
		fake_ns = until_ns;
		CU_ASSERT_EQUAL(look_us(), 10);
	}
	sleep_us(150);
	CU_ASSERT_EQUAL(look_us(), 20);
	return arg;
}

static void where_yields_take_long(void)
{
	in_thread(crowd);
}

static void *told(void *arg)
{
	static const uint32_t us[] = {0, 50, 1000};

	set = true;
	for (uint32_t i = 0; i < sizeof(us) / sizeof(us[0]); i++) {
		least_us = us[i];
		for (int k = 0; k < 5; k++) {
			CU_ASSERT_EQUAL(look_us(), us[i]);
			sleep_us(5);
		}
	}
	return arg;
}

static void as_told(void)
{
	in_thread(told);
}

UT_MAIN("rdmacm/rs_spin", UT(longer_and_shorter), UT(where_yields_take_long), UT(as_told))
