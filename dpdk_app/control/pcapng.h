/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcapng blocks, as the IETF draft "PCAP Next Generation Dump File Format" has them.
 *
 * Used by capture.c. Each function writes a whole block to dst and returns its bytes.
 */
#ifndef WEFT_APP_PCAPNG_H
#define WEFT_APP_PCAPNG_H

#include <stdint.h>

enum {
	PCAPNG_HEADER_MAX = 160, /* section header and interface description together */
	/* An enhanced packet block without the frame. */
	PCAPNG_PACKET_OVERHEAD = 32 + 4 + 8 + 12 + 4,
};

/* Section header and one Ethernet interface with times in ns. */
uint32_t pcapng_header(uint8_t *dst, const char *interface_name);

/*
 * One frame. direction: 1 inbound, 2 outbound; dropped: frames lost before it. dst has room
 * for bytes rounded up to 4 and PCAPNG_PACKET_OVERHEAD.
 */
uint32_t pcapng_packet(uint8_t *dst, uint64_t time_ns, uint32_t direction, uint64_t dropped,
		       const void *frame, uint32_t bytes);

#endif /* WEFT_APP_PCAPNG_H */
