/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Target sim: two NICs, each with a process that blocks on a host of its own, in virtual time.
 *
 * The firmware is the one that weftd runs; network and hosts are modelled
 * (sim_harness/sim_client.h), from figures of the table below. Each run of a load has a simulation
 * of its own, which takes less than a millisecond to make: so what is measured depends on setting,
 * effort and seed alone, not on what was measured before, and a study that is resumed goes on as if
 * it had not been stopped. The seed moves the wake-ups, which are drawn from measured ones
 * (wake_times.h), the clocks and the polls of the NICs.
 *
 * Calls sim_harness, libweft and load.c.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_harness/sim_client.h"
#include "tools/weft-measure/target.h"
#include "tools/weft-measure/wake_times.h"

enum {
	PING_REPEATS = 1000,
	PING_LEAST = 50,
	PING_WARMUP = 4,
	BULK_1_REPEATS = 4,
	BULK_WARMUP = 8,       /* blocks */
	BULK_LEAST_BLOCKS = 8, /* of a message that is sent in part */
	STREAM_BYTES = 65536,
	STREAM_REPEATS = 200,
	STREAM_LEAST = 60,
	STREAM_WARMUP = 16,
	STREAM_WINDOW = 64,
	BUFFER_BYTES = 2 * STREAM_BYTES, /* to receive into, to send from */
};
#define RUN_LIMIT_NS UINT64_C(60000000000) /* virtual; no load lasts so long */

/* A machine to simulate. Costs of a host in ns. */
struct profile {
	const char *name;
	const char *what;
	uint64_t latency_ns;
	uint64_t ps_per_byte;
	uint32_t mtu;
	uint32_t chunk_bytes; /* of bulk: what one frame carries, so that completions are frames */
	uint32_t block;
	bool cc_off;         /* blocks alone bound what is under way */
	struct sim_cost nic; /* as goal-run takes it: docs/goal-sim.md */
	struct sim_client_cost host;
	struct tune_setting initial; /* what such a machine is set to at first */
};

static const struct profile profiles[] = {
    {
	/*
	 * The figures of a 2-core server: an eventfd wakes a process on another core in 5.6 us
	 * (half of 11.3 there and back), a call of the system takes 0.12 us, an event some of
	 * them; libweft polls and posts in some ten ns, and copies nothing.
	 */
	.name = "weft",
	.what = "two NICs at 25 Gb/s, MTU 4096; processes that an eventfd wakes",
	.latency_ns = 2000,
	.ps_per_byte = 320,
	.mtu = 4096,
	.chunk_bytes = 4000,
	.block = 32,
	.nic = {.rx_ns = 120, .tx_ns = 120, .byte_ps = 60},
	.host = {.irq_ns = 1000,
		 .wake_ns = 4850,
		 .switch_ns = 1000,
		 .event_ns = 500,
		 .poll_ns = 60,
		 .post_ns = 60,
		 .arm_ns = 60,
		 .wake_spread = &wake_times},
    },
    {
	/*
	 * ESPGOAL 6.1: Gigabit Ethernet without jumbo frames, a host of 2006, a protocol without
	 * congestion control. What things cost there is not in ESPGOAL: these figures give the
	 * 22.9 us that it measured with the best of all settings.
	 */
	.name = "espgoal",
	.what = "the paper's machines: Gigabit Ethernet, MTU 1500; hosts some times slower",
	.latency_ns = 7000,
	.ps_per_byte = 8000,
	.mtu = 1500,
	.chunk_bytes = 1400,
	.block = 32, /* Open-MX asks for 32 frames at a time, and twice that ahead */
	.cc_off = true,
	.nic = {.rx_ns = 300, .tx_ns = 300, .byte_ps = 250},
	.host = {.irq_ns = 4000,
		 .wake_ns = 7000,
		 .switch_ns = 1500,
		 .event_ns = 800,
		 .poll_ns = 200,
		 .post_ns = 700,
		 .arm_ns = 200,
		 .byte_ps = 500,
		 .wake_spread = &wake_times},
	/* Linux's driver of the Tigon3 starts it so. */
	.initial = {.param = {20, 5, 72, 53, 25, 5, 25, 5}},
    },
};

struct tune_target {
	const struct profile *profile;
	struct tune_setting setting;
	char what[256];
};

/* A run of a load. */
struct end {
	struct run *run;
	struct sim_client client;
	struct load load;
};

struct run {
	struct sim *sim;
	struct end a, b;
	int failed; /* a completion's status; 0: none */
	bool opened;
	const volatile bool *stop;
};

static void end_send(void *ctx, uint32_t bytes)
{
	struct end *e = ctx;

	sim_client_send(&e->client, 0, STREAM_BYTES, bytes);
}

static uint64_t end_now(void *ctx)
{
	struct end *e = ctx;

	return sim_now_ns(e->run->sim);
}

static void end_completion(void *ctx, struct sim_client *client, const struct weft_wc *wc)
{
	struct end *e = ctx;

	if (wc->status != WEFT_WC_SUCCESS) {
		e->run->failed = wc->status;
	} else if (wc->opcode == WEFT_WC_RECV) {
		load_received(&e->load, wc->bytes);
		sim_client_recv(client, 0, 0, STREAM_BYTES);
	} else {
		load_sent(&e->load);
	}
}

static void configure(const struct profile *profile, struct sim_config *config)
{
	sim_config_default(config);
	config->link.latency_ns = profile->latency_ns;
	config->link.gap_ps_per_byte = profile->ps_per_byte;
	config->mtu = profile->mtu;
	config->cost = profile->nic;
	config->poll_work_ns = 0;
	config->rx_split_ppm = 0;
	config->cc_off = profile->cc_off;
	/* Figures are all that is wanted, and nothing changes frames under way. */
	config->no_crc = true;
	config->no_digest = true;
}

static int set_coalesce(struct weft_context *context, const struct tune_setting *setting)
{
	struct weft_coalesce coalesce;

	tune_coalesce(setting, &coalesce);
	return weft_set_coalesce(context, WEFT_COALESCE_ALL_VECTORS, WEFT_COALESCE_SET_ALL,
				 &coalesce);
}

static int open_end(struct run *run, struct end *e, const struct profile *profile,
		    const struct tune_setting *setting, uint64_t seed)
{
	struct sim_client_attr attr = {
	    .end = {.max_wr = LOAD_DEPTH, .cqe = 2 * LOAD_DEPTH, .bytes = BUFFER_BYTES},
	    .cost = profile->host,
	    .seed = seed,
	    .completion = end_completion,
	    .ctx = e};
	struct sim_nic *nic = sim_nic_new(run->sim);
	uint32_t i;
	int rc;

	e->run = run;
	rc = sim_client_open(&e->client, nic, &attr);
	if (!rc)
		rc = set_coalesce(e->client.end.context, setting);
	for (i = 0; !rc && i < LOAD_RECVS; i++)
		rc = sim_end_recv(&e->client.end, 0, 0, STREAM_BYTES);
	return rc;
}

static bool is_over(void *ctx)
{
	struct run *run = ctx;

	return run->failed || *run->stop || (load_done(&run->a.load) && load_done(&run->b.load));
}

static bool both_idle(void *ctx)
{
	struct run *run = ctx;

	return sim_client_idle(&run->a.client) && sim_client_idle(&run->b.client);
}

static void close_run(struct run *run)
{
	if (run->a.client.end.context)
		sim_client_close(&run->a.client);
	if (run->b.client.end.context)
		sim_client_close(&run->b.client);
	if (run->sim)
		sim_free(run->sim);
}

static int open_run(struct run *run, const struct tune_target *target, uint64_t seed)
{
	struct sim_config config;
	int rc;

	configure(target->profile, &config);
	run->sim = sim_new(&config, seed);
	if (!run->sim)
		return -ENOMEM;
	rc = open_end(run, &run->a, target->profile, &target->setting, seed);
	if (!rc)
		rc = open_end(run, &run->b, target->profile, &target->setting, seed);
	if (!rc)
		rc = sim_client_connect(&run->a.client, &run->b.client);
	if (!rc)
		rc = sim_client_connect(&run->b.client, &run->a.client);
	if (rc)
		return rc;
	/* Both arm, and sleep. */
	sim_client_start(&run->a.client);
	sim_client_start(&run->b.client);
	return sim_run_until(run->sim, both_idle, run, RUN_LIMIT_NS) ? 0 : -ETIMEDOUT;
}

static double share(uint64_t busy_ns, double seconds)
{
	return (double)busy_ns * 1e-9 / seconds;
}

/* Runs the load to its end, and says what it cost. */
static int run_load(struct run *run, const struct load_plan *plan, struct tune_outcome *out)
{
	struct sim_client *a = &run->a.client, *b = &run->b.client;
	const struct load_io io_a = {&run->a, end_send, end_now};
	const struct load_io io_b = {&run->b, end_send, end_now};
	struct sim_client_counts at_a = a->counts, at_b = b->counts;
	uint64_t start_ns = sim_now_ns(run->sim);

	load_init(&run->a.load, plan, &io_a, true);
	load_init(&run->b.load, plan, &io_b, false);
	load_begin(&run->a.load);
	sim_client_start(a);
	if (!sim_run_until(run->sim, is_over, run, RUN_LIMIT_NS))
		return -ETIMEDOUT;
	if (run->failed || *run->stop)
		return run->failed ? -EIO : -EINTR;
	out->load = &run->a.load;
	out->seconds = (double)(sim_now_ns(run->sim) - start_ns) * 1e-9;
	out->irqs_a = a->counts.irqs - at_a.irqs;
	out->irqs_b = b->counts.irqs - at_b.irqs;
	out->busy_a = share(a->counts.busy_ns - at_a.busy_ns, out->seconds);
	out->busy_b = share(b->counts.busy_ns - at_b.busy_ns, out->seconds);
	return 0;
}

/* A message less than once: its first blocks. */
static uint64_t part(const struct load_plan *plan, double share_of_it)
{
	uint64_t blocks = (uint64_t)((double)load_frames(plan) * share_of_it / plan->block + 0.5);

	if (share_of_it >= 1)
		return 0;
	return (blocks < BULK_LEAST_BLOCKS ? BULK_LEAST_BLOCKS : blocks) * plan->block;
}

static struct load_plan plan_of(const struct profile *profile, enum tune_work work, double effort)
{
	struct load_plan plan = {.chunk_bytes = profile->chunk_bytes, .block = profile->block};

	switch (work) {
	case TUNE_WORK_PING:
		plan.kind = LOAD_PING;
		plan.warmup = PING_WARMUP;
		plan.repeats = tune_repeats(PING_REPEATS, effort, PING_LEAST);
		break;
	case TUNE_WORK_BULK_1:
		plan.kind = LOAD_BULK;
		plan.warmup = BULK_WARMUP;
		plan.bytes = (uint64_t)TUNE_MB;
		plan.repeats = tune_repeats(BULK_1_REPEATS, effort, 1);
		plan.part = part(&plan, BULK_1_REPEATS * effort);
		break;
	case TUNE_WORK_BULK_10:
		plan.kind = LOAD_BULK;
		plan.warmup = BULK_WARMUP;
		plan.bytes = (uint64_t)(10 * TUNE_MB);
		plan.repeats = 1;
		plan.part = part(&plan, effort);
		break;
	case TUNE_WORK_STREAM:
		plan.kind = LOAD_STREAM;
		plan.chunk_bytes = STREAM_BYTES;
		plan.warmup = STREAM_WARMUP;
		plan.repeats = tune_repeats(STREAM_REPEATS, effort, STREAM_LEAST);
		plan.window = STREAM_WINDOW;
		break;
	case TUNE_WORKS:
		break;
	}
	return plan;
}

static int measure_work(struct tune_target *target, enum tune_work work,
			const struct tune_effort *effort, struct tune_result *result,
			const volatile bool *stop, char *error)
{
	struct load_plan plan = plan_of(target->profile, work, effort->effort);
	struct run *run = calloc(1, sizeof(*run));
	struct tune_outcome out;
	int rc;

	if (!run)
		return tune_error(error, -ENOMEM, "out of memory");
	run->stop = stop;
	rc = open_run(run, target, effort->seed);
	if (rc)
		tune_error(error, rc, "the simulated processes cannot be made: %s", strerror(-rc));
	else
		rc = run_load(run, &plan, &out);
	if (rc == -EIO)
		tune_error(error, rc, "a simulated request ended with %s",
			   weft_wc_status_str((enum weft_wc_status)run->failed));
	else if (rc == -ETIMEDOUT)
		tune_error(error, rc, "the simulated processes stand still (seed %llu)",
			   (unsigned long long)effort->seed);
	else if (rc == -EINTR)
		tune_error(error, rc, "stopped");
	if (!rc)
		tune_work_result(work, &out, result);
	close_run(run);
	free(run);
	return rc;
}

static int sim_measure(struct tune_target *target, const struct tune_effort *effort,
		       struct tune_result *result, const volatile bool *stop, char *error)
{
	return tune_measure_works(target, measure_work, effort, result, stop, error);
}

static struct tune_target *sim_open_target(const char *name, char *error)
{
	struct tune_target *target = calloc(1, sizeof(*target));
	size_t i;

	if (!target) {
		tune_error(error, -ENOMEM, "out of memory");
		return NULL;
	}
	for (i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		if (!strcmp(profiles[i].name, name ? name : profiles[0].name))
			target->profile = &profiles[i];
	}
	if (!target->profile) {
		tune_error(error, -EINVAL,
			   "--sim: there is no profile '%s', there are weft and espgoal", name);
		free(target);
		return NULL;
	}
	target->setting = target->profile->initial;
	snprintf(target->what, sizeof(target->what),
		 "simulated (%s): %s. Ping-pong of %d B; bulk in frames of %u B, %u asked for at a "
		 "time; a stream of %d B.",
		 target->profile->name, target->profile->what, LOAD_SMALL_BYTES,
		 target->profile->chunk_bytes, target->profile->block, STREAM_BYTES);
	return target;
}

static int sim_apply(struct tune_target *target, const struct tune_setting *setting, char *error)
{
	uint32_t highest[HW_COALESCE_NUM_PARAMS], i;

	tune_nic_params(target, highest);
	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		if (setting->param[i] > highest[i])
			return tune_error(error, -EINVAL, "a value of %u: the range is 0 to %u",
					  setting->param[i], highest[i]);
	}
	target->setting = *setting;
	return 0;
}

static void sim_initial(const struct tune_target *target, struct tune_setting *setting)
{
	*setting = target->profile->initial;
}

static int sim_restore(struct tune_target *target, char *error)
{
	(void)error;
	sim_initial(target, &target->setting);
	return 0;
}

static void sim_close_target(struct tune_target *target)
{
	free(target);
}

static const char *sim_describe(const struct tune_target *target)
{
	return target->what;
}

const struct tune_target_ops tune_target_sim = {
    .name = "sim",
    .metrics = TUNE_ALL_METRICS & ~TUNE_HOST_METRICS,
    .noise_free = true,
    .open = sim_open_target,
    .params = tune_nic_params,
    .modes = tune_nic_modes,
    .apply = sim_apply,
    .measure = sim_measure,
    .initial = sim_initial,
    .restore = sim_restore,
    .close = sim_close_target,
    .describe = sim_describe,
};
