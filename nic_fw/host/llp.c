/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of a transport for a queue pair.
 *
 * qp_cmd.c and qp_attr.c call it; nothing else in host/ or rdmap/ names a transport. llp.h.
 */
#include "nic_fw/fw_nic.h"

void llp_init_qp(struct fw_qp *qp)
{
	for (uint32_t i = 0; i < LLP_KINDS; i++)
		if (llp_table[i]->init_qp)
			llp_table[i]->init_qp(qp);
}

void llp_choose(struct fw_qp *qp)
{
	if (qp->type == HW_QPT_UD)
		qp->llp = LLP_UD;
	else if (qp->type == HW_QPT_UC)
		qp->llp = LLP_UC;
	else
		qp->llp = (uint8_t)qp->attr.transport;
}
