/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes that keep the rules, one on each NIC, and exchange data that is checked.
 *
 * Used by host.c and scribble.c, together with hostile processes. Every request of these two must
 * succeed in time, every byte must be right, and nothing else of their memory may change. Processes
 * GOOD_PROC and GOOD_PROC + 1 of the world.
 */
#ifndef WEFT_TESTS_FUZZ_GOOD_H
#define WEFT_TESTS_FUZZ_GOOD_H

#include "tests/fuzz/world.h"

enum {
	GOOD_PROC = 0,
	GOOD_SLOTS = 7,
	GOOD_SLOT_BYTES = W_MEM_BYTES / 8, /* half of it source, half sink */
	GOOD_MAX_BYTES = GOOD_SLOT_BYTES / 2,
};

enum good_kind {
	GOOD_RD_SEND,
	GOOD_RD_WRITE,
	GOOD_RD_READ,
	GOOD_RD_ADD,
	GOOD_RC_SEND,
	GOOD_RC_WRITE,
	GOOD_RC_READ,
	GOOD_KINDS
};

/* Sets both up; called once. */
void good_begin(void);
/*
 * Called at the start of a run: draws a Q_Key from the run's input, so that the hostile processes
 * cannot guess it.
 */
void good_start(uint32_t secret);
/* Posts one message from end e; nothing if its slot is in use. */
void good_post(uint32_t e, uint32_t slot, enum good_kind kind, uint32_t bytes);
/* Starts a collective at both ends; nothing if one is in progress. */
void good_run(void);
/* Polls completions, checks complete messages. */
void good_poll(void);
/* True if all posted requests have completed. */
bool good_idle(void);
/* Sends a message each way, with interrupts; then checks every byte of both memories. */
void good_finish(void);

#endif /* WEFT_TESTS_FUZZ_GOOD_H */
