/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terminates, bit for bit: ours as RFC 5040 4.8 draws them with their quotes, siw's in the byte
 * order of a little-endian machine, and their effect on requests. nic_fw/mpa/mpa_term.c.
 */
#include "nic_fw/mpa/mpa_term.c"
#include "tests/pair/mpa_capture.h"
#include "tests/pair/mpa_pair.h"

static const struct mpa_params crc = {.crc = true};

/* The ULPDU of the last FPDU of a side, without the headers of its queue. */
static uint32_t last_sent(const struct mp_side *side, const uint8_t **ulpdu)
{
	uint32_t begin = side->made > 1 ? side->seg[side->made - 2].end : 0;

	*ulpdu = side->wire + begin + MPA_LENGTH_BYTES;
	return (uint32_t)side->wire[begin] << 8 | side->wire[begin + 1];
}

static void drain(void)
{
	struct hw_cqe cqe;
	uint32_t e;

	for (e = 0; e < 2; e++)
		while (rp_scqe(&rp, e, &cqe) || rp_rcqe(&rp, e, &cqe))
			;
}

/*
 * A Write to an STag that does not exist: header and length of the segment are quoted, nothing of
 * RDMAP.
 */
static void bad_write(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 100, .rkey = 0x12345678};
	struct wire_ddp_untagged ddp;
	const uint8_t *ulpdu;
	uint32_t n;
	static const uint8_t want[] = {
	    0x10, 0x00, 0xc0, 0x00, /* DDP, tagged: invalid STag; M, D */
	    0x00, 114,              /* DDP segment length */
	    0xc1, 0x40, 0x12, 0x34, 0x56, 0x78,
	};

	mp_begin(&crc);
	mp.side[0].hold_acks = true;
	rp_req(&rp, 0, mp.side[0].qp, &req);
	mp_run();
	n = last_sent(&mp.side[1], &ulpdu);
	CU_ASSERT_EQUAL_FATAL(n, 18 + 4 + 2 + 14);
	memcpy(&ddp, ulpdu, sizeof(ddp));
	CU_ASSERT_EQUAL(ddp.ddp_ctrl, 0x41);
	CU_ASSERT_EQUAL(ddp.rdmap_ctrl, 0x47);
	CU_ASSERT_EQUAL(be32_get(ddp.inv_stag), 0);
	CU_ASSERT_EQUAL(be32_get(ddp.qn), 2);
	CU_ASSERT_EQUAL(be32_get(ddp.msn), 1);
	CU_ASSERT_EQUAL(be32_get(ddp.mo), 0);
	CU_ASSERT_EQUAL(ulpdu[18], 0x11);
	CU_ASSERT_EQUAL(memcmp(ulpdu + 19, want + 1, sizeof(want) - 1), 0);
	CU_ASSERT_EQUAL(memcmp(ulpdu + 18 + 6, mp.side[0].wire + MPA_LENGTH_BYTES, 14), 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_TRUE(mp.side[0].closed && mp.side[1].closed);
	drain();
	mp_end();
}

/* A Read of such an STag: the header of the request is quoted as well. */
static void bad_read(void)
{
	struct rp_req req = {
	    .opcode = HW_WQE_READ, .wr_id = 1, .offset = MP_SINK, .bytes = 100, .rkey = 0x12345678};
	const uint8_t *ulpdu;
	static const uint8_t want[] = {0x01, 0x00, 0xe0, 0x00, 0x00, 46};

	mp_begin(&crc);
	rp_req(&rp, 0, mp.side[0].qp, &req);
	mp_run();
	CU_ASSERT_EQUAL_FATAL(last_sent(&mp.side[1], &ulpdu), 18 + 4 + 2 + 18 + 28);
	CU_ASSERT_EQUAL(memcmp(ulpdu + 18, want, sizeof(want)), 0);
	CU_ASSERT_EQUAL(memcmp(ulpdu + 24, mp.side[0].wire + MPA_LENGTH_BYTES, 46), 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
	drain();
	mp_end();
}

/* RDMAP checks access rights (RFC 5040 8.1): the STag exists, but does not grant this. */
static void no_right(void)
{
	struct hw_qp_attr attr = {.access = 0};

	mp_begin(&crc);
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, mp.side[1].qp, HW_QPS_RTS, HW_QP_ACCESS_FLAGS, &attr), 0);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	CU_ASSERT_EQUAL(mpa_term(mp_nic(&mp.side[1]), mp.side[1].conn)[0], 0x01);
	CU_ASSERT_EQUAL(mpa_term(mp_nic(&mp.side[1]), mp.side[1].conn)[1], 0x02);
	CU_ASSERT_EQUAL(mpa_term(mp_nic(&mp.side[1]), mp.side[1].conn)[2], 0xc0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
	drain();
	mp_end();
}

/* Memory that is deregistered while a read is answered: the read request is quoted. */
static void answer_gone(void)
{
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = 1, .offset = MP_SINK, .bytes = 4000};
	const uint8_t *ulpdu;
	uint32_t stag;

	mp_begin(&crc);
	stag = rp_reg(&rp, 1, MP_MEM(1), 8192, RP_ALL_ACCESS, true);
	req.rkey = stag;
	rp_req(&rp, 0, mp.side[0].qp, &req);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(mp_make(&mp.side[0]), 1);
	(void)mp_deliver(&mp.side[0]);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	mp_run();
	CU_ASSERT_EQUAL_FATAL(last_sent(&mp.side[1], &ulpdu), 18 + 4 + 2 + 18 + 28);
	CU_ASSERT_EQUAL(ulpdu[18], 0x01);
	CU_ASSERT_EQUAL(ulpdu[19], 0x00);
	CU_ASSERT_EQUAL(ulpdu[20], 0xe0);
	CU_ASSERT_EQUAL(memcmp(ulpdu + 24, mp.side[0].wire + MPA_LENGTH_BYTES, 46), 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
	drain();
	mp_end();
}

/*
 * The memory of a process that ends is gone before its queue pair is reset: the peer is notified of
 * the stream's end, not of a missing right.
 */
static void answerer_leaves(void)
{
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = 1, .offset = MP_SINK, .bytes = 4000};
	struct fw_client *leaving;

	mp_begin(&crc);
	leaving = &rp.end[1].nic->host.clients[rp.end[1].client];
	rp_req(&rp, 0, mp.side[0].qp, &req);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(mp_make(&mp.side[0]), 1);
	(void)mp_deliver(&mp.side[0]);
	leaving->closing = true;
	mp_run();
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, mpa_terminates_tx), 0);
	rp_expect_none(&rp);
	leaving->closing = false;
	drain();
	mp_end();
}

/* Only one Terminate is sent: later failures are dropped. */
static void only_once(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 100, .rkey = 0x12345678};
	uint32_t i;

	mp_begin(&crc);
	for (i = 0; i < 5; i++)
		rp_req(&rp, 0, mp.side[0].qp, &req);
	mp_req(1, HW_WQE_WRITE, 9, 100, 0);
	rp_poll(&rp, 0);
	(void)mp_make(&mp.side[0]);
	mp_run();
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, mpa_terminates_tx), 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, mpa_terminates_tx), 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, mpa_terminates_rx), 1);
	drain();
	mp_end();
}

/* ---- what peers say -------------------------------------------------------------------------- */

struct word {
	uint8_t wire[4];
	uint8_t layer_etype, code, hdrct;
};

/* The same errors as RFC 5040 and as siw draw them. */
static void both_orders(void)
{
	static const struct word list[] = {
	    {{0x11, 0x00, 0xc0, 0}, 0x11, 0x00, 0xc0}, {{0x11, 0x00, 0x03, 0}, 0x11, 0x00, 0xc0},
	    {{0x12, 0x02, 0xc0, 0}, 0x12, 0x02, 0xc0}, {{0x21, 0x02, 0x03, 0}, 0x12, 0x02, 0xc0},
	    {{0x01, 0x00, 0xe0, 0}, 0x01, 0x00, 0xe0}, {{0x10, 0x00, 0x07, 0}, 0x01, 0x00, 0xe0},
	    {{0x12, 0x02, 0x80, 0}, 0x12, 0x02, 0x80}, {{0x21, 0x02, 0x01, 0}, 0x12, 0x02, 0x80},
	    {{0x12, 0x02, 0x40, 0}, 0x12, 0x02, 0x40}, {{0x21, 0x02, 0x02, 0}, 0x12, 0x02, 0x40},
	    {{0x01, 0x00, 0x20, 0}, 0x01, 0x00, 0x20}, {{0x10, 0x00, 0x04, 0}, 0x01, 0x00, 0x20},
	    {{0x20, 0x02, 0x00, 0}, 0x20, 0x02, 0x00}, {{0x02, 0x02, 0x00, 0}, 0x20, 0x02, 0x00},
	    {{0x02, 0x05, 0x00, 0}, 0x02, 0x05, 0x00}, {{0x20, 0x05, 0x00, 0}, 0x02, 0x05, 0x00},
	    {{0x02, 0x06, 0x00, 0}, 0x02, 0x06, 0x00}, {{0x20, 0x06, 0x00, 0}, 0x02, 0x06, 0x00},
	    {{0x00, 0x00, 0x00, 0}, 0x00, 0x00, 0x00}, {{0x77, 0x77, 0x00, 0}, 0x77, 0x77, 0x00},
	};
	uint32_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct wire_terminate term = control_of(list[i].wire);

		if (term.layer_etype != list[i].layer_etype)
			printf("\n    word %u: %02x", i, term.layer_etype);
		CU_ASSERT_EQUAL(term.layer_etype, list[i].layer_etype);
		CU_ASSERT_EQUAL(term.code, list[i].code);
		CU_ASSERT_EQUAL(term.hdrct, list[i].hdrct);
	}
}

/* Every layer, type and code: those that the RFCs define, and no other. */
static void defined_codes(void)
{
	static const struct {
		uint8_t layer_etype, num;
		uint8_t code[8];
	} defined[] = {
	    {0x00, 1, {0}},
	    {0x01, 7, {0, 1, 2, 3, 4, 9, 0xff}},
	    {0x02, 6, {5, 6, 7, 8, 9, 0xff}},
	    {0x10, 1, {0}},
	    {0x11, 5, {0, 1, 2, 3, 4}},
	    {0x12, 6, {1, 2, 3, 4, 5, 6}},
	    {0x20, 4, {1, 2, 3, 4}},
	};
	uint32_t layer_etype, code, i;

	for (layer_etype = 0; layer_etype < 256; layer_etype++)
		for (code = 0; code < 256; code++) {
			bool want = false;

			for (i = 0; i < sizeof(defined) / sizeof(defined[0]); i++)
				if (defined[i].layer_etype == layer_etype)
					want = memchr(defined[i].code, (int)code, defined[i].num);
			CU_ASSERT_EQUAL(is_known((uint8_t)layer_etype, (uint8_t)code), want);
		}
}

static uint32_t terminates;

static bool see_terminate(struct mpa_conn *conn, const uint8_t *ulpdu, uint32_t bytes)
{
	struct wire_terminate term;

	(void)conn;
	if (bytes < 22 || (ulpdu[1] & WIRE_RDMAP_OPCODE_MASK) != WIRE_RDMAP_TERMINATE)
		return false;
	terminates++;
	term = control_of(ulpdu + 18);
	if (!is_known(term.layer_etype, term.code))
		printf("\n    siw says %02x %02x %02x", ulpdu[18], ulpdu[19], ulpdu[20]);
	CU_ASSERT_TRUE(is_known(term.layer_etype, term.code));
	return false;
}

/* The Terminates that siw sent for malformed input: each is understood. */
static void siws(void)
{
	static struct capture c;
	uint32_t i;

	mp_begin(&crc);
	mp.see = see_terminate;
	terminates = 0;
	cap_load(&c, "terminate-raw.pcap");
	for (i = 0; i < c.num; i++) {
		const struct cap_stream *s = &c.conn[i].side[1];
		struct mpa_conn *conn = mp.side[1].conn;

		if (!c.conn[i].accepted || s->gap || s->bytes == s->fpdus)
			continue;
		conn->param.crc = c.conn[i].crc;
		CU_ASSERT_EQUAL(mp_receive(&mp.side[1], s->data + s->fpdus, s->bytes - s->fpdus),
				s->bytes - s->fpdus);
	}
	CU_ASSERT_TRUE(terminates >= 10);
	cap_free(&c);
	mp.see = NULL;
	mp_end();
}

/* A Terminate of n bytes as the first message of side 1. */
static void say(const uint8_t *payload, uint32_t n)
{
	uint8_t fpdu[256] = {0};
	struct wire_ddp_untagged ddp = {.ddp_ctrl = 0x41, .rdmap_ctrl = 0x47};
	struct be16 length = be16_put((uint16_t)(18 + n));
	uint32_t bytes = mpa_plain_bytes(18 + n);
	struct be32 sum;

	ddp.qn = be32_put(2);
	ddp.msn = be32_put(1);
	memcpy(fpdu, &length, 2);
	memcpy(fpdu + 2, &ddp, sizeof(ddp));
	memcpy(fpdu + 20, payload, n);
	sum = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, fpdu, bytes - 4));
	memcpy(fpdu + bytes - 4, &sum, 4);
	CU_ASSERT_EQUAL(mp_receive(&mp.side[0], fpdu, bytes), bytes);
}

/* The request among several that the peer means, and the fate of the others. */
static void which_request(void)
{
	static const uint8_t words[][4] = {{0x12, 0x04, 0xc0, 0}, {0x21, 0x04, 0x03, 0}};
	uint8_t payload[4 + 2 + 18] = {0};
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct wire_ddp_untagged ddp = {.ddp_ctrl = 0x41, .rdmap_ctrl = 0x43};

		mp_begin(&crc);
		mp.side[0].hold_acks = true;
		mp_req(0, HW_WQE_READ, 1, 10, 0);
		mp_req(0, HW_WQE_SEND, 2, 10, 0);
		mp_req(0, HW_WQE_SEND, 3, 10, 0);
		mp_req(0, HW_WQE_SEND, 4, 10, 0);
		rp_poll(&rp, 0);
		(void)mp_make(&mp.side[0]);
		ddp.msn = be32_put(2);
		memcpy(payload, words[i], 4);
		payload[5] = 28;
		memcpy(payload + 6, &ddp, sizeof(ddp));
		say(payload, sizeof(payload));
		rp_expect_send(&rp, 0, 1, HW_STATUS_WR_FLUSH_ERR);
		rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
		rp_expect_send(&rp, 0, 3, HW_STATUS_REM_INV_REQ_ERR);
		rp_expect_send(&rp, 0, 4, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(mp.side[0].qp->state, HW_QPS_ERR);
		CU_ASSERT_TRUE(mp.side[0].closed);
		CU_ASSERT_EQUAL(mp.side[0].conn->state, MPA_CLOSING);
		mp_end();
	}
}

/* siw's Terminate for a Read Request: the length stands at the place of the MSN. */
static void read_of_siw(void)
{
	struct wire_ddp_untagged ddp = {.ddp_ctrl = 0x41, .rdmap_ctrl = 0x41};
	uint8_t payload[4 + 2 + 18] = {0x01, 0x00, 0xc0, 0, 0, 28 + 18};

	mp_begin(&crc);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_SEND, 1, 10, 0);
	mp_req(0, HW_WQE_READ, 2, 1000, 0);
	mp_req(0, HW_WQE_READ, 3, 1000, 0);
	rp_poll(&rp, 0);
	(void)mp_make(&mp.side[0]);
	ddp.qn = be32_put(1);
	ddp.msn = be32_put(1000);
	memcpy(payload + 6, &ddp, sizeof(ddp));
	say(payload, sizeof(payload));
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_ACCESS_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_WR_FLUSH_ERR);
	mp_end();
}

/* Terminates that quote no header, a cut one, or none of ours. */
static void without_request(void)
{
	static const uint8_t nothing[] = {0x20, 0x02, 0, 0};
	static const uint8_t cut[] = {0x12, 0x04, 0xc0, 0, 0, 28, 0x41};
	static const uint8_t other[4 + 2 + 18] = {0x12, 0x04, 0xc0, 0, 0, 28, 0x41, 0x43};

	mp_begin(&crc);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_SEND, 1, 10, 0);
	rp_poll(&rp, 0);
	(void)mp_make(&mp.side[0]);
	say(nothing, sizeof(nothing));
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
	mp_end();

	mp_begin(&crc);
	mp.side[0].hold_acks = true;
	mp_req(0, HW_WQE_SEND, 1, 10, 0);
	rp_poll(&rp, 0);
	(void)mp_make(&mp.side[0]);
	say(cut, sizeof(cut));
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_INV_REQ_ERR);
	mp_end();

	mp_begin(&crc);
	say(other, sizeof(other));
	CU_ASSERT_EQUAL(mp.side[0].qp->state, HW_QPS_ERR);
	rp_expect_none(&rp);
	mp_end();
}

UT_MAIN("pair/mpa_term", UT(bad_write), UT(bad_read), UT(no_right), UT(answer_gone),
	UT(answerer_leaves), UT(only_once), UT(both_orders), UT(defined_codes), UT(siws),
	UT(which_request), UT(read_of_siw), UT(without_request))
