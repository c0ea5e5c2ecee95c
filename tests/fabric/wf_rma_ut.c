/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA and atomics of the provider, by descriptor and from memory without one; data that comes with
 * a Write; what is refused.
 */
#include "tests/fabric/wf_fix.h"

static uint64_t key(const struct wff_end *e)
{
	return fi_mr_key(e->mr);
}

static void rdma(void)
{
	static const size_t sizes[] = {1, 8, 512, 513, 20000, 300000};
	struct fi_cq_tagged_entry entry;
	struct wff f;
	size_t i;
	int context;

	wff_open(&f);
	wff_endpoints(&f);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		bool desc = i % 2;
		void *d = desc ? fi_mr_desc(f.a.mr) : NULL;

		wff_fill(f.a.buf, sizes[i], (uint8_t)i);
		memset(f.b.buf, 0, sizes[i] + 1);
		CU_ASSERT_EQUAL(fi_write(f.a.ep, f.a.buf, sizes[i], d, f.a.peer, (uintptr_t)f.b.buf,
					 key(&f.b), &context),
				0);
		entry = wff_good(&f, &f.a);
		CU_ASSERT_EQUAL(entry.flags, FI_RMA | FI_WRITE);
		CU_ASSERT_PTR_EQUAL(entry.op_context, &context);
		CU_ASSERT_EQUAL(memcmp(f.a.buf, f.b.buf, sizes[i]), 0);
		CU_ASSERT_EQUAL(f.b.buf[sizes[i]], 0);
		wff_fill(f.b.buf, sizes[i], (uint8_t)(i + 100));
		CU_ASSERT_EQUAL(fi_read(f.a.ep, f.a.buf, sizes[i], d, f.a.peer, (uintptr_t)f.b.buf,
					key(&f.b), &context),
				0);
		entry = wff_good(&f, &f.a);
		CU_ASSERT_EQUAL(entry.flags, FI_RMA | FI_READ);
		CU_ASSERT_EQUAL(memcmp(f.a.buf, f.b.buf, sizes[i]), 0);
	}
	CU_ASSERT(wff_silent(&f, &f.b));
	wff_close(&f);
}

/* Both ends read at once, more than the NIC has under way at a time. */
static void reads(void)
{
	enum {
		MANY = 64,
		BYTES = 1000
	};
	struct wff f;
	int i;

	wff_open(&f);
	wff_endpoints(&f);
	wff_fill(f.a.buf, BYTES, 1);
	wff_fill(f.b.buf, BYTES, 2);
	for (i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL(fi_read(f.a.ep, f.a.buf + BYTES, BYTES, fi_mr_desc(f.a.mr),
					f.a.peer, (uintptr_t)f.b.buf, key(&f.b), NULL),
				0);
		CU_ASSERT_EQUAL(fi_read(f.b.ep, f.b.buf + BYTES, BYTES, fi_mr_desc(f.b.mr),
					f.b.peer, (uintptr_t)f.a.buf, key(&f.a), NULL),
				0);
	}
	for (i = 0; i < MANY; i++) {
		(void)wff_good(&f, &f.a);
		(void)wff_good(&f, &f.b);
	}
	CU_ASSERT_EQUAL(memcmp(f.a.buf, f.b.buf + BYTES, BYTES), 0);
	CU_ASSERT_EQUAL(memcmp(f.b.buf, f.a.buf + BYTES, BYTES), 0);
	wff_close(&f);
}

/* More than WF_NOTES of them, and none in order to be lost. */
static void data(void)
{
	enum {
		MANY = 3 * WF_NOTES
	};
	struct fi_cq_tagged_entry entry;
	struct wff f;
	uint64_t i, j;

	wff_open(&f);
	wff_endpoints(&f);
	for (i = 0; i < MANY; i++) {
		uint64_t remote = (uintptr_t)f.b.buf + 8 * i;
		ssize_t rc = i % 2 ? fi_inject_writedata(f.a.ep, &i, sizeof(i), i, f.a.peer, remote,
							 key(&f.b))
				   : fi_writedata(f.a.ep, &i, sizeof(i), NULL, i, f.a.peer, remote,
						  key(&f.b), NULL);

		CU_ASSERT_EQUAL(rc, 0);
	}
	for (i = 0; i < MANY; i++) {
		entry = wff_good(&f, &f.b);
		CU_ASSERT_EQUAL(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
		CU_ASSERT_EQUAL(entry.data, i);
		CU_ASSERT_EQUAL(entry.len, sizeof(i));
		memcpy(&j, f.b.buf + 8 * i, sizeof(j));
		CU_ASSERT_EQUAL(j, i);
	}
	for (i = 0; i < MANY / 2; i++)
		CU_ASSERT_EQUAL(wff_good(&f, &f.a).flags, FI_RMA | FI_WRITE);
	CU_ASSERT(wff_silent(&f, &f.a));
	wff_close(&f);
}

static void atomics(void)
{
	uint64_t add = 5, swap = 77, result = 0, compare = 15, *target;
	struct fi_atomic_attr attr;
	size_t count;
	struct wff f;

	wff_open(&f);
	wff_endpoints(&f);
	target = (uint64_t *)f.b.buf;
	*target = 10;
	CU_ASSERT_EQUAL(fi_atomic(f.a.ep, &add, 1, NULL, f.a.peer, (uintptr_t)target, key(&f.b),
				  FI_UINT64, FI_SUM, NULL),
			0);
	CU_ASSERT_EQUAL(wff_good(&f, &f.a).flags, FI_ATOMIC | FI_WRITE);
	CU_ASSERT_EQUAL(*target, 15);
	CU_ASSERT_EQUAL(fi_compare_atomic(f.a.ep, &swap, 1, NULL, &compare, NULL, &result, NULL,
					  f.a.peer, (uintptr_t)target, key(&f.b), FI_UINT64,
					  FI_CSWAP, NULL),
			0);
	CU_ASSERT_EQUAL(wff_good(&f, &f.a).flags, FI_ATOMIC | FI_READ);
	CU_ASSERT_EQUAL(result, 15);
	CU_ASSERT_EQUAL(*target, 77);
	CU_ASSERT_EQUAL(fi_fetch_atomic(f.a.ep, NULL, 1, NULL, &result, NULL, f.a.peer,
					(uintptr_t)target, key(&f.b), FI_INT64, FI_ATOMIC_READ,
					NULL),
			0);
	(void)wff_good(&f, &f.a);
	CU_ASSERT_EQUAL(result, 77);
	/* what the NIC does not have is refused, not done some other way */
	CU_ASSERT_EQUAL(fi_atomic(f.a.ep, &add, 1, NULL, f.a.peer, (uintptr_t)target, key(&f.b),
				  FI_LONG_DOUBLE, FI_SUM, NULL),
			-FI_EOPNOTSUPP);
	CU_ASSERT_EQUAL(fi_atomicvalid(f.a.ep, FI_FLOAT_COMPLEX, FI_SUM, &count), -FI_EOPNOTSUPP);
	CU_ASSERT_EQUAL(fi_atomicvalid(f.a.ep, FI_UINT64, FI_SUM, &count), 0);
	CU_ASSERT_EQUAL(count, 1);
	CU_ASSERT_EQUAL(fi_query_atomic(f.a.domain, FI_INT64, FI_CSWAP, &attr, FI_COMPARE_ATOMIC),
			0);
	CU_ASSERT_EQUAL(attr.size, 8);
	wff_close(&f);
}

static void refused(void)
{
	struct fi_cq_err_entry err;
	struct wff f;

	wff_open(&f);
	wff_endpoints(&f);
	CU_ASSERT_EQUAL(fi_write(f.a.ep, f.a.buf, 8, NULL, f.a.peer, (uintptr_t)f.b.buf + WFF_BYTES,
				 key(&f.b), &err),
			0);
	err = wff_bad(&f, &f.a);
	CU_ASSERT_EQUAL(err.err, FI_EACCES);
	CU_ASSERT_EQUAL(err.flags, FI_RMA | FI_WRITE);
	/* without a completion the error is reported all the same */
	CU_ASSERT_EQUAL(
	    fi_inject_write(f.a.ep, f.a.buf, 8, f.a.peer, (uintptr_t)f.b.buf, key(&f.b) ^ 0x100),
	    0);
	err = wff_bad(&f, &f.a);
	CU_ASSERT_EQUAL(err.err, FI_EACCES);
	CU_ASSERT_EQUAL(fi_write(f.a.ep, f.a.buf, 8, NULL, 99, (uintptr_t)f.b.buf, key(&f.b), NULL),
			-FI_EINVAL);
	CU_ASSERT_EQUAL(
	    fi_inject_write(f.a.ep, f.a.buf, 513, f.a.peer, (uintptr_t)f.b.buf, key(&f.b)),
	    -FI_EMSGSIZE);
	wff_close(&f);
}

UT_MAIN("fabric/wf_rma", UT(rdma), UT(reads), UT(data), UT(atomics), UT(refused))
