/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd's side of the XDP program: its file for net_af_xdp, its maps, its removal.
 *
 * Called by wire_netdev.c and wire_ethdev.c; calls libbpf.
 */
#ifndef WEFT_APP_XDP_H
#define WEFT_APP_XDP_H

#include <stdbool.h>
#include <stdint.h>

struct hw_stat;
struct xdp;

/*
 * A path at which the program's object file can be opened for as long as *fd is open.
 * path has room for 40 characters. 0 or -errno.
 */
int xdp_object(char *path, int *fd) __attribute__((warn_unused_result));

/*
 * Removes a program of ours that a killed weftd left on the interface. 0: nothing is
 * attached any more; -EBUSY: the program of somebody else is; or -errno.
 */
int xdp_clean(int ifindex) __attribute__((warn_unused_result));

/* Finds the program now attached, and tells it the NIC's address. NULL: errno says why. */
struct xdp *xdp_open(int ifindex, uint32_t ip);

/* Detaches the program if net_af_xdp has not. */
void xdp_close(struct xdp *xdp);

/* Takes datagrams to this IPv4 group from now on, or leaves them to the kernel. Any thread. */
void xdp_group(struct xdp *xdp, uint32_t ip, bool in);

/* Up to max counters. Returns how many. Any one thread. */
uint32_t xdp_stats(const struct xdp *xdp, struct hw_stat *stat, uint32_t max);

#endif /* WEFT_APP_XDP_H */
