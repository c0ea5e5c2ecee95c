#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's Prometheus scrapes a weftd under load and with faults: each alert of dist/prometheus fires
# and clears, the dashboard's queries are answered, and a scrape costs the core little. The rules run with shorter times: 15 s in place of 1 and 5 minutes, 2 s in place
# of 30 s and more; promtool tests them as they are.
#
# timeout: 600

. tests/int/lib.sh
LIMIT=90
need prometheus promtool python3 ip curl

promtool check rules dist/prometheus/weft-rules.yml || die 'wrong rules'
(cd dist/prometheus && promtool test rules weft-rules-test.yml) || die 'rules that do not do what they say'

veth_add p q
p=$(unique p) q=$(unique q)
ip -n "$p" addr add 10.9.0.1/24 dev vp
in_p="ip netns exec $p"

sed -E 's/\[(1|5)m\]/[15s]/g; s/for: .*/for: 2s/' dist/prometheus/weft-rules.yml >"$WEFT_TMP/rules.yml"
cat >"$WEFT_TMP/prometheus.yml" <<CONF
# A weftd that is stopped is given up after 2 s.
global: {scrape_interval: 3s, scrape_timeout: 3s, evaluation_interval: 1s}
rule_files: [$WEFT_TMP/rules.yml]
scrape_configs:
  - job_name: weft
    static_configs: [{targets: ['127.0.0.1:9947']}]
CONF

in_ns="ip netns exec $q"
weftd_start wire --port vq --ip 10.9.0.10/24 --name wire
export in_ns=
# Slow, so that collectives take seconds.
weftd_start switch --nics 2 --loss 10 --rate-gbps 0.05 --name on
# shellcheck disable=SC2086 # words
spawn exporter $in_p "$WEFT_BIN/weftctl" metrics --listen 127.0.0.1:9947
# shellcheck disable=SC2086 # words
spawn prometheus $in_p prometheus --config.file="$WEFT_TMP/prometheus.yml" --storage.tsdb.path="$WEFT_TMP/data" \
	--web.listen-address=127.0.0.1:9090 --log.level=warn

# query EXPRESSION: its values, one per line; fails if Prometheus refuses it
query()
{
	$in_p curl -sS --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query >"$WEFT_TMP/answer" || return 1
	python3 - "$WEFT_TMP/answer" <<'PY'
import json, sys
answer = json.load(open(sys.argv[1]))
if answer["status"] != "success":
    sys.exit(answer.get("error", "refused"))
for item in answer["data"]["result"]:
    print(item["value"][1])
PY
}
has_value()
{
	[ -n "$(query "$1" 2>/dev/null)" ]
}
firing()
{
	has_value "ALERTS{alertname=\"$1\",alertstate=\"firing\"}"
}
silent()
{
	! firing "$1"
}
fired=()
fires()
{
	wait_until "$1 fires" firing "$1"
	say "$1 fires"
	fired+=("$1")
}
clears()
{
	wait_until "$1 clears" silent "$1"
	say "$1 clears"
}

wait_until 'the NICs are up' has_value 'sum(weft_up) == 3'
silent WeftNicDown || die 'an alert without a fault'

bench_start load on0 on1 rate --iters 400000
fires WeftRetransmissions

# Each panel of the dashboard has values of the load, or at least a right question.
python3 - >"$WEFT_TMP/queries" <<'PY'
import json
for panel in json.load(open("dist/grafana/weft.json"))["panels"]:
    for target in panel["targets"]:
        print(target["expr"].replace("$__rate_interval", "15s").replace("$instance", ".*").replace("$nic", ".*"))
PY
[ "$(wc -l <"$WEFT_TMP/queries")" -gt 15 ] || die 'too few panels'
while read -r expression; do
	query "$expression" >"$WEFT_TMP/values" || die "the dashboard asks wrongly: $expression"
done <"$WEFT_TMP/queries"
wait_until 'bytes flow' has_value 'sum(nic:weft_rx_bytes:rate1m{nic="on1"}) > 1000'
wait_until 'the core is busy' has_value 'max(nic_shard:weft_core_busy:ratio1m) > 0.01'
for name in load.c load.s; do
	kill -KILL "${pid[$name]}" 2>/dev/null
	finish "$name"
done
clears WeftRetransmissions

ip -n "$q" link set vq down
fires WeftLinkDown
ip -n "$q" link set vq up
clears WeftLinkDown

kill -STOP "${pid[switch]}"
fires WeftNicDown
kill -CONT "${pid[switch]}"
clears WeftNicDown

# Datagrams to the NIC's port with a wrong CRC32C: drops, and damaged packets.
cat >"$WEFT_TMP/flood.py" <<'PY'
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.9.0.1", 47810))
while True:
    for i in range(100):
        s.sendto(b"\x20" + bytes(63), ("10.9.0.10", 47810))
    time.sleep(0.05)
PY
# shellcheck disable=SC2086 # words
spawn flood $in_p python3 "$WEFT_TMP/flood.py"
fires WeftBadChecksums
fires WeftDrops
kill -KILL "${pid[flood]}"
finish flood
clears WeftBadChecksums
clears WeftDrops

# A rank that ends in its collective fails the runs of the others.
peers=$(ctl list --json | python3 -c '
import json, sys
print(",".join(nic["mac"] for nic in json.load(sys.stdin) if nic["nic"].startswith("on")))')
for i in 0 1; do
	spawn "rank.$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_DEVICE="on$i" "$WEFT_INT/goal_stop"
done
stopped()
{
	state_is rank.0 T && state_is rank.1 T
}
wait_until 'both ranks wait' stopped
kill -KILL "${pid[rank.0]}"
finish rank.0
fires WeftGoalRunsFail
kill -KILL "${pid[rank.1]}"
finish rank.1
clears WeftGoalRunsFail

# A program that does not poll its completion queue, which is too small.
tool 0 "$WEFT_INT/cq_small" on0
fires WeftCqOverrun
clears WeftCqOverrun

# A core whose work does not end: a poller of its own that never yields, and more requests of several programs than it
# carries out while they wait for the other CPU.
weftd_start busy --nics 2 --name busy --cores "$(cores_list 1)" --own-core
for i in 1 2 3; do
	bench_start "busy$i" busy0 busy1 bw --op write --size 4M --window 16 --duration 600
done
fires WeftCoreBusy
for i in 1 2 3; do
	for name in busy$i.c busy$i.s; do
		kill -KILL "${pid[$name]}" 2>/dev/null
		finish "$name"
	done
done
clears WeftCoreBusy
weftd_stop busy

# Every alert was seen.
sed -n 's/^ *- alert: //p' dist/prometheus/weft-rules.yml | sort >"$WEFT_TMP/alerts"
printf '%s\n' "${fired[@]}" | sort | diff - "$WEFT_TMP/alerts" || die 'an alert was not seen, or seen twice'

# A scrape costs the core of an idle weftd, as it is installed, less than 0.1 % of its time with one a second. The
# least of some rounds: busy time has what other threads of the machine took from a turn.
WEFT_BIN=$PWD/build/bin
weftd_start cost --nics 1 --name cost
# shellcheck disable=SC2086 # words
spawn scraped $in_p "$WEFT_BIN/weftctl" metrics --listen 127.0.0.1:9948 cost0
scrapes()
{
	$in_p curl -sS -o /dev/null 'http://127.0.0.1:9948/metrics?[1-20]'
}
wait_until 'the second exporter serves' scrapes
least_us=1000000
for _ in 1 2 3 4 5 6 7 8 9 10; do
	before=$(counter cost0 core_busy_ns)
	scrapes || die 'no answer to a scrape'
	us=$((($(counter cost0 core_busy_ns) - before) / 20000))
	[ "$us" -ge "$least_us" ] || least_us=$us
done
say "a scrape takes the core $least_us us: $(awk -v us="$least_us" 'BEGIN { printf "%.4f", us / 1e4 }') % of it with one a second"
[ "$least_us" -lt 1000 ] || die 'a scrape a second takes more than 0.1 % of a core'
kill -TERM "${pid[scraped]}"
expect_ok scraped
weftd_stop cost
kill -TERM "${pid[exporter]}"
expect_ok exporter
kill -TERM "${pid[prometheus]}"
finish prometheus
