/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive windows of all connections as grants: a receiver shares its line among its senders.
 *
 * Congestion windows of many senders do not become equal when they share a queue of few segments:
 * even one segment of each may be more than the queue holds, and a sender whose whole flight is
 * lost waits for a timeout. The receiver knows all its connections, so while several peers have
 * more to send, each window opens by a segment in turn, and what all of them may send is one window
 * of the receiver's, which keeps the last queue short (line_window.c). A segment without PSH shows
 * that its sender has more. One with PSH may only end a message before the next: while others have
 * more to send, it opens no more than a first window.
 *
 * A window that was announced is never withdrawn (RFC 9293 3.8.6): the right edge only waits. A
 * peer that is alone gets a window that grows twice as fast as a congestion window can. Connections
 * beyond the first few begin with less, down to one segment, because all may begin at one moment;
 * their senders begin with a part of it (tcp_tx.c). A window that is not used for a while counts
 * for nothing. Calls tcp_ack_soon().
 *
 * docs/congestion.md "TCP"; RFC 9293 3.8.6; Montazeri et al., "Homa" (SIGCOMM 2018) 3.3.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

enum {
	FREE_FLOWS = 4, /* connections that begin with FIRST_BYTES each */
	FIRST_BYTES =
	    16384,       /* an initial congestion window, rounded up, or two segments: RFC 6928 */
	GROWTH = 2,      /* of the window of a peer that is alone, per byte received */
	REMINDERS = 2,   /* before an unused window counts for nothing */
	LINE_BYTES = 90, /* length of a segment on the line, without its payload */
	/* Connections served at most because of one segment, and in one call of the timer. */
	RUN_SEGMENT = 8,
	RUN_TIMER = 32,
};
#define SILENT_NS UINT64_C(1000000)
#define PATH_NS   UINT64_C(10000000) /* addition of a path at most */
/* After such a silence a peer may begin again with an initial congestion window: RFC 5681 4.1. */
#define BEGIN_NS LINE_WINDOW_ALONE_NS

/* Returns the bytes of a turn: the longest segment, and what the scale of the window rounds off. */
static uint32_t unit(const struct fw_nic *nic)
{
	return nic->config.mtu - (uint32_t)(sizeof(struct wire_ip) + sizeof(struct wire_tcp)) +
	       (1u << TCP_RCV_WSCALE);
}

/* With less than two segments a sender begins with a part of one, and waits (tcp_tx.c). */
static uint32_t first_bytes(const struct fw_nic *nic)
{
	return tcp_max(FIRST_BYTES, 2 * unit(nic));
}

uint32_t tcp_grant_first(const struct fw_nic *nic)
{
	uint64_t flows = nic->tcp.grants.open;
	uint32_t bytes;

	if (nic->config.cc_off)
		return UINT16_MAX;
	if (flows <= FREE_FLOWS)
		return first_bytes(nic);
	/* The sum over any number of connections is little more than one segment of each. */
	bytes = (uint32_t)(first_bytes(nic) * FREE_FLOWS * FREE_FLOWS / (flows * flows));
	return tcp_max(bytes, unit(nic));
}

/* Returns the byte from which unused window counts. Gaps do not delay a peer with SACK. */
static uint32_t used_up_to(const struct tcp_flow *flow)
{
	return flow->flags & TCP_F_SACK ? flow->rcv_high : flow->rcv_nxt;
}

static uint32_t tcp_grant_left(const struct tcp_flow *flow)
{
	uint32_t at = used_up_to(flow);

	return seq_lt(at, flow->rcv_limit) ? flow->rcv_limit - at : 0;
}

/* True if another peer has more to send, or had lately. */
static bool tcp_grant_shared(const struct fw_nic *nic, const struct tcp_flow *flow)
{
	const struct tcp_grants *g = &nic->tcp.grants;

	return g->num_backlogged > (flow->backlogged ? 1u : 0u) ||
	       (g->line.shared_ns && nic->now_ns - g->line.shared_ns < SILENT_NS);
}

/* Returns the window that a flow may have unused. */
static uint32_t tcp_grant_share(const struct fw_nic *nic, const struct tcp_flow *flow)
{
	const struct tcp_grants *g = &nic->tcp.grants;
	uint64_t bytes, most = flow->flags & TCP_F_WSCALE ? TCP_RCV_WINDOW : UINT16_MAX;
	bool shared = tcp_grant_shared(nic, flow);

	if (!flow->backlogged && (shared || g->open > FREE_FLOWS))
		bytes = tcp_grant_first(nic);
	else if (!shared)
		bytes = flow->rcv_alone;
	else
		/* Turns equalize the shares. The bound, in whole segments, would not: two more. */
		bytes = 2 * unit(nic) +
			line_window_part(&g->line, g->num_backlogged, fw_floor_ns(&flow->rcv_path));
	return (uint32_t)(bytes < most ? bytes : most);
}

/*
 * Recounts its unused window that matters, in whole segments: less than one may be what a shorter
 * segment left, which the peer does not use alone.
 */
static void tcp_grant_recount(struct fw_nic *nic, struct tcp_flow *flow, uint32_t share)
{
	struct tcp_grants *g = &nic->tcp.grants;
	uint32_t bytes = 0;

	if (flow->backlogged && tcp_grant_shared(nic, flow))
		bytes = tcp_min(tcp_grant_left(flow), share) / unit(nic) * unit(nic);
	g->out_bytes = g->out_bytes - flow->rcv_out + bytes;
	flow->rcv_out = bytes;
}

/* Starts its time to use its window. With less than a segment it waits for its turn instead. */
static void tcp_grant_watch(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_grants *g = &nic->tcp.grants;

	fw_list_del(&flow->held_node);
	if (!flow->backlogged || tcp_grant_left(flow) < unit(nic))
		return;
	flow->held_ns = nic->now_ns;
	fw_list_add_tail(&g->held, &flow->held_node);
	if (tcp_grant_shared(nic, flow) && !fw_timer_is_set(&g->timer))
		fw_timer_set(&nic->timers, &g->timer, nic->now_ns + SILENT_NS);
}

void tcp_grant_announce(struct fw_nic *nic, struct tcp_flow *flow, uint32_t edge)
{
	/* The header rounds down: an edge below an earlier one takes back nothing. */
	if (!seq_lt(flow->rcv_adv, edge))
		return;
	if (flow->backlogged && !flow->mark_ns && nic->tcp.grants.num_backlogged > 1) {
		flow->mark_ns = nic->now_ns;
		flow->mark = flow->rcv_adv;
	}
	flow->rcv_adv = edge;
}

static void announce_window(struct fw_nic *nic, struct tcp_flow *flow)
{
	flow->flags |= TCP_F_ACK_NOW;
	tcp_ack_soon(nic, flow);
}

/* A peer without SACK counts ACKs that are equal, also in their window: RFC 5681 2. */
static bool counts_acks(const struct tcp_flow *flow)
{
	return !(flow->flags & TCP_F_SACK) && flow->num_blocks;
}

/* Returns the window that was announced and that the peer has not used. */
static uint32_t known_bytes(const struct tcp_flow *flow)
{
	uint32_t at = used_up_to(flow);

	return seq_lt(at, flow->rcv_adv) ? flow->rcv_adv - at : 0;
}

/* Announces the right edge at once if the peer is about to reach the one announced last. */
static void tell_in_time(struct fw_nic *nic, struct tcp_flow *flow, uint32_t share)
{
	uint32_t known = known_bytes(flow);

	if ((known <= share / 2 || known < unit(nic)) &&
	    seq_leq(flow->rcv_adv + (1u << TCP_RCV_WSCALE), flow->rcv_nxt + tcp_rcv_window(flow)))
		announce_window(nic, flow);
}

static void tcp_grant_give(struct fw_nic *nic, struct tcp_flow *flow, uint32_t limit,
			   uint32_t share)
{
	if (!seq_lt(flow->rcv_limit, limit))
		return;
	flow->rcv_limit = limit;
	tcp_grant_recount(nic, flow, share);
	tell_in_time(nic, flow, share);
}

/* A peer that is alone: RFC 9293 counts its window from the next expected byte. */
static void give_alone(struct fw_nic *nic, struct tcp_flow *flow, uint32_t share)
{
	tcp_grant_give(nic, flow, flow->rcv_nxt + share, share);
}

/* Opens windows in turn, while the receiver's window has room: budget flows at most. */
static void tcp_grant_run(struct fw_nic *nic, uint32_t budget)
{
	struct tcp_grants *g = &nic->tcp.grants;
	uint32_t step = unit(nic);

	for (; !fw_list_empty(&g->turn); budget--) {
		struct tcp_flow *flow = FW_CONTAINER(g->turn.next, struct tcp_flow, grant_node);
		uint32_t share = tcp_grant_share(nic, flow);
		bool shared = tcp_grant_shared(nic, flow);

		if (shared && g->out_bytes && g->out_bytes + step > line_window_bytes(&g->line)) {
			g->line.short_of = true;
			return;
		}
		if (!budget) {
			/* The next turn continues. */
			fw_timer_set(&nic->timers, &g->timer, nic->now_ns + 1);
			return;
		}
		fw_list_del(&flow->grant_node);
		if (counts_acks(flow))
			continue;
		if (!shared)
			give_alone(nic, flow, share);
		else if (tcp_grant_left(flow) + step <= share)
			tcp_grant_give(nic, flow, used_up_to(flow) + tcp_grant_left(flow) + step,
				       share);
		tcp_grant_watch(nic, flow);
		if (shared && tcp_grant_left(flow) + step <= share)
			fw_list_add_tail(&g->turn, &flow->grant_node);
	}
}

static void begin_to_ask(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_grants *g = &nic->tcp.grants;

	flow->backlogged = true;
	if (++g->num_backlogged == 2) {
		g->came_bytes = 0;
		if (!fw_timer_is_set(&g->timer))
			fw_timer_set(&nic->timers, &g->timer, nic->now_ns + SILENT_NS);
		line_window_shared(&g->line, nic->now_ns, g->num_backlogged);
	}
	line_window_joined(&g->line);
}

/* The peer has nothing more to send, or does not use its window. */
static void end_to_ask(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_grants *g = &nic->tcp.grants;

	if (!flow->backlogged)
		return;
	flow->backlogged = false;
	flow->reminders = 0;
	g->num_backlogged--;
	g->out_bytes -= flow->rcv_out;
	flow->rcv_out = 0;
	fw_list_del(&flow->grant_node);
	fw_list_del(&flow->held_node);
}

/*
 * Measures the time from the segment that announced a grant to the first byte that needed it.
 * bytes: of a segment.
 */
static void tcp_grant_measure(struct fw_nic *nic, struct tcp_flow *flow, uint32_t bytes)
{
	struct tcp_grants *g = &nic->tcp.grants;
	struct line_sample sample = {.path_ns = fw_floor_ns(&flow->rcv_path),
				     .rtt_ns = nic->now_ns - flow->mark_ns,
				     .pkt_bytes = bytes + LINE_BYTES,
				     .came_bytes = g->came_bytes};

	flow->mark_ns = 0;
	/* A shorter segment is faster, which carries no information about the queue. */
	if (bytes < unit(nic) / 4 * 3 || !sample.rtt_ns || sample.rtt_ns > UINT32_MAX)
		return;
	fw_floor_add(&flow->rcv_path, nic->now_ns, (uint32_t)sample.rtt_ns);
	if (!flow->backlogged || g->num_backlogged < 2)
		return;
	/* Until then the peer's congestion window may be the smaller one. */
	if (flow->rcv_high - flow->rcv_begun < tcp_grant_share(nic, flow))
		line_window_path(&g->line, &sample);
	else
		line_window_sample(&g->line, nic->now_ns, g->num_backlogged, &sample);
	g->came_bytes = 0;
}

/* Handles its turn, after a segment that reported whether more follows. */
static void tcp_grant_settle(struct fw_nic *nic, struct tcp_flow *flow, bool more)
{
	struct tcp_grants *g = &nic->tcp.grants;
	bool begins = more && !flow->backlogged;
	uint32_t share, known;
	bool shared;

	if (!more)
		end_to_ask(nic, flow);
	else if (!flow->backlogged)
		begin_to_ask(nic, flow);
	share = tcp_grant_share(nic, flow);
	shared = tcp_grant_shared(nic, flow);
	tcp_grant_recount(nic, flow, share);
	if (!shared || !flow->backlogged)
		give_alone(nic, flow, share);
	else if (tcp_grant_left(flow) + unit(nic) <= share && !counts_acks(flow) &&
		 !fw_list_linked(&flow->grant_node))
		fw_list_add_tail(&g->turn, &flow->grant_node);
	tell_in_time(nic, flow, share);
	known = known_bytes(flow);
	/*
	 * With less than two segments it has sent a part of one and waits for the ACK (tcp_tx.c).
	 * With less than one it has to wait for its turn, too.
	 */
	if (begins && known >= unit(nic) && known < 2 * unit(nic))
		announce_window(nic, flow);
	flow->reminders = 0;
	tcp_grant_watch(nic, flow);
	if (!fw_list_empty(&g->turn))
		tcp_grant_run(nic, RUN_SEGMENT);
}

/* A silence ends what was measured: the peer did not wait for a window. */
static void note_silence(const struct fw_nic *nic, struct tcp_flow *flow)
{
	if (nic->now_ns - flow->came_ns > BEGIN_NS) {
		flow->rcv_begun = flow->rcv_high;
		flow->mark_ns = 0;
	}
	flow->came_ns = nic->now_ns;
}

void tcp_grant_rx(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in)
{
	bool more = !(in->flags & WIRE_TCP_PSH) || flow->num_blocks;
	uint32_t end = in->seq + in->bytes;

	note_silence(nic, flow);
	/* Bytes beyond the window were not taken. */
	if (seq_lt(flow->rcv_high, end) && seq_leq(end, flow->rcv_limit))
		flow->rcv_high = end;
	if (nic->config.cc_off) {
		flow->rcv_limit = flow->rcv_up + TCP_RCV_WINDOW;
		return;
	}
	if (!tcp_grant_shared(nic, flow)) {
		uint32_t left = flow->rcv_limit - flow->rcv_nxt;

		flow->mark_ns = 0;
		if (flow->rcv_alone < TCP_RCV_WINDOW)
			flow->rcv_alone =
			    tcp_min(flow->rcv_alone + GROWTH * in->bytes, TCP_RCV_WINDOW);
		/* The usual case. */
		if (more == flow->backlogged &&
		    (left >= flow->rcv_alone / 4 * 3 ||
		     left >= tcp_max(tcp_grant_share(nic, flow) / 4 * 3, unit(nic)))) {
			flow->held_ns = nic->now_ns;
			return;
		}
	} else {
		nic->tcp.grants.came_bytes += in->bytes + in->segs * LINE_BYTES;
		if (flow->mark_ns && seq_lt(flow->mark, end))
			tcp_grant_measure(nic, flow, (in->bytes + in->segs - 1) / in->segs);
	}
	tcp_grant_settle(nic, flow, more);
}

/* Returns the time until which a peer may be silent without giving up its window. */
static uint64_t due_ns(const struct tcp_flow *flow)
{
	uint64_t path_ns = 4 * fw_floor_ns(&flow->rcv_path);

	return flow->held_ns + SILENT_NS + (path_ns < PATH_NS ? path_ns : PATH_NS);
}

bool tcp_grant_over(const struct fw_nic *nic, const struct tcp_flow *flow)
{
	if (!flow->backlogged)
		return !fw_list_linked(&flow->grant_node) && !fw_list_linked(&flow->held_node);
	return !tcp_grant_shared(nic, flow) && nic->now_ns >= due_ns(flow);
}

void tcp_grant_rest(struct fw_nic *nic, struct tcp_flow *flow)
{
	end_to_ask(nic, flow);
}

/* Handles connections whose window was opened and whose peers have been silent since. */
void tcp_grant_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct tcp_grants *g = FW_CONTAINER(timer, struct tcp_grants, timer);
	uint32_t budget = RUN_TIMER;

	for (; !fw_list_empty(&g->held); budget--) {
		struct tcp_flow *flow = FW_CONTAINER(g->held.next, struct tcp_flow, held_node);

		if (nic->now_ns < due_ns(flow)) {
			fw_timer_set(&nic->timers, timer, due_ns(flow));
			break;
		}
		if (!budget) {
			fw_timer_set(&nic->timers, timer, nic->now_ns + 1);
			return;
		}
		if (flow->reminders < REMINDERS && tcp_grant_shared(nic, flow)) {
			/* The segment that announced it may be lost. */
			flow->reminders++;
			announce_window(nic, flow);
			tcp_grant_watch(nic, flow);
		} else {
			end_to_ask(nic, flow);
			tcp_rest_ask(nic);
		}
	}
	tcp_grant_run(nic, budget);
}

void tcp_grant_init(struct fw_nic *nic)
{
	struct tcp_grants *g = &nic->tcp.grants;

	fw_list_init(&g->turn);
	fw_list_init(&g->held);
	fw_timer_init(&g->timer, FW_TIMER_TCP_GRANT);
	line_window_init(&g->line);
}

void tcp_grant_open(struct fw_nic *nic, struct tcp_flow *flow)
{
	nic->tcp.grants.open++;
	flow->granted = true;
	flow->rcv_alone = first_bytes(nic);
	flow->rcv_limit = tcp_grant_first(nic);
}

void tcp_grant_begin(struct tcp_flow *flow, uint32_t window)
{
	flow->rcv_high = flow->rcv_nxt;
	flow->rcv_begun = flow->rcv_nxt;
	flow->rcv_limit = flow->rcv_nxt + window;
}

void tcp_grant_close(struct fw_nic *nic, struct tcp_flow *flow)
{
	if (!flow->granted)
		return;
	flow->granted = false;
	nic->tcp.grants.open--;
	end_to_ask(nic, flow);
	if (!fw_list_empty(&nic->tcp.grants.turn))
		tcp_grant_run(nic, RUN_SEGMENT);
}
