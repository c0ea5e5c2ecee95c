/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rights that are dropped: by every thread, whenever it was made, and for good. Each case is a
 * child of its own. Without rights to drop (not root) the tests are skipped with a message.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpdk_app/privilege.h"
#include "tests/tmp.h"
#include "tests/ut.h"

enum {
	THREADS = 4,
	NOBODY = 65534,
};

static int pipes[2];

static uint64_t permitted(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		return UINT64_MAX;
	return data[0].permitted | data[0].effective | (uint64_t)data[1].permitted << 32 |
	       (uint64_t)data[1].effective << 32;
}

/* Sleeps in the kernel until the test lets it go on, as DPDK's threads do. */
static void *waits(void *arg)
{
	uint64_t *found = arg;
	char go;

	if (read(pipes[0], &go, 1) != 1)
		return NULL;
	*found = permitted();
	return NULL;
}

static int run(int (*child)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int threads_drop(void)
{
	const uint64_t keep = UINT64_C(1) << CAP_NET_BIND_SERVICE;
	uint64_t found[THREADS];
	pthread_t thread[THREADS];

	if (pipe(pipes))
		return 1;
	for (int i = 0; i < THREADS; i++) {
		found[i] = UINT64_MAX;
		if (pthread_create(&thread[i], NULL, waits, &found[i]))
			return 2;
	}
	if (privilege_drop(keep))
		return 3;
	if (write(pipes[1], "1234", THREADS) != THREADS)
		return 4;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		if (found[i] & ~keep)
			return 5;
	}
	return permitted() & ~keep ? 6 : 0;
}

static int nothing_comes_back(void)
{
	if (privilege_drop(0))
		return 1;
	if (permitted() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 2;
	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1 && !geteuid())
		return 3;
	if (!setuid(0) && permitted())
		return 4;
	execl("/bin/sh", "sh", "-c",
	      "while read n v; do case $n in Cap[PE]*) [ $v = 0000000000000000 ] || exit 6;; esac; "
	      "done </proc/self/status",
	      (char *)NULL);
	return 5;
}

static char run_dir[TMP_PATH_BYTES];

static int change_to_nobody(void)
{
	struct conf conf = {0};
	struct stat st;

	strcpy(conf.user, "nobody");
	snprintf(conf.run_dir, sizeof(conf.run_dir), "%s/new", run_dir);
	if (privilege_begin(&conf))
		return 1;
	if (getuid() != NOBODY || geteuid() != NOBODY || !getgid())
		return 2;
	/* Ports are not open yet. */
	if (!(permitted() >> CAP_NET_RAW & 1))
		return 3;
	if (stat(conf.run_dir, &st) || st.st_uid != NOBODY)
		return 4;
	if (privilege_drop(0) || permitted())
		return 5;
	/* Files of the user that started it are out of reach. */
	return access("/etc/shadow", R_OK) ? 0 : 6;
}

/* A directory that others use keeps its owner, and so does the target of a link. */
static int keeps_directories(void)
{
	struct conf conf = {0};
	struct stat st;

	if (freopen("/dev/null", "w", stderr) == NULL)
		return 1;
	strcpy(conf.user, "nobody");
	strcpy(conf.run_dir, run_dir);
	if (!privilege_begin(&conf))
		return 2;
	if (stat(run_dir, &st) || st.st_uid || getuid())
		return 3;
	strcpy(conf.user, "no-such-user");
	return privilege_begin(&conf) ? 0 : 4;
}

static void test_every_thread(void)
{
	CU_ASSERT_EQUAL(run(threads_drop), 0);
}

static void test_for_good(void)
{
	CU_ASSERT_EQUAL(run(nothing_comes_back), 0);
}

static void test_user(void)
{
	char path[TMP_PATH_BYTES + 8];

	if (geteuid()) {
		puts("not root: users cannot be changed here");
		return;
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(run_dir));
	CU_ASSERT_EQUAL(run(change_to_nobody), 0);
	CU_ASSERT_EQUAL(run(keeps_directories), 0);
	snprintf(path, sizeof(path), "%s/new", run_dir);
	rmdir(path);
	CU_ASSERT_EQUAL(rmdir(run_dir), 0);
}

UT_MAIN("dpdk_app/privilege", UT(test_every_thread), UT(test_for_good), UT(test_user))
