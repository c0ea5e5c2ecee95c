/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads ud_send and ud_long: datagrams of random length to random peers.
 *
 * Each process sends at random intervals and keeps receives posted. Every message contains its
 * sender, its number and its length; the receiver checks all of them and each byte. A datagram may
 * be lost, but not changed, truncated or mixed with another, and it arrives at most once: each
 * further time needs a frame that the network delivered twice. ud_long uses libweft's extension: up
 * to 64 KiB in many frames.
 */
#include "sim_harness/wl/sim_wl_actor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	UD_RECVS = 64,
	UD_SENDS = 32,
	UD_PEERS = 8,
	UD_LONG_BYTES = 65536,
	UD_MAGIC = 0x55445544,
	UD_SOME = 16, /* datagrams of each process of which one must arrive without faults */
};

/* Time within which the last datagrams must arrive or be counted as lost. */
#define SETTLE_NS UINT64_C(1000000000)

/* Header of a message. */
struct ud_head {
	uint32_t magic;
	uint32_t src, dst, seq;
	uint32_t bytes;
};

struct ud_actor {
	struct sim_run *run;
	struct sim_end end;
	uint32_t index;
	uint32_t num_peers;
	struct weft_ah *ah[UD_PEERS];
	struct sim_prng prng;
	uint32_t seq;
	uint64_t sending; /* one bit per send buffer */
	uint64_t *seen;   /* its datagrams that have arrived, one bit each */
	uint32_t seen_words;
};

struct ud_state {
	bool is_long;
	uint32_t num;
	uint32_t slot_bytes; /* of a receive, including the GRH */
	uint32_t max_bytes;
	uint64_t again; /* arrivals beyond the first of a datagram */
	struct ud_actor *actors;
};

static uint32_t peer_of(const struct ud_actor *a, uint32_t p)
{
	return (a->index + 1 + p) % ((struct ud_state *)a->run->state)->num;
}

static size_t send_offset(const struct ud_state *st, uint32_t i)
{
	return (size_t)(UD_RECVS + i) * st->slot_bytes;
}

static void post_send(struct ud_actor *a)
{
	struct ud_state *st = a->run->state;
	uint32_t p = (uint32_t)sim_prng_below(&a->prng, a->num_peers);
	uint32_t i = wl_actor_free(a->sending, UD_SENDS);
	struct ud_actor *to = &st->actors[peer_of(a, p)];
	struct ud_head head = {UD_MAGIC, a->index, to->index, a->seq, 0};
	struct weft_sge sge;
	struct weft_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = WEFT_WR_SEND};
	uint8_t *at;
	int rc;

	if (i == UD_SENDS)
		return;
	head.bytes = (uint32_t)sim_prng_range(&a->prng, sizeof(head), st->max_bytes);
	at = a->end.buf + send_offset(st, i);
	memcpy(at, &head, sizeof(head));
	sim_pattern(a->run->sim, a->index, to->index, a->seq, at + sizeof(head),
		    head.bytes - sizeof(head));
	sge = sim_end_sge(&a->end, send_offset(st, i), head.bytes);
	wr.wr_id = UD_RECVS + i;
	wr.flags = WEFT_SEND_SIGNALED;
	wr.ah = a->ah[p];
	wr.dst_qpn = to->end.qp->qpn;
	wr.qkey = SIM_END_QKEY;
	rc = weft_post_send(a->end.qp, &wr, NULL);
	if (rc) {
		sim_run_fail(a->run, "post: weft%u: a datagram: %s", a->index, strerror(-rc));
		return;
	}
	a->sending |= UINT64_C(1) << i;
	a->seq++;
}

/* Fails if more datagrams came again than frames of the network. */
static void once(struct ud_actor *a, struct ud_actor *src, uint32_t seq)
{
	struct ud_state *st = a->run->state;
	uint64_t duplicated;

	if (seq / 64 >= src->seen_words) {
		src->seen = realloc(src->seen, (seq / 64 + 1) * 2 * sizeof(*src->seen));
		assert(src->seen);
		memset(src->seen + src->seen_words, 0,
		       ((seq / 64 + 1) * 2 - src->seen_words) * sizeof(*src->seen));
		src->seen_words = (seq / 64 + 1) * 2;
	}
	if (src->seen[seq / 64] >> seq % 64 & 1) {
		duplicated = wl_actor_duplicated(a->run);
		if (++st->again > duplicated)
			sim_run_fail(a->run,
				     "once: weft%u: datagram %u of weft%u came twice, %" PRIu64
				     " frames of the network did",
				     a->index, seq, src->index, duplicated);
	}
	src->seen[seq / 64] |= UINT64_C(1) << seq % 64;
}

static void check_recv(struct ud_actor *a, const struct weft_wc *wc)
{
	struct ud_state *st = a->run->state;
	uint32_t skip = wc->flags & WEFT_WC_F_GRH ? 40 : 0;
	const uint8_t *at = a->end.buf + wc->wr_id * st->slot_bytes + skip;
	struct ud_head head = {0};

	if (wc->bytes >= skip + sizeof(head))
		memcpy(&head, at, sizeof(head));
	if (head.magic != UD_MAGIC || head.dst != a->index || head.src >= st->num ||
	    head.bytes != wc->bytes - skip || wc->src_qpn != st->actors[head.src].end.qp->qpn ||
	    wc->src_ip != sim_nic_ip(sim_nic_at(a->run->sim, head.src)))
		sim_run_fail(a->run,
			     "shadow: weft%u: a datagram of %u bytes from QP 0x%x has a wrong head",
			     a->index, wc->bytes, wc->src_qpn);
	else if (!sim_pattern_check(a->run->sim, head.src, head.dst, head.seq, at + sizeof(head),
				    head.bytes - sizeof(head)))
		sim_run_fail(a->run, "shadow: weft%u: datagram %u of weft%u has wrong bytes",
			     a->index, head.seq, head.src);
	else
		once(a, &st->actors[head.src], head.seq);
	a->run->received++;
	a->run->bytes += wc->bytes;
}

static void handle(struct ud_actor *a, const struct weft_wc *wc)
{
	struct ud_state *st = a->run->state;

	if (wc->status != WEFT_WC_SUCCESS) {
		wl_actor_failed(a->run, a->index, wc,
				wc->wr_id < UD_RECVS ? "a receive" : "a send");
		return;
	}
	if (wc->wr_id >= UD_RECVS) {
		a->sending &= ~(UINT64_C(1) << (wc->wr_id - UD_RECVS));
		a->run->done[SIM_OP_SEND]++;
		return;
	}
	check_recv(a, wc);
	/* Overwrites the buffer, since stale bytes would hide an incomplete placement. */
	memset(a->end.buf + wc->wr_id * st->slot_bytes, 0xee, st->slot_bytes);
	if (sim_end_recv(&a->end, wc->wr_id, wc->wr_id * st->slot_bytes, st->slot_bytes))
		sim_run_fail(a->run, "post: weft%u: a receive could not be posted", a->index);
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct ud_actor *a = ctx;
	struct ud_state *st = a->run->state;
	struct weft_wc wc[16];
	int n, i;

	(void)sim;
	(void)arg;
	if (a->run->failure[0] || a->run->closed)
		return;
	n = weft_poll_cq(a->end.cq, 16, wc);
	for (i = 0; i < n; i++)
		handle(a, &wc[i]);
	if (!a->run->stopping && sim_prng_chance(&a->prng, 700000))
		post_send(a);
	wl_actor_again(&a->end, &a->prng, 500, st->is_long ? 50000 : 4000, step, a);
}

static int start_actor(struct sim_run *run, struct ud_actor *a, uint32_t i)
{
	struct ud_state *st = run->state;
	struct sim_end_attr attr = {.type = WEFT_QPT_UD,
				    .qp_flags = st->is_long ? WEFT_QP_F_UD_LONG : 0,
				    .bytes = (size_t)(UD_RECVS + UD_SENDS) * st->slot_bytes,
				    .unmapped = i % 4 >= 2};
	uint32_t r;
	int rc;

	a->run = run;
	a->index = i;
	sim_prng_for(run->sim, &a->prng, SIM_STREAM_WORKLOAD, i);
	rc = sim_end_open(&a->end, sim_nic_at(run->sim, i), &attr);
	for (r = 0; r < UD_RECVS && !rc; r++)
		rc = sim_end_recv(&a->end, r, (size_t)r * st->slot_bytes, st->slot_bytes);
	return rc;
}

static int start(struct sim_run *run, bool is_long)
{
	uint32_t num = sim_nic_count(run->sim), i, p;
	struct ud_state *st = calloc(1, sizeof(*st));
	struct weft_device_attr dev;
	int rc = 0;

	assert(st);
	run->state = st;
	st->is_long = is_long;
	st->num = num;
	st->slot_bytes = is_long ? UD_LONG_BYTES : 16384;
	st->actors = calloc(num, sizeof(*st->actors));
	assert(st->actors);
	for (i = 0; i < num && !rc; i++)
		rc = start_actor(run, &st->actors[i], i);
	if (rc)
		return rc;
	rc = weft_query_device(st->actors[0].end.context, &dev);
	if (rc)
		return rc;
	st->max_bytes = is_long ? UD_LONG_BYTES : dev.max_ud_bytes;
	for (i = 0; i < num; i++) {
		struct ud_actor *a = &st->actors[i];

		a->num_peers = num - 1 < UD_PEERS ? num - 1 : UD_PEERS;
		for (p = 0; p < a->num_peers; p++) {
			a->ah[p] = sim_end_ah(&a->end, sim_nic_at(run->sim, peer_of(a, p)));
			if (!a->ah[p])
				return -errno;
		}
	}
	wl_actor_start(run, step, st->actors, sizeof(*st->actors), num);
	return 0;
}

static int start_send(struct sim_run *run)
{
	return start(run, false);
}

static int start_long(struct sim_run *run)
{
	return start(run, true);
}

static bool quiet(struct sim_run *run)
{
	struct ud_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		if (st->actors[i].sending)
			return false;
	}
	return true;
}

static uint64_t sent(const struct sim_run *run)
{
	const struct ud_state *st = run->state;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sum += st->actors[i].seq;
	return sum;
}

/* Returns the number of sent datagrams that neither arrived nor were counted as lost. */
static int64_t unaccounted(struct sim_run *run)
{
	struct ud_state *st = run->state;
	uint64_t known = run->received - st->again;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		struct sim_nic *nic = sim_nic_at(run->sim, i);

		known += wl_actor_lost(nic) + sim_nic_counts(nic)->to_nobody +
			 sim_nic_stat(nic, "tx_dropped") + sim_nic_stat(nic, "drop_ud_no_receive") +
			 sim_nic_stat(nic, "drop_ud_reassembly_full") +
			 sim_nic_stat(nic, "ud_reassembly_timeouts") +
			 sim_nic_stat(nic, "tx_busy") + sim_nic_stat(nic, "drop_ud_busy");
	}
	return (int64_t)(sent(run) - known);
}

/*
 * A partition, or one slow page under the first receive, may last for a short run. Later, without
 * faults, datagrams must arrive.
 */
static void try_again(struct sim_run *run)
{
	struct ud_state *st = run->state;
	uint32_t i, k;

	for (k = 0; k < UD_SOME && !run->received && !run->failure[0]; k++) {
		for (i = 0; i < st->num; i++)
			post_send(&st->actors[i]);
		sim_run_for(run->sim, SETTLE_NS / UD_SOME);
	}
}

/* The last datagrams may be queued at a slow line, or wait for a process that polls rarely. */
static void check(struct sim_run *run)
{
	wl_actor_settle(run, unaccounted, SETTLE_NS);
	try_again(run);
	if (!run->received)
		sim_run_fail(run, "liveness: not one datagram of %" PRIu64 " arrived", sent(run));
	else if (unaccounted(run) > 0)
		sim_run_fail(run,
			     "conservation: of %" PRIu64 " datagrams %" PRIu64 " came, and %" PRId64
			     " were lost without being counted",
			     sent(run), run->received, unaccounted(run));
}

static void close_all(struct sim_run *run)
{
	struct ud_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++)
		sim_end_close(&st->actors[i].end);
}

static void stop(struct sim_run *run)
{
	struct ud_state *st = run->state;
	uint32_t i;

	for (i = 0; i < st->num; i++) {
		sim_end_close(&st->actors[i].end);
		free(st->actors[i].seen);
	}
	free(st->actors);
	free(st);
}

const struct sim_workload sim_wl_ud_send = {
    .name = "ud_send",
    .help = "datagrams of one frame, checked byte by byte",
    .start = start_send,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 1,
};

const struct sim_workload sim_wl_ud_long = {
    .name = "ud_long",
    .help = "datagrams of up to 64 KiB in many frames (libweft's extension)",
    .start = start_long,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .bears_busy = true,
    .weight = 1,
};
