/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repeat against a model, over all patterns of a small window.
 *
 * A few messages of one packet each, in one to three flows, are captured on the wire. Every
 * subset of them arrives in every order, single packets twice; every subset of the ACKs is
 * lost; flows have receives for all, some or none of their messages. After each
 * arrival the ACK must say what the model of a receiver says; after the last one both ends
 * must have completed what the models say; then the network heals, receives are posted, and
 * everything must come exactly once, in order, with nothing resent that the sender knew to have
 * arrived. PSNs start just below 2^32, so that each pattern wraps somewhere.
 *
 * The models know nothing of windows, timers and chains: they are the rules of docs/wire-format.md
 * written down for whole histories.
 */
#include <stdlib.h>

#include "tests/pair/rd_pair.h"

enum {
	MAX_N = 8,
	MAX_ARRIVALS = MAX_N + 1,
	FLOWS = 3,
	MSG_BYTES = 8,
};

/* The fate of each packet, and of the receives that are posted. */
struct pattern {
	uint32_t n;
	uint8_t flow[MAX_N];
	uint8_t recvs[FLOWS]; /* posted at the start */
	uint32_t arrivals;
	uint8_t arrives[MAX_ARRIVALS]; /* index of the packet */
	uint32_t acks_lost;            /* bit per arrival */
};

enum fate {
	ABSENT,
	HELD,   /* early, has a receive */
	ROBBED, /* early, and its receive went to one before it */
	DONE,   /* delivered */
	REFUSED,
};

static struct rp rp;
static struct pattern p;
static enum fate fate[MAX_N]; /* the receiver as the model has it */
static uint8_t left[FLOWS];   /* receives that are not taken */
static uint8_t came[MAX_N];   /* packet numbers in order of delivery */
static uint32_t num_came;
static enum fate known[MAX_N]; /* the receiver as reported by the last ACK that arrived */
static uint32_t first_psn;
static uint32_t resent; /* bit per packet */
static bool capturing;
static uint64_t patterns;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* ---- the model of a receiver ------------------------------------------------------------- */

/* The packet before i in its flow, -1: none; and the one after it. */
static int before(uint32_t i)
{
	int j = (int)i - 1;

	while (j >= 0 && p.flow[j] != p.flow[i])
		j--;
	return j;
}

static int behind(uint32_t i)
{
	uint32_t j = i + 1;

	while (j < p.n && p.flow[j] != p.flow[i])
		j++;
	return j < p.n ? (int)j : -1;
}

/* Settles a packet in its turn, or for ever; then those that waited for it. */
static void model_turn(int i, bool refused)
{
	for (; i >= 0; i = behind((uint32_t)i)) {
		if (fate[i] == ABSENT)
			return;
		if (fate[i] == ROBBED)
			refused = true;
		fate[i] = refused ? REFUSED : DONE;
		if (!refused)
			came[num_came++] = (uint8_t)i;
	}
}

static void model_arrival(uint32_t i)
{
	int b = before(i), j, last = -1;

	if (fate[i] != ABSENT)
		return;
	if (b >= 0 && fate[b] == REFUSED) {
		fate[i] = REFUSED;
		model_turn(behind(i), true);
		return;
	}
	if (left[p.flow[i]]) {
		left[p.flow[i]]--;
		fate[i] = HELD;
		if (b < 0 || fate[b] == DONE)
			model_turn((int)i, false);
		return;
	}
	if (b >= 0 && fate[b] != DONE)
		return; /* as if it had not arrived */
	/* In order, without a receive: the last one after it gives up its receive. */
	for (j = behind(i); j >= 0; j = behind((uint32_t)j))
		if (fate[j] == HELD)
			last = j;
	fate[i] = HELD;
	if (last >= 0)
		fate[last] = ROBBED;
	model_turn((int)i, last < 0);
}

static void check_ack(const struct rp_info *info)
{
	uint64_t received = 0, want[4] = {0};
	uint32_t cum = 0, i;

	while (cum < p.n && fate[cum] != ABSENT)
		cum++;
	for (i = cum; i < p.n; i++)
		if (fate[i] != ABSENT)
			received |= UINT64_C(1) << (i - cum);
	for (i = 0; i < p.n; i++)
		if (fate[i] == REFUSED) {
			uint32_t bit = WIRE_RD_WINDOW + i - cum;

			want[bit / 64] |= UINT64_C(1) << (bit % 64);
		}
	CU_ASSERT_EQUAL(be32_get(info->rd->ack), first_psn + cum);
	CU_ASSERT_EQUAL(be64_get(info->ack->received[0]), received);
	CU_ASSERT_EQUAL(be64_get(info->ack->received[1]), 0);
	for (i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(be64_get(info->ack->refused[i]), want[i]);
}

/* ---- the model of a sender --------------------------------------------------------------- */

/* The requests of a flow complete as far as all of them were received and none was refused. */
static bool model_completes(uint32_t i)
{
	int j;

	for (j = (int)i; j >= 0; j = before((uint32_t)j))
		if (known[j] == ABSENT || known[j] == REFUSED)
			return false;
	return true;
}

/* ---- the wire ---------------------------------------------------------------------------- */

static enum bench_verdict wire(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from == 1)
		return info->type == WIRE_DGRAM_RD_ACK && capturing ? BENCH_KEEP : BENCH_PASS;
	if (info->type != WIRE_DGRAM_RD)
		return BENCH_PASS;
	if (capturing)
		return BENCH_KEEP;
	if (info->psn - first_psn < p.n)
		resent |= 1u << (info->psn - first_psn);
	return BENCH_PASS;
}

static uint32_t sent_in[FLOWS];

static void post_all(void)
{
	uint32_t i, f;

	memset(sent_in, 0, sizeof(sent_in));
	for (f = 0; f < FLOWS; f++)
		for (i = 0; i < p.recvs[f]; i++)
			rp_recv(&rp, 1, B->qp[f], f, 1000 * (f + 1) + i * MSG_BYTES, MSG_BYTES);
	for (i = 0; i < p.n; i++) {
		struct rp_req req = {.opcode = HW_WQE_SEND_IMM,
				     .wr_id = i,
				     .bytes = MSG_BYTES,
				     .offset = i * MSG_BYTES,
				     .imm = i,
				     .dst = B->qp[p.flow[i]]};

		rp_req(&rp, 0, A->qp[p.flow[i]], &req);
		rp_poll(&rp, 0);
		sent_in[p.flow[i]]++;
	}
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, p.n);
}

/* Completions at the receiver must be those of the model from the *at-th on. */
static void check_recvs(uint32_t *at)
{
	struct hw_cqe cqe;

	for (; *at < num_came; ++*at) {
		CU_ASSERT_FATAL(rp_rcqe(&rp, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.imm_inv, came[*at]);
	}
	CU_ASSERT_FALSE(rp_rcqe(&rp, 1, &cqe));
}

static void deliver_all(void)
{
	struct rd_session *s = rp_session(&rp, 1);
	uint32_t k, at = 0;

	for (k = 0; k < p.arrivals; k++) {
		struct rp_info ack;

		bench_wire_deliver(&rp.wire, p.arrives[k]);
		model_arrival(p.arrives[k]);
		s->answers = false;
		rp_poll(&rp, 1);
		/* Also for packets that arrived before, and for those that could not be kept. */
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, p.n + 1);
		ack = rp_info_of(&rp.wire.kept[p.n], 1);
		check_ack(&ack);
		check_recvs(&at);
		if (!(p.acks_lost >> k & 1)) {
			memcpy(known, fate, sizeof(known));
			bench_wire_deliver(&rp.wire, p.n);
			rp_poll(&rp, 0);
		}
		free(rp.wire.kept[--rp.wire.num_kept].b);
	}
}

/* Checks the requests that the sender must have completed by now. */
static uint32_t check_sends(void)
{
	bool is_done[MAX_N] = {false};
	struct hw_cqe cqe;
	uint32_t i, mask = 0;

	while (rp_scqe(&rp, 0, &cqe)) {
		CU_ASSERT_FATAL(cqe.wr_id < p.n);
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		is_done[cqe.wr_id] = true;
		mask |= 1u << cqe.wr_id;
	}
	for (i = 0; i < p.n; i++)
		CU_ASSERT_EQUAL(is_done[i], model_completes(i));
	return mask;
}

/* The network heals: all packets arrive once and in order. */
static void heal(uint32_t completed)
{
	int next[FLOWS] = {-1, -1, -1};
	uint32_t i, f, total = num_came;
	struct hw_cqe cqe;

	for (i = 0; i < num_came; i++)
		next[p.flow[came[i]]] = came[i];
	for (f = 0; f < FLOWS; f++)
		for (i = p.recvs[f]; i < sent_in[f]; i++)
			rp_recv(&rp, 1, B->qp[f], f, 1000 * (f + 1) + i * MSG_BYTES, MSG_BYTES);
	capturing = false;
	resent = 0;
	rp_run(&rp, 3000000);
	while (rp_rcqe(&rp, 1, &cqe)) {
		i = cqe.imm_inv;
		CU_ASSERT_FATAL(i < p.n);
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(before(i), next[p.flow[i]]);
		next[p.flow[i]] = (int)i;
		total++;
	}
	CU_ASSERT_EQUAL(total, p.n);
	while (rp_scqe(&rp, 0, &cqe)) {
		CU_ASSERT_FATAL(cqe.wr_id < p.n);
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(completed >> cqe.wr_id & 1, 0);
		completed |= 1u << cqe.wr_id;
		/* In the order of the flow. */
		CU_ASSERT_TRUE(before((uint32_t)cqe.wr_id) < 0 ||
			       completed >> before((uint32_t)cqe.wr_id) & 1);
	}
	CU_ASSERT_EQUAL(completed, (1u << p.n) - 1);
	for (i = 0; i < p.n; i++) {
		if (known[i] != ABSENT)
			CU_ASSERT_EQUAL(resent >> i & 1, 0);
		if (fate[i] == ABSENT)
			CU_ASSERT_EQUAL(resent >> i & 1, 1);
	}
}

/* Both ends are idle: the PSNs of the next pattern wrap at another place. */
static void place_psns(void)
{
	struct rd_session *a = rp_session(&rp, 0), *b = rp_session(&rp, 1);

	CU_ASSERT_PTR_NULL_FATAL(a->tx);
	CU_ASSERT_PTR_NULL_FATAL(b->rx);
	first_psn = 0u - (uint32_t)(patterns % (p.n + 1));
	a->tx_psn = a->tx_una = first_psn;
	b->rx_psn = b->rx_high = first_psn;
	memset(&b->received, 0, sizeof(b->received));
	memset(&b->delivered, 0, sizeof(b->delivered));
	memset(&b->refused, 0, sizeof(b->refused));
	b->any_refused = false;
	b->rnr_timer_ns = 0;
	rd_cong_init(A->nic, a);
	a->rtt.srtt_ns = 100000;
	a->rtt.var_ns = 10000;
}

static void one(void)
{
	uint32_t failures = CU_get_number_of_failures();
	uint32_t i;

	place_psns();
	memset(fate, 0, sizeof(fate));
	memset(known, 0, sizeof(known));
	memcpy(left, p.recvs, sizeof(left));
	num_came = 0;
	capturing = true;
	post_all();
	deliver_all();
	heal(check_sends());
	bench_wire_forget(&rp.wire);
	patterns++;
	if (CU_get_number_of_failures() == failures)
		return;
	fprintf(stderr, "\npattern %llu: flows", (unsigned long long)patterns - 1);
	for (i = 0; i < p.n; i++)
		fprintf(stderr, " %u", p.flow[i]);
	fprintf(stderr, "; receives %u %u %u; arrive", p.recvs[0], p.recvs[1], p.recvs[2]);
	for (i = 0; i < p.arrivals; i++)
		fprintf(stderr, " %u%s", p.arrives[i], p.acks_lost >> i & 1 ? " (ACK lost)" : "");
	fputc('\n', stderr);
	CU_FAIL_FATAL("the first pattern that failed is printed");
}

/* ---- all patterns ------------------------------------------------------------------------ */

enum acks {
	EVERY_SUBSET, /* of the ACKs is lost */
	ALL_OR_NONE,
};

static void all_acks(enum acks acks)
{
	uint32_t end = 1u << p.arrivals;

	for (p.acks_lost = 0; p.acks_lost < end; p.acks_lost++)
		if (acks == EVERY_SUBSET || !p.acks_lost || p.acks_lost == end - 1)
			one();
}

/* A copy of each packet that has arrived, at each later place. */
static void all_duplicates(void)
{
	struct pattern base = p;
	uint32_t i, at;

	for (i = 0; i < base.arrivals; i++)
		for (at = i + 1; at <= base.arrivals; at++) {
			p = base;
			memmove(p.arrives + at + 1, base.arrives + at, base.arrivals - at);
			p.arrives[at] = base.arrives[i];
			p.arrivals++;
			all_acks(ALL_OR_NONE);
		}
	p = base;
}

/* All orders of all subsets that begin with the packets in p.arrives. */
static void all_orders(uint32_t used, enum acks acks, bool duplicates)
{
	uint32_t i;

	if (duplicates)
		all_duplicates();
	else
		all_acks(acks);
	for (i = 0; i < p.n; i++) {
		if (used >> i & 1)
			continue;
		p.arrives[p.arrivals++] = (uint8_t)i;
		all_orders(used | 1u << i, acks, duplicates);
		p.arrivals--;
	}
}

/*
 * All ways to put packets from i on into flows, some of which are in use; numbered in order of use.
 */
static void all_flows(uint32_t i, uint32_t flows, enum acks acks, bool duplicates)
{
	uint32_t f, ready;

	if (i < p.n) {
		for (f = 0; f <= flows && f < FLOWS; f++) {
			p.flow[i] = (uint8_t)f;
			all_flows(i + 1, f == flows ? flows + 1 : flows, acks, duplicates);
		}
		return;
	}
	/* Each flow has receives for all of its messages, or for none. */
	for (ready = 0; ready < 1u << flows; ready++) {
		memset(p.recvs, 0, sizeof(p.recvs));
		for (f = 0; f < p.n; f++)
			if (ready >> p.flow[f] & 1)
				p.recvs[p.flow[f]]++;
		p.arrivals = 0;
		all_orders(0, acks, duplicates);
	}
}

static void begin(void)
{
	struct hw_qp_attr attr = {.min_rnr_timer = 1};
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	for (i = 0; i < 2; i++)
		rp_rts(&rp, i, rp_qp(&rp, i, HW_QPT_RD, 4));
	for (i = 0; i < FLOWS; i++)
		CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[i], HW_QPS_RTS, HW_QP_MIN_RNR_TIMER, &attr),
				0);
	rp.filter = wire;
	memset(&p, 0, sizeof(p));
	patterns = 0;
}

static void end(uint64_t expected)
{
	CU_ASSERT_EQUAL(patterns, expected);
	rp_end(&rp);
}

/* One flow of five packets: every order, every subset of ACKs lost, any number of receives. */
static void one_flow(void)
{
	uint8_t recvs;

	begin();
	for (recvs = 0; recvs <= 5; recvs++) {
		p.n = 5;
		p.recvs[0] = recvs;
		p.arrivals = 0;
		all_orders(0, EVERY_SUBSET, false);
	}
	/* The sum over k of 5!/(5-k)! * 2^k, for each number of receives. */
	end(6 * 6331);
}

/* Four packets in up to three flows, some of which are not ready. */
static void several_flows(void)
{
	begin();
	p.n = 4;
	all_flows(0, 0, EVERY_SUBSET, false);
	end(78 * 633);
}

/* The same with one packet twice. */
static void duplicates(void)
{
	begin();
	p.n = 4;
	all_flows(0, 0, ALL_OR_NONE, true);
	/* The sum over k of 4!/(4-k)! * k(k+1)/2. */
	end(78 * 424 * 2);
}

/* Eight packets in order; each is lost, or its ACK is lost, or neither: all 6561 patterns. */
static void eight(void)
{
	uint32_t flows, code, i, rest;

	begin();
	for (flows = 1; flows <= FLOWS; flows++)
		for (code = 0; code < 6561; code++) {
			memset(&p, 0, sizeof(p));
			p.n = 8;
			for (i = 0, rest = code; i < 8; i++, rest /= 3) {
				p.flow[i] = (uint8_t)(i % flows);
				p.recvs[p.flow[i]]++;
				if (rest % 3 == 0)
					continue;
				if (rest % 3 == 1)
					p.acks_lost |= 1u << p.arrivals;
				p.arrives[p.arrivals++] = (uint8_t)i;
			}
			one();
		}
	end(3 * 6561);
}

UT_MAIN("pair/rd_model", UT(one_flow), UT(several_flows), UT(duplicates), UT(eight))
