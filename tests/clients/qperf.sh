#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# qperf's tests of RC, UC and UD on weft's NICs, unchanged: one way, two ways, RDMA, polling or by
# events, atomics, and those that verify atomics; between two NICs of one weftd. qperf sends without
# a GRH and addresses peers by their LID, which Ethernet lacks: weft's QPN identifies the NIC.
# timeout: 600

. tests/int/lib.sh

run=build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
need qperf ss
netns_add c
ns=$(unique c)
WEFT_BIN=$PWD/build/bin
# qperf's datagrams have 2 KiB
weftd_start weftd --nics 2 --mtu 4200

verbs()
{
	local name=$1
	shift
	spawn "$name" ip netns exec "$ns" "$run" --transport ib "$@"
}
verbs server qperf
wait_until 'qperf listens' tcp_listens "$ns" 19765 server

# qperf_run TEST OPTION...: it must succeed and print a figure other than 0
qperf_run()
{
	verbs client qperf -t 1 -li weft0:1 -ri weft1:1 "${@:2}" 127.0.0.1 "$1"
	finish client
	[ "$status" -eq 0 ] || die "qperf $*: exit status $status"
	grep -qE '= +[0-9.]*[1-9]' "$WEFT_TMP/client.out" || die "qperf $*: no figure"
	say "$*: $(sed -n '2,$p' "$WEFT_TMP/client.out" | tr -s ' \n' ' ')"
}

for test in rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_read_bw rc_rdma_write_lat rc_rdma_write_poll_lat \
	rc_rdma_write_bw rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add \
	uc_lat uc_bw uc_bi_bw uc_rdma_write_lat uc_rdma_write_poll_lat uc_rdma_write_bw ud_lat ud_bw ud_bi_bw; do
	qperf_run "$test"
done
for test in rc_lat rc_bw ud_lat ud_bw uc_lat; do
	qperf_run "$test" -cp1
done
qperf_run rc_bw -m 1M
qperf_run rc_rdma_write_bw -m 1 -ar1
qperf_run rc_lat -m 4K -mt 512
qperf_run rc_rdma_read_bw -nr 1
qperf_run rc_bi_bw -m 100 -cp1
verbs quit qperf 127.0.0.1 quit
expect_ok quit
finish server
say 'qperf: all of them'
weftd_stop weftd
