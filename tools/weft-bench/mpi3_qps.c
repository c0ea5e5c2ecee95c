/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many connections between two processes, without a message layer: Rashti's thesis, section 3.4.1.
 * Calls libweft.
 *
 * Normalised latency: one message on each of n queue pairs at once, answered on the same; half the
 * time of that over n. Throughput: both processes send on all queue pairs in turn, QPS_DEPTH
 * messages of each in flight.
 */
#include <errno.h>
#include <string.h>

#include "lib/clock.h"
#include "tools/weft-bench/end.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"

enum {
	QPS_MAX = 16,
	QPS_DEPTH = 4,
	QPS_RECVS = 2 * QPS_DEPTH, /* posted ahead: a receive returns later than its credit */
	QPS_MAX_BYTES = 256 << 10,
	QPS_POLL = 32,
	QPS_LOOK_TURNS = 4096,
	ID_RECV = 1 << 16,
};

struct conns {
	struct crew *c;
	struct end end;
	struct weft_qp *qp[QPS_MAX];
	struct end_mem mem; /* for each queue pair QPS_DEPTH slots to send from, QPS_RECVS to
			    receive into */
	size_t stride;
	uint32_t num;          /* in use */
	uint32_t way[QPS_MAX]; /* messages in flight */
	uint32_t came[QPS_MAX];
	uint64_t received;
	uint64_t sent;
	uint64_t seq; /* of a block: seed of its messages */
	size_t bytes;
};

static uint8_t *slot(const struct conns *n, uint32_t qp, uint32_t i)
{
	return n->mem.p + (qp * (QPS_DEPTH + QPS_RECVS) + i) * n->stride;
}

static int post_recv(struct conns *n, uint32_t qp, uint32_t i)
{
	struct weft_sge sge = {(uintptr_t)slot(n, qp, QPS_DEPTH + i), (uint32_t)n->stride,
			       n->mem.mr->lkey};
	struct weft_recv_wr wr = {
	    .wr_id = ID_RECV | qp * QPS_RECVS | i, .sg_list = &sge, .num_sge = 1};
	int rc = weft_post_recv(n->qp[qp], &wr, NULL);

	return rc ? fail("posting a receive: %s", strerror(-rc)) : 0;
}

static int post_send(struct conns *n, uint32_t qp, uint32_t i)
{
	struct weft_sge sge = {(uintptr_t)slot(n, qp, i), (uint32_t)n->bytes, n->mem.mr->lkey};
	struct weft_send_wr wr = {.wr_id = qp,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED};
	int rc = weft_post_send(n->qp[qp], &wr, NULL);

	n->way[qp]++;
	n->sent++;
	return rc ? fail("sending: %s", strerror(-rc)) : 0;
}

static int conns_open(struct conns *n, struct crew *c)
{
	uint32_t mine[QPS_MAX + 1], theirs[QPS_MAX + 1], i, k;
	struct weft_av av;

	*n = (struct conns){.c = c, .stride = QPS_MAX_BYTES, .num = QPS_MAX};
	if (end_open(&n->end, crew_device(c)) || end_open_cq(&n->end, 1024, false) ||
	    end_mem_open(&n->end, &n->mem, END_MEM_WEFT,
			 QPS_MAX * (QPS_DEPTH + QPS_RECVS) * n->stride, WEFT_ACCESS_LOCAL_WRITE))
		return -1;
	mine[QPS_MAX] = n->end.port.ip;
	for (i = 0; i < QPS_MAX; i++) {
		struct weft_qp_init_attr init = {
		    .type = WEFT_QPT_RC,
		    .cap = {.max_send_wr = QPS_DEPTH,
			    .max_recv_wr = QPS_RECVS,
			    .max_send_sge = 1,
			    .max_recv_sge = 1},
		};

		n->qp[i] = end_qp(&n->end, &init);
		if (!n->qp[i])
			return -1;
		mine[i] = n->qp[i]->qpn;
	}
	if (crew_exchange(c, mine, theirs, sizeof(mine)))
		return -1;
	av = weft_av_ip(theirs[QPS_MAX]);
	for (i = 0; i < QPS_MAX; i++) {
		if (end_connect_rc(n->qp[i], &av, theirs[i], WEFT_QP_TRANSPORT_RD,
				   n->end.attr.max_rd_atomic, END_TIMEOUT))
			return -1;
		for (k = 0; k < QPS_RECVS; k++)
			if (post_recv(n, i, k))
				return -1;
	}
	crew_barrier(c);
	return 0;
}

/* Checks a received message, and posts its receive again. */
static int take(struct conns *n, const struct weft_wc *wc)
{
	uint32_t at = (uint32_t)wc->wr_id & (ID_RECV - 1), qp = at / QPS_RECVS;
	const uint8_t *data = slot(n, qp, QPS_DEPTH + at % QPS_RECVS);

	if (wc->bytes != n->bytes || pattern_check(data, wc->bytes, n->seq + qp, 1) != wc->bytes)
		return fail("a message of %u bytes on queue pair %u is wrong", wc->bytes, qp);
	n->came[qp]++;
	n->received++;
	return post_recv(n, qp, at % QPS_RECVS);
}

/* Polls completions; -1 also after too long without one. */
static int reap(struct conns *n, uint64_t *since, uint32_t *turns)
{
	struct weft_wc wc[QPS_POLL];
	int count = weft_poll_cq(n->end.cq, QPS_POLL, wc), i;
	uint64_t now;

	for (i = 0; i < count; i++) {
		if (wc[i].status != WEFT_WC_SUCCESS)
			return fail("a request failed: %s", weft_wc_status_str(wc[i].status));
		if (wc[i].opcode < WEFT_WC_RECV)
			n->way[wc[i].wr_id]--;
		else if (take(n, &wc[i]))
			return -1;
	}
	if (count) {
		*since = 0;
		return count < 0 ? fail("polling: %s", strerror(-count)) : 0;
	}
	if (++*turns % QPS_LOOK_TURNS)
		return 0;
	now = clock_now_ns();
	*since = *since ? *since : now;
	return (double)(now - *since) > n->c->o->timeout_s * 1e9 ? fail("nothing came any more")
								 : 0;
}

/* The slots hold this block's messages, and all of the previous block's are complete. */
static int prepare(struct conns *n, size_t bytes, uint64_t seq)
{
	uint64_t since = 0;
	uint32_t turns = 0;

	for (uint32_t q = 0; q < QPS_MAX; q++)
		while (n->way[q])
			if (reap(n, &since, &turns))
				return -1;
	crew_barrier(n->c);
	n->bytes = bytes;
	n->seq = seq;
	n->received = n->sent = 0;
	for (uint32_t q = 0; q < n->num; q++) {
		n->came[q] = 0;
		for (uint32_t i = 0; i < QPS_DEPTH; i++)
			pattern_fill(slot(n, q, i), bytes, seq + q, 1);
	}
	crew_barrier(n->c);
	return 0;
}

/* us of half a round trip over all, divided by their number. */
static int latency_block(struct conns *n, uint32_t reps, double *us)
{
	uint64_t start = clock_now_ns(), since = 0;
	bool first = n->c->rank == 0;
	uint32_t turns = 0, i, q;

	for (i = 0; i < reps; i++) {
		for (q = 0; first && q < n->num; q++)
			if (post_send(n, q, i % QPS_DEPTH))
				return -1;
		for (q = 0; q < n->num; q++) {
			while (n->came[q] == i || n->way[q] >= QPS_DEPTH)
				if (reap(n, &since, &turns))
					return -1;
			if (!first && post_send(n, q, i % QPS_DEPTH))
				return -1;
		}
	}
	*us = (double)(clock_now_ns() - start) / 2e3 / reps / n->num;
	return 0;
}

static int throughput_block(struct conns *n, uint32_t reps, double *mib_s)
{
	uint64_t start = clock_now_ns(), total = (uint64_t)reps * n->num, since = 0;
	uint32_t turns = 0, q = 0, tried;

	while (n->received < total || n->sent < total) {
		for (tried = 0; tried < n->num && n->sent < total; tried++) {
			if (n->way[q] < QPS_DEPTH) {
				if (post_send(n, q, 0))
					return -1;
				tried = 0;
			}
			q = (q + 1) % n->num;
		}
		if (reap(n, &since, &turns))
			return -1;
	}
	*mib_s = 2.0 * (double)total * (double)n->bytes / (1 << 20) * 1e9 /
		 (double)(clock_now_ns() - start);
	return 0;
}

int mpi3_qps(struct crew *c, void *arg)
{
	double us[CREW_BLOCKS], mib_s[CREW_BLOCKS];
	uint64_t seq = 1;
	struct conns n;

	(void)arg;
	if (conns_open(&n, c))
		return -1;
	for (size_t bytes = 64; bytes <= QPS_MAX_BYTES && bytes <= c->o->size; bytes *= 4)
		for (n.num = 1; n.num <= QPS_MAX; n.num *= 2) {
			uint32_t reps = mpi3_reps(c->o, bytes * n.num);
			json_t *row;

			for (int b = -1; b < CREW_BLOCKS; b++, seq += 2 * QPS_MAX) {
				int at = b < 0 ? 0 : b;

				if (prepare(&n, bytes, seq) || latency_block(&n, reps, &us[at]) ||
				    prepare(&n, bytes, seq + QPS_MAX) ||
				    throughput_block(&n, reps, &mib_s[at]))
					return -1;
			}
			if (c->rank)
				continue;
			row = json_pack("{s:s, s:i, s:I}", "part", "qps", "qps", (int)n.num,
					"bytes", (json_int_t)bytes);
			crew_figure(row, "normalized_us", us);
			crew_figure(row, "bothway_mib_s", mib_s);
			if (crew_row(c, row))
				return -1;
		}
	crew_barrier(c);
	end_close(&n.end);
	end_mem_free(&n.mem);
	return 0;
}
