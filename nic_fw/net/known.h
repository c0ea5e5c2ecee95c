/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of datagrams whose headers passed all checks: see known.c.
 */
#ifndef WEFT_FW_KNOWN_H
#define WEFT_FW_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

struct fw_nic;
struct fw_rx_frame;
struct ip_rx_info;

enum {
	KNOWN_FLOWS = 16, /* a power of two */
};

/* The headers of a flow, as far as they are the same, as they lie in the frame. */
struct known_flow {
	uint64_t begin[2]; /* Ethernet header, version, length and TOS of IPv4 */
	uint64_t ips;      /* source and destination */
	uint32_t middle;   /* fragment, time to live, protocol */
	uint32_t ports;
	uint32_t sum; /* of IPv4's length, id and checksum, RFC 1071; 0: the place is free */
	uint8_t src_shard;
	bool ce;
};

/* Takes a flow down whose datagram has passed all checks up to UDP's. */
void known_learn(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info,
		 uint8_t src_shard);

#endif /* WEFT_FW_KNOWN_H */
