#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A NIC and siw, Linux's software iWARP, in a guest (guest.sh), both as the active side: rping,
# ucmatose, perftest, each of which checks its data or is followed by rc_peer, which checks every
# byte; revisions 1 and 2 of MPA, with and without CRC, every kind of first frame; ends by either
# side and by death; Writes and Reads of STags that do not exist. Neither side keeps any object. The
# NIC's traffic is captured, and tshark must find the features of the round in it.
# timeout: 1500

. tests/int/lib.sh
. tests/interop/lib.sh

LIMIT=120
need rping ucmatose ib_send_lat ethtool tshark
guest_up

# siw_param NAME VALUE: sets a parameter of its module
siw_param()
{
	siw "echo $2 >/sys/module/siw/parameters/$1"
}

# both PORT SERVER... -- CLIENT...: SERVER in the guest and CLIENT, $asked, on the NIC, then the other way; %IP is the server's
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
	# perftest's server listens twice: a connect in between, here to the guest's kernel, is
	# refused, and retried.
	for try in 1 2 3; do
		siw_server "$port" "${server[*]}"
		asked=c$n.$try
		weft "$asked" "${client[@]//%IP/$guest_ip}"
		finish "$asked"
		if [ "$status" -eq 0 ] || [ "$try" -eq 3 ] || ! grep -q REJECTED "$WEFT_TMP/$asked.err"; then
			break
		fi
		siw "killall ${server[0]}; sleep 1; rm -f /tmp/server.rc"
	done
	[ "$status" -eq 0 ] || die "$asked ended with exit status $status"
	siw_served
	say "ok: weft to siw: ${client[*]}"
	weft "s$n" "${server[@]//$guest_ip/$nic_ip}"
	wait_until "${server[*]} listens" counter_above "$nic" tcp_listeners 0
	# The output stays in the guest: QEMU's console loses parts of long output.
	siw "${client[*]//%IP/$nic_ip} >/tmp/client.out 2>/tmp/client.err; rc=\$?; tail -c 1000 /tmp/client.out /tmp/client.err
		$rping_race /tmp/client.err && exit 0; exit \$rc"
	expect_ok "s$n"
	say "ok: siw to weft: ${client[*]}"
}

data()
{
	local op sink end
	for op in send write read; do
		for sink in active passive; do
			both 7300 rc_peer listen $guest_ip 7300 -s 5000 -- \
				rc_peer connect %IP 7300 -w 300 -s 5000 -n 100 -o $op -d $sink
		done
	done
	both 7300 rc_peer listen $guest_ip 7300 -s 65535 -- \
		rc_peer connect %IP 7300 -w 300 -s 65535 -n 40 -d both -e both
	for end in passive both; do
		both 7300 rc_peer listen $guest_ip 7300 -s 3000 -- \
			rc_peer connect %IP 7300 -w 300 -s 3000 -n 20 -d both -e $end
	done
}

pings()
{
	local size
	for size in "$@"; do
		both 7174 rping -s -C 100 -S "$size" -- rping -c -a %IP -C 100 -v -V -S "$size"
		# It prints a line for each, and checks the returned data (-V).
		[ "$(grep -c '^ping data: rdma-ping-' "$WEFT_TMP/$asked.out")" -eq 100 ] || die "rping to siw of $size: not 100 answers"
		# shellcheck disable=SC2016 # the guest expands it
		siw '[ "$(grep -c "^ping data: rdma-ping-" /tmp/client.out)" -eq 100 ]'
	done
}

# A Write and a Read of an invalid STag: a Terminate; both QPs are in error, nothing is left.
bad_stag()
{
	both 7300 rc_peer listen $guest_ip 7300 -s 1000 -x victim -- \
		rc_peer connect %IP 7300 -w 300 -s 1000 -x stag
	both 7300 rc_peer listen $guest_ip 7300 -s 1000 -x read-victim -- \
		rc_peer connect %IP 7300 -w 300 -s 1000 -x read
}
# In the bit order of RFC 5040. siw swaps layer and type.
bad_stags='--terminate peer=1/1/0x00 --terminate nic=1/1/0x00 --terminate peer=1/0/0x00 --terminate nic=0/1/0x00'

# One end's process is killed in the middle of data: the other one ends, with an error.
death()
{
	local before
	before=$(counter "$nic" tcp_rx_segments)
	siw_server 7300 rc_peer listen $guest_ip 7300 -s 20000
	weft dies rc_peer connect $guest_ip 7300 -w 300 -s 20000 -n 100000 -d both
	wait_until 'data comes' counter_above "$nic" tcp_rx_segments $((before + 300))
	kill9 dies
	# shellcheck disable=SC2016 # the guest expands it
	siw 'for i in $(seq 700); do [ -e /tmp/server.rc ] && break; sleep 0.1; done
		cat /tmp/server.out; grep -qE "ended before its time|request failed" /tmp/server.out && rm /tmp/server.rc'
	say 'ok: a process on the NIC was killed'
	before=$(counter "$nic" tcp_rx_segments)
	weft bereft rc_peer listen "$nic_ip" 7300 -s 20000
	says bereft '^listening'
	siw "rc_peer connect $nic_ip 7300 -w 300 -s 20000 -n 100000 -d both >/tmp/dies.out 2>&1 & echo \$! >/tmp/dies.pid"
	wait_until 'data comes' counter_above "$nic" tcp_rx_segments $((before + 300))
	# shellcheck disable=SC2016
	siw 'kill -9 $(cat /tmp/dies.pid)'
	expect_fail bereft 'ended before its time|request failed'
	say 'ok: a process in the guest was killed'
}

# Prints the objects of siw's side: of verbs and of rdma_cm, and sockets.
siw_objects()
{
	siw 'rdma res show; ss -Htan | grep -v TIME-WAIT | wc -l'
	cat "$WEFT_TMP/siw.out"
}

siw_has_what_it_had()
{
	[ "$(siw_objects)" = "$siw_had" ]
}

siw_left_nothing()
{
	wait_until 'siw holds nothing' siw_has_what_it_had
	siw 'dmesg | grep -E "WARNING:|BUG:|Oops|refcount_t" && exit 1 || exit 0'
}

# round NAME FUNCTION "OPTIONS OF FRAMES" OPTION...: with a weftd of these options
round()
{
	nic_up "weftd_$1" --netdev xdp "${@:4}"
	capture "$1"
	"$2"
	nothing_left
	siw_left_nothing
	captured "$1"
	# shellcheck disable=SC2086 # words
	frames "$1" $3
	[ "$1" != crc ] || no_flows
	weftd_stop "weftd_$1"
}

# From siw, whose side has peer-to-peer as a parameter.
peer_to_peer()
{
	siw_param peer_to_peer 1
	pings 1000
	siw_param peer_to_peer 0
}

everything()
{
	pings 64 16384 65535
	data
	peer_to_peer
	bad_stag
	death
}

without_crc()
{
	both 18515 ib_send_lat -R -n 200 -s 64 -- ib_send_lat -R -n 200 -s 64 %IP
	both 18515 ib_write_bw -R -n 100 -s 4096 -- ib_write_bw -R -n 100 -s 4096 %IP
	both 18515 ib_read_bw -R -n 100 -s 4096 -- ib_read_bw -R -n 100 -s 4096 %IP
	everything
}

revision_1()
{
	siw_param mpa_version 1
	both 7471 ucmatose -- ucmatose -s %IP
	both 7300 rc_peer listen $guest_ip 7300 -s 5000 -- rc_peer connect %IP 7300 -w 300 -s 5000 -n 100 -d both
	siw_param mpa_version 2
}

# frames.py detects errors, too.
golden=tests/golden/siw
tests/interop/frames.py $golden/rping-r2-p2p-crc.pcap --nic 10.7.0.1 --revision 2 --crc on --active peer --begins peer=write >/dev/null ||
	die 'frames.py refuses siw and siw'
tests/interop/frames.py $golden/terminate-raw.pcap --nic 10.7.0.1 >"$WEFT_TMP/frames.out" && die 'frames.py sees no Terminates'
grep -q "Terminates: .*'nic=1/1/0x00'" "$WEFT_TMP/frames.out" || die 'frames.py sees other Terminates'
for words in '--revision 1' '--crc off' '--active nic' '--begins peer=none' '--terminate nic=1/1/0x00'; do
	# shellcheck disable=SC2086
	tests/interop/frames.py $golden/rping-r2-p2p-crc.pcap --nic 10.7.0.1 $words >/dev/null && die "frames.py takes $words"
done

siw_had=$(siw_objects)
siw_param mpa_crc_required 1
# shellcheck disable=SC2086
round crc everything "--revision 2 --crc on --active both --begins nic=write --begins peer=none,write $bad_stags" --mpa-crc on
siw_param mpa_crc_required 0
round plain without_crc "--revision 2 --crc off --active both --begins nic=write --begins peer=none,write $bad_stags" --mpa-crc off
# The first frame that the NIC offers. siw answers one of no bytes with an unrequested Write. siw
# gets the kind that it requests.
round none peer_to_peer '--revision 2 --crc off --active both --begins nic=none' --mpa-crc off --mpa-rtr none
round read peer_to_peer '--revision 2 --crc off --active both --begins nic=read' --mpa-crc off --mpa-rtr read
round send peer_to_peer '--revision 2 --crc off --active both --begins nic=write' --mpa-crc off --mpa-rtr send
round rev1 revision_1 '--revision 1 --crc off --active both' --mpa-crc off --mpa-revision 1
