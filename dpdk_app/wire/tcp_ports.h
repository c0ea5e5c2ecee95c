/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP ports at an address that the NIC shares with the kernel: each port belongs to one of them.
 * Calls the kernel.
 */
#ifndef WEFT_APP_TCP_PORTS_H
#define WEFT_APP_TCP_PORTS_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_ports;

/*
 * map: 65536 bytes that other components read; nonzero where the NIC has the port. NULL: out of
 * memory.
 */
struct tcp_ports *tcp_ports_new(volatile uint8_t *map);
void tcp_ports_free(struct tcp_ports *ports);

/*
 * Sets the shared address: ip (network byte order) is now also the kernel's; 0: it is not. Returns
 * the number of the NIC's ports that it loses because the kernel uses them or they cannot be
 * reserved. The NIC regains them when the address is its own again, or when this function is called
 * after they became free. Any thread.
 */
uint32_t tcp_ports_share(struct tcp_ports *ports, uint32_t ip);

/*
 * Takes a port. Returns 0; -EADDRINUSE: the kernel uses it at the shared address; or the negative
 * errno of a failed reservation (EMFILE, EACCES). Any thread.
 */
int tcp_ports_take(struct tcp_ports *ports, uint16_t port) __attribute__((warn_unused_result));
void tcp_ports_give(struct tcp_ports *ports, uint16_t port);

struct tcp_ports_counts {
	uint64_t taken;    /* ports with listeners or connections of the NIC */
	uint64_t reserved; /* of those, ports reserved in the kernel */
	uint64_t lost;     /* of those, ports that the kernel has had since the address is shared */
	uint64_t refused;  /* failed reservations since the start, except EADDRINUSE */
};

/* Any thread. */
void tcp_ports_count(struct tcp_ports *ports, struct tcp_ports_counts *counts);

#endif /* WEFT_APP_TCP_PORTS_H */
