#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Clients of each kind, killed with SIGKILL in the middle of traffic, the active and the passive
# side in turn. Another pair on the same NICs goes on and stays right, the peer of the killed client
# ends with an error, and the objects of the killed client are free again.

. tests/int/lib.sh

weftd_start weftd --nics 2
bench weft0 weft1 lat --iters 100
none='0 0 0 0'
expect_objects weft0 "$none"
expect_objects weft1 "$none"

turn=0
# Starts traffic that goes on until one side dies.
victims()
{
	turn=$((turn + 1))
	bench_start "victim$turn" weft1 weft0 "$@" --duration 600
	wait_until 'both are attached' attached weft1 1
	in_traffic weft1
}

# kill_both TEXT WORD...: runs that kind of traffic; first its client is killed, then its server,
# after which the client prints TEXT
kill_both()
{
	local text=$1
	shift
	say "killed: $*"
	bench_start "witness$turn" weft0 weft1 bw --size 3000 --iters 4000
	victims "$@"
	kill9 "victim$turn.c"
	expect_fail "victim$turn.s" 'weft-bench: '
	victims "$@"
	kill9 "victim$turn.s"
	expect_fail "victim$turn.c" "$text"
	expect_ok "witness$((turn - 2)).c" "witness$((turn - 2)).s"
	expect_objects weft0 "$none"
	expect_objects weft1 "$none"
}

# Where a request is always open, the NIC reports the error.
kill_both 'weft-bench: ' lat --op send
kill_both 'weft-bench: ' bw --op send --size 20000 --event
kill_both 'weft-bench: ' bw --op write --size 1M --mem malloc
kill_both 'request of weft0 failed: REM_' bw --op read --size 100K --mem shared
kill_both 'request of weft0 failed: REM_' rate --op atomic
kill_both 'the other end has gone' lat --qp ud --op send
kill_both 'the other end has gone' rate --qp ud --op send
kill_both 'the other end has gone' bw --qp ud --op write --size 30000

# The NIC frees everything, transfer contexts included.
all_free()
{
	local name
	ctl stats "$1" >"$WEFT_TMP/stats"
	for name in qps_used cqs_used mrs_used pds_used eqs_used ahs_used wqes_used wqe_exts_used \
		rd_flows_used rd_held_used recv_msgs_used ud_reasms_used ud_buffers_used; do
		grep -q "^ *$name: 0$" "$WEFT_TMP/stats" || return 1
	done
}
for nic in weft0 weft1; do
	wait_until "nothing of $nic is used any more" all_free $nic
done
bench weft0 weft1 bw --iters 500
weftd_stop weftd
