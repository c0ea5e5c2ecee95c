/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of a transport for a queue pair.
 *
 * qp_cmd.c and qp_attr.c call it; nothing else in host/ or rdmap/ names a transport. llp.h.
 */
#include "nic_fw/fw_nic.h"

static enum llp_kind llp_kind_of(const struct fw_qp *qp)
{
	if (qp->type == HW_QPT_UD)
		return LLP_UD;
	if (qp->type == HW_QPT_UC)
		return LLP_UC;
	return (enum llp_kind)qp->attr.transport;
}

void llp_choose(struct fw_qp *qp)
{
	enum llp_kind kind = llp_kind_of(qp);

	if (qp->llp == kind)
		return;
	qp->llp = (uint8_t)kind;
	if (llp_of(qp)->init_qp)
		llp_of(qp)->init_qp(qp);
}
