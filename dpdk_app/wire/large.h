/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames larger than the MTU on an interface that AF_PACKET taps: runs of TCP segments or of
 * datagrams that the kernel passes on whole.
 *
 * The ring of DPDK's driver has no room for them. Its filter leaves their first bytes in the ring,
 * a stub, which keeps their place among the other frames; the frame itself waits in a packet socket
 * of its own, from which the kernel copies each segment's payload straight to its buffer.
 *
 * Runs on the owner's core; calls gso_cut.c and the kernel. packet(7), struct virtio_net_hdr of
 * Linux.
 */
#ifndef WEFT_APP_LARGE_H
#define WEFT_APP_LARGE_H

#include <stdbool.h>
#include <stdint.h>

struct large;
struct rte_mbuf;
struct rte_mempool;

enum {
	LARGE_STUB_BYTES = 128, /* of a large frame in the ring */
};

/*
 * Opens the socket for frames to ip (network byte order) on an interface. mtu: of the segments,
 * including the IP header. NULL with errno on failure.
 */
struct large *large_open(int ifindex, uint32_t ip, uint32_t mtu, struct rte_mempool *pool);
/*
 * The same over a socket of the caller's, of which each message is a virtio_net_hdr and a frame;
 * takes ownership, also on failure.
 */
struct large *large_new(int fd, uint32_t mtu, struct rte_mempool *pool);
void large_close(struct large *large);
/* Takes frames to another address from now on. Returns 0 or -errno. Any thread. */
int large_readdress(const struct large *large, uint32_t ip) __attribute__((warn_unused_result));
/* Returns the length of the longest frame that is not large. Any thread. */
uint32_t large_longest(const struct large *large);

/* Returns true if frames wait that the ring does not announce. */
bool large_waiting(const struct large *large);
/* Returns true if frames of an earlier call wait: they come before those of the ring. */
bool large_has(const struct large *large);
/*
 * Takes n frames of the ring, at most FW_BURST, and replaces stubs by the segments of their frames.
 * May only be called while large_has() is false.
 */
void large_put(struct large *large, struct rte_mbuf **frames, uint32_t n);
/* Returns up to n frames, in order. */
uint32_t large_get(struct large *large, struct rte_mbuf **frames, uint32_t n);

struct large_stats {
	uint64_t frames;  /* divided */
	uint64_t bad;     /* neither TCP segments nor datagrams, or too many */
	uint64_t no_mbuf; /* dropped: the pool was empty */
	uint64_t missing; /* announced, but lost by the kernel */
};
const struct large_stats *large_stats(const struct large *large);

#endif /* WEFT_APP_LARGE_H */
