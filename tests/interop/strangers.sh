#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Traffic of strangers to a NIC's TCP, over a veth: a flood of SYNs from unused addresses, guessed
# segments (resets, SYNs, ACKs, data), a restart of the NIC under a connection, and a restart of a
# peer. Data goes on, every byte of it right; an end whose peer has lost the connection is notified;
# nothing is left behind.
# timeout: 300

. tests/int/lib.sh
. tests/interop/lib.sh

LIMIT=120
need ethtool python3
wire_up 1500
nic_up weftd --netdev xdp

# strangers NAME WORD...: sends until stranger_stop NAME
strangers()
{
	spawn "$1" ip netns exec "$ns" tests/interop/strangers.py "${@:2}"
	says "$1" '^ready'
}
strangers_stop()
{
	kill -TERM "${pid[$1]}"
	expect_ok "$1"
	say "ok: $1: $(tail -n 1 "$WEFT_TMP/$1.out")"
}

# SYNs to a port where a program listens and to those of the pairs; the answers get no reply.
flood()
{
	rc idle listen 6999
	strangers flood syns "$nic_ip" 6999 $((peer_port + 1)) $((peer_port + 3))
	pair sock rc 20000 '' -d both -n 100
	pair rc sock 20000 '' -o write -d both -n 100
	wait_until 'the flood has been one' counter_above "$nic" tcp_syns_rx 5000
	pair sock rc 1000 '' -n 20
	strangers_stop flood
	counter_above "$nic" tcp_cookies_tx 1000 || die 'the NIC sent no SYN cookies'
	kill9 idle
}

# In a peer's name, before, during and after that peer's own connect.
guesses()
{
	local before name
	before=$(counter "$nic" mpa_established)
	peer_port=$((peer_port + 1))
	rc guessed listen "$peer_port" -s 20000
	strangers guesser blind "$nic_ip" "$peer_port" "$linux_ip" 8500
	wait_until 'guesses come' counter_above "$nic" tcp_syns_rx $(($(counter "$nic" tcp_syns_rx) + 100))
	sock honest connect "$peer_port" -s 20000 -P 8500 -w 2000 -d both -n 5000
	wait_until 'they are connected' counter_above "$nic" mpa_established "$before"
	expect_ok honest guessed
	for name in drop_tcp_window drop_tcp_paws; do
		counter_above "$nic" "$name" 500 || die "few guesses came to the connection: $name"
	done
	strangers_stop guesser
}

# The peer's kernel has lost the connection without notice: its last segments are lost.
peer_forgets()
{
	peer_port=$((peer_port + 1))
	rc left listen "$peer_port" -s 20000
	sock forgotten connect "$peer_port" -s 20000 -o send -d active -n 1000000
	wait_until 'data goes' counter_above "$nic" tcp_tx_segments $(($(counter "$nic" tcp_tx_segments) + 200))
	# It dies with unread data, so it resets instead of closing.
	kill -STOP "${pid[forgotten]}"
	sleep 1
	ip -n "$ns" link set lb down
	kill9 forgotten
	sleep 1
	ip -n "$ns" link set lb up
	expect_fail left 'ended before its time|request failed'
	say 'ok: the peer has forgotten'
	nothing_left
}

# The NIC has lost it, so Linux's next segment is reset. An ordinary socket suffices, which sends
# nothing until then.
nic_forgets()
{
	rc gone listen 6998
	spawn remembers ip netns exec "$ns" python3 -c '
import os, socket, sys, time
s = socket.create_connection((sys.argv[1], 6998), 30)
print("connected", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
try:
    s.sendall(b"x")
    print("got", s.recv(1))
except ConnectionResetError:
    print("reset")
' "$nic_ip" "$WEFT_TMP/again"
	says remembers '^connected'
	kill9 weftd
	expect_fail gone .
	nic_up weftd2 --netdev xdp
	touch "$WEFT_TMP/again"
	says remembers '^reset'
	expect_ok remembers
	counter_above "$nic" tcp_tx_resets 0 || die 'it was not the NIC that reset'
	pair sock rc 5000 '' -n 20
	say 'ok: the NIC has forgotten'
}

flood
guesses
nothing_left
peer_forgets
nic_forgets
nothing_left
weftd_stop weftd2
