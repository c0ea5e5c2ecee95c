/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of what weft.h numbers, and the proof that its numbers are those of shared_defs.
 *
 * weft.h stands alone, so that it can be installed; what it repeats of the host/NIC
 * contract is compared with it here, at compile time.
 */
#include "host_driver/weft_priv.h"

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a)

SAME(WEFT_WC_WR_FLUSH_ERR, HW_STATUS_WR_FLUSH_ERR);
SAME(WEFT_WC_GENERAL_ERR, HW_STATUS_GENERAL_ERR);
SAME(WEFT_WC_RECV, HW_CQE_RECV);
SAME(WEFT_WC_LOCAL_INV, HW_CQE_LOCAL_INV);
SAME(WEFT_WC_RECV_WRITE_IMM, HW_CQE_RECV_WRITE_IMM);
SAME(WEFT_WC_RECV_WRITE_RECORD, HW_CQE_RECV_WRITE_RECORD);
SAME(WEFT_WC_F_GRH, HW_CQE_F_GRH);
SAME(WEFT_WC_F_IMM, HW_CQE_F_IMM);
SAME(WEFT_WC_F_INV, HW_CQE_F_INV);
SAME(WEFT_WC_F_SOLICITED, HW_CQE_F_SOLICITED);
SAME(WEFT_WC_F_PARTIAL, HW_CQE_F_PARTIAL);
SAME(WEFT_VENDOR_ERR_QUEUE, HW_VENDOR_ERR_QUEUE);
SAME(WEFT_VENDOR_ERR_CQ_OVERRUN, HW_VENDOR_ERR_CQ_OVERRUN);
SAME(WEFT_EVENT_CQ_ERR, HW_EVENT_CQ_ERR);
SAME(WEFT_EVENT_SRQ_LIMIT, HW_EVENT_SRQ_LIMIT);
SAME(WEFT_EVENT_PEER_ERROR, HW_EVENT_PEER_ERROR);
SAME(WEFT_EVENT_SQ_DRAINED, HW_EVENT_SQ_DRAINED);
SAME(WEFT_EVENT_GOAL_RUN, HW_EVENT_GOAL_RUN);
SAME(WEFT_QPT_RC, HW_QPT_RC);
SAME(WEFT_QPT_UC, HW_QPT_UC);
SAME(WEFT_QPT_UD, HW_QPT_UD);
SAME(WEFT_QPT_RD, HW_QPT_RD);
SAME(WEFT_QPS_RTS, HW_QPS_RTS);
SAME(WEFT_QPS_ERR, HW_QPS_ERR);
SAME(WEFT_QP_F_SQ_SIG_ALL, HW_QP_F_SQ_SIG_ALL);
SAME(WEFT_QP_F_UD_LONG, HW_QP_F_UD_LONG);
SAME(WEFT_QP_QKEY, HW_QP_QKEY);
SAME(WEFT_QP_AV, HW_QP_AV);
SAME(WEFT_QP_MAX_QP_RD_ATOMIC, HW_QP_MAX_QP_RD_ATOMIC);
SAME(WEFT_QP_MIN_RNR_TIMER, HW_QP_MIN_RNR_TIMER);
SAME(WEFT_QP_SQ_PSN, HW_QP_SQ_PSN);
SAME(WEFT_QP_MAX_DEST_RD_ATOMIC, HW_QP_MAX_DEST_RD_ATOMIC);
SAME(WEFT_QP_DEST_QPN, HW_QP_DEST_QPN);
SAME(WEFT_ACCESS_LOCAL_WRITE, HW_ACCESS_LOCAL_WRITE);
SAME(WEFT_ACCESS_REMOTE_ATOMIC, HW_ACCESS_REMOTE_ATOMIC);
SAME(WEFT_ACCESS_ZERO_BASED, HW_ACCESS_ZERO_BASED);
SAME(WEFT_WR_SEND, HW_WQE_SEND);
SAME(WEFT_WR_READ, HW_WQE_READ);
SAME(WEFT_WR_WRITE_RECORD, HW_WQE_WRITE_RECORD);
SAME(WEFT_SEND_SIGNALED, HW_WQE_F_SIGNALED);
SAME(WEFT_SEND_SOLICITED, HW_WQE_F_SOLICITED);
SAME(WEFT_SEND_FENCE, HW_WQE_F_FENCE);
SAME(WEFT_SEND_INLINE, HW_WQE_F_INLINE);
SAME(WEFT_SRQ_LIMIT, 2);
SAME(WEFT_LIST_PEERS, HW_LIST_PEERS);

#define NAME(table, i)                                                                             \
	((uint32_t)(i) < sizeof(table) / sizeof(*(table)) && (table)[i] ? (table)[i] : "UNKNOWN")

const char *weft_wc_status_str(enum weft_wc_status status)
{
	static const char *const names[] = {
	    [WEFT_WC_SUCCESS] = "SUCCESS",
	    [WEFT_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
	    [WEFT_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
	    [WEFT_WC_LOC_EEC_OP_ERR] = "LOC_EEC_OP_ERR",
	    [WEFT_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
	    [WEFT_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
	    [WEFT_WC_MW_BIND_ERR] = "MW_BIND_ERR",
	    [WEFT_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
	    [WEFT_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
	    [WEFT_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
	    [WEFT_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
	    [WEFT_WC_REM_OP_ERR] = "REM_OP_ERR",
	    [WEFT_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
	    [WEFT_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
	    [WEFT_WC_LOC_RDD_VIOL_ERR] = "LOC_RDD_VIOL_ERR",
	    [WEFT_WC_REM_INV_RD_REQ_ERR] = "REM_INV_RD_REQ_ERR",
	    [WEFT_WC_REM_ABORT_ERR] = "REM_ABORT_ERR",
	    [WEFT_WC_INV_EECN_ERR] = "INV_EECN_ERR",
	    [WEFT_WC_INV_EEC_STATE_ERR] = "INV_EEC_STATE_ERR",
	    [WEFT_WC_FATAL_ERR] = "FATAL_ERR",
	    [WEFT_WC_RESP_TIMEOUT_ERR] = "RESP_TIMEOUT_ERR",
	    [WEFT_WC_GENERAL_ERR] = "GENERAL_ERR",
	};

	return NAME(names, status);
}

const char *weft_wc_opcode_str(enum weft_wc_opcode opcode)
{
	static const char *const names[] = {
	    [WEFT_WC_SEND] = "SEND",
	    [WEFT_WC_WRITE] = "WRITE",
	    [WEFT_WC_READ] = "READ",
	    [WEFT_WC_CMP_SWAP] = "CMP_SWAP",
	    [WEFT_WC_FETCH_ADD] = "FETCH_ADD",
	    [WEFT_WC_BIND_MW] = "BIND_MW",
	    [WEFT_WC_LOCAL_INV] = "LOCAL_INV",
	    [WEFT_WC_RECV] = "RECV",
	    [WEFT_WC_RECV_WRITE_IMM] = "RECV_WRITE_IMM",
	    [WEFT_WC_RECV_WRITE_RECORD] = "RECV_WRITE_RECORD",
	};

	return NAME(names, opcode);
}

const char *weft_vendor_err_str(uint32_t vendor_err)
{
	static const char *const names[] = {
	    [WEFT_VENDOR_ERR_NONE] = "NONE",
	    [WEFT_VENDOR_ERR_OPCODE] = "OPCODE",
	    [WEFT_VENDOR_ERR_SLOTS] = "SLOTS",
	    [WEFT_VENDOR_ERR_NUM_SGE] = "NUM_SGE",
	    [WEFT_VENDOR_ERR_FLAGS] = "FLAGS",
	    [WEFT_VENDOR_ERR_AH] = "AH",
	    [WEFT_VENDOR_ERR_LKEY] = "LKEY",
	    [WEFT_VENDOR_ERR_BOUNDS] = "BOUNDS",
	    [WEFT_VENDOR_ERR_ACCESS] = "ACCESS",
	    [WEFT_VENDOR_ERR_TOO_LONG] = "TOO_LONG",
	    [WEFT_VENDOR_ERR_ALIGN] = "ALIGN",
	    [WEFT_VENDOR_ERR_QUEUE] = "QUEUE",
	    [WEFT_VENDOR_ERR_PEER_RESTART] = "PEER_RESTART",
	    [WEFT_VENDOR_ERR_HOST_FAULT] = "HOST_FAULT",
	    [WEFT_VENDOR_ERR_UNREACHABLE] = "UNREACHABLE",
	    [WEFT_VENDOR_ERR_RD_ATOMIC] = "RD_ATOMIC",
	    [WEFT_VENDOR_ERR_CQ_OVERRUN] = "CQ_OVERRUN",
	    [WEFT_VENDOR_ERR_NIC_GONE] = "NIC_GONE",
	};
	_Static_assert(HW_VENDOR_ERRS == WEFT_VENDOR_ERR_CQ_OVERRUN + 1, "one is missing above");

	return NAME(names, vendor_err);
}

const char *weft_event_type_str(enum weft_event_type type)
{
	static const char *const names[] = {
	    [WEFT_EVENT_NONE] = "NONE",
	    [WEFT_EVENT_CQ_ERR] = "CQ_ERR",
	    [WEFT_EVENT_QP_FATAL] = "QP_FATAL",
	    [WEFT_EVENT_QP_REQ_ERR] = "QP_REQ_ERR",
	    [WEFT_EVENT_QP_ACCESS_ERR] = "QP_ACCESS_ERR",
	    [WEFT_EVENT_COMM_EST] = "COMM_EST",
	    [WEFT_EVENT_QP_LAST_WQE] = "QP_LAST_WQE",
	    [WEFT_EVENT_SRQ_LIMIT] = "SRQ_LIMIT",
	    [WEFT_EVENT_SRQ_ERR] = "SRQ_ERR",
	    [WEFT_EVENT_PORT_ACTIVE] = "PORT_ACTIVE",
	    [WEFT_EVENT_PORT_ERR] = "PORT_ERR",
	    [WEFT_EVENT_DEVICE_FATAL] = "DEVICE_FATAL",
	    [WEFT_EVENT_PEER_ERROR] = "PEER_ERROR",
	    [WEFT_EVENT_SQ_DRAINED] = "SQ_DRAINED",
	    [WEFT_EVENT_GOAL_RUN] = "GOAL_RUN",
	};
	_Static_assert(HW_EVENTS == WEFT_EVENT_GOAL_RUN + 1, "one is missing above");

	return NAME(names, type);
}

const char *weft_qp_state_str(enum weft_qp_state state)
{
	static const char *const names[] = {
	    [WEFT_QPS_RESET] = "RESET", [WEFT_QPS_INIT] = "INIT", [WEFT_QPS_RTR] = "RTR",
	    [WEFT_QPS_RTS] = "RTS",     [WEFT_QPS_SQD] = "SQD",   [WEFT_QPS_SQE] = "SQE",
	    [WEFT_QPS_ERR] = "ERR",
	};

	return NAME(names, state);
}

const char *weft_qp_type_str(enum weft_qp_type type)
{
	static const char *const names[] = {
	    [WEFT_QPT_RC] = "RC",
	    [WEFT_QPT_UC] = "UC",
	    [WEFT_QPT_UD] = "UD",
	    [WEFT_QPT_RD] = "RD",
	};

	return NAME(names, type);
}
