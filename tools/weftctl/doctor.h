/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command doctor: what of the machine and of its NICs needs attention, and what to do about it.
 *
 * doctor.c runs the checks and prints the findings, doctor_machine.c looks at the machine,
 * doctor_nic.c at each NIC.
 */
#ifndef WEFT_CTL_DOCTOR_H
#define WEFT_CTL_DOCTOR_H

#include "tools/weftctl/ctl.h"

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_NOTE, /* slower than need be */
	DOCTOR_WARN, /* something does not work, or will not under load */
	DOCTOR_FAIL, /* nothing works before it is mended */
	DOCTOR_LEVELS
};

struct doctor {
	const struct ctl *ctl;
	const char *root; /* "" or a folder in which /proc and /sys are looked for */
	json_t *findings; /* [{level, subject, finding, cure}] */
	enum doctor_level worst;
};

/* Adds a finding. cure NULL: nothing is to be done. */
void doctor_add(struct doctor *d, enum doctor_level level, const char *subject, const char *cure,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * Reads the first line of a file below the root, without its newline. False: it cannot be read;
 * text is "" then.
 */
bool doctor_line(const struct doctor *d, char *text, size_t bytes, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* True if number is in a list as the kernel writes it: "0-3,8". */
bool doctor_in_list(const char *list, unsigned long number);

/* The checks. Each adds at least one finding. */
void doctor_machine(struct doctor *d);
int doctor_nics(struct doctor *d); /* exit code of each_nic() */

#endif /* WEFT_CTL_DOCTOR_H */
