/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * STags that end or change: memory windows of both types, invalidation, closing beside frames,
 * regions that are modified.
 */
#include "tests/nic_fw/host/mem_fix.h"

static uint32_t alloc_mw(struct fw_ut *ut, uint32_t pd, uint32_t type)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_MW, .u.alloc_mw = {pd, type}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(host_cmd(ut->nic, 0, &cmd, &resp), 0);
	return resp.u.handle;
}

static void windows_of_type_1(void)
{
	uint64_t base = (uintptr_t)words;
	uint32_t pd, mr, plain, mw, rkey;
	struct fw_mem mem;
	struct fw_qp *qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, host_cq(ut.nic, 0, 16, HW_EQ_NONE), HW_SRQ_NONE);
	mr = host_reg(ut.nic, 0, pd, words, 256, ALL_REMOTE | HW_ACCESS_MW_BIND, true);
	plain = host_reg(ut.nic, 0, pd, words, 256, ALL_REMOTE, true);
	mw = alloc_mw(&ut, pd, 1);
	CU_ASSERT_EQUAL(check(&ut, pd, mw, base, 8, HW_ACCESS_REMOTE_READ), HW_VENDOR_ERR_LKEY);
	/* Refused: no right to bind, other PD, beyond the region, local rights, wrong key. */
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, plain, base, 8, 0), HW_VENDOR_ERR_ACCESS);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd + 1, qp->qpn, mw, mr, base, 8, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, mr, base + 250, 8, 0),
			HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, mr, base - 1, 8, 0),
			HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, mr, base + 257, 8, 0),
			HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, mr, base, 8, HW_ACCESS_LOCAL_WRITE),
			HW_VENDOR_ERR_ACCESS);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw + 1, mr, base, 8, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mr, mr, base, 8, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, UINT32_MAX, mr, base, 8, 0),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, mr, base + 64, 64, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_NONE);
	rkey = (mw & ~0xffu) | ((mw + 1) & 0xff);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, 5, rkey, base + 64, 64, HW_ACCESS_REMOTE_READ, &mem),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_PTR_EQUAL(mem.ptr, &words[8]);
	CU_ASSERT_EQUAL(check(&ut, pd, mw, base + 64, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(check(&ut, pd, rkey, base + 63, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(check(&ut, pd, rkey, base + 64, 8, HW_ACCESS_REMOTE_WRITE),
			HW_VENDOR_ERR_ACCESS);
	CU_ASSERT_EQUAL(check(&ut, pd, rkey, base + 64, 8, 0), HW_VENDOR_ERR_ACCESS);
	/* A region with windows stays; a peer cannot invalidate a type 1 window. */
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, mr, NULL), FW_EBUSY);
	CU_ASSERT_FALSE(mem_invalidate(ut.nic, pd, qp->qpn, mr));
	CU_ASSERT_FALSE(mem_invalidate(ut.nic, pd, qp->qpn, rkey));
	/* 0 bytes unbind, with the next key again. */
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, rkey, 0, 0, 0, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, rkey + 1, base + 64, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, mr, NULL), 0);
	fw_ut_end(&ut);
}

static void windows_of_type_2_belong_to_a_qp(void)
{
	uint64_t base = (uintptr_t)words;
	uint32_t pd, mr, mw, rkey;
	struct fw_qp *qp, *other;
	struct fw_mem mem;
	struct fw_cq *cq;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, 16, HW_EQ_NONE);
	qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, HW_SRQ_NONE);
	other = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, HW_SRQ_NONE);
	mr = host_reg(ut.nic, 0, pd, words, 256, ALL_REMOTE | HW_ACCESS_MW_BIND, true);
	mw = alloc_mw(&ut, pd, 2);
	rkey = (mw & ~0xffu) | 0xa5;
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, rkey, mr, base + 8, 0, 0),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, rkey, mr, base + 8, 32,
				 HW_ACCESS_REMOTE_WRITE | HW_ACCESS_ZERO_BASED),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(mem_check(ut.nic, pd, qp->qpn, rkey, 0, 32, HW_ACCESS_REMOTE_WRITE, &mem),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_PTR_EQUAL(mem.ptr, &words[1]);
	CU_ASSERT_EQUAL(
	    mem_check(ut.nic, pd, other->qpn, rkey, 0, 32, HW_ACCESS_REMOTE_WRITE, &mem),
	    HW_VENDOR_ERR_LKEY);
	/* Bound already. */
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, rkey + 1, mr, base, 8, 0),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_FALSE(mem_invalidate(ut.nic, pd, other->qpn, rkey));
	CU_ASSERT_TRUE(mem_invalidate(ut.nic, pd, qp->qpn, rkey));
	CU_ASSERT_FALSE(mem_invalidate(ut.nic, pd, qp->qpn, rkey));
	CU_ASSERT_TRUE(fw_list_empty(&qp->windows));
	/* A QP that is destroyed unbinds its windows: its number will be reused. */
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, rkey, mr, base, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, mr, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_QP, qp->qpn, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, mr, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_MW, mw, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_MW, mw, NULL), FW_EINVAL);
	fw_ut_end(&ut);
}

/* No right of a window goes beyond its region's, and no window is bound to what is no region. */
static void rights_of_the_region(void)
{
	uint64_t base = (uintptr_t)words;
	uint32_t pd, other, mr, of_other, mw, again, gone;
	struct fw_qp *qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	other = host_pd(ut.nic, 0);
	qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, host_cq(ut.nic, 0, 16, HW_EQ_NONE), HW_SRQ_NONE);
	mr = host_reg(ut.nic, 0, pd, words, 256, HW_ACCESS_REMOTE_READ | HW_ACCESS_MW_BIND, true);
	of_other = host_reg(ut.nic, 0, other, words, 256, ALL_REMOTE | HW_ACCESS_MW_BIND, true);
	gone = host_reg(ut.nic, 0, pd, words, 256, ALL_REMOTE | HW_ACCESS_MW_BIND, true);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, gone, NULL), 0);
	mw = alloc_mw(&ut, pd, 1);
	again = alloc_mw(&ut, pd, 1);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, mr, base, 8, HW_ACCESS_REMOTE_WRITE),
			HW_VENDOR_ERR_ACCESS);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, mr, base, 8, HW_ACCESS_REMOTE_ATOMIC),
			HW_VENDOR_ERR_ACCESS);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, of_other, base, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, gone, base, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, again, base, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(
	    mem_bind(ut.nic, pd, qp->qpn ^ 0xffff, mw, mr, base, 8, HW_ACCESS_REMOTE_READ),
	    HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(
	    mem_bind(ut.nic, pd, qp->qpn, 0x7fffff00, mr, base, 8, HW_ACCESS_REMOTE_READ),
	    HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw, mr, base, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_NONE);
	fw_ut_end(&ut);
}

static void detach_with_bound_windows(void)
{
	uint32_t pd, mr, mw1, mw2;
	struct fw_qp *qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	mr = host_reg(ut.nic, 0, pd, words, 256, ALL_REMOTE | HW_ACCESS_MW_BIND, true);
	qp = host_qp(ut.nic, 0, HW_QPT_RC, pd, host_cq(ut.nic, 0, 16, HW_EQ_NONE), HW_SRQ_NONE);
	mw1 = alloc_mw(&ut, pd, 1);
	mw2 = alloc_mw(&ut, pd, 2);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw1, mr, (uintptr_t)words, 8, 0),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw2, mr, (uintptr_t)words, 8, 0),
			HW_VENDOR_ERR_NONE);
	fw_ut_end(&ut);
	CU_ASSERT_EQUAL(ut.port.num_unmaps, 1);
}

static void invalidation_of_regions(void)
{
	uint64_t base = (uintptr_t)words;
	uint32_t pd, open, local;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	open = host_reg(ut.nic, 0, pd, words, 8, HW_ACCESS_REMOTE_READ, true);
	local = host_reg(ut.nic, 0, pd, words, 8, HW_ACCESS_LOCAL_WRITE, true);
	CU_ASSERT_FALSE(mem_invalidate(ut.nic, pd + 1, 0, open));
	CU_ASSERT_FALSE(mem_invalidate(ut.nic, pd, 0, open ^ 2));
	/* A peer cannot invalidate a region without remote access. */
	CU_ASSERT_FALSE(mem_invalidate(ut.nic, pd, 0, local));
	CU_ASSERT_TRUE(mem_invalidate(ut.nic, pd, 0, open));
	CU_ASSERT_EQUAL(check(&ut, pd, open, base, 1, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_FALSE(mem_invalidate(ut.nic, pd, 0, open));
	CU_ASSERT_EQUAL(ut.port.num_unmaps, 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, open, NULL), 0);
	CU_ASSERT_EQUAL(ut.port.num_unmaps, 1);
	fw_ut_end(&ut);
}

/*
 * A process may change memory as soon as its deregistration completes. Frames under way must not
 * show the change.
 */
static void closing_settles_frames(void)
{
	uint32_t pd, mr, region, mw1, mw2;
	struct fw_qp *qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, host_cq(ut.nic, 0, 16, HW_EQ_NONE), HW_SRQ_NONE);
	mr = host_reg(ut.nic, 0, pd, words, 256, ALL_REMOTE | HW_ACCESS_MW_BIND, true);
	region = host_reg(ut.nic, 0, pd, words, 256, ALL_REMOTE, true);
	mw1 = alloc_mw(&ut, pd, 1);
	mw2 = alloc_mw(&ut, pd, 2);
	ut.port.settles = 0;
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw1, mr, (uintptr_t)words, 8, 0),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw2, mr, (uintptr_t)words, 8, 0),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(ut.port.settles, 0);
	mw1 = (mw1 & ~0xffu) | ((mw1 + 1) & 0xff);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, pd, qp->qpn, mw1, 0, 0, 0, 0), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(ut.port.settles, 1);
	CU_ASSERT_TRUE(mem_invalidate(ut.nic, pd, qp->qpn, mw2));
	CU_ASSERT_EQUAL(ut.port.settles, 2);
	CU_ASSERT_TRUE(mem_invalidate(ut.nic, pd, 0, region));
	CU_ASSERT_EQUAL(ut.port.settles, 3);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEREG_MR, mr, NULL), 0);
	CU_ASSERT_EQUAL(ut.port.settles, 4);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_QP, qp->qpn, NULL), 0);
	CU_ASSERT_TRUE(ut.port.settles >= 5);
	fw_ut_end(&ut);
}

static int modify_mr(struct fw_ut *ut, uint32_t client, uint32_t stag, uint32_t pd, uint32_t access)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_MR};
	struct hw_cmd_resp resp;

	cmd.u.modify_mr = (struct hw_cmd_modify_mr){.stag = stag, .pd = pd, .access = access};
	return host_cmd(ut->nic, client, &cmd, &resp);
}

/* The STag stays, its range and rights change. */
static void modified_regions(void)
{
	uint64_t base = (uintptr_t)words;
	uint32_t pd, other, stag, mw, client2;
	struct fw_qp *qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client2), 0);
	pd = host_pd(ut.nic, 0);
	other = host_pd(ut.nic, 0);
	stag = host_reg(ut.nic, 0, pd, words, 100, HW_ACCESS_LOCAL_WRITE | HW_ACCESS_MW_BIND, true);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base, 8, HW_ACCESS_REMOTE_WRITE),
			HW_VENDOR_ERR_ACCESS);
	CU_ASSERT_EQUAL(modify_mr(&ut, 0, stag, other, ALL_REMOTE | HW_ACCESS_MW_BIND), 0);
	CU_ASSERT_EQUAL(check(&ut, other, stag, base, 8, HW_ACCESS_REMOTE_WRITE),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(check(&ut, pd, stag, base, 8, 0), HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_PD, pd, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_PD, other, NULL), FW_EBUSY);
	/*
	 * Refused: another process's region, unknown bits, remote rights beyond the own, another
	 * base, an unknown PD.
	 */
	CU_ASSERT_EQUAL(modify_mr(&ut, client2, stag, other, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(modify_mr(&ut, 0, stag ^ 1, other, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(modify_mr(&ut, 0, stag, other, 0x80), FW_EINVAL);
	CU_ASSERT_EQUAL(modify_mr(&ut, 0, stag, other, HW_ACCESS_REMOTE_WRITE), FW_EINVAL);
	CU_ASSERT_EQUAL(modify_mr(&ut, 0, stag, other, HW_ACCESS_ZERO_BASED), FW_EINVAL);
	CU_ASSERT_EQUAL(modify_mr(&ut, 0, stag, pd, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(check(&ut, other, stag, base, 8, HW_ACCESS_REMOTE_WRITE),
			HW_VENDOR_ERR_NONE);
	/* A window has the rights that the region had. */
	qp = host_qp(ut.nic, 0, HW_QPT_RD, other, host_cq(ut.nic, 0, 16, HW_EQ_NONE), HW_SRQ_NONE);
	mw = alloc_mw(&ut, other, 1);
	CU_ASSERT_EQUAL(mem_bind(ut.nic, other, qp->qpn, mw, stag, base, 8, HW_ACCESS_REMOTE_READ),
			HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(modify_mr(&ut, 0, stag, other, 0), FW_EBUSY);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/mem_window", UT(windows_of_type_1), UT(windows_of_type_2_belong_to_a_qp),
	UT(rights_of_the_region), UT(detach_with_bound_windows), UT(invalidation_of_regions),
	UT(closing_settles_frames), UT(modified_regions))
