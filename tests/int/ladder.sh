#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-bench ladder: the port, the firmware, the core of collectives and a process each answer
# frames and count them. A missing rung is reported.

. tests/int/lib.sh
need python3

netns_add l
ns=$(unique l)
ip link add la netns "$ns" type veth peer name lb netns "$ns" || skip 'no veth here'
ip -n "$ns" link set la up
ip -n "$ns" link set lb up
in_ns="ip netns exec $ns"
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')

ladder()
{
	local name=$1
	shift
	# shellcheck disable=SC2086 # in_ns is words
	spawn "$name" $in_ns "$WEFT_BIN/weft-bench" ladder --netdev lb --device weft0 "$@"
}

weftd_start all --port la --ip 10.79.0.254/24 --cores "$cpu:io,$cpu:coll" --port-echo
ladder table --iters 100
expect_ok table
grep -qE '^ coll +100 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]+$' "$WEFT_TMP/table.out" || die 'no rung coll in the table'
ladder json --iters 200 --json
expect_ok json
python3 - "$WEFT_TMP/json.out" <<'END' || die 'the JSON object is not what it should be'
import json
import sys

rungs = json.load(open(sys.argv[1]))["rungs"]
assert [r["name"] for r in rungs] == ["port", "firmware", "coll", "host"], rungs
for r in rungs:
    assert r["frames"] == 200 and 0 < r["min_us"] <= r["median_us"] <= r["max_us"], r
END
# 100 and 200 frames are counted, after 10 uncounted ones each: each rung answered its own frames
# and no other one's.
ctl stats weft0 --per-shard >"$WEFT_TMP/stats"
count()
{
	awk -v name="$1:" '$1 == name { print $2 }' "$WEFT_TMP/stats"
}
for c in shard0.port_echoes shard0.edp_echo_rx shard1.edp_echo_rx shard1.port_rx_ring shard1.port_tx_ring shard0.ud_rx_msgs; do
	[ "$(count $c)" -ge 330 ] || die "$c is $(count $c)"
done
[ "$(count shard1.port_echoes)" -eq 0 ] || die 'shard 1 has no port'
expect_objects weft0 '0 0 0 0'
weftd_stop all

# Without a core for collectives that rung is left out; without --port-echo the output says what is
# missing.
weftd_start few --port la --ip 10.79.0.254/24 --cores "$cpu" --port-echo
ladder few_l --iters 100 --json
expect_ok few_l
grep -q '"coll"' "$WEFT_TMP/few_l.out" && die 'a rung that is not there'
weftd_stop few
weftd_start deaf --port la --ip 10.79.0.254/24 --cores "$cpu"
ladder deaf_l --iters 1
expect_fail deaf_l 'start weftd with --port-echo'
spawn wrong "$WEFT_BIN/weft-bench" ladder --netdev no-such-if --device weft0
expect_fail wrong 'no-such-if: No such device'
weftd_stop deaf
