#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Hostile clients on the socket of a memif. Another user reaches no memif. An allowed one (uid=N)
# lies in every message, about its memory, its rings and each descriptor, shrinks and punches its
# memory, moves its indices at random, reads no answers, and dies. weftd lives and counts each
# attack by its reason, a process on another NIC finds its memory untouched, and an honest peer
# works afterwards.

. tests/int/lib.sh

user=65534
stranger=$WEFT_INT/memif_stranger
# Others may list this folder, as they may /run/weft.
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-memif.XXXXXX")
at_exit "rm -rf $dir"
chmod 755 "$dir"

# ---- the socket's own defences

weftd_refused()
{
	spawn "$1" "$WEFT_BIN/weftd" --user root --name "$1" --port "memif:$2,server" --ip 10.9.7.1/24
	expect_fail "$1" "$3"
}
mkdir "$dir/open"
chmod 777 "$dir/open"
weftd_refused open "$dir/open/m.sock" 'other users may replace files'
# A link, a file and another user's socket are left alone.
touch "$dir/file" "$dir/target"
ln -s "$dir/target" "$dir/link"
weftd_refused file "$dir/file" 'the path is not a socket of weftd'
weftd_refused link "$dir/link" 'the path is not a socket of weftd'
for name in file link target; do
	[ -f "$dir/$name" ] || die "$name was removed"
done
[ -L "$dir/link" ] || die 'the link was replaced'

weftd_start weftd --user root --nics 2 --port "memif:$dir/m.sock,server,uid=$user" --ip 10.9.0.1/24 \
	--port "memif:$dir/root.sock,server" --ip 10.9.1.1/24 \
	--port "memif:$dir/word.sock,server,secret=a-word" --ip 10.9.3.1/24
nic=weft2 root_nic=weft3 word_nic=weft4
[ "$(stat -c '%a %u' "$dir/m.sock")" = "600 $user" ] || die "mode or owner of m.sock"
[ "$(stat -c '%a %u' "$dir/root.sock")" = '600 0' ] || die "mode or owner of root.sock"
weftd_refused second "$dir/root.sock" 'another process is its server'

mkfifo "$dir/hold"
spawn canary "$WEFT_INT/memif_canary" weft0 "$dir/hold"
says canary ready
exec 7>"$dir/hold"

# attack NAME COUNTER [UID PATH NIC]: expects that it runs to its end, weftd lives, and the counter
# has risen
attack()
{
	local before after uid=${3:-$user} path=${4:-$dir/m.sock} of=${5:-$nic}
	before=$(counter "$of" "$2")
	spawn "$1" "$stranger" "$uid" "$path" "$1"
	finish "$1"
	alive weftd || die "$1: weftd has ended"
	[ "$status" -eq 0 ] || [ "$1 $status" = 'dies 137' ] || die "$1 ended with exit status $status"
	after=$(counter "$of" "$2")
	[ "$after" -gt "$before" ] || die "$1: $2 is $after as before"
	say "ok: $1: $2 +$((after - before))"
}

# ---- a hostile client

tool 0 "$stranger" $user "$dir/root.sock" denied
chmod 666 "$dir/root.sock"
attack unknown_user memif_refused_user $user "$dir/root.sock" $root_nic
attack wrong_secret memif_refused_secret 0 "$dir/word.sock" $word_nic
attack busy memif_refused_busy
attack silent memif_timeouts
for name in short_message long_message wrong_kind wrong_order wrong_version init_twice many_descriptors; do
	attack $name memif_bad_message
done
for name in truncated unsealed unwritable no_memory wrong_size many_regions; do
	attack $name memif_bad_region
done
for name in ring_outside ring_wrong no_eventfd many_rings; do
	attack $name memif_bad_ring
done
attack read_outside memif_rx_bad_buffer
attack wrong_length memif_rx_bad_length
attack endless_chain memif_rx_bad_chain
attack head_jumps memif_bad_index
attack write_outside memif_tx_bad_buffer
attack no_room memif_tx_no_room
attack never_reads memif_tx_full
attack holes memif_rx
attack scribble memif_disconnected
attack dies memif_disconnected
attack comes_and_goes memif_connected

# ---- afterwards

exec 7>&-
expect_ok canary
alive weftd || die 'weftd has ended'
bench weft0 weft1 lat --iters 200
# Runs as root, but without the right to bypass the mode of another user's socket.
weftd_start right --user root --name right --port "memif:$dir/root.sock" --ip 10.9.1.2/24
wait_until 'the right peer is connected' counter_is right0 wire_link_up 1
wait_until 'the right peer is connected' counter_is $root_nic wire_link_up 1
for op in send write read; do
	bench $root_nic right0 bw --op $op --size 20000 --iters 200
	bench right0 $root_nic lat --op $op --iters 200
done
weftd_stop right
weftd_start word --user root --name word --port "memif:$dir/word.sock,secret=a-word" --ip 10.9.3.2/24
wait_until 'the peer that knows the word is connected' counter_is word0 wire_link_up 1
bench $word_nic word0 lat --iters 200
weftd_stop word
weftd_stop weftd
[ ! -e "$dir/m.sock" ] || die 'the socket was left behind'
