#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Operations of users (docs/user-ops.md) on two NICs: the examples of docs/examples/user-ops and
# programs that fail or are refused, compiled here; each job twice, by the compiler of weftd and,
# after its end, by the interpreter.

. tests/int/lib.sh

command -v clang >/dev/null || skip "clang is missing, which compiles programs for BPF"
objects=$WEFT_TMP/objects
mkdir "$objects"

# compile FILE NAME
compile()
{
	clang -target bpf -O2 -mcpu=v2 -Wall -Werror -I. -c "$1" -o "$objects/$2.o" || die "$1 cannot be compiled"
}

for f in docs/examples/user-ops/*.bpf.c; do
	n=${f##*/}
	compile "$f" "${n%.bpf.c}"
done
# small NAME BODY: a program on one element of 64 bits
small()
{
	printf '#include "host_driver/goal/goal_bpf.h"\nGOAL_BPF_OP(%s, 8, 1)\n{\n%s\n}\n' "$1" "$2" >"$objects/$1.bpf.c"
	compile "$objects/$1.bpf.c" "$1"
}
small div 'const goal_u64 *a = goal_bpf_a(view), *b = goal_bpf_b(view); goal_u64 *r = goal_bpf_result(view);
	r[0] = 25 / a[0] + 25 / b[0]; return GOAL_BPF_OK;'
small fail 'const goal_u64 *a = goal_bpf_a(view); return a[0] ? 7 : 8;'
small loop '#pragma nounroll
	for (goal_u64 i = 0; i < view->count * 100; i++) __asm__ volatile(""); return GOAL_BPF_OK;'

weftd_start weftd --nics 2
peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | paste -sd,)

job()
{
	local i
	for i in 0 1; do
		spawn "$1.$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB="$1" WEFT_DEVICE=weft$i "$WEFT_INT/goal_user" "$objects"
	done
	for i in 0 1; do
		expect_ok "$1.$i"
		out_has "$1.$i" '^all right' || die "$1.$i did not come to its end"
	done
	for i in 0 1; do expect_objects weft$i '0 0 0 0'; done
}

job compiled
# The compiler ends; operations go on, interpreted.
# shellcheck disable=SC2154 # lib.sh has pid
child=$(pgrep -P "${pid[weftd]}" weftd-compiler) || die "weftd has no compiler of users' operations"
kill -KILL "$child"
job interpreted
out_has weftd "compiler of users' operations has ended" || die "weftd did not say that its compiler is gone"
weftd_stop weftd
