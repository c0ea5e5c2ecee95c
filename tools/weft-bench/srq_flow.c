/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages from many peers to one process; see srq.h. Calls libweft.
 *
 * The peer and the length of message number s follow from s. The receiver is a program that waits
 * for a message of one peer after the other, batch by batch, in an order of its own. Messages of
 * other peers meanwhile are unexpected, and keep their receives until their turn, as in an MPI
 * library. After each batch it writes its progress to the sender, so that at most two batches are
 * in flight: the number of unexpected messages does not depend on the number of peers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/srq.h"

enum {
	FLOW_POLL = 32,
	FLOW_LOOK_TURNS = 4096,
	FLOW_BATCH_MAX = 512,
	FLOW_NONE = UINT32_MAX,
	FLOW_MIN_BYTES = 16,
	FLOW_SHIFT = 40, /* bits of credits in the word; the number of the flow is above */
};

static uint64_t scramble(uint64_t x)
{
	x = (x + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 32;
}

static uint32_t peer_of(const struct srq_end *e, uint64_t seq)
{
	return (uint32_t)(scramble(2 * seq) % e->peers);
}

/* Half are at most 128 bytes, four of five at most 512, as in the MVAPICH study's applications. */
static uint32_t size_of(const struct srq_end *e, uint64_t seq)
{
	uint64_t r = scramble(2 * seq + 1);
	uint32_t max = r % 10 < 5 ? 128 : r % 10 < 8 ? 512 : e->c->o->size;

	max = max < e->c->o->size ? max : e->c->o->size;
	return FLOW_MIN_BYTES + (uint32_t)((r >> 8) % (max - FLOW_MIN_BYTES + 1));
}

static uint32_t class_of(uint32_t bytes)
{
	uint32_t k = 0;

	while (k < SRQ_CLASSES - 1 && bytes > 64u << k)
		k++;
	return k;
}

static uint64_t total_of(const struct srq_end *e, const struct srq_pattern *pattern)
{
	uint64_t block = (uint64_t)CREW_BLOCKS * pattern->batch;

	return (e->c->o->iters + block - 1) / block * block;
}

/* True after too long without a completion. */
struct patience {
	uint64_t since;
	uint32_t turns;
};

static int impatient(struct srq_end *e, struct patience *p)
{
	uint64_t now;

	if (++p->turns % FLOW_LOOK_TURNS)
		return 0;
	now = clock_now_ns();
	if (!p->since)
		p->since = now;
	if ((double)(now - p->since) > e->c->o->timeout_s * 1e9)
		return fail("nothing came for %g s: gave up", e->c->o->timeout_s);
	return 0;
}

/* ---- the receiver -----------------------------------------------------------------------------
 */

/* A received message, in the order of its peer. */
struct held {
	uint32_t next;
	uint32_t bytes;
};

struct receiver {
	struct srq_end *e;
	struct srq_counts *counts;
	struct held *held; /* by wr_id */
	uint32_t *first;   /* of each peer, or FLOW_NONE */
	uint32_t *last;
	uint64_t *next_seq; /* of each peer: the lowest number that may come */
	uint32_t order[FLOW_BATCH_MAX];
};

static int arrived(struct receiver *r, const struct weft_wc *wc, uint32_t wanted)
{
	uint32_t peer = r->e->peer_at[wc->qpn & UINT16_MAX], id = (uint32_t)wc->wr_id;
	struct srq_counts *n = r->counts;
	uint32_t class = class_of(wc->bytes);

	n->messages++;
	n->bytes += wc->bytes;
	n->by_class[class]++;
	n->bytes_by_class[class] += wc->bytes;
	if (peer != wanted || r->first[peer] != FLOW_NONE) {
		n->unexpected++;
		n->unexpected_by_class[class]++;
	}
	r->held[id] = (struct held){FLOW_NONE, wc->bytes};
	if (r->first[peer] == FLOW_NONE)
		r->first[peer] = id;
	else
		r->held[r->last[peer]].next = id;
	r->last[peer] = id;
	return 0;
}

/* Checks every byte of a peer's next message and posts its receive again. */
static int consume(struct receiver *r, uint32_t peer, uint64_t *seq)
{
	uint32_t id = r->first[peer], bytes = r->held[id].bytes;
	const uint8_t *data = srq_end_at(r->e, id);

	*seq = pattern_seq(data, bytes);
	if (*seq < r->next_seq[peer] || peer_of(r->e, *seq) != peer ||
	    bytes != size_of(r->e, *seq) || pattern_check(data, bytes, *seq, 1) != bytes)
		return fail("message %llu of %u bytes of peer %u is wrong",
			    (unsigned long long)*seq, bytes, peer);
	r->next_seq[peer] = *seq + 1;
	r->first[peer] = r->held[id].next;
	return srq_end_give(r->e, id);
}

static int await(struct receiver *r, uint32_t peer)
{
	struct patience patience = {0};
	struct weft_wc wc[FLOW_POLL];
	int n, i;

	while (r->first[peer] == FLOW_NONE) {
		n = srq_end_poll(r->e, FLOW_POLL, wc);
		if (n < 0 || (!n && impatient(r->e, &patience)))
			return -1;
		for (i = 0; i < n; i++)
			if (wc[i].opcode >= WEFT_WC_RECV && arrived(r, &wc[i], peer))
				return -1;
	}
	return 0;
}

/* Lets the sender go on: reports the number consumed. */
static int grant(struct srq_end *e, uint64_t consumed)
{
	uint64_t word = e->flows << FLOW_SHIFT | consumed;
	struct weft_sge sge = {(uintptr_t)&word, sizeof(word), 0};
	struct weft_send_wr wr = {.wr_id = SRQ_ID_CREDIT,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_WRITE,
				  .flags = WEFT_SEND_SIGNALED | WEFT_SEND_INLINE,
				  .remote_addr = e->partner_control + SRQ_CTL_CREDITS,
				  .rkey = e->partner_rkey};
	int rc = weft_post_send(e->qp[e->peers], &wr, NULL);

	return rc ? fail("granting credits: %s", strerror(-rc)) : 0;
}

static int take_batch(struct receiver *r, const struct srq_pattern *pattern, uint64_t from)
{
	uint64_t sum = 0, want = 0, seq, at;
	uint32_t i, k, peer;

	for (i = 0; i < pattern->batch; i++)
		r->order[i] = peer_of(r->e, from + i);
	for (i = pattern->batch - 1; i; i--) {
		k = (uint32_t)(scramble(~(from + i)) % (i + 1));
		peer = r->order[i];
		r->order[i] = r->order[k];
		r->order[k] = peer;
	}
	for (i = 0; i < pattern->batch; i++) {
		if (await(r, r->order[i]) || consume(r, r->order[i], &seq))
			return -1;
		at = seq - from;
		sum += at;
		want += i;
	}
	if (sum != want)
		return fail("the messages of a batch are not those that were sent");
	return grant(r->e, from + pattern->batch);
}

static int receive_all(struct receiver *r, const struct srq_pattern *pattern)
{
	uint64_t total = total_of(r->e, pattern), seq = 0, start;

	for (int block = 0; block < CREW_BLOCKS; block++) {
		start = clock_now_ns();
		for (; seq < total / CREW_BLOCKS * (uint64_t)(block + 1); seq += pattern->batch)
			if (take_batch(r, pattern, seq))
				return -1;
		r->counts->msg_s[block] =
		    (double)(total / CREW_BLOCKS) * 1e9 / (double)(clock_now_ns() - start);
	}
	return 0;
}

static int receive(struct srq_end *e, const struct srq_pattern *pattern, struct srq_counts *counts)
{
	size_t buffers = e->shared ? SRQ_POOL_MAX : (size_t)e->peers * e->c->o->recvs;
	struct receiver r = {.e = e, .counts = counts};
	int rc = -1;

	r.held = calloc(buffers, sizeof(*r.held));
	r.first = calloc(2 * (size_t)e->peers, sizeof(*r.first));
	r.next_seq = calloc(e->peers, sizeof(*r.next_seq));
	if (r.held && r.first && r.next_seq) {
		r.last = r.first + e->peers;
		memset(r.first, 0xff, e->peers * sizeof(*r.first));
		crew_barrier(e->c);
		rc = receive_all(&r, pattern);
	} else {
		fail("out of memory");
	}
	free(r.held);
	free(r.first);
	free(r.next_seq);
	return rc;
}

/* ---- the peers --------------------------------------------------------------------------------
 */

static int reap(struct srq_end *e, bool *busy, uint64_t *done)
{
	struct weft_wc wc[FLOW_POLL];
	int n = srq_end_poll(e, FLOW_POLL, wc);

	for (int i = 0; i < n; i++)
		busy[wc[i].wr_id] = false;
	*done += n > 0 ? (uint64_t)n : 0;
	return n;
}

static int send_one(struct srq_end *e, uint64_t seq)
{
	uint32_t bytes = size_of(e, seq), slot = (uint32_t)(seq % SRQ_SLOTS);
	uint8_t *data = e->mem.p + (size_t)slot * e->c->o->size;
	struct weft_sge sge = {(uintptr_t)data, bytes, e->mem.mr->lkey};
	struct weft_send_wr wr = {.wr_id = slot,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED};

	pattern_fill(data, bytes, seq, 1);
	return weft_post_send(e->qp[peer_of(e, seq)], &wr, NULL);
}

static int send_all(struct srq_end *e, const struct srq_pattern *pattern)
{
	uint64_t total = total_of(e, pattern), seq = 0, done = 0, credits, before;
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(e->control.p + SRQ_CTL_CREDITS);
	struct patience patience = {0};
	bool busy[SRQ_SLOTS] = {false};
	int rc = 0;

	crew_barrier(e->c);
	while (done < total) {
		credits = *word;
		/* The last word of the previous flow may still be in flight. */
		credits = credits >> FLOW_SHIFT == e->flows ? credits ^ e->flows << FLOW_SHIFT : 0;
		before = seq;
		rc = 0;
		while (seq < total && seq < credits + 2ull * pattern->batch &&
		       !busy[seq % SRQ_SLOTS]) {
			rc = send_one(e, seq);
			if (rc)
				break;
			busy[seq++ % SRQ_SLOTS] = true;
		}
		/* A full send queue empties by itself. */
		if (rc && rc != -ENOMEM)
			return fail("sending: %s", strerror(-rc));
		rc = reap(e, busy, &done);
		if (rc < 0)
			return -1;
		if (rc || seq > before)
			patience = (struct patience){0};
		else if (impatient(e, &patience))
			return -1;
	}
	return 0;
}

int srq_flow(struct srq_end *e, const struct srq_pattern *pattern, struct srq_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	e->flows++;
	return e->receiver ? receive(e, pattern, counts) : send_all(e, pattern);
}

/* ---- latency ----------------------------------------------------------------------------------
 */

static int ping_send(struct srq_end *e, struct weft_qp *qp, uint64_t seq)
{
	uint8_t data[SRQ_PING_BYTES] __attribute__((aligned(8)));
	struct weft_sge sge = {(uintptr_t)data, sizeof(data), 0};
	struct weft_send_wr wr = {.wr_id = SRQ_ID_CREDIT,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED | WEFT_SEND_INLINE};
	int rc;

	pattern_fill(data, sizeof(data), seq, 1);
	rc = weft_post_send(qp, &wr, NULL);
	(void)e;
	return rc ? fail("sending: %s", strerror(-rc)) : 0;
}

static int ping_recv(struct srq_end *e, struct weft_qp *qp, uint64_t seq)
{
	struct patience patience = {0};
	struct weft_wc wc;
	uint64_t id;
	int n;

	do {
		n = srq_end_poll(e, 1, &wc);
		if (n < 0 || (!n && impatient(e, &patience)))
			return -1;
	} while (!n || wc.opcode < WEFT_WC_RECV);
	id = wc.wr_id;
	if (wc.bytes != SRQ_PING_BYTES || wc.qpn != qp->qpn ||
	    pattern_check(srq_end_at(e, id), wc.bytes, seq, 1) != wc.bytes)
		return fail("message %llu of the latency test is wrong", (unsigned long long)seq);
	return id & SRQ_ID_CONTROL ? srq_end_post_ping(e, qp, (uint32_t)(id & ~SRQ_ID_CONTROL))
				   : srq_end_give(e, id);
}

/* Half round trips over one queue pair; us at the sender. */
static int ping_block(struct srq_end *e, uint32_t index, uint32_t count, double *us)
{
	struct weft_qp *qp = e->qp[index];
	uint64_t start = 0;

	for (uint64_t i = 0; i < count + count / 10; i++) {
		if (i == count / 10)
			start = clock_now_ns();
		if (e->receiver ? ping_recv(e, qp, 2 * i) || ping_send(e, qp, 2 * i + 1)
				: ping_send(e, qp, 2 * i) || ping_recv(e, qp, 2 * i + 1))
			return -1;
	}
	*us = (double)(clock_now_ns() - start) / 2e3 / count;
	return 0;
}

int srq_latency(struct srq_end *e, double *own_us, double *shared_us)
{
	uint32_t count = e->c->o->iters < 2000 ? (uint32_t)e->c->o->iters : 2000;

	crew_barrier(e->c);
	for (int block = 0; block < CREW_BLOCKS; block++)
		if (ping_block(e, e->peers, count, &own_us[block]) ||
		    ping_block(e, 0, count, &shared_us[block]))
			return -1;
	return 0;
}
