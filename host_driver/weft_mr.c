/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains, memory regions, memory windows.
 *
 * Calls weft_attach.c, which decides how the NIC accesses the memory, and the channel;
 * nic_fw/host/mem.c is the NIC's side. RFC 5040, 1.1.1 (STag).
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/weft_mem.h"

struct weft_pd *weft_alloc_pd(struct weft_context *context)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;
	struct weft_pd_obj *pd;
	int rc;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc < 0) {
		free(pd);
		errno = -rc;
		return NULL;
	}
	pd->pub.context = context;
	pd->pub.handle = resp.u.handle;
	pthread_mutex_lock(&ctx->lock);
	weft_link_add(&ctx->pd_list, &pd->node);
	pthread_mutex_unlock(&ctx->lock);
	return &pd->pub;
}

int weft_dealloc_pd(struct weft_pd *pub)
{
	struct weft_pd_obj *pd = weft_container_of(pub, struct weft_pd_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	if (weft_mr_caches_use(ctx, pub))
		return -EBUSY;
	rc = weft_ctx_command_obj(ctx, HW_CMD_DEALLOC_PD, pub->handle);
	if (rc < 0 && rc != -EIO)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	weft_link_del(&pd->node);
	pthread_mutex_unlock(&ctx->lock);
	free(pd);
	return 0;
}

/* Sends the registration to the NIC. If the NIC rejects the pieces, repeats it without them. */
static int reg_command(struct weft_ctx *ctx, struct weft_mr_obj *mr, uint64_t iova, int access)
{
	struct hw_cmd_pieces packet;
	struct hw_cmd_reg_mr *reg = &packet.cmd.u.reg_mr;
	struct hw_cmd_resp resp;
	int rc;

	packet.cmd = (struct hw_cmd){.op = HW_CMD_REG_MR};
	reg->addr = (uint64_t)(uintptr_t)mr->pub.addr;
	reg->bytes = mr->pub.bytes;
	reg->iova = iova;
	reg->pd = mr->pub.pd->handle;
	reg->access = (uint32_t)access;
	if (mr->pieces) {
		reg->flags = HW_REG_F_MAPPED;
		reg->num_pieces = mr->pieces->count;
		for (uint32_t i = 0; i < mr->pieces->count; i++) {
			const struct weft_mem_piece *piece = &mr->pieces->piece[i];

			packet.piece[i] =
			    (struct hw_mem_piece){piece->extent->key, piece->offset, piece->bytes};
		}
		rc = weft_ctx_command(ctx, &packet.cmd, -1, &resp, NULL);
		if (rc == 0 || rc == -EIO)
			goto out;
		weft_mem_detach(mr->pieces);
		mr->pieces = NULL;
		reg->flags = 0;
		reg->num_pieces = 0;
	}
	rc = weft_ctx_command(ctx, &packet.cmd, -1, &resp, NULL);
out:
	if (rc < 0)
		return rc;
	mr->pub.lkey = resp.u.mr.stag;
	mr->pub.rkey = resp.u.mr.stag;
	mr->pub.mapped = resp.u.mr.mapped != 0;
	return 0;
}

/* Caller holds weft_global.lock. */
static int register_mr(struct weft_ctx *ctx, struct weft_mr_obj *mr, uint64_t iova, int access)
{
	const int writes =
	    WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_ATOMIC;
	int rc;

	rc = weft_mem_attach(ctx, (uint64_t)(uintptr_t)mr->pub.addr, mr->pub.bytes,
			     (access & writes) != 0, &mr->pieces);
	if (rc == 0)
		rc = reg_command(ctx, mr, iova, access);
	if (rc < 0) {
		weft_mem_detach(mr->pieces);
		return rc;
	}
	if (!mr->pieces)
		weft_link_add(&weft_global.vm_mrs, &mr->vm_node);
	return 0;
}

static int check_reg(const void *addr, size_t bytes, int access)
{
	const int known = WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE |
			  WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_REMOTE_ATOMIC |
			  WEFT_ACCESS_MW_BIND | WEFT_ACCESS_ZERO_BASED;
	const int remote_writes = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_ATOMIC;
	uintptr_t start = (uintptr_t)addr;

	if (!bytes || start + bytes < start || access & ~known)
		return -EINVAL;
	return access & remote_writes && !(access & WEFT_ACCESS_LOCAL_WRITE) ? -EINVAL : 0;
}

struct weft_mr *weft_reg_mr_iova(struct weft_pd *pd, void *addr, size_t bytes, uint64_t iova,
				 int access)
{
	struct weft_ctx *ctx = weft_ctx_of(pd->context);
	struct weft_mr_obj *mr = NULL;
	int rc;

	rc = check_reg(addr, bytes, access);
	if (rc == 0 && weft_ctx_state(ctx) != WEFT_CTX_LIVE)
		rc = -EIO;
	if (rc == 0) {
		mr = calloc(1, sizeof(*mr));
		rc = mr ? 0 : -ENOMEM;
	}
	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	mr->pub.context = pd->context;
	mr->pub.pd = pd;
	mr->pub.addr = addr;
	mr->pub.bytes = bytes;
	weft_link_init(&mr->vm_node);
	weft_global_lock();
	rc = register_mr(ctx, mr, iova, access);
	weft_global_unlock();
	if (rc < 0) {
		free(mr);
		errno = -rc;
		return NULL;
	}
	pthread_mutex_lock(&ctx->lock);
	weft_link_add(&ctx->mr_list, &mr->node);
	pthread_mutex_unlock(&ctx->lock);
	return &mr->pub;
}

struct weft_mr *weft_reg_mr(struct weft_pd *pd, void *addr, size_t bytes, int access)
{
	bool zero_based = (access & WEFT_ACCESS_ZERO_BASED) != 0;

	return weft_reg_mr_iova(pd, addr, bytes, zero_based ? 0 : (uint64_t)(uintptr_t)addr,
				access);
}

void weft_mr_free(struct weft_mr_obj *mr)
{
	struct weft_ctx *ctx = weft_ctx_of(mr->pub.context);

	weft_global_lock();
	weft_link_del(&mr->vm_node);
	weft_mem_detach(mr->pieces);
	weft_global_unlock();
	pthread_mutex_lock(&ctx->lock);
	weft_link_del(&mr->node);
	pthread_mutex_unlock(&ctx->lock);
	free(mr);
}

int weft_dereg_mr(struct weft_mr *pub)
{
	struct weft_mr_obj *mr = weft_container_of(pub, struct weft_mr_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	if (mr->cached)
		return -EINVAL;
	rc = weft_ctx_command_obj(ctx, HW_CMD_DEREG_MR, pub->lkey);
	if (rc < 0 && rc != -EIO)
		return rc;
	weft_mr_free(mr);
	return 0;
}

/* Memory registered read-only may be writable by now: check again, as at registration. */
static int check_writable(struct weft_ctx *ctx, const struct weft_mr *mr)
{
	struct weft_mem_pieces *pieces;
	int rc;

	weft_global_lock();
	rc = weft_mem_attach(ctx, (uint64_t)(uintptr_t)mr->addr, mr->bytes, true, &pieces);
	weft_mem_detach(pieces);
	weft_global_unlock();
	return rc;
}

int weft_modify_mr(struct weft_mr *pub, struct weft_pd *pd, int access)
{
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_MR};
	struct hw_cmd_resp resp;
	int rc = check_reg(pub->addr, pub->bytes, access);

	/* A cache selects regions by the rights with which they were registered. */
	if (weft_container_of(pub, struct weft_mr_obj, pub)->cached)
		return -EINVAL;
	if (!pd)
		pd = pub->pd;
	if (rc == 0 && pd->context != pub->context)
		rc = -EINVAL;
	if (rc == 0 && access & WEFT_ACCESS_LOCAL_WRITE)
		rc = check_writable(ctx, pub);
	if (rc < 0)
		return rc;
	cmd.u.modify_mr.stag = pub->lkey;
	cmd.u.modify_mr.pd = pd->handle;
	cmd.u.modify_mr.access = (uint32_t)access;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc == 0)
		pub->pd = pd;
	return rc;
}

struct weft_mw *weft_alloc_mw(struct weft_pd *pd, uint32_t type)
{
	struct weft_ctx *ctx = weft_ctx_of(pd->context);
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_MW};
	struct hw_cmd_resp resp;
	struct weft_mw_obj *mw;
	int rc;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	cmd.u.alloc_mw.pd = pd->handle;
	cmd.u.alloc_mw.type = type;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc < 0) {
		free(mw);
		errno = -rc;
		return NULL;
	}
	mw->pub.context = pd->context;
	mw->pub.pd = pd;
	mw->pub.rkey = resp.u.handle;
	mw->pub.type = type;
	pthread_mutex_lock(&ctx->lock);
	weft_link_add(&ctx->mw_list, &mw->node);
	pthread_mutex_unlock(&ctx->lock);
	return &mw->pub;
}

int weft_dealloc_mw(struct weft_mw *pub)
{
	struct weft_mw_obj *mw = weft_container_of(pub, struct weft_mw_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	rc = weft_ctx_command_obj(ctx, HW_CMD_DEALLOC_MW, pub->rkey);
	if (rc < 0 && rc != -EIO)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	weft_link_del(&mw->node);
	pthread_mutex_unlock(&ctx->lock);
	free(mw);
	return 0;
}
