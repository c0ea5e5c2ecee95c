/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of the NICs, and creation of a socket's rsocket.
 *
 * The NICs are those of rdma_get_devices(), queried when the program binds or connects a socket,
 * until there are some. Calls librdmacm, libibverbs and its private functions (weft_query_port()),
 * always inside (sk_enter()).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <string.h>

#include "host_driver/sockets/sk.h"
#include "host_driver/verbs/vb_private.h"
#include "host_driver/weft.h"
#include "host_driver/weft_cm.h"

enum {
	NICS_MAX = 64,
};

static struct {
	pthread_mutex_t lock;
	bool known;
	int n;
	struct {
		uint32_t ip, mask; /* network byte order */
	} nic[NICS_MAX];
} nics = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The devices are opened by whichever call needs them first. */
__attribute__((constructor)) static void sk_nic_begin(void)
{
	weft_dev_set_use(WEFT_USE_SOCKETS);
}

/* Under the lock. A NIC that does not respond has no address. */
static void ask_nics(void)
{
	struct ibv_context **list;
	struct weft_port_attr port;
	int n;

	sk_enter();
	list = rdma_get_devices(&n);
	for (int i = 0; list && i < n && nics.n < NICS_MAX; i++) {
		if (weft_query_port(weft_cm_context(list[i]), &port) < 0)
			continue;
		nics.nic[nics.n].ip = port.ip;
		nics.nic[nics.n].mask =
		    port.ip_prefix ? htonl(UINT32_MAX << (32 - port.ip_prefix)) : UINT32_MAX;
		nics.n++;
	}
	nics.known = nics.n > 0;
	if (list)
		rdma_free_devices(list);
	sk_leave();
}

/* Extracts an IPv4 address, also from an IPv4-mapped one. */
static bool ipv4(const struct sockaddr *addr, socklen_t bytes, uint32_t *ip)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;

	if (!addr || bytes < sizeof(sa_family_t))
		return false;
	if (addr->sa_family == AF_INET && bytes >= sizeof(*in)) {
		*ip = in->sin_addr.s_addr;
		return true;
	}
	if (addr->sa_family != AF_INET6 || bytes < sizeof(*in6) ||
	    !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return false;
	memcpy(ip, in6->sin6_addr.s6_addr + 12, sizeof(*ip));
	return true;
}

static bool among(const struct sockaddr *addr, socklen_t bytes, bool own)
{
	bool found = false;
	uint32_t ip;

	if (!ipv4(addr, bytes, &ip) || ntohl(ip) >> 24 == IN_LOOPBACKNET || ip == INADDR_ANY ||
	    IN_MULTICAST(ntohl(ip)))
		return false;
	pthread_mutex_lock(&nics.lock);
	if (!nics.known)
		ask_nics();
	for (int i = 0; i < nics.n && !found; i++)
		found = ((ip ^ nics.nic[i].ip) & (own ? UINT32_MAX : nics.nic[i].mask)) == 0;
	pthread_mutex_unlock(&nics.lock);
	return found;
}

bool sk_nic_own(const struct sockaddr *addr, socklen_t bytes)
{
	return among(addr, bytes, true);
}

bool sk_nic_reaches(const struct sockaddr *addr, socklen_t bytes)
{
	return among(addr, bytes, false);
}

bool sk_addr_any(const struct sk *sk, const struct sockaddr *addr, socklen_t bytes)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	uint32_t ip;

	if (ipv4(addr, bytes, &ip))
		return ip == INADDR_ANY;
	return addr && addr->sa_family == AF_INET6 && bytes >= sizeof(*in6) && !sk->v6only &&
	       IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

void sk_nic_lock(void)
{
	pthread_mutex_lock(&nics.lock);
}

void sk_nic_unlock(void)
{
	pthread_mutex_unlock(&nics.lock);
}

void sk_nic_reset(void)
{
	pthread_mutex_init(&nics.lock, NULL);
}

/* ---- rsockets -------------------------------------------------------------------------------- */

/* Copies the options of the kernel's socket; those unknown to rsockets have no effect there. */
static void copy_options(const struct sk *sk, int fd, int rfd)
{
	static const struct {
		int level, name;
	} same[] = {{SOL_SOCKET, SO_REUSEADDR}, {SOL_SOCKET, SO_KEEPALIVE},
		    {SOL_SOCKET, SO_LINGER},    {SOL_SOCKET, SO_RCVTIMEO},
		    {SOL_SOCKET, SO_SNDTIMEO},  {IPPROTO_IPV6, IPV6_V6ONLY}};
	char value[sizeof(struct timeval)];

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		socklen_t bytes = sizeof(value);

		if (same[i].level == IPPROTO_IPV6 && sk->family != AF_INET6)
			continue;
		if (REAL->getsockopt(fd, same[i].level, same[i].name, value, &bytes) == 0)
			(void)rsetsockopt(rfd, same[i].level, same[i].name, value, bytes);
	}
	if (sk->sndbuf)
		(void)rsetsockopt(rfd, SOL_SOCKET, SO_SNDBUF, &sk->sndbuf, sizeof(sk->sndbuf));
	if (sk->rcvbuf)
		(void)rsetsockopt(rfd, SOL_SOCKET, SO_RCVBUF, &sk->rcvbuf, sizeof(sk->rcvbuf));
}

int sk_make(struct sk *sk, int fd)
{
	int rfd, flags;

	if (sk->rfd >= 0)
		return 0;
	flags = REAL->fcntl(fd, F_GETFL);
	sk_enter();
	rfd = rsocket(sk->family, sk->type, 0);
	if (rfd >= 0) {
		copy_options(sk, fd, rfd);
		if (flags >= 0 && flags & O_NONBLOCK)
			(void)rfcntl(rfd, F_SETFL, O_NONBLOCK);
	}
	sk_leave();
	sk->rfd = rfd;
	return rfd < 0 ? -1 : 0;
}

void sk_unmake(struct sk *sk)
{
	int saved = errno, rfd = sk->rfd;

	if (rfd < 0)
		return;
	sk->rfd = -1;
	sk->mode = SK_KERNEL;
	sk->listening = false;
	sk_enter();
	(void)rclose(rfd);
	sk_leave();
	errno = saved;
}

void sk_set_mode(struct sk *sk, enum sk_mode mode)
{
	if (sk->mode == mode)
		return;
	sk->mode = mode;
	sk_epoll_moved(sk);
}
