#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCX's ucx_perftest on weft, unchanged: messages, active messages, puts, gets and atomics of the protocol layer over
# rc_verbs and over ud_verbs alone, and of the transport layer. It does not look at the data; tests/clients/mpi.sh does.
# timeout: 400

. tests/int/lib.sh

need ucx_perftest
run=$PWD/build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
netns_add ucx
ns=$(unique ucx)
weftd_start weftd --nics 2
port=18900

# UCX's connection requests (66 bytes) are to go inline: host_driver/verbs/vb_qp.c says why.
UCX_TLS=ud_verbs "$run" --transport ib ucx_info -d >"$WEFT_TMP/ucx_info.out" 2>&1
awk '/Transport:/ { ud = $3 == "ud_verbs" } ud && /am_short:/ { n++; if ($NF < 90) bad++ } END { exit !n || bad }' \
	"$WEFT_TMP/ucx_info.out" || die "ud_verbs has too little inline: $(grep am_short: "$WEFT_TMP/ucx_info.out")"

# perf NAME TLS OPTION...: a server on weft1, a client on weft0; the NIC has carried the messages
perf()
{
	local name=$1 tls=$2 before
	shift 2
	port=$((port + 1))
	before=$(counter weft1 rx_frames)
	spawn "$name.s" ip netns exec "$ns" env "UCX_TLS=$tls" UCX_NET_DEVICES=weft1:1 "$run" --transport ib \
		ucx_perftest -p "$port"
	wait_until 'ucx_perftest listens' tcp_listens "$ns" "$port" "$name.s"
	spawn "$name.c" ip netns exec "$ns" env "UCX_TLS=$tls" UCX_NET_DEVICES=weft0:1 "$run" --transport ib \
		ucx_perftest -p "$port" 127.0.0.1 -w 20 "$@"
	expect_ok "$name.c" "$name.s"
	grep -q '^Final:' "$WEFT_TMP/$name.c.out" || die "$name.c gives no result"
	counter_above weft1 rx_frames $((before + 100)) || die "$name did not go over weft"
}

for tls in rc_verbs,ud_verbs,self ud_verbs,self; do
	kind=${tls%%_*}
	perf "tag_lat_$kind" "$tls" -t tag_lat -n 500 -s 8
	perf "tag_bw_$kind" "$tls" -t tag_bw -n 1000 -s 4096
	perf "tag_long_$kind" "$tls" -t tag_bw -n 20 -s 1000000
	perf "stream_$kind" "$tls" -t stream_bw -n 500 -s 1000
	perf "am_lat_$kind" "$tls" -t ucp_am_lat -n 500 -s 100
	perf "put_lat_$kind" "$tls" -t ucp_put_lat -n 500 -s 8
	perf "put_bw_$kind" "$tls" -t ucp_put_bw -n 200 -s 65536
	perf "get_$kind" "$tls" -t ucp_get -n 200 -s 65536
	perf "fadd_$kind" "$tls" -t ucp_fadd -n 200 -s 8
done
weftd_stop weftd
