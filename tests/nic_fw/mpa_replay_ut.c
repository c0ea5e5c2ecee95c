/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What siw's active end sent, as captured (tests/golden/siw/), sent once more to a listener of
 * ours: the messages arrive, and what we answer, request and messages, is byte for byte what siw's
 * passive end answered.
 *
 * Connections whose messages are Sends alone are replayed whole; of the others what does not name
 * an STag of the machine that was captured.
 */
#include "tests/nic_fw/mpa_capture.h"
#include "tests/nic_fw/tcp_peer.h"

enum {
	RECV_BYTES = 4096,
	RECVS = 100,
	FPDU_HEAD = 2 + (int)sizeof(struct wire_ddp_untagged),
};

static struct tp tp;
static struct fw_qp *qp;
static uint32_t ep;

static uint32_t fpdu_bytes(const uint8_t *at)
{
	return ((uint32_t)be16_get(*(const struct be16 *)(const void *)at) + 2 + 3) / 4 * 4 +
	       WIRE_MPA_CRC_BYTES;
}

static bool is_send(const uint8_t *fpdu)
{
	uint8_t opcode = fpdu[3] & WIRE_RDMAP_OPCODE_MASK;

	return !(fpdu[2] & WIRE_DDP_TAGGED) &&
	       (opcode == WIRE_RDMAP_SEND || opcode == WIRE_RDMAP_SEND_SE);
}

static uint32_t payload_bytes(const uint8_t *fpdu)
{
	return (uint32_t)be16_get(*(const struct be16 *)(const void *)fpdu) - FPDU_HEAD + 2;
}

/* The request of a captured connection, an accept with what its passive end said, the reply. */
static void set_up(const struct cap_conn *conn)
{
	const struct cap_stream *asked = &conn->side[0], *answered = &conn->side[1];
	struct hw_cmd_cm cm = {.port = 0};
	struct mpa_frame reply;
	uint32_t i;

	tp_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, HW_MPA_GIVEN, 0);
	tp_connect(&tp, CP_PORT);
	tp_send(&tp, asked->data, asked->fpdus, 0);
	ep = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL_FATAL(mpa_frame_read(answered->data, true, &reply), 0);
	qp = cp_tcp_qp(&tp.cp, 1);
	for (i = 0; i < RECVS; i++)
		rp_recv(&tp.cp.rp, 1, qp, i, RECV_BYTES * (i + 1), RECV_BYTES);
	cm.ep = ep;
	cm.param.qpn = qp->qpn;
	cm.param.responder_resources = reply.enhanced ? (uint8_t)reply.ird : 1;
	cm.param.initiator_depth = reply.enhanced ? (uint8_t)reply.ord : 1;
	CU_ASSERT_EQUAL_FATAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_ACCEPT, &cm, NULL), 0);
	rp_run(&tp.cp.rp, CP_MS);
	CU_ASSERT_EQUAL(tp.rx_bytes, answered->fpdus);
	/* siw sets a reserved bit for what it can do (GSO), and sends it back. */
	tp.rx[WIRE_MPA_KEY_BYTES] |= answered->data[WIRE_MPA_KEY_BYTES] & 0x08;
	CU_ASSERT_EQUAL(memcmp(tp.rx, answered->data, answered->fpdus), 0);
}

/* Sends one FPDU of the active end: a Send arrives with all its bytes. */
static void active_says(const uint8_t *fpdu, uint32_t *received)
{
	uint32_t n = payload_bytes(fpdu);
	struct hw_cqe cqe;

	tp_send(&tp, fpdu, fpdu_bytes(fpdu), 0);
	cqe = rp_expect_recv(&tp.cp.rp, 1, *received, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, n);
	CU_ASSERT_EQUAL(
	    memcmp(tp.cp.rp.end[1].mem + RECV_BYTES * (*received + 1), fpdu + FPDU_HEAD, n), 0);
	++*received;
}

/* Posts what the passive end sent. */
static void passive_says(const uint8_t *fpdu)
{
	struct rp_req req = {.opcode = HW_WQE_SEND, .bytes = payload_bytes(fpdu)};

	if ((fpdu[3] & WIRE_RDMAP_OPCODE_MASK) == WIRE_RDMAP_SEND_SE)
		req.flags |= HW_WQE_F_SOLICITED;
	memcpy(tp.cp.rp.end[1].mem, fpdu + FPDU_HEAD, req.bytes);
	rp_req(&tp.cp.rp, 1, qp, &req);
	rp_run(&tp.cp.rp, 300 * CP_MS);
	rp_expect_send(&tp.cp.rp, 1, 0, HW_STATUS_SUCCESS);
}

/* siw leaves there what was there before; CRCs, which go over it, were right with zeros only. */
static void clear_pad(uint8_t *fpdu)
{
	uint32_t end = FPDU_HEAD + payload_bytes(fpdu);

	memset(fpdu + end, 0, fpdu_bytes(fpdu) - WIRE_MPA_CRC_BYTES - end);
}

static void replay_sends(const struct cap_conn *conn)
{
	const struct cap_stream *active = &conn->side[0], *passive = &conn->side[1];
	uint32_t at, received = 0, sent = 0;

	set_up(conn);
	for (at = active->fpdus; at < active->bytes; at += fpdu_bytes(active->data + at)) {
		CU_ASSERT_TRUE_FATAL(is_send(active->data + at));
		active_says(active->data + at, &received);
	}
	CU_ASSERT_EQUAL(conn->crc, qp->mpa->param.crc);
	for (at = passive->fpdus; at < passive->bytes; at += fpdu_bytes(passive->data + at)) {
		CU_ASSERT_TRUE_FATAL(is_send(passive->data + at));
		passive_says(passive->data + at);
		clear_pad(passive->data + at);
		sent++;
	}
	CU_ASSERT(received > 3 && sent > 3);
	CU_ASSERT_EQUAL(tp.rx_bytes, passive->bytes);
	CU_ASSERT_EQUAL(memcmp(tp.rx + passive->fpdus, passive->data + passive->fpdus,
			       passive->bytes - passive->fpdus),
			0);
	tp_fin(&tp);
	rp_run(&tp.cp.rp, CP_S);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_DISCONNECTED);
	CU_ASSERT_TRUE(tp.closed);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	while (received < RECVS)
		(void)rp_expect_recv(&tp.cp.rp, 1, received++, HW_STATUS_WR_FLUSH_ERR);
	tp_end(&tp);
}

/* Every message of these. */
static void whole_connections(void)
{
	static const char *const files[] = {"ucmatose-r1-crc.pcap", "ucmatose-r1-nocrc.pcap",
					    "ucmatose-r2-crc.pcap", "sendlat-r2-nocrc.pcap"};
	uint32_t i, k, conns = 0;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct capture c;

		cap_load(&c, files[i]);
		for (k = 0; k < c.num; k++) {
			CU_ASSERT_TRUE_FATAL(c.conn[k].accepted);
			replay_sends(&c.conn[k]);
			conns++;
		}
		cap_free(&c);
	}
	CU_ASSERT_EQUAL(conns, 5);
}

/* Set-up of the others, and the first message, which peer-to-peer is a Write of nothing. */
static void beginnings(void)
{
	static const char *const files[] = {
	    "rping-r2-crc.pcap",       "rping-r2-nocrc.pcap",  "rping-r2-p2p-crc.pcap",
	    "rping-r2-p2p-nocrc.pcap", "rping-r2-srvcrc.pcap", "wbw-r1-crc.pcap",
	    "wbw-r2-gso.pcap",         "wbw-r2-nocrc.pcap",    "rbw-r1-nocrc.pcap"};
	uint32_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct cap_stream *active;
		uint32_t at, received = 0;
		struct capture c;

		cap_load(&c, files[i]);
		active = &c.conn[0].side[0];
		at = active->fpdus;
		set_up(&c.conn[0]);
		if (qp->mpa->param.peer_to_peer) {
			CU_ASSERT_EQUAL(qp->mpa->state, MPA_RTR_WAIT);
			cp_expect_none(&tp.cp);
			CU_ASSERT_FALSE(is_send(active->data + at));
			tp_send(&tp, active->data + at, fpdu_bytes(active->data + at), 0);
			at += fpdu_bytes(active->data + at);
		}
		active_says(active->data + at, &received);
		CU_ASSERT_EQUAL(qp->mpa->state, MPA_FPDU);
		(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
		CU_ASSERT_FALSE(tp.reset || tp.closed);
		/* The process goes: the pair's receives are flushed. */
		CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DISCONNECT, ep), 0);
		rp_run(&tp.cp.rp, CP_MS);
		while (received < RECVS)
			(void)rp_expect_recv(&tp.cp.rp, 1, received++, HW_STATUS_WR_FLUSH_ERR);
		tp_fin(&tp);
		tp_end(&tp);
		cap_free(&c);
	}
}

UT_MAIN("nic_fw/mpa_replay", UT(whole_connections), UT(beginnings))
