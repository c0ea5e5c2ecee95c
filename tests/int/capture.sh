#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftctl captures RDMA Writes and Reads of one NIC. tshark with tools/wireshark/weft.lua decodes
# weft's header, and Wireshark's own dissector decodes DDP and RDMAP behind it, with no malformed
# packet. Every field has the value of its bytes, and the messages are those that were sent.

. tests/int/lib.sh
need tshark

weftd_start weftd --nics 2 --mtu 1500
spawn capture "$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/weft0.pcapng" --seconds 20
wait_until 'the capture begins' test -s "$WEFT_TMP/weft0.pcapng"
bench weft1 weft0 bw --op write --size 3000 --iters 20
# A weftd without a CPU for longer than a timeout sends datagrams again.
(for _ in 1 2 3 4; do
	kill -STOP "${pid[weftd]}"
	sleep 0.1
	kill -CONT "${pid[weftd]}"
	sleep 0.02
done) &
stalls=$!
bench weft1 weft0 lat --op read --iters 300
wait "$stalls"
kill -INT "${pid[capture]}"
finish capture
[ "$status" -eq 0 ] || [ "$status" -eq 130 ] || die "weftctl capture ended with $status"

fields()
{
	tshark -r "$WEFT_TMP/weft0.pcapng" -X lua_script:tools/wireshark/weft.lua "$@" 2>"$WEFT_TMP/tshark.err"
}
read -ra columns <<<"$(python3 tests/int/capture_check.py --columns)"
fields -Y 'weft.type == 1 && iwarp_rdma.opcode' -T fields "${columns[@]}" >"$WEFT_TMP/segments" ||
	die "tshark: $(cat "$WEFT_TMP/tshark.err")"
seen=$(python3 tests/int/capture_check.py "$WEFT_TMP/segments") || die 'the capture differs from its frames'
read -r _ _ writes _ reads _ <<<"$seen"
[ "$writes" -ge 20 ] && [ "$reads" -ge 5 ] || die "of 20 Writes and 5 Reads: $seen"
bad=$(fields -Y '_ws.malformed || _ws.expert.severity == "Error"' | head -3)
[ -z "$bad" ] || die "malformed: $bad"
weftd_stop weftd
