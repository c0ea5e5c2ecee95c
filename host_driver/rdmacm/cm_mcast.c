/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups: rdma_join_multicast() and related calls, on top of ibv_attach_mcast().
 *
 * The group's GID is the IPv4-mapped form of its address. The NIC reports the membership by IGMP.
 * As in librdmacm, a queue pair is attached when the program takes the join event.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/cm.h"

enum {
	GROUP_QPN = 0xffffff, /* IBA 3.5.10 */
};

/* Protects the lists of groups and the attachments. */
static pthread_mutex_t groups = PTHREAD_MUTEX_INITIALIZER;

static int join(struct cm_id *id, const struct sockaddr *addr, void *context, bool send_only)
{
	struct cm_mcast *mc;
	struct cm_event *event;
	uint16_t port;
	uint32_t ip;

	if (!id->dev || !cm_is_ud(id) || cm_addr_get(addr, &ip, &port) || !IN_MULTICAST(ntohl(ip)))
		return cm_error(EINVAL);
	mc = calloc(1, sizeof(*mc));
	event = mc ? cm_event_new(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0) : NULL;
	if (!event) {
		free(mc);
		return cm_error(ENOMEM);
	}
	cm_addr_set((struct sockaddr *)&mc->addr, ip, port);
	cm_gid(ip, &mc->mgid);
	mc->context = context;
	mc->send_only = send_only;
	event->mcast = mc;
	cm_ah_attr(id, ip, &event->pub.param.ud.ah_attr);
	event->pub.param.ud.qp_num = GROUP_QPN;
	event->pub.param.ud.qkey = RDMA_UDP_QKEY;
	event->pub.param.ud.private_data = context;
	pthread_mutex_lock(&groups);
	mc->next = id->mcasts;
	id->mcasts = mc;
	pthread_mutex_unlock(&groups);
	cm_channel_put(cm_channel_of(id->pub.channel), event);
	return cm_complete(id);
}

CM_API int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return join(cm_id_of(id), addr, context, false);
}

CM_API int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
				  void *context)
{
	const uint32_t all = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (attr->comp_mask != all || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return cm_error(EINVAL);
	return join(cm_id_of(id), attr->addr, context,
		    attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
}

/*
 * Runs when the program takes the event; from now on its queue pair receives the group's packets.
 */
int cm_mcast_joined(struct cm_event *event)
{
	struct cm_id *id = cm_id_of(event->pub.id);
	struct cm_mcast *mc;
	int rc = 0;

	pthread_mutex_lock(&groups);
	for (mc = id->mcasts; mc && mc != event->mcast; mc = mc->next)
		;
	/*
	 * The group may have been left meanwhile. A program with a queue pair elsewhere attaches it
	 * itself.
	 */
	if (mc && !mc->send_only && id->pub.qp) {
		rc = ibv_attach_mcast(id->pub.qp, &mc->mgid, 0);
		mc->attached = rc == 0;
	}
	pthread_mutex_unlock(&groups);
	return rc ? cm_error(rc) : 0;
}

static void leave(struct cm_id *id, struct cm_mcast *mc)
{
	if (mc->attached && id->pub.qp)
		(void)ibv_detach_mcast(id->pub.qp, &mc->mgid, 0);
	free(mc);
}

CM_API int rdma_leave_multicast(struct rdma_cm_id *pub, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(pub);
	struct cm_mcast **at, *mc = NULL;
	union ibv_gid gid;
	uint16_t port;
	uint32_t ip;

	if (cm_addr_get(addr, &ip, &port))
		return cm_error(EINVAL);
	cm_gid(ip, &gid);
	pthread_mutex_lock(&groups);
	for (at = &id->mcasts; *at; at = &(*at)->next) {
		if (memcmp(&(*at)->mgid, &gid, sizeof(gid)) != 0)
			continue;
		mc = *at;
		*at = mc->next;
		break;
	}
	if (mc)
		leave(id, mc);
	pthread_mutex_unlock(&groups);
	return mc ? 0 : cm_error(EADDRNOTAVAIL);
}

void cm_mcast_leave_all(struct cm_id *id)
{
	struct cm_mcast *mc;

	/* Another thread may be taking a join event. */
	pthread_mutex_lock(&groups);
	while ((mc = id->mcasts) != NULL) {
		id->mcasts = mc->next;
		leave(id, mc);
	}
	pthread_mutex_unlock(&groups);
}
