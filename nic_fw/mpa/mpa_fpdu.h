/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of FPDUs and markers: bytes of the stream that a record takes.
 *
 * "Plain" bytes are those of an FPDU without its markers: length field, ULPDU, PAD, CRC. A marker
 * stands at each position of the stream that is a multiple of 512, counted from the first byte of
 * FPDU mode, markers included; a marker at the end of an FPDU belongs to the next. An FPDU that
 * begins at such a position therefore begins with a marker. Positions of FPDUs are multiples of 4,
 * so a marker never divides an aligned field of 4 bytes, as the length field and the CRC are. Calls
 * nothing. RFC 5044 4.1-4.4.
 */
#ifndef WEFT_FW_MPA_FPDU_H
#define WEFT_FW_MPA_FPDU_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/wire_mpa.h"

enum {
	MPA_LENGTH_BYTES = sizeof(struct wire_mpa_fpdu),
	/* Overhead of an FPDU around its ULPDU, without PAD. */
	MPA_FRAME_BYTES = MPA_LENGTH_BYTES + WIRE_MPA_CRC_BYTES,
	/* Plain bytes between two markers. */
	MPA_MARKER_GAP = WIRE_MPA_MARKER_DISTANCE - WIRE_MPA_MARKER_BYTES,
	MPA_PLAIN_MAX = (MPA_LENGTH_BYTES + 0xffff + 3) / 4 * 4 + WIRE_MPA_CRC_BYTES,
};

/* Plain bytes of the FPDU of a ULPDU. */
static inline uint32_t mpa_plain_bytes(uint32_t ulpdu_bytes)
{
	return ((MPA_LENGTH_BYTES + ulpdu_bytes + 3) & ~3u) + WIRE_MPA_CRC_BYTES;
}

/* Plain bytes before the first marker of an FPDU that begins at this position. */
static inline uint32_t mpa_first_gap(uint64_t at)
{
	return (uint32_t)(-at & (WIRE_MPA_MARKER_DISTANCE - 1));
}

/* Bytes of the stream that plain bytes take from this position on. */
static inline uint32_t mpa_stream_bytes(uint64_t at, uint32_t plain, bool markers)
{
	uint32_t gap = mpa_first_gap(at);

	if (!markers || plain <= gap)
		return plain;
	return plain + ((plain - gap - 1) / MPA_MARKER_GAP + 1) * WIRE_MPA_MARKER_BYTES;
}

/* Returns the most plain bytes, a multiple of 4, that take no more than max bytes of the stream. */
static inline uint32_t mpa_plain_room(uint64_t at, uint32_t max, bool markers)
{
	uint32_t gap = mpa_first_gap(at), rest;

	max &= ~3u;
	if (!markers || max <= gap)
		return max;
	rest = (max - gap) % WIRE_MPA_MARKER_DISTANCE;
	return gap + (max - gap) / WIRE_MPA_MARKER_DISTANCE * MPA_MARKER_GAP +
	       (rest ? rest - WIRE_MPA_MARKER_BYTES : 0);
}

/*
 * Returns the FPDUPTR of a marker at this position, in an FPDU that begins at at: its distance
 * behind the length field; 0 when the length field follows it. RFC 5044 4.3.
 */
static inline uint16_t mpa_fpduptr(uint32_t at, uint32_t marker)
{
	uint32_t behind = marker - at;

	return (uint16_t)(behind && !mpa_first_gap(at) ? behind - WIRE_MPA_MARKER_BYTES : behind);
}

#endif /* WEFT_FW_MPA_FPDU_H */
