#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's own programs of libibverbs on weft's NICs, unchanged: ibv_devices, ibv_devinfo, the pingpongs (which
# check the data with -c), perftest. libibverbs.so.1 of weft exports what the real one does.
# timeout: 400

. tests/int/lib.sh

run=build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
ns=weft-verbs-$$
ip netns add "$ns"
at_exit "ip netns del $ns"
ip -n "$ns" link set lo up
weftd_start weftd --nics 2

exported()
{
	objdump -T "$1" | awk '$2 == "g" && $4 != "*UND*" && $4 != "*ABS*" { print $6, $7 }' | sort
}
diff <(exported "/usr/lib/$(gcc -dumpmachine)/libibverbs.so.1") <(exported build/lib/verbs/libibverbs.so.1) ||
	die 'the exported symbols are not those of the real library'

# verbs NAME TRANSPORT COMMAND...: its exit status is that of the program
verbs()
{
	local name=$1 transport=$2
	shift 2
	spawn "$name" ip netns exec "$ns" "$run" --transport "$transport" "$@"
}

verbs devices iwarp ibv_devices
expect_ok devices
grep -q 'weft0' "$WEFT_TMP/devices.out" || die 'ibv_devices does not list weft0'
verbs info iwarp ibv_devinfo -v -d weft1
expect_ok info
for words in 'transport:.*iWARP' 'PORT_ACTIVE' 'link_layer:.*Ethernet' 'GID\[ *1\]:.*::ffff:10.77.0.2'; do
	grep -q "$words" "$WEFT_TMP/info.out" || die "ibv_devinfo does not say $words"
done
verbs roce ib ibv_devinfo -d weft0
expect_ok roce
grep -q 'transport:.*InfiniBand' "$WEFT_TMP/roce.out" || die '--transport ib is not shown'

# pair NAME TRANSPORT PROGRAM OPTION...: a server on weft1 and a client on weft0
port=18600
listening()
{
	ip netns exec "$ns" ss -Hltn "sport = :$port" | grep -q .
}
pair()
{
	local name=$1 transport=$2 program=$3
	shift 3
	port=$((port + 1))
	verbs "$name.s" "$transport" "$program" -d weft1 -p "$port" "$@"
	wait_until "$program listens" listening
	verbs "$name.c" "$transport" "$program" -d weft0 -p "$port" "$@" localhost
	expect_ok "$name.c" "$name.s"
}

pair rc iwarp ibv_rc_pingpong -c -n 200
pair rc_events ib ibv_rc_pingpong -c -n 200 -e -g 1 -s 70000
pair rc_timestamps iwarp ibv_rc_pingpong -n 200 -t
pair rc_new_send iwarp ibv_rc_pingpong -c -n 200 -N
pair ud iwarp ibv_ud_pingpong -c -n 200
pair ud_events ib ibv_ud_pingpong -c -n 200 -e -g 1
pair srq iwarp ibv_srq_pingpong -c -n 400 -q 8
pair srq_events ib ibv_srq_pingpong -c -n 400 -q 4 -e -g 1

# perftest's servers of one-way tests stay in RTR; it does not look at the data
for test in ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat; do
	pair "$test" ib "$test" -n 50
done
for test in ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw; do
	pair "$test" ib "$test" -n 200
done
pair send_ud ib ib_send_bw -c UD -n 200 -s 512
pair send_long ib ib_send_lat -n 20 -s 1000000
pair send_events ib ib_send_bw -n 200 -e -q 4
pair send_inline ib ib_send_lat -n 50 -s 64 -I 64

# what goes wrong says so
verbs nobody iwarp ibv_rc_pingpong -d weft9
finish nobody
[ "$status" -ne 0 ] && grep -q 'weft9' "$WEFT_TMP/nobody.err" || die 'an unknown device is no error'
"$run" --device weft9 true 2>"$WEFT_TMP/wrong" && die 'weft-run takes an unknown NIC'
grep -q "no NIC 'weft9'" "$WEFT_TMP/wrong" || die 'weft-run does not say which NIC it missed'
"$run" --run-dir "$WEFT_TMP/nowhere" true 2>"$WEFT_TMP/wrong" && die 'weft-run runs without a NIC'
grep -q 'start weftd' "$WEFT_TMP/wrong" || die 'weft-run does not say what to do'
"$run" --transport fddi true 2>/dev/null
[ $? -eq 2 ] || die 'a wrong transport is not told by exit status 2'
weftd_stop weftd
