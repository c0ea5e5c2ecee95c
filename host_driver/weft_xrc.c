/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC domains, and XRC_RECV queue pairs that another process made.
 *
 * Called by applications. Calls the channel; the NIC's side is nic_fw/xrc.c. SRQs of XRC are made
 * by weft_srq.c, its queue pairs by weft_qp.c. IBA annex A14, ibv_open_xrcd(3), ibv_open_qp(3).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "host_driver/weft_priv.h"

/* 0 or a negative errno. weftd asks the descriptor itself; other channels believe this. */
static int name_file(struct hw_cmd_open_xrcd *open, int fd)
{
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) != 0)
		return -errno;
	open->flags |= HW_XRCD_F_FILE;
	open->file_dev = st.st_dev;
	open->file_ino = st.st_ino;
	return 0;
}

struct weft_xrcd *weft_open_xrcd(struct weft_context *context, int fd, int oflags)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	struct hw_cmd cmd = {.op = HW_CMD_OPEN_XRCD};
	struct weft_xrcd_obj *xrcd = calloc(1, sizeof(*xrcd));
	struct hw_cmd_resp resp;
	int rc;

	if (!xrcd)
		return NULL;
	weft_link_init(&xrcd->node);
	if (oflags & O_CREAT)
		cmd.u.open_xrcd.flags |= HW_XRCD_F_CREATE;
	if (oflags & O_EXCL)
		cmd.u.open_xrcd.flags |= HW_XRCD_F_EXCL;
	rc = name_file(&cmd.u.open_xrcd, fd);
	if (rc == 0)
		rc = weft_ctx_command(ctx, &cmd, fd, &resp, NULL);
	if (rc < 0) {
		free(xrcd);
		errno = -rc;
		return NULL;
	}
	xrcd->pub.context = context;
	xrcd->pub.handle = resp.u.handle;
	pthread_mutex_lock(&ctx->lock);
	weft_link_add(&ctx->xrcd_list, &xrcd->node);
	pthread_mutex_unlock(&ctx->lock);
	return &xrcd->pub;
}

void weft_xrcd_free(struct weft_xrcd_obj *xrcd)
{
	weft_link_del(&xrcd->node);
	free(xrcd);
}

int weft_close_xrcd(struct weft_xrcd *pub)
{
	struct weft_xrcd_obj *xrcd = weft_container_of(pub, struct weft_xrcd_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	rc = weft_ctx_command_obj(ctx, HW_CMD_CLOSE_XRCD, pub->handle);
	if (rc < 0 && rc != -EIO)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	weft_xrcd_free(xrcd);
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}

struct weft_qp *weft_open_qp(struct weft_xrcd *xrcd, uint32_t qpn, void *user)
{
	struct weft_qp_init_attr attr = {.type = WEFT_QPT_XRC_RECV, .xrcd = xrcd, .user = user};
	struct hw_cmd cmd = {.op = HW_CMD_OPEN_QP, .u.open_qp = {xrcd->handle, qpn}};
	struct weft_ctx *ctx = weft_ctx_of(xrcd->context);
	struct weft_qp_obj *qp = weft_qp_new(xrcd->context, NULL, &attr);
	struct hw_cmd_resp resp;
	int rc;

	if (!qp)
		return NULL;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc == 0) {
		qp->pub.qpn = resp.u.create_qp.qpn;
		rc = weft_qp_publish(ctx, qp);
		if (rc < 0)
			(void)weft_ctx_command_obj(ctx, HW_CMD_DESTROY_QP, qp->pub.qpn);
	}
	if (rc < 0) {
		weft_qp_free(qp);
		errno = -rc;
		return NULL;
	}
	return &qp->pub;
}
