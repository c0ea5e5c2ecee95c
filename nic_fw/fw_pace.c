/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Length of turns: trials, and what they show. fw_pace.h has the rule.
 */
#include "nic_fw/fw_pace.h"

void fw_pace_note(struct fw_pace *pace, uint32_t did, uint64_t now_ns)
{
	if (!(did & FW_DID_LONE))
		return;
	if (now_ns < pace->short_until_ns) {
		if (++pace->lone < FW_PACE_LONE)
			return;
		pace->wait_ns = pace->next_ns = 0;
	} else {
		if (now_ns < pace->next_ns)
			return;
		pace->wait_ns = pace->wait_ns ? 2 * pace->wait_ns : FW_PACE_MIN_NS;
		if (pace->wait_ns > FW_PACE_MAX_NS)
			pace->wait_ns = FW_PACE_MAX_NS;
		pace->next_ns = now_ns + FW_PACE_HOLD_NS + pace->wait_ns;
	}
	pace->lone = 0;
	pace->short_until_ns = now_ns + FW_PACE_HOLD_NS;
}
