#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory whose pages do not come (slow_page.c): while a page is held, and while pages come late, clients
# of the same core do their round trips; a process that is killed with its page held is detached, and
# weftd ends.
#
# timeout: 180

. tests/int/lib.sh
[ "$(id -u)" -eq 0 ] || skip 'not root: cannot be another user'
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
at_exit "rm -rf '$dir'"
chmod 755 "$dir"
export WEFT_RUN_DIR=$dir/run

weftd_start weftd --nics 2
chmod 755 "$WEFT_RUN_DIR"
chmod 666 "$WEFT_RUN_DIR/weft0"

# attack NAME HOLD-MS: and it is at it
attack()
{
	spawn "$1" "$WEFT_INT/slow_page" "$WEFT_RUN_DIR/weft0" 150 "$2"
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
# Killed with its copy under way: its objects go, not when the page comes.
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
weftd_stop weftd
