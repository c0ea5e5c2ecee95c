/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One interleaving of sends and receives between two NICs: see tag_order_run.h.
 *
 * Two NICs with an endpoint each stay from run to run. Every frame is held until the schedule wants
 * it; the order of the matching is compared with the sequential matcher (sim_tag_ref.c), that of a
 * run with a cancellation with the model (sim_tag_model.c).
 */
#include "tests/sim/tag_order_run.h"

#include "host_driver/weft_tag.h"
#include "shared_defs/be.h"
#include "shared_defs/wire_eth.h"
#include "sim_harness/sim_tag_model.h"
#include "tests/sim/sim_fix.h"

enum {
	EAGER_BYTES = 64,
	SHORT_BYTES = 24,
	LONG_BYTES = 300,
	FRAMES = 64, /* held at a time */
	SLOT_BYTES = 512,
	STEP_NS = 400,     /* enough for some turns, much less than a time-out */
	RUNS_OF_SIM = 200, /* then a new simulation begins */
	LAST_NS = 2000000000,
	QUIET_NS = 500000,
	OTHER_TAG = 2,
};

struct frame {
	uint32_t bytes;
	uint8_t data[2048];
};

struct way {
	struct frame frame[FRAMES];
	uint32_t num;
	uint32_t delivered;
};

struct world {
	struct sim *sim;
	struct sim_end end[2];
	struct weft_ah *ah;
	struct weft_cq *cq[2];
	struct weft_tag_ep *ep[2];
	struct way to[2];
	bool holds;
	uint32_t runs;
	/* of a run */
	const struct mix *mix;
	uint32_t posted[2];
	uint32_t numbers[MOST];
	struct sim_tag_model model;
	struct sim_tag_msg *msg[MOST];
	struct sim_tag_op *op[MOST];
	uint32_t sends_done, recvs_done;
	uint32_t took[MOST]; /* message of a receive; MOST: none */
	bool wrong;
	char why[SIM_TAG_WHY_BYTES];
};

static struct world w;
struct tag_order_counts tag_order_counts;

static void fault(const char *why)
{
	if (!w.wrong)
		snprintf(w.why, sizeof(w.why), "%s", why);
	w.wrong = true;
}

/* ---- frames */

static enum sim_verdict hold(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const struct wire_eth *eth = (const void *)frame;
	struct way *to = &w.to[!sim_nic_index(from)];

	(void)ctx;
	if (!w.holds || be16_get(eth->type) != WIRE_ETHERTYPE_IPV4)
		return SIM_PASS;
	if (to->num == FRAMES || bytes > sizeof(to->frame[0].data)) {
		fault("too many frames, or too long ones");
		return SIM_PASS;
	}
	to->frame[to->num].bytes = (uint32_t)bytes;
	memcpy(to->frame[to->num++].data, frame, bytes);
	return SIM_DROP;
}

static void deliver(uint32_t nic, bool newest)
{
	struct way *way = &w.to[nic];
	uint32_t i = newest ? way->num - 1 : 0;
	struct frame frame = way->frame[i];

	way->num--;
	memmove(&way->frame[i], &way->frame[i + 1], (way->num - i) * sizeof(frame));
	way->delivered++;
	sim_inject(sim_nic_at(w.sim, nic), frame.data, frame.bytes);
	sim_run_for(w.sim, STEP_NS);
}

/* ---- the simulation */

/* A message opens the session of the NICs, so that runs have none of its frames. */
static void meet(void)
{
	struct weft_send_wr wr = {.flags = WEFT_SEND_SIGNALED,
				  .ah = w.ah,
				  .dst_qpn = w.end[1].qp->qpn,
				  .qkey = SIM_END_QKEY};
	struct weft_wc wc;

	CU_ASSERT_EQUAL_FATAL(sim_end_recv(&w.end[1], 0, 0, 64), 0);
	CU_ASSERT_EQUAL_FATAL(weft_post_send(w.end[0].qp, &wr, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(sim_end_wait(&w.end[0], &wc, 1, FIX_LIMIT_NS), 1);
	CU_ASSERT_EQUAL_FATAL(wc.status, WEFT_WC_SUCCESS);
	CU_ASSERT_EQUAL_FATAL(sim_end_wait(&w.end[1], &wc, 1, FIX_LIMIT_NS), 1);
	sim_run_for(w.sim, QUIET_NS);
}

static void world_open(void)
{
	struct sim_end_attr attr = {.bytes = 2 * MOST * SLOT_BYTES};
	struct sim_config config;
	uint32_t i;

	sim_config_default(&config);
	config.poll_ns = 10;
	config.poll_work_ns = 0;
	config.poll_jitter_ns = 0;
	config.doorbell_ns = 0;
	config.rx_split_ppm = 0;
	/* Round trips are long, so that no timer fires while frames are held. */
	config.link.latency_ns = 100000;
	w.sim = sim_new(&config, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w.sim);
	sim_nic_new(w.sim);
	sim_nic_new(w.sim);
	sim_set_filter(w.sim, hold, NULL);
	for (i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(sim_end_open(&w.end[i], sim_nic_at(w.sim, i), &attr), 0);
		sim_proc_move_memory(w.end[i].proc);
		w.cq[i] = weft_create_cq(w.end[i].context, 64, NULL, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(w.cq[i]);
	}
	w.ah = sim_end_ah(&w.end[0], sim_nic_at(w.sim, 1));
	CU_ASSERT_PTR_NOT_NULL_FATAL(w.ah);
	meet();
	w.runs = 0;
}

void tag_order_close(void)
{
	if (!w.sim)
		return;
	sim_end_close(&w.end[0]);
	sim_end_close(&w.end[1]);
	sim_free(w.sim);
	w.sim = NULL;
}

struct cq_done {
	struct weft_cq *cq[2];
	bool is[2];
};

static bool both_done(void *ctx)
{
	struct cq_done *done = ctx;
	struct weft_wc wc;
	uint32_t i;

	for (i = 0; i < 2; i++)
		done->is[i] |= weft_poll_cq(done->cq[i], 1, &wc) == 1;
	return done->is[0] && done->is[1];
}

static void open_eps(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct weft_tag_attr attr = {.send_cq = w.cq[i],
					     .recv_cq = w.cq[i],
					     .qkey = SIM_END_QKEY,
					     .eager_bytes = EAGER_BYTES,
					     .pool_bytes = 65536};

		w.ep[i] = weft_open_tag_ep(w.end[i].pd, &attr);
		CU_ASSERT_PTR_NOT_NULL_FATAL(w.ep[i]);
	}
}

/* A NIC announces receives to peers of which it has had a message. */
static void greet(void)
{
	struct weft_tag_recv_wr recv = {.ignore = UINT64_MAX};
	struct weft_tag_send_wr send = {.ah = w.ah, .dst_qpn = w.ep[1]->qp->qpn};
	struct cq_done done = {{w.cq[0], w.cq[1]}, {false, false}};

	CU_ASSERT_EQUAL_FATAL(weft_tag_recv(w.ep[1], &recv, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(weft_tag_send(w.ep[0], &send), 0);
	CU_ASSERT_FATAL(sim_run_until(w.sim, both_done, &done, LAST_NS));
	sim_run_for(w.sim, QUIET_NS);
}

static uint8_t *slot_of(uint32_t nic, uint32_t i)
{
	return w.end[nic].buf + (size_t)i * SLOT_BYTES;
}

/* ---- posting */

static uint32_t bytes_of(enum send_kind kind)
{
	return kind == SEND_LONG || kind == SEND_OTHER ? LONG_BYTES : SHORT_BYTES;
}

static void post_send(uint32_t i)
{
	enum send_kind kind = w.mix->send[i];
	struct sim_tag_msg *msg = w.msg[i];
	struct weft_sge sge = sim_end_sge(&w.end[0], (size_t)i * SLOT_BYTES, bytes_of(kind));
	struct weft_tag_send_wr wr = {.wr_id = i,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .flags = WEFT_TAG_DATA,
				      .ah = w.ah,
				      .dst_qpn = w.ep[1]->qp->qpn,
				      .tag = msg->tag,
				      .data = i};

	if (kind == SEND_SYNC)
		wr.flags |= WEFT_TAG_SYNC;
	memset(slot_of(0, i), 'a' + (int)i, sge.bytes);
	if (weft_tag_send(w.ep[0], &wr))
		fault("a send cannot be posted");
}

static void post_recv(uint32_t i)
{
	const struct sim_tag_op *op = w.op[i];
	uint32_t room = w.mix->recv[i] == RECV_SHORT ? EAGER_BYTES : SLOT_BYTES;
	struct weft_sge sge = sim_end_sge(&w.end[1], (size_t)i * SLOT_BYTES, room);
	struct weft_tag_recv_wr wr = {.wr_id = 100 + i,
				      .sg_list = &sge,
				      .num_sge = 1,
				      .src_ip = op->src_ip,
				      .src_qpn = op->any_src ? WEFT_TAG_ANY_QPN : op->src_qpn,
				      .tag = op->tag,
				      .ignore = op->ignore};

	memset(slot_of(1, i), '.', SLOT_BYTES);
	if (weft_tag_recv(w.ep[1], &wr, &w.numbers[i]))
		fault("a receive cannot be posted");
}

static void post_next(uint32_t nic)
{
	uint32_t i = w.posted[nic]++;

	if (nic == 0) {
		post_send(i);
	} else if (i < w.mix->recvs) {
		post_recv(i);
	} else {
		sim_tag_op_cancel(&w.model, w.op[w.mix->cancel]);
		if (weft_tag_cancel(w.ep[1], w.numbers[w.mix->cancel]))
			fault("a receive cannot be cancelled");
	}
	sim_run_for(w.sim, STEP_NS);
}

static uint32_t to_post(uint32_t nic)
{
	if (nic == 0)
		return w.mix->sends;
	return w.mix->recvs + (w.mix->cancel < w.mix->recvs);
}

/* ---- completions */

static void sent(const struct weft_wc *wc)
{
	if (wc->wr_id >= w.mix->sends || w.msg[wc->wr_id]->sent || wc->status != WEFT_WC_SUCCESS) {
		fault("a send's completion");
		return;
	}
	sim_tag_msg_sent(&w.model, w.msg[wc->wr_id], true);
	w.sends_done++;
}

static void received(const struct weft_wc *wc)
{
	uint64_t i = wc->wr_id - 100, m = wc->data;
	uint32_t room;

	if (i >= w.mix->recvs || w.op[i]->done) {
		fault("a receive's completion");
		return;
	}
	w.recvs_done++;
	if (wc->status == WEFT_WC_WR_FLUSH_ERR && wc->vendor_err == WEFT_VENDOR_ERR_CANCELED) {
		if (!sim_tag_op_canceled(&w.model, w.op[i]))
			fault(w.model.why);
		return;
	}
	room = w.mix->recv[i] == RECV_SHORT ? EAGER_BYTES : SLOT_BYTES;
	if (m >= w.mix->sends || wc->msg_bytes != bytes_of(w.mix->send[m]) ||
	    wc->bytes != (wc->msg_bytes < room ? wc->msg_bytes : room) ||
	    wc->status != (wc->msg_bytes > room ? WEFT_WC_LOC_LEN_ERR : WEFT_WC_SUCCESS)) {
		fault("a received message's envelope");
		return;
	}
	if (!all_bytes(slot_of(1, (uint32_t)i), (uint8_t)('a' + m), wc->bytes) ||
	    !all_bytes(slot_of(1, (uint32_t)i) + wc->bytes, '.', SLOT_BYTES - wc->bytes))
		fault("a received message's bytes");
	if (!sim_tag_op_matched(&w.model, w.op[i], w.msg[m], true))
		fault(w.model.why);
	w.took[i] = (uint32_t)m;
}

static void reap(void)
{
	struct weft_wc wc;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		while (weft_poll_cq(w.cq[i], 1, &wc) == 1) {
			if (wc.opcode == WEFT_WC_TSEND)
				sent(&wc);
			else
				received(&wc);
		}
	}
}

/* ---- a run */

static void begin_run(const struct mix *mix)
{
	struct sim_tag_end *src, *dst;
	uint32_t i;

	w.mix = mix;
	w.sends_done = w.recvs_done = 0;
	memset(w.posted, 0, sizeof(w.posted));
	w.to[0].delivered = w.to[1].delivered = 0;
	sim_tag_model_init(&w.model);
	src = sim_tag_end_new(&w.model, sim_nic_ip(sim_nic_at(w.sim, 0)), w.ep[0]->qp->qpn);
	dst = sim_tag_end_new(&w.model, sim_nic_ip(sim_nic_at(w.sim, 1)), w.ep[1]->qp->qpn);
	for (i = 0; i < mix->sends; i++) {
		w.msg[i] = sim_tag_msg_post(&w.model, sim_tag_pair_get(&w.model, src, dst));
		w.msg[i]->bytes = bytes_of(mix->send[i]);
		w.msg[i]->tag = mix->send[i] == SEND_OTHER ? OTHER_TAG : 1;
	}
	for (i = 0; i < mix->recvs; i++) {
		w.op[i] = sim_tag_op_post(&w.model, dst);
		w.op[i]->src_ip = src->ip;
		w.op[i]->src_qpn = src->qpn;
		w.op[i]->any_src = mix->recv[i] == RECV_ANY;
		w.op[i]->ignore = mix->recv[i] == RECV_ANY ? UINT64_MAX : 0;
		w.op[i]->tag = mix->recv[i] == RECV_OTHER ? OTHER_TAG : 1;
		w.took[i] = MOST;
	}
	w.holds = true;
}

/* Carries the schedule out. False: a NIC waits for frames that do not come. */
static bool follow(const struct schedule *s)
{
	uint32_t nic;
	bool moved = true;

	while (moved && !w.wrong) {
		moved = false;
		for (nic = 0; nic < 2; nic++) {
			struct way *way = &w.to[nic];

			if (w.posted[nic] < to_post(nic) &&
			    way->delivered >= s->before[nic][w.posted[nic]]) {
				post_next(nic);
				moved = true;
			} else if (way->num) {
				deliver(nic, s->newest >> (way->delivered % 4 * 2 + nic) & 1);
				moved = true;
			}
		}
		reap();
	}
	return w.posted[0] == to_post(0) && w.posted[1] == to_post(1);
}

/* True when all sends and receives have completed. */
static bool complete(void *ctx)
{
	(void)ctx;
	reap();
	return w.wrong || (w.sends_done == w.mix->sends && w.recvs_done == w.mix->recvs);
}

static void finish(const struct mix *mix)
{
	struct sim_tag_ref *ref = sim_tag_ref_new();
	uint32_t i;

	w.holds = false;
	while (w.to[0].num)
		deliver(0, false);
	while (w.to[1].num)
		deliver(1, false);
	sim_run_until(w.sim, complete, NULL, LAST_NS);
	for (i = 0; i < mix->recvs && mix->cancel >= mix->recvs; i++)
		(void)sim_tag_ref_post(ref, w.op[i]);
	for (i = 0; i < mix->sends && mix->cancel >= mix->recvs; i++) {
		struct sim_tag_op *op = sim_tag_ref_arrive(ref, w.msg[i]);
		uint32_t r = op ? op->index : MOST;

		if (op && w.took[r] != i)
			fault("a receive has not the message of the sequential matcher");
		if (!op && w.msg[i]->matched)
			fault("a message was received that the sequential matcher leaves");
		/* Sends without match stay open, except eager ones. */
		if (!op && mix->send[i] != SEND_EAGER && w.msg[i]->sent)
			fault("a send completed without a match");
		if ((op || mix->send[i] == SEND_EAGER) && !w.msg[i]->sent)
			fault("a send did not complete");
	}
	if (mix->cancel < mix->recvs && !w.op[mix->cancel]->done)
		fault("a cancelled receive did not complete");
	sim_tag_ref_free(ref);
	if (!sim_tag_model_check(&w.model))
		fault(w.model.why);
}

static void count_announced(void)
{
	struct weft_tag_stats stats;

	if (weft_query_tag_ep(w.ep[1], &stats))
		return;
	tag_order_counts.announced += stats.announced;
	tag_order_counts.used += stats.announced_used;
}

static void print_run(const struct mix *mix, const struct schedule *s)
{
	uint32_t i;

	printf("\n    %s: sends", w.why);
	for (i = 0; i < mix->sends; i++)
		printf(" %c(%u)", "elso"[mix->send[i]], s -> before[0][i]);
	printf(", receives");
	for (i = 0; i < mix->recvs; i++)
		printf(" %c(%u)", "xsao"[mix->recv[i]], s -> before[1][i]);
	if (mix->cancel < mix->recvs)
		printf(" cancel %u(%u)", mix->cancel, s->before[1][mix->recvs]);
	printf(", newest 0x%x; took", s->newest);
	for (i = 0; i < mix->recvs; i++)
		printf(w.op[i]->done ? " %u" : " -", w.took[i]);
}

enum tag_order_end tag_order_run(const struct mix *mix, const struct schedule *s,
				 uint32_t *received)
{
	bool can;

	w.wrong = false;
	if (w.sim && w.runs++ == RUNS_OF_SIM)
		tag_order_close();
	if (!w.sim)
		world_open();
	open_eps();
	greet();
	begin_run(mix);
	can = follow(s);
	if (can && !w.wrong)
		finish(mix);
	w.holds = false;
	w.to[0].num = w.to[1].num = 0;
	if (w.wrong)
		print_run(mix, s);
	tag_order_counts.checked += can;
	tag_order_counts.impossible += !can;
	sim_tag_model_free(&w.model);
	count_announced();
	weft_close_tag_ep(w.ep[0]);
	weft_close_tag_ep(w.ep[1]);
	/* Late acknowledgements are no frames of the next run. */
	sim_run_for(w.sim, QUIET_NS);
	*received = w.posted[1];
	if (w.wrong) {
		tag_order_close();
		return TAG_ORDER_WRONG;
	}
	if (can)
		return TAG_ORDER_RIGHT;
	return w.posted[0] == to_post(0) ? TAG_ORDER_RECEIVER_WAITS : TAG_ORDER_WAITS;
}
