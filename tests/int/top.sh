#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftctl top under load: as lines of JSON, as tables, and as a screen on a terminal that is sorted
# and ended by keys; --watch of a listing. Frames that a faulty line loses show as retransmissions.

. tests/int/lib.sh
need python3

weftd_start weftd --nics 2 --loss 2
bench_start load weft0 weft1 rate --iters 4000000
wait_until 'messages flow' counter_above weft1 rd_rx_packets 1000

# Rates of the second picture on: of NICs, of the type RD, of two processes, of peers.
ctl top --json --count 2 --watch 0.5 >"$WEFT_TMP/pictures"
python3 - "$WEFT_TMP/pictures" "${pid[load.c]}" <<'PY' || die "$(head -c 3000 "$WEFT_TMP/pictures")"
import json, sys
pictures = [json.loads(line) for line in open(sys.argv[1])]
assert len(pictures) == 2 and pictures[1]["time"] > pictures[0]["time"]
for picture in pictures:
    nics = {nic["nic"]: nic for nic in picture["nics"]}
    assert set(nics) == {"weft0", "weft1"} and all(nic["link"] == "up" for nic in nics.values())
    assert nics["weft1"]["tx_bits"] > 0 and nics["weft0"]["rx_frames"] > 0, nics
    assert 0 < nics["weft0"]["busy"] < 150
    assert {row["program"] for row in picture["processes"]} == {"weft-bench"}
    assert int(sys.argv[2]) in {row["pid"] for row in picture["processes"]}
    assert all(row["type"] == "RD" and row["qps"] == 1 for row in picture["types"])
    assert {row["peer"] for row in picture["peers"]} == {"10.77.0.1", "10.77.0.2"}
assert any(nic["again"] > 0 for picture in pictures for nic in picture["nics"]), "nothing is sent again"
PY

ctl top --count 1 --filter weft1 --sort qps >"$WEFT_TMP/tables"
grep -q '^NIC .*RX bit/s' "$WEFT_TMP/tables" || die "$(cat "$WEFT_TMP/tables")"
awk '$1 == "weft0" { bad = 1 } $1 == "weft1" { good = 1 } END { exit bad || !good }' "$WEFT_TMP/tables" ||
	die 'the filter'

# A terminal of 100 columns and 30 lines: the screen, a sort by a key, the end by another.
python3 - "$WEFT_BIN/weftctl" >"$WEFT_TMP/screen" <<'PY' || die "$(cat -v "$WEFT_TMP/screen" | head -n 40)"
import fcntl, os, pty, select, struct, sys, termios, time
child, terminal = pty.fork()
if child == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "top", "--watch", "0.3"])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
seen, end = b"", time.monotonic() + 50
def until(text):
    global seen
    while text not in seen:
        assert time.monotonic() < end, "never seen: %r in %r" % (text, seen[-2000:])
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 65536)
until(b"sorted by default")
until(b"Processes")
until(b"weft-bench")
os.write(terminal, b"s")
until(b"tx_bits")
os.write(terminal, b"q")
while True:
    try:
        if not os.read(terminal, 65536):
            break
    except OSError:
        break
status = os.waitpid(child, 0)[1]
assert status == 0, status
PY

ctl list --watch 0.1 --count 3 >"$WEFT_TMP/watched"
[ "$(grep -c '^weft0 ' "$WEFT_TMP/watched")" = 3 ] || die 'list was not repeated three times'
for listing in clients users qps mrs cqs neigh peers groups stats doctor fault quota; do
	spawn watched "$WEFT_BIN/weftctl" $listing --watch 0.1 --count 2
	expect_ok watched
	[ "$(grep -c "^weftctl $listing  [0-9][0-9]:" "$WEFT_TMP/watched.out")" = 2 ] || die "$listing was not repeated"
done
tool 2 "$WEFT_BIN/weftctl" fault weft0 loss 1% --watch 1
grep -q "sets nothing.*'loss 1%'" "$err" || die "a setting is repeated: $(cat "$err")"
spawn twice "$WEFT_BIN/weftctl" capture weft0 -w - --watch 1
finish twice
[ "$status" = 2 ] || die 'capture takes --watch'

for name in load.c load.s; do
	kill -KILL "${pid[$name]}" 2>/dev/null
	finish "$name"
done
# A NIC whose weftd has ended is no picture, and a failure.
weftd_stop weftd
spawn gone "$WEFT_BIN/weftctl" top --count 1
expect_fail gone 'no NIC'
