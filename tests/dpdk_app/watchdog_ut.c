/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watchdog is fed while every core makes turns, and not while one does not.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/watchdog.h"
#include "tests/ut.h"

enum {
	SECOND = 1000000000,
};

static struct app app;
static struct core cores[2];
static int manager; /* the service manager's socket */

static void begin(const char *usec, const char *pid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char path[64];

	memset(&app, 0, sizeof(app));
	memset(cores, 0, sizeof(cores));
	app.num_cores = 2;
	app.core[0] = &cores[0];
	app.core[1] = &cores[1];
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	snprintf(path, sizeof(path), "@weft-ut-%d", (int)getpid());
	memcpy(addr.sun_path, path, strlen(path));
	addr.sun_path[0] = '\0';
	CU_ASSERT_EQUAL_FATAL(
	    bind(manager, (struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))),
	    0);
	setenv("NOTIFY_SOCKET", path, 1);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	if (usec)
		setenv("WATCHDOG_USEC", usec, 1);
	if (pid)
		setenv("WATCHDOG_PID", pid, 1);
}

static void end(void)
{
	close(manager);
}

static int told(void)
{
	char text[32] = "";

	return recv(manager, text, sizeof(text) - 1, 0) > 0 && !strcmp(text, "WATCHDOG=1");
}

static void turn(int i)
{
	atomic_fetch_add(&cores[i].rounds, 1);
}

static void test_turns(void)
{
	struct watchdog dog;
	uint64_t now = 100;

	begin("3000000", NULL);
	watchdog_init(&dog, &app, now);
	CU_ASSERT_EQUAL(watchdog_wait_ms(&dog, now), 1001);
	CU_ASSERT_FALSE(watchdog_look(&dog, &app, now + SECOND - 1));
	turn(0);
	turn(1);
	CU_ASSERT_TRUE(watchdog_look(&dog, &app, now += SECOND));
	CU_ASSERT_TRUE(told());
	CU_ASSERT_FALSE(watchdog_look(&dog, &app, now));
	CU_ASSERT_FALSE(told());
	/* One hangs. */
	turn(0);
	CU_ASSERT_FALSE(watchdog_look(&dog, &app, now += SECOND));
	CU_ASSERT_FALSE(told());
	turn(0);
	CU_ASSERT_FALSE(watchdog_look(&dog, &app, now += SECOND));
	CU_ASSERT_FALSE(told());
	/* It comes back in time. */
	turn(0);
	turn(1);
	CU_ASSERT_TRUE(watchdog_look(&dog, &app, now += SECOND));
	CU_ASSERT_TRUE(told());
	end();
}

/* A sleeping core is woken, so that it makes a turn if it can. */
static void test_sleeper(void)
{
	struct watchdog dog;
	uint64_t value;
	int fds[2];

	begin("3000000", NULL);
	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	cores[1].runner[RUNNER_POLLER].wake_fd = fds[1];
	atomic_store(&cores[1].sleeping, 1);
	watchdog_init(&dog, &app, 0);
	CU_ASSERT_EQUAL(read(fds[0], &value, sizeof(value)), sizeof(value));
	turn(0);
	/* It makes none. */
	CU_ASSERT_FALSE(watchdog_look(&dog, &app, SECOND));
	CU_ASSERT_FALSE(told());
	close(fds[0]);
	close(fds[1]);
	end();
}

static void test_not_asked(void)
{
	struct watchdog dog;

	begin(NULL, NULL);
	watchdog_init(&dog, &app, 0);
	CU_ASSERT_EQUAL(watchdog_wait_ms(&dog, 0), -1);
	CU_ASSERT_FALSE(watchdog_look(&dog, &app, UINT64_MAX));
	end();
	begin("3000000", "1");
	watchdog_init(&dog, &app, 0);
	CU_ASSERT_EQUAL(watchdog_wait_ms(&dog, 0), -1);
	end();
	begin("often", NULL);
	watchdog_init(&dog, &app, 0);
	CU_ASSERT_EQUAL(watchdog_wait_ms(&dog, 0), -1);
	end();
}

UT_MAIN("dpdk_app/watchdog", UT(test_turns), UT(test_sleeper), UT(test_not_asked))
