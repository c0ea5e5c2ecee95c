/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replays the captured frames of siw's active end (tests/golden/siw/) to a listener of ours. The
 * messages arrive, and our reply and messages equal those of siw's passive end byte for byte.
 *
 * Connections that carry only Sends are replayed whole. Of the others, messages that name no STag
 * of the captured machine are replayed. Malformed messages that siw received are sent to us, and
 * our Terminate is compared with siw's. Set-ups that siw rejected are played from either side.
 */
#include <dirent.h>

#include "nic_fw/base/crc32c.h"
#include "tests/pair/mpa_capture.h"
#include "tests/pair/tcp_peer.h"

enum {
	RECV_BYTES = 4096,
	RECVS = 100,
	SHORT_BYTES = 16,   /* receives that siw had posted for malformed messages */
	OPTION_BITS = 0x08, /* a reserved flag by which siw announces GSO */
	FPDU_HEAD = 2 + (int)sizeof(struct wire_ddp_untagged),
};

static struct tcp_peer tp;
static struct fw_qp *qp;
static uint32_t ep;
static uint32_t recv_bytes = RECV_BYTES;

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

/*
 * The request of a captured connection, an accept with the private data of its passive end, the
 * reply.
 */
static void set_up(const struct cap_conn *conn)
{
	const struct cap_stream *asked = &conn->side[0], *answered = &conn->side[1];
	struct hw_cmd_cm cm = {.port = 0};
	struct mpa_frame reply;
	uint32_t i;

	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, HW_MPA_GIVEN, 0);
	tcp_peer_connect(&tp, CP_PORT);
	tcp_peer_send(&tp, asked->data, asked->fpdus, 0);
	ep = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL_FATAL(mpa_frame_read(answered->data, true, &reply), 0);
	qp = cp_tcp_qp(&tp.cp, 1);
	for (i = 0; i < RECVS; i++)
		rp_recv(&tp.cp.rp, 1, qp, i, RECV_BYTES * (i + 1), recv_bytes);
	cm.ep = ep;
	cm.param.qpn = qp->qpn;
	cm.param.responder_resources = reply.enhanced ? (uint8_t)reply.ird : 1;
	cm.param.initiator_depth = reply.enhanced ? (uint8_t)reply.ord : 1;
	CU_ASSERT_EQUAL_FATAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_ACCEPT, &cm, NULL), 0);
	rp_run(&tp.cp.rp, CP_MS);
	CU_ASSERT_EQUAL(tp.rx_bytes, answered->fpdus);
	/* siw returns the flag. */
	tp.rx[WIRE_MPA_KEY_BYTES] |= answered->data[WIRE_MPA_KEY_BYTES] & OPTION_BITS;
	CU_ASSERT_EQUAL(memcmp(tp.rx, answered->data, answered->fpdus), 0);
}

/* Sends one FPDU of the active end: a Send arrives with all its bytes. */
static void active_says(const uint8_t *fpdu, uint32_t *received)
{
	uint32_t n = payload_bytes(fpdu);
	struct hw_cqe cqe;

	tcp_peer_send(&tp, fpdu, fpdu_bytes(fpdu), 0);
	cqe = rp_expect_recv(&tp.cp.rp, 1, *received, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, n);
	CU_ASSERT_EQUAL(
	    memcmp(tp.cp.rp.end[1].mem + RECV_BYTES * (*received + 1), fpdu + FPDU_HEAD, n), 0);
	++*received;
}

/* Posts the messages that the passive end sent. */
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

/* siw leaves old bytes in these fields; the CRCs, which cover them, were right only with zeros. */
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
	tcp_peer_fin(&tp);
	rp_run(&tp.cp.rp, CP_S);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_DISCONNECTED);
	CU_ASSERT_TRUE(tp.closed);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	while (received < RECVS)
		(void)rp_expect_recv(&tp.cp.rp, 1, received++, HW_STATUS_WR_FLUSH_ERR);
	tcp_peer_end(&tp);
}

/* All messages of these connections. */
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

/*
 * The set-up of the others, and the first message, which is a Write of no bytes in peer-to-peer
 * mode.
 */
static void beginnings(void)
{
	static const char *const files[] = {
	    "rping-r2-crc.pcap",       "rping-r2-nocrc.pcap",     "rping-r2-p2p-crc.pcap",
	    "rping-r2-p2p-nocrc.pcap", "rping-r2-srvcrc.pcap",    "wbw-r1-crc.pcap",
	    "wbw-r2-gso.pcap",         "wbw-r2-nocrc.pcap",       "rbw-r1-nocrc.pcap",
	    "rbw-r2-crc.pcap",         "rbw-r2-crc-nozcopy.pcap", "rping-r2-crc-4000B.pcap"};
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
			tcp_peer_send(&tp, active->data + at, fpdu_bytes(active->data + at), 0);
			at += fpdu_bytes(active->data + at);
		}
		active_says(active->data + at, &received);
		CU_ASSERT_EQUAL(qp->mpa->state, MPA_FPDU);
		(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
		CU_ASSERT_FALSE(tp.reset || tp.closed);
		/* The process ends: the receives of the queue pair are flushed. */
		CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DISCONNECT, ep), 0);
		rp_run(&tp.cp.rp, CP_MS);
		while (received < RECVS)
			(void)rp_expect_recv(&tp.cp.rp, 1, received++, HW_STATUS_WR_FLUSH_ERR);
		tcp_peer_fin(&tp);
		tcp_peer_end(&tp);
		cap_free(&c);
	}
}

/* ---- malformed messages --------------------------------------------------------------------- */

/* The connections of terminate-raw.pcap with malformed messages, and our answers. */
struct wrong {
	uint8_t layer_etype, code, hdrct;  /* as RFC 5040 draws them; code 0xee: no error */
	uint8_t siw_layer_etype, siw_code; /* siw's, if they differ */
};
#define M_D   (WIRE_TERM_HDRCT_M | WIRE_TERM_HDRCT_D)
#define M_D_R (M_D | WIRE_TERM_HDRCT_R)

static const struct wrong wrongs[] = {
    {0, 0xee, 0, 0, 0},        /* a Send */
    {0x20, 0x02, 0, 0, 0},     /* its CRC */
    {0, 0xee, 0, 0, 0},        /* the same without CRCs */
    {0x11, 0x00, M_D, 0, 0},   /* a Write to an STag that does not exist */
    {0x01, 0x00, M_D_R, 0, 0}, /* a Read of it */
    {0x12, 0x01, M_D, 0, 0},   /* queue 5 */
    {0x12, 0x03, M_D, 0, 0},   /* the second Send is the first */
    {0x12, 0x04, M_D, 0, 0},   /* begins at 8 */
    /* Longer than its receive: siw reports that there is no receive. */
    {0x12, 0x05, M_D, 0x12, 0x02},
    {0x12, 0x06, M_D, 0, 0},       /* DDP version 2 */
    {0x02, 0x05, M_D, 0, 0},       /* RDMAP version 0 */
    {0x12, 0x05, M_D, 0x02, 0x06}, /* opcode 8, immediate data, of 16 bytes: siw has none */
    {0x11, 0x00, M_D, 0x10, 0x00}, /* an answer to no Read: siw reports a catastrophic error */
};

/* Writes the FPDU of our Terminate; returns its length. */
static uint32_t terminate_fpdu(uint8_t *dst, const struct wrong *w, const uint8_t *fault, bool crc)
{
	static const uint8_t head[] = {0, 0, 0x41, 0x47, 0, 0, 0, 0, 0, 0,
				       0, 2, 0,    0,    0, 1, 0, 0, 0, 0};
	uint32_t quoted = fault[2] & WIRE_DDP_TAGGED ? sizeof(struct wire_ddp_tagged)
						     : sizeof(struct wire_ddp_untagged);
	uint32_t n = sizeof(head);
	struct be32 sum = be32_put(0);

	memset(dst, 0, 128);
	memcpy(dst, head, n);
	dst[n++] = w->layer_etype;
	dst[n++] = w->code;
	dst[n++] = w->hdrct;
	dst[n++] = 0;
	if (w->hdrct & WIRE_TERM_HDRCT_R)
		quoted += (uint32_t)sizeof(struct wire_read_request);
	if (w->hdrct) {
		memcpy(dst + n, fault, 2); /* the segment's length, and its headers */
		memcpy(dst + n + 2, fault + 2, quoted);
		n += 2 + quoted;
	}
	dst[1] = (uint8_t)(n - 2);
	n = (n + 3) / 4 * 4;
	if (crc)
		sum = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, dst, n));
	memcpy(dst + n, &sum, sizeof(sum));
	return n + (uint32_t)sizeof(sum);
}

static void send_wrong(const struct cap_conn *conn, const struct wrong *w)
{
	const struct cap_stream *active = &conn->side[0], *passive = &conn->side[1];
	const uint8_t *fault = active->data + active->fpdus, *siw = passive->data + passive->fpdus;
	bool good = w->code == 0xee;
	uint8_t want[128];
	struct hw_cqe cqe;
	uint32_t n;

	set_up(conn);
	tcp_peer_send(&tp, fault, active->bytes - active->fpdus, 0);
	rp_run(&tp.cp.rp, CP_MS);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
	CU_ASSERT_EQUAL(tp.closed, !good);
	if (good) {
		CU_ASSERT_EQUAL(rp_expect_recv(&tp.cp.rp, 1, 0, HW_STATUS_SUCCESS).bytes, 16);
	} else {
		n = terminate_fpdu(want, w, fault, conn->crc);
		CU_ASSERT_EQUAL(tp.rx_bytes, passive->fpdus + n);
		CU_ASSERT_EQUAL(memcmp(tp.rx + passive->fpdus, want, n), 0);
		/* siw swaps layer and type. */
		CU_ASSERT_EQUAL((uint8_t)(siw[20] << 4 | siw[20] >> 4),
				w->siw_layer_etype ? w->siw_layer_etype : w->layer_etype);
		CU_ASSERT_EQUAL(siw[21], w->siw_layer_etype ? w->siw_code : w->code);
		CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	}
	tcp_peer_fin(&tp);
	rp_run(&tp.cp.rp, CP_S);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_DISCONNECTED);
	CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
	while (rp_rcqe(&tp.cp.rp, 1, &cqe))
		;
	tcp_peer_end(&tp);
}

/* A Read of no bytes begins the stream: our answer equals siw's. */
static void first_read(const struct cap_conn *conn)
{
	const struct cap_stream *active = &conn->side[0], *passive = &conn->side[1];
	struct hw_cqe cqe;

	set_up(conn);
	tcp_peer_send(&tp, active->data + active->fpdus, active->bytes - active->fpdus, 0);
	rp_run(&tp.cp.rp, CP_MS);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
	CU_ASSERT_EQUAL(tp.rx_bytes, passive->bytes);
	CU_ASSERT_EQUAL(memcmp(tp.rx, passive->data, passive->bytes), 0);
	tcp_peer_fin(&tp);
	rp_run(&tp.cp.rp, CP_S);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_DISCONNECTED);
	while (rp_rcqe(&tp.cp.rp, 1, &cqe))
		;
	tcp_peer_end(&tp);
}

static void wrong_messages(void)
{
	static struct capture c;
	uint32_t i, n = 0;

	cap_load(&c, "terminate-raw.pcap");
	recv_bytes = SHORT_BYTES;
	for (i = 0; i < c.num; i++) {
		const struct cap_stream *s = &c.conn[i].side[0];

		if (!c.conn[i].accepted || s->bytes == s->fpdus)
			continue;
		if (n < sizeof(wrongs) / sizeof(wrongs[0]))
			send_wrong(&c.conn[i], &wrongs[n]);
		else
			first_read(&c.conn[i]);
		n++;
	}
	recv_bytes = RECV_BYTES;
	CU_ASSERT_EQUAL(n, sizeof(wrongs) / sizeof(wrongs[0]) + 1);
	cap_free(&c);
}

/* ---- what siw rejects ----------------------------------------------------------------------- */

/*
 * This end sends siw's request and receives siw's reject; the process learns that the peer rejected
 * it.
 */
static void rejected(const struct cap_conn *conn)
{
	struct hw_cmd_cm cm = {.mpa = HW_MPA_GIVEN | HW_MPA_CRC,
			       .param = {.responder_resources = 1, .initiator_depth = 1}};
	struct hw_resp_cm_event ev;

	tcp_peer_begin(&tp);
	qp = tcp_peer_ask(&tp, &cm);
	CU_ASSERT_EQUAL(tp.rx_bytes, conn->side[0].bytes);
	CU_ASSERT_EQUAL(memcmp(tp.rx, conn->side[0].data, conn->side[0].bytes), 0);
	tcp_peer_send(&tp, conn->side[1].data, conn->side[1].bytes, 0);
	tcp_peer_fin(&tp);
	rp_run(&tp.cp.rp, 10 * CP_MS);
	ev = cp_expect(&tp.cp, 1, cm.ep, HW_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(ev.status, HW_CM_REJ_CONSUMER);
	CU_ASSERT_EQUAL(ev.data_bytes, 0);
	cp_expect_none(&tp.cp);
	/* Revision 2 was requested only once: the peer speaks it. */
	CU_ASSERT_EQUAL(tp.syns, 1);
	CU_ASSERT_TRUE(tp.closed);
	CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RTS);
	tcp_peer_end(&tp);
}

/* This end rejects what siw rejected. Flag C, which has no meaning then, stays as agreed. */
static void rejects(const struct cap_conn *conn)
{
	struct hw_cmd_cm cm = {.arg = HW_CM_REJ_CONSUMER};

	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, HW_MPA_GIVEN, 0);
	tcp_peer_connect(&tp, CP_PORT);
	tcp_peer_send(&tp, conn->side[0].data, conn->side[0].bytes, 0);
	cm.ep = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_REJECT, &cm, NULL), 0);
	rp_run(&tp.cp.rp, CP_MS);
	CU_ASSERT_EQUAL(tp.rx_bytes, conn->side[1].bytes);
	tp.rx[WIRE_MPA_KEY_BYTES] &= (uint8_t)~WIRE_MPA_F_CRC;
	CU_ASSERT_EQUAL(memcmp(tp.rx, conn->side[1].data, conn->side[1].bytes), 0);
	CU_ASSERT_TRUE(tp.closed);
	tcp_peer_fin(&tp);
	rp_run(&tp.cp.rp, CP_MS);
	CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
	cp_expect_none(&tp.cp);
	tcp_peer_end(&tp);
}

static void strict_reject(void)
{
	static struct capture c;

	cap_load(&c, "rping-r2-strict-reject.pcap");
	CU_ASSERT_EQUAL_FATAL(c.num, 1);
	CU_ASSERT_FALSE(c.conn[0].accepted);
	rejected(&c.conn[0]);
	rejects(&c.conn[0]);
	cap_free(&c);
}

/* Each capture must have a test here, or it would only seem to be tested. */
static void every_capture_is_played(void)
{
	DIR *dir = opendir("tests/golden/siw");
	const struct dirent *entry;
	uint32_t n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	while ((entry = readdir(dir)))
		n += strstr(entry->d_name, ".pcap") != NULL;
	(void)closedir(dir);
	CU_ASSERT_EQUAL(n, cap_num_loaded);
}

UT_MAIN("pair/mpa_replay", UT(whole_connections), UT(beginnings), UT(wrong_messages),
	UT(strict_reject), UT(every_capture_is_played))
