#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd crashes in the middle of traffic, by SIGKILL and by SIGSEGV, and is started again at once, as
# the unit does (Restart=on-failure): attached programs get their error at once, and programs that
# connect anew find the same NICs: weft-bench, GOAL runs, rping. The table has the times.
#
# timeout: 300

. tests/int/lib.sh
need rping

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

# crash SIGNAL
crash()
{
	local old begin ended back kind
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
	table+=("$(printf '%-8s %10s %10s' "$1" $((ended - begin)) $((back - begin)))")
	[ $((back - begin)) -le "$((most_ms * ${CRASH_SLACK:-1}))" ] || late=1
	bench weft1 weft0 lat --iters 200
	tool 0 "$WEFT_BIN/goal-bench" coll allreduce:4096 --iters 20
	spawn "rping$1.s" build/bin/weft-run --device weft1 rping -s -C 20 -a 10.77.0.2
	wait_until 'rping listens' counter_is weft1 cm_listeners 1
	spawn "rping$1.c" build/bin/weft-run --device weft0 rping -c -C 20 -V -a 10.77.0.2
	expect_ok "rping$1.c"
	finish "rping$1.s"
}

table=()
late=
spawn service "$WEFT_TMP/service"
says service '^weftd: ready'
crash KILL
crash SEGV
kill -TERM "${pid[service]}"
finish service
say 'signal    error_ms    back_ms'
printf '%s\n' "${table[@]}"
[ -z "$late" ] || die "the service was not back within $most_ms ms"
