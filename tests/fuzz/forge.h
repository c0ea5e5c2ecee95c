/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame under construction: taken from the wire or built, changed field by field, sealed.
 *
 * Used by frames.c. Sealing corrects lengths, checksum and CRC32C, so that changed fields reach the
 * parsers behind them; the input may leave each of them wrong.
 */
#ifndef WEFT_TESTS_FUZZ_FORGE_H
#define WEFT_TESTS_FUZZ_FORGE_H

#include "tests/fuzz/world.h"

/* In frames with EtherType ESP. */
enum {
	FORGE_MSG_AT = FRAME_ESP_AT + sizeof(struct wire_esp),
};

/*
 * Start of a change: offsets count from here. In frames of ESP: IP is EDP, UDP is ESP, DGRAM and
 * beyond the payload and the part behind a message's header.
 */
enum forge_layer {
	FORGE_ETH,
	FORGE_IP,
	FORGE_UDP,
	FORGE_DGRAM,
	FORGE_RD,
	FORGE_DDP,  /* or the part behind the session header: ACK */
	FORGE_DATA, /* behind the DDP header */
	FORGE_END,  /* backwards from the CRC */
	FORGE_LAYERS
};

/* forge_seal(): fields to leave unchanged besides FRAME_KEEP_*. */
enum {
	FORGE_KEEP_MAC = 0x08,
};

/* forge_fit(): fields of the session to correct. */
enum {
	FORGE_EPOCH = 0x01,
	FORGE_PSN = 0x02,
	FORGE_ACK = 0x04,
	FORGE_ECHO = 0x08,
	FORGE_PSN_LOW = 0x10, /* PSN counts from the lowest missing one, not the highest */
};

/* Takes the frame that was sent back frames ago. */
void forge_take(struct frame *f, uint32_t back);
/* Builds a datagram as r says (frames.c), for a QP or none. */
void forge_dgram(struct frame *f, const struct rec *r, const struct fw_qp *dst,
		 const struct fw_qp *src, uint32_t stag, uint64_t to);
/* Builds ARP and ICMP. */
void forge_other(struct frame *f, const struct rec *r);
/* Builds EDP and ESP as r says, of a stream of the communicator with that key. */
void forge_edp(struct frame *f, const struct rec *r, uint64_t key);
/* Builds a message on a stream of an RC queue pair; and a frame of the communicator's group. */
void forge_rdmap(struct frame *f, const struct rec *r, uint32_t stag, uint64_t to);
void forge_group(struct frame *f, const struct rec *r, uint64_t key);
/* Builds a segment of a TCP connection of the receiving NIC, mostly with an FPDU. */
void forge_tcp(struct frame *f, const struct rec *r, uint32_t stag, uint64_t to);
/* Builds a message of the connection manager about an endpoint of the receiving NIC. */
void forge_cm(struct frame *f, const struct rec *r);
/*
 * Builds an envelope, a write or a read for the tagged endpoint dst, from src or a stranger
 * (forge_tag.c).
 */
void forge_tag(struct frame *f, const struct rec *r, const struct fw_qp *dst,
	       const struct fw_qp *src);
void forge_fit(struct frame *f, uint32_t what, int32_t psn_delta);
/* Sets ports, incarnations (EPOCH), numbers (PSN) and ACK to those of an existing stream. */
void forge_fit_esp(struct frame *f, uint32_t what, int32_t seq_delta);
/* Stores, adds, xors or ors bytes of value, big-endian. */
void forge_set(struct frame *f, enum forge_layer layer, uint32_t at, uint32_t bytes, uint32_t how,
	       uint64_t value);
void forge_put(struct frame *f, enum forge_layer layer, uint32_t at, const void *data,
	       uint32_t bytes);
void forge_length(struct frame *f, uint32_t bytes);
void forge_seal(struct frame *f, uint32_t keep);

/* Shared by forge.c and forge_edp.c: pieces of a frame, appended. */
void forge_add_eth(struct frame *f, uint16_t type);
/* Ethernet and IPv4 headers, from the other NIC. */
void forge_add_ip(struct frame *f, uint8_t proto);
/*
 * Headers up to and including the datagram's. peer: last byte of the sender's address; 0: the other
 * NIC's.
 */
void forge_add_dgram(struct frame *f, const struct wire_dgram *dgram, uint8_t peer);
void forge_ddp(struct frame *f, const struct rec *r, uint32_t stag, uint64_t to);
bool forge_is_esp(const struct frame *f);
/* Corrects the CRC of the FPDU that a segment of TCP begins with. */
void forge_seal_fpdu(struct frame *f);

#endif /* WEFT_TESTS_FUZZ_FORGE_H */
