/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations that the targets share, and those that main.c needs beside tune.h.
 *
 * open() takes a name and, behind an @, a peer:
 *
 *	sim	NULL, "weft" or "espgoal": the profile (target_sim.c)
 *	device	"weft0" or "weft0@weft1": the other end's NIC, of the same weftd; else the next one
 *	netdev	"eth0@ADDRESS[:PORT]": where `weft-measure serve` runs
 */
#ifndef WEFT_MEASURE_TARGET_H
#define WEFT_MEASURE_TARGET_H

#include "tools/weft-measure/load.h"
#include "tools/weft-measure/tune.h"

#define TUNE_MB     1e6 /* unit of MB/s: ESPGOAL's bulk of 1 MB and 10 MB */
#define TUNE_BIT(m) (UINT32_C(1) << TUNE_##m)

/* describe() of a device that was adaptive: a setting has limits alone, and cannot say that. */
#define TUNE_ADAPTIVE_TEXT                                                                         \
	" At first it chose its limits by itself, which it does for the reference rows alone: "    \
	"'the "                                                                                    \
	"initial setting' are the limits that stood beside that."

/* Counted by weft-irqs, for target device alone. */
#define TUNE_HOST_METRICS                                                                          \
	(TUNE_BIT(wakeups_per_msg) | TUNE_BIT(switches_per_msg) | TUNE_BIT(softirqs_per_msg))
#define TUNE_ALL_METRICS ((UINT32_C(1) << TUNE_NUM_METRICS) - 1)

/* A run of a load, and the metrics that it gives. */
enum tune_work {
	TUNE_WORK_PING,    /* lat_us, lat_p99_us */
	TUNE_WORK_BULK_1,  /* bw_1m, overlap */
	TUNE_WORK_BULK_10, /* bw_10m, irqs_per_s */
	TUNE_WORK_STREAM,  /* irqs_per_msg, cpu_us_per_msg, and what TUNE_HOST_METRICS are */
	TUNE_WORKS
};

/* The metrics that a work gives, by bit. */
uint32_t tune_work_metrics(enum tune_work work);

/* One run of a load, as the target saw it. */
struct tune_outcome {
	struct load *load; /* of end A */
	double seconds;
	uint64_t irqs_a, irqs_b;
	double busy_a, busy_b;              /* share of a processor, 0..; NAN: not measured */
	double wakeups, switches, softirqs; /* of end A's process; NAN: not counted */
};

/* Puts the figures of a run of this work into the result, and leaves the others as they are. */
void tune_work_result(enum tune_work work, const struct tune_outcome *run,
		      struct tune_result *result);

/* Measures one work into its metrics of the result; returns as tune_target_ops.measure(). */
typedef int (*tune_work_fn)(struct tune_target *target, enum tune_work work,
			    const struct tune_effort *effort, struct tune_result *result,
			    const volatile bool *stop, char *error);
/*
 * All works that the metrics of the effort ask for, until one fails, which fn's return value says.
 * The result has the metrics that were asked for, none after a failure.
 */
int tune_measure_works(struct tune_target *target, tune_work_fn fn,
		       const struct tune_effort *effort, struct tune_result *result,
		       const volatile bool *stop, char *error);

/*
 * For targets that are NICs of weft: all parameters, by bit, with the highest value of each, as
 * hw_coalesce.h has them; all modes.
 */
uint32_t tune_nic_params(const struct tune_target *target,
			 uint32_t highest[HW_COALESCE_NUM_PARAMS]);
uint32_t tune_nic_modes(const struct tune_target *target);

/* A setting as weft_set_coalesce() takes it. */
struct weft_coalesce;
void tune_coalesce(const struct tune_setting *setting, struct weft_coalesce *coalesce);

/* Full repeats times effort, but so many at least. */
uint32_t tune_repeats(uint32_t full, double effort, uint32_t least);

/* Starts with every metric NAN. */
void tune_result_clear(struct tune_result *result);

/* error: a line for the user, cut to TUNE_ERROR_CHARS. Returns rc. */
int tune_error(char *error, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * "NAME@PEER" into its two parts; the first is cut to bytes. Returns the peer, NULL when there is
 * none.
 */
const char *tune_split_name(const char *text, char *name, size_t bytes);

/*
 * Serves the other end of netdev until a signal comes. address: NULL for any; iface: NULL where
 * nothing is set at this end. Returns the exit status.
 */
int tune_serve(const char *address, const char *port, const char *iface);

#endif /* WEFT_MEASURE_TARGET_H */
