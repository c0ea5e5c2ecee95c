/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd's side of the XDP program: loading it, its variables and maps, its removal.
 *
 * Called by wire_netdev.c, wire_netdev_group.c, wire_ethdev.c and xsk.c; calls libbpf.
 */
#ifndef WEFT_APP_XDP_H
#define WEFT_APP_XDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hw_stat;
struct xdp;

/*
 * Removes a program of ours that a killed weftd left on the interface. 0: nothing is
 * attached any more; -EBUSY: the program of somebody else is, and why says which, and how to get
 * rid of it; or -errno.
 */
int xdp_clean(int ifindex, const char *device, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

/*
 * Loads the program and attaches it: in the driver, or, generic, behind it. It takes nothing yet,
 * and is gone when the process ends, however that does. NULL: errno says why.
 */
struct xdp *xdp_open(int ifindex, bool generic);

/* Frames that the program takes off this queue go to the AF_XDP socket fd. 0 or -errno. */
int xdp_socket(struct xdp *xdp, uint32_t queue, int fd) __attribute__((warn_unused_result));

/*
 * The program takes the frames of the NIC with this address (network byte order) from now on;
 * shared: see xdp_share().
 */
void xdp_start(struct xdp *xdp, uint32_t ip, bool shared);

/* Whether it runs behind the driver. */
bool xdp_generic(const struct xdp *xdp);

/* Detaches the program, if it is still the one that is attached, and frees it. */
void xdp_close(struct xdp *xdp);

/* Takes datagrams to this IPv4 group from now on, or leaves them to the kernel. Any thread. */
void xdp_group(struct xdp *xdp, uint32_t ip, bool in);

/*
 * The address is the kernel's too, or no more. While it is, the NIC has those ports of TCP that
 * xdp_tcp_port() took and the kernel is kept from using; where it cannot be, the port is the
 * kernel's until the address is the NIC's alone again. Any thread.
 */
void xdp_share(struct xdp *xdp, bool shared);

/*
 * The NIC takes a port of TCP, or gives it back. 0; -EADDRINUSE: the kernel has it at this address;
 * another negative errno: the kernel cannot be kept from it. Any thread, one at a time for a port.
 */
int xdp_tcp_port(struct xdp *xdp, uint16_t port, bool in);

/* Whether the maps of the program can be used with the capabilities that this thread has. */
bool xdp_maps_open(const struct xdp *xdp);

/* Up to max counters. Returns how many. Any one thread. */
uint32_t xdp_stats(const struct xdp *xdp, struct hw_stat *stat, uint32_t max);

#endif /* WEFT_APP_XDP_H */
