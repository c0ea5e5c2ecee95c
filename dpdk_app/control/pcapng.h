/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcapng blocks, following the IETF draft "PCAP Next Generation Dump File Format".
 *
 * Each function writes one block to dst and returns its length.
 */
#ifndef WEFT_APP_PCAPNG_H
#define WEFT_APP_PCAPNG_H

#include <stdint.h>

enum {
	PCAPNG_HEADER_MAX = 160, /* section header plus interface description */
	/* An enhanced packet block without the frame. */
	PCAPNG_PACKET_OVERHEAD = 32 + 4 + 8 + 12 + 4,
};

/* Writes the section header and one Ethernet interface with times in ns. */
uint32_t pcapng_header(uint8_t *dst, const char *interface_name);

/*
 * Writes one frame. direction: 1 inbound, 2 outbound; dropped: frames lost before it. dst must have
 * room for bytes rounded up to 4, plus PCAPNG_PACKET_OVERHEAD.
 */
uint32_t pcapng_packet(uint8_t *dst, uint64_t time_ns, uint32_t direction, uint64_t dropped,
		       const void *frame, uint32_t bytes);

#endif /* WEFT_APP_PCAPNG_H */
