/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet socket through which runs go to the kernel as one frame; see gso.h.
 *
 * Calls gso_run.c, gso_whole.c and the kernel. packet(7), struct virtio_net_hdr of Linux.
 */
#include "dpdk_app/wire/gso.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dpdk_app/csum.h"
#include "dpdk_app/wire/gso_whole.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4 /* Linux 6.2 */
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

enum {
	GSO_SNDBUF = 4 << 20,
};

struct gso {
	int fd;
	bool direct; /* past the queueing discipline */
	struct gso_flows flows;
	struct gso_held held;
	struct gso_stats stats;
};

static int set_direct(struct gso *gso, bool direct)
{
	const int past = direct;

	gso->direct = direct;
	return setsockopt(gso->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &past, sizeof(past));
}

/*
 * Sends once more by way of the queueing discipline, which has frames divided that a driver does
 * not take whole, as after ethtool -K. Where that helps, all later frames go this way.
 */
static bool send_divided(struct gso *gso, const struct msghdr *msg)
{
	if (!gso->direct || set_direct(gso, false))
		return false;
	if (sendmsg(gso->fd, msg, MSG_DONTWAIT) >= 0)
		return true;
	(void)set_direct(gso, true);
	return false;
}

/* Sends a frame of n pieces behind the first, which is for vnet. */
static bool send_large(struct gso *gso, struct virtio_net_hdr *vnet, struct iovec *piece,
		       uint32_t n)
{
	struct msghdr msg = {.msg_iov = piece, .msg_iovlen = n + 1};
	bool udp = vnet->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4;

	piece[0] = (struct iovec){vnet, sizeof(*vnet)};
	if (sendmsg(gso->fd, &msg, MSG_DONTWAIT) >= 0 || send_divided(gso, &msg)) {
		gso->stats.runs++;
		return true;
	}
	/* A kernel before 6.2 does not know such frames. */
	if (udp && errno == EINVAL)
		gso->flows.no_udp = true;
	gso->stats.refused++;
	return false;
}

static struct virtio_net_hdr vnet_of(bool udp, uint32_t hdr_bytes, uint16_t each)
{
	return (struct virtio_net_hdr){
	    .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
	    .gso_type = udp ? VIRTIO_NET_HDR_GSO_UDP_L4 : VIRTIO_NET_HDR_GSO_TCPV4,
	    .hdr_len = (uint16_t)hdr_bytes,
	    .gso_size = each,
	    .csum_start = GSO_L4_AT,
	    .csum_offset = udp ? CSUM_UDP_AT : CSUM_TCP_AT,
	};
}

bool gso_tx(struct gso *gso, struct rte_mbuf **frames, uint32_t n)
{
	bool udp = !csum_is_left(frames[0]);
	struct virtio_net_hdr vnet;
	uint8_t hdr[GSO_HDR_MAX];
	struct iovec piece[GSO_RUN_MAX + 2];
	uint32_t hdr_bytes;
	uint16_t each;

	hdr_bytes = gso_join(frames, n, hdr, &piece[2], &each);
	piece[1] = (struct iovec){hdr, hdr_bytes};
	vnet = vnet_of(udp, hdr_bytes, each);
	if (!send_large(gso, &vnet, piece, n + 1))
		return false;
	gso->stats.frames += n;
	rte_pktmbuf_free_bulk(frames, n);
	return true;
}

bool gso_tx_whole(struct gso *gso, struct rte_mbuf *run)
{
	struct gso_whole whole;
	struct virtio_net_hdr vnet;

	if (!gso_hdr_bytes(rte_pktmbuf_mtod(run, const uint8_t *)))
		return false;
	gso_whole_make(run, &whole);
	if (!gso_run_whole(&gso->flows, whole.hdrs, whole.packets, whole.bytes))
		return false;
	vnet = vnet_of(!csum_is_left(run), whole.hdr_bytes, whole.each);
	if (!send_large(gso, &vnet, whole.piece, whole.num_pieces)) {
		gso_run_refused(&gso->flows, whole.hdrs);
		return false;
	}
	gso->stats.frames += whole.packets;
	rte_pktmbuf_free(run);
	return true;
}

struct gso *gso_open(int ifindex, bool direct)
{
	/* Protocol 0: it receives nothing. */
	const struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_ifindex = ifindex};
	const int one = 1, room = GSO_SNDBUF;
	struct gso *gso = calloc(1, sizeof(*gso));
	int err;

	if (!gso)
		return NULL;
	gso->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (gso->fd >= 0 && !setsockopt(gso->fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) &&
	    !set_direct(gso, direct) &&
	    !setsockopt(gso->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) &&
	    !bind(gso->fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return gso;
	err = errno;
	gso_close(gso);
	errno = err;
	return NULL;
}

void gso_close(struct gso *gso)
{
	if (gso->fd >= 0)
		close(gso->fd);
	rte_pktmbuf_free_bulk(gso->held.frames, gso->held.num);
	free(gso);
}

const struct gso_stats *gso_stats(const struct gso *gso)
{
	return &gso->stats;
}

struct gso_held *gso_held(struct gso *gso)
{
	return &gso->held;
}

struct gso_flows *gso_flows(struct gso *gso)
{
	return &gso->flows;
}
