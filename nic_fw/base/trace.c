/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns the event trace on and off.
 *
 * Called by dpdk_app and sim_harness; the events themselves are emitted by fw_trace()
 * (fw_nic.h) at each stage of the walk, shared_defs/trace_events.h.
 */
#include "nic_fw/fw_nic.h"

void fw_set_trace(struct fw_nic *nic, fw_trace_fn fn, void *ctx)
{
	nic->trace = fn;
	nic->trace_ctx = ctx;
}
