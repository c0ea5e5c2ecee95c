/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of endpoints, and groups of them. No endpoint is connected. wf_mc.c has the groups of
 * datagram endpoints, wf_group.c those of collectives. fi_cm(3).
 */
#include <string.h>

#include "host_driver/fabric/wf_coll.h"

static uint32_t cm_number(const struct wf_qp *qp)
{
	return qp->dgram ? qp->ud->qpn : qp->ep->qp->qpn;
}

static int cm_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct wf_qp *qp = container_of(fid, struct wf_ep, fid.fid)->qp;
	struct sockaddr_in sin;
	size_t room = *addrlen;

	if (!wf_qp_is_open(qp))
		return -FI_EOPBADSTATE;
	sin = wf_addr_out((struct wf_addr){qp->domain->port.ip, cm_number(qp)});
	*addrlen = sizeof(sin);
	if (room && addr)
		memcpy(addr, &sin, room < sizeof(sin) ? room : sizeof(sin));
	return room < sizeof(sin) ? -FI_ETOOSMALL : 0;
}

static int no_setname(fid_t fid, void *addr, size_t addrlen)
{
	(void)fid;
	(void)addr;
	(void)addrlen;
	return -FI_ENOSYS;
}

static int no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	(void)ep;
	(void)addr;
	(void)addrlen;
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	(void)ep;
	(void)addr;
	(void)param;
	(void)paramlen;
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	(void)ep;
	(void)param;
	(void)paramlen;
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void)ep;
	(void)flags;
	return -FI_ENOSYS;
}

static int cm_join(struct fid_ep *fid, const void *addr, uint64_t flags, struct fid_mc **mc,
		   void *context)
{
	struct wf_qp *qp = container_of(fid, struct wf_ep, fid)->qp;

	if (!wf_qp_is_open(qp))
		return -FI_EOPBADSTATE;
	if (!qp->eq)
		return -FI_ENOEQ;
	if ((flags & FI_COLLECTIVE) && !qp->dgram)
		return wf_group_join(qp, addr, flags & ~FI_COLLECTIVE, mc, context);
	return qp->dgram ? wf_mc_join(qp, addr, flags, mc, context) : -FI_ENOSYS;
}

struct fi_ops_cm wf_cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .setname = no_setname,
    .getname = cm_getname,
    .getpeer = no_getpeer,
    .connect = no_connect,
    .accept = no_accept,
    .shutdown = no_shutdown,
    .join = cm_join,
};
