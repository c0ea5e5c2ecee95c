#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tools/wireshark/weft_esp.lua in tshark, on a capture by weftctl of a GOAL program on a faulty
# switch and on a capture of weft-sim: streams from SYN to FIN, messages of every run, nothing
# malformed.

. tests/int/lib.sh
need tshark python3

# check FILE WHAT...: checks what any capture of a collective must show, and WHAT besides
check()
{
	local file=$1 what
	shift
	tshark -X lua_script:tools/wireshark/weft_esp.lua -r "$file" -Y weft_edp -T fields -E separator='|' \
		-e weft_esp.flags -e weft_esp.numbered -e weft_esp.open.service -e weft_goal.type \
		-e weft_goal.piece -e weft_esp.received_seq -e weft_edp.crc.status -e weft_esp.payload \
		-e _ws.expert -e _ws.malformed -e _ws.lua.error >"$WEFT_TMP/fields" 2>"$WEFT_TMP/tshark.err"
	python3 - "$WEFT_TMP/fields" >"$WEFT_TMP/seen" <<'PYTHON' || die "$file: $(grep bad: "$WEFT_TMP/seen" | head -n 2)"
import collections, sys
seen, bad = collections.Counter(), 0
for line in open(sys.argv[1]):
    flags, numbered, service, kind, piece, held, crc, *wrong = line.rstrip("\n").split("|")
    flags = int(flags.split(",")[0] or "0", 16)
    seen["syn"] += flags & 1 and service == "1"
    seen["re-request"] += flags >> 4 & 1
    seen["start of transmission"] += flags >> 5 & 1 and numbered == "1"
    seen["end of transmission"] += flags >> 6 & flags >> 7 & 1
    seen["eager piece"] += kind == "1" and piece != ""
    seen["announcement"] += kind == "3"
    seen["held"] += held != ""
    # Every packet of a stream is recognized as GOAL; none is left as undecoded bytes.
    if crc != "good" or any(wrong):
        bad = 1
        print("bad:", line[:300])
for name in seen:
    if seen[name]:
        print(seen[name], "with", name)
sys.exit(bad)
PYTHON
	for what in syn re-request 'start of transmission' 'end of transmission' 'eager piece' held "$@"; do
		grep -q " with $what\$" "$WEFT_TMP/seen" ||
			die "$file: no packet with $what: $(cat "$WEFT_TMP/seen" "$WEFT_TMP/tshark.err")"
	done
}

weftd_start weftd --nics 2 --loss 2 --reorder 2
spawn capture "$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/weft0.pcapng" --seconds 50
wait_until 'the capture begins' test -s "$WEFT_TMP/weft0.pcapng"
peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | paste -sd,)
for i in 0 1; do
	spawn "rank$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB=capture WEFT_DEVICE=weft$i "$WEFT_INT/goal_prog" \
		-n 3 -b 250000
done
expect_ok rank0 rank1
kill -INT "${pid[capture]}"
finish capture
[ "$status" -eq 0 ] || [ "$status" -eq 130 ] || die "weftctl capture ended with $status"
weftd_stop weftd
check "$WEFT_TMP/weft0.pcapng" announcement

"$WEFT_BIN/weft-sim" --workload goal --seed 3 --nics 2 --duration-ms 1 --faults loss,reorder --pcap "$WEFT_TMP/sim.pcap" \
	>"$WEFT_TMP/sim.out" 2>&1 || die "weft-sim: $(tail -n 3 "$WEFT_TMP/sim.out")"
check "$WEFT_TMP/sim.pcap"
