/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of TCP segments that a card divides: see tso.h.
 *
 * The headers of a run are the first segment's with the length of the whole, as for the kernel, but
 * with a pseudo header's sum without the length. Each mbuf is one of the frames: the first begins
 * with these headers, of the others nothing but the payload is left in.
 *
 * Calls gso_run.c, vlan.c and rte_ethdev.
 */
#include "dpdk_app/wire/tso.h"

#include <assert.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "dpdk_app/app.h"
#include "dpdk_app/csum.h"
#include "dpdk_app/log.h"
#include "dpdk_app/wire/gso_run.h"
#include "dpdk_app/wire/vlan.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/wire_tcp.h"

#define TSO_NEEDS                                                                                  \
	(RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

enum {
	/* Buffers of a segment on the wire: one with the headers, one with payload. */
	TSO_SEGMENT_BUFFERS = 2,
	TSO_HEADROOM = sizeof(struct rte_vlan_hdr), /* for a tag that weftd or the driver inserts */
	TSO_RUNS_MAX = FW_BURST / GSO_LEAST,
};

struct tso_queue {
	_Alignas(APP_APART_BYTES) struct gso_flows flows;
	struct tso_stats stats;
	bool off; /* the driver has refused one */
};

struct tso {
	bool ip_csum; /* the card makes the checksum of IP where it is asked for */
	struct tso_queue queue[CONF_MAX_SHARDS];
};

/* The first frame of a run before it was joined with the others. */
struct tso_saved {
	uint64_t ol_flags, tx_offload;
	uint16_t data_off, data_len, vlan_tci;
	uint32_t hdr_bytes;
	uint8_t hdr[GSO_HDR_MAX];
};

/* A burst as the card gets it: a packet is one of the frames, or a run of them. */
struct tso_burst {
	struct rte_mbuf *packet[FW_BURST];
	uint32_t frames[FW_BURST]; /* of each packet */
	uint32_t num, num_saved;
	struct tso_saved saved[TSO_RUNS_MAX]; /* of each run, in order */
};

/* ---- the control thread */

void tso_request(struct wire *wire, const struct rte_eth_dev_info *info, struct rte_eth_conf *eth)
{
	uint64_t offers = info->tx_offload_capa;
	uint32_t most = info->tx_desc_lim.nb_seg_max;

	wire->tso_frames = 0;
	if (wire->nic->conf->no_tso || (offers & TSO_NEEDS) != TSO_NEEDS || most < GSO_LEAST ||
	    info->tx_desc_lim.nb_mtu_seg_max < TSO_SEGMENT_BUFFERS)
		return;
	if (!wire->tso)
		wire->tso = app_alloc_apart(sizeof(*wire->tso));
	if (!wire->tso) {
		log_nic_error(wire->nic->name, "no memory for runs of TCP segments");
		return;
	}
	wire->tso_frames = most < FW_BURST ? most : FW_BURST;
	wire->tso->ip_csum = offers & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
	for (uint32_t q = 0; q < CONF_MAX_SHARDS; q++)
		wire->tso->queue[q].flows.no_udp = true;
	eth->txmode.offloads |= offers & (TSO_NEEDS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM);
}

void tso_free(struct wire *wire)
{
	free(wire->tso);
	wire->tso = NULL;
}

/* ---- the cores */

/* Returns true if the frames are no one else's, who would see them change. */
static bool own(struct rte_mbuf *const *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (rte_mbuf_refcnt_read(frames[i]) != 1)
			return false;
	}
	return rte_pktmbuf_headroom(frames[0]) >= TSO_HEADROOM;
}

static void save(const struct rte_mbuf *first, uint32_t hdr_bytes, struct tso_saved *saved)
{
	saved->ol_flags = first->ol_flags;
	saved->tx_offload = first->tx_offload;
	saved->data_off = first->data_off;
	saved->data_len = first->data_len;
	saved->vlan_tci = first->vlan_tci;
	saved->hdr_bytes = hdr_bytes;
	memcpy(saved->hdr, rte_pktmbuf_mtod(first, const void *), hdr_bytes);
}

/* Writes the sums as DPDK wants them: of the pseudo header without length, and none of IP. */
static void leave_sums(const struct tso *tso, uint8_t *hdr)
{
	struct wire_ip *ip = (struct wire_ip *)(hdr + sizeof(struct wire_eth));
	struct wire_tcp *tcp = (struct wire_tcp *)(ip + 1);
	uint32_t sum = wire_sum_add(WIRE_IPPROTO_TCP, &ip->src, 2 * sizeof(ip->src));

	tcp->checksum = be16_put((uint16_t)~wire_sum_fold(sum));
	if (tso->ip_csum)
		ip->checksum = be16_put(0);
}

/* Makes the frames of a run one packet: a chain that begins with the first. */
static void join(const struct tso *tso, struct rte_mbuf *const *frames, uint32_t n,
		 struct tso_saved *saved)
{
	struct rte_mbuf *first = frames[0];
	struct iovec payload[FW_BURST];
	uint8_t hdr[GSO_HDR_MAX];
	uint16_t each;
	uint32_t hdr_bytes = gso_join(frames, n, hdr, payload, &each);

	save(first, hdr_bytes, saved);
	leave_sums(tso, hdr);
	memcpy(rte_pktmbuf_mtod(first, void *), hdr, hdr_bytes);
	for (uint32_t i = 1; i < n; i++) {
		(void)rte_pktmbuf_adj(frames[i], (uint16_t)hdr_bytes);
		frames[i - 1]->next = frames[i];
		first->pkt_len += frames[i]->data_len;
	}
	first->nb_segs = (uint16_t)n;
	first->l4_len = hdr_bytes - GSO_L4_AT;
	first->tso_segsz = each;
	first->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | (tso->ip_csum ? RTE_MBUF_F_TX_IP_CKSUM : 0);
}

/* Undoes join(), and what was done to the chain since. */
static void part(struct rte_mbuf *const *frames, uint32_t n, const struct tso_saved *saved)
{
	struct rte_mbuf *first = frames[0];

	for (uint32_t i = 0; i < n; i++) {
		frames[i]->next = NULL;
		frames[i]->nb_segs = 1;
		if (i)
			(void)rte_pktmbuf_prepend(frames[i], (uint16_t)saved->hdr_bytes);
	}
	first->ol_flags = saved->ol_flags;
	first->tx_offload = saved->tx_offload;
	first->vlan_tci = saved->vlan_tci;
	first->data_off = saved->data_off;
	first->data_len = saved->data_len;
	first->pkt_len = saved->data_len;
	memcpy(rte_pktmbuf_mtod(first, void *), saved->hdr, saved->hdr_bytes);
}

static void burst_make(const struct wire *wire, struct tso_queue *queue,
		       struct rte_mbuf *const *frames, uint32_t n, struct tso_burst *burst)
{
	uint32_t seen = 0;

	burst->num = burst->num_saved = 0;
	while (seen < n) {
		uint32_t most = n - seen < wire->tso_frames ? n - seen : wire->tso_frames;
		uint32_t run = queue->off ? 1 : gso_run(&queue->flows, frames + seen, most);

		if (run >= GSO_LEAST && own(frames + seen, run))
			join(wire->tso, frames + seen, run, &burst->saved[burst->num_saved++]);
		else
			run = 1;
		burst->packet[burst->num] = frames[seen];
		burst->frames[burst->num++] = run;
		seen += run;
	}
}

/*
 * Gives the driver the packets that it wants to see before they are sent; returns how many of the
 * first may be sent. It may refuse a run, which then goes singly, as all later ones do.
 */
static uint32_t prepare(const struct wire *wire, uint16_t number, struct tso_queue *queue,
			struct tso_burst *burst, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (burst->frames[i] == 1 ||
		    rte_eth_tx_prepare(wire->port, number, &burst->packet[i], 1))
			continue;
		queue->off = true;
		queue->stats.refused++;
		return i;
	}
	return n;
}

/*
 * Counts the packets that were sent, and gives the frames of the others back to the caller, as they
 * were. Returns the number of frames sent.
 */
static uint32_t burst_end(struct tso_queue *queue, const struct tso_burst *burst, uint32_t sent,
			  struct rte_mbuf **frames)
{
	uint32_t at = 0, done = 0, runs = 0;

	for (uint32_t i = 0; i < burst->num; i++) {
		uint32_t n = burst->frames[i];

		if (i < sent) {
			done += n;
			queue->stats.runs += n > 1;
			queue->stats.frames += n > 1 ? n : 0;
		} else if (n > 1) {
			part(frames + at, n, &burst->saved[runs]);
		} else {
			/* It may be a copy with a tag. */
			frames[at] = burst->packet[i];
		}
		runs += n > 1;
		at += n;
	}
	gso_unsent(&queue->flows, frames + done, at - done);
	return done;
}

uint32_t tso_tx(struct wire *wire, uint16_t number, struct rte_mbuf **frames, uint32_t n)
{
	struct tso_queue *queue = &wire->tso->queue[number];
	struct tso_burst burst;
	uint32_t ready;

	assert(n <= FW_BURST);
	burst_make(wire, queue, frames, n, &burst);
	ready = wire->vlan ? vlan_out(wire, number, burst.packet, burst.num) : burst.num;
	ready = prepare(wire, number, queue, &burst, ready);
	ready = rte_eth_tx_burst(wire->port, number, burst.packet, (uint16_t)ready);
	return burst_end(queue, &burst, ready, frames);
}

struct tso_stats tso_stats(const struct tso *tso)
{
	struct tso_stats sum = {0};

	for (uint32_t q = 0; q < CONF_MAX_SHARDS; q++) {
		sum.runs += tso->queue[q].stats.runs;
		sum.frames += tso->queue[q].stats.frames;
		sum.refused += tso->queue[q].stats.refused;
	}
	return sum;
}
