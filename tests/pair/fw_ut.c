/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instance and its turn: configurations, the order of stages, budgets, the next timer,
 * link and shutdown as processes see them.
 */
#include "tests/pair/rd_pair.h"

#include <sys/mman.h>

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* Each value out of range is refused before the arena is touched. */
static void configurations(void)
{
	const struct fw_config good = {.name = "weft0",
				       .num_shards = 1,
				       .mtu = 1500,
				       .ip = 1,
				       .ip_prefix = 24,
				       .hash_secret = BENCH_HASH_SECRET};
	struct fw_port port = {0};
	size_t bytes = fw_arena_bytes();
	void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct fw_config c;
	struct fw_nic *nic;

	CU_ASSERT_FATAL(arena != MAP_FAILED);
	CU_ASSERT_EQUAL(bytes % 4096, 0);
	CU_ASSERT_EQUAL(bytes, fw_arena_bytes());
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		c = good;                                                                          \
		c.field = value;                                                                   \
		CU_ASSERT_PTR_NULL(fw_init(&c, &port, arena, bytes));                              \
	} while (0)
	REFUSED(mtu, HW_MIN_MTU - 1);
	REFUSED(mtu, HW_MAX_MTU + 1);
	REFUSED(nic_index, 32);
	REFUSED(ip_prefix, 33);
	REFUSED(num_shards, 0);
	REFUSED(num_shards, WIRE_DGRAM_SHARDS + 1);
	REFUSED(shard, 1);
	REFUSED(num_coll_shards, 1);
	REFUSED(esp_burst, ESP_MAX_BURST + 1);
	REFUSED(esp_initial_burst, ESP_MAX_BURST + 1);
	REFUSED(mpa, HW_MPA_ALL + 1);
	REFUSED(ip, 0);
	REFUSED(hash_secret[0], 0);
	REFUSED(hash_secret[1], 0);
#undef REFUSED
	c = good;
	CU_ASSERT_PTR_NULL(fw_init(&c, &port, arena, bytes - 1));
	c.mtu = HW_MAX_MTU;
	c.nic_index = 31;
	c.num_shards = WIRE_DGRAM_SHARDS;
	c.shard = WIRE_DGRAM_SHARDS - 1;
	nic = fw_init(&c, &port, arena, bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(nic);
	/* QPNs of 24 bits name the NIC, the shard, and the QP. */
	CU_ASSERT_EQUAL(nic->qpn_base, 31 << 19 | (WIRE_DGRAM_SHARDS - 1) << 16);
	CU_ASSERT_TRUE(nic->qpn_base + HW_MAX_QP <= 1 << 24);
	CU_ASSERT_EQUAL(fw_next_timer_ns(arena), UINT64_MAX);
	munmap(arena, bytes);
}

/* After a gap between turns a queued ACK takes effect before the time-out that it ends. */
static void input_before_timers(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE};

	rp_begin(&rp);
	rp_open(&rp);
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
	rp_poll(&rp, 0);
	rp_session(&rp, 1)->answers = false;
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL(A->port.inbox_count, 1);
	rp.wire.now_ns += 10000000000;
	rp_poll(&rp, 0);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_timeouts), 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_retransmits), 0);
	rp_end(&rp);
}

/* A turn does about its budget; the rest is done in the next turns, and nothing is lost. */
static void budgets(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8};
	uint32_t budget, i;

	for (budget = 1; budget < 40; budget = budget * 3 + 1) {
		rp_begin(&rp);
		rp_open(&rp);
		req.dst = B->qp[0];
		for (i = 0; i < 100; i++) {
			req.wr_id = i;
			rp_req(&rp, 0, A->qp[0], &req);
		}
		for (i = 0; i < 2000; i++) {
			uint32_t done = fw_poll(A->nic, rp.wire.now_ns, budget);

			/*
			 * Doorbells are read in addition; requests, packets and frames have one
			 * budget each.
			 */
			CU_ASSERT_TRUE(done <= DB_CLIENT_QUANTUM + 4 * budget);
			fw_poll(B->nic, rp.wire.now_ns, budget);
			rp.wire.now_ns += 1000;
		}
		for (i = 0; i < 100; i++)
			rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		rp_end(&rp);
	}
}

/* The next timer is the earliest of all that wait, and soon when work waits for its turn. */
static void next_timer(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8};
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	CU_ASSERT_EQUAL(fw_next_timer_ns(A->nic), UINT64_MAX);
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(fw_next_timer_ns(A->nic), rp.wire.now_ns + RD_MIN_RTO_NS);
	rp_quiet(&rp);
	for (i = 0; i < 20; i++)
		rp_req(&rp, 0, A->qp[0], &req);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(fw_next_timer_ns(A->nic), rp.wire.now_ns + FW_SOON_NS);
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(fw_next_timer_ns(A->nic), UINT64_MAX);
	/* A delayed ACK has a timer too. */
	rp_session(&rp, 1)->answers = true;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_poll(&rp, 0);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL(fw_next_timer_ns(B->nic), rp.wire.now_ns + RD_ACK_DELAY_NS);
	rp_quiet(&rp);
	for (i = 0; i < 22; i++)
		rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/*
 * A port that accepts less than it promised: frames are lost and counted, their data is sent again.
 */
static void frames_beyond_room(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp_recv(&rp, 1, B->qp[0], 1, 0, 64);
	A->nic->port.tx_room = NULL;
	A->port.tx_room = 0;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 64);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, tx_dropped), 1);
	CU_ASSERT_EQUAL(B->port.inbox_count, 0);
	A->port.tx_room = UINT32_MAX;
	rp_quiet(&rp);
	rp_run(&rp, UINT64_C(1000000000));
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* An idle instance does no work and sends nothing. */
static void idle(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp.wire.frames = 0;
	rp.wire.now_ns += 1000000;
	CU_ASSERT_EQUAL(rp_poll(&rp, 0), 0);
	CU_ASSERT_EQUAL(rp_poll(&rp, 1), 0);
	CU_ASSERT_EQUAL(rp.wire.frames, 0);
	rp_end(&rp);
}

/* The n-th entry of EQ 0. */
static const struct hw_eqe *event(uint32_t n)
{
	const struct fw_eq *eq = &A->nic->host.eqs[A->nic->host.clients[A->client].eq[0]];

	return n < eq->prod ? &eq->ring[n & eq->mask] : NULL;
}

static void link_and_shutdown(void)
{
	struct hw_bar_header *header;

	rp_begin(&rp);
	header = (void *)A->bar;
	CU_ASSERT_EQUAL(header->magic, HW_BAR_MAGIC);
	CU_ASSERT_EQUAL(header->nic_state, HW_NIC_RUNNING);
	CU_ASSERT_EQUAL(header->link_up, 1);
	fw_link(A->nic, true);
	CU_ASSERT_PTR_NULL(event(0));
	fw_link(A->nic, false);
	fw_link(A->nic, false);
	CU_ASSERT_PTR_NOT_NULL_FATAL(event(0));
	CU_ASSERT_EQUAL(event(0)->type, HW_EVENT_PORT_ERR);
	CU_ASSERT_PTR_NULL(event(1));
	CU_ASSERT_EQUAL(header->link_up, 0);
	fw_link(A->nic, true);
	CU_ASSERT_EQUAL(event(1)->type, HW_EVENT_PORT_ACTIVE);
	CU_ASSERT_EQUAL(header->link_up, 1);
	/* The second event came before the process had taken the first. */
	CU_ASSERT_EQUAL(A->port.num_irqs, 1);
	fw_shutdown(A->nic);
	CU_ASSERT_EQUAL(event(2)->type, HW_EVENT_DEVICE_FATAL);
	CU_ASSERT_EQUAL(header->nic_state, HW_NIC_STOPPED);
	CU_ASSERT_EQUAL(A->port.num_irqs, 1);
	rp_end(&rp);
}

static uint32_t walked[TRACE_EVENT_COUNT];
static uint32_t steps;

static void walk(void *ctx, uint64_t now_ns, uint32_t what, uint32_t qpn, uint64_t arg0,
		 uint64_t arg1)
{
	(void)ctx;
	(void)now_ns;
	(void)qpn;
	(void)arg0;
	(void)arg1;
	CU_ASSERT_FATAL(what < TRACE_EVENT_COUNT);
	/* The window moves with the packets that arrived before. */
	if (!walked[what] && what != TRACE_RD_WINDOW)
		walked[what] = ++steps;
}

/* One Send follows the path of ARCHITECTURE.md in its order. */
static void the_walk(void)
{
	static const uint8_t order[] = {
	    TRACE_DOORBELL, TRACE_SCHED,  TRACE_WQE,   TRACE_RDMAP_TX, TRACE_DDP_TX,   TRACE_RD_TX,
	    TRACE_ETH_TX,   TRACE_ETH_RX, TRACE_RD_RX, TRACE_DDP_RX,   TRACE_RDMAP_RX, TRACE_CQE};
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	rp_recv(&rp, 1, B->qp[0], 1, 0, 64);
	memset(walked, 0, sizeof(walked));
	steps = 0;
	fw_set_trace(A->nic, walk, NULL);
	fw_set_trace(B->nic, walk, NULL);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 64);
	rp_poll(&rp, 0);
	rp_poll(&rp, 1);
	for (i = 0; i < sizeof(order); i++)
		CU_ASSERT_EQUAL(walked[order[i]], i + 1);
	fw_set_trace(A->nic, NULL, NULL);
	fw_set_trace(B->nic, NULL, NULL);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Each counter has a name, and each name occurs once. */
static void counters(void)
{
	const char *name, *other;
	uint64_t value;
	uint32_t i, k;

	rp_begin(&rp);
	for (i = 0; fw_stat(A->nic, i, &name, &value); i++)
		for (k = 0; k < i; k++) {
			CU_ASSERT_TRUE(fw_stat(A->nic, k, &other, &value));
			CU_ASSERT_NOT_EQUAL(strcmp(name, other), 0);
		}
	CU_ASSERT_TRUE(i >= sizeof(struct fw_counters) / sizeof(uint64_t));
	CU_ASSERT_FALSE(fw_stat(A->nic, UINT32_MAX, &name, &value));
	rp_end(&rp);
}

/*
 * One short turn of eight copies unmapped memory, which differs between NICs. No queue of those
 * that are served in turn waits for it for ever, however many there are.
 */
static void turns_with_copies(void)
{
	enum {
		TURNS = 4096,
		QUEUES = 32,
	};
	uint32_t copies = 0, both = 0, of[QUEUES + 1][QUEUES] = {{0}};

	rp_begin(&rp);
	for (uint32_t t = 0; t < TURNS; t++) {
		(void)fw_poll(A->nic, rp.wire.now_ns, FW_TURN_SHORT);
		(void)fw_poll(B->nic, rp.wire.now_ns, FW_TURN_SHORT);
		copies += !A->nic->dear_rests;
		both += !A->nic->dear_rests && !B->nic->dear_rests;
		for (uint32_t queues = 1; queues <= QUEUES; queues++)
			of[queues][t % queues] += !A->nic->dear_rests;
	}
	CU_ASSERT_TRUE(copies + 1 >= TURNS / FW_DEAR_EVERY && copies <= TURNS / FW_DEAR_EVERY + 1);
	CU_ASSERT_EQUAL(both, 0);
	for (uint32_t queues = 1; queues <= QUEUES; queues++)
		for (uint32_t i = 0; i < queues; i++)
			CU_ASSERT_TRUE(of[queues][i] > TURNS / FW_DEAR_EVERY / queues / 3);
	(void)fw_poll(A->nic, rp.wire.now_ns, FW_TURN_LONG);
	CU_ASSERT_FALSE(A->nic->dear_rests);
	rp_end(&rp);
}

UT_MAIN("pair/fw", UT(configurations), UT(input_before_timers), UT(budgets), UT(next_timer),
	UT(frames_beyond_room), UT(idle), UT(link_and_shutdown), UT(the_walk), UT(counters),
	UT(turns_with_copies))
