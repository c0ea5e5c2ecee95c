/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the ladder in wire format. Calls shared_defs and the CRC32C of nic_fw.
 */
#ifndef WEFT_BENCH_LADDER_FRAME_H
#define WEFT_BENCH_LADDER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LADDER_FRAME_MAX = 2048,
	LADDER_EDP_PORT = 0x0100, /* our port, to which replies come */
	LADDER_QPN = 0x7e57,      /* our QPN, for replies in datagrams */
	LADDER_PAYLOAD = 4,       /* the number of the round, as in the frames of ESPGOAL */
};

/* The two stations. */
struct ladder_ends {
	uint8_t mac[6], nic_mac[6];
	uint32_t ip, nic_ip; /* network byte order */
};

/* Builds an EDP echo to a port of the NIC; returns its bytes. */
uint32_t ladder_echo(uint8_t *frame, const struct ladder_ends *ends, uint16_t port, uint32_t round);
/* The reply to it. */
bool ladder_is_echo_reply(const uint8_t *frame, uint32_t bytes, uint32_t round);

/* Builds a datagram (UD Send) to a queue pair of the NIC. */
uint32_t ladder_datagram(uint8_t *frame, const struct ladder_ends *ends, uint32_t qpn,
			 uint32_t qkey, uint32_t round);
/* True for a process's answer to it. */
bool ladder_is_datagram(const uint8_t *frame, uint32_t bytes, uint32_t round);

/*
 * If frame is an ARP request for our MAC, builds the answer into reply and returns its bytes; else
 * 0.
 */
uint32_t ladder_arp(const uint8_t *frame, uint32_t bytes, const struct ladder_ends *ends,
		    uint8_t *reply);

#endif /* WEFT_BENCH_LADDER_FRAME_H */
