/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged segments, for connections of tcp_fix.h and for none; segments changed in flight. Used by
 * tests/sim/tcp_*_ut.c.
 */
#ifndef WEFT_TESTS_TCP_FORGE_H
#define WEFT_TESTS_TCP_FORGE_H

#include "tests/bench/frame.h"
#include "tests/sim/tcp_fix.h"

enum {
	FORGE_LOCAL_PORT = 1000, /* port of the connection of bad_open() */
};

/* A segment that claims to be of a connection's peer. */
struct forged {
	uint32_t seq, ack;
	uint8_t flags;
	uint16_t window;
	const uint8_t *opts; /* NULL: timestamps, when the connection has them */
	uint32_t opt_bytes;
	uint32_t ts_val;
	uint32_t bytes;    /* bytes of payload, 0xee */
	uint16_t src_port; /* belongs to no connection */
	uint32_t src_ip;
	uint8_t offset_words; /* 0: right */
	bool bad_sum;
};

/* Corrects the checksums of IPv4 and TCP of a changed frame. */
void forge_reseal(uint8_t *frame);
/* Puts a segment into a NIC's receive path; flow NULL: to port, from src_ip and src_port. */
void forge_inject(struct sim_nic *nic, const struct tcp_flow *flow, uint16_t port,
		  const struct forged *f);

/* Two NICs with a connection: a is NIC 0's end. */
struct bad {
	struct tcp_world w;
	struct tcp_side *a, *b;
};

/* Opens a connection that has moved some data each way and is idle. */
void bad_open(struct bad *t);
/* Checks that it still works, and closes it. */
void bad_close(struct bad *t);
/* Sends a segment to NIC 0's end, and runs a millisecond. */
void forge(struct bad *t, struct forged f);

/*
 * Sends Unreachable, code and mtu, for a segment of NIC 0's end that began at seq, and runs a
 * millisecond.
 */
void forge_icmp(struct bad *t, uint8_t code, uint16_t mtu, uint32_t seq);

/* Writes a number of an option. */
static inline void put32(uint8_t *p, uint32_t x)
{
	struct be32 v = be32_put(x);

	memcpy(p, &v, sizeof(v));
}

#endif /* WEFT_TESTS_TCP_FORGE_H */
