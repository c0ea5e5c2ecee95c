/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TCP connection over which client and server of weft-bench find each other: lines of JSON, and
 * blocks of bytes behind one. All calls fail after the run's --timeout; 0, or -1 after an error
 * message.
 */
#ifndef WEFT_BENCH_OOB_H
#define WEFT_BENCH_OOB_H

#include <jansson.h>
#include <stddef.h>

#include "tools/weft-bench/bench.h"

struct oob {
	int fd;
	int timeout_ms;
};

/* Opens the server's socket; prints "listening on port N" on stderr when clients can connect. */
int oob_listen(const struct opts *o, int *listen_fd);
int oob_accept(const struct opts *o, int listen_fd, struct oob *oob);

/* Retries until the server listens. */
int oob_connect(const struct opts *o, struct oob *oob);

/* By the options: listens and accepts one client, or connects. */
int oob_open(const struct opts *o, struct oob *oob);
void oob_close(struct oob *oob);

/* Takes the reference to msg. */
int oob_send(struct oob *oob, json_t *msg);
int oob_recv(struct oob *oob, json_t **msg);

int oob_send_bytes(struct oob *oob, const void *data, size_t bytes);
int oob_recv_bytes(struct oob *oob, void *data, size_t bytes);

/* True if data can be received, or the other end is gone. Does not block. */
bool oob_ready(const struct oob *oob);

/* A whole number of a message, or -1 after an error message if it is missing or outside 0..max. */
int oob_number(const json_t *msg, const char *key, uint64_t max, uint64_t *out);

#endif /* WEFT_BENCH_OOB_H */
