/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles and address vectors.
 *
 * A peer's NIC is named in one of three ways: by its IPv4-mapped GID; by its link-local GID, if it
 * is this NIC, a NIC of this machine or a neighbour known to this NIC; or not at all (is_global 0),
 * if the QPN suffices, as between NICs of one weftd. LIDs are ignored. Calls weft_ah.c.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/verbs/vb.h"
#include "host_driver/weft_priv.h"

enum {
	GRH_IP_OFFSET = 20, /* UD receives: the IPv4 header is the last 20 of the 40 bytes of GRH */
	V4_TTL = 8,
	V4_SRC = 12,
};

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Finds the address of a NIC of this machine by its EUI-64. */
static bool find_local(__be64 guid, uint32_t *ip)
{
	struct weft_device *list;
	int n = weft_get_device_list(&list);
	bool found = false;

	for (int i = 0; i < n && !found; i++) {
		struct weft_context *tool = weft_open_tool(list[i].path);
		struct weft_device_attr device;
		struct weft_port_attr port;

		if (!tool)
			continue;
		found = weft_query_device(tool, &device) == 0 && device.node_guid == guid &&
			weft_query_port(tool, &port) == 0;
		if (found)
			*ip = port.ip;
		weft_close_device(tool);
	}
	if (n > 0)
		weft_free_device_list(list);
	return found;
}

/* Returns the modified EUI-64 of a MAC address (RFC 4291, appendix A). */
static __be64 eui64(const uint8_t mac[6])
{
	const uint8_t id[8] = {
	    (uint8_t)(mac[0] ^ 2), mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
	__be64 guid;

	memcpy(&guid, id, sizeof(guid));
	return guid;
}

/* Finds the address of a NIC with which this one has communicated. */
static bool find_neighbour(struct vb_context *c, __be64 guid, uint32_t *ip)
{
	struct weft_list_item items[WEFT_LIST_MIN];
	uint32_t cursor = 0;
	int n;

	while ((n = weft_list(c->weft, WEFT_LIST_NEIGHBOURS, c->attr.shard, &cursor, items,
			      WEFT_LIST_MIN)) > 0)
		for (int i = 0; i < n; i++)
			if (eui64(items[i].mac) == guid) {
				*ip = items[i].id;
				return true;
			}
	return false;
}

/* Converts a GID to an IPv4 address. Returns false for an unknown NIC. */
static bool gid_ip(struct vb_context *c, const union ibv_gid *gid, uint32_t *ip)
{
	struct weft_port_attr port;

	if (memcmp(gid->raw, mapped, sizeof(mapped)) == 0) {
		memcpy(ip, gid->raw + sizeof(mapped), sizeof(*ip));
		return true;
	}
	if (gid->global.subnet_prefix != htobe64(0xfe80000000000000))
		return false;
	if (gid->global.interface_id == c->attr.node_guid) {
		bool ok = weft_query_port(c->weft, &port) == 0;

		*ip = ok ? port.ip : 0;
		return ok;
	}
	return find_local(gid->global.interface_id, ip) ||
	       find_neighbour(c, gid->global.interface_id, ip);
}

bool vb_av_from(struct vb_context *c, const struct ibv_ah_attr *attr, struct weft_av *av)
{
	uint32_t ip;

	if (!attr->is_global) {
		*av = weft_av_qpn();
		return true;
	}
	if (!gid_ip(c, &attr->grh.dgid, &ip))
		return false;
	*av = IN_MULTICAST(ntohl(ip)) ? weft_av_mcast(ip) : weft_av_ip(ip);
	av->sgid_index = attr->grh.sgid_index;
	if (attr->grh.hop_limit)
		av->hop_limit = attr->grh.hop_limit;
	av->traffic_class = attr->grh.traffic_class;
	return true;
}

void vb_av_to(const struct weft_av *av, struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->port_num = VB_PORT;
	if (!av->by_ip)
		return;
	attr->is_global = 1;
	memcpy(attr->grh.dgid.raw, mapped, sizeof(mapped));
	memcpy(attr->grh.dgid.raw + sizeof(mapped), &av->dst_ip, sizeof(av->dst_ip));
	attr->grh.sgid_index = av->sgid_index;
	attr->grh.hop_limit = av->hop_limit;
	attr->grh.traffic_class = av->traffic_class;
}

VB_API struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct weft_av av;
	struct vb_ah *ah;

	if (attr->port_num > VB_PORT || (attr->is_global && attr->grh.sgid_index >= VB_NUM_GIDS) ||
	    !vb_av_from(vb_context_of(pd->context), attr, &av))
		return vb_null(EINVAL);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return vb_null(ENOMEM);
	ah->weft = weft_create_ah(vb_pd_of(pd)->weft, &av);
	if (!ah->weft) {
		free(ah);
		return NULL;
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	ah->ibv.handle = ah->weft->handle;
	return &ah->ibv;
}

VB_API int ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct vb_ah *ah = vb_ah_of(ibv);
	int rc;

	/* Requests already posted with it are still sent, as with devices that copy the address. */
	(void)weft_ud_settle(weft_ctx_of(ah->weft->context), NULL);
	rc = weft_destroy_ah(ah->weft);

	if (rc < 0)
		return vb_result(rc);
	free(ah);
	return 0;
}

/* Derives the return path of a UD message from the IPv4 header in the second half of the GRH. */
VB_API int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			       struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	const uint8_t *ip = (const uint8_t *)grh + GRH_IP_OFFSET;

	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->port_num = port_num;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	if (ip[0] >> 4 != 4)
		return vb_result(-EINVAL) ? -1 : 0;
	attr->is_global = 1;
	memcpy(attr->grh.dgid.raw, mapped, sizeof(mapped));
	memcpy(attr->grh.dgid.raw + sizeof(mapped), ip + V4_SRC, 4);
	attr->grh.sgid_index = 1;
	attr->grh.hop_limit = ip[V4_TTL];
	attr->grh.traffic_class = ip[1];
	return 0;
}

VB_API struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					    struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) < 0)
		return NULL;
	return ibv_create_ah(pd, &attr);
}
