/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace events, in the order in which they occur for one message (ARCHITECTURE.md, the walk).
 *
 * X(name, "arg0 arg1"): every event carries the QPN and two arguments, which the string names.
 * nic_fw emits them through fw_trace(); weftctl and weft-sim print them.
 */
#ifndef WEFT_TRACE_EVENTS_H
#define WEFT_TRACE_EVENTS_H

#define TRACE_EVENTS(X)                                                                            \
	X(DOORBELL, "prod cons")                                                                   \
	X(SCHED, "active budget")                                                                  \
	X(WQE, "wr_id opcode")                                                                     \
	X(RDMAP_TX, "wr_id bytes")                                                                 \
	X(DDP_TX, "wr_id offset")                                                                  \
	X(UD_TX, "wr_id msn")                                                                      \
	X(RD_TX, "wr_id psn")                                                                      \
	X(TCP_TX, "seq bytes")                                                                     \
	X(ETH_TX, "bytes frames")                                                                  \
	X(ETH_RX, "bytes frames")                                                                  \
	X(TCP_RX, "seq bytes")                                                                     \
	X(UD_RX, "src_qpn msn")                                                                    \
	X(RD_RX, "src_qpn psn")                                                                    \
	X(DDP_RX, "stag_or_msn offset")                                                            \
	X(RDMAP_RX, "opcode bytes")                                                                \
	X(RD_ACK_TX, "ack received")                                                               \
	X(RD_ACK_RX, "ack received")                                                               \
	X(RD_RETRANSMIT, "psn count")                                                              \
	X(RD_REFUSE, "psn reason")                                                                 \
	X(RD_TIMEOUT, "psn backoff")                                                               \
	X(RD_WINDOW, "cwnd_256ths rtt_ns")                                                         \
	X(CQE, "wr_id status")                                                                     \
	X(MODER, "eq pending")                                                                     \
	X(EQE, "type id")                                                                          \
	X(IRQ, "client eq")                                                                        \
	X(QP_STATE, "from to")                                                                     \
	X(ESP_STATE, "from to")                                                                    \
	X(TCP_STATE, "from to")                                                                    \
	X(CM_STATE, "from to")                                                                     \
	X(MPA_STATE, "from to")                                                                    \
	X(MCAST, "group members")                                                                  \
	X(IGMP_RX, "type bytes")                                                                   \
	X(IGMP_TX, "type bytes")                                                                   \
	X(DROP, "reason bytes")

enum trace_event {
#define X(name, args) TRACE_##name,
	TRACE_EVENTS(X)
#undef X
	TRACE_EVENT_COUNT
};

#endif /* WEFT_TRACE_EVENTS_H */
