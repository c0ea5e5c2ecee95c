#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Acts of the guest: guest_acts.sh ACT..., one after the other. An act is a function below,
# and its words follow behind commas: bind,vfio-pci,0,1. A line "act: ..." ends each; one that fails
# ends them all, with a line "failed: ...".

log=/tmp/log
mkdir -p $log

say()
{
	echo "act: $* ($(cut -d. -f1 /proc/uptime) s)"
}

fail()
{
	echo "failed: $*"
	for f in $log/*; do
		echo "--- $f"
		tail -n 25 "$f"
	done
	dmesg | tail -n 15
	exit 1
}

# wait_for SECONDS WHAT COMMAND...: time passes slowly in here
wait_for()
{
	left=$1 what=$2
	shift 2
	until "$@"; do
		[ "$left" -gt 0 ] || fail "not: $what"
		left=$((left - 1))
		sleep 1
	done
}

# card N: the address of card N, on the first bus, behind a bridge, or behind a port of its own
card()
{
	if [ -e "/sys/bus/pci/devices/0000:00:1$1.0" ]; then
		echo "0000:00:1$1.0"
	elif [ -e "/sys/bus/pci/devices/0000:01:0$(($1 + 1)).0" ]; then
		echo "0000:01:0$(($1 + 1)).0"
	else
		echo "0000:0$(($1 + 1)):00.0"
	fi
}

# give DRIVER N: takes the card from its driver and gives it to this one
give()
{
	address=$(card "$2")
	device=/sys/bus/pci/devices/$address
	[ -e "$device" ] || fail "no card $address"
	[ ! -e "$device/driver" ] || echo "$address" >"$device/driver/unbind"
	echo "$1" >"$device/driver_override"
	echo "$address" >/sys/bus/pci/drivers_probe
	[ "$(readlink "$device/driver" | sed 's,.*/,,')" = "$1" ] || fail "$1 does not take $address"
}

# ---- acts

hugepages()
{
	echo "$1" >/proc/sys/vm/nr_hugepages
	say "hugepages $(cat /proc/sys/vm/nr_hugepages)"
}


# bind,DRIVER,N...
bind()
{
	driver=$1
	shift
	for n in "$@"; do
		give "$driver" "$n"
	done
	say "bind $driver $*"
}

# vfio takes cards that are behind no IOMMU
noiommu()
{
	echo 1 >/sys/module/vfio/parameters/enable_unsafe_noiommu_mode || fail 'the vfio of this kernel needs an IOMMU'
	say noiommu
}

# The kernel's interface on the wire of the cards is 0000:00:18.0.
kernel_up()
{
	name=$(ls /sys/bus/pci/devices/0000:00:18.0/virtio*/net)
	ip addr add "$1" dev "$name"
	ip link set "$name" up
	say "kernel has $1 on $name"
}

# kernel_vlan,N,ADDRESS: the same on a VLAN
kernel_vlan()
{
	name=$(ls /sys/bus/pci/devices/0000:00:18.0/virtio*/net)
	ip link set "$name" up
	ip link add link "$name" name vlan"$1" type vlan id "$1" || fail 'no interface on a VLAN'
	ip addr add "$2" dev vlan"$1"
	ip link set vlan"$1" up
	say "kernel has $2 on vlan$1"
}

# first,N: the first card's address is 10.9.0.N
first=1
first()
{
	first=$1
}

# cores,LIST: of weftd
cores=1
cores()
{
	cores=$(echo "$*" | tr ' ' ,)
}

# vlan,N: of the cards' NICs
vlan=
vlan()
{
	vlan=,vlan=$1
}

# tso,off: no card is given runs of TCP segments
tso=
tso()
{
	tso=,tso=$1
}

# weftd,OPTION...: a NIC on each card that is bound, .1 and .2; further options
weftd()
{
	ports=
	for n in 0 1; do
		[ -e "/sys/bus/pci/devices/$(card $n)" ] || continue
		driver=$(readlink "/sys/bus/pci/devices/$(card $n)/driver" | sed 's,.*/,,')
		case $driver in
		vfio-pci | uio_pci_generic) ports="$ports --port pci:$(card $n)$vlan$tso --ip 10.9.0.$((n + first))/24" ;;
		esac
	done
	# shellcheck disable=SC2086 # words
	begin_weftd $ports --cores $cores "$@"
	say "weftd $*"
}

begin_weftd()
{
	: >$log/weftd
	/weft/bin/weftd "$@" >$log/weftd 2>&1 &
	weftd=$!
	wait_for 120 'weftd is ready' ready
	grep -v '^weftd: ready' $log/weftd
}

# switch,N,OPTION...: weftd with N NICs on the built-in switch, 10.9.0.1 and so on, by its own defaults
switch()
{
	nics=$1
	shift
	begin_weftd --nics "$nics" --subnet 10.9.0.0/24 "$@"
	say "switch with $nics NICs $*"
}

ready()
{
	grep -q '^weftd: ready' $log/weftd && return
	kill -0 "$weftd" 2>/dev/null || fail 'weftd ended'
	return 1
}

stop()
{
	kill "$weftd"
	wait "$weftd" || fail "weftd ended with $?"
	say 'weftd stopped'
}

links_up()
{
	# On a busy machine weftd may be too slow for an answer.
	weftctl list >/tmp/list || return 1
	! grep -q ' down' /tmp/list
}

list()
{
	wait_for 60 'links are up' links_up
	cat /tmp/list
	say list
}

# ping,ADDRESS: from the kernel's interface
ping()
{
	busybox ping -c 3 -W 20 "$1" >$log/ping || fail "no answer from $1"
	busybox ping -c 3 -W 20 -s 1472 "$1" >$log/ping || fail "no answer to large pings from $1"
	say "ping $1 $(grep received $log/ping)"
}

# between TO WORD...: weft-bench to that NIC from the other
between()
{
	to=$1
	shift
	: >$log/bench.s
	timeout 400 weft-bench "$@" --timeout 120 --device "weft$to" --server --port 1200 >$log/bench.s 2>&1 &
	server=$!
	wait_for 60 'weft-bench listens' grep -q 'listening on port' $log/bench.s
	timeout 400 weft-bench "$@" --timeout 120 --device "weft$((1 - to))" --connect 127.0.0.1 --port 1200 \
		>$log/bench.c 2>&1 || fail "weft-bench $* ended with $?"
	wait $server || fail "weft-bench $* --server ended with $?"
	rm -f $log/bench.*
	say "bench to weft$to $*"
}

# bench,WORD... and back,WORD...: from the first NIC to the second, and the other way
bench()
{
	between 1 "$@"
}

back()
{
	between 0 "$@"
}

# pair NAME CARD SERVER... -- CLIENT...: a server on NIC CARD and a client on the other, in weft-run
pair()
{
	name=$1 card=$2 server_words='' options=
	shift 2
	while [ "$1" != -- ]; do
		server_words="$server_words $1"
		shift
	done
	shift
	case $name in
	rping) ;;
	*) options='--transport ib' ;;
	esac
	# shellcheck disable=SC2086 # words
	timeout 400 weft-run --device "weft$card" $options $server_words >$log/$name.s 2>&1 &
	server=$!
	sleep 2
	left=60
	# shellcheck disable=SC2086 # words
	until timeout 400 weft-run --device "weft$((1 - card))" $options "$@" >$log/$name.c 2>&1; do
		left=$((left - 1))
		# The server is not up yet; a loaded machine disturbs perftest's measurement of its clock.
		[ $left -gt 0 ] && kill -0 $server 2>/dev/null && grep -qE "onnect|Correlation" $log/$name.c || fail "$name ended with $?"
		sleep 2
	done
	wait $server || fail "$name ended with $? at its server"
	rm -f $log/$name.*
	say "$name weft$((1 - card)) to weft$card"
}

# has PROGRAM: or the machine that made the image had none
has()
{
	command -v "$1" >/dev/null || { say "no $1"; return 1; }
}

# no_ping,ADDRESS: it does not answer the kernel's interface
no_ping()
{
	busybox ping -c 2 -W 5 "$1" >$log/ping && fail "an answer from $1"
	say "no_ping $1"
}

# mtu,N: of both NICs, while weftd runs; large pings show that it holds
mtu()
{
	for n in 0 1; do
		weftctl mtu weft$n "$1" >$log/mtu 2>&1 || fail "weftctl mtu weft$n $1 ended with $?"
	done
	weftctl list >/tmp/list
	[ "$(grep -cw "$1" /tmp/list)" -ge 2 ] || fail "weftctl list shows no MTU of $1"
	cat /tmp/list
	say "mtu $1"
}

# Both directions: every byte of the pings is looked at (-V, -c); perftest does not look at its own.
rping()
{
	for to in 0 1; do
		pair rping $to rping -s -a 10.9.0.$((to + 1)) -C 5 -V -v -- rping -c -a 10.9.0.$((to + 1)) -C 5 -V -v
	done
}

pingpong()
{
	has ibv_rc_pingpong || return 0
	for to in 0 1; do
		pair pingpong $to ibv_rc_pingpong -g 0 -c -s 4096 -n 20 -i 1 -- ibv_rc_pingpong -g 0 -c -s 4096 -n 20 -i 1 127.0.0.1
	done
}

perftest()
{
	has ib_send_lat || return 0
	for to in 0 1; do
		for program in ib_send_lat ib_write_lat ib_read_lat; do
			pair perftest $to $program -F -n 20 -s 4096 -p 1860$to -- $program -F -n 20 -s 4096 -p 1860$to 127.0.0.1
		done
	done
}

# Every operation of verbs, drawn, in both directions: every byte is looked at.
verbs()
{
	has verbs_data || return 0
	for seed in 1 2; do
		timeout 900 weft-run --transport ib verbs_data weft0 weft1 -g 0 -n 2 -s $seed >$log/verbs 2>&1 ||
			fail "verbs_data -s $seed ended with $?"
		cat $log/verbs
	done
	rm -f $log/verbs
	say verbs
}

# A GOAL program of ranks on both cards: every byte of the messages is looked at.
goal()
{
	for words in 'allreduce --bytes 20000' 'bcast --bytes 50000' barrier; do
		# shellcheck disable=SC2086 # words
		timeout 400 goal-run --coll $words --ranks 4 --device weft0,weft1 --timeout 200000 >$log/goal 2>&1 ||
			fail "goal-run --coll $words ended with $?"
	done
	rm -f $log/goal
	say goal
}

# taps,OPTION...: weftd with a NIC on each of two taps that a bridge of the kernel joins
taps()
{
	mkdir -p /dev/net
	[ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200
	ip link add name wbr type bridge || fail 'no bridge'
	ip link set wbr up
	begin_weftd --port tap:wtap0 --ip 10.9.0.1/24 --port tap:wtap1 --ip 10.9.0.2/24 --cores $cores "$@"
	for n in 0 1; do
		brctl addif wbr wtap$n || fail "no bridge for wtap$n"
		ip link set wtap$n up
	done
	say "taps $*"
}

# Prints what the device said to rules, and how many frames came to another shard.
rules()
{
	grep -i 'rule' $log/weftd
	weftctl stats weft0 --per-shard | grep -E 'port_rx_(frames|passed)'
	say rules
}

# loop,WORD...: both ends in one process
loop()
{
	timeout 400 weft-bench loop "$@" --timeout 120 --device weft0 --device2 weft1 >$log/loop 2>&1 ||
		fail "weft-bench loop $* ended with $?"
	say "loop $*"
}

# Three processes on other NICs add to one counter: no value comes twice.
counter()
{
	: >$log/counter
	timeout 400 weft-bench counter --clients 3 --timeout 120 --device weft0 --server --port 1200 >$log/counter 2>&1 &
	server=$! clients=
	wait_for 60 'weft-bench listens' grep -q 'listening on port' $log/counter
	for n in 1 2 3; do
		timeout 400 weft-bench counter --iters 100 --timeout 120 --device weft$n --connect 127.0.0.1 --port 1200 \
			>$log/counter.$n 2>&1 &
		clients="$clients $!"
	done
	for client in $clients; do
		wait "$client" || fail "weft-bench counter ended with $?"
	done
	wait $server || fail "weft-bench counter --server ended with $?"
	rm -f $log/counter*
	say counter
}

# file,BYTES: moved from the first NIC to the second
file()
{
	head -c "$1" /dev/urandom >/tmp/sent
	: >$log/file.s
	timeout 400 weft-bench file --timeout 120 --recv /tmp/received --device weft1 --server --port 1200 >$log/file.s 2>&1 &
	server=$!
	wait_for 60 'weft-bench listens' grep -q 'listening on port' $log/file.s
	timeout 400 weft-bench file --timeout 120 --send /tmp/sent --device weft0 --connect 127.0.0.1 --port 1200 >$log/file.c 2>&1 ||
		fail "weft-bench file ended with $?"
	wait $server || fail "weft-bench file --server ended with $?"
	cmp /tmp/sent /tmp/received || fail 'the file is not the one that was sent'
	rm -f $log/file.*
	say "file $1"
}

# collectives,RANKS: over four NICs, every byte looked at
collectives()
{
	for words in barrier 'bcast --bytes 65536' 'allreduce --bytes 8' 'allreduce --bytes 65536'; do
		# shellcheck disable=SC2086 # words
		timeout 400 goal-run --coll $words --ranks "$1" --device weft0,weft1,weft2,weft3 --timeout 200000 >$log/coll 2>&1 ||
			fail "goal-run --coll $words --ranks $1 ended with $?"
	done
	rm -f $log/coll
	say "collectives $1"
}

# Five datagrams to a group: the second card has to let them in, as its filter is set.
groups()
{
	: >$log/member
	mcast_prog member weft1 239.1.2.3 77 >$log/member 2>&1 &
	member=$!
	wait_for 60 'a member of the group' grep -q '^attached$' $log/member
	# The filter is set by a thread of weftd's that looks ten times a second.
	sleep 3
	timeout 120 mcast_prog send weft0 239.1.2.3 77 1 5 >$log/send 2>&1 || fail "mcast_prog send ended with $?"
	wait_for 120 'five datagrams' grep -q '^got 5$' $log/member
	kill $member
	wait $member || fail "mcast_prog member ended with $?"
	rm -f $log/member $log/send
	say groups
}

# Linux's TCP at the kernel's interface (mpa_sock) and RC over TCP at the first card, both active once.
linux_tcp()
{
	for active in sock rc; do
		: >$log/rc
		: >$log/sock
		if [ $active = sock ]; then
			timeout 300 weft-run --device weft0 rc_peer listen 10.9.0.1 7001 -s 5000 -n 30 -d both >$log/rc 2>&1 &
			passive=$!
			wait_for 60 'rc_peer listens' grep -q ^listening $log/rc
			timeout 300 mpa_sock connect 10.9.0.1 7001 -s 5000 -n 30 -d both >$log/sock 2>&1 ||
				fail "mpa_sock ended with $?"
		else
			timeout 300 mpa_sock listen 10.9.0.9 7002 -s 5000 -n 30 -d both >$log/sock 2>&1 &
			passive=$!
			wait_for 60 'mpa_sock listens' grep -q ^listening $log/sock
			timeout 300 weft-run --device weft0 rc_peer connect 10.9.0.9 7002 -s 5000 -n 30 -d both >$log/rc 2>&1 ||
				fail "rc_peer ended with $?"
		fi
		wait $passive || fail "the passive end ended with $?"
	done
	rm -f $log/rc $log/sock
	say linux_tcp
}

# sockets[,-R]: a program of TCP over the cards, towards the second one or from it
sockets()
{
	: >$log/iperf.s
	timeout 300 weft-run --device weft1 --sockets iperf3 -s -1 --forceflush -B 10.9.0.2 >$log/iperf.s 2>&1 &
	server=$!
	wait_for 60 'iperf3 listens' grep -qi 'listening' $log/iperf.s
	# shellcheck disable=SC2086 # words
	timeout 300 weft-run --device weft0 --sockets iperf3 -c 10.9.0.2 -n 500K -l 16K $1 >$log/iperf.c 2>&1 ||
		fail "iperf3 ended with $?"
	wait $server || fail "iperf3 -s ended with $?"
	rm -f $log/iperf.*
	say "sockets $1"
}

# serve,WORD... and client,ADDRESS,WORD...: weft-bench with the NIC of another guest
serve()
{
	: >$log/serve
	timeout 900 weft-bench "$@" --timeout 600 --device weft0 --server --port 1300 >$log/serve 2>&1 ||
		fail "weft-bench $* --server ended with $?"
	rm -f $log/serve
	say "serve $*"
}

client()
{
	peer=$1
	shift
	tries=60
	# The other guest may still boot.
	until timeout 900 weft-bench "$@" --timeout 600 --device weft0 --connect "$peer" --port 1300 >$log/client 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] && grep -qiE 'refused|unreachable|no route|timed out' $log/client ||
			fail "weft-bench $* ended with $?"
		sleep 3
	done
	rm -f $log/client
	say "client $*"
}

# here,COMMAND...: with weft-run on the first NIC, waits for a program of another guest
here()
{
	: >$log/here
	timeout 900 weft-run --device weft0 "$@" >$log/here 2>&1 || fail "$* ended with $?"
	rm -f $log/here
	say "here $*"
}

# there,COMMAND...: with weft-run on the first NIC, to a program of another guest that may not wait yet
there()
{
	tries=60
	until timeout 900 weft-run --device weft0 "$@" >$log/there 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] && grep -qiE 'refused|reject|unreachable|onnect|route|timed out|RESOLVE|Correlation' $log/there ||
			fail "$* ended with $?"
		sleep 3
	done
	rm -f $log/there
	say "there $*"
}

# rank,N,MAC...: rank N of a GOAL program whose ranks are NICs with these addresses. A machine that stands still for
# a second is a lost rank for the others: all begin again.
rank()
{
	rank=$1
	shift
	peers=$(echo "$*" | tr ' ' ,)
	tries=10
	until timeout 900 env WEFT_PEERS="$peers" WEFT_RANK="$rank" WEFT_DEVICE=weft0 \
		WEFT_KEY=00112233445566778899aabbccddeeff goal_prog -n 3 -b 20000 -a >$log/rank 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] && grep -q 'does not respond\|never reached' $log/rank || fail "goal_prog ended with $?"
		cat $log/rank
	done
	cat $log/rank
	rm -f $log/rank
	say "rank $rank of $peers"
}

stats_read()
{
	weftctl stats weft0 --nonzero >/tmp/stats
}

# stats,NAME...: counters that are not 0 and whose names contain one of these
stats()
{
	wait_for 60 'weftctl stats' stats_read
	for word in "$@"; do
		grep -- "$word" /tmp/stats || fail "no counter $word"
	done
	say "stats $*"
}

log_has()
{
	grep -q -- "$1" $log/weftd
}

# logged,TEXT: weftd has said so
logged()
{
	log_has "$1" || fail "weftd does not say '$1'"
	say "logged $1"
}

# unplugged,N: the host takes card N out (it waits for the line "host: ..."); weftd says so, serves the
# other and lets the card go
unplugged()
{
	address=$(card "$1")
	echo "host: unplug $1"
	wait_for 120 'weftd says that the card is gone' log_has "the card $address is gone"
	wait_for 60 'the kernel has let the card go' [ ! -e "/sys/bus/pci/devices/$address" ]
	wait_for 60 'weftctl list after the removal' weftctl list
	wait_for 60 'weftctl stats after the removal' weftctl stats weft0 --nonzero
	say "unplugged $1"
}

# link,N,up|down: the host plugs a cable in or out (it waits for the line "host: ..."), weftd sees it
link()
{
	echo "host: link $1 $2"
	wait_for 120 "the link of weft$1 is $2" link_is "$1" "$2"
	say "link $1 $2"
}

link_is()
{
	weftctl list >/tmp/list && grep "^weft$1 " /tmp/list | grep -qw "$2"
}

# held,N: a program has the card's vfio group open
held()
{
	group=$(readlink "/sys/bus/pci/devices/$(card "$1")/iommu_group" | sed 's,.*/,,')
	# shellcheck disable=SC2094 # it only holds it
	sleep 1000 <>"/dev/vfio/$group" &
	say "held $1, group $group"
}

ports()
{
	/weft/bin/weftd --list-ports || fail "--list-ports ended with $?"
	say list-ports
}

# refused,TEXT,OPTION...: weftd does not start and says so
refused()
{
	text=$1
	shift
	/weft/bin/weftd "$@" >$log/refused 2>&1 && fail "weftd $* starts"
	grep -q -- "$text" $log/refused || fail "weftd $* does not say '$text'"
	sed 's/^/said: /' $log/refused
	say "refused $*"
}

shell()
{
	sh -c "$*"
}

for act in "$@"; do
	old=$IFS
	IFS=,
	# shellcheck disable=SC2086 # words of the act
	set -- $act
	IFS=$old
	"$@"
done
