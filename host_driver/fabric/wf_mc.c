/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of datagram endpoints: IPv4 groups, which the NIC joins by IGMP. The address of a group
 * that an endpoint has joined is that of its object, with the highest bit set: no address vector
 * gives such a one. fi_join(3).
 */
#include "host_driver/fabric/fi_weft.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_ADDR (UINT64_C(1) << 63)

struct wf_mc {
	struct fid_mc fid;
	struct wf_mc *next; /* of the endpoint */
	struct wf_qp *qp;
	struct weft_ah *ah; /* NULL: receives alone */
	uint8_t gid[16];
	bool attached; /* receives */
};

struct weft_ah *wf_mc_way(struct wf_qp *qp, fi_addr_t addr)
{
	struct weft_ah *ah = NULL;
	struct wf_mc *mc;

	if (!(addr & GROUP_ADDR))
		return NULL;
	pthread_mutex_lock(&qp->lock);
	for (mc = qp->groups; mc; mc = mc->next) {
		if (mc->fid.fi_addr == addr)
			ah = mc->ah;
	}
	pthread_mutex_unlock(&qp->lock);
	return ah;
}

static int mc_close(struct fid *fid)
{
	struct wf_mc *mc = container_of(fid, struct wf_mc, fid.fid), **at = &mc->qp->groups;

	pthread_mutex_lock(&mc->qp->lock);
	while (*at && *at != mc)
		at = &(*at)->next;
	if (*at)
		*at = mc->next;
	pthread_mutex_unlock(&mc->qp->lock);
	if (mc->attached)
		wf_expect(weft_detach_mcast(mc->qp->ud, mc->gid), "group");
	if (mc->ah)
		wf_expect(weft_destroy_ah(mc->ah), "address handle of a group");
	wf_eq_ref(mc->qp->eq, -1);
	atomic_fetch_sub(&mc->qp->joined, 1);
	free(mc);
	return 0;
}

static struct fi_ops mc_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = mc_close,
    .bind = wf_no_bind,
    .control = wf_no_control,
    .ops_open = wf_no_ops_open,
};

/* The directions of a join: those of the flags, by default all that the endpoint has. */
static int directions(const struct wf_qp *qp, uint64_t flags, bool *sends, bool *receives)
{
	uint64_t wanted = flags ? flags : qp->caps & (FI_SEND | FI_RECV);

	if (flags & ~(FI_SEND | FI_RECV))
		return -FI_EBADFLAGS;
	if (!(qp->caps & FI_MULTICAST) || (wanted & ~qp->caps))
		return -FI_EOPNOTSUPP;
	*sends = wanted & FI_SEND;
	*receives = wanted & FI_RECV;
	return 0;
}

/* Joins at the NIC. 0 or a negative errno. */
static int enter(struct wf_mc *mc, uint32_t ip, bool sends, bool receives)
{
	struct weft_av av = weft_av_mcast(ip);
	int rc = 0;

	if (sends) {
		mc->ah = weft_create_ah(mc->qp->domain->pd, &av);
		if (!mc->ah)
			return -errno;
	}
	weft_mcast_gid(ip, mc->gid);
	if (receives)
		rc = weft_attach_mcast(mc->qp->ud, mc->gid);
	mc->attached = receives && !rc;
	return rc;
}

int wf_mc_join(struct wf_qp *qp, const void *addr, uint64_t flags, struct fid_mc **out,
	       void *context)
{
	struct sockaddr_in sin;
	bool sends, receives;
	struct wf_mc *mc;
	int rc = directions(qp, flags, &sends, &receives);

	if (rc)
		return rc;
	if (!addr)
		return -FI_EINVAL;
	memcpy(&sin, addr, sizeof(sin));
	if (sin.sin_family != AF_INET || !IN_MULTICAST(ntohl(sin.sin_addr.s_addr)))
		return -FI_EADDRNOTAVAIL;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -FI_ENOMEM;
	mc->fid.fid.fclass = FI_CLASS_MC;
	mc->fid.fid.context = context;
	mc->fid.fid.ops = &mc_fi_ops;
	mc->fid.fi_addr = GROUP_ADDR | (uintptr_t)mc;
	mc->qp = qp;
	atomic_fetch_add(&qp->joined, 1);
	wf_eq_ref(qp->eq, 1);
	rc = enter(mc, sin.sin_addr.s_addr, sends, receives);
	rc = rc ? rc : wf_eq_add(qp->eq, FI_JOIN_COMPLETE, &mc->fid.fid, context, 0, 0);
	if (rc) {
		WF_WARN(FI_LOG_EP_CTRL, "group: %s\n", strerror(-rc));
		mc_close(&mc->fid.fid);
		return rc;
	}
	pthread_mutex_lock(&qp->lock);
	mc->next = qp->groups;
	qp->groups = mc;
	pthread_mutex_unlock(&qp->lock);
	*out = &mc->fid;
	return 0;
}
