#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The layout of the firmware's state as a number: a hash over the declarations of all structs, unions
# and enumerations that its headers contain, and over the tables that fw.c lays out in the arena. Two
# firmwares of one number can work on the same instance. docs/upgrade.md.
#
#	tools/fw_layout.sh CC [FLAG...]		prints a C header with FW_LAYOUT
#
# Comments and inline functions do not count; a name of a field does, so that a field which changes
# its meaning with its name is a change. Exit status 0; 1 when the preprocessor fails.

set -eu -o pipefail
headers=$(find nic_fw shared_defs -name '*.h' | LC_ALL=C sort)
layout=$(
	{
		for h in $headers; do
			printf '#include "%s"\n' "$h"
		done
		sed -n '/^static void lay_out_objects/,/^size_t fw_arena_bytes/p' nic_fw/fw.c
	} | "$@" -E -P -I. -x c - |
		awk '/^(struct|union|enum)( [a-z_0-9]+)? [{]/ { inside = 1 }
			/^(static )?void \*?lay_out/ { inside = 1 }
			inside { gsub(/[ \t]+/, " "); print }
			/^}/ { inside = 0 }' | sha256sum | cut -c 1-16
)
printf '/* Made by tools/fw_layout.sh. */\n#define FW_LAYOUT UINT64_C(0x%s)\n' "$layout"
