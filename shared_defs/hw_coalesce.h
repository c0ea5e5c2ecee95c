/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: settings and counters of a vector.
 *
 * Parameters and ranges are those of ESPGOAL, figure 6.1; in addition 0 disables a limit. There are
 * two classes of completions: rx, requests consumed by a peer's message (receives), and tx, the
 * process's own requests. Frames count completions, not frames on the wire (docs/tuning.md explains
 * why). HW_CMD_COALESCE sets, HW_CMD_VECTOR reads. host_driver/weft_coalesce.c,
 * nic_fw/host/moder*.c, dpdk_app (configuration), weftctl coalesce and weft-measure use this
 * header.
 */
#ifndef WEFT_HW_COALESCE_H
#define WEFT_HW_COALESCE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(field, word, maximum); the word is ethtool's. An interrupt is raised when any nonzero limit of
 * a class is reached, counted from the first completion since the last interrupt. If both limits of
 * a class are 0, every event raises an interrupt. The limits "irq" apply while the vector is masked
 * or its handler runs, that is, until the process has taken all entries that the last interrupt
 * reported. They determine when new events become visible, and raise no interrupt. A count without
 * a time is bounded by HW_COALESCE_BOUND_US.
 */
#define HW_COALESCE_PARAMS(X)                                                                      \
	X(rx_usecs, "rx-usecs", 1023)                                                              \
	X(rx_frames, "rx-frames", 255)                                                             \
	X(tx_usecs, "tx-usecs", 1023)                                                              \
	X(tx_frames, "tx-frames", 255)                                                             \
	X(rx_usecs_irq, "rx-usecs-irq", 1023)                                                      \
	X(rx_frames_irq, "rx-frames-irq", 255)                                                     \
	X(tx_usecs_irq, "tx-usecs-irq", 1023)                                                      \
	X(tx_frames_irq, "tx-frames-irq", 255)

enum hw_coalesce_param {
#define X(field, word, highest) HW_COALESCE_##field,
	HW_COALESCE_PARAMS(X)
#undef X
	HW_COALESCE_NUM_PARAMS
};

enum {
	HW_COALESCE_BOUND_US = 1000, /* maximum wait of completions that do not reach a count */
	HW_COALESCE_ALL_VECTORS = 0xffffffff,
	HW_COALESCE_MIN_TARGET_NS = 1000,
	HW_COALESCE_MAX_TARGET_NS = 1000000,
	HW_COALESCE_MIN_PERCENTILE = 5000, /* out of 10,000 */
	HW_COALESCE_MAX_PERCENTILE = 9999,
};

/* Source of the four limits without "irq". */
enum hw_coalesce_mode {
	HW_COALESCE_FIXED = 0, /* the parameters below */
	/* Chosen by the engine from a table of profiles, based on measurements. */
	HW_COALESCE_ADAPTIVE = 1,
	HW_COALESCE_TARGET = 2, /* chosen by the engine: fewest interrupts that meet the target */
	HW_COALESCE_MODES
};

struct hw_coalesce {
	uint32_t param[HW_COALESCE_NUM_PARAMS]; /* indexed by enum hw_coalesce_param */
	uint32_t mode;                          /* hw_coalesce_mode */
	/* TARGET: this share of 10,000 completions (9,900: p99) is reported within target_ns. */
	uint32_t target_percentile;
	uint32_t target_ns;
	uint32_t reserved;
};
static_assert(sizeof(struct hw_coalesce) == 48, "");
static_assert(offsetof(struct hw_coalesce, mode) == 32, "");

/*
 * HW_CMD_COALESCE: sets the fields that the mask names. EINVAL: a value out of range, or no such
 * vector.
 */
struct hw_cmd_coalesce {
	uint32_t vector; /* or HW_COALESCE_ALL_VECTORS */
	/* bit i: param[i]; then HW_COALESCE_SET_*. 0: query only. */
	uint32_t set;
	struct hw_coalesce coalesce;
};
static_assert(sizeof(struct hw_cmd_coalesce) == 56, "");
#define HW_COALESCE_SET_MODE   (UINT32_C(1) << 30) /* with the target's fields for TARGET */
#define HW_COALESCE_SET_PARAMS ((UINT32_C(1) << HW_COALESCE_NUM_PARAMS) - 1)
#define HW_COALESCE_SET_ALL    (HW_COALESCE_SET_MODE | HW_COALESCE_SET_PARAMS)

/* Answer: values of the vector, or of vector 0 for all vectors. */
struct hw_resp_coalesce {
	struct hw_coalesce coalesce; /* the settings */
	struct hw_coalesce now;      /* limits chosen by the engine; FIXED: equal to the settings */
	uint32_t num_vectors;
	uint32_t reserved;
};
static_assert(sizeof(struct hw_resp_coalesce) == 104, "");

/*
 * Counts, and causes of interrupts. These are the counters of HW_CMD_VECTOR and, summed over all
 * vectors, of the NIC's statistics (moder_*). X(name).
 */
#define HW_VECTOR_COUNTERS(X)                                                                      \
	X(completions) /* on CQs with an event queue of this vector */                             \
	X(events)      /* event queue entries made visible */                                      \
	X(interrupts)  /* sum of the by_* below */                                                 \
	X(coalesced)   /* completions and events that raised no interrupt of their own */          \
	X(by_event)    /* unmoderated: one interrupt per event */                                  \
	X(by_rx_usecs)                                                                             \
	X(by_rx_frames)                                                                            \
	X(by_tx_usecs)                                                                             \
	X(by_tx_frames)                                                                            \
	X(by_solicited)                                                                            \
	X(by_error)     /* a completion with an error status */                                    \
	X(by_async)     /* asynchronous events, connection events */                               \
	X(by_unmask)    /* events that arrived while the vector was masked or its handler ran */   \
	X(by_retry)     /* after the event queue had been full */                                  \
	X(held_irq)     /* events delayed by the "irq" limits */                                   \
	X(mode_changes) /* changes of profile or delay by ADAPTIVE and TARGET */

enum hw_vector_counter {
#define X(name) HW_VECTOR_##name,
	HW_VECTOR_COUNTERS(X)
#undef X
	HW_VECTOR_NUM_COUNTERS
};

/*
 * Time buckets: four of one unit, then four per doubling. Bucket 0 means no delay; the last one has
 * no upper bound.
 */
enum {
	HW_VECTOR_BUCKETS = 44,
	HW_VECTOR_UNIT_NS = 256,
};

/* Returns the start of bucket i; for HW_VECTOR_BUCKETS, the nominal end of the last one. */
static inline uint64_t hw_vector_bucket_ns(uint32_t i)
{
	uint64_t units = i < 4 ? i : (UINT64_C(4) + i % 4) << (i / 4 - 1);

	return units * HW_VECTOR_UNIT_NS;
}

static inline uint32_t hw_vector_bucket_of(uint64_t ns)
{
	uint64_t units = ns / HW_VECTOR_UNIT_NS;
	/* Shift until the leading bit and the two bits after it remain: 4 to 7. */
	uint32_t shift = units < 4 ? 0 : 61 - (uint32_t)__builtin_clzll(units);
	uint32_t i = 4 * shift + (uint32_t)(units >> shift);

	return i < HW_VECTOR_BUCKETS ? i : HW_VECTOR_BUCKETS - 1;
}

/* HW_CMD_VECTOR: obj.handle is the vector, obj.shard the shard. EINVAL: no such vector. */
struct hw_resp_vector {
	uint64_t counter[HW_VECTOR_NUM_COUNTERS]; /* indexed by enum hw_vector_counter */
	/* time from CQE to interrupt, for each completion that an interrupt reported */
	uint64_t wait[HW_VECTOR_BUCKETS];
	uint64_t wait_sum_ns;
	uint32_t event_queues; /* current number of this vector */
	uint32_t reserved;
};
static_assert(sizeof(struct hw_resp_vector) ==
		  8 * (HW_VECTOR_NUM_COUNTERS + HW_VECTOR_BUCKETS) + 16,
	      "");
static_assert(sizeof(struct hw_resp_vector) <= 496, "it travels in struct hw_cmd_resp");

#endif /* WEFT_HW_COALESCE_H */
