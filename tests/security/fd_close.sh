#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Descriptors whose close() takes an hour, sent to weftd's socket beside a command: weftd still
# answers other processes at once, serves attached ones, and ends on SIGTERM.

. tests/int/lib.sh

LIMIT=20
weftd_start weftd --nics 2
bench_start beside weft1 weft0 lat --iters 100000000
in_traffic weft0

# attack NAME NIC COUNT: weftd is stopped meanwhile, so that it always has the last copy of the
# descriptors
attack()
{
	kill -STOP "${pid[weftd]}"
	wait_until 'weftd stands still' state_is weftd T
	spawn "$1" "$WEFT_INT/fd_close" "$WEFT_RUN_DIR/$2" "$3"
	says "$1" '^sent'
	kill -CONT "${pid[weftd]}"
}

attack attacker weft0 3
tool 0 timeout "$LIMIT" "$WEFT_BIN/weftctl" list
grep -q '^weft1 ' "$out" || die 'weftctl has no list'
bench weft0 weft1 lat --iters 100
in_traffic weft0
# More descriptors than weftd closes at a time.
attack many weft1 40
bench weft0 weft1 lat --iters 100
kill9 beside.c
finish beside.s
# weftd waits for no close at its end, even while the attacker is alive.
weftd_stop weftd
kill9 attacker
kill9 many
