/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomic operations of HW_WQE_ATOMIC: operations, types of the element, and the code of both in a
 * request (hw_sq_wqe.mw_access) and on the wire (WIRE_ATOMIC_TYPED).
 *
 * The numbers are those of libfabric's enum fi_op and enum fi_datatype. nic_fw/base/atomic_op.c
 * computes the results, and defines what wraps and what a NaN does. docs/wire-format.md.
 */
#ifndef WEFT_HW_ATOMIC_H
#define WEFT_HW_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * t is the element, v the request's operand (swap), c its comparand (compare_add). The element's
 * old value comes back in each case.
 */
enum hw_atomic_op {
	HW_ATOMIC_MIN = 0,
	HW_ATOMIC_MAX = 1,
	HW_ATOMIC_SUM = 2,
	HW_ATOMIC_PROD = 3,
	HW_ATOMIC_LOR = 4, /* logical: the result is 1 or 0 */
	HW_ATOMIC_LAND = 5,
	HW_ATOMIC_BOR = 6, /* bitwise: integers only */
	HW_ATOMIC_BAND = 7,
	HW_ATOMIC_LXOR = 8,
	HW_ATOMIC_BXOR = 9,
	HW_ATOMIC_READ = 10,
	HW_ATOMIC_WRITE = 11,
	HW_ATOMIC_CSWAP = 12, /* t = v if c == t */
	HW_ATOMIC_CSWAP_NE = 13,
	HW_ATOMIC_CSWAP_LE = 14, /* t = v if c <= t */
	HW_ATOMIC_CSWAP_LT = 15,
	HW_ATOMIC_CSWAP_GE = 16,
	HW_ATOMIC_CSWAP_GT = 17,
	HW_ATOMIC_MSWAP = 18, /* t = (v & c) | (t & ~c); integers only */
	HW_ATOMIC_OPS
};

/* An element is aligned to its size, in the memory of the process. */
enum hw_atomic_type {
	HW_ATOMIC_INT8 = 0,
	HW_ATOMIC_UINT8 = 1,
	HW_ATOMIC_INT16 = 2,
	HW_ATOMIC_UINT16 = 3,
	HW_ATOMIC_INT32 = 4,
	HW_ATOMIC_UINT32 = 5,
	HW_ATOMIC_INT64 = 6,
	HW_ATOMIC_UINT64 = 7,
	HW_ATOMIC_FLOAT = 8,
	HW_ATOMIC_DOUBLE = 9,
	HW_ATOMIC_TYPES
};

#define HW_ATOMIC_CODE(op, type) ((uint32_t)(op) << 8 | (uint32_t)(type))
#define HW_ATOMIC_OP_OF(code)    ((uint8_t)((code) >> 8))
#define HW_ATOMIC_TYPE_OF(code)  ((uint8_t)(code))

/* Bytes of an element of a valid type. */
static inline uint32_t hw_atomic_bytes(uint8_t type)
{
	return type == HW_ATOMIC_FLOAT ? 4 : type == HW_ATOMIC_DOUBLE ? 8 : 1u << (type >> 1);
}

static inline bool hw_atomic_is_real(uint8_t type)
{
	return type == HW_ATOMIC_FLOAT || type == HW_ATOMIC_DOUBLE;
}

/* True for a code of an operation that the NIC carries out. The code may be anything. */
static inline bool hw_atomic_is_valid(uint64_t code)
{
	const uint32_t bitwise = 1u << HW_ATOMIC_BOR | 1u << HW_ATOMIC_BAND | 1u << HW_ATOMIC_BXOR |
				 1u << HW_ATOMIC_MSWAP;

	if (code >= HW_ATOMIC_CODE(HW_ATOMIC_OPS, 0) || HW_ATOMIC_TYPE_OF(code) >= HW_ATOMIC_TYPES)
		return false;
	return !hw_atomic_is_real(HW_ATOMIC_TYPE_OF(code)) ||
	       !(bitwise >> HW_ATOMIC_OP_OF(code) & 1);
}

#endif /* WEFT_HW_ATOMIC_H */
