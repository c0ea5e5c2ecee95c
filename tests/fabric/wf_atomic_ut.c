/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics of the provider in domains with FI_PROGRESS_AUTO: every operation and type that there is,
 * elements in the midst of others, two ends that add to one element.
 * tests/nic_fw/base/atomic_op_ut.c has the results of all operations.
 */
#include "tests/fabric/wf_fix.h"

static ssize_t call(struct wff *f, uint64_t kind, enum fi_datatype type, enum fi_op op,
		    const uint64_t *operand, const uint64_t *compare, uint64_t *result)
{
	uint64_t at = (uintptr_t)f->b.buf + 16, key = fi_mr_key(f->b.mr);

	if (kind == FI_COMPARE_ATOMIC)
		return fi_compare_atomic(f->a.ep, operand, 1, NULL, compare, NULL, result, NULL,
					 f->a.peer, at, key, type, op, NULL);
	if (kind == FI_FETCH_ATOMIC)
		return fi_fetch_atomic(f->a.ep, operand, 1, NULL, result, NULL, f->a.peer, at, key,
				       type, op, NULL);
	return fi_atomic(f->a.ep, operand, 1, NULL, f->a.peer, at, key, type, op, NULL);
}

/* One call: the element's neighbours stay, and the result has its old bytes, no others. */
static void try_one(struct wff *f, uint64_t kind, enum fi_datatype type, enum fi_op op, size_t n)
{
	uint64_t operand = UINT64_C(0x4030201040302010), compare = UINT64_C(0x2010201020102010);
	uint64_t result = UINT64_C(0xeeeeeeeeeeeeeeee), t = compare, got = 0, want = result;
	size_t i;

	memset(f->b.buf, 0xdd, 64);
	memcpy(f->b.buf + 16, &t, n);
	CU_ASSERT_EQUAL(call(f, kind, type, op, &operand, &compare, &result), 0);
	CU_ASSERT_EQUAL(wff_good(f, &f->a).flags, FI_ATOMIC | (kind ? FI_READ : FI_WRITE));
	if (kind)
		memcpy(&want, &t, n);
	CU_ASSERT_EQUAL(result, want);
	for (i = 0; i < 64; i++)
		CU_ASSERT(f->b.buf[i] == 0xdd || (i >= 16 && i < 16 + n));
	memcpy(&got, f->b.buf + 16, n);
	if (op == FI_ATOMIC_WRITE || op == FI_CSWAP || op == FI_CSWAP_LE || op == FI_CSWAP_GE)
		CU_ASSERT_EQUAL(memcmp(&got, &operand, n), 0);
	if (op == FI_ATOMIC_READ || op == FI_CSWAP_NE || op == FI_CSWAP_LT || op == FI_CSWAP_GT)
		CU_ASSERT_EQUAL(memcmp(&got, &t, n), 0);
}

static void every_operation(void)
{
	static const uint64_t kinds[] = {0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC};
	uint64_t operand = 0, result;
	uint32_t done = 0;
	struct wff f;

	wff_open(&f);
	CU_ASSERT_EQUAL(f.a.info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	CU_ASSERT_EQUAL(f.a.info->domain_attr->control_progress, FI_PROGRESS_AUTO);
	wff_endpoints(&f);
	for (uint32_t k = 0; k < 3; k++)
		for (uint32_t type = 0; type < FI_DATATYPE_LAST; type++)
			for (uint32_t op = 0; op < FI_ATOMIC_OP_LAST; op++) {
				struct fi_atomic_attr attr = {0};
				int rc = fi_query_atomic(f.a.domain, (enum fi_datatype)type,
							 (enum fi_op)op, &attr, kinds[k]);

				if (rc) {
					CU_ASSERT_EQUAL(rc, -FI_EOPNOTSUPP);
					CU_ASSERT_EQUAL(call(&f, kinds[k], (enum fi_datatype)type,
							     (enum fi_op)op, &operand, &operand,
							     &result),
							-FI_EOPNOTSUPP);
					continue;
				}
				CU_ASSERT_EQUAL(attr.count, 1);
				try_one(&f, kinds[k], (enum fi_datatype)type, (enum fi_op)op,
					attr.size);
				done++;
			}
	/* Plain, fetching, comparing; reals lack the operations on bits. */
	CU_ASSERT_EQUAL(done, 11 * 10 - 2 * 3 + 12 * 10 - 2 * 3 + 7 * 10 - 2);
	wff_close(&f);
}

/* Elements of a region that begins and ends within words. */
static void odd_region(void)
{
	uint8_t add = 1, result;
	struct fid_mr *mr;
	struct wff f;
	size_t i;

	wff_open(&f);
	wff_endpoints(&f);
	memset(f.b.buf, 0xee, 32);
	CU_ASSERT_EQUAL_FATAL(fi_mr_reg(f.b.domain, f.b.buf + 3, 21,
					FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL),
			      0);
	for (i = 3; i < 24; i++) {
		CU_ASSERT_EQUAL(fi_fetch_atomic(f.a.ep, &add, 1, NULL, &result, NULL, f.a.peer,
						(uintptr_t)f.b.buf + i, fi_mr_key(mr), FI_UINT8,
						FI_SUM, NULL),
				0);
		(void)wff_good(&f, &f.a);
		CU_ASSERT_EQUAL(result, 0xee);
	}
	for (i = 0; i < 32; i++)
		CU_ASSERT_EQUAL(f.b.buf[i], i >= 3 && i < 24 ? 0xef : 0xee);
	CU_ASSERT_EQUAL(fi_atomic(f.a.ep, f.a.buf, 1, NULL, f.a.peer, (uintptr_t)f.b.buf + 3,
				  fi_mr_key(mr), FI_UINT16, FI_SUM, NULL),
			-FI_EINVAL);
	/* It would reach beyond the end. */
	CU_ASSERT_EQUAL(fi_atomic(f.a.ep, f.a.buf, 1, NULL, f.a.peer, (uintptr_t)f.b.buf + 24,
				  fi_mr_key(mr), FI_UINT8, FI_SUM, NULL),
			0);
	(void)wff_bad(&f, &f.a);
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

/* No program reads a queue before all is done. */
static void contended(void)
{
	enum {
		MANY_A = 550,
		MANY_B = 40
	};
	int left_a = MANY_A, left_b = MANY_B, done = 0;
	float zero = 0, sum;
	struct fi_cq_tagged_entry entry;
	struct wff f;

	wff_open(&f);
	wff_endpoints(&f);
	memcpy(f.b.buf + 4, &zero, sizeof(zero));
	post_all(&f, &f.a, f.a.peer, &left_a);
	post_all(&f, &f.b, f.b.self, &left_b);
	CU_ASSERT_TRUE(left_a == 0 && left_b == 0);
	sim_run_for(f.sim, 100000000);
	memcpy(&sum, f.b.buf + 4, sizeof(sum));
	CU_ASSERT_EQUAL(sum, MANY_A + MANY_B);
	while (fi_cq_read(f.a.cq, &entry, 1) == 1)
		done++;
	while (fi_cq_read(f.b.cq, &entry, 1) == 1)
		done++;
	CU_ASSERT_EQUAL(done, MANY_A + MANY_B);
	wff_close(&f);
}

/* An endpoint is closed with atomics under way. */
static void closed(void)
{
	int left = 100;
	struct wff f;

	wff_open(&f);
	wff_endpoints(&f);
	post_all(&f, &f.a, f.a.peer, &left);
	CU_ASSERT_EQUAL(left, 0);
	(void)wff_good(&f, &f.a);
	wff_close(&f);
}

UT_MAIN("fabric/wf_atomic", UT(every_operation), UT(odd_region), UT(contended), UT(closed))
