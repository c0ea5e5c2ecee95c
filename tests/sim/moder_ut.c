/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation between NICs whose processes block (sim_client.c): exact times through
 * libweft, the adaptive mode under streams and ping-pong and at the change between them, the target
 * mode under several kinds of traffic, compared with the best fixed delay.
 */
#include "sim_harness/sim_client.h"
#include "tests/sim/sim_fix.h"

enum {
	SLOTS = 64, /* messages in flight, receives posted */
};

/*
 * A host like the measured ones: the docs of weft-tune's simulated host have the origin of the
 * figures.
 */
static const struct sim_client_cost cost = {.irq_ns = 600,
					    .wake_ns = 3000,
					    .switch_ns = 1000,
					    .event_ns = 300,
					    .poll_ns = 60,
					    .post_ns = 80,
					    .arm_ns = 60};

enum load {
	PING_PONG,
	STREAM,
	LOADS
};

struct host {
	struct world *w;
	struct sim_client client;
	uint64_t received, sent;
	uint32_t under_way;
};

struct world {
	struct sim *sim;
	struct sim_nic *nic[2];
	struct host a, b;
	enum load load;
	uint32_t bytes;
	bool stop;
};

static void feed(struct host *h)
{
	while (!h->w->stop && h->under_way < (h->w->load == PING_PONG ? 1 : SLOTS)) {
		sim_client_send(&h->client, h->sent++, 0, h->w->bytes);
		h->under_way++;
		if (h->w->load == PING_PONG)
			break;
	}
}

static void completed(void *ctx, struct sim_client *client, const struct weft_wc *wc)
{
	struct host *h = ctx;
	struct world *w = h->w;

	CU_ASSERT_EQUAL(wc->status, WEFT_WC_SUCCESS);
	if (wc->opcode != WEFT_WC_RECV) {
		if (w->load == STREAM || h == &w->b) {
			h->under_way--;
			if (h == &w->a)
				feed(h);
		}
		return;
	}
	h->received++;
	sim_client_recv(client, h->received, 65536, w->bytes);
	if (w->load == STREAM || w->stop)
		return;
	if (h == &w->a)
		h->under_way = 0;
	else
		h->under_way++;
	if (h == &w->a)
		feed(h);
	else
		sim_client_send(client, h->sent++, 0, w->bytes);
}

static void open_host(struct world *w, struct host *h, struct sim_nic *nic, uint64_t seed)
{
	struct sim_client_attr attr = {
	    .cost = cost, .seed = seed, .completion = completed, .ctx = h};
	uint32_t i;

	attr.end.max_wr = 2 * SLOTS;
	h->w = w;
	CU_ASSERT_FATAL(!sim_client_open(&h->client, nic, &attr));
	for (i = 0; i < SLOTS; i++)
		sim_client_recv(&h->client, i, 65536, w->bytes);
}

static void world_open(struct world *w, enum load load, uint32_t bytes)
{
	struct sim_config config;

	memset(w, 0, sizeof(*w));
	w->load = load;
	w->bytes = bytes;
	sim_config_default(&config);
	w->sim = sim_new(&config, 1);
	CU_ASSERT_FATAL(w->sim != NULL);
	w->nic[0] = sim_nic_new(w->sim);
	w->nic[1] = sim_nic_new(w->sim);
	open_host(w, &w->a, w->nic[0], 1);
	open_host(w, &w->b, w->nic[1], 2);
	CU_ASSERT_FATAL(!sim_client_connect(&w->a.client, &w->b.client));
	CU_ASSERT_FATAL(!sim_client_connect(&w->b.client, &w->a.client));
	sim_client_start(&w->b.client);
	sim_client_start(&w->a.client);
	sim_run_for(w->sim, FIX_MS);
}

static void world_close(struct world *w)
{
	uint32_t i;

	w->stop = true;
	sim_run_for(w->sim, 20 * FIX_MS);
	for (i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(fw_lost_interrupts(sim_nic_fw(w->nic[i], 0)), 0);
	sim_client_close(&w->a.client);
	sim_client_close(&w->b.client);
	sim_free(w->sim);
}

static void set_mode(struct world *w, enum hw_coalesce_mode mode, uint32_t percentile, uint32_t ns)
{
	struct hw_cmd_coalesce cmd = {.vector = HW_COALESCE_ALL_VECTORS,
				      .set = HW_COALESCE_SET_MODE};
	struct hw_resp_coalesce resp;
	uint32_t i;

	cmd.coalesce.mode = mode;
	cmd.coalesce.target_percentile = percentile;
	cmd.coalesce.target_ns = ns;
	for (i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(fw_coalesce(sim_nic_fw(w->nic[i], 0), &cmd, &resp), 0);
}

struct figures {
	double msgs_per_ms, irqs_per_msg_tx, irqs_per_msg_rx;
};

static void measure(struct world *w, uint64_t ns, struct figures *f)
{
	uint64_t msgs = w->b.received, tx = w->a.client.counts.irqs, rx = w->b.client.counts.irqs;

	sim_run_for(w->sim, ns);
	msgs = w->b.received - msgs;
	f->msgs_per_ms = (double)msgs * 1e6 / (double)ns;
	f->irqs_per_msg_tx = (double)(w->a.client.counts.irqs - tx) / (double)msgs;
	f->irqs_per_msg_rx = (double)(w->b.client.counts.irqs - rx) / (double)msgs;
}

static void start(struct world *w)
{
	feed(&w->a);
	sim_client_start(&w->a.client);
}

static void is_as_fast(const struct figures *f, const struct figures *off, double least)
{
	CU_ASSERT_TRUE(f->msgs_per_ms >= least * off->msgs_per_ms);
	if (f->msgs_per_ms < least * off->msgs_per_ms)
		printf("\n    %.1f messages a ms of %.1f", f->msgs_per_ms, off->msgs_per_ms);
}

/* Checks the most interrupts per message, at either end. */
static void is_rare(const struct figures *f, double most)
{
	CU_ASSERT_TRUE(f->irqs_per_msg_tx <= most);
	CU_ASSERT_TRUE(f->irqs_per_msg_rx <= most);
	if (f->irqs_per_msg_tx > most || f->irqs_per_msg_rx > most)
		printf("\n    %.3f and %.3f interrupts a message", f->irqs_per_msg_tx,
		       f->irqs_per_msg_rx);
}

/* Ping-pong: no message is delayed, from the first one on. */
static void adaptive_leaves_ping_pong_alone(void)
{
	static const uint32_t sizes[] = {64, 65536};
	struct figures off, f;
	struct world w;
	uint32_t i, k;

	for (i = 0; i < 2; i++) {
		world_open(&w, PING_PONG, sizes[i]);
		start(&w);
		measure(&w, 5 * FIX_MS, &off);
		set_mode(&w, HW_COALESCE_ADAPTIVE, 0, 0);
		for (k = 0; k < 2; k++) {
			measure(&w, 15 * FIX_MS, &f);
			is_as_fast(&f, &off, 1 / 1.1);
		}
		world_close(&w);
	}
}

static void adaptive_moderates_streams(void)
{
	static const uint32_t sizes[] = {64, 4096, 65536};
	struct figures off, f;
	struct world w;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		world_open(&w, STREAM, sizes[i]);
		start(&w);
		measure(&w, (sizes[i] < 4096 ? 2 : 10) * FIX_MS, &off);
		set_mode(&w, HW_COALESCE_ADAPTIVE, 0, 0);
		sim_run_for(w.sim, (sizes[i] < 4096 ? 3 : 20) * FIX_MS);
		measure(&w, (sizes[i] < 4096 ? 3 : 20) * FIX_MS, &f);
		is_as_fast(&f, &off, 0.95);
		is_rare(&f, 0.1);
		world_close(&w);
	}
}

/* A long stream turns into ping-pong: no message waits for the delay learned from the stream. */
static void adaptive_follows_the_load(void)
{
	struct figures off, f;
	struct world w;
	uint32_t round;

	world_open(&w, PING_PONG, 65536);
	start(&w);
	measure(&w, 5 * FIX_MS, &off);
	set_mode(&w, HW_COALESCE_ADAPTIVE, 0, 0);
	for (round = 0; round < 2; round++) {
		w.stop = true;
		sim_run_for(w.sim, 3 * FIX_MS);
		w.load = STREAM;
		w.stop = false;
		w.a.under_way = w.b.under_way = 0;
		start(&w);
		sim_run_for(w.sim, 25 * FIX_MS);
		measure(&w, 10 * FIX_MS, &f);
		is_rare(&f, 0.1);
		w.stop = true;
		sim_run_for(w.sim, 3 * FIX_MS);
		w.load = PING_PONG;
		w.stop = false;
		w.a.under_way = w.b.under_way = 0;
		start(&w);
		measure(&w, 10 * FIX_MS, &f);
		is_as_fast(&f, &off, 1 / 1.1);
	}
	world_close(&w);
}

/* ---- exact times ----------------------------------------------------------------------------- */

static uint64_t irq_ns[64];
static uint32_t num_irqs;

static void note_irq(void *ctx, struct sim_proc *proc, uint32_t eq)
{
	(void)proc;
	if (eq && num_irqs < 64)
		irq_ns[num_irqs++] = sim_nic_clock_ns(ctx);
}

static void set_param(struct pair *p, uint32_t param, uint32_t value)
{
	struct weft_coalesce c = {0};

	c.param[param] = value;
	FIX_CHECK(p, !weft_set_coalesce(p->b.context, 0, WEFT_COALESCE_SET(param), &c));
}

/* One message to B, whose CQ is armed: from its completion to the interrupt. */
static uint64_t one_message(struct pair *p, uint32_t number)
{
	struct post request = {.wr_id = number, .bytes = 10};
	struct weft_cq *cq;
	struct weft_wc wc;
	uint64_t wait_ns;

	num_irqs = 0;
	FIX_REQUIRE(p, sim_end_recv(&p->b, number, 4096, 10) == 0);
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &request) == 0);
	expect(p, &p->a, number, WEFT_WC_SUCCESS);
	sim_run_for(p->sim, 2 * FIX_MS);
	FIX_REQUIRE(p, num_irqs == 1);
	FIX_REQUIRE(p, weft_poll_cq(p->b.cq, 1, &wc) == 1);
	wait_ns = irq_ns[0] - wc.timestamp_ns;
	FIX_CHECK(p, weft_get_cq_event(p->b.channel, &cq, NULL) == 0);
	weft_ack_cq_events(cq, 1);
	FIX_CHECK(p, !weft_req_notify_cq(p->b.cq, false));
	return wait_ns;
}

/* The process waits exactly for the setting of libweft, and not at all without moderation. */
static void usecs_end_to_end(void)
{
	static const uint32_t usecs[] = {0, 1, 7, 100, 1023, 0};
	const struct pair_attr attr = {.b = {.events = true}};
	struct pair p;
	uint32_t i;

	pair_open(&p, 1, &attr);
	sim_proc_on_irq(p.b.proc, note_irq, p.nb);
	FIX_REQUIRE(&p, weft_req_notify_cq(p.b.cq, false) == 0);
	for (i = 0; i < 6; i++) {
		set_param(&p, WEFT_COALESCE_RX_USECS, usecs[i]);
		FIX_CHECK(&p, one_message(&p, i) == usecs[i] * UINT64_C(1000));
	}
	pair_close(&p);
}

/*
 * A process that polls with interrupts masked gets none; unmasking reports the remaining
 * completions.
 */
static void a_mask_end_to_end(void)
{
	const struct pair_attr attr = {.b = {.events = true}};
	struct post request = {.bytes = 10};
	struct weft_cq *cq;
	struct weft_wc wc;
	struct pair p;
	uint32_t i;

	pair_open(&p, 1, &attr);
	sim_proc_on_irq(p.b.proc, note_irq, p.nb);
	for (i = 0; i < 3; i++) {
		num_irqs = 0;
		FIX_REQUIRE(&p, weft_req_notify_cq(p.b.cq, false) == 0);
		FIX_CHECK(&p, weft_mask_comp_channel(p.b.channel, true) == 0);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, i, 4096, 10) == 0);
		request.wr_id = i;
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		expect(&p, &p.a, i, WEFT_WC_SUCCESS);
		sim_run_for(p.sim, FIX_MS);
		FIX_CHECK(&p, num_irqs == 0);
		if (i == 1)
			FIX_CHECK(&p, weft_get_cq_event(p.b.channel, &cq, NULL) == 0);
		FIX_CHECK(&p, weft_mask_comp_channel(p.b.channel, false) == 0);
		sim_run_for(p.sim, FIX_MS);
		FIX_CHECK(&p, num_irqs == (i == 1 ? 0 : 1));
		if (i != 1)
			FIX_CHECK(&p, weft_get_cq_event(p.b.channel, &cq, NULL) == 0);
		weft_ack_cq_events(cq, 1);
		FIX_CHECK(&p, weft_poll_cq(p.b.cq, 1, &wc) == 1);
	}
	pair_close(&p);
}

UT_MAIN("sim/moder", UT(usecs_end_to_end), UT(a_mask_end_to_end),
	UT(adaptive_leaves_ping_pong_alone), UT(adaptive_moderates_streams),
	UT(adaptive_follows_the_load))
