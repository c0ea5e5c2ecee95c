/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants of RD: a receiver shares its line among its senders.
 *
 * Windows that each sender adjusts by its own delay do not become equal when they share a queue of
 * few packets. The receiver knows all its senders, so it grants each a number of packets: every
 * header has the number of credits that its sender has used and the number that its peer was
 * granted. While only one peer has more to send, it gets as many as its own window may need. Among
 * several each gets a packet's worth in turn, and all outstanding credits together are one window
 * of the receiver's, which keeps the last queue short (line_window.c); the sender's window handles
 * other queues (rd_cong.c).
 *
 * The contents of a header are only the peer's claim. A packet beyond the grant is dropped. Credits
 * that are not used for a while are announced again, then given to others. A peer that kept them is
 * in doubt, and its credits delay no other peer until it has sent enough. Credits that it claims to
 * have used without a packet were lost, or are a lie: it gets no replacements before they are void.
 * A feigned length of its path or its packets gets it more credits at a time, and hardly more
 * turns. Calls rd_ack.c.
 *
 * docs/congestion.md "Grants"; Montazeri et al., "Homa" (SIGCOMM 2018) 3.3; Kumar et al., "Swift"
 * (SIGCOMM 2020) 3.1.
 */
#include "nic_fw/fw_nic.h"

enum {
	GRANT_TURN = 8,                        /* credits at most in one turn, of small packets */
	GRANT_STOCK = 256,                     /* credits of all idle sessions together */
	GRANT_STOCK_PKTS = RD_CREDIT_IDLE + 2, /* and of one of them */
	GRANT_ALONE_PKTS = 16, /* for a peer that becomes backlogged alone; each packet adds one */
	GRANT_SAMPLE = 4,      /* one of so many packets of a peer that is alone is measured */
	GRANT_REMINDERS = 2,   /* before unused credits are taken back */
	GRANT_HDR_BYTES = 126, /* length of a packet on the line, without its DDP segment */
	GRANT_LENGTHS = 64,    /* packets after which an old length has little weight */
	GRANT_DOUBT_MIN = 8,   /* packets of data that a peer must send until it is trusted again */
	GRANT_FIRST = 8,       /* probes with first credits at most in GRANT_FIRST_NS */
	/* Sessions served at most because of one header, and in one call of the timer. */
	GRANT_RUN_HEADER = 8,
	GRANT_RUN_TIMER = 32,
};
#define GRANT_OLD_NS    UINT64_C(1000000000) /* age up to which timestamps of 32 bits are ordered */
#define GRANT_FIRST_NS  UINT64_C(10000000)
#define GRANT_SILENT_NS UINT64_C(1000000)
#define GRANT_VOID_NS   UINT64_C(200000)   /* and a round trip: no packet comes later than this */
#define GRANT_PATH_NS   UINT64_C(10000000) /* addition of a path at most */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t left(const struct rd_session *s)
{
	return s->rx_limit - s->rx_used;
}

/* Returns the credits that the peer claims to have used and whose packets have not come. */
static uint32_t missing(const struct rd_session *s)
{
	uint32_t come = s->rx_taken + s->rx_here;

	return seq_lt(come, s->rx_used) ? s->rx_used - come : 0;
}

static uint64_t path_wait_ns(const struct rd_session *s)
{
	return least(4 * fw_floor_ns(&s->rx_path), GRANT_PATH_NS);
}

static uint64_t void_wait_ns(const struct rd_session *s)
{
	return GRANT_VOID_NS + least(fw_floor_ns(&s->rx_path), GRANT_PATH_NS);
}

/* True if another peer has more to send. */
static bool is_shared(const struct rd_grants *g, const struct rd_session *s)
{
	return g->num_backlogged > (s->backlogged ? 1u : 0u);
}

/*
 * Returns the credits that a session may have unused: for an asking one its part of the window,
 * with the length of its path and the queue. Turns equalize the shares. The bound, in whole
 * packets, would not, so it has two packets more.
 */
static uint32_t rd_grant_share_of(const struct rd_grants *g, const struct rd_session *s)
{
	uint64_t bytes;

	if (!s->backlogged) {
		uint32_t stock = GRANT_STOCK / (g->open + 1);

		if (stock > GRANT_STOCK_PKTS)
			return GRANT_STOCK_PKTS;
		return stock ? stock : 1;
	}
	if (!is_shared(g, s))
		return s->rx_alone;
	bytes = line_window_part(&g->line, g->num_backlogged, fw_floor_ns(&s->rx_path));
	return (uint32_t)least(2 + bytes / s->rx_pkt_bytes, RD_CREDIT_MAX);
}

/*
 * Recounts its unused credits that matter: no more than its share, even if it had more when alone.
 * Credits of a session in doubt do not matter: they take nothing from the shares of others.
 */
static void recount(struct rd_grants *g, struct rd_session *s, uint32_t share)
{
	uint32_t bytes = 0;

	if (s->backlogged && is_shared(g, s) && !s->rx_doubt)
		bytes = (left(s) < share ? left(s) : share) * s->rx_pkt_bytes;
	g->out_bytes = g->out_bytes - s->rx_out_bytes + bytes;
	s->rx_out_bytes = bytes;
}

static void watch_held(struct fw_nic *nic)
{
	struct rd_grants *g = &nic->rd.grants;

	if (!fw_timer_is_set(&g->timer))
		fw_timer_set(&nic->timers, &g->timer, nic->now_ns + GRANT_SILENT_NS);
}

/*
 * Starts its time to use its credits. A peer that is backlogged alone has unlimited time, until
 * another peer becomes backlogged, which may wait for those credits.
 */
static void watch(struct fw_nic *nic, struct rd_session *s)
{
	struct rd_grants *g = &nic->rd.grants;

	fw_list_del(&s->held_node);
	if (!s->backlogged || (!left(s) && !missing(s)))
		return;
	s->held_ns = nic->now_ns;
	fw_list_add_tail(&g->held, &s->held_node);
	if (is_shared(g, s))
		watch_held(nic);
}

static void turn_add(struct rd_grants *g, struct rd_session *s)
{
	if (!fw_list_linked(&s->grant_node))
		fw_list_add_tail(&g->turn, &s->grant_node);
}

/* Announces its limit at once if it is about to run out; otherwise the next packet to it does. */
static void rd_grant_announce(struct fw_nic *nic, struct rd_session *s, uint32_t share)
{
	if (s->rx_announced - s->rx_used > share / 2)
		return;
	s->grant_due = true;
	rd_ack_due(nic, s);
}

static void rd_grant_give(struct fw_nic *nic, struct rd_session *s, uint32_t credits,
			  uint32_t share)
{
	s->rx_limit += credits;
	recount(&nic->rd.grants, s, share);
	rd_grant_announce(nic, s, share);
}

/* More is to be done than one turn may do: the next one continues. */
static void rd_grant_run_later(struct fw_nic *nic)
{
	fw_timer_set(&nic->timers, &nic->rd.grants.timer, nic->now_ns + 1);
}

/*
 * Gives each session a packet's worth in turn, while the window has room: budget sessions at most,
 * the others in later turns.
 */
static void rd_grant_run(struct fw_nic *nic, uint32_t budget)
{
	struct rd_grants *g = &nic->rd.grants;

	for (; !fw_list_empty(&g->turn); budget--) {
		struct rd_session *s = FW_CONTAINER(g->turn.next, struct rd_session, grant_node);
		uint32_t share = rd_grant_share_of(g, s);
		uint32_t credits = nic->config.mtu / s->rx_pkt_bytes;

		if (is_shared(g, s) && g->out_bytes &&
		    g->out_bytes + s->rx_pkt_bytes > line_window_bytes(&g->line)) {
			g->line.short_of = true;
			return;
		}
		if (!budget) {
			rd_grant_run_later(nic);
			return;
		}
		fw_list_del(&s->grant_node);
		if (left(s) + (is_shared(g, s) ? missing(s) : 0) >= share)
			continue;
		if (credits > GRANT_TURN)
			credits = GRANT_TURN;
		if (!credits)
			credits = 1;
		/* The stock of an idle session counts in no window, so it needs no turns. */
		if (credits > share - left(s) || !is_shared(g, s) || !s->backlogged)
			credits = share - left(s);
		rd_grant_give(nic, s, credits, share);
		watch(nic, s);
		if (left(s) < share)
			fw_list_add_tail(&g->turn, &s->grant_node);
	}
}

/* The peer has nothing more to send, or does not use its credits. */
static void stop_asking(struct fw_nic *nic, struct rd_session *s)
{
	struct rd_grants *g = &nic->rd.grants;

	if (!s->backlogged)
		return;
	s->backlogged = false;
	g->num_backlogged--;
	g->out_bytes -= s->rx_out_bytes;
	s->rx_out_bytes = 0;
	fw_list_del(&s->grant_node);
	fw_list_del(&s->held_node);
}

/*
 * Measures the time from our last header to the packet that answers it, or to a run of packets,
 * less the peer's own delay.
 */
static void rd_grant_measure(struct fw_nic *nic, struct rd_session *s, uint32_t rtt_ns)
{
	struct rd_grants *g = &nic->rd.grants;
	const struct line_sample sample = {.path_ns = fw_floor_ns(&s->rx_path),
					   .rtt_ns = rtt_ns,
					   .pkt_bytes = s->rx_pkt_bytes,
					   .came_bytes = s->rx_here * s->rx_pkt_bytes,
					   .every = true};

	fw_floor_add(&s->rx_path, nic->now_ns, rtt_ns);
	if (s->backlogged && is_shared(g, s))
		line_window_sample(&g->line, nic->now_ns, g->num_backlogged, &sample);
}

/* Notes the length of a data packet, and its time. */
static void rd_grant_data(struct fw_nic *nic, struct rd_session *s, bool shared, uint32_t bytes,
			  uint32_t echo)
{
	uint32_t rtt_ns;

	if (bytes > s->rx_pkt_bytes)
		s->rx_pkt_bytes = bytes;
	else if (bytes < s->rx_pkt_bytes)
		s->rx_pkt_bytes -= (s->rx_pkt_bytes - bytes) / GRANT_LENGTHS;
	/* A shorter packet is faster, which carries no information about the queue. */
	if (bytes < s->rx_pkt_bytes / 4 * 3)
		return;
	/* Some packets suffice to measure the path: a run may have one that is not its last. */
	if (!shared && s->rx_used % GRANT_SAMPLE >= s->rx_here)
		return;
	rtt_ns = rd_ack_rtt_ns(nic, echo);
	if (rtt_ns)
		rd_grant_measure(nic, s, rtt_ns);
}

/* The first session that shares with another starts afresh: the line's capacity is unknown. */
static void begin_asking(struct fw_nic *nic, struct rd_session *s)
{
	struct rd_grants *g = &nic->rd.grants;

	s->backlogged = true;
	if (nic->now_ns - s->rx_data.ns > GRANT_SILENT_NS)
		s->rx_alone = GRANT_ALONE_PKTS;
	if (++g->num_backlogged == 2) {
		watch_held(nic);
		line_window_shared(&g->line, nic->now_ns, g->num_backlogged);
	}
	line_window_joined(&g->line);
}

/* The credits that were reported as used and whose packets have not come will be void. */
static void note_missing(struct fw_nic *nic, struct rd_session *s)
{
	s->rx_void = (uint8_t)missing(s);
	s->rx_void_used = s->rx_used - s->rx_here;
	s->rx_void_ns = nic->now_ns;
}

/*
 * A packet that has not come a while after a header reported it as sent is void, and may not be
 * sent later. Runs before the credits of a new header are taken, because a header may overtake
 * data.
 */
static void void_missing(struct fw_nic *nic, struct rd_session *s)
{
	uint64_t age_ns = nic->now_ns - s->rx_void_ns;
	uint64_t wait_ns = void_wait_ns(s);

	if (!s->rx_void && !missing(s))
		return;
	if (s->rx_void && age_ns < wait_ns)
		return;
	/* No header came for a wait, so all reports are old. */
	s->rx_taken +=
	    s->rx_void && age_ns >= 2 * wait_ns ? missing(s) : least(s->rx_void, missing(s));
	note_missing(nic, s);
}

/*
 * Returns how many of the packets being handled are among the credits that will be void. The first
 * one's number is in its header, modulo 256.
 */
static uint8_t are_late(const struct rd_session *s, uint8_t used)
{
	uint32_t late = (uint8_t)(s->rx_void_used + 1 - used);

	return late > RD_CREDIT_MAX ? 0 : (uint8_t)least(late, s->rx_here);
}

/* Takes the number of used credits, modulo 256: the largest of one turn's headers. */
static void take_used(struct rd_session *s, uint8_t ahead, bool first)
{
	if (ahead <= RD_CREDIT_MAX)
		s->rx_used += ahead < left(s) ? ahead : left(s);
	else if (first)
		s->rx_used -= 256u - ahead;
	if (left(s) > RD_CREDIT_MAX)
		s->rx_limit = s->rx_used + RD_CREDIT_MAX;
	/* These may still be in flight, or come late; others were lost, or never sent. */
	if (seq_lt(s->rx_taken, s->rx_used - RD_CREDIT_MAX))
		s->rx_taken = s->rx_used - RD_CREDIT_MAX;
}

/* Takes the credits of the latest header, whatever the earlier ones contained. */
static void take_credits(struct fw_nic *nic, struct rd_session *s, const struct wire_rd *rd)
{
	uint32_t timestamp = be32_get(rd->timestamp);
	uint8_t ahead = (uint8_t)(rd->used + (s->rx_here ? s->rx_here - 1 : 0) - s->rx_used);
	bool old = nic->now_ns - s->heard_ns > GRANT_OLD_NS;
	bool first = old || timestamp != s->heard_timestamp;

	if (!old && seq_lt(timestamp, s->heard_timestamp))
		return;
	s->heard_timestamp = timestamp;
	s->heard_ns = nic->now_ns;
	if (ahead)
		take_used(s, ahead, first);
	/* Headers of one turn have one timestamp: the largest grant is valid. */
	if (s->credit_limit == rd->limit ||
	    (!first && !rd_credit_beyond(rd->limit, s->credit_limit)))
		return;
	s->credit_limit = rd->limit;
	s->credit_probes = 0;
	if (s->lost || !fw_list_empty(&s->flows))
		rd_session_ready(nic, s);
}

/* True in the usual case: a peer that is alone, and has enough credits, needs no check. */
static bool has_enough(const struct rd_session *s, bool more)
{
	if (more != s->backlogged)
		return false;
	return more ? left(s) >= s->rx_alone - s->rx_alone / 4u && fw_list_linked(&s->held_node)
		    : left(s) >= RD_CREDIT_IDLE;
}

/* Handles its turn, after a header that reported whether it has more, and maybe used credits. */
static void rd_grant_settle(struct fw_nic *nic, struct rd_session *s, bool more, bool has_used)
{
	struct rd_grants *g = &nic->rd.grants;
	uint32_t share;

	if (!more)
		stop_asking(nic, s);
	else if (!s->backlogged)
		begin_asking(nic, s);
	share = rd_grant_share_of(g, s);
	recount(g, s, share);
	if (left(s) < share) {
		if (is_shared(g, s))
			turn_add(g, s);
		else
			rd_grant_give(nic, s, share - left(s), share);
	}
	/* Headers without used credits gain the peer no time. */
	if (has_used)
		s->reminders = 0;
	if (has_used || !fw_list_linked(&s->held_node))
		watch(nic, s);
	if (!fw_list_empty(&g->turn))
		rd_grant_run(nic, GRANT_RUN_HEADER);
}

/*
 * After a silence no packet is under way: credits that the first one reports as used were given up
 * by an idle peer, which kept RD_CREDIT_IDLE (rd_grant_idle()). Packets that left with it, and that
 * it has overtaken, used some of those.
 */
static void void_given_up(struct fw_nic *nic, struct rd_session *s)
{
	uint32_t kept = left(s) + s->rx_here, taken = s->rx_used - s->rx_here;

	if (kept < RD_CREDIT_IDLE)
		taken -= RD_CREDIT_IDLE - kept;
	if (!seq_lt(s->rx_taken, taken))
		return;
	s->rx_taken = taken;
	note_missing(nic, s);
}

void rd_grant_rx(struct fw_nic *nic, struct rd_session *s, const struct rdmap_seg *pkt,
		 const struct wire_rd *rd, uint32_t packets)
{
	bool bundle = pkt->hdr->type == WIRE_DGRAM_RD_BUNDLE;
	uint32_t bytes = pkt->data_bytes + GRANT_HDR_BYTES;
	bool more = pkt->flags & WIRE_DGRAM_F_MORE, shared = is_shared(&nic->rd.grants, s);
	uint32_t used = s->rx_used;

	/* Losses of a peer that is alone delay no other. */
	if (shared)
		void_missing(nic, s);
	s->rx_here = (uint8_t)packets;
	take_credits(nic, s, rd);
	if (s->rx_here && missing(s) && nic->now_ns - s->rx_data.ns >= void_wait_ns(s))
		void_given_up(nic, s);
	s->rx_late = s->rx_void ? are_late(s, rd->used) : 0;
	if (s->rx_here)
		rd_grant_data(nic, s, shared, bundle ? bytes / packets : bytes,
			      be32_get(rd->timestamp_echo));
	if (nic->config.cc_off) {
		s->rx_limit = s->rx_used + RD_CREDIT_MAX;
	} else {
		used = s->rx_used - used;
		/* One for each packet that has come. */
		if (used && s->rx_alone < RD_CREDIT_MAX && !shared)
			s->rx_alone = (uint8_t)least(s->rx_alone + (s->rx_here ? s->rx_here : 1u),
						     RD_CREDIT_MAX);
		if (shared || !has_enough(s, more))
			rd_grant_settle(nic, s, more, used);
	}
	s->rx_here = 0;
}

void rd_grant_taken(struct rd_session *s, uint32_t packets)
{
	s->rx_taken += packets;
	s->rx_void -= (uint8_t)least(s->rx_void, least(s->rx_late, packets));
	s->rx_doubt -= (uint8_t)least(s->rx_doubt, packets);
}

/* Handles sessions that got credits and have been silent since. */
void rd_grant_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct rd_grants *g = FW_CONTAINER(timer, struct rd_grants, timer);
	uint32_t budget = GRANT_RUN_TIMER;

	for (; !fw_list_empty(&g->held); budget--) {
		struct rd_session *s = FW_CONTAINER(g->held.next, struct rd_session, held_node);
		uint64_t due_ns = s->held_ns + GRANT_SILENT_NS + path_wait_ns(s);

		if (!is_shared(g, s)) {
			/* The other peers have ended: it may use their part. */
			recount(g, s, 0);
			turn_add(g, s);
			break;
		}
		if (nic->now_ns < due_ns) {
			fw_timer_set(&nic->timers, timer, due_ns);
			break;
		}
		if (!budget) {
			rd_grant_run_later(nic);
			return;
		}
		void_missing(nic, s);
		if (!left(s)) {
			/*
			 * No packet came that would have revealed void credits: it gets its turn.
			 */
			watch(nic, s);
			turn_add(g, s);
			continue;
		}
		if (s->reminders < GRANT_REMINDERS) {
			s->reminders++;
			s->grant_due = true;
			rd_ack_due(nic, s);
			watch(nic, s);
		} else {
			FW_COUNT(nic, rd_grants_expired);
			s->reminders = 0;
			s->rx_doubt = (uint8_t)least(2 * s->rx_doubt + GRANT_DOUBT_MIN, UINT8_MAX);
			stop_asking(nic, s);
		}
	}
	rd_grant_run(nic, budget);
}

void rd_grant_init(struct fw_nic *nic)
{
	struct rd_grants *g = &nic->rd.grants;

	fw_list_init(&g->turn);
	fw_list_init(&g->held);
	fw_timer_init(&g->timer, FW_TIMER_RD_GRANT);
	line_window_init(&g->line);
}

void rd_grant_open(struct fw_nic *nic, struct rd_session *s)
{
	nic->rd.grants.open++;
	s->credit_used = 0;
	s->credit_limit = RD_CREDIT_FIRST;
	s->credit_probes = 0;
	s->heard_ns = nic->now_ns - GRANT_OLD_NS - 1;
	s->rx_used = 0;
	s->rx_limit = RD_CREDIT_FIRST;
	s->rx_announced = RD_CREDIT_FIRST;
	s->rx_taken = 0;
	s->rx_void_used = 0;
	s->rx_void = 0;
	s->rx_here = 0;
	s->rx_late = 0;
	s->rx_void_ns = nic->now_ns;
	s->rx_pkt_bytes = GRANT_HDR_BYTES;
	memset(&s->rx_path, 0, sizeof(s->rx_path));
	s->rx_alone = GRANT_ALONE_PKTS;
	s->rx_doubt = 0;
	s->reminders = 0;
	s->grant_due = false;
}

/* Counts a probe; false if too many were sent lately: a HELLO that comes again must gain few. */
static bool may_probe_first(struct fw_nic *nic)
{
	struct rd_grants *g = &nic->rd.grants;

	if (nic->now_ns - g->first_ns > GRANT_FIRST_NS) {
		g->first_ns = nic->now_ns;
		g->first_probes = 0;
	}
	if (g->first_probes == GRANT_FIRST)
		return false;
	g->first_probes++;
	return true;
}

/*
 * A probe brings the credits, because the reply to a HELLO has none, and before the peer has used
 * this epoch it may get nothing else. The first packets then echo a timestamp, which measures the
 * path a round trip sooner. When many begin, the buffer of a switch has no room for more packets.
 */
void rd_grant_first(struct fw_nic *nic, struct rd_session *s)
{
	const struct rd_grants *g = &nic->rd.grants;
	uint32_t credits = LINE_WINDOW_START_BYTES / nic->config.mtu;

	credits /= nic->rd.num_half_open + g->num_backlogged + 1;
	credits = (uint32_t)least(credits, rd_grant_share_of(g, s));
	if (credits > RD_CREDIT_IDLE)
		credits = RD_CREDIT_IDLE;
	if (credits <= RD_CREDIT_FIRST || !may_probe_first(nic))
		return;
	s->rx_limit = credits;
	rd_tx_probe(nic, s);
}

void rd_grant_close(struct fw_nic *nic, struct rd_session *s)
{
	nic->rd.grants.open--;
	stop_asking(nic, s);
	fw_list_del(&s->grant_node);
	if (!fw_list_empty(&nic->rd.grants.turn))
		rd_grant_run(nic, GRANT_RUN_HEADER);
}

void rd_grant_idle(struct rd_session *s)
{
	uint8_t credits = (uint8_t)(s->credit_limit - s->credit_used);

	/* The other credits, which it does not use, count as used. */
	if (rd_has_credit(s) && credits > RD_CREDIT_IDLE)
		s->credit_used = (uint8_t)(s->credit_limit - RD_CREDIT_IDLE);
}
