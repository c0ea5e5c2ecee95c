#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# timeout: 300
#
# weft's memif with DPDK's own driver (net_memif) at the other end, as its server and as its client:
# frames of all sizes to the MTU, chains of buffers at both ends, the link when either end restarts,
# secrets, and RDMA between two NICs that DPDK's driver joins. tests/int/memif_dpdk.c says how bytes
# are compared.

. tests/int/lib.sh

dpdk=$WEFT_INT/memif_dpdk
sock=$WEFT_RUN_DIR/m.sock
nic="--ip 10.9.0.1/24 --mtu 9000 --name left"

has()
{
	grep -q "^$2\$" "$WEFT_TMP/$1.out"
}

# link_is NIC up|down
link_is()
{
	ctl list >"$WEFT_TMP/list"
	[ "$(awk -v nic="$1" '$1 == nic { print $5 }' "$WEFT_TMP/list")" = "$2" ]
}

# ping NAME ROUNDS ARGS: spawns it
ping()
{
	spawn "$1" "$dpdk" ping "$2" 10.9.0.9 10.9.0.1 "socket=$sock,socket-abstract=no,$3"
}

# rounds NAME ROLE-OF-DPDK ARGS PORT: weftd restarts while DPDK runs, then DPDK while weftd runs
rounds()
{
	local name=$1 role=$2 args=$3 port=$4
	weftd_start "$name" --port "memif:$sock$port" $nic
	wait_until 'left0, which is alone, has no link' link_is left0 down
	ping "$name.1" 2 "role=$role$args"
	wait_until "$name: a right round" has "$name.1" 'round 1 right'
	link_is left0 up || die "$name: left0 has no link"
	weftd_stop "$name"
	wait_until "$name: DPDK sees the link go" has "$name.1" down
	weftd_start "$name" --port "memif:$sock$port" $nic
	expect_ok "$name.1"
	[ -n "$port" ] || rm "$sock" # DPDK's
	wait_until 'left0 has no link' link_is left0 down
	ping "$name.2" 1 "role=$role$args"
	expect_ok "$name.2"
	[ -n "$port" ] || rm "$sock"
	[ "$(counter left0 memif_connected)" -eq 2 ] || die "$name: connected $(counter left0 memif_connected) times"
	for wrong in rx_bad_buffer rx_bad_chain rx_bad_length tx_bad_buffer tx_no_room tx_full bad_index bad_message \
		bad_region bad_ring; do
		[ "$(counter left0 "memif_$wrong")" -eq 0 ] || die "$name: memif_$wrong"
	done
	weftd_stop "$name"
}

rounds client client '' ,server
rounds small client ,bsize=1024 ,server
rounds server server '' ''
rounds secret client ,secret=a-word ,server,secret=a-word

# DPDK's own memory (zero-copy) is not sealed, so DPDK could truncate it under weftd: refused.
# Another secret is refused as well.
weftd_start strict --port "memif:$sock,server,secret=a-word" $nic
ping strict.z 1 role=client,secret=a-word,zero-copy=yes
wait_until 'weftd refuses it and says why' out_has strict 'not sealed against shrinking'
[ "$(counter left0 memif_bad_region)" -gt 0 ] || die 'memif_bad_region does not count'
kill -TERM "${pid[strict.z]}"
expect_ok strict.z
ping strict.p 1 role=client,secret=another
wait_until 'the secret is refused' counter_above left0 memif_refused_secret 0
kill -TERM "${pid[strict.p]}"
expect_ok strict.p
weftd_stop strict

# Two NICs are neighbours through DPDK, of which each end plays each role.
weftd_start left --port "memif:$sock,server" $nic
weftd_start right --port "memif:$WEFT_RUN_DIR/r.sock" --ip 10.9.0.2/24 --mtu 9000 --name right
spawn between "$dpdk" forward "role=client,socket=$sock,socket-abstract=no" \
	"role=server,socket=$WEFT_RUN_DIR/r.sock,socket-abstract=no"
wait_until 'both have a link' link_is left0 up
wait_until 'both have a link' link_is right0 up
for op in send write read; do
	bench right0 left0 lat --op $op --iters 100
	bench left0 right0 bw --op $op --size 20000 --iters 100
	bench right0 left0 bw --op $op --size 200000 --iters 30
done
bench right0 left0 rate --op atomic --iters 300
bench right0 left0 lat --qp ud --iters 100 --size 8000
kill -TERM "${pid[between]}"
expect_ok between
wait_until 'left0 has no link' link_is left0 down
weftd_stop left
weftd_stop right
