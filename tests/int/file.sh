#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A file moved by RDMA Writes over a wire with 1 % loss is the same at the other end.

. tests/int/lib.sh

head -c 8000001 /dev/urandom >"$WEFT_TMP/from"
weftd_start weftd --nics 2 --loss 1 --seed 3
bench_server to weft1 file --recv "$WEFT_TMP/to.file"
bench_client from weft0 file --send "$WEFT_TMP/from"
expect_ok from to
cmp "$WEFT_TMP/from" "$WEFT_TMP/to.file" || die 'the files differ'
sum=$(sha256sum <"$WEFT_TMP/from" | cut -d' ' -f1)
out_has to "$sum" || out_has from "$sum" || die "SHA-256 $sum was not printed"
weftd_stop weftd
