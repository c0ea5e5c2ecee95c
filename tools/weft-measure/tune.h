/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types that main.c and the targets exchange: a setting and an effort in, metrics out. weft-tune
 * (tools/weft-tune/space.py) has the same names of parameters, modes and metrics. ESPGOAL 6.2.
 */
#ifndef WEFT_MEASURE_TUNE_H
#define WEFT_MEASURE_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/hw_coalesce.h"

/* How the limits are chosen. Searches vary TUNE_FIXED alone; the others are reference rows. */
enum tune_mode {
	TUNE_FIXED,    /* param[] */
	TUNE_ADAPTIVE, /* the device, by measuring */
	TUNE_TARGET,   /* the device: the fewest interrupts that keep TUNE_TARGET_TEXT */
	TUNE_MODES
};

/* The target of the reference row: the one that docs/tuning.md takes for its example. */
#define TUNE_TARGET_TEXT "p99=20us"
enum {
	TUNE_TARGET_PERCENTILE = 9900, /* of 10,000 completions */
	TUNE_TARGET_NS = 20000,
};

/* One point of the space: a value for each of the eight parameters, 0 for off. */
struct tune_setting {
	uint32_t param[HW_COALESCE_NUM_PARAMS]; /* by enum hw_coalesce_param */
	enum tune_mode mode;
};

/* Metrics of a setting; tools/weft-tune/space.py says what each means. */
#define TUNE_METRICS(X)                                                                            \
	X(lat_us)                                                                                  \
	X(lat_p99_us)                                                                              \
	X(bw_1m)                                                                                   \
	X(bw_10m)                                                                                  \
	X(irqs_per_s)                                                                              \
	X(irqs_per_msg)                                                                            \
	X(overlap)                                                                                 \
	X(cpu_us_per_msg)                                                                          \
	X(wakeups_per_msg)                                                                         \
	X(switches_per_msg)                                                                        \
	X(softirqs_per_msg)

enum tune_metric {
#define X(name) TUNE_##name,
	TUNE_METRICS(X)
#undef X
	TUNE_NUM_METRICS
};

/* NAN: not measured, or the target cannot measure it. */
struct tune_result {
	double value[TUNE_NUM_METRICS];
};

enum {
	TUNE_ERROR_CHARS = 256,
};

/*
 * How long a measurement takes, so that successive halving can begin with short ones: repeats
 * of ping-pong and bytes of bulk are those of the full measurement times effort, 0 < effort <= 1.
 */
struct tune_effort {
	uint32_t metrics; /* bit i: enum tune_metric; the others stay NAN */
	double effort;
	uint64_t seed; /* of this measurement: targets that simulate vary with it; never 0 */
};

struct tune_target;

/*
 * A target. All calls are made by one thread, in the order open, (apply, measure)*, restore,
 * close. They return 0, or a negative errno with one line for the user in error
 * (TUNE_ERROR_CHARS). restore() puts the initial settings back, those that open() read; it is
 * called whenever open() succeeded, also after errors and signals, and may be called twice. A
 * benchmark peer that dies makes measure() fail with -EPIPE. measure() polls *stop and ends early
 * with -EINTR.
 */
struct tune_target_ops {
	const char *name; /* "sim", "device", "netdev" */
	uint32_t metrics; /* that it can measure, by bit */
	/* True: the same setting, effort and seed give the same result, so no repeat is needed. */
	bool noise_free;
	/* name: the device or interface; NULL for sim. */
	struct tune_target *(*open)(const char *name, char *error);
	/* Parameters that can be set here, by bit, and the highest value of each. */
	uint32_t (*params)(const struct tune_target *target,
			   uint32_t highest[HW_COALESCE_NUM_PARAMS]);
	/* The modes that apply() takes, by bit of enum tune_mode; TUNE_FIXED is one of them. */
	uint32_t (*modes)(const struct tune_target *target);
	int (*apply)(struct tune_target *target, const struct tune_setting *setting, char *error);
	int (*measure)(struct tune_target *target, const struct tune_effort *effort,
		       struct tune_result *result, const volatile bool *stop, char *error);
	/* The initial setting: the one that open() read. Reports compare with it. */
	void (*initial)(const struct tune_target *target, struct tune_setting *setting);
	int (*restore)(struct tune_target *target, char *error);
	void (*close)(struct tune_target *target);
	/* A line or two about what is measured where, for the report. */
	const char *(*describe)(const struct tune_target *target);
};

extern const struct tune_target_ops tune_target_sim;
extern const struct tune_target_ops tune_target_device;
extern const struct tune_target_ops tune_target_netdev;

#endif /* WEFT_MEASURE_TUNE_H */
