/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NICs' names in the file system: a lock, so that no two weftds serve the same name, and the
 * socket on which processes attach.
 *
 * The run directory is opened once and must belong to root or to weftd's user; all names in it are
 * used relative to that descriptor. Calls the kernel; control thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "dpdk_app/nic.h"

enum {
	NIC_SOCKET_MODE = 0660,
	NIC_DIR_MODE = 0755,
	NIC_BACKLOG = 128,
	NIC_GROUP_BYTES = 65536, /* buffer for a group entry with its members */
};

/* Checks that no other user can replace files that weftd creates there. */
static int run_dir_check(const char *dir, const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		log_error("%s belongs to user %u, who could replace weftd's files: choose a "
			  "--run-dir of root or of your own",
			  dir, (unsigned)st->st_uid);
		return -EPERM;
	}
	/* In a sticky directory like /tmp, others can create files but not replace ours. */
	if (st->st_mode & (S_IWGRP | S_IWOTH) && !(st->st_mode & S_ISVTX)) {
		log_error(
		    "%s is writable by other users: chmod go-w it, or choose another --run-dir",
		    dir);
		return -EPERM;
	}
	return 0;
}

static int run_dir_open(struct app *app)
{
	const char *dir = app->conf.run_dir;
	struct stat st;
	int err;

	if (mkdir(dir, NIC_DIR_MODE) && errno != EEXIST) {
		err = -errno;
		log_error("%s: %s; %schoose a --run-dir that can be created", dir, strerror(errno),
			  err == -EACCES ? "be root, or " : "");
		return err;
	}
	/* From now on files are created in this directory, even if its name changes. */
	app->run_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (app->run_fd < 0 || fstat(app->run_fd, &st)) {
		err = -errno;
		log_error("%s: %s; a --run-dir must be a directory, not a link to one", dir,
			  strerror(errno));
		return err;
	}
	return run_dir_check(dir, &st);
}

/* Opens or creates a file in the run directory that belongs to weftd's user or to root. */
static int open_lock(const struct app *app, const char *name)
{
	struct stat st;
	int fd =
	    openat(app->run_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    (st.st_uid == 0 || st.st_uid == geteuid()))
		return fd;
	close(fd);
	errno = EEXIST;
	return -1;
}

int nic_lock(struct nic *nic)
{
	const char *dir = nic->app->conf.run_dir;
	char name[sizeof(nic->name)], lock[sizeof(nic->name) + sizeof(".lock")];
	char pid[16] = "";
	ssize_t n;
	int err;

	/*
	 * A copy, so that the compiler sees no overlap between snprintf()'s source and destination.
	 */
	memcpy(name, nic->name, sizeof(name));
	snprintf(lock, sizeof(lock), "%s.lock", name);
	snprintf(nic->lock_path, sizeof(nic->lock_path), "%s/%s.lock", dir, name);
	snprintf(nic->socket_path, sizeof(nic->socket_path), "%s/%s", dir, name);
	nic->lock_fd = open_lock(nic->app, lock);
	if (nic->lock_fd < 0) {
		err = -errno;
		log_error("%s: %s; %schoose a --run-dir that can be written", nic->lock_path,
			  err == -EEXIST ? "somebody else's" : strerror(errno),
			  err == -EACCES ? "be root, or " : "");
		return err;
	}
	if (flock(nic->lock_fd, LOCK_EX | LOCK_NB)) {
		n = pread(nic->lock_fd, pid, sizeof(pid) - 1, 0);
		pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
		log_error("%s is already served by weftd process %s (%s): stop that one, or give "
			  "another --name or --run-dir",
			  nic->name, *pid ? pid : "?", nic->lock_path);
		close(nic->lock_fd);
		nic->lock_fd = -1;
		return -EEXIST;
	}
	/* Information for the administrator; only the lock itself has a meaning. */
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(nic->lock_fd, 0) || pwrite(nic->lock_fd, pid, (size_t)n, 0) != n)
		log_verbose("%s: %s", nic->lock_path, strerror(errno));
	return 0;
}

int nic_lock_all(struct app *app)
{
	int err = run_dir_open(app);

	for (uint32_t i = 0; !err && i < app->num_nics; i++)
		err = nic_lock(&app->nic[i]);
	return err;
}

void nic_unlock_all(struct app *app)
{
	/* The file stays: after removing it, a second lock could be taken beside ours. */
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app->nic[i].lock_fd >= 0)
			close(app->nic[i].lock_fd);
		app->nic[i].lock_fd = -1;
		if (app->nic[i].card_fd >= 0)
			close(app->nic[i].card_fd);
		app->nic[i].card_fd = -1;
	}
	if (app->run_fd >= 0)
		close(app->run_fd);
	app->run_fd = -1;
}

/*
 * Binds the socket relative to the run directory's descriptor, so that no path is resolved again.
 */
static int bind_socket(const struct nic *nic)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct group entry, *group = NULL;
	char text[NIC_GROUP_BYTES];
	mode_t mask;
	int err;

	/* Without the group, or if its entry is too long, the socket stays with root's group. */
	(void)getgrnam_r("weft", &entry, text, sizeof(text), &group);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%.32s", nic->app->run_fd,
		 nic->name);
	/* Ours by the lock: an existing socket was left by a killed weftd. */
	(void)unlinkat(nic->app->run_fd, nic->name, 0);
	mask = umask(0777 & ~NIC_SOCKET_MODE);
	err = bind(nic->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	if (!err && group &&
	    fchownat(nic->app->run_fd, nic->name, (uid_t)-1, group->gr_gid, AT_SYMLINK_NOFOLLOW))
		log_verbose("%s: group weft: %s", nic->socket_path, strerror(errno));
	return err;
}

int nic_listen(struct nic *nic)
{
	int err;

	nic->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (nic->listen_fd < 0)
		return -errno;
	err = bind_socket(nic);
	if (!err && listen(nic->listen_fd, NIC_BACKLOG))
		err = -errno;
	if (err) {
		log_error("%s: %s", nic->socket_path, strerror(-err));
		close(nic->listen_fd);
		nic->listen_fd = -1;
	}
	return err;
}

int nic_listen_all(struct app *app)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < app->num_nics; i++)
		err = nic_listen(&app->nic[i]);
	return err;
}
