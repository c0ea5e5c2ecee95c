/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames as they are on a wire: a builder, a reader, and a function that corrects checksums.
 *
 * A builder appends headers from the outside in. They are correct unless the caller changes them;
 * the pointers that it returns reach into the frame. frame_seal() then corrects lengths, checksums
 * and CRC32Cs, except for those that the caller wants wrong. frame_read() finds the headers of a
 * frame by its types and lengths. Formats: shared_defs/wire_*.h. Calls only the CRC32C of nic_fw.
 */
#ifndef WEFT_TESTS_BENCH_FRAME_H
#define WEFT_TESTS_BENCH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/wire_cm.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_esp.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"
#include "shared_defs/wire_mgrp.h"
#include "shared_defs/wire_tcp.h"

enum {
	FRAME_MAX = 9300,
	FRAME_IP_AT = sizeof(struct wire_eth),
	FRAME_L4_AT = FRAME_IP_AT + sizeof(struct wire_ip), /* without IPv4 options */
	FRAME_DGRAM_AT = FRAME_L4_AT + sizeof(struct wire_udp),
	FRAME_RD_AT = FRAME_DGRAM_AT + sizeof(struct wire_dgram),
	FRAME_EDP_AT = sizeof(struct wire_eth),
	FRAME_ESP_AT = FRAME_EDP_AT + sizeof(struct wire_edp),
};

struct frame {
	uint8_t b[FRAME_MAX];
	uint32_t n;
	uint32_t to;    /* for the builder: number of the receiving NIC */
	uint32_t flags; /* FW_TX_*, of a frame that a NIC sent */
};

/* Flags of frame_seal(): fields to leave unchanged. */
enum {
	FRAME_KEEP_LENGTHS = 0x01,
	FRAME_KEEP_SUM = 0x02, /* of IPv4, TCP, ICMP */
	FRAME_KEEP_CRC = 0x04, /* the last four bytes of a datagram or of a frame of EDP */
};

/* ---- the builder: each appends, and cuts at FRAME_MAX */

void frame_add(struct frame *f, const void *data, size_t bytes);
void frame_fill(struct frame *f, uint8_t value, uint32_t bytes);
/* Begins a new frame. */
struct wire_eth *frame_eth(struct frame *f, const uint8_t *dst, const uint8_t *src, uint16_t type);
/* Addresses in network byte order. */
struct wire_ip *frame_ip(struct frame *f, uint8_t proto, uint32_t src, uint32_t dst);
struct wire_udp *frame_udp(struct frame *f, uint16_t src_port, uint16_t dst_port);
/* opt_bytes: a multiple of four. */
struct wire_tcp *frame_tcp(struct frame *f, uint16_t src_port, uint16_t dst_port, uint8_t flags,
			   const void *opt, uint32_t opt_bytes);
struct wire_arp *frame_arp(struct frame *f, uint16_t op, const uint8_t *sender_mac,
			   uint32_t sender_ip, uint32_t target_ip);
/* wire_dgram_type. */
struct wire_dgram *frame_dgram(struct frame *f, uint8_t type);
/* wire_edp_type. */
struct wire_edp *frame_edp(struct frame *f, uint8_t type, uint16_t src_port, uint16_t dst_port);
/* rdmap: the opcode; the queue is that of the opcode. */
struct wire_ddp_untagged *frame_untagged(struct frame *f, uint8_t opcode, bool last, uint32_t msn,
					 uint32_t mo);
struct wire_ddp_tagged *frame_tagged(struct frame *f, uint8_t opcode, bool last, uint32_t stag,
				     uint64_t to);

/* Appends room for the CRC32C of a datagram or of EDP, and seals. */
void frame_end(struct frame *f);
/* Puts length and checksum into the IPv4 header alone. */
void frame_seal_ip(struct frame *f);
/* Corrects lengths, checksums and CRC32C; keep: FRAME_KEEP_*. */
void frame_seal(uint8_t *b, uint32_t n, uint32_t keep);

/* ---- the reader */

/* Headers of a frame; NULL for those that it lacks. */
struct frame_view {
	struct wire_eth *eth;
	struct wire_ip *ip; /* IPv4 with a whole header */
	struct wire_udp *udp;
	struct wire_tcp *tcp;
	uint8_t *tcp_data;
	uint32_t tcp_bytes; /* of data */
	struct wire_dgram *dgram;
	uint8_t type;                /* wire_dgram_type; 0xff: no datagram of weft */
	struct wire_rd *rd;          /* RD, ACK, PROBE */
	struct wire_rd_ack *ack;     /* ACK */
	struct wire_rd_hello *hello; /* HELLO */
	struct wire_cm *cm;          /* CM */
	uint8_t *ddp;                /* RD or UD with a message */
	struct wire_edp *edp;
	struct wire_esp *esp; /* EDP of type ESP */
};

struct frame_view frame_read(uint8_t *b, uint32_t n);

#endif /* WEFT_TESTS_BENCH_FRAME_H */
