#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Hostile byte code as operations of users (byte_code.c), compiled by weftd and then interpreted: each
# program is refused with a reason or stays inside its blocks; others do their round trips meanwhile.
#
# WEFT_BYTE_CODES=N: as many random programs (300); WEFT_SEED=N.

. tests/int/lib.sh

seed=${WEFT_SEED:-$RANDOM}
say "seed $seed"
for how in on off; do
	weftd_start weftd --nics 2 --native-ops $how
	peer=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | head -n 1)
	spawn attack env WEFT_PEERS="$peer" WEFT_RANK=0 WEFT_JOB=byte$how WEFT_DEVICE=weft0 \
		"$WEFT_INT/byte_code" "${WEFT_BYTE_CODES:-300}" "$seed"
	bench weft1 weft0 lat --iters 200
	expect_ok attack
	grep -q '^all .*: [1-9][0-9]* refused, [1-9][0-9]* ran$' "$WEFT_TMP/attack.out" || die 'not all programs were tried'
	expect_objects weft0 '0 0 0 0'
	weftd_stop weftd
done
