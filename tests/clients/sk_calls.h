/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of the plain sockets programs sk_data.c and sk_exec.c: a server's address, connections to
 * it. Any failure ends the program with exit status 1.
 */
#ifndef WEFT_TESTS_SK_CALLS_H
#define WEFT_TESTS_SK_CALLS_H

#include <netinet/in.h>

#include "tests/clients/stream_data.h"

enum {
	WAIT_MS = 20000, /* ms for an event that must come */
};

/* main() sets its address, listener() its port. */
extern struct sockaddr_in server;

/* Makes a listener on server's address, or on ip, with a port that the system chose. */
int listener(const char *ip);
/* Makes a connection to it, and both ends of one. */
int client(void);
void pair(int listen_fd, int fd[2]);
/* poll(2) of one descriptor. */
short poll_one(int fd, short events, int ms);
/* Checks the next bytes. */
void expect(int fd, const char *text);

#endif /* WEFT_TESTS_SK_CALLS_H */
