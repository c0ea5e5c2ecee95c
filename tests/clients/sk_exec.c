/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain sockets program whose connections go to other programs: through exec(3) without a fork,
 * vfork(2) and posix_spawn(3). It expects the kernel's behaviour.
 *
 *	sk_exec ADDRESS
 *
 * Built with sk_calls.c and run by tests/int/weft_run_sockets.sh, by itself and under weft-run
 * --sockets. Prints failures; exit status 0 if there were none.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/clients/sk_calls.h"
#include "tests/tmp.h"

/* The peer echoes a message; then it gets the exit status to end with. */
static void echoes(int fd, pid_t pid)
{
	char byte;
	int status;

	CHECK(write(fd, "echo", 4) == 4);
	expect(fd, "echo");
	CHECK(shutdown(fd, SHUT_WR) == 0 && read(fd, &byte, 1) == 0 && close(fd) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* A process connects and becomes another program, as a shell's "exec" does. */
static void shells_exec(int listen_fd)
{
	pid_t pid = fork();
	int fd;

	CHECK(pid >= 0);
	if (pid == 0) {
		fd = client();
		CHECK(write(fd, "hello", 5) == 5);
		CHECK(dup2(fd, 0) == 0 && dup2(fd, 1) == 1 && close(fd) == 0);
		execlp("cat", "cat", NULL);
		_exit(127);
	}
	fd = accept(listen_fd, NULL, NULL);
	CHECK(fd >= 0);
	expect(fd, "hello");
	echoes(fd, pid);
}

/* A failed exec changes nothing: file not found, and found but not executable. */
static void fails(int listen_fd)
{
	char path[TMP_PATH_BYTES], *argv[] = {path, NULL};
	int file = tmp_file(path), fd;
	pid_t pid;

	CHECK(file >= 0 && write(file, "words", 5) == 5 && fchmod(file, 0755) == 0);
	CHECK(close(file) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		fd = client();
		CHECK(execl("/nowhere/to/be/found", "x", NULL) == -1 && errno == ENOENT);
		CHECK(execv(path, argv) == -1 && errno == ENOEXEC);
		CHECK(write(fd, "still", 5) == 5);
		expect(fd, "here");
		CHECK(close(fd) == 0);
		exit(0);
	}
	fd = accept(listen_fd, NULL, NULL);
	CHECK(fd >= 0);
	expect(fd, "still");
	CHECK(write(fd, "here", 4) == 4);
	CHECK(read(fd, path, 1) == 0 && close(fd) == 0);
	CHECK(waitpid(pid, &file, 0) == pid && file == 0);
	CHECK(unlink(argv[0]) == 0 || errno == ENOENT);
}

/* Sockets that are not passed on are closed after all earlier writes; the process is the same. */
static void closed_by_exec(int listen_fd)
{
	char number[20];
	int fd, status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		fd = client();
		CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && write(fd, "last words", 10) == 10);
		snprintf(number, sizeof(number), "%d", (int)getpid());
		execlp("sh", "sh", "-c", "test $$ = $0", number, NULL);
		_exit(127);
	}
	fd = accept(listen_fd, NULL, NULL);
	CHECK(fd >= 0);
	expect(fd, "last words");
	CHECK(read(fd, number, 1) == 0 && close(fd) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Signals, exit codes and deaths are those of the program. */
static void signals(int listen_fd)
{
	static const struct {
		const char *script;
		int sig, status;
	} ways[] = {
	    {"exit 7", 0, 7 << 8},
	    {"trap 'echo bye >&0; exit 3' TERM; echo up >&0; while :; do sleep 0.1; done", SIGTERM,
	     3 << 8},
	    {"echo up >&0; exec sleep 100", SIGTERM, SIGTERM},
	    {"echo up >&0; exec sleep 100", SIGKILL, SIGKILL},
	};
	int fd, status;
	char byte;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			CHECK(dup2(client(), 0) == 0);
			execlp("sh", "sh", "-c", ways[i].script, NULL);
			_exit(127);
		}
		fd = accept(listen_fd, NULL, NULL);
		CHECK(fd >= 0);
		if (ways[i].sig) {
			expect(fd, "up\n");
			CHECK(kill(pid, ways[i].sig) == 0);
		}
		if (i == 1)
			expect(fd, "bye\n");
		/* the holder of the connection is gone: its end is here */
		CHECK(poll_one(fd, POLLIN, WAIT_MS) & POLLIN);
		CHECK(read(fd, &byte, 1) <= 0 && close(fd) == 0);
		CHECK(waitpid(pid, &status, 0) == pid && status == ways[i].status);
	}
}

extern char **environ;

/* Passed on by the file actions, and without them because it is not close-on-exec. */
static void spawns(int listen_fd)
{
	char *cat[] = {"cat", NULL}, *sh[] = {"sh", "-c", NULL, NULL}, script[60];
	posix_spawn_file_actions_t actions;
	int fd[2];
	pid_t pid;

	pair(listen_fd, fd);
	CHECK(fcntl(fd[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd[1], F_SETFD, FD_CLOEXEC) == 0);
	CHECK(posix_spawn_file_actions_init(&actions) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&actions, fd[1], 0) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&actions, fd[1], 1) == 0);
	CHECK(posix_spawnp(&pid, "cat", &actions, NULL, cat, environ) == 0);
	CHECK(posix_spawn_file_actions_destroy(&actions) == 0 && close(fd[1]) == 0);
	echoes(fd[0], pid);

	pair(listen_fd, fd);
	CHECK(fcntl(fd[0], F_SETFD, FD_CLOEXEC) == 0);
	snprintf(script, sizeof(script), "exec cat <&%d >&%d", fd[1], fd[1]);
	sh[2] = script;
	CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, sh, environ) == 0 && close(fd[1]) == 0);
	echoes(fd[0], pid);
}

static void vforks(int listen_fd)
{
	int fd[2];
	pid_t pid;

	pair(listen_fd, fd);
	CHECK(fcntl(fd[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd[1], F_SETFD, FD_CLOEXEC) == 0);
	pid = vfork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (dup2(fd[1], 0) == 0 && dup2(fd[1], 1) == 1)
			execlp("cat", "cat", NULL);
		_exit(127);
	}
	CHECK(close(fd[1]) == 0);
	echoes(fd[0], pid);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 2 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1) {
		fprintf(stderr, "usage: sk_exec ADDRESS\n");
		return 2;
	}
	fd = listener(NULL);
	CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
	shells_exec(fd);
	fails(fd);
	closed_by_exec(fd);
	signals(fd);
	spawns(fd);
	vforks(fd);
	CHECK(close(fd) == 0);
	return puts("ok") < 0;
}
