/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two ends of a run: a client and a server that find each other over TCP, or both in this
 * process (loop). Functions return 0, or -1 after an error message.
 */
#ifndef WEFT_BENCH_PAIR_H
#define WEFT_BENCH_PAIR_H

#include "tools/weft-bench/ep.h"
#include "tools/weft-bench/oob.h"

struct pair {
	struct opts *o;
	struct ep a; /* our end; loop: the client's */
	struct ep b; /* loop: the server's */
	struct oob oob;
};

/*
 * Opens the end or ends and exchanges their addresses. A server takes transport, operation, size,
 * window and counts from its client: they are written to o.
 */
int pair_open(struct pair *p, struct opts *o);
void pair_close(struct pair *p);

/* A barrier of both ends: receives are posted, the data may come. */
int pair_sync(struct pair *p);

/* Client: sends its count to the server, and receives its report. Takes no reference. */
int pair_finish(struct pair *p, uint64_t sent, json_t **account);

/* Server, when oob can be read: receives the client's count. */
int pair_sent(struct pair *p, uint64_t *sent);

#endif /* WEFT_BENCH_PAIR_H */
