/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that all exchange tagged messages with all: content, order of each pair, sources.
 * tests/int/tag.sh.
 *
 *	tag_crowd RANKS ROUNDS SEED [--kill] NIC ...
 *
 * Rank r uses NIC r modulo their number. In each round a rank sends MESSAGES messages of random
 * sizes to each other rank: half with the pair's tag, received from that source alone, half with a
 * tag that is received from any source; receives and sends are posted in random turn. A message
 * holds its rank and its number in the pair's order, so that the receiver, which knows the order of
 * its receives, finds any that overtook.
 *
 * --kill: when a round is over the last rank kills itself, with messages waiting, and long ones
 * moving, to and from each other rank. All requests of the others end, and they do another round.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/prng.h"
#include "tests/int/tag_end.h"

enum {
	RANKS_MAX = 16,
	MESSAGES = 12, /* of each kind, to each rank */
	MAX_BYTES = 100000,
	KINDS = 2, /* messages of the pair's tag; messages to any source */
	ANY_KIND = 1,
	TAG_PAIR = 1,
	TAG_ANY = 2,
	/* The last act: messages that wait for a receive, and messages that move. */
	TAG_LAST = 3,
	TAG_MOVE = 4,
	LAST_ACT = 4, /* requests of each kind to the rank that dies */
	LAST_BYTES = 70000,
	MOVE_BYTES = 1000000,
};

struct shared {
	uint32_t ip[RANKS_MAX], qpn[RANKS_MAX];
	uint32_t arrived; /* at the barrier; atomic */
	uint32_t ready;   /* for the last act; atomic */
};

struct crowd {
	struct shared *shared;
	int rank, ranks;
	struct tag_end e;
	struct tag_peer peer[RANKS_MAX];
	uint64_t prng;
	uint32_t barriers; /* so far */
	/* Places in memory: receives of each kind and rank, then sends. */
	uint32_t *got_bytes; /* of each receive */
	uint32_t *got_qpn;
};

static void barrier(struct crowd *c, int ranks)
{
	double end = clock_now_s() + TAG_END_LIMIT_S;

	__atomic_add_fetch(&c->shared->arrived, 1, __ATOMIC_ACQ_REL);
	c->barriers += (uint32_t)ranks;
	while (__atomic_load_n(&c->shared->arrived, __ATOMIC_ACQUIRE) < c->barriers) {
		if (clock_now_s() > end)
			host_die("rank %d: the others do not come", c->rank);
		sched_yield();
	}
}

static uint32_t receives_of(const struct crowd *c)
{
	return (uint32_t)c->ranks * KINDS * MESSAGES;
}

static size_t tx_at(const struct crowd *c, uint32_t i)
{
	return ((size_t)receives_of(c) + i) * MAX_BYTES;
}

/* A message's first words: rank, kind, number in the order of its pair and kind. */
static uint64_t seed_of(int rank, uint32_t kind, uint32_t round, uint32_t number)
{
	return (uint64_t)rank << 48 | (uint64_t)kind << 40 | (uint64_t)round << 20 | number;
}

static uint32_t random_bytes(struct crowd *c)
{
	static const uint32_t limit[] = {1, 64, 1500, 16384, 16385, MAX_BYTES};
	uint32_t most = limit[prng_below(&c->prng, sizeof(limit) / sizeof(limit[0]))];

	return 8 + (uint32_t)prng_below(&c->prng, most > MAX_BYTES - 8 ? MAX_BYTES - 7 : most);
}

static void post_recv(struct crowd *c, uint32_t i)
{
	uint32_t kind = i / ((uint32_t)c->ranks * MESSAGES);
	int rank = (int)(i / MESSAGES % (uint32_t)c->ranks);

	if (kind == ANY_KIND)
		tag_end_recv(&c->e, NULL, (size_t)i * MAX_BYTES, MAX_BYTES, TAG_ANY, 0, 0, i);
	else
		tag_end_recv(&c->e, &c->peer[rank], (size_t)i * MAX_BYTES, MAX_BYTES, TAG_PAIR, 0,
			     0, i);
}

/* The content begins with its own seed. */
static void post_send(struct crowd *c, uint32_t round, uint32_t i)
{
	uint32_t kind = i / ((uint32_t)c->ranks * MESSAGES), number = i % MESSAGES;
	int rank = (int)(i / MESSAGES % (uint32_t)c->ranks);
	char *p = c->e.h.mem + tx_at(c, i);
	uint64_t seed = seed_of(c->rank, kind, round, number);
	uint32_t bytes = random_bytes(c);

	memcpy(p, &seed, 8);
	tag_end_fill(p + 8, bytes - 8, seed);
	tag_end_send(&c->e, &c->peer[rank], tx_at(c, i), bytes,
		     kind == ANY_KIND ? TAG_ANY : TAG_PAIR,
		     prng_below(&c->prng, 4) ? 0 : WEFT_TAG_SYNC, i);
}

static void take(struct crowd *c, uint32_t *sent, uint32_t *received)
{
	struct weft_wc wc;

	while (tag_end_poll(c->e.send_cq, &wc)) {
		tag_end_ok(wc);
		++*sent;
	}
	while (tag_end_poll(c->e.recv_cq, &wc)) {
		tag_end_ok(wc);
		host_check(wc.wr_id < receives_of(c) && wc.bytes == wc.msg_bytes && wc.bytes >= 8);
		host_check(!c->got_bytes[wc.wr_id]);
		c->got_bytes[wc.wr_id] = wc.bytes;
		c->got_qpn[wc.wr_id] = wc.src_qpn;
		++*received;
	}
}

/* Looks at all receives in the order of posting: each pair's numbers come in their order. */
static void check_round(struct crowd *c, int ranks, uint32_t round)
{
	uint32_t next[KINDS][RANKS_MAX] = {{0}};
	uint32_t each = (uint32_t)c->ranks * MESSAGES;

	for (uint32_t i = 0; i < receives_of(c); i++) {
		const char *p = c->e.h.mem + (size_t)i * MAX_BYTES;
		uint32_t kind = i / each, from;
		uint64_t seed;

		if (!c->got_bytes[i])
			continue;
		memcpy(&seed, p, 8);
		from = (uint32_t)(seed >> 48);
		host_check(from < (uint32_t)ranks && from != (uint32_t)c->rank);
		host_check(c->got_qpn[i] == c->peer[from].qpn);
		host_check(kind == ANY_KIND || from == i / MESSAGES % (uint32_t)c->ranks);
		host_check(seed == seed_of((int)from, kind, round, next[kind][from]));
		next[kind][from]++;
		tag_end_check(p + 8, c->got_bytes[i] - 8, seed);
	}
	for (int from = 0; from < ranks; from++)
		for (uint32_t kind = 0; kind < KINDS; kind++)
			host_check(next[kind][from] == (from == c->rank ? 0 : MESSAGES));
}

/* ranks: those that take part. */
static void play_round(struct crowd *c, int ranks, uint32_t round)
{
	uint32_t n = receives_of(c), sends = 0, recvs = 0, sent = 0, received = 0;
	uint32_t want = (uint32_t)(ranks - 1) * MESSAGES * KINDS;
	double end = clock_now_s() + TAG_END_LIMIT_S;

	memset(c->got_bytes, 0, n * sizeof(*c->got_bytes));
	while (sends < n || recvs < n || sent < want || received < want) {
		/* Runs of one kind, so that many messages, or many receives, wait. */
		uint32_t run = (uint32_t)prng_below(&c->prng, 20);
		bool send = prng_below(&c->prng, 2);

		for (; run; run--) {
			uint32_t *i = send ? &sends : &recvs;
			int rank = (int)(*i / MESSAGES % (uint32_t)c->ranks);

			if (*i == n)
				break;
			if (rank != c->rank && rank < ranks) {
				if (send)
					post_send(c, round, *i);
				else
					post_recv(c, *i);
			}
			++*i;
		}
		take(c, &sent, &received);
		if (clock_now_s() > end)
			host_die("rank %d round %u: %u of %u sends, %u receives", c->rank, round,
				 sent, want, received);
	}
	check_round(c, ranks, round);
}

static void send_last(struct crowd *c, const struct tag_peer *to, uint64_t tag, size_t bytes)
{
	for (int i = 0; i < LAST_ACT; i++)
		tag_end_send(&c->e, to, tx_at(c, 0), bytes, tag, 0, tag);
}

/* Messages arrive on top of each other: their content does not count. */
static void recv_move(struct crowd *c, const struct tag_peer *from, uint32_t *number)
{
	for (int i = 0; i < LAST_ACT; i++)
		number[i] = tag_end_recv(&c->e, from, 0, MOVE_BYTES, TAG_MOVE, 0, 0, TAG_MOVE);
}

/* The last rank dies while long messages move in both directions and others wait. */
static void die_busy(struct crowd *c)
{
	uint32_t number[LAST_ACT];
	int r;

	for (r = 0; r < c->ranks - 1; r++)
		recv_move(c, &c->peer[r], number);
	barrier(c, c->ranks);
	tag_end_await_unexpected(&c->e, (uint32_t)(c->ranks - 1) * LAST_ACT);
	barrier(c, c->ranks);
	for (r = 0; r < c->ranks - 1; r++) {
		send_last(c, &c->peer[r], TAG_LAST, LAST_BYTES);
		send_last(c, &c->peer[r], TAG_MOVE, MOVE_BYTES);
	}
	kill(getpid(), SIGKILL);
}

/* Completes: with an error if it waited, any way if its message moved. */
static void expect_end(struct crowd *c, struct weft_cq *cq)
{
	struct weft_wc wc = tag_end_wait(cq, "a request to a process that died");

	host_check(wc.wr_id == TAG_MOVE || (wc.wr_id == TAG_LAST && wc.status != WEFT_WC_SUCCESS));
	host_check(wc.qpn == c->e.qpn);
}

static void outlive(struct crowd *c)
{
	const struct tag_peer *dying = &c->peer[c->ranks - 1];
	uint32_t number[2 * LAST_ACT];
	int i;

	recv_move(c, dying, number);
	barrier(c, c->ranks);
	send_last(c, dying, TAG_LAST, LAST_BYTES);
	barrier(c, c->ranks);
	send_last(c, dying, TAG_MOVE, MOVE_BYTES);
	for (i = 0; i < 2 * LAST_ACT; i++)
		expect_end(c, c->e.send_cq);
	/* Its waiting messages had arrived, or not: receives that match them fail, the others wait.
	 */
	for (i = 0; i < LAST_ACT; i++)
		number[LAST_ACT + i] =
		    tag_end_recv(&c->e, dying, 0, MAX_BYTES, TAG_LAST, 0, 0, TAG_LAST);
	for (i = 0; i < 2 * LAST_ACT; i++)
		host_check(weft_tag_cancel(c->e.ep, number[i]) == 0);
	for (i = 0; i < 2 * LAST_ACT; i++)
		expect_end(c, c->e.recv_cq);
}

static void open_rank(struct crowd *c, const char *nic)
{
	size_t bytes = 2 * (size_t)receives_of(c) * MAX_BYTES;

	tag_end_open(&c->e, nic, bytes, 0);
	c->got_bytes = calloc(receives_of(c), sizeof(*c->got_bytes));
	c->got_qpn = calloc(receives_of(c), sizeof(*c->got_qpn));
	host_check(c->got_bytes && c->got_qpn);
	c->shared->ip[c->rank] = c->e.ip;
	c->shared->qpn[c->rank] = c->e.qpn;
	barrier(c, c->ranks);
	for (int r = 0; r < c->ranks; r++)
		c->peer[r] = tag_end_peer(&c->e, c->shared->ip[r], c->shared->qpn[r]);
}

static void rank_main(struct crowd *c, const char *nic, uint32_t rounds, uint64_t seed, bool kills)
{
	c->prng = seed + (uint64_t)c->rank;
	open_rank(c, nic);
	for (uint32_t round = 0; round < rounds; round++) {
		play_round(c, c->ranks, round);
		barrier(c, c->ranks);
	}
	if (kills) {
		if (c->rank == c->ranks - 1)
			die_busy(c);
		outlive(c);
		barrier(c, c->ranks - 1);
		play_round(c, c->ranks - 1, rounds);
		barrier(c, c->ranks - 1);
	}
	for (int r = 0; r < c->ranks; r++)
		host_check(weft_destroy_ah(c->peer[r].ah) == 0);
	tag_end_close(&c->e);
	free(c->got_bytes);
	free(c->got_qpn);
	exit(0);
}

int main(int argc, char **argv)
{
	struct crowd c = {.rank = 0};
	bool kills = argc > 4 && !strcmp(argv[4], "--kill");
	int first = kills ? 5 : 4, bad = 0;
	pid_t pid[RANKS_MAX];

	if (argc <= first || atoi(argv[1]) < 2 || atoi(argv[1]) > RANKS_MAX)
		host_die("usage: tag_crowd RANKS ROUNDS SEED [--kill] NIC ...");
	c.ranks = atoi(argv[1]);
	c.shared = mmap(NULL, sizeof(*c.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	host_check(c.shared != MAP_FAILED);
	for (c.rank = 0; c.rank < c.ranks; c.rank++) {
		pid[c.rank] = fork();
		host_check(pid[c.rank] >= 0);
		if (!pid[c.rank])
			rank_main(&c, argv[first + c.rank % (argc - first)],
				  (uint32_t)atoi(argv[2]), strtoull(argv[3], NULL, 0), kills);
	}
	for (int r = 0; r < c.ranks; r++) {
		bool dies = kills && r == c.ranks - 1;
		int status;

		host_check(waitpid(pid[r], &status, 0) == pid[r]);
		if (dies ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL
			 : !WIFEXITED(status) || WEXITSTATUS(status))
			bad++;
	}
	return bad ? 1 : 0;
}
