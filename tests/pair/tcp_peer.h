/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that speaks TCP in a test's own words, in the place of end 0 of rd_pair.h: it sends what
 * bytes the test likes, and keeps what end 1 sends.
 *
 * One connection at a time; nothing is lost, repeated or out of order. End 0 answers ARP as
 * ever. Included by mpa_{conn,data,replay,slow}_ut.c; tcp_peer.c implements it.
 */
#ifndef WEFT_TESTS_TCP_PEER_H
#define WEFT_TESTS_TCP_PEER_H

#include "tests/pair/cm_pair.h"

enum {
	TP_PORT = 40000, /* the peer's */
	TP_BYTES = 1 << 16,
	TP_MSS = 1448,
};

struct tp {
	struct cp cp;
	uint16_t mss;       /* that the peer says it takes */
	uint16_t peer_port; /* ours; of end 1's */
	uint16_t nic_port;
	uint32_t snd, rcv;           /* next sequence numbers */
	bool open;                   /* SYNs were exchanged */
	bool refused, reset, closed; /* RST to SYN; RST; FIN came */
	uint32_t syns;               /* that the NIC sent */
	bool deaf;                   /* takes nothing but RST, acknowledges nothing */
	bool full;                   /* its window is 0 */
	uint8_t rx[TP_BYTES];        /* what the NIC sent */
	uint32_t rx_bytes;
};

void tp_begin(struct tp *tp);
/* Asserts that nothing is in use at end 1. */
void tp_end(struct tp *tp);
/* Forgets the connection. */
void tp_new(struct tp *tp);
/* Active: SYN to the NIC's port, and the rest of the handshake. Asserts nothing. */
void tp_connect(struct tp *tp, uint16_t port);
/*
 * The process of end 1 asks the peer for a connection of a QP of its own, which is returned; 10 ms
 * for the handshake. cm: what else it asks for; port, transport, QP, address and endpoint are
 * put in.
 */
struct fw_qp *tp_ask(struct tp *tp, struct hw_cmd_cm *cm);
/* Sends bytes in segments of at most so many; 0: in one. */
void tp_send(struct tp *tp, const void *data, uint32_t bytes, uint32_t segment);
void tp_fin(struct tp *tp);
void tp_rst(struct tp *tp);

#endif /* WEFT_TESTS_TCP_PEER_H */
