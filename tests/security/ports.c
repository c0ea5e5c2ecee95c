/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that requests ports to which it has no right; run by ports.sh.
 *
 * ports bind DEVICE SPACE PORT
 *	binds (tcp, udp, ib), listens, prints the errno's name or "ok"
 * ports later DEVICE FILE PORT
 *	attaches; requests the TCP port when the file exists
 * ports race SOCKET FILE PROGRAM PORT
 *	connects; executes PROGRAM, which has file capabilities; a child with the socket
 *	attaches when the file exists
 */
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include "host_driver/weft.h"
#include "host_driver/weft_cm.h"
#include "tests/int/hostile.h"

static int say(int err)
{
	printf("%s\n", err ? strerrorname_np(err) : "ok");
	fflush(stdout);
	return 0;
}

static void wait_for(const char *path)
{
	const struct timespec wait = {.tv_nsec = 10000000};

	while (access(path, F_OK))
		(void)nanosleep(&wait, NULL);
}

static enum hw_cm_space space_of(const char *name)
{
	if (!strcmp(name, "tcp"))
		return HW_CM_TCP;
	return !strcmp(name, "udp") ? HW_CM_UDP : HW_CM_IB;
}

/* Binds and listens. 0 or a positive errno. */
static int listen_at(struct weft_context *context, enum hw_cm_space space, uint16_t port)
{
	const struct weft_cm_llp tcp = {.transport = HW_CM_TRANSPORT_TCP};
	struct weft_comp_channel *channel = weft_create_comp_channel(context, 0);
	uint32_t ep;
	int err;

	if (!channel)
		return errno;
	err = weft_cm_create(channel, &ep);
	if (!err)
		err = weft_cm_bind(context, ep, space, &port, false);
	if (!err)
		err = weft_cm_listen(context, ep, 0, space == HW_CM_TCP ? &tcp : NULL);
	return -err;
}

static int with_device(const char *device, enum hw_cm_space space, const char *file,
		       const char *port)
{
	struct weft_context *context = weft_open_device(device);

	if (!context)
		die("%s: %s", device, strerror(errno));
	if (file) {
		struct weft_comp_channel *channel = weft_create_comp_channel(context, 0);
		uint32_t ep;
		uint16_t bound = (uint16_t)atoi(port);
		const struct weft_cm_llp tcp = {.transport = HW_CM_TRANSPORT_TCP};

		/* Objects that need a descriptor of weftd are made before. */
		if (!channel || weft_cm_create(channel, &ep) ||
		    weft_cm_bind(context, ep, space, &bound, false))
			die("no endpoint");
		printf("attached\n");
		fflush(stdout);
		wait_for(file);
		return say(-weft_cm_listen(context, ep, 0, &tcp));
	}
	return say(listen_at(context, space, (uint16_t)atoi(port)));
}

/* The child's part, when weftd inspects a process that has become PROGRAM. */
static int attack(struct victim *v, const char *port)
{
	struct hw_cmd cmd = {.op = HW_CMD_ATTACH,
			     .u.attach = {.version = HW_CMD_VERSION, .name = "race"}};
	struct hw_cmd_resp resp;
	uint32_t ep;

	if (command_fd(v->sock, &cmd, &resp, -1, v->fd))
		die("ATTACH: %s", strerror(resp.status));
	cmd = (struct hw_cmd){.op = HW_CMD_START};
	must(v, &cmd, &resp);
	cmd = (struct hw_cmd){.op = HW_CMD_CREATE_EQ, .u.create_eq = {.entries = 64}};
	must(v, &cmd, &resp);
	cmd = (struct hw_cmd){.op = HW_CMD_CM_CREATE, .u.cm.eq = resp.u.create_eq.eq};
	must(v, &cmd, &resp);
	ep = resp.u.handle;
	cmd = (struct hw_cmd){.op = HW_CMD_CM_BIND,
			      .u.cm = {.ep = ep, .space = HW_CM_TCP, .port = (uint16_t)atoi(port)}};
	return say(command(v->sock, &cmd, &resp));
}

static int race(char **argv)
{
	struct victim v = {0};
	struct stat program, now;
	char exe[32];
	pid_t parent = getpid();

	socket_path = argv[0];
	v.sock = connect_nic();
	if (fork() == 0) {
		const struct timespec wait = {.tv_nsec = 10000000};

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/*
		 * The /proc/PID/exe link of a program that has gained rights cannot be read any
		 * more.
		 */
		snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)parent);
		if (stat(argv[2], &program))
			die("%s: %s", argv[2], strerror(errno));
		while (!stat(exe, &now) && now.st_ino != program.st_ino)
			(void)nanosleep(&wait, NULL);
		printf("executed\n");
		fflush(stdout);
		wait_for(argv[1]);
		return attack(&v, argv[3]);
	}
	execl(argv[2], argv[2], "30", NULL);
	die("%s: %s", argv[2], strerror(errno));
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "bind"))
		return with_device(argv[2], space_of(argv[3]), NULL, argv[4]);
	if (argc == 5 && !strcmp(argv[1], "later"))
		return with_device(argv[2], HW_CM_TCP, argv[3], argv[4]);
	if (argc == 6 && !strcmp(argv[1], "race"))
		return race(argv + 2);
	die("see the head of ports.c");
}
