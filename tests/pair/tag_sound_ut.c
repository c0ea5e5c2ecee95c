/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Envelopes of tagged messages: each kind with all its fields right, and with each field wrong in
 * turn, as a packet comes and again when its turn is there, as its bytes may have changed in the
 * memory of a process of this machine.
 */
#include "nic_fw/rdmap/rdmap.h"
#include "tests/pair/tag_pair.h"

enum {
	ENVELOPE = sizeof(struct wire_tag),
	SINK = STAG_SINK_FLAG | 5,
	ROOM = 4096,
};

static struct tp tp;
static uint8_t data[ROOM];
static struct fw_rx_frame frame;
static struct wire_tag env;
static struct rdmap_seg pkt;

#define NIC (tp.rp.end[1].nic)

/* A packet of a kind that nothing is wrong with. */
static void good(enum wire_tag_kind kind)
{
	memset(&env, 0, sizeof(env));
	env.kind = (uint8_t)kind;
	env.bytes = be32_put(100);
	env.stag = be32_put(SINK);
	frame = (struct fw_rx_frame){.bytes = ROOM, .num_seg = 1, .seg = {{data, ROOM}}};
	pkt = (struct rdmap_seg){.frame = &frame,
				 .src_ip = tp.rp.end[0].nic->config.ip,
				 .src_qpn = tp.qp[0]->qpn,
				 .dst_qpn = tp.qp[1]->qpn,
				 .opcode = WIRE_RDMAP_SEND,
				 .msg_bytes = ENVELOPE,
				 .data_bytes = ENVELOPE,
				 .last = true};
	if (kind == WIRE_TAG_EAGER)
		pkt.msg_bytes = pkt.data_bytes = ENVELOPE + 100;
	if (kind == WIRE_TAG_RTS)
		env.handle = be32_put(7);
	if (kind == WIRE_TAG_DONE || kind == WIRE_TAG_RTR)
		pkt.flags = WIRE_DGRAM_F_RESPONSE;
}

/* The packet is refused with an error of the peer's, at both places, and counted. */
static void bad(void)
{
	uint64_t before = NIC->counters.tag_malformed;
	struct rdmap_error error = {0};

	memcpy(data, &env, ENVELOPE);
	CU_ASSERT_EQUAL(tag_rx_place(NIC, tp.qp[1], &pkt, true, &error), RDMAP_ERROR);
	CU_ASSERT_EQUAL(error.layer_etype, RDMAP_OPERATION);
	CU_ASSERT_EQUAL(NIC->counters.tag_malformed, before + 1);
}

static void bad_when_finished(void)
{
	uint64_t before = NIC->counters.tag_malformed;
	struct rdmap_error error = {0};

	memcpy(data, &env, ENVELOPE);
	CU_ASSERT_EQUAL(tag_rx_finish(NIC, tp.qp[1], &pkt, NULL, &error), RDMAP_ERROR);
	CU_ASSERT_EQUAL(tag_rx_finish(NIC, tp.qp[1], &pkt, (const uint8_t *)&env, &error),
			RDMAP_ERROR);
	CU_ASSERT_EQUAL(NIC->counters.tag_malformed, before + 2);
}

static void right(enum wire_tag_kind kind)
{
	uint64_t before = NIC->counters.tag_malformed;
	struct rdmap_error error = {0};

	good(kind);
	memcpy(data, &env, ENVELOPE);
	CU_ASSERT_EQUAL(tag_rx_place(NIC, tp.qp[1], &pkt, true, &error), RDMAP_OK);
	CU_ASSERT_EQUAL(NIC->counters.tag_malformed, before);
}

#define WRONG(kind, what)                                                                          \
	do {                                                                                       \
		good(kind);                                                                        \
		what;                                                                              \
		bad();                                                                             \
		bad_when_finished();                                                               \
	} while (0)

/* Fields that are the same in each kind. */
static void any_kind(void)
{
	tp_begin(&tp);
	for (int kind = WIRE_TAG_RTS; kind <= WIRE_TAG_NACK; kind++) {
		right((enum wire_tag_kind)kind);
		WRONG((enum wire_tag_kind)kind, env.reserved = 1);
		WRONG((enum wire_tag_kind)kind, env.flags = WIRE_TAG_F_ALL + 1);
		WRONG((enum wire_tag_kind)kind, env.kind = 0);
		WRONG((enum wire_tag_kind)kind, env.kind = WIRE_TAG_NACK + 1);
		WRONG((enum wire_tag_kind)kind, pkt.msg_bytes++);
		WRONG((enum wire_tag_kind)kind, pkt.last = false);
		good((enum wire_tag_kind)kind);
		pkt.data_bytes++;
		bad();
		good((enum wire_tag_kind)kind);
		pkt.opcode = WIRE_RDMAP_SEND_INVALIDATE;
		bad();
		good((enum wire_tag_kind)kind);
		pkt.msg_bytes = ENVELOPE - 1;
		bad();
		bad_when_finished();
		good((enum wire_tag_kind)kind);
		pkt.data_bytes = ENVELOPE - 1;
		bad();
	}
	tp_end(&tp);
}

static void each_kind(void)
{
	tp_begin(&tp);
	WRONG(WIRE_TAG_RTS, pkt.flags = WIRE_DGRAM_F_RESPONSE);
	WRONG(WIRE_TAG_RTS, env.handle = be32_put(0));
	WRONG(WIRE_TAG_RTS, env.stag = be32_put(5));
	WRONG(WIRE_TAG_RTS, env.flags = WIRE_TAG_F_SYNC);
	WRONG(WIRE_TAG_RTS, env.bytes = be32_put(HW_MAX_MSG_BYTES + 1u));

	WRONG(WIRE_TAG_DONE, pkt.flags = 0);
	WRONG(WIRE_TAG_DONE, env.status = HW_STATUS_CODES);

	/* A receive is announced in a response; one that is withdrawn is no response. */
	WRONG(WIRE_TAG_RTR, pkt.flags = 0);
	WRONG(WIRE_TAG_RTR, env.status = WIRE_TAG_RTR_WITHDRAWN);
	WRONG(WIRE_TAG_RTR, env.stag = be32_put(5));
	WRONG(WIRE_TAG_RTR, (env.status = WIRE_TAG_RTR_WITHDRAWN + 1, pkt.flags = 0));

	WRONG(WIRE_TAG_PUT, pkt.flags = WIRE_DGRAM_F_RESPONSE);
	WRONG(WIRE_TAG_PUT, env.stag = be32_put(5));
	WRONG(WIRE_TAG_PUT, env.status = HW_STATUS_CODES);
	WRONG(WIRE_TAG_PUT, env.bytes = be32_put(HW_MAX_MSG_BYTES + 1u));

	WRONG(WIRE_TAG_NACK, env.stag = be32_put(5));
	tp_end(&tp);
}

static void eager(void)
{
	tp_begin(&tp);
	good(WIRE_TAG_EAGER);
	pkt.flags = WIRE_DGRAM_F_RESPONSE;
	bad();
	good(WIRE_TAG_EAGER);
	env.bytes = be32_put(101);
	bad();
	good(WIRE_TAG_EAGER);
	env.bytes = be32_put(HW_TAG_MAX_EAGER_BYTES + 1u);
	pkt.msg_bytes = ENVELOPE + HW_TAG_MAX_EAGER_BYTES + 1u;
	bad();
	/* A handle without the flag that asks for the answer, and the flag without a handle. */
	good(WIRE_TAG_EAGER);
	env.handle = be32_put(7);
	bad();
	good(WIRE_TAG_EAGER);
	env.flags = WIRE_TAG_F_SYNC;
	bad();
	/* Packets behind the first: within the envelope, of an answer, of a message too long. */
	good(WIRE_TAG_EAGER);
	pkt.mo = ENVELOPE - 1;
	bad();
	good(WIRE_TAG_EAGER);
	pkt.mo = ENVELOPE;
	pkt.flags = WIRE_DGRAM_F_RESPONSE;
	bad();
	good(WIRE_TAG_EAGER);
	pkt.mo = ENVELOPE;
	pkt.msg_bytes = ENVELOPE + HW_TAG_MAX_EAGER_BYTES + 1u;
	bad();
	tp_end(&tp);
}

/* The end of a message of which nothing was placed: its sender repeats it. */
static void finished_without_a_message(void)
{
	struct rdmap_error error = {0};

	tp_begin(&tp);
	good(WIRE_TAG_EAGER);
	CU_ASSERT_EQUAL(tag_rx_finish(NIC, tp.qp[1], &pkt, NULL, &error), RDMAP_REFUSE);
	pkt.mo = ENVELOPE;
	CU_ASSERT_EQUAL(tag_rx_finish(NIC, tp.qp[1], &pkt, NULL, &error), RDMAP_REFUSE);
	tp_end(&tp);
}

/* A message that has begun to arrive cannot become one that is read. */
static void another_kind_amid(void)
{
	struct rdmap_error error = {0};

	tp_begin(&tp);
	good(WIRE_TAG_EAGER);
	pkt.data_bytes -= 50;
	pkt.last = false;
	memcpy(data, &env, ENVELOPE);
	CU_ASSERT_EQUAL(tag_rx_place(NIC, tp.qp[1], &pkt, true, &error), RDMAP_OK);
	tp_check(&tp, 1, 0, 1, 0);
	good(WIRE_TAG_RTS);
	memcpy(data, &env, ENVELOPE);
	bad_when_finished();
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_ERR, 0, NULL), 0);
	tp_end(&tp);
}

UT_MAIN("pair/tag_sound", UT(any_kind), UT(each_kind), UT(eager), UT(finished_without_a_message),
	UT(another_kind_amid))
