#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A NIC and siw, Linux's software iWARP, in a guest (guest.sh), both as the active side: rping, ucmatose, perftest,
# and rc_peer, which looks at every byte; revisions 1 and 2 of MPA, with and without CRC, peer-to-peer; writes to STags
# that do not exist, either way. What the NIC sent and received is captured: tshark finds no malformed frame.
# timeout: 900

. tests/int/lib.sh
. tests/interop/lib.sh

LIMIT=120
need rping ucmatose ib_send_lat ethtool tshark
guest=tests/interop/guest.sh
reason=$($guest why) || skip "$reason"
[ -e "${WEFT_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft-guest}/ready" ] || $guest build || die 'no guest'
export WEFT_GUEST_RUN=$WEFT_TMP/guest
guest_ip=10.9.0.3

wire_up 1500
ip -n "$ns" link add ga type veth peer name gb
for dev in ga gb; do
	ip netns exec "$ns" ethtool -K $dev tso off gso off gro off >/dev/null 2>&1
	ip -n "$ns" link set $dev up
done
ip -n "$ns" link set gb master br0
ip -n "$ns" link set wb nomaster
# siw does not see an FPDU that comes right behind its own MPA reply: the wire keeps it back.
spawn wire ip netns exec "$ns" "$progs/lossy_wire" wb ga -m 200
says wire '^ready'
at_exit "$guest stop siw"
$guest boot siw --ns "$ns" --bridge br0 --ip $guest_ip/24 --add "$progs/rc_peer" || die 'the guest does not boot'

# siw WORD...: to its end, in the guest
siw()
{
	timeout "$LIMIT" $guest sh siw "$*" >"$WEFT_TMP/siw.out" 2>&1 || { cat "$WEFT_TMP/siw.out"; die "in the guest: $*"; }
}

# siw_server PORT WORD...: in the guest, and it listens
siw_server()
{
	local port=$1
	shift
	siw "($* >/tmp/server.out 2>&1; echo \$? >/tmp/server.rc) & for i in \$(seq 100); do
		rdma res show cm_id 2>/dev/null | grep -q 'state LISTEN.*:$port' && exit 0; sleep 0.1; done; exit 1"
}

# siw_served: the server in the guest has ended well
siw_served()
{
	# shellcheck disable=SC2016 # the guest expands it
	siw 'for i in $(seq 300); do [ -e /tmp/server.rc ] && break; sleep 0.1; done; cat /tmp/server.out
		rc=$(cat /tmp/server.rc); rm -f /tmp/server.rc; exit ${rc:-99}'
}

# siw_param NAME VALUE: of its module
siw_param()
{
	siw "echo $2 >/sys/module/siw/parameters/$1"
}

# weft NAME WORD...: on the NIC
weft()
{
	local name=$1
	shift
	spawn "$name" ip netns exec "$ns" "$run" --device "$nic" "$@"
}

# both PORT SERVER... -- CLIENT...: SERVER in the guest and CLIENT on the NIC, then the other way; %IP is the server's
n=0
both()
{
	local port=$1 server=() client try
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	client=("$@")
	n=$((n + 1))
	# perftest's server listens twice: who comes between, here to the guest's kernel, is refused, and asks again.
	for try in 1 2 3; do
		siw_server "$port" "${server[*]}"
		weft "c$n.$try" "${client[@]//%IP/$guest_ip}"
		finish "c$n.$try"
		[ "$status" -ne 0 ] && [ "$try" -lt 3 ] && grep -q REJECTED "$WEFT_TMP/c$n.$try.err" || break
		siw "killall ${server[0]}; sleep 1; rm -f /tmp/server.rc"
	done
	[ "$status" -eq 0 ] || die "c$n.$try ended with exit status $status"
	siw_served
	say "ok: weft to siw: ${client[*]}"
	weft "s$n" "${server[@]//$guest_ip/$nic_ip}"
	wait_until "${server[*]} listens" counter_above "$nic" tcp_listeners 0
	siw "${client[*]//%IP/$nic_ip}"
	expect_ok "s$n"
	say "ok: siw to weft: ${client[*]}"
}

data()
{
	local op sink
	for op in send write read; do
		for sink in active passive; do
			both 7300 rc_peer listen $guest_ip 7300 -s 5000 -- \
				rc_peer connect %IP 7300 -w 300 -s 5000 -n 100 -o $op -d $sink
		done
	done
	both 7300 rc_peer listen $guest_ip 7300 -s 65535 -- \
		rc_peer connect %IP 7300 -w 300 -s 65535 -n 40 -d both -e both
}

pings()
{
	local size
	for size in "$@"; do
		both 7174 rping -s -C 100 -S "$size" -- rping -c -a %IP -C 100 -v -S "$size"
	done
}

# A Write to an STag that is not there: a Terminate; both QPs are in error, nothing is left.
bad_stag()
{
	both 7300 rc_peer listen $guest_ip 7300 -s 1000 -x victim -- \
		rc_peer connect %IP 7300 -w 300 -s 1000 -x stag
}

# rc_peer is in the guest's path; on this machine it is not.
mkdir "$WEFT_TMP/path"
ln -s "$PWD/$progs/rc_peer" "$WEFT_TMP/path/rc_peer"
PATH=$WEFT_TMP/path:$PATH

round()
{
	nic_up "weftd_$1" --netdev xdp "${@:3}"
	spawn "capture_$1" "$WEFT_BIN/weftctl" capture "$nic" -w "$WEFT_TMP/$1.pcapng"
	wait_until "$nic is captured" test -s "$WEFT_TMP/$1.pcapng"
	"$2"
	nothing_left
	kill -INT "${pid[capture_$1]}"
	finish "capture_$1"
	weftd_stop "weftd_$1"
	# Ports that Linux draws are other protocols', so what the bytes look like comes first. A heuristic takes small Sends for RPC; Linux writes a checksum of 0 as 0xffff, which tshark does not like.
	tshark -r "$WEFT_TMP/$1.pcapng" --disable-protocol rpcordma -o tcp.try_heuristic_first:TRUE -o tcp.check_checksum:TRUE \
		-Y "_ws.malformed || (tcp.checksum.status == 0 && ip.src == $nic_ip)" >"$WEFT_TMP/malformed" 2>/dev/null
	[ ! -s "$WEFT_TMP/malformed" ] || { head "$WEFT_TMP/malformed"; die 'tshark: malformed frames'; }
	tshark -r "$WEFT_TMP/$1.pcapng" -o tcp.try_heuristic_first:TRUE -Y iwarp_ddp_rdmap 2>/dev/null | wc -l >"$WEFT_TMP/count"
	say "ok: no malformed frame, $(cat "$WEFT_TMP/count") with RDMAP"
	[ "$(cat "$WEFT_TMP/count")" -gt 10 ] || die 'tshark saw no RDMAP'
}

with_crc()
{
	pings 64 16384 65535
	data
	bad_stag
}

without_crc()
{
	pings 64 65535
	both 18515 ib_send_lat -R -n 200 -s 64 -- ib_send_lat -R -n 200 -s 64 %IP
	both 18515 ib_write_bw -R -n 100 -s 4096 -- ib_write_bw -R -n 100 -s 4096 %IP
	both 18515 ib_read_bw -R -n 100 -s 4096 -- ib_read_bw -R -n 100 -s 4096 %IP
	data
	siw_param peer_to_peer 1
	pings 1000
	siw_param peer_to_peer 0
}

revision_1()
{
	siw_param mpa_version 1
	both 7471 ucmatose -- ucmatose -s %IP
	both 7300 rc_peer listen $guest_ip 7300 -s 5000 -- rc_peer connect %IP 7300 -w 300 -s 5000 -n 100 -d both
	siw_param mpa_version 2
}

siw_param mpa_crc_required 1
round crc with_crc --mpa-crc on
siw_param mpa_crc_required 0
round plain without_crc --mpa-crc off
round rev1 revision_1 --mpa-crc off --mpa-revision 1
