/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload goal: random collectives with known results.
 *
 * Processes on all NICs, several on some, are ranks of overlapping communicators. Each communicator
 * has a few programs (sim_goal_plan.c) that its ranks run one after another, some ahead of others,
 * several at a time. After a number of runs each rank destroys its communicator and creates the
 * next one, whether or not the others have arrived. Processes and NICs may die. Checks: every byte
 * of every buffer after each run; every run ends, successfully unless a rank of that communicator
 * has died; at the end the NICs are empty.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/weft_goal.h"
#include "shared_defs/hw_goal.h"
#include "sim_harness/sim_goal_plan.h"

enum {
	GW_COMMS = 3,
	GW_PROGRAMS = 3, /* per communicator; also the limit of its runs in flight */
	GW_AHEAD = 6,    /* runs by which a rank may lead the slowest */
	GW_PROCS = 16,
	GW_RANGES = GP_OPS * 3,
	GW_POOL_BYTES = 1 << 20,
};

/*
 * A receive from any rank watches no particular peer: if its sender has died, this time-out ends
 * the run.
 */
#define GW_TIMEOUT_NS UINT64_C(3000000000)

struct gw_proc {
	struct sim_proc *proc;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_goal *goal;
	struct weft_goal_peer self;
	bool mapped, dead, closed;
};

/* A program as run by one rank. */
struct gw_part {
	uint8_t *buf;
	struct weft_mr *mr;
	uint32_t schedule;
	uint32_t run;    /* the library's handle */
	uint32_t number; /* number of the run in flight */
	bool busy;
};

struct gw_member {
	struct gw_proc *proc;
	struct gw_part part[GW_PROGRAMS];
	struct weft_mr *pool;
	uint32_t comm; /* the library's handle */
	bool joined;
	uint32_t generation, started, finished;
};

struct gw_comm {
	uint32_t num, life; /* runs per generation */
	uint32_t num_programs, eager_bytes;
	bool broken; /* a rank has died */
	struct gp program[GW_PROGRAMS];
	struct gw_member member[GP_RANKS];
	/* remaining work once the workload stops */
	bool target_set;
	uint32_t last_generation, last_run;
};

struct gw {
	struct sim_run *run;
	struct sim_prng prng;
	struct gw_proc proc[GW_PROCS];
	uint32_t num_procs, num_comms;
	struct gw_comm comm[GW_COMMS];
	struct sim_nic *doomed; /* a process on it dies at the next step */
	enum sim_fault_event doom;
};

static uint64_t run_seed(const struct gw *gw, const struct gw_comm *c, uint32_t generation,
			 uint32_t number)
{
	return sim_seed(gw->run->sim) * 0x9e3779b97f4a7c15u + (uint64_t)(c - gw->comm) * 1000003 +
	       (uint64_t)generation * 10007 + number;
}

static uint32_t index_of(const struct gw *gw, const struct gw_member *m)
{
	return (uint32_t)(m->proc - gw->proc);
}

/* Fails the run if a library call of a live process fails. */
static bool must(struct gw *gw, const struct gw_member *m, const char *what, int rc)
{
	if (rc && !m->proc->dead && !sim_proc_dead(m->proc->proc) && !gw->run->failure[0])
		sim_run_fail(gw->run, "call: process %u: %s: %s", index_of(gw, m), what,
			     strerror(-rc));
	return !rc;
}

/* ---- joining and leaving --------------------------------------------------------------------- */

static bool load(struct gw *gw, struct gw_comm *c, struct gw_member *m, uint32_t p)
{
	struct goal_graph *g = gp_graph(&c->program[p], (uint32_t)(m - c->member), m->part[p].buf);
	struct weft_goal_bind binds[GW_RANGES];
	char why[WEFT_GOAL_WHY_BYTES] = "";
	struct goal_code code;
	uint32_t vertex, i;
	bool ok;
	int rc = goal_compile(g, c->eager_bytes ? c->eager_bytes : 131072, &code, &vertex);

	goal_graph_free(g);
	if (!must(gw, m, "compile", rc))
		return false;
	assert(code.num_ranges <= GW_RANGES);
	for (i = 0; i < code.num_ranges; i++)
		binds[i] = (struct weft_goal_bind){(void *)code.ranges[i].addr,
						   code.ranges[i].bytes, m->part[p].mr};
	ok = must(gw, m, "load",
		  weft_goal_load(m->proc->goal, m->comm, m->proc->pd, code.bytes, code.num_bytes,
				 binds, code.num_ranges, &m->part[p].schedule, why));
	goal_code_free(&code);
	return ok;
}

static void join(struct gw *gw, struct gw_comm *c, struct gw_member *m)
{
	struct weft_goal_peer peers[GP_RANKS];
	struct weft_goal_comm_attr attr = {
	    .key = {sim_seed(gw->run->sim), (uint64_t)(c - gw->comm) << 32 | (m->generation + 1)},
	    .rank = (uint32_t)(m - c->member),
	    .num_ranks = c->num,
	    .peers = peers,
	    .pd = m->proc->pd,
	    .eager_bytes = c->eager_bytes,
	};
	uint32_t i;

	for (i = 0; i < c->num; i++)
		peers[i] = c->member[i].proc->self;
	if (!must(gw, m, "comm_create", weft_goal_comm_create(m->proc->goal, &attr, &m->comm)) ||
	    !must(gw, m, "pool", weft_goal_pool(m->proc->goal, m->comm, m->pool)))
		return;
	for (i = 0; i < c->num_programs; i++)
		if (!load(gw, c, m, i))
			return;
	m->joined = true;
	m->started = m->finished = 0;
}

static void leave(struct gw *gw, struct gw_member *m)
{
	m->joined = false;
	if (must(gw, m, "comm_destroy", weft_goal_comm_destroy(m->proc->goal, m->comm)))
		m->generation++;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/*
 * Returns true for legal statuses of a run: if a rank has died, its loss may be reported or may not
 * concern the run.
 */
static bool may_end(const struct gw_comm *c, uint32_t status)
{
	if (status == HW_GOAL_OK)
		return true;
	return c->broken && (status == HW_GOAL_PEER_LOST || status == HW_GOAL_UNREACHABLE ||
			     status == HW_GOAL_TIMEOUT);
}

static void run_over(struct gw *gw, struct gw_comm *c, struct gw_member *m, uint32_t p)
{
	struct gw_part *part = &m->part[p];
	uint32_t rank = (uint32_t)(m - c->member);
	struct weft_goal_result result;
	const char *wrong;

	weft_goal_finish(m->proc->goal, part->run, &result);
	part->busy = false;
	m->finished++;
	gw->run->received++;
	if (!may_end(c, result.status))
		sim_run_fail(gw->run,
			     "completion: communicator %u, rank %u, run %u: status %u, rank %u, "
			     "operation %d",
			     (uint32_t)(c - gw->comm), rank, part->number, result.status,
			     result.rank, (int)result.op);
	if (result.status)
		return;
	wrong =
	    gp_check(&c->program[p], rank, run_seed(gw, c, m->generation, part->number), part->buf);
	if (wrong)
		sim_run_fail(gw->run, "shadow: communicator %u, rank %u, run %u: %s",
			     (uint32_t)(c - gw->comm), rank, part->number, wrong);
	gw->run->done[SIM_OP_SEND] += result.ops;
	gw->run->bytes += c->program[p].rank[rank].bytes;
}

static uint32_t slowest(const struct gw_comm *c, uint32_t generation)
{
	uint32_t least = UINT32_MAX, i;

	for (i = 0; i < c->num; i++) {
		const struct gw_member *m = &c->member[i];
		uint32_t at = m->generation > generation   ? UINT32_MAX
			      : m->generation < generation ? 0
							   : m->started;

		if (!m->proc->dead && at < least)
			least = at;
	}
	return least;
}

static void start_run(struct gw *gw, struct gw_comm *c, struct gw_member *m)
{
	uint32_t p = m->started % c->num_programs;
	struct gw_part *part = &m->part[p];
	struct weft_goal_run_attr attr = {.schedule = part->schedule, .timeout_ns = GW_TIMEOUT_NS};

	gp_fill(&c->program[p], (uint32_t)(m - c->member),
		run_seed(gw, c, m->generation, m->started), part->buf);
	if (!must(gw, m, "start", weft_goal_start(m->proc->goal, &attr, &part->run)))
		return;
	part->busy = true;
	part->number = m->started++;
}

/* Determines the last run: all ranks must execute every run that one has begun. */
static void set_target(struct gw_comm *c)
{
	uint32_t i;

	c->target_set = true;
	for (i = 0; i < c->num; i++) {
		const struct gw_member *m = &c->member[i];

		if (m->generation > c->last_generation) {
			c->last_generation = m->generation;
			c->last_run = 0;
		}
		if (m->generation == c->last_generation && m->joined && m->started > c->last_run)
			c->last_run = m->started;
	}
}

static uint32_t runs_to_do(const struct gw_comm *c, const struct gw_member *m)
{
	uint32_t most = 0, i;

	/* No rank begins a new run; runs begun by one rank are begun by all. */
	for (i = 0; c->broken && i < c->num; i++)
		if (c->member[i].joined && c->member[i].generation == m->generation &&
		    c->member[i].started > most)
			most = c->member[i].started;
	if (c->broken)
		return most;
	return c->target_set && m->generation == c->last_generation ? c->last_run : c->life;
}

static bool is_done(const struct gw_comm *c, const struct gw_member *m)
{
	if (m->proc->dead || c->broken)
		return m->proc->dead || !m->joined || m->finished == runs_to_do(c, m);
	return c->target_set && m->generation == c->last_generation &&
	       (m->joined ? m->finished : 0) == c->last_run;
}

static void step_member(struct gw *gw, struct gw_comm *c, struct gw_member *m)
{
	uint32_t p;

	if (m->proc->dead || is_done(c, m))
		return;
	if (!m->joined) {
		join(gw, c, m);
		return;
	}
	for (p = 0; p < c->num_programs; p++)
		if (m->part[p].busy && weft_goal_test(m->proc->goal, m->part[p].run))
			run_over(gw, c, m, p);
	if (m->started < runs_to_do(c, m)) {
		if (!m->part[m->started % c->num_programs].busy &&
		    m->started < slowest(c, m->generation) + GW_AHEAD)
			start_run(gw, c, m);
	} else if (m->finished == c->life && !c->broken &&
		   !(c->target_set && m->generation == c->last_generation)) {
		leave(gw, m);
	}
}

/* ---- death ---------------------------------------------------------------------------------- */

static void bury(struct gw *gw, struct gw_proc *proc)
{
	uint32_t i, k;

	proc->dead = true;
	for (i = 0; i < gw->num_comms; i++)
		for (k = 0; k < gw->comm[i].num; k++)
			if (gw->comm[i].member[k].proc == proc)
				gw->comm[i].broken = true;
}

static void die(struct gw *gw)
{
	struct sim_nic *nic = gw->doomed;
	bool whole = gw->doom == SIM_FAULT_RESTART || !sim_prng_below(&gw->prng, 4);
	uint32_t i;

	gw->doomed = NULL;
	for (i = 0; i < gw->num_procs; i++) {
		struct gw_proc *proc = &gw->proc[i];

		if (proc->dead || sim_proc_nic(proc->proc) != nic)
			continue;
		bury(gw, proc);
		if (whole)
			continue;
		sim_proc_kill(proc->proc);
		return;
	}
	if (gw->doom == SIM_FAULT_RESTART)
		sim_nic_restart(nic);
	else if (whole)
		sim_nic_kill(nic);
}

/* Handled at the next step: a blocking call may be in progress now. */
static void on_fault(void *ctx, enum sim_fault_event event, struct sim_nic *nic)
{
	struct gw *gw = ctx;

	gw->doomed = nic;
	gw->doom = event;
}

/* ---- the workload --------------------------------------------------------------------------- */

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct gw *gw = ctx;
	uint32_t i, k;

	(void)arg;
	if (gw->run->failure[0] || gw->run->closed)
		return;
	if (gw->doomed)
		die(gw);
	for (i = 0; i < gw->num_comms && !gw->run->failure[0]; i++) {
		struct gw_comm *c = &gw->comm[i];

		if (gw->run->stopping && !c->target_set)
			set_target(c);
		for (k = 0; k < c->num && !gw->run->failure[0]; k++)
			if (sim_prng_below(&gw->prng, 3))
				step_member(gw, c, &c->member[k]);
	}
	sim_at(sim,
	       sim_now_ns(sim) + sim_prng_range(&gw->prng, 500, 8000) * (gw->run->stopping ? 8 : 1),
	       step, gw, 0);
}

static int start_proc(struct gw *gw, uint32_t i, struct sim_nic *nic)
{
	struct gw_proc *p = &gw->proc[i];

	p->proc = sim_proc_new(nic, "rank");
	/* The NIC accesses memory allocated by libweft without mapping it. */
	sim_proc_any_memory(p->proc);
	p->mapped = sim_prng_below(&gw->prng, 3) != 0;
	p->context = sim_open(p->proc);
	if (!p->context)
		return -errno;
	p->pd = weft_alloc_pd(p->context);
	p->goal = weft_goal_open(p->context, 64);
	if (!p->pd || !p->goal)
		return -errno;
	weft_goal_self(p->goal, &p->self);
	return 0;
}

static int start_member(const struct gw_comm *c, struct gw_member *m)
{
	uint32_t p, rank = (uint32_t)(m - c->member);
	void *pool = sim_mem_alloc(m->proc->proc, GW_POOL_BYTES, m->proc->mapped);

	assert(pool);
	m->pool = weft_reg_mr(m->proc->pd, pool, GW_POOL_BYTES, WEFT_ACCESS_LOCAL_WRITE);
	if (!m->pool)
		return -errno;
	for (p = 0; p < c->num_programs; p++) {
		size_t bytes = c->program[p].rank[rank].bytes;

		m->part[p].buf = sim_mem_alloc(m->proc->proc, bytes, m->proc->mapped);
		assert(m->part[p].buf);
		m->part[p].mr =
		    weft_reg_mr(m->proc->pd, m->part[p].buf, bytes, WEFT_ACCESS_LOCAL_WRITE);
		if (!m->part[p].mr)
			return -errno;
	}
	return 0;
}

/* Draws ranks from all processes, each at most once. */
static int start_comm(struct gw *gw, struct gw_comm *c)
{
	static const uint32_t eager[] = {0, 256, 2048, 8192};
	uint32_t most = gw->num_procs < GP_RANKS ? gw->num_procs : GP_RANKS, i, k;
	uint32_t order[GW_PROCS] = {0};
	int rc = 0;

	for (i = 0; i < gw->num_procs; i++)
		order[i] = i;
	for (i = gw->num_procs; i > 1; i--) {
		uint32_t t = order[i - 1];

		k = (uint32_t)sim_prng_below(&gw->prng, i);
		order[i - 1] = order[k];
		order[k] = t;
	}
	c->num = (uint32_t)sim_prng_range(&gw->prng, most < 2 ? 1 : 2, most);
	c->life = (uint32_t)sim_prng_range(&gw->prng, 3, 30);
	c->num_programs = (uint32_t)sim_prng_range(&gw->prng, 1, GW_PROGRAMS);
	c->eager_bytes = eager[sim_prng_below(&gw->prng, 4)];
	for (i = 0; i < c->num_programs; i++)
		gp_draw(&c->program[i], c->num, &gw->prng);
	for (i = 0; i < c->num && !rc; i++) {
		c->member[i].proc = &gw->proc[order[i]];
		rc = start_member(c, &c->member[i]);
	}
	return rc;
}

static int start(struct sim_run *run)
{
	struct gw *gw = calloc(1, sizeof(*gw));
	uint32_t nics = sim_nic_count(run->sim), i;
	int rc = 0;

	assert(gw);
	run->state = gw;
	gw->run = run;
	sim_prng_for(run->sim, &gw->prng, SIM_STREAM_WORKLOAD, 0);
	gw->num_procs = (uint32_t)sim_prng_range(&gw->prng, nics, 2 * nics + 1);
	if (gw->num_procs > GW_PROCS)
		gw->num_procs = GW_PROCS;
	gw->num_comms = (uint32_t)sim_prng_range(&gw->prng, 1, GW_COMMS);
	for (i = 0; i < gw->num_procs && !rc; i++)
		rc = start_proc(gw, i, sim_nic_at(run->sim, i % nics));
	for (i = 0; i < gw->num_comms && !rc; i++)
		rc = start_comm(gw, &gw->comm[i]);
	sim_on_fault(run->sim, on_fault, gw);
	sim_at(run->sim, sim_now_ns(run->sim) + 1, step, gw, 0);
	return rc;
}

static bool quiet(struct sim_run *run)
{
	struct gw *gw = run->state;
	uint32_t i, k;

	for (i = 0; i < gw->num_comms; i++)
		for (k = 0; k < gw->comm[i].num; k++)
			if (!is_done(&gw->comm[i], &gw->comm[i].member[k]))
				return false;
	return true;
}

/* Each run was checked when it ended. */
static void check(struct sim_run *run)
{
	struct gw *gw = run->state;

	if (!run->received && run->duration_ns >= 5000000 && !gw->comm[0].broken)
		sim_run_fail(run, "liveness: not one run ended");
}

static void close_all(struct sim_run *run)
{
	struct gw *gw = run->state;
	uint32_t i;

	for (i = 0; i < gw->num_procs; i++) {
		struct gw_proc *p = &gw->proc[i];

		if (p->closed)
			continue;
		p->closed = true;
		if (p->goal)
			weft_goal_close(p->goal);
		if (p->context)
			weft_close_device(p->context);
	}
}

static void stop(struct sim_run *run)
{
	close_all(run);
	free(run->state);
}

const struct sim_workload sim_wl_goal = {
    .name = "goal",
    .help = "collectives: random schedules on overlapping communicators, against a shadow",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_death = true,
    .bears_busy = true,
    .weight = 4,
};
