#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Signals and the log of weftd: SIGHUP reopens a renamed log, and ends a weftd whose terminal is
# gone; SIGUSR1 logs counters; link changes are logged. Tools do not wait for a stopped weftd
# (SIGSTOP) and show the NICs of others. The start of another weftd removes the DPDK folder of a
# killed one.

# shellcheck disable=SC2154 # lib.sh has out, err and status
. tests/int/lib.sh

log=$WEFT_TMP/weftd.log
tool 2 "$WEFT_BIN/weftd" --nics 1 --log relative.log
tool 1 "$WEFT_BIN/weftd" --nics 1 --user root --log /dev/null
grep -q 'is not a regular file' "$err" || die "$(cat "$err")"
tool 1 "$WEFT_BIN/weftd" --nics 1 --user root --log /nowhere/weftd.log

# logged FILE PATTERN
logged()
{
	grep -qE "$2" "$1" 2>/dev/null
}

# ---- the log

weftd_start weftd --nics 2 --user root --log "$log"
bench weft0 weft1 lat --iters 100
kill -USR1 "${pid[weftd]}"
stamp='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z weftd:'
wait_until 'counters are logged' logged "$log" "$stamp weft1 shard 0: .*rd_[a-z_]* [1-9]"
logged "$log" "$stamp weft0: link up, " || die "$(cat "$log")"
mv "$log" "$log.1"
kill -HUP "${pid[weftd]}"
wait_until 'the log is opened again' logged "$log" "$stamp SIGHUP: the log was reopened$"
kill -USR1 "${pid[weftd]}"
wait_until 'lines go to the new file' logged "$log" 'weft1 shard 0: '
# If the new log cannot be opened, weftd goes on with the old one.
mv "$log" "$log.2"
mkdir "$log"
kill -HUP "${pid[weftd]}"
wait_until 'it is told' logged "$log.2" "$stamp .* cannot be reopened: "
bench weft0 weft1 lat --iters 100

# ---- a stopped weftd and a running one

weftd_start other --nics 1 --name other --user root
kill -STOP "${pid[weftd]}"
for words in 'list' 'stats' 'clients' 'users' 'coalesce' 'list --json' 'top -c 1 --json'; do
	# shellcheck disable=SC2086 # words
	tool 1 "$WEFT_BIN/weftctl" $words
	grep -q '^weftctl: weft0: its weftd does not answer: it is stopped' "$err" || die "weftctl $words: $(cat "$err")"
	[ "$words" = clients ] || grep -q 'other0' "$out" || die "weftctl $words does not show other0: $(cat "$out")"
done
tool 1 "$WEFT_BIN/weft-bench" loop lat --device weft0
grep -q 'weft0: its weftd does not answer' "$err" || die "$(cat "$err")"
tool 1 "$WEFT_BIN/weft-bench" lat --server --device weft0 --port 0
kill -CONT "${pid[weftd]}"
tool 0 "$WEFT_BIN/weftctl" list
bench weft0 weft1 lat --iters 100
tool 1 "$WEFT_BIN/weft-bench" lat --server --device nope --port 0
grep -q 'cannot open nope: No such device' "$err" || die "$(cat "$err")"
weftd_stop other

# ---- files left by a killed weftd

# its folder of DPDK
folder()
{
	find /run/dpdk -maxdepth 1 -type d -name "weftd-weft-*" 2>/dev/null | while read -r dir; do
		ss -xlp 2>/dev/null | grep -q "$dir/.*pid=$1," && echo "$dir"
	done
}
if [ "$(id -u)" -eq 0 ]; then
	mine=$(folder "${pid[weftd]}")
	[ -n "$mine" ] || die 'weftd has no folder of DPDK'
fi
kill -KILL "${pid[weftd]}"
finish weftd
if [ "$(id -u)" -eq 0 ]; then
	# A weftd of another test that starts just now removes it, too.
	[ -d "$mine" ] || say 'the start of another weftd has removed the folder of the killed one'
	weftd_start other --nics 1 --name other --user root
	[ ! -d "$mine" ] || die "$mine is still there"
	theirs=$(find /run/dpdk -maxdepth 1 -type d -name 'weftd-other-*' | head -n 1)
	# The folder of a live weftd stays.
	weftd_start third --nics 1 --name third --user root
	[ -d "$theirs" ] || die "$theirs is gone, and its weftd lives"
	weftd_stop third
	weftd_stop other
fi

# ---- a terminal that goes away

# A program that runs COMMAND with a terminal until it is ready, then closes the terminal. With NOHUP
# in the environment it ignores SIGHUP, as nohup(1) does.
cat >"$WEFT_TMP/terminal.py" <<'ENDOFPYTHON'
import os, pty, signal, sys
pid, fd = pty.fork()
if not pid:
    if os.environ.get("NOHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
while b"ready" not in said:
    said += os.read(fd, 4096)
print(pid, flush=True)
os.close(fd)  # the kernel sends SIGHUP to the leader of the session
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
ENDOFPYTHON
tool 0 python3 "$WEFT_TMP/terminal.py" "$WEFT_BIN/weftd" --nics 1 --name tty --user root --log "$WEFT_TMP/tty.log"
logged "$WEFT_TMP/tty.log" "$stamp SIGHUP: the terminal is gone: ending" || die "$(cat "$WEFT_TMP/tty.log")"
[ ! -e "$WEFT_RUN_DIR/tty0" ] || die 'it left its socket'

# Under nohup(1), weftd outlives its terminal and still reopens its log.
spawn nohup env NOHUP=1 python3 "$WEFT_TMP/terminal.py" "$WEFT_BIN/weftd" --nics 1 --name hup --user root --log "$WEFT_TMP/hup.log"
wait_until 'SIGHUP comes' logged "$WEFT_TMP/hup.log" "$stamp SIGHUP: "
hup=$(cat "$WEFT_TMP/nohup.out")
at_exit 'kill -TERM "$hup" 2>/dev/null || :' # it has a session of its own
logged "$WEFT_TMP/hup.log" "$stamp SIGHUP: the log was reopened" || die "nohup: $(cat "$WEFT_TMP/hup.log")"
tool 0 "$WEFT_BIN/weftctl" stats hup0
kill -TERM "$hup"
expect_ok nohup

# ---- links

ns=$(unique s)
netns_add s
ip link add va netns "$ns" type veth peer name vb netns "$ns" || skip 'no veth here'
ip -n "$ns" link set va up
ip -n "$ns" link set vb up
# shellcheck disable=SC2034 # weftd_start takes it
in_ns="ip netns exec $ns"
weftd_start wire --port vb --ip 10.9.0.1/24 --netdev packet --user root
ip -n "$ns" link set va down
says wire 'weftd: weft0: link down'
ip -n "$ns" link set va up
says wire 'weftd: weft0: link up'
# A peer cannot fill the log.
for _ in $(seq 40); do
	ip -n "$ns" link set va down
	ip -n "$ns" link set va up
done
says wire 'weftd: weft0: link up'
[ "$(grep -c 'weft0: link' "$WEFT_TMP/wire.err")" -le 30 ] || die "the log has $(grep -c 'weft0: link' "$WEFT_TMP/wire.err") lines of links"
weftd_stop wire
