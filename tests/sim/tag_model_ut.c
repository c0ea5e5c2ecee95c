/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of tagged messages judges histories: those of the sequential matcher are right, in
 * whatever order their completions come; those of matchers with a mistake are found out.
 */
#include "lib/prng.h"
#include "sim_harness/sim_tag_model.h"
#include "tests/ut.h"

enum {
	ENDS = 3, /* senders; the receiver is another end */
	STEPS = 300,
	LATER = 40, /* completions that are not reported yet */
	RUNS = 200,
};

enum mistake {
	NONE,
	SECOND_POSTED,  /* a message takes the second receive that fits */
	SECOND_ARRIVED, /* a receive takes the second message that fits */
	WRONG_TAG,
	OVERTAKE,      /* a pair's messages arrive in another order */
	CANCEL_PASSED, /* a receive that messages pass is withdrawn in the end */
};

struct told {
	struct sim_tag_op *op;
	struct sim_tag_msg *msg;
};

struct history {
	uint64_t prng;
	enum mistake mistake;
	struct sim_tag_model model;
	struct sim_tag_ref *ref;
	struct sim_tag_end *src[ENDS], *dst;
	struct sim_tag_msg *way[STEPS]; /* posted, not arrived */
	uint32_t num_way;
	struct told told[LATER];
	uint32_t num_told;
	bool wrong;
};

static struct history h;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(prng_next(&h.prng) % below);
}

static void tell_one(void)
{
	uint32_t i;

	if (!h.num_told || h.wrong)
		return;
	i = draw(h.num_told);
	if (!h.told[i].msg)
		h.wrong = !sim_tag_op_canceled(&h.model, h.told[i].op);
	else if (h.told[i].op->kind == SIM_TAG_PEEK)
		h.wrong = !sim_tag_op_saw(&h.model, h.told[i].op, h.told[i].msg);
	else
		h.wrong = !sim_tag_op_matched(&h.model, h.told[i].op, h.told[i].msg, true);
	h.told[i] = h.told[--h.num_told];
}

static void tell(struct sim_tag_op *op, struct sim_tag_msg *msg)
{
	if (h.num_told == LATER)
		tell_one();
	if (h.wrong)
		return;
	h.told[h.num_told++] = (struct told){op, msg};
}

static void send_one(void)
{
	struct sim_tag_msg *msg =
	    sim_tag_msg_post(&h.model, sim_tag_pair_get(&h.model, h.src[draw(ENDS)], h.dst));

	msg->tag = draw(4);
	msg->msg = draw(5) == 0;
	h.way[h.num_way++] = msg;
}

/* The first message of some sender arrives. */
static void arrive(void)
{
	uint32_t i = 0, k;
	struct sim_tag_msg *msg;
	struct sim_tag_op *op, *other;

	if (!h.num_way)
		return;
	k = draw(h.num_way);
	while (h.way[i]->pair != h.way[k]->pair)
		i++;
	if (h.mistake == OVERTAKE)
		i = k;
	msg = h.way[i];
	h.num_way--;
	memmove(&h.way[i], &h.way[i + 1], (h.num_way - i) * sizeof(h.way[0]));
	op = sim_tag_ref_arrive(h.ref, msg);
	if (op && h.mistake == SECOND_POSTED) {
		other = sim_tag_ref_arrive(h.ref, msg);
		/* The first receive is removed without a message, so it never completes. */
		op = other ? other : op;
	}
	if (!op)
		return;
	if (h.mistake == WRONG_TAG)
		op->tag ^= 1;
	tell(op, msg);
}

static void fill_want(struct sim_tag_op *op)
{
	const struct sim_tag_end *src = h.src[draw(ENDS)];
	static const uint64_t ignore[] = {0, 0, 1, UINT64_MAX};

	op->msg = draw(5) == 0;
	op->any_src = draw(3) == 0;
	op->src_ip = src->ip;
	op->src_qpn = src->qpn;
	op->tag = draw(4);
	op->ignore = ignore[draw(4)];
}

static void receive(void)
{
	struct sim_tag_op *op = sim_tag_op_post(&h.model, h.dst);
	struct sim_tag_msg *msg, *other;

	fill_want(op);
	if (draw(6) == 0) {
		op->kind = SIM_TAG_PEEK;
		msg = sim_tag_ref_peek(h.ref, op);
		if (msg)
			tell(op, msg);
		else
			h.wrong = h.wrong || !sim_tag_op_none(&h.model, op);
		return;
	}
	msg = sim_tag_ref_post(h.ref, op);
	if (msg && h.mistake == SECOND_ARRIVED && draw(2) == 0) {
		other = sim_tag_ref_post(h.ref, op);
		if (!other) {
			sim_tag_ref_cancel(h.ref, op);
		} else {
			/* The passed one is taken by the next that asks for it. */
			(void)sim_tag_ref_arrive(h.ref, msg);
			msg = other;
		}
	}
	if (msg)
		tell(op, msg);
}

static void cancel(void)
{
	struct sim_tag_op *op;

	if (!h.dst->num_ops)
		return;
	op = h.dst->ops[h.dst->num_ops - 1 - draw(h.dst->num_ops < 20 ? h.dst->num_ops : 20)];
	if (op->kind != SIM_TAG_RECV || op->cancel)
		return;
	sim_tag_op_cancel(&h.model, op);
	if (sim_tag_ref_cancel(h.ref, op))
		tell(op, NULL);
}

/* Receives for what is left, so that each message is matched. */
static void drain(void)
{
	uint32_t space;

	while (h.num_way)
		arrive();
	for (space = 0; space < 2; space++) {
		struct sim_tag_op *op;
		struct sim_tag_msg *msg;

		do {
			op = sim_tag_op_post(&h.model, h.dst);
			op->any_src = true;
			op->ignore = UINT64_MAX;
			op->msg = space;
			msg = sim_tag_ref_post(h.ref, op);
			if (msg)
				tell(op, msg);
		} while (msg);
	}
	while (h.num_told && !h.wrong)
		tell_one();
}

/* Receives that wait in the end are withdrawn. */
static void withdraw_all(void)
{
	uint32_t i;

	for (i = 0; i < h.dst->num_ops && !h.wrong; i++) {
		struct sim_tag_op *op = h.dst->ops[i];

		if (op->kind == SIM_TAG_PEEK || op->done)
			continue;
		sim_tag_op_cancel(&h.model, op);
		h.wrong = !sim_tag_op_canceled(&h.model, op);
	}
}

/* Returns true if the model finds no fault with it. */
static bool history_is_right(uint64_t seed, enum mistake mistake)
{
	bool right;
	uint32_t i;

	memset(&h, 0, sizeof(h));
	h.prng = seed;
	h.mistake = mistake;
	sim_tag_model_init(&h.model);
	h.ref = sim_tag_ref_new();
	h.dst = sim_tag_end_new(&h.model, 9, 9);
	for (i = 0; i < ENDS; i++)
		h.src[i] = sim_tag_end_new(&h.model, i + 1, 7);
	for (i = 0; i < STEPS && !h.wrong; i++) {
		switch (draw(8)) {
		case 0:
		case 1:
			send_one();
			break;
		case 2:
		case 3:
			arrive();
			break;
		case 4:
		case 5:
			receive();
			break;
		case 6:
			cancel();
			break;
		default:
			tell_one();
		}
	}
	drain();
	withdraw_all();
	right = !h.wrong && sim_tag_model_check(&h.model);
	if (!right && mistake == NONE)
		printf("\n    seed %llu: %s\n", (unsigned long long)seed, h.model.why);
	sim_tag_ref_free(h.ref);
	sim_tag_model_free(&h.model);
	return right;
}

/* Returns how many of RUNS histories the model thinks right. */
static uint32_t right_ones(enum mistake mistake)
{
	uint32_t right = 0;
	uint64_t seed;

	for (seed = 1; seed <= RUNS; seed++)
		right += history_is_right(seed, mistake);
	return right;
}

static void histories_of_the_matcher_are_right(void)
{
	CU_ASSERT_EQUAL(right_ones(NONE), RUNS);
}

static void mistakes_are_found(void)
{
	CU_ASSERT(right_ones(SECOND_POSTED) < RUNS / 20);
	CU_ASSERT(right_ones(SECOND_ARRIVED) < RUNS / 20);
	CU_ASSERT(right_ones(WRONG_TAG) < RUNS / 20);
	CU_ASSERT(right_ones(OVERTAKE) < RUNS / 20);
}

/* ---- single rules */

static struct sim_tag_model model;
static struct sim_tag_end *a, *b, *dst;

static void begin(void)
{
	sim_tag_model_init(&model);
	a = sim_tag_end_new(&model, 1, 1);
	b = sim_tag_end_new(&model, 2, 1);
	dst = sim_tag_end_new(&model, 3, 1);
}

static struct sim_tag_msg *msg_of(struct sim_tag_end *src)
{
	return sim_tag_msg_post(&model, sim_tag_pair_get(&model, src, dst));
}

static struct sim_tag_op *any_op(enum sim_tag_kind kind)
{
	struct sim_tag_op *op = sim_tag_op_post(&model, dst);

	op->kind = kind;
	op->any_src = true;
	return op;
}

/* Receives of two senders' messages, each of which passed the other's. */
static void cycles_of_senders_are_found(void)
{
	struct sim_tag_msg *a1, *a2, *b1, *b2;
	struct sim_tag_op *r[4];
	uint32_t i;

	begin();
	a1 = msg_of(a), a2 = msg_of(a), b1 = msg_of(b), b2 = msg_of(b);
	for (i = 0; i < 4; i++)
		r[i] = any_op(SIM_TAG_RECV);
	CU_ASSERT(sim_tag_op_matched(&model, r[0], a1, true));
	CU_ASSERT(sim_tag_op_matched(&model, r[1], b1, true));
	CU_ASSERT(sim_tag_op_matched(&model, r[2], a2, true));
	CU_ASSERT(sim_tag_op_matched(&model, r[3], b2, true));
	CU_ASSERT(sim_tag_model_check(&model));
	sim_tag_model_free(&model);
	/* a's first after b's second, and b's first after a's second */
	begin();
	a1 = msg_of(a), a2 = msg_of(a), b1 = msg_of(b), b2 = msg_of(b);
	a1->tag = b2->tag = 1;
	a2->tag = b1->tag = 2;
	for (i = 0; i < 4; i++)
		r[i] = any_op(SIM_TAG_RECV);
	r[0]->tag = r[1]->tag = 1;
	r[2]->tag = r[3]->tag = 2;
	CU_ASSERT(sim_tag_op_matched(&model, r[0], b2, true));
	CU_ASSERT(sim_tag_op_matched(&model, r[1], a1, true));
	CU_ASSERT(sim_tag_op_matched(&model, r[2], a2, true));
	CU_ASSERT(sim_tag_op_matched(&model, r[3], b1, true));
	CU_ASSERT_FALSE(sim_tag_model_check(&model));
	sim_tag_model_free(&model);
}

static void passed_receives_are_not_withdrawn(void)
{
	struct sim_tag_op *first, *second;

	begin();
	first = any_op(SIM_TAG_RECV);
	second = any_op(SIM_TAG_RECV);
	CU_ASSERT(sim_tag_op_matched(&model, second, msg_of(a), true));
	sim_tag_op_cancel(&model, first);
	CU_ASSERT_FALSE(sim_tag_op_canceled(&model, first));
	sim_tag_model_free(&model);
	/* Its cancellation may have come first. */
	begin();
	first = any_op(SIM_TAG_RECV);
	second = any_op(SIM_TAG_RECV);
	sim_tag_op_cancel(&model, first);
	CU_ASSERT(sim_tag_op_matched(&model, second, msg_of(a), true));
	CU_ASSERT(sim_tag_op_canceled(&model, first));
	CU_ASSERT_FALSE(sim_tag_op_canceled(&model, first));
	sim_tag_model_free(&model);
}

static void peeks_and_sends_are_judged(void)
{
	struct sim_tag_msg *m1, *m2;

	begin();
	m1 = msg_of(a), m2 = msg_of(a);
	CU_ASSERT(sim_tag_op_saw(&model, any_op(SIM_TAG_PEEK), m1));
	CU_ASSERT(sim_tag_op_none(&model, any_op(SIM_TAG_PEEK)));
	CU_ASSERT_FALSE(sim_tag_op_matched(&model, any_op(SIM_TAG_RECV), m1, true));
	sim_tag_model_free(&model);
	begin();
	m1 = msg_of(a), m2 = msg_of(a);
	CU_ASSERT(sim_tag_op_saw(&model, any_op(SIM_TAG_PEEK), m2));
	CU_ASSERT_FALSE(sim_tag_op_matched(&model, any_op(SIM_TAG_RECV), m1, true));
	sim_tag_model_free(&model);
	begin();
	m1 = msg_of(a);
	m1->waits = true;
	sim_tag_msg_sent(&model, m1, true);
	CU_ASSERT_FALSE(sim_tag_op_matched(&model, any_op(SIM_TAG_RECV), m1, true));
	sim_tag_model_free(&model);
}

static void buffers_of_several_messages_keep_their_order(void)
{
	struct sim_tag_msg *m1, *m2, *m3;
	struct sim_tag_op *multi, *next;

	begin();
	m1 = msg_of(a), m2 = msg_of(a), m3 = msg_of(a);
	multi = any_op(SIM_TAG_MULTI);
	next = any_op(SIM_TAG_RECV);
	CU_ASSERT(sim_tag_op_matched(&model, multi, m1, true));
	CU_ASSERT(sim_tag_op_matched(&model, next, m3, true));
	CU_ASSERT(sim_tag_op_matched(&model, multi, m2, true));
	CU_ASSERT(sim_tag_op_released(&model, multi));
	CU_ASSERT(sim_tag_model_check(&model));
	sim_tag_model_free(&model);
	begin();
	m1 = msg_of(a), m2 = msg_of(a), m3 = msg_of(a);
	multi = any_op(SIM_TAG_MULTI);
	next = any_op(SIM_TAG_RECV);
	CU_ASSERT(sim_tag_op_matched(&model, multi, m1, true));
	CU_ASSERT(sim_tag_op_matched(&model, next, m2, true));
	CU_ASSERT(sim_tag_op_matched(&model, multi, m3, true));
	CU_ASSERT_FALSE(sim_tag_op_released(&model, multi));
	sim_tag_model_free(&model);
}

UT_MAIN("sim/tag_model", UT(histories_of_the_matcher_are_right), UT(mistakes_are_found),
	UT(cycles_of_senders_are_found), UT(passed_receives_are_not_withdrawn),
	UT(peeks_and_sends_are_judged), UT(buffers_of_several_messages_keep_their_order))
