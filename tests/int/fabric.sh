#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# libfabric's own programs on weft's provider (host_driver/fabric): fi_info shows each NIC, and
# says why not when there is none; fi_pingpong moves messages and tagged messages of every protocol,
# and datagrams, with data checks. tests/clients/fabtests.sh has fabtests.

# shellcheck disable=SC2154 # lib.sh has out and err
. tests/int/lib.sh

need fi_info fi_pingpong
[ -e build/lib/libfabric/libweft-fi.so ] || skip 'libfabric-dev is not installed'
export FI_PROVIDER_PATH=$PWD/build/lib/libfabric
netns_add fab
ns=$(unique fab)

# The system's libfabric loads the provider, which finds no NIC.
tool 61 fi_info -p weft
grep -q 'fi_getinfo: -61' "$err" || die 'fi_info does not say that there is no NIC'
weftd_start weftd --nics 2
tool 0 fi_info -p weft
grep -q 'domain: weft0' "$out" && grep -q 'domain: weft1' "$out" || die 'a NIC is missing in fi_info'
grep -q 'ofi_rxd' "$out" && die 'a provider of libfabric stands on the datagram endpoints'
grep -q 'type: FI_EP_RDM' "$out" && grep -q 'type: FI_EP_DGRAM' "$out" || die 'no FI_EP_RDM or no FI_EP_DGRAM'
tool 0 build/bin/weft-run --libfabric --device weft1 fi_info
grep -q 'domain: weft1' "$out" || die 'weft-run --libfabric: no weft1 in fi_info'
grep -E 'domain: weft0|provider: [^w]' "$out" && die 'weft-run --libfabric shows another NIC or provider'
grep -q "provider is weft, on weft1" "$err" || die 'weft-run does not say that the provider is in use'
tool 2 build/bin/weft-run --libfabric --sockets true
tool 0 env WEFT_DEVICE=weft1 fi_info -p weft -v
grep -q 'domain: weft0' "$out" && die 'WEFT_DEVICE does not select the NIC'
for words in 'src_addr: fi_sockaddr_in://10.77.0.2:0' 'control_progress: FI_PROGRESS_AUTO' \
	'data_progress: FI_PROGRESS_AUTO' 'threading: FI_THREAD_SAFE' 'cq_data_size: 8'; do
	grep -q "$words" "$out" || die "fi_info does not say $words"
done
tool 0 fi_info -e
grep -q 'FI_WEFT_ANNOUNCE' "$out" || die 'fi_info does not list the settings'
tool 0 fi_info -p weft -c 'FI_TAGGED|FI_DIRECTED_RECV|FI_SOURCE' -m FI_CONTEXT
tool 61 fi_info -p weft -t FI_EP_MSG

# pair NAME SERVER-NIC CLIENT-NIC TYPE OPTION...: checks that the NICs matched, or received, the messages
declare -A counter_of=([rdm]=tag_matched_posted [dgram]=ud_rx_msgs)
port=19900
pair()
{
	local name=$1 server=$2 client=$3 type=$4 before
	shift 4
	port=$((port + 1))
	before=$(counter "$server" "${counter_of[$type]}")
	spawn "$name.s" ip netns exec "$ns" env WEFT_DEVICE="$server" fi_pingpong -p weft -e "$type" -c -B "$port" "$@"
	wait_until 'fi_pingpong listens' tcp_listens "$ns" "$port" "$name.s"
	spawn "$name.c" ip netns exec "$ns" env WEFT_DEVICE="$client" fi_pingpong -p weft -e "$type" -c -P "$port" "$@" 127.0.0.1
	expect_ok "$name.c" "$name.s"
	counter_above "$server" "${counter_of[$type]}" "$((before + 50))" || die "$name did not go through the NIC"
}

pair msg weft1 weft0 rdm -I 20
pair tagged weft1 weft0 rdm -I 20 -m tagged
pair same_nic weft0 weft0 rdm -I 20 -m tagged
pair dgram weft1 weft0 dgram -I 20
# weftctl shows what a process uses, and settings reach the endpoints.
spawn long.s ip netns exec "$ns" env WEFT_DEVICE=weft1 fi_pingpong -p weft -e rdm -B 19990 -I 100000000 -S 65536
wait_until 'fi_pingpong listens' tcp_listens "$ns" 19990 long.s
spawn long.c ip netns exec "$ns" env WEFT_DEVICE=weft0 FI_LOG_LEVEL=warn FI_WEFT_ANNOUNCE=often fi_pingpong -p weft -e rdm -P 19990 \
	-I 100000000 -S 65536 127.0.0.1
wait_until 'weftctl clients shows libfabric' uses weft0 libfabric
before=$(counter weft1 tag_matched_posted)
wait_until 'messages pass' counter_above weft1 tag_matched_posted "$((before + 20))"
grep -q "announce: there is no 'often'" "$WEFT_TMP/long.c.err" || die 'a wrong value is not named'
# At once: each may end when it loses the other.
kill -KILL "${pid[long.s]}" "${pid[long.c]}"
finish long.s
finish long.c
expect_objects weft0 '0 0 0 0'
weftd_stop weftd
