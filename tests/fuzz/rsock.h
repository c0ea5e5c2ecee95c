/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two halves of the fuzz target `rsock`: rsock.c has streams and the target's entry,
 * rsock_dgram.c datagrams.
 */
#ifndef WEFT_TESTS_FUZZ_RSOCK_H
#define WEFT_TESTS_FUZZ_RSOCK_H

struct take;

/* Runs an input: datagrams of any content to an end of a socket, which the program reads. */
void rsock_dgram(struct take *in);

#endif /* WEFT_TESTS_FUZZ_RSOCK_H */
