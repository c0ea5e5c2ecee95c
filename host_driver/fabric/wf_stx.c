/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared transmit contexts: attributes that bound endpoints keep within. Requests are posted to the
 * endpoints, whose send queues the NIC serves in turn. fi_endpoint(3).
 */
#include <stdlib.h>

#include "host_driver/fabric/wf_srx.h"

static int stx_close(struct fid *fid)
{
	struct wf_stx *stx = container_of(fid, struct wf_stx, fid.fid);

	if (atomic_load(&stx->refs))
		return -FI_EBUSY;
	atomic_fetch_sub(&stx->domain->refs, 1);
	free(stx);
	return 0;
}

static struct fi_ops stx_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = stx_close,
    .bind = wf_no_bind,
    .control = wf_no_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_ep stx_ops = {
    .size = sizeof(struct fi_ops_ep),
};

int wf_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		void *context)
{
	struct wf_domain *d = container_of(domain, struct wf_domain, fid);
	struct wf_stx *s;

	if (attr && (attr->size > WF_TX_SIZE || attr->inject_size > WF_INJECT_BYTES ||
		     attr->iov_limit > WF_IOV || attr->caps & ~(uint64_t)(WF_TX_CAPS | WF_RX_CAPS)))
		return -FI_EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -FI_ENOMEM;
	s->fid.fid.fclass = FI_CLASS_STX_CTX;
	s->fid.fid.context = context;
	s->fid.fid.ops = &stx_fi_ops;
	s->fid.ops = &stx_ops;
	s->domain = d;
	if (attr)
		s->attr = *attr;
	if (!s->attr.size)
		s->attr.size = WF_TX_SIZE;
	if (!s->attr.caps)
		s->attr.caps = WF_TX_CAPS;
	atomic_fetch_add(&d->refs, 1);
	*stx = &s->fid;
	return 0;
}

int wf_stx_bind(struct wf_qp *qp, struct fid *fid)
{
	struct wf_stx *stx = container_of(fid, struct wf_stx, fid.fid);

	if (stx->domain != qp->domain)
		return -FI_EDOMAIN;
	if (!qp->shares_tx || qp->stx || qp->tx_size > stx->attr.size ||
	    qp->caps & WF_TX_CAPS & ~(WF_RX_CAPS | stx->attr.caps))
		return -FI_EINVAL;
	qp->stx = stx;
	atomic_fetch_add(&stx->refs, 1);
	return 0;
}

void wf_stx_unbind(struct wf_qp *qp)
{
	if (qp->stx)
		atomic_fetch_sub(&qp->stx->refs, 1);
}
