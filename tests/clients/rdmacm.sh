#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's programs of librdmacm on weft's NICs, as iWARP and as RoCE devices, over the built-in
# switch, over memif and over a veth between two weftd: rping (checks what it reads), ucmatose,
# udaddy, rdma_server and rdma_client, their x variants, cmtime, perftest with -R, and mckey with
# several receivers, each of which gets every packet. When a server or a weftd is killed, its
# clients end with an error.
# timeout: 900

. tests/int/lib.sh

LIMIT=120
run=build/bin/weft-run
[ -e build/lib/verbs/librdmacm.so.1 ] || skip 'librdmacm-dev is not installed'
need rping mckey cmtime ib_send_lat
netns_add cm
ns=$(unique cm)

# cm NAME NIC COMMAND...
cm()
{
	local name=$1 nic=$2
	shift 2
	spawn "$name" ip netns exec "$ns" "$run" --transport "$transport" --device "$nic" "$@"
}

# server COMMAND...: starts it on $right and waits until it listens
runs=0
established=0
server()
{
	runs=$((runs + 1))
	established=$(counter "$right" cm_established)
	cm "s$runs" "$right" "$@"
	wait_until "$* listens" counter_above "$right" cm_listeners 0
}

# client COMMAND...: runs on $left and must succeed
client()
{
	cm "c$runs" "$left" "$@"
	expect_ok "c$runs"
}

# pair SERVER... -- CLIENT...: both must succeed
pair()
{
	local words=()
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	server "${words[@]}"
	client "$@"
	expect_ok "s$runs"
	wait_until "nobody listens on $right" counter_is "$right" cm_listeners 0
	say "$wire, $transport: ${words[*]}"
}

# groups RECEIVERS NIC...: RECEIVERS on each NIC, and a sender on $left
groups()
{
	local count=$1 nic i receivers=() before
	shift
	for nic; do
		before=$(counter "$nic" mcast_attached_used)
		for ((i = 0; i < count; i++)); do
			runs=$((runs + 1))
			receivers+=("m$runs")
			cm "m$runs" "$nic" mckey -m 239.77.1.2 -b "${ip[$nic]}" -C 200 -S 1000
		done
		wait_until "the receivers on $nic have joined" \
			counter_above "$nic" mcast_attached_used $((before + count - 1))
	done
	cm "m$runs.send" "$left" mckey -m 239.77.1.2 -s -b "${ip[$left]}" -C 200 -S 1000
	expect_ok "m$runs.send" "${receivers[@]}"
	say "$wire, $transport: mckey, ${#receivers[@]} receivers"
}

# round WIRE LEFT RIGHT TRANSPORT...
round()
{
	wire=$1 left=$2 right=$3
	local to=${ip[$3]} program
	for transport in "${@:4}"; do
		pair rping -s -a "$to" -v -C 100 -S 60000 -- rping -c -a "$to" -v -V -C 100 -S 60000
		pair ucmatose -c 16 -C 50 -S 4000 -- ucmatose -s "$to" -c 16 -C 50 -S 4000
		pair udaddy -c 4 -C 20 -- udaddy -s "$to" -c 4 -C 20
		pair rdma_server -s "$to" -p 7471 -- rdma_client -s "$to" -p 7471
		pair rdma_xserver -p 7472 -- rdma_xclient -s "$to" -p 7472
		pair rdma_xserver -p 7473 -c x -- rdma_xclient -s "$to" -p 7473 -c x
		# Its server keeps running.
		server cmtime -c 100
		client cmtime -s "$to" -c 100
		kill9 "s$runs"
		wait_until "nobody listens on $right" counter_is "$right" cm_listeners 0
		for program in ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_atomic_bw \
			ib_atomic_lat; do
			pair "$program" -R -n 200 -p 19000 -- "$program" -R -n 200 -p 19000 "$to"
		done
		pair ib_write_bw -R -q 16 -n 100 -p 19001 -- ib_write_bw -R -q 16 -n 100 -p 19001 "$to"
		pair ib_send_lat -R -e -n 100 -p 19002 -- ib_send_lat -R -e -n 100 -p 19002 "$to"
		pair ib_send_lat -R -c UD -n 100 -p 19003 -- ib_send_lat -R -c UD -n 100 -p 19003 "$to"
		groups 1 "$right"
		groups 2 "$left" "$right"
	done
	# The server dies in the middle: its client ends by itself.
	server rping -s -a "$to" -S 1000
	cm "c$runs" "$left" rping -c -a "$to" -S 1000
	wait_until 'they are connected' counter_above "$right" cm_established "$established"
	kill9 "s$runs"
	finish "c$runs"
	out_has "c$runs" 'DISCONNECT EVENT' || die "$wire: rping is not told that its server was killed"
	say "$wire: a server was killed"
}

declare -A ip=([weft0]=10.77.0.1 [weft1]=10.77.0.2 [left0]=10.9.0.1 [right0]=10.9.0.2)
weftd_start weftd --nics 2
round switch weft0 weft1 iwarp ib
# Their weftd dies: both end.
server rping -s -a 10.77.0.2 -S 1000
cm "c$runs" weft0 rping -c -a 10.77.0.2 -S 1000
wait_until 'they are connected' counter_above weft1 cm_established "$established"
kill9 weftd
finish "c$runs"
finish "s$runs"
say 'a weftd was killed'

two_weftd memif
round memif left0 right0 iwarp ib
# The other end's weftd dies: the client is notified.
server rping -s -a 10.9.0.2 -S 1000
cm "c$runs" left0 rping -c -a 10.9.0.2 -S 1000
wait_until 'they are connected' counter_above right0 cm_established "$established"
kill9 right
finish "c$runs"
# Its connection ends, or one of its requests did before.
out_has "c$runs" 'DISCONNECT EVENT|cq completion failed' || die "rping is not told that its peer's weftd was killed"
finish "s$runs"
weftd_stop left

# The same programs over another wire below the NICs.
two_weftd veth
round veth left0 right0 iwarp
weftd_stop right
weftd_stop left
