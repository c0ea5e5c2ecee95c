#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every option that a program had in v0.1.0 or v0.2.0 is still taken: scripts and configuration files of users keep
# working. An option that gets another word keeps the old one for a release.

. tests/int/lib.sh
need python3

old='
weftd --nics --subnet --port --ip --gw --netdev --mtu --loss --delay-us --reorder --dup --rate-gbps --seed --cores --shared-core --own-core --idle-us --quota --unmapped --no-cc --esp-burst --esp-initial-burst --mpa-crc --mpa-markers --mpa-revision --mpa-rtr --coalesce --stages --port-echo --run-dir --name --user --seccomp --config --log --verbose --help --version
weft-sim --seed --random --workload --nics --shards --duration-ms --drain-ms --mtu --gbps --latency-ns --queue-kib --rx-frames --tx-frames --poll-ns --budget --host-busy --split --cc-off --wrap-soon --tx-room --unmapped --faults --trace --pcap --soak --seconds --cpu-seconds --jobs --runs --failures --hang-seconds --json --record --help
goal-bench --ranks --nics --seconds --iters --threads --alone --heap --run-dir --help --version -h
goal-dump --trace -o --help --version -h
goal-run --model --sim --json --repeat --warmup --timeout --eager --coll --ranks --bytes --root --device --link --seed --loss --faults --mtu --ranks-per-nic --help --version -h
weft-bench --qp --op --size --iters --duration --warmup --window --sge --mpa --mem --no-inline --event --device --device2 --run-dir --server --connect --port --timeout --json --send --recv --clients --pid --qps --peers --peer-ip --netdev --part --recvs --help --version
weft-irqs --pid --comm --all --waker --iface --seconds --interval --json --csv --raw --output --verbose --help --version -p -a -I -o -v -h
weft-measure --port --bind -p -b --help
weft-tune --sim --device --netdev --peer --objective --method --budget --seed --repeats --samples --params --also --grid --start --paper --out --resume --json --quiet --dry-run --help --version -h
weftctl --json --nonzero --per-shard -w -c --seconds --vector --stats --watch --run-dir --help --version -h
weft-run --device --transport --llp --sockets --run-dir --help
'

refused()
{
	grep -qE 'there is no option|unknown option' "$err"
}

tried=0
while read -r program words; do
	[ -n "$program" ] || continue
	bin=$WEFT_BIN
	[ -x "$bin/$program" ] || bin=$PWD/build/bin # scripts, and what needs no sanitizers
	[ -x "$bin/$program" ] || { say "$program is not built"; continue; }
	for word in $words; do
		# Help ends the program before anything begins; a wrong word before it is reported first. An option that takes
		# a value takes "--help" for it: the second one ends the program, or the value is refused by its name.
		"$bin/$program" "$word" --help --help >"$out" 2>"$err" </dev/null
		refused && die "$program $word: $(head -n 1 "$err")"
		tried=$((tried + 1))
	done
	"$bin/$program" --nonsense --help >"$out" 2>"$err" </dev/null
	refused || die "$program: this test does not know how it refuses an option: $(head -n 1 "$err")"
done <<<"$old"
say "ok: $tried options"
