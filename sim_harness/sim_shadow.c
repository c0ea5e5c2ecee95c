/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shadow memory; see sim_shadow.h.
 *
 * Each shadow has one array of held ranges, up to some hundred, in no order: each use of a range
 * reads all of them. A full check sorts the holds that permit a difference and compares the memory
 * between them at memcmp's speed.
 */
#include "sim_harness/sim_shadow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORN = 0x5b, /* odd */
};

struct sim_shadow {
	uint8_t *mem;
	uint8_t *copy;
	size_t bytes;
	bool dead;
	bool wears;
	struct held {
		size_t offset, end;
		struct sim_hold *hold;
	} * held;
	uint32_t num_held, max_held;
};

struct sim_shadow *sim_shadow_new(uint8_t *mem, size_t bytes)
{
	struct sim_shadow *shadow = calloc(1, sizeof(*shadow));

	if (!shadow)
		return NULL;
	shadow->copy = malloc(bytes);
	if (!shadow->copy) {
		free(shadow);
		return NULL;
	}
	memcpy(shadow->copy, mem, bytes);
	shadow->mem = mem;
	shadow->bytes = bytes;
	return shadow;
}

void sim_shadow_free(struct sim_shadow *shadow)
{
	if (!shadow)
		return;
	shadow->wears = false;
	while (shadow->num_held)
		sim_shadow_release(shadow->held[0].hold);
	free(shadow->held);
	free(shadow->copy);
	free(shadow);
}

void sim_shadow_dead(struct sim_shadow *shadow)
{
	shadow->dead = true;
}

void sim_shadow_wear(struct sim_shadow *shadow)
{
	shadow->wears = true;
}

const uint8_t *sim_shadow_at(const struct sim_shadow *shadow, size_t offset)
{
	assert(offset <= shadow->bytes);
	return shadow->copy + offset;
}

/* Returns a hold that conflicts with this use of a range, or NULL. */
static const struct sim_hold *conflict(const struct sim_shadow *shadow, size_t offset, size_t bytes,
				       bool write)
{
	const struct held *held = shadow->held, *end = held + shadow->num_held;

	for (; bytes && held < end; held++) {
		if (offset < held->end && held->offset < offset + bytes &&
		    (write || held->hold->kind != SIM_HOLD_READ))
			return held->hold;
	}
	return NULL;
}

bool sim_shadow_free_range(const struct sim_shadow *shadow, size_t offset, size_t bytes, bool write)
{
	return !conflict(shadow, offset, bytes, write);
}

size_t sim_shadow_find(const struct sim_shadow *shadow, size_t low, size_t high, size_t bytes,
		       bool write)
{
	const struct sim_hold *hold;

	while (low + bytes <= high) {
		hold = conflict(shadow, low, bytes, write);
		if (!hold)
			return low;
		low = hold->offset + hold->bytes;
	}
	return high;
}

static void add(struct sim_shadow *shadow, struct sim_hold *hold)
{
	if (shadow->num_held == shadow->max_held) {
		shadow->max_held = shadow->max_held ? 2 * shadow->max_held : 16;
		shadow->held = realloc(shadow->held, shadow->max_held * sizeof(*shadow->held));
		assert(shadow->held);
	}
	hold->place = shadow->num_held;
	shadow->held[shadow->num_held++] =
	    (struct held){hold->offset, hold->offset + hold->bytes, hold};
}

/* The last one takes its place. */
static void take_out(struct sim_shadow *shadow, const struct sim_hold *hold)
{
	struct held *held = &shadow->held[hold->place];

	*held = shadow->held[--shadow->num_held];
	held->hold->place = hold->place;
}

struct sim_hold *sim_shadow_hold(struct sim_shadow *shadow, size_t offset, size_t bytes,
				 enum sim_hold_kind kind, const uint8_t *fresh)
{
	struct sim_hold *hold;

	assert(offset + bytes <= shadow->bytes);
	assert(sim_shadow_free_range(shadow, offset, bytes, kind != SIM_HOLD_READ));
	assert(kind != SIM_HOLD_WRITE || fresh || !bytes);
	if (!bytes)
		return NULL;
	hold = calloc(1, sizeof(*hold));
	assert(hold);
	hold->shadow = shadow;
	hold->offset = offset;
	hold->bytes = bytes;
	hold->kind = kind;
	hold->fresh = fresh;
	add(shadow, hold);
	return hold;
}

/* No byte keeps its value, nor has it again after a few changes. */
static void change(struct sim_shadow *shadow, size_t offset, size_t bytes)
{
	size_t i;

	for (i = offset; i < offset + bytes; i++) {
		shadow->mem[i] = (uint8_t)(shadow->mem[i] + WORN);
		shadow->copy[i] = shadow->mem[i];
	}
}

void sim_shadow_release(struct sim_hold *hold)
{
	struct sim_shadow *shadow;
	size_t offset, bytes;
	bool worn;

	if (!hold)
		return;
	shadow = hold->shadow;
	offset = hold->offset;
	bytes = hold->bytes;
	worn = hold->kind == SIM_HOLD_READ && shadow->wears && !shadow->dead;
	take_out(shadow, hold);
	free(hold);
	if (worn && sim_shadow_free_range(shadow, offset, bytes, true))
		change(shadow, offset, bytes);
}

void sim_shadow_store(struct sim_shadow *shadow, size_t offset, const void *data, size_t bytes)
{
	assert(offset + bytes <= shadow->bytes && !shadow->dead);
	assert(sim_shadow_free_range(shadow, offset, bytes, true));
	memcpy(shadow->mem + offset, data, bytes);
	memcpy(shadow->copy + offset, data, bytes);
}

/*
 * Returns true if [offset, offset + bytes) of memory equals data; otherwise stores the difference.
 */
static bool same(const struct sim_shadow *shadow, size_t offset, const uint8_t *data, size_t bytes,
		 struct sim_shadow_diff *diff)
{
	size_t i;

	if (!memcmp(shadow->mem + offset, data, bytes))
		return true;
	for (i = 0; shadow->mem[offset + i] == data[i]; i++)
		;
	diff->offset = offset + i;
	diff->is = shadow->mem[offset + i];
	diff->expected = data[i];
	diff->user = NULL;
	return false;
}

/* Checks memory against the values that the hold currently permits. */
static bool within(const struct sim_hold *hold, struct sim_shadow_diff *diff)
{
	const struct sim_shadow *shadow = hold->shadow;
	const uint8_t *is = shadow->mem + hold->offset, *old = shadow->copy + hold->offset;
	size_t i;

	if (hold->kind == SIM_HOLD_ANY)
		return true;
	if (hold->kind == SIM_HOLD_READ || hold->kind == SIM_HOLD_KEEP)
		return same(shadow, hold->offset, old, hold->bytes, diff);
	for (i = 0; i < hold->bytes; i++) {
		if (is[i] != old[i] && is[i] != hold->fresh[i]) {
			diff->offset = hold->offset + i;
			diff->is = is[i];
			diff->expected = hold->fresh[i];
			diff->user = hold->user;
			return false;
		}
	}
	return true;
}

bool sim_shadow_settle(struct sim_hold *hold, const uint8_t *data, struct sim_shadow_diff *diff)
{
	bool right = true;

	if (!hold)
		return true;
	if (!hold->shadow->dead) {
		right = same(hold->shadow, hold->offset, data, hold->bytes, diff);
		memcpy(hold->shadow->copy + hold->offset, data, hold->bytes);
	}
	sim_shadow_release(hold);
	return right;
}

bool sim_shadow_adopt(struct sim_hold *hold, struct sim_shadow_diff *diff)
{
	struct sim_shadow *shadow;
	bool right = true;

	if (!hold)
		return true;
	shadow = hold->shadow;
	if (!shadow->dead) {
		right = within(hold, diff);
		memcpy(shadow->copy + hold->offset, shadow->mem + hold->offset, hold->bytes);
	}
	sim_shadow_release(hold);
	return right;
}

bool sim_shadow_to_read(struct sim_hold *hold, struct sim_shadow_diff *diff)
{
	bool right = true;

	if (!hold)
		return true;
	if (!hold->shadow->dead) {
		right = same(hold->shadow, hold->offset, hold->fresh, hold->bytes, diff);
		memcpy(hold->shadow->copy + hold->offset, hold->fresh, hold->bytes);
	}
	hold->kind = SIM_HOLD_READ;
	hold->fresh = NULL;
	return right;
}

static int by_offset(const void *a, const void *b)
{
	const struct sim_hold *const *x = a, *const *y = b;

	return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

bool sim_shadow_check(struct sim_shadow *shadow, struct sim_shadow_diff *diff)
{
	const struct sim_hold **list;
	size_t at = 0;
	uint32_t n = 0, i;
	bool right = true;

	if (shadow->dead)
		return true;
	list = malloc((shadow->num_held + 1) * sizeof(struct sim_hold *));
	assert(list);
	for (i = 0; i < shadow->num_held; i++) {
		const struct sim_hold *hold = shadow->held[i].hold;

		if (hold->kind == SIM_HOLD_WRITE || hold->kind == SIM_HOLD_ANY)
			list[n++] = hold;
	}
	qsort(list, n, sizeof(*list), by_offset);
	for (i = 0; i < n && right; i++) {
		assert(list[i]->offset >= at);
		right = same(shadow, at, shadow->copy + at, list[i]->offset - at, diff) &&
			within(list[i], diff);
		at = list[i]->offset + list[i]->bytes;
	}
	if (right)
		right = same(shadow, at, shadow->copy + at, shadow->bytes - at, diff);
	free(list);
	return right;
}
