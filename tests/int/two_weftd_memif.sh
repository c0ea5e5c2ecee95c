#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two weftd processes with a memif between them; the second starts and ends repeatedly while the
# first stays. The first one's link is up as long as the second one exists.

. tests/int/lib.sh

sock=$WEFT_RUN_DIR/memif.sock
weftd_start left --port "memif:$sock,server" --ip 10.9.0.1/24 --mtu 9000 --name left

# link_is NIC up|down
link_is()
{
	ctl list >"$WEFT_TMP/list"
	[ "$(awk -v nic="$1" '$1 == nic { print $5 }' "$WEFT_TMP/list")" = "$2" ]
}
wait_until 'left0, which is alone, has no link' link_is left0 down

round()
{
	local op
	weftd_start "right$1" --port "memif:$sock" --ip 10.9.0.2/24 --mtu 9000 --name right
	wait_until 'both have a link' link_is left0 up
	wait_until 'both have a link' link_is right0 up
	# The restarted end sends first: the other end learns that its session is over.
	bench left0 right0 lat --iters 300
	for op in send write read; do
		bench right0 left0 lat --op $op --iters 300
		bench left0 right0 bw --op $op --size 20000 --iters 300
		bench right0 left0 bw --op $op --size 200000 --iters 100
	done
	bench right0 left0 rate --op atomic --iters 2000
	bench right0 left0 rate --qp ud --iters 5000
	bench right0 left0 lat --qp ud --iters 300 --size 8000
	weftd_stop "right$1"
	wait_until 'left0 has no link' link_is left0 down
	# The operator reads of it without --verbose.
	says left 'left0: memif at .*: link down'
}

round first
round second

# Or the other end sends first: requests in the old session may fail, only as aborted, and are not
# replayed; later ones succeed.
weftd_start rightthird --port "memif:$sock" --ip 10.9.0.2/24 --mtu 9000 --name right
bench_start stale right0 left0 lat --iters 300
finish stale.c
if [ "$status" -ne 0 ]; then
	out_has stale.c 'REM_ABORT_ERR .PEER_RESTART.' || die 'not the error of a peer that began anew'
	finish stale.s
else
	expect_ok stale.s
fi
bench right0 left0 lat --iters 300
bench right0 left0 bw --op write --size 200000 --iters 100
weftd_stop rightthird
weftd_stop left
