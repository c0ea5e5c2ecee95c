/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP and a peer whose bytes come early, with gaps between them: whose share the memory is in that
 * is kept for them. nic_fw/tcp/tcp_ooo.c; docs/security.md "Exhaustion by a neighbour".
 */
#include "tests/sim/tcp_forge.h"

/* One station leaves chunks to others. */
static void early_shared_by_stations(void)
{
	struct tcp_flow *flow;
	uint32_t i, max, held;
	struct fw_nic *fw;
	struct bad t;

	bad_open(&t);
	t.w.forged = true;
	fw = tcp_fw(&t.w, 0);
	flow = t.a->flow;
	max = fw->tcp.chunks.max;
	fw->tcp.chunks.max = 30;
	for (i = 0; i < 40; i++)
		forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
					  .seq = flow->rcv_nxt + 2 + 2 * i,
					  .ack = flow->snd_nxt,
					  .window = 1000,
					  .bytes = 1});
	held = fw->tcp.chunks.used;
	CU_ASSERT(held > 15 && held <= 20);
	/* The next byte is another station's. */
	flow->station ^= 1;
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt + 100,
				  .ack = flow->snd_nxt,
				  .window = 1000,
				  .bytes = 1});
	CU_ASSERT_EQUAL(fw->tcp.chunks.used, held + 1);
	fw->tcp.chunks.max = max;
	tcp_world_close(&t.w);
}

UT_MAIN("sim/tcp_early", UT(early_shared_by_stations))
