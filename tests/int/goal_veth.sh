#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# GOAL ranks of two weftd processes, one on each end of a wire between namespaces: ESP by AF_XDP and
# AF_PACKET, in jumbo frames, with one packet in flight, and over a wire that loses, duplicates and
# reorders frames. goal_prog checks every byte.

. tests/int/lib.sh
need python3

netns_add a
netns_add b
netns_add m
a=$(unique a) b=$(unique b) m=$(unique m)
ip link add va netns "$a" type veth peer name ma netns "$m" || skip 'no veth here'
ip link add mb netns "$m" type veth peer name vb netns "$b" || skip 'no veth here'

# wire MTU LOSS: both ways between the namespaces a and b; LOSS percent of the frames are lost, as
# many duplicated or reordered
cat >"$WEFT_TMP/wire.py" <<'PYTHON'
import random, select, signal, socket, sys
names, loss, rng = sys.argv[1:3], float(sys.argv[3]) / 100, random.Random(int(sys.argv[4]))
ends = []
for name in names:
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    s.bind((name, 0))
    ends.append(s)
print("ready", flush=True)
counts = {"passed": 0, "lost": 0, "doubled": 0, "late": 0}
late = {}
def done(*_):
    print(counts, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, done)
def send(to, frame, what):
    counts[what] += 1
    try:
        to.send(frame)
    except OSError:
        counts["lost"] += 1
while True:
    ready = select.select(ends, [], [], 0.001)[0]
    for s in ready:
        try:
            frame, address = s.recvfrom(65536)
        except OSError: # the other end's link went down
            continue
        if address[2] == socket.PACKET_OUTGOING:
            continue
        to = ends[1 - ends.index(s)]
        draw = rng.random()
        if draw < loss:
            counts["lost"] += 1
            continue
        if draw < 3 * loss and to not in late:
            late[to] = frame
            continue
        send(to, frame, "passed")
        if draw > 1 - loss:
            send(to, frame, "doubled")
        if to in late:
            send(to, late.pop(to), "late")
    if not ready:
        for to, frame in late.items():
            send(to, frame, "late")
        late = {}
PYTHON
wire()
{
	local mtu=$1 loss=$2
	for end in "$a va" "$m ma" "$m mb" "$b vb"; do
		# shellcheck disable=SC2086
		set -- $end
		ip -n "$1" link set dev "$2" mtu "$mtu" up
	done
	spawn "wire$mtu$loss" ip netns exec "$m" python3 "$WEFT_TMP/wire.py" ma mb "$loss" 7
	says "wire$mtu$loss" ready
}

wire_stop()
{
	kill -TERM "${pid[$1]}"
	expect_ok "$1"
	say "$1: $(tail -n 1 "$WEFT_TMP/$1.out")"
}

# weftds LEFT RIGHT OPTION...: starts weftd with these kinds of --netdev, as left0 and right0
weftds()
{
	local left=$1 right=$2
	shift 2
	in_ns="ip netns exec $a"
	weftd_start "left$sequence" --port va --ip 10.9.0.1/24 --name left --netdev "$left" "$@"
	in_ns="ip netns exec $b"
	weftd_start "right$sequence" --port vb --ip 10.9.0.2/24 --name right --netdev "$right" "$@"
	in_ns=
	peers=$(for n in left0 right0; do ctl list --json | grep -A 20 "\"$n\"" |
		sed -n 's/.*"mac": "\(.*\)",/\1/p' | head -n 1; done | paste -sd,)
}

weftds_stop()
{
	weftd_stop "left$sequence"
	weftd_stop "right$sequence"
	sequence=$((sequence + 1))
}

# ranks OPTION...: four, two on each NIC, alternating, so that every message of the ring crosses the
# wire
ranks()
{
	local i nic job=job$sequence.$((++jobs))
	for i in 0 1 2 3; do
		nic=left0
		[ $((i % 2)) -eq 0 ] || nic=right0
		spawn "$job.$i" env WEFT_PEERS="$peers,$peers" WEFT_RANK=$i WEFT_JOB=$job WEFT_DEVICE=$nic \
			"$WEFT_INT/goal_prog" "$@"
	done
	expect_ok "$job.0" "$job.1" "$job.2" "$job.3"
	say "ok: $*"
}
jobs=0

# frame_bytes COMMAND...: prints the mean size of the frames that left0 sends meanwhile
frame_bytes()
{
	local frames bytes
	frames=$(counter left0 tx_frames) bytes=$(counter left0 tx_bytes)
	"$@"
	mean=$((($(counter left0 tx_bytes) - bytes) / ($(counter left0 tx_frames) - frames)))
}

wire 1500 0
for kinds in 'xdp xdp' 'packet xdp'; do
	# shellcheck disable=SC2086
	weftds $kinds
	ranks -n 20 -b 20000
	frame_bytes ranks -n 3 -b 2000000
	[ $mean -le 1514 ] || die "frames of $mean bytes at MTU 1500"
	weftds_stop
done
wire_stop wire15000

# With one packet in flight, slow and right; with as many as the default allows, right, too.
wire 1500 3
weftds packet packet --esp-burst 1 --esp-initial-burst 1
ranks -n 3 -b 20000
weftds_stop
weftds packet packet --esp-burst 63 --esp-initial-burst 63
ranks -n 5 -b 100000
[ "$(counter left0 esp_tx_retransmits)" -gt 0 ] || die 'nothing was lost on a wire that loses'
weftds_stop
wire_stop wire15003

# Jumbo frames at both ends: the mean, ACKs included, exceeds any frame of MTU 1500.
wire 9000 0
weftds packet packet
frame_bytes ranks -n 3 -b 2000000
[ $mean -gt 4000 ] || die "frames of $mean bytes in the mean at MTU 9000: no jumbo frames"
say "MTU 9000: $mean bytes per frame"
weftds_stop
wire_stop wire90000
wire 9000 3
weftds packet packet
ranks -n 3 -b 300000
weftds_stop
# A jumbo MTU at one end alone: both ends keep to the smaller one.
ip -n "$b" link set dev vb mtu 1500
weftds packet packet
frame_bytes ranks -n 3 -b 500000
[ $mean -le 1514 ] || die "frames of $mean bytes to an end of MTU 1500"
weftds_stop
wire_stop wire90003
