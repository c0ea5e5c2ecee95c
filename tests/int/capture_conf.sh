#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Captures that the configuration asks for: from the start on, begun, moved and ended by weftctl reload; a file that is
# full; one that cannot be used; a NIC that another capture has; a NIC that goes. Every file has whole frames.

. tests/int/lib.sh
need tshark

conf=$WEFT_TMP/weftd.conf
first='nics = 2
mtu = 1500
spare-nics = 1'

# config LINE...: the configuration, and these lines
config()
{
	printf '%s\n' "$first" "$@" >"$conf"
}

# reload STATUS LINE...: weftctl reload ends with that status and prints these lines and no others
reload()
{
	tool "$1" "$WEFT_BIN/weftctl" reload
	shift
	[ "$(cat "$out")" = "$(printf '%s\n' "$@")" ] || die "reload says: $(cat "$out")"
}

# frames FILE: their number; every one must be whole and well-formed
frames()
{
	local bad
	bad=$(tshark -r "$1" -X lua_script:tools/wireshark/weft.lua -Y '_ws.malformed' 2>"$WEFT_TMP/tshark.err" | head -n 3)
	[ -z "$bad" ] || die "$1: malformed: $bad"
	grep -q 'cut short' "$WEFT_TMP/tshark.err" && die "$1: $(cat "$WEFT_TMP/tshark.err")"
	tshark -r "$1" 2>/dev/null | wc -l
}

traffic()
{
	bench weft1 weft0 lat --size 1000 --iters 200
}

one=$WEFT_TMP/one.pcapng two=$WEFT_TMP/two.pcapng
touch "$one" && chmod 644 "$one"
config "capture = weft0 $one"
weftd_start weftd --config "$conf"
says weftd "weft0: capture into $one"
[ "$(stat -c %a "$one")" = 600 ] || die "others may read the file: $(stat -c %a "$one")"
traffic
reload 0 'nothing differs from the configuration'

# ---- moved to another file, with a second NIC

config "capture = weft0 $two 10M" "capture = weft1 $WEFT_TMP/weft1.pcapng"
reload 0 "weft0: capture into $two" "weft1: capture into $WEFT_TMP/weft1.pcapng"
num=$(frames "$one")
[ "$num" -gt 400 ] || die "$num frames of more than 400"
traffic
[ "$(frames "$one")" -eq "$num" ] || die 'the first file grows'

# ---- ended; whoever asks next has the NIC

config "capture = weft1 $WEFT_TMP/weft1.pcapng"
reload 0 'weft0: no capture'
[ "$(frames "$two")" -gt 400 ] || die 'the second file lacks frames'
spawn tool "$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/tool.pcapng" --seconds 60
wait_until 'weftctl captures' test -s "$WEFT_TMP/tool.pcapng"
config "capture = weft0 $two"
reload 1 "weft0: capture: $two waits: another capture of this NIC runs" 'weft1: no capture'
kill -INT "${pid[tool]}"
finish tool
taken()
{
	"$WEFT_BIN/weftctl" reload >"$out" && grep -qx "weft0: capture into $two" "$out"
}
wait_until 'the line is taken once the NIC is free' taken

# ---- full: whole frames, no further one, and weftd goes on

config "capture = weft0 $two 64K"
reload 0 "weft0: capture into $two"
traffic
says weftd 'weft0: the capture has its 65536 bytes and ends'
traffic
[ "$(stat -c %s "$two")" -le 65536 ] || die "the file has $(stat -c %s "$two") bytes"
[ "$(frames "$two")" -gt 20 ] || die 'the full file lacks frames'
reload 0 'nothing differs from the configuration'

# ---- files that are refused, lines that are wrong

ln -s "$one" "$WEFT_TMP/link"
mkfifo "$WEFT_TMP/fifo"
config "capture = weft0 $WEFT_TMP/link" "capture = weft1 $WEFT_TMP/fifo"
reload 1 "weft0: capture: $WEFT_TMP/link is a symbolic link" "weft1: capture: $WEFT_TMP/fifo No such device or address"
[ "$(frames "$one")" -eq "$num" ] || die 'the file behind the link was changed'
for line in 'weft9 /tmp/x' 'weft0 x.pcapng' 'weft0' 'weft0 /tmp/x 1K' 'weft0 /tmp/x 10X' 'weft0 /tmp/x 1M more'; do
	config "capture = $line"
	tool 1 "$WEFT_BIN/weftctl" reload
	grep -q 'capture .*nothing was changed' "$out" || die "'$line': $(cat "$out")"
done
config "capture = weft0 $one" "capture = weft1 $one"
tool 1 "$WEFT_BIN/weftctl" reload
grep -q 'another NIC has this file.*nothing was changed' "$out" || die "$(cat "$out")"

# ---- a NIC that goes, and comes back

config "capture = weft1 $one"
reload 0 "weft1: capture into $one"
ctl nic remove weft1 >/dev/null
[ "$(frames "$one")" -ge 0 ] || die 'the file of a NIC that went'
ctl nic add ip 10.77.0.2/24 >/dev/null
reload 0 "weft1: capture into $one"
bench weft1 weft0 lat --size 1000 --iters 200
weftd_stop weftd
[ "$(frames "$one")" -gt 400 ] || die 'the file of the NIC that came back lacks frames'
