#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# 100 upgrades of the firmware in a row under unmodified programs that all run at once: perftest, rping, iperf3 over
# sockets, an MPI job and one whose collectives are GOAL runs on the NIC. On the switch, with cores of its own and as
# weftd is started by default, and with two weftd, both upgraded, over memif and veth (AF_XDP). The table says how long
# each program saw no completion while weftctl upgrade ran, and beside it, while weftctl upgrade --check ran, which loads
# the firmware and changes nothing: what the programs wait for the CPUs is in both. steady.c checks every byte and sum,
# rping every byte; iperf3 must receive what it sent; no completion of any program may report an error.
#
# UPGRADE_WIRES="switch memif" takes these wires alone, UPGRADES=N upgrades, UPGRADE_SECONDS=S is the time that the
# programs run.
# timeout: 2400

# shellcheck disable=SC2154 # upgrades.sh has $upgraded, $longest, $windows
. tests/int/lib.sh
. tests/ops/upgrades.sh
need chrt rping iperf3 python3 ib_write_bw ib_send_lat mpirun.openmpi
make -s build/mpi/openmpi/steady build/int/gaps.so >/dev/null || die 'programs of this test do not compile'

WEFT_BIN=$PWD/build/bin
run=$WEFT_BIN/weft-run
most=${UPGRADES:-100}
seconds=${UPGRADE_SECONDS:-45}
steady=("$PWD/build/mpi/openmpi/steady" --timeout 1200)
programs='write send rping iperf mpi goal'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none

# on PROGRAM NIC OPTION...: weft-run on that NIC
on()
{
	spawn "$1.$2" "$run" --device "${@:2}"
}

# seen PROGRAM NIC OPTION...: the same, and the gaps of the program are recorded
seen()
{
	local name=$1 nic=$2
	shift 2
	spawn "$name.$nic" env LD_PRELOAD="$PWD/build/int/gaps.so" WEFT_GAPS="$gaps/$name" "$run" --device "$nic" "$@"
}

# job NAME OPTION...: steady.c with a rank on each NIC
job()
{
	local name=$1 rank=(env LD_PRELOAD="$PWD/build/int/gaps.so" WEFT_GAPS="$gaps/$1" "$run" --device)
	shift
	spawn "$name" mpirun.openmpi -n 1 "${rank[@]}" "$client" "${steady[@]}" "$@" : -n 1 "${rank[@]}" "$server" "${steady[@]}" "$@"
}

# listens NAME N: waits until that server is the Nth that listens
listening()
{
	dead "$1" || counter_is "$server" cm_listeners "$2"
}
listens()
{
	wait_until "$1 listens" listening "$1" "$2"
	alive "$1" || die "$1 has ended"
}

# programs_start: all of them, at the NICs $server ($ip) and $client, for $seconds
programs_start()
{
	LIMIT=$((seconds + 120))
	on write "$server" ib_write_bw -R -D "$seconds"
	listens "write.$server" 1
	seen send "$server" --llp rd ib_send_lat -R -p 18516 -D "$seconds"
	listens "send.$server" 2
	seen rping "$server" rping -s -a "$ip" -p 7174 -C 100000000
	listens "rping.$server" 3
	seen iperf "$server" --sockets iperf3 -s -1 -B "$ip"
	wait_until 'iperf3 listens' uses "$server" sockets
	sleep 1
	seen write "$client" ib_write_bw -R -D "$seconds" "$ip"
	seen send "$client" --llp rd ib_send_lat -R -p 18516 -D "$seconds" "$ip"
	seen rping "$client" rping -c -a "$ip" -p 7174 -C 100000000 -V
	seen iperf "$client" --sockets iperf3 -c "$ip" -t "$seconds" --json
	job mpi --max-bytes 20000 --rounds "$seconds"
	job goal --quick --max-bytes 8 --rounds "$seconds"
	# shellcheck disable=SC2086 # words
	wait_until 'all programs have completions' python3 tests/ops/gaps.py begun "$gaps" $programs
	sleep 2
}

# programs_end: each by itself and without an error, but for rping, which is interrupted
programs_end()
{
	expect_ok {write,send}.{"$client","$server"} iperf.{"$client","$server"} mpi goal
	alive "rping.$client" || die 'rping has ended'
	alive "rping.$server" || die 'the server of rping has ended'
	kill "${pid[rping.$client]}" "${pid[rping.$server]}"
	finish "rping.$client"
	finish "rping.$server"
	! out_has "rping.$client" 'mismatch|error|fail' || die 'rping reports an error'
	python3 - "$WEFT_TMP/iperf.$client.out" <<'PY' || die 'iperf3 lost bytes'
import json, sys
end = json.load(open(sys.argv[1]))["end"]
assert end["sum_received"]["bytes"] >= 0.9 * end["sum_sent"]["bytes"] > 0, end
PY
}

# wire NAME SERVER IP CLIENT: as many upgrades as wanted; programs begin again until there were
wire()
{
	local before=0
	server=$2 ip=$3 client=$4 gaps=$WEFT_TMP/gaps.$1
	mkdir "$gaps"
	upgrades_anew
	while [ "$upgraded" -lt "$most" ]; do
		programs_start
		upgrades "$most" {write,send,rping,iperf}.{"$server","$client"} mpi goal
		programs_end
		[ "$upgraded" -gt "$before" ] || seconds=$((seconds * 2))
		before=$upgraded
	done
	# shellcheck disable=SC2086 # words
	python3 tests/ops/gaps.py table "$gaps" "$1" "$windows" $programs || die "$1: a program noticed an upgrade"
	say "$1: $upgraded upgrades, the longest change took $longest us"
}

links_up()
{
	local nic
	for nic in "$@"; do
		ctl list --json | python3 -c 'import json, sys
sys.exit(not any(n["nic"] == sys.argv[1] and n["link"] == "up" for n in json.load(sys.stdin)))' "$nic" || return
	done
}

say "$(uname -mr), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
say 'wire     program    upgrades  completions failed   gap in ms: median, p99, longest   without a change'
for w in ${UPGRADE_WIRES:-switch default memif veth}; do
	case $w in
	switch | default)
		# shellcheck disable=SC2046 # words
		weftd_start weftd --nics 2 $([ "$w" = default ] || echo --cores "$(cores_list 2)")
		wire "$w" weft1 10.77.0.2 weft0
		weftd_stop weftd
		continue
		;;
	memif) two_weftd memif --mtu 9000 ;;
	veth) two_weftd veth ;;
	*) die "UPGRADE_WIRES: $w" ;;
	esac
	wait_until 'both links are up' links_up left0 right0
	wire "$w" right0 10.9.0.2 left0
	weftd_stop left
	weftd_stop right
done
