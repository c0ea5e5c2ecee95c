/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol between mpa_sock.c (MPA over a socket of the kernel) and rc_peer.c (verbs), so that
 * either can be at either end of a connection; peer.c has their common code.
 *
 * The active side's private data describe the task; both sides' name a buffer. Data goes from the
 * source to the sink, which checks every byte of every message and answers with acknowledgements,
 * Sends of struct peer_note. The active side sends one note before everything else: revision 1 of
 * MPA requires that it sends first, and siw may miss data that comes too early.
 *
 * Operations: Sends; Writes, a note behind each; Reads by the sink. At most PEER_WINDOW messages
 * are unacknowledged, so that receives are always posted. Both sides get the same size.
 */
#ifndef WEFT_TESTS_INTEROP_PEER_H
#define WEFT_TESTS_INTEROP_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/cli.h"
#include "shared_defs/be.h"

enum {
	PEER_MAGIC = 0x77656674,
	PEER_WINDOW = 32,   /* messages of the source without acknowledgement */
	PEER_ACK_EVERY = 8, /* messages between acknowledgements, at most */
	PEER_MAX_BYTES = 1 << 20,
	PEER_SLOTS = PEER_WINDOW, /* slots of the sink's buffer, for Writes */
	PEER_LIMIT_S = 60,        /* seconds until a missing event is a failure */
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
	PEER_F_BOTH_END = 0x08,     /* both do, without waiting for the other */
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
	PEER_NOTE_ACK,  /* number: messages that were right, in all */
	PEER_NOTE_DATA, /* a Write is in slot number % PEER_SLOTS */
};

struct peer_note {
	struct be32 magic;
	struct be32 kind;
	struct be32 number;
};

/* Options and state of either end. */
struct peer {
	bool passive, quick; /* quick: data is made once, and not checked */
	bool go;             /* the first note was received, or sent */
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
/* Prints the error, and errno unless it is 0; ends with exit status 1. */
void peer_die(const char *what) __attribute__((noreturn));
#define CHECK(cond, what)                                                                          \
	do {                                                                                       \
		if (!(cond))                                                                       \
			peer_die(what);                                                            \
	} while (0)

/*
 * Rows of the options that either end has. type: the struct of values, with a struct peer p; cli's
 * context is that peer.
 */
#define PEER_ROWS(type)                                                                            \
	{.name = "op",                                                                             \
	 .letter = 'o',                                                                            \
	 .value = "OP",                                                                            \
	 .help = "operation",                                                                      \
	 .kind = CLI_CHOICE,                                                                       \
	 .choices = "send|write|read",                                                             \
	 CLI_FIELD(type, p.op)},                                                                   \
	    {.name = "data",                                                                       \
	     .letter = 'd',                                                                        \
	     .value = "END",                                                                       \
	     .apply = peer_take_data,                                                              \
	     .help = "end that receives the data: active, passive or both"},                       \
	    {.name = "size",                                                                       \
	     .letter = 's',                                                                        \
	     .value = "BYTES",                                                                     \
	     .help = "bytes of a message",                                                         \
	     .kind = CLI_NUMBER,                                                                   \
	     .high = PEER_MAX_BYTES,                                                               \
	     .initial = "64",                                                                      \
	     CLI_FIELD(type, p.bytes)},                                                            \
	    {.name = "count",                                                                      \
	     .letter = 'n',                                                                        \
	     .value = "N",                                                                         \
	     .help = "messages",                                                                   \
	     .kind = CLI_NUMBER,                                                                   \
	     .high = UINT32_MAX,                                                                   \
	     .initial = "100",                                                                     \
	     CLI_FIELD(type, p.count)},                                                            \
	    {.name = "seed",                                                                       \
	     .letter = 'S',                                                                        \
	     .value = "N",                                                                         \
	     .help = "seed of the data",                                                           \
	     .kind = CLI_NUMBER,                                                                   \
	     .high = UINT32_MAX,                                                                   \
	     CLI_FIELD(type, p.seed)},                                                             \
	    {.name = "ends",                                                                       \
	     .letter = 'e',                                                                        \
	     .value = "END",                                                                       \
	     .apply = peer_take_ends,                                                              \
	     .help = "end that closes the connection: active, passive or both"},                   \
	    {.name = "wait",                                                                       \
	     .letter = 'w',                                                                        \
	     .value = "MS",                                                                        \
	     .help = "wait before the first message",                                              \
	     .kind = CLI_NUMBER,                                                                   \
	     .high = UINT32_MAX,                                                                   \
	     CLI_FIELD(type, p.wait_ms)},                                                          \
	    {.name = "own-port",                                                                   \
	     .letter = 'P',                                                                        \
	     .value = "PORT",                                                                      \
	     .help = "port of the active end",                                                     \
	     .kind = CLI_NUMBER,                                                                   \
	     .high = UINT16_MAX,                                                                   \
	     CLI_FIELD(type, p.own_port)},                                                         \
	{                                                                                          \
		.name = "quick", .letter = 'q', .kind = CLI_FLAG, CLI_FIELD(type, p.quick),        \
		.help = "make data once and check none, to measure the rest"                       \
	}

/* apply() of two of them. */
bool peer_take_data(struct cli *cli, const char *word);
bool peer_take_ends(struct cli *cli, const char *word);

/*
 * Takes the command line "listen|connect ADDRESS PORT [OPTION]...": p and *addr. program has
 * PEER_ROWS() and the end's own rows, values the fields of all. Returns CLI_RUN, or the exit
 * status.
 */
int peer_parse(const struct cli_program *program, void *values, struct peer *p,
	       struct sockaddr_in *addr, int argc, char **argv);

static inline bool peer_is_source(const struct peer *p)
{
	return p->flags & PEER_F_BOTH || !!(p->flags & PEER_F_TO_ACTIVE) == p->passive;
}

static inline bool peer_is_sink(const struct peer *p)
{
	return p->flags & PEER_F_BOTH || !peer_is_source(p);
}

/* True if this end closes when all is done. */
static inline bool peer_ends(const struct peer *p)
{
	return p->flags & PEER_F_BOTH_END || !(p->flags & PEER_F_PASSIVE_ENDS) == !p->passive;
}

/* As a sink: an acknowledgement is due. */
static inline bool peer_due(const struct peer *p)
{
	return p->received != p->told &&
	       (p->received - p->told >= PEER_ACK_EVERY || p->received == p->count);
}

/* Private data of this end, which has this buffer for the other one's Writes or Reads. */
struct peer_hello peer_hello(const struct peer *p, uint32_t stag, uint64_t addr);
/*
 * Takes the other end's private data, and the task from them if this end is passive; ends the
 * program if they are not a peer's.
 */
void peer_meet(struct peer *p, const void *data, uint32_t bytes);
/* Makes message number of the source; peer_check_data() checks it. */
void peer_fill(const struct peer *p, uint8_t *to, uint32_t number);
struct peer_note peer_note(enum peer_kind kind, uint32_t number);
/*
 * Checks received data, which must be the expected message, and counts it; else ends the program.
 */
void peer_check_data(struct peer *p, const uint8_t *data, uint32_t bytes, uint32_t number);
/* Handles a received Send: data, or a note. */
void peer_take(struct peer *p, const uint8_t *data, uint32_t bytes);

#endif /* WEFT_TESTS_INTEROP_PEER_H */
