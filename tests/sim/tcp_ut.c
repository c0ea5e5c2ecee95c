/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP between two NICs: streams both ways come once and in order, everything ends, nothing is left.
 */
#include "tests/sim/tcp_fix.h"

#define SECOND (1000 * FIX_MS)

enum {
	MIB = 1 << 20,
};

/* Both ends send, both close; nothing is lost. */
static void quiet(void)
{
	struct tcp_world w;
	struct tcp_side *a, *b;

	tcp_world_open(&w, 1, NULL, NULL);
	tcp_world_listen(&w, 1, TCP_FIX_PORT, 4);
	w.accept = (struct tcp_side){.want_tx = MIB, .close_on_fin = true};
	a = tcp_world_connect(&w, 0, 1, 1000, 3 * MIB, true);
	FIX_CHECK(&w, tcp_world_ended(&w, 10 * SECOND));
	b = tcp_world_accepted(&w, 0);
	FIX_REQUIRE(&w, b != NULL);
	FIX_CHECK(&w, a->opened == 1 && a->received == MIB && a->acked == 3 * MIB);
	FIX_CHECK(&w, b->received == 3 * MIB && b->acked == MIB);
	FIX_CHECK(&w, a->ended == 1 && a->why == TCP_END_CLOSED && a->peer_closed == 1);
	FIX_CHECK(&w, b->ended == 1 && b->why == TCP_END_CLOSED && b->peer_closed == 1);
	FIX_CHECK(&w, tcp_stat(&w, 0, "tcp_tx_retransmits") == 0);
	FIX_CHECK(&w, tcp_stat(&w, 1, "tcp_tx_retransmits") == 0);
	tcp_world_close(&w);
}

UT_MAIN("sim/tcp", UT(quiet))
