#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory that is removed from under the NIC (punch.c): holes, truncation and writes are refused, for
# memory and BAR, while others' round trips go on; thousands of regions do not cost weftd a mapping
# each. Memory of others, or not ready (foreign_mem.c), is refused. PUNCH_BYTES and PUNCH_SECONDS
# make it larger.

. tests/int/lib.sh
. tests/security/users.sh

start weftd --nics 2

export PUNCH_BYTES=${PUNCH_BYTES:-$((64 << 20))}
spawn punch "$WEFT_INT/punch" "$WEFT_RUN_DIR/weft0" "${PUNCH_SECONDS:-2}"
wait_until 'it attacks' out_has punch attacking
bench weft1 weft0 lat --op send --iters 2000
bench weft0 weft1 bw --op write --size 20000 --iters 300 --mem shared
expect_ok punch
grep -q '^tried [1-9][0-9]*, succeeded 0; [1-9]' "$WEFT_TMP/punch.out" || die 'holes were made'

maps()
{
	wc -l <"/proc/${pid[weftd]}/maps"
}
before=$(maps)
spawn regions "$WEFT_INT/punch" "$WEFT_RUN_DIR/weft0" regions 10000
wait_until 'it has regions' out_has regions registered
count=$(head -n 1 "$WEFT_TMP/regions.out")
now=$(maps)
say "$count regions, $((now - before)) more mappings"
[ "$count" -ge 1000 ] || die 'too few regions to tell anything'
[ $((now - before)) -lt 64 ] || die "each region is a mapping"
kill9 regions
expect_objects weft0 '0 0 0 0'

spawn foreign "$WEFT_INT/foreign_mem" "$WEFT_RUN_DIR/weft0"
expect_ok foreign
expect_objects weft0 '0 0 0 0'
[ "$(maps)" -lt $((before + 64)) ] || die 'mappings are left'
weftd_stop weftd
