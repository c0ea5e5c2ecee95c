/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the ladder in wire format (tests/bench/frame.h).
 */
#ifndef WEFT_BENCH_LADDER_FRAME_H
#define WEFT_BENCH_LADDER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/frame.h"

enum {
	LADDER_EDP_PORT = 0x0100, /* our port, to which replies come */
	LADDER_QPN = 0x7e57,      /* our QPN, for replies in datagrams */
	LADDER_PAYLOAD = 4,       /* the number of the round, as in the frames of ESPGOAL */
};

/* The two stations. */
struct ladder_ends {
	uint8_t mac[6], nic_mac[6];
	uint32_t ip, nic_ip; /* network byte order */
};

/* Builds an EDP echo to a port of the NIC. */
void ladder_echo(struct frame *f, const struct ladder_ends *ends, uint16_t port, uint32_t round);
/* True for the reply to it; spoils the frame. */
bool ladder_is_echo_reply(struct frame *f, uint32_t round);

/* Builds a datagram (UD Send) to a queue pair of the NIC. */
void ladder_datagram(struct frame *f, const struct ladder_ends *ends, uint32_t qpn, uint32_t qkey,
		     uint32_t round);
/* True for a process's answer to it. */
bool ladder_is_datagram(struct frame *f, uint32_t round);

/* If f is an ARP request for our MAC, builds the answer and returns true. */
bool ladder_arp(const struct frame *f, const struct ladder_ends *ends, struct frame *reply);

#endif /* WEFT_BENCH_LADDER_FRAME_H */
