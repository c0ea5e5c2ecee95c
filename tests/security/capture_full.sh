#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A capture whose disk is full, and one whose reader stops: weftctl reports the full disk once, and
# its file ends with a whole block; frames that a stopped reader leaves are counted. Traffic goes on
# in either case, and the next capture begins.

. tests/int/lib.sh
need unshare mount python3

[ "$(id -u)" -eq 0 ] || skip 'only root can capture, and mount a small disk'
unshare -m true 2>/dev/null || skip 'no mount namespaces here'

weftd_start weftd --nics 2
mkdir "$WEFT_TMP/disk"

# The disk is there for weftctl alone, so the look at the file runs in the same namespace.
cat >"$WEFT_TMP/full.sh" <<'SH'
mount -t tmpfs -o size=1m none "$WEFT_TMP/disk" || exit 99
"$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/disk/file" --seconds 60
echo "exit status $?"
python3 - "$WEFT_TMP/disk/file" <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
at = frames = 0
while at < len(data):
    kind, size = struct.unpack_from("<II", data, at)
    assert size >= 12 and at + size <= len(data), "a block is cut at %d of %d" % (at, len(data))
    assert struct.unpack_from("<I", data, at + size - 4)[0] == size
    frames += kind == 6
    at += size
print("the file has %d frames, %d bytes" % (frames, at))
PY
SH
spawn full unshare -m sh "$WEFT_TMP/full.sh"
says full 'capturing on weft0'
bench weft1 weft0 bw --size 64K --iters 200
finish full
[ "$status" -eq 99 ] && skip 'no tmpfs here'
out_has full 'exit status 1' || die "weftctl on a full disk: $(cat "$WEFT_TMP"/full.*)"
[ "$(grep -c 'No space left on device; the capture ends here' "$WEFT_TMP/full.err")" -eq 1 ] ||
	die "weftctl does not report the full disk once: $(cat "$WEFT_TMP/full.err")"
counted=$(sed -n 's/^\([0-9]* frames, [0-9]* bytes\).*/\1/p' "$WEFT_TMP/full.err")
[ -n "$counted" ] || die "weftctl counts nothing: $(cat "$WEFT_TMP/full.err")"
out_has full "the file has $counted" || die "the file has not '$counted': $(cat "$WEFT_TMP"/full.*)"

# ---- a reader that stops

spawn stopped "$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/file" --seconds 60
says stopped 'capturing on weft0'
kill -STOP "${pid[stopped]}"
wait_until 'it has stopped' state_is stopped T
# The pipe and the ring of weftd are full after some MiB.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	bench weft1 weft0 bw --size 64K --iters 200
	[ "$(counter weft0 capture_dropped)" -gt 0 ] && break
done
counter_above weft0 capture_dropped 0 || die 'a stopped reader loses no frames'
bench weft1 weft0 lat --iters 100
# A frame that comes later says how many were lost before it.
kill -CONT "${pid[stopped]}"
later_frame()
{
	bench weft1 weft0 lat --iters 10
	[ "$(counter weft0 capture_dropped)" -eq "$dropped" ] || { dropped=$(counter weft0 capture_dropped); return 1; }
}
dropped=0
wait_until 'no frame is lost any more' later_frame
kill -INT "${pid[stopped]}"
finish stopped
grep -q ' bytes; [1-9][0-9]* frames are missing' "$WEFT_TMP/stopped.err" || die "weftctl does not count what is missing: $(cat "$WEFT_TMP/stopped.err")"
next_capture()
{
	"$WEFT_BIN/weftctl" capture weft0 -w "$WEFT_TMP/next" --seconds 0.2 2>"$WEFT_TMP/next.err"
}
wait_until 'the next capture begins' next_capture
weftd_stop weftd
