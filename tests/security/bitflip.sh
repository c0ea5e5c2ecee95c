#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bitflip.c flips bits of all memory that clients share with their NIC while they work: every
# transport and operation, interrupts, collectives. The clients may fail. weftd must live without a
# sanitizer report, a process on the same NICs must find every byte right, and no object of the
# clients may be left. WEFT_SEED=N replays a failure with the printed seed; WEFT_BITFLIP_ROUNDS=N
# runs longer.

. tests/int/lib.sh
[ "$(id -u)" -eq 0 ] || skip 'not root'
seed=${WEFT_SEED:-$((RANDOM * 32768 + RANDOM))}
rounds=${WEFT_BITFLIP_ROUNDS:-1}
say "WEFT_SEED=$seed"

weftd_start weftd --nics 3
# The end whose bits are flipped may fail in any way: it only has to end.
bench_timeout=4
number=0
total=0

# turn SIDE WORD...: flips bits of the server (s) or the client (c) of a run of weft-bench
turn()
{
	local side=$1 other name flips
	shift
	number=$((number + 1))
	name=victim$number
	[ "$side" = s ] && other=c || other=s
	bench_start "$name" weft0 weft1 "$@" --iters 1000000
	wait_until 'both are attached' attached_or_dead weft0 "$name.s" "$name.c"
	spawn "flip$number" "$WEFT_INT/bitflip" "${pid[$name.$side]}" "$((seed + number))" 6000
	expect_ok "flip$number"
	flips=$(awk '{ print $1 }' "$WEFT_TMP/flip$number.out")
	total=$((total + flips))
	say "$flips bits: $side of $*"
	for end in "$name.$side" "$name.$other"; do
		alive "$end" && kill -KILL "${pid[$end]}"
		finish "$end"
		# Messages of a dying client, its sanitizer's included, are no findings.
		rm -f "$WEFT_TMP/$end".{out,err}
	done
	alive weftd || die "weftd has ended: WEFT_SEED=$seed"
}

# attached_or_dead NIC NAME...: waits until the processes have attached or ended
attached_or_dead()
{
	local name
	for name in "${@:2}"; do
		alive "$name" || return 0
	done
	attached "$1" 1 && attached weft1 1
}

while [ "$rounds" -gt 0 ]; do
	rounds=$((rounds - 1))
	bench_timeout=30 bench_start beside weft2 weft2 lat --op send --duration 10000
	turn c bw --op write --size 20000
	turn s bw --op send --size 3000
	turn c rate --op atomic
	turn c bw --op read --size 5000 --event
	turn s rate --qp ud
	turn c bw --qp rc --op write --size 9000 --event
	turn s bw --qp rc-esp --op send --size 9000
	turn c bw --qp rc-tcp --op write --size 9000
	alive beside.c || die 'the process beside them ended'
	kill -TERM "${pid[beside.c]}" "${pid[beside.s]}"
	finish beside.c
	finish beside.s
	# New clients work.
	bench weft1 weft0 bw --op write --size 20000 --iters 200
	bench weft0 weft1 rate --qp ud --iters 1000
done
say "$total bits"
[ "$total" -ge 500 ] || die 'few bits were turned'
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop weftd
