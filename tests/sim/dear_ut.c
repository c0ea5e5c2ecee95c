/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of memory that is not mapped, by verbs: a turn sends few frames that take such a copy,
 * since others wait for its end. nic_fw/base/dear.h; tests/nic_fw/net/eth_rx_ut.c has those
 * received.
 */
#include "tests/sim/sim_fix.h"

enum {
	REQUESTS = 20,
	BYTES = 40000,
	SINK = 500000,
	MTU = 9000,
	TURN_BYTES = 20000, /* a run of packets has two */
};

/* The bytes that the NICs have copied in a turn. */
struct turns {
	struct pair *p;
	uint64_t bytes[2];
	uint64_t all;
	uint32_t long_turns; /* with more than TURN_BYTES */
	uint32_t done, wanted;
	struct sim_end *end;
};

static uint64_t bytes_of(const struct sim_nic *nic)
{
	return sim_nic_stat(nic, "host_read_bytes") + sim_nic_stat(nic, "host_write_bytes");
}

static bool turns_over(void *arg)
{
	struct turns *t = arg;
	const struct sim_nic *nics[2] = {t->p->na, t->p->nb};
	struct weft_wc wc;

	for (int i = 0; i < 2; i++) {
		uint64_t now = bytes_of(nics[i]), bytes = now - t->bytes[i];

		t->bytes[i] = now;
		t->all += bytes;
		t->long_turns += bytes > TURN_BYTES;
	}
	while (weft_poll_cq(t->end->cq, 1, &wc) == 1) {
		FIX_CHECK(t->p, wc.status == WEFT_WC_SUCCESS);
		t->done++;
	}
	return t->done == t->wanted;
}

/* The requests of one end, all posted at once. */
static struct turns run(struct pair *p, const struct post *request, uint32_t wanted)
{
	struct turns t = {.p = p, .wanted = wanted, .end = &p->a};
	struct post one = *request;

	t.bytes[0] = bytes_of(p->na);
	t.bytes[1] = bytes_of(p->nb);
	for (one.wr_id = 0; one.wr_id < wanted; one.wr_id++)
		FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &one) == 0);
	FIX_REQUIRE(p, sim_run_until(p->sim, turns_over, &t, FIX_LIMIT_NS));
	return t;
}

static void sends_of_rd(void)
{
	const struct pair_attr attr = {.a = {.unmapped = true}, .mtu = MTU};
	const struct post put = {.opcode = WEFT_WR_WRITE, .bytes = BYTES, .remote_offset = SINK};
	struct turns t;
	struct pair p;

	pair_open(&p, 1, &attr);
	fill(&p, 1, p.a.buf, BYTES);
	t = run(&p, &put, REQUESTS);
	FIX_CHECK(&p, t.all >= REQUESTS * BYTES);
	FIX_CHECK(&p, t.long_turns == 0);
	FIX_CHECK(&p, filled(&p, 1, p.b.buf + SINK, BYTES));
	pair_close(&p);
}

UT_MAIN("sim/dear", UT(sends_of_rd))
