/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hostile NIC of the fuzz target answers: it answers commands.
 */
#ifndef WEFT_TESTS_FUZZ_ANSWERS_NIC_H
#define WEFT_TESTS_FUZZ_ANSWERS_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "host_driver/weft_chan.h"
#include "tests/fuzz/take.h"

struct answers_nic {
	struct take in; /* the input */
	uint8_t *bar;
	uint64_t bar_bytes, next;
	uint32_t number; /* of the next object */
	bool gone;
};

extern struct answers_nic answers_nic;

/* The channel to it. */
extern const struct weft_chan_ops answers_nic_ops;

#endif /* WEFT_TESTS_FUZZ_ANSWERS_NIC_H */
