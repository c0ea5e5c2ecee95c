/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload rc_tcp: RC over MPA/TCP, connected by the connection manager. Connections are
 * established, carry Sends, Writes and Reads both ways, and end, some during traffic.
 *
 * Each process connects to its neighbours and accepts their connections. A Send contains its number
 * and must arrive once and in order. After a Write, a Send names its location, and its bytes are
 * then checked. A Write with immediate data is its own message. A Read fetches constant bytes. An
 * atomic returns the known value of a word that has one writer. A request succeeds unless its
 * connection was ended by either side, by a death, by a forged reset, or by a frame whose
 * corruption TCP's checksum missed. The remaining requests then fail in order, and none succeeds
 * after a failure.
 *
 * One event drives the whole workload, so that blocking calls, which run the simulation, never
 * nest. sim_wl_tcp.h describes connections and their halves; sim_wl_tcp_cm.c creates and ends them,
 * sim_wl_tcp_die.c ends them and their processes abruptly. Calls libweft. RFC 5040 5 (order), RFC
 * 5044 7.
 */
#include "sim_harness/wl/sim_wl_tcp.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	STREAMS = 4,      /* kinds of request with a pattern of their own */
	EXT_PPM = 350000, /* probability of a request of RFC 7306 */
};

/* Header of a message. */
struct wt_head {
	uint32_t link, side, seq, attempt;
	uint32_t bytes;       /* of this message */
	uint32_t write_slot;  /* WT_SLOTS: announces no Write */
	uint32_t write_bytes; /* length of the data in that slot */
	uint32_t write_seq;
};

/* ---- memory of a half ------------------------------------------------------------------------ */

size_t wt_offset(const struct wt_half *half, enum wt_area area, uint32_t slot)
{
	return ((size_t)half->place * WT_HALF_SLOTS + (uint32_t)area + slot) * WT_MSG_BYTES;
}

static uint8_t *at(const struct wt_half *half, enum wt_area area, uint32_t slot)
{
	return half->actor->end.buf + wt_offset(half, area, slot);
}

size_t wt_word_offset(const struct wt_half *half)
{
	return (size_t)WT_HALVES * WT_HALF_SLOTS * WT_MSG_BYTES + half->place * WT_WORD_BYTES;
}

static struct sim_run *run_of(const struct wt_half *half)
{
	return half->actor->run;
}

/* Requests and receives of a half are numbered: they complete in that order. */
static uint64_t wr_id(struct wt_half *half, enum wt_kind kind, uint32_t slot)
{
	return (uint64_t)(half->posted[kind == WT_RECV]++ & 0xffffff) << 40 |
	       (uint64_t)(half->attempt & 0xffff) << 24 | (uint64_t)half->place << 16 |
	       (uint64_t)kind << 8 | slot;
}

/* Identifies a stream of messages for sim_pattern(). */
static uint32_t stream_of(const struct wt_half *half, enum wt_kind kind)
{
	return (half->link * 2 + half->side) * STREAMS + (uint32_t)kind;
}

/* ---- posting --------------------------------------------------------------------------------- */

int wt_post_recv(struct wt_half *half, uint32_t slot)
{
	struct weft_sge sge =
	    sim_end_sge(&half->actor->end, wt_offset(half, WT_AREA_RECV, slot), WT_MSG_BYTES);
	const struct weft_recv_wr wr = {
	    .wr_id = wr_id(half, WT_RECV, slot), .sg_list = &sge, .num_sge = 1};
	int rc = weft_post_recv(half->qp, &wr, NULL);

	half->recvs += !rc;
	half->posted[1] -= rc != 0;
	return rc;
}

static void post(struct wt_half *half, enum wt_kind kind, enum weft_wr_opcode opcode, uint32_t slot,
		 const struct weft_sge *sge, size_t remote)
{
	const struct weft_send_wr wr = {.wr_id = wr_id(half, kind, slot),
					.sg_list = sge,
					.num_sge = 1,
					.opcode = opcode,
					.flags = WEFT_SEND_SIGNALED,
					.remote_addr = half->peer_addr + remote,
					.rkey = half->peer_rkey,
					.imm = half->seq,
					.swap = half->operand,
					.compare_add = opcode == WEFT_WR_CMP_SWAP ? half->compare
										  : half->operand};
	int rc = weft_post_send(half->qp, &wr, NULL);

	if (!rc) {
		half->sends++;
		return;
	}
	half->posted[0]--;
	half->busy &= ~(1u << slot);
	if (!wt_may_break(half))
		sim_run_fail(run_of(half), "post: weft%u: a request: %s", half->actor->index,
			     strerror(-rc));
}

/* Writes a message that describes the Write in slot, if slot is valid. */
static void say(struct wt_half *half, uint32_t msg_slot, uint32_t slot, uint32_t bytes)
{
	uint8_t *to = at(half, WT_AREA_SRC, msg_slot);
	struct wt_head head = {half->link, half->side, half->seq, half->attempt,
			       0,          slot,       bytes,     half->write_seq};
	struct weft_sge sge;

	head.bytes = (uint32_t)sim_prng_range(&half->actor->prng, sizeof(head), WT_MSG_BYTES);
	memcpy(to, &head, sizeof(head));
	sim_pattern(run_of(half)->sim, stream_of(half, WT_SEND), half->attempt, half->seq,
		    to + sizeof(head), head.bytes - sizeof(head));
	sge = sim_end_sge(&half->actor->end, wt_offset(half, WT_AREA_SRC, msg_slot), head.bytes);
	half->busy |= 1u << msg_slot;
	half->seq++;
	post(half, WT_SEND, WEFT_WR_SEND, msg_slot, &sge, 0);
}

static void write_and_say(struct wt_half *half, uint32_t slot, uint32_t msg_slot)
{
	uint32_t bytes = (uint32_t)sim_prng_range(&half->actor->prng, 1, WT_MSG_BYTES);
	struct weft_sge sge;

	half->write_seq++;
	sim_pattern(run_of(half)->sim, stream_of(half, WT_WRITE), half->attempt, half->write_seq,
		    at(half, WT_AREA_SRC, slot), bytes);
	sge = sim_end_sge(&half->actor->end, wt_offset(half, WT_AREA_SRC, slot), bytes);
	half->busy |= 1u << slot;
	/* The peer has checked the slot's content; it counts only this one. */
	half->peer->sink_held |= 1u << slot;
	post(half, WT_WRITE, WEFT_WR_WRITE, slot, &sge, wt_offset(half->peer, WT_AREA_SINK, slot));
	say(half, msg_slot, slot, bytes);
}

static void read_some(struct wt_half *half, uint32_t slot)
{
	uint32_t bytes = (uint32_t)sim_prng_range(&half->actor->prng, 1, WT_MSG_BYTES);
	struct weft_sge sge =
	    sim_end_sge(&half->actor->end, wt_offset(half, WT_AREA_READ, slot), bytes);

	memset(at(half, WT_AREA_READ, slot), 0xee, WT_MSG_BYTES);
	half->busy |= 1u << slot;
	half->read_bytes[slot] = bytes;
	post(half, WT_READ, WEFT_WR_READ, slot, &sge, wt_offset(half->peer, WT_AREA_CONST, 0));
}

/* Posts a Write whose immediate data is its number; room: there is a receive for it. */
static void write_imm(struct wt_half *half, uint32_t slot)
{
	uint32_t bytes = (uint32_t)sim_prng_below(&wt_of(run_of(half))->ext_prng, WT_MSG_BYTES + 1);
	struct weft_sge sge =
	    sim_end_sge(&half->actor->end, wt_offset(half, WT_AREA_SRC, slot), bytes);

	half->imm_slot[half->seq % WT_RECVS] = slot;
	half->imm_bytes[half->seq % WT_RECVS] = bytes;
	sim_pattern(run_of(half)->sim, stream_of(half, WT_SEND), half->attempt, half->seq,
		    at(half, WT_AREA_SRC, slot), bytes);
	half->busy |= 1u << slot;
	half->peer->sink_held |= 1u << slot;
	post(half, WT_WRITE, WEFT_WR_WRITE_IMM, slot, &sge,
	     wt_offset(half->peer, WT_AREA_SINK, slot));
	half->seq++;
}

static void atomic(struct wt_half *half, uint32_t slot)
{
	struct sim_prng *prng = &wt_of(run_of(half))->ext_prng;
	struct weft_sge sge =
	    sim_end_sge(&half->actor->end, wt_offset(half, WT_AREA_READ, slot), 8);
	bool swap = sim_prng_below(prng, 2);

	half->operand = sim_prng_next(prng);
	half->compare = sim_prng_below(prng, 4) ? half->word : ~half->word;
	half->next_word = half->word + half->operand;
	if (swap)
		half->next_word = half->compare == half->word ? half->operand : half->word;
	memset(at(half, WT_AREA_READ, slot), 0xee, 16);
	half->busy |= 1u << slot;
	half->atomic = true;
	post(half, WT_ATOMIC, swap ? WEFT_WR_CMP_SWAP : WEFT_WR_FETCH_ADD, slot, &sge,
	     wt_word_offset(half->peer));
}

/* Posts a request of RFC 7306; false: neither has room. */
static bool extension(struct wt_half *half, uint32_t slot, bool room)
{
	if (!half->atomic && sim_prng_below(&wt_of(run_of(half))->ext_prng, 2))
		atomic(half, slot);
	else if (room && !(half->peer->sink_held >> slot & 1))
		write_imm(half, slot);
	else
		return false;
	return true;
}

static uint32_t free_slot(const struct wt_half *half, uint32_t taken)
{
	uint32_t slot = 0;

	while (slot < WT_SLOTS && ((half->busy | taken) >> slot & 1))
		slot++;
	return slot;
}

void wt_work(struct wt_half *half)
{
	struct wt *wt = wt_of(run_of(half));
	struct sim_prng *prng = &half->actor->prng;
	uint32_t slot = free_slot(half, 0), other;
	/* Ensures a receive for every message: without one the connection would end. */
	bool room = half->seq - half->peer->received < WT_RECVS;

	if (slot == WT_SLOTS)
		return;
	if (wt->ext && sim_prng_chance(&wt->ext_prng, EXT_PPM) && extension(half, slot, room))
		return;
	other = free_slot(half, 1u << slot);
	switch (sim_prng_below(prng, 3)) {
	case 0:
		if (room)
			say(half, slot, WT_SLOTS, 0);
		break;
	case 1:
		if (room && other < WT_SLOTS && !(half->peer->sink_held >> slot & 1))
			write_and_say(half, slot, other);
		break;
	default:
		read_some(half, slot);
	}
}

/* ---- completions ----------------------------------------------------------------------------- */

static void check_written(struct wt_half *half, const struct wt_head *head)
{
	const struct wt_half *peer = half->peer;
	struct sim_run *run = run_of(half);

	if (head->write_slot == WT_SLOTS)
		return;
	if (head->write_slot > WT_SLOTS || head->write_bytes > WT_MSG_BYTES ||
	    !sim_pattern_check(run->sim, stream_of(peer, WT_WRITE), half->attempt, head->write_seq,
			       at(half, WT_AREA_SINK, head->write_slot), head->write_bytes)) {
		sim_run_fail(run, "shadow: weft%u: a Write of %u bytes has wrong bytes",
			     half->actor->index, head->write_bytes);
		return;
	}
	half->sink_held &= ~(1u << head->write_slot);
	run->bytes += head->write_bytes;
}

static void check_message(struct wt_half *half, const uint8_t *data, uint32_t bytes)
{
	const struct wt_half *peer = half->peer;
	struct sim_run *run = run_of(half);
	struct wt_head head = {0};

	if (bytes >= sizeof(head))
		memcpy(&head, data, sizeof(head));
	if (head.link != half->link || head.side != peer->side || head.attempt != half->attempt ||
	    head.bytes != bytes || head.seq != half->received)
		sim_run_fail(run,
			     "order: weft%u: message %u of %u bytes on connection %u, where %u was "
			     "due",
			     half->actor->index, head.seq, bytes, half->link, half->received);
	else if (!sim_pattern_check(run->sim, stream_of(peer, WT_SEND), half->attempt, head.seq,
				    data + sizeof(head), bytes - sizeof(head)))
		sim_run_fail(run, "shadow: weft%u: message %u has wrong bytes", half->actor->index,
			     head.seq);
	else
		check_written(half, &head);
	half->received++;
	run->received++;
	run->bytes += bytes;
}

/* Checks a Write by its immediate data, which is the message's number. */
static void check_imm(struct wt_half *half, const struct weft_wc *wc)
{
	const struct wt_half *peer = half->peer;
	struct sim_run *run = run_of(half);
	uint32_t slot = peer->imm_slot[wc->imm % WT_RECVS];
	uint32_t bytes = peer->imm_bytes[wc->imm % WT_RECVS];

	if (wc->imm != half->received || wc->bytes != bytes)
		sim_run_fail(run,
			     "order: weft%u: Write %u of %u bytes on connection %u, where %u of %u "
			     "bytes was due",
			     half->actor->index, wc->imm, wc->bytes, half->link, half->received,
			     bytes);
	else if (!sim_pattern_check(run->sim, stream_of(peer, WT_SEND), half->attempt, wc->imm,
				    at(half, WT_AREA_SINK, slot), bytes))
		sim_run_fail(run,
			     "shadow: weft%u: a Write of %u bytes with immediate data is wrong",
			     half->actor->index, bytes);
	half->sink_held &= ~(1u << slot);
	half->received++;
	run->received++;
	run->bytes += bytes;
}

static void check_atomic(struct wt_half *half, uint32_t slot)
{
	const uint8_t *got = at(half, WT_AREA_READ, slot);
	uint64_t was;

	memcpy(&was, got, sizeof(was));
	if (was != half->word || got[sizeof(was)] != 0xee)
		sim_run_fail(run_of(half),
			     "shadow: weft%u: connection %u: an atomic returned %llx,"
			     " not %llx",
			     half->actor->index, half->link, (unsigned long long)was,
			     (unsigned long long)half->word);
	half->word = half->next_word;
	half->atomic = false;
}

static void check_read(struct wt_half *half, uint32_t slot)
{
	struct sim_run *run = run_of(half);
	const uint8_t *got = at(half, WT_AREA_READ, slot);
	uint32_t bytes = half->read_bytes[slot];

	/* Not compared with the peer's memory: its process may be gone. */
	if (!sim_pattern_check(run->sim, half->link * 2 + half->peer->side, ~0u, half->attempt, got,
			       bytes) ||
	    (bytes < WT_MSG_BYTES && got[bytes] != 0xee))
		sim_run_fail(run, "shadow: weft%u: a Read of %u bytes has wrong bytes",
			     half->actor->index, bytes);
	run->bytes += bytes;
}

static void succeeded(struct wt_half *half, enum wt_kind kind, uint32_t slot,
		      const struct weft_wc *wc)
{
	struct sim_run *run = run_of(half);

	switch (kind) {
	case WT_RECV:
		if (wc->opcode == WEFT_WC_RECV_WRITE_IMM)
			check_imm(half, wc);
		else
			check_message(half, at(half, WT_AREA_RECV, slot), wc->bytes);
		memset(at(half, WT_AREA_RECV, slot), 0xee, WT_MSG_BYTES);
		if (wt_post_recv(half, slot) && !wt_may_break(half))
			sim_run_fail(run, "post: weft%u: a receive", half->actor->index);
		break;
	case WT_SEND:
		run->done[SIM_OP_SEND]++;
		break;
	case WT_WRITE:
		run->done[SIM_OP_WRITE]++;
		break;
	case WT_READ:
		check_read(half, slot);
		run->done[SIM_OP_READ]++;
		break;
	case WT_ATOMIC:
		check_atomic(half, slot);
		run->done[SIM_OP_FETCH_ADD]++;
		break;
	case WT_KINDS:
		break;
	}
}

/*
 * Returns true for legal statuses of requests of a connection that ends. After a corrupted frame
 * any status is legal.
 */
static bool is_an_end(enum weft_wc_status status)
{
	return status == WEFT_WC_WR_FLUSH_ERR || status == WEFT_WC_RETRY_EXC_ERR;
}

/* Checks that a completion is the next of its queue and that no success follows a failure. */
static void check_order(struct wt_half *half, const struct weft_wc *wc, bool recv)
{
	uint32_t number = (uint32_t)(wc->wr_id >> 40);
	bool failed = wc->status != WEFT_WC_SUCCESS;

	if (number != (half->done[recv]++ & 0xffffff))
		sim_run_fail(run_of(half), "order: weft%u: connection %u: %s %u completed, %u due",
			     half->actor->index, half->link, recv ? "receive" : "request", number,
			     half->done[recv] - 1);
	else if (half->failed[recv] && !failed)
		sim_run_fail(run_of(half),
			     "order: weft%u: connection %u: %s %u succeeded behind one that failed",
			     half->actor->index, half->link, recv ? "receive" : "request", number);
	half->failed[recv] |= failed;
}

static void completed(struct wt_actor *actor, const struct weft_wc *wc)
{
	struct wt_half *half = actor->half[wc->wr_id >> 16 & 0xff];
	enum wt_kind kind = wc->wr_id >> 8 & 0xff;
	uint32_t slot = wc->wr_id & 0xff, attempt = wc->wr_id >> 24 & 0xffff;

	if (attempt != (half->attempt & 0xffff) || half->attempt < half->forgotten) {
		if (attempt >= half->forgotten)
			sim_run_fail(actor->run,
				     "completion: weft%u: connection %u: of attempt %u, not %u",
				     actor->index, half->link, attempt, half->attempt);
		return;
	}
	if (kind == WT_RECV) {
		half->recvs--;
	} else {
		half->sends--;
		half->busy &= ~(1u << slot);
		/* A NIC that still reads it sends wrong bytes. */
		if (kind != WT_READ && kind != WT_ATOMIC)
			memset(at(half, WT_AREA_SRC, slot), 0xdd, WT_MSG_BYTES);
	}
	check_order(half, wc, kind == WT_RECV);
	if (wc->status == WEFT_WC_SUCCESS)
		succeeded(half, kind, slot, wc);
	else if (!wt_may_break(half) || (!wt_corrupted(actor->run) && !is_an_end(wc->status)))
		sim_run_fail(actor->run, "completion: weft%u: connection %u: %s (%s)", actor->index,
			     half->link, weft_wc_status_str(wc->status),
			     weft_vendor_err_str(wc->vendor_err));
}

void wt_poll(struct wt_actor *actor)
{
	struct weft_wc wc[16];
	int n, i;

	do {
		n = weft_poll_cq(actor->end.cq, 16, wc);
		for (i = 0; i < n; i++)
			completed(actor, &wc[i]);
		wt_of(actor->run)->completions += (uint32_t)n;
	} while (n == 16);
}
