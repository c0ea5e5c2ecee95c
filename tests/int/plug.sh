#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# NICs come and go while weftd runs, on the switch and on an interface, by weftctl and by the configuration read
# again: programs use new ones at once, those on other NICs go on, and a process that is attached keeps its NIC or,
# where the operator insists, gets a fatal event.

# shellcheck disable=SC2154 # lib.sh has out and err
. tests/int/lib.sh
need ping

netns_add p
ns=$(unique p)
ip link add va netns "$ns" type veth peer name vb netns "$ns" || skip 'no veth here'
ip -n "$ns" addr add 10.9.1.1/24 dev va
ip -n "$ns" link set va up
ip -n "$ns" link set vb up
conf=$WEFT_TMP/weftd.conf
first='nics = 2
port-rights = keep'
echo "$first" >"$conf"
in_ns="ip netns exec $ns"
weftd_start weftd --config "$conf" --user root

# nics NAME...: these are there, and no others
nics()
{
	ctl list >"$WEFT_TMP/list"
	[ "$(awk 'NR > 1 { print $1 }' "$WEFT_TMP/list" | sort | tr '\n' ' ')" = "$* " ] || die "not $*: $(cat "$WEFT_TMP/list")"
}
refused()
{
	local words=$1 why=$2
	# shellcheck disable=SC2086 # words
	tool 1 "$WEFT_BIN/weftctl" $words
	grep -q "$why" "$err" || die "$words: $(cat "$err")"
}
answers()
{
	$in_ns ping -c 1 -W 2 "$1" >"$WEFT_TMP/ping" 2>&1
}

silent()
{
	! answers "$1"
}

# ---- the switch, beside a program that goes on

bench_start beside weft1 weft0 lat --duration 600
in_traffic weft1
[ "$(ctl nic add)" = 'weft2: added, 10.77.0.3/24 on built-in switch' ] || die 'no third NIC'
ctl nic add ip 10.77.0.9/24 >/dev/null
nics weft0 weft1 weft2 weft3
bench weft2 weft0 bw --size 20000 --iters 30 --event
bench weft3 weft2 lat --qp rc-tcp --iters 30 --event
bench weft2 weft3 lat --qp rc-esp --iters 30 --event
ctl metrics >"$WEFT_TMP/metrics"
grep -q 'weft_up{nic="weft3"} 1' "$WEFT_TMP/metrics" || die 'no metrics of weft3'
refused 'nic add ip 10.77.0.9/24' 'weft3 has that address'
# An address that another NIC had: the MACs differ.
ctl ip weft2 10.77.0.8/24
ctl nic add ip 10.77.0.3/24 >/dev/null
[ "$(ctl list --json | grep -o '"mac": "[^"]*"' | sort -u | wc -l)" -eq 5 ] || die 'two NICs have one MAC'
bench weft4 weft2 lat --qp ud --iters 30 --event
ctl nic remove weft4 >/dev/null
refused 'nic add ip 10.77.0.9/33' 'say nic = add'
refused 'nic remove weft7' 'no such NIC'
tool 2 "$WEFT_BIN/weftctl" nic take
refused 'port add memif:x.sock ip 10.9.0.1/24' 'are opened when weftd starts'

# ---- one goes: unused, used, used and taken away

ctl nic remove weft2 >/dev/null
nics weft0 weft1 weft3
bench weft3 weft0 lat --iters 30 --event
bench_start held weft3 weft0 lat --duration 600
in_traffic weft3
refused 'nic remove weft3' "process ${pid[held.s]} (weft-bench) is attached"
ctl nic remove weft3 force >/dev/null
nics weft0 weft1
finish held.s
finish held.c
grep -hqiE 'gone|fatal|ended|Input/output' "$WEFT_TMP"/held.?.err || die "$(cat "$WEFT_TMP"/held.?.err)"

# ---- a peer that leaves a hole: what has come behind it waits without end, and the NIC goes all the same

ctl nic add >/dev/null
bench_start hole weft2 weft0 bw --size 100000 --window 8 --duration 600
# A try begins without loss: long loss leaves a window of one packet, and nothing comes behind a hole.
lose_all()
{
	ctl fault weft2 off >/dev/null
	in_traffic weft2
	ctl fault weft2 loss 10% >/dev/null
	ctl fault weft2 loss 100% >/dev/null
	counter_above weft2 rd_held_used 0
}
wait_until 'a hole stays' lose_all
kill9 hole.s
finish hole.c
ctl nic remove weft2 force >/dev/null
gone()
{
	"$WEFT_BIN/weftctl" nic add >"$WEFT_TMP/added" 2>&1
}
LIMIT=20 wait_until 'the NIC is gone' gone
# The next NIC of that name has the faults of the configuration, not those of the one that is gone.
ctl fault weft2 >"$WEFT_TMP/list"
! grep -q loss "$WEFT_TMP/list" || die "it has the faults of the NIC before: $(cat "$WEFT_TMP/list")"
ctl nic remove weft2 >/dev/null

# ---- the same slots again, several times

for i in 1 2; do
	[ "$(ctl nic add)" = 'weft2: added, 10.77.0.3/24 on built-in switch' ] || die "no third NIC in round $i"
	bench weft2 weft1 lat --iters 30 --event
	ctl nic remove weft2 >/dev/null
done

# ---- an interface

ctl port add vb ip 10.9.1.10/24 >"$WEFT_TMP/added"
grep -q '^weft2: added, 10.9.1.10/24 on AF_' "$WEFT_TMP/added" || die "$(cat "$WEFT_TMP/added")"
wait_until 'the new port answers' answers 10.9.1.10
refused 'port add vb ip 10.9.1.11/24' 'weft2 has that port'
refused 'port add nothing ip 10.9.1.12/24' 'No such device'
ctl port remove weft2 >/dev/null
# Its name goes at once, the port when its core has left it.
wait_until 'the removed port is silent' silent 10.9.1.10

# ---- the configuration, read again

printf '%s\nport = vb\nip = 10.9.1.20/24\n' "${first/nics = 2/nics = 3}" >"$conf"
ctl reload >"$WEFT_TMP/reload"
grep -q '^weft2: added, 10.77.0.3/24 on built-in switch' "$WEFT_TMP/reload" || die "$(cat "$WEFT_TMP/reload")"
grep -q '^weft3: added, 10.9.1.20/24 on AF_' "$WEFT_TMP/reload" || die "$(cat "$WEFT_TMP/reload")"
wait_until 'the new port answers' answers 10.9.1.20
bench weft2 weft0 lat --iters 30 --event
[ "$(ctl reload)" = 'nothing differs from the configuration' ] || die 'something differs'
echo "$first" >"$conf"
ctl reload >"$WEFT_TMP/reload"
grep -qx 'weft2: removed' "$WEFT_TMP/reload" || die "$(cat "$WEFT_TMP/reload")"
grep -qx 'weft3: removed' "$WEFT_TMP/reload" || die "$(cat "$WEFT_TMP/reload")"
nics weft0 weft1

# ---- what stays

alive beside.c || die 'the program beside has ended'
kill9 beside.c
finish beside.s
refused 'nic remove weft5' 'no such NIC'
ctl nic remove weft0 force >/dev/null
nics weft1
refused 'nic remove weft1' 'it is the last NIC'
[ "$(ctl nic add)" = 'weft0: added, 10.77.0.1/24 on built-in switch' ] || die 'no first NIC'
bench weft0 weft1 lat --iters 30 --event
weftd_stop weftd

# ---- without the rights

weftd_start without --nics 2 --spare-nics 1 --user root
refused 'port add vb ip 10.9.1.10/24' 'start it with --port-rights keep'
ctl nic add >/dev/null
refused 'nic add' 'there is no room for more'
weftd_stop without
