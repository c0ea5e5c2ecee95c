/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address vectors. A fi_addr_t is the number of a place, for FI_AV_MAP and FI_AV_TABLE alike, so a
 * request finds its peer by one load. Address handles are shared by all endpoints of a NIC. A hash
 * leads from the address of a message's sender to its place. wf_av_share.c holds the addresses of a
 * named vector, which processes share. fi_av(3).
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/fabric/wf_coll.h"

enum {
	CHUNK = 1024,
	CHUNKS = 4096,
	HASH_FIRST = 256
};

/* The address handle of a NIC. */
struct wf_way {
	struct wf_way *next;
	uint32_t ip;
	size_t refs;
	struct weft_ah *ah;
};

static size_t hash_of(const struct wf_av *av, struct wf_addr addr)
{
	uint64_t x = ((uint64_t)addr.ip << 32 | addr.qpn) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(x >> 32) & (av->hash_size - 1);
}

static struct wf_peer *place(const struct wf_av *av, fi_addr_t addr)
{
	struct wf_peer *chunk;

	if (addr >= (fi_addr_t)CHUNK * CHUNKS)
		return NULL;
	chunk = atomic_load_explicit(&av->chunk[addr / CHUNK], memory_order_acquire);
	return chunk ? &chunk[addr % CHUNK] : NULL;
}

static struct weft_ah *way_get(struct wf_av *av, uint32_t ip)
{
	struct weft_av weft = ip ? weft_av_ip(ip) : weft_av_qpn();
	struct wf_way *way;

	for (way = av->ways; way; way = way->next) {
		if (way->ip == ip) {
			way->refs++;
			return way->ah;
		}
	}
	way = calloc(1, sizeof(*way));
	if (!way)
		return NULL;
	way->ah = weft_create_ah(av->domain->pd, &weft);
	if (!way->ah) {
		free(way);
		return NULL;
	}
	way->ip = ip;
	way->refs = 1;
	way->next = av->ways;
	av->ways = way;
	return way->ah;
}

static void way_put(struct wf_av *av, uint32_t ip)
{
	struct wf_way **link = &av->ways, *way;

	while (*link && (*link)->ip != ip)
		link = &(*link)->next;
	way = *link;
	if (!way || --way->refs)
		return;
	*link = way->next;
	wf_expect(weft_destroy_ah(way->ah), "address handle");
	free(way);
}

static void hash_add(struct wf_av *av, fi_addr_t index)
{
	struct wf_peer *peer = place(av, index);
	fi_addr_t *head = &av->hash[hash_of(av, peer->addr)];

	peer->next = *head;
	*head = index;
}

static void hash_remove(struct wf_av *av, fi_addr_t index)
{
	struct wf_peer *peer = place(av, index);
	fi_addr_t *link = &av->hash[hash_of(av, peer->addr)];

	while (*link != index)
		link = &place(av, *link)->next;
	*link = peer->next;
}

/* Doubles the hash when places outnumber its heads. False: no memory. */
static bool hash_grow(struct wf_av *av)
{
	size_t i, count = atomic_load(&av->count),
		  size = av->hash_size ? av->hash_size : HASH_FIRST;
	fi_addr_t *hash;

	while (size <= count)
		size *= 2;
	if (size == av->hash_size)
		return true;
	hash = malloc(size * sizeof(*hash));
	if (!hash)
		return false;
	for (i = 0; i < size; i++)
		hash[i] = FI_ADDR_NOTAVAIL;
	free(av->hash);
	av->hash = hash;
	av->hash_size = size;
	for (i = 0; i < count; i++) {
		if (place(av, i)->ah)
			hash_add(av, i);
	}
	return true;
}

/* Gives a free place, or the next one. NULL: no memory, or the vector is full. */
static struct wf_peer *place_new(struct wf_av *av, fi_addr_t *index)
{
	size_t count = atomic_load(&av->count);
	struct wf_peer *chunk;

	if (av->free != FI_ADDR_NOTAVAIL) {
		*index = av->free;
		av->free = place(av, *index)->next;
		return place(av, *index);
	}
	if (count >= (size_t)CHUNK * CHUNKS || !hash_grow(av))
		return NULL;
	if (count % CHUNK == 0 && !atomic_load(&av->chunk[count / CHUNK])) {
		chunk = calloc(CHUNK, sizeof(*chunk));
		if (!chunk)
			return NULL;
		atomic_store_explicit(&av->chunk[count / CHUNK], chunk, memory_order_release);
	}
	*index = count;
	return place(av, count);
}

/* Inserts one address. 0 or a negative errno. The lock is held. */
static int insert_one(struct wf_av *av, struct wf_addr addr, fi_addr_t *index)
{
	struct weft_ah *ah = way_get(av, addr.ip);
	struct wf_peer *peer;
	int rc = 0;

	if (!ah)
		return -errno;
	peer = place_new(av, index);
	if (!peer) {
		way_put(av, addr.ip);
		return -FI_ENOMEM;
	}
	if (av->share && av->share->owner)
		rc = wf_av_share_put(av->share, *index, addr);
	peer->addr = addr;
	peer->ah = ah;
	hash_add(av, *index);
	if (*index == atomic_load(&av->count))
		atomic_store_explicit(&av->count, *index + 1, memory_order_release);
	return rc;
}

/* Takes the addresses that the owner of a shared vector has published. The lock is held. */
static void pull_share(struct wf_av *av)
{
	size_t i = atomic_load(&av->count);
	fi_addr_t index;

	while (i < wf_av_share_count(av->share)) {
		if (insert_one(av, wf_av_share_get(av->share, i++), &index) != 0)
			return;
	}
}

const struct wf_peer *wf_av_peer(struct wf_av *av, fi_addr_t addr)
{
	struct wf_peer *peer;

	if (addr >= atomic_load_explicit(&av->count, memory_order_acquire)) {
		if (!av->share || av->share->owner)
			return NULL;
		pthread_mutex_lock(&av->lock);
		pull_share(av);
		pthread_mutex_unlock(&av->lock);
		if (addr >= atomic_load(&av->count))
			return NULL;
	}
	peer = place(av, addr);
	return peer && peer->ah ? peer : NULL;
}

fi_addr_t wf_av_find(struct wf_av *av, struct wf_addr addr)
{
	fi_addr_t index = FI_ADDR_NOTAVAIL;

	pthread_mutex_lock(&av->lock);
	if (av->share && !av->share->owner)
		pull_share(av);
	if (av->hash) {
		index = av->hash[hash_of(av, addr)];
		while (index != FI_ADDR_NOTAVAIL) {
			const struct wf_peer *peer = place(av, index);

			if (peer->addr.ip == addr.ip && peer->addr.qpn == addr.qpn)
				break;
			index = peer->next;
		}
	}
	pthread_mutex_unlock(&av->lock);
	return index;
}

/*
 * Reports the outcome of one address of an insertion: in fi_addr, in the array of FI_SYNC_ERR, or
 * as an error event.
 */
static void report_one(struct wf_av *av, size_t i, int rc, fi_addr_t index, fi_addr_t *fi_addr,
		       uint64_t flags, void *context)
{
	if (fi_addr)
		fi_addr[i] = rc ? FI_ADDR_NOTAVAIL : index;
	if (flags & FI_SYNC_ERR)
		((int *)context)[i] = -rc;
	else if (rc && av->eq)
		(void)wf_eq_add(av->eq, FI_AV_COMPLETE, &av->fid.fid, context, i, -rc);
}

/* Inserts addresses; those that are not valid fail one by one. */
static int insert_all(struct wf_av *av, const struct wf_addr *addrs, const bool *valid,
		      size_t count, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	size_t i, good = 0;

	if (flags & ~(uint64_t)(FI_MORE | FI_SYNC_ERR))
		return -FI_EBADFLAGS;
	if (av->share && !av->share->owner)
		return -FI_EINVAL;
	if ((av->flags & FI_EVENT) && !av->eq)
		return -FI_ENOEQ;
	if ((flags & FI_SYNC_ERR) && !context && count)
		return -FI_EINVAL;
	pthread_mutex_lock(&av->lock);
	for (i = 0; i < count; i++) {
		fi_addr_t index = FI_ADDR_NOTAVAIL;
		int rc = valid[i] ? insert_one(av, addrs[i], &index) : -FI_EINVAL;

		if (rc)
			WF_INFO(FI_LOG_AV, "address %zu is not inserted: %s\n", i, strerror(-rc));
		good += rc == 0;
		report_one(av, i, rc, index, fi_addr, flags, context);
	}
	pthread_mutex_unlock(&av->lock);
	if (!(av->flags & FI_EVENT))
		return (int)good;
	return wf_eq_add(av->eq, FI_AV_COMPLETE, &av->fid.fid, context, good, 0);
}

static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	struct wf_av *av = container_of(fid, struct wf_av, fid);
	struct wf_addr *addrs = calloc(count ? count : 1, sizeof(*addrs));
	bool *valid = calloc(count ? count : 1, sizeof(*valid));
	size_t i;
	int rc = -FI_ENOMEM;

	if (addrs && valid) {
		for (i = 0; i < count; i++) {
			const struct sockaddr_in *sin = (const struct sockaddr_in *)addr + i;

			valid[i] = wf_addr_in(sin, &addrs[i]);
		}
		rc = insert_all(av, addrs, valid, count, fi_addr, flags, context);
	}
	free(addrs);
	free(valid);
	return rc;
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct wf_av *av = container_of(fid, struct wf_av, fid);
	struct sockaddr_in sin;
	struct wf_addr addr;
	bool valid;

	if (!node || !service)
		return -FI_EINVAL;
	valid = wf_addr_resolve(node, service, flags, av->domain->port.ip, &addr) == 0;
	if (valid) {
		sin = wf_addr_out(addr);
		valid = wf_addr_in(&sin, &addr);
	}
	return insert_all(av, &addr, &valid, 1, fi_addr, flags & ~FI_NUMERICHOST, context);
}

/*
 * Inserts nodecnt hosts from a first address on with svccnt endpoints each from a first number on,
 * host by host.
 */
static int av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
			size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct wf_av *av = container_of(fid, struct wf_av, fid);
	struct wf_addr first, *addrs;
	bool *valid;
	size_t i, j, n = 0;
	int rc;

	if (!node || !service || (svccnt && nodecnt > SIZE_MAX / sizeof(*addrs) / svccnt))
		return -FI_EINVAL;
	rc = wf_addr_resolve(node, service, flags, av->domain->port.ip, &first);
	if (rc)
		return rc;
	addrs = calloc(nodecnt * svccnt + 1, sizeof(*addrs));
	valid = calloc(nodecnt * svccnt + 1, sizeof(*valid));
	if (!addrs || !valid) {
		free(addrs);
		free(valid);
		return -FI_ENOMEM;
	}
	for (i = 0; i < nodecnt; i++) {
		for (j = 0; j < svccnt; j++, n++) {
			struct sockaddr_in sin = wf_addr_out((struct wf_addr){
			    htonl(ntohl(first.ip) + (uint32_t)i), first.qpn + (uint32_t)j});

			valid[n] = wf_addr_in(&sin, &addrs[n]);
		}
	}
	rc = insert_all(av, addrs, valid, n, fi_addr, flags & ~FI_NUMERICHOST, context);
	free(addrs);
	free(valid);
	return rc;
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct wf_av *av = container_of(fid, struct wf_av, fid);
	size_t i;

	if (flags)
		return -FI_EBADFLAGS;
	if (av->share && !av->share->owner)
		return -FI_EINVAL;
	for (i = 0; i < count; i++) {
		if (!wf_av_peer(av, fi_addr[i]))
			return -FI_EINVAL;
		pthread_mutex_lock(&av->lock);
		hash_remove(av, fi_addr[i]);
		way_put(av, place(av, fi_addr[i])->addr.ip);
		place(av, fi_addr[i])->ah = NULL;
		place(av, fi_addr[i])->next = av->free;
		av->free = fi_addr[i];
		pthread_mutex_unlock(&av->lock);
	}
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct wf_av *av = container_of(fid, struct wf_av, fid);
	const struct wf_peer *peer = wf_av_peer(av, fi_addr);
	struct sockaddr_in sin;

	if (!peer)
		return -FI_EINVAL;
	sin = wf_addr_out(peer->addr);
	memcpy(addr, &sin, *addrlen < sizeof(sin) ? *addrlen : sizeof(sin));
	*addrlen = sizeof(sin);
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	char text[INET_ADDRSTRLEN + 40], ip[INET_ADDRSTRLEN];
	struct wf_addr a = {0, 0};
	size_t need;

	(void)fid;
	(void)wf_addr_in(addr, &a);
	inet_ntop(AF_INET, &a.ip, ip, sizeof(ip));
	need = (size_t)snprintf(text, sizeof(text), "fi_sockaddr_in://%s:0x%06x", ip, a.qpn) + 1;
	if (buf && *len)
		snprintf(buf, *len, "%s", text);
	*len = need;
	return buf;
}

static int av_close(struct fid *fid)
{
	struct wf_av *av = container_of(fid, struct wf_av, fid.fid);
	struct wf_way *way;
	size_t i;

	if (atomic_load(&av->refs) != 0)
		return -FI_EBUSY;
	while ((way = av->ways)) {
		av->ways = way->next;
		wf_expect(weft_destroy_ah(way->ah), "address handle");
		free(way);
	}
	for (i = 0; i < CHUNKS; i++)
		free(atomic_load(&av->chunk[i]));
	if (av->share)
		wf_av_share_close(av->share);
	if (av->eq)
		wf_eq_ref(av->eq, -1);
	free(av->chunk);
	free(av->hash);
	pthread_mutex_destroy(&av->lock);
	atomic_fetch_sub(&av->domain->refs, 1);
	free(av);
	return 0;
}

static int av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct wf_av *av = container_of(fid, struct wf_av, fid.fid);
	struct wf_eq *eq = wf_eq_of(bfid);

	if (!eq || flags)
		return -FI_EINVAL;
	if (av->eq)
		return -FI_EBUSY;
	av->eq = eq;
	wf_eq_ref(eq, 1);
	return 0;
}

static struct fi_ops av_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = av_close,
    .bind = av_bind,
    .control = wf_no_control,
    .ops_open = wf_no_ops_open,
};

static struct fi_ops_av av_ops = {
    .size = sizeof(struct fi_ops_av),
    .insert = av_insert,
    .insertsvc = av_insertsvc,
    .insertsym = av_insertsym,
    .remove = av_remove,
    .lookup = av_lookup,
    .straddr = av_straddr,
    .av_set = wf_av_set_open,
};

int wf_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
	       void *context)
{
	struct wf_domain *d = container_of(domain, struct wf_domain, fid);
	struct wf_av *a;
	int rc = 0;

	if (!attr || (attr->flags & ~(uint64_t)(FI_EVENT | FI_READ | FI_SYMMETRIC)) ||
	    attr->rx_ctx_bits)
		return -FI_EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -FI_ENOMEM;
	a->chunk = calloc(CHUNKS, sizeof(*a->chunk));
	if (!a->chunk || !hash_grow(a))
		rc = -FI_ENOMEM;
	if (!rc && attr->name) {
		rc = wf_av_share_open(attr->name, !(attr->flags & FI_READ), (size_t)CHUNK * CHUNKS,
				      &a->share);
		if (!rc)
			attr->map_addr = wf_av_share_map(a->share);
	}
	if (rc) {
		free(a->chunk);
		free(a->hash);
		free(a);
		return rc;
	}
	a->fid.fid.fclass = FI_CLASS_AV;
	a->fid.fid.context = context;
	a->fid.fid.ops = &av_fi_ops;
	a->fid.ops = &av_ops;
	a->domain = d;
	a->flags = attr->flags;
	a->free = FI_ADDR_NOTAVAIL;
	a->type = attr->type != FI_AV_UNSPEC ? attr->type : FI_AV_TABLE;
	attr->type = a->type;
	pthread_mutex_init(&a->lock, NULL);
	atomic_fetch_add(&d->refs, 1);
	*av = &a->fid;
	return 0;
}
