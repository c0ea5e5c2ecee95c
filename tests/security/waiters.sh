#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# An eventfd that thousands wait for (waiters.c) makes each signal dear for the core. Such signals are
# recognized and come late; others' are prompt, and all that is sent is told.

. tests/int/lib.sh

weftd_start weftd --nics 2
spawn attack "$WEFT_INT/waiters" weft0 24
says attack attacking
wait_until 'its signals come late' counter_above weft0 port_irqs_late 2
late=$(counter weft0 port_irqs_late)
bench weft1 weft0 lat --event --iters 500
bench weft0 weft1 bw --event --size 3000 --iters 1000
# And they come.
wait_until 'it is still told of its events' counter_above weft0 port_irqs_late "$((late + 2))"
alive attack || die 'the process of many waiters ended by itself'
kill9 attack
expect_objects weft0 '0 0 0 0'
bench weft1 weft0 lat --event --iters 200
weftd_stop weftd
