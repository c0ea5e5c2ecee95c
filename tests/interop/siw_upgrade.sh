#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# 20 upgrades of the firmware while a NIC talks to siw, Linux's software iWARP, in a guest (guest.sh): rping on one
# connection in each direction, which checks what returns and must not end, and rc_peer, which checks every byte, one
# connection after the other, made by either side.
# timeout: 900

# shellcheck disable=SC2154 # tests/int/lib.sh has out
. tests/int/lib.sh
. tests/interop/lib.sh

LIMIT=120
need rping ethtool
WEFT_BIN=$PWD/build/bin
export WEFT_BIN
guest_up
nic_up weftd

# ---- two connections that last

siw "(rping -s -P -p 7200 -S 2000 >/tmp/rping.s.out 2>&1) & for i in \$(seq 100); do
	rdma res show cm_id 2>/dev/null | grep -q 'state LISTEN.*:7200' && exit 0; sleep 0.1; done; exit 1"
weft ping.c rping -c -a $guest_ip -p 7200 -V -C 100000000 -S 2000
weft ping.s rping -s -a "$nic_ip" -p 7201 -V -C 100000000 -S 2000
wait_until 'rping listens' counter_above "$nic" tcp_listeners 0
siw "rping -c -a $nic_ip -p 7201 -V -C 100000000 -S 2000 >/tmp/rping.c.out 2>&1 & echo \$! >/tmp/rping.pid"
pings_go_on()
{
	alive ping.c || { siw 'cat /tmp/rping.s.out'; cat "$WEFT_TMP/siw.out"; die "rping to siw has ended"; }
	alive ping.s || { siw 'cat /tmp/rping.c.out'; cat "$WEFT_TMP/siw.out"; die "rping from siw has ended"; }
	# shellcheck disable=SC2016 # the guest expands it
	siw 'kill -0 $(cat /tmp/rping.pid) || { cat /tmp/rping.c.out; exit 1; }'
}

# ---- upgrades, each within a connection of rc_peer

most=${UPGRADES:-20} upgrades=0 longest=0
# upgrades_while NAME: until that program has ended
upgrades_while()
{
	local us
	while alive "$1"; do
		tool 0 "$WEFT_BIN/weftctl" upgrade --json
		us=$(sed -n 's/.*"longest_us": \([0-9]*\).*/\1/p' "$out")
		[ "$us" -le "$longest" ] || longest=$us
		upgrades=$((upgrades + 1))
		sleep 0.2
	done
}
round=0
while [ "$upgrades" -lt "$most" ]; do
	round=$((round + 1))
	siw_server 7300 rc_peer listen $guest_ip 7300 -s 5000
	weft "c$round" rc_peer connect $guest_ip 7300 -w 300 -s 5000 -n 1000 -d both
	upgrades_while "c$round"
	expect_ok "c$round"
	siw_served
	weft "s$round" rc_peer listen "$nic_ip" 7300 -s 5000
	says "s$round" '^listening'
	siw "(rc_peer connect $nic_ip 7300 -w 300 -s 5000 -n 1000 -d both >/tmp/server.out 2>&1; echo \$? >/tmp/server.rc) &"
	upgrades_while "s$round"
	expect_ok "s$round"
	siw_served
	pings_go_on
done
before=$(counter "$nic" tcp_rx_segments)
wait_until 'the pings go on' counter_above "$nic" tcp_rx_segments $((before + 100))
pings_go_on
say "ok: $upgrades upgrades beside siw, the longest change $longest us, $((2 * round)) connections of rc_peer"

# shellcheck disable=SC2016 # the guest expands it
siw 'kill $(cat /tmp/rping.pid); killall rping; exit 0'
finish ping.c
finish ping.s
nothing_left
weftd_stop weftd
