/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: the Ethernet address of the next hop, by ARP.
 *
 * neigh_resolved() reports the outcome of a request to its waiters. Every shard has a table; only
 * shard 0 answers requests. ARP proves nothing, so an address is accepted only as the answer to a
 * request of this NIC. A request for us, or a packet that needs an answer, makes us request its
 * sender's address. An announcement that differs from the known address makes us verify the known
 * one first. Requests for strangers are few at a time; they replace one another, never our own. RFC
 * 826, RFC 1122 2.3.2, RFC 5227; docs/security.md "RD sessions".
 */
#include "nic_fw/fw_nic.h"

enum {
	NEIGH_UNICAST_TRIES = 2,  /* unicast tries to confirm; then by broadcast */
	NEIGH_EVICT_SAMPLE = 64,  /* entries compared to find an unused one */
	NEIGH_ASKS_PER_RATE = 64, /* for strangers in a second, for each class of senders' MACs */
	ARP_FRAME_BYTES = sizeof(struct wire_eth) + sizeof(struct wire_arp),
};

static const uint8_t broadcast_mac[WIRE_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t unknown_mac[WIRE_MAC_BYTES];

static uint32_t host_order(uint32_t ip)
{
	struct be32 v;

	memcpy(&v, &ip, sizeof(v));
	return be32_get(v);
}

static uint32_t neigh_net_order(struct be32 v)
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

/* True if a station may have this address: not 0/8, 127/8, 224/3, nor the subnet's ends. */
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

static uint32_t *neigh_chain_head(struct fw_nic *nic, uint32_t ip)
{
	return &nic->net.neigh_hash[fw_hash_keyed(&nic->hash_key, ip, 0, 0) % HW_MAX_NEIGH];
}

static struct neigh *neigh_find(struct fw_nic *nic, uint32_t ip)
{
	struct neigh *neigh;

	fw_chain_for_each (neigh, *neigh_chain_head(nic, ip), nic->net.neigh, hash_next)
		if (neigh->ip == ip)
			return neigh;
	return NULL;
}

static void unlink_neigh(struct fw_nic *nic, struct neigh *neigh)
{
	fw_chain_del(neigh_chain_head(nic, neigh->ip), neigh, nic->net.neigh, hash_next);
}

/*
 * Returns an entry to replace: of a sample of the table, the one unused the longest. Entries with a
 * request under way stay. Entries in use stay unless we need the new one ourselves.
 */
static struct neigh *evict(struct fw_nic *nic, uint32_t ip, bool wanted)
{
	uint32_t start = fw_hash(ip, (uint32_t)nic->now_ns, 1) % HW_MAX_NEIGH, i;
	struct neigh *victim = NULL;

	for (i = 0; i < NEIGH_EVICT_SAMPLE; i++) {
		struct neigh *neigh = &nic->net.neigh[(start + i) % HW_MAX_NEIGH];

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

static struct neigh *neigh_take(struct fw_nic *nic, uint32_t ip, bool wanted)
{
	uint32_t *head = neigh_chain_head(nic, ip);
	struct neigh *neigh;

	if (nic->net.neigh_count < HW_MAX_NEIGH)
		neigh = &nic->net.neigh[nic->net.neigh_count++];
	else
		neigh = evict(nic, ip, wanted);
	if (!neigh)
		return NULL;
	memset(neigh, 0, sizeof(*neigh));
	neigh->ip = ip;
	neigh->state = NEIGH_FREE;
	fw_timer_init(&neigh->timer, FW_TIMER_NEIGH);
	fw_chain_add(head, &neigh->hash_next, (uint32_t)(neigh - nic->net.neigh));
	return neigh;
}

static void send_arp(struct fw_nic *nic, uint16_t op, const uint8_t *dst_mac,
		     const uint8_t *target_mac, uint32_t target_ip)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	struct wire_eth *eth;
	struct wire_arp *arp;

	if (!frame) /* repeated by the timer, or by the station that sent us a request */
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

static bool is_asked(const struct neigh *neigh)
{
	return fw_timer_is_set(&neigh->timer);
}

/*
 * True if one more request for senders with this MAC is allowed now. A keyed hash puts senders into
 * classes, so that a sender cannot choose its class and uses up no more than its class's rate.
 */
static bool may_ask(struct fw_nic *nic, const uint8_t *mac)
{
	struct neigh_rate *rate =
	    &nic->net.neigh_rates[fw_keyed_mac(nic, mac) %
				  (sizeof(nic->net.neigh_rates) / sizeof(nic->net.neigh_rates[0]))];

	if (!rate->since_ns || nic->now_ns - rate->since_ns >= NEIGH_RATE_NS) {
		rate->since_ns = nic->now_ns;
		rate->spent = 0;
	}
	if (rate->spent >= NEIGH_ASKS_PER_RATE)
		return false;
	rate->spent++;
	return true;
}

/*
 * Time until the next request, at most NEIGH_RETRY_NS. Spread, so that stations that sent together
 * do not repeat together.
 */
static uint64_t neigh_retry_ns(const struct fw_nic *nic, const struct neigh *neigh)
{
	uint32_t spread = fw_hash(neigh->ip ^ nic->config.shard, nic->config.ip, neigh->tries);

	return NEIGH_RETRY_NS - NEIGH_RETRY_NS / 1024 * (spread % 256);
}

/* Requests the entry's address again and sets the timer for the answer. */
static void neigh_ask(struct fw_nic *nic, struct neigh *neigh)
{
	bool unicast = neigh->state == NEIGH_REACHABLE && neigh->tries < NEIGH_UNICAST_TRIES;

	if (neigh->doubted && !neigh->tries)
		neigh->verified_ns = nic->now_ns;
	if (neigh->state == NEIGH_INCOMPLETE)
		neigh->confirmed_ns = nic->now_ns;
	neigh->tries++;
	send_arp(nic, WIRE_ARP_REQUEST, unicast ? neigh->mac : broadcast_mac, unknown_mac,
		 neigh->ip);
	fw_timer_set(&nic->timers, &neigh->timer,
		     nic->now_ns + (unicast && neigh->doubted ? NEIGH_VERIFY_NS
							      : neigh_retry_ns(nic, neigh)));
}

/*
 * A packet came from the station being resolved: the request or its answer was lost. The request is
 * repeated early.
 */
static void ask_again(struct fw_nic *nic, struct neigh *neigh, const uint8_t *from_mac)
{
	if (neigh->state != NEIGH_INCOMPLETE || !neigh->tries || !may_ask(nic, from_mac))
		return;
	neigh->confirmed_ns = nic->now_ns;
	send_arp(nic, WIRE_ARP_REQUEST, broadcast_mac, unknown_mac, neigh->ip);
}

void neigh_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct neigh *neigh = FW_CONTAINER(timer, struct neigh, timer);

	if (neigh->stranger) {
		/* No request of this NIC waits for it; a later one starts anew. */
		neigh->state = NEIGH_FREE;
		neigh->stranger = false;
		return;
	}
	if (neigh->tries < NEIGH_TRIES) {
		neigh_ask(nic, neigh);
		return;
	}
	neigh->state = NEIGH_FAILED;
	neigh->tries = 0;
	neigh->confirmed_ns = nic->now_ns;
	neigh_resolved(nic, neigh->ip, false);
}

static enum neigh_result neigh_look_up(struct fw_nic *nic, uint32_t dst_ip,
				       uint8_t mac[WIRE_MAC_BYTES])
{
	struct neigh *neigh;
	uint32_t hop;

	if (dst_ip == nic->config.ip) {
		memcpy(mac, nic->config.mac, WIRE_MAC_BYTES);
		return NEIGH_OK;
	}
	/* A group's MAC follows from its address, on this link and beyond (RFC 1112 6.4). */
	if (wire_is_group(dst_ip)) {
		wire_group_mac(dst_ip, mac);
		return NEIGH_OK;
	}
	hop = neigh_next_hop(nic, dst_ip);
	if (!hop || hop == nic->config.ip)
		return NEIGH_UNREACHABLE;
	neigh = neigh_find(nic, hop);
	if (!neigh)
		neigh = neigh_take(nic, hop, true);
	if (!neigh) /* every sampled entry has a request under way: one will be free soon */
		return NEIGH_WAIT;
	neigh->used_ns = nic->now_ns;
	if (hop == dst_ip)
		nic->net.neigh_found = neigh;
	switch ((enum neigh_state)neigh->state) {
	case NEIGH_FAILED:
		if (nic->now_ns - neigh->confirmed_ns < NEIGH_HOLD_NS)
			return NEIGH_UNREACHABLE;
		break;
	case NEIGH_INCOMPLETE:
		/*
		 * A stranger's request that was sent is ours from now on; one that shard 0 sends is
		 * not.
		 */
		if (neigh->stranger && !neigh->tries)
			break;
		neigh->stranger = false;
		return NEIGH_WAIT;
	case NEIGH_REACHABLE:
		memcpy(mac, neigh->mac, WIRE_MAC_BYTES);
		if (nic->now_ns - neigh->confirmed_ns >= NEIGH_CONFIRM_NS && !is_asked(neigh))
			neigh_ask(nic, neigh);
		return NEIGH_OK;
	case NEIGH_FREE:
		break;
	}
	neigh->stranger = false;
	neigh->state = NEIGH_INCOMPLETE;
	neigh->tries = 0;
	neigh_ask(nic, neigh);
	return NEIGH_WAIT;
}

enum neigh_result neigh_lookup(struct fw_nic *nic, uint32_t dst_ip, uint8_t mac[WIRE_MAC_BYTES])
{
	struct neigh *neigh = nic->net.neigh_found;

	/* The requests of a queue often go to one station of the link. */
	if (!neigh || neigh->ip != dst_ip || neigh->state != NEIGH_REACHABLE ||
	    nic->now_ns - neigh->confirmed_ns >= NEIGH_CONFIRM_NS)
		return neigh_look_up(nic, dst_ip, mac);
	neigh->used_ns = nic->now_ns;
	memcpy(mac, neigh->mac, WIRE_MAC_BYTES);
	return NEIGH_OK;
}

void neigh_doubt(struct fw_nic *nic, uint32_t dst_ip)
{
	uint32_t hop = neigh_next_hop(nic, dst_ip);
	struct neigh *neigh = hop ? neigh_find(nic, hop) : NULL;

	/* A request that waits for its second try (conflict()) is not under way yet. */
	if (!neigh || neigh->state != NEIGH_REACHABLE || (is_asked(neigh) && neigh->tries))
		return;
	neigh->tries = NEIGH_UNICAST_TRIES; /* not to the address in doubt */
	neigh_ask(nic, neigh);
}

void neigh_resolved(struct fw_nic *nic, uint32_t ip, bool ok)
{
	const neigh_done_fn *user;

	for (user = neigh_users; *user; user++)
		(*user)(nic, ip, ok);
}

/*
 * ---- statements of other stations -------------------------------------------------------------
 */

/* The oldest request for a stranger makes room for this one. */
static void take_turn(struct fw_nic *nic, struct neigh *neigh)
{
	uint32_t turn = nic->net.neigh_turn++ % NEIGH_STRANGERS;
	uint32_t old = nic->net.neigh_strangers[turn];

	if (old) {
		struct neigh *other = &nic->net.neigh[old - 1];

		if (other->stranger && other->turn == turn) {
			fw_timer_cancel(&nic->timers, &other->timer);
			other->stranger = false;
			other->state = NEIGH_FREE;
		}
	}
	nic->net.neigh_strangers[turn] = (uint32_t)(neigh - nic->net.neigh) + 1;
	neigh->turn = (uint16_t)turn;
	neigh->stranger = true;
}

/*
 * A station with an unknown address will want an answer: one request is broadcast. silent: shard 0
 * sends it unless it knows the address, and this shard receives the answer as well. A packet that
 * needs the address does not wait for that: its sender may request ours before each packet.
 */
static void ask_for_stranger(struct fw_nic *nic, uint32_t ip, const uint8_t *from_mac, bool silent)
{
	struct neigh *neigh = neigh_find(nic, ip);

	/* A sender that repeats may cause a repeated request: a frame was lost. */
	if (neigh && is_asked(neigh) && (silent || neigh->tries) &&
	    nic->now_ns - neigh->confirmed_ns < NEIGH_REASK_NS)
		return;
	if (neigh && is_asked(neigh) && !neigh->stranger) {
		ask_again(nic, neigh, from_mac);
		return;
	}
	if ((neigh && neigh->state == NEIGH_REACHABLE) || !may_ask(nic, from_mac))
		return;
	if (!neigh)
		neigh = neigh_take(nic, ip, false);
	if (!neigh)
		return;
	if (!neigh->stranger)
		take_turn(nic, neigh);
	neigh->state = NEIGH_INCOMPLETE;
	neigh->tries = 0;
	neigh->confirmed_ns = nic->now_ns;
	if (silent)
		fw_timer_set(&nic->timers, &neigh->timer, nic->now_ns + NEIGH_RETRY_NS);
	else
		neigh_ask(nic, neigh);
}

/* Another address than the known one was announced: verifies the known one. */
static void conflict(struct fw_nic *nic, struct neigh *neigh)
{
	uint64_t due_ns = neigh->verified_ns + NEIGH_CONFLICT_NS;

	FW_COUNT(nic, arp_conflicts);
	if (is_asked(neigh))
		return;
	neigh->tries = 0;
	neigh->doubted = true;
	/*
	 * The first request goes at once: the answer that was accepted may have been damaged on its
	 * way, and until then packets of the true station do not count. A station that moves
	 * announces it once: the next request is delayed, not dropped.
	 */
	if (neigh->verified_ns && nic->now_ns < due_ns) {
		fw_timer_set(&nic->timers, &neigh->timer, due_ns);
		return;
	}
	neigh_ask(nic, neigh);
}

/* Returns the entry of the next hop if its MAC is known; else requests it, for from_mac. */
static struct neigh *known_hop(struct fw_nic *nic, uint32_t hop, const uint8_t *from_mac)
{
	struct neigh *neigh = neigh_find(nic, hop);

	if (neigh && neigh->state == NEIGH_REACHABLE)
		return neigh;
	ask_for_stranger(nic, hop, from_mac, false);
	return NULL;
}

enum neigh_source neigh_source(struct fw_nic *nic, uint32_t src_ip,
			       const uint8_t mac[WIRE_MAC_BYTES])
{
	struct neigh *neigh;
	uint32_t hop;

	if (src_ip == nic->config.ip)
		return memcmp(mac, nic->config.mac, WIRE_MAC_BYTES) ? NEIGH_SOURCE_WRONG
								    : NEIGH_SOURCE_RIGHT;
	hop = neigh_next_hop(nic, src_ip);
	if (!hop || hop == nic->config.ip)
		return NEIGH_SOURCE_WRONG;
	neigh = known_hop(nic, hop, mac);
	if (!neigh)
		return NEIGH_SOURCE_UNKNOWN;
	if (!memcmp(neigh->mac, mac, WIRE_MAC_BYTES))
		return NEIGH_SOURCE_RIGHT;
	conflict(nic, neigh);
	return NEIGH_SOURCE_WRONG;
}

void neigh_answer(struct fw_nic *nic, uint32_t src_ip, const uint8_t src_mac[WIRE_MAC_BYTES],
		  uint8_t mac[WIRE_MAC_BYTES])
{
	uint32_t hop = neigh_next_hop(nic, src_ip);
	struct neigh *neigh = NULL;

	if (src_ip != nic->config.ip && hop && hop != nic->config.ip)
		neigh = known_hop(nic, hop, src_mac);
	memcpy(mac, neigh ? neigh->mac : src_mac, WIRE_MAC_BYTES);
}

/* Handles a reply to us, or a packet that looks like one. */
static void learn(struct fw_nic *nic, struct neigh *neigh, const uint8_t *mac)
{
	bool same = neigh->state == NEIGH_REACHABLE && !memcmp(neigh->mac, mac, WIRE_MAC_BYTES);

	if (!is_asked(neigh)) {
		if (neigh->state == NEIGH_REACHABLE && !same)
			conflict(nic, neigh);
		return;
	}
	/* While only the known address is being verified, another address is no answer. */
	if (neigh->state == NEIGH_REACHABLE && !same && neigh->tries <= NEIGH_UNICAST_TRIES) {
		conflict(nic, neigh);
		return;
	}
	memcpy(neigh->mac, mac, WIRE_MAC_BYTES);
	neigh->state = NEIGH_REACHABLE;
	neigh->stranger = false;
	neigh->doubted = false;
	neigh->tries = 0;
	neigh->confirmed_ns = nic->now_ns;
	fw_timer_cancel(&nic->timers, &neigh->timer);
	if (!same)
		neigh_resolved(nic, neigh->ip, true);
}

/* Handles any other mention of a station's address. for_us: the station will send to us. */
static void mentioned(struct fw_nic *nic, uint32_t ip, const uint8_t *mac, bool for_us)
{
	struct neigh *neigh = neigh_find(nic, ip);

	if (neigh && neigh->state == NEIGH_REACHABLE) {
		if (memcmp(neigh->mac, mac, WIRE_MAC_BYTES) != 0)
			conflict(nic, neigh);
	} else if (for_us || (neigh && neigh->state == NEIGH_FAILED)) {
		ask_for_stranger(nic, ip, mac, nic->config.shard != 0);
	}
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
	       neigh_net_order(arp->sender_ip) != nic->config.ip;
}

void neigh_rx_arp(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	const struct wire_arp *arp;
	uint32_t sender_ip;
	bool for_us, reply;

	if (frame->seg[0].bytes < ARP_FRAME_BYTES) {
		FW_DROP(nic, drop_arp_malformed);
		return;
	}
	arp = (const struct wire_arp *)(frame->seg[0].data + sizeof(struct wire_eth));
	if (!arp_ok(nic, arp)) {
		FW_DROP(nic, drop_arp_malformed);
		return;
	}
	sender_ip = neigh_net_order(arp->sender_ip);
	for_us = neigh_net_order(arp->target_ip) == nic->config.ip;
	reply = be16_get(arp->op) == WIRE_ARP_REPLY;
	if (reply)
		FW_COUNT(nic, arp_replies_rx);
	else
		FW_COUNT(nic, arp_requests_rx);
	/*
	 * Sender 0 is a probe (RFC 5227 2.1.1): no station's address, answered all the same. Our
	 * own request leaves before our answer, so that the address is known when the station
	 * continues.
	 */
	if (is_on_link(nic, sender_ip) && is_station(nic, sender_ip)) {
		struct neigh *neigh = neigh_find(nic, sender_ip);

		if (!reply || !for_us)
			mentioned(nic, sender_ip, arp->sender_mac, for_us && !reply);
		else if (neigh)
			learn(nic, neigh, arp->sender_mac);
	}
	if (!reply && for_us && nic->config.shard == 0)
		send_arp(nic, WIRE_ARP_REPLY, arp->sender_mac, arp->sender_mac, sender_ip);
}
