#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What siw does not know: markers, with and without CRC, between two NICs over the switch; Sends, Writes, Reads,
# atomics and Writes with immediate, every byte looked at. tshark finds FPDUs and markers where they are, no bad
# CRC and no malformed frame in what was captured.
# timeout: 300

. tests/int/lib.sh

need tshark

# look FILE FILTER: how many frames of a capture it matches. A heuristic takes small Sends for RPC.
look()
{
	tshark -r "$1" --disable-protocol rpcordma -o tcp.try_heuristic_first:TRUE -o tcp.check_checksum:TRUE -Y "$2" 2>/dev/null | wc -l
}

round()
{
	local name=$1 file=$WEFT_TMP/$1.pcapng markers
	shift
	weftd_start "weftd_$name" --nics 2 "$@"
	spawn "capture_$name" "$WEFT_BIN/weftctl" capture weft0 -w "$file"
	wait_until 'weft0 is captured' test -s "$file"
	bench weft1 weft0 lat --qp rc-tcp --op send --iters 100
	bench weft1 weft0 lat --qp rc-tcp --op write --iters 100
	bench weft1 weft0 bw --qp rc-tcp --op write --size 20000 --iters 50
	bench weft0 weft1 bw --qp rc-tcp --op read --size 20000 --iters 50
	bench weft1 weft0 rate --qp rc-tcp --op atomic --iters 100
	kill -INT "${pid[capture_$name]}"
	finish "capture_$name"
	weftd_stop "weftd_$name"
	[ "$(look "$file" '_ws.malformed || iwarp_mpa.bad_length || tcp.checksum.status == 0')" -eq 0 ] ||
		die "$name: tshark: malformed frames"
	[ "$(look "$file" iwarp_ddp_rdmap)" -gt 300 ] || die "$name: tshark sees $(look "$file" iwarp_ddp_rdmap) frames of RDMAP"
	markers=$(look "$file" iwarp_mpa.marker_fpduptr)
	case $name in
	*plain*) [ "$markers" -eq 0 ] || die "$name: $markers frames with markers" ;;
	*) [ "$markers" -gt 100 ] || die "$name: $markers frames with markers" ;;
	esac
	tshark -r "$file" -o tcp.try_heuristic_first:TRUE -Y iwarp_mpa.crc_check -V 2>/dev/null | grep 'CRC check' >"$WEFT_TMP/crcs"
	! grep -v 'Good CRC32' "$WEFT_TMP/crcs" || die "$name: tshark: bad CRCs"
	case $name in
	*crc) [ "$(wc -l <"$WEFT_TMP/crcs")" -gt 300 ] || die "$name: tshark checked $(wc -l <"$WEFT_TMP/crcs") CRCs" ;;
	esac
	say "ok: $name: $(look "$file" iwarp_ddp_rdmap) frames of RDMAP, $markers with markers"
}

round markers_crc --mpa-markers on --mpa-crc on
round markers --mpa-markers on --mpa-crc off
round plain_crc --mpa-crc on
