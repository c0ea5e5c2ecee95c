#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Private data of connections over TCP between two processes, up to the 512 bytes of MPA's frames. A
# program of librdmacm receives at most 255 bytes; the excess is counted.

. tests/int/lib.sh

weftd_start weftd --nics 2
spawn serve "$WEFT_INT/cm_data" serve weft0 7471
says serve listening
spawn ask "$WEFT_INT/cm_data" ask weft1 10.77.0.1 7471
expect_ok ask serve
for nic in weft0 weft1; do
	wait_until "nothing is left at $nic" counter_is $nic cm_endpoints_used 0
	counter_is $nic cm_data_unread 0 || die "$nic: somebody has not read all"
done
say 'ok: 508 bytes at revision 2, 512 at revision 1, accepted and rejected'

if [ -e build/lib/verbs/librdmacm.so.1 ] && type rping >"$WEFT_TMP/which" 2>&1; then
	spawn rping build/bin/weft-run rping -s -a 10.77.0.1 -p 7472
	wait_until 'rping listens' counter_is weft0 cm_listeners 1
	spawn once "$WEFT_INT/cm_data" once weft1 10.77.0.1 7472
	expect_ok once
	counter_is weft0 cm_data_unread 1 || die 'the bytes that rping cannot be told of are not counted'
	say 'ok: 508 bytes to rping: 255 are told, the others counted'
fi
