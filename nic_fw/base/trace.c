/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns the event trace on and off.
 *
 * fw_trace() (fw_nic.h) emits the events at each stage of the walk; shared_defs/trace_events.h
 * lists them.
 */
#include "nic_fw/fw_nic.h"

void fw_set_trace(struct fw_nic *nic, fw_trace_fn fn, void *ctx)
{
	nic->trace = fn;
	nic->trace_ctx = ctx;
}
