#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-tune --netdev on two interfaces of the kernel whose driver has rx-frames (taps, joined by
# cable.c): sets both ends while it measures and restores them afterwards: at the end, when it is
# stopped, when the other end dies. An interface without coalescing, and an absent one, are reported
# in one line.

. tests/int/lib.sh
need ethtool

netns_add a
netns_add b
a=$(unique a) b=$(unique b) x=$(unique x) y=$(unique y)
[ -c /dev/net/tun ] || skip 'no /dev/net/tun here'
spawn cable "$WEFT_INT/cable" "$x" "$y"
says cable ready
ip link set "$x" netns "$a"
ip link set "$y" netns "$b"
ip -n "$a" addr add 10.9.0.1/24 dev "$x"
ip -n "$b" addr add 10.9.0.2/24 dev "$y"
ip -n "$a" link set "$x" up
ip -n "$b" link set "$y" up

frames()
{
	ip netns exec "$1" ethtool -c "$2" | sed -n 's/^rx-frames:[[:space:]]*//p'
}

# both N: rx-frames of both ends are N
both()
{
	[ "$(frames "$a" "$x")" = "$1" ] && [ "$(frames "$b" "$y")" = "$1" ]
}

changed()
{
	! both 5
}

ip netns exec "$a" ethtool -C "$x" rx-frames 5 || skip 'the tap driver has no coalescing here'
ip netns exec "$b" ethtool -C "$y" rx-frames 5
both 5 || die 'ethtool -C has not set them'

serve()
{
	spawn "$1" ip netns exec "$b" "$WEFT_BIN/weft-tune" serve "$y"
	says "$1" 'serving on port 47990'
}

# tune NAME OPTION...
tune()
{
	local name=$1
	shift
	spawn "$name" ip netns exec "$a" "$WEFT_BIN/weft-tune" --netdev "$x" --peer 10.9.0.2 --method random --quiet \
		--out "$WEFT_TMP/$name.d" "$@"
}

rows()
{
	[ -e "$WEFT_TMP/$1.d/measurements.csv" ] && [ "$(wc -l <"$WEFT_TMP/$1.d/measurements.csv")" -gt 2 ]
}

serve far
tune whole --budget 2
expect_ok whole
both 5 || die 'not as they were at the end'
say 'ok: measured'

tune stopped --budget 5000
wait_until 'measurements are there' rows stopped
wait_until 'the ends are set to something else' changed
kill -TERM "${pid[stopped]}"
finish stopped
[ "$status" -eq 1 ] || die "exit status $status"
wait_until 'both are as they were' both 5
say 'ok: stopped'

tune bereft --budget 5000
wait_until 'measurements are there' rows bereft
kill9 far
expect_fail bereft '10.9.0.2, has gone'
[ "$(frames "$a" "$x")" = 5 ] || die 'not as it was when the other end had died'
# A killed process cannot restore its own end.
ip netns exec "$b" ethtool -C "$y" rx-frames 5
serve again
# Malformed input is answered or ends that connection; the next client is served.
ip netns exec "$a" bash -c 'exec 3<>/dev/tcp/10.9.0.2/47990
	printf "nonsense\nset 1 2\nsend 5\nset 1 2 3 4 5 6 7 x\n\0\n" >&3
	cat <&3' >"$WEFT_TMP/nonsense"
[ "$(grep -c '^error ' "$WEFT_TMP/nonsense")" -eq 4 ] || die "it answers: $(cat "$WEFT_TMP/nonsense")"
tune after --budget 2
expect_ok after
# Stopped in the middle, here by the end of its terminal, it restores its own end.
tune left --budget 5000
wait_until 'measurements are there' rows left
kill -HUP "${pid[again]}"
expect_ok again
expect_fail left '10.9.0.2, has gone'
both 5 || die 'not as they were when the other end was stopped'
say 'ok: the other end dies'

tool 1 ip netns exec "$a" "$WEFT_BIN/weft-tune" --netdev lo --peer 10.9.0.2 --out "$WEFT_TMP/lo"
grep -q 'lo: its driver has no interrupt coalescing' "$err" || die "$(cat "$err")"
tool 1 ip netns exec "$a" "$WEFT_BIN/weft-tune" --netdev nosuch0 --peer 10.9.0.2 --out "$WEFT_TMP/nosuch"
grep -q "no interface 'nosuch0'" "$err" || die "$(cat "$err")"
tool 1 ip netns exec "$b" "$WEFT_BIN/weft-tune" serve lo
grep -q 'lo: its driver has no interrupt coalescing' "$err" || die "$(cat "$err")"
tool 1 ip netns exec "$a" "$WEFT_BIN/weft-tune" --netdev "$x" --out "$WEFT_TMP/nobody"
grep -q 'say --peer' "$err" || die "$(cat "$err")"
tool 2 "$WEFT_BIN/weft-tune" serve lo lo
tool 2 "$WEFT_BIN/weft-tune" serve --what
tool 1 "$WEFT_BIN/weft-tune" serve --port none
grep -q 'port none: ' "$err" || die "$(cat "$err")"
say 'ok: bad input'
