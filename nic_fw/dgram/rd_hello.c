/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HELLOs of RD: how a session opens, and which HELLOs are trusted.
 *
 *	initiator			responder
 *	HELLO_SENT  -- HELLO a ------>	no state: a cookie made from addresses, a and the time
 *		   <- CHALLENGE a --
 *		    -- HELLO a, cookie ->	OPEN, not confirmed
 *	OPEN	   <- REPLY b, a ----
 *		    -- data to b ---->	confirmed
 *
 * A HELLO counts only from the MAC that the neighbour table has for its sender's next hop; the
 * answer goes to that MAC. The effect of a HELLO, a new session or an offer on an open one, waits
 * for the cookie, which proves that its sender receives at its address. A HELLO with a new epoch on
 * an open session is answered with a new epoch of ours, and takes effect only when the peer uses
 * that. HELLOs say whether their senders take bundles; an answer says it to peers that did. A peer
 * that does not know the flag drops the HELLO, so every second try has none. Calls rd_session.c,
 * rd_share.c, neigh.c, udp.c. docs/wire-format.md "Opening a session";
 * RFC 4987 3.6, RFC 9147 5.1 (the same by other names).
 */
#include "nic_fw/fw_nic.h"

enum {
	COOKIE_KIND = 4, /* tcp_hash.c and tcp_listen.c have others */
};

/* ---- out ------------------------------------------------------------------------------------- */

/* HELLO is the one packet that may be sent without a session; mac: the neighbour table's. */
static void rd_hello_transmit(struct fw_nic *nic, uint32_t ip, uint8_t shard, const uint8_t *mac,
			      const struct wire_rd_hello *hello)
{
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	struct wire_dgram dgram = {
	    .ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD_HELLO,
	};
	uint32_t bytes = sizeof(dgram) + sizeof(*hello);

	if (!frame)
		return;
	udp_tx_header(nic, frame, ip, mac, shard, bytes + WIRE_DGRAM_CRC_BYTES);
	memcpy(frame->hdr + UDP_TX_HDR_BYTES, &dgram, sizeof(dgram));
	memcpy(frame->hdr + UDP_TX_HDR_BYTES + sizeof(dgram), hello, sizeof(*hello));
	eth_tx_headers(frame, IP_TX_HDR_BYTES, sizeof(struct wire_udp) + bytes,
		       FW_TX_F_CRC_BEGIN | FW_TX_F_CRC_END);
	frame->flags |= FW_TX_F_CONTROL;
	eth_tx_commit(nic, frame);
}

static void rd_hello_tx_session(struct fw_nic *nic, struct rd_session *s, uint32_t epoch,
				uint32_t peer_epoch, uint32_t psn, uint8_t flags)
{
	struct wire_rd_hello hello = {
	    .epoch = be32_put(epoch),
	    .peer_epoch = be32_put(peer_epoch),
	    .first_psn = be32_put(psn),
	    .mtu = be16_put(nic->config.mtu),
	    .flags = flags,
	    .cookie = be64_put(flags & WIRE_RD_HELLO_REPLY ? 0 : s->cookie),
	};

	rd_session_fresh_mac(nic, s);
	rd_hello_transmit(nic, s->peer_ip, s->peer_shard, s->peer_mac, &hello);
}

void rd_hello_repeat(struct fw_nic *nic, struct rd_session *s)
{
	bool bundle = nic->config.bundle && s->hello_tries % 2 == 0;

	rd_hello_tx_session(nic, s, s->epoch, 0, s->tx_psn, bundle ? WIRE_RD_HELLO_BUNDLE : 0);
}

/* Returns the flags of an answer; bundle: one of the peer's HELLOs had that flag. */
static uint8_t reply_flags(bool bundle)
{
	return WIRE_RD_HELLO_REPLY | (bundle ? WIRE_RD_HELLO_BUNDLE : 0);
}

static bool takes_bundles(const struct fw_nic *nic, const struct wire_rd_hello *hello)
{
	return nic->config.bundle && hello->flags & WIRE_RD_HELLO_BUNDLE;
}

void rd_hello_tx(struct fw_nic *nic, struct rd_session *s)
{
	s->hello_ns = nic->now_ns;
	rd_hello_repeat(nic, s);
}

/* ---- its sender ----------------------------------------------------------------------------- */

static const uint8_t *src_mac(const struct rdmap_seg *pkt)
{
	const struct wire_eth *eth = (const void *)pkt->frame->seg[0].data;

	return eth->src;
}

/* True if it came from the MAC of its sender's next hop; replies go to that MAC. */
static bool is_from_neighbour(struct fw_nic *nic, const struct rdmap_seg *pkt,
			      const struct rd_session *s)
{
	switch (neigh_source(nic, pkt->src_ip, src_mac(pkt))) {
	case NEIGH_SOURCE_RIGHT:
		return true;
	case NEIGH_SOURCE_WRONG:
		return false;
	case NEIGH_SOURCE_UNKNOWN:
		break;
	}
	/* The neighbour table may have evicted the entry: the session still has its MAC. */
	return s && (s->state == RD_OPEN || s->state == RD_HELLO_SENT) &&
	       !memcmp(s->peer_mac, src_mac(pkt), WIRE_MAC_BYTES);
}

void rd_hello_tx_reset(struct fw_nic *nic, const struct rdmap_seg *pkt, uint32_t epoch)
{
	const struct rd_session *s = rd_session_find(nic, pkt->src_ip, pkt->src_shard);
	uint64_t quiet_ns = nic->now_ns - (s ? s->epoch_ns : nic->start_ns);
	struct wire_rd_hello hello = {.peer_epoch = be32_put(epoch)};

	if (!is_from_neighbour(nic, pkt, s))
		return;
	/* An unknown session may have been evicted after an idle time this long. */
	if (!s && quiet_ns > RD_EVICT_IDLE_NS)
		quiet_ns = RD_EVICT_IDLE_NS;
	quiet_ns /= RD_QUIET_UNIT_NS;
	hello.first_psn = be32_put(quiet_ns < UINT32_MAX ? (uint32_t)quiet_ns : UINT32_MAX);
	rd_hello_transmit(nic, pkt->src_ip, pkt->src_shard, src_mac(pkt), &hello);
}

/* ---- cookies --------------------------------------------------------------------------------- */

/* Returns the hash of the addresses, the opening epoch, and the time in steps; never 0. */
static uint64_t rd_hello_cookie_of(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard,
				   uint32_t epoch, uint64_t period)
{
	uint64_t c = fw_keyed(nic, (uint64_t)peer_ip << 32 | nic->config.ip,
			      (uint64_t)peer_shard << 16 | nic->config.shard,
			      (uint64_t)epoch << 32 | (period & 0xffffff) << 8 | COOKIE_KIND);

	return c ? c : 1;
}

uint64_t rd_hello_cookie(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard, uint32_t epoch)
{
	return rd_hello_cookie_of(nic, peer_ip, peer_shard, epoch, nic->now_ns / RD_COOKIE_NS);
}

static bool has_cookie(struct fw_nic *nic, const struct rdmap_seg *pkt,
		       const struct wire_rd_hello *hello)
{
	uint64_t period = nic->now_ns / RD_COOKIE_NS, given = be64_get(hello->cookie);
	uint32_t epoch = be32_get(hello->epoch);

	if (!given)
		return false;
	return given == rd_hello_cookie_of(nic, pkt->src_ip, pkt->src_shard, epoch, period) ||
	       (period &&
		given == rd_hello_cookie_of(nic, pkt->src_ip, pkt->src_shard, epoch, period - 1));
}

/* It is no longer than the HELLO that it answers, and no state is kept. */
static void challenge(struct fw_nic *nic, const struct rdmap_seg *pkt, uint32_t epoch)
{
	const struct wire_rd_hello hello = {
	    .peer_epoch = be32_put(epoch),
	    .flags = WIRE_RD_HELLO_CHALLENGE,
	    .cookie = be64_put(rd_hello_cookie(nic, pkt->src_ip, pkt->src_shard, epoch)),
	};

	FW_COUNT(nic, rd_challenges_tx);
	rd_hello_transmit(nic, pkt->src_ip, pkt->src_shard, src_mac(pkt), &hello);
}

/* ---- in -------------------------------------------------------------------------------------- */

/* Repeats the HELLO at once, with the cookie; a repeated challenge changes nothing. */
static void rx_challenge(struct fw_nic *nic, struct rd_session *s,
			 const struct wire_rd_hello *hello)
{
	uint64_t given = be64_get(hello->cookie);

	if (!s || s->state != RD_HELLO_SENT || be32_get(hello->peer_epoch) != s->epoch ||
	    given == s->cookie)
		return;
	FW_COUNT(nic, rd_challenges_rx);
	s->cookie = given;
	rd_hello_tx(nic, s);
}

static void rd_hello_rx_reply(struct fw_nic *nic, struct rd_session *s,
			      const struct wire_rd_hello *hello)
{
	if (!s || be32_get(hello->peer_epoch) != s->epoch)
		return;
	if (s->state == RD_HELLO_SENT) {
		rd_session_adopt(nic, s, be32_get(hello->epoch), be32_get(hello->first_psn),
				 be16_get(hello->mtu), takes_bundles(nic, hello));
		/*
		 * This round trip included no queue of this end's own. Where the HELLO was
		 * repeated it is the longest that may be, since the first may have been lost, and
		 * samples correct it.
		 */
		s->path_ns = (uint32_t)(nic->now_ns - s->hello_ns);
	}
	/*
	 * The session is open already if both ends began at once: the reply then names both epochs.
	 */
	if (s->state == RD_OPEN && !s->confirmed && be32_get(hello->epoch) == s->peer_epoch)
		rd_session_confirm(nic, s);
}

/* Handles a HELLO on an open session that names an unknown epoch. */
static void offer(struct fw_nic *nic, struct rd_session *s, const struct wire_rd_hello *hello)
{
	uint32_t peer_epoch = be32_get(hello->epoch);

	if (!s->pend || s->pend_peer_epoch != peer_epoch) {
		s->pend = true;
		s->pend_epoch = rd_session_new_epoch(nic);
		s->pend_peer_epoch = peer_epoch;
		s->pend_psn = be32_get(hello->first_psn);
		s->pend_ns = nic->now_ns;
		s->pend_mtu = be16_get(hello->mtu);
		s->pend_bundle = false;
		s->pend_tx_psn = (uint32_t)nic->port.random64(nic->port.ctx);
	}
	s->pend_bundle |= takes_bundles(nic, hello);
	rd_hello_tx_session(nic, s, s->pend_epoch, peer_epoch, s->pend_tx_psn,
			    reply_flags(s->pend_bundle));
}

/* Makes or opens the session of a HELLO with a cookie. NULL: there is no room for one. */
static struct rd_session *open_session(struct fw_nic *nic, const struct rdmap_seg *pkt,
				       struct rd_session *s, const struct wire_rd_hello *hello)
{
	bool fresh = !s;

	if (fresh) {
		if (!rd_share_room(nic, src_mac(pkt))) {
			FW_DROP(nic, drop_rd_share);
			return NULL;
		}
		s = rd_session_get(nic, pkt->src_ip, pkt->src_shard);
	}
	if (!s) {
		FW_DROP(nic, drop_rd_no_memory);
		return NULL;
	}
	memcpy(s->peer_mac, src_mac(pkt), WIRE_MAC_BYTES);
	rd_session_adopt(nic, s, be32_get(hello->epoch), be32_get(hello->first_psn),
			 be16_get(hello->mtu), takes_bundles(nic, hello));
	if (fresh)
		rd_share_take(nic, s, src_mac(pkt));
	if (!fw_list_empty(&s->all_flows))
		rd_session_ask(nic, s);
	return s;
}

static void rx_open(struct fw_nic *nic, const struct rdmap_seg *pkt, struct rd_session *s,
		    const struct wire_rd_hello *hello)
{
	uint32_t epoch = be32_get(hello->epoch);
	bool known = s && s->state == RD_OPEN &&
		     (s->peer_epoch == epoch || (s->pend && s->pend_peer_epoch == epoch));
	bool fresh = !s;

	if (!known && !has_cookie(nic, pkt, hello)) {
		challenge(nic, pkt, epoch);
		return;
	}
	if (s && s->state == RD_OPEN && s->peer_epoch != epoch) {
		offer(nic, s, hello);
		return;
	}
	if (!known)
		s = open_session(nic, pkt, s, hello);
	if (!s)
		return;
	s->bundle |= takes_bundles(nic, hello);
	rd_hello_tx_session(nic, s, s->epoch, s->peer_epoch, s->first_psn, reply_flags(s->bundle));
	if (fresh)
		rd_grant_first(nic, s);
}

void rd_hello_rx(struct fw_nic *nic, const struct rdmap_seg *pkt, const struct wire_rd_hello *hello)
{
	struct rd_session *s = rd_session_find(nic, pkt->src_ip, pkt->src_shard);
	bool opens = be32_get(hello->epoch) != 0;

	if ((opens &&
	     (be16_get(hello->mtu) < HW_MIN_MTU || hello->flags & WIRE_RD_HELLO_CHALLENGE)) ||
	    (!opens && hello->flags & WIRE_RD_HELLO_REPLY)) {
		FW_DROP(nic, drop_rd_malformed);
		return;
	}
	if (!is_from_neighbour(nic, pkt, s)) {
		FW_DROP(nic, drop_rd_neigh);
		return;
	}
	if (hello->flags & WIRE_RD_HELLO_CHALLENGE)
		rx_challenge(nic, s, hello);
	else if (hello->flags & WIRE_RD_HELLO_REPLY)
		rd_hello_rx_reply(nic, s, hello);
	else if (opens)
		rx_open(nic, pkt, s, hello);
	else if (s)
		rd_session_reset(nic, s, be32_get(hello->peer_epoch), be32_get(hello->first_psn));
}
