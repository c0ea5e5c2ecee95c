/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that net/ makes to floors above it: protocols by number, and waiters for a next hop.
 * up/net_up.c fills it in; a test may fill in its own.
 */
#ifndef WEFT_FW_NET_UP_H
#define WEFT_FW_NET_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"
#include "nic_fw/net/eth_run.h"
#include "nic_fw/net/ip.h"

struct net_up {
	/* Headers of frames of several packets (fw_rx_frame.run). */
	const struct eth_run_kind *run_udp, *run_esp, *run_group;
	/* The same of TCP, without options and with timestamps. */
	const struct eth_run_kind *run_tcp, *run_tcp_ts;
	/* EtherType WIRE_ETHERTYPE_ESP: the frame from its Ethernet header on. */
	void (*edp)(struct fw_nic *nic, const struct fw_rx_frame *frame);
	void (*tcp)(struct fw_nic *nic, const struct fw_rx_frame *frame,
		    const struct ip_rx_info *info);
	/* An ICMP error that quotes a segment of ours: the first bytes of that. */
	void (*tcp_icmp)(struct fw_nic *nic, const struct ip_rx_info *info, uint8_t type,
			 uint8_t code, uint16_t mtu, const uint8_t *original, uint32_t bytes);
	/* A datagram to this shard's port; offset and bytes: of its payload. */
	void (*dgram)(struct fw_nic *nic, const struct fw_rx_frame *frame,
		      const struct ip_rx_info *info, uint8_t src_shard, uint32_t offset,
		      uint32_t bytes);
};

extern const struct net_up net_up;

/* Users of next hops: each is notified of every address that is resolved, or is not (!ok). */
typedef void (*neigh_done_fn)(struct fw_nic *nic, uint32_t ip, bool ok);
extern const neigh_done_fn neigh_users[]; /* the last one is NULL */

/* One waiter of a list that neigh_wait_over() was given looks its next hop up again. */
typedef void (*neigh_look_fn)(struct fw_nic *nic, struct fw_list *node);
extern const neigh_look_fn neigh_lookers[NEIGH_WAIT_KINDS];

#endif /* WEFT_FW_NET_UP_H */
