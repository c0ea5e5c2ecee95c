/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-tune --sim, with the firmware's own moderation: the first-order findings of ESPGOAL 6.2,
 * that a measurement depends on its setting and seed alone, short ones beside full ones, bad input.
 */
#include "tools/weft-measure/target.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/ut.h"

#define SHORT 0.05

static const struct tune_target_ops *const ops = &tune_target_sim;
static volatile bool stop;

static struct tune_target *open_profile(const char *profile)
{
	char error[TUNE_ERROR_CHARS] = "";
	struct tune_target *target = ops->open(profile, error);

	CU_ASSERT_FATAL(target != NULL);
	stop = false;
	return target;
}

static struct tune_result measure(struct tune_target *target, const struct tune_setting *setting,
				  uint32_t metrics, double effort, uint64_t seed)
{
	const struct tune_effort e = {metrics, effort, seed};
	char error[TUNE_ERROR_CHARS] = "";
	struct tune_result result;

	CU_ASSERT_FATAL(!ops->apply(target, setting, error));
	CU_ASSERT_FATAL(!ops->measure(target, &e, &result, &stop, error));
	return result;
}

static double latency(struct tune_target *target, uint32_t rx_usecs, uint32_t rx_frames,
		      uint32_t tx_usecs)
{
	struct tune_setting s = {.param = {0}};

	s.param[HW_COALESCE_rx_usecs] = rx_usecs;
	s.param[HW_COALESCE_rx_frames] = rx_frames;
	s.param[HW_COALESCE_tx_usecs] = tx_usecs;
	return measure(target, &s, TUNE_BIT(lat_us), SHORT, 1).value[TUNE_lat_us];
}

/* "rtt >= 2 * t + 2 * X": a microsecond of latency for each of rx-usecs. */
static void latency_rises_by_rx_usecs(void)
{
	static const char *const profiles[] = {"weft", "espgoal"};
	size_t i;

	for (i = 0; i < 2; i++) {
		struct tune_target *t = open_profile(profiles[i]);
		double off = latency(t, 0, 0, 0);

		CU_ASSERT(i ? off > 22.5 && off < 23.4 : off > 8 && off < 11);
		CU_ASSERT(fabs(latency(t, 100, 0, 0) - off - 100) < 1);
		CU_ASSERT(fabs(latency(t, 1023, 0, 0) - off - 1023) < 2);
		/* "if rx-frames is set to 1 the setting of rx-usecs becomes irrelevant" */
		CU_ASSERT(fabs(latency(t, 500, 1, 0) - off) < 1);
		/* One message under way is never two. */
		CU_ASSERT(fabs(latency(t, 100, 2, 0) - off - 100) < 1);
		ops->close(t);
	}
}

/*
 * A tx interrupt tells of the message that has come meanwhile, too. It comes before the message
 * where tx-usecs is less than rx-usecs, after its own interrupt where it is more than twice that,
 * and else halves tx-usecs between the two ends: no latency lies between tx-usecs / 2 and tx-usecs.
 */
static void tx_usecs_leave_a_gap(void)
{
	struct tune_target *t = open_profile("weft");
	double off = latency(t, 0, 0, 0);
	uint32_t rx;

	CU_ASSERT(fabs(latency(t, 300, 0, 150) - off - 300) < 4);
	CU_ASSERT(fabs(latency(t, 300, 0, 400) - off - 200) < 12);
	CU_ASSERT(fabs(latency(t, 300, 0, 500) - off - 250) < 12);
	CU_ASSERT(fabs(latency(t, 300, 0, 700) - off - 300) < 4);
	for (rx = 100; rx <= 1000; rx += 60) {
		double us = latency(t, rx, 0, 600) - off;

		CU_ASSERT(us < 315 || us > 600);
	}
	ops->close(t);
}

/* Bandwidth falls with rx-frames beyond what is under way, and with rx-usecs. */
static void bandwidth_falls(void)
{
	struct tune_target *t = open_profile("espgoal");
	const struct tune_setting off = {.param = {0}}, few = {.param = {800, 16}},
				  many = {.param = {700, 200}}, longer = {.param = {1023, 200}};
	const uint32_t bulk = TUNE_BIT(bw_10m) | TUNE_BIT(irqs_per_s);
	struct tune_result r[4];

	r[0] = measure(t, &off, bulk, SHORT, 1);
	r[1] = measure(t, &few, bulk, SHORT, 1);
	r[2] = measure(t, &many, bulk, SHORT, 1);
	r[3] = measure(t, &longer, bulk, SHORT, 1);
	CU_ASSERT(r[0].value[TUNE_bw_10m] > 95 && r[0].value[TUNE_bw_10m] < 125);
	CU_ASSERT(r[1].value[TUNE_bw_10m] > 0.9 * r[0].value[TUNE_bw_10m]);
	CU_ASSERT(r[2].value[TUNE_bw_10m] < 0.9 * r[1].value[TUNE_bw_10m]);
	CU_ASSERT(r[3].value[TUNE_bw_10m] < 0.85 * r[2].value[TUNE_bw_10m]);
	CU_ASSERT(r[1].value[TUNE_irqs_per_s] < 0.7 * r[0].value[TUNE_irqs_per_s]);
	ops->close(t);
}

/* Fewer interrupts leave more of the processor. */
static void interrupts_cost(void)
{
	struct tune_target *t = open_profile("weft");
	const struct tune_setting off = {.param = {0}}, on = {.param = {500, 100, 500, 100}};
	const uint32_t all = TUNE_BIT(irqs_per_msg) | TUNE_BIT(cpu_us_per_msg) | TUNE_BIT(overlap);
	struct tune_result r[2];

	r[0] = measure(t, &off, all, SHORT, 1);
	r[1] = measure(t, &on, all, SHORT, 1);
	CU_ASSERT(r[0].value[TUNE_irqs_per_msg] > 0.8);
	CU_ASSERT(r[1].value[TUNE_irqs_per_msg] < 0.1);
	CU_ASSERT(r[1].value[TUNE_cpu_us_per_msg] < 0.5 * r[0].value[TUNE_cpu_us_per_msg]);
	CU_ASSERT(r[0].value[TUNE_overlap] > 0 && r[0].value[TUNE_overlap] < 0.9);
	CU_ASSERT(r[1].value[TUNE_overlap] > r[0].value[TUNE_overlap] + 0.1);
	ops->close(t);
}

/* A measurement knows nothing of those before it; the seed moves it a little. */
static void depends_on_the_seed_alone(void)
{
	struct tune_target *t = open_profile(NULL);
	const struct tune_setting s = {.param = {7, 3, 20, 9, 11, 4, 2, 8}},
				  other = {.param = {900, 90, 3, 50}};
	const uint32_t all = tune_target_sim.metrics;
	struct tune_result a = measure(t, &s, all, SHORT, 5), b, c, d;
	uint32_t i, moved = 0;

	(void)measure(t, &other, TUNE_BIT(lat_us), SHORT, 9);
	b = measure(t, &s, all, SHORT, 5);
	c = measure(t, &s, all, SHORT, 6);
	CU_ASSERT(!memcmp(&a, &b, sizeof(a)));
	for (i = 0; i < TUNE_NUM_METRICS; i++) {
		if (!(all >> i & 1)) {
			CU_ASSERT(isnan(a.value[i]));
			continue;
		}
		CU_ASSERT(isfinite(a.value[i]) && a.value[i] >= 0);
		moved += a.value[i] != c.value[i];
		d = measure(t, &s, 1u << i, SHORT, 5);
		CU_ASSERT(d.value[i] == a.value[i]);
		CU_ASSERT(isnan(d.value[(i + 1) % TUNE_NUM_METRICS]));
	}
	CU_ASSERT(moved >= TUNE_NUM_METRICS / 2);
	CU_ASSERT(fabs(a.value[TUNE_lat_us] / c.value[TUNE_lat_us] - 1) < 0.1);
	ops->close(t);
}

/*
 * Less effort is a shorter look at the same thing. rx-frames is beyond what is under way: below it
 * a late wake-up may move the blocks against the count, and the bandwidth to another level.
 */
static void short_and_full(void)
{
	struct tune_target *t = open_profile("weft");
	const struct tune_setting s = {.param = {200, 100}};
	const uint32_t some = TUNE_BIT(lat_us) | TUNE_BIT(bw_1m) | TUNE_BIT(bw_10m);
	struct tune_result brief = measure(t, &s, some, SHORT, 1),
			   full = measure(t, &s, some, 1, 1);

	CU_ASSERT(fabs(brief.value[TUNE_lat_us] / full.value[TUNE_lat_us] - 1) < 0.01);
	CU_ASSERT(fabs(brief.value[TUNE_bw_1m] / full.value[TUNE_bw_1m] - 1) < 0.1);
	CU_ASSERT(fabs(brief.value[TUNE_bw_10m] / full.value[TUNE_bw_10m] - 1) < 0.1);
	ops->close(t);
}

/* Modes reach the NIC: adaptive keeps a ping-pong at "off", the target takes what it allows. */
static void modes(void)
{
	const uint32_t some = TUNE_BIT(lat_us) | TUNE_BIT(irqs_per_s);
	struct tune_target *t = open_profile("espgoal");
	struct tune_result fixed, adaptive, target, off;
	struct tune_setting s = {.param = {200, 40}};

	CU_ASSERT_EQUAL(ops->modes(t), (1u << TUNE_MODES) - 1);
	fixed = measure(t, &s, some, SHORT, 1);
	s.mode = TUNE_ADAPTIVE;
	adaptive = measure(t, &s, some, SHORT, 1);
	s.mode = TUNE_TARGET;
	target = measure(t, &s, some, SHORT, 1);
	s = (struct tune_setting){.mode = TUNE_FIXED};
	off = measure(t, &s, some, SHORT, 1);
	CU_ASSERT(adaptive.value[TUNE_lat_us] < 1.2 * off.value[TUNE_lat_us]);
	CU_ASSERT(target.value[TUNE_lat_us] < off.value[TUNE_lat_us] + 25);
	CU_ASSERT(fixed.value[TUNE_lat_us] > off.value[TUNE_lat_us] + 150);
	CU_ASSERT(adaptive.value[TUNE_irqs_per_s] < off.value[TUNE_irqs_per_s]);
	ops->close(t);
}

static void bad_input(void)
{
	struct tune_target *t;
	struct tune_setting s = {.param = {0}};
	const struct tune_effort e = {TUNE_BIT(lat_us), SHORT, 1};
	struct tune_result result;
	char error[TUNE_ERROR_CHARS] = "";

	CU_ASSERT(!ops->open("tigon3", error));
	CU_ASSERT(strstr(error, "tigon3") && strstr(error, "weft and espgoal"));
	t = open_profile("weft");
	s.param[HW_COALESCE_rx_frames] = 256;
	CU_ASSERT(ops->apply(t, &s, error) == -EINVAL && strstr(error, "0 to 255"));
	s.param[HW_COALESCE_rx_frames] = 0;
	CU_ASSERT(!ops->apply(t, &s, error));
	stop = true;
	CU_ASSERT(ops->measure(t, &e, &result, &stop, error) == -EINTR);
	CU_ASSERT(isnan(result.value[TUNE_lat_us]));
	stop = false;
	CU_ASSERT(!ops->restore(t, error) && !ops->restore(t, error));
	ops->initial(t, &s);
	CU_ASSERT(s.param[0] == 0 && strstr(ops->describe(t), "simulated"));
	ops->close(t);
	t = open_profile("espgoal");
	ops->initial(t, &s);
	CU_ASSERT(s.param[HW_COALESCE_rx_usecs] == 20 && s.param[HW_COALESCE_tx_frames] == 53);
	ops->close(t);
}

UT_MAIN("tools/measure_sim", UT(latency_rises_by_rx_usecs), UT(tx_usecs_leave_a_gap),
	UT(bandwidth_falls), UT(interrupts_cost), UT(depends_on_the_seed_alone), UT(short_and_full),
	UT(modes), UT(bad_input))
