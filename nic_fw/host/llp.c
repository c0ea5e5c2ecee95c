/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of transports, and the choice of one for a queue pair.
 *
 * qp_cmd.c and qp_attr.c call it; nothing else in host/ or rdmap/ names a transport. llp.h.
 */
#include "nic_fw/fw_nic.h"

static const struct llp_ops *const llp_reliable[HW_QP_TRANSPORTS] = {
    [HW_QP_TRANSPORT_RD] = &rd_llp_ops,
    [HW_QP_TRANSPORT_ESP] = &esp_llp_ops,
    [HW_QP_TRANSPORT_TCP] = &mpa_llp_ops,
};

void llp_init_qp(struct fw_qp *qp)
{
	for (uint32_t i = 0; i < HW_QP_TRANSPORTS; i++)
		if (llp_reliable[i]->init_qp)
			llp_reliable[i]->init_qp(qp);
}

void llp_choose(struct fw_qp *qp)
{
	if (qp->type == HW_QPT_UD)
		qp->llp = &ud_llp_ops;
	else if (qp->type == HW_QPT_UC)
		qp->llp = &uc_llp_ops;
	else
		qp->llp = llp_reliable[qp->attr.transport];
}
