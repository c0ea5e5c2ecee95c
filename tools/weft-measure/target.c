/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names, errors and the figures of a run of a load, for all targets.
 */
#include "tools/weft-measure/target.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host_driver/weft_coalesce.h"

uint32_t tune_work_metrics(enum tune_work work)
{
	static const uint32_t metrics[TUNE_WORKS] = {
	    [TUNE_WORK_PING] = TUNE_BIT(lat_us) | TUNE_BIT(lat_p99_us),
	    [TUNE_WORK_BULK_1] = TUNE_BIT(bw_1m) | TUNE_BIT(overlap),
	    [TUNE_WORK_BULK_10] = TUNE_BIT(bw_10m) | TUNE_BIT(irqs_per_s),
	    [TUNE_WORK_STREAM] =
		TUNE_BIT(irqs_per_msg) | TUNE_BIT(cpu_us_per_msg) | TUNE_HOST_METRICS,
	};

	return metrics[work];
}

uint32_t tune_nic_params(const struct tune_target *target, uint32_t highest[HW_COALESCE_NUM_PARAMS])
{
	static const uint32_t ranges[] = {
#define X(field, word, highest_value) highest_value,
	    HW_COALESCE_PARAMS(X)
#undef X
	};

	(void)target;
	memcpy(highest, ranges, sizeof(ranges));
	return HW_COALESCE_SET_PARAMS;
}

uint32_t tune_nic_modes(const struct tune_target *target)
{
	(void)target;
	return (1u << TUNE_MODES) - 1;
}

void tune_coalesce(const struct tune_setting *setting, struct weft_coalesce *coalesce)
{
	static const enum weft_coalesce_mode modes[TUNE_MODES] = {
	    [TUNE_FIXED] = WEFT_COALESCE_FIXED,
	    [TUNE_ADAPTIVE] = WEFT_COALESCE_ADAPTIVE,
	    [TUNE_TARGET] = WEFT_COALESCE_TARGET,
	};

	*coalesce = (struct weft_coalesce){.mode = modes[setting->mode],
					   .target_percentile = TUNE_TARGET_PERCENTILE,
					   .target_ns = TUNE_TARGET_NS};
	memcpy(coalesce->param, setting->param, sizeof(coalesce->param));
}

uint32_t tune_repeats(uint32_t full, double effort, uint32_t least)
{
	double n = full * effort + 0.5;

	return n < least ? least : (uint32_t)n;
}

void tune_result_clear(struct tune_result *result)
{
	uint32_t i;

	for (i = 0; i < TUNE_NUM_METRICS; i++)
		result->value[i] = NAN;
}

void tune_work_result(enum tune_work work, const struct tune_outcome *run,
		      struct tune_result *result)
{
	const struct load_plan *plan = &run->load->plan;
	double messages = (double)plan->warmup + plan->repeats, left;

	switch (work) {
	case TUNE_WORK_PING:
		result->value[TUNE_lat_us] = load_quantile(run->load, 0.5) / 1e3;
		result->value[TUNE_lat_p99_us] = load_quantile(run->load, 0.99) / 1e3;
		break;
	case TUNE_WORK_BULK_1:
		left = 1 - (run->busy_a + run->busy_b) / 2;
		result->value[TUNE_bw_1m] = load_rate(run->load) / TUNE_MB;
		result->value[TUNE_overlap] = left < 0 ? 0 : left;
		break;
	case TUNE_WORK_BULK_10:
		result->value[TUNE_bw_10m] = load_rate(run->load) / TUNE_MB;
		result->value[TUNE_irqs_per_s] = (double)(run->irqs_a + run->irqs_b) / run->seconds;
		break;
	case TUNE_WORK_STREAM:
		result->value[TUNE_irqs_per_msg] = (double)run->irqs_a / messages;
		result->value[TUNE_cpu_us_per_msg] = run->busy_a * run->seconds * 1e6 / messages;
		result->value[TUNE_wakeups_per_msg] = run->wakeups / messages;
		result->value[TUNE_switches_per_msg] = run->switches / messages;
		result->value[TUNE_softirqs_per_msg] = run->softirqs / messages;
		break;
	case TUNE_WORKS:
		break;
	}
}

int tune_measure_works(struct tune_target *target, tune_work_fn fn,
		       const struct tune_effort *effort, struct tune_result *result,
		       const volatile bool *stop, char *error)
{
	struct tune_result all;
	uint32_t i;
	int rc = 0;

	tune_result_clear(&all);
	tune_result_clear(result);
	for (i = 0; i < TUNE_WORKS && !rc; i++) {
		if (effort->metrics & tune_work_metrics((enum tune_work)i))
			rc = fn(target, (enum tune_work)i, effort, &all, stop, error);
	}
	for (i = 0; i < TUNE_NUM_METRICS && !rc; i++) {
		if (effort->metrics >> i & 1)
			result->value[i] = all.value[i];
	}
	return rc;
}

int tune_error(char *error, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, TUNE_ERROR_CHARS, format, args);
	va_end(args);
	return rc;
}

const char *tune_split_name(const char *text, char *name, size_t bytes)
{
	const char *at = strchr(text, '@');
	size_t chars = at ? (size_t)(at - text) : strlen(text);

	snprintf(name, bytes, "%.*s", (int)chars, text);
	return at ? at + 1 : NULL;
}
