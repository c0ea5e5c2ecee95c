/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Length of a core's turns.
 *
 * A request waits for the rest of the turn in which its doorbell rings, and its packet for that of
 * its receiver. Long turns are cheaper for bulk; a program that waits for each of its messages sees
 * nothing but the delay. So a lone request (FW_DID_LONE) makes turns short for FW_PACE_HOLD_NS, and
 * they stay so while FW_PACE_LONE of them come in each such time, as messages to and fro do. The
 * credits and announcements of bulk are rarer; after a trial in vain turns are long for a time that
 * doubles with each. One pace for all shards of a core, since all wait for each other's turns. The
 * caller of fw_poll() has one.
 */
#ifndef WEFT_FW_PACE_H
#define WEFT_FW_PACE_H

#include <stdint.h>

#include "nic_fw/fw.h"

enum {
	FW_PACE_LONE = 5,
};
#define FW_PACE_HOLD_NS UINT64_C(200000)
/* Between trials in vain: the least time, and the most, of which one trial is a hundredth. */
#define FW_PACE_MIN_NS UINT64_C(200000)
#define FW_PACE_MAX_NS UINT64_C(20000000)

/* Zero-filled: nothing was tried. */
struct fw_pace {
	uint64_t short_until_ns;
	uint64_t next_ns; /* of the next trial, at the earliest */
	uint64_t wait_ns; /* for it, since the last one in vain; 0: the last one succeeded */
	uint32_t lone;    /* requests in this FW_PACE_HOLD_NS */
};

/* Returns the budget of a turn that begins now. */
static inline uint32_t fw_pace_budget(const struct fw_pace *pace, uint64_t now_ns)
{
	return now_ns < pace->short_until_ns ? FW_TURN_SHORT : FW_TURN_LONG;
}

/* Takes note of the fw_did() of the turn that began at now_ns. */
void fw_pace_note(struct fw_pace *pace, uint32_t did, uint64_t now_ns);

#endif /* WEFT_FW_PACE_H */
