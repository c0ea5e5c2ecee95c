/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target that is a formula; see tune_fix.h.
 */
#include "tests/tools/tune_fix.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tune_fix fix;

#define P(setting, name) ((double)(setting)->param[HW_COALESCE_##name])

/* How long one frame waits for its interrupt, by the rules of hw_coalesce.h. */
static double wait_us(const struct tune_setting *s)
{
	double frames = P(s, rx_frames), usecs = P(s, rx_usecs);

	if (frames == 1 || (frames == 0 && usecs == 0))
		return 0;
	return usecs == 0 ? HW_COALESCE_BOUND_US : usecs;
}

double fix_latency(const struct tune_setting *s)
{
	return fix.flat ? FIX_BEST_LATENCY
			: FIX_BEST_LATENCY + 0.92 * wait_us(s) - 0.002 * P(s, tx_usecs_irq) +
			      0.002 * 1023;
}

/* Best with two dozen frames to an interrupt; rx-usecs takes a little. */
double fix_bandwidth(const struct tune_setting *s)
{
	double frames = P(s, rx_frames) ? P(s, rx_frames) : 1;

	return fix.flat ? FIX_BEST_BANDWIDTH
			: FIX_BEST_BANDWIDTH - 6 * fabs(log2(frames / 24)) - 0.02 * P(s, rx_usecs);
}

static struct tune_target *fix_open(const char *name, char *error)
{
	(void)name;
	(void)error;
	return (struct tune_target *)&fix;
}

static uint32_t fix_params(const struct tune_target *target, uint32_t highest[TUNE_P])
{
	(void)target;
#define X(field, word, most) highest[HW_COALESCE_##field] = most;
	HW_COALESCE_PARAMS(X)
#undef X
	return HW_COALESCE_SET_PARAMS;
}

static uint32_t fix_modes(const struct tune_target *target)
{
	(void)target;
	return fix.modes ? fix.modes : (1u << TUNE_MODES) - 1;
}

static int fix_apply(struct tune_target *target, const struct tune_setting *setting, char *error)
{
	(void)target;
	(void)error;
	fix.now = *setting;
	fix.applied++;
	return 0;
}

/* Nearly normal: the sum of twelve uniform ones. */
static double normal(struct sim_prng *prng)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)(sim_prng_next(prng) >> 11) * 0x1p-53;
	return sum;
}

static int fix_measure(struct tune_target *target, const struct tune_effort *effort,
		       struct tune_result *result, const volatile bool *stop, char *error)
{
	struct sim_prng prng;
	double values[TUNE_NUM_METRICS];

	(void)target;
	(void)stop;
	if (fix.fail_after && fix.measured >= fix.fail_after) {
		snprintf(error, TUNE_ERROR_CHARS, "the peer of the formula has died");
		return -EPIPE;
	}
	fix.measured++;
	if (fix.stop_after && fix.measured == fix.stop_after)
		fix.stop = true;
	sim_prng_init(&prng, effort->seed, SIM_STREAM_TEST, 0);
	for (int i = 0; i < TUNE_NUM_METRICS; i++)
		values[i] = NAN;
	values[TUNE_lat_us] = fix_latency(&fix.now);
	values[TUNE_bw_1m] = fix_bandwidth(&fix.now) * 0.9;
	values[TUNE_bw_10m] = fix_bandwidth(&fix.now);
	values[TUNE_irqs_per_s] = 80000 / (P(&fix.now, rx_frames) + 1);
	for (int i = 0; i < TUNE_NUM_METRICS; i++) {
		double error_share = fix.noise * normal(&prng) / sqrt(effort->effort);

		if (effort->metrics & (UINT32_C(1) << i))
			result->value[i] = values[i] * (1 + error_share);
	}
	return 0;
}

static void fix_initial(const struct tune_target *target, struct tune_setting *setting)
{
	(void)target;
	*setting = (struct tune_setting){.param = {20, 5, 72, 53, 0, 0, 0, 0}};
}

static int fix_restore(struct tune_target *target, char *error)
{
	(void)error;
	fix_initial(target, &fix.now);
	fix.restored++;
	return 0;
}

static void fix_close(struct tune_target *target)
{
	(void)target;
}

static const char *fix_describe(const struct tune_target *target)
{
	(void)target;
	return "a formula with noise";
}

const struct tune_target_ops tune_target_fix = {
    .name = "fix",
    .metrics = 1 << TUNE_lat_us | 1 << TUNE_bw_1m | 1 << TUNE_bw_10m | 1 << TUNE_irqs_per_s,
    .open = fix_open,
    .params = fix_params,
    .modes = fix_modes,
    .apply = fix_apply,
    .measure = fix_measure,
    .initial = fix_initial,
    .restore = fix_restore,
    .close = fix_close,
    .describe = fix_describe,
};

void fix_plan(struct tune_plan *plan, enum tune_method method, enum tune_objective objective,
	      uint64_t budget)
{
	fix = (struct tune_fix){.noise = 0.01};
	*plan = (struct tune_plan){
	    .target = "fix",
	    .method = method,
	    .objective = objective,
	    .budget = budget,
	    .seed = 1,
	    .repeats = 1,
	    .samples = 250,
	    .metrics = tune_target_fix.metrics,
	    .what = "a formula, \"noisy\"",
	    .command = "weft-tune --sim",
	};
	plan->space.params = fix_params(NULL, plan->space.highest);
	fix_initial(NULL, &plan->space.base);
}

void fix_run(struct tune_run *run, const struct tune_plan *plan, struct tune_record *record)
{
	*run = (struct tune_run){
	    .ops = &tune_target_fix,
	    .target = (struct tune_target *)&fix,
	    .record = record,
	    .stop = &fix.stop,
	    .seed = plan->seed,
	};
}

void fix_folder(char path[TUNE_PATH_CHARS])
{
	snprintf(path, TUNE_PATH_CHARS, "%s/weft-tune.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(path))
		abort();
}

void fix_remove(const char *path)
{
	char command[TUNE_PATH_CHARS + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	if (system(command))
		abort();
}
