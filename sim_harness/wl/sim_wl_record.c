/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload ud_record: Write-Records of random length into memory of random peers.
 *
 * Each record of a pair of processes has its own slot, used once in a run, so the data that late or
 * duplicate pieces write is always known. The receiver's completion states which pieces are valid,
 * and each of those is compared. At the end every byte of a slot has its old value or the record's,
 * and bytes after a record are unchanged. Records may be lost or incomplete, and may be reported
 * complete twice if the network duplicates frames.
 */
#include "sim_harness/wl/sim_wl_actor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	PEERS = 4,
	RECORDS = 24, /* from one process to each other */
	SENDS = 16,   /* outstanding per process */
	MAX_BYTES = 20000,
	SLOT_BYTES = MAX_BYTES + 480,
	BEFORE = 0xee,
};

/* Partial records are reported after their time-out. */
#define SETTLE_NS UINT64_C(2000000000)

struct rec_actor {
	struct sim_run *run;
	struct sim_end end;
	uint32_t index;
	uint32_t num_peers;
	struct weft_ah *ah[PEERS];
	struct sim_prng prng;
	uint32_t sending; /* one bit per send buffer */
	uint32_t posted[PEERS];
	uint32_t bytes[PEERS][RECORDS];
	uint32_t whole[PEERS][RECORDS]; /* as reported by the receiver */
};

struct rec_state {
	uint32_t num;
	uint64_t records, partial;
	struct rec_actor *actors;
};

static struct rec_actor *peer_of(const struct rec_actor *a, uint32_t p)
{
	struct rec_state *st = a->run->state;

	return &st->actors[(a->index + 1 + p) % st->num];
}

/*
 * Returns the offset of a record's slot in its receiver's memory, after the receiver's own send
 * buffers.
 */
static size_t slot_offset(uint32_t p, uint32_t n)
{
	return ((size_t)SENDS + p * RECORDS + n) * SLOT_BYTES;
}

static void post_record(struct rec_actor *a)
{
	uint32_t p = (uint32_t)sim_prng_below(&a->prng, a->num_peers), n = a->posted[p];
	uint32_t i = wl_actor_free(a->sending, SENDS);
	struct rec_actor *to = peer_of(a, p);
	struct weft_sge sge;
	struct weft_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = WEFT_WR_WRITE_RECORD};
	int rc;

	if (i == SENDS || n == RECORDS)
		return;
	a->bytes[p][n] =
	    (uint32_t)sim_prng_below(&a->prng, sim_prng_below(&a->prng, 2) ? MAX_BYTES + 1 : 3000);
	sim_pattern(a->run->sim, a->index, to->index, n, a->end.buf + (size_t)i * SLOT_BYTES,
		    a->bytes[p][n]);
	sge = sim_end_sge(&a->end, (size_t)i * SLOT_BYTES, a->bytes[p][n]);
	wr.wr_id = i;
	wr.flags = WEFT_SEND_SIGNALED;
	wr.ah = a->ah[p];
	wr.dst_qpn = to->end.qp->qpn;
	wr.qkey = SIM_END_QKEY;
	wr.rkey = to->end.mr->rkey;
	wr.remote_addr = (uintptr_t)to->end.buf + slot_offset(p, n);
	rc = weft_post_send(a->end.qp, &wr, NULL);
	if (rc) {
		sim_run_fail(a->run, "post: weft%u: a Write-Record: %s", a->index, strerror(-rc));
		return;
	}
	a->sending |= 1u << i;
	a->posted[p]++;
}

/* Returns the record's bytes, in a buffer that the next call overwrites. */
static const uint8_t *pattern_of(const struct rec_actor *from, uint32_t p, uint32_t n)
{
	static uint8_t bytes[MAX_BYTES];

	sim_pattern(from->run->sim, from->index, peer_of(from, p)->index, n, bytes,
		    from->bytes[p][n]);
	return bytes;
}

/* Checks each valid piece of the map; all must be valid unless the completion says otherwise. */
static bool pieces_right(const struct weft_wc *wc, const uint8_t *want)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)wc->record_to;
	uint32_t piece = wc->record_piece_bytes, i, from, n = 0;

	for (i = 0; wc->bytes && i < 64; i++) {
		if (!(wc->record_map >> i & 1))
			continue;
		from = i * piece;
		if (!piece || from >= wc->bytes)
			return false;
		n += wc->bytes - from < piece ? wc->bytes - from : piece;
		if (memcmp(at + from, want + from,
			   wc->bytes - from < piece ? wc->bytes - from : piece))
			return false;
	}
	return wc->flags & WEFT_WC_F_PARTIAL ? n < wc->bytes : n == wc->bytes;
}

static void check_record(struct rec_actor *a, const struct weft_wc *wc)
{
	struct rec_state *st = a->run->state;
	uint64_t slot = (wc->record_to - (uintptr_t)a->end.buf) / SLOT_BYTES - SENDS;
	uint32_t p = (uint32_t)(slot / RECORDS), n = (uint32_t)(slot % RECORDS);
	struct rec_actor *from;

	from = p < PEERS ? &st->actors[(a->index + 2 * st->num - 1 - p) % st->num] : NULL;
	if (!from || wc->record_to != (uintptr_t)a->end.buf + slot_offset(p, n) ||
	    n >= from->posted[p] || wc->bytes != from->bytes[p][n] ||
	    wc->record_stag != a->end.mr->rkey || wc->src_qpn != from->end.qp->qpn ||
	    wc->src_ip != sim_nic_ip(sim_nic_at(a->run->sim, from->index))) {
		sim_run_fail(a->run,
			     "completion: weft%u: a Write-Record of %u bytes that nobody sent",
			     a->index, wc->bytes);
		return;
	}
	if (!pieces_right(wc, pattern_of(from, p, n)))
		sim_run_fail(a->run,
			     "shadow: weft%u: record %u of weft%u, %u bytes: its map 0x%" PRIx64
			     " shows what is not there",
			     a->index, n, from->index, wc->bytes, wc->record_map);
	st->records++;
	st->partial += (wc->flags & WEFT_WC_F_PARTIAL) != 0;
	if (!(wc->flags & WEFT_WC_F_PARTIAL) && from->whole[p][n]++ &&
	    !sim_nic_counts(sim_proc_nic(a->end.proc))->duplicated)
		sim_run_fail(a->run, "message: weft%u: record %u of weft%u came twice", a->index, n,
			     from->index);
	a->run->received++;
	a->run->bytes += wc->bytes;
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct rec_actor *a = ctx;
	struct weft_wc wc[16];
	int n, i;

	(void)sim;
	(void)arg;
	if (a->run->failure[0] || a->run->closed)
		return;
	n = weft_poll_cq(a->end.cq, 16, wc);
	for (i = 0; i < n; i++) {
		if (wc[i].status != WEFT_WC_SUCCESS) {
			wl_actor_failed(a->run, a->index, &wc[i], "a request");
		} else if (wc[i].opcode == WEFT_WC_RECV_WRITE_RECORD) {
			check_record(a, &wc[i]);
		} else {
			a->sending &= ~(1u << wc[i].wr_id);
			a->run->done[SIM_OP_WRITE]++;
		}
	}
	if (!a->run->stopping && sim_prng_chance(&a->prng, 500000))
		post_record(a);
	wl_actor_again(&a->end, &a->prng, 500, 60000, step, a);
}

static int start(struct sim_run *run)
{
	struct rec_state *st = calloc(1, sizeof(*st));
	struct sim_end_attr attr = {.type = WEFT_QPT_UD,
				    .bytes = slot_offset(PEERS, 0),
				    .access = WEFT_ACCESS_REMOTE_WRITE,
				    .cqe = 8192};
	uint32_t i, p;
	int rc = 0;

	assert(st);
	run->state = st;
	st->num = sim_nic_count(run->sim);
	st->actors = calloc(st->num, sizeof(*st->actors));
	assert(st->actors);
	for (i = 0; i < st->num && !rc; i++) {
		struct rec_actor *a = &st->actors[i];

		a->run = run;
		a->index = i;
		a->num_peers = st->num - 1 < PEERS ? st->num - 1 : PEERS;
		sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
		attr.unmapped = i % 4 >= 2;
		rc = sim_end_open(&a->end, sim_nic_at(run->sim, i), &attr);
		if (!rc)
			memset(a->end.buf, BEFORE, attr.bytes);
	}
	for (i = 0; i < st->num && !rc; i++) {
		struct rec_actor *a = &st->actors[i];

		for (p = 0; p < a->num_peers && !rc; p++) {
			a->ah[p] = sim_end_ah(&a->end, sim_nic_at(run->sim, peer_of(a, p)->index));
			rc = a->ah[p] ? 0 : -errno;
		}
	}
	if (!rc)
		wl_actor_start(run, step, st->actors, sizeof(*st->actors), st->num);
	return rc;
}

static bool quiet(struct sim_run *run)
{
	const struct rec_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		if (st->actors[i].sending)
			return false;
	}
	return true;
}

/* Checks that each byte is old or new, and that a record reported complete is. */
static void check_slot(struct rec_actor *from, uint32_t p, uint32_t n)
{
	struct rec_actor *to = peer_of(from, p);
	const uint8_t *at = to->end.buf + slot_offset(p, n);
	bool sent = n < from->posted[p];
	uint32_t bytes = sent ? from->bytes[p][n] : 0, i;
	const uint8_t *want = sent ? pattern_of(from, p, n) : NULL;

	for (i = 0; i < SLOT_BYTES; i++) {
		bool is_new = i < bytes && at[i] == want[i];
		bool old = at[i] == BEFORE && !(i < bytes && from->whole[p][n]);

		if (!is_new && !old) {
			sim_run_fail(from->run,
				     "shadow: weft%u: byte %u of record %u of weft%u (%u bytes)",
				     to->index, i, n, from->index, bytes);
			return;
		}
	}
}

/* A partition may last for a short run. Later, without faults, records must arrive. */
static void try_again(struct sim_run *run)
{
	struct rec_state *st = run->state;
	uint32_t i, k;

	for (k = 0; k < RECORDS && !st->records && !run->failure[0]; k++) {
		for (i = 0; i < st->num; i++)
			post_record(&st->actors[i]);
		sim_run_for(run->sim, SETTLE_NS);
	}
}

static void check(struct sim_run *run)
{
	struct rec_state *st = run->state;
	uint64_t made = 0;
	uint32_t i, p, n;

	sim_run_for(run->sim, SETTLE_NS);
	try_again(run);
	for (i = 0; i < st->num && !run->failure[0]; i++) {
		made += sim_nic_stat(sim_nic_at(run->sim, i), "ud_rx_records");
		for (p = 0; p < st->actors[i].num_peers; p++) {
			for (n = 0; n < RECORDS; n++)
				check_slot(&st->actors[i], p, n);
		}
	}
	if (!st->records)
		sim_run_fail(run, "liveness: not one record arrived");
	else if (made != st->records && !run->failure[0])
		sim_run_fail(run, "conservation: of %" PRIu64 " records announced %" PRIu64 " came",
			     made, st->records);
}

static void close_all(struct sim_run *run)
{
	struct rec_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sim_end_close(&st->actors[i].end);
}

static void stop(struct sim_run *run)
{
	struct rec_state *st = run->state;

	close_all(run);
	free(st->actors);
	free(st);
}

const struct sim_workload sim_wl_record = {
    .name = "ud_record",
    .help = "Write-Records, every piece that their maps show, every byte that they may reach",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .weight = 2,
};
