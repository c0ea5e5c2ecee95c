#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The named pairs of barriers between host and NIC, and between threads of weftd, hold under Arm's memory model, each barrier that
# the model needs is needed, and the sources have the orders that the tests of the pairs are written
# with (barriers.py). Emulated machines do not show weak ordering.

. tests/int/lib.sh
need python3
python3 tests/int/barriers.py >"$WEFT_TMP/out" || { cat "$WEFT_TMP/out"; die 'a pair of barriers does not hold'; }
cat "$WEFT_TMP/out"
# It finds a barrier that was dropped.
mkdir -p "$WEFT_TMP/tree"
cp -r --parents host_driver/weft_barrier.h nic_fw/fw.c nic_fw/host dpdk_app/runner.h dpdk_app/core_wake.c dpdk_app/sleep.c "$WEFT_TMP/tree"
sed -i '/bool fw_sleep(/,/^}/ s/__ATOMIC_SEQ_CST/__ATOMIC_RELEASE/' "$WEFT_TMP/tree/nic_fw/fw.c"
script=$PWD/tests/int/barriers.py
(cd "$WEFT_TMP/tree" && python3 "$script") >"$WEFT_TMP/out" && die 'a weakened fence of the NIC is not found'
grep -q 'D3: nic_fw/fw.c: fw_sleep has no __ATOMIC_SEQ_CST' "$WEFT_TMP/out" || die "not found: $(cat "$WEFT_TMP/out")"
