/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports of the connection manager and of TCP: one table for all instances of a NIC. Functions
 * return 0 or a positive errno. docs/connection-manager.md.
 */
#ifndef WEFT_FW_L4_PORT_H
#define WEFT_FW_L4_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct fw_nic;

enum {
	L4_SPACES = 4, /* FW_CM_PORT_WORDS: a word for each port of each, and one for its shard */
};

/* *port 0: any free one. */
int l4_port_bind(struct fw_nic *nic, uint16_t space, uint16_t *port, bool reuse);
int l4_port_listen(struct fw_nic *nic, uint16_t space, uint16_t port);
void l4_port_unlisten(struct fw_nic *nic, uint16_t space, uint16_t port);
void l4_port_release(struct fw_nic *nic, uint16_t space, uint16_t port, bool listening);
/* Returns the shard that listens, or FW_NONE. */
uint32_t l4_port_shard(struct fw_nic *nic, uint16_t space, uint16_t port);
/*
 * A TCP port is in use in this shard: frames to it come here (fw_steer()). Counted. EADDRINUSE: it
 * belongs to another shard; else the error of fw_port.tcp_port.
 */
int l4_port_hold(struct fw_nic *nic, uint16_t port);
/* Drops one use. Frames still come here until another shard takes the port, for TIME-WAIT. */
void l4_port_drop(struct fw_nic *nic, uint16_t port);
/* Returns the shard that has the port, or had it last; 0. table: fw_port.cm_ports. Any core. */
uint32_t l4_port_owner(const uint32_t *table, uint16_t port);
/*
 * True if the port has no listener but may soon have one: a listener ended a moment ago or, for a
 * QP of datagrams, one listens in another port space.
 */
bool l4_port_early(struct fw_nic *nic, uint16_t port, bool datagram);
bool l4_port_space_ok(uint32_t space);

#endif /* WEFT_FW_L4_PORT_H */
