/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sk_data.c and sk_exec.c, plain sockets programs, share: a server's address, connections to
 * it. All of it must work: else the program ends with exit status 1.
 */
#ifndef WEFT_TESTS_SK_CALLS_H
#define WEFT_TESTS_SK_CALLS_H

#include <netinet/in.h>

#include "tests/clients/stream_data.h"

enum {
	WAIT_MS = 20000, /* for what must come */
};

/* main() sets its address, listener() its port. */
extern struct sockaddr_in server;

/* A listener on server's address, or on ip, with a port that the system chose. */
int listener(const char *ip);
/* A connection to it, and both ends of one. */
int client(void);
void pair(int listen_fd, int fd[2]);
/* Of poll(2), of one descriptor. */
short poll_one(int fd, short events, int ms);
/* This is what comes next. */
void expect(int fd, const char *text);

#endif /* WEFT_TESTS_SK_CALLS_H */
