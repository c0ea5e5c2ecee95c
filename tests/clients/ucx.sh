#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCX's ucx_perftest on weft, unchanged: every test of its protocol layer over rc_verbs and over
# ud_verbs alone, with one thread and with several, and the tests of its transport layer that the
# transports support. It does not check the data; tests/clients/mpi.sh does, over both.
# timeout: 600

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

# The server's NIC and the client's, each in its run directory.
server=weft1 server_dir=$WEFT_RUN_DIR client=weft0 client_dir=$WEFT_RUN_DIR

carried()
{
	WEFT_RUN_DIR=$server_dir counter "$server" rx_frames
}

# perf NAME TLS OPTION...: options of the client; checks that the NICs have carried the messages
perf()
{
	local name=$1 tls=$2 before
	shift 2
	port=$((port + 1))
	before=$(carried)
	spawn "$name.s" ip netns exec "$ns" env "UCX_TLS=$tls" "UCX_NET_DEVICES=$server:1" "$run" --transport ib \
		--run-dir "$server_dir" ucx_perftest -p "$port"
	wait_until 'ucx_perftest listens' tcp_listens "$ns" "$port" "$name.s"
	spawn "$name.c" ip netns exec "$ns" env "UCX_TLS=$tls" "UCX_NET_DEVICES=$client:1" "$run" --transport ib \
		--run-dir "$client_dir" ucx_perftest -p "$port" 127.0.0.1 -w 20 "$@"
	expect_ok "$name.c" "$name.s"
	grep -q '^Final:' "$WEFT_TMP/$name.c.out" || die "$name.c gives no result"
	[ "$(carried)" -gt $((before + 100)) ] || die "$name did not go over weft"
}

for tls in rc_verbs,ud_verbs,self ud_verbs,self; do
	kind=${tls%%_*}
	perf "tag_lat_$kind" "$tls" -t tag_lat -n 500 -s 8
	perf "tag_bw_$kind" "$tls" -t tag_bw -n 1000 -s 4096
	perf "tag_long_$kind" "$tls" -t tag_bw -n 20 -s 1000000
	perf "tag_iov_$kind" "$tls" -t tag_lat -n 200 -s 100,3000,7 -D iov,iov
	perf "tag_probed_$kind" "$tls" -t tag_bw -n 200 -s 2000 -C -U
	perf "tag_sync_lat_$kind" "$tls" -t tag_sync_lat -n 200 -s 8
	perf "tag_sync_bw_$kind" "$tls" -t tag_sync_bw -n 200 -s 20000
	perf "stream_$kind" "$tls" -t stream_bw -n 500 -s 1000
	perf "stream_lat_$kind" "$tls" -t stream_lat -n 300 -s 1000
	perf "am_lat_$kind" "$tls" -t ucp_am_lat -n 500 -s 100 -H 16
	perf "am_bw_$kind" "$tls" -t ucp_am_bw -n 200 -s 50000
	perf "put_lat_$kind" "$tls" -t ucp_put_lat -n 500 -s 8
	perf "put_bw_$kind" "$tls" -t ucp_put_bw -n 200 -s 65536
	perf "get_$kind" "$tls" -t ucp_get -n 200 -s 65536
	perf "add_$kind" "$tls" -t ucp_add -n 200 -s 8
	perf "fadd_$kind" "$tls" -t ucp_fadd -n 200 -s 8
	perf "swap_$kind" "$tls" -t ucp_swap -n 200 -s 8
	perf "cswap_$kind" "$tls" -t ucp_cswap -n 200 -s 8
	perf "fadd4_$kind" "$tls" -t ucp_fadd -n 200 -s 4
	perf "threads_$kind" "$tls" -t tag_bw -n 300 -s 500 -T 3 -M multi
	perf "asleep_$kind" "$tls" -t tag_lat -n 100 -s 8 -E sleep
done

weftd_stop weftd

# The transport layer alone. The server gets the device's name from the client, so both ends use the
# same.
server=weft0 server_dir=$WEFT_RUN_DIR/right client_dir=$WEFT_RUN_DIR/left
mkdir -p "$server_dir" "$client_dir"
weftd_start left --run-dir "$client_dir" --port "memif:$WEFT_RUN_DIR/m.sock,server" --ip 10.9.0.1/24
weftd_start right --run-dir "$server_dir" --port "memif:$WEFT_RUN_DIR/m.sock" --ip 10.9.0.2/24

# uct NAME TRANSPORT OPTION...
uct()
{
	perf "uct_$1_$2" all -x "$2" -d weft0:1 "${@:3}"
}
for transport in rc_verbs ud_verbs; do
	for how in short bcopy zcopy; do
		uct "am_lat_$how" "$transport" -t am_lat -n 500 -s 16 -H 8 -D "$how"
	done
	uct am_bw "$transport" -t am_bw -n 1000 -s 1000 -D bcopy
	uct am_iov "$transport" -t am_bw -n 200 -s 100,8,40 -D zcopy
done
uct put_lat rc_verbs -t put_lat -n 500 -s 8
uct put_short rc_verbs -t put_bw -n 500 -s 40
uct put_bcopy rc_verbs -t put_bw -n 500 -s 4000 -D bcopy
uct put_zcopy rc_verbs -t put_bw -n 200 -s 100000 -D zcopy
uct get_bcopy rc_verbs -t get -n 500 -s 4000 -D bcopy
uct get_zcopy rc_verbs -t get -n 200 -s 100000 -D zcopy
uct fadd rc_verbs -t fadd -n 200 -s 8
uct cswap rc_verbs -t cswap -n 200 -s 8
weftd_stop right
weftd_stop left
