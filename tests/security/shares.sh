#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# timeout: 240
#
# One user takes everything that it can get, with several processes: queue pairs, regions,
# attachments, connections that never attach, and each other kind. It gets the shares of
# docs/operating.md and then "over quota". Another user still makes the objects that it needs and
# does round trips. Everything is freed when the processes die.

. tests/int/lib.sh

. tests/security/users.sh
by "$taker" shares
by_taker=("${by[@]}")

# lines NAME LINE...: expects these results of its processes, one after the other
lines()
{
	local name=$1
	shift
	says "$name" '^all '
	printf '%s\n' "$@" >"$WEFT_TMP/wanted"
	grep -v '^all ' "$WEFT_TMP/$name.out" | diff "$WEFT_TMP/wanted" - >"$WEFT_TMP/diff" ||
		die "shares of $name: $(cat "$WEFT_TMP/diff")"
}

# ---- the defaults: half of a table for a process, three quarters for a user. Each process has 6
# queue pairs, 1 region, PD, CQ and AH, and 2 EQs, for its own use first.

start weftd --nics 2
spawn qps "${by_taker[@]}" take qp 2
lines qps '8186 over quota: process qp 8192' '4090 over quota: user qp 12288'
other_user_gets_on 'all queue pairs of a user'
ctl users >"$WEFT_TMP/users"
grep -qE "^$taker +weft0 +0 +qp +12288 +12288 +100$" "$WEFT_TMP/users" || die "weftctl users: $(cat "$WEFT_TMP/users")"
ctl clients weft0 >"$WEFT_TMP/clients"
grep -qE " $taker +qp:100% " "$WEFT_TMP/clients" || die "weftctl clients: $(cat "$WEFT_TMP/clients")"
out_has weftd "over quota: a process may have 8192 queue pairs; weftd --quota qp=N" || die 'weftd does not say it'
release qps

spawn mrs "${by_taker[@]}" take mr 2
lines mrs '32767 over quota: process mr 32768' '16383 over quota: user mr 49152'
other_user_gets_on 'all regions of a user'
release mrs

spawn attachments "${by_taker[@]}" attach 2
lines attachments '128 over quota: process clients 128' '64 over quota: user clients 192'
other_user_gets_on 'all attachments of a user'
# The library reports the reason, too.
cp "$WEFT_BIN/weftctl" "$users_dir/ctl.prog"
setpriv --reuid "$taker" --regid "$taker" --clear-groups "$users_dir/ctl.prog" clients weft0 >"$WEFT_TMP/told" 2>&1 &&
	die 'a tool of this user is attached, too'
grep -q 'over quota' "$WEFT_TMP/told" || die "weftctl says $(cat "$WEFT_TMP/told")"
release attachments

# A NIC with one shard has 320 connections.
spawn connections "${by_taker[@]}" connect 2
lines connections '160 over quota: process connections 160' '80 over quota: user connections 240'
other_user_gets_on 'all connections of a user'
release connections
weftd_stop weftd
say 'ok: the defaults'

# ---- each kind as the operator configures it

set -- --nics 2
for kind in pd cq srq mw ah eq cm mcast groups xrcd; do
	set -- "$@" --quota "$kind=10" --quota "user:$kind=15"
done
start weftd "$@"
for each in pd:9:4 cq:9:4 srq:10:5 mw:10:5 ah:9:4 eq:8:3 cm:10:5 xrcd:10:5; do
	IFS=: read -r kind first second <<<"$each"
	spawn "take.$kind" "${by_taker[@]}" take "$kind" 2
	lines "take.$kind" "$first over quota: process $kind 10" "$second over quota: user $kind 15"
	other_user_gets_on "all $kind of a user"
	release "take.$kind"
done
spawn take.mcast "${by_taker[@]}" take mcast 2
lines take.mcast '10 over quota: process mcast 10' '5 over quota: user mcast 15'
other_user_gets_on 'all groups of a user'
release take.mcast
weftd_stop weftd
say 'ok: each kind'
