/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: the Ethernet address of the next hop, by ARP.
 *
 * neigh_lookup() is called by ud_tx.c, rd_session.c and ah.c; neigh_rx_arp() by eth_rx.c;
 * the outcome goes to those who wait by neigh_resolved(). Every shard has a table and
 * learns from what it sees; shard 0 alone answers requests. A table entry is taken when
 * somebody here asks or a station asks for us; others' announcements only renew what is
 * known. RFC 826, RFC 1122 2.3.2, RFC 5227.
 */
#include "nic_fw/fw_nic.h"

enum {
	NEIGH_UNICAST_TRIES = 2, /* of re-confirmation; then everybody is asked */
	NEIGH_EVICT_SAMPLE = 64, /* entries that are compared to find one that is not used */
	ARP_FRAME_BYTES = sizeof(struct wire_eth) + sizeof(struct wire_arp),
};

static const uint8_t broadcast_mac[WIRE_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static uint32_t host_order(uint32_t ip)
{
	struct be32 v;

	memcpy(&v, &ip, sizeof(v));
	return be32_get(v);
}

static uint32_t net_order(struct be32 v)
{
	uint32_t ip;

	memcpy(&ip, &v, sizeof(ip));
	return ip;
}

static bool is_on_link(const struct fw_nic *nic, uint32_t ip)
{
	uint32_t prefix = nic->config.ip_prefix;
	uint32_t mask = prefix ? 0xffffffffu << (32 - prefix) : 0;

	return ((host_order(ip) ^ host_order(nic->config.ip)) & mask) == 0;
}

/* True when one station may have this address: not 0/8, 127/8, 224/3, nor the subnet's ends. */
static bool is_station(const struct fw_nic *nic, uint32_t ip)
{
	uint32_t prefix = nic->config.ip_prefix;
	uint32_t addr = host_order(ip), net = addr >> 24, host_mask;

	if (net == 0 || net == 127 || net >= 224)
		return false;
	if (!is_on_link(nic, ip) || prefix >= 31)
		return true;
	host_mask = 0xffffffffu >> prefix;
	return (addr & host_mask) != 0 && (addr & host_mask) != host_mask;
}

uint32_t neigh_next_hop(const struct fw_nic *nic, uint32_t dst_ip)
{
	if (!is_station(nic, dst_ip))
		return 0;
	return is_on_link(nic, dst_ip) ? dst_ip : nic->config.gateway;
}

/* Chains hold index + 1, so that the zeroed arena is an empty table. */
static uint32_t *chain_head(struct fw_nic *nic, uint32_t ip)
{
	return &nic->neigh_hash[fw_hash(ip, 0, 0) % FW_HASH_SIZE];
}

static struct neigh *find(struct fw_nic *nic, uint32_t ip)
{
	uint32_t i = *chain_head(nic, ip);

	while (i) {
		struct neigh *neigh = &nic->neigh[i - 1];

		if (neigh->ip == ip)
			return neigh;
		i = neigh->hash_next;
	}
	return NULL;
}

static void unlink_neigh(struct fw_nic *nic, struct neigh *neigh)
{
	uint32_t index = (uint32_t)(neigh - nic->neigh) + 1;
	uint32_t *link = chain_head(nic, neigh->ip);

	while (*link != index) {
		assert(*link);
		link = &nic->neigh[*link - 1].hash_next;
	}
	*link = neigh->hash_next;
}

/*
 * An entry to give up: of a sample of the table, the one unused the longest. Those that are
 * being asked for stay; those in use stay when it is not for a need of our own.
 */
static struct neigh *evict(struct fw_nic *nic, uint32_t ip, bool wanted)
{
	uint32_t start = fw_hash(ip, (uint32_t)nic->now_ns, 1) % HW_MAX_NEIGH, i;
	struct neigh *victim = NULL;

	for (i = 0; i < NEIGH_EVICT_SAMPLE; i++) {
		struct neigh *neigh = &nic->neigh[(start + i) % HW_MAX_NEIGH];

		if (fw_timer_is_set(&neigh->timer))
			continue;
		if (!wanted && neigh->used_ns && nic->now_ns - neigh->used_ns < NEIGH_CONFIRM_NS)
			continue;
		if (!victim || neigh->used_ns < victim->used_ns)
			victim = neigh;
	}
	if (victim)
		unlink_neigh(nic, victim);
	return victim;
}

static void neigh_fire(struct fw_nic *nic, struct fw_timer *timer);

static struct neigh *take(struct fw_nic *nic, uint32_t ip, bool wanted)
{
	uint32_t *head = chain_head(nic, ip);
	struct neigh *neigh;

	if (nic->neigh_count < HW_MAX_NEIGH)
		neigh = &nic->neigh[nic->neigh_count++];
	else
		neigh = evict(nic, ip, wanted);
	if (!neigh)
		return NULL;
	memset(neigh, 0, sizeof(*neigh));
	neigh->ip = ip;
	neigh->state = NEIGH_FREE;
	fw_timer_init(&neigh->timer, neigh_fire);
	neigh->hash_next = *head;
	*head = (uint32_t)(neigh - nic->neigh) + 1;
	return neigh;
}

static void send_arp(struct fw_nic *nic, uint16_t op, const uint8_t *dst_mac,
		     const uint8_t *target_mac, uint32_t target_ip)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	struct wire_eth *eth;
	struct wire_arp *arp;

	if (!frame) /* asked again by the timer, or by the station that asked us */
		return;
	eth = (struct wire_eth *)frame->hdr;
	arp = (struct wire_arp *)(frame->hdr + sizeof(*eth));
	memcpy(eth->dst, dst_mac, WIRE_MAC_BYTES);
	memcpy(eth->src, nic->config.mac, WIRE_MAC_BYTES);
	eth->type = be16_put(WIRE_ETHERTYPE_ARP);
	arp->hw_type = be16_put(WIRE_ARP_HW_ETHERNET);
	arp->proto_type = be16_put(WIRE_ETHERTYPE_IPV4);
	arp->hw_bytes = WIRE_MAC_BYTES;
	arp->proto_bytes = sizeof(struct be32);
	arp->op = be16_put(op);
	memcpy(arp->sender_mac, nic->config.mac, WIRE_MAC_BYTES);
	memcpy(&arp->sender_ip, &nic->config.ip, sizeof(arp->sender_ip));
	memcpy(arp->target_mac, target_mac, WIRE_MAC_BYTES);
	memcpy(&arp->target_ip, &target_ip, sizeof(arp->target_ip));
	frame->flags |= FW_TX_F_CONTROL;
	eth_tx_hdr(frame, 0, ARP_FRAME_BYTES, 0);
	eth_tx_commit(nic, frame);
	FW_COUNT(nic, arp_tx);
}

/* Asks for the entry's address once more and sets the timer for the answer. */
static void ask(struct fw_nic *nic, struct neigh *neigh)
{
	static const uint8_t unknown_mac[WIRE_MAC_BYTES];
	bool unicast = neigh->state == NEIGH_REACHABLE && neigh->tries < NEIGH_UNICAST_TRIES;

	neigh->tries++;
	send_arp(nic, WIRE_ARP_REQUEST, unicast ? neigh->mac : broadcast_mac, unknown_mac,
		 neigh->ip);
	fw_timer_set(&nic->timers, &neigh->timer, nic->now_ns + NEIGH_RETRY_NS);
}

static void neigh_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct neigh *neigh = FW_CONTAINER(timer, struct neigh, timer);

	if (neigh->tries < NEIGH_TRIES) {
		ask(nic, neigh);
		return;
	}
	neigh->state = NEIGH_FAILED;
	neigh->tries = 0;
	neigh->confirmed_ns = nic->now_ns;
	neigh_resolved(nic, neigh->ip, false);
}

enum neigh_result neigh_lookup(struct fw_nic *nic, uint32_t dst_ip, uint8_t mac[WIRE_MAC_BYTES])
{
	struct neigh *neigh;
	uint32_t hop;

	if (dst_ip == nic->config.ip) {
		memcpy(mac, nic->config.mac, WIRE_MAC_BYTES);
		return NEIGH_OK;
	}
	/* A group's follows from its address, on this link and beyond (RFC 1112 6.4). */
	if (wire_is_group(dst_ip)) {
		wire_group_mac(dst_ip, mac);
		return NEIGH_OK;
	}
	hop = neigh_next_hop(nic, dst_ip);
	if (!hop || hop == nic->config.ip)
		return NEIGH_UNREACHABLE;
	neigh = find(nic, hop);
	if (!neigh)
		neigh = take(nic, hop, true);
	if (!neigh) /* every entry looked at is being asked for: one will be free soon */
		return NEIGH_WAIT;
	neigh->used_ns = nic->now_ns;
	switch ((enum neigh_state)neigh->state) {
	case NEIGH_FAILED:
		if (nic->now_ns - neigh->confirmed_ns < NEIGH_HOLD_NS)
			return NEIGH_UNREACHABLE;
		break;
	case NEIGH_INCOMPLETE:
		return NEIGH_WAIT;
	case NEIGH_REACHABLE:
		memcpy(mac, neigh->mac, WIRE_MAC_BYTES);
		if (nic->now_ns - neigh->confirmed_ns >= NEIGH_CONFIRM_NS &&
		    !fw_timer_is_set(&neigh->timer))
			ask(nic, neigh);
		return NEIGH_OK;
	case NEIGH_FREE:
		break;
	}
	neigh->state = NEIGH_INCOMPLETE;
	neigh->tries = 0;
	ask(nic, neigh);
	return NEIGH_WAIT;
}

void neigh_doubt(struct fw_nic *nic, uint32_t dst_ip)
{
	uint32_t hop = neigh_next_hop(nic, dst_ip);
	struct neigh *neigh = hop ? find(nic, hop) : NULL;

	if (!neigh || neigh->state != NEIGH_REACHABLE || fw_timer_is_set(&neigh->timer))
		return;
	neigh->tries = NEIGH_UNICAST_TRIES; /* the address in doubt is not asked */
	ask(nic, neigh);
}

void neigh_resolved(struct fw_nic *nic, uint32_t ip, bool ok)
{
	ah_neigh_done(nic, ip, ok);
	rd_session_neigh_done(nic, ip, ok);
	cm_neigh_done(nic, ip, ok);
	tcp_neigh_done(nic, ip, ok);
}

/* A station told its address. create: make an entry if there is none. */
static void learn(struct fw_nic *nic, uint32_t ip, const uint8_t *mac, bool create)
{
	struct neigh *neigh;
	bool changed;

	if (!is_on_link(nic, ip) || !is_station(nic, ip))
		return;
	neigh = find(nic, ip);
	if (!neigh && create)
		neigh = take(nic, ip, false);
	if (!neigh)
		return;
	changed = neigh->state != NEIGH_REACHABLE || memcmp(neigh->mac, mac, WIRE_MAC_BYTES) != 0;
	memcpy(neigh->mac, mac, WIRE_MAC_BYTES);
	neigh->state = NEIGH_REACHABLE;
	neigh->tries = 0;
	neigh->confirmed_ns = nic->now_ns;
	fw_timer_cancel(&nic->timers, &neigh->timer);
	if (changed)
		neigh_resolved(nic, ip, true);
}

static bool arp_ok(const struct fw_nic *nic, const struct wire_arp *arp)
{
	static const uint8_t zero_mac[WIRE_MAC_BYTES];
	uint16_t op = be16_get(arp->op);

	return be16_get(arp->hw_type) == WIRE_ARP_HW_ETHERNET &&
	       be16_get(arp->proto_type) == WIRE_ETHERTYPE_IPV4 &&
	       arp->hw_bytes == WIRE_MAC_BYTES && arp->proto_bytes == sizeof(struct be32) &&
	       (op == WIRE_ARP_REQUEST || op == WIRE_ARP_REPLY) && !(arp->sender_mac[0] & 1) &&
	       memcmp(arp->sender_mac, zero_mac, WIRE_MAC_BYTES) != 0 &&
	       net_order(arp->sender_ip) != nic->config.ip;
}

void neigh_rx_arp(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	const struct wire_arp *arp;
	uint32_t sender_ip;
	bool for_us;

	if (frame->seg[0].bytes < ARP_FRAME_BYTES) {
		FW_DROP(nic, drop_arp_malformed);
		return;
	}
	arp = (const struct wire_arp *)(frame->seg[0].data + sizeof(struct wire_eth));
	if (!arp_ok(nic, arp)) {
		FW_DROP(nic, drop_arp_malformed);
		return;
	}
	sender_ip = net_order(arp->sender_ip);
	for_us = net_order(arp->target_ip) == nic->config.ip;
	/* Sender 0 is a probe (RFC 5227 2.1.1): no station's address, answered all the same. */
	learn(nic, sender_ip, arp->sender_mac, for_us);
	if (be16_get(arp->op) == WIRE_ARP_REPLY) {
		FW_COUNT(nic, arp_replies_rx);
		return;
	}
	FW_COUNT(nic, arp_requests_rx);
	if (for_us && nic->config.shard == 0)
		send_arp(nic, WIRE_ARP_REPLY, arp->sender_mac, arp->sender_mac, sender_ip);
}
