#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One NIC on two cores has two shards: processes are given one each, talk to each other through both,
# and frames find the shard they are for.

. tests/int/lib.sh

[ "$(nproc)" -ge 2 ] || skip 'one processor: no second shard'
weftd_start weftd --nics 1 --cores 0,1
ctl list >"$WEFT_TMP/list"
awk '$1 == "weft0" && $NF == 2 { found = 1 } END { exit !found }' "$WEFT_TMP/list" ||
	die "weft0 has not two shards: $(cat "$WEFT_TMP/list")"
# Server and client attach one after the other: to different shards of the same NIC.
bench weft0 weft0 lat --iters 500
bench weft0 weft0 bw --op write --size 50000 --iters 100
bench weft0 weft0 lat --qp ud --iters 500
bench_server sum.s weft0 counter --clients 3
for i in 1 2 3; do
	bench_client "sum.$i" weft0 counter --iters 1000
done
expect_ok sum.1 sum.2 sum.3 sum.s
expect_objects weft0 '0 0 0 0'
weftd_stop weftd
