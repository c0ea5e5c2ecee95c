/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What mpa_sock.c (MPA over a socket of the kernel) and rc_peer.c (verbs) agree on, so that either
 * can be at either end of a connection.
 *
 * The active side says in its private data what is done; both name a buffer there. Data goes from
 * the source to the sink, which looks at every byte of every message and answers with
 * acknowledgements, Sends of struct peer_note. In front of everything the active side sends one
 * note: revision 1 of MPA has the first word for it, and siw may miss what comes too early.
 *
 * Operations: Sends; Writes, a note behind each; Reads by the sink. At most PEER_WINDOW messages
 * are not acknowledged, so that receives are always there. Both sides are given the same size.
 */
#ifndef WEFT_TESTS_INTEROP_PEER_H
#define WEFT_TESTS_INTEROP_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared_defs/be.h"

enum {
	PEER_MAGIC = 0x77656674,
	PEER_WINDOW = 32,   /* messages of the source without acknowledgement */
	PEER_ACK_EVERY = 8, /* messages, at the latest */
	PEER_MAX_BYTES = 1 << 20,
	PEER_SLOTS = PEER_WINDOW, /* of the sink's buffer, for Writes */
	PEER_LIMIT_S = 60,        /* until what has not happened is a failure */
};

enum peer_op {
	PEER_SEND,
	PEER_WRITE,
	PEER_READ,
	PEER_OPS,
};

enum peer_flag {
	PEER_F_TO_ACTIVE = 0x01,    /* the passive side is the source */
	PEER_F_BOTH = 0x02,         /* both are (not Reads) */
	PEER_F_PASSIVE_ENDS = 0x04, /* the passive side closes when all is done, else the active */
	PEER_F_BOTH_END = 0x08,     /* both do, neither waits for the other */
};

/* Private data, of either side. The passive one fills in its buffer alone. */
struct peer_hello {
	struct be32 magic;
	struct be32 stag;
	struct be64 addr;
	struct be32 op;
	struct be32 flags;
	struct be32 bytes;
	struct be32 count;
	struct be32 seed;
};

enum peer_kind {
	PEER_NOTE_GO = 1,
	PEER_NOTE_ACK,  /* number: messages that were right, of all */
	PEER_NOTE_DATA, /* a Write is in slot number % PEER_SLOTS */
};

struct peer_note {
	struct be32 magic;
	struct be32 kind;
	struct be32 number;
};

/* Every byte of message number depends on its place, the number and the seed. */
static inline uint8_t peer_byte(uint32_t seed, uint32_t number, uint32_t i)
{
	return (uint8_t)(seed + number * 131 + i * 7 + (i >> 8) * 29);
}

static inline void peer_fill(uint8_t *to, uint32_t bytes, uint32_t seed, uint32_t number)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = peer_byte(seed, number, i);
}

/* False, and says where, when a byte is wrong. */
static inline bool peer_right(const uint8_t *data, uint32_t bytes, uint32_t seed, uint32_t number)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (data[i] == peer_byte(seed, number, i))
			continue;
		fprintf(stderr, "message %u of %u bytes: byte %u is %02x, not %02x\n", number,
			bytes, i, data[i], peer_byte(seed, number, i));
		return false;
	}
	return true;
}

/* The data of the passive side, as a source, differs from that of the active one. */
static inline uint32_t peer_seed(uint32_t seed, bool passive)
{
	return passive ? seed + 77 : seed;
}

static inline struct peer_note peer_note(enum peer_kind kind, uint32_t number)
{
	return (struct peer_note){be32_put(PEER_MAGIC), be32_put(kind), be32_put(number)};
}

/* A note has a length that no message of data has; see peer_size(). */
static inline bool peer_is_note(const void *data, uint32_t bytes, struct peer_note *note)
{
	if (bytes != sizeof(*note))
		return false;
	memcpy(note, data, sizeof(*note));
	return be32_get(note->magic) == PEER_MAGIC;
}

/* The name of an operation, or PEER_OPS. */
static inline enum peer_op peer_op(const char *name)
{
	static const char *const names[PEER_OPS] = {"send", "write", "read"};
	enum peer_op op = PEER_SEND;

	while (op < PEER_OPS && strcmp(name, names[op]))
		op++;
	return op;
}

/* Flags of the words for who gets the data, and for who ends the connection. */
static inline uint32_t peer_sink_flags(const char *word)
{
	return !strcmp(word, "active") ? PEER_F_TO_ACTIVE : !strcmp(word, "both") ? PEER_F_BOTH : 0;
}

static inline uint32_t peer_end_flags(const char *word)
{
	return !strcmp(word, "passive") ? PEER_F_PASSIVE_ENDS
	       : !strcmp(word, "both")  ? PEER_F_BOTH_END
					: 0;
}

#endif /* WEFT_TESTS_INTEROP_PEER_H */
