#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A process rings on another CPU, by that CPU's descriptor, as often as it can, and has no work
# (rings.c). weftd's thread there has a real-time priority: it leaves most of the CPU to others,
# whatever is rung, and requests of others are served meanwhile.

. tests/int/lib.sh

[ "$(nproc)" -ge 2 ] || skip 'two CPUs are needed'
weftd_start weftd --nics 2
thread=$(grep -lx 'weft-0\.1' /proc/"${pid[weftd]}"/task/*/comm | head -1)
[ "$thread" ] || skip 'weftd has no thread on each CPU here'
thread=${thread%/comm}

# Prints the CPU time of that thread in hundredths of a second.
used()
{
	awk '{ print $14 + $15 }' "$thread/stat"
}

spawn attack "$WEFT_INT/rings" weft0 0 4
says attack ringing
before=$(used)
since=$(date +%s%N)
bench weft0 weft1 lat --iters 300
expect_ok attack
after=$(used)
took=$((($(date +%s%N) - since) / 10000000))
[ $(((after - before) * 100)) -lt $((took * 40)) ] ||
	die "the thread used $((after - before)) of $took hundredths of a second of its CPU"
bench weft1 weft0 lat --iters 100
weftd_stop weftd
