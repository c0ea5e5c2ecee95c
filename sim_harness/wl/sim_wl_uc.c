/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload uc: unreliable connections in a ring, Sends and Writes with and without immediate data.
 *
 * Each process has a connection to its successor and sends on it. A message arrives whole, in order
 * and once, or not at all. Each Write has a slot of its own in the successor's memory: a Write
 * whose completion came is there as a whole, and at the end every byte of a slot has its old value
 * or the pattern's. Messages that did not arrive are at most as many as frames and messages that
 * were counted as lost. Calls libweft. IBA 9.8.2.2.
 */
#include "sim_harness/wl/sim_wl_actor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECVS = 32,
	SENDS = 12,
	WRITES = 64, /* slots for Writes of the predecessor, each used once */
	MAX_BYTES = 12000,
	SLOT_BYTES = MAX_BYTES + 288,
	BEFORE = 0xee,
	STALE = 0xdd, /* a NIC that reads a finished request sends this */
	NUMBER_BYTES = sizeof(uint32_t),
	SQ_PSN = 0x123456,
	RQ_PSN = 0x654321,
};

/* Time within which the last frames arrive or are counted as lost. */
#define SETTLE_NS UINT64_C(1000000000)

struct uc_actor {
	struct sim_run *run;
	struct sim_end end; /* its QP leads to the successor */
	struct weft_qp *in; /* leads to the predecessor */
	uint32_t index;
	struct sim_prng prng;
	uint32_t sending; /* one bit per send buffer */
	uint32_t sent;    /* messages, numbered from 1 */
	uint32_t last;    /* number of the predecessor's last message */
	uint32_t got;     /* completions of its messages */
	uint32_t writes;
	uint32_t write_bytes[WRITES], write_seq[WRITES];
};

struct uc_state {
	uint32_t num;
	struct uc_actor *actors;
};

static struct uc_actor *next_of(const struct uc_actor *a)
{
	struct uc_state *st = a->run->state;

	return &st->actors[(a->index + 1) % st->num];
}

static struct uc_actor *prev_of(const struct uc_actor *a)
{
	struct uc_state *st = a->run->state;

	return &st->actors[(a->index + st->num - 1) % st->num];
}

/* Layout of a process's buffer: receives, send buffers, slots of Writes. */
static size_t send_offset(uint32_t i)
{
	return (size_t)(RECVS + i) * SLOT_BYTES;
}

static size_t write_offset(uint32_t n)
{
	return send_offset(SENDS) + (size_t)n * SLOT_BYTES;
}

/* ---- requests -------------------------------------------------------------------------------- */

static uint32_t draw_bytes(struct uc_actor *a)
{
	uint32_t most = sim_prng_below(&a->prng, 2) ? MAX_BYTES : 600;

	return (uint32_t)sim_prng_range(&a->prng, NUMBER_BYTES, most);
}

/* Every message begins with its number. */
static void fill(struct uc_actor *a, uint32_t slot, uint32_t bytes)
{
	uint8_t *at = a->end.buf + send_offset(slot);

	memcpy(at, &a->sent, NUMBER_BYTES);
	sim_pattern(a->run->sim, a->index, 0, a->sent, at + NUMBER_BYTES, bytes - NUMBER_BYTES);
}

static void post(struct uc_actor *a)
{
	static const enum weft_wr_opcode opcodes[] = {WEFT_WR_SEND, WEFT_WR_SEND_IMM,
						      WEFT_WR_WRITE_IMM, WEFT_WR_WRITE};
	uint32_t slot = wl_actor_free(a->sending, SENDS), bytes = draw_bytes(a);
	enum weft_wr_opcode opcode = opcodes[sim_prng_below(&a->prng, 4)];
	struct uc_actor *to = next_of(a);
	struct weft_sge sge;
	struct weft_send_wr wr = {.sg_list = &sge, .num_sge = 1, .flags = WEFT_SEND_SIGNALED};
	int rc;

	if (slot == SENDS)
		return;
	if (a->writes == WRITES)
		opcode = WEFT_WR_SEND_IMM;
	a->sent++;
	fill(a, slot, bytes);
	sge = sim_end_sge(&a->end, send_offset(slot), bytes);
	wr.opcode = opcode;
	wr.wr_id = RECVS + slot;
	wr.imm = a->sent;
	if (opcode == WEFT_WR_WRITE || opcode == WEFT_WR_WRITE_IMM) {
		wr.rkey = to->end.mr->rkey;
		wr.remote_addr = (uintptr_t)to->end.buf + write_offset(a->writes);
		a->write_bytes[a->writes] = bytes;
		a->write_seq[a->writes++] = a->sent;
	}
	rc = weft_post_send(a->end.qp, &wr, NULL);
	if (rc) {
		sim_run_fail(a->run, "post: weft%u: a request: %s", a->index, strerror(-rc));
		return;
	}
	a->sending |= 1u << slot;
	a->run->done[opcode == WEFT_WR_SEND        ? SIM_OP_SEND
		     : opcode == WEFT_WR_SEND_IMM  ? SIM_OP_SEND_IMM
		     : opcode == WEFT_WR_WRITE_IMM ? SIM_OP_WRITE_IMM
						   : SIM_OP_WRITE]++;
}

/* ---- completions ----------------------------------------------------------------------------- */

static bool right(struct uc_actor *a, const uint8_t *at, uint32_t seq, uint32_t bytes)
{
	return bytes >= NUMBER_BYTES && !memcmp(at, &seq, NUMBER_BYTES) &&
	       sim_pattern_check(a->run->sim, prev_of(a)->index, 0, seq, at + NUMBER_BYTES,
				 bytes - NUMBER_BYTES);
}

/* Checks the Write that a completion reports, by its number. */
static void check_written(struct uc_actor *a, uint32_t seq)
{
	const struct uc_actor *from = prev_of(a);
	uint32_t n = 0;

	while (n < from->writes && from->write_seq[n] != seq)
		n++;
	if (n == from->writes || !right(a, a->end.buf + write_offset(n), seq, from->write_bytes[n]))
		sim_run_fail(a->run, "shadow: weft%u: the Write with message %u has wrong bytes",
			     a->index, seq);
}

static void received(struct uc_actor *a, const struct weft_wc *wc)
{
	uint32_t r = (uint32_t)wc->wr_id, seq = wc->imm;
	uint8_t *at = a->end.buf + (size_t)r * SLOT_BYTES;
	bool write = wc->opcode == WEFT_WC_RECV_WRITE_IMM;

	if (!write && !(wc->flags & WEFT_WC_F_IMM))
		memcpy(&seq, at, sizeof(seq));
	if (seq <= a->last || seq > prev_of(a)->sent)
		sim_run_fail(a->run, "order: weft%u: message %u of %u behind number %u", a->index,
			     seq, prev_of(a)->sent, a->last);
	else if (!write && !right(a, at, seq, wc->bytes))
		sim_run_fail(a->run, "shadow: weft%u: message %u (%u bytes) has wrong bytes",
			     a->index, seq, wc->bytes);
	else if (write)
		check_written(a, seq);
	a->last = seq;
	a->got++;
	a->run->received++;
	a->run->bytes += wc->bytes;
	memset(at, BEFORE, SLOT_BYTES);
	if (weft_post_recv(
		a->in,
		&(struct weft_recv_wr){
		    .wr_id = r,
		    .sg_list = &(struct weft_sge){(uintptr_t)at, SLOT_BYTES, a->end.mr->lkey},
		    .num_sge = 1},
		NULL))
		sim_run_fail(a->run, "post: weft%u: a receive", a->index);
}

static void handle(struct uc_actor *a, const struct weft_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id - RECVS;

	if (wc->status != WEFT_WC_SUCCESS) {
		wl_actor_failed(a->run, a->index, wc,
				wc->wr_id < RECVS ? "a receive" : "a request");
	} else if (wc->wr_id < RECVS) {
		received(a, wc);
	} else {
		a->sending &= ~(1u << slot);
		memset(a->end.buf + send_offset(slot), STALE, SLOT_BYTES);
	}
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct uc_actor *a = ctx;
	struct weft_wc wc[16];
	int n, i;

	(void)sim;
	(void)arg;
	if (a->run->failure[0] || a->run->closed)
		return;
	n = weft_poll_cq(a->end.cq, 16, wc);
	for (i = 0; i < n; i++)
		handle(a, &wc[i]);
	if (!a->run->stopping && sim_prng_chance(&a->prng, 600000))
		post(a);
	wl_actor_again(&a->end, &a->prng, 500, 20000, step, a);
}

/* ---- start and end --------------------------------------------------------------------------- */

static int connect_qp(struct weft_qp *qp, const struct weft_qp *peer, const struct sim_nic *nic,
		      uint32_t sq_psn, uint32_t rq_psn)
{
	struct weft_qp_attr attr = {
	    .state = WEFT_QPS_INIT, .port = 1, .access = WEFT_ACCESS_REMOTE_WRITE};
	int rc = weft_modify_qp(
	    qp, &attr, WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT | WEFT_QP_ACCESS_FLAGS);

	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR,
				     .path_mtu_bytes = 1024,
				     .dst_qpn = peer->qpn,
				     .rq_psn = rq_psn,
				     .av = weft_av_ip(sim_nic_ip(nic))};
	if (!rc)
		rc = weft_modify_qp(qp, &attr,
				    WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU |
					WEFT_QP_DEST_QPN | WEFT_QP_RQ_PSN);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS, .sq_psn = sq_psn};
	return rc ? rc : weft_modify_qp(qp, &attr, WEFT_QP_STATE | WEFT_QP_SQ_PSN);
}

static int start_actor(struct sim_run *run, struct uc_actor *a, uint32_t i)
{
	struct sim_end_attr attr = {.type = WEFT_QPT_UC,
				    .bytes = write_offset(WRITES),
				    .max_wr = RECVS,
				    .max_sge = 1,
				    .inactive = true,
				    .unmapped = i % 4 >= 2};
	struct weft_qp_init_attr init = {
	    .type = WEFT_QPT_UC,
	    .cap = {.max_send_wr = 1, .max_recv_wr = RECVS, .max_send_sge = 1, .max_recv_sge = 1}};
	int rc;

	a->run = run;
	a->index = i;
	sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
	rc = sim_end_open(&a->end, sim_nic_at(run->sim, i), &attr);
	if (rc)
		return rc;
	memset(a->end.buf, BEFORE, a->end.bytes);
	init.send_cq = init.recv_cq = a->end.cq;
	a->in = weft_create_qp(a->end.pd, &init);
	return a->in ? 0 : -errno;
}

static int meet(struct sim_run *run, struct uc_actor *a)
{
	struct uc_actor *from = prev_of(a), *to = next_of(a);
	uint32_t r;
	int rc = connect_qp(a->end.qp, to->in, sim_nic_at(run->sim, to->index), SQ_PSN, RQ_PSN);

	if (!rc)
		rc = connect_qp(a->in, from->end.qp, sim_nic_at(run->sim, from->index), RQ_PSN,
				SQ_PSN);
	for (r = 0; r < RECVS && !rc; r++) {
		struct weft_sge sge = sim_end_sge(&a->end, (size_t)r * SLOT_BYTES, SLOT_BYTES);
		struct weft_recv_wr wr = {.wr_id = r, .sg_list = &sge, .num_sge = 1};

		rc = weft_post_recv(a->in, &wr, NULL);
	}
	return rc;
}

static int start(struct sim_run *run)
{
	struct uc_state *st = calloc(1, sizeof(*st));
	uint32_t i;
	int rc = 0;

	assert(st);
	run->state = st;
	st->num = sim_nic_count(run->sim);
	st->actors = calloc(st->num, sizeof(*st->actors));
	assert(st->actors);
	for (i = 0; i < st->num && !rc; i++)
		rc = start_actor(run, &st->actors[i], i);
	for (i = 0; i < st->num && !rc; i++)
		rc = meet(run, &st->actors[i]);
	if (!rc)
		wl_actor_start(run, step, st->actors, sizeof(*st->actors), st->num);
	return rc;
}

static bool quiet(struct sim_run *run)
{
	struct uc_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		if (st->actors[i].sending)
			return false;
	}
	return true;
}

static uint64_t sent(const struct sim_run *run)
{
	const struct uc_state *st = run->state;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sum += st->actors[i].sent;
	return sum;
}

/* Messages without a completion or a counted loss; Writes without immediate data have neither. */
static int64_t unaccounted(struct sim_run *run)
{
	struct uc_state *st = run->state;
	uint64_t known = 0;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		struct sim_nic *nic = sim_nic_at(run->sim, i);

		known += sim_nic_stat(nic, "uc_rx_msgs") + sim_nic_stat(nic, "drop_uc_order") +
			 sim_nic_stat(nic, "drop_uc_no_receive") + sim_nic_stat(nic, "tx_dropped") +
			 sim_nic_stat(nic, "tx_busy") + sim_nic_stat(nic, "drop_uc_busy") +
			 wl_actor_lost(nic);
	}
	return (int64_t)(sent(run) - known);
}

/* Every byte of a slot is old or the pattern's, and the bytes behind a Write are old. */
static void check_slots(struct uc_actor *a)
{
	const struct uc_actor *from = prev_of(a);
	static uint8_t want[SLOT_BYTES];
	uint32_t n, i;

	for (n = 0; n < WRITES && !a->run->failure[0]; n++) {
		const uint8_t *at = a->end.buf + write_offset(n);
		uint32_t bytes = n < from->writes ? from->write_bytes[n] : 0;

		if (bytes) {
			memcpy(want, &from->write_seq[n], NUMBER_BYTES);
			sim_pattern(a->run->sim, from->index, 0, from->write_seq[n],
				    want + NUMBER_BYTES, bytes - NUMBER_BYTES);
		}
		for (i = 0; i < bytes && (at[i] == BEFORE || at[i] == want[i]); i++)
			;
		if (i < bytes || wl_actor_changed(at, bytes, SLOT_BYTES, BEFORE) < SLOT_BYTES)
			sim_run_fail(a->run, "shadow: weft%u: slot %u of %u bytes has a wrong byte",
				     a->index, n, bytes);
	}
}

static void check(struct sim_run *run)
{
	struct uc_state *st = run->state;
	uint32_t i;

	wl_actor_settle(run, unaccounted, SETTLE_NS);
	if (unaccounted(run) > 0)
		sim_run_fail(run,
			     "conservation: of %" PRIu64 " messages %" PRId64
			     " were lost without being counted",
			     sent(run), unaccounted(run));
	for (i = 0; i < st->num; i++)
		check_slots(&st->actors[i]);
}

static void close_all(struct sim_run *run)
{
	struct uc_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sim_end_close(&st->actors[i].end);
}

static void stop(struct sim_run *run)
{
	struct uc_state *st = run->state;

	close_all(run);
	free(st->actors);
	free(st);
}

const struct sim_workload sim_wl_uc = {
    .name = "uc",
    .help = "unreliable connections: whole, in order, once, or counted as lost",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 2,
};
