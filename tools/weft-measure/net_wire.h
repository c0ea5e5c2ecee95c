/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol between target netdev and `weft-measure serve`.
 *
 * One port, of TCP and of UDP. The first TCP connection of a host carries lines of text, a
 * second one of the same host the bulk. Datagrams from that host are sent back as they come.
 *
 *	weft-tune 1		weft-tune 1 NAME	its interface, "-" for none
 *	set W0 W1 ... W7	ok | error TEXT		values by enum hw_coalesce_param
 *	set W0 ... W7 adaptive	ok | error TEXT		the driver chooses, where it can
 *	restore			ok | error TEXT
 *	host			host IRQS BUSY IDLE	IRQS -1: not known; seconds
 *	send BYTES					so many, on the second connection
 *
 * net_peer.c sends the requests of the left column, serve.c the answers.
 */
#ifndef WEFT_MEASURE_NET_WIRE_H
#define WEFT_MEASURE_NET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/weft-measure/eth_coal.h"
#include "tools/weft-measure/tune.h"

enum {
	NET_PORT = 47990,
	NET_LINE_CHARS = 512,
	NET_CHUNK_BYTES = 65536,
};
#define NET_HELLO "weft-tune 1"

/* A line that comes in pieces. */
struct net_line {
	char text[NET_LINE_CHARS];
	size_t chars;
};

/*
 * Reads what there is, without waiting. 1: a line is in text, zero-terminated, the newline gone; 0:
 * not yet; a negative errno, -EPIPE at the end of the connection. net_line_next() before the next.
 */
int net_line_read(int fd, struct net_line *line);
void net_line_next(struct net_line *line);

/* Writes a line, all of it. 0, or a negative errno. */
int net_say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An interface that is tuned, at either end. */
struct net_if {
	char name[16]; /* "": none */
	struct eth_coal initial;
	uint32_t can; /* parameters that can be set */
	uint32_t highest[HW_COALESCE_NUM_PARAMS];
	bool changed;
};

/* Reads what is set, and what can be. Negative errno with a line in error. */
int net_if_open(struct net_if *nif, const char *name, char *error);
/* A class with both limits 0 is one interrupt for each frame: 1 frame in ethtool's words. */
int net_if_apply(struct net_if *nif, const struct tune_setting *setting, char *error);
int net_if_restore(struct net_if *nif, char *error);

#endif /* WEFT_MEASURE_NET_WIRE_H */
