/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports of TCP at an address that the NIC shares with the kernel: either has a port, or the other.
 *
 * Called by xdp.c; calls the kernel.
 */
#ifndef WEFT_APP_TCP_PORTS_H
#define WEFT_APP_TCP_PORTS_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_ports;

/* map: 65536 bytes that others read, not 0 where the NIC has the port. NULL: no memory. */
struct tcp_ports *tcp_ports_new(volatile uint8_t *map);
void tcp_ports_free(struct tcp_ports *ports);

/*
 * ip (network byte order) is the kernel's as well from now on, 0: it is not. Returns how many of
 * the ports that the NIC has are in use by the kernel. Any thread.
 */
uint32_t tcp_ports_share(struct tcp_ports *ports, uint32_t ip);

/* 0, -EADDRINUSE: the kernel uses it at the shared address. Any thread. */
int tcp_ports_take(struct tcp_ports *ports, uint16_t port) __attribute__((warn_unused_result));
void tcp_ports_give(struct tcp_ports *ports, uint16_t port);

/* Ports that the NIC has, and those of them that the kernel was kept from. Any thread. */
void tcp_ports_count(struct tcp_ports *ports, uint64_t *taken, uint64_t *reserved);

#endif /* WEFT_APP_TCP_PORTS_H */
