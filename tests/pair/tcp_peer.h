/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A TCP peer whose bytes the test chooses, in the place of end 0 of rd_pair.h. It keeps the bytes
 * that end 1 sends.
 */
#ifndef WEFT_TESTS_TCP_PEER_H
#define WEFT_TESTS_TCP_PEER_H

#include "tests/pair/cm_pair.h"

enum {
	TP_PORT = 40000, /* the peer's port */
	TP_BYTES = 1 << 16,
	TP_MSS = 1448,
};

struct tcp_peer {
	struct cp cp;
	uint16_t mss;       /* announced by the peer */
	uint16_t peer_port; /* the peer's; that of end 1 */
	uint16_t nic_port;
	uint32_t snd, rcv;           /* next sequence numbers */
	bool open;                   /* the handshake is complete */
	bool refused, reset, closed; /* RST to SYN; RST; FIN received */
	uint32_t syns;               /* that the NIC sent */
	uint64_t syn_ns;             /* time of the last */
	bool deaf;                   /* accepts only RST, acknowledges nothing */
	bool full;                   /* its window is 0 */
	uint8_t rx[TP_BYTES];        /* bytes that the NIC sent */
	uint32_t rx_bytes;
};

void tcp_peer_begin(struct tcp_peer *tp);
/* Asserts that nothing is in use at end 1. */
void tcp_peer_end(struct tcp_peer *tp);
/* Drops the connection. */
void tcp_peer_new(struct tcp_peer *tp);
/* Active open: SYN to the NIC's port, and the rest of the handshake. Asserts nothing. */
void tcp_peer_connect(struct tcp_peer *tp, uint16_t port);
/*
 * The process of end 1 requests a connection to the peer for a QP of its own, which is returned;
 * the handshake gets 10 ms. cm: further fields of the request; port, transport, QP, address and
 * endpoint are filled in.
 */
struct fw_qp *tcp_peer_ask(struct tcp_peer *tp, struct hw_cmd_cm *cm);
/* Sends bytes in segments of a given maximum size; 0: in one. */
void tcp_peer_send(struct tcp_peer *tp, const void *data, uint32_t bytes, uint32_t segment);
void tcp_peer_fin(struct tcp_peer *tp);
void tcp_peer_rst(struct tcp_peer *tp);

#endif /* WEFT_TESTS_TCP_PEER_H */
