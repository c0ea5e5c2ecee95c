/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worlds of tests/sim/tcp_*_ut.c; see tcp_fix.h.
 */
#include "tests/sim/tcp_fix.h"

enum {
	PATTERN = 65521, /* a prime, so that segment boundaries keep changing */
};

static struct tcp_side *side_of(struct tcp_flow *flow)
{
	return flow->ctx;
}

static uint8_t pattern(uint64_t offset)
{
	uint32_t x = (uint32_t)(offset % PATTERN) * 2654435761u;

	return (uint8_t)(x >> 24 ^ x >> 11);
}

struct fw_nic *tcp_fw(struct tcp_world *w, uint32_t i)
{
	return sim_nic_fw(w->nic[i], 0);
}

/* ---- the layer above ------------------------------------------------------------------------- */

static struct tcp_side *new_side(struct tcp_world *w, struct sim_nic *nic)
{
	struct tcp_side *side = &w->side[w->num_sides++];

	CU_ASSERT_FATAL(w->num_sides <= TCP_FIX_SIDES);
	memset(side, 0, sizeof(*side));
	side->world = w;
	side->nic = nic;
	side->segs = calloc(TCP_FIX_SEGS, sizeof(*side->segs));
	CU_ASSERT_PTR_NOT_NULL_FATAL(side->segs);
	return side;
}

static bool on_accepted(struct fw_nic *nic, void *listener_ctx, struct tcp_flow *flow)
{
	struct tcp_world *w = listener_ctx;
	struct tcp_side *side;
	uint32_t i = nic == tcp_fw(w, 1);

	if (w->refuse)
		return false;
	side = new_side(w, w->nic[i]);
	side->want_tx = w->accept.want_tx;
	side->close_after = w->accept.close_after;
	side->close_on_fin = w->accept.close_on_fin;
	side->record_bytes = w->accept.record_bytes;
	side->stall_at = w->accept.stall_at;
	side->abort_at = w->accept.abort_at;
	side->may_rest = w->accept.may_rest;
	side->flow = flow;
	side->accepted = 1;
	flow->ctx = side;
	if (!w->keep_pending)
		tcp_accept_done(nic, flow);
	tcp_push(nic, flow);
	return true;
}

static void on_opened(struct fw_nic *nic, struct tcp_flow *flow)
{
	side_of(flow)->opened++;
	tcp_push(nic, flow);
}

static uint32_t on_receive(struct fw_nic *nic, struct tcp_flow *flow,
			   const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	struct tcp_side *side = side_of(flow);
	struct eth_cursor cursor;
	const uint8_t *data;
	uint32_t n, i, take = bytes, bad = 0;

	if (side->stall_at && side->received + take > side->stall_at)
		take = (uint32_t)(side->stall_at - side->received);
	eth_cursor_init(&cursor, frame, offset, take);
	while ((data = eth_cursor_next(&cursor, take, &n)) != NULL)
		for (i = 0; i < n; i++)
			bad += data[i] != pattern(side->received++);
	FIX_CHECK(side->world, !bad || side->world->forged);
	FIX_CHECK(side->world, !side->peer_closed && !side->ended);
	if (side->abort_at && side->received >= side->abort_at) {
		side->flow = NULL;
		tcp_abort(nic, flow);
		return bytes;
	}
	return take;
}

static void on_early(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
		     uint32_t offset, uint32_t bytes, uint32_t ahead)
{
	struct tcp_side *side = side_of(flow);
	struct eth_cursor cursor;
	const uint8_t *data;
	uint32_t n, i, bad = 0;
	uint64_t at = side->received + ahead;

	(void)nic;
	eth_cursor_init(&cursor, frame, offset, bytes);
	while ((data = eth_cursor_next(&cursor, bytes, &n)) != NULL)
		for (i = 0; i < n; i++)
			bad += data[i] != pattern(at++);
	side->early_bytes += bytes;
	FIX_CHECK(side->world, !bad || side->world->forged);
}

static struct tcp_seg *on_next(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max)
{
	struct tcp_side *side = side_of(flow);
	struct tcp_fix_seg *seg;

	(void)nic;
	if (side->record_bytes && max > side->record_bytes)
		max = side->record_bytes;
	if (max > side->want_tx - side->sent)
		max = (uint32_t)(side->want_tx - side->sent);
	if (!max) {
		if (side->close_after)
			tcp_close(nic, flow);
		return NULL;
	}
	CU_ASSERT_FATAL(side->segs_out < TCP_FIX_SEGS);
	do
		seg = &side->segs[side->hand++ % TCP_FIX_SEGS];
	while (seg->used);
	memset(seg, 0xa5, sizeof(*seg));
	seg->used = true;
	seg->offset = side->sent;
	seg->seg.bytes = max;
	side->sent += max;
	side->segs_out++;
	seg->seg.flags = side->sent == side->want_tx ? TCP_SEG_PSH : 0;
	return &seg->seg;
}

static int on_fill(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg,
		   uint32_t from, uint32_t bytes, struct fw_tx_frame *frame, uint32_t hdr_offset)
{
	const struct tcp_fix_seg *s = (const struct tcp_fix_seg *)seg;
	struct tcp_side *side = side_of(flow);
	uint32_t head = bytes < 32 ? bytes : 32;

	(void)nic;
	CU_ASSERT_FATAL(s->used && from + bytes <= seg->bytes && bytes);
	/* Part of the bytes comes from the header buffer, the rest from memory. */
	memcpy(frame->hdr + hdr_offset, side->world->block + (s->offset + from) % PATTERN, head);
	eth_tx_hdr(frame, hdr_offset, head, 0);
	if (bytes > head)
		frame->seg[frame->num_seg++] = (struct fw_tx_seg){
		    .mem = side->world->block + (s->offset + from) % PATTERN + head,
		    .bytes = bytes - head,
		    .kind = FW_TX_MEM,
		};
	return 0;
}

static void on_acked(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg, bool ok)
{
	struct tcp_fix_seg *s = (struct tcp_fix_seg *)seg;
	struct tcp_side *side = side_of(flow);

	(void)nic;
	CU_ASSERT_FATAL(s->used && side->segs_out);
	if (ok) {
		FIX_CHECK(side->world, s->offset == side->acked);
		side->acked += seg->bytes;
	}
	s->used = false;
	side->segs_out--;
}

static void on_peer_closed(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct tcp_side *side = side_of(flow);

	side->peer_closed++;
	if (side->close_on_fin) {
		side->close_after = true;
		tcp_push(nic, flow);
	}
}

static void on_ended(struct fw_nic *nic, struct tcp_flow *flow, enum tcp_end why)
{
	struct tcp_side *side = side_of(flow);

	(void)nic;
	FIX_CHECK(side->world, side->flow == flow && !side->segs_out);
	side->flow = NULL;
	side->ended++;
	side->why = why;
}

static struct tcp_rest_lent *on_rest(struct fw_nic *nic, struct tcp_flow *flow, uint32_t number)
{
	struct tcp_side *side = side_of(flow);

	(void)nic;
	FIX_CHECK(side->world, side->flow == flow && !side->segs_out && number);
	if (!side->may_rest)
		return NULL;
	side->flow = NULL;
	side->rest = number;
	side->rested++;
	return &side->lent;
}

static void on_woken(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_rest_lent *lent)
{
	struct tcp_side *side = FW_CONTAINER(lent, struct tcp_side, lent);

	(void)nic;
	flow->ctx = side;
	FIX_CHECK(side->world, side->rest && !side->flow);
	side->rest = 0;
	side->flow = flow;
	side->woken++;
}

static const struct tcp_ops ops = {
    .accepted = on_accepted,
    .opened = on_opened,
    .receive = on_receive,
    .early = on_early,
    .next = on_next,
    .fill = on_fill,
    .acked = on_acked,
    .peer_closed = on_peer_closed,
    .ended = on_ended,
    .rest = on_rest,
    .woken = on_woken,
};

/* ---- worlds ---------------------------------------------------------------------------------- */

void tcp_world_open(struct tcp_world *w, uint64_t seed, const struct sim_config *config,
		    const char *faults)
{
	char message[160];
	uint32_t i;

	memset(w, 0, sizeof(*w));
	w->sim = sim_new(config, seed);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w->sim);
	w->nic[0] = sim_nic_new(w->sim);
	w->nic[1] = sim_nic_new(w->sim);
	for (i = 0; i < 2; i++)
		tcp_serve(tcp_fw(w, i), TCP_USER_MPA, &ops);
	w->block = malloc(PATTERN * 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w->block);
	for (i = 0; i < PATTERN * 2; i++)
		w->block[i] = pattern(i);
	sim_run_for(w->sim, FIX_MS);
	if (faults)
		CU_ASSERT_FATAL(!sim_faults_parse(w->sim, faults, message, sizeof(message)));
}

static void check_empty(struct tcp_world *w, uint32_t i)
{
	struct fw_nic *fw = tcp_fw(w, i);

	FIX_CHECK(w, fw->tcp.num_flows == 0);
	FIX_CHECK(w, fw->tcp.flows.used == 0 && fw->tcp.rests.used == 0);
	FIX_CHECK(w, fw_list_empty(&fw->tcp.awake));
	FIX_CHECK(w, fw->tcp.syns.used == 0);
	FIX_CHECK(w, fw->tcp.chunks.used == 0);
	FIX_CHECK(w, fw_list_empty(&fw->tcp.ready) && fw_list_empty(&fw->tcp.acks));
	FIX_CHECK(w, fw_list_empty(&fw->tcp.time_wait) && fw_list_empty(&fw->tcp.resolving));
	FIX_CHECK(w, sim_nic_counts(w->nic[i])->frames_held == 0);
}

void tcp_world_close(struct tcp_world *w)
{
	uint32_t i;

	sim_faults_off(w->sim);
	for (i = 0; i < w->num_sides; i++)
		if ((w->side[i].flow || w->side[i].rest) && !sim_nic_dead(w->side[i].nic))
			tcp_side_abort(&w->side[i]);
	sim_run_for(w->sim, 2 * TCP_TIME_WAIT_NS);
	for (i = 0; i < 2; i++)
		if (!sim_nic_dead(w->nic[i]))
			check_empty(w, i);
	for (i = 0; i < w->num_sides; i++) {
		FIX_CHECK(w, !w->side[i].segs_out);
		free(w->side[i].segs);
	}
	free(w->block);
	sim_free(w->sim);
}

static void enter(struct tcp_world *w, struct sim_nic *nic)
{
	fw_now(sim_nic_fw(nic, 0), sim_nic_clock_ns(nic));
	(void)w;
}

void tcp_world_listen(struct tcp_world *w, uint32_t i, uint16_t port, uint32_t backlog)
{
	enter(w, w->nic[i]);
	FIX_REQUIRE(w, tcp_listen(tcp_fw(w, i), port, backlog, TCP_USER_MPA, w) == 0);
}

struct tcp_side *tcp_world_connect_to(struct tcp_world *w, uint32_t i, uint32_t peer,
				      uint16_t peer_port, uint16_t local_port)
{
	struct tcp_side *side = new_side(w, w->nic[i]);

	enter(w, w->nic[i]);
	side->flow = tcp_connect(tcp_fw(w, i), sim_nic_ip(w->nic[peer]), peer_port, local_port,
				 TCP_USER_MPA, side);
	sim_nic_wake(w->nic[i]);
	return side->flow ? side : NULL;
}

struct tcp_side *tcp_world_connect(struct tcp_world *w, uint32_t i, uint32_t peer,
				   uint16_t local_port, uint64_t want_tx, bool close_after)
{
	struct tcp_side *side = tcp_world_connect_to(w, i, peer, TCP_FIX_PORT, local_port);

	FIX_REQUIRE(w, side != NULL);
	side->want_tx = want_tx;
	side->close_after = close_after;
	return side;
}

struct tcp_side *tcp_world_accepted(struct tcp_world *w, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < w->num_sides; i++)
		if (w->side[i].accepted && !n--)
			return &w->side[i];
	return NULL;
}

struct tcp_flow *tcp_side_flow(struct tcp_side *side)
{
	return side->rest ? tcp_wake(sim_nic_fw(side->nic, 0), side->rest) : side->flow;
}

void tcp_side_send(struct tcp_side *side, uint64_t bytes, bool close_after)
{
	enter(side->world, side->nic);
	side->want_tx += bytes;
	side->close_after = close_after;
	if (tcp_side_flow(side))
		tcp_push(sim_nic_fw(side->nic, 0), side->flow);
	sim_nic_wake(side->nic);
}

void tcp_side_close(struct tcp_side *side)
{
	enter(side->world, side->nic);
	if (tcp_side_flow(side))
		tcp_close(sim_nic_fw(side->nic, 0), side->flow);
	sim_nic_wake(side->nic);
}

void tcp_side_abort(struct tcp_side *side)
{
	struct tcp_flow *flow;

	enter(side->world, side->nic);
	flow = tcp_side_flow(side);
	side->flow = NULL;
	if (flow)
		tcp_abort(sim_nic_fw(side->nic, 0), flow);
	sim_nic_wake(side->nic);
}

void tcp_side_resume(struct tcp_side *side, uint64_t stall_at)
{
	enter(side->world, side->nic);
	side->stall_at = stall_at;
	if (tcp_side_flow(side))
		tcp_resume(sim_nic_fw(side->nic, 0), side->flow);
	sim_nic_wake(side->nic);
}

static bool all_over(void *ctx)
{
	struct tcp_world *w = ctx;
	uint32_t i;

	for (i = 0; i < w->num_sides; i++)
		if (w->side[i].flow || w->side[i].rest)
			return false;
	return true;
}

bool tcp_world_ended(struct tcp_world *w, uint64_t limit_ns)
{
	return sim_run_until(w->sim, all_over, w, limit_ns);
}

struct want {
	struct tcp_side *side;
	uint64_t bytes;
};

static bool has_received(void *ctx)
{
	struct want *want = ctx;

	return want->side->received >= want->bytes;
}

bool tcp_side_received(struct tcp_side *side, uint64_t bytes, uint64_t limit_ns)
{
	struct want want = {side, bytes};

	return sim_run_until(side->world->sim, has_received, &want, limit_ns);
}

uint64_t tcp_stat(struct tcp_world *w, uint32_t i, const char *name)
{
	return sim_nic_stat(w->nic[i], name);
}
