/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts socket addresses to the NICs' IPv4 addresses, GIDs and address vectors.
 */
#include <arpa/inet.h>
#include <string.h>

#include "host_driver/rdmacm/cm.h"

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

int cm_addr_get(const struct sockaddr *addr, uint32_t *ip, uint16_t *port)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;

	switch (addr->sa_family) {
	case AF_INET:
		*ip = in->sin_addr.s_addr;
		*port = ntohs(in->sin_port);
		return 0;
	case AF_INET6:
		*port = ntohs(in6->sin6_port);
		if (IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
			*ip = INADDR_ANY;
			return 0;
		}
		if (!IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
			return EADDRNOTAVAIL;
		memcpy(ip, in6->sin6_addr.s6_addr + sizeof(mapped), sizeof(*ip));
		return 0;
	default:
		return EAFNOSUPPORT;
	}
}

void cm_addr_set(struct sockaddr *addr, uint32_t ip, uint16_t port)
{
	struct sockaddr_in *in = (void *)addr;

	memset(in, 0, sizeof(*in));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = ip;
	in->sin_port = htons(port);
}

/* The port has the same offset in both families. */
void cm_addr_set_port(struct sockaddr *addr, uint16_t port)
{
	((struct sockaddr_in *)(void *)addr)->sin_port = htons(port);
}

uint16_t cm_addr_port(const struct sockaddr *addr)
{
	return ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port);
}

void cm_gid(uint32_t ip, union ibv_gid *gid)
{
	memcpy(gid->raw, mapped, sizeof(mapped));
	memcpy(gid->raw + sizeof(mapped), &ip, sizeof(ip));
}

void cm_ah_attr(const struct cm_id *id, uint32_t ip, struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->is_global = 1;
	attr->port_num = CM_PORT_NUM;
	attr->grh.sgid_index = CM_SGID_INDEX;
	attr->grh.hop_limit = CM_HOP_LIMIT;
	attr->grh.traffic_class = id->tos;
	cm_gid(ip, &attr->grh.dgid);
}

CM_API __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id->route.addr.src_addr.sa_family ? htons(cm_addr_port(&id->route.addr.src_addr))
						 : 0;
}

CM_API __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id->route.addr.dst_addr.sa_family ? htons(cm_addr_port(&id->route.addr.dst_addr))
						 : 0;
}
