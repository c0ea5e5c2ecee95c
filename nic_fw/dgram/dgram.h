/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram-iWARP above UDP: one parsed packet, and the demultiplexer to UD and RD.
 *
 * dgram.c checks version, length and CRC32C, parses our header and the DDP/RDMAP header
 * behind it, and hands on to ud_rx() or the RD session. shared_defs/wire_dgram.h.
 */
#ifndef WEFT_FW_DGRAM_H
#define WEFT_FW_DGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/net/eth.h"
#include "nic_fw/net/ip.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_iwarp.h"

struct fw_nic;
struct mcast_group;

/* A data segment as parsed; every field in host byte order but src_ip and imm. */
struct dgram_pkt {
	const struct fw_rx_frame *frame;
	const struct wire_ip *ip;
	uint32_t src_ip;           /* network byte order */
	struct mcast_group *group; /* it was sent to, NULL: to this NIC */
	uint8_t src_shard;
	uint8_t type;  /* wire_dgram_type */
	uint8_t flags; /* WIRE_DGRAM_F_* */
	bool ce;
	struct rd_session *session; /* RD: that it came by; else NULL */
	bool stream;                /* came by a stream (esp_rdmap_rx.c, mpa_ddp.c), in its order */
	uint16_t incarnation;
	uint32_t dst_qpn;
	uint32_t src_qpn;
	uint32_t qkey;
	uint32_t imm; /* as on the wire */
	uint32_t msg_bytes;
	uint32_t ssn;
	/* DDP and RDMAP; valid when dgram_parse_ddp() returned true */
	bool tagged;
	bool last;
	uint8_t opcode; /* wire_rdmap_opcode */
	uint32_t stag;  /* tagged: STag; untagged: STag to invalidate */
	uint64_t to;    /* tagged */
	uint32_t qn;    /* untagged */
	uint32_t msn;
	uint32_t mo;
	uint32_t data_offset; /* in the frame */
	uint32_t data_bytes;
	uint32_t recv_serial; /* of the recv_msg that the payload was placed in (recv.c) */
	/* by MPA: the whole segment as it came, for a Terminate to quote */
	uint32_t ddp_offset; /* in the frame */
	uint16_t ulpdu_bytes;
};

void dgram_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info,
	      uint8_t src_shard, uint32_t offset, uint32_t bytes);

/*
 * Parses the DDP segment at data_offset: versions, reserved bits, opcode against tagged and queue
 * number, lengths against msg_bytes. Moves data_offset and data_bytes to the payload.
 */
bool dgram_parse_ddp(struct dgram_pkt *pkt);

/* Payload of one segment of a message, so that every packet fits mtu; a multiple of 8. */
uint32_t dgram_segment_bytes(uint32_t mtu, bool rd);

#endif /* WEFT_FW_DGRAM_H */
