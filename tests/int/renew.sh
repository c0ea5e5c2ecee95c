#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Addresses and MTUs of NICs change while weftd runs, on the switch and on interfaces (AF_XDP, AF_PACKET), by
# weftctl and by the configuration read again: programs then use the new ones, counters and connected tools go on,
# and a NIC that a process is attached to stays as it is.

# shellcheck disable=SC2154 # lib.sh has out and err
. tests/int/lib.sh
need ping

netns_add r
ns=$(unique r)
for i in 1 2; do
	ip link add "va$i" netns "$ns" type veth peer name "vb$i" netns "$ns" || skip 'no veth here'
	ip -n "$ns" addr add "10.9.$i.1/24" dev "va$i"
	ip -n "$ns" link set "va$i" up
	ip -n "$ns" link set "vb$i" up
done
conf=$WEFT_TMP/weftd.conf
first='nics = 2
port = vb1
ip = 10.9.1.10/24'
echo "$first" >"$conf"
in_ns="ip netns exec $ns"
weftd_start weftd --config "$conf" --user root

# is NIC ADDRESS MTU: what the NIC's new instance says of itself
is()
{
	ctl list >"$WEFT_TMP/list"
	awk -v nic="$1" -v ip="$2" -v mtu="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["NIC"] == nic { ok = $at["ADDRESS"] == ip && $at["MTU"] == mtu } END { exit !ok }' "$WEFT_TMP/list" ||
		die "$1 is not $2 with MTU $3: $(cat "$WEFT_TMP/list")"
}
answers()
{
	$in_ns ping -c 1 -W 2 "$@" >"$WEFT_TMP/ping" 2>&1
}

# ---- the switch

bench weft1 weft0 bw --size 20000 --iters 30 --event
rx=$(counter weft0 rx_frames)
spawn watch "$WEFT_BIN/weftctl" stats weft0 --watch 1 --count 2
says watch rx_frames
expect_objects weft0 '0 0 0 0'
ctl mtu weft0 1500
is weft0 10.77.0.1/24 1500
is weft1 10.77.0.2/24 9216
[ "$(ctl mtu weft0 | awk 'NR == 2 { print $2 }')" = 1500 ] || die "$(ctl mtu weft0)"
expect_ok watch
[ "$(counter weft0 rx_frames)" -ge "$rx" ] || die 'the counters began anew'
bench weft1 weft0 bw --size 20000 --iters 30 --event
bench weft0 weft1 lat --qp rc-esp --size 20000 --iters 30 --event
expect_objects weft0 '0 0 0 0'
ctl ip weft0 10.77.0.9/24
is weft0 10.77.0.9/24 1500
bench weft1 weft0 lat --iters 30 --event
bench weft0 weft1 lat --qp ud --iters 30 --event

# ---- after connections of TCP: one end keeps them for a minute in TIME-WAIT

bench weft1 weft0 lat --qp rc-tcp --iters 30 --event
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
# The last segments may still be under way.
wait_until 'weft0 has another gateway' "$WEFT_BIN/weftctl" gw weft0 10.77.0.7
wait_until 'weft1 has another MTU' "$WEFT_BIN/weftctl" mtu weft1 9000
ctl gw weft0 none
ctl mtu weft1 9216
bench weft1 weft0 lat --qp rc-tcp --iters 30 --event
expect_objects weft0 '0 0 0 0'

# ---- what is refused

bench_start held weft1 weft0 lat --duration 600
in_traffic weft1
for words in 'mtu weft0 2000' 'ip weft0 10.77.0.8/24' 'gw weft0 10.77.0.7'; do
	# shellcheck disable=SC2086 # words
	tool 1 "$WEFT_BIN/weftctl" $words
	grep -q "process ${pid[held.c]} (weft-bench) is attached" "$err" || die "$words: $(cat "$err")"
done
is weft0 10.77.0.9/24 1500
kill9 held.c
finish held.s
expect_objects weft0 '0 0 0 0'
tool 1 "$WEFT_BIN/weftctl" ip weft0 10.77.0.2/24
grep -q 'weft1 has that address' "$err" || die "$(cat "$err")"
tool 1 "$WEFT_BIN/weftctl" mtu weft2 2000
grep -q 'its port was opened for packets of 1500 bytes' "$err" || die "$(cat "$err")"
for words in 'mtu weft0 100' 'mtu weft0 9999' 'ip weft0 10.77.0.300/24' 'gw weft0 none7'; do
	# shellcheck disable=SC2086 # words
	tool 1 "$WEFT_BIN/weftctl" $words
	grep -q 'mtu = \[NIC\] N' "$err" || die "$words: $(cat "$err")"
done
tool 2 "$WEFT_BIN/weftctl" ip 10.77.0.8/24
is weft0 10.77.0.9/24 1500

# ---- an interface

answers 10.9.1.10 || die "no answer: $(cat "$WEFT_TMP/ping")"
ctl ip weft2 10.9.1.20/24
ctl gw weft2 10.9.1.1
[ "$(ctl gw weft2 --json | grep -c '"gw": "10.9.1.1"')" -eq 1 ] || die "$(ctl gw weft2)"
answers 10.9.1.20 || die "the new address does not answer: $(cat "$WEFT_TMP/ping")"
answers 10.9.1.10 && die 'the old address answers'
ctl mtu weft2 1400
is weft2 10.9.1.20/24 1400
answers -s 1300 10.9.1.20 || die "the new address does not answer: $(cat "$WEFT_TMP/ping")"

# ---- the configuration, read again

printf '%s\n' "$first" 'mtu = 1450' >"$conf"
ctl reload >"$WEFT_TMP/reload"
for line in 'weft0: 10.77.0.1/24, mtu 1450' 'weft1: 10.77.0.2/24, mtu 1450' 'weft2: 10.9.1.10/24, mtu 1450'; do
	grep -qx "$line" "$WEFT_TMP/reload" || die "reload does not say '$line': $(cat "$WEFT_TMP/reload")"
done
bench weft1 weft0 bw --size 20000 --iters 30 --event
answers 10.9.1.10 || die "no answer: $(cat "$WEFT_TMP/ping")"
expect_objects weft1 '0 0 0 0'
printf '%s\n' "${first/ip = 10.9.1.10/ip = 10.9.1.30}" 'subnet = 10.78.0.0/16' >"$conf"
ctl reload >"$WEFT_TMP/reload"
is weft0 10.78.0.1/16 9216
is weft2 10.9.1.30/24 1500
bench weft1 weft0 bw --size 20000 --iters 30 --event
ctl reload | grep -qx 'nothing differs from the configuration' || die 'something differs'
weftd_stop weftd

# ---- AF_PACKET

weftd_start packet --port vb2 --ip 10.9.2.10/24 --netdev packet --user root
answers 10.9.2.10 || die "no answer: $(cat "$WEFT_TMP/ping")"
ctl ip weft0 10.9.2.20/24
answers 10.9.2.20 || die "the new address does not answer: $(cat "$WEFT_TMP/ping")"
weftd_stop packet
