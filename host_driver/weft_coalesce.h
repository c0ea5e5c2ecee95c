/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft, interrupt moderation: when the NIC notifies a process of completions. Included by
 * weft.h, whose conventions apply; docs/tuning.md recommends settings.
 *
 * Settings belong to an interrupt vector of the NIC, not to a process. They apply to all completion
 * channels created for that vector by any process (weft_create_comp_channel()), and last until
 * weftd ends. A CQ may have its own settings (weft_modify_cq()).
 */
#ifndef WEFT_WEFT_COALESCE_H
#define WEFT_WEFT_COALESCE_H

#include "host_driver/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Parameters, with ethtool's names. rx: requests consumed by a peer's message (receives); tx: the
 * process's own requests. Frames are completions. An interrupt is raised when any nonzero limit of
 * a class is reached, counted from the first completion since the last interrupt. If both limits of
 * a class are 0, every event raises an interrupt. A count without a time waits at most 1 ms.
 * Completions of solicited messages and failed requests are never delayed. Parameters with IRQ
 * determine when new events become visible while the vector is masked, or while the process has not
 * yet taken all events of the last interrupt; they raise no interrupt.
 */
enum weft_coalesce_param {
	WEFT_COALESCE_RX_USECS = 0,  /* 0 to 1,023 */
	WEFT_COALESCE_RX_FRAMES = 1, /* 0 to 255 */
	WEFT_COALESCE_TX_USECS = 2,
	WEFT_COALESCE_TX_FRAMES = 3,
	WEFT_COALESCE_RX_USECS_IRQ = 4,
	WEFT_COALESCE_RX_FRAMES_IRQ = 5,
	WEFT_COALESCE_TX_USECS_IRQ = 6,
	WEFT_COALESCE_TX_FRAMES_IRQ = 7,
	WEFT_COALESCE_NUM_PARAMS
};

/* Source of the four limits without IRQ. */
enum weft_coalesce_mode {
	WEFT_COALESCE_FIXED = 0,    /* the values of param[] */
	WEFT_COALESCE_ADAPTIVE = 1, /* chosen by the NIC from measurements */
	WEFT_COALESCE_TARGET = 2,   /* chosen by the NIC: fewest interrupts that meet the target */
};

struct weft_coalesce {
	uint32_t param[WEFT_COALESCE_NUM_PARAMS]; /* indexed by enum weft_coalesce_param */
	enum weft_coalesce_mode mode;
	/*
	 * TARGET: this share of 10,000 completions (9,900: p99; 5,000 to 9,999) is reported within
	 * target_ns (1,000 to 1,000,000).
	 */
	uint32_t target_percentile;
	uint32_t target_ns;
};

/* Fields for weft_set_coalesce(): bit i is param[i]. */
#define WEFT_COALESCE_SET(param)  (UINT32_C(1) << (param))
#define WEFT_COALESCE_SET_PARAMS  ((UINT32_C(1) << WEFT_COALESCE_NUM_PARAMS) - 1)
#define WEFT_COALESCE_SET_MODE    (UINT32_C(1) << 30) /* with the target's fields for TARGET */
#define WEFT_COALESCE_SET_ALL     (WEFT_COALESCE_SET_MODE | WEFT_COALESCE_SET_PARAMS)
#define WEFT_COALESCE_ALL_VECTORS UINT32_C(0xffffffff)
#define WEFT_COALESCE_ALL_SHARDS  UINT32_C(0xffffffff)

/*
 * Returns the settings of a vector and the limits in effect. In FIXED mode both are the same;
 * otherwise the limits are those that the NIC has chosen (in a NIC with several shards: in the
 * process's shard; for a tool, shard 0). Either pointer may be NULL. Works on contexts of tools.
 * -EINVAL: no such vector (weft_device_attr.num_vectors).
 */
WEFT_API WEFT_CHECK_RET int weft_query_coalesce(struct weft_context *context, uint32_t vector,
						struct weft_coalesce *set,
						struct weft_coalesce *now);

/*
 * Sets the fields that mask names (WEFT_COALESCE_SET_*, at least one) for one vector or for
 * WEFT_COALESCE_ALL_VECTORS, in all shards of the NIC, while traffic runs. On error nothing
 * changes. Works on contexts of tools. -EPERM: neither root nor weftd's user; -EINVAL: a value out
 * of range, no such vector, or an unknown or empty mask.
 */
WEFT_API WEFT_CHECK_RET int weft_set_coalesce(struct weft_context *context, uint32_t vector,
					      uint32_t mask, const struct weft_coalesce *coalesce);

enum {
	WEFT_VECTOR_BUCKETS = 44,
};

/* Counters of a vector since weftd began. */
struct weft_vector {
	uint64_t completions; /* on CQs whose channel uses this vector */
	uint64_t events;      /* made visible to processes */
	uint64_t interrupts;  /* sum of by_* */
	uint64_t coalesced;   /* completions and events that raised no interrupt of their own */
	uint64_t by_event;    /* unmoderated: one per event */
	uint64_t by_rx_usecs;
	uint64_t by_rx_frames;
	uint64_t by_tx_usecs;
	uint64_t by_tx_frames;
	uint64_t by_solicited;
	uint64_t by_error;  /* a completion with an error status */
	uint64_t by_async;  /* asynchronous and connection events */
	uint64_t by_unmask; /* events that arrived while the vector was masked or its handler ran */
	uint64_t by_retry;  /* after the event queue had been full */
	uint64_t held_irq;  /* events delayed by the IRQ limits */
	uint64_t mode_changes; /* changes of limits by ADAPTIVE and TARGET */
	/*
	 * Time from completion to interrupt, for each completion that an interrupt reported; bucket
	 * i starts at weft_vector_bucket_ns(i). Bucket 0: no delay.
	 */
	uint64_t wait[WEFT_VECTOR_BUCKETS];
	uint64_t wait_sum_ns;
	uint32_t event_queues; /* current number of this vector */
};

/*
 * Returns the counters of a vector in one shard, or the sums with WEFT_COALESCE_ALL_SHARDS. Works
 * on contexts of tools. -EINVAL: no such vector or shard.
 */
WEFT_API WEFT_CHECK_RET int weft_query_vector(struct weft_context *context, uint32_t vector,
					      uint32_t shard, struct weft_vector *counters);

/*
 * Returns the start of bucket i of wait[], which is the end of bucket i - 1. Buckets are an eighth
 * to a quarter of their time wide. The last bucket has no upper bound. Never fails.
 */
WEFT_API uint64_t weft_vector_bucket_ns(uint32_t bucket);

/*
 * Returns the time within which this share of 10,000 completions was reported (9,900: 99th
 * percentile), with the precision of the buckets; 0 when there were none. Never fails.
 */
WEFT_API uint64_t weft_vector_wait_ns(const struct weft_vector *counters, uint32_t percentile);

/*
 * Masks or unmasks the interrupts of a channel, for a process that is about to poll instead of
 * sleep. While masked, new events do not make the channel's descriptor readable and do not end a
 * blocking weft_get_cq_event(); events can be taken without blocking. Events that arrived meanwhile
 * and were not taken are reported when the mask is removed. One interrupt already under way may
 * still arrive. Any thread. -EIO: the NIC is gone, or this is a child of fork.
 */
WEFT_API int weft_mask_comp_channel(struct weft_comp_channel *channel, bool masked);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_WEFT_COALESCE_H */
