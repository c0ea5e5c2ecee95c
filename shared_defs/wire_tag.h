/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The envelope of tagged messages: the first 32 bytes of the payload of a Send between tagged
 * endpoints (RD queue pairs). docs/tagged.md has the exchange. Big-endian.
 */
#ifndef WEFT_WIRE_TAG_H
#define WEFT_WIRE_TAG_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/be.h"

enum wire_tag_kind {
	WIRE_TAG_EAGER = 1, /* the message's bytes follow */
	WIRE_TAG_RTS = 2,   /* the receiver reads the message: STag is handle, TO is stag */
	WIRE_TAG_DONE = 3,  /* to the sender: the message that handle names was matched and read */
	WIRE_TAG_RTR = 4,   /* to the sender: a receive for such messages waits at stag */
	WIRE_TAG_PUT = 5,   /* the message was written to the receive that handle names */
	WIRE_TAG_NACK = 6,  /* to the receiver: the RTR that handle names is not used */
	WIRE_TAG_KINDS
};

/* wire_tag.flags */
enum {
	WIRE_TAG_F_MSG = 0x01,  /* of the space of untagged messages */
	WIRE_TAG_F_DATA = 0x02, /* data is valid */
	WIRE_TAG_F_SYNC = 0x04, /* EAGER: DONE is awaited when it is matched */
	WIRE_TAG_F_ALL = 0x07,
};

/* wire_tag.status of an RTR that the receiver wants back; NACK answers it in any case. */
enum {
	WIRE_TAG_RTR_WITHDRAWN = 1,
};

struct wire_tag {
	uint8_t kind;      /* wire_tag_kind */
	uint8_t flags;     /* WIRE_TAG_F_* */
	uint8_t status;    /* DONE, PUT: hw_status; RTR: 0, WIRE_TAG_RTR_WITHDRAWN */
	uint8_t reserved;  /* 0 */
	struct be32 bytes; /* of the message; DONE: bytes that were received; RTR: room */
	struct be64 tag;
	struct be64 data; /* of 8 bytes, for the receiver's completion; RTR: ignored bits of tag */
	struct be32 stag; /* EAGER with SYNC, RTS, DONE: secret of the send; RTR, PUT, NACK: sink */
	/* EAGER with SYNC, RTS, DONE: of the send. RTR: number of the last message that came. */
	struct be32 handle;
};
static_assert(sizeof(struct wire_tag) == 32, "");
static_assert(offsetof(struct wire_tag, bytes) == 4, "");
static_assert(offsetof(struct wire_tag, tag) == 8, "");
static_assert(offsetof(struct wire_tag, data) == 16, "");
static_assert(offsetof(struct wire_tag, stag) == 24, "");
static_assert(offsetof(struct wire_tag, handle) == 28, "");

#endif /* WEFT_WIRE_TAG_H */
