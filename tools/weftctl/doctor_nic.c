/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor's look at each NIC: its link, its firmware, its core's CPU, its counters. See
 * lib/doctor.h. Calls libweft's tool functions and upgrade.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/weftctl/doctor_nic.h"

/* A shard's counters that say something about its health. */
struct health {
	uint64_t cpu, shared, turns_lost, turns, long_yields, runners, runners_rt;
	uint64_t generic, ports_lost, is_xdp;
	uint64_t overruns, lost_events, refused_memory, capture_dropped;
	uint64_t sent, again, bad_sums, received;
	uint64_t share_refused;
};

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
#define FIELD(name, field)                                                                         \
	{                                                                                          \
		name, offsetof(struct health, field)                                               \
	}
    FIELD("core_cpu", cpu),
    FIELD("core_shared", shared),
    FIELD("core_turns_lost", turns_lost),
    FIELD("core_turns", turns),
    FIELD("core_yields_long", long_yields),
    FIELD("core_runners", runners),
    FIELD("core_runners_rt", runners_rt),
    FIELD("xdp_generic", generic),
    FIELD("xdp_prog_id", is_xdp),
    FIELD("xdp_tcp_ports_lost", ports_lost),
    FIELD("cq_overruns", overruns),
    FIELD("events_lost", lost_events),
    FIELD("attach_memory_refused", refused_memory),
    FIELD("capture_dropped", capture_dropped),
    FIELD("rd_tx_packets", sent),
    FIELD("tcp_tx_segments", sent),
    FIELD("esp_tx_packets", sent),
    FIELD("rd_tx_retransmits", again),
    FIELD("tcp_tx_retransmits", again),
    FIELD("esp_tx_retransmits", again),
    FIELD("rx_frames", received),
    FIELD("drop_dgram_crc", bad_sums),
    FIELD("drop_udp_checksum", bad_sums),
    FIELD("drop_tcp_checksum", bad_sums),
    FIELD("drop_esp_crc", bad_sums),
    FIELD("drop_mpa_crc", bad_sums),
#undef FIELD
};

static int read_health(struct weft_context *context, uint32_t shard, struct health *health)
{
	struct weft_stat stats[CTL_BATCH];
	uint32_t cursor = 0;
	int n;

	while ((n = weft_stats(context, shard, &cursor, stats, CTL_BATCH)) > 0) {
		for (int i = 0; i < n; i++) {
			stats[i].name[sizeof(stats[i].name) - 1] = '\0';
			if (strstr(stats[i].name, "_share_refused"))
				health->share_refused += stats[i].value;
			for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++)
				if (!strcmp(stats[i].name, fields[k].name))
					*(uint64_t *)(void *)((char *)health + fields[k].offset) +=
					    stats[i].value;
		}
	}
	return n;
}

static void look_at_core(struct doctor *d, const char *subject, const struct health *health)
{
	char isolated[256];
	unsigned long cpu = (unsigned long)health->cpu;

	if (health->shared)
		doctor_add(
		    d, DOCTOR_NOTE, subject,
		    "keep programs off it (isolcpus=, taskset, cpusets), or start weftd with "
		    "--cores on a CPU of its own",
		    "other threads run on CPU %lu, on which weftd polls", cpu);
	else if (doctor_line(d, isolated, sizeof(isolated), "/sys/devices/system/cpu/isolated") &&
		 doctor_in_list(isolated, cpu))
		doctor_add(d, DOCTOR_OK, subject, NULL, "CPU %lu is isolated", cpu);
	else
		doctor_add(d, DOCTOR_OK, subject, NULL, "CPU %lu is weftd's alone at present", cpu);
	doctor_cpu(d, subject, cpu);
	if (health->runners > health->runners_rt)
		doctor_add(d, DOCTOR_NOTE, subject,
			   "start weftd with CAP_SYS_NICE or LimitRTPRIO=2, a container with "
			   "--cap-add SYS_NICE",
			   "weftd may not raise the priority of its threads: requests wait for "
			   "programs that compute on all CPUs");
	if (health->turns_lost > 1000 && health->turns_lost > health->turns / 1000)
		doctor_add(d, DOCTOR_NOTE, subject, "isolate its CPU",
			   "the kernel took the CPU away in %" PRIu64 " turns", health->turns_lost);
}

static void look_at_wire(struct doctor *d, const char *subject, const struct health *health)
{
	if (health->is_xdp && health->generic)
		doctor_add(d, DOCTOR_NOTE, subject,
			   "weftd --netdev native, if the driver can do it",
			   "its XDP program runs behind the driver: every frame is copied first");
	if (health->ports_lost)
		doctor_add(d, DOCTOR_WARN, subject, "move those programs to other ports",
			   "%" PRIu64 " TCP ports are held by programs of the kernel's stack",
			   health->ports_lost);
	if (health->bad_sums > 100 && health->bad_sums > health->received / 10000)
		doctor_add(d, DOCTOR_WARN, subject, "look for the damaged cable, card or switch",
			   "%" PRIu64 " packets came with a wrong checksum", health->bad_sums);
	if (health->again > 1000 && health->again > health->sent / 20)
		doctor_add(d, DOCTOR_WARN, subject,
			   "weftctl stats | grep drop_ at both ends, then the network between",
			   "%" PRIu64 " of %" PRIu64 " packets were sent again", health->again,
			   health->sent);
}

static void look_at_programs(struct doctor *d, const char *subject, const struct health *health)
{
	if (health->overruns)
		doctor_add(d, DOCTOR_WARN, subject, "weftctl cqs shows which: OVERRUN",
			   "%" PRIu64 " completion queues were too small", health->overruns);
	if (health->lost_events)
		doctor_add(d, DOCTOR_NOTE, subject, "larger event queues in the program",
			   "%" PRIu64 " events found no room in their queue", health->lost_events);
	if (health->share_refused)
		doctor_add(d, DOCTOR_NOTE, subject,
			   "weftctl users shows shares; weftd --quota changes them",
			   "a share was full %" PRIu64 " times", health->share_refused);
	if (health->refused_memory)
		doctor_add(d, DOCTOR_NOTE, subject, NULL,
			   "%" PRIu64 " descriptors of memory were not their process's own",
			   health->refused_memory);
	if (health->capture_dropped)
		doctor_add(d, DOCTOR_NOTE, subject, "a faster disk, or a pipe into tshark",
			   "a capture lost %" PRIu64 " frames", health->capture_dropped);
}

/* The NICs that are looked at, one after the other. */
struct round {
	struct doctor *doctor;
	int firmware_fd; /* the image that is installed; -1: none can be read */
	char asked[64];  /* the NIC whose weftd was asked last, without its number */
};

/* A program that was replaced while it runs has no name any more. Its link is for root and its own
 * user. */
static void look_at_program(struct doctor *d, const char *subject, uint32_t pid)
{
	static const char deleted[] = " (deleted)";
	char path[64], exe[512];
	ssize_t n;

	if (!pid)
		return;
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	n = readlink(path, exe, sizeof(exe));
	if (n < (ssize_t)sizeof(deleted) ||
	    memcmp(exe + n - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) != 0)
		return;
	doctor_add(d, DOCTOR_NOTE, subject, "systemctl restart weftd, when its programs may end",
		   "weftd itself was replaced since it was started, and runs as before");
}

/* Asks each weftd once, by the first of its NICs. It answers root and its own user alone. */
static void look_at_firmware(struct round *round, struct weft_context *context)
{
	struct weft_upgrade result = {0};
	size_t chars = strlen(context->name);
	int rc;

	while (chars && context->name[chars - 1] >= '0' && context->name[chars - 1] <= '9')
		chars--;
	if (round->firmware_fd < 0 ||
	    (strlen(round->asked) == chars && !strncmp(round->asked, context->name, chars)))
		return;
	snprintf(round->asked, sizeof(round->asked), "%.*s", (int)chars, context->name);
	rc = weft_upgrade(context, round->firmware_fd, true, &result);
	if (rc == -ENOEXEC)
		doctor_add(round->doctor, DOCTOR_NOTE, context->name,
			   "systemctl restart weftd, when its programs may end",
			   "weftd cannot go on with the firmware that is installed: %s",
			   result.why);
	else if (!rc && strcmp(result.version, result.version_new) != 0)
		doctor_add(round->doctor, DOCTOR_NOTE, context->name,
			   "weftctl upgrade: programs do not notice",
			   "firmware %s runs, and %s is installed", result.version,
			   result.version_new);
	else if (!rc)
		doctor_add(round->doctor, DOCTOR_OK, context->name, NULL,
			   "firmware %s runs, as it is installed", result.version);
	look_at_program(round->doctor, context->name, result.pid);
}

/* Peers to which packets are smaller than this NIC's: at least by what a segment is rounded to. */
static int look_at_peers(struct doctor *d, struct weft_context *context, uint32_t shard,
			 uint32_t mtu)
{
	struct weft_list_item items[CTL_BATCH], least = {.more = {mtu}};
	uint32_t cursor = 0, smaller = 0;
	char ip[INET_ADDRSTRLEN] = "";
	int n;

	while ((n = weft_list(context, WEFT_LIST_PEERS, shard, &cursor, items, CTL_BATCH)) > 0) {
		for (int i = 0; i < n; i++) {
			uint64_t packet = items[i].more[0];

			smaller += packet && packet + 8 <= mtu;
			if (packet && packet + 8 <= least.more[0])
				least = items[i];
		}
	}
	if (!smaller)
		return n;
	(void)inet_ntop(AF_INET, &least.id, ip, sizeof(ip));
	doctor_add(d, DOCTOR_NOTE, context->name,
		   "one MTU for both machines and the switches between: ip link set DEVICE mtu, "
		   "then mtu in weftd.conf",
		   "the MTU is %u, and %u peers have a smaller one: packets to %s have %" PRIu64
		   " bytes",
		   mtu, smaller, ip, least.more[0]);
	return n;
}

static int look_at_nic(struct weft_context *context, void *arg)
{
	struct weft_device_attr dev;
	struct weft_port_attr port;
	struct round *round = arg;
	struct doctor *d = round->doctor;
	int rc = weft_query_device(context, &dev);
	char subject[64];

	if (!rc)
		rc = weft_query_port(context, &port);
	if (!rc && port.link_up)
		doctor_add(d, DOCTOR_OK, context->name, NULL, "the link is up, MTU %u",
			   port.mtu_bytes);
	else if (!rc)
		doctor_add(d, DOCTOR_FAIL, context->name,
			   "ip link set DEVICE up, the cable, or the memif's other end",
			   "the link is down");
	if (!rc)
		look_at_firmware(round, context);
	for (uint32_t shard = 0; !rc && shard < dev.num_shards; shard++) {
		struct health health = {0};

		rc = read_health(context, shard, &health);
		snprintf(subject, sizeof(subject), "%s shard %u", context->name, shard);
		if (rc)
			break;
		look_at_core(d, subject, &health);
		look_at_wire(d, subject, &health);
		look_at_programs(d, subject, &health);
		rc = look_at_peers(d, context, shard, port.mtu_bytes);
	}
	if (rc)
		doctor_add(d, DOCTOR_FAIL, context->name, "journalctl -u weftd", "%s",
			   strerror(-rc));
	return CTL_OK;
}

int doctor_nics(struct doctor *d, const struct ctl *ctl)
{
	struct round round = {.doctor = d};
	const char *file;
	bool some;
	int rc;

	round.firmware_fd = upgrade_open(ctl, &file);
	rc = each_nic(ctl, look_at_nic, &round, &some);
	if (round.firmware_fd >= 0)
		close(round.firmware_fd);

	if (rc != CTL_OK)
		doctor_add(d, DOCTOR_FAIL, "weftd", "systemctl status weftd",
			   some ? "a NIC does not answer" : "no NIC answers");
	return rc;
}
