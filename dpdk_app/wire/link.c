/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link states and addresses through rtnetlink: the kernel reports all interfaces at the start and
 * changes afterwards.
 *
 * Wakes the cores, which notify the firmware, and calls wire_netdev.c when the kernel's addresses
 * have changed. rtnetlink(7).
 */
#include "dpdk_app/wire/link.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "dpdk_app/wire/wire.h"

enum {
	LINK_BUFFER_BYTES = 32768,
};

static bool link_wanted(const struct app *app)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app_has_nic(app, i) && app->nic[i].wire->ifindex)
			return true;
	}
	return false;
}

static bool link_request_all(int fd)
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

static void link_addresses(struct app *app)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app_has_nic(app, i) && app->nic[i].wire->ifindex)
			wire_netdev_addresses(app->nic[i].wire);
	}
}

int link_open(struct app *app)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK,
				   .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR};
	int fd;

	if (!link_wanted(app))
		return -1;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && link_request_all(fd)) {
		link_addresses(app);
		return fd;
	}
	log_error("link states cannot be watched: %s; links count as up", strerror(errno));
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app_has_nic(app, i) && app->nic[i].wire->ifindex)
			atomic_store(&app->nic[i].link_up, 1);
	}
	return -1;
}

static void link_set(struct app *app, int ifindex, bool up)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];

		if (!nic->wire || nic->wire->ifindex != ifindex || atomic_load(&nic->wire->gone) ||
		    atomic_exchange(&nic->link_up, up) == up)
			continue;
		for (uint32_t s = 0; s < nic->num_shards; s++)
			core_wake(nic->shard[s].core);
	}
}

/*
 * The interface was deleted or moved to another namespace: its sockets are useless, even if it
 * comes back.
 */
static void link_gone(struct app *app, int ifindex)
{
	link_set(app, ifindex, false);
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct wire *wire = app->nic[i].wire;

		if (!wire || wire->ifindex != ifindex || atomic_exchange(&wire->gone, true))
			continue;
		log_nic_error(app->nic[i].name,
			      "the interface %s is gone from this namespace; restart weftd once it "
			      "is back",
			      app->nic[i].conf->device);
		core_wake(app->nic[i].shard[0].core);
	}
}

static void link_message(struct app *app, const struct nlmsghdr *h, bool *addresses)
{
	const struct ifinfomsg *info = NLMSG_DATA(h);

	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
		link_set(app, info->ifi_index,
			 (info->ifi_flags & IFF_UP) && (info->ifi_flags & IFF_RUNNING));
		break;
	case RTM_DELLINK:
		/* With family AF_BRIDGE, the interface has left a bridge. */
		if (info->ifi_family == AF_UNSPEC)
			link_gone(app, info->ifi_index);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		*addresses = true;
		break;
	default:
		break;
	}
}

void link_request(int fd, struct app *app)
{
	if (fd >= 0 && !link_request_all(fd))
		log_error("cannot request link states: %s", strerror(errno));
	link_addresses(app);
}

void link_read(int fd, struct app *app)
{
	_Alignas(struct nlmsghdr) char buffer[LINK_BUFFER_BYTES];
	bool addresses = false;
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
		int left = (int)n;

		for (struct nlmsghdr *h = (void *)buffer; NLMSG_OK(h, (unsigned)left);
		     h = NLMSG_NEXT(h, left))
			link_message(app, h, &addresses);
	}
	/* Messages were lost: query the state again. */
	if (n < 0 && errno == ENOBUFS) {
		addresses = true;
		(void)link_request_all(fd);
	}
	if (addresses)
		link_addresses(app);
}

void link_report(struct app *app)
{
	for (uint32_t i = 0; i < app->num_nics; i++) {
		struct nic *nic = &app->nic[i];
		bool down = !atomic_load(&nic->link_up);

		/* memif.c reports its peers itself, with reasons. */
		if (!nic->wire || nic->wire->memif || down == nic->link_reported_down)
			continue;
		nic->link_reported_down = down;
		log_nic_limited(&nic->link_said, app_clock_ns(), nic->name, "link %s",
				down ? "down" : "up");
	}
}
