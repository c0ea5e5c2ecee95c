/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftd's side of the XDP program: loading, variables and maps, removal.
 *
 * Calls libbpf.
 */
#ifndef WEFT_APP_XDP_H
#define WEFT_APP_XDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hw_stat;
struct xdp;

/*
 * Removes a program that a killed weftd left on the interface. Returns 0: no program is attached;
 * -EBUSY: a foreign program is, and why names it and how to remove it; or -errno.
 */
int xdp_clean(int ifindex, const char *device, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

/*
 * Loads and attaches the program, in the driver or as generic XDP. It takes no frames yet, and is
 * detached when the process ends in any way. NULL with errno on failure.
 */
struct xdp *xdp_open(int ifindex, bool generic);

/*
 * Redirects frames that the program takes from this queue to the AF_XDP socket fd. Returns 0 or
 * -errno.
 */
int xdp_socket(struct xdp *xdp, uint32_t queue, int fd) __attribute__((warn_unused_result));

/*
 * Makes the program take the frames of the NIC with this address (network byte order); shared: see
 * xdp_share().
 */
void xdp_start(struct xdp *xdp, uint32_t ip, bool shared);

/* Returns true if it runs as generic XDP. */
bool xdp_generic(const struct xdp *xdp);

/* Detaches the program, if it is still attached, and frees it. */
void xdp_close(struct xdp *xdp);

/* Takes datagrams to this IPv4 group from now on, or leaves them to the kernel. Any thread. */
void xdp_group(struct xdp *xdp, uint32_t ip, bool in);

/*
 * Sets whether the address is also the kernel's. While it is, the NIC has the TCP ports that
 * xdp_tcp_port() took and that are reserved in the kernel. A port that cannot be reserved belongs
 * to the kernel until the address is the NIC's alone again. Any thread.
 */
void xdp_share(struct xdp *xdp, bool shared);

/*
 * Takes or releases a TCP port for the NIC. Returns 0; -EADDRINUSE: the kernel has it at this
 * address; or the negative errno of a failed reservation. Any thread, one at a time per port.
 */
int xdp_tcp_port(struct xdp *xdp, uint16_t port, bool in);

/* Returns true if this thread's capabilities permit access to the program's maps. */
bool xdp_maps_open(const struct xdp *xdp);

/* Writes up to max counters; returns their number. Any single thread. */
uint32_t xdp_stats(const struct xdp *xdp, struct hw_stat *stat, uint32_t max);

#endif /* WEFT_APP_XDP_H */
