#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd crashes in the middle of traffic, by SIGKILL and by SIGSEGV, and is started again at once, as
# the unit does (Restart=on-failure): attached programs get their error at once, and programs that
# connect anew find the same NICs: weft-bench, GOAL runs, rping. Programs that are not started again
# connect by themselves: one of TCP sockets (reconnect.py), GOAL ranks of a static list and of mpirun
# (tests/int/goal_again.c). The table has the times.
#
# timeout: 600

. tests/int/lib.sh
need rping python3 mpirun.openmpi

WEFT_BIN=$PWD/build/bin
most_ms=1000 # until the service is back

# The unit as a loop: a failed weftd again after RestartSec.
delay=$(sed -n 's/^RestartSec=\([0-9]*\)ms$/\1/p' dist/weftd.service.in)
[ -n "$delay" ] || die 'the unit has no RestartSec in ms'
grep -q '^Restart=on-failure' dist/weftd.service.in || die 'the unit does not start weftd again'
cat >"$WEFT_TMP/service" <<S
#!/bin/bash
trap 'kill -TERM \$pid; wait \$pid; exit' TERM
while :; do
	"$WEFT_BIN/weftd" --nics 2 --run-dir "$WEFT_RUN_DIR" &
	pid=\$!
	echo \$pid >"$WEFT_TMP/pid"
	wait \$pid && exit
	sleep 0.$(printf '%03d' "$delay")
done
S
chmod +x "$WEFT_TMP/service"

now_ms()
{
	say $((${EPOCHREALTIME/./} / 1000))
}

# is_back OLD-PID: another weftd answers
is_back()
{
	[ "$(cat "$WEFT_TMP/pid")" != "$1" ] && "$WEFT_BIN/weftctl" list >"$WEFT_TMP/list" 2>&1
}

# ---- programs that stay -----------------------------------------------------------------------

peers_of()
{
	"$WEFT_BIN/weftctl" list --json | python3 -c 'import json, sys; print(",".join(n["mac"] for n in json.load(sys.stdin)))'
}

LIVES=3
lasting='tcp.s tcp.c rank.0 rank.1 mpi'
lasting_start()
{
	local i peers
	peers=$(peers_of)
	spawn tcp.s build/bin/weft-run --device weft1 --sockets python3 tests/ops/reconnect.py server 10.77.0.2 7100 "$WEFT_TMP/last"
	spawn tcp.c build/bin/weft-run --device weft0 --sockets python3 tests/ops/reconnect.py client 10.77.0.2 7100 "$WEFT_TMP/last"
	for i in 0 1; do
		spawn rank.$i env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_DEVICE="weft$i" "$WEFT_INT/goal_again" $LIVES 100
	done
	# libpmix forgets memory of a PMIx_Init() when the next one comes.
	spawn mpi env ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 "$WEFT_INT/goal_again" $LIVES 100
}

# lasting_live N: each of them is in its life N
lasting_live()
{
	says tcp.s "^connection $1\$"
	says tcp.c "^connection $1\$"
	says rank.0 "^life $1\$"
	says rank.1 "^life $1\$"
	wait_until 'the ranks of mpirun live' ranks_live "$1"
}
ranks_live()
{
	dead mpi || [ "$(grep -c "^life $1\$" "$WEFT_TMP/mpi.out")" -eq 2 ]
}

# crash SIGNAL LIFE
crash()
{
	local old begin ended back kind again listeners
	bench_start "lat$1" weft1 weft0 lat --duration 600
	bench_start "event$1" weft1 weft0 bw --op write --event --duration 600
	bench_start "tcp$1" weft1 weft0 rate --qp rc-tcp --event --duration 600
	in_traffic weft1
	old=$(cat "$WEFT_TMP/pid")
	begin=$(now_ms)
	kill "-$1" "$old"
	for kind in lat event tcp; do
		finish "$kind$1.c"
		[ "$status" -ne 0 ] || die "$kind did not notice the crash"
	done
	ended=$(now_ms)
	until is_back "$old"; do
		[ $(($(now_ms) - begin)) -lt 60000 ] || die 'weftd does not come back'
		sleep 0.01
	done
	back=$(now_ms)
	for kind in lat event tcp; do
		finish "$kind$1.s"
		[ "$status" -ne 0 ] || die "a server did not notice the crash"
	done
	lasting_live "$2"
	again=$(now_ms)
	table+=("$(printf '%-8s %10s %10s %10s' "$1" $((ended - begin)) $((back - begin)) $((again - begin)))")
	[ $((back - begin)) -le "$((most_ms * ${CRASH_SLACK:-1}))" ] || late=1
	bench weft1 weft0 lat --iters 200
	tool 0 "$WEFT_BIN/goal-bench" coll allreduce:4096 --iters 20
	listeners=$(counter weft1 cm_listeners)
	spawn "rping$1.s" build/bin/weft-run --device weft1 rping -s -C 20 -a 10.77.0.2
	wait_until 'rping listens' counter_above weft1 cm_listeners "$listeners"
	spawn "rping$1.c" build/bin/weft-run --device weft0 rping -c -C 20 -V -a 10.77.0.2
	expect_ok "rping$1.c"
	finish "rping$1.s"
}

table=()
late=
spawn service "$WEFT_TMP/service"
says service '^weftd: ready'
lasting_start
lasting_live 1
crash KILL 2
touch "$WEFT_TMP/last"
crash SEGV 3
for name in $lasting; do
	expect_ok "$name"
	out_has "$name" '^right$' || die "$name ends otherwise"
done
kill -TERM "${pid[service]}"
finish service
say 'signal     error_ms    back_ms   again_ms'
printf '%s\n' "${table[@]}"
[ -z "$late" ] || die "the service was not back within $most_ms ms"
