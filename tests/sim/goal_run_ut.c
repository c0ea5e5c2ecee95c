/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules on NICs: messages of all sizes under all faults, chains of unexpected messages,
 * dependencies of both kinds, local operations, several runs in flight, and failures.
 */
#include "tests/sim/goal_fix.h"

#define ALL_FAULTS "loss=2,dup=2,reorder=5,corrupt=0.5,jitter"

static void make_pattern(uint8_t *at, size_t bytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		at[i] = (uint8_t)(i * 7 + seed + (i >> 8));
}

static bool has_pattern(const uint8_t *at, size_t bytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (at[i] != (uint8_t)(i * 7 + seed + (i >> 8)))
			return false;
	return true;
}

/* Rank 0 sends a message to rank 1, which sends it back to another place. */
static void there_and_back(struct goal_fix *fix, uint64_t bytes)
{
	struct goal_graph *a = goal_graph_new(0, 2), *b = goal_graph_new(1, 2);
	uint32_t recv, send;

	goal_fix_send(a, goal_fix_mem(fix, 0, 0, bytes), 1, 5);
	goal_fix_recv(a, goal_fix_mem(fix, 0, bytes, bytes), 1, 6);
	recv = goal_fix_recv(b, goal_fix_mem(fix, 1, 0, bytes), 0, 5);
	send = goal_fix_send(b, goal_fix_mem(fix, 1, 0, bytes), 0, 6);
	goal_fix_after(b, recv, send);
	goal_fix_load(fix, 0, a);
	goal_fix_load(fix, 1, b);
}

static void messages(const char *faults, bool unmapped, uint64_t eager_bytes, uint32_t busy_ppm)
{
	static const uint64_t sizes[] = {1,    8,     127,    128,    129,   1000,
					 4096, 20000, 131072, 131073, 500000};
	uint64_t seed;
	uint32_t i, k;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = {.faults = faults,
					     .bytes = 1 << 20,
					     .unmapped = unmapped,
					     .eager_bytes = (uint32_t)eager_bytes};
		struct goal_fix fix;

		goal_fix_begin(&fix, seed, 2, &attr);
		sim_host_busy(fix.sim, busy_ppm);
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			there_and_back(&fix, sizes[i]);
			for (k = 0; k < 3; k++) {
				make_pattern(fix.rank[0].buf, sizes[i], i + k);
				memset(fix.rank[0].buf + sizes[i], 0xee, sizes[i] + 8);
				FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
				FIX_CHECK(&fix,
					  has_pattern(fix.rank[0].buf + sizes[i], sizes[i], i + k));
				FIX_CHECK(&fix, fix.rank[0].buf[2 * sizes[i]] == 0xee);
			}
		}
		goal_fix_end(&fix);
	}
}

static void messages_without_faults(void)
{
	messages(NULL, false, 0, 0);
}

static void messages_under_faults(void)
{
	messages(ALL_FAULTS, false, 0, 0);
}

static void messages_of_unmapped_memory(void)
{
	messages(ALL_FAULTS, true, 0, 0);
}

static void messages_announced(void)
{
	messages(ALL_FAULTS, false, 512, 0);
}

/* Pages that come late: each access may answer "not now", writes that do may be carried out. */
static void messages_of_slow_pages(void)
{
	messages("loss=1,jitter", true, 0, 100000);
	messages(NULL, true, 512, 100000);
}

/* The most that a NIC read of unmapped memory in one turn. */
struct longest {
	struct goal_fix *fix;
	uint32_t run;
	uint64_t read_bytes, most_bytes;
};

static bool longest_is_over(void *arg)
{
	struct longest *l = arg;
	uint64_t read_bytes = sim_nic_stat(sim_proc_nic(l->fix->rank[0].proc), "host_read_bytes");

	if (read_bytes - l->read_bytes > l->most_bytes)
		l->most_bytes = read_bytes - l->read_bytes;
	l->read_bytes = read_bytes;
	return weft_goal_test(l->fix->rank[0].goal, l->run);
}

/* Other processes wait for the copy of a message from unmapped memory, so a turn copies little. */
static void copies_of_a_turn(void)
{
	enum {
		BYTES = 500000,
		TURN_BYTES = 16 << 10,
	};
	struct goal_fix_attr attr = {.bytes = 1 << 20, .unmapped = true};
	struct goal_fix fix;
	struct longest longest = {.fix = &fix};
	struct weft_goal_result result;
	uint32_t other;

	goal_fix_begin(&fix, 1, 2, &attr);
	there_and_back(&fix, BYTES);
	make_pattern(fix.rank[0].buf, BYTES, 1);
	other = goal_fix_start(&fix, 1, 0);
	longest.run = goal_fix_start(&fix, 0, 0);
	FIX_REQUIRE(&fix, sim_run_until(fix.sim, longest_is_over, &longest, FIX_LIMIT_NS));
	FIX_CHECK(&fix, longest.read_bytes >= BYTES && longest.most_bytes <= TURN_BYTES);
	FIX_CHECK(&fix, has_pattern(fix.rank[0].buf + BYTES, BYTES, 1));
	weft_goal_finish(fix.rank[0].goal, longest.run, &result);
	FIX_CHECK(&fix, result.status == HW_GOAL_OK);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 1, other, &result));
	goal_fix_end(&fix);
}

/*
 * Sums into one of their operands: none is added twice, though each write that is given up may be
 * carried out. The results of one are the operands of the next.
 */
static void sums_in_slow_pages(void)
{
	enum {
		COUNT = 4000,
		SUMS = 12,
	};
	struct goal_fix_attr attr = {.bytes = 1 << 20, .unmapped = true};
	uint64_t seed, k, value;
	struct goal_fix fix;

	for (seed = 1; seed <= 5; seed++) {
		struct goal_graph *g = goal_graph_new(0, 2), *other = goal_graph_new(1, 2);
		int64_t last = -1;

		goal_fix_begin(&fix, seed, 2, &attr);
		sim_host_busy(fix.sim, 150000);
		for (k = 0; k < SUMS; k++) {
			struct goal_mem sum = goal_fix_mem(&fix, 0, 0, 8 * COUNT);
			struct goal_mem one = goal_fix_mem(&fix, 0, 8 * COUNT, 8 * COUNT);
			const struct goal_mem *mems[3] = {&sum, &one, &sum};
			const uint32_t nums[3] = {1, 1, 1};
			int64_t add = goal_graph_local(g, GOAL_LOCAL_ADD, GOAL_TYPE_UINT, 64, COUNT,
						       mems, nums);

			FIX_REQUIRE(&fix, add >= 0);
			if (last >= 0)
				goal_fix_after(g, (uint32_t)last, (uint32_t)add);
			last = add;
		}
		for (k = 0; k < COUNT; k++) {
			value = k * k;
			memcpy(fix.rank[0].buf + 8 * k, &value, 8);
			value = k + 1;
			memcpy(fix.rank[0].buf + 8 * (COUNT + k), &value, 8);
		}
		(void)goal_graph_nop(other);
		goal_fix_load(&fix, 0, g);
		goal_fix_load(&fix, 1, other);
		FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
		for (k = 0; k < COUNT; k++) {
			memcpy(&value, fix.rank[0].buf + 8 * k, 8);
			FIX_CHECK(&fix, value == k * k + SUMS * (k + 1));
		}
		goal_fix_end(&fix);
	}
}

/*
 * Runs of one schedule in flight together that add in place: none reads what another has computed
 * and not yet written.
 */
static void runs_in_slow_pages(void)
{
	enum {
		RUNS = 40,
	};
	struct goal_fix_attr attr = {.bytes = 1 << 20, .unmapped = true};
	uint32_t run[RUNS], seed, k;
	uint64_t value[2] = {0, 1};
	struct weft_goal_result result;
	struct goal_fix fix;

	for (seed = 1; seed <= 5; seed++) {
		struct goal_graph *g = goal_graph_new(0, 2), *other = goal_graph_new(1, 2);
		struct goal_mem sum, one;
		const struct goal_mem *mems[3] = {&sum, &one, &sum};
		const uint32_t nums[3] = {1, 1, 1};

		goal_fix_begin(&fix, seed, 2, &attr);
		sim_host_busy(fix.sim, 150000);
		sum = goal_fix_mem(&fix, 0, 0, 8);
		one = goal_fix_mem(&fix, 0, 8, 8);
		FIX_REQUIRE(&fix, goal_graph_local(g, GOAL_LOCAL_ADD, GOAL_TYPE_UINT, 64, 1, mems,
						   nums) >= 0);
		(void)goal_graph_nop(other);
		value[0] = 0;
		memcpy(fix.rank[0].buf, value, sizeof(value));
		goal_fix_load(&fix, 0, g);
		goal_fix_load(&fix, 1, other);
		for (k = 0; k < RUNS; k++)
			run[k] = goal_fix_start(&fix, 0, 0);
		for (k = 0; k < RUNS; k++)
			FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run[k], &result) &&
					    result.status == HW_GOAL_OK);
		memcpy(value, fix.rank[0].buf, 8);
		FIX_CHECK(&fix, value[0] == RUNS);
		FIX_CHECK(&fix, sim_nic_stat(sim_nic_at(fix.sim, 0), "goal_slow") > 0);
		goal_fix_end(&fix);
	}
}

/* A send of any length ends with its acknowledgement, and does not wait for a delayed one. */
static void sends_end_soon(void)
{
	uint64_t bytes;
	uint32_t k;
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, NULL);
	for (bytes = 50; bytes < 13000; bytes += bytes < 3900 ? 350 : 43) {
		struct goal_graph *a = goal_graph_new(0, 2), *b = goal_graph_new(1, 2);
		struct weft_goal_result results[2];

		goal_fix_send(a, goal_fix_mem(&fix, 0, 0, bytes), 1, 0);
		goal_fix_recv(b, goal_fix_mem(&fix, 1, 0, bytes), 0, 0);
		goal_fix_load(&fix, 0, a);
		goal_fix_load(&fix, 1, b);
		/* The first run may open the stream. */
		for (k = 0; k < 2; k++)
			FIX_REQUIRE(&fix, goal_fix_run(&fix, results) == HW_GOAL_OK);
		FIX_CHECK(&fix, results[0].finish_ns - results[0].start_ns < 18000);
	}
	goal_fix_end(&fix);
}

/*
 * ESPGOAL 4.2.3: every message is unexpected, and the one that starts the chain
 * comes last.
 */
static void chain_of_unexpected(void)
{
	enum {
		LINKS = 20000,
	};
	struct goal_fix_attr attr = {.pool_bytes = 1 << 20, .bytes = 1 << 20};
	struct goal_graph *a = goal_graph_new(0, 2), *b = goal_graph_new(1, 2);
	struct weft_goal_result results[2];
	uint32_t last_send, gate, before, i;
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, &attr);
	last_send = goal_fix_send(a, goal_fix_mem(&fix, 0, 0, 4), 1, 7);
	gate = goal_fix_recv(b, goal_fix_mem(&fix, 1, 0, 4), 0, 7);
	before = gate;
	for (i = 0; i < LINKS; i++) {
		uint32_t send = goal_fix_send(a, goal_fix_mem(&fix, 0, 4 + 4 * i, 4), 1, 0);
		uint32_t recv = goal_fix_recv(b, goal_fix_mem(&fix, 1, 4 + 4 * i, 4), 0, 0);

		goal_fix_after(a, send, last_send);
		goal_fix_after(b, before, recv);
		before = recv;
	}
	make_pattern(fix.rank[0].buf, 4 + 4 * LINKS, 3);
	goal_fix_load(&fix, 0, a);
	goal_fix_load(&fix, 1, b);
	FIX_CHECK(&fix, goal_fix_run(&fix, results) == HW_GOAL_OK);
	FIX_CHECK(&fix, has_pattern(fix.rank[1].buf, 4 + 4 * LINKS, 3));
	FIX_CHECK(&fix, results[1].ops == LINKS + 1);
	goal_fix_end(&fix);
}

static void barrier_graph(struct goal_fix *fix, uint32_t rank)
{
	struct goal_graph *g = goal_graph_new(rank, fix->num);
	uint32_t distance, recv = GOAL_NO_VERTEX;

	g->scratch_bytes = 2;
	for (distance = 1; distance < fix->num; distance *= 2) {
		uint32_t send =
		    goal_fix_send(g, goal_fix_scratch(0, 1), (rank + distance) % fix->num, 0);
		uint32_t next = goal_fix_recv(g, goal_fix_scratch(1, 1),
					      (rank + fix->num - distance) % fix->num, 0);

		if (recv != GOAL_NO_VERTEX) {
			goal_fix_after(g, recv, send);
			goal_fix_after(g, recv, next);
		}
		recv = next;
	}
	goal_fix_load(fix, rank, g);
}

/*
 * No rank leaves before the last has entered, in many runs one after another, some ahead of others.
 */
static void barriers(void)
{
	static const uint32_t sizes[] = {2, 3, 5, 8, 13};
	uint32_t n, i, round;
	uint64_t seed;

	for (n = 0; n < 5; n++) {
		for (seed = 1; seed <= 2; seed++) {
			struct goal_fix_attr attr = {.faults = ALL_FAULTS,
						     .ranks_per_nic = 1 + (uint32_t)(seed + n) % 3,
						     .num_shards = 1 + n % 2};
			struct goal_fix fix;

			goal_fix_begin(&fix, seed, sizes[n], &attr);
			for (i = 0; i < fix.num; i++)
				barrier_graph(&fix, i);
			for (round = 0; round < 10; round++) {
				uint32_t run[GOAL_FIX_RANKS], last = round % fix.num;

				for (i = 0; i < fix.num; i++)
					if (i != last)
						run[i] = goal_fix_start(&fix, i, 0);
				sim_run_for(fix.sim, 300000);
				for (i = 0; i < fix.num; i++)
					FIX_CHECK(&fix, i == last || !weft_goal_test(
									 fix.rank[i].goal, run[i]));
				run[last] = goal_fix_start(&fix, last, 0);
				for (i = 0; i < fix.num; i++) {
					struct weft_goal_result result;

					FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
					FIX_CHECK(&fix, result.status == HW_GOAL_OK);
					FIX_CHECK(&fix, result.instance == round);
				}
			}
			goal_fix_end(&fix);
		}
	}
}

/* A sum up a chain of ranks, with vectors of other shapes and a scratchpad in between. */
static void reduction(void)
{
	enum {
		RANKS = 4,
		COUNT = 3000,
	};
	struct goal_fix_attr attr = {.faults = ALL_FAULTS, .unmapped = true};
	struct goal_fix fix;
	uint32_t i, k;

	goal_fix_begin(&fix, 3, RANKS, &attr);
	for (i = 0; i < RANKS; i++) {
		struct goal_graph *g = goal_graph_new(i, RANKS);
		struct goal_mem own[2] = {goal_fix_mem(&fix, i, 0, 8 * 1000),
					  goal_fix_mem(&fix, i, 8 * 1000, 8 * (COUNT - 1000))};
		struct goal_mem scratch = goal_fix_scratch(0, 8 * COUNT);
		struct goal_mem sum[3] = {goal_fix_mem(&fix, i, 32768, 8),
					  goal_fix_mem(&fix, i, 32776, 8 * 2000),
					  goal_fix_mem(&fix, i, 32776 + 16000, 8 * (COUNT - 2001))};
		const struct goal_mem *mems[3] = {own, &scratch, sum};
		const uint32_t nums[3] = {2, 1, 3};
		uint32_t from = GOAL_NO_VERTEX, send;
		int64_t add = -1;

		g->scratch_bytes = 8 * COUNT;
		if (i + 1 < RANKS) {
			from = goal_fix_recv(g, scratch, i + 1, 1);
			add = goal_graph_local(g, GOAL_LOCAL_ADD, GOAL_TYPE_UINT, 64, COUNT, mems,
					       nums);
			FIX_REQUIRE(&fix, add >= 0);
			goal_fix_after(g, from, (uint32_t)add);
		}
		if (i) {
			send = goal_fix_send(
			    g, goal_fix_mem(&fix, i, i + 1 < RANKS ? 32768 : 0, 8 * COUNT), i - 1,
			    1);
			if (add >= 0)
				goal_fix_after(g, (uint32_t)add, send);
		}
		for (k = 0; k < COUNT; k++) {
			uint64_t value = (uint64_t)k * (i + 1);

			memcpy(fix.rank[i].buf + 8 * k, &value, 8);
		}
		goal_fix_load(&fix, i, g);
	}
	for (k = 0; k < 3; k++) {
		uint64_t value;

		memset(fix.rank[0].buf + 32768, 0, 8 * COUNT);
		FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
		for (i = 0; i < COUNT; i++) {
			memcpy(&value, fix.rank[0].buf + 32768 + 8 * i, 8);
			FIX_CHECK(&fix, value == (uint64_t)i * 10);
		}
	}
	goal_fix_end(&fix);
}

/* Time stamps around a timer, and an operation that waits for another's start only. */
static void calcs_and_start_edges(void)
{
	struct goal_fix fix;
	struct goal_graph *g = goal_graph_new(0, 1);
	double stamp[3];
	int64_t calc, v[3];
	uint32_t i;

	goal_fix_begin(&fix, 1, 1, NULL);
	calc = goal_graph_calc(g, 1000000, 0);
	for (i = 0; i < 3; i++) {
		struct goal_mem mem = goal_fix_mem(&fix, 0, 8 * i, 8);
		const struct goal_mem *mems[3] = {NULL, NULL, &mem};
		const uint32_t nums[3] = {0, 0, 1};

		v[i] = goal_graph_local(g, GOAL_LOCAL_WTIME, GOAL_TYPE_FLOAT, 64, 1, mems, nums);
		FIX_REQUIRE(&fix, v[i] >= 0);
	}
	goal_fix_after(g, (uint32_t)v[0], (uint32_t)calc);
	goal_fix_after(g, (uint32_t)calc, (uint32_t)v[1]);
	FIX_REQUIRE(&fix, goal_graph_requires(g, (uint32_t)calc, (uint32_t)v[2], true) == 0);
	goal_fix_load(&fix, 0, g);
	FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
	memcpy(stamp, fix.rank[0].buf, sizeof(stamp));
	FIX_CHECK(&fix, stamp[1] - stamp[0] > 0.0009999 && stamp[1] - stamp[0] < 0.0011);
	FIX_CHECK(&fix, stamp[2] - stamp[0] >= 0 && stamp[2] - stamp[0] < 0.0001);
	goal_fix_end(&fix);
}

/* Small, eager and large messages of a rank to itself, in either order. */
static void to_oneself(uint32_t busy_ppm)
{
	static const uint64_t sizes[] = {1, 5000, 300000};
	uint32_t i, order;
	struct goal_fix_attr attr = {.bytes = 1 << 20, .unmapped = busy_ppm > 0};
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, &attr);
	sim_host_busy(fix.sim, busy_ppm);
	for (i = 0; i < 3; i++) {
		for (order = 0; order < (sizes[i] > 131072 ? 2 : 3); order++) {
			struct goal_graph *g = goal_graph_new(0, 2), *other = goal_graph_new(1, 2);
			uint32_t send = goal_fix_send(g, goal_fix_mem(&fix, 0, 0, sizes[i]), 0, 0);
			uint32_t recv =
			    goal_fix_recv(g, goal_fix_mem(&fix, 0, 524288, sizes[i]), 0, 0);
			int64_t calc = goal_graph_calc(g, 1000, 0);

			/*
			 * The receive is posted first, the send first, or the receive even after
			 * the send's end.
			 */
			goal_fix_after(g, (uint32_t)calc, order == 0 ? send : recv);
			if (order == 2)
				goal_fix_after(g, send, recv);
			(void)goal_graph_nop(other);
			goal_fix_load(&fix, 0, g);
			(void)goal_fix_recv(other, goal_fix_mem(&fix, 1, 0, 1), 1, 0);
			(void)goal_fix_send(other, goal_fix_mem(&fix, 1, 1, 1), 1, 0);
			goal_fix_load(&fix, 1, other);
			make_pattern(fix.rank[0].buf, sizes[i], order);
			FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
			FIX_CHECK(&fix, has_pattern(fix.rank[0].buf + 524288, sizes[i], order));
		}
	}
	goal_fix_end(&fix);
}

static void messages_to_oneself(void)
{
	to_oneself(0);
	to_oneself(200000);
}

/* Any source and any tag match in order of arrival. */
static void wildcards(void)
{
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = {.faults = ALL_FAULTS, .bytes = 1 << 21};
		static const uint64_t sizes[] = {10, 3000, 200000};
		uint32_t i, k, seen = 0;
		struct goal_fix fix;
		struct goal_graph *g = goal_graph_new(0, 4);

		goal_fix_begin(&fix, seed, 4, &attr);
		for (i = 0; i < 9; i++)
			goal_fix_recv(g, goal_fix_mem(&fix, 0, i * 200000, 200000), GOAL_RANK_ANY,
				      i % 2 ? GOAL_TAG_ANY : 4);
		goal_fix_load(&fix, 0, g);
		for (i = 1; i < 4; i++) {
			g = goal_graph_new(i, 4);
			for (k = 0; k < 3; k++) {
				make_pattern(fix.rank[i].buf + k * 200000, sizes[k], i * 4 + k);
				goal_fix_send(g, goal_fix_mem(&fix, i, k * 200000, sizes[k]), 0, 4);
			}
			goal_fix_load(&fix, i, g);
		}
		FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
		for (i = 0; i < 9; i++)
			for (k = 0; k < 12; k++)
				if (has_pattern(fix.rank[0].buf + i * 200000, sizes[k % 3],
						(k / 3 + 1) * 4 + k % 3) &&
				    k / 3 < 3)
					seen |= 1u << k;
		FIX_CHECK(&fix, seen == 0x1ff);
		goal_fix_end(&fix);
	}
}

UT_MAIN("sim/goal_run", UT(messages_without_faults), UT(messages_under_faults),
	UT(messages_of_unmapped_memory), UT(messages_of_slow_pages), UT(copies_of_a_turn),
	UT(sums_in_slow_pages), UT(runs_in_slow_pages), UT(messages_announced), UT(sends_end_soon),
	UT(chain_of_unexpected), UT(barriers), UT(reduction), UT(calcs_and_start_edges),
	UT(messages_to_oneself), UT(wildcards))
