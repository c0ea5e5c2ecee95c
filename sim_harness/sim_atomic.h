/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of atomic operations: what the C language's own arithmetic makes of an element. It
 * shares no code with the firmware's (nic_fw/base/atomic_op.c).
 */
#ifndef WEFT_SIM_ATOMIC_H
#define WEFT_SIM_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shared_defs/hw_atomic.h"

/* Operations of all types; was: the element, v: the operand, c: the comparand. */
#define SIM_ATOMIC_COMMON                                                                          \
	case HW_ATOMIC_MIN:                                                                        \
		return v < was && (*t = v, true);                                                  \
	case HW_ATOMIC_MAX:                                                                        \
		return v > was && (*t = v, true);                                                  \
	case HW_ATOMIC_LOR:                                                                        \
		return *t = was || v, true;                                                        \
	case HW_ATOMIC_LAND:                                                                       \
		return *t = was && v, true;                                                        \
	case HW_ATOMIC_LXOR:                                                                       \
		return *t = !was != !v, true;                                                      \
	case HW_ATOMIC_WRITE:                                                                      \
		return *t = v, true;                                                               \
	case HW_ATOMIC_CSWAP:                                                                      \
		return c == was && (*t = v, true);                                                 \
	case HW_ATOMIC_CSWAP_NE:                                                                   \
		return c != was && (*t = v, true);                                                 \
	case HW_ATOMIC_CSWAP_LE:                                                                   \
		return c <= was && (*t = v, true);                                                 \
	case HW_ATOMIC_CSWAP_LT:                                                                   \
		return c < was && (*t = v, true);                                                  \
	case HW_ATOMIC_CSWAP_GE:                                                                   \
		return c >= was && (*t = v, true);                                                 \
	case HW_ATOMIC_CSWAP_GT:                                                                   \
		return c > was && (*t = v, true);                                                  \
	case HW_ATOMIC_READ:                                                                       \
	case HW_ATOMIC_OPS:                                                                        \
		break;

#define SIM_ATOMIC_INTEGER(T)                                                                      \
	static inline bool sim_atomic_##T(uint8_t op, T *t, T v, T c)                              \
	{                                                                                          \
		T was = *t;                                                                        \
                                                                                                   \
		switch ((enum hw_atomic_op)op) {                                                   \
		case HW_ATOMIC_SUM:                                                                \
			return (void)__builtin_add_overflow(was, v, t), true;                      \
		case HW_ATOMIC_PROD:                                                               \
			return (void)__builtin_mul_overflow(was, v, t), true;                      \
		case HW_ATOMIC_BOR:                                                                \
			return *t = (T)(was | v), true;                                            \
		case HW_ATOMIC_BAND:                                                               \
			return *t = (T)(was & v), true;                                            \
		case HW_ATOMIC_BXOR:                                                               \
			return *t = (T)(was ^ v), true;                                            \
		case HW_ATOMIC_MSWAP:                                                              \
			return *t = (T)((v & c) | (was & (T)~c)), true;                            \
			SIM_ATOMIC_COMMON                                                          \
		}                                                                                  \
		return false;                                                                      \
	}

#define SIM_ATOMIC_REAL(T, NAN_OF_T)                                                               \
	static inline bool sim_atomic_##T(uint8_t op, T *t, T v, T c)                              \
	{                                                                                          \
		T was = *t;                                                                        \
                                                                                                   \
		switch ((enum hw_atomic_op)op) {                                                   \
		case HW_ATOMIC_SUM:                                                                \
		case HW_ATOMIC_PROD:                                                               \
			*t = op == HW_ATOMIC_SUM ? was + v : was * v;                              \
			if (__builtin_isnan(*t))                                                   \
				*t = NAN_OF_T("");                                                 \
			return true;                                                               \
		case HW_ATOMIC_BOR:                                                                \
		case HW_ATOMIC_BAND:                                                               \
		case HW_ATOMIC_BXOR:                                                               \
		case HW_ATOMIC_MSWAP:                                                              \
			break;                                                                     \
			SIM_ATOMIC_COMMON                                                          \
		}                                                                                  \
		return false;                                                                      \
	}

SIM_ATOMIC_INTEGER(int8_t)
SIM_ATOMIC_INTEGER(uint8_t)
SIM_ATOMIC_INTEGER(int16_t)
SIM_ATOMIC_INTEGER(uint16_t)
SIM_ATOMIC_INTEGER(int32_t)
SIM_ATOMIC_INTEGER(uint32_t)
SIM_ATOMIC_INTEGER(int64_t)
SIM_ATOMIC_INTEGER(uint64_t)
SIM_ATOMIC_REAL(float, __builtin_nanf)
SIM_ATOMIC_REAL(double, __builtin_nan)

/*
 * Computes an operation on an element in place, by the low bytes of operand and comparand. Returns
 * false if the element is not written. Operation and type are valid.
 */
static inline bool sim_atomic_expect(uint8_t op, uint8_t type, void *element, uint64_t operand,
				     uint64_t compare)
{
#define SIM_ATOMIC_OF(code, T)                                                                     \
	case code: {                                                                               \
		T t, v, c;                                                                         \
		bool stored;                                                                       \
                                                                                                   \
		memcpy(&t, element, sizeof(t));                                                    \
		memcpy(&v, &operand, sizeof(v));                                                   \
		memcpy(&c, &compare, sizeof(c));                                                   \
		stored = sim_atomic_##T(op, &t, v, c);                                             \
		if (stored)                                                                        \
			memcpy(element, &t, sizeof(t));                                            \
		return stored;                                                                     \
	}

	switch ((enum hw_atomic_type)type) {
		SIM_ATOMIC_OF(HW_ATOMIC_INT8, int8_t)
		SIM_ATOMIC_OF(HW_ATOMIC_UINT8, uint8_t)
		SIM_ATOMIC_OF(HW_ATOMIC_INT16, int16_t)
		SIM_ATOMIC_OF(HW_ATOMIC_UINT16, uint16_t)
		SIM_ATOMIC_OF(HW_ATOMIC_INT32, int32_t)
		SIM_ATOMIC_OF(HW_ATOMIC_UINT32, uint32_t)
		SIM_ATOMIC_OF(HW_ATOMIC_INT64, int64_t)
		SIM_ATOMIC_OF(HW_ATOMIC_UINT64, uint64_t)
		SIM_ATOMIC_OF(HW_ATOMIC_FLOAT, float)
		SIM_ATOMIC_OF(HW_ATOMIC_DOUBLE, double)
	case HW_ATOMIC_TYPES:
		break;
	}
	return false;
}

#endif /* WEFT_SIM_ATOMIC_H */
