/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shadow of a process's memory: what every byte must be.
 *
 * Bytes change in two ways only: the process stores (sim_shadow_store()), or an operation may
 * write a range and holds it as long as it is under way. In a held range each byte is the
 * old or the new one; everywhere else memory equals the shadow, always. So a write outside of
 * its range, a write that comes late and a write that does not come are all seen.
 *
 * Used by sim_wl_verbs*.c and tests/sim; calls nothing. One thread.
 */
#ifndef WEFT_SIM_SHADOW_H
#define WEFT_SIM_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_hold_kind {
	SIM_HOLD_READ,  /* an operation reads it: nobody may change it; may overlap others */
	SIM_HOLD_KEEP,  /* nobody uses it: it must stay as it is */
	SIM_HOLD_WRITE, /* each byte is old or fresh */
	SIM_HOLD_ANY,   /* may become anything: a receive that is posted, an atomic's word */
};

struct sim_shadow;

/* A range that an operation uses. */
struct sim_hold {
	struct sim_hold *next, *prev; /* of the shadow */
	struct sim_shadow *shadow;
	size_t offset, bytes;
	enum sim_hold_kind kind;
	const uint8_t *fresh; /* WRITE: the new bytes; must stay until the hold ends */
	const void *user;     /* the holder's own */
};

/* What was found wrong. */
struct sim_shadow_diff {
	size_t offset;
	uint8_t is, expected;
	const void *user; /* of the hold that does not allow it; NULL: there is none */
};

/* Shadows mem, whose content now is what it must be. NULL: out of memory. */
struct sim_shadow *sim_shadow_new(uint8_t *mem, size_t bytes);
/* With all its holds. */
void sim_shadow_free(struct sim_shadow *shadow);
/* The memory is gone, or nobody can say any more what it holds: every check passes from now on. */
void sim_shadow_dead(struct sim_shadow *shadow);

/* The expected bytes from offset on. */
const uint8_t *sim_shadow_at(const struct sim_shadow *shadow, size_t offset);

/* Whether a new hold would not conflict: reads with reads may overlap, nothing else. */
bool sim_shadow_free_range(const struct sim_shadow *shadow, size_t offset, size_t bytes,
			   bool write);

/* The lowest offset in [low, high) at which so many bytes are free; high: there is none. */
size_t sim_shadow_find(const struct sim_shadow *shadow, size_t low, size_t high, size_t bytes,
		       bool write);

/* Takes a range, which must be free for it. bytes 0: NULL, and nothing is held. */
struct sim_hold *sim_shadow_hold(struct sim_shadow *shadow, size_t offset, size_t bytes,
				 enum sim_hold_kind kind, const uint8_t *fresh);

/* The process itself writes memory and shadow; the range must be free. */
void sim_shadow_store(struct sim_shadow *shadow, size_t offset, const void *data, size_t bytes);

/*
 * The operation is complete: memory must be data (hold->bytes of it), which the shadow becomes.
 * Ends the hold. False: it is not, *diff says where. NULL holds are fine here and below.
 */
bool sim_shadow_settle(struct sim_hold *hold, const uint8_t *data, struct sim_shadow_diff *diff);

/*
 * The operation ended in a way that says nothing about its effect, and nothing of it can come any
 * more: the shadow becomes what memory is, as far as the hold allows it. Ends the hold.
 */
bool sim_shadow_adopt(struct sim_hold *hold, struct sim_shadow_diff *diff);

/* A write that is complete, and is now read by another operation of its flow. As settle. */
bool sim_shadow_to_read(struct sim_hold *hold, struct sim_shadow_diff *diff);

/* Ends a hold without looking: of a read. */
void sim_shadow_release(struct sim_hold *hold);

/* Compares all memory with the shadow. */
bool sim_shadow_check(struct sim_shadow *shadow, struct sim_shadow_diff *diff);

#endif /* WEFT_SIM_SHADOW_H */
