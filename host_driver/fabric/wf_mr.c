/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory: regions that the application registers, and SGEs of requests. libweft provides pieces
 * without a descriptor with copies or with regions of a registration cache, which withdraws a
 * region when its memory goes away; so local buffers need no registration (no FI_MR_LOCAL).
 * fi_mr(3).
 */
#include "host_driver/fabric/fi_weft.h"

#include <stdlib.h>

static int mr_close(struct fid *fid)
{
	struct wf_mr *mr = container_of(fid, struct wf_mr, fid.fid);
	int rc = weft_dereg_mr(mr->mr);

	/* Without the NIC there is no region any more. */
	if (rc && rc != -EIO)
		return rc;
	atomic_fetch_sub(&mr->domain->refs, 1);
	free(mr);
	return 0;
}

/* Regions serve every endpoint of the domain: binding one changes nothing. */
static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid;
	return bfid->fclass == FI_CLASS_EP && !flags ? 0 : -FI_ENOSYS;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)arg;
	return command == FI_ENABLE || command == FI_REFRESH ? 0 : -FI_ENOSYS;
}

static struct fi_ops mr_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = mr_close,
    .bind = mr_bind,
    .control = mr_control,
    .ops_open = wf_no_ops_open,
};

/* Translates FI_READ ... to rights of the NIC. Peers that may write may also do atomics. */
static int weft_access(uint64_t access)
{
	int rights = 0;

	if (access & (FI_RECV | FI_READ | FI_REMOTE_WRITE))
		rights |= WEFT_ACCESS_LOCAL_WRITE;
	if (access & FI_REMOTE_READ)
		rights |= WEFT_ACCESS_REMOTE_READ;
	if (access & FI_REMOTE_WRITE)
		rights |= WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_ATOMIC;
	return rights;
}

/*
 * Makes the region. Applications need no rights for local requests (FI_MR_LOCAL), but may pass the
 * descriptor: so it may be written if its memory may.
 */
static struct weft_mr *make_region(struct wf_mr *mr, void *addr, size_t len, int access)
{
	struct weft_mr *region =
	    weft_reg_mr_iova(mr->domain->pd, addr, len, mr->iova, access | WEFT_ACCESS_LOCAL_WRITE);

	mr->local_write = region != NULL;
	if (!region && errno == EFAULT && !(access & WEFT_ACCESS_LOCAL_WRITE))
		region = weft_reg_mr_iova(mr->domain->pd, addr, len, mr->iova, access);
	return region;
}

static int mr_register(struct wf_domain *domain, const void *buf, size_t len, uint64_t access,
		       void *context, struct fid_mr **out)
{
	struct wf_mr *mr = calloc(1, sizeof(*mr));
	void *addr = (void *)(uintptr_t)buf;
	int error;

	if (!mr)
		return -FI_ENOMEM;
	mr->domain = domain;
	mr->base = (uintptr_t)buf;
	mr->iova = domain->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)buf : 0;
	mr->mr = make_region(mr, addr, len, weft_access(access));
	if (!mr->mr) {
		error = errno;
		free(mr);
		return -error;
	}
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = context;
	mr->fid.fid.ops = &mr_fi_ops;
	mr->fid.mem_desc = mr;
	mr->fid.key = mr->mr->rkey;
	atomic_fetch_add(&domain->refs, 1);
	*out = &mr->fid;
	if (domain->mr_eq)
		return wf_eq_add(domain->mr_eq, FI_MR_COMPLETE, &mr->fid.fid, context, 0, 0);
	return 0;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr)
{
	const uint64_t known =
	    FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

	if (flags)
		return -FI_EBADFLAGS;
	if (fid->fclass != FI_CLASS_DOMAIN || attr->iov_count != 1 || attr->offset ||
	    (attr->access & ~known))
		return -FI_EINVAL;
	if (attr->iface != FI_HMEM_SYSTEM)
		return -FI_ENOSYS;
	return mr_register(container_of(fid, struct wf_domain, fid.fid), attr->mr_iov[0].iov_base,
			   attr->mr_iov[0].iov_len, attr->access, attr->context, mr);
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	struct fi_mr_attr attr = {.mr_iov = iov,
				  .iov_count = count,
				  .access = access,
				  .offset = offset,
				  .requested_key = requested_key,
				  .context = context};

	return mr_regattr(fid, &attr, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

struct fi_ops_mr wf_mr_ops = {
    .size = sizeof(struct fi_ops_mr),
    .reg = mr_reg,
    .regv = mr_regv,
    .regattr = mr_regattr,
};

/* Provides the memory of a piece. 0 or a negative errno. */
static int hold_piece(struct wf_domain *domain, const struct iovec *iov, enum wf_use use,
		      struct weft_sge *sge, struct wf_piece *piece)
{
	int rc;

	if (use == WF_USE_DIRECT) {
		piece->kind = WF_PIECE_MR;
		piece->mr = weft_reg_mr_cached(domain->cache, iov->iov_base, iov->iov_len,
					       WEFT_ACCESS_LOCAL_WRITE);
		if (!piece->mr)
			return -errno;
		*sge = (struct weft_sge){(uintptr_t)iov->iov_base, piece->bytes, piece->mr->lkey};
		return 0;
	}
	piece->kind = WF_PIECE_BUF;
	rc = weft_tag_get_buf(domain->mem, iov->iov_base, iov->iov_len, use == WF_USE_RECV,
			      &piece->buf);
	if (!rc)
		*sge = piece->buf.sge;
	return rc;
}

int wf_mr_sges(struct wf_domain *domain, const struct iovec *iov, void **desc, size_t count,
	       enum wf_use use, struct weft_sge *sge, struct wf_hold *hold)
{
	bool held = false;
	uint32_t n = 0;
	size_t i;

	hold->count = 0;
	if (count > WF_IOV)
		return -FI_EINVAL;
	for (i = 0; i < count; i++) {
		const struct wf_mr *mr = desc ? desc[i] : NULL;
		int rc = 0;

		if (iov[i].iov_len == 0)
			continue;
		hold->piece[n].kind = WF_PIECE_DESC;
		hold->piece[n].bytes = (uint32_t)iov[i].iov_len;
		if (iov[i].iov_len > UINT32_MAX) {
			rc = -FI_EMSGSIZE;
		} else if (mr && (use == WF_USE_SEND || mr->local_write)) {
			sge[n] = (struct weft_sge){(uintptr_t)iov[i].iov_base + mr->iova - mr->base,
						   (uint32_t)iov[i].iov_len, mr->mr->lkey};
		} else {
			rc = hold_piece(domain, &iov[i], use, &sge[n], &hold->piece[n]);
			held = true;
		}
		if (rc) {
			hold->count = n;
			wf_mr_release(domain, hold, 0);
			return rc == -ENOMEM ? -FI_EAGAIN : rc;
		}
		n++;
	}
	hold->count = held ? n : 0;
	return (int)n;
}

void wf_mr_release(struct wf_domain *domain, struct wf_hold *hold, size_t bytes)
{
	uint32_t i;

	for (i = 0; i < hold->count; i++) {
		struct wf_piece *piece = &hold->piece[i];
		size_t part = bytes < piece->bytes ? bytes : piece->bytes;

		if (piece->kind == WF_PIECE_MR)
			weft_release_mr(piece->mr);
		else if (piece->kind == WF_PIECE_BUF)
			weft_tag_put_buf(domain->mem, &piece->buf, part);
		bytes -= part;
	}
	hold->count = 0;
}
