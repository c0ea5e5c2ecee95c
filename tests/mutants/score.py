#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# A mutation score that nobody chose: draws changes of one operator, constant, call or assignment in
# nic_fw by seed, builds each, and runs the unit tests of the file's floor and then a short soak.
#
#	score.py [--seed N] [--count N] [--seconds S] [--part I/N] [--state FILE]
#	score.py --file FILE.c --tests NAME...	changes of one file, against these unit tests alone
#	score.py --report [--state FILE]...	the score, and the list of what survived
#	score.py --show KEY...			the change with this key, as a diff
#
# A change has a key made of its file, line's text and operator, and its rank among all changes is a
# hash of seed and key: an edit elsewhere in nic_fw moves no draw. `make score` gives in the environment
# how to compile and link (SCORE_*). libnicfw is a shared library here, so that a change costs one
# compilation and one link, and replaces the library below the programs. Changes that do not compile,
# and those whose object file is the same as before, are drawn again and counted apart. A row is
# written to the state file when it is known; a run that is begun again goes on behind it.
# Equivalent changes are listed in equivalent.txt, with the reason. Exit status 0: done; 1: the
# unchanged firmware fails a test; 2: wrong usage.

import argparse
import fcntl
import glob
import hashlib
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EQUIVALENT = os.path.join(HERE, "equivalent.txt")
BUILD = os.path.join("build", "score")
HANG_FACTOR, HANG_SECONDS = 10, 20  # limit of a test: so many times its own time, and seconds of processor more
FILE_HANG_SECONDS = 2  # likewise, for tests of one file
SOAK_HANG = 20
UNKNOWN_SECONDS = 5  # of a test whose time is not known yet, for the order

# Unit tests by floor beside tests/nic_fw/FLOOR; a name ends in * or is whole.
TESTS = {
    "base": ["pair/fw", "pair/db", "pair/station"],
    "net": ["nic_fw/dgram/ud_rx", "sim/igmp", "sim/mcast", "pair/fw", "pair/rd_join"],
    "tcp": ["sim/tcp*", "pair/mpa_slow"],
    "stream": ["pair/edp", "pair/esp_*"],
    "host": ["nic_fw/base/slice", "nic_fw/base/share", "nic_fw/net/mcast", "pair/tag_setup", "pair/qp_counts", "pair/wqe*", "pair/sched", "pair/db", "sim/srq", "sim/moder", "sim/xrc", "pair/recv"],
    "rdmap": ["pair/qp_counts", "pair/rdmap_*", "pair/ddp_rx", "pair/recv", "pair/esp_rdmap", "sim/rd_errors", "sim/rc_esp"],
    "dgram": ["pair/rd_*", "pair/station", "pair/uc_rx", "sim/ud", "sim/uc", "sim/rd_fair"],
    "tag": ["pair/tag_*"],
    "mpa": ["pair/mpa_*", "sim/rc_tcp"],
    "cm": ["pair/cm*", "sim/cm"],
    "coll": ["sim/goal_run", "sim/goal_fail", "sim/goal_lost", "sim/goal_stall", "sim/goal_coll_move",
             "sim/goal_coll_reduce", "sim/mgrp"],
    "up": ["nic_fw/base/*", "nic_fw/host/*", "nic_fw/net/mcast", "pair/fw", "pair/rd_rest", "sim/rc_esp", "sim/rc_tcp"],
    ".": ["nic_fw/base/*", "nic_fw/host/*", "pair/fw*", "sim/rd_ops"],
}
# Tests that take many seconds: they come last, and not in a short look.
SLOW = ("pair/rd_model_ut", "pair/rd_fuzz_ut")
# The workload of the second half of the soak; the first draws as every soak does.
WORKLOAD = {"tcp": "rc_tcp", "mpa": "rc_tcp", "cm": "rc_tcp", "tag": "tag", "coll": "goal", "stream": "goal",
            "dgram": "verbs", "rdmap": "verbs", "host": "verbs"}

COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SWAPS = {"&&": "||", "||": "&&", "+": "-", "-": "+", "&": "|", "|": "&", "<<": ">>", ">>": "<<",
         "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "++": "--", "--": "++"}
BINARY = re.compile(r"(?<=[\w)\]] )(<=|>=|==|!=|&&|\|\||<<|>>|\+=|-=|\|=|&=|<|>|\+|-|&|\|)(?= [\w(!~&*-])")
STEP = re.compile(r"(?<=\w)(\+\+|--)(?=[;,)\]])|(?<![\w+-])(\+\+|--)(?=\w)")
NOT = re.compile(r"(?<=[ (!])!(?=[\w(])")
NUMBER = re.compile(r"(?<![\w.\"'])(0x[0-9a-f]+|\d+)(?=[uUlL]*(?![\w.\"']))")
TRUTH = re.compile(r"\b(true|false)\b")
CALL = re.compile(r"^\t+((?:\(void\))?[a-z_]\w*\(.*\);)$")
ASSIGN = re.compile(r"^\t+([*\w][\w.\->\[\]*]*(?:\[[^=]*\])?(?:->|\.)?[\w.\->\[\]]* (?:[-+|&^]|<<|>>)?= .*;)$")
SKIP = re.compile(r"\b(assert|static_assert|BENCH_|fw_trace|_Static_assert)\b|^\s*(#|/\*|\*|case |default:|enum |struct "
                  r"|static const|const |typedef )|^\S")


class Change:
    """One mutation: a line of a file with other text."""

    def __init__(self, path, number, line, new, kind, nth):
        self.path, self.number, self.line, self.new, self.kind = path, number, line, new, kind
        text = f"{path}|{line.strip()}|{new.strip()}|{nth}"
        self.key = hashlib.sha256(text.encode()).hexdigest()[:12]

    def rank(self, seed):
        return hashlib.sha256(f"{seed}|{self.key}".encode()).hexdigest()

    @property
    def floor(self):
        parts = self.path.split("/")
        return parts[1] if len(parts) > 2 else "."


def code_lines(path):
    """(number, line) of lines inside functions, without comments and the continuation of statements."""
    comment = False
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f.read().split("\n"), 1):
            begins = "/*" in line
            if not comment and not begins and line.startswith("\t") and not SKIP.search(line):
                yield number, line
            if begins:
                comment = True
            if "*/" in line:
                comment = False


def is_declaration(text):
    return re.match(r"(?:const |static |struct \w+ |enum \w+ |u?int\w* |bool |size_t |void |char )", text)


def changes_of(path):
    seen = {}
    for number, line in code_lines(path):
        found = []
        bare = re.sub(r'"[^"]*"', lambda m: '"' + "s" * (len(m.group()) - 2) + '"', line)
        for m in BINARY.finditer(bare):
            new = COMPARE.get(m.group(1)) or SWAPS[m.group(1)]
            found.append((m.start(1), m.end(1), new, "compare" if m.group(1) in COMPARE else "operator"))
        for m in STEP.finditer(bare):
            found.append((m.start(), m.end(), SWAPS[m.group()], "operator"))
        for m in NOT.finditer(bare):
            found.append((m.start(), m.end(), "", "sign"))
        for m in NUMBER.finditer(bare):
            value = int(m.group(1), 0)
            more = f"{value + 1:#x}" if m.group(1).startswith("0x") else str(value + 1)
            found.append((m.start(1), m.end(1), more, "constant"))
        for m in TRUTH.finditer(bare):
            found.append((m.start(), m.end(), "false" if m.group() == "true" else "true", "constant"))
        whole = CALL.match(bare)
        if whole and not is_declaration(whole.group(1)) and not whole.group(1).startswith(("return", "if", "for", "while")):
            found.append((whole.start(1), whole.end(1), ";", "call"))
        whole = ASSIGN.match(bare)
        if whole and not is_declaration(whole.group(1)):
            found.append((whole.start(1), whole.end(1), ";", "assignment"))
        for first, last, new, kind in found:
            text = line[:first] + new + line[last:]
            nth = seen[line.strip(), text.strip()] = seen.get((line.strip(), text.strip()), 0) + 1
            yield Change(path, number, line, text, kind, nth)


def all_changes():
    return [c for path in sorted(glob.glob("nic_fw/*.c") + glob.glob("nic_fw/*/*.c")) for c in changes_of(path)]


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def words(name, **parts):
    """A command of the environment; a word that is a name of parts becomes that list."""
    out = []
    for word in shlex.split(os.environ[name]):
        out += parts[word] if word in parts else [word]
    return out


class DoesNotLink(Exception):
    """A change without which the library cannot be linked."""


class Bed:
    """The folder in which one process of this program builds and runs."""

    def __init__(self, name):
        self.folder = os.path.join(BUILD, name)
        os.makedirs(self.folder, exist_ok=True)
        # Two runs in one folder would replace each other's library.
        self.lock = open(os.path.join(self.folder, "lock"), "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print(f"score.py: another run is at work in {self.folder}", file=sys.stderr)
            sys.exit(2)
        with open(os.path.join(BUILD, "objects"), encoding="utf-8") as f:
            self.objects = f.read().split()
        with open(os.path.join(BUILD, "tests"), encoding="utf-8") as f:
            self.tests = dict(line.split() for line in f)  # name: variant
        self.times = {}
        self.hang_seconds = HANG_SECONDS
        self.sound_tests = {}
        self.objects_were = {}
        self.replaced = None
        self.linked = set()

    def library(self, variant):
        """The folder of the changed library, linked when a test first needs this variant: what its calls are wrapped for."""
        folder = os.path.join(self.folder, variant)
        if variant not in self.linked:
            os.makedirs(folder, exist_ok=True)
            objects = [os.path.join(self.folder, "changed.o") if o == self.replaced else o for o in self.objects]
            done = run(words("SCORE_SO_" + variant, OBJECTS=objects) + ["-o", os.path.join(folder, "libnicfw.so")])
            if done.returncode:
                raise DoesNotLink(done.stderr)
            self.linked.add(variant)
        return folder

    def build(self, change):
        """Compiles a change: None, or why it does not count."""
        copy = os.path.join(self.folder, "src", change.path)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open(change.path, encoding="utf-8") as f:
            text = f.read().split("\n")
        assert text[change.number - 1] == change.line
        text[change.number - 1] = change.new
        with open(copy, "w", encoding="utf-8") as f:
            f.write("\n".join(text))
        obj = os.path.join(self.folder, "changed.o")
        done = run(words("SCORE_CC") + ["-w", "-c", "-o", obj, copy])
        if done.returncode:
            return "does not compile"
        if self.plain(copy, "src", change.path) == self.plain(change.path, ".", change.path):
            return "same code"
        self.replaced = os.path.join("build/obj/score", change.path[:-1] + "o")
        self.linked = set()
        return None

    def plain(self, source, place, path):
        """The object of a source without sanitizers, which know the columns of operators."""
        if source == path and path in self.objects_were:
            return self.objects_were[path]
        obj = os.path.join(self.folder, "plain.o")
        prefix = f"-ffile-prefix-map={os.path.join(self.folder, place)}/="
        run(words("SCORE_CC_PLAIN") + ["-w", prefix, "-c", "-o", obj, source])
        with open(obj, "rb") as f:
            code = f.read()
        if source == path:
            self.objects_were[path] = code
        return code

    def environment(self, variant, changed=True):
        folder = self.library(variant) if changed else os.path.join(BUILD, "lib", variant)
        return dict(os.environ, LD_LIBRARY_PATH=folder,
                    ASAN_OPTIONS="detect_leaks=0:detect_odr_violation=0", TMPDIR=self.folder)

    def test(self, name, change):
        """Runs a unit test: its seconds of processor, and what it said, or None if it passed."""
        program = os.path.join(BUILD, "ut", name)
        if change and self.includes(name, change.path):
            program = self.rebuilt(name, change)
            if not program:
                return 0.0, "the test with the change in it does not build"
        limit = int(self.times.get(name, 0) * HANG_FACTOR) + self.hang_seconds

        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                  env=self.environment(self.tests[name], change is not None), preexec_fn=limits, timeout=20 * limit)
            failed, text = done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            failed, text = -24, ""
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if not failed:
            return seconds, None
        if failed in (-24, -9):  # SIGXCPU, and SIGKILL behind it
            return seconds, "hang"
        said = [line.strip() for line in text.splitlines()
                if re.search(r"CU_ASSERT|ssertion|ERROR:|runtime error|bench:|fix_", line)]
        return seconds, (said or [f"status {failed}"])[0][:200]

    def is_sound(self, name):
        """True if the test passes with the unchanged library. Those that do not are named once."""
        if name not in self.sound_tests:
            spent, said = self.test(name, None)
            self.sound_tests[name] = not said
            self.times[name] = spent
            if said:
                print(f"{name} fails with the unchanged firmware, and catches nothing: {said}", flush=True)
        return self.sound_tests[name]

    def includes(self, name, path):
        """True if the test includes this source itself, or a header of tests that does."""
        left, seen = [os.path.join("tests", name + ".c")], set()
        while left:
            with open(left.pop(), encoding="utf-8") as f:
                text = f.read()
            if f'#include "{path}"' in text:
                return True
            headers = set(re.findall(r'#include "(tests/[^"]*\.h)"', text)) - seen
            seen |= headers
            left += headers
        return False

    def rebuilt(self, name, change):
        obj, program = os.path.join(self.folder, "test.o"), os.path.join(self.folder, "test")
        done = run(words("SCORE_CC_TEST") + ["-w", "-iquote", os.path.join(self.folder, "src"), "-c", "-o", obj,
                                             os.path.join("tests", name + ".c")])
        if done.returncode:
            return None
        done = run(words("SCORE_TEST_" + name.split("/")[0], OBJECT=[obj], VARIANT=self.variant_of(name)) +
                   ["-o", program])
        return None if done.returncode else program

    def variant_of(self, name):
        variant = self.tests[name]
        return shlex.split(os.environ["SCORE_WRAP_" + variant]) + ["-L" + os.path.join(BUILD, "lib", variant)]

    def soak(self, seed, seconds, workload):
        """The first failure of a soak, or None."""
        report = os.path.join(self.folder, "soak.json")
        command = [os.path.join(BUILD, "bin", "weft-sim"), "--soak", "--seed", str(seed), "--cpu-seconds", str(seconds),
                   "--failures", "1", "--hang-seconds", str(SOAK_HANG), "--json", report]
        if workload:
            command += ["--workload", workload]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                       env=self.environment("plain"))
        with open(report, encoding="utf-8") as f:
            failures = json.load(f)["failures"]
        return failures[0] if failures else None

    def sound(self, seed, workload):
        """True if the unchanged firmware passes this seed of a soak."""
        command = [os.path.join(BUILD, "bin", "weft-sim"), "--seed", str(seed), "--random"]
        if workload:
            command += ["--workload", workload]
        return not subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                                  env=self.environment("plain", changed=False)).returncode

    def tests_of(self, floor, near):
        names = [n for n in self.tests if n.startswith(f"nic_fw/{floor}/")]
        for want in TESTS.get(floor, []):
            if near and want.startswith("sim/"):
                continue
            names += [n for n in self.tests
                      if (n.startswith(want[:-1]) if want.endswith("*") else n == want + "_ut") and n not in names]
        names = [n for n in names if not near or n not in SLOW]
        return sorted(names, key=lambda n: (n in SLOW, self.times.get(n, UNKNOWN_SECONDS)))

    def hunt(self, change, args, looked):
        """One change: its row. looked: it has survived a short look, whose tests are not run again."""
        row = {"key": change.key, "path": change.path, "line": change.number, "kind": change.kind,
               "was": change.line.strip(), "is": change.new.strip(), "seed": args.seed,
               "soak": 0 if args.near else args.seconds}
        why = self.build(change)
        if why:
            return dict(row, result=why)
        seconds = 0.0
        before = self.tests_of(change.floor, True) if looked else []
        for name in args.tests or [n for n in self.tests_of(change.floor, args.near) if n not in before]:
            spent, said = self.test(name, change)
            seconds += spent
            if said and self.is_sound(name):
                return dict(row, result="hang" if said == "hang" else "caught", by=name, said=said, seconds=round(seconds, 1))
        for workload in () if args.near else (None, WORKLOAD.get(change.floor)):
            seed, left = args.soak_seed, max(1, args.seconds // 2)
            while left > 0:
                failure = self.soak(seed, left, workload)
                if not failure:
                    seconds += left
                    break
                seconds += failure["after_cpu_s"]
                left -= int(failure["after_cpu_s"]) + 1
                seed = failure["seed"] + 1
                if self.sound(failure["seed"], workload):
                    hang = failure["oracle"] == "hang" or "hang" in failure["message"][:8]
                    return dict(row, result="hang" if hang else "caught", by="soak", seconds=round(seconds, 1),
                                said=f"seed {failure['seed']} {workload or ''}: {failure['message']}"[:200])
        return dict(row, result="survived", seconds=round(seconds, 1))

    def baseline(self, lazy):
        """Runs every test with the unchanged library, but those that passed since they were linked; lazy: none. The
        names of those that fail."""
        path = os.path.join(BUILD, "baseline.json")
        passed = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                passed = json.load(f)
        wrong = []
        for name in sorted(self.tests):
            files = (os.path.join(BUILD, "ut", name), os.path.join(BUILD, "lib", self.tests[name], "libnicfw.so"))
            stamp = [os.stat(f).st_mtime_ns for f in files]
            if passed.get(name, [None])[0] == stamp:
                self.sound_tests[name], self.times[name] = True, passed[name][1]
            elif lazy:
                continue
            elif self.is_sound(name):
                passed[name] = [stamp, self.times[name]]
                with open(path, "w", encoding="utf-8") as f:
                    json.dump(passed, f)
            else:
                wrong.append(name)
        return wrong


def equivalents():
    """Keys of changes that make no difference, by hand: their reasons."""
    out = {}
    if os.path.exists(EQUIVALENT):
        with open(EQUIVALENT, encoding="utf-8") as f:
            for line in f:
                if line.strip() and not line.startswith("#"):
                    key, _, reason = line.strip().partition(" ")
                    out[key] = reason
    return out


def read_state(path):
    rows = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                rows[row["key"]] = row
    return rows


COUNTED = ("caught", "hang", "survived")


def report(paths):
    rows, same = {}, equivalents()
    for path in paths:
        rows.update(read_state(path))
    table = {}
    for row in rows.values():
        parts = row["path"].split("/")
        floor = parts[1] if len(parts) > 2 else "."
        result = row["result"] if row["result"] in COUNTED else "not counted"
        if result == "survived" and row["key"] in same:
            result = "equivalent"
        for name in (floor, "all"):
            counts = table.setdefault(name, {})
            counts[result] = counts.get(result, 0) + 1
    print("| floor | changes | caught | of them hang | survived | equivalent | score |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in sorted(table, key=lambda n: (n == "all", n)):
        c = table[name]
        caught = c.get("caught", 0) + c.get("hang", 0)
        counted = caught + c.get("survived", 0)
        print(f"| `{name}` | {counted + c.get('equivalent', 0)} | {caught} | {c.get('hang', 0)} | {c.get('survived', 0)} | "
              f"{c.get('equivalent', 0)} | {100 * caught / max(1, counted):.1f} % |")
    print(f"\n{table.get('all', {}).get('not counted', 0)} more did not compile or made the same code.\n")
    for row in sorted(rows.values(), key=lambda r: (r["path"], r["line"])):
        if row["result"] == "survived" and row["key"] not in same:
            print(f"{row['key']} {row['path']}:{row['line']} `{row['was']}` -> `{row['is']}`")


def main():
    parser = argparse.ArgumentParser(description="Draws changes of the firmware and counts those that tests catch.")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (1)")
    parser.add_argument("--count", type=int, default=300, help="changes that count (300)")
    parser.add_argument("--seconds", type=int, default=20, help="of processor for each soak (20)")
    parser.add_argument("--soak-seed", type=int, default=1, help="first seed of each soak (1)")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="this process takes every N-th change")
    parser.add_argument("--state", action="append", metavar="FILE", help="rows (build/score/state-SEED-I.jsonl)")
    parser.add_argument("--near", action="store_true", help="tests of nic_fw and pair alone, no soak: a run without it looks at what survived")
    parser.add_argument("--lazy", action="store_true", help="try the unchanged firmware where a test fails, not all tests first")
    parser.add_argument("--file", metavar="FILE.c", help="changes of this file alone, without a soak, from the beginning each time")
    parser.add_argument("--tests", nargs="+", metavar="NAME", help="with --file: the unit tests to run, such as nic_fw/coll/goal_cmd_ut")
    parser.add_argument("--report", action="store_true", help="the score of the state files alone")
    parser.add_argument("--show", nargs="+", metavar="KEY", help="print these changes")
    args = parser.parse_args()
    if bool(args.file) != bool(args.tests) or (args.file and args.part != "1/1"):
        parser.error("--file and --tests belong together, without --part")
    if args.file and not args.state:
        args.state = [os.path.join(BUILD, f"file-{args.file.replace('/', '-')}-{args.seed}.jsonl")]
    args.near = args.near or bool(args.file)
    if args.report:
        report(args.state or sorted(glob.glob(os.path.join(BUILD, "state-*.jsonl"))))
        return 0
    changes = list(changes_of(args.file)) if args.file else all_changes()
    if args.show:
        for c in changes:
            if c.key in args.show:
                print(f"{c.path}:{c.number} ({c.key}, {c.kind})\n-{c.line}\n+{c.new}")
        return 0
    part, _, parts = args.part.partition("/")
    part, parts = int(part), int(parts or 1)
    if not 1 <= part <= parts:
        print("score.py: --part is I/N with I from 1 to N", file=sys.stderr)
        return 2
    state = (args.state or [os.path.join(BUILD, f"state-{args.seed}-{part}.jsonl")])[0]
    bed = Bed(f"bed-{args.file.replace('/', '-') if args.file else part}")
    wrong = bed.baseline(args.lazy)
    if args.file:
        bed.hang_seconds = FILE_HANG_SECONDS
    if wrong:
        print("\n".join(["score.py: the unchanged firmware fails:"] + wrong), file=sys.stderr)
        return 1
    print(f"{len(changes)} changes to draw from, {len(bed.tests)} tests"
          f"{'' if args.lazy else f', which the unchanged firmware passes in {sum(bed.times.values()):.0f} s'}", flush=True)
    # A row of a run with other tests says nothing of these.
    if args.file and os.path.exists(state):
        os.remove(state)
    rows = read_state(state)
    drawn = sorted(changes, key=lambda c: c.rank(args.seed))[part - 1::parts]
    done, begun = 0, time.monotonic()
    for change in drawn:
        if done >= args.count // parts:
            break
        row = rows.get(change.key)
        # A short look is followed by a long one.
        if not row or (row["result"] == "survived" and not args.near and row["soak"] < args.seconds):
            try:
                row = bed.hunt(change, args, row is not None)
            except DoesNotLink as e:
                row = {"key": change.key, "path": change.path, "line": change.number, "result": f"does not link: {e}"[:200]}
            with open(state, "a", encoding="utf-8") as f:
                f.write(json.dumps(row) + "\n")
            print(f"{time.monotonic() - begun:6.0f} {row['result']:9} {row.get('by', ''):24} {change.path}:{change.number} "
                  f"{change.line.strip()} -> {change.new.strip()}", flush=True)
        done += row["result"] in COUNTED
    if args.file:
        report([state])
    return 0


if __name__ == "__main__":
    sys.exit(main())
