/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor's checks of running NICs: doctor_nic.c.
 */
#ifndef WEFT_CTL_DOCTOR_NIC_H
#define WEFT_CTL_DOCTOR_NIC_H

#include "lib/doctor.h"
#include "tools/weftctl/ctl.h"

/* Looks at the NICs that ctl names; adds at least one finding. Returns each_nic()'s exit code. */
int doctor_nics(struct doctor *d, const struct ctl *ctl);

#endif /* WEFT_CTL_DOCTOR_NIC_H */
