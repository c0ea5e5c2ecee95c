/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd's side of the XDP program: loading it, its maps, its removal.
 *
 * Called by wire_netdev.c, wire_ethdev.c and xsk.c; calls libbpf.
 */
#ifndef WEFT_APP_XDP_H
#define WEFT_APP_XDP_H

#include <stdbool.h>
#include <stdint.h>

struct hw_stat;
struct xdp;

/*
 * Removes a program of ours that a killed weftd left on the interface. 0: nothing is
 * attached any more; -EBUSY: the program of somebody else is; or -errno.
 */
int xdp_clean(int ifindex) __attribute__((warn_unused_result));

/*
 * Loads the program and attaches it: in the driver where that can run it, or, generic, behind
 * it in any case. It takes nothing yet. NULL: errno says why.
 */
struct xdp *xdp_open(int ifindex, bool generic);

/* Frames that the program takes off this queue go to the AF_XDP socket fd. 0 or -errno. */
int xdp_socket(struct xdp *xdp, uint32_t queue, int fd) __attribute__((warn_unused_result));

/* The program takes the frames of the NIC with this address from now on. 0 or -errno. */
int xdp_start(struct xdp *xdp, uint32_t ip) __attribute__((warn_unused_result));

/* Detaches the program, if it is still the one that is attached, and frees it. */
void xdp_close(struct xdp *xdp);

/* Takes datagrams to this IPv4 group from now on, or leaves them to the kernel. Any thread. */
void xdp_group(struct xdp *xdp, uint32_t ip, bool in);

/* Up to max counters. Returns how many. Any one thread. */
uint32_t xdp_stats(const struct xdp *xdp, struct hw_stat *stat, uint32_t max);

#endif /* WEFT_APP_XDP_H */
