/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of sockets by descriptor, the C library's own functions, and cleanup at process exit.
 *
 * Calls dlsym, sk_epoll.c and sk_nic.c.
 */
#include "host_driver/sockets/sk.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the C library --------------------------------------------------------------------------- */

static struct sk_real real;
static atomic_bool real_known;

/* Looks up the next definition of the symbol, which is the C library's. */
static void find(void *to, const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	assert(f);
	memcpy(to, &f, sizeof(f));
}

#define FIND(name) find(&real.name, #name)

/* May run in two threads at once: both find the same functions. */
static void find_all(void)
{
	FIND(socket), FIND(bind), FIND(listen), FIND(accept4), FIND(connect), FIND(shutdown);
	FIND(getsockname), FIND(getpeername), FIND(setsockopt), FIND(getsockopt);
	FIND(close), FIND(close_range), FIND(dup), FIND(dup2), FIND(dup3);
	FIND(fcntl), FIND(ioctl);
	FIND(read), FIND(readv), FIND(recv), FIND(recvfrom), FIND(recvmsg), FIND(recvmmsg);
	FIND(write), FIND(writev), FIND(send), FIND(sendto), FIND(sendmsg), FIND(sendmmsg);
	FIND(sendfile), FIND(splice), FIND(pread);
	FIND(poll), FIND(ppoll), FIND(select), FIND(pselect), FIND(epoll_ctl), FIND(epoll_pwait);
	FIND(epoll_create1), FIND(eventfd), FIND(pthread_create);
	FIND(fork), FIND(fdopen), FIND(fclose), FIND(vdprintf), FIND(_exit);
	FIND(execve), FIND(execvpe), FIND(fexecve);
	FIND(posix_spawn), FIND(posix_spawnp), FIND(posix_spawn_file_actions_adddup2);
	atomic_store_explicit(&real_known, true, memory_order_release);
}

const struct sk_real *sk_real(void)
{
	if (!atomic_load_explicit(&real_known, memory_order_acquire))
		find_all();
	return &real;
}

int sk_fail(int err)
{
	errno = err;
	return -1;
}

/* ---- inside ---------------------------------------------------------------------------------- */

/*
 * Stack position where this thread went inside. A signal handler may leave by longjmp(3) without
 * sk_leave(); a later call from further up the stack shows that.
 */
static __thread struct {
	int depth;
	uintptr_t frame;
} inside __attribute__((tls_model("initial-exec")));

#define FRAME ((uintptr_t)__builtin_frame_address(0))

enum {
	/* Calls of this library from its own functions are at most this far up the stack. */
	FRAME_SLACK_BYTES = 512,
};

void sk_enter(void)
{
	if (inside.depth++ == 0)
		inside.frame = FRAME;
}

void sk_leave(void)
{
	inside.depth--;
}

bool sk_outside(void)
{
	if (inside.depth && FRAME > inside.frame + FRAME_SLACK_BYTES)
		inside.depth = 0;
	return inside.depth == 0;
}

/* ---- table ----------------------------------------------------------------------------------- */

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct sk *) table[SK_FDS_MAX];
static atomic_int top; /* upper bound of the descriptors in the table */
/*
 * Process that owns the table. A child of vfork(2) shares it until it executes a program;
 * descriptors that it closes are its own.
 */
static atomic_int owner;

bool sk_table_mine(void)
{
	return atomic_load(&owner) == getpid();
}

__attribute__((constructor)) static void sk_table_begin(void)
{
	atomic_store(&owner, getpid());
}

struct sk *sk_new(int family, int type)
{
	struct sk *sk = calloc(1, sizeof(*sk));

	if (!sk)
		return NULL;
	atomic_init(&sk->refs, 1);
	atomic_init(&sk->mode, SK_KERNEL);
	atomic_init(&sk->rfd, -1);
	sk->family = family;
	sk->type = type;
	pthread_mutex_init(&sk->lock, NULL);
	return sk;
}

/* Fast path without the lock: most descriptors are not ours. */
struct sk *sk_get(int fd)
{
	struct sk *sk;

	if (fd < 0 || fd >= SK_FDS_MAX || !atomic_load_explicit(&table[fd], memory_order_relaxed) ||
	    !sk_outside())
		return NULL;
	pthread_mutex_lock(&table_lock);
	sk = table[fd];
	if (sk)
		atomic_fetch_add(&sk->refs, 1);
	pthread_mutex_unlock(&table_lock);
	return sk;
}

void sk_put(struct sk *sk)
{
	int saved = errno;

	if (atomic_fetch_sub(&sk->refs, 1) == 1) {
		pthread_mutex_destroy(&sk->lock);
		free(sk);
	}
	errno = saved;
}

/* Runs without the table's lock, because rclose() may wait for the peer's NIC. */
static void last_close(struct sk *sk)
{
	sk_epoll_gone(sk);
	pthread_mutex_lock(&sk->lock);
	sk_unmake(sk);
	pthread_mutex_unlock(&sk->lock);
}

/*
 * *last: the socket whose last descriptor this was, or NULL. Returns false if sk is already closed.
 */
static bool replace(int fd, struct sk *sk, struct sk **last)
{
	struct sk *old;

	*last = NULL;
	pthread_mutex_lock(&table_lock);
	if (sk && sk->over) {
		pthread_mutex_unlock(&table_lock);
		return false;
	}
	old = table[fd];
	table[fd] = sk;
	if (sk) {
		sk->fds++;
		atomic_fetch_add(&sk->refs, 1);
		if (fd >= top)
			top = fd + 1;
	}
	if (old && --old->fds > 0) {
		atomic_fetch_sub(&old->refs, 1);
	} else if (old) {
		old->over = true;
		*last = old;
	}
	pthread_mutex_unlock(&table_lock);
	return true;
}

bool sk_install(int fd, struct sk *sk)
{
	struct sk *old;

	if (fd < 0 || fd >= SK_FDS_MAX || !sk_table_mine())
		return false;
	if (!replace(fd, sk, &old))
		return false;
	if (old) {
		last_close(old);
		sk_put(old);
	}
	return true;
}

void sk_remove(int fd)
{
	if (fd >= 0 && fd < SK_FDS_MAX && table[fd] && sk_outside())
		(void)sk_install(fd, NULL);
}

int sk_next_fd(const struct sk *sk, int *at)
{
	while (*at < top)
		if (table[(*at)++] == sk)
			return *at - 1;
	return -1;
}

struct sk *sk_next(int *at)
{
	struct sk *sk = NULL;

	pthread_mutex_lock(&table_lock);
	while (*at < top && !sk) {
		sk = table[*at];
		for (int i = 0; sk && i < *at; i++)
			if (table[i] == sk)
				sk = NULL;
		(*at)++;
	}
	if (sk)
		atomic_fetch_add(&sk->refs, 1);
	pthread_mutex_unlock(&table_lock);
	return sk;
}

void sk_table_lock(void)
{
	pthread_mutex_lock(&table_lock);
}

void sk_table_unlock(void)
{
	pthread_mutex_unlock(&table_lock);
}

void sk_table_reset(void)
{
	pthread_mutex_init(&table_lock, NULL);
}

void sk_table_forked(void)
{
	inside.depth = 0;
	atomic_store(&owner, getpid());
}

/* ---- signals, the end ------------------------------------------------------------------------ */

/* Synchronous signals do not interrupt a call. */
static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
	       sig == SIGTRAP || sig == SIGSYS || sig == SIGABRT;
}

bool sk_restart(void)
{
	struct sigaction act;

	for (int sig = 1; sig < NSIG; sig++) {
		if (is_fault(sig) || sigaction(sig, NULL, &act) < 0)
			continue;
		if (act.sa_handler != SIG_DFL && act.sa_handler != SIG_IGN &&
		    !(act.sa_flags & SA_RESTART))
			return false;
	}
	return true;
}

/*
 * The kernel delivers data written before a process exits. The NIC's memory ends with the process,
 * so the sockets are closed here, and each waits for the peer's NIC.
 */
__attribute__((destructor)) static void close_all(void)
{
	struct sk *sk;

	if (!sk_table_mine())
		return;
	for (int fd = 0; fd < top; fd++) {
		sk = sk_get(fd);
		if (!sk)
			continue;
		if (sk->mode == SK_PUMPED)
			(void)REAL->close(fd);
		sk_put(sk);
		sk_remove(fd);
	}
	sk_pumps_wait();
}

SK_API void _exit(int status)
{
	if (sk_outside())
		close_all();
	REAL->_exit(status);
	__builtin_unreachable();
}

SK_API void _Exit(int status)
{
	_exit(status);
}
