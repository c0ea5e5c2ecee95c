/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel interface as a wire. AF_XDP takes the NIC's frames in the driver and leaves all others
 * to the kernel. If AF_XDP is not available (an MTU beyond a page, another XDP program, more queues
 * than can be watched), AF_PACKET taps the interface. The kernel then also sees the NIC's frames
 * but ignores them, since the NIC's address is not its own. An address shared with the kernel
 * requires AF_XDP. The start message states the method, and why the other one was not used.
 *
 * Calls xsk.c and xdp.c, and net_af_packet through wire_ethdev.c.
 */
#include "dpdk_app/wire/wire.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk_app/wire/gso.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/large.h"
#include "dpdk_app/wire/xdp.h"
#include "dpdk_app/wire/xsk.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	NETDEV_DESCS = 1024,
	NETDEV_PACKET_FRAMES = 512,
	/* Blocks consist of whole pages and whole frames, so that frames are contiguous. */
	NETDEV_PACKET_BLOCK_SMALL = 8 * WIRE_PACKET_FRAME_SMALL,
	NETDEV_PACKET_BLOCK_LARGE = 2 * WIRE_PACKET_FRAME_LARGE,
	NETDEV_DRIVER_CHARS = 32,
};

static int netdev_ioctl(const char *device, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%.15s", device);
	if (ioctl(fd, request, ifr))
		err = -errno;
	close(fd);
	return err;
}

int wire_netdev_query(const char *device, uint32_t *mtu, uint8_t mac[6], int *ifindex)
{
	struct ifreq ifr = {0};
	int err;

	err = netdev_ioctl(device, SIOCGIFINDEX, &ifr);
	if (err)
		return err;
	*ifindex = ifr.ifr_ifindex;
	err = netdev_ioctl(device, SIOCGIFMTU, &ifr);
	if (err)
		return err;
	*mtu = (uint32_t)ifr.ifr_mtu;
	err = netdev_ioctl(device, SIOCGIFHWADDR, &ifr);
	if (!err)
		memcpy(mac, ifr.ifr_hwaddr.sa_data, WIRE_MAC_BYTES);
	return err;
}

uint32_t wire_netdev_flags(const char *device)
{
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	struct ifreq ifr = {.ifr_data = (void *)&flags};

	return netdev_ioctl(device, SIOCETHTOOL, &ifr) ? 0 : flags.data;
}

/* Returns the current number of receive queues of the interface. */
static uint32_t netdev_rx_queues(const char *device)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq ifr = {.ifr_data = (void *)&channels};

	if (netdev_ioctl(device, SIOCETHTOOL, &ifr))
		return 1; /* a driver that does not report them has one */
	channels.rx_count += channels.combined_count;
	return channels.rx_count ? channels.rx_count : 1;
}

/* Stores the name of the interface's driver; "" if it is not reported. */
static void netdev_driver(const char *device, char driver[NETDEV_DRIVER_CHARS])
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {.ifr_data = (void *)&info};

	driver[0] = '\0';
	if (!netdev_ioctl(device, SIOCETHTOOL, &ifr))
		snprintf(driver, NETDEV_DRIVER_CHARS, "%s", info.driver);
}

/*
 * XDP in the driver brings no gain on a veth, which has no hardware: the driver copies every frame
 * to its own memory before the program runs, and disables segmentation offload for the kernel's
 * traffic. Generic XDP costs less there.
 */
static bool netdev_is_veth(const char *device)
{
	char driver[NETDEV_DRIVER_CHARS];

	netdev_driver(device, driver);
	return !strcmp(driver, "veth");
}

/*
 * Interfaces without hardware, over which kernels send TCP without a checksum (csum.c). Neither
 * AF_XDP nor DPDK's AF_PACKET passes on the kernel's checksum state.
 */
static bool netdev_has_partial_csum(const char *device)
{
	static const char *const drivers[] = {"veth",    "bridge",    "tun",
					      "macvlan", "ipvlan",    "802.1Q VLAN Support",
					      "dummy",   "virtio_net"};
	char driver[NETDEV_DRIVER_CHARS];

	netdev_driver(device, driver);
	for (uint32_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (!strcmp(driver, drivers[i]))
			return true;
	}
	return false;
}

static uint32_t netdev_mbps(const char *device)
{
	char path[64];
	int mbps = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/speed", device);
	file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%d", &mbps) != 1)
			mbps = 0;
		fclose(file);
	}
	return mbps > 0 ? (uint32_t)mbps : 10000;
}

/* Returns true if the socket of that name belongs to root or to weftd's user. */
static bool claimed_by_weftd(const struct sockaddr_un *addr, socklen_t bytes)
{
	struct ucred cred = {.uid = UINT32_MAX};
	socklen_t cred_bytes = sizeof(cred);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool yes;

	if (fd < 0)
		return true;
	/* Its queue may be full. */
	yes = !connect(fd, (const struct sockaddr *)addr, bytes) || errno == EAGAIN;
	if (yes && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_bytes))
		yes = cred.uid == 0 || cred.uid == geteuid();
	close(fd);
	return yes;
}

/*
 * Allows one weftd per interface: the name of an abstract socket belongs to the network namespace,
 * like the interface, and disappears with its process. Any process can take such a name, so it
 * counts only if its owner could be a weftd.
 */
static int netdev_claim(struct wire *wire, int ifindex)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	socklen_t bytes = offsetof(struct sockaddr_un, sun_path) + 1;

	wire->claim_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (wire->claim_fd < 0)
		return -errno;
	bytes += (socklen_t)snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "weftd-port-%d",
				     ifindex);
	if (!bind(wire->claim_fd, (struct sockaddr *)&addr, bytes))
		return listen(wire->claim_fd, 1) ? -errno : 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (claimed_by_weftd(&addr, bytes))
		return -EADDRINUSE;
	log_nic_error(wire->nic->name,
		      "a process of another user holds the name by which weftds mark %s as in use; "
		      "it is ignored",
		      wire->nic->conf->device);
	return 0;
}

/*
 * Finds descriptors of this process with the socket domain; DPDK's driver does not expose its own.
 * Returns their number.
 */
static uint32_t netdev_find_fds(int domain, int *fd, uint32_t max)
{
	uint32_t n = 0;

	for (int i = 3; i < 4096 && n < max; i++) {
		socklen_t bytes = sizeof(int);
		int value;

		if (!getsockopt(i, SOL_SOCKET, SO_DOMAIN, &value, &bytes) && value == domain)
			fd[n++] = i;
	}
	return n;
}

/* Records the descriptors that the driver has opened: those that did not exist before. */
static void netdev_note_fds(struct wire *wire, int domain, const int *before, uint32_t num_before)
{
	int now[APP_PORT_FDS * CONF_MAX_NICS];
	uint32_t n = netdev_find_fds(domain, now, sizeof(now) / sizeof(now[0]));

	wire->num_fds = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool old = false;

		for (uint32_t j = 0; j < num_before; j++)
			old |= before[j] == now[i];
		if (old)
			continue;
		if (wire->num_fds == APP_PORT_FDS) {
			wire->num_fds = 0; /* too many to watch: poll instead */
			break;
		}
		wire->fd[wire->num_fds++] = now[i];
	}
	wire->naps = !wire->num_fds;
}

static_assert((int)APP_PORT_FDS > (int)XSK_MAX_QUEUES, "each queue can be watched, and IGMP");

/*
 * Returns true if an interface of this namespace has the address: the kernel accepts packets to it
 * on any interface.
 */
static bool netdev_kernel_has(uint32_t ip)
{
	struct ifaddrs *list, *at;
	bool has = false;

	if (getifaddrs(&list)) {
		log_error("the kernel's addresses cannot be read: %s", strerror(errno));
		return false;
	}
	for (at = list; at && !has; at = at->ifa_next) {
		const struct sockaddr_in *in = (const void *)at->ifa_addr;

		has = in && in->sin_family == AF_INET && in->sin_addr.s_addr == ip;
	}
	freeifaddrs(list);
	return has;
}

void wire_netdev_addresses(struct wire *wire)
{
	bool shared = netdev_kernel_has(wire->nic->conf->ip);

	if (shared == wire->shared)
		return;
	wire->shared = shared;
	if (wire->xdp) {
		xdp_share(wire->xdp, shared);
		log_nic_info(wire->nic->name, "its address is %s",
			     shared ? "the kernel's too: it takes the TCP ports that it uses"
				    : "its own: all of TCP is taken");
	} else if (shared) {
		log_nic_error(wire->nic->name,
			      "its address is the kernel's too, which resets the NIC's TCP "
			      "connections; give the NIC another address, or use AF_XDP");
	}
}

/* Uses the operator's choice; by default XDP in the driver, or generic XDP if that fails. */
static struct xdp *netdev_xdp_open(const struct wire *wire)
{
	enum conf_netdev how = wire->nic->app->conf.netdev;
	const char *device = wire->nic->conf->device;
	struct xdp *xdp = NULL;

	if (how == CONF_NETDEV_NATIVE)
		return xdp_open(wire->ifindex, false);
	if (how != CONF_NETDEV_GENERIC && !netdev_is_veth(device)) {
		xdp = xdp_open(wire->ifindex, false);
		if (!xdp)
			log_nic_info(wire->nic->name,
				     "no XDP in the driver of %s: %s; generic XDP instead", device,
				     strerror(errno));
	}
	return xdp ? xdp : xdp_open(wire->ifindex, true);
}

static int netdev_xdp_start(struct wire *wire, uint32_t queues)
{
	struct nic *nic = wire->nic;
	bool veth = netdev_is_veth(nic->conf->device);
	int err = 0;

	wire->xdp = netdev_xdp_open(wire);
	if (!wire->xdp)
		return -errno;
	wire->xsk = xsk_open(wire->ifindex, queues, nic->pool, veth ? nic->mtu : 0, wire->xdp);
	if (!wire->xsk)
		err = -errno;
	if (!err)
		err = wire_ethdev_lanes(wire);
	if (!err)
		xdp_start(wire->xdp, nic->conf->ip, wire->shared);
	/* Frames of two sockets keep their order if each call ends with them in the stack. */
	if (!err && xsk_copies(wire->xsk)) {
		wire->gso = gso_open(wire->ifindex, veth);
		wire->tx_csum = wire->gso;
		if (!wire->gso)
			log_nic_verbose(nic->name, "frames are sent one by one: %s",
					strerror(errno));
	}
	wire->num_rx_queues = (uint16_t)queues;
	wire->num_fds = 0;
	for (uint32_t i = 0; !err && i < queues; i++)
		wire->fd[wire->num_fds++] = xsk_fd(wire->xsk, i);
	return err;
}

static void netdev_undo(struct wire *wire)
{
	if (wire->gso)
		gso_close(wire->gso);
	if (wire->xsk)
		xsk_close(wire->xsk);
	if (wire->xdp)
		xdp_close(wire->xdp);
	lanes_free(&wire->tx);
	wire->gso = NULL;
	wire->tx_csum = false;
	wire->xsk = NULL;
	wire->xdp = NULL;
	wire->num_rx_queues = 0;
	wire->num_fds = 0;
}

/* Returns NULL, or the reason why AF_XDP cannot be used. */
static const char *netdev_try_xdp(struct wire *wire)
{
	struct nic *nic = wire->nic;
	const char *device = nic->conf->device;
	uint32_t queues = netdev_rx_queues(device);
	static char reason[256];
	int err;

	if (nic->app->conf.netdev == CONF_NETDEV_PACKET)
		return "--netdev packet was given";
	if (nic->mtu > WIRE_XDP_MAX_MTU) {
		snprintf(reason, sizeof(reason), "MTU %u is beyond its %d", nic->mtu,
			 WIRE_XDP_MAX_MTU);
		return reason;
	}
	if (queues > XSK_MAX_QUEUES) {
		snprintf(reason, sizeof(reason),
			 "%u receive queues are more than %d (ethtool -L %.15s combined %d)",
			 queues, XSK_MAX_QUEUES, device, XSK_MAX_QUEUES);
		return reason;
	}
	err = xdp_clean(wire->ifindex, device, reason, sizeof(reason));
	if (err == -EBUSY)
		return reason;
	if (!err)
		err = netdev_xdp_start(wire, queues);
	if (err) {
		snprintf(reason, sizeof(reason), "%s", strerror(-err));
		netdev_undo(wire);
		return reason;
	}
	snprintf(wire->how, sizeof(wire->how), "AF_XDP on %.15s, %s, %u queue%s%s", device,
		 xdp_generic(wire->xdp) ? "generic" : "native", queues, queues == 1 ? "" : "s",
		 wire->shared ? ", at the kernel's address" : "");
	return NULL;
}

/*
 * Keeps the kernel's traffic out of the NIC's ring: accepts only ARP, our EtherType, IPv4 to the
 * NIC's address, and group traffic (weft's datagrams and IGMP). Without the filter the firmware
 * would drop the rest. Of frames that are large it leaves a stub (large.h). Returns true if all
 * sockets have the filter.
 */
static bool netdev_filter(const struct wire *wire)
{
	enum {
		ETH_TYPE = offsetof(struct wire_eth, type),
		IP = sizeof(struct wire_eth),
		IP_PROTO = IP + offsetof(struct wire_ip, proto),
		IP_DST = IP + offsetof(struct wire_ip, dst),
		/* After X bytes of IPv4 header. */
		UDP_DST = IP + offsetof(struct wire_udp, dst_port),
		PORT_LAST = WIRE_DGRAM_PORT + WIRE_DGRAM_SHARDS - 1,
	};
	uint32_t longest = wire->large ? large_longest(wire->large) : UINT32_MAX;
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_TYPE),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_ETHERTYPE_ARP, 13, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_ETHERTYPE_ESP, 12, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_ETHERTYPE_IPV4, 0, 15),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_DST),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(wire->nic->conf->ip), 9, 0),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0000000),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xe0000000, 0, 11),
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP_PROTO),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_IPPROTO_IGMP, 5, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_IPPROTO_UDP, 0, 8),
	    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, IP),
	    BPF_STMT(BPF_LD | BPF_H | BPF_IND, UDP_DST),
	    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, WIRE_DGRAM_PORT, 0, 5),
	    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, PORT_LAST, 4, 0),
	    BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
	    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, longest, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	    BPF_STMT(BPF_RET | BPF_K, LARGE_STUB_BYTES),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};
	bool filtered = wire->num_fds;

	for (uint32_t i = 0; i < wire->num_fds; i++) {
		const int one = 1;

		if (setsockopt(wire->fd[i], SOL_PACKET, PACKET_IGNORE_OUTGOING, &one,
			       sizeof(one)) ||
		    setsockopt(wire->fd[i], SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog))) {
			log_nic_verbose(wire->nic->name, "no filter on AF_PACKET: %s",
					strerror(errno));
			filtered = false;
		}
	}
	return filtered;
}

/*
 * Opens the sockets for frames beyond the MTU beside DPDK's AF_PACKET, in both directions. Without
 * them frames are sent one by one, and large ones are lost.
 */
static void netdev_large(struct wire *wire)
{
	const struct nic *nic = wire->nic;

	wire->large = large_open(wire->ifindex, nic->conf->ip, nic->mtu, nic->pool);
	if (!wire->large)
		log_nic_verbose(nic->name, "frames beyond the MTU are lost: %s", strerror(errno));
	if (!netdev_filter(wire) && wire->large) {
		large_close(wire->large);
		wire->large = NULL;
	}
	wire->gso = gso_open(wire->ifindex, netdev_is_veth(nic->conf->device));
	wire->tx_csum = wire->gso;
	if (!wire->gso)
		log_nic_verbose(nic->name, "frames are sent one by one: %s", strerror(errno));
}

void wire_netdev_readdress(struct wire *wire)
{
	struct nic *nic = wire->nic;
	int err = 0;

	wire->shared = netdev_kernel_has(nic->conf->ip);
	if (wire->xdp)
		xdp_start(wire->xdp, nic->conf->ip, wire->shared);
	else
		(void)netdev_filter(wire);
	if (wire->large)
		err = large_readdress(wire->large, nic->conf->ip);
	if (err)
		log_nic_error(nic->name, "no filter on the socket for frames beyond the MTU: %s",
			      strerror(-err));
	err = wire_netdev_group_readdress(wire);
	if (err)
		log_nic_error(nic->name, "no filter on the socket for groups: %s", strerror(-err));
}

static int netdev_packet(struct wire *wire)
{
	const struct wire_ethdev_conf conf = {
	    .rx_queues = 1, .rx_descs = NETDEV_DESCS, .tx_descs = NETDEV_DESCS};
	struct nic *nic = wire->nic;
	bool large = nic->mtu > WIRE_XDP_MAX_MTU;
	int before[APP_PORT_FDS * CONF_MAX_NICS];
	uint32_t num_before;
	char vdev[32], args[160];
	int err;

	num_before = netdev_find_fds(AF_PACKET, before, sizeof(before) / sizeof(before[0]));
	snprintf(vdev, sizeof(vdev), "net_af_packet%u", nic->index);
	snprintf(args, sizeof(args),
		 "iface=%.15s,blocksz=%d,framesz=%d,framecnt=%d,qpairs=1,qdisc_bypass=1",
		 nic->conf->device, large ? NETDEV_PACKET_BLOCK_LARGE : NETDEV_PACKET_BLOCK_SMALL,
		 large ? WIRE_PACKET_FRAME_LARGE : WIRE_PACKET_FRAME_SMALL, NETDEV_PACKET_FRAMES);
	err = wire_vdev_make(wire, vdev, args);
	if (!err)
		err = wire_ethdev_start(wire, &conf);
	if (err)
		return err;
	netdev_note_fds(wire, AF_PACKET, before, num_before);
	netdev_large(wire);
	snprintf(wire->how, sizeof(wire->how), "AF_PACKET on %.15s", nic->conf->device);
	return 0;
}

static int netdev_groups(struct wire *wire)
{
	int err = wire_netdev_group_open(wire);

	if (err)
		log_error("--port %s: no packet socket for groups: %s; weftd needs CAP_NET_RAW",
			  wire->nic->conf->device, strerror(-err));
	return err;
}

int wire_netdev_open(struct nic *nic)
{
	const char *device = nic->conf->device;
	struct wire *wire = wire_new(nic, &wire_ethdev_ops);
	const char *why_not;
	uint32_t mtu;
	uint8_t mac[WIRE_MAC_BYTES];
	int err;

	if (!wire)
		return -ENOMEM;
	err = wire_netdev_query(device, &mtu, mac, &wire->ifindex);
	if (!err)
		err = netdev_claim(wire, wire->ifindex);
	if (err) {
		log_error("--port %s: %s", device,
			  err == -EADDRINUSE ? "another weftd uses it; stop that one first"
					     : strerror(-err));
		return err;
	}
	wire->settled = true;
	wire->shared = netdev_kernel_has(nic->conf->ip);
	wire->partial_csum = netdev_has_partial_csum(device);
	nic->link_mbps = netdev_mbps(device);
	why_not = netdev_try_xdp(wire);
	if (!why_not)
		return netdev_groups(wire);
	if (nic->app->conf.netdev != CONF_NETDEV_AUTO &&
	    nic->app->conf.netdev != CONF_NETDEV_PACKET) {
		log_error("--port %s: no AF_XDP: %s; omit --netdev to use AF_PACKET", device,
			  why_not);
		return -ENOTSUP;
	}
	if (wire->shared) {
		log_error("--port %s: the kernel also has the NIC's address, which requires "
			  "AF_XDP: %s; or give the NIC an address of its own",
			  device, why_not);
		return -ENOTSUP;
	}
	log_nic_info(nic->name, "AF_PACKET instead of AF_XDP on %s: %s", device, why_not);
	err = netdev_packet(wire);
	if (err)
		log_error("--port %s: AF_PACKET: %s; weftd needs CAP_NET_RAW and CAP_NET_ADMIN",
			  device, strerror(-err));
	return err ? err : netdev_groups(wire);
}
