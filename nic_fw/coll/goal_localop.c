/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of local operations on arrays.
 *
 * Works on pieces that are contiguous in memory; calls nothing. Each pair of operation and element
 * type has one loop that the compiler turns into vector instructions, on x86 a second one for AVX2.
 * Integers wrap; divisions are checked element by element. Legal pairs follow ESPGOAL 2.2.3, whose
 * table lost its colours: integers of all four widths with every operation, floats of 32 and 64
 * bits with all but AND, OR, XOR. Complex numbers, and pairs of a value and an index (MPI's MINLOC
 * and MAXLOC), are weft's.
 */
#include "nic_fw/coll/goal_localop.h"
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
#define DEFINE_INTEGER(SET, name, T, U, W, divides)                                                \
	static SET bool name(uint8_t op, void *result, const void *a, const void *b,               \
			     uint64_t count)                                                       \
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

/* C's comparisons with NaN are false, so MAX and MIN give y if either is NaN. */
#define DEFINE_FLOAT(SET, name, T)                                                                 \
	static SET bool name(uint8_t op, void *result, const void *a, const void *b,               \
			     uint64_t count)                                                       \
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

#define DEFINE_COMPLEX(SET, name, T)                                                               \
	static SET bool name(uint8_t op, void *result, const void *a, const void *b,               \
			     uint64_t count)                                                       \
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

/* Values are compared, of equal ones the indices (MPI 3.1, 5.9.4). */
#define DEFINE_PAIR(SET, name, T, I)                                                               \
	static SET bool name(uint8_t op, void *result, const void *a, const void *b,               \
			     uint64_t count)                                                       \
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

typedef bool (*local_fn)(uint8_t op, void *result, const void *a, const void *b, uint64_t count);

/* Functions by type and the logarithm of the bytes of an element. */
typedef const local_fn local_table[GOAL_TYPES][5];

/* A table and its functions, compiled for a set of instructions. */
#define DEFINE_TABLE(SET, _)                                                                       \
	DEFINE_INTEGER(SET, local_u8##_, u8_any, u8_any, uint32_t, UNSIGNED_DIVIDES)               \
	DEFINE_INTEGER(SET, local_u16##_, u16_any, u16_any, uint32_t, UNSIGNED_DIVIDES)            \
	DEFINE_INTEGER(SET, local_u32##_, u32_any, u32_any, uint32_t, UNSIGNED_DIVIDES)            \
	DEFINE_INTEGER(SET, local_u64##_, u64_any, u64_any, uint64_t, UNSIGNED_DIVIDES)            \
	DEFINE_INTEGER(SET, local_s8##_, s8_any, u8_any, uint32_t,                                 \
		       SIGNED_DIVIDES(int8_t, INT8_MIN))                                           \
	DEFINE_INTEGER(SET, local_s16##_, s16_any, u16_any, uint32_t,                              \
		       SIGNED_DIVIDES(int16_t, INT16_MIN))                                         \
	DEFINE_INTEGER(SET, local_s32##_, s32_any, u32_any, uint32_t,                              \
		       SIGNED_DIVIDES(int32_t, INT32_MIN))                                         \
	DEFINE_INTEGER(SET, local_s64##_, s64_any, u64_any, uint64_t,                              \
		       SIGNED_DIVIDES(int64_t, INT64_MIN))                                         \
	DEFINE_FLOAT(SET, local_f32##_, f32_any)                                                   \
	DEFINE_FLOAT(SET, local_f64##_, f64_any)                                                   \
	DEFINE_COMPLEX(SET, local_c32##_, f32_any)                                                 \
	DEFINE_COMPLEX(SET, local_c64##_, f64_any)                                                 \
	DEFINE_PAIR(SET, local_p32##_, s32_any, s32_any)                                           \
	DEFINE_PAIR(SET, local_p64##_, s64_any, s64_any)                                           \
	DEFINE_PAIR(SET, local_q32##_, f32_any, s32_any)                                           \
	DEFINE_PAIR(SET, local_q64##_, f64_any, s64_any)                                           \
	static local_table local##_ = {                                                            \
	    [GOAL_TYPE_SINT] = {local_s8##_, local_s16##_, local_s32##_, local_s64##_},            \
	    [GOAL_TYPE_UINT] = {local_u8##_, local_u16##_, local_u32##_, local_u64##_},            \
	    [GOAL_TYPE_FLOAT] = {NULL, NULL, local_f32##_, local_f64##_},                          \
	    [GOAL_TYPE_COMPLEX] = {NULL, NULL, NULL, local_c32##_, local_c64##_},                  \
	    [GOAL_TYPE_SINT_PAIR] = {NULL, NULL, NULL, local_p32##_, local_p64##_},                \
	    [GOAL_TYPE_FLOAT_PAIR] = {NULL, NULL, NULL, local_q32##_, local_q64##_},               \
	};

/* Every processor that runs weft has these: SSE4.2 on x86, NEON on Arm. */
#define PLAIN
DEFINE_TABLE(PLAIN, _plain)

/*
 * Without FMA, which rounds once where others round twice: results do not depend on the processor.
 */
#ifdef __x86_64__
DEFINE_TABLE(__attribute__((target("avx2"))), _avx2)
#define HAS_WIDE() __builtin_cpu_supports("avx2")
#define local_wide local_avx2
#else
#define HAS_WIDE() false
#define local_wide local_plain
#endif

bool goal_local_has_wide(void)
{
	return HAS_WIDE();
}

bool goal_local_run_as(bool wide, uint8_t op, uint8_t type, uint8_t width, void *result,
		       const void *a, const void *b, uint64_t count)
{
	uint32_t log = (uint32_t)__builtin_ctz(width) - 3;

	return (wide ? local_wide : local_plain)[type][log](op, result, a, b, count);
}

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
	return goal_local_run_as(goal_local_has_wide(), op, type, width, result, a, b, count);
}
