#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftctl doctor: a healthy weftd, machines that are not (made-up /proc and /sys), a link that is
# down, a peer with a smaller MTU, no weftd. weftd --check: right and wrong configurations, offloads of
# an interface, ports that are missing or too small, names that are taken.

. tests/int/lib.sh
need python3 ethtool

netns_add a
a=$(unique a)
ip link add va netns "$a" type veth peer name vb netns "$a" || skip 'no veth here'

# findings FILE: "LEVEL SUBJECT: FINDING" lines of doctor --json
findings()
{
	python3 - "$1" <<'PY'
import json, sys
for row in json.load(open(sys.argv[1])):
    assert set(row) == {"level", "subject", "finding", "cure"}, row
    assert row["level"] == "ok" or row["cure"] is None or len(row["cure"]) > 10, row
    print(row["level"], row["subject"] + ":", row["finding"])
PY
}

# root NAME: makes a folder with a healthy /proc and /sys
root()
{
	local dir=$WEFT_TMP/$1
	mkdir -p "$dir/proc/sys/vm" "$dir/proc/sys/fs" "$dir/sys/devices/system/cpu"
	echo 262144 >"$dir/proc/sys/vm/max_map_count"
	echo 1048576 >"$dir/proc/sys/fs/aio-max-nr"
	echo 10 >"$dir/proc/sys/fs/aio-nr"
	printf 'SwapTotal: 1000 kB\nSwapFree: 1000 kB\n' >"$dir/proc/meminfo"
	echo 0-1023 >"$dir/sys/devices/system/cpu/isolated"
	echo "$dir"
}

weftd_start weftd --nics 2 --own-core
well=$(root well)
ctl doctor --root "$well" >"$WEFT_TMP/text"
grep -q '^ok    weft0: the link is up, MTU 9216$' "$WEFT_TMP/text" || die "$(cat "$WEFT_TMP/text")"
grep -q '^ok    weft1 shard 0: CPU [0-9]* is isolated$' "$WEFT_TMP/text" || die "$(cat "$WEFT_TMP/text")"
grep -qE '^(WARN|FAIL)' "$WEFT_TMP/text" && die "a healthy machine: $(cat "$WEFT_TMP/text")"

# Each fault of a machine is found, and nothing else.
ill=$(root ill)
cpu=$(ctl stats weft0 --per-shard | awk '$1 == "shard0.core_cpu:" { print $2 }')
mkdir -p "$ill/sys/devices/system/cpu/cpu$cpu/cpufreq"
echo powersave >"$ill/sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor"
: >"$ill/sys/devices/system/cpu/isolated"
echo 1000 >"$ill/proc/sys/vm/max_map_count"
echo 1048570 >"$ill/proc/sys/fs/aio-nr"
printf 'SwapTotal: 1048576 kB\nSwapFree: 0 kB\n' >"$ill/proc/meminfo"
ctl doctor --root "$ill" --json >"$WEFT_TMP/json"
findings "$WEFT_TMP/json" >"$WEFT_TMP/lines"
for line in "note weft0 shard 0: CPU $cpu changes its frequency (governor powersave)" \
	'WARN mappings: vm.max_map_count is 1000: weftd maps the memory of all programs' \
	'WARN asynchronous I/O: 1048570 of 1048576 requests are taken: weftd does not start without some' \
	'note memory: 1024 MiB are swapped out: copies of such memory wait for the disk'; do
	grep -qxF "$line" "$WEFT_TMP/lines" || die "not found: $line in $(cat "$WEFT_TMP/lines")"
done
ctl doctor --root "$ill" | head -n 2 | grep -q '^WARN' || die 'the worst does not come first'
weftd_stop weftd

# Threads that may not have a real-time priority, as in a container: said before the start, and of a
# weftd that runs.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
in_ns="setpriv --inh-caps=-sys_nice --bounding-set=-sys_nice prlimit --rtprio=0 taskset -c $cpu"
refused='weftd may not raise the priority of its threads'
# shellcheck disable=SC2086 # words
$in_ns "$WEFT_BIN/weftd" --check --nics 2 >"$WEFT_TMP/text"
grep -q "^note  priority: $refused" "$WEFT_TMP/text" || die "$(cat "$WEFT_TMP/text")"
# shellcheck disable=SC2086
! $in_ns "$WEFT_BIN/weftd" --check --nics 2 --own-core | grep -q "$refused" || die 'no thread has a priority there'
weftd_start weftd --nics 2
ctl doctor >"$WEFT_TMP/text"
grep -q "^note  weft0 shard 0: $refused" "$WEFT_TMP/text" || die "$(cat "$WEFT_TMP/text")"
grep -q "$refused" "$WEFT_TMP/weftd.err" || die 'weftd does not say so'
weftd_stop weftd
# The unit's limit (LimitRTPRIO) is enough, where the machine has real-time priorities at all.
in_ns=${in_ns/--rtprio=0/--rtprio=2}
# shellcheck disable=SC2086
if $in_ns chrt -f 1 true 2>/dev/null; then
	weftd_start weftd --nics 2
	ctl doctor >"$WEFT_TMP/text"
	! grep -q "$refused" "$WEFT_TMP/text" || die "LimitRTPRIO=2 is not enough: $(cat "$WEFT_TMP/text")"
	[ "$(counter weft0 core_runners_rt)" = "$(counter weft0 core_runners)" ] || die 'a thread without its priority'
	[ "$(counter weft0 core_runners)" = 1 ] || die 'a CPU without a thread'
	weftd_stop weftd
fi
in_ns=

# A port without a link fails; so does a machine without a weftd.
in_ns="ip netns exec $a"
weftd_start port --port vb --ip 10.9.0.10/24
export in_ns=
spawn down "$WEFT_BIN/weftctl" doctor --root "$well"
finish down
[ "$status" = 1 ] || die "a link that is down: exit status $status"
grep -q '^FAIL  weft0: the link is down$' "$WEFT_TMP/down.out" || die "$(cat "$WEFT_TMP/down.out")"
grep -q '^      do: ip link set DEVICE up' "$WEFT_TMP/down.out" || die 'no cure'
weftd_stop port
spawn none "$WEFT_BIN/weftctl" doctor
expect_fail none 'no NIC in'
grep -q '^FAIL  weftd: no NIC answers$' "$WEFT_TMP/none.out" || die "$(cat "$WEFT_TMP/none.out")"

# The peer's MTU is smaller: the NIC that has the larger one says so.
weftd_start large --port "memif:$WEFT_RUN_DIR/m.sock,server" --ip 10.9.0.1/24 --mtu 4000 --name large
weftd_start small --port "memif:$WEFT_RUN_DIR/m.sock" --ip 10.9.0.2/24 --mtu 1500 --name small
bench large0 small0 lat --iters 100
ctl doctor --root "$well" >"$WEFT_TMP/text"
grep -qE '^note  large0: the MTU is 4000, and 1 peers have a smaller one: packets to 10.9.0.2 have (149[3-9]|1500) bytes$' "$WEFT_TMP/text" ||
	die "$(cat "$WEFT_TMP/text")"
! grep -q '^note  small0: the MTU' "$WEFT_TMP/text" || die "$(cat "$WEFT_TMP/text")"
ctl peers large0 --json | grep -qE '"packet_bytes": (149[3-9]|1500)' || die "$(ctl peers large0 --json)"
weftd_stop small
weftd_stop large

# ---- weftd --check: of a configuration, without starting anything

# check STATUS OPTION...: its findings are in $WEFT_TMP/lines
check()
{
	local want=$1
	shift
	ip netns exec "$a" "$WEFT_BIN/weftd" --check --json "$@" >"$WEFT_TMP/json" 2>"$WEFT_TMP/err"
	status=$?
	[ "$status" = "$want" ] || die "--check $*: exit status $status, not $want: $(cat "$WEFT_TMP/json" "$WEFT_TMP/err")"
	findings "$WEFT_TMP/json" >"$WEFT_TMP/lines"
}

# has LINE: a finding that begins so
has()
{
	grep -qF "$1" "$WEFT_TMP/lines" || die "not found: $1 in $(cat "$WEFT_TMP/lines")"
}

before=$(ls "$WEFT_RUN_DIR")
printf 'nics = 2\nport = vb\nip = 10.9.0.10/24\n' >"$WEFT_TMP/good.conf"
check 0 --config "$WEFT_TMP/good.conf"
has 'ok configuration: 3 NICs, 2 of them on the switch'
has 'ok weft2: interface vb, MTU 1500'
[ "$(ls "$WEFT_RUN_DIR")" = "$before" ] || die '--check leaves files'
if ip -n "$a" link add link vb name vb.5 type vlan id 5 2>/dev/null; then
	check 0 --config "$WEFT_TMP/good.conf"
	has 'note weft2: vb takes off the tags of vb.5'
	ip netns exec "$a" ethtool -K vb rxvlan off
	check 0 --config "$WEFT_TMP/good.conf"
	! grep -q 'takes off the tags' "$WEFT_TMP/lines" || die "$(cat "$WEFT_TMP/lines")"
	ip -n "$a" link del vb.5
fi
check 1 --config "$WEFT_TMP/good.conf" --mtu 9000
has 'FAIL weft2: the MTU of vb is 1500, and mtu = 9000 is configured'
check 1 --port nosuch --ip 10.9.0.10/24 --cores 1023
has 'FAIL weft0: interface nosuch: No such device'
has 'FAIL CPU 1023: it does not exist'
check 1 --port memif:/nowhere/x.sock,server --ip 10.9.0.10/24 --user nosuchuser
has 'FAIL weft0: the directory of /nowhere/x.sock: No such file or directory'
has 'FAIL user: there is no user nosuchuser'
echo 'quota = qp=0' >>"$WEFT_TMP/good.conf"
check 2 --config "$WEFT_TMP/good.conf"
has 'FAIL configuration: '
grep -q 'good.conf:4: --quota qp=0' "$WEFT_TMP/lines" || die "$(cat "$WEFT_TMP/lines")"
weftd_start weftd --nics 2
check 0 --nics 2
has 'WARN weft1: a weftd runs with this name in'
weftd_stop weftd
