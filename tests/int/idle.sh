#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# An idle weftd sleeps: it uses under 1 % of a core with processes attached, and serves the first
# doorbell and the first frame after sleep. Runs the release build, since sanitizers would add their
# own cost.

. tests/int/lib.sh

# Clock ticks (1/100 s) that a process has used.
ticks()
{
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

[ ! -x build/bin/weftd ] || WEFT_BIN=$PWD/build/bin
weftd_start weftd --nics 4
# Attaches a process that does nothing, because it is stopped.
spawn waiting "$WEFT_BIN/weft-bench" loop lat --device weft2 --device2 weft3 --duration 100
wait_until 'the process is attached' attached weft3 1
in_traffic weft3
kill -STOP "${pid[waiting]}"
sleep 0.5
before=$(ticks "${pid[weftd]}")
sleep 4
after=$(ticks "${pid[weftd]}")
say "idle for 4 s: $((after - before)) ticks of 10 ms"
[ $((after - before)) -lt 4 ] || die "weftd used $((after - before)) ticks of 10 ms in 4 s: 1 % of a core is 4"
[ "$(counter weft0 core_sleeps)" -gt 0 ] || die 'weftd never slept'
# weftd is asleep now: the first doorbell wakes it, and frames flow again.
sleep 0.2
bench weft1 weft0 lat --iters 200
sleep 0.2
bench weft1 weft0 lat --iters 200 --event
# weftctl's request wakes it: it sleeps again before the stopped process rings.
woken=$(counter weft3 core_wakes_doorbell)
sleep 0.5
kill -CONT "${pid[waiting]}"
wait_until 'the doorbell wakes it' counter_above weft3 core_wakes_doorbell "$woken"
[ "$(counter weft0 core_wakes_doorbell)" -gt 0 ] || die 'no doorbell ever woke it'
# A process that computes on the core's CPU does not hold it up for a time slice: the core sleeps at
# once, and each doorbell wakes a thread on the CPU of the process that rings.
cpu=$(ctl stats weft0 --per-shard | awk '$1 == "shard0.core_cpu:" { print $2; exit }')
spawn computes taskset -c "$cpu" sh -c 'echo computing; while :; do :; done'
says computes computing
woken=$(counter weft0 core_wakes_doorbell)
bench weft1 weft0 lat --iters 1000
kill "${pid[computes]}"
finish computes
counter_above weft0 core_wakes_doorbell $((woken + 50)) || die 'the core went on yielding'
say "served after a doorbell in at most $(counter weft0 core_wake_doorbell_ns_max) ns"
weftd_stop weftd
