#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A capture changes nothing of its path: payload is borrowed and checksums are left out as without
# one, and the copies in the capture are complete. Both ends' captures have the same frames in the
# same order.

. tests/int/lib.sh
need tshark

# captured NIC: starts a capture of it
captured()
{
	spawn "capture.$1" "$WEFT_BIN/weftctl" capture "$1" -w "$WEFT_TMP/$1.pcapng" --seconds 60
	wait_until "the capture of $1 begins" test -s "$WEFT_TMP/$1.pcapng"
}

# hashes NIC DIRECTION: MD5 of each frame of a capture
hashes()
{
	tshark -o frame.generate_md5_hash:TRUE -r "$WEFT_TMP/$1.pcapng" \
		-Y "frame.packet_flags_direction == $2 && udp" -T fields -e frame.md5_hash 2>"$WEFT_TMP/tshark.err" ||
		die "tshark: $(cat "$WEFT_TMP/tshark.err")"
}

# Less than the rings of a capture hold (4 MiB of a NIC), so that a slow reader loses nothing.
traffic()
{
	bench weft1 weft0 bw --op write --size 50000 --iters 20 --window 8
	bench weft1 weft0 bw --op send --size 50000 --iters 20 --window 8
}

# counts: frames of the sender that were borrowed, and copied after all
counts()
{
	echo "$(counter weft0 port_tx_borrowed) $(counter weft0 port_tx_settled)"
}

# Frames are borrowed within a core: shards of several may not be on one.
one_core()
{
	[ -z "${WEFT_SHARDS:-}" ]
}

weftd_start weftd --nics 2 --mtu 1500
traffic
read -r borrowed settled <<<"$(counts)"
! one_core || [ "$borrowed" -gt 1000 ] || die "only $borrowed frames were borrowed"
captured weft0
captured weft1
traffic
read -r borrowed2 settled2 <<<"$(counts)"
! one_core || [ $((borrowed2 - borrowed)) -gt 1000 ] || die "with a capture $((borrowed2 - borrowed)) frames were borrowed, $borrowed without"
[ "$settled2" -eq "$settled" ] || die "$((settled2 - settled)) frames were copied after all"
for nic in weft0 weft1; do
	kill -INT "${pid[capture.$nic]}"
	finish "capture.$nic"
	[ "$status" -eq 0 ] || [ "$status" -eq 130 ] || die "weftctl capture ended with $status"
	! grep missing "$WEFT_TMP/capture.$nic.err" || die 'the capture lost frames'
done
hashes weft0 2 >"$WEFT_TMP/sent"
hashes weft1 1 >"$WEFT_TMP/received"
say "$(wc -l <"$WEFT_TMP/sent") frames"
[ "$(wc -l <"$WEFT_TMP/sent")" -gt 1300 ] || die "not all frames were captured"
cmp "$WEFT_TMP/sent" "$WEFT_TMP/received" || die "the two captures differ"
bad=$(tshark -r "$WEFT_TMP/weft0.pcapng" -X lua_script:tools/wireshark/weft.lua \
	-Y '_ws.malformed || _ws.expert.severity == "Error" || weft.crc.status == "bad"' 2>"$WEFT_TMP/tshark.err" | head -3)
[ -z "$bad" ] || die "malformed: $bad"
weftd_stop weftd
