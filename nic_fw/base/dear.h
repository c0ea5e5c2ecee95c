/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dear work: what takes far longer than its frame or operation would.
 *
 * A copy of memory that is not mapped takes two context switches, in which the turn stands still;
 * so a process could make turns long with few frames. Who copies charges the account, and each
 * stage of a turn takes what was charged into its budget. Work that can be put off stops when the
 * account has reached fw_nic.dear_most, and goes on in a later turn. fw_nic.h includes it behind
 * the instance.
 */
#ifndef WEFT_FW_DEAR_H
#define WEFT_FW_DEAR_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Units are those of a stage's budget, less than half a microsecond each; also fw.h. */
	FW_DEAR_COPY_BYTES = 4096,   /* of one copy where the caller chooses */
	FW_DEAR_MAPPED_BYTES = 4096, /* bytes that are copied within mapped memory: a unit */
	FW_DEAR_STRETCHES = 16,      /* stretches of a buffer in pieces: a unit */
	FW_DEAR_LONG = 32,           /* units of a stage in a long turn, */
	FW_DEAR_SHORT = 16,          /* and in a short one (fw_poll()), */
	FW_DEAR_EVERY = 8,           /* of so many of which one copies unmapped memory; */
	FW_DEAR_APART = 3,           /* two NICs do so many turns apart: a message meets one copy */
};

static inline void fw_dear_add(struct fw_nic *nic, uint32_t units)
{
	nic->dear += units;
}

/* A copy of memory that is not mapped. */
static inline void fw_dear_copy(struct fw_nic *nic, uint32_t bytes)
{
	nic->dear += FW_DEAR_COPY_UNITS + bytes / FW_DEAR_UNIT_BYTES;
}

/* Returns what was charged since the last call. */
static inline uint32_t fw_dear_take(struct fw_nic *nic)
{
	uint32_t units = nic->dear;

	nic->dear = 0;
	return units;
}

/* True if the stage has done enough for this turn. */
static inline bool fw_dear_spent(const struct fw_nic *nic)
{
	return nic->dear >= nic->dear_most;
}

/* True if a copy shall wait for a later turn; unmapped: it is one of memory that is not mapped. */
static inline bool fw_dear_waits(const struct fw_nic *nic, bool unmapped)
{
	return (unmapped && nic->dear_rests) || fw_dear_spent(nic);
}

#endif /* WEFT_FW_DEAR_H */
