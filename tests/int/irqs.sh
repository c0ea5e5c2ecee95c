#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-irqs against the kernel's own counts: a ping-pong of two processes whose switches and CPU
# time wait4(2) reports, and the machine's switches and softirqs of /proc within and around it; then
# weftd's wake-ups of two clients that block, wrong input, exit statuses. Skipped where BPF is not
# allowed.

. tests/int/lib.sh
need python3

irqs=$WEFT_BIN/weft-irqs
"$irqs" -o /dev/null -- true 2>"$err"
if [ $? -eq 1 ] && grep -qE 'needs root|does not describe its types|locked down|namespace of pids' "$err"; then
	skip "$(cat "$err")"
fi

# ---- the kernel's own counts ----------------------------------------------------------------

# Two processes pass an eventfd to and fro 1000 times on one processor: at least 2000 switches.
cat >"$WEFT_TMP/load.py" <<'EOF'
import json, os, sys, time
N = 1000
def machine():
    ctxt = [int(l.split()[1]) for l in open("/proc/stat") if l.startswith("ctxt")][0]
    return {"ctxt": ctxt, "softirqs": {l.split(":")[0].strip(): sum(map(int, l.split(":")[1].split()))
                                       for l in open("/proc/softirqs") if ":" in l}}
def side(mine, other, first):
    if not first:
        os.eventfd_read(mine)
    for i in range(N):
        os.eventfd_write(other, 1)
        if first or i < N - 1:
            os.eventfd_read(mine)
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
def main(out):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    a, b = os.eventfd(0), os.eventfd(0)
    inner = [machine()]
    pids = []
    for mine, other, first in ((a, b, True), (b, a, False)):
        pid = os.fork()
        if pid == 0:
            side(mine, other, first)
            os._exit(0)
        pids.append(pid)
    use = {}
    for pid in pids:
        _, status, r = os.wait4(pid, 0)
        assert status == 0
        use[pid] = {"voluntary": r.ru_nvcsw, "involuntary": r.ru_nivcsw, "cpu": r.ru_utime + r.ru_stime}
    inner.append(machine())
    json.dump({"use": use, "inner": inner}, open(out, "w"))
if __name__ == "__main__":
    main(sys.argv[1])
EOF

cat >"$WEFT_TMP/check.py" <<'EOF'
import json, subprocess, sys
tmp, irqs, options = sys.argv[1], sys.argv[2], sys.argv[3:]
sys.path.insert(0, tmp)
from load import N, machine
outer = [machine()]
subprocess.run([irqs, "--json", "-o", tmp + "/irqs.json", *options, "--", sys.executable, tmp + "/load.py", tmp + "/load.json"],
               check=True)
outer.append(machine())
r = json.load(open(tmp + "/irqs.json"))
load = json.load(open(tmp + "/load.json"))
bad = []
def within(what, value, low, high):
    print("%s: %s in [%s, %s]" % (what, value, low, high))
    if not low <= value <= high:
        bad.append(what)
switches = 0
for pid, use in load["use"].items():
    p = [p for p in r["processes"] if p["pid"] == int(pid)][0]
    # wait4 may omit the switch by which a process ends, and the tracepoint omits a few switches.
    for kind in ("voluntary", "involuntary"):
        within("%s %s switches" % (pid, kind), p[kind], use[kind] * 0.97 - 5, use[kind] + 2)
    within("%s CPU ms" % pid, p["cpu_ns"] / 1e6, use["cpu"] * 950 - 3, use["cpu"] * 1050 + 3)
    # Each process that slept was woken and then ran; some are woken while they are still about to
    # sleep.
    within("%s wake-ups" % pid, p["wakeups"], p["voluntary"] - 2, (p["voluntary"] + p["involuntary"]) * 1.03 + 5)
    within("%s times to running" % pid, p["wake_latency"]["count"], p["wakeups"] * 0.97 - 5, p["wakeups"])
    other = [int(o) for o in load["use"] if o != pid][0]
    by = sum(w["wake_latency"]["count"] for w in r["wakes"] if w["pid"] == int(pid) and w["waker_pid"] == other)
    within("%s woken by the other" % pid, by, p["wakeups"] * 0.5 - 5, p["wakeups"])
    switches += p["voluntary"] + p["involuntary"]
within("switches of both", switches, 2 * N - 2, 1e9)
rows = r["processes"] + [r["rest"], r["idle"]]
def change(pair, *keys):
    old, new = pair
    for k in keys:
        old, new = old[k], new[k]
    return new - old
within("switches of the machine", sum(x["voluntary"] + x["involuntary"] for x in rows), change(load["inner"], "ctxt") * 0.97 - 5,
       change(outer, "ctxt"))
# The kernel runs no program of a tracepoint where it has interrupted another one.
for v in r["rest"]["softirqs"]:
    within("softirqs " + v, sum(x["softirqs"][v] for x in rows), change(load["inner"], "softirqs", v) - 2, change(outer, "softirqs", v))
within("switches not told of", r["lost"].pop("switches"), 0, 0.03 * change(outer, "ctxt") + 5)
within("lost", sum(r["lost"].values()), 0, 0)
sys.exit("not as the kernel has it: " + ", ".join(bad) if bad else 0)
EOF
for options in '' --raw; do
	# shellcheck disable=SC2086 # words, or none
	tool 0 python3 "$WEFT_TMP/check.py" "$WEFT_TMP" "$irqs" $options
	say "as the kernel counts$options: $(grep 'switches of both' "$out")"
done

# ---- weftd's wake-ups -----------------------------------------------------------------------

# On one CPU: a thread of weftd in the place of a client would find it awake.
weftd_start weftd --nics 2 --cores "$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')"
bench_server server weft1 lat --size 64 --event
tool 0 "$irqs" --json -o "$WEFT_TMP/bench.json" --waker weftd --pid "${pid[server]}" -- \
	"$WEFT_BIN/weft-bench" lat --size 64 --event --iters 500 --wakes "$WEFT_TMP/wakes" \
	--device weft0 --connect 127.0.0.1 --port "$port"
# Each from the NIC's completion to the end of poll(): some were asleep when it came.
awk '$1 !~ /^[0-9]+$/ || $1 > 3e10 { exit 1 } END { exit NR < 50 || NR > 1000 }' "$WEFT_TMP/wakes" ||
	die "wake-ups by weft-bench: $(wc -l <"$WEFT_TMP/wakes")"
expect_ok server
signals=$(($(counter weft0 port_irqs) + $(counter weft1 port_irqs)))
python3 - "$WEFT_TMP/bench.json" "$signals" <<'EOF' || die 'wake-ups by weftd'
import json, sys
r = json.load(open(sys.argv[1]))
signals = int(sys.argv[2])
# Counts the two ends; a sanitizer forks helpers of the same name.
wakes = sorted(p["wake_latency"]["count"] for p in r["processes"] if p["comm"] == "weft-bench")[-2:]
print("woken by weftd:", wakes, "eventfds signalled:", signals)
ok = len(wakes) == 2 and min(wakes) >= 50 and sum(wakes) <= signals + 50 and r["status"] == 0
for w in r["wakes"]:
    ok = ok and w["selected"] == (w["waker"] == "weftd")
sys.exit(not ok)
EOF
weftd_stop weftd

# ---- intervals, exit statuses, wrong input --------------------------------------------------

tool 0 "$irqs" --json --interval 0.1 -o "$WEFT_TMP/parts.json" -- sh -c 'for i in 1 2 3 4 5; do sleep 0.1; done'
python3 - "$WEFT_TMP/parts.json" <<'EOF' || die 'intervals'
import json, sys
r = [json.loads(line) for line in open(sys.argv[1])]
parts, whole = r[:-1], r[-1]
added = sum(p["all"]["voluntary"] for p in parts)
print("%d intervals: %d of %d voluntary switches" % (len(parts), added, whole["all"]["voluntary"]))
sys.exit(not (len(parts) >= 3 and whole["last"] and not parts[0]["last"] and 5 <= added <= whole["all"]["voluntary"]
              and whole["command"][0] == "sh"))
EOF

tool 3 "$irqs" -o "$WEFT_TMP/report" -- sh -c 'echo out; exit 3'
[ "$(cat "$out")" = out ] || die 'the output of the command'
grep -q 'sh .*all of these\|sh  *[0-9]' "$WEFT_TMP/report" || die 'a row for sh'
# shellcheck disable=SC2016 # is the shell's that is started
tool 137 "$irqs" -- sh -c 'kill -KILL $$'
tool 143 "$irqs" --seconds 0.2 -- sleep 100
tool 0 "$irqs" --all --seconds 0.1
# A signal sent to weft-irqs alone reaches the command.
tool 130 "$irqs" -o "$WEFT_TMP/report" -- sh -c 'kill -INT $PPID; exec sleep 100'
grep -q 'all of these\|sleep' "$WEFT_TMP/report" || die 'no report after SIGINT'
# Processes that start later are found by their name.
spawn later "$irqs" --comm sleep --json --seconds 1
sleep 0.5
sleep 0.1
expect_ok later
grep -q '"comm":"sleep"' "$WEFT_TMP/later.err" || die '--comm: a process that began later'

# says STATUS TEXT OPTION...: one line on stderr
one_line()
{
	local want=$1 text=$2
	shift 2
	tool "$want" "$irqs" "$@"
	[ "$(wc -l <"$err")" -eq 1 ] || { cat "$err"; die "weft-irqs $*: more than a line"; }
	grep -qE -- "$text" "$err" || { cat "$err"; die "weft-irqs $*: does not say '$text'"; }
}
one_line 127 'cannot run .*No such file' -- /nonexistent/command
one_line 126 'cannot run .*Permission denied' -- /etc/passwd
one_line 1 'no process 4194305' --pid 4194305
one_line 1 "no interface 'w0nothere'" --iface w0nothere -- true
one_line 1 "no process called 'w0nothere'" --comm w0nothere --seconds 0.1
one_line 1 'No such file' -o /nonexistent/report -- true
one_line 2 'nothing to count'
# A kernel that lacks BTF, as far as weft-irqs can see; no process; a container's pids.
if unshare -m mount -t tmpfs none /sys/kernel/btf 2>/dev/null; then
	# shellcheck disable=SC2016 # is the inner shell's
	tool 1 unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf; exec "$0" -- true' "$irqs"
	grep -q 'does not describe its types' "$err" || die 'what it says without BTF'
fi
if setpriv --reuid 65534 --clear-groups test -x "$irqs" 2>/dev/null; then
	tool 1 setpriv --reuid 65534 --clear-groups --inh-caps=-all "$irqs" -- true
	grep -q 'needs root' "$err" || die 'what it says to nobody'
fi
tool 1 unshare -p -f --mount-proc "$irqs" -- true
grep -q 'namespace of pids' "$err" || die 'what it says in a container'
one_line 2 'numbers of processes' --pid 12x
one_line 2 '--seconds takes a number from 0.001' --seconds 0 -- true
one_line 2 'not both' --json --csv -- true
one_line 2 "no option '--wat'" --wat -- true
one_line 2 'needs a value' --pid
say 'ok: exit statuses and wrong input'
