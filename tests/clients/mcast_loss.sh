#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A reliable group of real processes under loss: rank 0 multicasts the results of allreduce to 16
# others, each on a NIC of its own, while the switch loses 1 % of the frames to each. Every byte is
# right, no run fails, lost frames were sent again, each NIC got group frames, and nothing is left.
# timeout: 400

. tests/int/lib.sh
LIMIT=240 # 17 programs and weftd share the CPUs

ranks=17
weftd_start weftd --nics $ranks --mtu 1500
for ((i = 0; i < ranks; i++)); do
	ctl fault "weft$i" loss 1% seed $((i + 1)) >"$WEFT_TMP/list" || die "weft$i: no faults"
done
peers=$(ctl list | awk '$1 ~ /^weft[0-9]+$/ { mac[substr($1, 5)] = $3 } END { for (i = 0; i < n; i++) printf "%s%s/0", i ? "," : "", mac[i] }' n=$ranks)
for ((i = 0; i < ranks; i++)); do
	spawn "rank$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB=loss WEFT_DEVICE="weft$i" \
		WEFT_GOAL_COLL='allreduce:multicast' "$WEFT_INT/goal_prog" -n 10 -b 100000 -a
done
for ((i = 0; i < ranks; i++)); do
	expect_ok "rank$i"
done
lost=0

for ((i = 0; i < ranks; i++)); do
	[ "$(counter "weft$i" goal_runs_failed)" -eq 0 ] || die "runs of weft$i failed"
	[ "$i" -eq 0 ] || [ "$(counter "weft$i" mgrp_rx_data)" -gt 100 ] || die "no multicast came to weft$i"
	lost=$((lost + $(counter "weft$i" fault_lost)))
	expect_objects "weft$i" '0 0 0 0'
done
again=$(counter weft0 mgrp_tx_repairs)
[ "$(counter weft0 mgrp_tx_data)" -gt 600 ] || die 'rank 0 multicast next to nothing'
[ "$lost" -gt 100 ] || die "only $lost frames were lost"
[ "$again" -gt 0 ] || die 'nothing was multicast again'
say "ok: 16 receivers, $lost frames lost, $again group frames sent again"
weftd_stop weftd
