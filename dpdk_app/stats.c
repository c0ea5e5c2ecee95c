/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of counters of a shard. Names of the firmware stand as they are; "port_" is the
 * shard's own side of the wire, "switch_" and "wire_" the wire, "core_" the core, which the
 * shards that it runs have in common.
 *
 * Called by msg.c on the core; calls fw_stat() and the wire.
 */
#include "dpdk_app/stats.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_app/capture.h"
#include "dpdk_app/impair.h"
#include "dpdk_app/wire.h"

struct stats_field {
	const char *name;
	size_t offset;
};

#define PORT_FIELD(name)                                                                           \
	{                                                                                          \
		"port_" #name, offsetof(struct port_stats, name)                                   \
	}
static const struct stats_field port_fields[] = {
    PORT_FIELD(rx_frames),
    PORT_FIELD(rx_bytes),
    PORT_FIELD(tx_frames),
    PORT_FIELD(tx_bytes),
    PORT_FIELD(rx_linearised),
    PORT_FIELD(drop_rx_short),
    PORT_FIELD(drop_rx_segments),
    PORT_FIELD(drop_rx_ring_full),
    PORT_FIELD(tx_no_mbuf),
    PORT_FIELD(tx_host_faults),
    PORT_FIELD(tx_host_busy),
    PORT_FIELD(tx_bad_frames),
    PORT_FIELD(tx_loop_frames),
    PORT_FIELD(drop_loop_full),
    PORT_FIELD(tx_borrowed),
    PORT_FIELD(tx_settled),
    PORT_FIELD(host_reads),
    PORT_FIELD(host_writes),
    PORT_FIELD(host_faults),
    {"port_host_copies", offsetof(struct port_stats, host.copies)},
    {"port_host_copy_waits", offsetof(struct port_stats, host.waits)},
    {"port_host_copies_given_up", offsetof(struct port_stats, host.given_up)},
    {"port_host_copies_refused", offsetof(struct port_stats, host.refused)},
    PORT_FIELD(irqs),
    PORT_FIELD(irq_submits),
    PORT_FIELD(wire_pauses),
    PORT_FIELD(drop_wire_full),
    PORT_FIELD(drop_wire_stuck),
    PORT_FIELD(drop_wire_unknown),
    PORT_FIELD(drop_wire_down),
    PORT_FIELD(rx_ring),
    PORT_FIELD(tx_ring),
    PORT_FIELD(echoes),
};

#define CORE_FIELD(name)                                                                           \
	{                                                                                          \
		"core_" #name, offsetof(struct core_stats, name)                                   \
	}
static const struct stats_field core_fields[] = {
    CORE_FIELD(turns),
    CORE_FIELD(busy_turns),
    CORE_FIELD(yields),
    CORE_FIELD(sleeps),
    CORE_FIELD(wakes_doorbell),
    CORE_FIELD(wakes_frame),
    CORE_FIELD(wakes_message),
    CORE_FIELD(wakes_timer),
    CORE_FIELD(shared),
    CORE_FIELD(cpu),
    CORE_FIELD(role),
    CORE_FIELD(wake_serve_ns_last),
    CORE_FIELD(wake_serve_ns_max),
    CORE_FIELD(wake_doorbell_ns_last),
    CORE_FIELD(wake_doorbell_ns_max),
};

void stats_put(struct hw_stat *stat, const char *prefix, const char *name, uint64_t value)
{
	memset(stat, 0, sizeof(*stat));
	snprintf(stat->name, sizeof(stat->name), "%s%s", prefix, name);
	stat->value = value;
}

static uint32_t put_fields(struct hw_stat *stat, uint32_t max, const struct stats_field *field,
			   size_t count, const void *base)
{
	uint32_t n = 0;

	for (size_t i = 0; i < count && n < max; i++) {
		uint64_t value;

		memcpy(&value, (const uint8_t *)base + field[i].offset, sizeof(value));
		stats_put(&stat[n++], "", field[i].name, value);
	}
	return n;
}

static uint32_t put_impair(struct hw_stat *stat, uint32_t max, const struct impair *im)
{
	if (!im || max < 5)
		return 0;
	stats_put(&stat[0], "switch_", "lost", im->stats.lost);
	stats_put(&stat[1], "switch_", "duplicated", im->stats.duplicated);
	stats_put(&stat[2], "switch_", "reordered", im->stats.reordered);
	stats_put(&stat[3], "switch_", "overflowed", im->stats.overflowed);
	stats_put(&stat[4], "switch_", "queued", im->num_queued + im->num_held);
	return 5;
}

uint32_t stats_all(const struct shard *shard, struct hw_stat *stat, uint32_t max)
{
	const struct nic *nic = shard->nic;
	const struct capture *capture;
	const char *name;
	uint64_t value;
	uint32_t n = 0;

	while (n < max && fw_stat(shard->fw, n, &name, &value))
		stats_put(&stat[n++], "", name, value);
	n += put_fields(stat + n, max - n, port_fields,
			sizeof(port_fields) / sizeof(port_fields[0]), &shard->stats);
	n += put_impair(stat + n, max - n, shard->impair);
	/* The wire belongs to the core of shard 0, and so do its counters. */
	if (shard->number == 0 && nic->wire->ops->stats)
		n += nic->wire->ops->stats(nic->wire, stat + n, max - n);
	n += put_fields(stat + n, max - n, core_fields,
			sizeof(core_fields) / sizeof(core_fields[0]), &shard->core->stats);
	n += turns_stats(&shard->core->turns, stat + n, max - n);
	capture = atomic_load_explicit(&nic->capture, memory_order_acquire);
	/* The NIC's, so once. */
	if (n < max && shard->number == 0)
		stats_put(&stat[n++], "attach_", "memory_refused",
			  atomic_load_explicit(&nic->memory_refused, memory_order_relaxed));
	if (n < max)
		stats_put(&stat[n++], "capture_", "dropped",
			  capture ? capture_dropped(capture, shard) : 0);
	return n;
}

void stats_answer(const struct shard *shard, uint32_t cursor, struct hw_resp_stats *resp)
{
	struct hw_stat all[STATS_MAX];
	uint32_t count = stats_all(shard, all, STATS_MAX);
	uint32_t n = 0;

	while (cursor < count && n < HW_STATS_PER_RESP)
		resp->stat[n++] = all[cursor++];
	resp->count = n;
	resp->next = cursor;
}
