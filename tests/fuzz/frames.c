/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: input from the wire.
 *
 * Two NICs with open sessions exchange data while the input forges frames: copies of real ones with
 * fields changed, built ones, raw bytes; sealed, or not. The input is a program of 16-byte records
 * (struct rec): its first byte chooses the step below, the others its parameters. At the end all
 * faults stop: every request must complete, memory without rights must be unchanged, and nothing
 * may be left in any pool.
 *
 * Calls forge.c, ends.c, world.c.
 */
#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/ends.h"

enum step {
	STEP_POST,
	STEP_RECV,
	STEP_POLL,
	STEP_TIME,
	STEP_WIRE,
	STEP_DELIVER,
	STEP_TAKE,
	STEP_MAKE,
	STEP_SET,
	STEP_FIT,
	STEP_PUT,
	STEP_SEND,
	STEP_STATE,
	STEP_PORT,
	STEP_RAW,
	STEP_KILL,
	STEP_RUN,
	STEP_GOAL,
	STEP_RUN_BOTH,
	STEP_AGAIN,
	STEP_OTHER,
	STEP_RDMAP,
	STEP_GROUP,
	STEP_CM,
	STEP_MAKE_CM,
	STEP_TCP,
	STEP_TAG,
	STEP_ENVELOPE,
	STEPS
};

enum {
	END_PATIENCE_S = 600,
};

static struct frame forged;
static struct ends begun;

static void step_time(const struct rec *r)
{
	uint64_t ns = (uint64_t)(r->x & 0xffff) << r->b % 20;

	if (ns > 2 * W_S)
		ns = 2 * W_S;
	if (r->c & 1)
		w->wire.now_ns += ns;
	else
		world_run(ns, NULL);
}

static void step_wire(const struct rec *r)
{
	static const enum bench_verdict fates[] = {BENCH_PASS, BENCH_DROP, BENCH_TWICE, BENCH_KEEP};

	w->fate = fates[r->a % 4];
	w->fated = r->b % 16;
}

static void step_deliver(const struct rec *r)
{
	if (w->wire.num_kept)
		bench_wire_deliver(&w->wire, r->a % w->wire.num_kept);
}

/* r->z chooses the STag, r->y >> 16 the offset in it. */
static void step_make(const struct rec *r)
{
	uint32_t to = r->a & 1;
	const uint32_t stags[4] = {ends.end[to].all, ends.end[to].read, ends.end[to].window, r->z};
	static const uint32_t at[4] = {E_ALL_AT, E_READ_AT, E_ALL_AT, E_LOCAL_AT};
	const struct fw_qp *dst, *src;
	uint32_t k = r->z % 4, i = (r->a >> 1 & 7) % E_QPS;

	forged.to = to;
	if (r->op % 32 == STEP_TCP) {
		forge_tcp(&forged, r, stags[k], (uintptr_t)w->proc[to].mem + at[k] + (r->y >> 16));
		return;
	}
	if (r->op % 32 == STEP_RDMAP) {
		forge_rdmap(&forged, r, stags[k],
			    (uintptr_t)w->proc[to].mem + at[k] + (r->y >> 16));
		return;
	}
	/* forge_dgram() makes bundles of type RD. */
	if ((r->b & 7) == WIRE_DGRAM_RD_BUNDLE) {
		forge_edp(&forged, r, ends.coll.key);
		return;
	}
	/* Mostly of the datagram's own type. */
	if ((r->b & 7) == WIRE_DGRAM_UD && i < E_UD && !(r->b & 0x40))
		i = E_UD + i % 2;
	dst = w->proc[to].attached ? ends_fw_qp(to, i) : NULL;
	src = w->proc[!to].attached ? ends_fw_qp(!to, (r->a >> 4 & 7) % E_QPS) : NULL;
	forge_dgram(&forged, r, dst, src, stags[k],
		    (uintptr_t)w->proc[to].mem + at[k] + (r->y >> 16));
}

static void step_set(const struct rec *r)
{
	forge_set(&forged, (enum forge_layer)(r->a % FORGE_LAYERS), r->b % 64, 1u << (r->c & 3),
		  r->c >> 2, (uint64_t)r->y << 32 | r->x);
}

static void step_put(const struct rec *r)
{
	if (r->c & 0x80)
		forge_length(&forged, r->x);
	else
		forge_put(&forged, (enum forge_layer)(r->a % FORGE_LAYERS), r->b, &r->x,
			  1 + r->c % 12);
}

static void step_send(const struct rec *r)
{
	uint32_t i;

	if (forged.n < sizeof(struct wire_eth))
		return;
	ends.lied = true;
	forge_seal(&forged, r->b & 15);
	for (i = 0; i <= (r->b >> 4 & 3u); i++)
		world_inject(forged.to, forged.b, forged.n);
	if (!(r->b & 0x80))
		world_poll(forged.to);
}

static void step_state(const struct rec *r)
{
	uint32_t e = r->a & 1, i = (r->a >> 1 & 7) % E_QPS;
	uint32_t qpn = ends.end[e].qp[i].made.qpn;
	struct hw_qp_attr attr = {.en_sqd_async_notify = 1};

	if (!w->proc[e].attached)
		return;
	switch (r->b % 6) {
	case 0:
		proc_modify(&w->proc[e], qpn, HW_QPS_ERR, 0, NULL);
		break;
	case 1:
		proc_modify(&w->proc[e], qpn, HW_QPS_SQD, HW_QP_EN_SQD_ASYNC_NOTIFY, &attr);
		break;
	case 2:
		ends_forget(e, i);
		proc_modify(&w->proc[e], qpn, HW_QPS_RESET, 0, NULL);
		break;
	case 3:
		proc_obj(&w->proc[e], HW_CMD_DEREG_MR,
			 r->c & 1 ? ends.end[e].all : ends.end[e].local);
		break;
	case 4:
		proc_obj(&w->proc[e], HW_CMD_DEALLOC_MW, ends.end[e].window);
		break;
	default:
		ends_mend(e, i);
		break;
	}
}

static void step_port(const struct rec *r)
{
	uint32_t e = r->a & 1;

	switch (r->b % 5) {
	case 0:
		w->nic[e].port.tx_room = r->c & 1 ? UINT32_MAX : r->c >> 1;
		break;
	case 1:
		w->proc[e].host_fault = r->c & 1;
		break;
	case 2:
		fw_link(w->nic[e].fw, r->c & 1);
		break;
	case 3:
		w->nic[e].port.piece = r->c;
		w->nic[e].port.lends = r->x & 1;
		break;
	default:
		if (w->proc[e].attached)
			proc_ring(&w->proc[e], HW_DB_CQ_ARM, ends.end[e].rcq.cq, 0);
		break;
	}
}

/* The following records are the frame; returns how many were used. */
static uint32_t step_raw(const struct rec *r, uint32_t left)
{
	uint32_t n = r->b % 16;

	if (n > left)
		n = left;
	forged.to = r->a & 1;
	forged.n = n * (uint32_t)sizeof(*r);
	memcpy(forged.b, r + 1, forged.n);
	return n;
}

static void step_kill(const struct rec *r)
{
	struct w_proc *p = &w->proc[r->a & 1];

	/* Rarely: little happens without a process. */
	if (p->attached && r->x % 64 == 7)
		proc_detach(p);
}

/* Steps of collectives. */
static void goal_step(enum step step, const struct rec *r)
{
	uint32_t e = r->a & 1;

	if (step == STEP_AGAIN) {
		/* Repeats the last forged frame, a little further on in its stream. */
		forge_fit_esp(&forged, r->b, (int32_t)(int8_t)r->c);
		step_send(&(struct rec){.b = r->y & 0x8f});
		return;
	}
	if (step == STEP_RUN_BOTH && w->proc[!e].attached)
		ends_run(!e, r);
	if (!w->proc[e].attached || (step == STEP_GOAL && !w->proc[!e].attached))
		return;
	if (step == STEP_GOAL)
		ends_goal(e, r);
	else
		ends_run(e, r);
}

static void step_cm(const struct rec *r)
{
	uint32_t e = r->a & 1;
	uint32_t qp = r->a & 2 ? E_RC : E_RC_SRQ;

	if (w->proc[e].attached)
		cm_step(&ends.end[e].cm, &w->proc[e], r, w->nic[!e].fw->config.ip,
			ends.end[e].qp[qp].made.qpn);
}

/*
 * An envelope for a tagged endpoint, mostly in the name of the other one. r->b: forge.h, bit 3: not
 * sent yet.
 */
static void step_envelope(const struct rec *r)
{
	uint32_t to = r->a & 1;

	if (!w->proc[to].attached)
		return;
	forged.to = to;
	forge_tag(&forged, r, ends_fw_qp(to, E_TAG),
		  w->proc[!to].attached ? ends_fw_qp(!to, E_TAG) : NULL);
	if (!(r->b & 8))
		step_send(&(struct rec){.b = r->b & 0x80});
}

/* Steps that build, change or send the forged frame. */
static void forge_step(uint32_t step, const struct rec *r)
{
	uint32_t e = r->a & 1;

	switch (step) {
	case STEP_TAKE:
		forge_take(&forged, r->x);
		break;
	case STEP_MAKE:
	case STEP_RDMAP:
	case STEP_TCP:
		step_make(r);
		break;
	case STEP_SET:
		step_set(r);
		break;
	case STEP_FIT:
		forge_fit(&forged, r->b, (int32_t)(int8_t)r->c);
		forge_fit_esp(&forged, r->b, (int32_t)(int8_t)r->c);
		break;
	case STEP_PUT:
		step_put(r);
		break;
	case STEP_SEND:
		step_send(r);
		break;
	case STEP_OTHER:
		forged.to = e;
		forge_other(&forged, r);
		break;
	case STEP_GROUP:
		forged.to = e;
		forge_group(&forged, r, ends.coll.key);
		break;
	case STEP_MAKE_CM:
		forged.to = e;
		forge_cm(&forged, r);
		break;
	case STEP_ENVELOPE:
		step_envelope(r);
		break;
	default:
		break;
	}
}

static uint32_t run_step(const struct rec *r, uint32_t left)
{
	uint32_t e = r->a & 1;
	enum step step = (enum step)(r->op % 32);

	step = step < STEPS ? step : (enum step)(step % STEP_RUN);
	switch (step) {
	case STEP_POST:
		if (w->proc[e].attached)
			ends_post(e, r);
		break;
	case STEP_RECV:
		if (w->proc[e].attached)
			ends_recv(e, r);
		break;
	case STEP_POLL:
		if (r->b & 1)
			world_settle();
		else
			world_poll(e);
		break;
	case STEP_TIME:
		step_time(r);
		break;
	case STEP_WIRE:
		step_wire(r);
		break;
	case STEP_DELIVER:
		step_deliver(r);
		break;
	case STEP_STATE:
		step_state(r);
		break;
	case STEP_PORT:
		step_port(r);
		break;
	case STEP_RAW:
		return step_raw(r, left);
	case STEP_KILL:
		step_kill(r);
		break;
	case STEP_RUN:
	case STEP_GOAL:
	case STEP_RUN_BOTH:
	case STEP_AGAIN:
		goal_step(step, r);
		break;
	case STEP_CM:
		step_cm(r);
		break;
	case STEP_TAG:
		if (w->proc[e].attached)
			ends_tag(e, r);
		break;
	case STEP_TAKE:
	case STEP_MAKE:
	case STEP_SET:
	case STEP_FIT:
	case STEP_PUT:
	case STEP_SEND:
	case STEP_OTHER:
	case STEP_RDMAP:
	case STEP_TCP:
	case STEP_GROUP:
	case STEP_MAKE_CM:
	case STEP_ENVELOPE:
		forge_step(step, r);
		break;
	case STEPS:
		break;
	}
	return 0;
}

static void finish(void)
{
	uint32_t e, i;

	w->fated = 0;
	for (e = 0; e < 2; e++) {
		w->nic[e].port.tx_room = UINT32_MAX;
		w->proc[e].host_fault = false;
		fw_link(w->nic[e].fw, true);
		for (i = 0; i < E_ALL_QPS && w->proc[e].attached; i++)
			if (ends_fw_qp(e, i)->state == HW_QPS_SQD)
				ends_mend(e, i);
	}
	world_run(END_PATIENCE_S * W_S, ends_idle);
	W_CHECK(ends_idle(), "a request never completed");
	ends_tag_stop();
	world_run(END_PATIENCE_S * W_S, ends_idle);
	W_CHECK(ends_idle(), "a request of a tagged endpoint never completed");
	ends_check_memory();
	for (e = 0; e < 2; e++)
		if (w->proc[e].attached)
			proc_detach(&w->proc[e]);
	world_settle();
	world_check_empty();
}

void fuzz_frames_begin(void)
{
	world_begin();
	ends_begin();
	world_keep();
	begun = ends;
}

void fuzz_frames(const uint8_t *data, size_t bytes)
{
	static struct rec program[REC_MAX];
	uint32_t n = bytes / sizeof(program[0]) > REC_MAX ? (uint32_t)REC_MAX
							  : (uint32_t)(bytes / sizeof(program[0]));
	uint32_t i;

	memcpy(program, data, n * sizeof(program[0]));
	ends = begun;
	memset(&forged, 0, sizeof(forged));
	/* Every second program begins with borrowed frames, so that all that is kept meets both. */
	world_lend(n & 1);
	for (i = 0; i < n; i++) {
		i += run_step(&program[i], n - 1 - i);
		ends_poll();
	}
	finish();
	world_reset();
}
