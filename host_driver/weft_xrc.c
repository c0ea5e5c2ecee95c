/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC domains, and XRC_RECV queue pairs created by another process.
 *
 * Calls the channel; nic_fw/host/xrc.c is the NIC's side. weft_srq.c creates XRC SRQs, weft_qp.c
 * queue pairs. IBA annex A14, ibv_open_xrcd(3), ibv_open_qp(3).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/stat.h>

#include "host_driver/weft_eq.h"

enum {
	JOIN_TRIES = 10000, /* while another thread creates, opens or destroys the same QP */
};

/*
 * Identifies the file. Returns 0 or a negative errno. weftd examines the descriptor itself; other
 * channels trust these values.
 */
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
	uint32_t refs;
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	pthread_mutex_lock(&ctx->lock);
	refs = xrcd->refs;
	pthread_mutex_unlock(&ctx->lock);
	if (refs)
		return -EBUSY;
	rc = weft_ctx_command_obj(ctx, HW_CMD_CLOSE_XRCD, pub->handle);
	if (rc < 0 && rc != -EIO)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	weft_xrcd_free(xrcd);
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}

static struct weft_xrcd_obj *xrcd_of(const struct weft_qp_obj *qp)
{
	return weft_container_of(qp->pub.xrcd, struct weft_xrcd_obj, pub);
}

/* Returns the first handle of this process for a QP; NULL: none. Under ctx->lock. */
static struct weft_qp_obj *first_of(struct weft_ctx *ctx, uint32_t qpn)
{
	struct weft_qp_obj *first = weft_table_get(&ctx->qps, qpn);

	return first && first->pub.qpn == qpn ? first : NULL;
}

/*
 * Adds a handle to a QP that the process already has, according to the NIC. Returns false if it no
 * longer has it.
 */
static bool join(struct weft_ctx *ctx, struct weft_qp_obj *qp)
{
	struct weft_qp_obj *first;

	pthread_mutex_lock(&ctx->lock);
	pthread_mutex_lock(&ctx->async_eq.lock);
	first = first_of(ctx, qp->pub.qpn);
	if (first) {
		qp->state = __atomic_load_n(&first->state, __ATOMIC_ACQUIRE);
		qp->same = first->same;
		first->same = qp;
		qp->joined = true;
		xrcd_of(qp)->refs++;
		weft_link_add(&ctx->qp_list, &qp->node);
	}
	pthread_mutex_unlock(&ctx->async_eq.lock);
	pthread_mutex_unlock(&ctx->lock);
	return first != NULL;
}

bool weft_qp_leave(struct weft_ctx *ctx, struct weft_qp_obj *qp)
{
	struct weft_qp_obj *first, *at;
	bool others;

	pthread_mutex_lock(&ctx->lock);
	pthread_mutex_lock(&ctx->async_eq.lock);
	first = first_of(ctx, qp->pub.qpn);
	others = first && (first != qp || qp->same);
	if (first == qp && others)
		(void)weft_table_set(&ctx->qps, qp->pub.qpn, qp->same); /* its table leaf exists */
	else if (first == qp)
		weft_table_clear(&ctx->qps, qp->pub.qpn, qp);
	for (at = first; at && at->same != qp; at = at->same)
		;
	if (at)
		at->same = qp->same;
	if (ctx->tell_qp == qp) {
		ctx->tell_qp = qp->same;
		if (!qp->same)
			weft_eq_settle(&ctx->async_eq);
	}
	if (qp->joined)
		xrcd_of(qp)->refs--;
	qp->joined = false;
	weft_link_del(&qp->node);
	pthread_mutex_unlock(&ctx->async_eq.lock);
	pthread_mutex_unlock(&ctx->lock);
	return others;
}

struct weft_qp *weft_open_qp(struct weft_xrcd *xrcd, uint32_t qpn, void *user)
{
	struct weft_qp_init_attr attr = {.type = WEFT_QPT_XRC_RECV, .xrcd = xrcd, .user = user};
	struct hw_cmd cmd = {.op = HW_CMD_OPEN_QP, .u.open_qp = {xrcd->handle, qpn}};
	struct weft_ctx *ctx = weft_ctx_of(xrcd->context);
	struct weft_qp_obj *qp = weft_qp_new(xrcd->context, NULL, &attr);
	struct hw_cmd_resp resp;
	int tries = JOIN_TRIES;
	int rc;

	if (!qp)
		return NULL;
	qp->pub.qpn = qpn;
	do {
		rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
		if (rc == -EBUSY && join(ctx, qp))
			return &qp->pub;
	} while (rc == -EBUSY && --tries && sched_yield() == 0);
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
