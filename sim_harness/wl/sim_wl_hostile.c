/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload hostile: honest processes on a network with a forger.
 *
 * Forged datagrams have a correct CRC (fault "forge"), so no arriving packet can be trusted:
 * messages may be lost, altered or invented, and requests may end with any status. The following
 * must hold nevertheless. Every request ends exactly once after the forger has stopped; an attacker
 * who sees all packets can acknowledge lost ones, so its status is not checked. Every receive ends
 * at most once. No byte changes without a corresponding right. Nothing is left in the NICs when the
 * processes are gone. Each process has a window that peers may write, within memory that they may
 * not: unregistered bytes on both sides, a read-only region, and a region for local use. A further
 * process lets its CQ overrun, and the processes of sim_wl_hostile_cm.c misuse connections.
 */
#include "sim_harness/wl/sim_wl_hostile.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	PAGE = 4096,
	/* Layout of the checked memory. The edges of regions lie within pages. */
	WINDOW_AT = PAGE + 24,
	WINDOW_BYTES = 4 * PAGE - 56,
	READ_ONLY_AT = 6 * PAGE + 16,
	READ_ONLY_BYTES = PAGE - 40,
	LOCAL_AT = 8 * PAGE + 8,
	LOCAL_BYTES = PAGE - 24,
	WATCHED_BYTES = 10 * PAGE,
	/* Buffers of requests and receives; their content is not checked. */
	SLOTS = 16,
	SLOT_BYTES = 16384,
	RECVS = 32,
	ALL_RIGHTS = WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
		     WEFT_ACCESS_REMOTE_ATOMIC,
	PEERS_MAX = 4,
	SLEEPER_CQE = 16,
	SLEEPER_SENDS = 48,
};

/* A missing response is awaited for half a minute (nic_fw/dgram/rd.h, LLP_ANSWER_LOOKS). */
#define DRAIN_NS UINT64_C(100000000000)

struct hostile {
	struct sim_run *run;
	struct sim_end end;
	uint32_t index;
	bool ud;
	bool dead; /* its QP had an error: no further posts */
	uint8_t *watched;
	uint8_t *copy; /* original content of watched */
	struct weft_mr *window, *read_only, *local;
	struct weft_ah *ah[PEERS_MAX];
	uint32_t num_peers;
	uint32_t busy;       /* one bit per slot */
	uint64_t recvs_open; /* one bit per receive */
	struct sim_prng prng;
};

enum {
	PARAM_CONNECT,
};

static const struct sim_param params[] = {
    {"connect", "processes that misuse connections: 1 yes, 0 no", 1, 0, 1},
    {NULL, NULL, 0, 0, 0},
};

struct hostile_state {
	uint32_t num; /* number of NICs; two processes on each: RD, UD */
	struct hostile *all;
	struct sim_end sleeper; /* never polls, with a CQ that is too small */
	struct rogues *rogues;  /* NULL: none */
};

static struct hostile *peer_of(struct hostile *a, uint32_t p)
{
	struct hostile_state *st = a->run->state;

	return &st->all[2 * ((a->index + 1 + p) % st->num) + a->ud];
}

static size_t slot_offset(uint32_t slot)
{
	return (size_t)slot * SLOT_BYTES;
}

static void post_recv(struct hostile *a, uint32_t r)
{
	int rc = sim_end_recv(&a->end, SLOTS + r, slot_offset(SLOTS + r), SLOT_BYTES);

	if (rc)
		sim_run_fail(a->run, "post: weft%u: receive %u: %s", a->index, r, strerror(-rc));
	a->recvs_open |= UINT64_C(1) << r;
}

/* Draws any operation within the peer's rights: only the network is hostile. */
static void draw_request(struct hostile *a, struct hostile *to, struct weft_send_wr *wr,
			 struct weft_sge *sge)
{
	static const enum weft_wr_opcode opcodes[] = {
	    WEFT_WR_SEND, WEFT_WR_SEND_IMM,  WEFT_WR_WRITE,    WEFT_WR_WRITE_IMM,
	    WEFT_WR_READ, WEFT_WR_FETCH_ADD, WEFT_WR_CMP_SWAP,
	};
	size_t n = sizeof(opcodes) / sizeof(opcodes[0]);
	bool read_only;
	uint32_t room;

	wr->opcode = opcodes[sim_prng_below(&a->prng, a->ud ? 2 : n)];
	sge->bytes = (uint32_t)sim_prng_below(&a->prng, a->ud ? 1024 : WINDOW_BYTES) / 8 * 8;
	if (wr->opcode == WEFT_WR_FETCH_ADD || wr->opcode == WEFT_WR_CMP_SWAP)
		sge->bytes = 8;
	read_only = wr->opcode == WEFT_WR_READ && sge->bytes <= READ_ONLY_BYTES &&
		    sim_prng_below(&a->prng, 2);
	wr->rkey = read_only ? to->read_only->rkey : to->window->rkey;
	wr->remote_addr = (uintptr_t)to->watched + (read_only ? READ_ONLY_AT : WINDOW_AT);
	/* Often at the very end, where a forged offset or length exceeds the window. */
	room = WINDOW_BYTES - sge->bytes;
	if (!read_only)
		wr->remote_addr +=
		    (sim_prng_below(&a->prng, 2) ? room : sim_prng_below(&a->prng, room + 1)) / 8 *
		    8;
}

static void post_send(struct hostile *a)
{
	uint32_t slot = (uint32_t)sim_prng_below(&a->prng, SLOTS);
	uint32_t p = (uint32_t)sim_prng_below(&a->prng, a->num_peers);
	struct hostile *to = peer_of(a, p);
	struct weft_sge sge = sim_end_sge(&a->end, slot_offset(slot), 0);
	struct weft_send_wr wr = {.wr_id = slot,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .flags = WEFT_SEND_SIGNALED,
				  .ah = a->ah[p],
				  .dst_qpn = to->end.qp->qpn,
				  .qkey = SIM_END_QKEY};
	int rc;

	if (a->dead || a->busy >> slot & 1)
		return;
	draw_request(a, to, &wr, &sge);
	rc = weft_post_send(a->end.qp, &wr, NULL);
	if (rc == -ENOMEM)
		return;
	if (rc)
		sim_run_fail(a->run, "post: weft%u: %s", a->index, strerror(-rc));
	a->busy |= 1u << slot;
}

/*
 * Accounts for a completion. A request that is not outstanding has completed twice or never
 * existed.
 */
static void handle(struct hostile *a, const struct weft_wc *wc)
{
	uint64_t id = wc->wr_id;

	if (wc->status == WEFT_WC_WR_FLUSH_ERR)
		a->dead = true;
	if (id < SLOTS && a->busy >> id & 1) {
		a->busy &= ~(1u << id);
		a->run->done[SIM_OP_SEND] += wc->status == WEFT_WC_SUCCESS;
		return;
	}
	if (id >= SLOTS && id < SLOTS + RECVS && a->recvs_open >> (id - SLOTS) & 1) {
		a->recvs_open &= ~(UINT64_C(1) << (id - SLOTS));
		a->run->received++;
		a->run->bytes += wc->status == WEFT_WC_SUCCESS ? wc->bytes : 0;
		if (wc->status == WEFT_WC_SUCCESS && wc->bytes > SLOT_BYTES &&
		    wc->opcode == WEFT_WC_RECV)
			sim_run_fail(a->run, "completion: weft%u: %u bytes came into %d", a->index,
				     wc->bytes, SLOT_BYTES);
		if (!a->dead)
			post_recv(a, (uint32_t)id - SLOTS);
		return;
	}
	sim_run_fail(a->run, "completion: weft%u: %" PRIu64 " completed and was not open", a->index,
		     id);
}

static void check_watched(struct hostile *a)
{
	const struct {
		size_t from, to;
		const char *what;
	} parts[] = {
	    {0, WINDOW_AT, "the bytes before the window"},
	    {WINDOW_AT + WINDOW_BYTES, READ_ONLY_AT, "the bytes behind the window"},
	    {READ_ONLY_AT, READ_ONLY_AT + READ_ONLY_BYTES, "the region for reading only"},
	    {READ_ONLY_AT + READ_ONLY_BYTES, WATCHED_BYTES, "memory that nobody was let into"},
	};
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (memcmp(a->watched + parts[i].from, a->copy + parts[i].from,
			   parts[i].to - parts[i].from))
			sim_run_fail(a->run, "access: weft%u: %s changed", a->index, parts[i].what);
	}
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct hostile *a = ctx;
	/* After the end, steps are rare because time-outs may take seconds. */
	uint64_t rarely = a->run->stopping ? 100 : 1;
	struct weft_wc wc[16];
	int n, i;

	(void)arg;
	if (a->run->failure[0] || a->run->closed)
		return;
	n = weft_poll_cq(a->end.cq, 16, wc);
	for (i = 0; i < n; i++)
		handle(a, &wc[i]);
	for (i = (int)sim_prng_below(&a->prng, 4); i && !a->run->stopping; i--)
		post_send(a);
	sim_at(sim,
	       sim_now_ns(sim) + sim_slow_ns(sim_proc_nic(a->end.proc),
					     rarely * sim_prng_range(&a->prng, 500, 10000)),
	       step, a, 0);
}

static struct weft_mr *reg(struct hostile *a, size_t at, size_t bytes, int access)
{
	return weft_reg_mr(a->end.pd, a->watched + at, bytes, access);
}

static int start_process(struct sim_run *run, struct hostile *a, uint32_t i)
{
	struct sim_end_attr attr = {.bytes = slot_offset(SLOTS + RECVS),
				    .access = WEFT_ACCESS_LOCAL_WRITE,
				    .max_sge = 1,
				    .unmapped = i % 4 >= 2,
				    .inactive = true};
	uint32_t r;
	int rc;

	a->run = run;
	a->index = i / 2;
	a->ud = i % 2;
	sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
	attr.type = a->ud ? WEFT_QPT_UD : WEFT_QPT_RD;
	attr.qp_flags = a->ud && a->index % 2 ? WEFT_QP_F_UD_LONG : 0;
	rc = sim_end_open(&a->end, sim_nic_at(run->sim, a->index), &attr);
	if (rc)
		return rc;
	a->watched = sim_mem_alloc(a->end.proc, WATCHED_BYTES, !attr.unmapped);
	a->copy = malloc(WATCHED_BYTES);
	assert(a->watched && a->copy);
	sim_prng_fill(&a->prng, a->watched, WATCHED_BYTES);
	memcpy(a->copy, a->watched, WATCHED_BYTES);
	a->window = reg(a, WINDOW_AT, WINDOW_BYTES, ALL_RIGHTS);
	a->read_only = reg(a, READ_ONLY_AT, READ_ONLY_BYTES, WEFT_ACCESS_REMOTE_READ);
	a->local = reg(a, LOCAL_AT, LOCAL_BYTES, WEFT_ACCESS_LOCAL_WRITE);
	if (!a->window || !a->read_only || !a->local)
		return -errno;
	rc = weft_activate_qp(a->end.qp, SIM_END_QKEY, ALL_RIGHTS & ~WEFT_ACCESS_LOCAL_WRITE);
	for (r = 0; r < RECVS && !rc && !run->failure[0]; r++)
		post_recv(a, r);
	return rc;
}

/*
 * Starts a process that posts more than its CQ holds and never polls: the first entries must stay
 * unchanged and in order; the loss of later ones is legal.
 */
static int start_sleeper(struct sim_run *run)
{
	struct hostile_state *st = run->state;
	struct sim_end_attr attr = {
	    .type = WEFT_QPT_UD, .max_sge = 1, .max_wr = 64, .cqe = SLEEPER_CQE, .bytes = PAGE};
	struct weft_sge sge;
	struct weft_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = WEFT_WR_SEND};
	int rc = sim_end_open(&st->sleeper, sim_nic_at(run->sim, 0), &attr);

	if (rc)
		return rc;
	sge = sim_end_sge(&st->sleeper, 0, 64);
	wr.flags = WEFT_SEND_SIGNALED;
	wr.ah = sim_end_ah(&st->sleeper, sim_nic_at(run->sim, 1));
	wr.dst_qpn = st->all[3].end.qp->qpn;
	wr.qkey = SIM_END_QKEY;
	for (; wr.ah && wr.wr_id < SLEEPER_SENDS && !rc; wr.wr_id++)
		rc = weft_post_send(st->sleeper.qp, &wr, NULL);
	return wr.ah ? rc : -errno;
}

static void check_sleeper(struct sim_run *run)
{
	struct hostile_state *st = run->state;
	struct weft_wc wc[SLEEPER_CQE];
	int n = weft_poll_cq(st->sleeper.cq, SLEEPER_CQE, wc), i;

	if (n != SLEEPER_CQE)
		sim_run_fail(run, "overflow: of a full CQ %d entries could be polled, not %d", n,
			     SLEEPER_CQE);
	for (i = 0; i < n; i++) {
		if (wc[i].wr_id != (uint64_t)i || wc[i].status != WEFT_WC_SUCCESS)
			sim_run_fail(run, "overflow: entry %d of a full CQ is of %" PRIu64 ", %s",
				     i, wc[i].wr_id, weft_wc_status_str(wc[i].status));
	}
}

/* Keeps the other NICs' frames from the forger's address. */
static enum sim_verdict none_captured(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	const size_t dgram_at =
	    sizeof(struct wire_eth) + sizeof(struct wire_ip) + sizeof(struct wire_udp);
	struct sim_run *run = ctx;
	struct wire_eth eth;
	struct wire_ip ip;

	if (bytes <= dgram_at || memcmp(frame, sim_forger_mac, sizeof(sim_forger_mac)) != 0)
		return SIM_PASS;
	memcpy(&eth, frame, sizeof(eth));
	memcpy(&ip, frame + sizeof(eth), sizeof(ip));
	if (be16_get(eth.type) == WIRE_ETHERTYPE_IPV4 && ip.proto == WIRE_IPPROTO_UDP)
		sim_run_fail(run, "capture: weft%u sent a datagram of type %u to the forger",
			     sim_nic_index(from), frame[dgram_at] & 15u);
	return SIM_PASS;
}

static int start(struct sim_run *run)
{
	struct hostile_state *st = calloc(1, sizeof(*st));
	uint32_t i, p;
	int rc = 0;

	assert(st);
	run->state = st;
	sim_set_filter(run->sim, none_captured, run);
	st->num = sim_nic_count(run->sim);
	st->all = calloc((size_t)st->num * 2, sizeof(*st->all));
	assert(st->all);
	for (i = 0; i < 2 * st->num && !rc; i++)
		rc = start_process(run, &st->all[i], i);
	for (i = 0; i < 2 * st->num && !rc; i++) {
		struct hostile *a = &st->all[i];

		a->num_peers = st->num - 1 < PEERS_MAX ? st->num - 1 : PEERS_MAX;
		for (p = 0; p < a->num_peers && !rc; p++) {
			a->ah[p] = sim_end_ah(&a->end, sim_nic_at(run->sim, peer_of(a, p)->index));
			rc = a->ah[p] ? 0 : -errno;
		}
	}
	if (!rc)
		rc = start_sleeper(run);
	if (!rc && run->param[PARAM_CONNECT])
		rc = rogues_start(run, &st->rogues);
	for (i = 0; i < 2 * st->num && !rc; i++)
		sim_at(run->sim, sim_now_ns(run->sim) + i, step, &st->all[i], 0);
	return rc;
}

/* Every request must have ended, whatever was forged. */
static bool quiet(struct sim_run *run)
{
	const struct hostile_state *st = run->state;
	uint32_t i;

	for (i = 0; i < 2 * st->num; i++) {
		if (st->all[i].busy)
			return false;
	}
	return !st->rogues || rogues_quiet(st->rogues);
}

static void check(struct sim_run *run)
{
	struct hostile_state *st = run->state;
	uint32_t i;

	for (i = 0; i < 2 * st->num; i++)
		check_watched(&st->all[i]);
	check_sleeper(run);
	if (st->rogues)
		rogues_check(st->rogues);
}

static void close_all(struct sim_run *run)
{
	struct hostile_state *st = run->state;
	uint32_t i;

	for (i = 0; i < 2 * st->num; i++)
		sim_end_close(&st->all[i].end);
	sim_end_close(&st->sleeper);
	if (st->rogues)
		rogues_close(st->rogues);
}

static void stop(struct sim_run *run)
{
	struct hostile_state *st = run->state;
	uint32_t i;

	sim_set_filter(run->sim, NULL, NULL);
	close_all(run);
	if (st->rogues)
		rogues_free(st->rogues);
	for (i = 0; i < 2 * st->num; i++)
		free(st->all[i].copy);
	free(st->all);
	free(st);
}

const struct sim_workload sim_wl_hostile = {
    .name = "hostile",
    .help = "forged frames: no received data is trusted; rights and ends are checked",
    .start = start,
    .quiet = quiet,
    .check = check,
    .stop = stop,
    .close = close_all,
    .bears_forgery = true,
    .params = params,
    .drain_ns = DRAIN_NS,
    .weight = 2,
};
