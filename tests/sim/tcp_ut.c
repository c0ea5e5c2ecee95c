/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP between two NICs: streams both ways arrive once and in order under all faults, every
 * connection ends, nothing is left.
 */
#include "tests/sim/tcp_fix.h"

#define SECOND (1000 * FIX_MS)

enum {
	KIB = 1 << 10,
	MIB = 1 << 20,
	PORTS = 16,
};

/* A stream each way, closed by both; every byte is accounted for. */
static void exchange(struct tcp_world *w, uint64_t ab, uint64_t ba, uint64_t limit_ns)
{
	struct tcp_side *a, *b;

	tcp_world_listen(w, 1, TCP_FIX_PORT, 4);
	w->accept.want_tx = ba;
	w->accept.close_on_fin = true;
	a = tcp_world_connect(w, 0, 1, 1000, ab, true);
	FIX_CHECK(w, tcp_world_ended(w, limit_ns));
	b = tcp_world_accepted(w, 0);
	FIX_REQUIRE(w, b != NULL);
	FIX_CHECK(w, a->opened == 1 && a->received == ba && a->acked == ab);
	FIX_CHECK(w, b->received == ab && b->acked == ba);
	FIX_CHECK(w, a->ended == 1 && a->why == TCP_END_CLOSED && a->peer_closed == 1);
	FIX_CHECK(w, b->ended == 1 && b->why == TCP_END_CLOSED && b->peer_closed == 1);
}

static void quiet(void)
{
	struct tcp_world w;

	tcp_world_open(&w, 1, NULL, NULL);
	exchange(&w, 3 * MIB, MIB, 10 * SECOND);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_retransmits") == 0);
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_tx_retransmits") == 0);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_timeouts") == 0);
	tcp_world_close(&w);
}

static void faults(const char *list, const char *counter, uint32_t seeds)
{
	struct tcp_world w;
	uint64_t seed, n = 0;

	for (seed = 1; seed <= seeds; seed++) {
		tcp_world_open(&w, seed, NULL, list);
		w.accept.record_bytes = 700;
		exchange(&w, MIB, 300 * KIB, 300 * SECOND);
		n += tcp_stat(&w, 0, counter) + tcp_stat(&w, 1, counter);
		tcp_world_close(&w);
	}
	CU_ASSERT(n > 0);
}

static void loss(void)
{
	faults("loss=2", "tcp_recoveries", 6);
}

static void bursts(void)
{
	faults("burst=1", "tcp_tx_retransmits", 6);
}

static void duplicates(void)
{
	faults("dup=5", "tcp_rx_duplicates", 4);
}

static void reordering(void)
{
	faults("reorder=5", "tcp_rx_out_of_order", 4);
}

static void corruption(void)
{
	faults("corrupt=2", "drop_tcp_checksum", 4);
}

static void everything(void)
{
	faults("loss,burst,dup,reorder,corrupt,ecn,jitter,clog,pause,jump,oneway,partition",
	       "tcp_tx_retransmits", 12);
}

UT_MAIN("sim/tcp", UT(quiet), UT(loss), UT(bursts), UT(duplicates), UT(reordering), UT(corruption),
	UT(everything))
