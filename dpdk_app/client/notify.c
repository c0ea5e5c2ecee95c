/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends one datagram to the socket that the environment names, as sd_notify(3) does. A name that
 * starts with @ is an abstract socket.
 */
#include "dpdk_app/client/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/log.h"

void notify_send(const char *state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const char *path = secure_getenv("NOTIFY_SOCKET");
	size_t chars = path ? strlen(path) : 0;
	int fd;

	if (chars < 2 || chars >= sizeof(addr.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	memcpy(addr.sun_path, path, chars);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + chars)) < 0)
		log_verbose("NOTIFY_SOCKET %s does not answer", path);
	close(fd);
}
