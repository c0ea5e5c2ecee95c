/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deliberate faults of a link: what happens to the frames on their way to one NIC.
 *
 * lib/fault.h decides by the chances, for links of the simulator and for ports of weftd;
 * lib/fault_words.h has the words that operators use. All fields 0: no faults.
 */
#ifndef WEFT_HW_FAULT_H
#define WEFT_HW_FAULT_H

#include <stdint.h>

enum {
	HW_FAULT_PPM = 1000000,     /* always */
	HW_FAULT_BURST_FRAMES = 10, /* mean length of a burst, unless another is given */
	HW_FAULT_JITTER_NS_MAX = 1000000000,
};
#define HW_FAULT_DELAY_NS_MAX UINT64_C(10000000000)
#define HW_FAULT_RATE_BPS_MIN UINT64_C(1000000)
#define HW_FAULT_RATE_BPS_MAX UINT64_C(1000000000000)

/* Chances per frame, in millionths. */
struct hw_fault_chances {
	uint32_t loss_ppm;
	uint32_t burst_ppm;    /* a burst of losses begins with this frame */
	uint32_t burst_frames; /* mean length of a burst, which lasts at most 1 ms */
	uint32_t dup_ppm;
	uint32_t reorder_ppm;
	uint32_t corrupt_ppm; /* one to four bytes anywhere in the frame change */
};

struct hw_fault {
	struct hw_fault_chances chance;
	uint64_t delay_ns;
	uint64_t jitter_ns; /* most of a random addition to the delay; frames keep their order */
	uint64_t rate_bps;  /* of the line to the NIC; 0: no limit */
	uint64_t seed;      /* of the random choices */
};

#endif /* WEFT_HW_FAULT_H */
