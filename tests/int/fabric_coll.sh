#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives of libfabric on weft's provider (tests/clients/fi_coll.c): sets, groups and all
# collectives on three ranks, with their data checked; a rank that ends; waits that sleep.

. tests/int/lib.sh

[ -e build/lib/libfabric/libweft-fi.so ] || skip 'libfabric-dev is not installed'
export FI_PROVIDER_PATH=$PWD/build/lib/libfabric
gcc -std=gnu11 -O1 -g -Wall -Wextra -Werror tests/clients/fi_coll.c -o "$WEFT_TMP/fi_coll" -lfabric || die 'fi_coll does not compile'

weftd_start weftd --nics 2

# run NAME WORD...: three ranks, two of them on one NIC
run()
{
	local name=$1 i
	shift
	mkdir "$WEFT_TMP/$name"
	for i in 0 1 2; do
		spawn "$name.$i" env WEFT_DEVICE="weft$((i % 2))" "$WEFT_TMP/fi_coll" "$i" 3 "$WEFT_TMP/$name" "$@"
	done
	expect_ok "$name.0" "$name.1" "$name.2"
}

run all
run asleep sleep
run die die
expect_objects weft0 '0 0 0 0'
weftd_stop weftd
