/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What two ends of weft's rsockets say to each other; README.md, "Protocol".
 *
 * All numbers are big-endian. A connection begins with a struct rs_wire_hello in the private data
 * of either side; later each message is a Write with immediate, whose immediate says what it is.
 * Datagrams begin with a struct rs_wire_dgram. Used by rs_conn.c, rs_stream.c, rs_iomap.c and
 * rs_dgram.c.
 */
#ifndef WEFT_RDMACM_RS_WIRE_H
#define WEFT_RDMACM_RS_WIRE_H

#include <assert.h>
#include <stdint.h>

#include "shared_defs/be.h"

enum {
	RS_WIRE_MAGIC = 0x77725331, /* "wrS1": rsockets of weft, version 1 */
	RS_WIRE_DGRAM_MAGIC = 0x77724431,
	RS_WIRE_VALUE_BITS = 29,
	RS_WIRE_VALUE_MASK = (1 << RS_WIRE_VALUE_BITS) - 1,
};

/* In the upper three bits of an immediate; the others are the value. */
enum rs_wire_type {
	RS_WIRE_DATA = 0,   /* value: bytes, which lie in the ring behind the message before */
	RS_WIRE_CREDIT = 1, /* value: messages that were read */
	RS_WIRE_FIN = 2,    /* no more data comes */
	RS_WIRE_IOMAP = 3,  /* value: the entry of the table of mappings that was written; a message
			       of 0 bytes */
};

/* Fits into the 56 bytes that any transport has for private data. */
struct rs_wire_hello {
	struct be32 magic;
	struct be32 msgs;      /* that may be under way to the sender of this */
	struct be64 ring_addr; /* its ring */
	struct be32 ring_rkey;
	struct be32 ring_bytes;
	struct be64 iomap_addr; /* its table of struct rs_wire_iomap */
	struct be32 iomap_rkey;
	struct be32 iomap_size; /* entries; 0: there is none */
};
static_assert(sizeof(struct rs_wire_hello) == 40, "in the private data");

/* A region that the writer of the entry mapped; bytes 0: that is over. */
struct rs_wire_iomap {
	struct be64 offset;
	struct be64 addr;
	struct be64 bytes;
	struct be32 rkey;
	struct be32 reserved;
};
static_assert(sizeof(struct rs_wire_iomap) == 32, "");

/* The private data of who asks for a QPN: the address of its socket. */
struct rs_wire_ask {
	struct be32 magic;
	struct be16 port;
	uint8_t reserved[2];
	uint8_t ip[4];
};
static_assert(sizeof(struct rs_wire_ask) == 12, "");

/* Before each datagram, and each part of one that is longer than a message of the NIC. */
struct rs_wire_dgram {
	struct be32 magic;
	struct be16 src_port;
	struct be16 bytes;  /* of the whole datagram */
	struct be32 id;     /* of the datagram: parts of one have the same */
	struct be16 offset; /* of this part */
	struct be16 part_bytes;
	uint8_t src_ip[16]; /* IPv4-mapped where it is IPv4 */
};
static_assert(sizeof(struct rs_wire_dgram) == 32, "");

static inline uint32_t rs_wire_imm(enum rs_wire_type type, uint32_t value)
{
	return (uint32_t)type << RS_WIRE_VALUE_BITS | (value & RS_WIRE_VALUE_MASK);
}

static inline uint32_t rs_wire_imm_type(uint32_t imm)
{
	return imm >> RS_WIRE_VALUE_BITS;
}

static inline uint32_t rs_wire_imm_value(uint32_t imm)
{
	return imm & RS_WIRE_VALUE_MASK;
}

#endif /* WEFT_RDMACM_RS_WIRE_H */
