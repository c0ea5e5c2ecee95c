#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Groups over wires other than the switch, between NICs of different MTU: collectives multicast
# their result over a reliable group, with four ranks on the NICs of two weftd, by memif, AF_XDP and
# AF_PACKET. Every byte is right and each direction carries group frames. By memif also groups of UD
# QPs.

. tests/int/lib.sh
group=239.9.8.7

mac()
{
	ctl list | awk -v nic="$1" '$1 == nic { print $3 }'
}

# round NAME LEFT RIGHT: two ranks on each NIC; the results of rank 0, on the left NIC, reach all
# ranks
round()
{
	local name=$1 nics=("$2" "$2" "$3" "$3") i peers nic last
	# Each names its shard: the NIC would choose one by load.
	last=$((${WEFT_SHARDS:-1} - 1))
	peers="$(mac "$2")/0,$(mac "$2")/$last,$(mac "$3")/0,$(mac "$3")/$last"
	for i in 0 1 2 3; do
		spawn "$name.$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB="$name" WEFT_DEVICE="${nics[$i]}" \
			WEFT_GOAL_COLL='allreduce:multicast' "$WEFT_INT/goal_prog" -n 10 -b 100000 -a
	done
	expect_ok "$name".{0,1,2,3}
	[ "$(counter "$2" mgrp_tx_data)" -gt 100 ] || die "$name: nothing was multicast"
	[ "$(counter "$3" mgrp_rx_data)" -gt 100 ] || die "$name: no multicast came to $3"
	for nic in "$2" "$3"; do
		[ "$(counter "$nic" goal_runs_failed)" -eq 0 ] || die "$name: runs of $nic failed"
		expect_objects "$nic" '0 0 0 0'
	done
	say "ok: $name"
}

# memif: large and small frames
weftd_start left --port "memif:$WEFT_RUN_DIR/m.sock,server" --ip 10.9.0.1/24 --name left --mtu 9000
weftd_start right --port "memif:$WEFT_RUN_DIR/m.sock" --ip 10.9.0.2/24 --name right --mtu 1500
# An answered ARP shows that the wire is up.
bench right0 left0 lat --iters 100
round memif left0 right0
round memif-back right0 left0
spawn member "$WEFT_INT/mcast_prog" member right0 $group 7
says member '^attached$'
spawn send "$WEFT_INT/mcast_prog" send left0 $group 7 100 10
expect_ok send
says member '^got 109$'
kill -TERM "${pid[member]}"
expect_ok member
grep -qx 'total 10' "$WEFT_TMP/member.out" || die 'the member did not get ten datagrams'
weftd_stop right
weftd_stop left

# veth: the kernel's ports
ip netns add "$(unique t)" 2>/dev/null && ip netns del "$(unique t)" || { say 'no namespaces: veth not tried'; exit 0; }
netns_add x
netns_add y
ip link add vx netns "$(unique x)" type veth peer name vy netns "$(unique y)" || { say 'no veth'; exit 0; }
for kind in packet xdp; do
	mtu=9000
	[ $kind = packet ] || mtu=3000 # a page holds no more
	ip -n "$(unique x)" link set vx mtu $mtu up
	ip -n "$(unique y)" link set vy mtu $mtu up
	in_ns="ip netns exec $(unique x)"
	weftd_start "x$kind" --port vx --ip 10.9.0.1/24 --name "x$kind" --netdev $kind --mtu $mtu
	in_ns="ip netns exec $(unique y)"
	weftd_start "y$kind" --port vy --ip 10.9.0.2/24 --name "y$kind" --netdev packet --mtu 1500
	in_ns=
	round "$kind" "x${kind}0" "y${kind}0"
	round "$kind-back" "y${kind}0" "x${kind}0"
	weftd_stop "y$kind"
	weftd_stop "x$kind"
done
