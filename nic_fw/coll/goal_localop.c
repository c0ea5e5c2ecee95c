/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of local operations on arrays.
 *
 * Works on pieces that are contiguous in memory; calls nothing. Each pair of operation and element
 * type has one loop that the compiler turns into vector instructions. Integers wrap; divisions are
 * checked element by element. Legal pairs follow ESPGOAL 2.2.3, whose table lost its colours:
 * integers of all four widths with every operation, floats of 32 and 64 bits with all but AND, OR,
 * XOR. Complex numbers, and pairs of a value and an index (MPI's MINLOC and MAXLOC), are weft's.
 */
#include "nic_fw/coll/goal.h"

#include <string.h>

/* Elements at any alignment. */
#define UNALIGNED(type, name) typedef type name __attribute__((aligned(1), may_alias))
UNALIGNED(uint8_t, u8_any);
UNALIGNED(uint16_t, u16_any);
UNALIGNED(uint32_t, u32_any);
UNALIGNED(uint64_t, u64_any);
UNALIGNED(int8_t, s8_any);
UNALIGNED(int16_t, s16_any);
UNALIGNED(int32_t, s32_any);
UNALIGNED(int64_t, s64_any);
UNALIGNED(float, f32_any);
UNALIGNED(double, f64_any);

/* The result is an operand or overlaps neither, so no element depends on an earlier one. */
#ifdef __clang__
#define INDEPENDENT /* clang vectorizes unasked, and warns about a pragma that it cannot obey */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
/* At -O2 gcc leaves loops of unknown length scalar. */
#pragma GCC optimize("O3")
#endif

#define LOOP(T, expression)                                                                        \
	do {                                                                                       \
		const T *x = a;                                                                    \
		const T *y = b;                                                                    \
		T *r = result;                                                                     \
		INDEPENDENT for (uint64_t i = 0; i < count; i++) r[i] = (T)(expression);           \
	} while (0)

/* The operations that integers and floats share. U: the type whose arithmetic wraps. */
#define COMMON_OPS(T, U)                                                                           \
	case GOAL_LOCAL_MAX:                                                                       \
		LOOP(T, x[i] > y[i] ? x[i] : y[i]);                                                \
		return true;                                                                       \
	case GOAL_LOCAL_MIN:                                                                       \
		LOOP(T, x[i] < y[i] ? x[i] : y[i]);                                                \
		return true;                                                                       \
	case GOAL_LOCAL_ADD:                                                                       \
		LOOP(U, x[i] + y[i]);                                                              \
		return true;                                                                       \
	case GOAL_LOCAL_SUB:                                                                       \
		LOOP(U, x[i] - y[i]);                                                              \
		return true;

/*
 * Small types are promoted to int before they are multiplied, and two 16-bit values could overflow
 * it: hence the wide unsigned W. The operands may lie in memory that a process changes meanwhile,
 * so each is read once: the value that was checked is the one that is divided.
 */
#define DEFINE_INTEGER(name, T, U, W, divides)                                                     \
	static bool name(uint8_t op, void *result, const void *a, const void *b, uint64_t count)   \
	{                                                                                          \
		switch ((enum goal_local)op) {                                                     \
			COMMON_OPS(T, U)                                                           \
		case GOAL_LOCAL_MUL:                                                               \
			LOOP(U, (W)x[i] * (W)y[i]);                                                \
			return true;                                                               \
		case GOAL_LOCAL_DIV: {                                                             \
			const volatile T *x = a;                                                   \
			const volatile T *y = b;                                                   \
			T *r = result;                                                             \
			for (uint64_t i = 0; i < count; i++) {                                     \
				const T n = x[i], d = y[i];                                        \
				if (!(divides))                                                    \
					return false;                                              \
				r[i] = (T)(n / d);                                                 \
			}                                                                          \
			return true;                                                               \
		}                                                                                  \
		case GOAL_LOCAL_AND:                                                               \
			LOOP(U, x[i] & y[i]);                                                      \
			return true;                                                               \
		case GOAL_LOCAL_OR:                                                                \
			LOOP(U, x[i] | y[i]);                                                      \
			return true;                                                               \
		case GOAL_LOCAL_XOR:                                                               \
			LOOP(U, x[i] ^ y[i]);                                                      \
			return true;                                                               \
		case GOAL_LOCAL_LAND:                                                              \
			LOOP(U, (x[i] != 0) & (y[i] != 0));                                        \
			return true;                                                               \
		case GOAL_LOCAL_LOR:                                                               \
			LOOP(U, (x[i] != 0) | (y[i] != 0));                                        \
			return true;                                                               \
		case GOAL_LOCAL_LXOR:                                                              \
			LOOP(U, (x[i] != 0) ^ (y[i] != 0));                                        \
			return true;                                                               \
		case GOAL_LOCAL_COPY:                                                              \
		case GOAL_LOCAL_WTIME:                                                             \
		case GOAL_LOCAL_USER:                                                              \
		case GOAL_LOCALS:                                                                  \
			break;                                                                     \
		}                                                                                  \
		return false;                                                                      \
	}

#define UNSIGNED_DIVIDES       (d != 0)
#define SIGNED_DIVIDES(T, min) (d != 0 && !(d == (T)-1 && n == (min)))

DEFINE_INTEGER(local_u8, u8_any, u8_any, uint32_t, UNSIGNED_DIVIDES)
DEFINE_INTEGER(local_u16, u16_any, u16_any, uint32_t, UNSIGNED_DIVIDES)
DEFINE_INTEGER(local_u32, u32_any, u32_any, uint32_t, UNSIGNED_DIVIDES)
DEFINE_INTEGER(local_u64, u64_any, u64_any, uint64_t, UNSIGNED_DIVIDES)
DEFINE_INTEGER(local_s8, s8_any, u8_any, uint32_t, SIGNED_DIVIDES(int8_t, INT8_MIN))
DEFINE_INTEGER(local_s16, s16_any, u16_any, uint32_t, SIGNED_DIVIDES(int16_t, INT16_MIN))
DEFINE_INTEGER(local_s32, s32_any, u32_any, uint32_t, SIGNED_DIVIDES(int32_t, INT32_MIN))
DEFINE_INTEGER(local_s64, s64_any, u64_any, uint64_t, SIGNED_DIVIDES(int64_t, INT64_MIN))

/* C's comparisons with NaN are false, so MAX and MIN give y if either is NaN. */
#define DEFINE_FLOAT(name, T)                                                                      \
	static bool name(uint8_t op, void *result, const void *a, const void *b, uint64_t count)   \
	{                                                                                          \
		switch ((enum goal_local)op) {                                                     \
			COMMON_OPS(T, T)                                                           \
		case GOAL_LOCAL_MUL:                                                               \
			LOOP(T, x[i] * y[i]);                                                      \
			return true;                                                               \
		case GOAL_LOCAL_DIV:                                                               \
			LOOP(T, x[i] / y[i]);                                                      \
			return true;                                                               \
		case GOAL_LOCAL_COPY:                                                              \
		case GOAL_LOCAL_AND:                                                               \
		case GOAL_LOCAL_OR:                                                                \
		case GOAL_LOCAL_XOR:                                                               \
		case GOAL_LOCAL_WTIME:                                                             \
		case GOAL_LOCAL_LAND:                                                              \
		case GOAL_LOCAL_LOR:                                                               \
		case GOAL_LOCAL_LXOR:                                                              \
		case GOAL_LOCAL_USER:                                                              \
		case GOAL_LOCALS:                                                                  \
			break;                                                                     \
		}                                                                                  \
		return false;                                                                      \
	}

DEFINE_FLOAT(local_f32, f32_any)
DEFINE_FLOAT(local_f64, f64_any)

#define DEFINE_COMPLEX(name, T)                                                                    \
	static bool name(uint8_t op, void *result, const void *a, const void *b, uint64_t count)   \
	{                                                                                          \
		const T *x = a;                                                                    \
		const T *y = b;                                                                    \
		T *r = result;                                                                     \
                                                                                                   \
		if (op == GOAL_LOCAL_MUL) {                                                        \
			INDEPENDENT for (uint64_t i = 0; i < 2 * count; i += 2)                    \
			{                                                                          \
				const T p = x[i], q = x[i + 1], s = y[i], t = y[i + 1];            \
                                                                                                   \
				r[i] = p * s - q * t;                                              \
				r[i + 1] = p * t + q * s;                                          \
			}                                                                          \
		} else if (op == GOAL_LOCAL_SUB) {                                                 \
			INDEPENDENT for (uint64_t i = 0; i < 2 * count; i++) r[i] = x[i] - y[i];   \
		} else {                                                                           \
			INDEPENDENT for (uint64_t i = 0; i < 2 * count; i++) r[i] = x[i] + y[i];   \
		}                                                                                  \
		return true;                                                                       \
	}

DEFINE_COMPLEX(local_c32, f32_any)
DEFINE_COMPLEX(local_c64, f64_any)

/* Values are compared, of equal ones the indices (MPI 3.1, 5.9.4). */
#define DEFINE_PAIR(name, T, I)                                                                    \
	static bool name(uint8_t op, void *result, const void *a, const void *b, uint64_t count)   \
	{                                                                                          \
		const bool max = op == GOAL_LOCAL_MAX;                                             \
		const uint8_t *x = a;                                                              \
		const uint8_t *y = b;                                                              \
		uint8_t *r = result;                                                               \
		uint64_t i;                                                                        \
                                                                                                   \
		for (i = 0; i < count * 2 * sizeof(T); i += 2 * sizeof(T)) {                       \
			const T v = *(const T *)(x + i), w = *(const T *)(y + i);                  \
			const I j = *(const I *)(x + i + sizeof(T));                               \
			const I k = *(const I *)(y + i + sizeof(T));                               \
			const bool first = (max ? v > w : v < w) || (v == w && j < k);             \
                                                                                                   \
			*(T *)(r + i) = first ? v : w;                                             \
			*(I *)(r + i + sizeof(T)) = first ? j : k;                                 \
		}                                                                                  \
		return true;                                                                       \
	}

DEFINE_PAIR(local_p32, s32_any, s32_any)
DEFINE_PAIR(local_p64, s64_any, s64_any)
DEFINE_PAIR(local_q32, f32_any, s32_any)
DEFINE_PAIR(local_q64, f64_any, s64_any)

typedef bool (*local_fn)(uint8_t op, void *result, const void *a, const void *b, uint64_t count);

/* By type and the logarithm of the bytes of an element. */
static const local_fn local_fns[GOAL_TYPES][5] = {
    [GOAL_TYPE_SINT] = {local_s8, local_s16, local_s32, local_s64},
    [GOAL_TYPE_UINT] = {local_u8, local_u16, local_u32, local_u64},
    [GOAL_TYPE_FLOAT] = {NULL, NULL, local_f32, local_f64},
    [GOAL_TYPE_COMPLEX] = {NULL, NULL, NULL, local_c32, local_c64},
    [GOAL_TYPE_SINT_PAIR] = {NULL, NULL, NULL, local_p32, local_p64},
    [GOAL_TYPE_FLOAT_PAIR] = {NULL, NULL, NULL, local_q32, local_q64},
};

bool goal_local_run(uint8_t op, uint8_t type, uint8_t width, void *result, const void *a,
		    const void *b, uint64_t count)
{
	uint32_t log = (uint32_t)__builtin_ctz(width) - 3;

	if (op == GOAL_LOCAL_COPY) {
		/*
		 * Overlapping buffers are an error of the process; memmove() is defined for them.
		 */
		memmove(result, a, count << log);
		return true;
	}
	return local_fns[type][log](op, result, a, b, count);
}
