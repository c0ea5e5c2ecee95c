/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For programs that take as much as they get: the reason of the refusal, and processes that take
 * one after the other. docs/security.md "Shares".
 */
#ifndef WEFT_TESTS_TAKER_H
#define WEFT_TESTS_TAKER_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "shared_defs/hw_share.h"
#include "tests/int/hostile.h"

/* The number of objects that a process has taken, and the reason why it got no more. */
struct result {
	uint32_t taken;
	int32_t status;
	struct hw_resp_quota quota;
};

static inline void say_result(const struct result *r)
{
	static const char *const words[HW_SHARES] = {
#define WORD(kind, word, name) [HW_SHARE_##kind] = word,
	    HW_SHARES_OF_SHARD(WORD) HW_SHARES_OF_WEFTD(WORD)
#undef WORD
	};

	printf("%u ", r->taken);
	if (r->status == EDQUOT && r->quota.kind < HW_SHARES)
		printf("over quota: %s %s %llu\n",
		       r->quota.of == HW_SHARE_OF_USER ? "user" : "process", words[r->quota.kind],
		       (unsigned long long)r->quota.limit);
	else
		printf("%s\n", strerror(r->status));
	fflush(stdout);
}

/* Forks a process that takes objects after `before` that others took; it stays, *pid is filled. */
static inline struct result take_apart(struct result (*take)(uint32_t before, const void *arg),
				       uint32_t before, const void *arg, pid_t *pid)
{
	struct result r = {0};
	int pipe_fd[2];

	if (pipe(pipe_fd))
		die("pipe: %s", strerror(errno));
	*pid = fork();
	if (*pid < 0)
		die("fork: %s", strerror(errno));
	if (!*pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL))
			die("prctl: %s", strerror(errno));
		r = take(before, arg);
		if (write(pipe_fd[1], &r, sizeof(r)) != sizeof(r))
			_exit(1);
		pause();
		_exit(0);
	}
	close(pipe_fd[1]);
	if (read(pipe_fd[0], &r, sizeof(r)) != sizeof(r))
		die("a process that takes failed");
	close(pipe_fd[0]);
	return r;
}

/*
 * Runs the processes one after the other, so that each one's count is certain. They stay; the sum
 * is printed last.
 */
static inline void take_in_turn(struct result (*take)(uint32_t before, const void *arg),
				const void *arg, uint32_t processes)
{
	uint32_t sum = 0;
	pid_t pid;

	for (uint32_t i = 0; i < processes; i++) {
		struct result r = take_apart(take, sum, arg, &pid);

		sum += r.taken;
		say_result(&r);
	}
	printf("all %u\n", sum);
	fflush(stdout);
}

/* Opens a connection; -1: the NIC refused it, and *r has the reason. */
static inline int connect_or_say(struct result *r)
{
	struct hw_cmd_resp resp = {0};
	int sock = connect_nic();
	struct pollfd p = {.fd = sock, .events = POLLIN};

	/* The NIC sends first when it refuses. */
	if (poll(&p, 1, 20) != 1)
		return sock;
	if (!receive(sock, &resp, NULL))
		resp.status = ECONNRESET;
	r->status = resp.status;
	r->quota = resp.u.quota;
	close(sock);
	return -1;
}

#endif /* WEFT_TESTS_TAKER_H */
