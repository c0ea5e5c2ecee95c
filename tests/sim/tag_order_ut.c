/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All interleavings of a few sends and receives between two NICs.
 *
 * The test holds every frame. A schedule says, for each NIC, how many frames it has received before
 * it posts its next request; steps of different NICs touch each other through frames alone, so
 * these numbers describe every interleaving, and each once. Frames of a direction are delivered in
 * order, or the newest first where the schedule says so. For one sender and receives that are not
 * cancelled the matching is the same in all of them: that of the sequential matcher
 * (sim_tag_ref.c), which each run is compared with. With a cancellation the model judges
 * (sim_tag_model.c).
 *
 * WEFT_TAG_ALL=N in the environment divides the strides between the mixes that are run by N; with
 * 2000 all of them are.
 */
#include "tests/sim/sim_fix.h"

#include "host_driver/weft_tag.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/be.h"
#include "sim_harness/sim_tag_model.h"

enum {
	EAGER_BYTES = 64,
	SHORT_BYTES = 24,
	LONG_BYTES = 300,
	MOST = 3,       /* sends, receives */
	OPS = MOST + 1, /* a cancellation may follow */
	FRAMES = 64,    /* held at a time */
	SLOT_BYTES = 512,
	STEP_NS = 400,     /* enough for some turns, much less than a time-out */
	RUNS_OF_SIM = 200, /* then a new simulation begins */
	LAST_NS = 2000000000,
	QUIET_NS = 500000,
	OTHER_TAG = 2,
};

/* A send: letters of its protocol and tag. */
enum send_kind {
	SEND_EAGER,
	SEND_LONG,
	SEND_SYNC,
	SEND_OTHER, /* long, with a tag of its own */
	SEND_KINDS
};

enum recv_kind {
	RECV_EXACT, /* room for long ones: announced if nothing forbids it */
	RECV_SHORT, /* room for short ones: not announced */
	RECV_ANY,   /* any source, any tag */
	RECV_OTHER,
	RECV_KINDS
};

struct mix {
	uint32_t sends, recvs;
	enum send_kind send[MOST];
	enum recv_kind recv[MOST];
	uint32_t cancel; /* receive that is cancelled after the last was posted; MOST: none */
};

/* Frames that each NIC has received before it posts its i-th request. */
struct schedule {
	uint32_t before[2][OPS];
	uint32_t newest; /* bit i: the i-th frame of a direction that is delivered is the newest */
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
static uint64_t checked, impossible, announced, used;

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

static void world_close(void)
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
	announced += stats.announced;
	used += stats.announced_used;
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

/* Returns false if the schedule cannot be. */
static bool run(const struct mix *mix, const struct schedule *s)
{
	bool can;

	if (w.sim && w.runs++ == RUNS_OF_SIM)
		world_close();
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
	checked += can;
	impossible += !can;
	sim_tag_model_free(&w.model);
	count_announced();
	weft_close_tag_ep(w.ep[0]);
	weft_close_tag_ep(w.ep[1]);
	/* Late acknowledgements are no frames of the next run. */
	sim_run_for(w.sim, QUIET_NS);
	if (w.wrong)
		world_close();
	return can;
}

/* ---- all schedules */

/*
 * The next one in lexical order: numbers of one NIC do not fall. After a schedule that cannot be
 * because a NIC waits, larger numbers there cannot be either.
 */
static bool next_of(uint32_t *before, uint32_t n, uint32_t most)
{
	uint32_t i = n, k;

	while (i-- > 0) {
		if (before[i] == most)
			continue;
		before[i]++;
		for (k = i + 1; k < n; k++)
			before[k] = before[i];
		return true;
	}
	return false;
}

/* All schedules with at most so many frames before the last post of a NIC. */
static bool all_schedules(const struct mix *mix, uint32_t most, uint32_t newest)
{
	uint32_t n[2] = {mix->sends, mix->recvs + (mix->cancel < mix->recvs)};
	struct schedule s = {.newest = newest};
	uint32_t i;
	bool can;

	do {
		memset(s.before[1], 0, sizeof(s.before[1]));
		do {
			can = run(mix, &s);
			if (w.wrong)
				return false;
			/* No later time is possible for a post that waits in vain. */
			for (i = w.posted[1]; !can && w.posted[0] == n[0] && i < n[1]; i++)
				s.before[1][i] = most;
		} while (next_of(s.before[1], n[1], most));
	} while (next_of(s.before[0], n[0], most));
	return true;
}

/* The i-th mix of n sends and n receives. */
static struct mix mix_at(uint32_t n, uint32_t i, uint32_t cancel)
{
	struct mix mix = {.sends = n, .recvs = n, .cancel = cancel};
	uint32_t k;

	for (k = 0; k < n; k++) {
		mix.send[k] = (enum send_kind)(i % SEND_KINDS);
		i /= SEND_KINDS;
		mix.recv[k] = (enum recv_kind)(i % RECV_KINDS);
		i /= RECV_KINDS;
	}
	return mix;
}

static uint32_t mixes_of(uint32_t n)
{
	uint32_t all = 1;

	while (n--)
		all *= SEND_KINDS * RECV_KINDS;
	return all;
}

static void all_mixes(uint32_t n, uint32_t most, uint32_t stride, uint32_t cancel, uint32_t newest)
{
	bool right = true;
	uint32_t i;

	if (getenv("WEFT_TAG_ALL"))
		stride = 1 + stride / (uint32_t)(1 + atoi(getenv("WEFT_TAG_ALL")));
	checked = impossible = announced = used = 0;
	w.wrong = false;
	for (i = stride / 2; i < mixes_of(n) && right; i += stride) {
		const struct mix mix = mix_at(n, i, cancel);

		right = all_schedules(&mix, most, newest);
	}
	world_close();
	CU_ASSERT(right);
	CU_ASSERT(checked > 0);
	printf(" %llu schedules, %llu that cannot be, %llu announcements, %llu used ",
	       (unsigned long long)checked, (unsigned long long)impossible,
	       (unsigned long long)announced, (unsigned long long)used);
}

static void two_by_two(void)
{
	all_mixes(2, 3, 29, MOST, 0);
}

static void two_by_two_out_of_order(void)
{
	all_mixes(2, 3, 41, MOST, 0xff);
	all_mixes(2, 3, 61, MOST, 0x31);
}

static void two_by_two_with_a_cancellation(void)
{
	all_mixes(2, 2, 53, 0, 0);
	all_mixes(2, 2, 53, 1, 0);
}

static void three_by_three(void)
{
	all_mixes(3, 3, 4001, MOST, 0);
}

static void three_by_three_with_a_cancellation(void)
{
	all_mixes(3, 2, 3001, 0, 0);
	all_mixes(3, 2, 3001, 1, 0x1b);
}

UT_MAIN("sim/tag_order", UT(two_by_two), UT(two_by_two_out_of_order),
	UT(two_by_two_with_a_cancellation), UT(three_by_three),
	UT(three_by_three_with_a_cancellation))
