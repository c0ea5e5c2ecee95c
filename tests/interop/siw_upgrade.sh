#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# 100 upgrades of the firmware while a NIC talks to siw, Linux's software iWARP, in a guest (guest.sh): rping on one
# connection in each direction, which checks what returns and must not end, and rc_peer, which checks every byte, one
# connection after the other, made by either side. tests/ops/gaps.c records how long the two rpings on the NIC saw no
# completion while weftctl upgrade ran, and while weftctl upgrade --check ran, which changes nothing.
# timeout: 900

# shellcheck disable=SC2154 # upgrades.sh has $upgraded, $longest, $windows
. tests/int/lib.sh
. tests/interop/lib.sh
. tests/ops/upgrades.sh

LIMIT=120
need chrt rping ethtool python3
make -s build/int/gaps.so >/dev/null || die 'gaps.c does not compile'
WEFT_BIN=$PWD/build/bin
export WEFT_BIN
guest_up
nic_up weftd

# ---- two connections that last

mkdir "$WEFT_TMP/gaps"
# seen NAME PROGRAM...: on the NIC, with its gaps recorded
seen()
{
	weft "$1" env LD_PRELOAD="$PWD/build/int/gaps.so" WEFT_GAPS="$WEFT_TMP/gaps/$1" "${@:2}"
}

siw "(rping -s -P -p 7200 -S 2000 >/tmp/rping.s.out 2>&1) & for i in \$(seq 100); do
	rdma res show cm_id 2>/dev/null | grep -q 'state LISTEN.*:7200' && exit 0; sleep 0.1; done; exit 1"
seen ping.c rping -c -a $guest_ip -p 7200 -V -C 100000000 -S 2000
seen ping.s rping -s -a "$nic_ip" -p 7201 -V -C 100000000 -S 2000
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

most=${UPGRADES:-100}
upgrades_anew
round=0
while [ "$upgraded" -lt "$most" ]; do
	round=$((round + 1))
	siw_server 7300 rc_peer listen $guest_ip 7300 -s 5000
	weft "c$round" rc_peer connect $guest_ip 7300 -w 300 -s 5000 -n 1000 -d both
	upgrades "$most" "c$round"
	expect_ok "c$round"
	siw_served
	weft "s$round" rc_peer listen "$nic_ip" 7300 -s 5000
	says "s$round" '^listening'
	siw "(rc_peer connect $nic_ip 7300 -w 300 -s 5000 -n 1000 -d both >/tmp/server.out 2>&1; echo \$? >/tmp/server.rc) &"
	upgrades "$most" "s$round"
	expect_ok "s$round"
	siw_served
	pings_go_on
done
before=$(counter "$nic" tcp_rx_segments)
wait_until 'the pings go on' counter_above "$nic" tcp_rx_segments $((before + 100))
pings_go_on
say "ok: $upgraded upgrades beside siw, the longest change $longest us, $((2 * round)) connections of rc_peer"

python3 tests/ops/gaps.py table "$WEFT_TMP/gaps" siw "$windows" ping.c ping.s || die 'a program noticed an upgrade'

# shellcheck disable=SC2016 # the guest expands it
siw 'kill $(cat /tmp/rping.pid); killall rping; exit 0'
finish ping.c
finish ping.s
nothing_left
weftd_stop weftd
