#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Features that siw lacks: markers, with and without CRC, between two NICs over the switch; Sends,
# Writes, Reads, atomics and Writes with immediate, every byte checked. tshark finds FPDUs and
# markers in their places, no bad CRC and no malformed frame in the capture.
# timeout: 300

. tests/int/lib.sh
. tests/interop/lib.sh

need tshark
nic=weft0
nic_ip=10.77.0.1

# round NAME CRC MARKERS OPTION...
round()
{
	local name=$1 crc=$2 want=$3 markers
	shift 3
	weftd_start "weftd_$name" --nics 2 "$@"
	capture "$name"
	bench weft1 weft0 lat --qp rc-tcp --op send --iters 100
	bench weft1 weft0 lat --qp rc-tcp --op write --iters 100
	bench weft1 weft0 bw --qp rc-tcp --op write --size 20000 --iters 50
	bench weft0 weft1 bw --qp rc-tcp --op read --size 20000 --iters 50
	bench weft1 weft0 rate --qp rc-tcp --op atomic --iters 100
	captured "$name"
	weftd_stop "weftd_$name"
	frames "$name" --revision 2 --crc "$crc" --active both
	tshark -r "$WEFT_TMP/$name.pcapng" -o tcp.try_heuristic_first:TRUE -Y iwarp_mpa.marker_fpduptr >"$WEFT_TMP/marked" 2>"$WEFT_TMP/tshark.err" ||
		die "$name: tshark: $(cat "$WEFT_TMP/tshark.err")"
	markers=$(wc -l <"$WEFT_TMP/marked")
	case $want in
	off) [ "$markers" -eq 0 ] || die "$name: $markers frames with markers" ;;
	on) [ "$markers" -gt 100 ] || die "$name: $markers frames with markers" ;;
	esac
	say "ok: $name: $markers frames with markers"
}

round markers_crc on on --mpa-markers on --mpa-crc on
round markers off on --mpa-markers on --mpa-crc off
round plain_crc on off --mpa-crc on
