/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of mpa_sock.c and rc_peer.c that is independent of the transport: options, data, notes;
 * see peer.h.
 */
#include "tests/interop/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void peer_die(const char *what)
{
	fprintf(stderr, "%s: %s%s%s\n", program_invocation_short_name, what, errno ? ": " : "",
		errno ? strerror(errno) : "");
	exit(1);
}

/* ---- options --------------------------------------------------------------------------------- */

static bool take_word(struct cli *cli, const char *word, uint32_t active, uint32_t passive,
		      uint32_t both)
{
	struct peer *p = cli->context;

	if (!strcmp(word, "active"))
		p->flags |= active;
	else if (!strcmp(word, "passive"))
		p->flags |= passive;
	else if (!strcmp(word, "both"))
		p->flags |= both;
	else
		return cli_wrong(cli, "--%s takes active, passive or both, not \"%s\"",
				 cli->row->name, word);
	return true;
}

bool peer_take_data(struct cli *cli, const char *word)
{
	return take_word(cli, word, PEER_F_TO_ACTIVE, 0, PEER_F_BOTH);
}

bool peer_take_ends(struct cli *cli, const char *word)
{
	return take_word(cli, word, 0, PEER_F_PASSIVE_ENDS, PEER_F_BOTH_END);
}

int peer_parse(const struct cli_program *program, void *values, struct peer *p,
	       struct sockaddr_in *addr, int argc, char **argv)
{
	struct cli cli;
	uint64_t port;
	int rc = cli_take(&cli, program, values, p, argc, argv);

	if (rc != CLI_RUN)
		return rc;
	if (cli.num_words != 3 ||
	    (strcmp(cli.words[0], "listen") && strcmp(cli.words[0], "connect"))) {
		cli_wrong(&cli, "the command line is listen|connect ADDRESS PORT");
		return cli_say(&cli);
	}
	*addr = (struct sockaddr_in){.sin_family = AF_INET};
	if (!inet_aton(cli.words[1], &addr->sin_addr) || !cli_parse_number(cli.words[2], &port) ||
	    port > UINT16_MAX) {
		cli_wrong(&cli, "%s %s: no address and port", cli.words[1], cli.words[2]);
		return cli_say(&cli);
	}
	addr->sin_port = htons((uint16_t)port);
	p->passive = !strcmp(cli.words[0], "listen");
	p->stride = (p->bytes + 63) / 64 * 64 + 64;
	return CLI_RUN;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Every byte of message number depends on its place, the number and the seed. */
static uint8_t byte_of(uint32_t seed, uint32_t number, uint32_t i)
{
	return (uint8_t)(seed + number * 131 + i * 7 + (i >> 8) * 29);
}

/* The data of the passive side, as a source, differs from that of the active one. */
static uint32_t seed_of(const struct peer *p, bool passive)
{
	return passive ? p->seed + 77 : p->seed;
}

void peer_fill(const struct peer *p, uint8_t *to, uint32_t number)
{
	uint32_t seed = seed_of(p, p->passive);

	for (uint32_t i = 0; i < p->bytes; i++)
		to[i] = byte_of(seed, number, i);
}

/* False, with a message, if a byte is wrong. */
static bool is_right(const uint8_t *data, uint32_t bytes, uint32_t seed, uint32_t number)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (data[i] == byte_of(seed, number, i))
			continue;
		fprintf(stderr, "message %u of %u bytes: byte %u is %02x, not %02x\n", number,
			bytes, i, data[i], byte_of(seed, number, i));
		return false;
	}
	return true;
}

void peer_check_data(struct peer *p, const uint8_t *data, uint32_t bytes, uint32_t number)
{
	errno = 0;
	CHECK(peer_is_sink(p) && p->received < p->count, "data that nobody sends");
	CHECK(bytes == p->bytes, "a message of another length");
	CHECK(p->quick || is_right(data, bytes, seed_of(p, !p->passive), number), "wrong data");
	p->received++;
}

/* ---- private data ---------------------------------------------------------------------------- */

struct peer_hello peer_hello(const struct peer *p, uint32_t stag, uint64_t addr)
{
	return (struct peer_hello){
	    .magic = be32_put(PEER_MAGIC),
	    .stag = be32_put(stag),
	    .addr = be64_put(addr),
	    .op = be32_put(p->op),
	    .flags = be32_put(p->flags),
	    .bytes = be32_put(p->bytes),
	    .count = be32_put(p->count),
	    .seed = be32_put(p->seed),
	};
}

void peer_meet(struct peer *p, const void *data, uint32_t bytes)
{
	struct peer_hello hello;

	CHECK(bytes >= sizeof(hello), "no private data of a peer");
	memcpy(&hello, data, sizeof(hello));
	CHECK(be32_get(hello.magic) == PEER_MAGIC, "private data of a stranger");
	p->peer_addr = be64_get(hello.addr);
	p->peer_stag = be32_get(hello.stag);
	if (!p->passive)
		return;
	p->op = be32_get(hello.op);
	p->flags = be32_get(hello.flags);
	p->count = be32_get(hello.count);
	p->seed = be32_get(hello.seed);
	CHECK(p->op < PEER_OPS && be32_get(hello.bytes) == p->bytes, "the peer has another size");
}

/* ---- notes ----------------------------------------------------------------------------------- */

struct peer_note peer_note(enum peer_kind kind, uint32_t number)
{
	return (struct peer_note){be32_put(PEER_MAGIC), be32_put(kind), be32_put(number)};
}

/* A note has a length that no message of data has. */
static bool is_note(const void *data, uint32_t bytes, struct peer_note *note)
{
	if (bytes != sizeof(*note))
		return false;
	memcpy(note, data, sizeof(*note));
	return be32_get(note->magic) == PEER_MAGIC;
}

void peer_take(struct peer *p, const uint8_t *data, uint32_t bytes)
{
	struct peer_note note;

	errno = 0;
	if (!is_note(data, bytes, &note)) {
		peer_check_data(p, data, bytes, p->received);
		return;
	}
	switch (be32_get(note.kind)) {
	case PEER_NOTE_GO:
		p->go = true;
		break;
	case PEER_NOTE_ACK:
		CHECK(be32_get(note.number) <= p->count && be32_get(note.number) >= p->acked,
		      "an acknowledgement of nothing");
		p->acked = be32_get(note.number);
		break;
	case PEER_NOTE_DATA:
		CHECK(be32_get(note.number) == p->received, "a Write out of turn");
		peer_check_data(p, p->sink + (size_t)(p->received % PEER_SLOTS) * p->stride,
				p->bytes, p->received);
		break;
	default:
		peer_die("a note that nobody knows");
	}
}
