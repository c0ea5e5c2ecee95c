#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The exec race (exec_race.c): a process that connects many times and executes a set-uid program does not
# get at that program's memory through weftd. WEFT_EXEC_RACE_TRIES=N: N tries for each size, up to 2 GiB.
#
# timeout: 300

. tests/int/lib.sh
[ "$(id -u)" -eq 0 ] || skip 'not root: no set-uid program can be made'
LIMIT=${WEFT_TEST_LIMIT:-280}

# Others must reach the socket and the program, so neither lies where the tests have theirs.
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
at_exit "rm -rf '$dir'"
chmod 755 "$dir"
cp "$(command -v sleep)" "$dir/setuid"
chmod 4755 "$dir/setuid"
findmnt -no OPTIONS -T "$dir" | grep -qw nosuid && skip "$dir is on a file system without set-uid programs"

weftd_start weftd --nics 1 --run-dir "$dir/run"
chmod 755 "$dir/run"
chmod 666 "$dir/run/weft0"
if [ -n "${WEFT_EXEC_RACE_TRIES:-}" ]; then
	LIMIT=7200
	spawn race "$WEFT_INT/exec_race" "$dir/run/weft0" "${pid[weftd]}" "$dir/setuid" \
		"$WEFT_EXEC_RACE_TRIES" 0 1 16 64 256 512 1024 2048
else
	spawn race "$WEFT_INT/exec_race" "$dir/run/weft0" "${pid[weftd]}" "$dir/setuid" 6 0 16 128 512
fi
expect_ok race
cat "$WEFT_TMP/race.out"
# Nothing of the many connections is left.
left()
{
	[ "$(WEFT_RUN_DIR=$dir/run ctl clients weft0 | awk 'NR > 1 && $6 != "yes"' | wc -l)" -eq 0 ]
}
wait_until 'no client is left' left
weftd_stop weftd
