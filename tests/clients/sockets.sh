#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-run --sockets: iperf3 (streams, parallel, reverse, both ways, datagrams), nc, socat (forking, exec, UDP), curl
# and Python's HTTP server, unchanged, between two namespaces that no interface connects; 64 MiB with checksums each
# way. First two NICs of one weftd, then two weftd with a memif between them.
# timeout: 600

. tests/int/lib.sh

need nc socat curl iperf3 python3 sha256sum
run=build/bin/weft-run
[ -e build/lib/verbs/libweft-sockets.so ] || skip 'librdmacm-dev is not installed'
netns_add a
netns_add b
head -c 67108864 /dev/urandom >"$WEFT_TMP/file"
sum=$(sha256sum <"$WEFT_TMP/file")
mkdir "$WEFT_TMP/www"
cp "$WEFT_TMP/file" "$WEFT_TMP/www"

is_file()
{
	[ "$(sha256sum <"$1")" = "$sum" ] || die "$2: the bytes are not those that were sent"
	rm -f "$1"
	say "ok: $2"
}

# Checks iperf3's report: all streams moved data, in the directions given by names of its sums.
moved()
{
	python3 - "$WEFT_TMP/$1.out" "${@:2}" <<-'END'
		import json, sys
		end = json.load(open(sys.argv[1]))["end"]
		for name in sys.argv[2:]:
		    assert end[name]["bytes"] > 100000, (name, end[name])
		for s in end["streams"]:
		    for side in s.values():
		        assert side["bytes"] > 0, s
	END
}
# iperf NAME SUMS OPTION...
iperf()
{
	local name=$1 sums=$2
	spawn "$name" $a iperf3 -J -t 1 -c "$address" "${@:3}"
	expect_ok "$name"
	# shellcheck disable=SC2086 # words
	moved "$name" $sums || die "iperf3 ${*:3}: a stream has moved nothing"
	say "ok: iperf3 ${*:3}"
}
# Servers that do not report that they listen are probed until they do.
try()
{
	# shellcheck disable=SC2086 # words
	wait_until "$*" sh -c "exec $a $1 <'$2' >'$WEFT_TMP/back' 2>>'$WEFT_TMP/try.err'"
}
stop()
{
	kill "${pid[$1]}"
	finish "$1"
}

# shellcheck disable=SC2086 # words
all()
{
	local name=$1 a b address=$4
	a="ip netns exec $(unique a) $PWD/$run --sockets --device $2"
	b="ip netns exec $(unique b) $PWD/$run --sockets --device $3"

	spawn "$name.iperf" $b iperf3 -s --forceflush
	says "$name.iperf" listening
	iperf "$name.tcp" 'sum_sent sum_received'
	iperf "$name.p4" 'sum_sent sum_received' -P 4
	iperf "$name.r" 'sum_sent sum_received' -R
	iperf "$name.bidir" 'sum_sent sum_received sum_sent_bidir_reverse sum_received_bidir_reverse' --bidir
	iperf "$name.udp" sum -u -b 50M
	iperf "$name.udp2" sum -u -b 20M -P 2
	iperf "$name.udpr" sum -u -b 20M -R
	stop "$name.iperf"
	# It puts itself into the background.
	$b iperf3 -s -1 -p 5202 -D || die 'iperf3 -D'
	wait_until 'iperf3 in the background' $a iperf3 -p 5202 -c "$address" -n 5M

	spawn "$name.nc" sh -c "exec $b nc -l 5000 >'$WEFT_TMP/there'"
	try "nc -N $address 5000" "$WEFT_TMP/file"
	expect_ok "$name.nc"
	is_file "$WEFT_TMP/there" "$name: nc to a listener"
	spawn "$name.ncback" sh -c "exec $b nc -lN 5001 <'$WEFT_TMP/file'"
	try "nc $address 5001" /dev/null
	expect_ok "$name.ncback"
	is_file "$WEFT_TMP/back" "$name: nc from a listener"

	# A child for each connection, which executes another program.
	spawn "$name.socat" $b socat TCP-LISTEN:5002,fork,reuseaddr EXEC:cat
	try "socat -t 30 - TCP:$address:5002" "$WEFT_TMP/file"
	is_file "$WEFT_TMP/back" "$name: socat, there and back"
	try "socat -t 30 - TCP:$address:5002" "$WEFT_TMP/file"
	is_file "$WEFT_TMP/back" "$name: socat, once more"
	stop "$name.socat"
	spawn "$name.socatu" $b socat -T 20 UDP-LISTEN:5003 EXEC:cat
	echo datagram >"$WEFT_TMP/datagram"
	wait_until 'socat echoes a datagram' sh -c "$a socat -t 1 - UDP:$address:5003 <'$WEFT_TMP/datagram' | grep -q datagram"
	stop "$name.socatu"

	spawn "$name.http" $b python3 -m http.server -d "$WEFT_TMP/www" 5004
	try "curl -sS -f http://$address:5004/file" /dev/null
	is_file "$WEFT_TMP/back" "$name: curl"
	# The kernel's addresses are served as well.
	ip netns exec "$(unique b)" curl -sS -f -o "$WEFT_TMP/back" http://127.0.0.1:5004/file || die 'curl on the loopback'
	is_file "$WEFT_TMP/back" "$name: curl on the kernel's loopback"
	stop "$name.http"
}

weftd_start weftd --nics 2
all nics weft0 weft1 10.77.0.2
weftd_stop weftd
two_weftd memif --mtu 9000
all memif left0 right0 10.9.0.2
weftd_stop right
weftd_stop left
