/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of endpoints: their form between programs (FI_SOCKADDR_IN), and names.
 */
#include "host_driver/fabric/fi_weft.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

enum {
	QPN_BITS = 24
};

struct sockaddr_in wf_addr_out(struct wf_addr addr)
{
	struct sockaddr_in sin;
	uint32_t qpn = htonl(addr.qpn);

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons((uint16_t)addr.qpn);
	sin.sin_addr.s_addr = addr.ip;
	memcpy(sin.sin_zero, &qpn, sizeof(qpn));
	return sin;
}

bool wf_addr_in(const void *sockaddr, struct wf_addr *addr)
{
	struct sockaddr_in sin;
	uint32_t qpn, first;

	memcpy(&sin, sockaddr, sizeof(sin));
	if (sin.sin_family != AF_INET)
		return false;
	memcpy(&qpn, sin.sin_zero, sizeof(qpn));
	addr->qpn = qpn ? ntohl(qpn) : ntohs(sin.sin_port);
	addr->ip = sin.sin_addr.s_addr;
	first = ntohl(addr->ip) >> 24;
	/* 0.0.0.0: a NIC without an address, of the same weftd. */
	if (addr->ip != 0 && (first == 0 || first == 127 || first >= 224))
		return false;
	return addr->qpn < (1u << QPN_BITS);
}

/* Reads the service: the number of a queue pair. */
static bool parse_qpn(const char *service, uint32_t *qpn)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(service, &end, 0);
	if (errno || end == service || *end || n >= (1ul << QPN_BITS))
		return false;
	*qpn = (uint32_t)n;
	return true;
}

int wf_addr_resolve(const char *node, const char *service, uint64_t flags, uint32_t ip,
		    struct wf_addr *addr)
{
	struct addrinfo hints = {.ai_family = AF_INET,
				 .ai_flags = flags & FI_NUMERICHOST ? AI_NUMERICHOST : 0};
	struct addrinfo *found = NULL;
	struct sockaddr_in sin;

	addr->ip = ip;
	addr->qpn = 0;
	if (service && !parse_qpn(service, &addr->qpn)) {
		WF_INFO(FI_LOG_CORE, "service '%s' is not the number of an endpoint\n", service);
		return -FI_EINVAL;
	}
	if (!node)
		return 0;
	if (getaddrinfo(node, NULL, &hints, &found) != 0 || !found) {
		WF_INFO(FI_LOG_CORE, "no IPv4 address for '%s'\n", node);
		return -FI_ENODATA;
	}
	memcpy(&sin, found->ai_addr, sizeof(sin));
	freeaddrinfo(found);
	/* This host, by whatever number: this NIC. */
	if (ntohl(sin.sin_addr.s_addr) >> 24 != 127)
		addr->ip = sin.sin_addr.s_addr;
	return 0;
}
