/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream with credits; see stream.h. Calls ep_io.c.
 */
#include "tools/weft-bench/stream.h"

#include "lib/clock.h"
#include "tools/weft-bench/pattern.h"

enum {
	STREAM_RESUME_NS = 20000000, /* UD: messages that did not arrive by then count as lost */
	STREAM_COMPLAINTS = 5,
	STREAM_AWAY = 64, /* windows from a message to another that may overwrite it */
	STREAM_LOOKS = 4,
	STREAM_SECOND_NS = 1000000000,
	STREAM_LATE_NS = 20000,  /* --pace: a sender that was away for longer has lost its turns */
	STREAM_CLOCK_TURNS = 32, /* turns of the sender between reads of the clock */
};

int stream_start(struct ep *ep)
{
	uint32_t slot;

	for (slot = 0; slot < ep->o->window; slot++)
		if (ep_queue_recv(ep, slot))
			return -1;
	return ep_flush(ep);
}

/* Puts one message into its slot and the batch. */
static int send_one(struct stream_tx *tx)
{
	const struct opts *o = tx->ep->o;
	uint8_t *buf = ep_tx(tx->ep, (uint32_t)(tx->seq % o->window));
	int64_t bytes = o->size;

	if (tx->fill)
		bytes = tx->fill(tx->arg, buf, tx->seq);
	else if (tx->seq < o->window)
		pattern_fill(buf, o->size, tx->seq, o->window);
	else
		pattern_refill(buf, o->size, tx->seq, o->window);
	if (bytes < 0)
		return -1;
	return ep_queue(tx->ep, tx->seq++, (uint32_t)bytes);
}

/* The sender's pace allows one more message. One that was late does not hurry the others. */
static bool is_due(struct stream_tx *tx)
{
	uint64_t gap_ns, now_ns;

	if (!tx->ep->o->pace)
		return true;
	gap_ns = STREAM_SECOND_NS / tx->ep->o->pace;
	now_ns = clock_now_ns();
	if (now_ns < tx->due_ns)
		return false;
	tx->due_ns = (now_ns - tx->due_ns < STREAM_LATE_NS ? tx->due_ns : now_ns) + gap_ns;
	return true;
}

int stream_send(struct stream_tx *tx)
{
	struct ep *ep = tx->ep;
	const uint32_t window = ep->o->window;
	struct ep_msg msg;
	int n, sent = 0;

	if (tx->end_ns && tx->total > tx->seq && tx->turns++ % STREAM_CLOCK_TURNS == 0 &&
	    clock_now_ns() >= tx->end_ns)
		tx->total = tx->seq;
	while (sent < EP_BATCH && tx->seq < tx->total && tx->seq - tx->credit < window &&
	       tx->seq - ep->done < window && is_due(tx)) {
		if (send_one(tx))
			return -1;
		sent++;
	}
	n = ep_flush(ep);
	if (!n)
		n = ep_poll(ep);
	if (n < 0)
		return -1;
	while (ep_next(ep, &msg)) {
		if (msg.bytes != 8 || msg.seq > tx->seq)
			return fail("a credit of %u bytes for message %llu of %llu", msg.bytes,
				    (unsigned long long)msg.seq, (unsigned long long)tx->seq);
		tx->resumes = 0;
		if (msg.seq > tx->credit)
			tx->credit = msg.seq;
		if (ep_queue_recv(ep, msg.slot))
			return -1;
	}
	return sent + n;
}

void stream_send_idle(struct stream_tx *tx, uint64_t waited_ns)
{
	const struct opts *o = tx->ep->o;

	if (o->qp != WEFT_QPT_UD || tx->seq - tx->credit < o->window || tx->resumes == EP_RESUMES ||
	    waited_ns < (uint64_t)STREAM_RESUME_NS << tx->resumes)
		return;
	/* As few as have a credit for answer: a receiver that was stopped finds all of them. */
	tx->credit = tx->seq - o->window + ep_credit_step(o);
	tx->resumes++;
}

bool stream_sent(const struct stream_tx *tx)
{
	return tx->seq == tx->total && tx->ep->done == tx->ep->posted;
}

/* Returns true if the place of message seq holds bytes of it and of one other of this place. */
static bool holds_other(struct stream_rx *rx, const uint8_t *data, uint64_t seq)
{
	const struct opts *o = rx->ep->o;
	const uint64_t window = o->window;

	for (uint64_t away = window; away <= STREAM_AWAY * window; away += window) {
		if (pattern_check_two(data, o->size, seq, seq + away, o->window) == o->size)
			return true;
		if (seq < away || rx->num_doubts == STREAM_DOUBTS ||
		    pattern_check_two(data, o->size, seq, seq - away, o->window) != o->size)
			continue;
		rx->doubt[rx->num_doubts++] = (struct stream_doubt){seq - away, seq};
		return true;
	}
	return false;
}

/*
 * A Write-Record's place may hold another message, in whole or in part, by the time of the check: a
 * later one of the same place, which the sender sent when it had waited long, or an earlier one,
 * which the wire delivered late or twice. The latter is also what the place of a message that was
 * never written looks like, so it must be reported after that. While the place is being written,
 * it may change between two looks: the next one finds it whole.
 */
static bool overwritten(struct stream_rx *rx, const uint8_t *data, uint64_t seq)
{
	if (ep_takes_receives(rx->ep->o))
		return false;
	for (int look = 0; look < STREAM_LOOKS; look++) {
		if (holds_other(rx, data, seq))
			return true;
	}
	return false;
}

/*
 * A message is reported: what it had overwritten is no error. A report of a Write-Record names the
 * place alone, and the number is read there: where a later message is in it by then, the report
 * looks like one more of that.
 */
static void resolve_doubts(struct stream_rx *rx, uint64_t seq)
{
	const uint32_t window = rx->ep->o->window;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rx->num_doubts; i++) {
		struct stream_doubt doubt = rx->doubt[i];
		bool here = doubt.found % window == seq % window;

		if (here && seq <= doubt.latest)
			continue;
		if (here)
			doubt.latest = seq;
		rx->doubt[kept++] = doubt;
	}
	rx->num_doubts = kept;
}

/* Counts one message and checks its bytes. */
static int recv_one(struct stream_rx *rx, const struct ep_msg *msg)
{
	const struct opts *o = rx->ep->o;
	uint8_t *data = ep_rx(rx->ep, msg->slot);
	struct flow *f = &rx->flow;
	uint64_t seq = msg->seq;
	size_t at;

	if (o->qp == WEFT_QPT_UD) {
		/* A number far off means a wrong message, not a million lost ones. */
		if (seq >= rx->next && seq - rx->next < INT32_MAX) {
			f->lost += seq - rx->next;
			rx->next = seq + 1;
		} else if (f->lost && rx->next > seq) {
			f->lost--;
		}
	} else {
		seq = rx->next++;
	}
	if (f->received++ >= rx->warmup) {
		f->messages++;
		f->bytes += msg->bytes;
	}
	if (rx->take)
		return rx->take(rx->arg, data, msg->bytes, seq);
	resolve_doubts(rx, seq);
	at = msg->bytes == o->size ? pattern_check(data, o->size, seq, o->window) : 0;
	if (at != o->size && msg->bytes == o->size && overwritten(rx, data, seq))
		at = o->size;
	if (at != o->size && f->errors++ < STREAM_COMPLAINTS)
		fail("message %llu of %u bytes is wrong at byte %zu", (unsigned long long)seq,
		     msg->bytes, at);
	/* A Write-Record that the wire duplicates is reported again, for the same place. */
	if (o->qp != WEFT_QPT_UD || o->op != BENCH_WRITE)
		pattern_wipe(data, o->size);
	return 0;
}

int stream_recv(struct stream_rx *rx)
{
	struct ep *ep = rx->ep;
	const uint32_t step = ep_credit_step(ep->o);
	struct ep_msg msg;
	int n = ep_poll(ep), took = 0;

	if (n < 0)
		return -1;
	while (ep_next(ep, &msg)) {
		if (recv_one(rx, &msg))
			return -1;
		if (ep_takes_receives(ep->o) && ep_queue_recv(ep, msg.slot))
			return -1;
		took++;
	}
	if (took) {
		rx->untimed = true;
		/* The time starts with the last uncounted message. */
		if (!rx->first_ns && rx->flow.received >= rx->warmup) {
			rx->first_ns = clock_now_ns();
			rx->flow.messages = 0;
			rx->flow.bytes = 0;
		}
	}
	if (rx->next - rx->credit >= step && ep->extra < EP_BATCH / 2) {
		if (ep_queue_credit(ep, rx->next))
			return -1;
		rx->credit = rx->next;
	}
	return ep_flush(ep) ? -1 : n;
}

void stream_recv_idle(struct stream_rx *rx)
{
	if (rx->untimed)
		rx->last_ns = clock_now_ns();
	rx->untimed = false;
}

void stream_account(struct stream_rx *rx)
{
	stream_recv_idle(rx);
	for (; rx->num_doubts; rx->num_doubts--, rx->flow.errors++)
		fail("message %llu was found in a later one's place and not reported again",
		     (unsigned long long)rx->doubt[rx->num_doubts - 1].found);
	if (rx->last_ns < rx->first_ns)
		return;
	rx->flow.seconds = (double)(rx->last_ns - rx->first_ns) * 1e-9;
}
