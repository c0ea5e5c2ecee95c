/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What mpa_sock.c (MPA over a socket of the kernel) and rc_peer.c (verbs) agree on, so that either
 * can be at either end of a connection; peer.c is what they share.
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

/* What either end is told, and how far it is. */
struct peer {
	bool passive, quick; /* quick: data is made once, and not looked at */
	bool go;             /* the first note has come, or gone */
	uint32_t op, flags, bytes, count, seed;
	uint32_t wait_ms;  /* before the first note */
	uint16_t own_port; /* host byte order; 0: any */
	uint32_t stride;   /* of a slot, bytes: peer_check() */
	uint8_t *sink, *source;
	uint64_t peer_addr; /* the other end's buffer */
	uint32_t peer_stag;
	uint32_t sent, acked;    /* as a source: messages */
	uint32_t received, told; /* as a sink */
	uint32_t reads;          /* of it, asked for */
};
#define PEER_DEFAULTS                                                                              \
	{                                                                                          \
		.bytes = 64, .count = 100                                                          \
	}

/* Says what is wrong, and errno unless it is 0; exit status 1. */
void peer_die(const char *what) __attribute__((noreturn));
#define CHECK(cond, what)                                                                          \
	do {                                                                                       \
		if (!(cond))                                                                       \
			peer_die(what);                                                            \
	} while (0)

uint64_t peer_now_ms(void);

/* Takes an option that both programs have: o d s n S e w P q (optarg). False: it is none. */
bool peer_option(struct peer *p, int option);
/* Whether what was given makes sense; sets stride. */
bool peer_check(struct peer *p);

static inline bool peer_is_source(const struct peer *p)
{
	return p->flags & PEER_F_BOTH || !!(p->flags & PEER_F_TO_ACTIVE) == p->passive;
}

static inline bool peer_is_sink(const struct peer *p)
{
	return p->flags & PEER_F_BOTH || !peer_is_source(p);
}

/* Whether it is this end's to close when all is done. */
static inline bool peer_ends(const struct peer *p)
{
	return p->flags & PEER_F_BOTH_END || !(p->flags & PEER_F_PASSIVE_ENDS) == !p->passive;
}

/* As a sink: an acknowledgement is to be sent. */
static inline bool peer_due(const struct peer *p)
{
	return p->received != p->told &&
	       (p->received - p->told >= PEER_ACK_EVERY || p->received == p->count);
}

/* Message number of the source; peer_check_data() is its reverse. */
void peer_fill(const struct peer *p, uint8_t *to, uint32_t number);
struct peer_note peer_note(enum peer_kind kind, uint32_t number);
/* Data has come: ends the program unless it is what is awaited, and counts it. */
void peer_check_data(struct peer *p, const uint8_t *data, uint32_t bytes, uint32_t number);
/* A Send has come: data, or a note. */
void peer_take(struct peer *p, const uint8_t *data, uint32_t bytes);

#endif /* WEFT_TESTS_INTEROP_PEER_H */
