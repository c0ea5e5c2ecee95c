# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernel's side of make run: the same work over a veth between two network namespaces, on the
# same machine in the same run. weftd sleeps meanwhile, so the kernel's programs have all CPUs.
#
# Sourced by run.sh after tools/lib.sh. Each function prints a number, or nothing where this
# machine cannot do it: without root there are no namespaces, and kernel_up says so.

# shellcheck disable=SC2154 # tmp, WEFT_BIN and WEFT_BUILD are those of run.sh
kernel='' # set while the namespaces are there
kernel_a=weftrun$$a kernel_b=weftrun$$b
kernel_mtu=9000

kernel_up()
{
	local i
	ip netns add "$kernel_a" 2>/dev/null || return
	at_end+=("ip netns del $kernel_a")
	ip netns add "$kernel_b" || return
	at_end+=("ip netns del $kernel_b")
	ip link add va netns "$kernel_a" mtu "$kernel_mtu" type veth peer name vb netns "$kernel_b" \
		mtu "$kernel_mtu" || return
	for i in 1 2 3; do
		ip -n "$kernel_a" addr add "10.99.0.$i/24" dev va || return
		ip -n "$kernel_b" addr add "10.99.0.$((i + 100))/24" dev vb || return
	done
	ip -n "$kernel_a" link set lo up
	ip -n "$kernel_b" link set lo up
	ip -n "$kernel_a" link set va up && ip -n "$kernel_b" link set vb up || return
	kernel=1
}

in_a()
{
	ip netns exec "$kernel_a" "$@"
}

in_b()
{
	ip netns exec "$kernel_b" "$@"
}

# kernel_base MODE [WORD...]: a figure of udp_base, 64 bytes.
kernel_base()
{
	[ -n "$kernel" ] || return
	"$WEFT_BIN/udp_base" "$1" "$kernel_a" 10.99.0.1 "$kernel_b" 10.99.0.101 0.5 "${@:2}"
}

# Requests and answers of three pairs of processes at a time, in millions per second: a counter
# that a process serves over UDP costs at least these.
kernel_counter()
{
	local i pids=()
	[ -n "$kernel" ] || return
	for i in 1 2 3; do
		background "$WEFT_BIN/udp_base" pair "$kernel_a" "10.99.0.$i" "$kernel_b" "10.99.0.10$i" 1 block \
			>"$tmp/kernel.counter.$i"
		pids+=($!)
	done
	wait "${pids[@]}"
	cat "$tmp"/kernel.counter.* | awk '{ n += 1 / $1 } END { print n }'
}

# iperf3_gbps COMMAND...: what an iperf3 client received, from its JSON.
iperf3_gbps()
{
	"$@" -J | awk '/"sum_received"/ { f = 1 } f && /"bits_per_second"/ { print $2 / 1e9; exit }'
}

# The kernel's TCP by iperf3, one second.
kernel_iperf3()
{
	[ -n "$kernel" ] && command -v iperf3 >/dev/null || return
	: >"$tmp/kernel.iperf3"
	background in_b iperf3 -s -1 --forceflush >"$tmp/kernel.iperf3" 2>&1
	wait_for "$tmp/kernel.iperf3" listening 5 $! || return
	iperf3_gbps in_a iperf3 -c 10.99.0.101 -t 1
}

# kernel_file FROM TO: seconds that a file takes over TCP while the veth loses one frame in a hundred.
kernel_file()
{
	local object=$WEFT_BUILD/gen/lossy.bpf.o start server
	[ -n "$kernel" ] && [ -e "$object" ] && command -v socat >/dev/null || return
	in_a ip link set dev va xdpdrv obj "$object" sec xdp.frags 2>"$tmp/kernel.xdp" &&
		in_b ip link set dev vb xdpdrv obj "$object" sec xdp.frags 2>"$tmp/kernel.xdp" || return
	in_b timeout 60 socat -u -b 1048576 TCP-LISTEN:9755 "CREATE:$2" &
	server=$!
	started+=("$server")
	start=$(date +%s%N)
	in_a timeout 60 socat -u -b 1048576 "FILE:$1" TCP:10.99.0.101:9755,retry=50,interval=0.02 &&
		wait "$server" && cmp -s "$1" "$2" || return
	awk -v ns=$(($(date +%s%N) - start)) 'BEGIN { printf "%.3f\n", ns / 1e9 }'
}
