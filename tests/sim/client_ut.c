/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the simulated host of sim_client.c, to the nanosecond: when an interrupt is served, the
 * process runs and its steps end; the effect of an interrupt on a running process; the accounting
 * of processor time. Interrupts come from the NIC or, where their time matters, from the test
 * itself.
 */
#include "sim_harness/sim_client.c"

#include "tests/sim/sim_fix.h"

enum {
	IRQ_NS = 1000,
	WAKE_NS = 4000,
	SWITCH_NS = 700,
	EVENT_NS = 500,
	POLL_NS = 60,
	POST_NS = 90,
	ARM_NS = 40,
	BYTES = 64,
	MAX_SEEN = 64,
};

static const struct sim_client_cost cost = {.irq_ns = IRQ_NS,
					    .wake_ns = WAKE_NS,
					    .switch_ns = SWITCH_NS,
					    .event_ns = EVENT_NS,
					    .poll_ns = POLL_NS,
					    .post_ns = POST_NS,
					    .arm_ns = ARM_NS};

struct host {
	struct sim *sim;
	struct sim_client client;
	uint64_t at_ns[MAX_SEEN]; /* of completions */
	enum weft_wc_opcode opcode[MAX_SEEN];
	uint32_t seen;
	uint32_t answers; /* messages that answer each receive */
};

struct two {
	struct sim *sim;
	struct host a, b;
};

static void seen(void *ctx, struct sim_client *client, const struct weft_wc *wc)
{
	struct host *h = ctx;
	uint32_t i;

	CU_ASSERT_FATAL(h->seen < MAX_SEEN);
	CU_ASSERT(wc->status == WEFT_WC_SUCCESS);
	h->at_ns[h->seen] = sim_now_ns(h->sim);
	h->opcode[h->seen++] = wc->opcode;
	if (wc->opcode != WEFT_WC_RECV)
		return;
	for (i = 0; i < h->answers; i++)
		sim_client_send(client, i, 0, BYTES);
}

static bool all_idle(void *ctx)
{
	struct two *t = ctx;

	return sim_client_idle(&t->a.client) && sim_client_idle(&t->b.client);
}

/* All messages are exchanged, and both processes sleep. */
static void settle(struct two *t)
{
	sim_run_for(t->sim, 2 * FIX_MS);
	CU_ASSERT_FATAL(all_idle(t));
}

static void open_host(struct two *t, struct host *h, const struct sim_client_cost *of,
		      uint64_t seed)
{
	struct sim_client_attr attr = {.cost = *of, .seed = seed, .completion = seen, .ctx = h};
	uint32_t i;

	h->sim = t->sim;
	CU_ASSERT_FATAL(!sim_client_open(&h->client, sim_nic_new(t->sim), &attr));
	for (i = 0; i < 32; i++)
		sim_client_recv(&h->client, i, 4096, BYTES);
}

static struct two *two_open(const struct sim_client_cost *of, uint64_t seed)
{
	struct two *t = calloc(1, sizeof(*t));
	struct sim_config config;

	CU_ASSERT_FATAL(t != NULL);
	sim_config_default(&config);
	config.poll_jitter_ns = 0;
	t->sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(t->sim != NULL);
	open_host(t, &t->a, of, seed);
	open_host(t, &t->b, of, seed);
	CU_ASSERT_FATAL(!sim_client_connect(&t->a.client, &t->b.client));
	CU_ASSERT_FATAL(!sim_client_connect(&t->b.client, &t->a.client));
	sim_client_start(&t->a.client);
	sim_client_start(&t->b.client);
	settle(t);
	memset(&t->a.client.counts, 0, sizeof(t->a.client.counts));
	memset(&t->b.client.counts, 0, sizeof(t->b.client.counts));
	return t;
}

static void two_close(struct two *t)
{
	sim_client_close(&t->a.client);
	sim_client_close(&t->b.client);
	sim_free(t->sim);
	free(t);
}

static bool interrupted_once(void *ctx)
{
	const struct host *h = ctx;

	return h->client.counts.irqs == 1;
}

/* A sends one message; returns when B's interrupt comes. */
static uint64_t message_to_b(struct two *t)
{
	sim_client_send(&t->a.client, 1, 0, BYTES);
	sim_client_start(&t->a.client);
	CU_ASSERT_FATAL(sim_run_until(t->sim, interrupted_once, &t->b, FIX_MS));
	return sim_now_ns(t->sim);
}

/* Service, wake-up, event, completion; then the empty poll, arming, another poll. */
static void wakes_up(void)
{
	struct two *t = two_open(&cost, 1);
	uint64_t irq_ns = message_to_b(t);
	const struct sim_client_counts *c = &t->b.client.counts;

	CU_ASSERT(t->b.client.state == SIM_CLIENT_WAKING);
	settle(t);
	CU_ASSERT_FATAL(t->b.seen == 1);
	CU_ASSERT(t->b.at_ns[0] == irq_ns + IRQ_NS + WAKE_NS + EVENT_NS + POLL_NS);
	CU_ASSERT(c->irqs == 1 && c->wakes == 1 && c->spurious == 0);
	CU_ASSERT(c->received == 1 && c->sent == 0);
	CU_ASSERT(c->busy_ns ==
		  IRQ_NS + SWITCH_NS + EVENT_NS + POLL_NS + POLL_NS + ARM_NS + POLL_NS);
	/* The sender: its own completion is an interrupt, too. */
	CU_ASSERT(t->a.seen == 1 && t->a.opcode[0] == WEFT_WC_SEND);
	CU_ASSERT(t->a.client.counts.irqs == 1 && t->a.client.counts.sent == 1);
	two_close(t);
}

/* Posts take their time, one after another, before the process polls again. */
static void posts_in_turn(void)
{
	struct two *t = two_open(&cost, 2);
	uint64_t irq_ns;
	const struct sim_client_counts *c = &t->b.client.counts;

	t->b.answers = 3;
	irq_ns = message_to_b(t);
	sim_run_for(t->sim, IRQ_NS + WAKE_NS + EVENT_NS + POLL_NS);
	CU_ASSERT(t->b.client.post_tail - t->b.client.post_head == 3);
	sim_run_for(t->sim, POST_NS - 1);
	CU_ASSERT(t->b.client.post_tail - t->b.client.post_head == 3);
	sim_run_for(t->sim, 1);
	CU_ASSERT(t->b.client.post_tail - t->b.client.post_head == 2);
	sim_run_for(t->sim, 2 * POST_NS);
	CU_ASSERT(t->b.client.post_tail == t->b.client.post_head);
	CU_ASSERT(c->busy_ns == IRQ_NS + SWITCH_NS + EVENT_NS + POLL_NS + 3 * POST_NS + POLL_NS);
	CU_ASSERT(sim_now_ns(t->sim) ==
		  irq_ns + IRQ_NS + WAKE_NS + EVENT_NS + POLL_NS + 3 * POST_NS);
	settle(t);
	CU_ASSERT(t->a.seen == 4 && t->b.seen == 4);
	two_close(t);
}

/* An interrupt of a sleeping process without a completion: it polls, and sleeps again. */
static void nothing_there(void)
{
	struct two *t = two_open(&cost, 3);
	struct sim_client *b = &t->b.client;

	on_irq(b, b->end.proc, 1);
	CU_ASSERT(b->state == SIM_CLIENT_WAKING);
	sim_run_for(t->sim, IRQ_NS + WAKE_NS + EVENT_NS + POLL_NS - 1);
	CU_ASSERT(b->state == SIM_CLIENT_RUNNING);
	sim_run_for(t->sim, 1);
	/* The CQ is still armed: one poll is enough. */
	CU_ASSERT(b->state == SIM_CLIENT_ASLEEP);
	CU_ASSERT(b->counts.spurious == 1 && b->counts.wakes == 1);
	CU_ASSERT(b->counts.busy_ns == IRQ_NS + SWITCH_NS + EVENT_NS + POLL_NS);
	two_close(t);
}

/* The process pauses while an interrupt is served, and sees it when the service ends. */
static void interrupt_stops_process(void)
{
	struct two *t = two_open(&cost, 4);
	struct sim_client *b = &t->b.client;
	uint64_t irq_ns = message_to_b(t);

	sim_run_for(t->sim, IRQ_NS + WAKE_NS + 100);
	CU_ASSERT(b->state == SIM_CLIENT_RUNNING && b->step == SIM_CLIENT_EVENT);
	on_irq(b, b->end.proc, 1);
	on_irq(b, b->end.proc, 1);
	settle(t);
	CU_ASSERT_FATAL(t->b.seen == 1);
	CU_ASSERT(t->b.at_ns[0] == irq_ns + IRQ_NS + WAKE_NS + EVENT_NS + 2 * IRQ_NS + POLL_NS);
	/* These interrupts woke no process, and the process saw them once. */
	CU_ASSERT(b->counts.irqs == 3 && b->counts.wakes == 1 && b->counts.spurious == 1);
	CU_ASSERT(b->counts.busy_ns ==
		  3 * IRQ_NS + SWITCH_NS + 2 * EVENT_NS + 4 * POLL_NS + ARM_NS);
	two_close(t);
}

/*
 * An interrupt that arrives during another one's service (ESPGOAL, figure 6.3): the woken process
 * runs later by the rest of that service. An interrupt after the service is not delayed.
 */
static void interrupt_in_service(void)
{
	static const uint64_t into_ns[] = {0, 1, IRQ_NS / 2, IRQ_NS - 1, IRQ_NS};
	struct two *t;
	struct sim_client *b;
	uint64_t start_ns;
	size_t i;

	for (i = 0; i < sizeof(into_ns) / sizeof(into_ns[0]); i++) {
		t = two_open(&cost, 5);
		b = &t->b.client;
		start_ns = sim_now_ns(t->sim);
		on_irq(b, b->end.proc, 1);
		sim_run_for(t->sim, into_ns[i]);
		on_irq(b, b->end.proc, 1);
		CU_ASSERT(b->busy_until_ns == start_ns + 2 * IRQ_NS);
		sim_run_for(t->sim, IRQ_NS + WAKE_NS - into_ns[i]);
		/* The wake-up was in progress already; the second service lies within it. */
		CU_ASSERT(b->state == SIM_CLIENT_RUNNING);
		CU_ASSERT(b->busy_until_ns == start_ns + IRQ_NS + WAKE_NS + EVENT_NS);
		settle(t);
		two_close(t);
	}
	/* An interrupt at the end of the wake-up delays the process. */
	t = two_open(&cost, 5);
	b = &t->b.client;
	on_irq(b, b->end.proc, 1);
	sim_run_for(t->sim, IRQ_NS + WAKE_NS - 300);
	on_irq(b, b->end.proc, 1);
	sim_run_for(t->sim, 300 + IRQ_NS - 300 - 1);
	CU_ASSERT(b->state == SIM_CLIENT_WAKING);
	sim_run_for(t->sim, 1);
	CU_ASSERT(b->state == SIM_CLIENT_RUNNING);
	settle(t);
	two_close(t);
}

/* A message is copied before it is processed. */
static void copies(void)
{
	struct sim_client_cost slow = cost;
	struct two *t;
	uint64_t irq_ns, answered_ns;

	slow.byte_ps = 10000;
	t = two_open(&slow, 6);
	t->b.answers = 1;
	irq_ns = message_to_b(t);
	answered_ns = irq_ns + IRQ_NS + WAKE_NS + EVENT_NS + POLL_NS + 640 + POST_NS;
	sim_run_for(t->sim, answered_ns - 1 - irq_ns);
	CU_ASSERT(t->b.client.post_tail - t->b.client.post_head == 1);
	sim_run_for(t->sim, 1);
	CU_ASSERT(t->b.client.post_tail == t->b.client.post_head);
	settle(t);
	two_close(t);
}

/* Wake-ups as the histogram has them: 1,000 to 1,099 ns or 3,000 to 3,999, of a median of 2,000. */
static const struct sim_spread_bin late_bins[] = {{1000, 1100, 3}, {3000, 4000, 6}};
static const struct sim_spread late_ones = {.bin = late_bins, .num_bins = 2, .median_ns = 2000};

/* Wake-ups spread as was measured, scaled by their median, by the seed alone. */
static void spread(void)
{
	enum {
		SEEDS = 32,
	};
	struct sim_client_cost uneven = cost;
	uint64_t took[SEEDS] = {0};
	uint32_t i, run, quick = 0;

	uneven.wake_spread = &late_ones;
	for (run = 0; run < 2; run++) {
		for (i = 0; i < SEEDS; i++) {
			struct two *t = two_open(&uneven, 100 + i);
			uint64_t irq_ns = message_to_b(t), ns;

			settle(t);
			ns = t->b.at_ns[0] - (irq_ns + IRQ_NS + EVENT_NS + POLL_NS);
			/* WAKE_NS is twice the histogram's median. */
			CU_ASSERT((ns >= 2000 && ns < 2200) || (ns >= 6000 && ns < 8000));
			CU_ASSERT(!run || ns == took[i]);
			took[i] = ns;
			quick += ns < 2200;
			two_close(t);
		}
	}
	CU_ASSERT(quick > SEEDS / 2 && quick < 2 * SEEDS - SEEDS / 2);
}

/* Each bin is drawn as often as it has samples, its ends too; a histogram of one time is that. */
static void drawn_by_samples(void)
{
	static const struct sim_spread_bin bins[] = {{10, 12, 1}, {50, 51, 4}, {51, 52, 10}};
	static const struct sim_spread_bin single[] = {{7, 8, 1}};
	const struct sim_spread spread = {.bin = bins, .num_bins = 3, .median_ns = 51},
				one = {.bin = single, .num_bins = 1, .median_ns = 7};
	uint32_t seen[64] = {0}, i;
	struct sim_prng prng;

	sim_prng_init(&prng, 1, SIM_STREAM_CLIENT, 0);
	for (i = 0; i < 100000; i++) {
		uint64_t ns = sim_spread_draw(&spread, &prng, 51);

		CU_ASSERT_FATAL(ns < 64);
		seen[ns]++;
	}
	CU_ASSERT(seen[10] > 4500 && seen[10] < 5500);
	CU_ASSERT(seen[11] > 4500 && seen[11] < 5500);
	CU_ASSERT(seen[50] > 29000 && seen[50] < 31000);
	CU_ASSERT(seen[51] > 59000 && seen[51] < 61000);
	CU_ASSERT(seen[10] + seen[11] + seen[50] + seen[51] == 100000);
	CU_ASSERT(sim_spread_draw(&one, &prng, 7000) == 7000);
}

/*
 * Many messages at once, handled in one go: an interrupt while the process runs wakes no process.
 */
static void bursts(void)
{
	struct two *t = two_open(&cost, 7);
	uint32_t i;

	for (i = 0; i < 30; i++)
		sim_client_send(&t->a.client, i, 0, BYTES);
	sim_client_start(&t->a.client);
	settle(t);
	CU_ASSERT(t->b.seen == 30 && t->b.client.counts.received == 30);
	CU_ASSERT(t->a.seen == 30 && t->a.client.counts.sent == 30);
	CU_ASSERT(t->b.client.counts.wakes < 10);
	CU_ASSERT(t->b.client.counts.busy_ns >= 30 * POLL_NS);
	two_close(t);
}

UT_MAIN("sim/client", UT(wakes_up), UT(posts_in_turn), UT(nothing_there),
	UT(interrupt_stops_process), UT(interrupt_in_service), UT(copies), UT(spread),
	UT(drawn_by_samples), UT(bursts))
