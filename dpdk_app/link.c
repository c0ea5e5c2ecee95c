/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link state through rtnetlink: the kernel is asked for all interfaces at the start and
 * reports changes after.
 *
 * Called by control.c; wakes the cores, which tell the firmware. rtnetlink(7).
 */
#include "dpdk_app/link.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "dpdk_app/wire.h"

enum {
	LINK_BUFFER_BYTES = 32768,
};

static bool link_wanted(const struct app *app)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app->nic[i].wire->ifindex)
			return true;
	}
	return false;
}

static bool link_ask_all(int fd)
{
	const struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} request = {
	    .header = {.nlmsg_len = sizeof(request),
		       .nlmsg_type = RTM_GETLINK,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	};

	return send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request);
}

int link_open(struct app *app)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd;

	if (!link_wanted(app))
		return -1;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && link_ask_all(fd))
		return fd;
	log_error("links cannot be watched: %s; they count as up", strerror(errno));
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app->nic[i].wire->ifindex)
			atomic_store(&app->nic[i].link_up, 1);
	}
	return -1;
}

static void link_set(struct app *app, int ifindex, bool up)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];

		if (nic->wire->ifindex != ifindex || atomic_exchange(&nic->link_up, up) == up)
			continue;
		log_verbose("%s: link %s", nic->name, up ? "up" : "down");
		for (uint32_t s = 0; s < nic->num_shards; s++)
			core_wake(nic->shard[s].core);
	}
}

void link_read(int fd, struct app *app)
{
	_Alignas(struct nlmsghdr) char buffer[LINK_BUFFER_BYTES];
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
		int left = (int)n;

		for (struct nlmsghdr *h = (void *)buffer; NLMSG_OK(h, (unsigned)left);
		     h = NLMSG_NEXT(h, left)) {
			const struct ifinfomsg *info = NLMSG_DATA(h);

			if (h->nlmsg_type == RTM_NEWLINK)
				link_set(app, info->ifi_index,
					 (info->ifi_flags & IFF_UP) &&
					     (info->ifi_flags & IFF_RUNNING));
			else if (h->nlmsg_type == RTM_DELLINK)
				link_set(app, info->ifi_index, false);
		}
	}
	/* Messages were lost: ask anew. */
	if (n < 0 && errno == ENOBUFS)
		(void)link_ask_all(fd);
}
