/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager among several NICs: many connects at once, some accepted, some refused,
 * some cancelled by either end, with frames lost, duplicated, late, changed or forged; listeners in
 * every shard; a process that is killed and a NIC that restarts in the middle.
 *
 * Every connect is established or fails with a reason, an established connection reports its end
 * once, and when all is destroyed no endpoint is left. Runs nic_fw/cm/cm*.c under
 * host_driver/weft_cm.c. docs/connection-manager.md.
 */
#include "host_driver/weft_cm.h"
#include "host_driver/weft_priv.h"
#include "tests/sim/sim_fix.h"

enum {
	HOSTS = 4,
	ASKS = 24, /* connects of each host */
	PORT = 700,
	DATA_BYTES = 5,
	NAMES = 512, /* endpoints of a host whose numbers are followed */
	ARRIVAL_MS = 300,
	TICK_MS = 2,
};

/* State of an endpoint, as its process knows it. */
enum phase {
	NOBODY,
	ASKED,    /* connected, or a request that waits for the process's answer */
	ANSWERED, /* accepted; the active end: its answer came too late */
	UP,
	OVER,
};

struct point {
	uint8_t phase;
	bool passive;
	bool ended; /* DISCONNECTED was reported */
};

struct host {
	struct sim_nic *nic;
	struct sim_proc *proc;
	struct weft_context *context;
	struct weft_comp_channel *channel;
	uint32_t listener;
	struct point point[NAMES];
	uint32_t to_ask;
	bool gone; /* frees all its endpoints, too */
};

struct crowd {
	struct sim *sim;
	struct sim_prng prng;
	struct host host[HOSTS];
	struct weft_context *other[HOSTS * SIM_MAX_SHARDS]; /* contexts of idle processes */
	uint32_t others;
	bool thinking; /* listeners refuse some requests, and delay others */
	bool strict;   /* nothing is forged: every event must be one that is due */
	uint32_t up, refused, unreachable, closed, odd;
};

static struct point *point_of(struct crowd *c, struct host *h, uint32_t ep)
{
	FIX_REQUIRE(c, ep < NAMES);
	return &h->point[ep];
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static void host_open(struct crowd *c, struct host *h)
{
	uint16_t port = PORT;

	memset(h, 0, sizeof(*h));
	h->nic = sim_nic_at(c->sim, (uint32_t)(h - c->host));
	h->proc = sim_proc_new(h->nic, "cm");
	h->context = sim_open(h->proc);
	FIX_REQUIRE(c, h->context != NULL);
	h->channel = weft_create_comp_channel(h->context, 0);
	FIX_REQUIRE(c, h->channel != NULL);
	FIX_REQUIRE(c, weft_cm_create(h->channel, &h->listener) == 0);
	FIX_REQUIRE(c, weft_cm_bind(h->context, h->listener, HW_CM_TCP, &port, false) == 0);
	FIX_REQUIRE(c, weft_cm_listen(h->context, h->listener, 0, NULL) == 0);
	h->to_ask = ASKS;
}

static void crowd_open(struct crowd *c, uint64_t seed, uint32_t shards)
{
	struct sim_config config;
	uint32_t i, s;

	memset(c, 0, sizeof(*c));
	sim_config_default(&config);
	config.num_shards = shards;
	c->sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(c->sim != NULL);
	sim_prng_for(c->sim, &c->prng, SIM_STREAM_TEST, 0);
	c->strict = true;
	for (i = 0; i < HOSTS; i++)
		CU_ASSERT_FATAL(sim_nic_new(c->sim) != NULL);
	for (i = 0; i < HOSTS; i++) {
		/* Processes are given to shards in turn: another one on each NIC. */
		for (s = 0; s < i % shards; s++)
			c->other[c->others++] =
			    sim_open(sim_proc_new(sim_nic_at(c->sim, i), "other"));
		host_open(c, &c->host[i]);
	}
}

static void faults(struct crowd *c, const char *list)
{
	char message[160];

	FIX_REQUIRE(c, sim_faults_parse(c->sim, list, message, sizeof(message)) == 0);
}

/* ---- actions of processes -------------------------------------------------------------------- */

static void ask(struct crowd *c, struct host *h)
{
	struct host *peer = &c->host[sim_prng_below(&c->prng, HOSTS)];
	struct hw_cm_param param = {.qpn = 1, .retry_count = 7, .rnr_retry_count = 7};
	const struct weft_cm_data data = {"asked", DATA_BYTES};
	uint16_t port = 0;
	uint32_t ep;

	h->to_ask--;
	FIX_REQUIRE(c, weft_cm_create(h->channel, &ep) == 0);
	FIX_REQUIRE(c, weft_cm_bind(h->context, ep, HW_CM_TCP, &port, false) == 0);
	FIX_REQUIRE(c, weft_cm_connect(h->context, ep, sim_nic_ip(peer->nic), PORT, false, NULL,
				       &param, &data) == 0);
	*point_of(c, h, ep) = (struct point){.phase = ASKED};
}

static void answer(struct crowd *c, struct host *h, uint32_t ep)
{
	const struct hw_cm_param param = {.qpn = 2, .retry_count = 7};
	const struct weft_cm_data data = {"given", DATA_BYTES};
	struct point *p = point_of(c, h, ep);
	uint32_t luck = c->thinking ? (uint32_t)sim_prng_below(&c->prng, 8) : 0;
	int rc;

	if (luck == 7)
		return; /* later */
	if (luck == 6) {
		FIX_CHECK(c, weft_cm_destroy(h->context, ep) == 0);
		*p = (struct point){0};
		return;
	}
	rc = luck == 5 ? weft_cm_reject(h->context, ep, HW_CM_REJ_CONSUMER, &data)
		       : weft_cm_accept(h->context, ep, &param, &data);
	/* The peer may have cancelled meanwhile: the next event reports that. */
	FIX_CHECK(c, rc == 0 || rc == -EINVAL);
	p->phase = luck == 5 ? OVER : ANSWERED;
}

static void end(struct crowd *c, struct host *h, uint32_t ep)
{
	struct point *p = point_of(c, h, ep);

	if (sim_prng_below(&c->prng, 4)) {
		FIX_CHECK(c, weft_cm_disconnect(h->context, ep) == 0);
		return;
	}
	FIX_CHECK(c, weft_cm_destroy(h->context, ep) == 0);
	*p = (struct point){0};
	c->closed++;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Records an event that is not due; forged messages may cause any. */
static void due(struct crowd *c, const struct hw_resp_cm_event *ev, bool is_due)
{
	if (is_due)
		return;
	if (c->strict)
		printf("\n    endpoint %u: event %u, status %u", ev->ep, ev->type, ev->status);
	FIX_CHECK(c, !c->strict);
	c->odd++;
}

static bool has_data(const struct hw_resp_cm_event *ev, const char *data)
{
	return ev->data_bytes == DATA_BYTES && !memcmp(ev->data, data, DATA_BYTES);
}

static void on_response(struct crowd *c, struct host *h, const struct hw_resp_cm_event *ev,
			struct point *p)
{
	int rc = weft_cm_accept(h->context, ev->ep, NULL, NULL);

	due(c, ev, !p->passive && p->phase == ASKED && has_data(ev, "given"));
	FIX_CHECK(c, rc == 0 || rc == -EINVAL);
	p->phase = rc == 0 ? UP : ANSWERED;
	c->up += rc == 0;
}

static void on_event(struct crowd *c, struct host *h, const struct hw_resp_cm_event *ev)
{
	struct point *p = point_of(c, h, ev->ep);

	switch ((enum hw_cm_event_type)ev->type) {
	case HW_CM_EVENT_REQUEST:
		due(c, ev, p->phase == NOBODY && ev->listener == h->listener);
		due(c, ev, has_data(ev, "asked"));
		*p = (struct point){.phase = ASKED, .passive = true};
		answer(c, h, ev->ep);
		break;
	case HW_CM_EVENT_RESPONSE:
		on_response(c, h, ev, p);
		break;
	case HW_CM_EVENT_ESTABLISHED:
		due(c, ev, p->passive && p->phase == ANSWERED);
		p->phase = UP;
		break;
	case HW_CM_EVENT_REJECTED:
	case HW_CM_EVENT_UNREACHABLE:
		due(c, ev, p->phase == ASKED || p->phase == ANSWERED);
		c->refused += !p->passive && ev->type == HW_CM_EVENT_REJECTED;
		c->unreachable += ev->type == HW_CM_EVENT_UNREACHABLE;
		p->phase = OVER;
		break;
	case HW_CM_EVENT_DISCONNECTED:
		due(c, ev, (p->phase == UP || p->phase == ANSWERED) && !p->ended);
		p->ended = true;
		p->phase = OVER;
		c->closed++;
		break;
	case HW_CM_EVENT_TIMEWAIT_EXIT:
		due(c, ev, p->phase == OVER);
		break;
	case HW_CM_EVENT_NONE:
	case HW_CM_EVENT_RESOLVED:
	case HW_CM_EVENTS:
		due(c, ev, false);
		break;
	}
}

static void hear(struct crowd *c, struct host *h)
{
	struct hw_resp_cm_event ev;
	int rc;

	while ((rc = weft_cm_get_event(h->channel, &ev)) == 0)
		on_event(c, h, &ev);
	FIX_CHECK(c, rc == -EAGAIN);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Ends established connections, if ending says so, and answers delayed requests. */
static void act(struct crowd *c, struct host *h, bool ending)
{
	uint32_t ep;

	if (h->to_ask && !sim_prng_below(&c->prng, ARRIVAL_MS / TICK_MS / ASKS))
		ask(c, h);
	for (ep = 0; ep < NAMES; ep++) {
		struct point *p = &h->point[ep];

		if (p->phase == ASKED && p->passive && !sim_prng_below(&c->prng, 100))
			answer(c, h, ep);
		else if (p->phase == UP && ending && !sim_prng_below(&c->prng, 100))
			end(c, h, ep);
	}
}

/* Counts the endpoints that wait for an event. */
static uint32_t open_points(const struct crowd *c, bool ending)
{
	uint32_t i, ep, n = 0;

	for (i = 0; i < HOSTS; i++) {
		const struct host *h = &c->host[i];

		if (h->gone)
			continue;
		n += h->to_ask;
		for (ep = 0; ep < NAMES; ep++)
			n += h->point[ep].phase != NOBODY && h->point[ep].phase != OVER &&
			     (ending || h->point[ep].phase != UP);
	}
	return n;
}

/* Runs until every endpoint has its event, at most limit_ms. */
static void live(struct crowd *c, bool ending, uint32_t limit_ms)
{
	uint32_t ms, i;

	for (ms = 0; ms < limit_ms && open_points(c, ending); ms += TICK_MS) {
		for (i = 0; i < HOSTS; i++) {
			if (c->host[i].gone)
				continue;
			hear(c, &c->host[i]);
			act(c, &c->host[i], ending);
		}
		sim_run_for(c->sim, TICK_MS * FIX_MS);
	}
	FIX_CHECK(c, open_points(c, ending) == 0);
}

static void host_close(struct crowd *c, struct host *h)
{
	uint32_t ep;

	if (!h->gone) {
		for (ep = 0; ep < NAMES; ep++)
			if (h->point[ep].phase != NOBODY)
				FIX_CHECK(c, weft_cm_destroy(h->context, ep) == 0);
		FIX_CHECK(c, weft_cm_destroy(h->context, h->listener) == 0);
	}
	FIX_CHECK(c, weft_destroy_comp_channel(h->channel) == 0);
	weft_close_device(h->context);
}

/* Destroys everything; when late messages are past, nothing is in use. */
static void crowd_close(struct crowd *c)
{
	uint32_t i;

	for (i = 0; i < HOSTS; i++)
		host_close(c, &c->host[i]);
	while (c->others)
		weft_close_device(c->other[--c->others]);
	sim_run_for(c->sim, 20000 * FIX_MS);
	for (i = 0; i < HOSTS; i++) {
		FIX_CHECK(c, sim_nic_stat(sim_nic_at(c->sim, i), "cm_endpoints_used") == 0);
		FIX_CHECK(c, sim_nic_stat(sim_nic_at(c->sim, i), "cm_data_used") == 0);
		FIX_CHECK(c, sim_nic_stat(sim_nic_at(c->sim, i), "cm_listeners") == 0);
		FIX_CHECK(c, sim_nic_counts(sim_nic_at(c->sim, i))->frames_held == 0);
	}
	sim_free(c->sim);
}

static uint64_t sum(const struct crowd *c, const char *counter)
{
	uint64_t all = 0;
	uint32_t i;

	for (i = 0; i < HOSTS; i++)
		all += sim_nic_stat(sim_nic_at(c->sim, i), counter);
	return all;
}

/* ---- the tests ------------------------------------------------------------------------------- */

/* Without faults every connect is established, and ends. */
static void quiet_network(void)
{
	struct crowd c;

	crowd_open(&c, 1, 1);
	live(&c, false, 20000);
	FIX_CHECK(&c, c.up == HOSTS * ASKS);
	FIX_CHECK(&c, sum(&c, "cm_duplicates") == 0);
	live(&c, true, 60000);
	/* Both ends of each. */
	FIX_CHECK(&c, c.closed == 2 * HOSTS * ASKS);
	crowd_close(&c);
}

static void bad_network(void)
{
	struct crowd c;
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		crowd_open(&c, seed, 1);
		c.thinking = true;
		faults(&c, "loss=10,dup=5,reorder=10,corrupt=2");
		live(&c, true, 200000);
		FIX_CHECK(&c, c.up + c.refused + c.unreachable >= HOSTS * ASKS);
		FIX_CHECK(&c, c.up > HOSTS * ASKS / 2 && c.refused > 0);
		FIX_CHECK(&c, sum(&c, "cm_retries") > 0 && sum(&c, "cm_duplicates") > 0);
		crowd_close(&c);
	}
}

/* Requests reach the listener of any shard, although they begin at the first one. */
static void other_shards(void)
{
	struct crowd c;
	uint64_t seed;

	for (seed = 1; seed <= 2; seed++) {
		crowd_open(&c, seed, 4);
		faults(&c, "loss=5,dup=5,reorder=5");
		live(&c, false, 60000);
		FIX_CHECK(&c, c.up == HOSTS * ASKS);
		live(&c, true, 100000);
		crowd_close(&c);
	}
}

/*
 * Forged messages end the connections that they name, or add to them: every end is reported,
 * nothing is left.
 */
static void forgers(void)
{
	struct crowd c;
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		crowd_open(&c, seed, 2);
		c.strict = false;
		c.thinking = true;
		faults(&c, "loss=2,forge=30");
		live(&c, true, 400000);
		crowd_close(&c);
	}
}

/* A process dies: its peers are notified at once. */
static void process_killed(void)
{
	struct crowd c;

	crowd_open(&c, 1, 1);
	faults(&c, "loss=5,dup=2,reorder=5");
	live(&c, false, 60000);
	sim_proc_kill(c.host[0].proc);
	c.host[0].gone = true;
	sim_run_for(c.sim, 5000 * FIX_MS);
	FIX_CHECK(&c, sim_nic_stat(c.host[0].nic, "cm_endpoints_used") == 0);
	live(&c, true, 60000);
	crowd_close(&c);
}

/*
 * A NIC restarts with established and pending connections: its peers detect it, even if they send
 * nothing.
 */
static void nic_restarted(void)
{
	struct crowd c;
	uint32_t i;

	crowd_open(&c, 1, 2);
	faults(&c, "loss=5,dup=2,reorder=5");
	for (i = 0; i < 60; i++) {
		uint32_t h;

		for (h = 0; h < HOSTS; h++) {
			hear(&c, &c.host[h]);
			act(&c, &c.host[h], false);
		}
		sim_run_for(c.sim, TICK_MS * FIX_MS);
	}
	sim_nic_restart(c.host[0].nic);
	c.host[0].gone = true;
	live(&c, false, 60000);
	FIX_CHECK(&c, c.refused > 0);
	/* One probe and its answer; connections whose ends probe each other stay established. */
	sim_run_for(c.sim, 40000 * FIX_MS);
	for (i = 1; i < HOSTS; i++)
		hear(&c, &c.host[i]);
	FIX_CHECK(&c, c.closed > 0);
	live(&c, true, 100000);
	crowd_close(&c);
}

/* ---- the cost of an event -------------------------------------------------------------------- */

static const struct weft_chan_ops *real_ops;
static uint32_t commands;

static int counted(void *chan, struct hw_cmd *cmd, int fd_in, struct hw_cmd_resp *resp, int *fds)
{
	commands++;
	return real_ops->command(chan, cmd, fd_in, resp, fds);
}

/* Polling without a waiting event sends no command, and every event is found. */
static void empty_channel(void)
{
	struct weft_chan_ops ops;
	struct hw_resp_cm_event ev;
	struct crowd c;
	struct host *h = &c.host[0];
	uint32_t i, found;

	crowd_open(&c, 1, 1);
	real_ops = weft_ctx_of(h->context)->ops;
	ops = *real_ops;
	ops.command = counted;
	weft_ctx_of(h->context)->ops = &ops;
	commands = 0;
	for (i = 0; i < 1000; i++)
		FIX_CHECK(&c, weft_cm_get_event(h->channel, &ev) == -EAGAIN);
	FIX_CHECK(&c, commands == 0);
	for (i = 1; i < HOSTS; i++)
		while (c.host[i].to_ask)
			ask(&c, &c.host[i]);
	sim_run_for(c.sim, 100 * FIX_MS);
	for (found = 0; weft_cm_get_event(h->channel, &ev) == 0; found++) {
		FIX_CHECK(&c, ev.type == HW_CM_EVENT_REQUEST);
		/* The answer says whether the event is the last one. */
		FIX_CHECK(&c, commands == found + 1);
		*point_of(&c, h, ev.ep) = (struct point){.phase = OVER, .passive = true};
	}
	FIX_CHECK(&c, found > 0);
	for (i = 0; i < 1000; i++)
		FIX_CHECK(&c, weft_cm_get_event(h->channel, &ev) == -EAGAIN);
	FIX_CHECK(&c, commands == found);
	weft_ctx_of(h->context)->ops = real_ops;
	crowd_close(&c);
}

UT_MAIN("sim/cm", UT(quiet_network), UT(bad_network), UT(other_shards), UT(forgers),
	UT(process_killed), UT(nic_restarted), UT(empty_channel))
