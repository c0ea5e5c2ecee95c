#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Notifications of libibverbs programs: asynchronous events one by one, the carrier of a port, errno
# of refused calls, and weftd's death: each client ends with its requests flushed, and a new weftd
# serves new clients.

. tests/int/lib.sh

run=build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
gcc -D_GNU_SOURCE -std=gnu11 -O1 -g -Wall -Wextra -Werror -I. tests/clients/verbs_events.c tests/clients/verbs_ends.c -pthread \
	-o "$WEFT_TMP/verbs_events" -libverbs || die 'verbs_events does not compile'
netns_add a
netns_add b
a=$(unique a) b=$(unique b)

# verbs NAME COMMAND...
verbs()
{
	local name=$1
	shift
	spawn "$name" ip netns exec "$a" "$run" --transport ib "$@"
}

weftd_start weftd --nics 2
verbs events "$WEFT_TMP/verbs_events" events weft0 weft1
verbs refused "$WEFT_TMP/verbs_events" refused weft0
expect_ok events refused
weftd_stop weftd

# one NIC of two shards: an XRC domain belongs to one shard
if [ "$(nproc)" -ge 2 ]; then
	cpus=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
		awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' | head -n 2 | paste -sd,)
	weftd_start shards --nics 1 --cores "$cpus"
	verbs apart "$WEFT_TMP/verbs_events" domain weft0 apart
	expect_ok apart
	export WEFT_SHARD=1
	verbs together "$WEFT_TMP/verbs_events" domain weft0 together
	export WEFT_SHARD=2
	verbs nowhere "$WEFT_TMP/verbs_events" domain weft0 together
	unset WEFT_SHARD
	expect_ok together
	finish nowhere
	[ "$status" -ne 0 ] || die 'a program runs in a shard that there is not'
	weftd_stop shards
fi

# the other end of a veth goes down and up again
if ip link add va netns "$a" type veth peer name vb netns "$b"; then
	ip -n "$a" link set va up
	ip -n "$b" link set vb up
	in_ns="ip netns exec $a"
	weftd_start wired --port va --ip 10.9.0.1/24 --name wired --netdev packet
	in_ns=
	verbs port "$WEFT_TMP/verbs_events" port wired0
	says port waiting
	ip -n "$b" link set vb down
	says port 'port error'
	ip -n "$b" link set vb up
	expect_ok port
	out_has port 'port active' || die 'no event of the port that came back'
	weftd_stop wired
fi

# weftd is killed under clients that sleep, that poll, and under Debian's programs
weftd_start doomed --nics 2
verbs sleeps "$WEFT_TMP/verbs_events" dies weft0 weft1 sleep
verbs polls "$WEFT_TMP/verbs_events" dies weft0 weft1 poll
says sleeps posted
says polls posted
tcp=18700
clients=()
while read -r -a words; do
	tcp=$((tcp + 1))
	verbs "${words[0]}.$tcp.s" "${words[@]}" -d weft1 -p $tcp
	wait_until "${words[0]} listens" tcp_listens "$a" "$tcp" "${words[0]}.$tcp.s"
	verbs "${words[0]}.$tcp.c" "${words[@]}" -d weft0 -p $tcp 127.0.0.1
	clients+=("${words[0]}.$tcp.s" "${words[0]}.$tcp.c")
done <<'PROGRAMS'
ibv_rc_pingpong -n 1000000000
ibv_ud_pingpong -n 1000000000 -e
ibv_srq_pingpong -n 1000000000
ib_send_bw -D 3600
ib_write_bw -D 3600
PROGRAMS
for kind in 0 1; do
	wait_until 'all are attached' attached "weft$kind" 7
	in_traffic "weft$kind"
done
kill9 doomed
expect_ok sleeps polls
for name in "${clients[@]}"; do
	finish "$name"
	[ "$status" -ne 0 ] && [ "$status" -lt 128 ] || die "$name ended with exit status $status"
done

# no weftd; then a new one
verbs nobody ibv_rc_pingpong -d weft0
finish nobody
[ "$status" -ne 0 ] || die 'a program runs without weftd'
weftd_start weftd --nics 2
verbs again "$WEFT_TMP/verbs_events" events weft0 weft1
expect_ok again
verbs unknown ibv_rc_pingpong -d weft7
finish unknown
[ "$status" -ne 0 ] && grep -q weft7 "$WEFT_TMP/unknown.err" || die 'an unknown device is no error'
weftd_stop weftd
