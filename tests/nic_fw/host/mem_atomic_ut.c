/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics on mapped memory: elements of each size in the midst of others, what is not stored is not
 * written, and the bound on tries when another keeps changing the element. The compare-and-swap is
 * played here.
 */
#include "tests/bench/host.h"

static uint32_t swaps, lost; /* made; of them the first ones find another value */

static bool play(void *at, void *there, uint64_t value, size_t bytes)
{
	swaps++;
	if (swaps <= lost) {
		/* Another was faster. */
		++*(uint8_t *)at;
		memcpy(there, at, bytes);
		return false;
	}
	if (memcmp(at, there, bytes)) {
		memcpy(there, at, bytes);
		return false;
	}
	memcpy(at, &value, bytes);
	return true;
}

#define __atomic_compare_exchange_n(at, there, value, weak, success, failure)                      \
	play(at, there, value, sizeof(*(at)))
#define mem_atomic tested_mem_atomic
bool tested_mem_atomic(const struct fw_mem *mem, const struct fw_atomic *op, uint64_t *original);
#include "nic_fw/host/mem_atomic.c"

static uint8_t bytes[24] __attribute__((aligned(8)));

static void begin(uint32_t others)
{
	memset(bytes, 0xee, sizeof(bytes));
	swaps = 0;
	lost = others;
}

static bool carry_out(uint32_t at, uint8_t op, uint8_t type, uint64_t value, uint64_t *original)
{
	const struct fw_mem mem = {.ptr = bytes + at};
	const struct fw_atomic atomic = {op, type, 0, value};

	return tested_mem_atomic(&mem, &atomic, original);
}

static void sizes(void)
{
	static const uint8_t types[] = {HW_ATOMIC_UINT8, HW_ATOMIC_UINT16, HW_ATOMIC_UINT32,
					HW_ATOMIC_INT64};

	for (uint32_t i = 0; i < 4; i++) {
		uint64_t original = 1, all = UINT64_MAX >> (64 - (8 << i));
		uint32_t n = 1u << i;

		begin(0);
		CU_ASSERT_TRUE(carry_out(8, HW_ATOMIC_SUM, types[i], 1, &original));
		CU_ASSERT_EQUAL(original, UINT64_C(0xeeeeeeeeeeeeeeee) & all);
		CU_ASSERT_EQUAL(bytes[8], 0xef);
		for (uint32_t b = 0; b < sizeof(bytes); b++)
			CU_ASSERT_TRUE(b == 8 || bytes[b] == 0xee);
		/* At an address that is not aligned: without a swap. */
		swaps = 0;
		if (n > 1)
			CU_ASSERT_TRUE(carry_out(3, HW_ATOMIC_WRITE, types[i], 0, &original));
		for (uint32_t b = 0; n > 1 && b < 8; b++)
			CU_ASSERT_EQUAL(bytes[b], b >= 3 && b < 3 + n && b < 8 ? 0 : 0xee);
		CU_ASSERT_EQUAL(swaps, 0);
	}
}

static void not_stored(void)
{
	uint64_t original;

	begin(0);
	CU_ASSERT_TRUE(carry_out(0, HW_ATOMIC_READ, HW_ATOMIC_UINT16, 0, &original));
	CU_ASSERT_EQUAL(original, 0xeeee);
	CU_ASSERT_TRUE(carry_out(0, HW_ATOMIC_MIN, HW_ATOMIC_UINT32, 0xffffffff, &original));
	CU_ASSERT_EQUAL(original, 0xeeeeeeee);
	CU_ASSERT_TRUE(carry_out(0, HW_ATOMIC_CSWAP, HW_ATOMIC_INT32, 5, &original));
	CU_ASSERT_EQUAL(swaps, 0);
}

static void others_write(void)
{
	uint64_t original;

	begin(MEM_ATOMIC_TRIES - 1);
	CU_ASSERT_TRUE(carry_out(16, HW_ATOMIC_MAX, HW_ATOMIC_UINT16, 0xffff, &original));
	CU_ASSERT_EQUAL(swaps, MEM_ATOMIC_TRIES);
	CU_ASSERT_EQUAL(original, 0xee00 + (0xee + MEM_ATOMIC_TRIES - 1) % 256);
	CU_ASSERT_EQUAL(bytes[16] + bytes[17], 2 * 0xff);
	begin(MEM_ATOMIC_TRIES);
	CU_ASSERT_FALSE(carry_out(16, HW_ATOMIC_MAX, HW_ATOMIC_UINT16, 0xffff, &original));
	CU_ASSERT_EQUAL(swaps, MEM_ATOMIC_TRIES);
	CU_ASSERT_TRUE(bytes[16] == (uint8_t)(0xee + MEM_ATOMIC_TRIES) && bytes[17] == 0xee);
	/* The NIC's first two operations take one instruction each, and do not fail. */
	begin(0);
	CU_ASSERT_TRUE(carry_out(8, HW_ATOMIC_SUM, HW_ATOMIC_UINT64, 1, &original));
	CU_ASSERT_EQUAL(swaps, 0);
	CU_ASSERT_TRUE(carry_out(8, HW_ATOMIC_CSWAP, HW_ATOMIC_UINT64, 1, &original));
	CU_ASSERT_TRUE(swaps == 1 && original == UINT64_C(0xeeeeeeeeeeeeeeef));
	begin(1);
	CU_ASSERT_TRUE(carry_out(8, HW_ATOMIC_CSWAP, HW_ATOMIC_UINT64, 1, &original));
	CU_ASSERT_TRUE(swaps == 1 && original == UINT64_C(0xeeeeeeeeeeeeeeef));
}

UT_MAIN("nic_fw/host/mem_atomic", UT(sizes), UT(not_stored), UT(others_write))
