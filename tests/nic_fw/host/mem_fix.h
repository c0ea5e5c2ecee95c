/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of STags, included by mem*_ut.c: memory to register, and an access to it.
 */
#ifndef WEFT_TESTS_MEM_FIX_H
#define WEFT_TESTS_MEM_FIX_H

#include "tests/bench/host.h"

enum {
	ALL_REMOTE = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_READ |
		     HW_ACCESS_REMOTE_ATOMIC,
};

static uint64_t words[64];

static inline enum hw_vendor_err check(struct fw_ut *ut, uint32_t pd, uint32_t stag, uint64_t to,
				       uint64_t bytes, uint32_t need)
{
	struct fw_mem mem;

	return mem_check(ut->nic, pd, 0, stag, to, bytes, need, &mem);
}

#endif /* WEFT_TESTS_MEM_FIX_H */
