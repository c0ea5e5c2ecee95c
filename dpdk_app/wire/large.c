/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large frames on an interface that AF_PACKET taps; see large.h.
 *
 * A stub has the headers of its frame, from which follows where the payload of each datagram goes:
 * one call receives the frame. If it is another one, since the kernel had room for one of the two
 * alone or the stub was forged, it is lost. The headers of the next thousands of frames are read
 * first then (MSG_PEEK), so that whoever forges stubs costs a system call and next to no frame. So
 * are those of TCP, whose segments may be shorter than the MTU permits. The socket is bound after
 * the driver's and thus gets a frame before the driver; if it was given less room, or the order is
 * another one, the stub is remembered for a while.
 *
 * Calls gso_cut.c and the kernel.
 */
#include "dpdk_app/wire/large.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dpdk_app/wire/gso_cut.h"
#include "nic_fw/fw_port.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	LARGE_RCVBUF = 8 << 20,
	LARGE_QUEUE = 512,
	LARGE_HDR_MAX = sizeof(struct wire_eth) + 60 + 60,
	LARGE_PEEKS = 4096, /* frames whose headers are read first after a wrong stub */
	LARGE_TRIES = 1024, /* looks for an announced frame until it counts as lost */
};

static_assert((int)LARGE_STUB_BYTES <= (int)LARGE_HDR_MAX, "headers of a stub fit");

struct large {
	int fd;
	uint32_t mtu;
	struct rte_mempool *pool;
	uint32_t owed; /* stubs whose frames were not there yet */
	uint32_t tries;
	uint32_t peeks;   /* frames left for which no stub is relied upon */
	uint32_t at, num; /* of queue */
	struct rte_mbuf *queue[LARGE_QUEUE];
	struct large_stats stats;
};

/* Headers of a frame that waits, and its description by the kernel. */
struct large_head {
	struct virtio_net_hdr vnet;
	uint8_t hdr[LARGE_HDR_MAX];
	uint32_t bytes; /* of the frame */
	struct gso_layout layout;
};

bool large_has(const struct large *large)
{
	return large->at < large->num;
}

bool large_waiting(const struct large *large)
{
	return large_has(large) || large->owed;
}

const struct large_stats *large_stats(const struct large *large)
{
	return &large->stats;
}

/*
 * Finds out how to divide a frame of head->bytes, of whose headers so many bytes are there. False:
 * it cannot be divided.
 */
static bool head_layout(const struct large *large, struct large_head *head, uint32_t here)
{
	if (!gso_layout(&head->layout, head->hdr, here, head->bytes, large->mtu))
		return false;
	if (head->layout.udp)
		return true;
	/* The segments' checksums are left out: the kernel must vouch for the frame's. */
	if (!(head->vnet.flags & (VIRTIO_NET_HDR_F_NEEDS_CSUM | VIRTIO_NET_HDR_F_DATA_VALID)))
		return false;
	if (head->vnet.gso_size && head->vnet.gso_size < head->layout.each)
		head->layout.each = head->vnet.gso_size;
	return head->layout.payload <= GSO_CUT_MAX * head->layout.each;
}

/*
 * Reads the headers of the next frame, which stays. Returns 1; 0: there is none; -1: it cannot be
 * divided.
 */
static int peek(struct large *large, struct large_head *head)
{
	struct iovec piece[2] = {{&head->vnet, sizeof(head->vnet)}, {head->hdr, sizeof(head->hdr)}};
	struct msghdr msg = {.msg_iov = piece, .msg_iovlen = 2};
	/* MSG_TRUNC: returns the length of the whole. */
	ssize_t got = recvmsg(large->fd, &msg, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
	uint32_t here;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if ((size_t)got < sizeof(head->vnet))
		return -1;
	head->bytes = (uint32_t)got - (uint32_t)sizeof(head->vnet);
	here = head->bytes < sizeof(head->hdr) ? head->bytes : (uint32_t)sizeof(head->hdr);
	return head_layout(large, head, here) ? 1 : -1;
}

/* The same from the stub of a run of datagrams. Returns false if it is of something else. */
static bool read_stub(const struct large *large, const struct rte_mbuf *stub,
		      struct large_head *head)
{
	const struct wire_ip *ip =
	    rte_pktmbuf_mtod_offset(stub, const struct wire_ip *, sizeof(struct wire_eth));

	if (large->peeks || large->owed || ip->proto != WIRE_IPPROTO_UDP)
		return false;
	memcpy(head->hdr, rte_pktmbuf_mtod(stub, const void *), LARGE_STUB_BYTES);
	head->bytes = (uint32_t)sizeof(struct wire_eth) + be16_get(ip->total_bytes);
	return head_layout(large, head, LARGE_STUB_BYTES);
}

/* Drops the next frame. */
static void skip(struct large *large)
{
	uint8_t byte;

	(void)recv(large->fd, &byte, sizeof(byte), MSG_DONTWAIT);
}

/* Completes a segment whose payload is in place. */
static void finish(const struct large_head *head, struct rte_mbuf *m, uint32_t done, uint32_t bytes)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	memcpy(frame, head->hdr, head->layout.hdr_bytes);
	gso_mend(&head->layout, frame, done, bytes);
	m->data_len = (uint16_t)(head->layout.hdr_bytes + bytes);
	m->pkt_len = m->data_len;
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

static bool same_layout(const struct gso_layout *a, const struct gso_layout *b)
{
	return a->udp == b->udp && a->hdr_bytes == b->hdr_bytes && a->payload == b->payload &&
	       a->each == b->each;
}

/*
 * Receives the next frame into segments, as head says. Returns 1; 0: there is none; -1: it is
 * another one, or there was no room; it is lost.
 */
static int scatter(struct large *large, struct large_head *head, struct rte_mbuf **m, uint32_t n)
{
	const struct gso_layout layout = head->layout;
	struct iovec piece[GSO_CUT_MAX + 2];
	struct msghdr msg = {.msg_iov = piece, .msg_iovlen = n + 2};
	uint32_t left = layout.payload, done = 0;
	ssize_t got;

	piece[0] = (struct iovec){&head->vnet, sizeof(head->vnet)};
	piece[1] = (struct iovec){head->hdr, layout.hdr_bytes};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bytes = left < layout.each ? left : layout.each;

		if (rte_pktmbuf_tailroom(m[i]) < layout.hdr_bytes + bytes)
			return -1;
		piece[i + 2] =
		    (struct iovec){rte_pktmbuf_mtod_offset(m[i], void *, layout.hdr_bytes), bytes};
		left -= bytes;
	}
	got = recvmsg(large->fd, &msg, MSG_DONTWAIT);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if ((msg.msg_flags & MSG_TRUNC) || (size_t)got != sizeof(head->vnet) + head->bytes ||
	    !head_layout(large, head, layout.hdr_bytes) || !same_layout(&head->layout, &layout))
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bytes = (uint32_t)piece[i + 2].iov_len;

		finish(head, m[i], done, bytes);
		done += bytes;
	}
	return 1;
}

/*
 * Adds the segments of the next frame to the queue, which must keep room for `reserved` others.
 * stub: of this frame; NULL: it was freed. Returns false if there is no frame.
 */
static bool take(struct large *large, const struct rte_mbuf *stub, uint32_t reserved)
{
	struct rte_mbuf **m = &large->queue[large->num];
	struct large_head head;
	bool promised = stub && read_stub(large, stub, &head);
	int state = promised ? 1 : peek(large, &head);
	uint32_t n;

	if (!state)
		return false;
	large->peeks -= large->peeks && !promised;
	n = state < 0 ? 0 : (head.layout.payload - 1) / head.layout.each + 1;
	if (!n || n + reserved > LARGE_QUEUE - large->num) {
		large->stats.bad++;
		skip(large);
		return true;
	}
	if (rte_pktmbuf_alloc_bulk(large->pool, m, n)) {
		large->stats.no_mbuf++;
		skip(large);
		return true;
	}
	state = scatter(large, &head, m, n);
	if (state > 0) {
		large->stats.frames++;
		large->num += n;
		return true;
	}
	rte_pktmbuf_free_bulk(m, n);
	if (state < 0 && promised)
		large->peeks = LARGE_PEEKS;
	large->stats.bad += state < 0;
	return state < 0;
}

/* Looks for frames whose stubs came before them. */
static void take_owed(struct large *large, uint32_t reserved)
{
	while (large->owed && take(large, NULL, reserved)) {
		large->owed--;
		large->tries = 0;
	}
	if (large->owed && ++large->tries >= LARGE_TRIES) {
		large->stats.missing += large->owed;
		large->owed = large->tries = 0;
	}
}

/* Returns true if a frame of the ring is the beginning of one that the socket's filter accepts. */
static bool is_stub(const struct rte_mbuf *m)
{
	const struct wire_eth *eth = rte_pktmbuf_mtod(m, const struct wire_eth *);
	const struct wire_ip *ip = (const struct wire_ip *)(eth + 1);

	return m->data_len == LARGE_STUB_BYTES && !(eth->dst[0] & 1) &&
	       be16_get(eth->type) == WIRE_ETHERTYPE_IPV4 &&
	       (ip->proto == WIRE_IPPROTO_TCP || ip->proto == WIRE_IPPROTO_UDP) &&
	       be16_get(ip->total_bytes) > LARGE_STUB_BYTES - sizeof(*eth);
}

void large_put(struct large *large, struct rte_mbuf **frames, uint32_t n)
{
	large->at = large->num = 0;
	if (__builtin_expect(large->owed != 0, 0))
		take_owed(large, n);
	for (uint32_t i = 0; i < n; i++) {
		if (__builtin_expect(!is_stub(frames[i]), 1)) {
			large->queue[large->num++] = frames[i];
			continue;
		}
		if (!take(large, frames[i], n - i - 1))
			large->owed++;
		rte_pktmbuf_free(frames[i]);
	}
}

uint32_t large_get(struct large *large, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t left = large->num - large->at;

	n = n < left ? n : left;
	memcpy(frames, &large->queue[large->at], n * sizeof(frames[0]));
	large->at += n;
	return n;
}

/* Accepts TCP and UDP to the NIC's address in frames beyond the MTU. */
static int set_filter(int fd, uint32_t ip, uint32_t mtu)
{
	enum {
		ETH_TYPE = offsetof(struct wire_eth, type),
		IP_PROTO = sizeof(struct wire_eth) + offsetof(struct wire_ip, proto),
		IP_DST = sizeof(struct wire_eth) + offsetof(struct wire_ip, dst),
	};
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
	    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, mtu + (uint32_t)sizeof(struct wire_eth), 0, 8),
	    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_TYPE),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_ETHERTYPE_IPV4, 0, 6),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, IP_DST),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(ip), 0, 4),
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP_PROTO),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_IPPROTO_TCP, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WIRE_IPPROTO_UDP, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

int large_readdress(const struct large *large, uint32_t ip)
{
	return set_filter(large->fd, ip, large->mtu) ? -errno : 0;
}

uint32_t large_longest(const struct large *large)
{
	return large->mtu + (uint32_t)sizeof(struct wire_eth);
}

struct large *large_new(int fd, uint32_t mtu, struct rte_mempool *pool)
{
	struct large *large = calloc(1, sizeof(*large));

	if (!large) {
		close(fd);
		return NULL;
	}
	large->fd = fd;
	large->mtu = mtu;
	large->pool = pool;
	return large;
}

struct large *large_open(int ifindex, uint32_t ip, uint32_t mtu, struct rte_mempool *pool)
{
	const struct sockaddr_ll addr = {
	    .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifindex};
	const int one = 1, room = LARGE_RCVBUF;
	/* With protocol 0 it receives nothing until it is bound with its filter in place. */
	int err, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return NULL;
	if (!setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) &&
	    !setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) &&
	    !set_filter(fd, ip, mtu) && !bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return large_new(fd, mtu, pool);
	err = errno;
	close(fd);
	errno = err;
	return NULL;
}

void large_close(struct large *large)
{
	close(large->fd);
	rte_pktmbuf_free_bulk(&large->queue[large->at], large->num - large->at);
	free(large);
}
