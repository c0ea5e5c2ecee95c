#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftctl captures RDMA Writes of one NIC. tshark with tools/wireshark/weft.lua decodes weft's
# header, and Wireshark's own dissector decodes DDP and RDMAP behind it, field by field, with no
# malformed packet.

. tests/int/lib.sh
need tshark

weftd_start weftd --nics 2
spawn capture "$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/weft0.pcapng" --seconds 20
wait_until 'the capture begins' test -s "$WEFT_TMP/weft0.pcapng"
bench weft1 weft0 bw --op write --size 3000 --iters 20
bench weft1 weft0 lat --op read --iters 5
kill -INT "${pid[capture]}"
finish capture
[ "$status" -eq 0 ] || [ "$status" -eq 130 ] || die "weftctl capture ended with $status"

fields()
{
	tshark -r "$WEFT_TMP/weft0.pcapng" -X lua_script:tools/wireshark/weft.lua "$@" 2>"$WEFT_TMP/tshark.err"
}
fields -T pdml >"$WEFT_TMP/all.pdml" || die "tshark: $(cat "$WEFT_TMP/tshark.err")"
for field in weft.type weft.dst_qpn weft.src_qpn weft.msg_bytes weft.rd.psn weft.rd.epoch weft.crc \
	iwarp_ddp.tagged_flag iwarp_ddp.last_flag iwarp_ddp.stag iwarp_ddp.tagged_offset \
	iwarp_rdma.opcode; do
	grep -q "name=\"$field\"" "$WEFT_TMP/all.pdml" || die "no field $field in the capture"
done
# RDMAP opcode 0 is a Write; 3000 bytes at MTU 1500 are three segments, the last one flagged.
fields -Y 'iwarp_rdma.opcode == 0' -T fields -e weft.msg_bytes -e iwarp_ddp.last_flag >"$WEFT_TMP/writes"
[ "$(awk '$1 == 3000' "$WEFT_TMP/writes" | wc -l)" -ge 60 ] || die "not 60 segments of Writes: $(head "$WEFT_TMP/writes")"
bad=$(fields -Y '_ws.malformed || _ws.expert.severity == "Error"' | head -3)
[ -z "$bad" ] || die "malformed: $bad"
weftd_stop weftd
