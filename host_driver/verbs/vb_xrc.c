/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended reliable connections: domains, and target QPs created by another process.
 *
 * vb_srq.c handles SRQs, vb_qp.c other queue pairs. Calls weft_xrc.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/verbs/vb.h"

/* Both members are required, as with rdma-core's providers. */
static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct vb_xrcd *xrcd;

	if (attr->comp_mask >= IBV_XRCD_INIT_ATTR_RESERVED)
		return vb_null(EOPNOTSUPP);
	if ((attr->comp_mask & needed) != needed)
		return vb_null(EINVAL);
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return vb_null(ENOMEM);
	xrcd->weft = weft_open_xrcd(vb_context_of(context)->weft, attr->fd, attr->oflags);
	if (!xrcd->weft) {
		free(xrcd);
		return NULL;
	}
	xrcd->weft->user = xrcd;
	xrcd->ibv.context = context;
	return &xrcd->ibv;
}

static int close_xrcd(struct ibv_xrcd *ibv)
{
	struct vb_xrcd *xrcd = vb_xrcd_of(ibv);
	int rc = weft_close_xrcd(xrcd->weft);

	if (rc < 0)
		return vb_result(rc);
	free(xrcd);
	return 0;
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
	    IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_XRC_RECV};
	struct vb_qp *qp;

	if (attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED)
		return vb_null(EOPNOTSUPP);
	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV ||
	    !attr->xrcd || attr->xrcd->context != context)
		return vb_null(EINVAL);
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		init.qp_context = attr->qp_context;
	qp = vb_qp_alloc();
	if (!qp)
		return NULL;
	qp->weft = weft_open_qp(vb_xrcd_of(attr->xrcd)->weft, attr->qp_num, qp);
	if (!qp->weft) {
		vb_qp_free(qp);
		return NULL;
	}
	vb_qp_fill(qp, context, &init);
	return &qp->ibv;
}

void vb_xrc_ops(struct vb_context *c)
{
	c->verbs.open_xrcd = open_xrcd;
	c->verbs.close_xrcd = close_xrcd;
	c->verbs.open_qp = open_qp;
}
