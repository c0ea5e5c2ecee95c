#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two weftd processes, each in a namespace, over a veth with AF_XDP: weft-bench between them.

. tests/int/lib.sh
need ethtool

netns_add a
netns_add b
a=$(unique a) b=$(unique b)
ip -n "$a" link add va type veth peer name vb netns "$b"
for end in "$a va" "$b vb"; do
	read -r ns dev <<<"$end"
	ip -n "$ns" link set "$dev" up
	ip netns exec "$ns" ethtool -K "$dev" tx off >/dev/null
done
in_ns="ip netns exec $a" weftd_start first --port va --ip 10.9.0.1/24 --netdev xdp --name left
in_ns="ip netns exec $b" weftd_start second --port vb --ip 10.9.0.2/24 --netdev xdp --name right
in_ns=
out_has first 'AF_XDP on va' || die 'not AF_XDP'
bench left0 right0 lat --iters 500
bench left0 right0 lat --iters 500 --op read --size 1000
bench right0 left0 bw --op write --size 100000 --iters 100
bench right0 left0 lat --qp ud --iters 500
[ "$(counter left0 drop_dgram_crc)" -eq 0 ] || die 'frames came with a wrong CRC'
weftd_stop first
weftd_stop second
