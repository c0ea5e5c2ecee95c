/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The near end of --netdev: connections to `weft-tune serve`, and the traffic that is measured.
 *
 * The protocol is in net_wire.h. All calls look at *stop every 100 ms and return -EINTR then, and
 * -EPIPE when the other end has gone. Errors leave a line for the user.
 */
#ifndef WEFT_MEASURE_NET_PEER_H
#define WEFT_MEASURE_NET_PEER_H

#include "tools/weft-measure/net_host.h"
#include "tools/weft-measure/net_wire.h"
#include "tools/weft-measure/target.h"

struct net_peer {
	char where[128]; /* ADDRESS[:PORT] as it was given */
	char iface[16];  /* through which all goes; "": as routes say */
	int control, bulk, udp;
	struct net_line line;
	uint64_t ping; /* number of the last one */
};

void net_peer_init(struct net_peer *peer, const char *where, const char *iface);
int net_peer_open(struct net_peer *peer, const volatile bool *stop, char *error);
bool net_peer_is_open(const struct net_peer *peer);
void net_peer_close(struct net_peer *peer);

/* Has the other end set its interface, or put it back (setting NULL). */
int net_peer_set(struct net_peer *peer, const struct tune_setting *setting,
		 const volatile bool *stop, char *error);
/* Reads the other host's interrupts and processor time until now. */
int net_peer_host(struct net_peer *peer, struct net_host *host, const volatile bool *stop,
		  char *error);
/* Half a round trip, in ns. Datagrams that get lost are sent anew. */
int net_peer_ping(struct net_peer *peer, double *ns, const volatile bool *stop, char *error);
/* Has so many bytes sent, and takes them all; how long it took. */
int net_peer_bulk(struct net_peer *peer, uint64_t bytes, double *ns, const volatile bool *stop,
		  char *error);

/* "ADDRESS", "ADDRESS:PORT", "[V6]:PORT" into its parts; false: it is none of these. */
bool net_peer_parse(const char *where, char *address, size_t address_chars, char *port,
		    size_t port_chars);

#endif /* WEFT_MEASURE_NET_PEER_H */
