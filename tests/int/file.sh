#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sends a file over a wire with 1 % loss, both ways at once, and compares its SHA-256; also odd
# lengths and an empty file.

. tests/int/lib.sh

weftd_start weftd --nics 2 --loss 1 --dup 1 --reorder 1

# send NAME SERVER-NIC CLIENT-NIC BYTES WORD...
send()
{
	local name=$1 server=$2 client=$3 bytes=$4
	shift 4
	head -c "$bytes" /dev/urandom >"$WEFT_TMP/$name.in"
	bench_server "$name.s" "$server" file --recv "$WEFT_TMP/$name.copy" "$@"
	bench_client "$name.c" "$client" file --send "$WEFT_TMP/$name.in" "$@"
}

send large weft1 weft0 12345678
send other weft0 weft1 12000000 --size 5000 --event
send short weft1 weft0 1 --size 1000
expect_ok large.c large.s other.c other.s short.c short.s
for name in large other short; do
	[ "$(sha256sum <"$WEFT_TMP/$name.in")" = "$(sha256sum <"$WEFT_TMP/$name.copy")" ] ||
		die "$name: the copy is another file"
done
[ "$(counter weft0 rd_tx_retransmits)" -gt 0 ] || die 'nothing was lost'
weftd_stop weftd
