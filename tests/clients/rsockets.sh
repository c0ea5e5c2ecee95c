#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rsockets on weft's NICs: every call with its data checked (rs_data.c), and Debian's own programs, unchanged: rstream,
# riostream, rcopy, udpong. First between two NICs of one weftd, then between two weftd with a memif between them.
# timeout: 600

. tests/int/lib.sh

need rstream riostream rcopy udpong
run=build/bin/weft-run
[ -e build/lib/verbs/librdmacm.so.1 ] || skip 'librdmacm-dev is not installed'
gcc -D_GNU_SOURCE -std=gnu11 -Wall -Werror -I. tests/clients/rs_data.c -o "$WEFT_TMP/rs_data" -lrdmacm -lpthread ||
	die 'rs_data.c does not compile'
head -c 3000000 /dev/urandom >"$WEFT_TMP/file"
port=$((20000 + $$ % 10000))

# The programs do not report that they listen: a refused client retries.
pair()
{
	local name=$1 tries=0
	shift
	port=$((port + 1))
	spawn "$name.s" "$run" --device "$right" "$1" -b "$address" "${@:2}" -p "$port"
	while :; do
		tries=$((tries + 1))
		spawn "$name.c$tries" "$run" --device "$left" "$@" -p "$port" -s "$address"
		finish "$name.c$tries"
		[ "$status" -ne 0 ] || break
		{ [ "$tries" -lt 50 ] && alive "$name.s"; } || die "$name: exit status $status"
		sleep 0.2
	done
	say "ok: $*"
}
stream()
{
	pair "$name.$1" "${@:2}"
	expect_ok "$name.$1.s"
}
copied()
{
	"$run" --device "$left" rcopy "$WEFT_TMP/file" "$address:$WEFT_TMP/copy.$name" -p "$port" >"$WEFT_TMP/rcopy.out" 2>&1
}

# all NAME CLIENT-NIC SERVER-NIC SERVER-ADDRESS
all()
{
	local name=$1 left=$2 right=$3 address=$4 options
	spawn "$name.data" "$run" --device "$right" "$WEFT_TMP/rs_data" "$address"
	expect_ok "$name.data"
	spawn "$name.data.s" "$run" --device "$right" "$WEFT_TMP/rs_data" "$address" server
	spawn "$name.data.c" "$run" --device "$left" "$WEFT_TMP/rs_data" "$address" client
	expect_ok "$name.data.c" "$name.data.s"

	stream any rstream -T v -S 1000 -I 10 -C 10
	stream sizes rstream -T v -S all -I 2 -C 4
	stream blocking rstream -T b -T v -S 65536 -I 20 -C 20
	stream nonblocking rstream -T n -T v -S 200000 -I 5 -C 10
	stream async rstream -T a -T v -S 100000 -I 20 -C 20
	stream resolve rstream -T r -T v -S 100000 -I 20 -C 20
	stream io riostream -T v -S 4096 -I 10 -C 10
	stream io_sizes riostream -T v -S all -I 2 -C 4
	stream io_blocking riostream -T b -T v -S 100000 -I 5 -C 5
	for options in '-S 500' '-T e -S 5000' '-T a -T e -S 1000'; do
		# shellcheck disable=SC2086 # options are words
		pair "$name.udpong${options// /}" udpong $options -C 50
		kill "${pid[$name.udpong${options// /}.s]}"
		finish "$name.udpong${options// /}.s"
	done

	port=$((port + 1))
	spawn "$name.rcopy.s" "$run" --device "$right" rcopy -p "$port"
	wait_until 'rcopy copies' copied
	cmp "$WEFT_TMP/file" "$WEFT_TMP/copy.$name" || die 'the copy is not the file'
	kill "${pid[$name.rcopy.s]}"
	finish "$name.rcopy.s"
}

weftd_start weftd --nics 2
all nics weft0 weft1 10.77.0.2
spawn dies "$run" --device weft1 "$WEFT_TMP/rs_data" 10.77.0.2 dies
says dies up
kill9 weftd
expect_ok dies
two_weftd memif --mtu 9000
all memif left0 right0 10.9.0.2
weftd_stop right
weftd_stop left
