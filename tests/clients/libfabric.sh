#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# libfabric's fi_pingpong on weft, unchanged, with data checks (-c): the provider verbs by itself
# and under ofi_rxm, as an iWARP and as a RoCE device, every size that it knows, and datagrams.
# timeout: 400

. tests/int/lib.sh

need fi_pingpong
run=$PWD/build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
netns_add ofi
ns=$(unique ofi)
# libfabric offers a device by the addresses that it finds on interfaces
# (host_driver/verbs/README.md).
ip -n "$ns" link add na type veth peer name nb
ip -n "$ns" addr add 10.77.0.1/24 dev na
ip -n "$ns" addr add 10.77.0.2/24 dev nb
ip -n "$ns" link set na up
ip -n "$ns" link set nb up
weftd_start weftd --nics 2
port=18800

# pair NAME TRANSPORT LARGEST OPTION...: a server on weft1, a client on weft0; checks that the NIC
# has carried the messages
pair()
{
	local name=$1 transport=$2 largest=$3 before
	shift 3
	port=$((port + 1))
	before=$(counter weft1 rx_frames)
	spawn "$name.s" ip netns exec "$ns" "$run" --device weft1 --transport "$transport" fi_pingpong "$@" -c -I 50 -S all \
		-B "$port"
	wait_until 'fi_pingpong listens' tcp_listens "$ns" "$port" "$name.s"
	spawn "$name.c" ip netns exec "$ns" "$run" --device weft0 --transport "$transport" fi_pingpong "$@" -c -I 50 -S all \
		-P "$port" 10.77.0.2
	expect_ok "$name.c" "$name.s"
	grep -q "^$largest  *50 " "$WEFT_TMP/$name.c.out" || die "$name.c has no line of $largest"
	counter_above weft1 rx_frames $((before + 1000)) || die "$name did not go over weft"
}

for transport in iwarp ib; do
	pair "msg_$transport" "$transport" 1m -p verbs -e msg
	pair "rxm_$transport" "$transport" 1m -p 'verbs;ofi_rxm' -e rdm
done
pair dgram_ib ib 1k -p verbs -e dgram
weftd_stop weftd
