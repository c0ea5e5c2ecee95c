/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft, interrupt moderation: when the NIC tells a process of its completions. Included by
 * weft.h, whose conventions hold; docs/tuning.md says what to set for which work.
 *
 * Settings belong to an interrupt vector of the NIC, not to a process: they hold for the completion
 * channels that every process made for that vector (weft_create_comp_channel()), and stay until
 * weftd ends. A CQ may have its own (weft_modify_cq()).
 */
#ifndef WEFT_WEFT_COALESCE_H
#define WEFT_WEFT_COALESCE_H

#include "host_driver/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The parameters, with ethtool's names. rx: requests that a peer's message took (receives); tx: a
 * process's own. Frames are completions. An interrupt is raised when any limit of a class that is
 * not 0 is met, counted from the first completion since the last interrupt; both limits of a class
 * 0: one interrupt for each event. A count without a time waits 1 ms at most. Completions of
 * solicited messages, and failed ones, are told of at once. Those with IRQ rule when new events
 * become visible while the vector is masked, or until the process has taken all that the last
 * interrupt told of; they raise no interrupt.
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

/* Who chooses the four limits without IRQ. */
enum weft_coalesce_mode {
	WEFT_COALESCE_FIXED = 0,    /* param[] */
	WEFT_COALESCE_ADAPTIVE = 1, /* the NIC, by measuring */
	WEFT_COALESCE_TARGET = 2,   /* the NIC: fewest interrupts that keep the target */
};

struct weft_coalesce {
	uint32_t param[WEFT_COALESCE_NUM_PARAMS]; /* by enum weft_coalesce_param */
	enum weft_coalesce_mode mode;
	/*
	 * TARGET: so many of 10,000 completions (9,900: p99; 5,000 to 9,999) are told of within
	 * target_ns (1,000 to 1,000,000).
	 */
	uint32_t target_percentile;
	uint32_t target_ns;
};

/* What weft_set_coalesce() sets: bit i is param[i]. */
#define WEFT_COALESCE_SET(param)  (UINT32_C(1) << (param))
#define WEFT_COALESCE_SET_PARAMS  ((UINT32_C(1) << WEFT_COALESCE_NUM_PARAMS) - 1)
#define WEFT_COALESCE_SET_MODE    (UINT32_C(1) << 30) /* with the target's fields for TARGET */
#define WEFT_COALESCE_SET_ALL     (WEFT_COALESCE_SET_MODE | WEFT_COALESCE_SET_PARAMS)
#define WEFT_COALESCE_ALL_VECTORS UINT32_C(0xffffffff)
#define WEFT_COALESCE_ALL_SHARDS  UINT32_C(0xffffffff)

/*
 * What a vector is set to, and which limits hold now: in FIXED mode the same, else those that the
 * NIC has chosen (of a NIC with several shards: the process's own, a tool's: shard 0). Either
 * pointer may be NULL. Contexts of tools, too. -EINVAL: no such vector
 * (weft_device_attr.num_vectors).
 */
WEFT_API WEFT_CHECK_RET int weft_query_coalesce(struct weft_context *context, uint32_t vector,
						struct weft_coalesce *set,
						struct weft_coalesce *now);

/*
 * Sets what mask (WEFT_COALESCE_SET_*, at least one) names, of one vector or of
 * WEFT_COALESCE_ALL_VECTORS, in all shards of the NIC, while traffic runs. All of it or, with an
 * error, nothing. Contexts of tools, too. -EPERM: neither root nor weftd's user; -EINVAL: a value
 * out of its range, no such vector, an unknown bit of mask or none.
 */
WEFT_API WEFT_CHECK_RET int weft_set_coalesce(struct weft_context *context, uint32_t vector,
					      uint32_t mask, const struct weft_coalesce *coalesce);

enum {
	WEFT_VECTOR_BUCKETS = 44,
};

/* What a vector has counted since weftd began. */
struct weft_vector {
	uint64_t completions; /* on CQs whose channel has this vector */
	uint64_t events;      /* made visible to processes */
	uint64_t interrupts;  /* raised; the sum of by_* */
	uint64_t coalesced;   /* completions and events that raised none of their own */
	uint64_t by_event;    /* not moderated: one for one event */
	uint64_t by_rx_usecs;
	uint64_t by_rx_frames;
	uint64_t by_tx_usecs;
	uint64_t by_tx_frames;
	uint64_t by_solicited;
	uint64_t by_error;     /* a completion with an error status */
	uint64_t by_async;     /* asynchronous and connection events */
	uint64_t by_unmask;    /* what came while the vector was masked, or its handler ran */
	uint64_t by_retry;     /* the event queue had been full */
	uint64_t held_irq;     /* events that waited for the limits IRQ */
	uint64_t mode_changes; /* limits that ADAPTIVE and TARGET have chosen anew */
	/*
	 * From completion to interrupt, of each completion that an interrupt told of; bucket i from
	 * weft_vector_bucket_ns(i) on. Bucket 0 is at once.
	 */
	uint64_t wait[WEFT_VECTOR_BUCKETS];
	uint64_t wait_sum_ns;
	uint32_t event_queues; /* of this vector, now */
};

/*
 * The counters of a vector in one shard of the NIC, or in WEFT_COALESCE_ALL_SHARDS together.
 * Contexts of tools, too. -EINVAL: no such vector, no such shard.
 */
WEFT_API WEFT_CHECK_RET int weft_query_vector(struct weft_context *context, uint32_t vector,
					      uint32_t shard, struct weft_vector *counters);

/*
 * Where bucket i of wait[] begins, which is where bucket i - 1 ends: steps of an eighth to a
 * quarter of the time. The last bucket has what is longer, too. Never fails.
 */
WEFT_API uint64_t weft_vector_bucket_ns(uint32_t bucket);

/*
 * The time within which so many of 10,000 completions were told of (9,900: the 99th percentile), as
 * exactly as the buckets of wait[] have it; 0 when there were none. Never fails.
 */
WEFT_API uint64_t weft_vector_wait_ns(const struct weft_vector *counters, uint32_t percentile);

/*
 * Masks the interrupts of a channel, or takes the mask off: for a process that is about to poll and
 * not to sleep. While it is masked the channel's descriptor does not become readable for what is
 * new, and a blocking weft_get_cq_event() does not return for it; events can be taken without
 * blocking. What came meanwhile, and was not taken, is told of when the mask is taken off. One
 * interrupt that was under way may still come. From any thread. -EIO: the NIC is gone, or this is
 * a child of fork.
 */
WEFT_API int weft_mask_comp_channel(struct weft_comp_channel *channel, bool masked);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_WEFT_COALESCE_H */
