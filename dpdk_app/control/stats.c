/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of counters of a shard. The firmware's counters keep their names. "port_" is the shard's
 * side of the wire, "switch_" and "wire_" the wire, "core_" the core, which all its shards share.
 *
 * Runs on the core; calls fw_stat() and the wire.
 */
#include "dpdk_app/control/stats.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_app/control/capture.h"
#include "dpdk_app/wire/impair.h"
#include "dpdk_app/wire/wire.h"

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
    PORT_FIELD(placed_bytes),
    PORT_FIELD(streamed_bytes),
    PORT_FIELD(host_reads),
    PORT_FIELD(host_writes),
    PORT_FIELD(host_atomics),
    PORT_FIELD(host_faults),
    {"port_host_copies", offsetof(struct port_stats, host.copies)},
    {"port_host_copy_waits", offsetof(struct port_stats, host.waits)},
    {"port_host_copies_given_up", offsetof(struct port_stats, host.given_up)},
    {"port_host_copies_refused", offsetof(struct port_stats, host.refused)},
    PORT_FIELD(irqs),
    PORT_FIELD(irq_submits),
    PORT_FIELD(irqs_late),
    PORT_FIELD(wire_pauses),
    PORT_FIELD(drop_wire_full),
    PORT_FIELD(drop_wire_stuck),
    PORT_FIELD(drop_wire_unknown),
    PORT_FIELD(drop_wire_down),
    PORT_FIELD(rx_ring),
    PORT_FIELD(rx_passed),
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
    CORE_FIELD(busy_ns),
    CORE_FIELD(yields),
    CORE_FIELD(yields_long),
    CORE_FIELD(sleeps),
    CORE_FIELD(wakes_doorbell),
    CORE_FIELD(wakes_frame),
    CORE_FIELD(wakes_message),
    CORE_FIELD(wakes_timer),
    CORE_FIELD(power_pauses),
    CORE_FIELD(power_monitors),
    CORE_FIELD(calls),
    CORE_FIELD(runners),
    CORE_FIELD(runners_rt),
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

/* The requested counters: from number skip on, up to room. Only those are read. */
struct window {
	struct hw_stat *stat;
	uint32_t skip, room, n;
};

/* Returns true if some of the next count counters are requested; otherwise skips them. */
static bool wants(struct window *w, uint32_t count)
{
	if (w->n < w->room && w->skip < count)
		return true;
	w->skip -= w->skip < count ? w->skip : count;
	return false;
}

static void put(struct window *w, const char *prefix, const char *name, uint64_t value)
{
	if (w->skip)
		w->skip--;
	else if (w->n < w->room)
		stats_put(&w->stat[w->n++], prefix, name, value);
}

static void put_all(struct window *w, const struct hw_stat *stat, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (w->skip)
			w->skip--;
		else if (w->n < w->room)
			w->stat[w->n++] = stat[i];
	}
}

static void put_firmware(struct window *w, const struct shard *shard)
{
	const char *name;
	uint64_t value;
	uint32_t i = w->skip;

	if (!wants(w, shard->num_fw_stats))
		return;
	w->skip = 0;
	for (; w->n < w->room && shard->ops->stat(shard->fw, i, &name, &value); i++)
		put(w, "", name, value);
}

static void put_fields(struct window *w, const struct stats_field *field, uint32_t count,
		       const void *base)
{
	if (!wants(w, count))
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value;

		memcpy(&value, (const uint8_t *)base + field[i].offset, sizeof(value));
		put(w, "", field[i].name, value);
	}
}

static void put_impair(struct window *w, const struct impair *im)
{
	if (!im)
		return;
	put(w, "fault_", "lost", im->stats.lost);
	put(w, "fault_", "corrupted", im->stats.corrupted);
	put(w, "fault_", "duplicated", im->stats.duplicated);
	put(w, "fault_", "reordered", im->stats.reordered);
	put(w, "fault_", "overflowed", im->stats.overflowed);
	put(w, "fault_", "queued", im->num_queued + im->num_held);
}

static void put_nic(struct window *w, const struct shard *shard)
{
	const struct nic *nic = shard->nic;
	const struct capture *capture = atomic_load_explicit(&nic->capture, memory_order_acquire);

	/* Belongs to the NIC, so it is listed only once. */
	if (shard->number == 0)
		put(w, "attach_", "memory_refused",
		    atomic_load_explicit(&nic->memory_refused, memory_order_relaxed));
	put(w, "capture_", "dropped", capture ? capture_dropped(capture, shard) : 0);
	put(w, "shard_", "busy_ns", shard->load.busy_ns);
	put(w, "shard_", "load_permille",
	    atomic_load_explicit(&shard->load_permille, memory_order_relaxed));
}

/* The wire and its counters belong to the core of shard 0. Some need system calls. */
static void put_wire(struct window *w, const struct shard *shard)
{
	const struct nic *nic = shard->nic;
	struct hw_stat all[STATS_WIRE_MAX];

	if (shard->number || !nic->wire->ops->stats || w->n == w->room)
		return;
	put_all(w, all, nic->wire->ops->stats(nic->wire, all, STATS_WIRE_MAX));
}

uint32_t stats_some(const struct shard *shard, uint32_t first, struct hw_stat *stat, uint32_t max)
{
	struct window w = {stat, first, max, 0};
	struct hw_stat turns[TURNS_STATS];

	put_firmware(&w, shard);
	put_fields(&w, port_fields, sizeof(port_fields) / sizeof(port_fields[0]), &shard->stats);
	put_fields(&w, core_fields, sizeof(core_fields) / sizeof(core_fields[0]),
		   &shard->core->stats);
	if (wants(&w, TURNS_STATS)) {
		turns_stats(&shard->core->turns, turns);
		put_all(&w, turns, TURNS_STATS);
	}
	put_nic(&w, shard);
	put_impair(&w, shard->impair);
	put_wire(&w, shard);
	return w.n;
}

void stats_answer(const struct shard *shard, uint32_t cursor, struct hw_resp_stats *resp)
{
	resp->count = stats_some(shard, cursor, resp->stat, HW_STATS_PER_RESP);
	resp->next = cursor + resp->count;
}
