#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Any call of libweft may be made from any thread: tests that promise under ThreadSanitizer:
# thr_data.c (one QP, one CQ, one channel, many threads; weftd killed under them), thr_objects.c
# (objects of all kinds, memory, fork), thr_reg_cache.c (the registration cache), thr_tag.c (tagged
# endpoints, likewise killed). The programs and libweft are built with -fsanitize=thread, weftd with
# the others. No report is suppressed.
# WEFT_ROUNDS=N: N times as long (make tsan).
# timeout: 1200

. tests/int/lib.sh
: "${WEFT_TSAN:?}"
rounds=${WEFT_ROUNDS:-1}
LIMIT=$((60 + rounds * 30))
export TSAN_OPTIONS="halt_on_error=0 second_deadlock_stack=1 exitcode=66 ${TSAN_OPTIONS:-}"

weftd_start weftd --nics 2
spawn data "$WEFT_TSAN/thr_data" $((rounds * 4000))
expect_ok data
spawn objects "$WEFT_TSAN/thr_objects" $((rounds * 16))
expect_ok objects
# Without ThreadSanitizer the threads interleave differently.
spawn data2 "$WEFT_INT/thr_data" $((rounds * 8000))
expect_ok data2
# nofork: in a child of a process with AddressSanitizer (GCC 12), the allocator's locks stay taken
# for ever if another thread held one.
spawn objects2 "$WEFT_INT/thr_objects" $((rounds * 16)) nofork
expect_ok objects2
# The registration cache: memory is unmapped, and threads get the addresses of others.
spawn cache "$WEFT_TSAN/thr_reg_cache" $((rounds * 100))
expect_ok cache
spawn cache2 "$WEFT_INT/thr_reg_cache" $((rounds * 200))
expect_ok cache2
spawn tag "$WEFT_TSAN/thr_tag" $((rounds * 4000))
expect_ok tag
spawn tag2 "$WEFT_INT/thr_tag" $((rounds * 8000))
expect_ok tag2
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
cat "$WEFT_TMP"/cache.out "$WEFT_TMP"/cache2.out
cat "$WEFT_TMP"/data.out "$WEFT_TMP"/objects.out "$WEFT_TMP"/data2.out "$WEFT_TMP"/objects2.out
cat "$WEFT_TMP"/tag.out "$WEFT_TMP"/tag2.out

# Threads post, poll and wait while the NIC disappears.
spawn gone "$WEFT_TSAN/thr_data" 8000 gone
says gone '^running'
received=$(counter weft1 rx_frames)
wait_until 'there is traffic' counter_above weft1 rx_frames "$((received + 1000))"
kill9 weftd
expect_ok gone

weftd_start again --nics 2
spawn tag.gone "$WEFT_TSAN/thr_tag" 1000000 gone
says tag.gone '^running'
kill9 again
expect_ok tag.gone
