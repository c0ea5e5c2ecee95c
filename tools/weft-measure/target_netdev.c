/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Target netdev: an interface of Linux whose driver has interrupt coalescing, and its like at the
 * other end, where `weft-measure serve` runs.
 *
 * Ping-pong is UDP's, with blocking sockets; bulk and stream are TCP's, received here. Both
 * interfaces are set, as ESPGOAL set both nodes, each as far as its driver goes, and put back
 * at the end. Frames are frames here. Interrupts are the kernel's count, NAN where an interface
 * has none (tap, veth); processor time is the whole machine's, in ticks of 10 ms, so it wants
 * quiet machines. Calls eth_coal.c, net_peer.c, net_host.c.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/weft-measure/net_peer.h"

enum {
	PING_REPEATS = 1000,
	PING_LEAST = 30,
	PING_WARMUP = 5,
	BULK_LEAST = 2,
	STREAM_BYTES = 65536,
	STREAM_BATCH = 64, /* messages that are asked for at a time */
};
#define BULK_NS 300e6 /* bulk is repeated for so long */

struct tune_target {
	struct net_if nif;
	struct net_peer peer;
	const volatile bool *stop; /* of the last measurement */
	struct tune_setting setting;
	bool peer_set; /* the other end has the setting */
	struct load load;
	char what[512];
};

static const volatile bool never;

/* Connects if it is not, and has the other end take the setting. */
static int ready(struct tune_target *target, const volatile bool *stop, char *error)
{
	int rc = 0;

	if (!net_peer_is_open(&target->peer)) {
		target->peer_set = false;
		rc = net_peer_open(&target->peer, stop, error);
	}
	if (!rc && !target->peer_set) {
		rc = net_peer_set(&target->peer, &target->setting, stop, error);
		target->peer_set = !rc;
	}
	return rc;
}

static int ping(struct tune_target *target, double effort, const volatile bool *stop, char *error)
{
	struct load *load = &target->load;
	uint32_t repeats = tune_repeats(PING_REPEATS, effort, PING_LEAST), i;
	double ns;
	int rc = 0;

	load->plan.kind = LOAD_PING;
	for (i = 0; i < PING_WARMUP + repeats && !rc; i++) {
		rc = net_peer_ping(&target->peer, &ns, stop, error);
		if (!rc && i >= PING_WARMUP)
			load->sample_ns[load->num_samples++] = ns;
	}
	return rc;
}

static int bulk(struct tune_target *target, uint64_t bytes, double effort,
		const volatile bool *stop, char *error)
{
	struct load *load = &target->load;
	double ns, sum_ns = 0;
	int rc = 0;

	load->plan.kind = LOAD_BULK;
	load->plan.bytes = bytes;
	while (!rc && load->num_samples < LOAD_MAX_SAMPLES &&
	       (load->num_samples < BULK_LEAST || sum_ns < BULK_NS * effort)) {
		rc = net_peer_bulk(&target->peer, bytes, &ns, stop, error);
		if (!rc)
			load->sample_ns[load->num_samples++] = ns;
		sum_ns += ns;
	}
	return rc;
}

static int stream(struct tune_target *target, double effort, const volatile bool *stop, char *error)
{
	struct load *load = &target->load;
	double ns, sum_ns = 0;
	int rc = 0;

	load->plan.kind = LOAD_STREAM;
	load->plan.chunk_bytes = STREAM_BYTES;
	while (!rc && (!load->plan.repeats || sum_ns < BULK_NS * effort)) {
		rc = net_peer_bulk(&target->peer, (uint64_t)STREAM_BATCH * STREAM_BYTES, &ns, stop,
				   error);
		load->plan.repeats += STREAM_BATCH;
		sum_ns += ns;
	}
	return rc;
}

static int run_work(struct tune_target *target, enum tune_work work, double effort,
		    const volatile bool *stop, char *error)
{
	memset(&target->load, 0, sizeof(target->load));
	switch (work) {
	case TUNE_WORK_PING:
		return ping(target, effort, stop, error);
	case TUNE_WORK_BULK_1:
		return bulk(target, (uint64_t)TUNE_MB, effort, stop, error);
	case TUNE_WORK_BULK_10:
		return bulk(target, (uint64_t)(10 * TUNE_MB), effort, stop, error);
	case TUNE_WORK_STREAM:
		return stream(target, effort, stop, error);
	case TUNE_WORKS:
		break;
	}
	return 0;
}

/* Both hosts: here, and at the other end. */
static int look(struct tune_target *target, struct net_host host[2], const volatile bool *stop,
		char *error)
{
	int rc = net_host_read(target->nif.name, &host[0]);

	if (rc)
		return tune_error(error, rc, "/proc: %s", strerror(-rc));
	return net_peer_host(&target->peer, &host[1], stop, error);
}

/* Processors' worth of a host that were busy; of a bulk of 1 MB its share of all. */
static double busy(enum tune_work work, const struct net_host *from, const struct net_host *to)
{
	double busy_s = to->busy_s - from->busy_s, idle_s = to->idle_s - from->idle_s;

	if (work == TUNE_WORK_BULK_1)
		return busy_s + idle_s > 0 ? busy_s / (busy_s + idle_s) : NAN;
	return busy_s;
}

static int measure_work(struct tune_target *target, enum tune_work work,
			const struct tune_effort *effort, struct tune_result *result,
			const volatile bool *stop, char *error)
{
	struct tune_outcome out = {.load = &target->load};
	struct net_host from[2], to[2];
	double samples_ns = 0;
	uint32_t i;
	int rc = look(target, from, stop, error);

	if (!rc)
		rc = run_work(target, work, effort->effort, stop, error);
	if (!rc)
		rc = look(target, to, stop, error);
	if (rc)
		return rc;
	for (i = 0; i < target->load.num_samples; i++)
		samples_ns += target->load.sample_ns[i];
	/* One second for the stream, so that busy seconds are those of all its messages. */
	out.seconds = work == TUNE_WORK_STREAM ? 1 : samples_ns * 1e-9;
	out.irqs_a = to[0].irqs - from[0].irqs;
	out.irqs_b = to[1].irqs - from[1].irqs;
	out.busy_a = busy(work, &from[0], &to[0]);
	out.busy_b = busy(work, &from[1], &to[1]);
	tune_work_result(work, &out, result);
	if (!to[0].has_irqs)
		result->value[TUNE_irqs_per_msg] = NAN;
	if (!to[0].has_irqs || !to[1].has_irqs)
		result->value[TUNE_irqs_per_s] = NAN;
	return 0;
}

static int netdev_measure(struct tune_target *target, const struct tune_effort *effort,
			  struct tune_result *result, const volatile bool *stop, char *error)
{
	int rc = ready(target, stop, error);

	if (!rc)
		rc = tune_measure_works(target, measure_work, effort, result, stop, error);
	/* Bytes of a bulk that was given up may still come: the next one begins anew. */
	if (rc)
		net_peer_close(&target->peer);
	return rc;
}

/* Drivers know no target. */
static uint32_t netdev_modes(const struct tune_target *target)
{
	return 1u << TUNE_FIXED |
	       (target->nif.initial.there & ETH_COAL_ADAPTIVE ? 1u << TUNE_ADAPTIVE : 0);
}

static int netdev_apply(struct tune_target *target, const struct tune_setting *setting, char *error)
{
	target->setting = *setting;
	target->peer_set = false;
	return net_if_apply(&target->nif, setting, error);
}

static int netdev_restore(struct tune_target *target, char *error)
{
	int rc = net_if_restore(&target->nif, error), other = 0;

	/* The other end does so by itself when the connection ends; asked, it says how it went. */
	if (net_peer_is_open(&target->peer))
		other = net_peer_set(&target->peer, NULL, &never, error);
	target->peer_set = false;
	return rc ? rc : other;
}

static void netdev_close(struct tune_target *target)
{
	net_peer_close(&target->peer);
	free(target);
}

static struct tune_target *netdev_open(const char *name, char *error)
{
	struct tune_target *target = calloc(1, sizeof(*target));
	char iface[64];
	const char *peer;

	if (!target) {
		tune_error(error, -ENOMEM, "out of memory");
		return NULL;
	}
	peer = tune_split_name(name, iface, sizeof(iface));
	if (net_if_open(&target->nif, iface, error)) {
		free(target);
		return NULL;
	}
	net_peer_init(&target->peer, peer ? peer : "", iface);
	snprintf(target->what, sizeof(target->what),
		 "%s, and %s at the other end. Ping-pong of 8 B over UDP; bulk, and a stream in "
		 "pieces of %d B, over TCP.%s",
		 iface, peer ? peer : "nobody", STREAM_BYTES,
		 target->nif.initial.adaptive_rx || target->nif.initial.adaptive_tx
		     ? TUNE_ADAPTIVE_TEXT
		     : "");
	return target;
}

static uint32_t netdev_params(const struct tune_target *target,
			      uint32_t highest[HW_COALESCE_NUM_PARAMS])
{
	memcpy(highest, target->nif.highest, sizeof(target->nif.highest));
	return target->nif.can;
}

static void netdev_initial(const struct tune_target *target, struct tune_setting *setting)
{
	memcpy(setting->param, target->nif.initial.value, sizeof(setting->param));
}

static const char *netdev_describe(const struct tune_target *target)
{
	return target->what;
}

const struct tune_target_ops tune_target_netdev = {
    .name = "netdev",
    .metrics = TUNE_ALL_METRICS & ~TUNE_HOST_METRICS,
    .open = netdev_open,
    .params = netdev_params,
    .modes = netdev_modes,
    .apply = netdev_apply,
    .measure = netdev_measure,
    .initial = netdev_initial,
    .restore = netdev_restore,
    .close = netdev_close,
    .describe = netdev_describe,
};
