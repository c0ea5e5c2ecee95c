/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench tag: messages that the NIC matches, between two processes. Calls tag_*.c in processes
 * of their own (crew.c). docs/tagged.md has the figures.
 *
 *	lat		half a round trip, by size
 *	bw		stream of long messages
 *	rate		stream of messages of 64 bytes
 *	match		latency behind many posted receives, and behind many unexpected messages
 *	overlap		computation that a message hides (Rashti's thesis, equation 3.4)
 *	adapt		announcements sent and used, over time
 *	freq		small messages from memory that is not registered
 *	ring		latency of messages that are written to rings of buffers, one for each peer
 */
#include "tools/weft-bench/tag.h"

static const struct crew_part parts[] = {
    {"lat", tag_lat, 2, 2},     {"bw", tag_bw, 2, 2},           {"rate", tag_rate, 2, 2},
    {"match", tag_match, 2, 2}, {"overlap", tag_overlap, 2, 2}, {"adapt", tag_adapt, 2, 2},
    {"freq", tag_freq, 2, 2},   {"ring", tag_ring, 2, 2},
};

int tag_run(struct opts *o)
{
	return crew_parts(o, parts, sizeof(parts) / sizeof(parts[0]));
}
