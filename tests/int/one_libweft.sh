#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All of weft's libraries in a process share one libweft: memory that libibverbs has moved for the NIC is mapped
# for libweft, too (tests/clients/one_libweft.c), and no library has a libweft of its own.

. tests/int/lib.sh

lib=$PWD/build/lib
[ -e "$lib/verbs/libibverbs.so.1" ] || skip 'libibverbs-dev is not installed'
gcc -std=gnu11 -O1 -Wall -Wextra -Werror -I. tests/clients/one_libweft.c -o "$WEFT_TMP/one_libweft" \
	-L"$lib" -lweft -libverbs || die 'one_libweft does not compile'

weftd_start weftd --nics 1
spawn both env LD_LIBRARY_PATH="$lib/verbs:$lib" "$WEFT_TMP/one_libweft"
expect_ok both
weftd_stop weftd

for l in verbs/libibverbs.so.1 verbs/librdmacm.so.1 verbs/libweft-sockets.so libfabric/libweft-fi.so \
	openmpi/mca_coll_weft.so mpich/libweft-mpich.so; do
	[ -e "$lib/$l" ] || continue
	ldd "$lib/$l" | grep -q "libweft.so.0 => $lib" || die "$l does not find libweft.so.0 beside it"
done
