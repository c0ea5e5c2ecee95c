#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/two-machines.md as it is written: its commands run in two namespaces that stand for the
# machines, and print the lines that the page shows. Numbers may differ.

. tests/int/lib.sh
need python3 ping rping

netns_add a
netns_add b
a=$(unique a) b=$(unique b)
ip link add eth1 netns "$a" type veth peer name eth1 netns "$b" || skip 'no veth here'
for ns in "$a" "$b"; do
	ip -n "$ns" link set eth1 mtu 1500 up
done
ip -n "$a" addr add 192.168.5.1/24 dev eth1
ip -n "$b" addr add 192.168.5.2/24 dev eth1

# Release programs: the stand-ins of weft-run exist in no other form.
mkdir -p "$WEFT_RUN_DIR/a" "$WEFT_RUN_DIR/b"
cat >"$WEFT_TMP/page.py" <<'PY'
import os, re, subprocess, sys, time

page, ns, run_dir, programs = sys.argv[1], {"a": sys.argv[2], "b": sys.argv[3]}, sys.argv[4], sys.argv[5]
steps, step = [], None
for line in open(page):
    if re.match(r"    [ab]# ", line):
        step = (line[4], line[7:].rstrip(), [])
        steps.append(step)
    elif line.startswith("    ") and step:
        step[2].append(line[4:].rstrip())
    elif line.strip():
        step = None
assert len(steps) > 15, "the page has %d commands" % len(steps)


def plain(line):
    line = line.replace(os.path.join(run_dir, "a"), "/run/weft").replace(os.path.join(run_dir, "b"), "/run/weft")
    return re.sub(r"\d+(\.\d+)?", "N", " ".join(line.split()))


def start(machine, command, output):
    env = dict(os.environ, WEFT_RUN_DIR=os.path.join(run_dir, machine), PATH=programs + ":" + os.environ["PATH"])
    return subprocess.Popen(
        ["ip", "netns", "exec", ns[machine], "bash", "-o", "pipefail", "-c", command],
        stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env, start_new_session=True)


def lacks(path, wanted):
    with open(path) as file:
        got = {plain(line) for line in file}
    return [line for line in wanted if plain(line) not in got]


background, failed = [], False
try:
    for number, (machine, command, wanted) in enumerate(steps):
        path = os.path.join(os.environ["WEFT_TMP"], "page%02d.out" % number)
        print(machine + "# " + command, flush=True)
        waits = not command.endswith("&")
        with open(path, "w") as output:
            process = start(machine, command.rstrip("& "), output)
        if waits:
            rc = process.wait(timeout=120)
            # grep -c of nothing counts 0 and fails: the page shows the 0.
            if rc and wanted != ["0"]:
                sys.exit("exit status %d: %s" % (rc, open(path).read()))
        else:
            background.append(process)
            end = time.monotonic() + 60
            while lacks(path, wanted) and process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            if not wanted:
                time.sleep(1)  # it says nothing when it listens
        missing = lacks(path, wanted)
        if missing:
            sys.exit("does not print %r but %r" % (missing, open(path).read()))
finally:
    for process in background:
        if process.poll() is None:
            os.killpg(process.pid, 15)
        process.wait(timeout=60)
PY
# shellcheck disable=SC2154 # WEFT_PLAIN is of run.sh
tool 0 python3 "$WEFT_TMP/page.py" docs/two-machines.md "$a" "$b" "$WEFT_RUN_DIR" "${WEFT_PLAIN%/*}/bin"
# shellcheck disable=SC2154 # out is of lib.sh
say "$(grep -c '# ' "$out") commands of the page"
