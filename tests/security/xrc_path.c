/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An XRC domain belongs to the users who may open its file.
 *
 * xrc_path SOCKET FILE, as root: one user makes the domain of FILE (0600, its own). Another user,
 * who cannot open the file, names it by an O_PATH descriptor, which everybody gets: EBADF. Then the
 * file is made readable, and the second user opens the domain with a descriptor for reading.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/int/hostile.h"

enum {
	OWNER = 65001,
	OTHER = 65002,
};

static void become(uid_t uid)
{
	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		die("no other user: %s", strerror(errno));
}

/* Opens the domain of a file by a descriptor that was opened with flags. Returns the status. */
static int open_domain(const char *file, int flags, uint32_t how)
{
	struct hw_cmd cmd = {.op = HW_CMD_OPEN_XRCD, .u.open_xrcd.flags = HW_XRCD_F_FILE | how};
	int fd = open(file, flags | O_CLOEXEC);
	struct hw_cmd_resp resp;
	struct victim v;
	int status;

	if (fd < 0)
		die("%s: %s", file, strerror(errno));
	if (attach_on(&v, connect_nic(), -1))
		die("no ATTACH");
	status = command_fd(v.sock, &cmd, &resp, fd, NULL);
	close(fd);
	return status;
}

/* Runs check() as a user, its connection kept by a process that waits when it has passed. */
static void as_user(uid_t uid, void (*check)(const char *), const char *file)
{
	int tell[2], ok = 0;
	pid_t pid;

	if (pipe(tell))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(tell[0]);
		become(uid);
		check(file);
		ok = 1;
		if (write(tell[1], &ok, sizeof(ok)) != sizeof(ok))
			_exit(1);
		/* Waits until the parent process ends. */
		while (getppid() != 1 && usleep(10000) == 0)
			;
		_exit(0);
	}
	close(tell[1]);
	if (read(tell[0], &ok, sizeof(ok)) != sizeof(ok) || !ok)
		die("user %u failed", (unsigned)uid);
	close(tell[0]);
}

static void makes(const char *file)
{
	int status = open_domain(file, O_RDWR, HW_XRCD_F_CREATE);

	if (status)
		die("its owner cannot make the domain: %s", strerror(status));
}

static void by_path(const char *file)
{
	int status, fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		die("the file is open to all");
	status = open_domain(file, O_PATH, 0);
	if (status != EBADF)
		die("OPEN_XRCD by O_PATH: status %d (%s)", status, strerror(status));
}

static void by_reading(const char *file)
{
	int status = open_domain(file, O_RDONLY, 0);

	if (status)
		die("OPEN_XRCD of a readable file: %s", strerror(status));
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "xrc_path: say SOCKET FILE\n");
		return 2;
	}
	socket_path = argv[1];
	if (chown(argv[2], OWNER, OWNER) || chmod(argv[2], 0600))
		die("%s: %s", argv[2], strerror(errno));
	as_user(OWNER, makes, argv[2]);
	as_user(OTHER, by_path, argv[2]);
	if (chmod(argv[2], 0644))
		die("%s: %s", argv[2], strerror(errno));
	as_user(OTHER, by_reading, argv[2]);
	return 0;
}
