#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Interfaces with 1 to 32 queues, by AF_XDP: flows from the kernel at the other end arrive on all
# queues, and every frame is counted and reaches the firmware, with more queues than shards and
# fewer, with the XDP program in the driver and behind it. Frames on queues that were made after
# weftd's start, which it does not read, are counted.

. tests/int/lib.sh
need python3 ethtool
[ "$(nproc)" -ge 2 ] || skip 'two CPUs are needed'
cpus=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' |
	head -n 2 | paste -sd,)

netns_add a
netns_add b
a=$(unique a) b=$(unique b)
ip link add va netns "$a" numrxqueues 33 numtxqueues 33 type veth peer name vb netns "$b" numrxqueues 33 numtxqueues 33 ||
	skip 'no veth here'
ip -n "$a" addr add 10.9.0.1/24 dev va
ip -n "$a" link set va up
ip -n "$b" link set vb up
on_a="ip netns exec $a"
on_b="ip netns exec $b"
$on_a ethtool -K va tso off gso off gro off >/dev/null 2>&1
flows=64

# Sends datagrams of the given number of flows, a few of each, to a port of weft; the firmware drops
# and counts them.
# shellcheck disable=SC2086 # words
many_flows()
{
	$on_a python3 - $flows <<'PY'
import socket, sys, time
for flow in range(int(sys.argv[1])):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("10.9.0.10", 47810))
    for i in range(5):
        s.send(b"nothing that weft knows of")
    s.close()
    time.sleep(0.001)
PY
}

# sum PATTERN: sum of the counters whose names match, such as xsk_queue*_rx
sum()
{
	ctl stats weft0 >"$WEFT_TMP/list"
	awk -v pattern="^$1:\$" '$1 ~ pattern { sum += $2 } END { print sum + 0 }' "$WEFT_TMP/list"
}

sum_is()
{
	[ "$(sum "$1")" -eq "$2" ]
}

# round NAME QUEUES WORD...: options of weftd
round()
{
	local name=$1 queues=$2
	shift 2
	$on_b ethtool -L vb rx "$queues" tx "$queues" || skip 'no ethtool -L for a veth'
	$on_a ethtool -L va rx "$queues" tx "$queues"
	in_ns=$on_b
	weftd_start "$name" --port vb --ip 10.9.0.10/24 "$@"
	export in_ns=
	says "$name" ", $queues queue"
	$on_a ping -c 1 -W 10 10.9.0.10 >/dev/null || die 'the NIC does not answer'
	many_flows
	wait_until 'the program has taken all' counter_is weft0 xdp_taken_udp $((flows * 5))
	# A weftd that gets no processor time may lose some, which the sockets count.
	wait_until 'queues and program agree' sum_is 'xsk_queue[0-9]+_rx(_dropped|_ring_full)?' "$(counter weft0 xdp_taken)"
	wait_until 'the firmware has what came' counter_above weft0 rx_frames $(($(sum 'xsk_queue[0-9]+_rx') - 1))
	ctl stats weft0 >"$WEFT_TMP/list"
	used=$(awk '/xsk_queue[0-9]+_rx:/ && $2 > 0' "$WEFT_TMP/list" | wc -l)
	say "$name: $used of $queues queues"
}

round one_shard 4 --netdev native --cores "${cpus#*,}"
[ "$used" -eq 4 ] || die 'not all queues were used'
# weftctl shows the queues.
ctl xdp weft0 >"$WEFT_TMP/xdp"
grep -q '^weft0: XDP program [0-9]*, native, at an address of its own' "$WEFT_TMP/xdp" || die "$(cat "$WEFT_TMP/xdp")"
[ "$(grep -c '^  queue [0-3]: shard 0, ' "$WEFT_TMP/xdp")" -eq 4 ] || die "$(cat "$WEFT_TMP/xdp")"
ctl xdp --json >"$WEFT_TMP/xdp"
python3 - "$WEFT_TMP/xdp" <<'PY' || die "$(cat "$WEFT_TMP/xdp")"
import json, sys
(nic,) = json.load(open(sys.argv[1]))
for sort in "taken", "passed", "dropped":
    assert nic[sort] == sum(n for name, n in nic["frames"].items() if name.startswith(sort + "_")), sort
assert [queue["queue"] for queue in nic["queues"]] == [0, 1, 2, 3]
assert nic["taken"] == sum(queue["rx"] + queue["rx_dropped"] + queue["rx_ring_full"] for queue in nic["queues"])
PY
# DPDK's telemetry shows them, too; its answers hold 256 entries.
cat >"$WEFT_TMP/telemetry.py" <<'PY'
import glob, json, os, socket, sys
def ask(what):
    for path in glob.glob("/var/run/dpdk/*/dpdk_telemetry.v2"):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            s.connect(path)
        except OSError:
            continue
        hello = s.recv(1024)
        if not hello: # another DPDK program, which is ending
            continue
        info = json.loads(hello)
        if info["pid"] == int(sys.argv[1]):
            s.send(what.encode())
            return json.loads(s.recv(info["max_output_len"]))["/weft/stats"]
want = json.load(open(sys.argv[2]))["weft0"]
got = ask("/weft/stats,weft0,xdp_taken")
assert got == {name: n for name, n in want.items() if name.startswith("xdp_taken")}, got
got = ask("/weft/stats,weft0")
assert 0 not in got.values() and got["xdp_taken_udp"] == want["xdp_taken_udp"], got
got = ask("/weft/stats,weft0,")
assert len(got) == 256 and got["left_out"] + 255 >= len(want), got["left_out"]
assert ask("/weft/stats,weft1") is None
PY
ctl stats weft0 --json >"$WEFT_TMP/stats"
# shellcheck disable=SC2154 # tests/int/lib.sh has it
tool 0 python3 "$WEFT_TMP/telemetry.py" "${pid[one_shard]}" "$WEFT_TMP/stats"
weftd_stop one_shard
round many 32 --netdev native --cores "$cpus"
[ "$used" -ge 12 ] || die 'not many queues were used'
weftd_stop many
round one_queue 1 --cores "$cpus"
[ "$used" -eq 1 ] || die 'the queue was not used'
weftd_stop one_queue
# On a veth the sender chooses the queue of a frame for a program behind the driver.
round generic 4 --netdev generic --cores "$cpus"
[ "$used" -ge 2 ] || die 'one queue alone was used'

# Queues made after the start: their frames are dropped and counted until weftd restarts. (A veth in
# driver mode runs no program for such queues.)
$on_b ethtool -L vb rx 16 tx 16
$on_a ethtool -L va rx 16 tx 16
many_flows
wait_until 'all are counted' sum_is 'xdp_(taken_udp|dropped_no_socket)' $((2 * flows * 5))
counter_above weft0 xdp_dropped_no_socket 0 || die 'nothing came by the new queues'
weftd_stop generic

$on_b ethtool -L vb rx 33 tx 33
# shellcheck disable=SC2086 # words
spawn beyond $on_b "$WEFT_BIN/weftd" --port vb --ip 10.9.0.10/24 --netdev xdp
expect_fail beyond '33 receive queues are more than 32 .ethtool -L vb combined 32.'
