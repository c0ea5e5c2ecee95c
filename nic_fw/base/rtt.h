/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The smoothed round-trip time and its deviation, and the time-out of both: RFC 6298 2.
 *
 * RD, TCP, ESP and group messages each choose their samples, limits and back-off.
 */
#ifndef WEFT_FW_RTT_H
#define WEFT_FW_RTT_H

#include <stdint.h>

struct fw_rtt {
	uint64_t srtt_ns; /* 0: no sample yet */
	uint64_t var_ns;
};

/* Takes a sample. */
static inline void fw_rtt_sample(struct fw_rtt *rtt, uint64_t ns)
{
	uint64_t error_ns;

	if (!rtt->srtt_ns) {
		rtt->srtt_ns = ns ? ns : 1;
		rtt->var_ns = ns / 2;
		return;
	}
	error_ns = ns > rtt->srtt_ns ? ns - rtt->srtt_ns : rtt->srtt_ns - ns;
	rtt->var_ns = (3 * rtt->var_ns + error_ns) / 4;
	rtt->srtt_ns = (7 * rtt->srtt_ns + ns) / 8;
}

/* Returns the time-out, min_ns at least; first_ns before the first sample. */
static inline uint64_t fw_rtt_timeout_ns(const struct fw_rtt *rtt, uint64_t first_ns,
					 uint64_t min_ns)
{
	uint64_t ns = rtt->srtt_ns ? rtt->srtt_ns + 4 * rtt->var_ns : first_ns;

	return ns < min_ns ? min_ns : ns;
}

#endif /* WEFT_FW_RTT_H */
