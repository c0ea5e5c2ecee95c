#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory that is not mapped (own_memory.c): the NIC reaches it only by a descriptor that the process
# sent of its own memory, also from another user and from a container, and not from an undumpable
# process (PR_SET_DUMPABLE). kernel.yama.ptrace_scope, where the kernel has it, at 1 and 2 as well:
# weftd needs no ptrace rights, so the scope makes no difference.

. tests/int/lib.sh
. tests/security/users.sh

try()
{
	spawn "$1" "$WEFT_INT/own_memory" "$WEFT_RUN_DIR/weft0" "$1"
	finish "$1"
	case $status in
	0) say "ok: $1" ;;
	77) say "not tried: $1: no such namespaces here" ;;
	*) die "$1 ended with exit status $status" ;;
	esac
}

start weftd --nics 1
try wrong
[ "$(counter weft0 attach_memory_refused)" -eq 7 ] || die 'descriptors that were refused are not counted'
try plain
try namespace
try undumpable
scope=/proc/sys/kernel/yama/ptrace_scope
if [ -w $scope ]; then
	at_exit "echo $(cat $scope) >$scope"
	for level in 1 2; do
		echo $level >$scope
		try plain
		try namespace
	done
else
	say 'not tried: kernel.yama.ptrace_scope: the kernel has none'
fi
expect_objects weft0 '0 0 0 0'
weftd_stop weftd

start weftd --nics 1 --unmapped off
try off
weftd_stop weftd
