#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the test runner: tests that pass, fail, skip, hang, crash, leak or do not exist are counted
# as such, in the last line and in the exit status. tests/run.sh, tests/ut.h.

set -u
root=$PWD
cd "$WEFT_TMP" || exit 1
# A copy, so that the logs of this run are not those of the one around it.
mkdir -p tree/tests tree/ut
cp "$root/tests/run.sh" tree/tests
printf '%s\n' '# a comment' 'int/absent_*	no such [a-z]* here' >tree/tests/skips.txt
cd tree || exit 1
wrong=0

script()
{
	printf '#!/bin/bash\n%s\n' "$2" >"$1"
	chmod +x "$1"
}
script good.sh 'exit 0'
script bad.sh 'echo the reason; exit 3'
script absent_tool.sh 'echo no such device here; exit 77'
script absent_package.sh 'echo tshark is not installed; exit 77'
script other.sh 'echo no such device here; exit 77'
script hangs.sh $'# timeout: 1\nsleep 60'
script leaves.sh 'sleep 61 & echo $! >"$WEFT_TMP/../left"; exit 0'
script clear.sh 'env | grep -E "^(MAKEFLAGS|MAKELEVEL|MFLAGS|T)=" && exit 1; exit 0'
script sees.sh '[ -d "$WEFT_TMP" ] && [ -n "$WEFT_BIN" ] && [ "$WEFT_RUN_DIR" = "$WEFT_TMP/run" ]'

unit()
{
	printf '#include "tests/ut.h"\n%s\n' "$2" >"ut/$1.c"
	gcc -g -fsanitize=address -I"$root" "ut/$1.c" -o "ut/$1" -lcunit || exit 1
}
unit sound 'static void a(void) { CU_ASSERT(1); }
static void b(void) { CU_ASSERT(1); }
UT_MAIN("sound", UT(a), UT(b))'
unit broken 'static void a(void) { CU_ASSERT(1); }
static void b(void) { CU_ASSERT_EQUAL(1, 2); }
UT_MAIN("broken", UT(a), UT(b))'
unit crashes 'static void a(void) { *(volatile int *)8 = 1; }
UT_MAIN("crashes", UT(a))'
unit leaks '#include <stdlib.h>
void *volatile p;
static void a(void) { p = malloc(7); p = NULL; CU_ASSERT(1); }
UT_MAIN("leaks", UT(a))'

unit spins 'static void a(void) { for (volatile int i = 1; i;) i = 1; }
UT_MAIN("spins", UT(a))'
unit waits '#include <unistd.h>
static void a(void) { CU_ASSERT_EQUAL(sleep(2), 0); }
UT_MAIN("waits", UT(a))'

# expect STATUS LAST-LINE TEXT [unshare] TEST...	unshare: with numbers of processes of its own
expect()
{
	local status=$1 last=$2 text=$3 run=(tests/run.sh) out rc
	shift 3
	if [ "${1:-}" = unshare ]; then
		run=(unshare --pid --fork --mount-proc tests/run.sh)
		shift
	fi
	out=$("${run[@]}" "$@" 2>&1)
	rc=$?
	if [ "$rc" -ne "$status" ] || [ "$(tail -n 1 <<<"$out")" != "$last" ] ||
		! grep -qF -- "$text" <<<"$out"; then
		echo "run.sh $*: exit status $rc, not $status, or not '$last', or no '$text':"
		echo "$out"
		wrong=1
	fi
}
expect 0 '1 passed, 0 failed, 0 skipped' 'PASS int/good.sh' ./good.sh
expect 0 '1 passed, 0 failed, 0 skipped' 'PASS int/sees.sh' ./sees.sh
expect 1 '0 passed, 1 failed, 0 skipped' 'the reason' ./bad.sh
# A test that calls make does not get the goal's T=.
printf 'all:\n\t@tests/run.sh ./clear.sh\n' >Makefile
make T=clear >"$WEFT_TMP/clear" || { cat "$WEFT_TMP/clear"; wrong=1; }
expect 0 '0 passed, 0 failed, 1 skipped' 'SKIP int/absent_tool.sh (no such device here)' ./absent_tool.sh
expect 1 '0 passed, 1 failed, 0 skipped' 'not done in 1 s' ./hangs.sh
expect 1 '0 passed, 1 failed, 0 skipped' 'not there' ./nothing.sh
expect 1 '0 passed, 1 failed, 0 skipped' 'no tests given'
expect 0 '2 passed, 0 failed, 0 skipped' 'PASS ut/sound (2 tests)' ut/sound
expect 1 '1 passed, 1 failed, 0 skipped' 'CU_ASSERT_EQUAL(1,2)' ut/broken
expect 1 '0 passed, 1 failed, 0 skipped' 'AddressSanitizer' ut/crashes
expect 1 '1 passed, 1 failed, 0 skipped' 'detected memory leaks' ut/leaks
# A skip that the list does not contain, by its reason or by its test.
expect 1 '0 passed, 1 failed, 0 skipped' "does not list the skip 'tshark is not installed'" ./absent_package.sh
expect 1 '0 passed, 1 failed, 0 skipped' 'FAIL int/other.sh' ./other.sh
expect 1 '4 passed, 2 failed, 1 skipped' 'failed: int/bad.sh ut/broken' \
	./good.sh ./bad.sh ./absent_tool.sh ut/sound ut/broken
expect 0 '1 passed, 0 failed, 0 skipped' 'PASS int/leaves.sh' ./leaves.sh
# The limit is on processor time; waiting on a busy machine does not count.
export WEFT_UNIT_TIMEOUT=1
expect 1 '0 passed, 1 failed, 0 skipped' 'not done in 1 s of processor time' ut/spins
expect 0 '1 passed, 0 failed, 0 skipped' 'PASS ut/waits' ut/waits
unset WEFT_UNIT_TIMEOUT
left=$(cat build/test-tmp/left)
# A zombie counts as dead.
if [ -z "$left" ] || grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$left/status"; then
	echo "a process that a test left behind was not killed"
	wrong=1
fi

# A TERM, also one that the whole process group gets, ends the tests under way: each removes what it
# made, and none is left.
script tidies.sh 'trap "sleep 0.5; touch \"$WEFT_TMP/../tidied\"; exit 1" TERM
sleep 62 &
echo $! >"$WEFT_TMP/../waits"
wait'
setsid tests/run.sh ./tidies.sh >"$WEFT_TMP/terminated" 2>&1 &
runner=$!
for ((i = 0; i < 600; i++)); do
	[ -s build/test-tmp/waits ] && break
	sleep 0.1
done
kill -TERM -- "-$runner"
wait "$runner"
rc=$?
if [ "$rc" -ne 130 ] || [ -s "$WEFT_TMP/terminated" ]; then
	echo "run.sh that gets a TERM: exit status $rc, not 130, or a message:"
	cat "$WEFT_TMP/terminated"
	wrong=1
fi
[ -e build/test-tmp/tidied ] || { echo 'a test had no time to remove what it made'; wrong=1; }
if grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat build/test-tmp/waits)/status"; then
	echo "a process of a test that got a TERM was not killed"
	wrong=1
fi
# The kernel gives the number of a test's process again while an earlier test of the list still runs.
script quick.sh 'awk "{ print \$4 }" /proc/$PPID/stat >"$WEFT_TMP/../quick_pid"; exit 0'
script slow.sh 'for ((i = 0; i < 2000; i++)); do
	quick=$(cat "$WEFT_TMP/../quick_pid" 2>/dev/null) && echo "$((quick - 1))" >/proc/sys/kernel/ns_last_pid
	[ -e "$WEFT_TMP/../last" ] && exit 0
	sleep 0.005
done
exit 1'
for ((i = 0; i < 12; i++)); do
	script "again$i.sh" 'sleep 0.1; exit 0'
done
script last.sh 'touch "$WEFT_TMP/../last"; exit 0'
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	JOBS=2 expect 0 '15 passed, 0 failed, 0 skipped' 'PASS int/quick.sh' unshare ./slow.sh ./quick.sh ./again*.sh ./last.sh
else
	echo 'no namespaces of processes here: a number that comes again is not tested'
fi
ut/sound b | grep -qE 'tests +1 +1 +1' || { echo 'a filter does not choose one case'; wrong=1; }
ut/sound nosuch >/dev/null 2>&1
[ $? -eq 2 ] || { echo 'a filter that matches nothing is no error'; wrong=1; }
exit "$wrong"
