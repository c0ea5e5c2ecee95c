/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wire format of weft's rsockets; README.md, "Protocol".
 *
 * All numbers are big-endian. A connection begins with a struct rs_wire_hello in the private data
 * of either side. Afterwards each message is a Write with immediate, and the immediate names its
 * type. Datagrams begin with a struct rs_wire_dgram.
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

/* Stored in the upper three bits of an immediate; the other bits are the value. */
enum rs_wire_type {
	RS_WIRE_DATA = 0,   /* value: bytes, which follow the previous message in the ring */
	RS_WIRE_CREDIT = 1, /* value: number of messages read */
	RS_WIRE_FIN = 2,    /* no more data follows */
	/* value: index of the table entry that was written; a message of 0 bytes. */
	RS_WIRE_IOMAP = 3,
};

/* Fits the 56 bytes of private data that every transport has. */
struct rs_wire_hello {
	struct be32 magic;
	struct be32 msgs;      /* messages that may be outstanding to the sender of this hello */
	struct be64 ring_addr; /* address of its ring */
	struct be32 ring_rkey;
	struct be32 ring_bytes;
	struct be64 iomap_addr; /* address of its table of struct rs_wire_iomap */
	struct be32 iomap_rkey;
	struct be32 iomap_size; /* entries; 0: no table */
};
static_assert(sizeof(struct rs_wire_hello) == 40, "in the private data");

/* A region that the writer of the entry mapped; bytes 0: the mapping has ended. */
struct rs_wire_iomap {
	struct be64 offset;
	struct be64 addr;
	struct be64 bytes;
	struct be32 rkey;
	struct be32 reserved;
};
static_assert(sizeof(struct rs_wire_iomap) == 32, "");

/* Private data of a request for a QPN: the address of the requester's socket. */
struct rs_wire_ask {
	struct be32 magic;
	struct be16 port;
	uint8_t reserved[2];
	uint8_t ip[4];
};
static_assert(sizeof(struct rs_wire_ask) == 12, "");

/* Precedes each datagram, and each part of a datagram longer than one message. */
struct rs_wire_dgram {
	struct be32 magic;
	struct be16 src_port;
	struct be16 bytes;  /* length of the whole datagram */
	struct be32 id;     /* identifies the datagram; equal in all its parts */
	struct be16 offset; /* of this part within the datagram */
	struct be16 part_bytes;
	uint8_t src_ip[16]; /* IPv4-mapped for IPv4 */
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
