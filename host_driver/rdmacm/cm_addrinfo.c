/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma_getaddrinfo(): resolves names and services to addresses for rdma_create_ep().
 *
 * NICs have IPv4 addresses only. If a name has several addresses and no family is requested, an
 * IPv4 address is chosen. Calls getaddrinfo(3). rdma_getaddrinfo(3).
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/cm.h"

static int copy_addr(struct sockaddr **dst, socklen_t *dst_len, const struct sockaddr *src,
		     socklen_t len)
{
	*dst = calloc(1, len);
	if (!*dst)
		return cm_error(ENOMEM);
	memcpy(*dst, src, len);
	*dst_len = len;
	return 0;
}

static void ai_hints(struct addrinfo *ai, const struct rdma_addrinfo *hints)
{
	memset(ai, 0, sizeof(*ai));
	ai->ai_flags = (hints->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
		       (hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
	if (hints->ai_family == AF_INET || hints->ai_family == AF_INET6)
		ai->ai_family = hints->ai_family;
	switch (hints->ai_qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		ai->ai_socktype = SOCK_STREAM;
		break;
	case IBV_QPT_UD:
		ai->ai_socktype = SOCK_DGRAM;
		break;
	default:
		break;
	}
	switch (hints->ai_port_space) {
	case RDMA_PS_TCP:
		ai->ai_protocol = IPPROTO_TCP;
		break;
	case RDMA_PS_IPOIB:
	case RDMA_PS_UDP:
		ai->ai_protocol = IPPROTO_UDP;
		break;
	case RDMA_PS_IB:
		ai->ai_protocol = ai->ai_socktype == SOCK_STREAM  ? IPPROTO_TCP
				  : ai->ai_socktype == SOCK_DGRAM ? IPPROTO_UDP
								  : 0;
		break;
	default:
		break;
	}
}

/* Fields that the hints leave open follow from the socket type that the resolver chose. */
static int fill(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints,
		const struct addrinfo *ai, bool passive)
{
	rai->ai_qp_type = hints->ai_qp_type               ? hints->ai_qp_type
			  : ai->ai_socktype == SOCK_DGRAM ? IBV_QPT_UD
							  : IBV_QPT_RC;
	rai->ai_port_space = hints->ai_port_space             ? hints->ai_port_space
			     : ai->ai_protocol == IPPROTO_UDP ? RDMA_PS_UDP
							      : RDMA_PS_TCP;
	rai->ai_family = ai->ai_family;
	if (passive) {
		rai->ai_flags = RAI_PASSIVE;
		if (ai->ai_canonname)
			rai->ai_src_canonname = strdup(ai->ai_canonname);
		return copy_addr(&rai->ai_src_addr, &rai->ai_src_len, ai->ai_addr, ai->ai_addrlen);
	}
	if (ai->ai_canonname)
		rai->ai_dst_canonname = strdup(ai->ai_canonname);
	return copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len, ai->ai_addr, ai->ai_addrlen);
}

static int resolve(const char *node, const char *service, const struct rdma_addrinfo *hints,
		   struct rdma_addrinfo *rai)
{
	struct addrinfo want, *all, *ai;
	int rc;

	ai_hints(&want, hints);
	rc = getaddrinfo(node, service, &want, &all);
	if (rc)
		return rc;
	ai = all;
	while (ai && ai->ai_family != AF_INET)
		ai = ai->ai_next;
	rc = fill(rai, hints, ai ? ai : all, hints->ai_flags & RAI_PASSIVE);
	freeaddrinfo(all);
	return rc;
}

static int from_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *rai)
{
	rai->ai_flags = hints->ai_flags;
	rai->ai_family = hints->ai_family;
	rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = hints->ai_port_space;
	if (!hints->ai_dst_len)
		return 0;
	return copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len, hints->ai_dst_addr,
			 hints->ai_dst_len);
}

CM_API int rdma_getaddrinfo(const char *node, const char *service,
			    const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo no_hints;
	struct rdma_addrinfo *rai;
	int rc;

	if (!node && !service && !hints)
		return cm_error(EINVAL);
	rai = calloc(1, sizeof(*rai));
	if (!rai)
		return cm_error(ENOMEM);
	if (!hints)
		hints = &no_hints;
	rc = node || service ? resolve(node, service, hints, rai) : from_hints(hints, rai);
	if (!rc && !rai->ai_src_len && hints->ai_src_len)
		rc = copy_addr(&rai->ai_src_addr, &rai->ai_src_len, hints->ai_src_addr,
			       hints->ai_src_len);
	if (rc) {
		rdma_freeaddrinfo(rai);
		return rc;
	}
	*res = rai;
	return 0;
}

CM_API void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *rai = res;

		res = res->ai_next;
		free(rai->ai_src_canonname);
		free(rai->ai_dst_canonname);
		free(rai->ai_src_addr);
		free(rai->ai_dst_addr);
		free(rai->ai_route);
		free(rai->ai_connect);
		free(rai);
	}
}
