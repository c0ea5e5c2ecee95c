/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups on a kernel interface: a packet socket joins their MACs for weftd's lifetime, so that the
 * device accepts them. The XDP program is notified of IPv4 groups.
 *
 * The XDP program takes datagrams to the NIC's groups like others. Frames for both the NIC and the
 * kernel are left to the kernel, and the NIC reads its copy from the same socket: IGMP, ARP for a
 * shared address, and gratuitous ARP. With AF_PACKET everything arrives through the port, and this
 * socket receives nothing.
 *
 * Calls the kernel and xdp.c. packet(7), RFC 1112 6.4, RFC 5227 3.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <rte_mbuf.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "dpdk_app/wire/wire.h"
#include "dpdk_app/wire/xdp.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	/*
	 * Queries arrive every two minutes, with at least a second to answer. An ARP reply delayed
	 * by this interval is still soon enough.
	 */
	GROUP_LOOK_NS = 2000000,
};

/*
 * Accepts IGMP; ARP to the NIC's address, which arrives here if it is also the kernel's; and ARP
 * whose sender and target addresses are equal. Rejects everything else.
 */
static int group_filter(int fd, uint32_t ip)
{
	enum {
		ETH_TYPE = offsetof(struct wire_eth, type),
		IP_PROTO = sizeof(struct wire_eth) + offsetof(struct wire_ip, proto),
		ARP_SENDER = sizeof(struct wire_eth) + offsetof(struct wire_arp, sender_ip),
		ARP_TARGET = sizeof(struct wire_eth) + offsetof(struct wire_arp, target_ip),
	};
	struct sock_filter code[] = {
	    /* A frame of a VLAN is not the NIC's, although its tag was removed. */
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 11),
	    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_TYPE),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_ETHERTYPE_IPV4, 0, 2),
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP_PROTO),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_IPPROTO_IGMP, 6, 7),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_ETHERTYPE_ARP, 0, 6),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARP_SENDER),
	    BPF_STMT(BPF_MISC | BPF_TAX, 0),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARP_TARGET),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(ip), 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

int wire_netdev_group_open(struct wire *wire)
{
	struct sockaddr_ll addr = {.sll_family = AF_PACKET,
				   .sll_protocol = htons(ETH_P_ALL),
				   .sll_ifindex = wire->ifindex};
	const int one = 1;
	int err = 0;

	/* With protocol 0 it receives nothing until it is bound with its filter in place. */
	wire->group_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (wire->group_fd < 0)
		return -errno;
	if (wire->xdp) {
		if (setsockopt(wire->group_fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one,
			       sizeof(one)) ||
		    group_filter(wire->group_fd, wire->nic->conf->ip) ||
		    bind(wire->group_fd, (struct sockaddr *)&addr, sizeof(addr)))
			err = -errno;
		wire->group_rx = !err;
		if (wire->group_rx && wire->num_fds < APP_PORT_FDS)
			wire->fd[wire->num_fds++] = wire->group_fd;
		else
			wire->naps = true; /* a query would not wake a sleeping core */
	}
	if (!err)
		return 0;
	close(wire->group_fd);
	wire->group_fd = -1;
	return err;
}

int wire_netdev_group_readdress(struct wire *wire)
{
	return wire->group_rx && group_filter(wire->group_fd, wire->nic->conf->ip) ? -errno : 0;
}

void wire_netdev_group(struct wire *wire, const uint8_t mac[6], uint32_t ip, bool in)
{
	struct packet_mreq mreq = {
	    .mr_ifindex = wire->ifindex, .mr_type = PACKET_MR_MULTICAST, .mr_alen = WIRE_MAC_BYTES};

	/* The kernel counts the joins of a MAC: one for each group that maps to it. */
	memcpy(mreq.mr_address, mac, WIRE_MAC_BYTES);
	if (setsockopt(wire->group_fd, SOL_PACKET,
		       in ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &mreq, sizeof(mreq)))
		log_nic_error(wire->nic->name, "%s %s a group: %s", wire->how,
			      in ? "cannot join" : "cannot leave", strerror(errno));
	if (wire->xdp && ip)
		xdp_group(wire->xdp, ip, in);
}

uint32_t wire_netdev_copies(struct wire *wire, struct rte_mbuf **frames, uint32_t n)
{
	uint64_t now_ns = wire->nic->shard[0].core->now_ns;
	uint32_t got = 0;

	if (now_ns - wire->group_looked_ns < GROUP_LOOK_NS)
		return 0;
	wire->group_looked_ns = now_ns;
	while (got < n) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(wire->nic->pool);
		ssize_t bytes;

		if (!m)
			return got;
		bytes =
		    recv(wire->group_fd, rte_pktmbuf_mtod(m, void *), rte_pktmbuf_tailroom(m), 0);
		if (bytes <= 0) {
			rte_pktmbuf_free(m);
			return got;
		}
		m->data_len = (uint16_t)bytes;
		m->pkt_len = (uint32_t)bytes;
		frames[got++] = m;
	}
	return got;
}
