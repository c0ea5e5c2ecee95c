#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Responses of a NIC to faulty iWARP streams, sent over a socket of the kernel (mpa_sock): the
# Terminate has the layer, type and code of RFC 5040 4.8, RFC 5041 8.2 and RFC 5044 8; the queue
# pair is in error, its process is notified, and no object is left. With and without CRC.
# timeout: 300

. tests/int/lib.sh
. tests/interop/lib.sh

need ethtool
wire_up 1500
nic_up weftd --netdev xdp

# error NAME LAYER TYPE CODE OPTION...
error()
{
	local name=$1 want="terminate $2 $3 $4"
	shift 4
	runs=$((runs + 1))
	peer_port=$((peer_port + 1))
	rc "victim$runs" listen "$peer_port" -s 1000 -x victim
	sock "wrong$runs" connect "$peer_port" -s 1000 -x "$name" "$@"
	expect_ok "wrong$runs"
	grep -qx "$want" "$WEFT_TMP/wrong$runs.out" || die "$name: $(cat "$WEFT_TMP/wrong$runs.out"), not $want"
	expect_ok "victim$runs"
	say "ok: $name $*: $want"
}

error crc 2 0 0x02 -c
for crc in '' -c; do
	# shellcheck disable=SC2086 # a word or none
	{
		error stag 1 1 0x00 $crc
		error bounds 1 1 0x01 $crc
		error wrap 1 1 0x03 $crc
		error read-stag 0 1 0x00 $crc
		error qn 1 2 0x01 $crc
		error msn 1 2 0x03 $crc
		error mo 1 2 0x04 $crc
		error long 1 2 0x05 $crc
		error ddp-version 1 2 0x06 $crc
		error rdmap-version 0 2 0x05 $crc
		error opcode 0 2 0x06 $crc
		error response 1 1 0x00 $crc # nothing was requested there
	}
done
nothing_left
weftd_stop weftd
