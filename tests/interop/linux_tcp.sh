#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft's TCP and Linux's: an RC queue pair on a NIC (rc_peer) and an iWARP endpoint over a socket of
# the kernel (mpa_sock), over a veth by AF_XDP and by AF_PACKET: data of all kinds both ways, with
# and without CRC, loss, reordering and duplicates (lossy_wire), windows that close, slow readers,
# resets, simultaneous close, ports reused at once. Every byte is checked; nothing is left behind.
# timeout: 600

. tests/int/lib.sh
. tests/interop/lib.sh

LIMIT=120
need ethtool tshark
wire_up 1500

everything()
{
	local op sink
	for op in send write read; do
		for sink in active passive; do
			pair rc sock 5000 '' -o $op -d $sink -n 200
			pair sock rc 5000 '' -o $op -d $sink -n 200 -c
		done
	done
	pair rc sock 65535 '' -d both -n 100
	pair sock rc 65535 '' -o write -d both -n 100 -m -c
	pair sock rc 1 '' -d both -n 300 -m
	pair sock rc 0 '' -n 50
	pair sock rc 5000 '' -r 1 -n 100
}

bulk()
{
	pair rc sock 1000000 '' -o write -n 60
	pair sock rc 1000000 '' -o write -n 60
}

impaired()
{
	pair rc sock 20000 '' -o send -d both -n 150
	pair sock rc 20000 '' -o write -d both -n 150 -c
	pair sock rc 20000 '' -o read -d active -n 100
}

# Windows that close, and reopen late.
windows()
{
	pair rc sock 30000 '-L 1500' -o send -n 200
	pair rc sock 30000 '-l 300' -o write -n 60
	pair sock rc 30000 '' -o send -d active -n 200 -L 1500
}

# reset_by SIDE: mpa_sock resets in the middle; the queue pair fails and is destroyed
reset_by()
{
	runs=$((runs + 1))
	peer_port=$((peer_port + 1))
	if [ "$1" = passive ]; then
		sock "p$runs" listen "$peer_port" -s 20000 -R 50
		rc "a$runs" connect "$peer_port" -s 20000 -o write -n 5000
		expect_ok "p$runs"
		expect_fail "a$runs" 'ended before its time|request failed'
	else
		rc "p$runs" listen "$peer_port" -s 20000
		sock "a$runs" connect "$peer_port" -s 20000 -d both -n 5000 -R 50
		expect_ok "a$runs"
		expect_fail "p$runs" 'ended before its time|request failed'
	fi
	say "ok: reset by the $1 side"
}

# Both FINs are in flight at once, which takes some time.
both_close()
{
	local i
	for i in 1 2 3 4 5; do
		say "both close, $i"
		pair rc sock 3000 '' -n 40 -e both
		pair sock rc 3000 '' -n 40 -e both
	done
}

# The same two ports again and again, at once: the NIC, which closed first, has the old connection
# in TIME-WAIT.
same_ports()
{
	local i
	# Names of this round: says() would find output of the previous round.
	for i in ${how}1 ${how}2 ${how}3 ${how}4 ${how}5; do
		rc "ports_$i" listen 7999 -s 1000
		sock "again_$i" connect 7999 -s 1000 -P 8999 -n 20 -e passive
		expect_ok "again_$i" "ports_$i"
	done
	say 'ok: the same ports five times'
}

for how in xdp packet; do
	nic_up "weftd_$how" --netdev $how
	capture $how
	everything
	captured $how
	frames $how --active both --nic-alone
	bulk
	windows
	reset_by passive
	reset_by active
	same_ports
	if [ $how = xdp ]; then
		wire -t 10000
		both_close
		wire -t 300 -l 2
		impaired
		wire -t 300 -r 10 -d 2 -s 2
		impaired
		wire -l 10 -r 5 -s 3
		pair rc sock 20000 '' -d both -n 30
		wire
	fi
	nothing_left
	weftd_stop "weftd_$how"
done
