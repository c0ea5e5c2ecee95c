#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The exec race (exec_race.c): a process that connects many times and executes a set-uid program does not
# get at that program's memory through weftd. WEFT_EXEC_RACE_TRIES=N: N tries for each size, up to 2 GiB.
#
# timeout: 300

. tests/int/lib.sh
. tests/security/users.sh
LIMIT=${WEFT_TEST_LIMIT:-280}

cp "$(command -v sleep)" "$users_dir/setuid"
chmod 4755 "$users_dir/setuid"
findmnt -no OPTIONS -T "$users_dir" | grep -qw nosuid && skip "$users_dir is on a file system without set-uid programs"

start weftd --nics 1
if [ -n "${WEFT_EXEC_RACE_TRIES:-}" ]; then
	LIMIT=7200
	spawn race "$WEFT_INT/exec_race" "$WEFT_RUN_DIR/weft0" "${pid[weftd]}" "$users_dir/setuid" \
		"$WEFT_EXEC_RACE_TRIES" 0 1 16 64 256 512 1024 2048
else
	spawn race "$WEFT_INT/exec_race" "$WEFT_RUN_DIR/weft0" "${pid[weftd]}" "$users_dir/setuid" 6 0 16 128 512
fi
expect_ok race
cat "$WEFT_TMP/race.out"
# No object of the many connections is left.
left()
{
	[ "$(ctl clients weft0 | awk 'NR > 1 && $6 != "yes"' | wc -l)" -eq 0 ]
}
wait_until 'no client is left' left
weftd_stop weftd
