/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of memory that is not mapped: a turn of a NIC makes few of them, however a process lays
 * out its buffers, since others wait for the turn's end. Single bytes, from the buffer's end on,
 * are a copy each.
 */
#include <string.h>

#include "shared_defs/goal_op.h"
#include "tests/sim/goal_fix.h"

#define INSN(c, d, s, o, i)                                                                        \
	{                                                                                          \
		.code = (c), .regs = (uint8_t)((s) << 4 | (d)), .off = (o), .imm = (i)             \
	}
#define MOVI(d, i) INSN(0xb7, d, 0, 0, i)
#define EXIT       INSN(0x95, 0, 0, 0, 0)

enum {
	PIECES = 3000,
	BULK_BYTES = 500000,
	NICS = 2,
	/* Some stages of a turn have a part in each. */
	TURN_COPIES = 12,
	TURN_BYTES = 16384,
};

/* The most that a NIC has copied in a turn. */
struct most {
	struct goal_fix *fix;
	uint64_t copies[NICS], bytes[NICS];
	uint64_t most_copies, most_bytes, all_copies;
	uint32_t run[NICS];
};

static uint64_t stat_sum(struct goal_fix *fix, uint32_t i, const char *a, const char *b)
{
	const struct sim_nic *nic = sim_proc_nic(fix->rank[i].proc);

	return sim_nic_stat(nic, a) + sim_nic_stat(nic, b);
}

/* Looks at the counters after each turn. */
static bool most_is_over(void *arg)
{
	struct most *m = arg;
	bool over = true;

	for (uint32_t i = 0; i < NICS; i++) {
		uint64_t copies = stat_sum(m->fix, i, "host_reads", "host_writes");
		uint64_t bytes = stat_sum(m->fix, i, "host_read_bytes", "host_write_bytes");

		if (copies - m->copies[i] > m->most_copies)
			m->most_copies = copies - m->copies[i];
		if (bytes - m->bytes[i] > m->most_bytes)
			m->most_bytes = bytes - m->bytes[i];
		m->all_copies += copies - m->copies[i];
		m->copies[i] = copies;
		m->bytes[i] = bytes;
		over &= weft_goal_test(m->fix->rank[i].goal, m->run[i]);
	}
	return over;
}

static void begin(struct goal_fix *fix, uint64_t seed)
{
	struct goal_fix_attr attr = {.bytes = 4 << 20, .unmapped = true};

	goal_fix_begin(fix, seed, NICS, &attr);
	for (uint32_t i = 0; i < NICS; i++)
		for (size_t k = 0; k < attr.bytes; k++)
			fix->rank[i].buf[k] = (uint8_t)(k * 7 + k / 256 + i);
}

/* Runs both schedules; at least so many copies, and few in each turn. */
static void runs(struct goal_fix *fix, uint64_t least)
{
	struct most m = {.fix = fix};
	struct weft_goal_result result;

	for (uint32_t i = 0; i < NICS; i++) {
		m.copies[i] = stat_sum(fix, i, "host_reads", "host_writes");
		m.bytes[i] = stat_sum(fix, i, "host_read_bytes", "host_write_bytes");
	}
	for (uint32_t i = 0; i < NICS; i++)
		m.run[i] = goal_fix_start(fix, i, 0);
	FIX_REQUIRE(fix, sim_run_until(fix->sim, most_is_over, &m, 10 * FIX_LIMIT_NS));
	for (uint32_t i = 0; i < NICS; i++) {
		weft_goal_finish(fix->rank[i].goal, m.run[i], &result);
		FIX_CHECK(fix, result.status == HW_GOAL_OK);
	}
	FIX_CHECK(fix, m.all_copies >= least);
	FIX_CHECK(fix, m.most_copies <= TURN_COPIES);
	FIX_CHECK(fix, m.most_bytes <= TURN_BYTES);
}

/* The bytes of a stretch of the rank's buffer, the last one first. */
static const struct goal_mem *backwards(const struct goal_fix *fix, uint32_t rank, size_t offset,
					uint32_t num)
{
	static struct goal_mem piece[3][PIECES];
	static uint32_t next;
	struct goal_mem *made = piece[next++ % 3];

	for (uint32_t i = 0; i < num; i++)
		made[i] = goal_fix_mem(fix, rank, offset + num - 1 - i, 1);
	return made;
}

static bool is_reversed(const uint8_t *to, const uint8_t *from, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		if (to[num - 1 - i] != from[i])
			return false;
	return true;
}

static void load(struct goal_fix *fix, struct goal_graph *a, struct goal_graph *b)
{
	goal_fix_load(fix, 0, a);
	goal_fix_load(fix, 1, b);
}

static void bulk(void)
{
	struct goal_graph *a = goal_graph_new(0, NICS), *b = goal_graph_new(1, NICS);
	struct goal_fix fix;

	begin(&fix, 1);
	goal_fix_send(a, goal_fix_mem(&fix, 0, 0, BULK_BYTES), 1, 5);
	goal_fix_recv(b, goal_fix_mem(&fix, 1, 0, BULK_BYTES), 0, 5);
	load(&fix, a, b);
	runs(&fix, BULK_BYTES / 4096);
	FIX_CHECK(&fix, !memcmp(fix.rank[0].buf, fix.rank[1].buf, BULK_BYTES));
	goal_fix_end(&fix);
}

/* late: the receive starts when the message is in the pool. */
static void received_in_bytes(bool late, uint32_t num, enum goal_insn_kind kind)
{
	struct goal_graph *a = goal_graph_new(0, NICS), *b = goal_graph_new(1, NICS);
	struct goal_mem mem;
	struct goal_fix fix;
	int64_t recv, wait;

	begin(&fix, 2);
	mem = goal_fix_mem(&fix, 0, 0, num);
	FIX_REQUIRE(
	    &fix, goal_graph_msg(a, kind == GOAL_INSN_RECV ? GOAL_INSN_SEND : GOAL_INSN_MCAST_SEND,
				 &mem, 1, kind == GOAL_INSN_RECV ? 1 : 0, 5) >= 0);
	recv = goal_graph_msg(b, kind, backwards(&fix, 1, 0, num), num, 0, 5);
	FIX_REQUIRE(&fix, recv >= 0);
	if (late) {
		wait = goal_graph_calc(b, 3000000, 0);
		goal_fix_after(b, (uint32_t)wait, (uint32_t)recv);
	}
	load(&fix, a, b);
	for (int i = 0; i < 3; i++)
		runs(&fix, num);
	FIX_CHECK(&fix, is_reversed(fix.rank[1].buf, fix.rank[0].buf, num));
	if (late)
		FIX_CHECK(&fix, sim_nic_stat(sim_proc_nic(fix.rank[1].proc), "goal_unexpected"));
	goal_fix_end(&fix);
}

static void bytes_of_a_packet(void)
{
	received_in_bytes(false, PIECES, GOAL_INSN_RECV);
	received_in_bytes(false, PIECES, GOAL_INSN_MCAST_RECV);
}

static void bytes_of_the_pool(void)
{
	received_in_bytes(true, PIECES, GOAL_INSN_RECV);
	received_in_bytes(true, PIECES, GOAL_INSN_MCAST_RECV);
	received_in_bytes(true, 64, GOAL_INSN_RECV);
}

/* The pieces of a frame are one copy, into the buffer of a receive and into the pool. */
static void frames_in_pieces(void)
{
	enum {
		BYTES = 1000, /* a packet */
	};
	const struct goal_fix_attr attr = {.bytes = 65536, .unmapped = true, .in_pieces = true};
	const struct sim_nic *nic;
	struct weft_goal_result result;

	for (int late = 0; late < 2; late++) {
		struct goal_graph *a = goal_graph_new(0, NICS), *b = goal_graph_new(1, NICS);
		uint64_t writes, bytes;
		struct goal_fix fix;
		uint32_t run[NICS];
		uint32_t recv;

		goal_fix_begin(&fix, 6, NICS, &attr);
		for (uint32_t i = 0; i < BYTES; i++)
			fix.rank[0].buf[i] = (uint8_t)(i * 7 + i / 256);
		goal_fix_send(a, goal_fix_mem(&fix, 0, 0, BYTES), 1, 5);
		recv = goal_fix_recv(b, goal_fix_mem(&fix, 1, 0, BYTES), 0, 5);
		if (late)
			goal_fix_after(b, (uint32_t)goal_graph_calc(b, 3000000, 0), recv);
		load(&fix, a, b);
		nic = sim_proc_nic(fix.rank[1].proc);
		writes = sim_nic_stat(nic, "host_writes");
		bytes = sim_nic_stat(nic, "host_write_bytes");
		for (uint32_t i = 0; i < NICS; i++)
			run[i] = goal_fix_start(&fix, i, 0);
		FIX_REQUIRE(&fix, goal_fix_wait(&fix, 1, run[1], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_OK);
		FIX_CHECK(&fix, !memcmp(fix.rank[1].buf, fix.rank[0].buf, BYTES));
		/* From the pool, a late receive takes it with one more. */
		FIX_CHECK(&fix, sim_nic_stat(nic, "host_writes") == writes + 1 + (uint32_t)late);
		FIX_CHECK(&fix, sim_nic_stat(nic, "host_write_bytes") ==
				    bytes + BYTES * (1 + (uint32_t)late));
		goal_fix_end(&fix);
	}
}

/*
 * The receive starts when a part of its message is in the pool, and is still being copied when the
 * sender has ended and left: it has all bytes, and needs nobody.
 */
static void sender_leaves(void)
{
	const struct goal_fix_attr attr = {.bytes = 65536, .unmapped = true};
	struct weft_goal_result result;

	for (uint64_t late_ns = 0; late_ns < 20000; late_ns += 200) {
		struct goal_graph *a = goal_graph_new(0, NICS), *b = goal_graph_new(1, NICS);
		struct goal_fix fix;
		uint32_t run[NICS];
		int64_t recv;

		goal_fix_begin(&fix, 3, NICS, &attr);
		memset(fix.rank[0].buf, 7, PIECES);
		goal_fix_send(a, goal_fix_mem(&fix, 0, 0, PIECES), 1, 5);
		recv =
		    goal_graph_msg(b, GOAL_INSN_RECV, backwards(&fix, 1, 0, PIECES), PIECES, 0, 5);
		FIX_REQUIRE(&fix, recv >= 0);
		goal_fix_after(b, (uint32_t)goal_graph_calc(b, late_ns, 0), (uint32_t)recv);
		load(&fix, a, b);
		for (uint32_t i = 0; i < NICS; i++)
			run[i] = goal_fix_start(&fix, i, 0);
		FIX_REQUIRE(&fix, goal_fix_wait(&fix, 0, run[0], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_OK);
		FIX_CHECK(&fix, weft_goal_comm_destroy(fix.rank[0].goal, fix.rank[0].comm) == 0);
		FIX_REQUIRE(&fix, goal_fix_wait(&fix, 1, run[1], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_OK);
		FIX_CHECK(&fix, is_reversed(fix.rank[1].buf, fix.rank[0].buf, PIECES));
		goal_fix_end(&fix);
	}
}

static void sent_in_bytes(uint32_t num)
{
	struct goal_graph *a = goal_graph_new(0, NICS), *b = goal_graph_new(1, NICS);
	struct goal_fix fix;

	begin(&fix, 3);
	FIX_REQUIRE(&fix,
		    goal_graph_msg(a, GOAL_INSN_SEND, backwards(&fix, 0, 0, num), num, 1, 5) >= 0);
	goal_fix_recv(b, goal_fix_mem(&fix, 1, 0, num), 0, 5);
	load(&fix, a, b);
	runs(&fix, num);
	FIX_CHECK(&fix, is_reversed(fix.rank[1].buf, fix.rank[0].buf, num));
	goal_fix_end(&fix);
}

static void sends_of_bytes(void)
{
	sent_in_bytes(PIECES);
	sent_in_bytes(100);
}

/* order: the receive starts first, the send does, or the receive waits for the send. */
static void to_oneself(uint32_t num, int order)
{
	struct goal_graph *a = goal_graph_new(0, NICS), *b = goal_graph_new(1, NICS);
	int64_t send, recv, wait;
	struct goal_fix fix;

	begin(&fix, 4);
	send = goal_graph_msg(a, GOAL_INSN_SEND, backwards(&fix, 0, 0, num), num, 0, 5);
	recv = goal_graph_msg(a, GOAL_INSN_RECV, backwards(&fix, 0, 2 * PIECES, num), num, 0, 5);
	FIX_REQUIRE(&fix, send >= 0 && recv >= 0);
	if (order == 2) {
		goal_fix_after(a, (uint32_t)send, (uint32_t)recv);
	} else {
		wait = goal_graph_calc(a, 100000, 0);
		goal_fix_after(a, (uint32_t)wait, (uint32_t)(order ? recv : send));
	}
	(void)goal_graph_nop(b);
	load(&fix, a, b);
	for (int i = 0; i < 3; i++) {
		memset(fix.rank[0].buf + 2 * PIECES, 0xee, num);
		runs(&fix, 2 * num);
		FIX_CHECK(&fix, !memcmp(fix.rank[0].buf, fix.rank[0].buf + 2 * PIECES, num));
	}
	goal_fix_end(&fix);
}

static void messages_to_oneself(void)
{
	for (int order = 0; order < 3; order++) {
		to_oneself(PIECES, order);
		to_oneself(60, order);
	}
}

static void sums(void)
{
	struct goal_graph *a = goal_graph_new(0, NICS), *b = goal_graph_new(1, NICS);
	struct goal_mem one, two, sum;
	const struct goal_mem *mems[3] = {&one, &two, &sum};
	const uint32_t nums[3] = {1, 1, 1};
	struct goal_fix fix;

	begin(&fix, 5);
	one = goal_fix_mem(&fix, 0, 0, BULK_BYTES);
	two = goal_fix_mem(&fix, 0, 1 << 20, BULK_BYTES);
	sum = goal_fix_mem(&fix, 0, 2 << 20, BULK_BYTES);
	FIX_REQUIRE(&fix, goal_graph_local(a, GOAL_LOCAL_ADD, GOAL_TYPE_UINT, 8, BULK_BYTES, mems,
					   nums) >= 0);
	mems[0] = backwards(&fix, 0, 0, PIECES);
	mems[1] = backwards(&fix, 0, PIECES, PIECES);
	mems[2] = backwards(&fix, 0, 3 << 20, PIECES);
	FIX_REQUIRE(&fix, goal_graph_local(a, GOAL_LOCAL_ADD, GOAL_TYPE_UINT, 8, PIECES, mems,
					   (const uint32_t[]){PIECES, PIECES, PIECES}) >= 0);
	(void)goal_graph_nop(b);
	load(&fix, a, b);
	runs(&fix, 3 * PIECES);
	for (uint32_t i = 0; i < BULK_BYTES; i++)
		FIX_REQUIRE(&fix,
			    fix.rank[0].buf[(2 << 20) + i] ==
				(uint8_t)(fix.rank[0].buf[i] + fix.rank[0].buf[(1 << 20) + i]));
	for (uint32_t i = 0; i < PIECES; i++)
		FIX_REQUIRE(&fix, fix.rank[0].buf[(3 << 20) + i] ==
				      (uint8_t)(fix.rank[0].buf[i] + fix.rank[0].buf[PIECES + i]));
	goal_fix_end(&fix);
}

/* A user's program: its blocks are copied element by element. */
static void users_operation(void)
{
	enum {
		ELEM = 8,
		BLOCK = 4096 / ELEM,
		COUNT = 3 * BLOCK + 5,
		MARK = 7,
	};
	static const struct goal_op_insn ok[] = {MOVI(0, GOAL_OP_OK), EXIT};
	const struct weft_goal_op_attr attr = {
	    .insns = ok, .num_insns = 2, .elem_bytes = ELEM, .block = BLOCK, .mark = MARK};
	struct goal_graph *a = goal_graph_new(0, NICS), *b = goal_graph_new(1, NICS);
	struct goal_user_ops ops = {.num = 1};
	static struct goal_mem piece[3][COUNT];
	const struct goal_mem *mems[3] = {piece[0], piece[1], piece[2]};
	const uint32_t nums[3] = {COUNT, COUNT, COUNT};
	char why[64];
	struct goal_fix fix;
	uint32_t insn, i;

	begin(&fix, 6);
	FIX_REQUIRE(&fix, weft_goal_op(fix.rank[0].goal, fix.rank[0].comm, &attr, &ops.op[0].number,
				       why, &insn) == 0);
	ops.op[0].mark = MARK;
	ops.op[0].elem_bytes = ELEM;
	a->user_ops = &ops;
	for (i = 0; i < 3 * COUNT; i++)
		piece[i / COUNT][i % COUNT] =
		    goal_fix_mem(&fix, 0, (size_t)(3 * COUNT - 1 - i) * ELEM, ELEM);
	FIX_REQUIRE(
	    &fix, goal_graph_local(a, GOAL_USER_FIRST, GOAL_TYPE_UINT, 0, COUNT, mems, nums) >= 0);
	(void)goal_graph_nop(b);
	load(&fix, a, b);
	runs(&fix, 4 * COUNT);
	goal_fix_end(&fix);
}

UT_MAIN("sim/goal_dear", UT(bulk), UT(bytes_of_a_packet), UT(bytes_of_the_pool),
	UT(frames_in_pieces), UT(sender_leaves), UT(sends_of_bytes), UT(messages_to_oneself),
	UT(sums), UT(users_operation))
