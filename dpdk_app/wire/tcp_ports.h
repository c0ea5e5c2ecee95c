/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports of TCP at an address that the NIC shares with the kernel: either has a port, or the other.
 * Calls the kernel.
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
 * the ports that the NIC had it has no more: the kernel uses them, or cannot be kept from them. It
 * has them again when the address is its own, or when this is called after they became free. Any
 * thread.
 */
uint32_t tcp_ports_share(struct tcp_ports *ports, uint32_t ip);

/*
 * 0; -EADDRINUSE: the kernel uses it at the shared address; or the negative errno by which it
 * cannot be kept from the kernel's programs (EMFILE, EACCES). Any thread.
 */
int tcp_ports_take(struct tcp_ports *ports, uint16_t port) __attribute__((warn_unused_result));
void tcp_ports_give(struct tcp_ports *ports, uint16_t port);

struct tcp_ports_counts {
	uint64_t taken;    /* the NIC has listeners or connections there */
	uint64_t reserved; /* of them, those that the kernel was kept from */
	uint64_t lost;     /* of them, those that are the kernel's since the address is */
	uint64_t refused;  /* reservations that failed, but for EADDRINUSE; since the start */
};

/* Any thread. */
void tcp_ports_count(struct tcp_ports *ports, struct tcp_ports_counts *counts);

#endif /* WEFT_APP_TCP_PORTS_H */
