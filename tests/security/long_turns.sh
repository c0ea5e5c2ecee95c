#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# No process causes a long turn (long_turns.c): processes die with all the regions and queue pairs
# that they get, and flush full queues, while another client's requests all succeed. Nothing is
# timed: the firmware reports the most units of such work in one turn (slice_units_max).

. tests/int/lib.sh

weftd_start weftd --nics 2
spawn attack "$WEFT_INT/long_turns" "$WEFT_RUN_DIR/weft0" 4
says attack attacking
round=0
while alive attack; do
	round=$((round + 1))
	bench weft1 weft0 lat --iters 500
	bench weft0 weft1 bw --size 3000 --iters 2000
done
expect_ok attack
grep . "$WEFT_TMP/attack.out"
[ "$round" -gt 0 ] || die 'no request was made beside the attack'

# A turn has 16 units of slices, a command before it 64, and the last piece of each a few more.
most=$(counter weft0 slice_units_max)
[ "$most" -gt 0 ] || die 'nothing was done in slices'
[ "$most" -le 96 ] || die "a turn had $most units of work in bulk"
expect_objects weft0 '0 0 0 0'
[ "$(counter weft0 slice_commands_used)" -eq 0 ] || die 'commands are left'
weftd_stop weftd
