#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Clients that break every rule (hostile_cmd.c, hostile_bar.c) share NICs with clients that keep
# them: the latter's traffic stays right, and weftd lives. WEFT_SEED=N replays a failure with the
# printed seed.

. tests/int/lib.sh
seed=${WEFT_SEED:-$((RANDOM * 32768 + RANDOM))}
say "WEFT_SEED=$seed"

weftd_start weftd --nics 2
number=0
round()
{
	number=$((number + 1))
	spawn "cmd$number" "$WEFT_INT/hostile_cmd" "$WEFT_RUN_DIR/weft0" "$((seed + number))" "$1"
	spawn "bar$number" "$WEFT_INT/hostile_bar" "$WEFT_RUN_DIR/weft0" "$((seed + number))" "$1"
	bench weft1 weft0 lat --op send --iters 300
	bench weft0 weft1 bw --op write --size 20000 --iters 300
	bench weft1 weft0 bw --op read --size 5000 --mem shared --iters 300
	bench weft0 weft0 rate --op atomic --iters 1000
	bench weft1 weft0 rate --qp ud --iters 2000
	expect_ok "cmd$number" "bar$number"
	expect_objects weft0 '0 0 0 0'
}

round 200
round 500
bad=$(counter weft0 doorbells_bad)
wqes=$(counter weft0 wqes_bad)
say "bad doorbells $bad, bad requests $wqes"
if [ "$bad" -eq 0 ] || [ "$wqes" -eq 0 ]; then
	die 'the NIC did not count what was wrong'
fi

# One hostile client is killed in the middle.
spawn scribbler "$WEFT_INT/hostile_bar" "$WEFT_RUN_DIR/weft0" "$seed" 1000000
wait_until 'it is at it' counter_above weft0 doorbells_bad "$((bad + 1000))"
kill9 scribbler
expect_objects weft0 '0 0 0 0'
bench weft1 weft0 bw --op write --size 20000 --iters 300
weftd_stop weftd
