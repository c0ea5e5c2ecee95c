#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Names that an attacker prepares. A capture by root follows no link into another file, and writes
# into no file that another user can read. A set-uid program that uses libweft ignores its caller's
# choice of weftd. A stranger that takes the abstract name by which weftds share interfaces keeps no
# weftd from starting. DPDK's directory is not one in /tmp.

. tests/int/lib.sh
need setpriv /usr/bin/python3 ip # another Python may be root's alone

[ "$(id -u)" -eq 0 ] || skip 'only root can play both sides'
for_others
as_nobody='setpriv --reuid=nobody --regid=nogroup --clear-groups'

weftd_start weftd --nics 1

# ---- weftctl capture -w

# A directory like /tmp before fs.protected_symlinks: the user nobody makes names, root captures.
mkdir -m 777 "$WEFT_TMP/pub"
install -m 644 /dev/null "$WEFT_TMP/precious"
echo precious >"$WEFT_TMP/precious"
$as_nobody ln -s "$WEFT_TMP/precious" "$WEFT_TMP/pub/link"
$as_nobody touch "$WEFT_TMP/pub/theirs"
$as_nobody chmod 666 "$WEFT_TMP/pub/theirs"
ln "$WEFT_TMP/precious" "$WEFT_TMP/pub/hard"
touch "$WEFT_TMP/pub/open"
chmod 644 "$WEFT_TMP/pub/open"

# refused FILE TEXT
refused()
{
	tool 1 timeout 20 "$WEFT_BIN/weftctl" capture weft0 -w "$1" --seconds 1
	grep -qF -- "$2" "$err" || die "weftctl capture -w $1 says: $(cat "$err")"
}

refused "$WEFT_TMP/pub/link" 'symbolic link'
refused "$WEFT_TMP/pub/hard" 'other names'
refused "$WEFT_TMP/pub/theirs" 'another user'
[ "$(cat "$WEFT_TMP/precious")" = precious ] || die 'a capture has overwritten a file behind a link'
[ ! -s "$WEFT_TMP/pub/theirs" ] || die 'frames went to a file of another user'
tool 0 "$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/pub/open" --seconds 0.2
[ "$(stat -c %a "$WEFT_TMP/pub/open")" = 600 ] || die 'everybody can read a capture'
tool 0 "$WEFT_BIN/weftctl" capture weft0 -w /dev/null --seconds 0.2
mkfifo "$WEFT_TMP/fifo"
spawn fifo "$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/fifo" --seconds 0.2
[ "$(head -c 4 "$WEFT_TMP/fifo" | od -An -tx1 | tr -d ' ')" = 0a0d0d0a ] || die 'nothing comes out of a pipe'
finish fifo
weftd_stop weftd

# ---- weftd --log

# log_refused FILE TEXT
log_refused()
{
	tool 1 timeout 20 "$WEFT_BIN/weftd" --nics 1 --user root --log "$1"
	grep -qF -- "$2" "$err" || die "weftd --log $1 says: $(cat "$err")"
}

log_refused "$WEFT_TMP/pub/link" 'symbolic link'
log_refused "$WEFT_TMP/pub/hard" 'other names'
log_refused "$WEFT_TMP/pub/theirs" 'another user'
[ "$(cat "$WEFT_TMP/precious")" = precious ] || die 'a log was appended to a file behind a link'
[ ! -s "$WEFT_TMP/pub/theirs" ] || die 'a log went to a file of another user'

# ---- a set-uid program

# Release build: a sanitizer does not run with rights that its caller lacks.
if [ -x build/bin/weft-bench ]; then
	mkdir "$WEFT_TMP/evil"
	chown nobody "$WEFT_TMP/evil"
	install -m 4755 build/bin/weft-bench "$WEFT_TMP/setuid"
	spawn evil $as_nobody /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen(8)
print("ready", flush=True)
while True:
    s.accept()
    print("caught", flush=True)' "$WEFT_TMP/evil/weft0"
	says evil '^ready'
	# The result is the same with and without a NIC of that name in /run/weft.
	timeout 20 $as_nobody env WEFT_RUN_DIR="$WEFT_TMP/evil" WEFT_DEVICE=weft0 \
		"$WEFT_TMP/setuid" loop lat --device weft0 --iters 1 >"$out" 2>&1
	timeout 20 $as_nobody env WEFT_RUN_DIR="$WEFT_TMP/evil" WEFT_DEVICE="$WEFT_TMP/evil/weft0" \
		"$WEFT_TMP/setuid" loop lat --iters 1 >"$out" 2>&1
	out_has evil caught && die 'a set-uid program has attached to a weftd of its caller'
	# Without the set-uid bit the program does follow it, which shows that the trap works.
	chmod 755 "$WEFT_TMP/setuid"
	timeout 5 $as_nobody env WEFT_RUN_DIR="$WEFT_TMP/evil" \
		"$WEFT_TMP/setuid" loop lat --device weft0 --iters 1 >"$out" 2>&1
	out_has evil caught || die "the trap does not work: $(cat "$out")"
	kill9 evil
fi

# ---- the name of an interface

netns_add a
a=$(unique a)
ip -n "$a" link add va type veth peer name vb || skip 'no veth here'
ip -n "$a" link set va up
ip -n "$a" link set vb up
index=$(ip netns exec "$a" cat /sys/class/net/vb/ifindex)

# squat NAME TYPE: a process of the user nobody takes the name
squat()
{
	spawn "$1" ip netns exec "$a" $as_nobody /usr/bin/python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[1]))
s.bind("\0weftd-port-" + sys.argv[2])
if sys.argv[1] != "SOCK_DGRAM":
    s.listen(1)
print("ready", flush=True)
time.sleep(600)' "$2" "$index"
	says "$1" '^ready'
}

for type in SOCK_DGRAM SOCK_SEQPACKET; do
	squat "squat$type" $type
	in_ns="ip netns exec $a"
	weftd_start "beside$type" --port vb --ip 10.9.0.2/24
	weftd_stop "beside$type"
	kill9 "squat$type"
done
# Prints a count of weftd.
weftd_start one --port vb --ip 10.9.0.2/24
# shellcheck disable=SC2086 # in_ns is words
spawn two $in_ns "$WEFT_BIN/weftd" --port vb --ip 10.9.0.3/24 --name other
expect_fail two 'another weftd uses it'
weftd_stop one
export in_ns=

# ---- DPDK's directory

rm -rf "$WEFT_RUN_DIR"
install -d -o nobody "$WEFT_RUN_DIR"
before=$(stat -c %Y /tmp/dpdk 2>/dev/null)
# shellcheck disable=SC2086 # words
spawn bare env -u XDG_RUNTIME_DIR $as_nobody "$WEFT_BIN/weftd" --nics 1 --name bare
says bare '^weftd: ready'
[ "$(stat -c %Y /tmp/dpdk 2>/dev/null)" = "$before" ] || die 'DPDK keeps its socket in /tmp'
[ -n "$(find "$WEFT_RUN_DIR/dpdk" -name 'dpdk_telemetry*' 2>/dev/null)" ] || die 'there is no telemetry'
weftd_stop bare
