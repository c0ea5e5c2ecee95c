/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins two tap interfaces of the kernel by a cable: a frame sent on one is received on the other.
 *
 * usage: cable NAME1 NAME2. Makes the taps in its network namespace and prints "ready". They may
 * then be moved to other namespaces, and they vanish when this program ends. A tap's driver has
 * rx-frames, which a veth lacks and which the tests of ethtool's coalescing need. Run by
 * tune_netdev.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int tap(const char *name)
{
	struct ifreq req = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &req)) {
		fprintf(stderr, "cable: tap %s: %s\n", name, strerror(errno));
		return -1;
	}
	return fd;
}

int main(int argc, char **argv)
{
	static unsigned char frame[65536];
	struct pollfd end[2];
	ssize_t n;
	int i;

	if (argc != 3) {
		fputs("usage: cable NAME1 NAME2\n", stderr);
		return 2;
	}
	for (i = 0; i < 2; i++) {
		end[i] = (struct pollfd){.fd = tap(argv[1 + i]), .events = POLLIN};
		if (end[i].fd < 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (poll(end, 2, -1) > 0) {
		for (i = 0; i < 2; i++) {
			/* A tap that is down drops the frame. */
			while ((n = read(end[i].fd, frame, sizeof(frame))) > 0)
				if (write(end[!i].fd, frame, (size_t)n) < 0)
					break;
		}
	}
	fprintf(stderr, "cable: poll: %s\n", strerror(errno));
	return 1;
}
