/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairs of MINLOC and MAXLOC whose value and index differ in width.
 *
 * The NIC knows pairs of equal width (GOAL_SINT_PAIR, GOAL_FLOAT_PAIR). The others are widened for
 * the run and narrowed after it; the index of the result is one of the operands', so nothing is
 * lost. The forms of the program are those of C structures (MPI 3.1, 5.9.4). Calls nothing.
 */
#include "host_driver/ompi/cw.h"

struct double_int {
	double value;
	int index;
};
struct long_int {
	long value;
	int index;
};
struct short_int {
	short value;
	int index;
};
struct nic_double {
	double value;
	int64_t index;
};
struct nic_long {
	int64_t value, index;
};
struct nic_int {
	int32_t value, index;
};

uint32_t cw_pair_bytes(enum cw_pair pair)
{
	switch (pair) {
	case CW_PAIR_DOUBLE_INT:
		return sizeof(struct nic_double);
	case CW_PAIR_LONG_INT:
		return sizeof(struct nic_long);
	case CW_PAIR_SHORT_INT:
		return sizeof(struct nic_int);
	case CW_PAIR_NONE:
		break;
	}
	return 0;
}

#define CONVERT(T, from, F, to)                                                                    \
	do {                                                                                       \
		const struct F *x = (from);                                                        \
		struct T *y = (to);                                                                \
		int i;                                                                             \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			y[i].value = (__typeof__(y->value))x[i].value;                             \
			y[i].index = (__typeof__(y->index))x[i].index;                             \
		}                                                                                  \
	} while (0)

void cw_pair_pack(enum cw_pair pair, void *nic, const void *user, int count)
{
	switch (pair) {
	case CW_PAIR_DOUBLE_INT:
		CONVERT(nic_double, user, double_int, nic);
		break;
	case CW_PAIR_LONG_INT:
		CONVERT(nic_long, user, long_int, nic);
		break;
	case CW_PAIR_SHORT_INT:
		CONVERT(nic_int, user, short_int, nic);
		break;
	case CW_PAIR_NONE:
		break;
	}
}

void cw_pair_unpack(enum cw_pair pair, void *user, const void *nic, int count)
{
	switch (pair) {
	case CW_PAIR_DOUBLE_INT:
		CONVERT(double_int, nic, nic_double, user);
		break;
	case CW_PAIR_LONG_INT:
		CONVERT(long_int, nic, nic_long, user);
		break;
	case CW_PAIR_SHORT_INT:
		CONVERT(short_int, nic, nic_int, user);
		break;
	case CW_PAIR_NONE:
		break;
	}
}
