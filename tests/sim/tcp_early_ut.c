/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP and a peer whose bytes come early, with gaps between them: memory that is kept for them,
 * whose share it is in, and the cost of a further one. Instructions are counted; nothing is timed.
 * nic_fw/tcp/tcp_ooo.c; docs/security.md "Exhaustion by a neighbour".
 */
#include "tests/sim/tcp_forge.h"
#include "tests/steps.h"

static struct bad *stepped;

/* A byte that comes so many bytes before its turn. */
static struct forged early_byte(const struct tcp_flow *flow, uint32_t ahead)
{
	return (struct forged){.flags = WIRE_TCP_ACK,
			       .seq = flow->rcv_nxt + ahead,
			       .ack = flow->snd_nxt,
			       .window = 1000,
			       .bytes = 1};
}

/* Sends so many of them, with a byte or more between two. */
static void early_bytes(struct bad *t, uint32_t count, uint32_t first, uint32_t distance,
			uint32_t *most)
{
	const struct tcp_flow *flow = t->a->flow;

	for (uint32_t i = 0; i < count; i++) {
		struct forged f = early_byte(flow, first + distance * i);

		forge_inject(t->w.nic[0], flow, 0, &f);
		if (i % 30 == 29)
			sim_run_for(t->w.sim, FIX_MS / 10);
		*most = tcp_max(*most, flow->early_chunks);
	}
	sim_run_for(t->w.sim, FIX_MS);
}

/* A byte between the first two that were sent early. */
static void one_more(void)
{
	const struct tcp_flow *flow = stepped->a->flow;
	struct forged f = early_byte(flow, 3);

	forge_inject(stepped->w.nic[0], flow, 0, &f);
	sim_run_for(stepped->w.sim, FIX_MS / 100);
}

/* Instructions for such a byte behind so many others, each with a gap before it. */
static uint64_t steps_behind(uint32_t others)
{
	struct bad t;
	uint32_t most = 0;
	uint64_t steps;

	bad_open(&t);
	t.w.forged = true;
	early_bytes(&t, others, 1, 4, &most);
	stepped = &t;
	steps = steps_of(one_more);
	tcp_world_close(&t.w);
	return steps;
}

/* A segment that comes early costs the same, whatever came early before it. */
static void early_bytes_are_not_walked_over(void)
{
	uint64_t few = steps_behind(4), many = steps_behind(1000);

	CU_ASSERT(many <= few + few / 2);
	printf("%llu instructions behind 4, %llu behind 1,000 ", (unsigned long long)few,
	       (unsigned long long)many);
}

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
		forge(&t, early_byte(flow, 2 + 2 * i));
	held = fw->tcp.chunks.used;
	CU_ASSERT(held > 15 && held <= 20);
	/* The next byte is another station's. */
	flow->station ^= 1;
	forge(&t, early_byte(flow, 100));
	CU_ASSERT_EQUAL(fw->tcp.chunks.used, held + 1);
	fw->tcp.chunks.max = max;
	tcp_world_close(&t.w);
}

/*
 * Bytes with gaps between them, without end: a bounded number of chunks is kept; the real bytes
 * still arrive.
 */
static void early_flood(void)
{
	uint32_t early = 0;
	struct bad t;

	bad_open(&t);
	t.w.forged = true;
	early_bytes(&t, 3000, 2, 2, &early);
	FIX_CHECK(&t.w, early == TCP_RANGES);
	FIX_CHECK(&t.w, tcp_stat(&t.w, 0, "tcp_early_full") > 0);
	tcp_world_close(&t.w);
}

/* A segment in its turn covers early bytes: their memory is free, and bytes behind it are kept. */
static void covered(void)
{
	struct tcp_flow *flow;
	struct fw_nic *fw;
	struct bad t;

	bad_open(&t);
	t.w.forged = true;
	fw = tcp_fw(&t.w, 0);
	flow = t.a->flow;
	forge(&t, early_byte(flow, 2));
	CU_ASSERT_EQUAL(fw->tcp.chunks.used, 1);
	forge(&t, (struct forged){.flags = WIRE_TCP_ACK,
				  .seq = flow->rcv_nxt,
				  .ack = flow->snd_nxt,
				  .window = 1000,
				  .bytes = 10});
	CU_ASSERT_EQUAL(fw->tcp.chunks.used, 0);
	CU_ASSERT_EQUAL(flow->num_ranges, 0);
	forge(&t, early_byte(flow, 5));
	CU_ASSERT_EQUAL(fw->tcp.chunks.used, 1);
	CU_ASSERT_EQUAL(flow->num_ranges, 1);
	tcp_world_close(&t.w);
}

UT_MAIN("sim/tcp_early", UT(early_bytes_are_not_walked_over), UT(early_shared_by_stations),
	UT(early_flood), UT(covered))
