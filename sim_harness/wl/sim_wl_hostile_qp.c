/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload hostile: queue pairs of processes that misuse connections, in any state.
 *
 * A request is identified by the generation of its queue pair, its queue and its number. Each ends
 * once, in the order of its queue, until the queue pair is reset or destroyed. Each Send carries
 * who sent it and its serial number, in a form that chance does not make, and a pattern of both:
 * a receive gets a message that a process sent, whole, once, on the connection of which the
 * receiving queue pair is an end. A forger on the network may alter what is on its way, but does
 * not invent a sender. Calls libweft.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared_defs/wire_dgram.h"
#include "sim_harness/wl/sim_wl_hostile.h"

bool rogue_qp_new(struct rogue *r, uint32_t at)
{
	struct weft_qp_init_attr init = {.type = WEFT_QPT_RC,
					 .send_cq = r->end.cq,
					 .recv_cq = r->end.cq,
					 .cap = {.max_send_wr = ROGUE_DEPTH,
						 .max_recv_wr = ROGUE_DEPTH,
						 .max_send_sge = 1,
						 .max_recv_sge = 1}};
	struct rogue_qp *q = &r->qp[at];

	if (q->qp)
		return true;
	rogue_qp_forget(q);
	memset(q->posted, 0, sizeof(q->posted));
	memset(q->ended, 0, sizeof(q->ended));
	q->qp = weft_create_qp(r->end.pd, &init);
	if (!q->qp)
		sim_run_fail(r->run, "call: weft%u: no QP: %s", r->index, strerror(errno));
	return q->qp != NULL;
}

void rogue_qp_forget(struct rogue_qp *q)
{
	q->life++;
	memcpy(q->ended, q->posted, sizeof(q->ended));
	q->tag_tx = q->tag_rx = 0;
	q->tcp = false;
}

void rogue_qp_gone(struct rogue *r, uint32_t at)
{
	struct rogue_qp *q = &r->qp[at];
	int rc = q->qp ? weft_destroy_qp(q->qp) : 0;

	if (rc)
		sim_run_fail(r->run, "call: weft%u: destroying a QP: %s", r->index, strerror(-rc));
	q->qp = NULL;
	rogue_qp_forget(q);
}

void rogue_qp_state(struct rogue *r, uint32_t at, enum weft_qp_state state)
{
	struct weft_qp_attr attr = {.state = state};

	if (!r->qp[at].qp)
		return;
	(void)!weft_modify_qp(r->qp[at].qp, &attr, WEFT_QP_STATE);
	if (state == WEFT_QPS_RESET)
		rogue_qp_forget(&r->qp[at]);
}

static uint64_t wr_id(struct rogue *r, uint32_t at, uint32_t recv)
{
	struct rogue_qp *q = &r->qp[at];

	return (uint64_t)q->life << 32 | (uint64_t)q->posted[recv] << 8 | recv << 7 | at;
}

/* ---- content ----------------------------------------------------------------------------------
 */

enum {
	STAMP_SERIAL_BITS = 32,
	STAMP_SENDER_BITS = 8,
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* The first word of a message: sender and serial number below 24 bits that follow from them. */
static uint64_t stamp_of(uint32_t sender, uint32_t serial)
{
	uint64_t id = (uint64_t)sender << STAMP_SERIAL_BITS | serial;

	return id | mix(id + 1) >> 40 << (STAMP_SERIAL_BITS + STAMP_SENDER_BITS);
}

/* Word i of a message. */
static uint64_t word_of(uint64_t stamp, uint32_t i)
{
	return i ? mix(stamp + i) : stamp;
}

static void fill(struct rogue *r, uint8_t *to, uint32_t bytes)
{
	uint64_t stamp = stamp_of(r->index, r->msgs), word;
	uint32_t i;

	for (i = 0; i < bytes; i += sizeof(word)) {
		word = word_of(stamp, i / (uint32_t)sizeof(word));
		memcpy(to + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
	}
}

static void note_sent(struct rogue *r, uint32_t bytes, uint16_t tag)
{
	if (r->msgs == r->msgs_room) {
		r->msgs_room = r->msgs_room ? 2 * r->msgs_room : 256;
		r->msg = realloc(r->msg, r->msgs_room * sizeof(*r->msg));
		assert(r->msg);
	}
	r->msg[r->msgs++] = (struct rogue_msg){.bytes = bytes, .tag = tag};
}

/* True if a forger has been at work, so that bytes may be others than were sent. */
static bool is_forged(const struct rogue *r)
{
	uint64_t forged = 0;
	uint32_t i;

	for (i = 0; i < r->others->num; i++)
		forged += sim_nic_counts(sim_nic_at(r->run->sim, i))->forged;
	return forged;
}

/* Returns why no process can have sent these bytes to q; NULL: one has. */
static const char *unsent(struct rogue *r, const struct rogue_qp *q, const uint8_t *data,
			  uint32_t bytes)
{
	uint64_t stamp, word;
	uint32_t sender, serial, i;
	struct rogue_msg *msg;

	memcpy(&stamp, data, sizeof(stamp));
	serial = (uint32_t)stamp;
	sender = stamp >> STAMP_SERIAL_BITS & ((1u << STAMP_SENDER_BITS) - 1);
	if (stamp != stamp_of(sender, serial))
		return is_forged(r) ? NULL : "bytes of no sender";
	if (sender >= r->others->num || serial >= r->others->all[sender].msgs)
		return "a message that was not sent";
	if (is_forged(r))
		return NULL;
	msg = &r->others->all[sender].msg[serial];
	if (msg->received || msg->bytes != bytes)
		return msg->received ? "a message for the second time" : "a part of a message";
	if (msg->tag != (q->tcp ? 0 : q->tag_rx))
		return "a message of another connection";
	msg->received = true;
	for (i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
		memcpy(&word, data + i, sizeof(word));
		if (word != word_of(stamp, i / (uint32_t)sizeof(word)))
			return "bytes of several messages";
	}
	return NULL;
}

static void check_content(struct rogue *r, const struct rogue_qp *q, size_t offset, uint32_t bytes)
{
	const char *why = NULL;

	if (bytes >= sizeof(uint64_t))
		why = unsent(r, q, (const uint8_t *)r->end.buf + offset, bytes);
	if (why)
		sim_run_fail(r->run, "content: weft%u: a receive of %u bytes got %s", r->index,
			     bytes, why);
	else
		r->run->bytes += bytes;
}

/* ---- posting ----------------------------------------------------------------------------------
 */

/* The place of the next request of a queue. */
static size_t place_of(struct rogue *r, uint32_t at, uint32_t recv)
{
	uint32_t number = at * ROGUE_DEPTH + r->qp[at].posted[recv] % ROGUE_DEPTH;

	return (size_t)(recv ? ROGUE_RECVS_AT : ROGUE_SENDS_AT) + (size_t)number * ROGUE_MSG_BYTES +
	       8u * rogue_below(r, ROGUE_SLOTS);
}

void rogue_post_recv(struct rogue *r, uint32_t at)
{
	size_t offset = place_of(r, at, 1);
	struct weft_sge sge = sim_end_sge(&r->end, offset, ROGUE_SLOT_BYTES);
	const struct weft_recv_wr wr = {.wr_id = wr_id(r, at, 1), .sg_list = &sge, .num_sge = 1};

	if (r->qp[at].qp && !weft_post_recv(r->qp[at].qp, &wr, NULL))
		r->qp[at].recv_at[r->qp[at].posted[1]++ % ROGUE_DEPTH] = offset;
}

static bool is_send(const struct weft_send_wr *wr)
{
	return wr->opcode == WEFT_WR_SEND || wr->opcode == WEFT_WR_SEND_IMM;
}

/* Gives a Send a place and a content of its own; false: the queue is full. */
static bool fill_send(struct rogue *r, uint32_t at, size_t offset, struct weft_sge *sge)
{
	if (r->qp[at].posted[0] - r->qp[at].ended[0] == ROGUE_DEPTH)
		return false;
	*sge = sim_end_sge(&r->end, offset, sge->bytes);
	fill(r, (uint8_t *)r->end.buf + offset, sge->bytes);
	return true;
}

/* Posts a request, sometimes beyond the peer's window or with an invalid key. */
void rogue_post_send(struct rogue *r, uint32_t at)
{
	static const enum weft_wr_opcode opcodes[] = {
	    WEFT_WR_SEND, WEFT_WR_WRITE,     WEFT_WR_READ,      WEFT_WR_SEND,     WEFT_WR_WRITE,
	    WEFT_WR_READ, WEFT_WR_WRITE_IMM, WEFT_WR_FETCH_ADD, WEFT_WR_CMP_SWAP,
	};
	const struct rogue *to = &r->others->all[r->qp[at].peer];
	uint32_t bytes = rogue_below(r, ROGUE_SLOT_BYTES);
	size_t offset = place_of(r, at, 0);
	struct weft_sge sge =
	    sim_end_sge(&r->end, offset / 8 % ROGUE_SLOTS * ROGUE_SLOT_BYTES, bytes);
	struct weft_send_wr wr = {.wr_id = wr_id(r, at, 0),
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode =
				      opcodes[rogue_below(r, sizeof(opcodes) / sizeof(opcodes[0]))],
				  .flags = WEFT_SEND_SIGNALED,
				  .rkey = to->window_rkey};

	/* An opcode that this transport may not support. */
	if (!rogue_below(r, 64))
		wr.opcode = WEFT_WR_SEND_IMM;
	if (wr.opcode == WEFT_WR_FETCH_ADD || wr.opcode == WEFT_WR_CMP_SWAP)
		sge.bytes = 8;
	wr.remote_addr = to->window_addr + (rogue_below(r, ROGUE_WINDOW_BYTES - sge.bytes) & ~7u);
	if (!rogue_below(r, 64))
		wr.remote_addr += sim_prng_range(&r->prng, 1, ROGUE_WINDOW_BYTES);
	if (!rogue_below(r, 64))
		wr.rkey ^= 1u << rogue_below(r, 32);
	if (!r->qp[at].qp || (is_send(&wr) && !fill_send(r, at, offset, &sge)))
		return;
	if (weft_post_send(r->qp[at].qp, &wr, NULL))
		return;
	r->qp[at].posted[0]++;
	if (is_send(&wr))
		note_sent(r, sge.bytes, r->qp[at].tcp ? 0 : r->qp[at].tag_tx);
}

/* Checks that each request ends once, in the order of its queue. */
static void ended(struct rogue *r, const struct weft_wc *wc)
{
	uint32_t at = wc->wr_id & 0x7f, recv = wc->wr_id >> 7 & 1;
	uint32_t number = wc->wr_id >> 8 & 0xffffff;
	struct rogue_qp *q = &r->qp[at];

	if (at >= ROGUE_QPS || (uint32_t)(wc->wr_id >> 32) > q->life) {
		sim_run_fail(r->run, "completion: weft%u: of %" PRIx64 ", which was not posted",
			     r->index, wc->wr_id);
		return;
	}
	if ((uint32_t)(wc->wr_id >> 32) < q->life)
		return;
	if (number != q->ended[recv] || number >= q->posted[recv])
		sim_run_fail(r->run, "order: weft%u: %s %u of a QP ended (%s), %u of %u was due",
			     r->index, recv ? "receive" : "request", number,
			     weft_wc_status_str(wc->status), q->ended[recv], q->posted[recv]);
	else if (recv && wc->status == WEFT_WC_SUCCESS && wc->opcode == WEFT_WC_RECV &&
		 wc->bytes > ROGUE_SLOT_BYTES)
		sim_run_fail(r->run, "completion: weft%u: %u bytes came into %d", r->index,
			     wc->bytes, ROGUE_SLOT_BYTES);
	else if (recv && wc->status == WEFT_WC_SUCCESS && wc->opcode == WEFT_WC_RECV)
		check_content(r, q, q->recv_at[number % ROGUE_DEPTH], wc->bytes);
	q->ended[recv]++;
	if (recv && wc->status == WEFT_WC_SUCCESS)
		r->run->received++;
}

void rogue_poll(struct rogue *r)
{
	struct weft_wc wc[16];
	int n, i;

	do {
		n = weft_poll_cq(r->end.cq, 16, wc);
		for (i = 0; i < n; i++)
			ended(r, &wc[i]);
	} while (n == 16);
}

/* PSNs have 24 bits; higher ones of what a peer names are ignored. */
static uint16_t tag_of(uint32_t psn)
{
	return wire_dgram_incarnation(psn & 0xffffff);
}

void rogue_qp_ready(struct rogue *r, uint32_t at, const struct hw_resp_cm_event *ev)
{
	bool tcp = ev->transport == HW_CM_TRANSPORT_TCP;
	struct rogue_qp *q = &r->qp[at];
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT,
				    .port = 1,
				    .transport = WEFT_QP_TRANSPORT_TCP,
				    .access = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
					      WEFT_ACCESS_REMOTE_ATOMIC};
	int rtr = WEFT_QP_STATE | WEFT_QP_MAX_DEST_RD_ATOMIC;
	int rts = WEFT_QP_STATE | WEFT_QP_MAX_QP_RD_ATOMIC;
	uint32_t n;

	if (!rogue_qp_new(r, at))
		return;
	for (n = 0; n < r->others->num; n++) {
		if (sim_nic_ip(sim_nic_at(r->run->sim, n)) == ev->peer_ip)
			q->peer = n;
	}
	if (!weft_modify_qp(q->qp, &attr,
			    WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
				WEFT_QP_ACCESS_FLAGS | (tcp ? WEFT_QP_TRANSPORT : 0)))
		q->tcp |= tcp;
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR,
				     .path_mtu_bytes = 1024,
				     .dst_qpn = ev->param.qpn,
				     .rq_psn = ev->param.psn,
				     .max_dest_rd_atomic = 4,
				     .min_rnr_timer = 4};
	attr.av = weft_av_ip(ev->peer_ip);
	if (!tcp)
		rtr |= WEFT_QP_AV | WEFT_QP_PATH_MTU | WEFT_QP_DEST_QPN | WEFT_QP_RQ_PSN |
		       WEFT_QP_MIN_RNR_TIMER;
	if (!weft_modify_qp(q->qp, &attr, rtr) && !tcp)
		q->tag_rx = tag_of(attr.rq_psn);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS,
				     .timeout = 10,
				     .retry_cnt = 5,
				     .rnr_retry = 5,
				     .sq_psn = ev->local_psn,
				     .max_rd_atomic = 4};
	if (!tcp)
		rts |= WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT | WEFT_QP_RNR_RETRY | WEFT_QP_SQ_PSN;
	if (!weft_modify_qp(q->qp, &attr, rts) && !tcp)
		q->tag_tx = tag_of(attr.sq_psn);
	n = rogue_below(r, 2);
	for (n = ROGUE_DEPTH - n * rogue_below(r, ROGUE_DEPTH); n; n--)
		rogue_post_recv(r, at);
}
