#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Interrupt moderation from outside. weftd begins with the settings of its configuration file;
# weftctl shows, sets and counts. Settings outlive the processes that they moderate and reach every
# shard. Wrong words change nothing and are refused in one line. A user who is not root may read the
# settings but not change them.

. tests/int/lib.sh
need python3

# are: reads lines "NIC VECTOR KEY VALUE" from standard input and compares them with weftctl --json
are()
{
	ctl coalesce --json >"$WEFT_TMP/json"
	cat >"$WEFT_TMP/are"
	python3 - "$WEFT_TMP/json" "$WEFT_TMP/are" <<'PY' || die "not as set: $(cat "$WEFT_TMP/json")"
import json, sys

rows = {(r["nic"], str(r["vector"])): r for r in json.load(open(sys.argv[1]))}
for line in open(sys.argv[2]):
    nic, vector, key, value = line.split()
    got = rows[nic, vector]
    for part in key.split("."):
        got = got[part]
    assert str(got) == value, (line, got)
PY
}

# ---- from the configuration file

cat >"$WEFT_TMP/weftd.conf" <<'CONF'
nics = 2
cores = CPUS
coalesce = rx-usecs 3 rx-frames 16   # every NIC, every vector
coalesce = weft1 vector 2 adaptive on
coalesce = weft1 vector 3 target p99.9=20us tx-usecs-irq 9
CONF
cpus=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' |
	head -n 2 | paste -sd,)
sed -i "s/CPUS/$cpus/" "$WEFT_TMP/weftd.conf"
weftd_start weftd --config "$WEFT_TMP/weftd.conf"
are <<'SET'
weft0 0 rx-usecs 3
weft0 7 rx-frames 16
weft0 2 mode fixed
weft1 2 adaptive-rx True
weft1 2 rx-usecs 3
weft1 3 target.percentile 99.9
weft1 3 target.us 20.0
weft1 3 tx-usecs-irq 9
weft1 4 mode fixed
SET
ctl coalesce >"$WEFT_TMP/all"
grep -qx 'Coalesce parameters for weft0, vectors 0 to 7:' "$WEFT_TMP/all" || die "$(cat "$WEFT_TMP/all")"
grep -qx 'Coalesce parameters for weft1, vector 3:' "$WEFT_TMP/all" || die "$(cat "$WEFT_TMP/all")"
grep -qx 'Target: p99.9 within 20 us' "$WEFT_TMP/all" || die 'no target is shown'
say 'ok: from the configuration file'

# ---- set, and shown as ethtool -c shows it

ctl coalesce weft0 set rx-usecs 5 tx-frames 8 rx-frames-irq 255
ctl coalesce weft0 --vector 1 adaptive on
ctl coalesce weft0 --vector 1 rx-usecs 900 2>"$WEFT_TMP/note"
grep -q 'adaptive off' "$WEFT_TMP/note" || die 'no note that adaptive mode rules'
ctl coalesce weft0 --vector 0 >"$WEFT_TMP/show"
diff - "$WEFT_TMP/show" <<'SHOW' || die 'not as ethtool -c lays it out'
Coalesce parameters for weft0, vector 0:
Adaptive RX: off  TX: off

rx-usecs:	5
rx-frames:	16
rx-usecs-irq:	0
rx-frames-irq:	255

tx-usecs:	0
tx-frames:	8
tx-usecs-irq:	0
tx-frames-irq:	0

SHOW
are <<'SET'
weft0 1 mode adaptive
weft0 1 rx-usecs 900
weft1 0 rx-usecs 3
SET
ctl coalesce weft0 --vector 1 adaptive off
are <<<'weft0 1 now.rx-usecs 900'

# ---- processes come and go, the settings stay, their effect is counted

ctl coalesce weft0 set rx-usecs 200 rx-frames 64 tx-usecs 200 tx-frames 64
bench weft1 weft0 bw --op send --size 256 --iters 1200 --event
bench weft0 weft1 lat --op send --iters 20 --event
are <<<'weft0 0 tx-frames 64'
ctl coalesce weft0 --vector 0 --stats --json >"$WEFT_TMP/stats"
python3 - "$WEFT_TMP/stats" <<'PY' || die "$(cat "$WEFT_TMP/stats")"
import json, sys

v = json.load(open(sys.argv[1]))[0]
causes = sum(n for k, n in v.items() if k.startswith("by_"))
assert causes == v["interrupts"], (causes, v["interrupts"])
assert v["completions"] >= 1000, v["completions"]
assert v["coalesced"] > 0 and v["interrupts"] < v["completions"], v
assert v["by_rx_usecs"] + v["by_rx_frames"] + v["by_tx_usecs"] + v["by_tx_frames"] > 0, v
assert sum(v["wait"]["buckets"]) > 0 and v["wait"]["p50_us"] <= v["wait"]["p99_us"], v
PY
ctl coalesce weft0 --stats >"$WEFT_TMP/text"
grep -q '^weft0 vector 0 statistics:' "$WEFT_TMP/text" || die "$(cat "$WEFT_TMP/text")"
ctl coalesce weft0 --watch 0.05 -c 2 --json >"$WEFT_TMP/watch"
[ "$(grep -c '"interrupts"' "$WEFT_TMP/watch")" -eq 2 ] || die "$(cat "$WEFT_TMP/watch")"
counter_above weft0 moder_coalesced 0 || die 'weftctl stats has not what was coalesced'
say 'ok: settings stay and are counted'

# ---- invalid settings change nothing

ctl coalesce --json >"$WEFT_TMP/before"
# wrong STATUS TEXT WORD...: expects one line on standard error that contains TEXT
wrong()
{
	local want=$1 text=$2
	shift 2
	tool "$want" "$WEFT_BIN/weftctl" coalesce "$@"
	[ "$(wc -l <"$err")" -eq 1 ] || { cat "$err"; die "coalesce $*: not one line"; }
	grep -qF -- "$text" "$err" || { cat "$err"; die "coalesce $*: no '$text'"; }
}
wrong 2 '0 to 1023, 0 for off, not "1024"' weft0 set rx-usecs 1024
wrong 2 '0 to 255' weft0 set tx-frames-irq 256
wrong 2 '0 to 255' weft0 set rx-usecs 7 tx-frames 300
wrong 2 'usecs are 0 to 1023' weft0 set rx-usecs -5
wrong 2 'needs a value from 0 to 1023' weft0 set rx-usecs
wrong 2 'did you mean rx-usecs?' weft0 set rx-usec 5
wrong 2 'use rx-usecs, rx-frames' weft0 set frobnicate 5
wrong 2 'p50 to p99.99' weft0 target p100=20us
wrong 2 '1us to 1000us' weft0 target p99=2s
wrong 2 'on or off' weft0 adaptive maybe
wrong 2 'stands alone' weft0 set rx-usecs 5 off
wrong 2 'twice' weft0 set rx-usecs 5 rx-usecs 6
wrong 2 'nothing is set' weft0 set
wrong 2 'which NIC?' set rx-usecs 5
wrong 2 'show and set nothing' weft0 off --stats
wrong 2 'from 0 to' weft0 --vector x
wrong 1 'vectors 0 to 7: there is no vector 8' weft0 --vector 8 off
wrong 1 'no such NIC' weft9 off
ctl coalesce --json >"$WEFT_TMP/after"
cmp "$WEFT_TMP/before" "$WEFT_TMP/after" || die 'a wrong command has changed something'
for line in 'rx-usecs 1024' 'weft9 off' 'vector 8 off' 'rx-frame 5'; do
	tool 2 "$WEFT_BIN/weftd" --nics 1 --coalesce "$line"
	[ "$(wc -l <"$err")" -eq 1 ] || { cat "$err"; die "weftd --coalesce '$line': not one line"; }
done
say 'ok: wrong words'

# ---- every shard has the setting, a process may query its own shard; malformed packets

cat >"$WEFT_TMP/raw.py" <<'PY'
import socket, struct, sys

CMD, ATTACH, START, COALESCE, VECTOR, ALL = 128, 1, 58, 56, 57, 0xFFFFFFFF


def call(s, op, body):
    s.sendall(struct.pack("<IIQ", op, 1, 0) + body.ljust(CMD - 16, b"\0"))
    answer = s.recv(512)
    return struct.unpack("<i", answer[8:12])[0], answer[16:]


def attach(path, flags):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(30)
    s.connect(path)
    status = call(s, ATTACH, struct.pack("<II24s", 3, flags, b"raw"))[0]
    # A tool (flag 1) has no BAR to be started.
    if status == 0 and not flags & 1:
        status = call(s, START, b"")[0]
    return s, status


def setting(vector, mask, value, rest=b""):
    return struct.pack("<II8I4I", vector, mask, *[value] * 8, 0, 0, 0, 0) + rest


path = sys.argv[1]
shards = 0
for shard in range(8):
    s, status = attach(path, 4 | shard << 8)
    if status:
        break
    shards += 1
    status, body = call(s, COALESCE, setting(0, 0, 0))
    assert status == 0 and struct.unpack("<I", body[:4])[0] == 200, (shard, status, body[:8])
    # A setting made in any shard reaches all shards.
    assert call(s, COALESCE, setting(6, 1, 40 + shard))[0] == 0
    for other in range(shards):
        t, _ = attach(path, 4 | other << 8)
        assert struct.unpack("<I", call(t, COALESCE, setting(6, 0, 0))[1][:4])[0] == 40 + shard
        t.close()
    EINVAL = 22
    for body in (
        setting(8, 1, 5),
        setting(0, 1 << 8, 5),
        setting(0, 1, 1024),
        setting(0, 0xFF, 256),
        setting(0, 1 << 31, 0),
        setting(0, 1, 5, b"\0" * 20 + b"x"),
        struct.pack("<II8I4I", 0, 1 << 30, *[0] * 8, 3, 0, 0, 0),
        struct.pack("<II8I4I", 0, 1 << 30, *[0] * 8, 2, 4999, 20000, 0),
        struct.pack("<II8I4I", 0, 1 << 30, *[0] * 8, 2, 9900, 999, 0),
    ):
        assert call(s, COALESCE, body)[0] == EINVAL, body
    assert call(s, VECTOR, struct.pack("<IIII", 8, 0, 0, 0))[0] == EINVAL
    s.close()
assert shards == int(sys.argv[2]), shards
PY
python3 "$WEFT_TMP/raw.py" "$WEFT_RUN_DIR/weft0" "$(ctl list | awk '$1 == "weft0" { print $7 }')" || die 'shards'
are <<<'weft0 0 rx-usecs 200'
say 'ok: every shard'

# ---- permissions

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 777 "$WEFT_RUN_DIR" && chmod 666 "$WEFT_RUN_DIR/weft0"
	cp "$WEFT_BIN/weftctl" "$WEFT_RUN_DIR/ctl" && chmod 755 "$WEFT_RUN_DIR/ctl"
	if setpriv --reuid 65534 --regid 65534 --clear-groups "$WEFT_RUN_DIR/ctl" coalesce weft0 >"$WEFT_TMP/nobody" 2>&1; then
		tool 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$WEFT_RUN_DIR/ctl" coalesce weft0 off
		grep -qx 'weftctl: weft0: only root and the user that weftd runs as may set it' "$err" || die "$(cat "$err")"
		are <<<'weft0 0 rx-usecs 200'
		say 'ok: others may look and not set'
	else
		say 'not tried: nobody does not reach the folder'
	fi
	rm "$WEFT_RUN_DIR/ctl"
fi

ctl coalesce weft0 off
are <<<'weft0 5 rx-frames 0'
weftd_stop weftd
