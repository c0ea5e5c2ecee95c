/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of live ports; see faults.h. Calls impair.c, borrow.c and msg.c.
 */
#include "dpdk_app/wire/faults.h"

#include <errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/app.h"
#include "dpdk_app/args/args_fault.h"
#include "dpdk_app/borrow.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/csum.h"
#include "dpdk_app/wire/wire.h"
#include "lib/fault.h"

enum {
	FAULTS_POOL_PARTS = 4, /* frames that wait are at most this part of the pool */
};

/*
 * Room of one shard: frames that wait are the pool's, from which the NICs that share it receive and
 * send.
 */
static uint32_t queue_room(const struct shard *shard)
{
	const struct app *app = shard->nic->app;
	uint32_t shards = 0;

	/* The pool was made for it. */
	if (shard->nic->conf->wire == CONF_WIRE_SWITCH && conf_faulty(&app->conf))
		return IMPAIR_QUEUE_MAX;
	for (uint32_t i = 0; i < app->num_nics; i++) {
		if (app->nic[i].pool == shard->nic->pool)
			shards += app->nic[i].num_shards;
	}
	return shard->nic->pool->size / FAULTS_POOL_PARTS / (shards ? shards : 1);
}

static void set_on_core(struct shard *shard, void *arg)
{
	const struct hw_fault *fault = arg;

	impair_change(shard->impair, fault, shard->stream, shard->core->now_ns);
	/* Without faults the queue is used until its last frame has left. */
	shard->faulty = true;
}

int faults_set(struct nic *nic, const struct hw_fault *fault, bool running)
{
	static const struct hw_fault none;
	struct hw_fault copy = *fault;
	int err = 0;

	for (uint32_t i = 0; i < nic->num_shards; i++) {
		struct shard *shard = &nic->shard[i];

		if (shard->impair)
			continue;
		shard->impair = app_alloc_apart(sizeof(*shard->impair));
		if (!shard->impair)
			return -ENOMEM;
		impair_init(shard->impair, &none, shard->stream, queue_room(shard),
			    &nic->line_busy_ns);
	}
	for (uint32_t i = 0; !err && i < nic->num_shards; i++) {
		if (running)
			err = msg_call(&nic->shard[i], set_on_core, &copy);
		else
			set_on_core(&nic->shard[i], &copy);
	}
	if (!err)
		nic->fault = *fault;
	return err;
}

/* A copy in one segment that no other receiver has, with its checksum in place; NULL: no room. */
static struct rte_mbuf *own_copy(const struct shard *shard, struct rte_mbuf *m)
{
	const struct wire *wire = shard->nic->wire;
	struct rte_mbuf *copy = rte_pktmbuf_alloc(shard->nic->pool);
	const uint8_t *from;
	uint8_t *to;

	if (!copy)
		return NULL;
	if (m->pkt_len > rte_pktmbuf_tailroom(copy)) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	to = rte_pktmbuf_mtod(copy, uint8_t *);
	from = rte_pktmbuf_read(m, 0, m->pkt_len, to);
	if (from != to)
		memcpy(to, from, m->pkt_len);
	copy->data_len = (uint16_t)m->pkt_len;
	copy->pkt_len = m->pkt_len;
	if (csum_is_left(m)) {
		csum_seal(m, to, m->pkt_len);
	} else if (wire->partial_csum && csum_is_partial(to, m->pkt_len)) {
		uint32_t start = sizeof(struct wire_eth) + (to[sizeof(struct wire_eth)] & 15) * 4u;

		wire_sum_put(to, m->pkt_len, start, start + CSUM_TCP_AT);
	}
	return copy;
}

/* Returns the damaged frame, or NULL if it had to be dropped. Takes m. */
static struct rte_mbuf *damage(struct shard *shard, struct rte_mbuf *m)
{
	struct rte_mbuf *copy = own_copy(shard, m);

	rte_pktmbuf_free(m);
	if (!copy) {
		shard->impair->stats.overflowed++;
		return NULL;
	}
	fault_corrupt(&shard->impair->fault, rte_pktmbuf_mtod(copy, uint8_t *), copy->pkt_len);
	copy->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_BAD;
	return copy;
}

bool faults_damaged(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

static void take_in(struct shard *shard, struct rte_mbuf *m, uint64_t now_ns)
{
	struct impair *im = shard->impair;

	if (impair_loses(im, now_ns)) {
		rte_pktmbuf_free(m);
		return;
	}
	/* Its sender may rely on the order of frames that borrow their payload. */
	if (borrow_is_borrowed(m))
		borrow_copy(m);
	if (m->pkt_len && impair_corrupts(im)) {
		m = damage(shard, m);
		if (!m)
			return;
	}
	switch (impair_in(im, now_ns, m, m->pkt_len)) {
	case IMPAIR_TAKEN:
		break;
	case IMPAIR_TAKEN_TWICE:
		rte_mbuf_refcnt_update(m, 1);
		break;
	case IMPAIR_FULL:
		rte_pktmbuf_free(m);
		break;
	}
}

/* A run that was under way when faults began: each packet has a fate of its own. */
static void take_packets(struct shard *shard, struct rte_mbuf *m, uint64_t now_ns)
{
	uint32_t segment_bytes, packets = borrow_packets(m, &segment_bytes);

	if (packets == 1) {
		take_in(shard, m, now_ns);
		return;
	}
	for (uint32_t i = 0; i < packets; i++) {
		struct rte_mbuf *packet = rte_pktmbuf_alloc(shard->nic->pool);

		if (!packet) {
			shard->impair->stats.overflowed += packets - i;
			break;
		}
		packet->pkt_len = borrow_seal(m, i, rte_pktmbuf_mtod(packet, uint8_t *));
		packet->data_len = (uint16_t)packet->pkt_len;
		take_in(shard, packet, now_ns);
	}
	rte_pktmbuf_free(m);
}

uint32_t faults_rx(struct shard *shard, struct rte_mbuf **frames, uint32_t n)
{
	struct impair *im = shard->impair;
	uint64_t now_ns = shard->core->now_ns;
	struct rte_mbuf *in[FW_BURST];
	uint32_t got;

	got = shard->nic->wire->ops->rx(shard, in, n < FW_BURST ? n : FW_BURST);
	for (uint32_t i = 0; i < got; i++)
		take_packets(shard, in[i], now_ns);
	n = impair_out(im, now_ns, (void **)frames, n);
	if (!im->num_queued && !im->num_held && !fault_wanted(&im->conf))
		shard->faulty = false;
	return n;
}

uint64_t faults_next_ns(const struct shard *shard)
{
	return shard->faulty ? impair_next_ns(shard->impair) : UINT64_MAX;
}

void faults_free(struct shard *shard)
{
	struct rte_mbuf *m;

	while (shard->impair && (m = impair_take(shard->impair)) != NULL)
		rte_pktmbuf_free(m);
	free(shard->impair);
	shard->impair = NULL;
	shard->faulty = false;
}
