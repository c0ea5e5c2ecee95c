#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# An eventfd with thousands of waiters (waiters.c) makes each signal expensive for the core. Such
# signals are recognized and delayed; those of others are prompt, and every signal is delivered.

. tests/int/lib.sh

weftd_start weftd --nics 2
spawn attack "$WEFT_INT/waiters" weft0 24
says attack attacking
wait_until 'its signals come late' counter_above weft0 port_irqs_late 2
late=$(counter weft0 port_irqs_late)
bench weft1 weft0 lat --event --iters 500
bench weft0 weft1 bw --event --size 3000 --iters 1000
# The delayed signals arrive.
wait_until 'it is still told of its events' counter_above weft0 port_irqs_late "$((late + 2))"
alive attack || die 'the process of many waiters ended by itself'
kill9 attack
expect_objects weft0 '0 0 0 0'
bench weft1 weft0 lat --event --iters 200
weftd_stop weftd
