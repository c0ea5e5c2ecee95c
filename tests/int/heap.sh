#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory as programs use it (thr_heap.c): the brk heap, stacks, ranges of several kinds, with fork,
# MADV_DONTNEED and threads that write while memory is moved; with AddressSanitizer and with
# ThreadSanitizer. At the end weftd holds none of it.

. tests/int/lib.sh
: "${WEFT_TSAN:?}"
rounds=${WEFT_ROUNDS:-1}
export TSAN_OPTIONS="halt_on_error=0 second_deadlock_stack=1 exitcode=66 ${TSAN_OPTIONS:-}"

weftd_start weftd --nics 2
spawn heap "$WEFT_INT/thr_heap" $((rounds * 10))
expect_ok heap
cat "$WEFT_TMP/heap.out"
# All memory but the stack's is mapped: one region, which a peer writes twice and reads four times.
counter_is weft1 mrs_process_vm 1 || die "$(counter weft1 mrs_process_vm) regions are not mapped"
counter_is weft1 host_write_bytes 32768 || die "$(counter weft1 host_write_bytes) bytes written through the process"
counter_above weft1 host_read_bytes 65535 || die "$(counter weft1 host_read_bytes) bytes read through the process"
counter_above weft1 mrs_mapped 50 || die "only $(counter weft1 mrs_mapped) regions are mapped"
spawn heap2 "$WEFT_TSAN/thr_heap" $((rounds * 4))
expect_ok heap2
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop weftd
