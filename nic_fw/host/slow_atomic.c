/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of atomics whose memory is slow. See slow_atomic.h.
 *
 * A flow has one request in its turn, so the next request of a flow ends the record of the one
 * before it, which its sender has given up, as it has one that it did not request for a minute.
 * A process has few records: a station takes one while it holds less than twice as many as are
 * free, so that one that requests no result leaves some to others. Calls mem.c, slice.c. RFC 7306
 * section 5.
 */
#include "nic_fw/fw_nic.h"

static bool same_flow(const struct slow_atomic_key *a, const struct slow_atomic_key *b)
{
	return a->qp == b->qp && a->src_qpn == b->src_qpn && a->src_ip == b->src_ip;
}

struct slow_atomic *slow_atomic_find(struct fw_nic *nic, uint32_t pd,
				     const struct slow_atomic_key *key)
{
	struct fw_list *pos;

	if (!nic->host.slow_atomics.used || pd >= HW_MAX_PD)
		return NULL;
	fw_list_for_each (pos, &nic->host.clients[nic->host.pds[pd].client].atomics) {
		struct slow_atomic *a = FW_CONTAINER(pos, struct slow_atomic, client_node);

		if (same_flow(&a->key, key) && a->key.ssn == key->ssn && a->key.life == key->life) {
			a->asked_ns = nic->now_ns;
			return a;
		}
	}
	return NULL;
}

void slow_atomic_free(struct fw_nic *nic, struct slow_atomic *atomic)
{
	struct fw_client *owner = &nic->host.clients[atomic->client];

	assert(owner->atomics_held);
	owner->atomics_held--;
	if (owner->atomic_now == atomic)
		owner->atomic_now = NULL;
	fw_list_del(&atomic->client_node);
	fw_list_del(&atomic->qp_node);
	fw_pool_put(&nic->host.slow_atomics, atomic);
}

/* No peer waits for it any more. Its operation goes on, so its record stays until that is over. */
static void slow_atomic_forget(struct fw_nic *nic, struct slow_atomic *a)
{
	if (!a->under_way) {
		slow_atomic_free(nic, a);
		return;
	}
	a->key.qp = NULL;
	fw_list_del(&a->qp_node);
}

/* Takes the result of the operation under way. False: it is not over. */
static bool settle(struct fw_nic *nic, uint32_t client)
{
	struct slow_atomic *a = nic->host.clients[client].atomic_now;
	int err;

	if (!a)
		return true;
	err = mem_atomic_host_over(nic, client, &a->original);
	if (err == -FW_EBUSY)
		return false;
	a->err = err;
	a->under_way = false;
	nic->host.clients[client].atomic_now = NULL;
	if (!a->key.qp)
		slow_atomic_free(nic, a);
	return true;
}

bool slow_atomic_is_over(struct fw_nic *nic, struct slow_atomic *atomic)
{
	if (atomic->under_way)
		(void)settle(nic, atomic->client);
	return !atomic->under_way;
}

/*
 * Ends records of earlier requests of the flow, and those that are idle. Returns true if there is
 * one for the flow.
 */
static bool make_room(struct fw_nic *nic, struct fw_client *owner,
		      const struct slow_atomic_key *key)
{
	struct fw_list *pos, *next;
	uint32_t station_held = 0;

	for (pos = owner->atomics.next; pos != &owner->atomics; pos = next) {
		struct slow_atomic *a = FW_CONTAINER(pos, struct slow_atomic, client_node);

		next = pos->next;
		if (same_flow(&a->key, key) || nic->now_ns - a->asked_ns >= SLOW_ATOMIC_IDLE_NS)
			slow_atomic_forget(nic, a);
		else
			station_held += a->key.src_ip == key->src_ip;
	}
	return station_held < 2 * (SLOW_ATOMICS_PER_CLIENT - owner->atomics_held);
}

static struct slow_atomic *get(struct fw_nic *nic, const struct slow_atomic_key *key,
			       const struct fw_mem *mem)
{
	struct fw_client *owner = &nic->host.clients[mem->client];
	struct slow_atomic *a;

	if (!make_room(nic, owner, key))
		return NULL;
	/* Each process has its own number of them. */
	a = fw_pool_get(&nic->host.slow_atomics);
	assert(a);
	*a = (struct slow_atomic){.key = *key, .client = mem->client, .asked_ns = nic->now_ns};
	owner->atomics_held++;
	fw_list_add_tail(&owner->atomics, &a->client_node);
	fw_list_add_tail(&key->qp->atomics, &a->qp_node);
	return a;
}

struct slow_atomic *slow_atomic_begin(struct fw_nic *nic, const struct slow_atomic_key *key,
				      const struct fw_mem *mem, const struct fw_atomic *op)
{
	struct slow_atomic *a;

	if (!settle(nic, mem->client))
		return NULL;
	a = get(nic, key, mem);
	if (!a)
		return NULL;
	a->err = mem_atomic_host(nic, mem, op, &a->original);
	if (a->err == -FW_EBUSY) {
		slow_atomic_free(nic, a);
		return NULL;
	}
	if (a->err == -FW_EINPROGRESS) {
		a->under_way = true;
		nic->host.clients[mem->client].atomic_now = a;
	}
	return a;
}

bool slow_atomic_flush_step(struct fw_nic *nic, struct fw_qp *qp)
{
	while (!fw_list_empty(&qp->atomics)) {
		if (!slice_take(nic, 1))
			return false;
		slow_atomic_forget(nic,
				   FW_CONTAINER(qp->atomics.next, struct slow_atomic, qp_node));
	}
	return true;
}

void slow_atomic_leave(struct fw_nic *nic, uint32_t client)
{
	struct fw_client *owner = &nic->host.clients[client];

	while (!fw_list_empty(&owner->atomics))
		slow_atomic_free(
		    nic, FW_CONTAINER(owner->atomics.next, struct slow_atomic, client_node));
	assert(!owner->atomics_held && !owner->atomic_now);
}
