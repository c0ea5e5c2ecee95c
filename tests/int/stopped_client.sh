#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A client is stopped (SIGSTOP) in the middle of traffic, on the active or the passive side: others
# on the same NICs go on and stay right; when continued, it completes correctly.

. tests/int/lib.sh

weftd_start weftd --nics 2
turn=0
# stop_one SIDE WORD...: runs that kind of traffic and stops one side of it while another pair
# works. On a machine so slow that the traffic is over before the stop, it repeats with longer
# traffic.
stop_one()
{
	local side=$1 name seconds=1
	shift
	until start_and_stop "$side" $seconds "$@"; do
		seconds=$((seconds * 2))
		[ $seconds -le 16 ] || die 'no traffic lasts long enough'
	done
	name=stopped$turn
	bench weft0 weft1 lat --iters 300
	bench weft1 weft0 bw --op write --size 20000 --iters 300
	bench weft1 weft0 rate --op atomic --iters 2000
	state_is "$name.$side" T || die 'it is not stopped any more'
	kill -CONT "${pid[$name.$side]}"
	expect_ok "$name.c" "$name.s"
}

start_and_stop()
{
	local side=$1 seconds=$2 name received
	shift 2
	turn=$((turn + 1))
	name=stopped$turn
	received=$(counter weft1 rx_frames)
	bench_start "$name" weft1 weft0 "$@" --duration "$seconds"
	wait_until 'there is traffic' counter_above weft1 rx_frames "$((received + 100))"
	kill -STOP "${pid[$name.$side]}" 2>/dev/null
	wait_until 'it is stopped, or gone' stopped_or_gone "$name.$side"
	state_is "$name.$side" T && return 0
	expect_ok "$name.c" "$name.s"
	return 1
}

stopped_or_gone()
{
	state_is "$1" T || dead "$1"
}

for side in c s; do
	stop_one $side lat --op send
	stop_one $side bw --op send --size 10000
	stop_one $side bw --op write --size 100K --event
	stop_one $side bw --op read --size 100K --mem shared
	stop_one $side rate --qp ud
done

# Reads and atomics need no work of the target process: they go on while the server is stopped.
before=$(counter weft1 atomics_executed)
bench_start alone weft1 weft0 rate --op atomic --iters 50000
wait_until 'the first atomic' counter_above weft1 atomics_executed "$before"
kill -STOP "${pid[alone.s]}"
wait_until 'it is stopped' state_is alone.s T
wait_until 'the last atomic' counter_above weft1 atomics_executed "$((before + 49999))"
kill -CONT "${pid[alone.s]}"
expect_ok alone.c alone.s
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop weftd
