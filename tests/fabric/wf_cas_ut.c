/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics of several steps: results of each operation by hand, elements that share a word with
 * others, two ends that add to the same element at once, more than there are slots.
 */
#include <complex.h>

#include "host_driver/fabric/wf_atomic.h"
#include "tests/fabric/wf_fix.h"

static uint64_t raw(const void *value, size_t bytes)
{
	uint64_t r = 0;

	memcpy(&r, value, bytes);
	return r;
}

/* Compares a result with what it should be, or expects that nothing is written. */
#define CHECK(T, type, op, target, operand, compare, write, want)                                  \
	do {                                                                                       \
		T t_ = (target), o_ = (operand), c_ = (compare), w_ = (want), got_;                \
		uint64_t r_;                                                                       \
                                                                                                   \
		CU_ASSERT_EQUAL(wf_cas_apply(type, op, raw(&t_, sizeof(T)), raw(&o_, sizeof(T)),   \
					     raw(&c_, sizeof(T)), &r_),                            \
				write);                                                            \
		memcpy(&got_, &r_, sizeof(T));                                                     \
		CU_ASSERT(!(write) || got_ == w_);                                                 \
	} while (0)

static void values(void)
{
	CHECK(int8_t, FI_INT8, FI_SUM, 127, 1, 0, true, -128);
	CHECK(uint8_t, FI_UINT8, FI_PROD, 200, 3, 0, true, 88);
	CHECK(int16_t, FI_INT16, FI_MIN, -5, -7, 0, true, -7);
	CHECK(int16_t, FI_INT16, FI_MIN, -5, 7, 0, false, 0);
	CHECK(uint16_t, FI_UINT16, FI_MAX, 5, 65535, 0, true, 65535);
	CHECK(int32_t, FI_INT32, FI_LOR, 0, 0, 0, true, 0);
	CHECK(int32_t, FI_INT32, FI_LAND, 8, 4, 0, true, 1);
	CHECK(uint32_t, FI_UINT32, FI_LXOR, 8, 4, 0, true, 0);
	CHECK(uint32_t, FI_UINT32, FI_BOR, 8, 4, 0, true, 12);
	CHECK(uint64_t, FI_UINT64, FI_BAND, 12, 6, 0, true, 4);
	CHECK(int64_t, FI_INT64, FI_BXOR, -1, 6, 0, true, -7);
	CHECK(uint64_t, FI_UINT64, FI_PROD, UINT64_C(1) << 63, 2, 0, true, 0);
	CHECK(int64_t, FI_INT64, FI_ATOMIC_WRITE, 3, 4, 0, true, 4);
	CHECK(int64_t, FI_INT64, FI_ATOMIC_READ, 3, 4, 0, false, 0);
	CHECK(uint32_t, FI_UINT32, FI_MSWAP, 0xf0f0, 0x1234, 0x0ff0, true, 0xf230);
	CHECK(int32_t, FI_INT32, FI_CSWAP, 3, 4, 3, true, 4);
	CHECK(int32_t, FI_INT32, FI_CSWAP, 3, 4, 5, false, 0);
	CHECK(int32_t, FI_INT32, FI_CSWAP_NE, 3, 4, 5, true, 4);
	CHECK(int32_t, FI_INT32, FI_CSWAP_LE, 3, 4, 3, true, 4);
	CHECK(int32_t, FI_INT32, FI_CSWAP_LT, 3, 4, 3, false, 0);
	CHECK(int32_t, FI_INT32, FI_CSWAP_GE, 3, 4, 3, true, 4);
	CHECK(int32_t, FI_INT32, FI_CSWAP_GT, 3, 4, 5, true, 4);
	CHECK(float, FI_FLOAT, FI_SUM, 1.5f, 2.25f, 0, true, 3.75f);
	CHECK(double, FI_DOUBLE, FI_MAX, -1.5, -2.5, 0, false, 0);
	CHECK(double, FI_DOUBLE, FI_CSWAP, -0.0, 7, 0.0, true, 7);
	CHECK(float complex, FI_FLOAT_COMPLEX, FI_PROD, 1 + 2 * I, 3 - I, 0, true, 5 + 5 * I);
	CU_ASSERT_FALSE(wf_cas_supports(WF_ATOMIC_PLAIN, FI_FLOAT, FI_BXOR));
	CU_ASSERT_FALSE(wf_cas_supports(WF_ATOMIC_PLAIN, FI_FLOAT_COMPLEX, FI_MAX));
	CU_ASSERT_FALSE(wf_cas_supports(WF_ATOMIC_PLAIN, FI_LONG_DOUBLE, FI_SUM));
	CU_ASSERT_FALSE(wf_cas_supports(WF_ATOMIC_PLAIN, FI_UINT8, FI_ATOMIC_READ));
	CU_ASSERT_FALSE(wf_cas_supports(WF_ATOMIC_FETCH, FI_UINT8, FI_CSWAP));
	CU_ASSERT(wf_cas_supports(WF_ATOMIC_COMPARE, FI_UINT8, FI_MSWAP));
}

/* Elements of a word keep out of each other's way; the last ones of an odd region, too. */
static void parts(void)
{
	uint8_t memory[21] __attribute__((aligned(8))), add = 1, result;
	struct fid_mr *mr;
	struct wff f;
	size_t i;

	wff_open_manual(&f);
	wff_endpoints(&f);
	memset(f.b.buf, 0xee, sizeof(memory) + 8);
	CU_ASSERT_EQUAL_FATAL(fi_mr_reg(f.b.domain, f.b.buf + 3, sizeof(memory),
					FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL),
			      0);
	for (i = 3; i < 3 + sizeof(memory); i++) {
		CU_ASSERT_EQUAL(fi_fetch_atomic(f.a.ep, &add, 1, NULL, &result, NULL, f.a.peer,
						(uintptr_t)f.b.buf + i, fi_mr_key(mr), FI_UINT8,
						FI_SUM, NULL),
				0);
		CU_ASSERT_EQUAL(wff_good(&f, &f.a).flags, FI_ATOMIC | FI_READ);
		CU_ASSERT_EQUAL(result, 0xee);
	}
	for (i = 0; i < sizeof(memory) + 8; i++)
		CU_ASSERT_EQUAL(f.b.buf[i], i >= 3 && i < 3 + sizeof(memory) ? 0xef : 0xee);
	CU_ASSERT_EQUAL(fi_atomic(f.a.ep, memory, 1, NULL, f.a.peer, (uintptr_t)f.b.buf + 3,
				  fi_mr_key(mr), FI_UINT16, FI_SUM, NULL),
			-FI_EINVAL);
	CU_ASSERT_EQUAL(fi_close(&mr->fid), 0);
	wff_close(&f);
}

static void post_all(struct wff *f, struct wff_end *e, fi_addr_t to, int *left)
{
	float one = 1;

	while (*left && fi_atomic(e->ep, &one, 1, NULL, to, (uintptr_t)f->b.buf + 4,
				  fi_mr_key(f->b.mr), FI_FLOAT, FI_SUM, NULL) == 0)
		--*left;
}

static void contended(void)
{
	enum {
		MANY_A = 550,
		MANY_B = 40
	};
	int left_a = MANY_A, left_b = MANY_B, done = 0;
	float zero = 0, sum;
	struct wff f;

	wff_open_manual(&f);
	wff_endpoints(&f);
	memcpy(f.b.buf + 4, &zero, sizeof(zero));
	while (done < MANY_A + MANY_B) {
		struct fi_cq_tagged_entry entry;
		int before = done;

		post_all(&f, &f.a, f.a.peer, &left_a);
		post_all(&f, &f.b, f.b.self, &left_b);
		sim_run_for(f.sim, 100000);
		while (fi_cq_read(f.a.cq, &entry, 1) == 1)
			done++;
		while (fi_cq_read(f.b.cq, &entry, 1) == 1)
			done++;
		if (done == before)
			sim_run_for(f.sim, 1000000);
	}
	memcpy(&sum, f.b.buf + 4, sizeof(sum));
	CU_ASSERT_EQUAL(sum, MANY_A + MANY_B);
	wff_close(&f);
}

/* An endpoint is closed with steps under way. */
static void closed(void)
{
	int left = 100;
	struct wff f;

	wff_open_manual(&f);
	wff_endpoints(&f);
	post_all(&f, &f.a, f.a.peer, &left);
	CU_ASSERT_EQUAL(left, 0);
	sim_run_for(f.sim, 5000);
	(void)wff_good(&f, &f.a);
	wff_close(&f);
}

UT_MAIN("fabric/wf_cas", UT(values), UT(parts), UT(contended), UT(closed))
