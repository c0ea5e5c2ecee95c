#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Schedules on buffers that the NIC cannot map: libgoal puts copies in their place
# (libgoal_shadow.c), so that the NIC makes no system call to reach them, and every byte is in its
# place.

. tests/int/lib.sh

weftd_start weftd --nics 1

# Counts the regions that the NIC reaches through the process's /proc entry.
unmapped()
{
	ctl mrs weft0 --json >"$WEFT_TMP/list"
	grep -c '"way": "process_vm"' "$WEFT_TMP/list"
}

for how in '' process_vm; do
	spawn "mem$how" env WEFT_MEM=$how "$WEFT_INT/goal_mem"
	says "mem$how" '^loaded'
	wait_until 'it has stopped' state_is "mem$how" T
	n=$(unmapped)
	if [ -z "$how" ]; then
		[ "$n" -eq 0 ] || { cat "$WEFT_TMP/list"; die "$n regions are not mapped"; }
	else
		# The system-call path, for comparison, gives the same results.
		[ "$n" -gt 0 ] || die 'WEFT_MEM=process_vm has no effect'
	fi
	kill -CONT "${pid[mem$how]}"
	expect_ok "mem$how"
	out_has "mem$how" '^all right' || die 'it did not come to its end'
	expect_objects weft0 '0 0 0 0'
done
weftd_stop weftd
