#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# qperf and libfabric's fi_pingpong, unchanged, between NICs of two weftd: over memif, and over AF_XDP
# on a veth. qperf connects by rdma_cm (-cm1), since two weftd have the same QPNs; fi_pingpong checks
# data (-c), by verbs itself and under ofi_rxm, as an iWARP and as a RoCE device. The NICs carry it.
# qperf runs as an iWARP device.
# timeout: 900

. tests/int/lib.sh
LIMIT=180 # two weftd and two programs may share two CPUs

need qperf fi_pingpong ss
run=$PWD/build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
WEFT_BIN=$PWD/build/bin
netns_add c
ns=$(unique c)
# The addresses of the NICs, at which the programs exchange what they do not send over the NICs.
ip -n "$ns" link add na type veth peer name nb || skip 'no veth here'
for end in a b; do
	ip -n "$ns" addr add "10.9.0.$([ $end = a ] && echo 1 || echo 2)/24" dev n$end
	ip -n "$ns" link set n$end up
done
pp_port=18900

# on NIC NAME COMMAND...: starts it on the NIC, in the namespace
on()
{
	spawn "$2" ip netns exec "$ns" "$run" --device "$1" --transport "$transport" "${@:3}"
}

# carried NIC BEFORE: the NIC has received a thousand frames since
carried()
{
	counter_above "$1" rx_frames $(($2 + 1000)) || die "$transport: the NICs did not carry it"
}

qperf_tests()
{
	local test before
	transport=$1
	before=$(counter right0 rx_frames)
	on right0 "server$transport" qperf
	wait_until 'qperf listens' tcp_listens "$ns" 19765 "server$transport"
	for test in rc_lat rc_bw rc_bi_bw rc_rdma_read_bw rc_rdma_write_bw; do
		on left0 client qperf -cm1 -t 1 10.9.0.2 "$test"
		finish client
		[ "$status" -eq 0 ] || die "qperf $transport $test: exit status $status"
		grep -qE '= +[0-9.]*[1-9]' "$WEFT_TMP/client.out" || die "qperf $transport $test: no figure"
		say "$wire $transport $test: $(sed -n '2,$p' "$WEFT_TMP/client.out" | tr -s ' \n' ' ')"
	done
	on left0 quit qperf 10.9.0.2 quit
	expect_ok quit
	finish "server$transport"
	carried right0 "$before"
}

# pingpong TRANSPORT LARGEST OPTION...
pingpong()
{
	local largest=$2 before
	transport=$1
	shift 2
	pp_port=$((pp_port + 1))
	before=$(counter right0 rx_frames)
	on right0 "s$pp_port" fi_pingpong "$@" -c -I 10 -S all -B "$pp_port"
	wait_until 'fi_pingpong listens' tcp_listens "$ns" "$pp_port" "s$pp_port"
	on left0 "c$pp_port" fi_pingpong "$@" -c -I 10 -S all -P "$pp_port" 10.9.0.2
	expect_ok "c$pp_port" "s$pp_port"
	grep -q "^$largest  *10 " "$WEFT_TMP/c$pp_port.out" || die "$wire: fi_pingpong $* has no line of $largest"
	carried right0 "$before"
}

both()
{
	wire=$1
	bench right0 left0 lat --iters 100
	qperf_tests iwarp
	for transport in iwarp ib; do
		pingpong $transport 1m -p verbs -e msg
		pingpong $transport 1m -p 'verbs;ofi_rxm' -e rdm
	done
	weftd_stop right
	weftd_stop left
	say "ok: $wire"
}

two_weftd memif --mtu 4200
both memif
two_weftd veth
both veth
