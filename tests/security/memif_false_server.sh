#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Hostile servers, to which weftd connects as a memif client. weftd hangs up at once on a server of
# another user. An allowed one (uid=N) sends wrong messages, moves its indices at random, and fills
# descriptors with arbitrary lengths and offsets. weftd lives, counts each attack by its reason, and
# connects to an honest server afterwards.

. tests/int/lib.sh

user=65534
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-memif.XXXXXX")
at_exit "rm -rf $dir"
chmod 755 "$dir"
mkdir "$dir/$user"
chown $user "$dir/$user"

weftd_start weftd --user root --nics 2 --port "memif:$dir/$user/s,uid=$user" --ip 10.9.0.1/24 \
	--port "memif:$dir/$user/strange" --ip 10.9.2.1/24

# attack NAME COUNTER PATH NIC: expects that it runs to its end, weftd lives, and the counter has
# risen
attack()
{
	local before after
	before=$(counter "$4" "$2")
	spawn "$1" "$WEFT_INT/memif_false_server" "$user" "$3" "$1"
	finish "$1"
	alive weftd || die "$1: weftd has ended"
	[ "$status" -eq 0 ] || die "$1 ended with exit status $status"
	after=$(counter "$4" "$2")
	[ "$after" -gt "$before" ] || die "$1: $2 is $after as before"
	say "ok: $1: $2 +$((after - before))"
}

attack server_strange memif_refused_user "$dir/$user/strange" weft3
attack server_messages memif_bad_message "$dir/$user/s" weft2
attack server_tails memif_bad_index "$dir/$user/s" weft2
attack server_descriptors memif_rx_bad_buffer "$dir/$user/s" weft2

bench weft0 weft1 lat --iters 200
rm -rf "${dir:?}/$user"
mkdir "$dir/$user"
weftd_start right --user root --name right --port "memif:$dir/$user/s,server" --ip 10.9.0.2/24
wait_until 'weftd has come to it' counter_is right0 wire_link_up 1
wait_until 'weftd has come to it' counter_is weft2 wire_link_up 1
bench weft2 right0 bw --op write --size 20000 --iters 200
bench right0 weft2 lat --iters 200
weftd_stop right
weftd_stop weftd
