#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# goal_every.c calls every function of goal.h and goal_coll.h on four ranks, each on its own NIC: as
# C11, and as C++ by g++ with the installed headers and shared library.

# shellcheck disable=SC2154 # lib.sh has out, pid and status
. tests/int/lib.sh
need g++

# goal_every.c really calls every function that the headers declare, goal_with.c those for libraries,
# goal_blocks.c those with blocks of different sizes, goal_user.c those of operations of users.
missing=$(grep -ohE '\bGOAL_[A-Z][a-z][A-Za-z]*\(' <(grep -hE -A 1 '^GOAL_API' host_driver/goal/goal.h host_driver/goal/goal_coll.h) |
	sort -u | while read -r f; do
	grep -qF -- "$f" tests/int/goal_{every,with,blocks,user}.c || echo "$f"
done)
[ -z "$missing" ] || die "not called by goal_every.c, goal_with.c, goal_blocks.c or goal_user.c: $missing"

mkdir "$WEFT_TMP/include"
cp host_driver/goal/goal.h "$WEFT_TMP/include"
sed 's|"host_driver/goal/goal.h"|"goal.h"|' host_driver/goal/goal_coll.h >"$WEFT_TMP/include/goal_coll.h"
lib=$(cd "$WEFT_BIN/../lib" && pwd)
g++ -x c++ -std=c++11 -O1 -Wall -Wextra -Werror -DGOAL_INSTALLED -fsanitize=address,undefined -iquote . -I "$WEFT_TMP/include" \
	tests/int/goal_every.c -o "$WEFT_TMP/goal_every_cpp" -L "$lib" -Wl,-rpath,"$lib" -lgoal -lweft -pthread ||
	die 'g++ does not take it'
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -DGOAL_INSTALLED -iquote . -I "$WEFT_TMP/include" -fsyntax-only tests/int/goal_every.c ||
	die 'gcc does not take it with the installed headers'

weftd_start weftd --nics 4
# Each names its shard: the NIC would choose one by load.
peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1\/0/p' | paste -sd,)
for program in "$WEFT_INT/goal_every" "$WEFT_TMP/goal_every_cpp"; do
	name=${program##*/}
	mkdir "$WEFT_TMP/$name.files"
	for i in 0 1 2 3; do
		spawn "$name.$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB="$name" WEFT_DEVICE=weft$i \
			"$program" "$WEFT_TMP/$name.files"
	done
	expect_ok "$name.0" "$name.1" "$name.2" "$name.3"
	for i in 0 1 2 3; do
		out_has "$name.$i" "^rank $i: all right" || die "$name.$i did not come to its end"
		expect_objects weft$i '0 0 0 0'
		"$WEFT_BIN/goal-dump" --trace "$WEFT_TMP/$name.files/trace.$i" >"$WEFT_TMP/points" || die 'goal-dump fails'
		tool 0 "$WEFT_BIN/goal-dump" --dot "$WEFT_TMP/$name.files/saved.$i"
		grep -q '0: send to ' "$out" || die 'no send in the graph of a saved schedule'
	done
	tool 0 "$WEFT_BIN/goal-dump" --timeline "$WEFT_TMP/$name.files"/trace.*
	[ "$(grep -o "class='m'" "$out" | wc -l)" -ge 4 ] || die 'the timeline of four ranks has no messages'
done
for i in 0 1 2 3; do
	spawn "blocks.$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB=blocks WEFT_DEVICE=weft$i "$WEFT_INT/goal_blocks"
done
expect_ok blocks.0 blocks.1 blocks.2 blocks.3
out_has blocks.3 '^rank 3: all right' || die 'goal_blocks did not come to its end'
weftd_stop weftd
