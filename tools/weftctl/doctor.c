/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command doctor: what of the machine and of its NICs needs attention, and what to do about it.
 * Calls lib/doctor.h and doctor_nic.c.
 */
#include <stdio.h>

#include "tools/weftctl/doctor_nic.h"

int run_doctor(const struct ctl *ctl)
{
	struct doctor d = {.root = ctl->root ? ctl->root : ""};
	int rc;

	doctor_machine(&d);
	rc = doctor_nics(&d, ctl);
	doctor_print(&d, ctl->json, stdout);
	if (d.worst == DOCTOR_FAIL)
		rc = CTL_FAILED;
	doctor_free(&d);
	return rc;
}
