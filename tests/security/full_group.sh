#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A process whose memory cgroup is at its limit lets the NIC write to memory that was never touched
# (full_group.c). The pages are its own: the kernel ends it, not weftd, whose memory does not grow.
# Where the kernel may end nobody, it waits for itself. Others do their round trips meanwhile.

. tests/int/lib.sh

readonly LIMIT_BYTES=$((96 << 20)) FILL_MIB=256

groups=/sys/fs/cgroup/memory
limit=memory.limit_in_bytes
if [ ! -e $groups/$limit ]; then
	groups=/sys/fs/cgroup
	limit=memory.max
fi
group=$groups/weft-full-group-$$
mkdir "$group" 2>/dev/null && echo $LIMIT_BYTES 2>/dev/null >"$group/$limit" || {
	rmdir "$group" 2>/dev/null
	skip 'no memory cgroup may be made here'
}
at_exit "rmdir '$group' 2>/dev/null || :"

# shellcheck disable=SC2016 # the inner shell's
in_group=(sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group")
resident_kib()
{
	awk '$1 == "VmRSS:" { print $2 }' "/proc/${pid[weftd]}/status"
}
ended()
{
	! alive "$1"
}
# attack NAME: others go on while the process fills its group
attack()
{
	spawn "$1" "${in_group[@]}" "$WEFT_INT/full_group" "$WEFT_RUN_DIR/weft0" $FILL_MIB
	says "$1" '^attacking'
	bench weft1 weft0 lat --iters 300
}
# It has filled its group and no more, and nothing of it is left.
over()
{
	! out_has "$1" '^filled' || die 'the group has no limit'
	expect_objects weft0 '0 0 0 0'
	[ "$(resident_kib)" -lt $((before + 32768)) ] || die "weftd has grown from $before to $(resident_kib) KiB"
	bench weft1 weft0 lat --iters 300
}

weftd_start weftd --nics 2
bench weft1 weft0 lat --iters 300
before=$(resident_kib)
attack filling
wait_until 'it is killed' ended filling
finish filling
[ "$status" -eq 137 ] || die "it ended with exit status $status: $(cat "$WEFT_TMP/filling.err")"
over filling

# A group of version 1 can have its processes wait for memory in place of killing one.
if [ -e "$group/memory.oom_control" ]; then
	echo 1 >"$group/memory.oom_control"
	attack waiting
	waits()
	{
		grep -qx 'under_oom 1' "$group/memory.oom_control"
	}
	wait_until 'the group waits for memory' waits
	bench weft1 weft0 lat --iters 300
	alive waiting || die 'it does not wait'
	kill9 waiting
	over waiting
fi
weftd_stop weftd
