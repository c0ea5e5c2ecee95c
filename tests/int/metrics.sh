#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Metrics: every counter of every wire has a row (lib/stat_rows.c), the text is valid OpenMetrics
# with the values of weftctl stats, the exporter serves it, node_exporter's file is replaced in one
# step, lists are bounded, and a NIC that does not answer is a weft_up of 0.

. tests/int/lib.sh
need python3 ip curl

veth_add a b
a=$(unique a) b=$(unique b)

in_ns="ip netns exec $b"
weftd_start ports --port vb --ip 10.9.0.10/24 --port "memif:$WEFT_RUN_DIR/memif.sock,server" --ip 10.9.1.1/24 \
	--name port --stages
export in_ns=
weftd_start switch --nics 2 --loss 1 --dup 1 --name on
bench on0 on1 lat --iters 300 --size 4096

# Every counter that a wire reports has a row, and every row says something of its own.
ctl stats --json >"$WEFT_TMP/stats.json"
ctl counters --json >"$WEFT_TMP/counters.json"
python3 - "$WEFT_TMP/stats.json" "$WEFT_TMP/counters.json" <<'PY' || die 'counters without a row'
import json, re, sys
stats, rows = (json.load(open(path)) for path in sys.argv[1:3])
assert len({row["name"] for row in rows}) == len(rows), "a name comes twice"
assert len(rows) > 400
for row in rows:
    assert row["help"] and not row["help"].endswith("."), row
    assert row["metric"].startswith("weft_"), row
def pattern(name):
    return re.escape(name).replace(r"\#", "[0-9]+").replace("#", "[0-9]+").replace(r"\*", ".+")
known = re.compile("^(" + "|".join(pattern(row["name"]) for row in rows) + ")$")
names = {name for nic in stats.values() for name in nic}
assert any(name.startswith("xsk_queue0") for name in names) and "memif_rx" in names and "fault_lost" in names
assert any(name.startswith("cycles_") for name in names)
bare = [name for name in sorted(names) if not known.match(re.sub("_used_max$", "_used", name))]
assert not bare, bare
PY

# parse FILE: checks the text as a scraper would; prints "NAME LABELS VALUE" lines
cat >"$WEFT_TMP/parse.py" <<'PY'
import re, sys
label = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
sample = re.compile(r"^([a-z_0-9]+)(?:\{(%s(?:,%s)*)\})? (-?[0-9.e+-]+)$" % (label, label))
family, kinds, seen, ended = None, {}, set(), False
for line in open(sys.argv[1]).read().splitlines():
    assert not ended, "text behind # EOF"
    if line == "# EOF":
        ended = True
    elif line.startswith("# TYPE "):
        family, kind = line.split()[2:]
        assert family not in kinds, "the family %s comes twice" % family
        kinds[family] = kind
    elif line.startswith("# "):
        assert line.split()[2] == family, line
    else:
        match = sample.match(line)
        assert match, line
        name, labels, value = match.groups()
        assert name == family + ("_total" if kinds[family] == "counter" else ""), line
        assert (name, labels) not in seen, line
        seen.add((name, labels))
        print(name, labels or "-", value)
assert ended, "no # EOF"
PY
parse()
{
	python3 "$WEFT_TMP/parse.py" "$1" || die "$1 is not OpenMetrics"
}

# value NAME LABEL...: of the one sample of that name with these labels
value()
{
	local name=$1 lines
	shift
	lines=$(awk -v name="$name" '$1 == name' "$WEFT_TMP/samples")
	for l in "$@"; do
		lines=$(grep -F -- "$l" <<<"$lines")
	done
	[ "$(wc -l <<<"$lines")" = 1 ] || die "$name $*: not one sample: $lines"
	echo "${lines##* }"
}

ip -n "$a" link set lo up
in_a="ip netns exec $a"
# shellcheck disable=SC2086 # words
spawn exporter $in_a "$WEFT_BIN/weftctl" metrics --listen 127.0.0.1:9947
listening()
{
	grep -q 'metrics at' "$WEFT_TMP/exporter.err"
}
wait_until 'the exporter listens' listening
$in_a curl -sS -D "$WEFT_TMP/head" -o "$WEFT_TMP/text" http://127.0.0.1:9947/metrics || die 'no answer'
grep -qi '^content-type: application/openmetrics-text; version=1.0.0; charset=utf-8' "$WEFT_TMP/head" ||
	die "$(cat "$WEFT_TMP/head")"
parse "$WEFT_TMP/text" >"$WEFT_TMP/samples"
[ "$(value weft_ud_tx_msgs_total 'nic="on0"')" = "$(counter on0 ud_tx_msgs)" ] || die 'UD messages differ'
[ "$(value weft_rd_rx_packets_total 'nic="on1"')" -gt 299 ] || die 'RD packets are missing'
[ "$(value weft_up 'nic="on0"')$(value weft_up 'nic="port1"')" = 11 ] || die 'a NIC is not up'
[ "$(value weft_link_up 'nic="port1"')" = 0 ] || die 'a memif without a peer has a link'
[ "$(value weft_drops_total 'nic="on0"' 'reason="ip_checksum"')" = 0 ] || die 'drops by reason'
[ "$(value weft_xsk_rx_total 'nic="port0"' 'queue="0"')" -ge 0 ] || die 'a socket by queue'
[ "$(value weft_nics)" = 4 ] || die 'not four NICs'
awk -v busy="$(value weft_core_busy_seconds_total 'nic="on0"')" 'BEGIN { exit !(busy > 0 && busy < 1000) }' ||
	die 'the core was never busy'

# Other requests are answered, and do no harm.
[ "$($in_a curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:9947/other)" = 404 ] || die 'not 404'
[ "$($in_a curl -s -o /dev/null -w '%{http_code}' -X POST http://127.0.0.1:9947/metrics)" = 405 ] || die 'not 405'
[ "$($in_a curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:9947/)" = 200 ] || die 'not 200'
head -c 20000 /dev/zero | timeout 5 $in_a curl -s -o /dev/null telnet://127.0.0.1:9947

# The list of peers and clients ends at --most.
"$WEFT_BIN/weftctl" metrics on0 --most 1 >"$WEFT_TMP/text" || die 'metrics of one NIC'
parse "$WEFT_TMP/text" >"$WEFT_TMP/samples"
[ "$(grep -c '^weft_client_objects ' "$WEFT_TMP/samples")" -le 1 ] || die 'more clients than --most'

"$WEFT_BIN/weftctl" metrics --textfile "$WEFT_TMP/weft.prom" || die 'no file'
parse "$WEFT_TMP/weft.prom" >"$WEFT_TMP/samples"
[ "$(find "$WEFT_TMP" -name 'weft.prom*' | wc -l)" = 1 ] || die 'a temporary file is left'
spawn nofile "$WEFT_BIN/weftctl" metrics --textfile "$WEFT_TMP/no/such/weft.prom"
expect_fail nofile 'cannot write'

# A weftd that is stopped is down, the others are shown, and the exporter goes on.
kill -STOP "${pid[switch]}"
$in_a curl -sS -o "$WEFT_TMP/text" http://127.0.0.1:9947/metrics || die 'no answer'
kill -CONT "${pid[switch]}"
parse "$WEFT_TMP/text" >"$WEFT_TMP/samples"
[ "$(value weft_up 'nic="on0"')$(value weft_up 'nic="port0"')" = 01 ] || die 'a stopped weftd is up'

kill -TERM "${pid[exporter]}"
expect_ok exporter
spawn nonsense "$WEFT_BIN/weftctl" metrics --listen nonsense
expect_fail nonsense 'give a numeric address and a port'
ctl counters --markdown | cmp - docs/counters.md ||
	die 'docs/counters.md is not of this tree: make counters-page'
