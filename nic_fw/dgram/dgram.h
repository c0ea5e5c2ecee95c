/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram-iWARP above UDP: one parsed header, and the demultiplexer to UD and RD.
 *
 * dgram.c checks version, length and CRC32C, parses our header and the DDP/RDMAP header behind it,
 * and passes the packet to ud_rx() or the RD session. shared_defs/wire_dgram.h.
 */
#ifndef WEFT_FW_DGRAM_H
#define WEFT_FW_DGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/net/eth.h"
#include "nic_fw/net/ip.h"
#include "shared_defs/wire_dgram.h"

struct fw_nic;
struct fw_qp;
struct mcast_group;
struct rdmap_seg;

/* The datagram of a segment; rdmap_seg has the header's fields that RDMAP uses. */
struct dgram_hdr {
	const struct wire_ip *ip;
	struct mcast_group *group; /* destination group, NULL: this NIC */
	struct fw_qp *qp;          /* of dst_qpn; NULL: none */
	uint8_t type;              /* wire_dgram_type */
	bool ce;
};

void dgram_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info,
	      uint8_t src_shard, uint32_t offset, uint32_t bytes);

/* Runs ddp_parse() on a datagram. False: it is malformed. */
bool dgram_parse_ddp(struct rdmap_seg *pkt);

/*
 * Returns the payload of one segment of a message, so that every packet fits mtu; a multiple of 8.
 */
uint32_t dgram_segment_bytes(uint32_t mtu, bool rd);

#endif /* WEFT_FW_DGRAM_H */
