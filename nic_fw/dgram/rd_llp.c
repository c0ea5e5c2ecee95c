/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RD as a transport of RDMAP: its llp_ops, which qp->llp points at.
 *
 * Calls rd_flow.c, rd_outcome.c, rd_fail.c, rd_term.c. docs/wire-format.md.
 */
#include "nic_fw/fw_nic.h"

static void rd_llp_terminated(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			      uint32_t ssn, enum hw_status status)
{
	rd_outcome_terminated(nic, qp, pkt->src_ip, pkt->src_qpn, ssn, status);
}

const struct llp_ops rd_llp_ops = {
    .send_imm = true,
    .send = rd_flow_send,
    .unsend = rd_flow_unsend,
    .answered = rd_flow_response,
    .complete = rd_flow_complete,
    .terminated = rd_llp_terminated,
    .refuse = rd_term_refuse,
    .is_refused = rd_flow_is_terminating,
    .msg_fail = rd_msg_fail,
    .flush_qp = rd_flush_flow,
    .flush_due = rd_flush_due,
    .response_lost = rd_term_response_lost,
};
