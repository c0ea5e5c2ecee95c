/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shadow of a process's memory: the expected value of every byte.
 *
 * Bytes change in only two ways: the process stores (sim_shadow_store()), or an operation may write
 * a range, which it holds while outstanding. In a held range each byte has its old or its new
 * value. Everywhere else memory always equals the shadow. Writes outside their range, late writes
 * and missing writes are thus detected.
 *
 * One thread.
 */
#ifndef WEFT_SIM_SHADOW_H
#define WEFT_SIM_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_hold_kind {
	SIM_HOLD_READ,  /* read by an operation: must not change; may overlap other reads */
	SIM_HOLD_KEEP,  /* unused: must not change */
	SIM_HOLD_WRITE, /* each byte has its old or its new value */
	SIM_HOLD_ANY,   /* arbitrary content: a posted receive, the word of an atomic */
};

struct sim_shadow;

/* A range that an operation uses. */
struct sim_hold {
	struct sim_shadow *shadow;
	uint32_t place; /* in the shadow's array */
	size_t offset, bytes;
	enum sim_hold_kind kind;
	const uint8_t *fresh; /* WRITE: the new bytes; must stay valid until the hold ends */
	const void *user;     /* owned by the holder */
};

/* A detected difference. */
struct sim_shadow_diff {
	size_t offset;
	uint8_t is, expected;
	const void *user; /* of the hold that does not permit it; NULL: none */
};

/* Creates a shadow of mem, whose current content is the expected one. NULL: out of memory. */
struct sim_shadow *sim_shadow_new(uint8_t *mem, size_t bytes);
/* Also frees its holds. */
void sim_shadow_free(struct sim_shadow *shadow);
/* The memory was freed, or its content is unknown: every check passes from now on. */
void sim_shadow_dead(struct sim_shadow *shadow);

/*
 * From now on the process changes each byte of a range when the last operation that read it is
 * over: a NIC that reads it later sends wrong bytes.
 */
void sim_shadow_wear(struct sim_shadow *shadow);

/* Returns the expected bytes from offset on. */
const uint8_t *sim_shadow_at(const struct sim_shadow *shadow, size_t offset);

/* Returns true if a new hold would not conflict: only reads may overlap reads. */
bool sim_shadow_free_range(const struct sim_shadow *shadow, size_t offset, size_t bytes,
			   bool write);

/* Returns the lowest offset in [low, high) with this many free bytes; high: there is none. */
size_t sim_shadow_find(const struct sim_shadow *shadow, size_t low, size_t high, size_t bytes,
		       bool write);

/* Holds a range, which must be free for it. bytes 0: returns NULL and holds nothing. */
struct sim_hold *sim_shadow_hold(struct sim_shadow *shadow, size_t offset, size_t bytes,
				 enum sim_hold_kind kind, const uint8_t *fresh);

/* The process itself writes memory and shadow; the range must be free. */
void sim_shadow_store(struct sim_shadow *shadow, size_t offset, const void *data, size_t bytes);

/*
 * The operation has completed: memory must equal data (hold->bytes of it), which becomes the
 * expected content. Ends the hold. Returns false with *diff if it differs. Here and below, NULL
 * holds are permitted.
 */
bool sim_shadow_settle(struct sim_hold *hold, const uint8_t *data, struct sim_shadow_diff *diff);

/*
 * The operation ended with an unknown effect and can have no further one: the shadow takes over the
 * memory's content, as far as the hold permits. Ends the hold.
 */
bool sim_shadow_adopt(struct sim_hold *hold, struct sim_shadow_diff *diff);

/*
 * Converts a completed write to a read of the next operation in its flow. As sim_shadow_settle().
 */
bool sim_shadow_to_read(struct sim_hold *hold, struct sim_shadow_diff *diff);

/* Ends a hold without a check, for reads. */
void sim_shadow_release(struct sim_hold *hold);

/* Compares all memory with the shadow. */
bool sim_shadow_check(struct sim_shadow *shadow, struct sim_shadow_diff *diff);

#endif /* WEFT_SIM_SHADOW_H */
