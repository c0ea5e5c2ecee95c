#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Changes of a running weftd: faults on NICs of the switch and on an interface, counted by reason
# and undone; shares, moderation and the level of the log; the configuration read again by weftctl
# and by SIGHUP, with what cannot be changed named; who may.

# shellcheck disable=SC2154 # lib.sh has out and err
. tests/int/lib.sh

netns_add f
ns=$(unique f)
ip link add va netns "$ns" type veth peer name vb netns "$ns" || skip 'no veth here'
ip -n "$ns" addr add 10.9.0.1/24 dev va
ip -n "$ns" link set va up
ip -n "$ns" link set vb up

conf=$WEFT_TMP/weftd.conf
first='nics = 2
port = vb
ip = 10.9.0.10/24'
echo "$first" >"$conf"
# shellcheck disable=SC2034 # weftd_start takes it
in_ns="ip netns exec $ns"
weftd_start weftd --config "$conf" --user root

# is NIC WORDS: the faults in force
is()
{
	ctl fault "$1" >"$WEFT_TMP/list"
	[ "$(awk 'NR == 2 { $1 = ""; print substr($0, 2) }' "$WEFT_TMP/list")" = "$2" ] ||
		die "faults of $1 are not '$2': $(cat "$WEFT_TMP/list")"
}

# ---- the switch

# Messages of two frames borrow their payload where they need not wait.
bench weft1 weft0 bw --size 8192 --iters 100 --event
borrowed=$(counter weft0 port_tx_borrowed)
[ "$borrowed" -gt 0 ] || die 'no frame was borrowed without faults'
ctl fault weft1 loss 8% delay 20us jitter 5us reorder 8% dup 8% corrupt 8% rate 10G seed 3
is weft1 'loss 8% dup 8% reorder 8% corrupt 8% delay 20us jitter 5us rate 10G seed 3'
is weft0 off
bench weft1 weft0 bw --size 8192 --iters 100 --event
for kind in lost corrupted duplicated reordered; do
	[ "$(counter weft1 "fault_$kind")" -gt 0 ] || die "nothing was $kind"
done
[ "$(counter weft0 port_tx_borrowed)" -eq "$borrowed" ] || die 'borrowed frames pass the faults by'
[ "$(counter weft1 drop_dgram_crc)" -gt 0 ] || die 'damaged frames were believed'
ctl fault weft1 off
lost=$(counter weft1 fault_lost)
bench weft1 weft0 bw --size 8192 --iters 100 --event
now=$(counter weft1 fault_lost)
[ "$now" -eq "$lost" ] || die "faults go on: $lost frames were lost before, $now afterwards"
[ "$(counter weft1 fault_queued)" -eq 0 ] || die 'frames are left behind'
[ "$(counter weft0 port_tx_borrowed)" -gt "$borrowed" ] || die 'frames are copied although the faults are gone'

# ---- an interface

ping1()
{
	ip netns exec "$ns" ping -c 3 -i 0.1 -W 2 10.9.0.10 >"$WEFT_TMP/ping" 2>&1
}

ping1 || die "no answer: $(cat "$WEFT_TMP/ping")"
ctl fault weft2 delay 30ms
ping1 || die "no answer with a delay: $(cat "$WEFT_TMP/ping")"
awk -F/ '/^rtt/ { split($4, a, " "); exit !(a[3] >= 30) }' "$WEFT_TMP/ping" || die "not delayed: $(cat "$WEFT_TMP/ping")"
ctl fault weft2 loss 100%
ip netns exec "$ns" ping -c 2 -i 0.1 -W 0.3 10.9.0.10 >"$WEFT_TMP/ping" 2>&1 && die 'everything is lost, and ping goes on'
[ "$(counter weft2 fault_lost)" -ge 2 ] || die 'losses are not counted'
ctl fault weft2 off
ping1 || die "no answer after the fault: $(cat "$WEFT_TMP/ping")"

# ---- wrong words

tool 2 "$WEFT_BIN/weftctl" fault weft0 los 1%
grep -q 'there is no fault "los"' "$err" || die "$(cat "$err")"
tool 2 "$WEFT_BIN/weftctl" fault weft0 loss 1% off
tool 1 "$WEFT_BIN/weftctl" fault weft9 loss 1%
tool 1 "$WEFT_BIN/weftctl" quota qp=99999999
grep -q 'N is a number from 1 to' "$err" || die "$(cat "$err")"
tool 1 "$WEFT_BIN/weftctl" log weft0 loud
is weft0 off

# ---- shares, the log

ctl quota user:qp=3
ctl quota | grep -q 'user:qp=3' || die "$(ctl quota)"
tool 1 "$WEFT_BIN/weft-bench" create --device weft0 --qps 4
says weftd 'is over quota: a process may have 3 queue pairs'
ctl log debug
ctl log --json | grep -q '"log-level": "debug"' || die "$(ctl log --json)"
says weftd 'log-level debug'

# ---- the configuration, read again

printf '%s\n' "$first" 'fault = weft0 dup 3%' 'coalesce = weft1 vector 2 rx-usecs 9' 'mtu = 4000' >"$conf"
tool 1 "$WEFT_BIN/weftctl" reload
for line in 'weft0: fault dup 3%' 'weft1: coalesce: changed' 'quota: changed' 'log-level info' \
	'weft0: 10.77.0.1/24, mtu 4000' 'weft2: not 10.9.0.10/24, mtu 4000: its port was opened for packets of 1500'; do
	grep -q "^$line" "$out" || die "reload does not say '$line': $(cat "$out")"
done
is weft0 'dup 3%'
[ "$(ctl coalesce weft1 --vector 2 --json | grep -c '"rx-usecs": 9')" -gt 0 ] || die 'moderation is as before'
echo 'nonsense = 3' >>"$conf"
tool 1 "$WEFT_BIN/weftctl" reload
grep -q 'weftd.conf:7: unknown word "nonsense".*nothing was changed' "$out" || die "$(cat "$out")"
is weft0 'dup 3%'
echo "$first" >"$conf"
kill -HUP "${pid[weftd]}"
says weftd 'weft0: fault off'
is weft0 off
ctl reload | grep -qx 'nothing differs from the configuration' || die 'something differs'

# ---- who may

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 777 "$WEFT_RUN_DIR" && chmod 666 "$WEFT_RUN_DIR/weft0"
	cp "$WEFT_BIN/weftctl" "$WEFT_RUN_DIR/ctl" && chmod 755 "$WEFT_RUN_DIR/ctl"
	nobody="setpriv --reuid 65534 --regid 65534 --clear-groups $WEFT_RUN_DIR/ctl"
	if $nobody fault weft0 >"$WEFT_TMP/nobody" 2>&1; then
		# shellcheck disable=SC2086 # words
		tool 1 $nobody fault weft0 loss
		grep -qx 'weftctl: weft0: only root and the user that weftd runs as may change it' "$err" || die "$(cat "$err")"
		is weft0 off
	else
		say 'not tried: nobody does not reach the folder'
	fi
	rm "$WEFT_RUN_DIR/ctl"
fi
weftd_stop weftd
