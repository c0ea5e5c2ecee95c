/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exec(3), vfork(2) and posix_spawn(3). A new program does not inherit its predecessor's memory, in
 * which rsockets live.
 *
 * If a process executes another program while that program inherits connections or listeners, or
 * while pumps of the process serve others, it could not serve them from inside the new program. The
 * program therefore runs in a child, which receives the sockets as in any fork (sk_fork.c). The
 * process stays to serve them: it forwards signals, stops when its child stops, and exits as its
 * child exits. Close-on-exec sockets are closed first, after their data was delivered. A pipe
 * reports a failed exec, which leaves everything unchanged. vfork(2) is fork(2) here. Sockets that
 * posix_spawn(3) passes on are pumped first. Calls sk_fork.c, sk_pump.c and sk_table.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_driver/sockets/sk.h"
#include "host_driver/sockets/sk_pump.h"

/* The program to execute. */
struct image {
	const char *path; /* NULL: use fd */
	int fd;
	bool search; /* search PATH */
	char *const *argv, *const *envp;
};

static int really(const struct image *im)
{
	if (!im->path)
		return REAL->fexecve(im->fd, im->argv, im->envp);
	return im->search ? REAL->execvpe(im->path, im->argv, im->envp)
			  : REAL->execve(im->path, im->argv, im->envp);
}

/* ---- what there is --------------------------------------------------------------------------- */

enum care {
	CARE_NOT,
	CARE_CLOSE, /* there are rsockets, all of which are closed on exec */
	CARE_STAY,  /* the new program inherits some, or pumps serve other processes */
};

static bool is_live(const struct sk *sk)
{
	return sk->type == SOCK_STREAM && sk->rfd >= 0 &&
	       (sk->mode == SK_NIC || sk->mode == SK_BOTH);
}

static bool is_inherited(const struct sk *sk)
{
	int at = 0, fd, flags;

	while ((fd = sk_next_fd(sk, &at)) >= 0) {
		flags = REAL->fcntl(fd, F_GETFD);
		if (flags >= 0 && !(flags & FD_CLOEXEC))
			return true;
	}
	return false;
}

static enum care needed(void)
{
	enum care care = sk_pumps_any() ? CARE_STAY : CARE_NOT;
	struct sk *sk;
	int at = 0;

	while ((sk = sk_next(&at)) != NULL) {
		if (is_live(sk) && is_inherited(sk))
			care = CARE_STAY;
		else if (is_live(sk) && care == CARE_NOT)
			care = CARE_CLOSE;
		sk_put(sk);
	}
	return care;
}

/* Returns true if the program has other threads; the library's own are excluded by name. */
static bool has_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	char path[64], name[32];
	bool found = false;
	struct dirent *e;

	while (dir && !found && (e = readdir(dir)) != NULL) {
		FILE *f;

		if (e->d_name[0] == '.' || atoi(e->d_name) == gettid())
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", e->d_name);
		f = fopen(path, "re");
		/* The thread has ended meanwhile. */
		found = f && fgets(name, sizeof(name), f) && strncmp(name, "weft-", 5) != 0;
		if (f)
			(void)fclose(f);
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Checks whether the program can be executed, as far as possible in advance. */
static bool can_run(const struct image *im)
{
	const char *at = getenv("PATH"), *end;
	char path[4096];

	if (!im->path)
		return true;
	if (!im->search || strchr(im->path, '/'))
		return is_program(im->path);
	for (at = at ? at : "/bin:/usr/bin"; at; at = *end ? end + 1 : NULL) {
		int n;

		end = at + strcspn(at, ":");
		n = snprintf(path, sizeof(path), "%.*s/%s", (int)(end - at), end == at ? "." : at,
			     im->path);
		if (n > 0 && n < (int)sizeof(path) && is_program(path))
			return true;
	}
	return false;
}

/* Closes the sockets that end with this program, after delivery of their data. */
static void close_live(void)
{
	struct sk *sk;
	int at = 0;

	while ((sk = sk_next(&at)) != NULL) {
		int from = 0, fd;

		while (is_live(sk) && (fd = sk_next_fd(sk, &from)) >= 0)
			(void)close(fd);
		sk_put(sk);
	}
}

/* ---- the process that stays ----------------------------------------------------------------- */

/* Closes the descriptors that now belong to the new program; exec closes those that serve it. */
static void close_programs(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int fd;

	while (dir && (e = readdir(dir)) != NULL) {
		struct sk *sk;
		bool drop;

		fd = atoi(e->d_name);
		if (e->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		sk = sk_get(fd);
		drop = sk || !(REAL->fcntl(fd, F_GETFD) & FD_CLOEXEC);
		if (sk)
			sk_put(sk);
		if (drop)
			(void)close(fd);
	}
	if (dir)
		(void)closedir(dir);
	/* Keeps 0 to 2 occupied, so that no other file becomes standard error. */
	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)REAL->close(fd);
}

static void end_as(int status) __attribute__((noreturn));
static void end_as(int status)
{
	struct rlimit none = {0, 0};
	sigset_t one;

	sk_pumps_wait();
	if (WIFSIGNALED(status)) {
		/* The child has already dumped core. */
		(void)setrlimit(RLIMIT_CORE, &none);
		(void)signal(WTERMSIG(status), SIG_DFL);
		sigemptyset(&one);
		sigaddset(&one, WTERMSIG(status));
		(void)raise(WTERMSIG(status));
		(void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	}
	REAL->_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	__builtin_unreachable();
}

/* Signals of the terminal reach the child directly. All signals are blocked. */
static void stay(pid_t child) __attribute__((noreturn));
static void stay(pid_t child)
{
	siginfo_t info;
	sigset_t all;
	int status;

	sigfillset(&all);
	close_programs();
	for (;;) {
		int sig = sigwaitinfo(&all, &info);

		if (sig > 0 && sig != SIGCHLD && info.si_code <= 0 && info.si_pid != child)
			(void)kill(child, sig);
		while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
			if (!WIFSTOPPED(status))
				end_as(status);
			(void)kill(getpid(), SIGSTOP);
		}
	}
}

/*
 * Runs in the child. The death of the parent kills the child, since its starter sees only the
 * parent.
 */
static void become(const struct image *im, int tube, pid_t parent, const sigset_t *mask,
		   const struct sigaction *on_child) __attribute__((noreturn));
static void become(const struct image *im, int tube, pid_t parent, const sigset_t *mask,
		   const struct sigaction *on_child)
{
	int err = EAGAIN;

	(void)sigaction(SIGCHLD, on_child, NULL);
	(void)pthread_sigmask(SIG_SETMASK, mask, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
		(void)really(im);
		err = errno;
	}
	while (REAL->write(tube, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	REAL->_exit(127);
	__builtin_unreachable();
}

static int stay_behind(const struct image *im)
{
	struct sigaction usual = {.sa_handler = SIG_DFL}, on_child;
	int tube[2], err = 0, saved;
	pid_t parent = getpid(), child;
	sigset_t all, mask;
	ssize_t n;

	if (pipe2(tube, O_CLOEXEC) < 0)
		return -1;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &mask);
	/* With SIGCHLD ignored, the child's exit status would be lost. */
	(void)sigaction(SIGCHLD, &usual, &on_child);
	child = fork();
	saved = errno;
	if (child == 0)
		become(im, tube[1], parent, &mask, &on_child);
	(void)REAL->close(tube[1]);
	do {
		n = child < 0 ? 0 : REAL->read(tube[0], &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	(void)REAL->close(tube[0]);
	if (child > 0 && n == 0)
		stay(child);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	(void)sigaction(SIGCHLD, &on_child, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return sk_fail(child < 0 ? saved : err ? err : EAGAIN);
}

static int execute(const struct image *im)
{
	enum care care = sk_outside() && sk_table_mine() ? needed() : CARE_NOT;

	if (care == CARE_STAY && has_threads()) {
		(void)fprintf(stderr,
			      "libweft-sockets: a program with threads executes another one: its "
			      "sockets on the NIC end here; fork() first\n");
		care = CARE_NOT;
	}
	if (care == CARE_STAY)
		return can_run(im) ? stay_behind(im) : really(im);
	if (care == CARE_CLOSE && can_run(im))
		close_live();
	return really(im);
}

/* ---- exec ------------------------------------------------------------------------------------ */

SK_API int execve(const char *path, char *const argv[], char *const envp[])
{
	return execute(&(struct image){.path = path, .argv = argv, .envp = envp});
}

SK_API int execv(const char *path, char *const argv[])
{
	return execute(&(struct image){.path = path, .argv = argv, .envp = environ});
}

SK_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return execute(&(struct image){.path = file, .search = true, .argv = argv, .envp = envp});
}

SK_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

SK_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	return execute(&(struct image){.fd = fd, .argv = argv, .envp = envp});
}

/* Counts the arguments, including the first one. */
static size_t count_args(va_list args)
{
	size_t n = 1;

	while (va_arg(args, char *))
		n++;
	return n;
}

/* Copies the arguments of a list, then advances past them. */
static void take_args(char **argv, const char *first, va_list args)
{
	*argv = (char *)(uintptr_t)first;
	while (*argv)
		*++argv = va_arg(args, char *);
}

/*
 * Declares argv with the arguments from first on, and leaves args past their NULL. argv is on the
 * stack, because the caller may be a child of vfork(2).
 */
#define TAKE_ARGS(argv, first, args)                                                               \
	size_t num_##argv;                                                                         \
	va_start(args, first);                                                                     \
	num_##argv = count_args(args);                                                             \
	va_end(args);                                                                              \
	char *argv[num_##argv + 1];                                                                \
	va_start(args, first);                                                                     \
	take_args(argv, first, args)

SK_API int execl(const char *path, const char *arg, ...)
{
	va_list args;

	TAKE_ARGS(argv, arg, args);
	va_end(args);
	return execv(path, argv);
}

SK_API int execlp(const char *file, const char *arg, ...)
{
	va_list args;

	TAKE_ARGS(argv, arg, args);
	va_end(args);
	return execvp(file, argv);
}

SK_API int execle(const char *path, const char *arg, ...)
{
	char *const *envp;
	va_list args;

	TAKE_ARGS(argv, arg, args);
	envp = va_arg(args, char *const *);
	va_end(args);
	return execve(path, argv, envp);
}

/* ---- vfork, posix_spawn ---------------------------------------------------------------------- */

/*
 * A child of vfork(2) shares the parent's memory but not its threads, so it could not serve
 * sockets.
 */
SK_API pid_t vfork(void)
{
	return fork();
}

/* Pumps the sockets that the child inherits implicitly. */
static int pump_inherited(void)
{
	struct sk *sk;
	int at = 0, err = 0;

	while (!err && (sk = sk_next(&at)) != NULL) {
		if (is_live(sk) && is_inherited(sk) && sk_pump(sk) < 0)
			err = errno;
		sk_put(sk);
	}
	return err;
}

SK_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	int err = sk_outside() && sk_table_mine() ? pump_inherited() : 0;

	return err ? err : REAL->posix_spawn(pid, path, actions, attr, argv, envp);
}

SK_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	int err = sk_outside() && sk_table_mine() ? pump_inherited() : 0;

	return err ? err : REAL->posix_spawnp(pid, file, actions, attr, argv, envp);
}

/* Pumps the socket that it names: a child will inherit it, whatever its flags. */
SK_API int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int to)
{
	return sk_pump_fd(fd) < 0 ? errno : REAL->posix_spawn_file_actions_adddup2(actions, fd, to);
}
