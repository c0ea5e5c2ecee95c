#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernel swaps out all that it can of a process (swapped.c): what cores touch stays in memory,
# since weftd has locked it, and the rest comes back when the NIC needs it. Others do their round
# trips meanwhile.

. tests/int/lib.sh

readonly SWAP_MIB=64 GROUP_BYTES=$((512 << 20)) SQUEEZED_BYTES=$((2 << 20))

groups=/sys/fs/cgroup/memory
limit=memory.limit_in_bytes
if [ ! -e $groups/$limit ]; then
	groups=/sys/fs/cgroup
	limit=memory.max
fi
group=$groups/weft-swapped-$$
mkdir "$group" 2>/dev/null && echo $GROUP_BYTES 2>/dev/null >"$group/$limit" || {
	rmdir "$group" 2>/dev/null
	skip 'no memory cgroup may be made here'
}
at_exit "rmdir '$group' 2>/dev/null || :"

# Its priority is the lowest, so that the own swap of the machine comes first.
swap=$WEFT_TMP/swap
dd if=/dev/zero of="$swap" bs=1M count=$SWAP_MIB 2>/dev/null && chmod 600 "$swap" &&
	mkswap "$swap" >/dev/null 2>&1 && swapon "$swap" 2>/dev/null || skip 'no file may be swapped to here'
at_exit "swapoff '$swap'"

weftd_start weftd --nics 2
mkfifo "$WEFT_TMP/go"
# shellcheck disable=SC2016 # the inner shell's
spawn swapped sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" "$3" <"$4"' sh "$group" \
	"$WEFT_INT/swapped" "$WEFT_RUN_DIR/weft0" "$WEFT_TMP/go"
exec 5>"$WEFT_TMP/go"
says swapped '^ready'
# Locked (VmFlags lo): the BAR's mapping and those of two regions. Memory that two processes map is the
# last that the kernel swaps out, so pages that are still there prove less.
locked=$(awk '/weft-(mem|bar)/ { ours = 1 } ours && /^VmFlags:/ { print / lo( |$)/ ? "yes" : "no"; ours = 0 }' \
	"/proc/${pid[weftd]}/smaps" | sort | uniq -c | tr -s ' ' | paste -sd,)
[ "$locked" = ' 3 yes' ] || die "mappings that are locked:$locked"
# The kernel gives up (EBUSY) when a pass finds no page that was not used lately; each makes pages
# older.
squeezed()
{
	echo $SQUEEZED_BYTES 2>/dev/null >"$group/$limit"
	out_has swapped '^out'
}
wait_until 'memory is swapped out that nobody has locked' squeezed
echo $GROUP_BYTES >"$group/$limit"
echo >&5
exec 5>&-
bench weft1 weft0 lat --iters 300
expect_ok swapped
cat "$WEFT_TMP/swapped.out"
bench weft1 weft0 lat --iters 300
weftd_stop weftd
