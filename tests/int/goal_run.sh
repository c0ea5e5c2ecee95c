#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# goal-run: schedules on the NICs of a weftd and in the simulator: every byte, times, time-outs,
# messages without a partner, wildcards, collectives; wrong options.

. tests/int/lib.sh
need python3

golden=tests/golden/goal
run=$WEFT_BIN/goal-run

# schedule NAME [RANKS]: standard input is the ranks of a file, two without a number
schedule()
{
	{ printf 'num_ranks %d\n' "${2:-2}"; cat; } >"$WEFT_TMP/$1.goal"
}

schedule wild <<'G'
rank 0 {
l1: recv 100b from -1 tag 3
l2: recv 20000b from -1 tag -1
l3: recv 0b from 1 tag -1
l4: send 3b to 1 tag 1
l4 requires l1
l4 requires l2
}
rank 1 {
l1: send 8000b to 0 tag 4
l2: send 10b to 0 tag 3
l3: send 0b to 0 tag 9
l4: calc 70000
l5: recv 5b from 0 tag 1
l5 requires l4
}
G
schedule large <<'G'
rank 0 {
l1: send 300000b to 1 tag 1
l2: send 1b to 1 tag 1
l3: send 0b to 0 tag 5
l4: recv 0b from 0 tag 5
l2 irequires l1
}
rank 1 {
l1: calc 50000 cpu 3
l2: recv 300000b from 0 tag 1 cpu 2 nic 1
l3: recv 1b from 0 tag 1
l2 requires l1
}
G
schedule missing <<'G'
rank 0 {
l1: recv 10b from 1 tag 3
}
rank 1 {
l1: send 4b to 0 tag 4
}
G
schedule long <<'G'
rank 0 {
l1: recv 10b from 1 tag 3
}
rank 1 {
l1: send 40b to 0 tag 3
}
G
schedule surplus <<'G'
rank 0 {
l1: calc 1
}
rank 1 {
l1: send 40b to 0 tag 3
}
G
schedule cyclic <<'G'
rank 0 {
l1: calc 1
l2: calc 1
l1 requires l2
l2 requires l1
}
rank 1 {
}
G
schedule anytag <<'G'
rank 0 {
l1: recv 1b from 1
}
rank 1 {
l1: send 1b to 0 tag -1
}
G

# Two messages of one tag are received in another order than sent: numbers pair them, and no run
# blocks.
schedule order <<'G'
rank 0 {
l1: send 100b to 1 tag 1
l2: send 200b to 1 tag 1
l3: recv 4b from 1 tag 2
l1 requires l3
}
rank 1 {
l1: recv 100b from 0 tag 1
l2: recv 200b from 0 tag 1
l3: send 4b to 0 tag 2
l3 requires l2
}
G
# Large messages, each to be received before the one that is sent first: a deadlock.
schedule crossed <<'G'
rank 0 {
l1: send 2000000b to 1 tag 1
l2: send 2000000b to 1 tag 2
l2 requires l1
}
rank 1 {
l1: recv 2000000b from 0 tag 2
l2: recv 2000000b from 0 tag 1
l2 requires l1
}
G
# A gather whose root waits for twelve ranks that compute for a minute; and many waits of one rank.
{
	echo 'rank 0 {'
	for ((i = 1; i <= 12; i++)); do echo "l$i: recv 10b from $i tag 3"; done
	echo '}'
	for ((i = 1; i <= 12; i++)); do
		printf 'rank %d {\nl1: calc 60000000000\nl2: send 10b to 0 tag 3\nl2 requires l1\n}\n' $i
	done
} | schedule gather 13
{
	echo 'rank 0 {'
	for ((i = 1; i <= 300; i++)); do echo "l$i: recv 10b from 1 tag $i"; done
	printf '}\nrank 1 {\nl0: calc 60000000000\n'
	for ((i = 1; i <= 300; i++)); do printf 'l%d: send 10b to 0 tag %d\nl%d requires l0\n' $i $i $i; done
	echo '}'
} | schedule many
schedule huge <<'G'
rank 0 {
l1: send 300000000000b to 1
}
rank 1 {
l1: recv 300000000000b from 0
}
G

# Runs each schedule with the given options: on NICs or simulated.
everything()
{
	local f
	for f in wild large order; do
		tool 0 "$run" "$@" --repeat 3 "$WEFT_TMP/$f.goal"
		[ "$(grep -c '^rank [01] [0-9]*$' "$out")" -eq 2 ] || die "$f: not two ranks"
		[ "$(tail -n 1 "$out")" = "finish_ns $(awk '/^rank/ { print $3 }' "$out" | sort -n | tail -n 1)" ] ||
			die "$f: last line $(tail -n 1 "$out")"
	done
	tool 1 "$run" "$@" --timeout 200 "$WEFT_TMP/missing.goal"
	grep -q 'exceeded its time limit' "$err" || die 'missing: no time-out'
	grep -q 'rank 0, line 3: recv of 10 bytes from 1, tag 3' "$err" || die 'missing: which receive?'
	grep -q '^  rank 0 waits for line 3: recv of 10, from 1, tag 3' "$err" || die 'missing: who waits?'
	tool 1 "$run" "$@" --timeout 200 "$WEFT_TMP/crossed.goal"
	grep -q '^  rank 0 waits for line 3: send of 2000000, to 1, tag 1$' "$err" || die 'crossed: who waits to send?'
	grep -q '^  rank 1 waits for line 8: recv of 2000000, from 0, tag 2$' "$err" || die 'crossed: who waits to receive?'
	! grep -q 'schedules stop' "$err" || die 'crossed: each has its partner'
	tool 1 "$run" "$@" --timeout 200 "$WEFT_TMP/gather.goal"
	grep -q '^  rank 0 waits for line 3: recv of 10, from 1, tag 3; .*; line 12: .*, from 10, tag 3; and 2 more$' "$err" ||
		die 'gather: the root does not list ten ranks and count the others'
	[ "$(grep -c '^  rank [0-9]* waits for' "$err")" -eq 10 ] || die 'gather: not ten ranks'
	grep -q '^  and 3 more ranks wait$' "$err" || die 'gather: the other ranks are not counted'
	tool 1 "$run" "$@" --timeout 200 "$WEFT_TMP/many.goal"
	grep -q '^  rank 0 waits for .*; and more than 246 more$' "$err" || die 'many: the count has no bound'
	tool 1 "$run" "$@" "$WEFT_TMP/huge.goal"
	grep -q 'need 600.0 GB of buffers' "$err" || die 'huge: not refused'
	tool 1 "$run" "$@" "$WEFT_TMP/long.goal"
	grep -q 'rank 0, line 3: recv of 10, .*longer than its receive.*: [0-9]* bytes, 10 of room' "$err" || die 'long: not named'
	tool 1 "$run" "$@" "$WEFT_TMP/surplus.goal"
	grep -q 'rank 1, line 6: send of 40 bytes to 0' "$err" || die 'surplus: not named'
	tool 1 "$run" "$@" "$WEFT_TMP/cyclic.goal"
	grep -q 'cyclic.goal:[0-9]*:' "$err" || die 'cyclic: no line'
	tool 1 "$run" "$@" "$WEFT_TMP/anytag.goal"
	grep -q 'line 6: a send to any tag' "$err" || die 'a send to any tag is not refused'
	for f in barrier bcast=binomial bcast=chain allreduce=ring; do
		size=$([ $f = barrier ] && echo 0 || echo 40000)
		tool 0 "$run" "$@" --json --repeat 2 --coll $f --ranks 5 --bytes "$size"
		python3 - "$out" <<'PY' || die "$f: --json"
import json, sys
j = json.load(open(sys.argv[1]))
assert len(j["rank_finish_ns"]) == j["ranks"] == 5 and len(j["run_finish_ns"]) == 2, j
assert j["finish_ns"] == min(j["run_finish_ns"]), j
PY
	done
}

everything --sim
everything --sim --link 2500,1500,1000,6,0,65535
everything --sim --loss 2 --seed 7 --mtu 9000 --ranks-per-nic 3
# The same runs in virtual time.
tool 0 "$run" --sim --link 2500,-,1000,6,-,65535 "$WEFT_TMP/large.goal"
cp "$out" "$WEFT_TMP/first"
tool 0 "$run" --sim --link 2500,-,1000,6,-,65535 "$WEFT_TMP/large.goal"
cmp "$out" "$WEFT_TMP/first" || die 'two runs of one seed differ'

# LogGOPS times computed by hand, with a core that costs nothing: one message takes L and its bytes.
schedule one <<'G'
rank 0 {
l1: send 1b to 1
}
rank 1 {
l1: recv 1b from 0
l2: calc 5000
l2 requires l1
}
G
tool 0 "$run" --sim --link 10000,0,0,0,0,1000 "$WEFT_TMP/one.goal"
grep -q '^rank 1 150[0-9][0-9]$' "$out" || { cat "$out"; die 'L of 10000 and a calc of 5000 are not 15000'; }

for f in "$golden"/*.goal; do
	case $f in *no_partner*|*any*) continue ;; esac
	tool 0 "$run" --model 0,0,0,0,0,1000000 "$f" || continue
	tool 0 "$run" --sim "$f"
done

tool 2 "$run" --seed 3 "$WEFT_TMP/one.goal"
grep -q -- '--seed is the simulator' "$err" || die "the option is not named: $(cat "$err")"
tool 2 "$run" --sim --seed 9223372036854775808 "$WEFT_TMP/one.goal"
tool 2 "$run" --sim --device weft0 "$WEFT_TMP/one.goal"
tool 2 "$run" --sim --model 1,1,1,1,1,1 "$WEFT_TMP/one.goal"
tool 2 "$run" --sim --link 1,1,1,1,1 "$WEFT_TMP/one.goal"
tool 2 "$run" --sim --link -,1,1,1,1,1 "$WEFT_TMP/one.goal"
tool 2 "$run" --coll barrier
tool 2 "$run" --coll barrier --ranks 2 "$WEFT_TMP/one.goal"
tool 2 "$run" --coll gossip --ranks 2
tool 2 "$run" --coll bcast=ring --ranks 2
tool 2 "$run" --ranks 2 "$WEFT_TMP/one.goal"
tool 2 "$run" --repeat 0 "$WEFT_TMP/one.goal"
tool 1 "$run" --sim --faults nonsense "$WEFT_TMP/one.goal"
tool 1 "$run" --sim --coll barrier --ranks 5000

weftd_start weftd --nics 3 --loss 1 --reorder 1
everything
everything --device weft1,weft0 --eager 1000
WEFT_DEVICE=weft2 everything
tool 0 "$run" --coll barrier --ranks 64 --repeat 3
tool 1 "$run" --device weft7 "$WEFT_TMP/one.goal"
grep -q 'weft7' "$err" || die 'which NIC is not there?'
for i in 0 1 2; do expect_objects weft$i '0 0 0 0'; done
weftd_stop weftd
