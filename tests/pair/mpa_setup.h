/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of MPA's set-up: a NIC whose peer sends arbitrary bytes, and the requests
 * and replies as text.
 */
#ifndef WEFT_TESTS_PAIR_MPA_SETUP_H
#define WEFT_TESTS_PAIR_MPA_SETUP_H

#include "tests/pair/tcp_peer.h"

static struct tcp_peer tp;

#define ENHANCED(key, flags, pd, rest) key flags "\x02\x00" pd rest
#define REQ                            "MPA ID Req Frame"
#define REP                            "MPA ID Rep Frame"

static inline void send_text(const char *text, uint32_t bytes, uint32_t segment)
{
	tcp_peer_send(&tp, text, bytes, segment);
}
#define SEND(text, segment) send_text(text, sizeof(text) - 1, segment)

static inline void expect_rx(const char *text, uint32_t bytes)
{
	CU_ASSERT_EQUAL(tp.rx_bytes, bytes);
	CU_ASSERT_EQUAL(memcmp(tp.rx, text, bytes), 0);
}
#define EXPECT(text) expect_rx(text, sizeof(text) - 1)
/* A text and its bytes. */
#define B(text) (text), (sizeof(text) - 1)

static inline void ask(uint16_t mpa)
{
	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, mpa, 0);
	tcp_peer_connect(&tp, CP_PORT);
	CU_ASSERT_TRUE_FATAL(tp.open);
}

static inline int accept_with(uint32_t ep, const struct fw_qp *qp, uint8_t responder,
			      uint8_t initiator)
{
	const struct hw_cmd_cm cm = {
	    .ep = ep,
	    .data_bytes = 3,
	    .data = "yes",
	    .param = {.qpn = qp->qpn,
		      .responder_resources = responder,
		      .initiator_depth = initiator},
	};

	return cp_cmd(&tp.cp, 1, HW_CMD_CM_ACCEPT, &cm, NULL);
}

static inline const struct mpa_conn *conn_of(uint32_t ep)
{
	return tp.cp.rp.end[1].nic->cm.eps[ep].mpa;
}

#endif /* WEFT_TESTS_PAIR_MPA_SETUP_H */
