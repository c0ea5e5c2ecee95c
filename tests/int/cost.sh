#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The instructions of a message do not grow: six paths of tools/bench/cost.py beside the tables of
# docs/cost.md. The counts come from callgrind, of the program without sanitizers; no clock is read.
# The check sees a path that became dearer: one that is compared with a smaller figure fails.

. tests/int/lib.sh
need valgrind
# The release build, beside whose folder of test programs it lies.
export WEFT_BIN=${WEFT_PLAIN%/*}/bin

tools/bench/cost.py --check ud_send_64_32 rd_send_64_32 tcp_send_64_32 tcp_write_1m_switch tagged_8_32 goal_msg_64_32 \
	> "$WEFT_TMP/out" 2> "$WEFT_TMP/err" || {
	cat "$WEFT_TMP/err" >&2
	die 'a message takes more instructions than docs/cost.md says'
}
cat "$WEFT_TMP/out"
grep -q 'nothing is compared' "$WEFT_TMP/out" && skip 'docs/cost.md was made with another compiler'
[ "$(grep -c instructions "$WEFT_TMP/out")" = 6 ] || die 'six paths were to be compared'

sed 's/^\(| `ud_send_64_32` [^|]*| 32 | \)[0-9]* /\110 /' docs/cost.md > "$WEFT_TMP/cheap.md"
tools/bench/cost.py --check --page "$WEFT_TMP/cheap.md" ud_send_64_32 > "$WEFT_TMP/out" 2> "$WEFT_TMP/err" &&
	die 'a path that takes more than its page says was not reported'
grep -q 'ud_send_64_32 takes .* more' "$WEFT_TMP/err" || die "no report of it: $(cat "$WEFT_TMP/err")"
