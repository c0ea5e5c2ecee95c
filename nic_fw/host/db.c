/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doorbells: the first stage of fw_poll().
 *
 * Each client has one ring of words in its BAR, written by many threads of the process and read
 * here. An entry names an object; the indices are in the object's record. Calls sched.c for send
 * queues, cq.c for arming, moder.c for unmasking. docs/host-interface.md, pairs D1 (entry), D2
 * (rung and indices), D3 (sleeping).
 */
#include "nic_fw/fw_nic.h"

/*
 * Pair D2: the exchange makes the host's next request ring anew, and its acquire makes the index
 * that the host stored before it rang visible.
 */
static void clear_rung(uint32_t *rung)
{
	(void)__atomic_exchange_n(rung, 0, __ATOMIC_ACQ_REL);
}

static void ring_sq(struct fw_nic *nic, uint32_t client, uint32_t qpn)
{
	struct fw_qp *qp = qp_find(nic, qpn);

	if (!qp || qp->client != client) {
		FW_COUNT(nic, doorbells_bad);
		return;
	}
	clear_rung(&qp->record->rung);
	fw_trace(nic, TRACE_DOORBELL, qp->qpn,
		 __atomic_load_n(&qp->record->sq_prod, __ATOMIC_ACQUIRE), qp->sq_cons);
	if (qp->state == HW_QPS_ERR || qp->state == HW_QPS_SQE) {
		/* Requests posted now are flushed, too; receives as well if the QP is in ERR. */
		qp_flush(nic, qp);
		return;
	}
	sched_qp_add(nic, qp);
}

static void ring_rq(struct fw_nic *nic, uint32_t client, uint32_t qpn)
{
	struct fw_qp *qp = qp_find(nic, qpn);

	if (!qp || qp->client != client || !qp->tag) {
		FW_COUNT(nic, doorbells_bad);
		return;
	}
	clear_rung(&qp->record->rq_rung);
	if (qp->state == HW_QPS_ERR)
		qp_flush(nic, qp);
	else
		host_up.tag_doorbell(nic, qp);
}

static void ring_cq(struct fw_nic *nic, uint32_t client, uint32_t number)
{
	struct fw_cq *cq;

	if (number >= HW_MAX_CQ || !nic->host.cqs[number].used ||
	    nic->host.cqs[number].client != client) {
		FW_COUNT(nic, doorbells_bad);
		return;
	}
	cq = &nic->host.cqs[number];
	clear_rung(&cq->record->rung);
	cq_arm(nic, cq);
}

static void ring_eq(struct fw_nic *nic, uint32_t client, uint32_t number)
{
	struct fw_eq *eq = eq_own(nic, client, number);

	if (!eq) {
		FW_COUNT(nic, doorbells_bad);
		return;
	}
	clear_rung(&eq->record->rung);
	moder_unmask(nic, eq);
}

/*
 * The process has just written the record and the request: each is a line in its core's cache. Both
 * are prefetched with the entry, not one after the other.
 */
static void prefetch_sq(const struct fw_nic *nic, uint32_t qpn)
{
	const struct fw_qp *qp = qp_find((struct fw_nic *)nic, qpn);
	const uint8_t *slot;

	if (!qp || !qp->sq_ring)
		return;
	__builtin_prefetch(qp->record, 1);
	slot = qp->sq_ring + (size_t)(qp->sq_next & qp->sq_mask) * HW_SQ_SLOT_BYTES;
	__builtin_prefetch(slot);
	/* Inline data, or SGEs; at the ring's end the line is of no use. */
	__builtin_prefetch(slot + HW_SQ_SLOT_BYTES);
}

static uint32_t poll_client(struct fw_nic *nic, struct fw_client *client, uint32_t number)
{
	uint32_t done = 0;

	while (done < DB_CLIENT_QUANTUM) {
		uint32_t *slot = &client->db_ring[client->db_head % HW_DB_RING_ENTRIES];
		/* Pair D1: the host stored the entry with release. */
		uint32_t entry = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!entry)
			break;
		if (HW_DB_KIND(entry) == HW_DB_SQ)
			prefetch_sq(nic, HW_DB_ID(entry));
		__atomic_store_n(slot, 0, __ATOMIC_RELEASE);
		client->db_head++;
		done++;
		FW_COUNT(nic, doorbells);
		switch (HW_DB_KIND(entry)) {
		case HW_DB_SQ:
			ring_sq(nic, number, HW_DB_ID(entry));
			break;
		case HW_DB_CQ_ARM:
			ring_cq(nic, number, HW_DB_ID(entry));
			break;
		case HW_DB_RQ:
			ring_rq(nic, number, HW_DB_ID(entry));
			break;
		case HW_DB_EQ:
			ring_eq(nic, number, HW_DB_ID(entry));
			break;
		case HW_DB_CMD:
			cmd_slot_doorbell(nic, number, HW_DB_ID(entry));
			break;
		case HW_DB_GOAL_RUN:
			host_up.goal_doorbell(nic, number, HW_DB_ID(entry));
			break;
		default:
			FW_COUNT(nic, doorbells_bad);
			break;
		}
	}
	return done;
}

uint32_t db_poll(struct fw_nic *nic)
{
	struct fw_list *pos;
	uint32_t done = 0;

	fw_list_for_each (pos, &nic->host.db_clients) {
		struct fw_client *client = FW_CONTAINER(pos, struct fw_client, db_node);

		done += poll_client(nic, client, (uint32_t)(client - nic->host.clients));
	}
	return done;
}

bool db_pending(const struct fw_nic *nic)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->host.db_clients) {
		const struct fw_client *client = FW_CONTAINER(pos, struct fw_client, db_node);

		if (__atomic_load_n(&client->db_ring[client->db_head % HW_DB_RING_ENTRIES],
				    __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}
