/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains, memory regions and windows.
 *
 * Access bits that are hints (relaxed ordering) are ignored. On-demand paging, huge pages by flag,
 * dma-bufs and device memory are rejected. Calls weft_mr.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/verbs/vb.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

VB_API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vb_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return vb_null(ENOMEM);
	pd->weft = weft_alloc_pd(vb_context_of(context)->weft);
	if (!pd->weft) {
		free(pd);
		return NULL;
	}
	pd->weft->user = pd;
	pd->ibv.context = context;
	pd->ibv.handle = pd->weft->handle;
	return &pd->ibv;
}

VB_API int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vb_pd *pd = vb_pd_of(ibv);
	int rc = weft_dealloc_pd(pd->weft);

	if (rc < 0)
		return vb_result(rc);
	free(pd);
	return 0;
}

/* Returns the access rights among the flags, or -1. */
static int rights(unsigned int access)
{
	const unsigned int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				   IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED;

	access &= ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;
	if (access & ~known)
		return -1;
	return (int)access;
}

static struct ibv_mr *reg(struct ibv_pd *ibv, void *addr, size_t length, uint64_t iova,
			  unsigned int access)
{
	struct vb_pd *pd = vb_pd_of(ibv);
	int allowed = rights(access);
	struct vb_mr *mr;

	if (allowed < 0)
		return vb_null(access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB) ? EOPNOTSUPP
										    : EINVAL);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return vb_null(ENOMEM);
	mr->weft = weft_reg_mr_iova(pd->weft, addr, length, iova, allowed);
	if (!mr->weft) {
		free(mr);
		return NULL;
	}
	mr->weft->user = mr;
	mr->access = allowed;
	mr->ibv.context = ibv->context;
	mr->ibv.pd = ibv;
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	mr->ibv.handle = mr->weft->lkey;
	mr->ibv.lkey = mr->weft->lkey;
	mr->ibv.rkey = mr->weft->rkey;
	return &mr->ibv;
}

static uint64_t base(void *addr, unsigned int access)
{
	return access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
}

VB_API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg(pd, addr, length, base(addr, (unsigned int)access), (unsigned int)access);
}

VB_API struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access)
{
	return reg(pd, addr, length, iova, (unsigned int)access);
}

/* The header's ibv_reg_mr() calls it when the flags are not compile-time constants. */
VB_API struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access)
{
	return reg(pd, addr, length, access & IBV_ACCESS_ZERO_BASED ? 0 : iova, access);
}

VB_API int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct vb_mr *mr = vb_mr_of(ibv);
	int rc = weft_dereg_mr(mr->weft);

	if (rc < 0)
		return vb_result(rc);
	free(mr);
	return 0;
}

/* Changes rights or the domain only: the keys stay. */
static int modify(struct vb_mr *mr, int flags, struct ibv_pd *pd, int access)
{
	int allowed =
	    flags & IBV_REREG_MR_CHANGE_ACCESS ? rights((unsigned int)access) : mr->access;
	struct weft_pd *weft_pd = flags & IBV_REREG_MR_CHANGE_PD ? vb_pd_of(pd)->weft : NULL;
	int rc = allowed < 0 ? -EINVAL : weft_modify_mr(mr->weft, weft_pd, allowed);

	if (rc < 0) {
		errno = -rc;
		return allowed < 0 || rc == -EINVAL ? IBV_REREG_MR_ERR_INPUT : IBV_REREG_MR_ERR_CMD;
	}
	mr->access = allowed;
	if (weft_pd)
		mr->ibv.pd = pd;
	return 0;
}

/*
 * A region with other memory gets new keys. It is registered before the old registration ends, so a
 * failure leaves the region unchanged. If the old registration cannot end (a window is bound), the
 * new one is undone.
 */
VB_API int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
			int access)
{
	struct vb_mr *mr = vb_mr_of(ibv);
	struct ibv_mr *fresh;
	struct weft_mr *weft;

	if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED ||
	    (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!length || !addr)) ||
	    (flags & IBV_REREG_MR_CHANGE_PD && (!pd || pd->context != ibv->context))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (!(flags & IBV_REREG_MR_CHANGE_TRANSLATION))
		return modify(mr, flags, pd, access);
	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		access = mr->access;
	fresh = reg(flags & IBV_REREG_MR_CHANGE_PD ? pd : ibv->pd, addr, length,
		    base(addr, (unsigned int)access), (unsigned int)access);
	if (!fresh)
		return IBV_REREG_MR_ERR_CMD;
	if (weft_dereg_mr(mr->weft) < 0) {
		ibv_dereg_mr(fresh);
		errno = EBUSY;
		return IBV_REREG_MR_ERR_CMD;
	}
	weft = vb_mr_of(fresh)->weft;
	weft->user = mr;
	mr->weft = weft;
	mr->access = vb_mr_of(fresh)->access;
	mr->ibv = *fresh;
	free(vb_mr_of(fresh));
	return 0;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct vb_mw *mw;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return vb_null(EINVAL);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return vb_null(ENOMEM);
	mw->weft = weft_alloc_mw(vb_pd_of(pd)->weft, type == IBV_MW_TYPE_1 ? 1 : 2);
	if (!mw->weft) {
		free(mw);
		return NULL;
	}
	mw->ibv.context = pd->context;
	mw->ibv.pd = pd;
	mw->ibv.rkey = mw->weft->rkey;
	mw->ibv.handle = mw->weft->rkey;
	mw->ibv.type = type;
	return &mw->ibv;
}

static int dealloc_mw(struct ibv_mw *ibv)
{
	struct vb_mw *mw = vb_mw_of(ibv);
	int rc = weft_dealloc_mw(mw->weft);

	if (rc < 0)
		return vb_result(rc);
	free(mw);
	return 0;
}

void vb_mem_ops(struct vb_context *c)
{
	c->verbs.context.ops.alloc_mw = alloc_mw;
	c->verbs.context.ops.dealloc_mw = dealloc_mw;
	c->verbs.context.ops.bind_mw = vb_bind_mw;
}
