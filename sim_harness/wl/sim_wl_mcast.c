/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload ud_mcast: datagrams to groups of UD queue pairs.
 *
 * Each process has two QPs. Each QP is attached to some of the groups, drawn at the start, and
 * sends to any. A datagram reaches each attached QP at most once, with its bytes, and no other QP;
 * a second one needs a frame that the network delivered twice. Copies that did not arrive are at
 * most as many as counted losses can explain: a frame lost at a receiver costs each QP of its NIC,
 * a frame lost at the sender, or a slow page there, each QP of the group. Calls libweft.
 * IBA 10.5.2, RFC 3376.
 */
#include "sim_harness/wl/sim_wl_actor.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	QPS = 2,
	GROUPS = 3,
	RECVS = 64,
	SENDS = 8,
	MAX_BYTES = 1000, /* one frame at any MTU */
	GRH_BYTES = 40,
	SLOT_BYTES = 1152,
	SEQS = 4096, /* datagrams of a process, numbered from 0 */
	BEFORE = 0xee,
	STALE = 0xdd,
};

/* Reports of membership reach the switch. */
#define JOIN_NS   UINT64_C(3000000)
#define SETTLE_NS UINT64_C(1000000000)

struct mc_head {
	uint32_t src, group, seq;
};

struct mc_actor {
	struct sim_run *run;
	struct sim_end end; /* its QP is the first one */
	struct weft_qp *qp[QPS];
	uint32_t member[QPS]; /* one bit per group */
	struct weft_ah *ah[GROUPS];
	uint32_t index;
	struct sim_prng prng;
	uint32_t sending; /* one bit per send buffer */
	uint32_t seq;
	uint8_t *seen[QPS]; /* one bit per datagram of each process */
};

struct mc_state {
	uint32_t num;
	uint32_t members[GROUPS];
	uint64_t due, again; /* copies: expected, and such that came before */
	struct mc_actor *actors;
};

static uint32_t group_ip(uint32_t group)
{
	return htonl(0xef010300u + group);
}

static size_t recv_offset(uint32_t qp, uint32_t r)
{
	return (size_t)(qp * RECVS + r) * SLOT_BYTES;
}

static size_t send_offset(uint32_t i)
{
	return recv_offset(QPS, i);
}

static int post_recv(struct mc_actor *a, uint32_t qp, uint32_t r)
{
	struct weft_sge sge = sim_end_sge(&a->end, recv_offset(qp, r), SLOT_BYTES);
	struct weft_recv_wr wr = {.wr_id = qp * RECVS + r, .sg_list = &sge, .num_sge = 1};

	memset(a->end.buf + recv_offset(qp, r), BEFORE, SLOT_BYTES);
	return weft_post_recv(a->qp[qp], &wr, NULL);
}

static void post_send(struct mc_actor *a)
{
	struct mc_state *st = a->run->state;
	uint32_t slot = wl_actor_free(a->sending, SENDS);
	uint32_t group = (uint32_t)sim_prng_below(&a->prng, GROUPS);
	struct mc_head head = {a->index, group, a->seq};
	uint32_t bytes = (uint32_t)sim_prng_range(&a->prng, sizeof(head), MAX_BYTES);
	struct weft_send_wr wr = {.num_sge = 1, .opcode = WEFT_WR_SEND};
	struct weft_sge sge;
	uint8_t *at;
	int rc;

	if (slot == SENDS || a->seq == SEQS)
		return;
	at = a->end.buf + send_offset(slot);
	memcpy(at, &head, sizeof(head));
	sim_pattern(a->run->sim, a->index, group, a->seq, at + sizeof(head), bytes - sizeof(head));
	sge = sim_end_sge(&a->end, send_offset(slot), bytes);
	wr.sg_list = &sge;
	wr.wr_id = QPS * RECVS + slot;
	wr.flags = WEFT_SEND_SIGNALED;
	wr.ah = a->ah[group];
	wr.dst_qpn = WEFT_MCAST_QPN;
	wr.qkey = SIM_END_QKEY;
	rc = weft_post_send(a->qp[sim_prng_below(&a->prng, QPS)], &wr, NULL);
	if (rc) {
		sim_run_fail(a->run, "post: weft%u: a datagram: %s", a->index, strerror(-rc));
		return;
	}
	a->sending |= 1u << slot;
	a->seq++;
	st->due += st->members[group];
}

/* Counts a datagram that this QP has received before. */
static void once(struct mc_actor *a, uint32_t qp, const struct mc_head *head)
{
	struct mc_state *st = a->run->state;
	uint32_t bit = head->src * SEQS + head->seq;
	uint8_t *byte = &a->seen[qp][bit / 8], mask = (uint8_t)(1u << bit % 8);

	if (*byte & mask && ++st->again > QPS * wl_actor_duplicated(a->run))
		sim_run_fail(a->run, "once: weft%u: datagram %u of weft%u came to a QP twice",
			     a->index, head->seq, head->src);
	*byte |= mask;
}

static void received(struct mc_actor *a, const struct weft_wc *wc)
{
	struct mc_state *st = a->run->state;
	uint32_t qp = (uint32_t)wc->wr_id / RECVS, r = (uint32_t)wc->wr_id % RECVS;
	const uint8_t *at = a->end.buf + recv_offset(qp, r) + GRH_BYTES;
	uint32_t bytes = wc->bytes - GRH_BYTES, i;
	struct mc_head head = {UINT32_MAX, 0, 0};

	if (wc->flags & WEFT_WC_F_GRH && wc->bytes >= GRH_BYTES + sizeof(head))
		memcpy(&head, at, sizeof(head));
	i = wl_actor_changed(at, bytes, SLOT_BYTES - GRH_BYTES, BEFORE);
	/* A datagram whose page was slow is lost, and its receive serves the next one. */
	if (sim_nic_stat(sim_proc_nic(a->end.proc), "drop_ud_busy"))
		i = SLOT_BYTES - GRH_BYTES;
	if (head.src >= st->num || head.group >= GROUPS || head.seq >= st->actors[head.src].seq ||
	    !(a->member[qp] >> head.group & 1))
		sim_run_fail(a->run, "shadow: weft%u: a datagram of %u bytes to group %u, seq %u",
			     a->index, wc->bytes, head.group, head.seq);
	else if (!sim_pattern_check(a->run->sim, head.src, head.group, head.seq, at + sizeof(head),
				    bytes - sizeof(head)))
		sim_run_fail(a->run, "shadow: weft%u: datagram %u of weft%u has wrong bytes",
			     a->index, head.seq, head.src);
	else if (i < SLOT_BYTES - GRH_BYTES)
		sim_run_fail(a->run, "beyond: weft%u: bytes behind datagram %u of weft%u changed",
			     a->index, head.seq, head.src);
	else
		once(a, qp, &head);
	a->run->received++;
	a->run->bytes += bytes;
	if (post_recv(a, qp, r))
		sim_run_fail(a->run, "post: weft%u: a receive", a->index);
}

static void handle(struct mc_actor *a, const struct weft_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id - QPS * RECVS;

	if (wc->status != WEFT_WC_SUCCESS) {
		wl_actor_failed(a->run, a->index, wc,
				wc->wr_id < QPS * RECVS ? "a receive" : "a send");
	} else if (wc->wr_id < QPS * RECVS) {
		received(a, wc);
	} else {
		a->sending &= ~(1u << slot);
		a->run->done[SIM_OP_SEND]++;
		memset(a->end.buf + send_offset(slot), STALE, SLOT_BYTES);
	}
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct mc_actor *a = ctx;
	struct weft_wc wc[16];
	int n, i;

	(void)sim;
	(void)arg;
	if (a->run->failure[0] || a->run->closed)
		return;
	n = weft_poll_cq(a->end.cq, 16, wc);
	for (i = 0; i < n && !a->run->failure[0]; i++)
		handle(a, &wc[i]);
	if (!a->run->stopping && sim_prng_chance(&a->prng, 400000))
		post_send(a);
	wl_actor_again(&a->end, &a->prng, 500, 12000, step, a);
}

/* ---- start and end --------------------------------------------------------------------------- */

static int start_qp(struct mc_actor *a, uint32_t qp)
{
	struct mc_state *st = a->run->state;
	uint32_t g, r;
	uint8_t gid[16];
	int rc = 0;

	a->seen[qp] = calloc(st->num, SEQS / 8);
	assert(a->seen[qp]);
	a->member[qp] = (uint32_t)sim_prng_below(&a->prng, 1u << GROUPS);
	for (g = 0; g < GROUPS && !rc; g++) {
		if (!(a->member[qp] >> g & 1))
			continue;
		weft_mcast_gid(group_ip(g), gid);
		rc = weft_attach_mcast(a->qp[qp], gid);
		st->members[g]++;
	}
	for (r = 0; r < RECVS && !rc; r++)
		rc = post_recv(a, qp, r);
	return rc;
}

static int start_actor(struct sim_run *run, struct mc_actor *a, uint32_t i)
{
	struct sim_end_attr attr = {.type = WEFT_QPT_UD,
				    .bytes = send_offset(SENDS),
				    .max_wr = RECVS,
				    .cqe = QPS * 2 * RECVS,
				    .max_sge = 1,
				    .unmapped = i % 4 >= 2};
	struct weft_qp_init_attr init = {
	    .type = WEFT_QPT_UD,
	    .cap = {
		.max_send_wr = RECVS, .max_recv_wr = RECVS, .max_send_sge = 1, .max_recv_sge = 1}};
	uint32_t g, k;
	int rc;

	a->run = run;
	a->index = i;
	sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
	rc = sim_end_open(&a->end, sim_nic_at(run->sim, i), &attr);
	if (rc)
		return rc;
	init.send_cq = init.recv_cq = a->end.cq;
	a->qp[0] = a->end.qp;
	a->qp[1] = weft_create_qp(a->end.pd, &init);
	if (!a->qp[1])
		return -errno;
	rc = weft_activate_qp(a->qp[1], SIM_END_QKEY, 0);
	for (g = 0; g < GROUPS && !rc; g++) {
		struct weft_av av = weft_av_mcast(group_ip(g));

		a->ah[g] = weft_create_ah(a->end.pd, &av);
		rc = a->ah[g] ? 0 : -errno;
	}
	for (k = 0; k < QPS && !rc; k++)
		rc = start_qp(a, k);
	return rc;
}

static int start(struct sim_run *run)
{
	struct mc_state *st = calloc(1, sizeof(*st));
	uint32_t i;
	int rc = 0;

	assert(st);
	run->state = st;
	st->num = sim_nic_count(run->sim);
	st->actors = calloc(st->num, sizeof(*st->actors));
	assert(st->actors);
	for (i = 0; i < st->num && !rc; i++)
		rc = start_actor(run, &st->actors[i], i);
	if (!rc)
		sim_run_for(run->sim, JOIN_NS);
	if (!rc)
		wl_actor_start(run, step, st->actors, sizeof(*st->actors), st->num);
	return rc;
}

static bool quiet(struct sim_run *run)
{
	struct mc_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		if (st->actors[i].sending)
			return false;
	}
	return true;
}

/* Copies that no counted loss explains. */
static int64_t unaccounted(struct sim_run *run)
{
	struct mc_state *st = run->state;
	uint64_t known = run->received;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		struct sim_nic *nic = sim_nic_at(run->sim, i);

		known += sim_nic_stat(nic, "drop_ud_no_receive") +
			 sim_nic_stat(nic, "drop_ud_busy") + QPS * wl_actor_lost(nic) +
			 (uint64_t)QPS * st->num *
			     (sim_nic_stat(nic, "tx_dropped") + sim_nic_stat(nic, "tx_busy"));
	}
	return (int64_t)(st->due - known);
}

static void check(struct sim_run *run)
{
	struct mc_state *st = run->state;

	wl_actor_settle(run, unaccounted, SETTLE_NS);
	if (unaccounted(run) > 0)
		sim_run_fail(run,
			     "conservation: of %" PRIu64 " copies %" PRId64
			     " were lost without being counted",
			     st->due, unaccounted(run));
	else if (run->received > st->due + st->again)
		sim_run_fail(run, "conservation: %" PRIu64 " copies came of %" PRIu64,
			     run->received, st->due);
}

static void close_all(struct sim_run *run)
{
	struct mc_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sim_end_close(&st->actors[i].end);
}

static void stop(struct sim_run *run)
{
	struct mc_state *st = run->state;
	uint32_t i, k;

	close_all(run);
	for (i = 0; i < st->num; i++) {
		for (k = 0; k < QPS; k++)
			free(st->actors[i].seen[k]);
	}
	free(st->actors);
	free(st);
}

const struct sim_workload sim_wl_mcast = {
    .name = "ud_mcast",
    .help = "datagrams to groups: each member at most once, no stranger, losses counted",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 2,
};
