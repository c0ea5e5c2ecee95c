/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: what can be set for a vector, what it counts.
 *
 * The parameters and ranges of espgoal figure 6.1, and 0, which takes a limit off. A class is
 * what completes: rx the requests that a peer's message took (receives), tx a process's own.
 * Frames count completions, not the frames on the wire (docs/tuning.md says why). Set and read by
 * HW_CMD_COALESCE and HW_CMD_VECTOR; used by host_driver/weft_coalesce.c, nic_fw/moder*.c,
 * dpdk_app (configuration), weftctl coalesce and weft-tune.
 */
#ifndef WEFT_HW_COALESCE_H
#define WEFT_HW_COALESCE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(field, word, highest): the word is ethtool's. An interrupt is raised when any limit of a
 * class that is not 0 is met, counted from the first completion since the last interrupt; both
 * limits of a class 0: one interrupt for each event. The limits "irq" hold while the vector is
 * masked or its handler still runs, which is until the process has taken all entries that the
 * last interrupt told of: they rule when new events are made visible, and raise no interrupt.
 * A count without a time is bounded by HW_COALESCE_BOUND_US.
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
	HW_COALESCE_BOUND_US = 1000, /* a few completions short of a count wait no longer */
	HW_COALESCE_ALL_VECTORS = 0xffffffff,
	HW_COALESCE_MIN_TARGET_NS = 1000,
	HW_COALESCE_MAX_TARGET_NS = 1000000,
	HW_COALESCE_MIN_PERCENTILE = 5000, /* of 10,000 */
	HW_COALESCE_MAX_PERCENTILE = 9999,
};

/* Who chooses the four limits without "irq". */
enum hw_coalesce_mode {
	HW_COALESCE_FIXED = 0,    /* the parameters below */
	HW_COALESCE_ADAPTIVE = 1, /* the engine, from a table of profiles, by measuring */
	HW_COALESCE_TARGET = 2,   /* the engine: fewest interrupts that keep the target */
	HW_COALESCE_MODES
};

struct hw_coalesce {
	uint32_t param[HW_COALESCE_NUM_PARAMS]; /* by enum hw_coalesce_param */
	uint32_t mode;                          /* hw_coalesce_mode */
	/* TARGET: so many of 10,000 completions (9,900: p99) are told of within target_ns. */
	uint32_t target_percentile;
	uint32_t target_ns;
	uint32_t reserved;
};
static_assert(sizeof(struct hw_coalesce) == 48, "");
static_assert(offsetof(struct hw_coalesce, mode) == 32, "");

/* HW_CMD_COALESCE: sets what the mask names. EINVAL: a value out of its range, no such vector. */
struct hw_cmd_coalesce {
	uint32_t vector; /* or HW_COALESCE_ALL_VECTORS */
	/* bit i: param[i]; then HW_COALESCE_SET_*. 0: nothing is set, the answer tells what is. */
	uint32_t set;
	struct hw_coalesce coalesce;
};
static_assert(sizeof(struct hw_cmd_coalesce) == 56, "");
#define HW_COALESCE_SET_MODE   (UINT32_C(1) << 30) /* with the target's fields for TARGET */
#define HW_COALESCE_SET_PARAMS ((UINT32_C(1) << HW_COALESCE_NUM_PARAMS) - 1)
#define HW_COALESCE_SET_ALL    (HW_COALESCE_SET_MODE | HW_COALESCE_SET_PARAMS)

/* Answer: of the vector, or of vector 0 for all. */
struct hw_resp_coalesce {
	struct hw_coalesce coalesce; /* as it was set */
	struct hw_coalesce now;      /* limits that the engine has chosen; FIXED: the same */
	uint32_t num_vectors;
	uint32_t reserved;
};
static_assert(sizeof(struct hw_resp_coalesce) == 104, "");

/*
 * Why an interrupt was raised, and what it counted. Counters of HW_CMD_VECTOR and of the NIC's
 * statistics (moder_*, all vectors together). X(name).
 */
#define HW_VECTOR_COUNTERS(X)                                                                      \
	X(completions) /* on CQs with an event queue of this vector */                             \
	X(events)      /* event queue entries made visible */                                      \
	X(interrupts)  /* raised; the sum of the by_* below */                                     \
	X(coalesced)   /* completions and events that raised none of their own */                  \
	X(by_event)    /* not moderated: one interrupt for one event */                            \
	X(by_rx_usecs)                                                                             \
	X(by_rx_frames)                                                                            \
	X(by_tx_usecs)                                                                             \
	X(by_tx_frames)                                                                            \
	X(by_solicited)                                                                            \
	X(by_error)     /* a completion with an error status */                                    \
	X(by_async)     /* asynchronous events, connection events */                               \
	X(by_unmask)    /* what came while the vector was masked, or its handler ran */            \
	X(by_retry)     /* the event queue had been full */                                        \
	X(held_irq)     /* events that waited for the limits "irq" */                              \
	X(mode_changes) /* profiles or delays that ADAPTIVE and TARGET have chosen anew */

enum hw_vector_counter {
#define X(name) HW_VECTOR_##name,
	HW_VECTOR_COUNTERS(X)
#undef X
	HW_VECTOR_NUM_COUNTERS
};

/*
 * Buckets of times: four of one unit, then four to each doubling. Bucket 0 is at once, the last one
 * has no end.
 */
enum {
	HW_VECTOR_BUCKETS = 44,
	HW_VECTOR_UNIT_NS = 256,
};

/* Where bucket i begins; of HW_VECTOR_BUCKETS: where the last one would end. */
static inline uint64_t hw_vector_bucket_ns(uint32_t i)
{
	uint64_t units = i < 4 ? i : (UINT64_C(4) + i % 4) << (i / 4 - 1);

	return units * HW_VECTOR_UNIT_NS;
}

static inline uint32_t hw_vector_bucket_of(uint64_t ns)
{
	uint64_t units = ns / HW_VECTOR_UNIT_NS;
	/* Shifted so far the leading bit and the two behind it are left: 4 to 7. */
	uint32_t shift = units < 4 ? 0 : 61 - (uint32_t)__builtin_clzll(units);
	uint32_t i = 4 * shift + (uint32_t)(units >> shift);

	return i < HW_VECTOR_BUCKETS ? i : HW_VECTOR_BUCKETS - 1;
}

/* HW_CMD_VECTOR: obj.handle is the vector, obj.shard the shard. EINVAL: no such vector. */
struct hw_resp_vector {
	uint64_t counter[HW_VECTOR_NUM_COUNTERS]; /* by enum hw_vector_counter */
	/* time from CQE to interrupt, of each completion that an interrupt told of */
	uint64_t wait[HW_VECTOR_BUCKETS];
	uint64_t wait_sum_ns;
	uint32_t event_queues; /* of this vector, now */
	uint32_t reserved;
};
static_assert(sizeof(struct hw_resp_vector) ==
		  8 * (HW_VECTOR_NUM_COUNTERS + HW_VECTOR_BUCKETS) + 16,
	      "");
static_assert(sizeof(struct hw_resp_vector) <= 496, "it travels in struct hw_cmd_resp");

#endif /* WEFT_HW_COALESCE_H */
