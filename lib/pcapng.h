/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcapng blocks, as the IETF draft "PCAP Next Generation Dump File Format" has them, little-endian.
 * Most functions write a whole block to dst and return its bytes. Calls string.h; thread-safe.
 */
#ifndef WEFT_LIB_PCAPNG_H
#define WEFT_LIB_PCAPNG_H

#include <stdint.h>

enum {
	PCAPNG_SECTION_BYTES = 28,
	PCAPNG_INTERFACE_MAX = 64,
	/* An enhanced packet block without the frame. */
	PCAPNG_PACKET_OVERHEAD = 32 + 4 + 8 + 12 + 4,
};

/* Values of direction. */
enum {
	PCAPNG_INBOUND = 1,
	PCAPNG_OUTBOUND = 2,
};

/* The block that a file begins with. */
uint32_t pcapng_section(uint8_t *dst);

/*
 * An Ethernet interface with times in ns; interfaces are numbered from 0 in the order of their
 * blocks. At most 15 characters of the name are taken.
 */
uint32_t pcapng_interface(uint8_t *dst, const char *name);

/*
 * One frame of an interface. dropped: frames lost before it. dst has room for bytes rounded up to 4
 * and PCAPNG_PACKET_OVERHEAD.
 */
uint32_t pcapng_packet(uint8_t *dst, uint32_t interface, uint64_t time_ns, uint32_t direction,
		       uint64_t dropped, const void *frame, uint32_t bytes);

/*
 * Returns how many frames an enhanced packet block says were lost before its own; 0 if it does not
 * say so, or is malformed. bytes: of the whole block.
 */
uint64_t pcapng_dropped(const uint8_t *block, uint32_t bytes);

#endif /* WEFT_LIB_PCAPNG_H */
