/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of NICs in the file system: a lock, so that no two weftds serve one name, and
 * the socket on which processes attach.
 *
 * Called by main.c on the control thread; calls the kernel.
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
	NIC_GROUP_BYTES = 65536, /* names of all members */
};

static int nic_lock(struct nic *nic)
{
	const char *dir = nic->app->conf.run_dir;
	char name[sizeof(nic->name)];
	char pid[16] = "";
	ssize_t n;
	int err;

	/* A copy: what snprintf() reads must not look as if it could lie in what it writes. */
	memcpy(name, nic->name, sizeof(name));
	snprintf(nic->lock_path, sizeof(nic->lock_path), "%s/%s.lock", dir, name);
	snprintf(nic->socket_path, sizeof(nic->socket_path), "%s/%s", dir, name);
	nic->lock_fd = open(nic->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (nic->lock_fd < 0) {
		err = -errno;
		log_error("%s: %s; %schoose a --run-dir that can be written", nic->lock_path,
			  strerror(errno), err == -EACCES ? "be root, or " : "");
		return err;
	}
	if (flock(nic->lock_fd, LOCK_EX | LOCK_NB)) {
		n = pread(nic->lock_fd, pid, sizeof(pid) - 1, 0);
		pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
		log_error("%s is served already by weftd process %s (%s): stop that one, or give "
			  "another --name or --run-dir",
			  nic->name, *pid ? pid : "?", nic->lock_path);
		close(nic->lock_fd);
		nic->lock_fd = -1;
		return -EEXIST;
	}
	/* For whoever meets the lock; the lock itself is what counts. */
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(nic->lock_fd, 0) || pwrite(nic->lock_fd, pid, (size_t)n, 0) != n)
		log_verbose("%s: %s", nic->lock_path, strerror(errno));
	return 0;
}

int nic_lock_all(struct app *app)
{
	const char *dir = app->conf.run_dir;
	int err = 0;

	if (mkdir(dir, NIC_DIR_MODE) && errno != EEXIST) {
		err = -errno;
		log_error("%s: %s; %schoose a --run-dir that can be made", dir, strerror(errno),
			  err == -EACCES ? "be root, or " : "");
		return err;
	}
	for (uint32_t i = 0; !err && i < app->num_nics; i++)
		err = nic_lock(&app->nic[i]);
	return err;
}

void nic_unlock_all(struct app *app)
{
	/* The file stays: removing it would let a second lock stand beside ours. */
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app->nic[i].lock_fd >= 0)
			close(app->nic[i].lock_fd);
		app->nic[i].lock_fd = -1;
	}
}

static int nic_listen(struct nic *nic)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct group entry, *group = NULL;
	char text[NIC_GROUP_BYTES];
	mode_t mask;
	int err;

	/* No such group, or one too long to hold: the socket stays root's. */
	(void)getgrnam_r("weft", &entry, text, sizeof(text), &group);
	nic->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (nic->listen_fd < 0)
		return -errno;
	memcpy(addr.sun_path, nic->socket_path, sizeof(addr.sun_path));
	/* Ours by the lock: what is there was left by one that was killed. */
	unlink(nic->socket_path);
	mask = umask(0777 & ~NIC_SOCKET_MODE);
	err = bind(nic->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	if (!err && group && chown(nic->socket_path, (uid_t)-1, group->gr_gid))
		log_verbose("%s: group weft: %s", nic->socket_path, strerror(errno));
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
