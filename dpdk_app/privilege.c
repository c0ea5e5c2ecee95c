/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User and capabilities. Capabilities belong to a thread, and DPDK creates threads before ports can
 * be opened. Those threads get a signal whose handler drops the thread's rights, one after the
 * other; finally /proc confirms that no thread has kept any. A thread created later inherits from
 * its creator. The user is changed first, so that files, sockets and peer credentials belong to
 * that user from the start. Capabilities survive the change until the ports are open.
 *
 * Calls the kernel. capabilities(7), credentials(7).
 */
#include "dpdk_app/privilege.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "dpdk_app/opener.h"
#include "dpdk_app/wire/wire.h"
#include "dpdk_app/wire/xdp.h"

enum {
	PRIVILEGE_DIR_MODE = 0755,
	PRIVILEGE_TEXT_BYTES = 16384, /* buffer for a passwd entry */
	PRIVILEGE_PASSES = 3,         /* passes over threads that may create others */
	PRIVILEGE_WAIT_MS = 2000,
	PRIVILEGE_SIGNAL_OFFSET = 5, /* offset from SIGRTMIN, unused by libraries */
};

static const char privilege_user[] = "weft";

static uint64_t privilege_keep;
static _Atomic(uint32_t) privilege_answers;

/* ---- the user */

/* Changes the owner only of a directory created for weftd, never of /run or /tmp. */
static int own_dir(const char *path, const struct passwd *user)
{
	bool made = !mkdir(path, PRIVILEGE_DIR_MODE);
	struct stat st;
	int err = 0;
	int fd;

	if (!made && errno != EEXIST)
		return -errno;
	/* In a directory writable by others, a link may have replaced it. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (made ? O_NOFOLLOW : 0));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_uid != (made ? geteuid() : user->pw_uid))
		err = -EPERM;
	else if (made && fchown(fd, user->pw_uid, user->pw_gid))
		err = -errno;
	close(fd);
	return err;
}

static int set_capabilities(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	for (int i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(effective >> 32 * i);
		data[i].permitted = (uint32_t)(permitted >> 32 * i);
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static uint64_t get_permitted(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		return 0;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static int change_user(const struct passwd *user)
{
	uint64_t permitted = get_permitted();

	if (initgroups(user->pw_name, user->pw_gid) ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
	    prctl(PR_SET_KEEPCAPS, 1UL, 0UL, 0UL, 0UL) ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid))
		return -errno;
	(void)prctl(PR_SET_KEEPCAPS, 0UL, 0UL, 0UL, 0UL);
	/* The change of user disables core dumps, which are wanted, and makes /proc/self root's. */
	(void)prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
	/* The variable names DPDK's directory of the previous user. */
	unsetenv("XDG_RUNTIME_DIR");
	return set_capabilities(permitted, permitted);
}

int privilege_begin(const struct conf *conf)
{
	const char *name = *conf->user ? conf->user : privilege_user;
	struct passwd entry, *user = NULL;
	char text[PRIVILEGE_TEXT_BYTES];
	int err;

	if (geteuid() && !*conf->user)
		return 0;
	(void)getpwnam_r(name, &entry, text, sizeof(text), &user);
	if (!user && !*conf->user)
		return 0;
	if (!user) {
		log_error("--user %s: there is no such user; see dist/weft.sysusers", name);
		return -ENOENT;
	}
	if (user->pw_uid == geteuid())
		return 0;
	if (geteuid()) {
		log_error("--user %s: only root can change the user: omit it", name);
		return -EPERM;
	}
	err = own_dir(conf->run_dir, user);
	if (err == -EPERM && !*conf->user) {
		log_info(
		    "runs as root, since %s does not belong to user %s: chown %s %s changes that",
		    conf->run_dir, name, name, conf->run_dir);
		return 0;
	}
	if (!err)
		err = change_user(user);
	if (err)
		log_error("--user %s: %s", name,
			  err == -EPERM ? "the run directory belongs to another user: choose a "
					  "--run-dir that does not exist yet, or chown it"
					: strerror(-err));
	return err;
}

/* ---- the capabilities */

/* Kernels before 5.19 require CAP_BPF for each map operation. */
static bool maps_need_right(const struct xdp *xdp)
{
	uint64_t permitted = get_permitted();
	bool need;

	if (set_capabilities(0, permitted))
		return true;
	need = !xdp_maps_open(xdp);
	return set_capabilities(permitted, permitted) || need;
}

uint64_t privilege_needed(const struct app *app)
{
	struct rlimit limit = {0};
	uint64_t keep = 0;

	/* Process pages and device buffers are locked regardless of the limit. */
	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur != RLIM_INFINITY)
		keep |= UINT64_C(1) << CAP_IPC_LOCK;
	if (app->conf.keep_port_rights)
		keep |= UINT64_C(1) << CAP_NET_BIND_SERVICE;
	for (uint32_t i = 0; i < app->num_nics; i++) {
		const struct wire *wire = app->nic[i].wire;

		/* The kernel may take the address too at any time: ports are bound there. */
		if (wire->xdp)
			keep |= UINT64_C(1) << CAP_NET_BIND_SERVICE;
		if (wire->xdp && maps_need_right(wire->xdp))
			keep |= UINT64_C(1) << CAP_BPF;
	}
	return keep & get_permitted();
}

/* Reduces this thread's rights. Async-signal-safe. /proc, read afterwards, shows failures. */
static void drop_to(uint64_t keep)
{
	const unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				     SECBIT_NO_CAP_AMBIENT_RAISE |
				     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	/* Needs CAP_SETPCAP; without it a thread has nothing to drop here. */
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (!(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0UL, 0UL, 0UL))
			break;
	}
	(void)prctl(PR_SET_SECUREBITS, locked, 0UL, 0UL, 0UL);
	(void)prctl(PR_CAP_AMBIENT, (unsigned long)PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL);
	(void)set_capabilities(keep, keep);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
}

static void drop_here(void)
{
	drop_to(privilege_keep);
}

/* An interface of the kernel takes these: dist/weftd.service.in. */
static int limit_opener(void *arg)
{
	static const int caps[] = {CAP_NET_ADMIN, CAP_NET_RAW,  CAP_BPF,
				   CAP_PERFMON,   CAP_IPC_LOCK, CAP_NET_BIND_SERVICE};
	uint64_t keep = 0;

	(void)arg;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		keep |= UINT64_C(1) << caps[i];
	keep &= get_permitted();
	drop_to(keep);
	return get_permitted() & ~keep ? -EPERM : 0;
}

static void on_signal(int signo)
{
	int saved = errno;

	(void)signo;
	drop_here();
	atomic_fetch_add(&privilege_answers, 1);
	errno = saved;
}

/* Returns true if a thread has no more than its permitted rights. An ended thread has none. */
static bool thread_is_bare(const char *tid)
{
	char path[64], line[128];
	bool bare = true, nnp = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", tid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH;
	while (fgets(line, sizeof(line), file)) {
		unsigned long long caps;
		char name[16];

		if (sscanf(line, "Cap%15[A-Za-z]: %llx", name, &caps) == 2 && strcmp(name, "Bnd") &&
		    (caps & ~privilege_keep))
			bare = false;
		if (!strncmp(line, "NoNewPrivs:\t1", 13))
			nnp = true;
	}
	fclose(file);
	return bare && nnp;
}

static void signal_thread(pid_t tid, int signo)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	uint32_t before = atomic_load(&privilege_answers);

	if (syscall(SYS_tgkill, getpid(), tid, signo))
		return;
	for (int ms = 0; ms < PRIVILEGE_WAIT_MS && atomic_load(&privilege_answers) == before; ms++)
		nanosleep(&nap, NULL);
}

/* Signals every thread that has excess rights. Returns their number; -1: /proc is not readable. */
static int signal_threads(int signo, char *last, size_t bytes)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || tid == opener_tid() || thread_is_bare(entry->d_name))
			continue;
		snprintf(last, bytes, "%.16s", entry->d_name);
		n++;
		if (tid != gettid())
			signal_thread(tid, signo);
	}
	closedir(dir);
	return n;
}

int privilege_drop(uint64_t keep)
{
	const int signo = SIGRTMIN + PRIVILEGE_SIGNAL_OFFSET;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	char last[32] = "?";
	int left = -1;

	privilege_keep = keep;
	if (opener_tid() && opener_run(limit_opener, NULL))
		return -EPERM;
	sigfillset(&action.sa_mask);
	if (sigaction(signo, &action, NULL))
		return -errno;
	drop_here();
	for (int pass = 0; left && pass < PRIVILEGE_PASSES; pass++)
		left = signal_threads(signo, last, sizeof(last));
	signal(signo, SIG_IGN);
	if (!left)
		return 0;
#ifdef __SANITIZE_THREAD__
	/* Its own thread takes no signal; such a build is for tests. */
	return 0;
#endif
	log_error("thread %s keeps privileges that weftd no longer needs: weftd ends", last);
	return -EPERM;
}
