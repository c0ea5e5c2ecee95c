/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command UPGRADE, by which weftd goes on with another firmware. Its packet carries the
 * descriptor of the image's file. docs/upgrade.md.
 */
#ifndef WEFT_HW_UPGRADE_H
#define WEFT_HW_UPGRADE_H

#include <stdint.h>

/* hw_cmd_upgrade.flags */
enum {
	HW_UPGRADE_F_CHECK = 0x01, /* load and compare it, and change nothing */
};

struct hw_cmd_upgrade {
	uint32_t flags;
};

/* UPGRADE. ENOEXEC: the image was refused, and why says the reason. Texts end with a 0. */
struct hw_resp_upgrade {
	uint64_t longest_ns; /* time that a core spent on the change, at most */
	uint32_t pid;        /* of weftd: all its NICs are upgraded together */
	uint32_t shards;
	char version[32]; /* of the firmware that ran */
	char version_new[32];
	char why[96];
};

#endif /* WEFT_HW_UPGRADE_H */
