#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A client that does not run (SIGSTOP) in the middle of traffic, the active or the passive side: others on
# the same NICs go on and stay right; continued, it ends right itself.

. tests/int/lib.sh

weftd_start weftd --nics 2
turn=0
stop_one()
{
	local side=$1 name
	shift
	turn=$((turn + 1))
	name=stopped$turn
	bench_start "$name" weft1 weft0 "$@" --duration 3
	wait_until 'they are attached' attached weft1 1
	in_traffic weft1
	alive "$name.$side" || die 'it ended before it could be stopped'
	kill -STOP "${pid[$name.$side]}"
	wait_until 'it is stopped' state_is "$name.$side" T
	bench weft0 weft1 lat --iters 300
	bench weft1 weft0 bw --op write --size 20000 --iters 300
	bench weft1 weft0 rate --op atomic --iters 2000
	state_is "$name.$side" T || die 'it is not stopped any more'
	kill -CONT "${pid[$name.$side]}"
	expect_ok "$name.c" "$name.s"
}

for side in c s; do
	stop_one $side lat --op send
	stop_one $side bw --op send --size 10000
	stop_one $side bw --op write --size 100K --event
	stop_one $side bw --op read --size 100K --mem shared
	stop_one $side rate --qp ud
done

# Reads and atomics need nothing of the process on the other side: with the server stopped all the while
# they go on.
bench_start alone weft1 weft0 rate --op atomic --duration 3
in_traffic weft1
kill -STOP "${pid[alone.s]}"
wait_until 'it is stopped' state_is alone.s T
before=$(counter weft1 atomics_executed)
wait_until 'atomics go on' counter_above weft1 atomics_executed "$((before + 1000))"
kill -CONT "${pid[alone.s]}"
expect_ok alone.c alone.s
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop weftd
