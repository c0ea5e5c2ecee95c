#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Groups of UD queue pairs, by mcast_prog. On the built-in switch one send reaches every attached QP
# once, on every NIC including the sender's; the sender's own QP by choice; no QP that is detached,
# or has another Q_Key or group. A Linux bridge with IGMPv3 snooping and querier lists the NIC while
# a QP is attached, also beyond its membership time, and not after; a Linux process in the group
# receives the datagrams, too.

. tests/int/lib.sh
need ip bridge python3

# member NAME NIC GROUP QKEY
member()
{
	spawn "$1" "$WEFT_INT/mcast_prog" member "$2" "$3" "$4"
	says "$1" '^attached$'
}

# send WORD...: runs mcast_prog send with WORD... to its end
send()
{
	sequence=$((sequence + 1))
	spawn "send$sequence" "$WEFT_INT/mcast_prog" send "$@"
	expect_ok "send$sequence"
}

# member_end NAME COUNT: expects COUNT datagrams in all
member_end()
{
	kill -TERM "${pid[$1]}"
	expect_ok "$1"
	grep -qx "total $2" "$WEFT_TMP/$1.out" || die "$1 did not get $2 datagrams: $(tail -n 1 "$WEFT_TMP/$1.out")"
}

group_state()
{
	ctl groups "$1" >"$WEFT_TMP/list"
	# A line for each shard that has members.
	awk -v group="$2" '$3 == group { state = $5; members += $6 } END { if (state != "") print state, members }' "$WEFT_TMP/list"
}

group_is()
{
	[ "$(group_state "$1" "$2")" = "$3" ]
}

group=239.9.8.7
weftd_start weftd --nics 3
member one weft1 $group 7
member two weft1 $group 7
member three weft2 $group 7
member home weft0 $group 7
member key weft2 $group 8
member other weft1 239.9.8.8 7
group_is weft1 $group 'joined 2' || die "weft1 has $group: $(group_state weft1 $group)"
group_is weft2 $group 'joined 2' || die "weft2 has $group: $(group_state weft2 $group)"

# Senders that are not attached, attached, and attached without loopback: the others receive all
# datagrams.
send weft0 $group 7 100 20
grep -qx 'self 0' "$WEFT_TMP/send$sequence.out" || die 'a QP that is not attached got something'
send weft0 $group 7 200 20 listen
grep -qx 'self 20' "$WEFT_TMP/send$sequence.out" || die 'an attached sender did not get its own'
send weft0 $group 7 300 20 block
grep -qx 'self 0' "$WEFT_TMP/send$sequence.out" || die 'a sender got what it does not want'
[ "$(counter weft0 mcast_rx_self_blocked)" -eq 20 ] || die 'not 20 copies were kept from the sender'
for name in one two three home; do
	says $name '^got 319$'
	[ "$(sort -u "$WEFT_TMP/$name.out" | grep -c '^got')" -eq 60 ] || die "$name did not get 60 different ones"
done
say 'ok: every attached QP, and loopback'

# Only members with this Q_Key receive the datagrams.
before=$(counter weft1 drop_qkey)
send weft0 $group 8 400 10
says key '^got 409$'
wait_until 'two QPs refuse 10 each' counter_above weft1 drop_qkey $((before + 19))

# One QP less receives one copy less; the NIC stays in the group until its last QP has left.
kill -USR1 "${pid[two]}"
says two '^detached$'
group_is weft1 $group 'joined 1' || die "weft1 has $group: $(group_state weft1 $group)"
before=$(counter weft1 mcast_rx_copies)
send weft2 $group 7 500 10
says one '^got 509$'
[ "$(counter weft1 mcast_rx_copies)" -eq $((before + 10)) ] || die 'one attached QP did not take 10 copies'
send weft1 239.9.8.8 7 600 5
says other '^got 604$'

member_end one 70
wait_until 'weft1 has left' group_is weft1 $group ''
send weft2 $group 7 700 10
says three '^got 709$'
[ "$(counter weft1 mcast_rx_copies)" -eq $((before + 15)) ] || die 'a NIC that is in no group took a copy'
member_end two 60
member_end three 80
member_end home 80
member_end key 10
member_end other 5
# A killed process is detached as well.
member killed weft1 $group 7
kill9 killed
wait_until 'weft1 has left again' group_is weft1 $group ''
weftd_stop weftd
say 'ok: Q_Keys, detached'

# ---- a bridge of Linux ----------------------------------------------------------------------

netns_add s
netns_add a
netns_add b
netns_add c
s=$(unique s) c=$(unique c)
# Times in 10 ms: queries every 2 s with 1 s to answer, and drops silent members after 6 s.
ip -n "$s" link add br0 type bridge mcast_snooping 1 mcast_querier 1 mcast_igmp_version 3 \
	mcast_query_interval 200 mcast_startup_query_interval 100 mcast_query_response_interval 100 \
	mcast_membership_interval 600 mcast_last_member_interval 50 || skip 'no bridge here'
for end in a b c; do
	ip link add "v$end" netns "$(unique $end)" type veth peer name "m$end" netns "$s" || skip 'no veth here'
	ip -n "$(unique $end)" link set dev "v$end" up
	ip -n "$s" link set dev "m$end" master br0 up
done
ip -n "$c" address add 10.9.0.3/24 dev vc
ip -n "$s" link set br0 up

cat >"$WEFT_TMP/linux.py" <<'PYTHON'
import select, signal, socket, struct, sys
group, want = sys.argv[1], []
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 49, 0) # IP_MULTICAST_ALL off: receives its own groups alone
s.bind(("", 47810))
mreq = socket.inet_aton(group) + socket.inet_aton("10.9.0.3")
for number in (signal.SIGUSR1, signal.SIGTERM):
    signal.signal(number, lambda n, frame: want.append(n))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, mreq)
print("attached", flush=True)
while signal.SIGTERM not in want:
    if signal.SIGUSR1 in want:
        want.remove(signal.SIGUSR1)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_DROP_MEMBERSHIP, mreq)
        print("detached", flush=True)
    if select.select([s], [], [], 0.1)[0]:
        # The number follows weft's header and those of DDP and RDMAP.
        print("got %u" % struct.unpack_from("<I", s.recv(2048), 28 + 18), flush=True)
PYTHON

# listed PORT: true if the bridge has the port in the group
listed()
{
	bridge -n "$s" mdb show dev br0 | grep -q "port $1 grp $group "
}

unlisted()
{
	! listed "$1"
}

# Prints the bridge's view of the group while members on NICs and in Linux come and go.
bridged()
{
	local kind=$1 asked
	in_ns="ip netns exec $(unique a)"
	weftd_start "left$kind" --port va --ip 10.9.0.1/24 --name left --netdev "$kind"
	in_ns="ip netns exec $(unique b)"
	weftd_start "right$kind" --port vb --ip 10.9.0.2/24 --name right --netdev "$kind"
	in_ns=
	unlisted mb || die 'the bridge lists the group before somebody is in it'
	member "member$kind" right0 $group 7
	wait_until 'the bridge lists the NIC' listed mb
	unlisted ma || die 'the bridge lists a NIC that is not in the group'
	spawn "linux$kind" ip netns exec "$c" python3 "$WEFT_TMP/linux.py" $group
	says "linux$kind" '^attached$'
	wait_until 'the bridge lists the Linux process' listed mc
	send left0 $group 7 100 10
	says "member$kind" '^got 109$'
	says "linux$kind" '^got 109$'
	# Without reports the bridge would have dropped it.
	asked=$(counter right0 igmp_queries_rx)
	wait_until 'the bridge asks' counter_above right0 igmp_queries_rx $((asked + 4))
	wait_until 'the bridge still lists the NIC, which answers' listed mb
	kill -USR1 "${pid[linux$kind]}"
	says "linux$kind" '^detached$'
	wait_until 'the bridge lists the Linux process no more' unlisted mc
	send left0 $group 7 200 10
	says "member$kind" '^got 209$'
	member_end "member$kind" 20
	wait_until 'the bridge lists the NIC no more' unlisted mb
	kill -TERM "${pid[linux$kind]}"
	expect_ok "linux$kind"
	[ "$(grep -c '^got' "$WEFT_TMP/linux$kind.out")" -eq 10 ] || die 'the Linux process did not get 10 datagrams'
	weftd_stop "left$kind"
	weftd_stop "right$kind"
	say "ok: a bridge, by $kind"
}

bridged packet
bridged xdp
