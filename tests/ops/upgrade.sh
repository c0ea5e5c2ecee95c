#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# 100 upgrades of the firmware in a row under streams of every transport, rping, GOAL runs and iperf3
# over sockets on the built-in switch with two cores, then 20 each over veth (AF_XDP) and
# over memif. Every program checks its data; none sees an error. The table has the longest time that
# a core was busy with a change, and the longest round trip of the measured programs while it lasted.
#
# timeout: 900

. tests/int/lib.sh
need rping iperf3 python3

WEFT_BIN=$PWD/build/bin
export WEFT_BIN
run=$WEFT_BIN/weft-run
# The streams end by themselves, long after the upgrades on a fast machine.
LIMIT=200
most_us=200000 # the longest change

# again NAME COMMAND...: repeats a command until the upgrades are over; each time it must succeed
again()
{
	local name=$1
	shift
	spawn "$name" bash -c 'n=0; until [ -e "$0" ]; do timeout 120 "$@" || exit 1; n=$((n + 1)); done; echo "$n times"' \
		"$WEFT_TMP/over" "$@"
}

# upgrades WIRE N: N upgrades, and their longest time in us into $longest
upgrades()
{
	local i us
	longest=0
	for ((i = 0; i < $2; i++)); do
		tool 0 "$WEFT_BIN/weftctl" upgrade --json
		us=$(sed -n 's/.*"longest_us": \([0-9]*\).*/\1/p' "$out" | sort -n | tail -n 1)
		[ "$us" -le "$longest" ] || longest=$us
		sleep 0.1
	done
	[ "$longest" -le "$most_us" ] || die "$1: a change took $longest us"
}

# streams SERVER-NIC CLIENT-NIC ESP: weft-bench on every transport, until they are asked to end
streams()
{
	bench_timeout=120
	bench_start lat "$1" "$2" lat --duration "$seconds"
	bench_start events "$1" "$2" bw --size 100K --event --window 8 --duration "$seconds"
	bench_start write "$1" "$2" bw --op write --size 20000 --duration "$seconds"
	bench_start atomic "$1" "$2" rate --op atomic --window 16 --duration "$seconds"
	bench_start ud "$1" "$2" lat --qp ud --duration "$seconds"
	bench_start tcp "$1" "$2" lat --qp rc-tcp --event --duration "$seconds"
	bench_start esp "$1" "$2" lat --qp rc-esp --duration "$seconds"
}

streams_end()
{
	local name
	for name in lat events write atomic ud tcp esp; do
		alive "$name.c" || die "$name ended before the upgrades: more than $seconds s are needed"
	done
	expect_ok {lat,events,write,atomic,ud,tcp,esp}.{c,s}
}

row()
{
	local name max=''
	for name in lat ud tcp esp; do
		max+=" $(awk '/t_max/ { for (i = 1; i <= NF; i++) if ($i ~ /t_max/) at = i; getline; print $at; exit }' "$WEFT_TMP/$name.c.out")"
	done
	# shellcheck disable=SC2086 # words
	printf '%-8s %8s %12s   %s %s %s %s\n' "$1" "$2" "$longest" $max
}

table=()
seconds=${UPGRADE_SECONDS:-90}

# ---- the switch, two cores

weftd_start weftd --nics 2 --cores "$(cores_list 2)"
spawn rping.s "$run" --device weft1 rping -s -P -a 10.77.0.2
sleep 1
streams weft1 weft0
again rping "$run" --device weft0 rping -c -a 10.77.0.2 -C 200 -V
again goal env WEFT_DEVICE= "$WEFT_BIN/goal-bench" coll allreduce:8 allreduce:65536 barrier --iters 300
spawn iperf.s "$run" --device weft1 --sockets iperf3 -s -1 -B 10.77.0.2
wait_until 'iperf3 listens' uses weft1 sockets
sleep 1
spawn iperf.c "$run" --device weft0 --sockets iperf3 -c 10.77.0.2 -t "$seconds" --json
in_traffic weft1
upgrades switch 100
alive iperf.c || die "iperf3 ended before the upgrades: more than $seconds s are needed"
streams_end
expect_ok iperf.c iperf.s
python3 - "$WEFT_TMP/iperf.c.out" <<'PY' || die 'a second of iperf3 without a byte'
import json, sys
report = json.load(open(sys.argv[1]))
assert "error" not in report, report["error"]
rates = [i["sum"]["bytes"] for i in report["intervals"]]
print("iperf3: %d intervals, the slowest %d KB, in all %.1f GB received" %
      (len(rates), min(rates) / 1000, report["end"]["sum_received"]["bytes"] / 1e9))
assert min(rates) > 0 and report["end"]["sum_received"]["bytes"] >= 0.9 * report["end"]["sum_sent"]["bytes"]
PY
: >"$WEFT_TMP/over"
expect_ok rping goal
for i in rping goal; do
	say "ok: $i $(tail -n 1 "$WEFT_TMP/$i.out")"
done
table+=("$(row switch 100)")
kill "${pid[rping.s]}"
finish rping.s
[ "$(counter weft0 goal_runs_failed)" -eq 0 ] || die 'a GOAL run has failed'
weftd_stop weftd

# ---- other wires: two daemons, both upgraded

seconds=${UPGRADE_SECONDS_WIRE:-30}
netns_add a
netns_add b
a=$(unique a) b=$(unique b)
ip link add va netns "$a" type veth peer name vb netns "$b" || die 'no veth here'
ip -n "$a" link set va up
ip -n "$b" link set vb up
in_ns="ip netns exec $a"
weftd_start left.veth --port va --ip 10.9.0.1/24 --name left
in_ns="ip netns exec $b"
weftd_start right.veth --port vb --ip 10.9.0.2/24 --name right
in_ns=
streams right0 left0
upgrades veth 20
streams_end
table+=("$(row veth 20)")
weftd_stop left.veth
weftd_stop right.veth

weftd_start left.memif --port "memif:$WEFT_RUN_DIR/m.sock,server" --ip 10.9.0.1/24 --mtu 9000 --name left
weftd_start right.memif --port "memif:$WEFT_RUN_DIR/m.sock" --ip 10.9.0.2/24 --mtu 9000 --name right
streams right0 left0
upgrades memif 20
streams_end
table+=("$(row memif 20)")
weftd_stop left.memif
weftd_stop right.memif

say 'wire     upgrades  longest_us   t_max of rd, ud, rc-tcp, rc-esp (us)'
printf '%s\n' "${table[@]}"
