/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private data of connections over MPA, of every length that its frames can carry, in both
 * directions: sent, and reported with the event and after it (CM_REST), or counted when no process
 * fetches the rest. nic_fw/cm/cm.c, cm_cmd.c, cm_tcp.c, mpa_setup.c.
 */
#include "tests/pair/tcp_peer.h"

enum {
	HEAD = sizeof(struct wire_mpa_setup),
	ENHANCED = sizeof(struct wire_mpa_enhanced),
	MOST = HW_CM_MAX_DATA,
};

static struct tcp_peer tp;
static const uint32_t lengths[] = {0, 1, 56, 57, 254, 255, 256, 257, 507, 508, 511, 512};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static uint8_t byte_of(uint32_t i, uint32_t bytes)
{
	return (uint8_t)(i * 7 + bytes + (i >> 8));
}

/* A frame of the peer with so many bytes of private data; enhanced: of revision 2. */
static void peer_says(const char *key, uint8_t flags, bool enhanced, uint32_t bytes)
{
	uint8_t frame[HEAD + ENHANCED + MOST] = {0};
	uint32_t at = HEAD + (enhanced ? (uint32_t)ENHANCED : 0), i;

	memcpy(frame, key, WIRE_MPA_KEY_BYTES);
	frame[16] = (uint8_t)(flags | (enhanced ? WIRE_MPA_F_ENHANCED : 0));
	frame[17] = enhanced ? WIRE_MPA_REVISION_2 : WIRE_MPA_REVISION_1;
	frame[18] = (uint8_t)((at - HEAD + bytes) >> 8);
	frame[19] = (uint8_t)(at - HEAD + bytes);
	if (enhanced)
		frame[21] = frame[23] = 1;
	for (i = 0; i < bytes; i++)
		frame[at + i] = byte_of(i, bytes);
	tcp_peer_send(&tp, frame, at + bytes, bytes % 3 * 100);
}

/* The NIC's frame has these bytes and no others. */
static void expect_said(uint8_t flags, bool enhanced, uint32_t bytes)
{
	uint32_t at = HEAD + (enhanced ? (uint32_t)ENHANCED : 0), i;

	CU_ASSERT_EQUAL_FATAL(tp.rx_bytes, at + bytes);
	CU_ASSERT_EQUAL(tp.rx[16] & WIRE_MPA_F_REJECT, flags);
	CU_ASSERT_EQUAL((uint32_t)tp.rx[18] << 8 | tp.rx[19], at - HEAD + bytes);
	for (i = 0; i < bytes && tp.rx[at + i] == byte_of(i, bytes); i++)
		;
	CU_ASSERT_EQUAL(i, bytes);
}

static int rest_of(uint32_t ep, struct hw_cmd_resp *resp)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_REST, .u.cm.ep = ep};

	return rp_cmd(&tp.cp.rp, 1, &cmd, resp);
}

/*
 * The event reports so many bytes, with those fetched after it, which can be fetched once. kept:
 * buffers that are still in use.
 */
static void expect_told(const struct hw_resp_cm_event *ev, uint32_t bytes, uint32_t kept)
{
	uint32_t first = bytes < HW_CM_EVENT_BYTES ? bytes : HW_CM_EVENT_BYTES, i;
	struct hw_cmd_resp resp = {.op = 0};

	CU_ASSERT_EQUAL(ev->data_bytes, first);
	CU_ASSERT_EQUAL(ev->rest_bytes, bytes - first);
	CU_ASSERT_EQUAL(rest_of(ev->ep, &resp), bytes > first ? 0 : FW_ENOENT);
	CU_ASSERT_EQUAL(resp.u.cm_rest.bytes, bytes - first);
	for (i = 0; i < bytes; i++)
		if ((i < first ? ev->data[i] : resp.u.cm_rest.data[i - first]) != byte_of(i, bytes))
			break;
	CU_ASSERT_EQUAL(i, bytes);
	CU_ASSERT_EQUAL(rest_of(ev->ep, &resp), FW_ENOENT);
	CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->cm.data.used, kept);
}

/* Stores private data as a process does, for a command that announces so many bytes. */
static void give(struct hw_cmd_cm *cm, uint32_t bytes)
{
	uint32_t at = 0, i;

	cm->data_bytes = (uint16_t)bytes;
	cm->flags = bytes ? HW_CM_F_STORED : 0;
	while (at < bytes) {
		struct hw_cmd cmd = {.op = HW_CMD_CM_DATA,
				     .u.cm_data = {.ep = cm->ep, .offset = (uint16_t)at}};
		struct hw_cmd_resp resp;
		uint32_t n = bytes - at < HW_CM_CHUNK_BYTES ? bytes - at : HW_CM_CHUNK_BYTES;

		cmd.u.cm_data.bytes = (uint16_t)n;
		for (i = 0; i < n; i++)
			cmd.u.cm_data.data[i] = byte_of(at + i, bytes);
		CU_ASSERT_EQUAL_FATAL(rp_cmd(&tp.cp.rp, 1, &cmd, &resp), 0);
		at += n;
	}
}

/* Private data that does not fit is refused; a shorter text is accepted. */
static void command(enum hw_cmd_op op, struct hw_cmd_cm *cm, bool enhanced, uint32_t bytes)
{
	uint32_t most = enhanced ? MOST - ENHANCED : MOST;

	if (bytes > most) {
		give(cm, bytes);
		CU_ASSERT_EQUAL(cp_cmd(&tp.cp, 1, op, cm, NULL), FW_EINVAL);
		bytes = most;
	}
	give(cm, bytes);
	CU_ASSERT_EQUAL_FATAL(cp_cmd(&tp.cp, 1, op, cm, NULL), 0);
	rp_run(&tp.cp.rp, CP_MS);
}

static void passive(bool enhanced, uint32_t bytes, enum hw_cmd_op op)
{
	uint32_t most = enhanced ? MOST - ENHANCED : MOST, fits = bytes < most ? bytes : most;
	struct hw_cmd_cm cm = {.ep = 0};
	struct hw_resp_cm_event ev;

	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, 0, 0);
	tcp_peer_connect(&tp, CP_PORT);
	peer_says(WIRE_MPA_KEY_REQ, 0, enhanced, fits);
	ev = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	expect_told(&ev, fits, 0);
	cm.ep = ev.ep;
	if (op == HW_CMD_CM_ACCEPT)
		cm.param.qpn = cp_tcp_qp(&tp.cp, 1)->qpn;
	else
		cm.arg = HW_CM_REJ_CONSUMER;
	command(op, &cm, enhanced, bytes);
	expect_said(op == HW_CMD_CM_ACCEPT ? 0 : WIRE_MPA_F_REJECT, enhanced, fits);
	if (op == HW_CMD_CM_ACCEPT)
		(void)cp_expect(&tp.cp, 1, ev.ep, HW_CM_EVENT_ESTABLISHED);
	cp_expect_none(&tp.cp);
	CU_ASSERT_EQUAL(CP_CNT(&tp.cp, 1, cm_data_unread), 0);
	tcp_peer_end(&tp);
}

static void passive_every_length(void)
{
	uint32_t i;

	for (i = 0; i < 4 * LENGTHS; i++)
		passive(i & 1, lengths[i / 4], i & 2 ? HW_CMD_CM_REJECT : HW_CMD_CM_ACCEPT);
}

static uint32_t ask(bool enhanced, uint32_t bytes)
{
	struct hw_cmd_cm cm = {
	    .port = TP_PORT,
	    .transport = HW_CM_TRANSPORT_TCP,
	    .mpa = enhanced ? HW_MPA_GIVEN : HW_MPA_GIVEN | HW_MPA_REVISION_1,
	};

	tcp_peer_begin(&tp);
	cm.param.qpn = cp_tcp_qp(&tp.cp, 1)->qpn;
	cm.ip = tp.cp.rp.end[0].nic->config.ip;
	cm.ep = cp_bound(&tp.cp, 1, HW_CM_TCP, 0);
	command(HW_CMD_CM_CONNECT, &cm, enhanced, bytes);
	rp_run(&tp.cp.rp, 10 * CP_MS);
	CU_ASSERT_TRUE_FATAL(tp.open);
	return cm.ep;
}

static void active(bool enhanced, uint32_t bytes, bool reject)
{
	uint32_t most = enhanced ? MOST - ENHANCED : MOST, fits = bytes < most ? bytes : most;
	uint32_t ep = ask(enhanced, bytes);
	struct hw_resp_cm_event ev;

	expect_said(0, enhanced, fits);
	/* Sent once: the peer's reply is there. */
	peer_says(WIRE_MPA_KEY_REP, reject ? WIRE_MPA_F_REJECT : 0, enhanced, fits);
	ev = cp_expect(&tp.cp, 1, ep, reject ? HW_CM_EVENT_REJECTED : HW_CM_EVENT_RESPONSE);
	if (!reject)
		CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DATA, ep), FW_EINVAL);
	/* Our own data is kept until the connection is established. */
	expect_told(&ev, fits, !reject && fits);
	if (!reject)
		CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_ACCEPT, ep), 0);
	CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->cm.data.used, 0);
	CU_ASSERT_EQUAL(CP_CNT(&tp.cp, 1, cm_data_unread), 0);
	tcp_peer_end(&tp);
}

static void active_every_length(void)
{
	uint32_t i;

	for (i = 0; i < 4 * LENGTHS; i++)
		active(i & 1, lengths[i / 4], i & 2);
}

/* A rest that no process fetches is counted, and its memory is freed. */
static void nobody_reads(void)
{
	struct fw_nic *nic;
	struct hw_cmd_resp resp;
	uint32_t ep, b;

	/* Accepted; */
	tcp_peer_begin(&tp);
	nic = tp.cp.rp.end[1].nic;
	(void)cp_tcp_listen(&tp.cp, 0, 0);
	tcp_peer_connect(&tp, CP_PORT);
	peer_says(WIRE_MPA_KEY_REQ, 0, true, 300);
	b = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(nic->cm.data.used, 1);
	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, b, cp_tcp_qp(&tp.cp, 1)->qpn), 0);
	CU_ASSERT_EQUAL(nic->counters.cm_data_unread, 1);
	CU_ASSERT_EQUAL(nic->cm.data.used, 0);
	CU_ASSERT_EQUAL(rest_of(b, &resp), FW_ENOENT);
	tcp_peer_rst(&tp);
	(void)cp_expect(&tp.cp, 1, b, HW_CM_EVENT_ESTABLISHED);
	(void)cp_expect(&tp.cp, 1, b, HW_CM_EVENT_DISCONNECTED);
	/* ended during the request: the end is reported, without the data of the request; */
	tcp_peer_new(&tp);
	tcp_peer_connect(&tp, CP_PORT);
	peer_says(WIRE_MPA_KEY_REQ, 0, true, 300);
	b = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	tcp_peer_rst(&tp);
	CU_ASSERT_EQUAL(cp_expect(&tp.cp, 1, b, HW_CM_EVENT_REJECTED).data_bytes, 0);
	CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DESTROY, b), 0);
	CU_ASSERT_EQUAL(nic->counters.cm_data_unread, 2);
	CU_ASSERT_EQUAL(rest_of(b, &resp), FW_EINVAL);
	/* an event that was not fetched at all has no rest. */
	tcp_peer_new(&tp);
	tcp_peer_connect(&tp, CP_PORT);
	peer_says(WIRE_MPA_KEY_REQ, 0, true, 300);
	CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DESTROY, tp.cp.listener), 0);
	CU_ASSERT_EQUAL(nic->counters.cm_data_unread, 2);
	CU_ASSERT_EQUAL(nic->cm.data.used, 0);
	tcp_peer_end(&tp);
	/* Rejected, and requested again: the data of the last frame is reported. */
	ep = ask(true, 10);
	nic = tp.cp.rp.end[1].nic;
	peer_says(WIRE_MPA_KEY_REP, WIRE_MPA_F_REJECT, true, 300);
	CU_ASSERT_EQUAL(cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_REJECTED).rest_bytes, 45);
	tcp_peer_fin(&tp);
	tcp_peer_new(&tp);
	{
		struct hw_cmd_cm cm = {.ep = ep,
				       .ip = tp.cp.rp.end[0].nic->config.ip,
				       .port = TP_PORT + 1,
				       .transport = HW_CM_TRANSPORT_TCP};

		CU_ASSERT_EQUAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_CONNECT, &cm, NULL), 0);
	}
	rp_run(&tp.cp.rp, 10 * CP_MS);
	peer_says(WIRE_MPA_KEY_REP, WIRE_MPA_F_REJECT, true, 256);
	CU_ASSERT_EQUAL(nic->counters.cm_data_unread, 1);
	{
		const struct hw_resp_cm_event ev = cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_REJECTED);

		expect_told(&ev, 256, 0);
	}
	tcp_peer_fin(&tp);
	tcp_peer_end(&tp);
}

/* Connections over datagrams have 255 bytes for private data. */
static void datagrams_carry_less(void)
{
	struct hw_cmd_cm cm = {.port = CP_PORT};

	tcp_peer_begin(&tp);
	cm.ep = cp_bound(&tp.cp, 1, HW_CM_TCP, 0);
	cm.ip = tp.cp.rp.end[0].nic->config.ip;
	give(&cm, 256);
	CU_ASSERT_EQUAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_CONNECT, &cm, NULL), FW_EINVAL);
	give(&cm, 255);
	CU_ASSERT_EQUAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_CONNECT, &cm, NULL), 0);
	/* Pieces beyond the longest frame. */
	{
		struct hw_cmd cmd = {.op = HW_CMD_CM_DATA,
				     .u.cm_data = {.ep = cp_bound(&tp.cp, 1, HW_CM_TCP, 0),
						   .offset = MOST,
						   .bytes = 1}};
		struct hw_cmd_resp resp;

		CU_ASSERT_EQUAL(rp_cmd(&tp.cp.rp, 1, &cmd, &resp), FW_EINVAL);
		cmd.u.cm_data.offset = UINT16_MAX;
		CU_ASSERT_EQUAL(rp_cmd(&tp.cp.rp, 1, &cmd, &resp), FW_EINVAL);
		cmd.u.cm_data.offset = MOST - 1;
		CU_ASSERT_EQUAL(rp_cmd(&tp.cp.rp, 1, &cmd, &resp), 0);
	}
	tcp_peer_end(&tp);
}

UT_MAIN("pair/mpa_data", UT(passive_every_length), UT(active_every_length), UT(nobody_reads),
	UT(datagrams_carry_less))
