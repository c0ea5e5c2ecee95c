/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_cmd.c with a weftd that is stopped: how long each of its NICs is waited for. A
 * child process listens for it; poll(2) notes its limit and returns at once.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

#include "host_driver/weft_cmd.c"
#include "tests/tmp.h"
#include "tests/ut.h"

int __wrap_poll(struct pollfd *fds, nfds_t num, int limit_ms);

static uint32_t num_polls;
static int first_limit_ms, last_limit_ms;

int __wrap_poll(struct pollfd *fds, nfds_t num, int limit_ms)
{
	(void)fds;
	(void)num;
	if (!num_polls++)
		first_limit_ms = limit_ms;
	last_limit_ms = limit_ms;
	return 0;
}

static pid_t begin_stopped(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	pid_t pid = fork();

	if (pid)
		close(fd);
	if (pid)
		return pid;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) || listen(fd, 8))
		_exit(1);
	raise(SIGSTOP);
	for (;;)
		pause();
}

/* Opens a NIC of that weftd and attaches: the number of polls, each with the same limit. */
static uint32_t attach(const char *path, bool tool)
{
	struct hw_cmd cmd = {.op = HW_CMD_ATTACH};
	const struct weft_chan_ops *ops;
	struct hw_cmd_resp resp;
	int fds[WEFT_CHAN_FDS];
	void *chan;

	num_polls = 0;
	CU_ASSERT_EQUAL_FATAL(weft_chan_connect(path, tool, &ops, &chan), 0);
	CU_ASSERT_EQUAL(ops->command(chan, &cmd, -1, &resp, fds), -ETIMEDOUT);
	ops->close(chan);
	CU_ASSERT_EQUAL(first_limit_ms, last_limit_ms);
	return num_polls;
}

static void waits_once(void)
{
	char folder[TMP_PATH_BYTES], path[TMP_PATH_BYTES + 8];
	pid_t pid;
	int status;

	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(folder));
	snprintf(path, sizeof(path), "%s/weftd", folder);
	pid = begin_stopped(path);
	CU_ASSERT_TRUE_FATAL(pid > 0 && waitpid(pid, &status, WUNTRACED) == pid);
	CU_ASSERT_TRUE(WIFSTOPPED(status));
	CU_ASSERT_EQUAL(attach(path, true), 1);
	CU_ASSERT_EQUAL(last_limit_ms, WEFT_PATIENCE_MS);
	/* Its other NICs, in tools and in programs. */
	CU_ASSERT_EQUAL(attach(path, true), 1);
	CU_ASSERT_EQUAL(last_limit_ms, WEFT_SILENT_MS);
	CU_ASSERT_EQUAL(attach(path, false), 1);
	CU_ASSERT_EQUAL(last_limit_ms, WEFT_SILENT_MS);
	/* When it runs it has as long as before. */
	kill(pid, SIGCONT);
	CU_ASSERT_EQUAL(waitpid(pid, &status, WCONTINUED), pid);
	CU_ASSERT_EQUAL(attach(path, true) * WEFT_SILENT_MS, WEFT_TOOL_TIMEOUT_MS);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	unlink(path);
	rmdir(folder);
}

UT_MAIN("host_driver/weft_silent", UT(waits_once))
