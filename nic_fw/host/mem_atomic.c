/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics on mapped memory, with the processor's own atomic instructions: so they are atomic with
 * those of processes on the same memory. Calls atomic_op.c. See mem.h.
 */
#include "nic_fw/host/mem.h"

#include <string.h>

#include "nic_fw/fw_port.h"

static uint64_t mem_atomic_load(const void *at, uint32_t bytes)
{
	switch (bytes) {
	case 1:
		return __atomic_load_n((const uint8_t *)at, __ATOMIC_SEQ_CST);
	case 2:
		return __atomic_load_n((const uint16_t *)at, __ATOMIC_SEQ_CST);
	case 4:
		return __atomic_load_n((const uint32_t *)at, __ATOMIC_SEQ_CST);
	default:
		return __atomic_load_n((const uint64_t *)at, __ATOMIC_SEQ_CST);
	}
}

#define SWAP(name, type)                                                                           \
	static bool name(void *at, uint64_t *seen, uint64_t value)                                 \
	{                                                                                          \
		type there = (type)*seen;                                                          \
		bool done = __atomic_compare_exchange_n((type *)at, &there, (type)value, false,    \
							__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
                                                                                                   \
		*seen = there;                                                                     \
		return done;                                                                       \
	}

SWAP(swap_8, uint8_t)
SWAP(swap_16, uint16_t)
SWAP(swap_32, uint32_t)
SWAP(swap_64, uint64_t)

/* Stores a value if *seen is there. False: *seen has what is there instead. */
static bool mem_atomic_swap(void *at, uint32_t bytes, uint64_t *seen, uint64_t value)
{
	switch (bytes) {
	case 1:
		return swap_8(at, seen, value);
	case 2:
		return swap_16(at, seen, value);
	case 4:
		return swap_32(at, seen, value);
	default:
		return swap_64(at, seen, value);
	}
}

/*
 * An aligned address of the process may still be mapped at an unaligned one. Then the operation is
 * atomic against this shard alone.
 */
static uint64_t unaligned(uint8_t *at, uint32_t bytes, const struct fw_atomic *op)
{
	uint64_t original = 0, result;

	memcpy(&original, at, bytes);
	if (fw_atomic_result(op, original, &result))
		memcpy(at, &result, bytes);
	return original;
}

/* A swap that fails takes the line along, so the next one seldom fails. */
static bool by_swaps(void *at, uint32_t bytes, const struct fw_atomic *op, uint64_t *original)
{
	uint64_t seen = mem_atomic_load(at, bytes), result;

	for (uint32_t tries = 0; tries < MEM_ATOMIC_TRIES; tries++) {
		if (!fw_atomic_result(op, seen, &result) ||
		    mem_atomic_swap(at, bytes, &seen, result)) {
			*original = seen;
			return true;
		}
	}
	return false;
}

bool mem_atomic(const struct fw_mem *mem, const struct fw_atomic *op, uint64_t *original)
{
	uint32_t bytes = hw_atomic_bytes(op->type);

	if ((uintptr_t)mem->ptr % bytes) {
		*original = unaligned(mem->ptr, bytes, op);
		return true;
	}
	if (op->type != HW_ATOMIC_UINT64)
		return by_swaps(mem->ptr, bytes, op, original);
	if (op->op == HW_ATOMIC_SUM) {
		*original =
		    __atomic_fetch_add((uint64_t *)(void *)mem->ptr, op->value, __ATOMIC_SEQ_CST);
		return true;
	}
	if (op->op == HW_ATOMIC_CSWAP) {
		*original = op->compare;
		(void)mem_atomic_swap(mem->ptr, bytes, original, op->value);
		return true;
	}
	return by_swaps(mem->ptr, bytes, op, original);
}
