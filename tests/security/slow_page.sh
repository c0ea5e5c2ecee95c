#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory whose pages arrive late or never (slow_page.c): while a page is held, and while pages come
# late, clients of the same core do their round trips. A process that is killed with its page held
# is detached, and weftd ends. Such processes, one after the other, leave no more threads in weftd
# than their user's share.
#
# timeout: 300

. tests/int/lib.sh
. tests/security/users.sh

start weftd --nics 2

# attack NAME HOLD-MS [PROCESSES]: starts the attack and waits until it runs
attack()
{
	spawn "$1" "$WEFT_INT/slow_page" "$WEFT_RUN_DIR/weft0" 150 "${@:2}"
	wait_until "$1 attacks" said_or_dead "$1" '^attacking'
	if ! out_has "$1" '^attacking'; then
		finish "$1"
		[ "$status" -eq 77 ] && skip 'no FUSE here'
		die "$1 ended with exit status $status"
	fi
	server=$(sed -n 's/^attacking: server //p' "$WEFT_TMP/$1.out")
	at_exit "kill -KILL $server 2>/dev/null || :"
}

# A page that never comes.
attack held 0
bench weft1 weft0 lat --iters 500
bench weft0 weft1 bw --op write --size 20000 --iters 300
alive held || die 'the attack ended before the others were done'
[ "$(counter weft0 port_host_copies_given_up)" -gt 0 ] || die 'no copy was given up: nothing was slow'
# Killed with its copy in progress: its objects are freed at once, not when the page arrives.
kill9 held
expect_objects weft0 '0 0 0 0'
bench weft1 weft0 lat --iters 300
kill -KILL "$server"

# Pages that come late, one after the other.
attack late 20
bench weft1 weft0 lat --iters 500
bench weft0 weft0 rate --op atomic --iters 500
alive late || die 'the attack ended before the others were done'
kill -KILL "$server"
kill9 late
expect_objects weft0 '0 0 0 0'

# Atomics alone, on a page that never comes and on pages that come late.
for hold in 0 20; do
	attack "atomics_$hold" "$hold" atomic
	bench weft0 weft1 rate --op atomic --iters 500
	alive "atomics_$hold" || die 'the attack ended before the others were done'
	kill9 "atomics_$hold"
	expect_objects weft0 '0 0 0 0'
	kill -KILL "$server"
done
[ "$(counter weft0 port_host_atomics)" -gt 0 ] || die 'no atomic reached the slow page'
weftd_stop weftd

# Processes die one after the other, each with a copy in progress, whose server lives on: one thread
# of weftd for each, and no more than the user's share of connections.
threads()
{
	awk '$1 == "Threads:" { print $2 }' "/proc/${pid[weftd]}/status"
}
threads_are()
{
	[ "$(threads)" -le "$1" ]
}
start weftd --nics 2 --quota user:connections=20
before=$(threads)
attack left 0 40
grep -qx '20 over quota: user connections 20' "$WEFT_TMP/left.out" || die "$(head -n 1 "$WEFT_TMP/left.out")"
[ "$(threads)" -ge $((before + 20)) ] || die 'no copy waits: nothing was tried'
expect_objects weft0 '0 0 0 0'
other_user_gets_on 'copies that do not end'
kill -KILL "$server"
wait_until 'the shares are free' no_share 65534
# The threads that close descriptors stay: they are made once.
wait_until 'the threads are gone' threads_are $((before + 4))
kill9 left
weftd_stop weftd
