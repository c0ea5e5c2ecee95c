/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instance and its turn.
 *
 * fw_init() lays the tables out in the arena; fw_poll() is one turn of the machine, every stage in
 * the order in which a message meets it. Calls every stage. ARCHITECTURE.md, "The walk".
 */
#include "nic_fw/fw_nic.h"

enum {
	ARENA_ALIGN = 4096,
	/*
	 * A short turn receives so many times what it sends: otherwise frames of several senders
	 * would wait in the port's queue, where those of others cannot overtake them.
	 */
	RX_TIMES = 4,
};

/* Hands out the arena front to back; with base NULL it only adds up. */
struct layout {
	uint8_t *base;
	size_t at;
};

static void *carve(struct layout *l, size_t elem_bytes, size_t count)
{
	void *p = l->base ? l->base + l->at : NULL;

	l->at += (elem_bytes * count + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	return p;
}

static void carve_ids(struct layout *l, struct fw_ids *ids, uint32_t max)
{
	uint32_t *next = carve(l, sizeof(uint32_t), max);

	if (l->base)
		fw_ids_init(ids, next, max);
}

static void carve_pool(struct layout *l, struct fw_pool *pool, size_t elem_bytes, uint32_t max)
{
	void *base = carve(l, elem_bytes, max);

	if (l->base)
		fw_pool_init(pool, base, (uint32_t)elem_bytes, max);
}

/* Every object with a timer may have it set at once: a full heap would end the firmware. */
static_assert(FW_MAX_EQS + 3 * HW_MAX_QP + FW_AH_WAITERS + HW_MAX_NEIGH + FW_MAX_FLOWS +
		      2 * HW_MAX_PEERS + UD_REASM_MAX + ESP_MAX_STREAMS + HW_MAX_CM +
		      2 * MPA_MAX_CONNS + TCP_MAX_FLOWS + 4 * HW_MAX_GOAL_COMMS +
		      2 * GOAL_MAX_RUNS + GOAL_MAX_CALCS + 2 * MGRP_MAX_SPACES + 4 <=
		  FW_MAX_TIMERS,
	      "with those of IGMP, of TCP's SYNs, of what processes left and of late copies");

/* Objects that processes make by commands. */
static void lay_out_objects(struct layout *l, struct fw_nic *nic)
{
	nic->host.clients = carve(l, sizeof(*nic->host.clients), FW_CLIENT_ORPHANS + 1);
	nic->share.holders = carve(l, sizeof(*nic->share.holders), FW_CLIENT_ORPHANS + 1);
	nic->share.processes = carve(l, sizeof(*nic->share.processes), SHARE_PROCESSES + 1);
	nic->share.users = carve(l, sizeof(*nic->share.users), SHARE_USERS + 1);
	carve_ids(l, &nic->host.client_ids, HW_MAX_CLIENTS);
	nic->host.client_extents =
	    carve(l, sizeof(struct fw_bar_extent) * FW_BAR_EXTENTS, HW_MAX_CLIENTS);
	nic->host.cmd_slots =
	    carve(l, sizeof(*nic->host.cmd_slots), (size_t)HW_MAX_CLIENTS * HW_CMD_SLOTS);
	nic->host.pds = carve(l, sizeof(*nic->host.pds), HW_MAX_PD);
	carve_ids(l, &nic->host.pd_ids, HW_MAX_PD);
	nic->host.mrs = carve(l, sizeof(*nic->host.mrs), HW_MAX_MR);
	carve_ids(l, &nic->host.mr_ids, HW_MAX_MR);
	nic->host.guesses = carve(l, sizeof(*nic->host.guesses), GUESS_PLACES);
	nic->host.cqs = carve(l, sizeof(*nic->host.cqs), HW_MAX_CQ);
	carve_ids(l, &nic->host.cq_ids, HW_MAX_CQ);
	nic->host.eqs = carve(l, sizeof(*nic->host.eqs), FW_MAX_EQS);
	carve_ids(l, &nic->host.eq_ids, FW_MAX_EQS);
	nic->host.srqs = carve(l, sizeof(*nic->host.srqs), HW_MAX_SRQ);
	carve_ids(l, &nic->host.srq_ids, HW_MAX_SRQ);
	nic->host.xrcds = carve(l, sizeof(*nic->host.xrcds), HW_MAX_XRCD);
	carve_ids(l, &nic->host.xrcd_ids, HW_MAX_XRCD);
	carve_pool(l, &nic->host.qp_opens, sizeof(struct fw_qp_open), HW_MAX_QP_OPENS);
	nic->host.null_record = carve(l, sizeof(*nic->host.null_record), 1);
	nic->host.qps = carve(l, sizeof(*nic->host.qps), HW_MAX_QP);
	nic->host.esps = carve(l, sizeof(*nic->host.esps), HW_MAX_QP);
	carve_ids(l, &nic->host.qp_ids, HW_MAX_QP);
	nic->host.null_qp = carve(l, sizeof(*nic->host.null_qp), 1);
	carve_pool(l, &nic->slices.command_pool, sizeof(struct slice_command), FW_SLICE_COMMANDS);
	nic->host.ahs = carve(l, sizeof(*nic->host.ahs), HW_MAX_AH);
	carve_ids(l, &nic->host.ah_ids, HW_MAX_AH);
	nic->host.ah_waiters = carve(l, sizeof(*nic->host.ah_waiters), FW_AH_WAITERS);
}

/* Neighbours, groups, messages in both directions, sessions of RD. */
static void lay_out_datagrams(struct layout *l, struct fw_nic *nic)
{
	nic->net.neigh = carve(l, sizeof(*nic->net.neigh), HW_MAX_NEIGH);
	nic->net.neigh_hash = carve(l, sizeof(uint32_t), HW_MAX_NEIGH);
	carve_pool(l, &nic->net.mcast_group_pool, sizeof(struct mcast_group), HW_MAX_MCAST_GRP);
	carve_pool(l, &nic->net.mcast_members, sizeof(struct mcast_member), HW_MAX_TOTAL_MCAST);
	carve_pool(l, &nic->net.mac_filters, sizeof(struct mac_filter), MAC_FILTER_MAX);
	carve_pool(l, &nic->host.wqes, sizeof(struct fw_wqe), FW_MAX_WQES);
	nic->host.wqe_now = carve(l, sizeof(*nic->host.wqe_now), 1);
	carve_pool(l, &nic->host.wqe_exts, sizeof(struct fw_wqe_ext), FW_MAX_WQES);
	carve_pool(l, &nic->rd.flows, sizeof(struct rd_flow), FW_MAX_FLOWS);
	carve_pool(l, &nic->rd.tx_windows, sizeof(struct rd_tx_window), FW_MAX_WINDOWS);
	carve_pool(l, &nic->rd.rx_windows, sizeof(struct rd_rx_window), FW_MAX_WINDOWS);
	carve_pool(l, &nic->rd.held, sizeof(struct rd_held), FW_MAX_HELD);
	carve_pool(l, &nic->host.recv_msgs, sizeof(struct recv_msg), FW_MAX_RECV_MSGS);
	carve_pool(l, &nic->host.slow_atomics, sizeof(struct slow_atomic), SLOW_ATOMICS_MAX);
	nic->host.recv_hash = carve(l, sizeof(uint32_t), FW_HASH_SIZE);
	carve_pool(l, &nic->ud.reasms, sizeof(struct ud_reasm), UD_REASM_MAX);
	carve_pool(l, &nic->ud.buffers, HW_MAX_UD_MSG_BYTES, UD_REASM_MAX);
	nic->ud.hash = carve(l, sizeof(uint32_t), FW_HASH_SIZE);
	nic->rd.peers = carve(l, sizeof(*nic->rd.peers), HW_MAX_PEERS);
	carve_pool(l, &nic->rd.awake, sizeof(struct rd_session), HW_MAX_PEERS);
	carve_ids(l, &nic->rd.session_ids, HW_MAX_PEERS);
	nic->rd.session_hash = carve(l, sizeof(uint32_t), HW_MAX_PEERS);
	nic->rdmap.notices_to = carve(l, sizeof(*nic->rdmap.notices_to), HW_MAX_PEERS);
	nic->rd.flow_hash = carve(l, sizeof(uint32_t), FW_HASH_SIZE);
	nic->rd.bundles = carve(l, RD_BUNDLE_ROOM, FW_TX_STAGE);
	nic->rd.flat_bundle = carve(l, 1, RD_BUNDLE_FLAT);
}

static void lay_out_streams(struct layout *l, struct fw_nic *nic)
{
	nic->esp.streams = carve(l, sizeof(*nic->esp.streams), ESP_MAX_STREAMS);
	carve_ids(l, &nic->esp.ids, ESP_MAX_STREAMS);
	carve_pool(l, &nic->esp.held, sizeof(struct esp_held), ESP_MAX_HELD);
	carve_pool(l, &nic->rdmap.esp_lasts, sizeof(struct esp_rdmap_last), ESP_RDMAP_MAX_LAST);
	nic->esp.hash = carve(l, sizeof(uint32_t), FW_ESP_HASH_SIZE);
	nic->cm.eps = carve(l, sizeof(*nic->cm.eps), HW_MAX_CM);
	carve_ids(l, &nic->cm.ids, HW_MAX_CM);
	carve_pool(l, &nic->cm.data, CM_DATA_BYTES, CM_DATA_MAX);
	carve_pool(l, &nic->cm.waiting, sizeof(struct cm_waiting), HW_MAX_CM);
	nic->cm.hash = carve(l, sizeof(uint32_t), CM_HASH_SIZE);
	nic->net.l4_ports = carve(l, sizeof(uint32_t), FW_CM_PORT_WORDS);
	carve_pool(l, &nic->mpa.conns, sizeof(struct mpa_conn), MPA_MAX_CONNS);
	nic->mpa.terms = carve(l, MPA_TERM_MAX, MPA_MAX_CONNS);
	nic->mpa.retries = carve(l, sizeof(*nic->mpa.retries), MPA_MAX_CONNS);
	carve_pool(l, &nic->mpa.segs, sizeof(struct mpa_seg), MPA_MAX_SEGS);
	carve_pool(l, &nic->mpa.partials, sizeof(struct mpa_partial), MPA_MAX_PARTIALS);
	carve_pool(l, &nic->mpa.setups, sizeof(struct mpa_setup), MPA_MAX_CONNS);
	carve_pool(l, &nic->tcp.flows, sizeof(struct tcp_flow), TCP_MAX_FLOWS);
	carve_pool(l, &nic->tcp.rests, sizeof(struct tcp_rest), TCP_MAX_FLOWS);
	nic->tcp.rest_hash = carve(l, sizeof(uint32_t), TCP_HASH_SIZE);
	nic->tcp.hash = carve(l, sizeof(uint32_t), TCP_HASH_SIZE);
	nic->tcp.listeners = carve(l, sizeof(*nic->tcp.listeners), TCP_MAX_LISTENERS);
	carve_pool(l, &nic->tcp.syns, sizeof(struct tcp_syn), TCP_MAX_SYNS);
	nic->tcp.syn_hash = carve(l, sizeof(uint32_t), TCP_SYN_HASH_SIZE);
	carve_pool(l, &nic->tcp.chunks, TCP_CHUNK_BYTES, TCP_MAX_CHUNKS);
	nic->tcp.asides = carve(l, sizeof(*nic->tcp.asides), TCP_MAX_FLOWS);
}

static void lay_out_collectives(struct layout *l, struct fw_nic *nic)
{
	struct goal_heap_gone *gone;
	struct buddy_block *blocks;
	uint8_t *heap_base;

	nic->goal.comms = carve(l, sizeof(*nic->goal.comms), HW_MAX_GOAL_COMMS);
	nic->goal.loads = carve(l, sizeof(*nic->goal.loads), GOAL_MAX_LOADS);
	carve_ids(l, &nic->goal.comm_ids, HW_MAX_GOAL_COMMS);
	nic->goal.schedules = carve(l, sizeof(*nic->goal.schedules), HW_MAX_GOAL_SCHEDULES);
	carve_ids(l, &nic->goal.schedule_ids, HW_MAX_GOAL_SCHEDULES);
	carve_pool(l, &nic->goal.links, sizeof(struct goal_link), GOAL_MAX_LINKS);
	carve_pool(l, &nic->goal.runs, sizeof(struct goal_run), GOAL_MAX_RUNS);
	carve_pool(l, &nic->goal.sends, sizeof(struct goal_send), GOAL_MAX_SENDS);
	carve_pool(l, &nic->goal.recvs, sizeof(struct goal_recv), GOAL_MAX_RECVS);
	carve_pool(l, &nic->goal.unexps, sizeof(struct goal_unexp), GOAL_MAX_UNEXP);
	carve_pool(l, &nic->goal.calcs, sizeof(struct goal_calc), GOAL_MAX_CALCS);
	nic->goal.run_hash = carve(l, sizeof(uint32_t), GOAL_MAX_RUNS);
	nic->goal.send_hash = carve(l, sizeof(uint32_t), GOAL_HASH_SIZE);
	nic->goal.recv_hash = carve(l, sizeof(uint32_t), GOAL_HASH_SIZE);
	nic->goal.unexp_hash = carve(l, sizeof(uint32_t), GOAL_HASH_SIZE);
	nic->goal.wild_recvs = carve(l, sizeof(*nic->goal.wild_recvs), GOAL_HASH_SIZE);
	nic->goal.wild_unexps =
	    carve(l, sizeof(*nic->goal.wild_unexps), GOAL_WILD_SHAPES * GOAL_HASH_SIZE);
	nic->goal.self_hash = carve(l, sizeof(*nic->goal.self_hash), GOAL_HASH_SIZE);
	carve_pool(l, &nic->mgrp.spaces, sizeof(struct mgrp_space), MGRP_MAX_SPACES);
	nic->mgrp.hash = carve(l, sizeof(uint32_t), MGRP_HASH_SIZE);
	heap_base = carve(l, 1, GOAL_HEAP_BYTES);
	blocks = carve(l, sizeof(*blocks), GOAL_HEAP_BYTES / BUDDY_MIN_BYTES);
	gone = carve(l, sizeof(*gone), GOAL_HEAP_GONE);
	if (l->base)
		goal_heap_init(&nic->goal.heap, heap_base, blocks, gone);
}

static void lay_out_tagged(struct layout *l, struct fw_nic *nic)
{
	nic->tag.eps = carve(l, sizeof(*nic->tag.eps), HW_MAX_QP);
	nic->tag.buckets = carve(l, sizeof(*nic->tag.buckets), TAG_BUCKETS);
	carve_pool(l, &nic->tag.posteds, sizeof(struct tag_posted), TAG_MAX_POSTEDS);
	carve_pool(l, &nic->tag.arrivals, sizeof(struct tag_arrival), TAG_MAX_ARRIVALS);
	carve_pool(l, &nic->tag.sends, sizeof(struct tag_send), TAG_MAX_SENDS);
	carve_pool(l, &nic->tag.kept, TAG_KEPT_BYTES, TAG_MAX_KEPT);
	carve_pool(l, &nic->tag.peers, sizeof(struct tag_peer), TAG_MAX_PEERS);
	carve_pool(l, &nic->tag.rtrs, sizeof(struct tag_rtr), TAG_MAX_RTRS);
	carve_pool(l, &nic->tag.shares, sizeof(struct tag_share), TAG_MAX_SHARES);
	nic->tag.peer_hash = carve(l, sizeof(uint32_t), FW_HASH_SIZE);
	nic->tag.share_hash = carve(l, sizeof(uint32_t), TAG_SHARE_HASH);
	nic->tag.records_base = carve(l, 1, TAG_RECORDS_BYTES);
	nic->tag.records_blocks =
	    carve(l, sizeof(struct buddy_block), TAG_RECORDS_BYTES / BUDDY_MIN_BYTES);
}

/* The same walk adds up and lays out: nic is a scratch instance while adding. */
static void lay_out(struct layout *l, struct fw_nic *nic)
{
	struct fw_timer **heap;

	nic->net.tx = carve(l, sizeof(*nic->net.tx), FW_TX_STAGE);
	nic->net.rx = carve(l, sizeof(*nic->net.rx), FW_BURST);
	heap = carve(l, sizeof(*heap), FW_MAX_TIMERS);
	if (l->base)
		fw_timers_init(&nic->timers, heap, FW_MAX_TIMERS);
	lay_out_objects(l, nic);
	lay_out_datagrams(l, nic);
	lay_out_streams(l, nic);
	lay_out_collectives(l, nic);
	lay_out_tagged(l, nic);
	nic->scratch = carve(l, 1, FW_SCRATCH_BYTES);
}

size_t fw_arena_bytes(void)
{
	struct fw_nic sum;
	struct layout l = {NULL, 0};

	(void)carve(&l, sizeof(struct fw_nic), 1);
	lay_out(&l, &sum);
	return l.at;
}

/* Placeholder QP used to answer requests for QPNs that do not exist. */
static void init_null_qp(struct fw_nic *nic)
{
	struct fw_qp *qp = nic->host.null_qp;

	qp->type = HW_QPT_RD;
	qp->state = HW_QPS_RTR;
	qp->srq = HW_SRQ_NONE;
	qp->attr.timeout = QP_DEFAULT_TIMEOUT;
	qp->attr.retry_cnt = QP_DEFAULT_RETRY_CNT;
	qp->attr.rnr_retry = QP_DEFAULT_RNR_RETRY;
	llp_choose(qp);
	fw_list_init(&qp->wqes);
	fw_list_init(&qp->reads);
	fw_list_init(&qp->flows);
	fw_list_init(&qp->recv_msgs);
	fw_list_init(&qp->atomics);
	fw_list_init(&qp->sched_node);
	fw_list_init(&qp->node);
	fw_list_init(&qp->windows);
	fw_list_init(&qp->done_node);
	fw_list_init(&qp->done_flows);
	fw_list_init(&qp->flush_node);
	fw_list_init(&qp->flush_msgs);
}

/*
 * Sets all addresses of this firmware's code and constants that an instance holds: nothing else in
 * an arena points to them.
 */
void fw_adopt(struct fw_nic *nic)
{
	esp_listen(nic, WIRE_ESP_GOAL, &goal_msg_ops);
	esp_listen(nic, WIRE_ESP_RDMAP, &esp_rdmap_ops);
	tcp_serve(nic, TCP_USER_MPA, &mpa_tcp_ops);
}

/*
 * True if unmapped memory is copied in this short turn: in one of each FW_DEAR_EVERY, drawn, since
 * queues that are served in turn would always meet the same one. NICs of a core that began together
 * copy in different turns.
 */
static bool copies_now(const struct fw_nic *nic)
{
	uint32_t drawn = nic->turns / FW_DEAR_EVERY * UINT32_C(2654435761) >> 16;

	return (nic->turns + drawn + FW_DEAR_APART * nic->config.nic_index) % FW_DEAR_EVERY == 0;
}

/* Begins a turn, which is short if its budget is. */
static void set_length(struct fw_nic *nic, uint32_t budget)
{
	bool is_short = budget < FW_TURN_LONG;

	nic->turn_did = 0;
	nic->turns++;
	nic->dear_most = is_short ? FW_DEAR_SHORT : FW_DEAR_LONG;
	nic->dear_rests = is_short && !copies_now(nic);
}

struct fw_nic *fw_init(const struct fw_config *config, const struct fw_port *port, void *arena,
		       size_t arena_bytes)
{
	struct layout l = {arena, 0};
	struct fw_nic *nic = carve(&l, sizeof(*nic), 1);
	uint32_t i;

	if (arena_bytes < fw_arena_bytes() || config->mtu < HW_MIN_MTU ||
	    config->mtu > HW_MAX_MTU || config->nic_index >= 32 || config->ip_prefix > 32 ||
	    !config->num_shards || config->num_shards > WIRE_DGRAM_SHARDS ||
	    config->shard >= config->num_shards || config->num_coll_shards >= config->num_shards ||
	    !config->ip || !config->hash_secret[0] || !config->hash_secret[1] ||
	    config->esp_burst > ESP_MAX_BURST || config->esp_initial_burst > ESP_MAX_BURST ||
	    config->mpa & ~(uint32_t)HW_MPA_ALL)
		return NULL;
	for (i = 0; i < HW_NUM_VECTORS; i++)
		if (!moder_check(&config->coalesce[i], HW_COALESCE_SET_ALL))
			return NULL;
	nic->config = *config;
	if (!config->esp_burst)
		nic->config.esp_burst = ESP_BURST;
	if (!config->esp_initial_burst)
		nic->config.esp_initial_burst = ESP_INITIAL_BURST;
	if (!config->mpa)
		nic->config.mpa = HW_MPA_DEFAULT;
	nic->port = *port;
	fw_hash_key_init(&nic->hash_key, config->hash_secret);
	nic->qpn_base = (uint32_t)config->nic_index << 19 | (uint32_t)config->shard << 16;
	nic->link_up = true;
	lay_out(&l, nic);
	slice_init(nic);
	fw_list_init(&nic->net.mcast_groups);
	fw_list_init(&nic->host.db_clients);
	for (i = 0; i < CM_LISTEN_HASH; i++)
		fw_list_init(&nic->cm.listeners[i]);
	fw_list_init(&nic->cm.resolving);
	fw_list_init(&nic->cm.orphans);
	fw_list_init(&nic->cm.lingering);
	fw_list_init(&nic->mpa.held);
	fw_list_init(&nic->mpa.faults);
	fw_list_init(&nic->host.sched_qps);
	fw_list_init(&nic->goal.clients);
	fw_list_init(&nic->esp.ready);
	fw_list_init(&nic->esp.acks);
	share_init(nic);
	nic->host.clients[FW_CLIENT_ORPHANS].share = &nic->share.holders[FW_CLIENT_ORPHANS];
	goal_lost_init(nic);
	goal_orphan_init(nic);
	mgrp_init(nic);
	esp_rdmap_init(nic);
	tcp_init(nic);
	tag_init(nic);
	fw_list_init(&nic->rd.ready);
	fw_list_init(&nic->rd.acks);
	fw_list_init(&nic->rd.awake_list);
	rd_grant_init(nic);
	fw_list_init(&nic->rd.resolving);
	fw_list_init(&nic->rd.ending);
	fw_list_init(&nic->rd.stopped);
	neigh_wait_init(nic);
	rd_share_init(nic);
	fw_list_init(&nic->host.irq_list);
	fw_list_init(&nic->host.late_cqs);
	fw_timer_init(&nic->host.late_timer, FW_TIMER_CQ_LATE);
	fw_list_init(&nic->ud.sent);
	for (i = 0; i < HW_NUM_VECTORS; i++)
		nic->host.vectors[i].coalesce = nic->host.vectors[i].now = config->coalesce[i];
	set_length(nic, FW_TURN_LONG);
	init_null_qp(nic);
	igmp_init(nic);
	fw_adopt(nic);
	return nic;
}

/* Frames that the port refuses within the room it reported are lost, and counted. */
static void end_turn(struct fw_nic *nic)
{
	eth_tx_flush(nic);
	if (nic->net.tx_count) {
		FW_ADD(nic, tx_dropped, nic->net.tx_count);
		nic->net.tx_count = 0;
	}
	wqe_complete_sent(nic);
	(void)fw_stage_enter(nic, FW_STAGE_EQ);
	if (!fw_list_empty(&nic->host.irq_list))
		eq_flush_irqs(nic);
}

void fw_now(struct fw_nic *nic, uint64_t now_ns)
{
	nic->now_ns = now_ns;
	if (!nic->start_ns)
		nic->start_ns = now_ns;
}

static uint32_t rx_budget(uint32_t budget)
{
	return budget < FW_TURN_LONG ? RX_TIMES * budget : budget;
}

/*
 * The stages of a turn in their order: the stage that accounts for the time, the call, which
 * returns the work done, and when it has something to do: most turns are idle, and beginning and
 * ending a function costs them more than looking at its list. Input comes before timers: after a
 * gap between turns an ACK must not lose to its own timeout. ARCHITECTURE.md, "One turn", has the
 * same list (tools/check_floors.py).
 */
#define LISTED(list) (!fw_list_empty(&nic->list))
#define FW_TURN(STAGE, ALSO)                                                                       \
	STAGE(DB, slice_run(nic), true)                                                            \
	ALSO(db_poll(nic), true)                                                                   \
	STAGE(ETH_RX, eth_rx_poll(nic, rx_budget(budget)), true)                                   \
	STAGE(TIMER, fw_timers_run(nic, &nic->timers, now_ns, budget),                             \
	      fw_timers_next_ns(&nic->timers) <= now_ns)                                           \
	STAGE(GOAL, goal_step_poll(nic, budget), LISTED(goal.clients) || nic->goal.loads_active)   \
	STAGE(SCHED, sched_run(nic, budget), LISTED(host.sched_qps))                               \
	ALSO(tag_run(nic), true)                                                                   \
	STAGE(RD_TX, rd_tx_run(nic, budget), LISTED(rd.ready))                                     \
	STAGE(ESP, mgrp_run(nic, budget), LISTED(mgrp.ready) || LISTED(mgrp.due))                  \
	ALSO(esp_tx_run(nic, budget), true)                                                        \
	ALSO((esp_rdmap_run(nic), 0u), LISTED(rdmap.esp_faults))                                   \
	ALSO((esp_ack_flush(nic), 0u), LISTED(esp.acks))                                           \
	STAGE(TCP, tcp_tx_run(nic, budget), LISTED(tcp.ready))                                     \
	ALSO((mpa_run(nic), 0u), LISTED(mpa.faults))                                               \
	ALSO((tcp_ack_flush(nic), 0u), LISTED(tcp.acks))                                           \
	STAGE(RD_ACK, (rd_ack_flush(nic), 0u), LISTED(rd.acks))                                    \
	ALSO((rd_rest_run(nic), 0u), true)                                                         \
	ALSO((tcp_rest_look(nic), 0u), nic->tcp.rest_looks)                                        \
	STAGE(TURN, (end_turn(nic), 0u), true)

uint32_t fw_did(const struct fw_nic *nic)
{
	return nic->turn_did;
}

uint32_t fw_poll(struct fw_nic *nic, uint64_t now_ns, uint32_t budget)
{
	uint64_t sent = nic->counters.tx_frames, late_ns;
	uint32_t done = 0;

	if (__builtin_expect(nic->stages.clock != NULL, 0))
		fw_stage_begin_turn(&nic->stages);
	late_ns = fw_count_absence(nic, now_ns);
	nic->gap_ns = nic->turn_ns ? now_ns - nic->turn_ns : late_ns;
	nic->turn_ns = now_ns;
	fw_now(nic, now_ns);
	set_length(nic, budget);
	nic->net.tx_allow = nic->port.tx_room ? nic->port.tx_room(nic->port.ctx) : UINT32_MAX;
#define RUN(stage, call, when)                                                                     \
	(void)fw_stage_enter(nic, FW_STAGE_##stage);                                               \
	ALSO(call, when)
#define ALSO(call, when)                                                                           \
	if (when)                                                                                  \
		done += call;
	FW_TURN(RUN, ALSO)
#undef ALSO
#undef RUN
	if (__builtin_expect(nic->stages.clock != NULL, 0))
		fw_stage_end_turn(&nic->stages, done || nic->counters.tx_frames != sent);
	return done;
}

uint64_t fw_next_timer_ns(const struct fw_nic *nic)
{
	uint64_t ack_ns;
	uint64_t timer_ns;

	/* Work waits for room or for its turn: the next turn is soon. */
	if (slice_pending(nic) || !fw_list_empty(&nic->host.sched_qps) ||
	    !fw_list_empty(&nic->rd.ready) || !fw_list_empty(&nic->esp.ready) ||
	    !fw_list_empty(&nic->tcp.ready) || !fw_list_empty(&nic->tcp.acks) ||
	    mgrp_pending(nic) || goal_step_pending(nic) || tag_pending(nic))
		return nic->now_ns + FW_SOON_NS;
	ack_ns = rd_ack_next_ns(nic);
	if (esp_ack_next_ns(nic) < ack_ns)
		ack_ns = esp_ack_next_ns(nic);
	timer_ns = fw_timers_next_ns(&nic->timers);
	return ack_ns < timer_ns ? ack_ns : timer_ns;
}

bool fw_hurry(struct fw_nic *nic)
{
	return rd_ack_hurry(nic);
}

bool fw_sleep(struct fw_nic *nic, bool sleep)
{
	uint32_t poll_cpu = fw_poll_cpu(nic);
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->host.db_clients) {
		struct fw_client *client = FW_CONTAINER(pos, struct fw_client, db_node);

		__atomic_store_n(&client->header->poll_cpu, poll_cpu, __ATOMIC_RELAXED);
		__atomic_store_n(&client->header->sleeping, sleep, __ATOMIC_RELAXED);
	}
	/*
	 * Pair D3: the host rings, then reads sleeping; the firmware stores sleeping, then reads
	 * the doorbells.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* An event wakes the core: the gap before the next turn is no absence of its own. */
	if (sleep) {
		nic->turn_ns = 0;
		nic->there_ns = fw_next_timer_ns(nic);
	}
	return sleep && !db_pending(nic);
}

static void port_event(struct fw_nic *nic, enum hw_event_type type)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->host.db_clients) {
		struct fw_client *client = FW_CONTAINER(pos, struct fw_client, db_node);

		eq_async(nic, (uint32_t)(client - nic->host.clients), type, 1);
		__atomic_store_n(&client->header->link_up, nic->link_up, __ATOMIC_RELAXED);
	}
	eq_flush_irqs(nic);
}

void fw_link(struct fw_nic *nic, bool up)
{
	if (nic->link_up == up)
		return;
	nic->link_up = up;
	if (up)
		igmp_link_up(nic);
	port_event(nic, up ? HW_EVENT_PORT_ACTIVE : HW_EVENT_PORT_ERR);
}

void fw_shutdown(struct fw_nic *nic)
{
	struct fw_list *pos;

	nic->stopped = true;
	fw_list_for_each (pos, &nic->host.db_clients) {
		struct fw_client *client = FW_CONTAINER(pos, struct fw_client, db_node);

		__atomic_store_n(&client->header->nic_state, HW_NIC_STOPPED, __ATOMIC_RELEASE);
	}
	port_event(nic, HW_EVENT_DEVICE_FATAL);
}
