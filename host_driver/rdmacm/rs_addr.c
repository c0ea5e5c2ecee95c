/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Socket addresses: IPv4, and IPv6 addresses that contain an IPv4 address (::ffff:0:0/96).
 *
 * NICs have IPv4 addresses; an AF_INET6 socket presents them in mapped form.
 */
#include <netinet/in.h>
#include <string.h>

#include "host_driver/rdmacm/rs.h"

socklen_t rs_addr_bytes(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6  ? sizeof(struct sockaddr_in6)
	       : addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					    : sizeof(sa_family_t);
}

void rs_addr_out(const struct sockaddr_storage *from, struct sockaddr *to, socklen_t *bytes)
{
	socklen_t whole = rs_addr_bytes((const struct sockaddr *)from);

	if (!to || !bytes)
		return;
	memcpy(to, from, *bytes < whole ? *bytes : whole);
	*bytes = whole;
}

void rs_addr_as(int family, const struct sockaddr *from, struct sockaddr_storage *to)
{
	memset(to, 0, sizeof(*to));
	if (family == AF_INET6 && from->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)from;
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = in->sin_port;
		if (in->sin_addr.s_addr != htonl(INADDR_ANY)) {
			in6->sin6_addr.s6_addr[10] = in6->sin6_addr.s6_addr[11] = 0xff;
			memcpy(in6->sin6_addr.s6_addr + 12, &in->sin_addr, sizeof(in->sin_addr));
		}
		return;
	}
	memcpy(to, from, rs_addr_bytes(from));
}

bool rs_addr_in(const struct sockaddr *from, socklen_t bytes, struct sockaddr_storage *to)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	if (!from || bytes < sizeof(sa_family_t) || bytes < rs_addr_bytes(from) ||
	    (from->sa_family != AF_INET && from->sa_family != AF_INET6))
		return false;
	memset(to, 0, sizeof(*to));
	if (from->sa_family == AF_INET6 &&
	    (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr))) {
		in->sin_family = AF_INET;
		in->sin_port = in6->sin6_port;
		memcpy(&in->sin_addr, in6->sin6_addr.s6_addr + 12, sizeof(in->sin_addr));
		return true;
	}
	memcpy(to, from, rs_addr_bytes(from));
	return true;
}

/* 127.0.0.0/8 and ::1 */
bool rs_addr_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return addr->sa_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 == 127;
}

bool rs_addr_any(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return addr->sa_family != AF_INET ||
	       ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* The port has the same offset in both families. */
uint16_t rs_addr_port(const struct sockaddr *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}
