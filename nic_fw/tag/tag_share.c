/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of peers in an endpoint: how much of its pool, of its tables and of its reads a peer
 * holds.
 *
 * A peer may take what leaves it at most twice as much as then stays free, first for all endpoints
 * of its station together, then for it within the part of its station. So one alone gets most, and
 * one that takes all it can leaves something to every other, on its own station and elsewhere. A
 * share exists while its peer holds anything: none of a table's places depends on how many peers
 * there are. Calls pool.c. docs/tagged.md, "Shares of peers".
 */
#include "nic_fw/fw_nic.h"

enum {
	STATION_QPN = UINT32_MAX, /* tag_share.qpn of a station's share; endpoints have 24 bits */
};

static uint32_t *tag_share_chain(struct fw_nic *nic, const struct tag_ep *ep, uint32_t ip,
				 uint32_t qpn)
{
	return &nic->tag.share_hash[fw_hash_keyed(&nic->hash_key, ip, qpn, ep->qp->qpn) %
				    TAG_SHARE_HASH];
}

static struct tag_share *tag_share_find(struct fw_nic *nic, uint32_t head, const struct tag_ep *ep,
					uint32_t ip, uint32_t qpn)
{
	struct tag_share *share;

	fw_chain_for_each (share, head, (struct tag_share *)fw_pool_table(&nic->tag.shares),
			   hash_next)
		if (share->ep == ep && share->ip == ip && share->qpn == qpn)
			return share;
	return NULL;
}

/* Returns the share with one reference more; NULL: no memory. */
static struct tag_share *tag_share_make(struct fw_nic *nic, struct tag_ep *ep, uint32_t ip,
					uint32_t qpn)
{
	uint32_t *head = tag_share_chain(nic, ep, ip, qpn);
	struct tag_share *share = tag_share_find(nic, *head, ep, ip, qpn);

	if (share) {
		share->refs++;
		return share;
	}
	share = fw_pool_get(&nic->tag.shares);
	if (!share)
		return NULL;
	memset(share, 0, sizeof(*share));
	share->ep = ep;
	share->ip = ip;
	share->qpn = qpn;
	share->refs = 1;
	fw_list_init(&share->waiting);
	fw_list_init(&share->reader);
	fw_list_init(&share->peers);
	fw_chain_add(head, &share->hash_next, fw_pool_index(&nic->tag.shares, share));
	return share;
}

static void tag_share_drop(struct fw_nic *nic, struct tag_share *share)
{
	if (--share->refs)
		return;
	assert(fw_list_empty(&share->waiting) && fw_list_empty(&share->peers));
	fw_chain_del(tag_share_chain(nic, share->ep, share->ip, share->qpn), share,
		     (struct tag_share *)fw_pool_table(&nic->tag.shares), hash_next);
	fw_pool_put(&nic->tag.shares, share);
}

struct tag_share *tag_share_get(struct fw_nic *nic, struct tag_ep *ep, uint32_t ip, uint32_t qpn)
{
	const struct tag_peer *last = ep->last_peer;
	struct tag_share *share;

	if (last && last->ip == ip && last->qpn == qpn) {
		last->share->refs++;
		return last->share;
	}
	share = tag_share_make(nic, ep, ip, qpn);
	if (!share || share->station)
		return share;
	share->station = tag_share_make(nic, ep, ip, STATION_QPN);
	if (share->station)
		return share;
	tag_share_drop(nic, share);
	return NULL;
}

void tag_share_put(struct fw_nic *nic, struct tag_share *share)
{
	struct tag_share *station = share->station;

	if (share->refs == 1)
		tag_share_drop(nic, station);
	tag_share_drop(nic, share);
}

bool tag_share_may(const struct tag_share *share, enum tag_held kind, uint64_t n, uint64_t free)
{
	uint64_t station = share->station->held[kind] + n, most;

	if (n > free)
		return false;
	most = (free - n) * FW_HELD_PER_FREE;
	return station <= most && share->held[kind] + n <= (most - station) * FW_HELD_PER_FREE;
}

void tag_share_take(struct tag_share *share, enum tag_held kind, uint64_t n)
{
	share->held[kind] += n;
	share->station->held[kind] += n;
}

void tag_share_give(struct tag_share *share, enum tag_held kind, uint64_t n)
{
	assert(share->held[kind] >= n && share->station->held[kind] >= n);
	share->held[kind] -= n;
	share->station->held[kind] -= n;
}

uint64_t tag_share_free(const struct fw_pool *pool, uint32_t process_held, uint32_t user_held)
{
	uint32_t user_most = pool->max - pool->max / SHARE_POOL_PARTS;
	uint64_t most = (uint64_t)(pool->max - pool->used) * FW_HELD_PER_FREE;

	if (process_held >= most || user_held >= user_most)
		return 0;
	return most - process_held < user_most - user_held ? most - process_held
							   : user_most - user_held;
}
