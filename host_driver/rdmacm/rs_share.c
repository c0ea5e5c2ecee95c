/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram sockets of one process that share a port (SO_REUSEADDR).
 *
 * The connection manager allows one listener per port: the first socket. The others have QPs of
 * their own and are recorded in the list here. A request for the port is answered with the QPN of
 * the socket connected to the requester, or else of the newest unconnected socket, which is the
 * kernel's choice for UDP. When the listener's socket is closed, another one listens. The lock is
 * taken last, after any socket's. Calls rs_cm.c and rdma_cm.
 */
#include <errno.h>
#include <string.h>

#include "host_driver/rdmacm/rs_dgram.h"

static struct {
	pthread_mutex_t lock;
	struct rs_end *first;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool same_addr(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
}

void rs_share_add(struct rs *rs, struct rs_end *end)
{
	pthread_mutex_lock(&shared.lock);
	end->owner = rs;
	end->next = shared.first;
	end->pprev = &shared.first;
	if (end->next)
		end->next->pprev = &end->next;
	shared.first = end;
	pthread_mutex_unlock(&shared.lock);
}

void rs_share_remove(struct rs_end *end)
{
	pthread_mutex_lock(&shared.lock);
	if (end->pprev) {
		*end->pprev = end->next;
		if (end->next)
			end->next->pprev = end->pprev;
		end->pprev = NULL;
	}
	pthread_mutex_unlock(&shared.lock);
}

bool rs_share_has(const struct sockaddr_in *addr)
{
	bool found = false;

	pthread_mutex_lock(&shared.lock);
	for (struct rs_end *e = shared.first; e && !found; e = e->next)
		found = same_addr(&e->addr, addr) && e->owner->opts.reuseaddr;
	pthread_mutex_unlock(&shared.lock);
	return found;
}

void rs_share_connected(struct rs_end *end, const struct sockaddr_in *peer)
{
	pthread_mutex_lock(&shared.lock);
	end->peer = *peer;
	pthread_mutex_unlock(&shared.lock);
}

uint32_t rs_share_qpn(const struct sockaddr_in *addr, const struct sockaddr_in *asker)
{
	uint32_t qpn = 0;
	bool exact = false;

	pthread_mutex_lock(&shared.lock);
	for (struct rs_end *e = shared.first; e && !exact; e = e->next) {
		if (!same_addr(&e->addr, addr))
			continue;
		exact = e->peer.sin_port && same_addr(&e->peer, asker);
		if (exact || (!qpn && !e->peer.sin_port))
			qpn = e->id->qp->qp_num;
	}
	pthread_mutex_unlock(&shared.lock);
	return qpn;
}

/* If the end cannot listen, its socket continues but new peers cannot find it. */
void rs_share_inherit(const struct sockaddr_in *addr)
{
	struct sockaddr_in to = *addr;
	struct rdma_cm_id *id = NULL;
	struct rs_end *e;

	pthread_mutex_lock(&shared.lock);
	for (e = shared.first; e && !same_addr(&e->addr, addr); e = e->next)
		;
	if (e && !e->listen_id && rs_cm_id(e->owner, RDMA_PS_UDP, &id) == 0) {
		if (rdma_bind_addr(id, (struct sockaddr *)&to) == 0 &&
		    rdma_listen(id, RS_BACKLOG_MAX) == 0) {
			e->listen_id = id;
			id = NULL;
		}
	}
	pthread_mutex_unlock(&shared.lock);
	if (id)
		(void)rdma_destroy_id(id);
}

void rs_share_forked(void)
{
	pthread_mutex_init(&shared.lock, NULL);
	shared.first = NULL;
}
