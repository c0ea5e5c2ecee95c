#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd goes on with another firmware under streams of three transports, whose bytes are checked, and
# executes the new code. Images that do not fit, or that others could have written, are refused before
# anything changes.

. tests/int/lib.sh
need python3

image=${WEFT_BIN%/bin}/lib/weft/firmware.so

# edited FILE WHAT: a copy of the image whose version is 9.9.9, or whose layout is another
edited()
{
	python3 - "$image" "$1" "$2" <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.find(struct.pack("<II", 0x57465431, 1))
assert at > 0 and data.find(struct.pack("<II", 0x57465431, 1), at + 1) < 0
if sys.argv[3] == "layout":
    data[at + 8] ^= 1
else:
    data[at + 16 : at + 24] = b"9.9.9".ljust(8, b"\0")
open(sys.argv[2], "wb").write(data)
PY
}

# executed: KiB of the loader's memory that weftd has touched
executed()
{
	awk '/weftd-loader/ { in_it = 1; next } /^[0-9a-f]+-/ { in_it = 0 }
		in_it && /^Rss:/ { sum += $2 } END { print sum + 0 }' "/proc/${pid[weftd]}/smaps"
}

# refused FILE WHY
refused()
{
	tool 1 "$WEFT_BIN/weftctl" upgrade --firmware "$1"
	grep -q "goes on as before: $2" "$err" || die "no '$2' in: $(cat "$err")"
}

# The kernel maps 64 KiB around each place that is read; the description of an image is one or two.
READ_KIB=128
runs_it()
{
	[ "$(executed)" -gt "$READ_KIB" ]
}

edited "$WEFT_TMP/new.so" version
edited "$WEFT_TMP/other.so" layout
printf 'no image\n' >"$WEFT_TMP/text.so"
head -c 200000 "$image" >"$WEFT_TMP/cut.so"
cp "$image" "$WEFT_TMP/open.so" && chmod 666 "$WEFT_TMP/open.so"

weftd_start weftd --nics 2
finding()
{
	ctl doctor --firmware "$1" >"$WEFT_TMP/findings"
	grep -A1 "weft0: .*firmware" "$WEFT_TMP/findings" | tr '\n' ' ' | tr -s ' ' >"$WEFT_TMP/finding"
	grep -q "$2" "$WEFT_TMP/finding" || die "doctor does not say '$2': $(cat "$WEFT_TMP/finding")"
	[ "$(grep -c 'weft[01]: .*firmware' "$WEFT_TMP/findings")" = 1 ] || die 'doctor asks a weftd more than once'
}
finding "$image" '^ok weft0: firmware [0-9.]* runs, as it is installed'
finding "$WEFT_TMP/new.so" '^note weft0: firmware .* runs, and 9.9.9 is installed do: weftctl upgrade'
finding "$WEFT_TMP/other.so" 'cannot go on with the firmware that is installed: its state has another layout'
bench_start rd weft1 weft0 bw --size 100K --event --duration 2
bench_start tcp weft1 weft0 rate --qp rc-tcp --duration 2
bench_start esp weft1 weft0 lat --qp rc-esp --event --duration 2
in_traffic weft1
refused "$WEFT_TMP/other.so" 'its state has another layout'
refused "$WEFT_TMP/text.so" 'it is no firmware image'
refused "$WEFT_TMP/cut.so" 'it is'
refused "$WEFT_TMP/open.so" 'others than its owner can write it'
tool 1 "$WEFT_BIN/weftctl" upgrade --firmware "$WEFT_TMP/absent"
! runs_it || die "a refused firmware is executed: $(executed) KiB"
tool 0 "$WEFT_BIN/weftctl" upgrade --check --firmware "$WEFT_TMP/new.so"
tool 0 "$WEFT_BIN/weftctl" upgrade --firmware "$WEFT_TMP/new.so"
wait_until 'the new firmware runs' runs_it
tool 0 "$WEFT_BIN/weftctl" upgrade --json
grep -q '"from": "9.9.9"' "$out" || die "not from 9.9.9: $(cat "$out")"
expect_ok rd.c rd.s tcp.c tcp.s esp.c esp.s

# Without the loader weftd goes on and says why it cannot be upgraded.
kill -KILL "$(pgrep -P "${pid[weftd]}" weftd-loader)"
tool 1 "$WEFT_BIN/weftctl" upgrade
grep -q 'has ended' "$err" || die "no reason: $(cat "$err")"
bench weft0 weft1 lat --iters 100
weftd_stop weftd

# The build without sanitizers, which has other libraries.
WEFT_BIN=$PWD/build/bin
weftd_start plain --nics 2
tool 0 "$WEFT_BIN/weftctl" upgrade
weftd_stop plain
