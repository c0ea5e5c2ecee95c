#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A port with a queue for each shard: two weftds on taps of two queues, joined by a bridge of the
# kernel, which chooses the queue of a frame by its flow (tun's automatic steering) or by rules. Every
# shard sends on its own queue, what comes to another shard's is passed on, and sleeping cores wake.

. tests/int/lib.sh
[ -c /dev/net/tun ] || skip 'no /dev/net/tun here'
netns_add tap
ns=$(unique tap)
ip -n "$ns" link add name wbr type bridge && ip -n "$ns" link set wbr up || die "no bridge"
# shellcheck disable=SC2034 # lib.sh
in_ns="ip netns exec $ns"
export WEFT_SHARDS=

for n in 1 2; do
	weftd_start "weftd$n" --port "tap:wtap$n" --ip "10.9.8.$n/24" --name "t$n" --cores "$(cores_list 2)" --verbose
	ip -n "$ns" link set "wtap$n" master wbr
	ip -n "$ns" link set "wtap$n" up
done
grep -q 'a queue for each of 2 shards' "$WEFT_TMP/weftd1.err" || die "the tap has no queue for each shard: $(cat "$WEFT_TMP/weftd1.err")"
grep 'a queue for each' "$WEFT_TMP"/weftd?.err

# shard_counter NIC SHARD NAME
shard_counter()
{
	ctl stats "$1" --per-shard | awk -v name="shard$2.$3:" '$1 == name { print $2; found = 1 } END { exit !found }' ||
		die "$1 has no counter $3 in shard $2"
}

up()
{
	[ "$(ctl list | awk -v nic="$1" '$1 == nic { print $5 }')" = up ]
}
wait_until 't10 is up' up t10
wait_until 't20 is up' up t20

# Processes come to the shards in turn: the second pair is in the second shards.
for op in send write; do
	bench t10 t20 bw --op $op --size 20000 --iters 150
done
bench t10 t20 lat --size 64 --iters 100
bench t10 t20 lat --qp ud --iters 100
for nic in t10 t20; do
	for shard in 0 1; do
		[ "$(shard_counter "$nic" "$shard" port_tx_frames)" -gt 100 ] || die "shard $shard of $nic sent nothing"
		[ "$(shard_counter "$nic" "$shard" port_tx_ring)" = 0 ] || die "shard $shard of $nic sent by another core"
	done
	say "$nic: passed on $(shard_counter "$nic" 0 port_rx_passed) and $(shard_counter "$nic" 1 port_rx_passed) of" \
		"$(counter "$nic" port_rx_frames) frames"
done

# Asleep after a pause, each shard wakes for a frame of its queue.
sleep 0.2
bench t10 t20 lat --size 64 --iters 20
expect_objects t10 '0 0 0 0'
expect_objects t20 '0 0 0 0'
weftd_stop weftd1
weftd_stop weftd2
