/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of counters. See stat_rows.h. Calls nothing.
 *
 * tests/lib/stat_rows_ut.c checks the table, tests/int/metrics.sh that every counter of every wire
 * has a row.
 */
#include "lib/stat_rows.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shared_defs/hw_counters.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define COUNTER(name, help)                                                                        \
	{                                                                                          \
		name, STAT_COUNTER, help, NULL, 0                                                  \
	}
#define GAUGE(name, help)                                                                          \
	{                                                                                          \
		name, STAT_GAUGE, help, NULL, 0                                                    \
	}
#define SECONDS(name, help, metric)                                                                \
	{                                                                                          \
		name, STAT_GAUGE, help, metric, 1e-9                                               \
	}
#define IN_USE(name, things) GAUGE(name "_used", things " in use")

static const struct stat_row rows[] = {
#define X(name, help) COUNTER(#name, help),
    HW_COUNTERS(X)
#undef X

	IN_USE("clients", "Attachments of processes"),
    IN_USE("pds", "Protection domains"),
    IN_USE("mrs", "Memory regions and windows"),
    IN_USE("cqs", "Completion queues"),
    IN_USE("eqs", "Event queues"),
    IN_USE("srqs", "Shared receive queues"),
    IN_USE("xrcds", "XRC domains"),
    IN_USE("qps", "Queue pairs"),
    IN_USE("qp_opens", "Openings of shared queue pairs"),
    IN_USE("ahs", "Address handles"),
    IN_USE("rd_sessions", "RD sessions"),
    IN_USE("mcast_groups", "IPv4 groups"),
    IN_USE("mcast_attached", "Attachments of queue pairs to groups"),
    IN_USE("slice_commands", "Commands that are carried out in slices"),
    GAUGE("slice_units_max", "Most units of work that a turn spent on slices"),
    GAUGE("igmp_version", "Version of IGMP spoken on this network"),
    IN_USE("neighbours", "Entries of the neighbour table"),
    GAUGE("ah_waiting", "Address handles that wait for their neighbour"),
    IN_USE("wqes", "Work requests"),
    IN_USE("wqe_exts", "Extensions of work requests"),
    IN_USE("rd_flows", "RD flows"),
    IN_USE("rd_tx_windows", "RD sending windows"),
    IN_USE("rd_rx_windows", "RD receiving windows"),
    IN_USE("rd_held", "RD packets held for an earlier one"),
    IN_USE("recv_msgs", "Messages being received"),
    IN_USE("ud_reasms", "Reassemblies of UD messages"),
    IN_USE("ud_buffers", "Buffers of UD reassemblies"),
    IN_USE("cm_endpoints", "Endpoints of the connection manager"),
    IN_USE("cm_data", "Buffers of private data"),
    GAUGE("cm_listeners", "Listeners of the connection manager"),
    IN_USE("tcp_flows", "TCP connections"),
    IN_USE("tcp_rests", "Records of TCP connections at rest"),
    IN_USE("tcp_half_open", "Half-open TCP connections"),
    IN_USE("tcp_chunks", "Chunks of early TCP data"),
    GAUGE("tcp_listeners", "TCP listeners"),
    IN_USE("mpa_conns", "MPA connections"),
    IN_USE("mpa_setups", "MPA set-ups"),
    IN_USE("mpa_segs", "DDP segments over TCP"),
    IN_USE("mpa_partials", "Partial FPDUs"),
    IN_USE("esp_streams", "ESP streams"),
    IN_USE("esp_held", "ESP packets held for an earlier one"),
    IN_USE("esp_rdmap_lasts", "Records of last requests over ESP"),
    IN_USE("goal_comms", "GOAL communicators"),
    IN_USE("goal_schedules", "GOAL schedules"),
    IN_USE("goal_loads", "GOAL schedules being loaded"),
    IN_USE("goal_links", "Links between GOAL ranks"),
    IN_USE("goal_runs", "GOAL runs"),
    IN_USE("goal_sends", "GOAL messages being sent"),
    IN_USE("goal_recvs", "GOAL receives"),
    IN_USE("goal_unexps", "GOAL messages that wait for their receive"),
    IN_USE("goal_calcs", "GOAL computations"),
    IN_USE("mgrp_spaces", "Reliable groups"),
    IN_USE("tag_posteds", "Posted tagged receives"),
    IN_USE("tag_arrivals", "Tagged messages that wait for their receive"),
    IN_USE("tag_sends", "Tagged sends"),
    IN_USE("tag_kept", "Tagged messages kept in pools"),
    IN_USE("tag_peers", "Tagged peers"),
    IN_USE("tag_rtrs", "Announced receive buffers"),
    IN_USE("tag_shares", "Shares of tagged peers"),
    GAUGE("goal_heap_bytes_used", "Bytes of GOAL memory in use"),

    COUNTER("moder_completions", "Completions on queues with an interrupt vector"),
    COUNTER("moder_events", "Event queue entries made visible"),
    COUNTER("moder_interrupts", "Interrupts of all vectors"),
    COUNTER("moder_coalesced", "Completions and events that raised no interrupt of their own"),
    COUNTER("moder_held_irq", "Events delayed by the irq limits"),
    COUNTER("moder_mode_changes", "Changes of profile or delay by adaptive and target"),

    COUNTER("cycles_clock", "Cycles that a reading of the clock takes"),
    COUNTER("cycles_idle", "Cycles of turns without work"),
    COUNTER("turns_busy", "Turns of the firmware with work"),
    COUNTER("turns_idle", "Turns of the firmware without work"),

    COUNTER("port_rx_frames", "Frames that the shard took from its port"),
    COUNTER("port_rx_bytes", "Bytes of the frames that the shard took from its port"),
    COUNTER("port_tx_frames", "Frames that the shard gave to its port"),
    COUNTER("port_tx_bytes", "Bytes of the frames that the shard gave to its port"),
    COUNTER("port_rx_linearised", "Frames copied because they came in pieces"),
    COUNTER("port_tx_no_mbuf", "Frames not sent for want of a buffer"),
    COUNTER("port_tx_host_faults", "Frames not sent because their payload's memory was gone"),
    COUNTER("port_tx_host_busy", "Frames that wait because their payload cannot be read in time"),
    COUNTER("port_tx_bad_frames", "Frames of the firmware that the port refused"),
    COUNTER("port_tx_loop_frames", "Frames to the NIC's own address"),
    COUNTER("port_tx_borrowed", "Frames passed on with their payload in the process's memory"),
    COUNTER("port_tx_settled", "Borrowed frames copied because their memory was to be released"),
    COUNTER("port_placed_bytes", "Bytes of long payload copied into mapped memory of processes"),
    COUNTER("port_streamed_bytes", "Of those, bytes that were stored past the caches"),
    COUNTER("port_host_reads", "Reads of memory of processes by the port"),
    COUNTER("port_host_writes", "Writes to memory of processes by the port"),
    COUNTER("port_host_atomics", "Atomic operations on memory of processes by the port"),
    COUNTER("port_host_faults", "Accesses of the port to memory that a process no longer has"),
    COUNTER("port_host_copies", "Copies of memory that weftd does not map, by its workers"),
    COUNTER("port_host_copy_waits", "Copies by workers that were not done at once"),
    COUNTER("port_host_copies_given_up", "Copies by workers whose process ended or was too slow"),
    COUNTER("port_host_copies_refused", "Copies refused because a process has too many under way"),
    COUNTER("port_irqs", "Interrupts given to processes"),
    COUNTER("port_irq_submits", "System calls that gave interrupts to processes"),
    COUNTER("port_irqs_late", "Interrupts that had to be given later"),
    COUNTER("port_wire_pauses", "Times that frames waited for a receiver whose ring was full"),
    COUNTER("port_rx_ring", "Frames received through the shard's ring"),
    COUNTER("port_rx_passed", "Frames of other shards that this one received and passed on"),
    COUNTER("port_tx_ring", "Frames sent through the ring of the port's owner"),
    COUNTER("port_echoes", "Frames answered by the port itself"),

    {"shard_busy_ns", STAT_COUNTER, "Time of the shard's part of turns with work",
     "shard_busy_seconds", 1e-9},
    COUNTER("core_turns", "Turns of the core"),
    COUNTER("core_busy_turns", "Turns of the core with work"),
    {"core_busy_ns", STAT_COUNTER, "Time of the core's turns with work", "core_busy_seconds", 1e-9},
    COUNTER("core_yields", "Times that the core offered its CPU to other threads"),
    COUNTER("core_yields_long", "Offers that gave the CPU away for longer than a wake-up takes"),
    COUNTER("core_sleeps", "Times that the core slept"),
    COUNTER("core_wakes_doorbell", "Ends of sleep by a doorbell"),
    COUNTER("core_wakes_frame", "Ends of sleep by a frame"),
    COUNTER("core_wakes_message", "Ends of sleep by a message of weftd"),
    COUNTER("core_wakes_timer", "Ends of sleep by a timer"),
    COUNTER("core_power_pauses", "Waits between turns with less power than a loop"),
    COUNTER("core_power_monitors", "Such waits that a frame of the card could end"),
    COUNTER("core_calls", "Times that a thread of a CPU left the core to its poller"),
    GAUGE("core_runners", "Threads that work for the core on the CPUs of processes"),
    GAUGE("core_runners_rt", "Of these, threads with a real-time priority"),
    GAUGE("core_shared", "1 if another thread runs on the core's CPU"),
    GAUGE("core_cpu", "Number of the core's CPU"),
    GAUGE("core_role", "0: ports and shards for verbs, 1: shards for collectives, 2: control"),
    SECONDS("core_wake_serve_ns_last", "From the last end of sleep to the end of its first work",
	    "core_wake_serve_last_seconds"),
    SECONDS("core_wake_serve_ns_max", "Longest time from an end of sleep to its first work's end",
	    "core_wake_serve_max_seconds"),
    SECONDS("core_wake_doorbell_ns_last", "From the last waking doorbell to its first work's end",
	    "core_wake_doorbell_last_seconds"),
    SECONDS("core_wake_doorbell_ns_max", "Longest time from a waking doorbell to its work's end",
	    "core_wake_doorbell_max_seconds"),
    SECONDS("core_turn_ns_max", "Longest turn of the core", "core_turn_max_seconds"),
    COUNTER("core_turns_lost", "Turns during which the kernel took the CPU away"),
    GAUGE("core_turn_op_max", "Number of the command of the longest turn with a command"),

    COUNTER("attach_memory_refused", "Descriptors refused because they were not the process's own"),
    COUNTER("capture_dropped", "Frames that a capture lost"),

    COUNTER("fault_lost", "Frames lost by a fault on purpose (weftctl fault, --loss)"),
    COUNTER("fault_corrupted", "Frames damaged by a fault"),
    COUNTER("fault_duplicated", "Frames doubled by a fault"),
    COUNTER("fault_reordered", "Frames overtaken by others by a fault"),
    COUNTER("fault_overflowed", "Frames lost because too many waited for a fault's delay or rate"),
    GAUGE("fault_queued", "Frames that a fault delays"),

    COUNTER("wire_ipackets", "Frames received by the device"),
    COUNTER("wire_opackets", "Frames sent by the device"),
    COUNTER("wire_imissed", "Frames that the device dropped for want of room"),
    COUNTER("wire_ierrors", "Frames received with errors by the device"),
    COUNTER("wire_oerrors", "Frames that the device could not send"),
    COUNTER("wire_rx_nombuf", "Frames not received for want of a buffer"),
    COUNTER("wire_drop_down", "Frames not sent because the link was down"),
    GAUGE("wire_link_up", "1 if the link is up"),
    COUNTER("wire_rx_interrupts", "Receive interrupts of a card"),
    GAUGE("wire_polled_idle", "1 if a card cannot be relied upon to wake the core"),
    COUNTER("wire_drop_vlan", "Frames of a card that have not the tag of its NIC's VLAN"),

    COUNTER("gso_runs", "Runs of frames given to the kernel as one"),
    COUNTER("gso_frames", "Frames of those runs"),
    COUNTER("gso_refused", "Runs that the kernel refused"),
    COUNTER("tso_runs", "Runs of frames given to a card as one"),
    COUNTER("tso_frames", "Frames of those runs"),
    COUNTER("tso_refused", "Runs that the driver of a card refused"),
    COUNTER("packet_rx_large", "Frames beyond the MTU that were divided (AF_PACKET)"),
    COUNTER("packet_rx_large_bad", "Frames beyond the MTU that cannot be divided"),
    COUNTER("packet_rx_large_nombuf", "Frames beyond the MTU lost for want of buffers"),
    COUNTER("packet_rx_large_missing", "Frames beyond the MTU that the kernel lost"),

    COUNTER("xsk_queue#_rx", "Frames received by an AF_XDP socket"),
    COUNTER("xsk_queue#_tx", "Frames sent by an AF_XDP socket"),
    COUNTER("xsk_queue#_rx_nombuf", "Frames not received for want of a buffer"),
    COUNTER("xsk_queue#_rx_dropped", "Frames that the kernel dropped before the socket"),
    COUNTER("xsk_queue#_rx_ring_full", "Frames dropped because the socket's ring was full"),
    COUNTER("xsk_queue#_rx_fill_ring_empty", "Frames that met an empty fill ring"),
    COUNTER("xsk_queue#_rx_invalid_descs", "Receive descriptors that the kernel refused"),
    COUNTER("xsk_queue#_tx_invalid_descs", "Send descriptors that the kernel refused"),
    COUNTER("xsk_queue#_tx_ring_empty", "Times that the kernel found nothing to send"),
    COUNTER("xsk_queue#_rx_large", "Frames received in several buffers"),
    COUNTER("xsk_queue#_rx_large_bad", "Frames in several buffers that were not whole"),
    GAUGE("xsk_queue#_zero_copy", "1 if the driver copies nothing"),

    GAUGE("xdp_prog_id", "Number of the XDP program"),
    GAUGE("xdp_generic", "1 if the kernel runs the XDP program behind the driver"),
    GAUGE("xdp_shared_address", "1 if the kernel has the NIC's address, too"),
    GAUGE("xdp_tcp_ports", "TCP ports whose frames the NIC takes"),
    GAUGE("xdp_tcp_ports_reserved", "Of those, ports held against the kernel's programs"),
    GAUGE("xdp_tcp_ports_lost", "TCP ports that programs of the kernel's stack hold"),
    COUNTER("xdp_tcp_ports_refused", "TCP ports refused because they could not be held"),
    COUNTER("xdp_taken", "Frames that the XDP program gave to the NIC"),
    COUNTER("xdp_passed", "Frames that the XDP program gave to the kernel"),
    COUNTER("xdp_dropped", "Frames that the XDP program dropped"),

    COUNTER("memif_rx", "Frames received from the memif's peer"),
    COUNTER("memif_tx", "Frames sent to the memif's peer"),
    COUNTER("memif_rx_bad_buffer", "Descriptors of the peer outside its region"),
    COUNTER("memif_rx_bad_chain", "Chains of descriptors of the peer that do not end"),
    COUNTER("memif_rx_bad_length", "Descriptors of the peer with an impossible length"),
    COUNTER("memif_rx_nombuf", "Frames not received for want of a buffer"),
    COUNTER("memif_tx_bad_buffer", "Buffers of the peer outside its region"),
    COUNTER("memif_tx_no_room", "Frames too long for the peer's buffers"),
    COUNTER("memif_tx_full", "Frames not sent because the peer's ring was full"),
    COUNTER("memif_bad_index", "Ring indices of the peer that were impossible"),
    COUNTER("memif_bad_memory", "Regions of the peer that changed their size"),
    COUNTER("memif_connected", "Connections of the memif's peer"),
    COUNTER("memif_disconnected", "Ends of the connection with the memif's peer"),
    COUNTER("memif_refused_user", "Peers refused because of their user"),
    COUNTER("memif_refused_busy", "Peers refused because one is connected"),
    COUNTER("memif_refused_secret", "Peers refused because of a wrong secret"),
    COUNTER("memif_bad_message", "Messages of the peer with wrong fields"),
    COUNTER("memif_bad_region", "Regions of the peer that were refused"),
    COUNTER("memif_bad_ring", "Rings of the peer that were refused"),
    COUNTER("memif_timeouts", "Peers that did not answer in time"),
};

static const struct stat_family families[] = {
    {"drop_", STAT_COUNTER, "drops", "reason", "Frames that the firmware dropped", 0},
    {"port_drop_", STAT_COUNTER, "port_drops", "reason", "Frames that the port dropped", 0},
    {"moder_by_", STAT_COUNTER, "moder_interrupts_by_cause", "cause", "Interrupts by their cause",
     0},
    {"cycles_", STAT_COUNTER, "stage_cycles", "stage", "Cycles of a stage of the firmware", 0},
    {"entries_", STAT_COUNTER, "stage_entries", "stage", "Entries to a stage of the firmware", 0},
    {"core_turns_", STAT_COUNTER, "core_turns_by_kind", "kind", "Whole turns by kind", 0},
    {"core_long_", STAT_COUNTER, "core_long_turns", "kind", "Whole turns longer than 10 us by kind",
     0},
    {"core_ns_max_", STAT_GAUGE, "core_turn_max_by_kind_seconds", "kind", "Longest turn by kind",
     1e-9},
    {"card_", STAT_GAUGE, "card", "counter", "Values that the card's driver counts, by its name",
     0},
    {"xdp_taken_", STAT_COUNTER, "xdp_taken_by_reason", "reason",
     "Frames that the XDP program gave to the NIC, by reason", 0},
    {"xdp_passed_", STAT_COUNTER, "xdp_passed_by_reason", "reason",
     "Frames that the XDP program gave to the kernel, by reason", 0},
    {"xdp_dropped_", STAT_COUNTER, "xdp_dropped_by_reason", "reason",
     "Frames that the XDP program dropped, by reason", 0},
};

const struct stat_row *stat_rows(size_t *num)
{
	*num = COUNT(rows);
	return rows;
}

const struct stat_family *stat_families(size_t *num)
{
	*num = COUNT(families);
	return families;
}

/* True if name is the row's, of which # stands for digits; these are copied to number. */
static bool matches(const char *pattern, const char *name, char number[STAT_NAME_CHARS])
{
	size_t n = 0;

	for (; *pattern; pattern++) {
		if (*pattern != '#') {
			if (*name++ != *pattern)
				return false;
			continue;
		}
		while (isdigit((unsigned char)*name) && n + 1 < STAT_NAME_CHARS)
			number[n++] = *name++;
		number[n] = '\0';
		if (!n)
			return false;
	}
	return !*name;
}

static const struct stat_row *find(const char *name, char number[STAT_NAME_CHARS])
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (matches(rows[i].name, name, number))
			return &rows[i];
	return NULL;
}

/* The row of a pool's gauge whose highest value name is. */
static const struct stat_row *find_max(const char *name)
{
	char base[STAT_NAME_CHARS], number[STAT_NAME_CHARS];
	size_t chars = strlen(name);
	const struct stat_row *row;

	if (chars < 9 || chars >= sizeof(base) || strcmp(name + chars - 9, "_used_max"))
		return NULL;
	snprintf(base, sizeof(base), "%.*s", (int)(chars - 4), name);
	row = find(base, number);
	return row && row->kind == STAT_GAUGE ? row : NULL;
}

const struct stat_row *stat_row_of(const char *name)
{
	char number[STAT_NAME_CHARS];
	const struct stat_row *row = find(name, number);

	return row ? row : find_max(name);
}

const char *stat_unit_of(const char *name)
{
	if (strstr(name, "_bytes"))
		return "bytes";
	return strstr(name, "_ns") ? "nanoseconds" : "";
}

static const struct stat_family *family_of(const char *name)
{
	for (size_t i = 0; i < COUNT(families); i++)
		if (!strncmp(name, families[i].prefix, strlen(families[i].prefix)))
			return &families[i];
	return NULL;
}

/* Names a row's metric: without its number, which becomes the label "queue". */
static void name_row(const struct stat_row *row, const char *name, const char *number,
		     struct stat_metric *metric)
{
	static const char label[] = "queue";
	const char *at = strchr(row->name, '#');

	metric->label = at ? label : NULL;
	if (at)
		snprintf(metric->name, sizeof(metric->name), "weft_%.*s%.30s",
			 (int)(at - row->name) - (int)(sizeof(label) - 1), row->name, at + 2);
	else
		snprintf(metric->name, sizeof(metric->name), "weft_%.50s",
			 row->metric ? row->metric : name);
	memcpy(metric->value, number, sizeof(metric->value));
}

bool stat_metric_of(const char *name, struct stat_metric *metric)
{
	char number[STAT_NAME_CHARS] = "";
	const struct stat_row *row = find(name, number);
	const struct stat_family *family = family_of(name);

	if (!row)
		row = find_max(name);
	/* A firmware's drop has a row for its sentence, and is a metric of its family. */
	if (family && (!row || !strncmp(name, "drop_", 5))) {
		snprintf(metric->name, sizeof(metric->name), "weft_%.50s", family->metric);
		snprintf(metric->value, sizeof(metric->value), "%.40s",
			 name + strlen(family->prefix));
		metric->kind = family->kind;
		metric->label = family->label;
		metric->help = family->help;
		metric->scale = family->scale ? family->scale : 1;
		return true;
	}
	if (!row)
		return false;
	name_row(row, name, number, metric);
	metric->kind = row->kind;
	metric->help = row->help;
	metric->scale = row->scale ? row->scale : 1;
	return true;
}
