/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work that is measured; see load.h. One thread for each end. Calls load_io.
 */
#include "tools/weft-measure/load.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stats.h"

uint64_t load_frames(const struct load_plan *plan)
{
	return (plan->bytes + plan->chunk_bytes - 1) / plan->chunk_bytes;
}

/* Frames that are sent of the message under way; the first one is the warm-up. */
static uint64_t sent_frames(const struct load *load)
{
	const struct load_plan *plan = &load->plan;
	uint64_t all = load_frames(plan);

	if (plan->warmup && !load->rounds)
		return (uint64_t)plan->warmup * plan->block;
	return plan->part && plan->part < all ? plan->part : all;
}

/* Messages of bulk, the warm-up counted. */
static uint32_t messages(const struct load *load)
{
	return load->plan.repeats + (load->plan.warmup > 0);
}

void load_init(struct load *load, const struct load_plan *plan, const struct load_io *io, bool is_a)
{
	memset(load, 0, offsetof(struct load, sample_ns));
	load->plan = *plan;
	load->io = *io;
	load->is_a = is_a;
	assert(plan->repeats && plan->repeats <= LOAD_MAX_SAMPLES);
}

static void send(struct load *load, uint32_t bytes)
{
	load->under_way++;
	load->io.send(load->io.ctx, bytes);
}

static void add_sample(struct load *load, double ns)
{
	if (load->num_samples < LOAD_MAX_SAMPLES)
		load->sample_ns[load->num_samples++] = ns;
}

static void ping(struct load *load)
{
	load->sent_ns = load->io.now_ns(load->io.ctx);
	send(load, LOAD_SMALL_BYTES);
}

/* Asks for the next block. */
static void ask(struct load *load)
{
	uint64_t left = sent_frames(load) - load->asked;

	if (!left)
		return;
	load->asked += left < load->plan.block ? left : load->plan.block;
	send(load, LOAD_SMALL_BYTES);
}

static void next_message(struct load *load)
{
	uint32_t i;

	load->asked = load->here = 0;
	load->slope = (struct load_slope){0};
	load->start_ns = load->io.now_ns(load->io.ctx);
	for (i = 0; i < LOAD_AHEAD; i++)
		ask(load);
}

void load_begin(struct load *load)
{
	if (!load->is_a)
		return;
	switch (load->plan.kind) {
	case LOAD_PING:
		ping(load);
		break;
	case LOAD_BULK:
		next_message(load);
		break;
	case LOAD_STREAM:
		send(load, LOAD_SMALL_BYTES);
		break;
	}
}

static void pong(struct load *load)
{
	uint64_t now_ns = load->io.now_ns(load->io.ctx);

	if (load->rounds++ >= load->plan.warmup)
		add_sample(load, (double)(now_ns - load->sent_ns) / 2);
	load->over = load->rounds == load->plan.warmup + load->plan.repeats;
	if (!load->over)
		ping(load);
}

/* A block is here. */
static void note_block(struct load *load)
{
	struct load_slope *s = &load->slope;
	double i = (double)load->here, ns = (double)(load->end_ns - load->start_ns);

	s->n++;
	s->i += i;
	s->ns += ns;
	s->ii += i * i;
	s->i_ns += i * ns;
}

/*
 * The time of a whole message from that of the part which was sent. Interrupts report blocks in
 * bursts, so the time between two of them says little; the line through all of them gives the time
 * of a frame.
 */
static double whole_ns(const struct load *load)
{
	const struct load_slope *s = &load->slope;
	double ns = (double)(load->end_ns - load->start_ns), spread = s->n * s->ii - s->i * s->i;
	uint64_t rest = load_frames(&load->plan) - sent_frames(load);

	if (!rest || spread <= 0)
		return ns;
	return ns + (double)rest * (s->n * s->i_ns - s->i * s->ns) / spread;
}

static void frame_came(struct load *load)
{
	uint64_t all = sent_frames(load);

	load->here++;
	if (load->here % load->plan.block && load->here != all)
		return;
	load->end_ns = load->io.now_ns(load->io.ctx);
	note_block(load);
	if (load->here < all) {
		ask(load);
		return;
	}
	if (load->rounds || !load->plan.warmup)
		add_sample(load, whole_ns(load));
	load->over = ++load->rounds == messages(load);
	if (!load->over)
		next_message(load);
}

static void message_came(struct load *load)
{
	load->rounds++;
	if (load->rounds == load->plan.warmup)
		load->start_ns = load->io.now_ns(load->io.ctx);
	load->over = load->rounds == load->plan.warmup + load->plan.repeats;
	if (load->over)
		load->end_ns = load->io.now_ns(load->io.ctx);
}

/* B sends what it owes as far as its queue and the window reach. */
static void serve(struct load *load)
{
	uint32_t room =
	    load->plan.kind == LOAD_STREAM && load->plan.window ? load->plan.window : LOAD_SENDS;
	uint32_t bytes = load->plan.kind == LOAD_PING ? LOAD_SMALL_BYTES : load->plan.chunk_bytes;

	while (load->owed && load->under_way < room) {
		load->owed--;
		send(load, bytes);
	}
}

/* B is asked for something. */
static void asked_for(struct load *load)
{
	uint64_t all, more;

	switch (load->plan.kind) {
	case LOAD_PING:
		load->owed++;
		load->over = ++load->rounds == load->plan.warmup + load->plan.repeats;
		break;
	case LOAD_BULK:
		all = sent_frames(load);
		more =
		    all - load->served < load->plan.block ? all - load->served : load->plan.block;
		load->owed += more;
		load->served += more;
		if (load->served == all) {
			load->served = 0;
			load->over = ++load->rounds == messages(load);
		}
		break;
	case LOAD_STREAM:
		load->owed = load->plan.warmup + load->plan.repeats;
		load->over = true;
		break;
	}
	serve(load);
}

void load_received(struct load *load, uint32_t bytes)
{
	(void)bytes;
	if (!load->is_a) {
		asked_for(load);
		return;
	}
	switch (load->plan.kind) {
	case LOAD_PING:
		pong(load);
		break;
	case LOAD_BULK:
		frame_came(load);
		break;
	case LOAD_STREAM:
		message_came(load);
		break;
	}
}

void load_sent(struct load *load)
{
	assert(load->under_way);
	load->under_way--;
	if (!load->is_a)
		serve(load);
}

bool load_done(const struct load *load)
{
	return load->over && !load->owed && !load->under_way;
}

double load_quantile(struct load *load, double q)
{
	double at = q * (double)(load->num_samples - 1);
	uint32_t below = (uint32_t)at;

	if (!load->num_samples)
		return NAN;
	stats_sort(load->sample_ns, load->num_samples);
	if (below + 1 >= load->num_samples)
		return load->sample_ns[load->num_samples - 1];
	return load->sample_ns[below] +
	       (at - below) * (load->sample_ns[below + 1] - load->sample_ns[below]);
}

double load_rate(struct load *load)
{
	double ns;

	if (load->plan.kind == LOAD_BULK)
		return (double)load->plan.bytes * 1e9 / load_quantile(load, 0.5);
	ns = (double)(load->end_ns - load->start_ns);
	if (load->plan.kind == LOAD_PING || !load->over || ns <= 0)
		return NAN;
	return (double)load->plan.repeats * load->plan.chunk_bytes * 1e9 / ns;
}
