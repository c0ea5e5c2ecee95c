#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# 100 upgrades of the firmware in a row under streams of every transport, perftest, rping, GOAL runs,
# MPI jobs and iperf3 over sockets on the built-in switch with two cores, then 20 as weftd is started
# by default, whose turns run on the CPUs of the programs, and 20 each over veth (AF_XDP) and over
# memif. Every program checks its data; none sees an error. The table has the longest time that
# a core was busy with a change, and the longest round trip of the measured programs while it lasted.
# UPGRADE_WIRES="veth memif" takes these alone, UPGRADE_SECONDS=S is the time that the streams run.
#
# timeout: 1800

# shellcheck disable=SC2154 # upgrades.sh has $upgraded, $longest
. tests/int/lib.sh
. tests/ops/upgrades.sh
need chrt rping iperf3 python3 ib_write_bw mpirun.openmpi
make -s build/mpi/openmpi/p2p >/dev/null || die 'tests/mpi/p2p.c does not compile'

WEFT_BIN=$PWD/build/bin
export WEFT_BIN
run=$WEFT_BIN/weft-run
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

# streams SERVER-NIC CLIENT-NIC: weft-bench on every transport
kinds='lat events write atomic ud tcp esp'
streams()
{
	bench_timeout=$((seconds + 60))
	LIMIT=$((seconds + 120))
	bench_start lat "$1" "$2" lat --duration "$seconds"
	bench_start events "$1" "$2" bw --size 100K --event --window 8 --duration "$seconds"
	bench_start write "$1" "$2" bw --op write --size 20000 --duration "$seconds"
	bench_start atomic "$1" "$2" rate --op atomic --window 16 --duration "$seconds"
	bench_start ud "$1" "$2" lat --qp ud --duration "$seconds"
	bench_start tcp "$1" "$2" lat --qp rc-tcp --event --duration "$seconds"
	bench_start esp "$1" "$2" lat --qp rc-esp --duration "$seconds"
}

# streams_end: they end by themselves; the longest round trips into $worst
declare -A worst
streams_end()
{
	local name max
	expect_ok {lat,events,write,atomic,ud,tcp,esp}.{c,s}
	for name in lat ud tcp esp; do
		max=$(awk '/t_max/ { for (i = 1; i <= NF; i++) if ($i ~ /t_max/) at = i; getline; print $at; exit }' "$WEFT_TMP/$name.c.out")
		worst[$name]=$(printf '%s\n' "$max" "${worst[$name]:-0}" | sort -g | tail -n 1)
	done
}

# round MOST NAME...: upgrades beside the streams, which have begun, and those programs. The next round lasts longer if this
# one brought none.
round()
{
	local before=$upgraded name all=("${@:2}")
	for name in $kinds; do
		all+=("$name.s" "$name.c")
	done
	upgrades "$1" "${all[@]}"
	[ "$longest" -le "$most_us" ] || die "a change took $longest us"
	streams_end
	[ "$upgraded" -gt "$before" ] || seconds=$((seconds * 2))
}

# under_streams WIRE SERVER-NIC CLIENT-NIC N: N upgrades under streams, which begin again until there were as many
under_streams()
{
	upgrades_anew
	worst=()
	while [ "$upgraded" -lt "$4" ]; do
		streams "$2" "$3"
		in_traffic "$2"
		round "$4"
	done
	row "$1" "$4"
}

# row WIRE N: into the table
row()
{
	table+=("$(printf '%-8s %8s %12s   %s %s %s %s' "$1" "$2" "$longest" "${worst[lat]}" "${worst[ud]}" "${worst[tcp]}" "${worst[esp]}")")
}

table=()

# The switch, two cores, and programs beside the streams.
on_switch()
{
	weftd_start weftd --nics 2 --cores "$(cores_list 2)"
	spawn rping.s "$run" --device weft1 rping -s -P -a 10.77.0.2
	sleep 1
	upgrades_anew
	again rping "$run" --device weft0 rping -c -a 10.77.0.2 -C 200 -V
	again mpi "$run" mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 build/mpi/openmpi/p2p --quick \
		--max-bytes 20000 --timeout 100
	again goal env WEFT_DEVICE= "$WEFT_BIN/goal-bench" coll allreduce:8 allreduce:65536 barrier --iters 300
	while [ "$upgraded" -lt 100 ]; do
		streams weft1 weft0
		spawn perftest.s "$run" --device weft1 ib_write_bw -R -D "$seconds"
		wait_until 'ib_write_bw listens' counter_is weft1 cm_listeners 2
		spawn perftest.c "$run" --device weft0 ib_write_bw -R -D "$seconds" 10.77.0.2
		spawn iperf.s "$run" --device weft1 --sockets iperf3 -s -1 -B 10.77.0.2
		wait_until 'iperf3 listens' uses weft1 sockets
		sleep 1
		spawn iperf.c "$run" --device weft0 --sockets iperf3 -c 10.77.0.2 -t "$seconds" --json
		in_traffic weft1
		round 100 {perftest,iperf}.{s,c}
		expect_ok iperf.c iperf.s perftest.c perftest.s
		python3 - "$WEFT_TMP/iperf.c.out" <<'PY' || die 'a second of iperf3 without a byte'
import json, sys
report = json.load(open(sys.argv[1]))
assert "error" not in report, report["error"]
rates = [i["sum"]["bytes"] for i in report["intervals"]]
print("iperf3: %d intervals, the slowest %d KB, in all %.1f GB received" %
      (len(rates), min(rates) / 1000, report["end"]["sum_received"]["bytes"] / 1e9))
assert min(rates) > 0 and report["end"]["sum_received"]["bytes"] >= 0.9 * report["end"]["sum_sent"]["bytes"]
PY
	done
	: >"$WEFT_TMP/over"
	expect_ok rping goal mpi
	for i in rping goal mpi; do
		say "ok: $i $(tail -n 1 "$WEFT_TMP/$i.out")"
	done
	row switch 100
	kill "${pid[rping.s]}"
	finish rping.s
	[ "$(counter weft0 goal_runs_failed)" -eq 0 ] || die 'a GOAL run has failed'
	weftd_stop weftd
}

# The switch, as weftd starts by default.
on_default()
{
	weftd_start weftd --nics 2
	under_streams default weft1 weft0 20
	weftd_stop weftd
}

# Two daemons, both upgraded.
on_veth()
{
	two_weftd veth
	under_streams veth right0 left0 20
	weftd_stop left
	weftd_stop right
}

on_memif()
{
	two_weftd memif --mtu 9000
	under_streams memif right0 left0 20
	weftd_stop left
	weftd_stop right
}

for wire in ${UPGRADE_WIRES:-switch default veth memif}; do
	seconds=${UPGRADE_SECONDS:-$([ "$wire" = switch ] && echo 60 || echo 30)}
	on_"$wire"
done
say 'wire     upgrades  longest_us   t_max of rd, ud, rc-tcp, rc-esp (us)'
printf '%s\n' "${table[@]}"
