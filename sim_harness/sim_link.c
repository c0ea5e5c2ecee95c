/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network: each NIC's line to the switch, and the switch's output queues.
 *
 * A frame waits for the line of its NIC (gap per message and per byte), travels half the latency,
 * is forwarded by destination MAC, passes the faults of the receiver's link, waits in the switch's
 * queue towards it (finite, marking CE), and travels the other half. Its bytes do not change,
 * except for CE marks and deliberate corruption.
 *
 * Calls sim_nic_rx() and lib/fault.h. LogGP: Alexandrov et al., SPAA 1995; ECN: RFC 3168.
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	PS_PER_NS = 1000,
	FORGED_NS = 20000, /* maximum delay of a forged frame */
};

struct sim_pkt *sim_pkt_new(struct sim *sim, const void *data, uint32_t bytes)
{
	struct sim_pkt *pkt = calloc(1, sizeof(*pkt));

	assert(pkt);
	pkt->bytes = bytes;
	pkt->data = malloc(bytes ? bytes : 1);
	assert(pkt->data);
	if (data)
		memcpy(pkt->data, data, bytes);
	sim->pkts++;
	return pkt;
}

void sim_pkt_free(struct sim *sim, struct sim_pkt *pkt)
{
	while (pkt) {
		struct sim_pkt *more = pkt->more;

		sim_loan_drop(pkt);
		free(pkt->data);
		free(pkt);
		assert(sim->pkts);
		sim->pkts--;
		pkt = more;
	}
}

static void queue_retire(struct sim_queue *q, uint64_t now_ps)
{
	while (q->head != q->tail && q->ring[q->head & q->mask].leaves_ps <= now_ps) {
		q->bytes -= q->ring[q->head & q->mask].bytes;
		q->head++;
	}
}

static void queue_push(struct sim_queue *q, uint64_t leaves_ps, uint32_t bytes)
{
	uint32_t count = q->tail - q->head, i;

	if (!q->ring || count > q->mask) {
		uint32_t size = q->ring ? (q->mask + 1) * 2 : 64;
		struct sim_queue_entry *ring = calloc(size, sizeof(*ring));

		assert(ring);
		for (i = 0; i < count; i++)
			ring[i] = q->ring[(q->head + i) & q->mask];
		free(q->ring);
		q->ring = ring;
		q->mask = size - 1;
		q->head = 0;
		q->tail = count;
	}
	q->ring[q->tail++ & q->mask] = (struct sim_queue_entry){leaves_ps, bytes};
	q->bytes += bytes;
}

/* Puts a frame on a line. Returns when its last bit has left, or its first (cut_through). */
static uint64_t line_send(const struct sim_link *link, uint64_t *free_ps, uint64_t now_ps,
			  uint32_t bytes)
{
	uint64_t start_ps = now_ps > *free_ps ? now_ps : *free_ps;

	*free_ps = start_ps + link->gap_ns * PS_PER_NS + bytes * link->gap_ps_per_byte;
	return link->cut_through ? start_ps : *free_ps;
}

uint32_t sim_link_backlog(struct sim_nic *nic, uint64_t when_ns)
{
	queue_retire(&nic->out, when_ns * PS_PER_NS);
	return nic->out.tail - nic->out.head;
}

static void arrive(struct sim *sim, void *ctx, uint64_t arg)
{
	struct sim_nic *nic = ctx;
	struct sim_pkt *pkt = (struct sim_pkt *)(uintptr_t)arg;

	(void)sim;
	if (!nic->clogged) {
		sim_nic_rx(nic, pkt);
		return;
	}
	pkt->next = NULL;
	if (nic->clog_tail)
		nic->clog_tail->next = pkt;
	else
		nic->clog_head = pkt;
	nic->clog_tail = pkt;
}

void sim_link_unclog(struct sim_nic *nic)
{
	struct sim_pkt *pkt = nic->clog_head, *next;

	nic->clog_head = nic->clog_tail = NULL;
	for (; pkt; pkt = next) {
		next = pkt->next;
		sim_nic_rx(nic, pkt);
	}
}

/* A frame to the NIC's own address bypasses the network. */
static void loop_arrive(struct sim *sim, void *ctx, uint64_t arg)
{
	(void)sim;
	sim_nic_rx(ctx, (struct sim_pkt *)(uintptr_t)arg);
}

void sim_link_loop(struct sim_nic *nic, struct sim_pkt *pkt)
{
	nic->counts.loop_frames++;
	pkt->loop = true;
	sim_at(nic->sim, nic->sim->now_ns + nic->sim->config.loop_ns, loop_arrive, nic,
	       (uintptr_t)pkt);
}

/* Sets "congestion experienced" if the packet is ECN-capable, and updates the header checksum. */
static bool mark_ce(struct sim_pkt *pkt)
{
	struct wire_eth eth;
	struct wire_ip ip;

	if (pkt->bytes < sizeof(eth) + sizeof(ip))
		return false;
	memcpy(&eth, pkt->data, sizeof(eth));
	memcpy(&ip, pkt->data + sizeof(eth), sizeof(ip));
	if (be16_get(eth.type) != WIRE_ETHERTYPE_IPV4 || ip.version_ihl != WIRE_IP_VERSION_IHL ||
	    !(ip.tos & WIRE_IP_ECN_MASK))
		return false;
	ip.tos |= WIRE_IP_CE;
	ip.checksum = be16_put(0);
	ip.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &ip, sizeof(ip))));
	memcpy(pkt->data + sizeof(eth), &ip, sizeof(ip));
	pkt->run = 0;
	return true;
}

/*
 * Sends a forged copy shortly after its original; a segment just before it, because TCP accepts the
 * first copy.
 */
static void forge(struct sim_nic *to, const struct sim_pkt *pkt, uint64_t at_ns)
{
	struct sim_pkt *twin = sim_forge(to->sim, &to->link_prng, pkt);

	if (!twin)
		return;
	to->counts.forged++;
	if (!sim_is_segment(pkt))
		at_ns += sim_prng_below(&to->link_prng, FORGED_NS);
	sim_at(to->sim, at_ns, arrive, to, (uintptr_t)twin);
}

/* Sends one copy from the switch's queue to the NIC. */
static void deliver_at(struct sim_nic *to, struct sim_pkt *pkt, uint64_t leaves_ps)
{
	struct sim *sim = to->sim;
	const struct sim_link *link = &to->link;
	uint64_t at_ns = (leaves_ps + PS_PER_NS - 1) / PS_PER_NS + link->latency_ns / 2;

	at_ns += fault_jitter_ns(&to->fault, link->jitter_ns);
	if (at_ns < to->in_last_ns)
		at_ns = to->in_last_ns;
	if (fault_reorders(&to->fault, &link->fault)) {
		/* Its sender may rely on the order of borrowed frames alone. */
		sim_loan_copy(pkt);
		at_ns += sim_prng_range(&to->link_prng, 1, link->reorder_ns + 1);
		to->counts.reordered++;
	} else {
		to->in_last_ns = at_ns;
	}
	if (fault_doubles(&to->fault, &link->fault)) {
		struct sim_pkt *twin = sim_pkt_twin(sim, pkt);

		to->counts.duplicated++;
		sim_at(sim, at_ns + sim_prng_below(&to->link_prng, link->reorder_ns + 1), arrive,
		       to, (uintptr_t)twin);
	}
	if (sim_prng_chance(&to->link_prng, link->forge_ppm))
		forge(to, pkt, at_ns);
	sim_at(sim, at_ns, arrive, to, (uintptr_t)pkt);
}

/* The switch's output port towards a NIC. Takes ownership of pkt. */
static void output(struct sim_nic *from, struct sim_nic *to, struct sim_pkt *pkt)
{
	const struct sim_link *link = &to->link;
	uint64_t now_ps = to->sim->now_ns * PS_PER_NS, leaves_ps;
	uint64_t *count = NULL;

	queue_retire(&to->in, now_ps);
	if (from->blocked[to->index / 64] >> (to->index % 64) & 1)
		count = &to->counts.drop_partition;
	else if (fault_loses(&to->fault, &link->fault, to->sim->now_ns))
		count = &to->counts.drop_fault;
	else if (link->queue_bytes && to->in.bytes + pkt->bytes > link->queue_bytes)
		count = &to->counts.drop_switch_queue;
	if (count) {
		++*count;
		sim_pkt_free(to->sim, pkt);
		return;
	}
	if (link->ecn_bytes && to->in.bytes > link->ecn_bytes && mark_ce(pkt))
		to->counts.ecn_marked++;
	if (fault_corrupts(&to->fault, &link->fault)) {
		sim_loan_copy(pkt);
		fault_corrupt(&to->fault, pkt->data, pkt->bytes);
		to->counts.corrupted++;
	}
	leaves_ps = line_send(link, &to->in.free_ps, now_ps, pkt->bytes);
	queue_push(&to->in, to->in.free_ps, pkt->bytes);
	/* The frame arrives with its last bit. */
	if (link->cut_through)
		leaves_ps += pkt->bytes * link->gap_ps_per_byte;
	deliver_at(to, pkt, leaves_ps);
}

/* Returns the NIC with this MAC, whose number is in the last two bytes. */
static struct sim_nic *by_mac(struct sim *sim, const uint8_t *mac)
{
	uint32_t i = (uint32_t)mac[4] << 8 | mac[5];

	return i < sim->num_nics && !memcmp(mac, sim->nics[i]->mac, WIRE_MAC_BYTES) ? sim->nics[i]
										    : NULL;
}

/* Returns the NIC that an ARP request asks for, if the switch suppresses flooding; NULL: flood. */
static struct sim_nic *by_arp(struct sim *sim, const struct sim_pkt *pkt)
{
	struct wire_eth eth;
	struct wire_arp arp;
	uint32_t ip, i;

	if (!sim->config.arp_direct || pkt->bytes < sizeof(eth) + sizeof(arp))
		return NULL;
	memcpy(&eth, pkt->data, sizeof(eth));
	memcpy(&arp, pkt->data + sizeof(eth), sizeof(arp));
	if (be16_get(eth.type) != WIRE_ETHERTYPE_ARP)
		return NULL;
	memcpy(&ip, &arp.target_ip, sizeof(ip));
	i = sim_nic_by_ip(ip);
	return i < sim->num_nics && sim->nics[i]->ip == ip ? sim->nics[i] : NULL;
}

/* Returns true if the switch forwards a group or broadcast frame to this NIC (it snoops groups). */
static bool is_wanted(const struct sim_nic *nic, const struct sim_pkt *pkt)
{
	static const uint8_t broadcast[WIRE_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	if (pkt->bytes < sizeof(struct wire_eth) || !(pkt->data[0] & 1) ||
	    !memcmp(pkt->data, broadcast, sizeof(broadcast)))
		return true;
	return sim_mac_wanted(nic, pkt->data);
}

/* A frame has reached the switch: forwards it to the NIC with its MAC, or to all that accept it. */
static void forward(struct sim *sim, void *ctx, uint64_t arg)
{
	struct sim_nic *from = ctx;
	struct sim_pkt *pkt = (struct sim_pkt *)(uintptr_t)arg;
	struct sim_nic *to = pkt->bytes < sizeof(struct wire_eth) ? from : by_mac(sim, pkt->data);
	uint32_t i;

	if (!to)
		to = by_arp(sim, pkt);
	if (to && to != from) {
		output(from, to, pkt);
		return;
	}
	if (!to && !(pkt->data[0] & 1))
		from->counts.to_nobody++;
	/* A switch does not send a frame back to its source port. */
	for (i = 0; i < sim->num_nics && !to; i++) {
		if (sim->nics[i] != from && is_wanted(sim->nics[i], pkt))
			output(from, sim->nics[i], sim_pkt_same(sim, pkt));
	}
	sim_pkt_free(sim, pkt);
}

/* A frame that the filter changes or doubles is no longer lent. */
static enum sim_verdict filtered(struct sim *sim, struct sim_nic *from, struct sim_pkt *pkt)
{
	uint8_t *before = NULL;
	enum sim_verdict verdict;

	if (pkt->loan) {
		before = malloc(pkt->bytes);
		assert(before);
		memcpy(before, pkt->data, pkt->bytes);
	}
	verdict = sim->filter(sim->filter_ctx, from, pkt->data, pkt->bytes);
	if (before && (verdict == SIM_TWICE || memcmp(before, pkt->data, pkt->bytes)))
		sim_loan_drop(pkt);
	free(before);
	return verdict;
}

void sim_link_tx(struct sim_nic *from, struct sim_pkt *pkt, uint64_t when_ns, bool control)
{
	struct sim *sim = from->sim;
	uint64_t now_ps = when_ns * PS_PER_NS, leaves_ps;
	enum sim_verdict verdict = SIM_PASS;
	int copies;

	from->counts.tx_frames++;
	if (!sim->config.no_digest) {
		sim_digest_add(sim, &when_ns, sizeof(when_ns));
		sim_digest_add(sim, pkt->data, pkt->bytes);
	}
	sim_pcap_frame(from, pkt, when_ns, true);
	if (sim->filter)
		verdict = filtered(sim, from, pkt);
	if (verdict == SIM_DROP) {
		sim_pkt_free(sim, pkt);
		return;
	}
	queue_retire(&from->out, now_ps);
	for (copies = verdict == SIM_TWICE ? 2 : 1; copies; copies--) {
		struct sim_pkt *p = copies > 1 ? sim_pkt_twin(sim, pkt) : pkt;

		if (control) {
			/* The control frame goes first and delays the data by its duration. */
			uint64_t busy_ps =
			    from->link.gap_ns * PS_PER_NS + p->bytes * from->link.gap_ps_per_byte;

			leaves_ps = line_send(&from->link, &from->ctl_free_ps, now_ps, p->bytes);
			if (from->out.free_ps > now_ps)
				from->out.free_ps += busy_ps;
		} else {
			leaves_ps = line_send(&from->link, &from->out.free_ps, now_ps, p->bytes);
			queue_push(&from->out, from->out.free_ps, p->bytes);
		}
		sim_at(sim, leaves_ps / PS_PER_NS + from->link.latency_ns / 2, forward, from,
		       (uintptr_t)p);
	}
}

void sim_link_free(struct sim_nic *nic)
{
	struct sim_pkt *pkt = nic->clog_head, *next;

	for (; pkt; pkt = next) {
		next = pkt->next;
		sim_pkt_free(nic->sim, pkt);
	}
	free(nic->out.ring);
	free(nic->in.ring);
}

void sim_link_drop_event(struct sim *sim, const struct sim_event *ev)
{
	if (ev->fn == arrive || ev->fn == forward || ev->fn == loop_arrive)
		sim_pkt_free(sim, (struct sim_pkt *)(uintptr_t)ev->arg);
}

void sim_set_filter(struct sim *sim, sim_filter fn, void *ctx)
{
	sim->filter = fn;
	sim->filter_ctx = ctx;
}
