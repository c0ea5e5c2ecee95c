/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: operations and types of WEFT_WR_ATOMIC. Included by weft.h.
 *
 * The peer's NIC carries an operation out on one element of its process's memory, once, and atomic
 * with all other atomics of NICs there and with the atomic instructions of its processors. The
 * requester gets the element's value before the operation.
 */
#ifndef WEFT_ATOMIC_H
#define WEFT_ATOMIC_H

#include <stdint.h>

/*
 * t is the element, v is weft_send_wr.swap, c is compare_add: both hold their value in the low
 * bytes, the others are ignored. MIN and MAX store v if it is less or greater than t. Logical
 * operations (LOR, LAND, LXOR) make 1 or 0. Bitwise ones (BOR, BAND, BXOR, MSWAP) are for integers.
 */
enum weft_atomic_op {
	WEFT_ATOMIC_MIN = 0,
	WEFT_ATOMIC_MAX = 1,
	WEFT_ATOMIC_SUM = 2, /* integers wrap around, in PROD, too */
	WEFT_ATOMIC_PROD = 3,
	WEFT_ATOMIC_LOR = 4,
	WEFT_ATOMIC_LAND = 5,
	WEFT_ATOMIC_BOR = 6,
	WEFT_ATOMIC_BAND = 7,
	WEFT_ATOMIC_LXOR = 8,
	WEFT_ATOMIC_BXOR = 9,
	WEFT_ATOMIC_READ = 10,
	WEFT_ATOMIC_WRITE = 11,
	WEFT_ATOMIC_CSWAP = 12,    /* t = v if c == t */
	WEFT_ATOMIC_CSWAP_NE = 13, /* t = v if c != t; the next four likewise */
	WEFT_ATOMIC_CSWAP_LE = 14,
	WEFT_ATOMIC_CSWAP_LT = 15,
	WEFT_ATOMIC_CSWAP_GE = 16,
	WEFT_ATOMIC_CSWAP_GT = 17,
	WEFT_ATOMIC_MSWAP = 18, /* t = (v & c) | (t & ~c) */
};

/*
 * Reals are IEEE 754. A sum or product that is a NaN is the positive quiet NaN without payload.
 * Comparisons with a NaN are false (CSWAP_NE: true), and MIN and MAX leave the element as it is.
 * -0.0 equals 0.0.
 */
enum weft_atomic_type {
	WEFT_ATOMIC_INT8 = 0,
	WEFT_ATOMIC_UINT8 = 1,
	WEFT_ATOMIC_INT16 = 2,
	WEFT_ATOMIC_UINT16 = 3,
	WEFT_ATOMIC_INT32 = 4,
	WEFT_ATOMIC_UINT32 = 5,
	WEFT_ATOMIC_INT64 = 6,
	WEFT_ATOMIC_UINT64 = 7,
	WEFT_ATOMIC_FLOAT = 8,
	WEFT_ATOMIC_DOUBLE = 9,
};

#endif /* WEFT_ATOMIC_H */
