#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A round trip while other processes spin in ibv_poll_cq(), more of them than there are processors:
# empty polls yield (WEFT_YIELD=auto), or do not (never). Prints the cost of both; it depends on the
# machine, so there is no bound.
# timeout: 300

. tests/int/lib.sh

run=build/bin/weft-run
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
need ib_send_lat
gcc -D_GNU_SOURCE -std=gnu11 -O1 -g -Wall -Wextra -Werror -I. tests/clients/verbs_events.c tests/clients/verbs_ends.c -pthread \
	-o "$WEFT_TMP/verbs_events" -libverbs || die 'verbs_events does not compile'
netns_add s
ns=$(unique s)
weftd_start weftd --nics 2
port=18900

# round YIELD SPINNERS ITERATIONS: prints the median of half a round trip, us
turn=0
round()
{
	local i
	turn=$((turn + 1))
	port=$((port + 1))
	export WEFT_YIELD=$1
	for ((i = 0; i < $2; i++)); do
		spawn "spin$turn.$i" "$run" "$WEFT_TMP/verbs_events" spins weft0
		says "spin$turn.$i" spinning
	done
	spawn "s$turn" ip netns exec "$ns" "$run" --transport ib ib_send_lat -d weft1 -p $port -s 64 -n "$3"
	wait_until 'ib_send_lat listens' tcp_listens "$ns" "$port" "s$turn"
	spawn "c$turn" ip netns exec "$ns" "$run" --transport ib ib_send_lat -d weft0 -p $port -s 64 -n "$3" 127.0.0.1
	expect_ok "c$turn" "s$turn"
	for ((i = 0; i < $2; i++)); do
		kill -TERM "${pid[spin$turn.$i]}"
		finish "spin$turn.$i"
	done
	median=$(awk '$1 == 64 { print $5 }' "$WEFT_TMP/c$turn.out")
	say "$2 spinners, WEFT_YIELD=$1: $median us"
}

for spinners in 0 4 8; do
	round auto "$spinners" 400
	round never "$spinners" 40
	round auto "$spinners" 400
done
weftd_stop weftd
