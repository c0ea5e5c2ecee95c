#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Mutants of the firmware: applies the changes of mutants.txt one at a time to a copy of the source
# file they name, links a weft-sim with it, and runs the soak until it finds the fault.
#
#	mutants.py [--seed N] [--limit SECONDS] [--json FILE] [NAME...]
#	mutants.py --check [NAME...]	every mutant applies and is built to a program; nothing is run
#
# `make mutants` gives in the environment MUTANT_CC_nic_fw and MUTANT_CC_dpdk_app (the compiler with
# all flags of the folder), MUTANT_TEST and MUTANT_TEST_dpdk_app (the commands that link unit
# tests), MUTANT_LINK (the command that links weft-sim, with the word OBJECT before the archives)
# and MUTANT_SIM (weft-sim as it is). Time is processor time of the runs, one at a time, so that a
# busy machine changes nothing. A seed counts only if the unchanged firmware passes it; the others
# are listed. Exit status 0: each mutant was caught; 1: one survived, does not apply or does not
# compile, or a seed fails without a mutant; 2: wrong usage.

import argparse
import concurrent.futures
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mutants.txt")
BUILD = os.path.join("build", "mutants")
HANG_SECONDS = 10  # seconds after which an endless run ends
TEST_SECONDS = 60  # and seconds of processor time of a test
WALL_FACTOR = 10  # limit of wall-clock time, for a test that waits for ever
FLAGS = []  # of the compiler, beside those of the firmware
LINK_FLAGS = []
os.environ.setdefault("WEFT_TAG_ALL", "5")  # more interleavings in sim/tag_order_ut

# Areas that the soak does not reach: their mutants are caught by these unit tests.
TESTS = {"TCP": ["nic_fw/tcp/tcp_sack_ut", "nic_fw/tcp/tcp_cong_ut", "sim/tcp_ut", "sim/tcp_conn_ut", "sim/tcp_peer_ut", "sim/tcp_bad_ut", "sim/tcp_early_ut",
                 "sim/tcp_forged_ut", "sim/tcp_strange_ut", "sim/tcp_frto_ut", "sim/tcp_mtu_ut"],
         "MPA": ["sim/rc_tcp_ut"],
         "runs of TCP": ["sim/tcp_run_same_ut", "nic_fw/tcp/tcp_run_ut"],
         "connections at rest": ["nic_fw/tcp/tcp_rest_ut", "sim/tcp_rest_ut", "sim/rc_tcp_ut"],
         "sleep": ["pair/db_ut"],
         "shares": ["nic_fw/base/share_ut"],
         "HELLOs": ["pair/rd_hello_ut"],
         "bundles": ["pair/rd_bundle_ut"],
         "slices": ["nic_fw/base/slice_ut"],
         "ways out": ["pair/rd_flow_ut"],
         "neighbours": ["nic_fw/net/neigh_ut", "nic_fw/net/neigh_full_ut"],
         "withdrawal": ["pair/rd_withdraw_ut"],
         "grants": ["pair/rd_grant_loss_ut"],
         "lost credits": ["sim/congestion_ut"],
         "TCP windows": ["sim/congestion_ut"],
         "offers": ["pair/rd_session_ut"],
         "RC over ESP": ["pair/esp_rdmap_ut", "pair/esp_rdmap_gone_ut", "pair/esp_answer_ut"],
         "late copies": ["nic_fw/host/cq_late_ut"],
         "commands": ["nic_fw/host/cmd_ut"],
         "STags": ["nic_fw/host/mem_ut", "nic_fw/host/mem_window_ut"],
         "guesses": ["nic_fw/host/guess_ut"],
         "chains": ["nic_fw/chains_ut"],
         "walks": ["nic_fw/walks_ut"],
         "stopped flows": ["pair/rd_stopped_ut"],
         "ends of connections": ["pair/cm_end_ut"],
         "Terminates": ["pair/rd_term_ut"],
         "notices": ["pair/tag_notice_ut"],
         "contexts": ["pair/tag_context_ut"],
         "tags for endpoints in set-up": ["pair/tag_setup_ut"],
         "stations": ["nic_fw/base/station_ut", "pair/station_ut", "pair/esp_rx_ut"],
         "slow multicasts": ["sim/mgrp_ut"],
         "runs of groups": ["sim/mgrp_borrow_ut", "nic_fw/coll/mgrp_data_ut"],
         "dear copies": ["sim/goal_dear_ut"],
         "operations on late pages": ["sim/goal_user_ut"],
         "late completions": ["pair/late_copy_ut"],
         "packets put off": ["pair/esp_room_ut"],
         "length of turns": ["nic_fw/base/pace_ut", "pair/sched_ut", "pair/esp_room_ut", "pair/fw_ut"],
         "vain rings": ["dpdk_app/idle_ut"],
         "requests": ["pair/wqe_ut"],
         "slots of sent requests": ["pair/wqe_done_ut"],
         "silent sessions": ["pair/rd_timer_ut"],
         "half-open": ["nic_fw/tcp/tcp_listen_ut"],
         "open receives": ["nic_fw/rdmap/recv_many_ut"],
         "large blocks": ["nic_fw/coll/goal_heap_ut"],
         "own memory": ["dpdk_app/client_mem_ut"],
         "low ports": ["dpdk_app/port_right_ut"],
         "random numbers": ["dpdk_app/random_ut"],
         "slow atomics": ["pair/slow_atomic_ut"],
         "refused peers": ["pair/esp_refused_ut"],
         "renewal": ["pair/fw_renew_ut"],
         "circles": ["nic_fw/coll/goal_circle_ut"],
         "operations of users": ["nic_fw/coll/goal_op_ut"],
         "full pools": ["nic_fw/coll/goal_still_ut"],
         "memif": ["dpdk_app/memif_check_ut"],
         "memif rings": ["dpdk_app/memif_ring_ut"],
         "runs to the kernel": ["dpdk_app/gso_whole_ut", "dpdk_app/wire_runs_ut"],
         "host copies": ["dpdk_app/hostcopy_ut"],
         "tags of an endpoint": ["nic_fw/tag/tag_match_ut", "nic_fw/tag/tag_match_random_ut"],
         "turns of endpoints": ["pair/tag_turns_ut"],
         "tags between NICs": ["pair/tag_rtr_ut", "sim/tag_order_ut"],
         "shares of peers": ["pair/tag_share_ut"],
         "buffers of many messages": ["pair/tag_eager_ut"],
         "messages of one packet": ["pair/tag_whole_ut", "pair/tag_rtr_ut"],
         "forged tags": ["pair/tag_forge_ut"],
         "borrowed frames": ["sim/borrow_ut", "sim/goal_borrow_ut"], "runs of GOAL": ["sim/goal_borrow_ut", "nic_fw/coll/goal_msg_tx_ut"],
         "MODER": ["nic_fw/host/moder_limits_ut", "nic_fw/host/moder_irq_ut", "nic_fw/host/moder_ut", "nic_fw/host/moder_cmd_ut", "nic_fw/host/moder_target_ut",
                   "sim/moder_ut", "host_driver/weft_eq_race_ut"]}


# Areas that one workload reaches: the soak draws this one alone.
WORKLOADS = {"UD": "ud_long",
             "UD datagrams": "ud_send",
             "UD groups": "ud_mcast",
             "UC": "uc",
             "XRC": "xrc",
             "bytes behind messages": "rd_send",
             "latency": "calm",
             "tables of peers": "rd_send",
             "RC over TCP": "rc_tcp",
             "atomics": "rd_mix:typed=100",
             "data of hostile queue pairs": "hostile"}


def limit_cpu():
    """A test that a busy machine slows down has caught nothing."""
    resource.setrlimit(resource.RLIMIT_CPU, (TEST_SECONDS, TEST_SECONDS + 1))


class Mutant:
    def __init__(self, name, area, path, what):
        self.name, self.area, self.what = name, area, what
        # A changed header is followed by the sources to compile with it.
        self.path, _, users = path.partition(":")
        self.sources = users.split() or [self.path]
        self.old, self.new, self.objects, self.error = [], [], [], None

    def source(self):
        """The changed text of the file, or None with the reason in self.error."""
        with open(self.path, encoding="utf-8") as f:
            text = f.read()
        old = "".join(line + "\n" for line in self.old)
        found = text.count(old) if old else 0
        # Whole lines: "return x;" must not be found at the end of a longer one.
        starts = ("\n" + text).count("\n" + old) if old else 0
        if found != 1 or starts != 1:
            self.error = f"its old lines stand in {self.path} {starts} times, not once"
            return None
        return text.replace(old, "".join(line + "\n" for line in self.new))

    def compile(self):
        """Makes the objects, and the simulator for a soak's mutant; False with the reason in self.error."""
        text = self.source()
        if text is None:
            return False
        folder = os.path.join(BUILD, self.name)
        # A copy of a header is found before the tree's own, by the same #include.
        copy = os.path.join(folder, self.path)
        # A header that an earlier form of this mutant changed must not be found.
        shutil.rmtree(os.path.join(folder, self.path.split("/")[0]), ignore_errors=True)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open(copy, "w", encoding="utf-8") as f:
            f.write(text)
        self.sim = os.path.join(folder, "weft-sim")
        self.objects = []
        cc = shlex.split(os.environ["MUTANT_CC_" + self.path.split("/")[0]]) + FLAGS
        if self.area in TESTS:
            cc.append("-DFW_COUNT_WALKS")  # nic_fw/base/walk.h, as the firmware that tests are linked with
        for path in self.sources:
            obj = os.path.join(folder, os.path.basename(path)[:-1] + "o")
            source = copy if path == self.path else path
            # A mutant may leave unused names: warnings are switched off.
            if not self.run(cc + ["-iquote", folder, "-w", "-c", "-o", obj, source]):
                return False
            self.objects.append(obj)
        return self.area in TESTS or self.link(os.environ["MUTANT_LINK"], self.sim)

    def link(self, command, program):
        """The objects come before the archives, so that they replace the members of these names."""
        words = []
        for word in shlex.split(command):
            if "/libut_" in word and not os.path.exists(word):
                continue  # a folder without helpers
            words += self.objects if word == "OBJECT" else [word]
        return self.run(words + LINK_FLAGS + ["-o", program])

    def link_test(self, name):
        """Builds a unit test with the mutant: the program, or None."""
        folder = name.split("/")[0]
        program = os.path.join(BUILD, self.name, os.path.basename(name))
        command = os.environ["MUTANT_TEST_dpdk_app" if folder == "dpdk_app" else "MUTANT_TEST"]
        command += " " + os.environ.get("MUTANT_FLAGS_" + folder, "")
        command = command.replace("OBJECT", "OBJECT " + os.environ.get("MUTANT_STUBS_" + os.path.basename(name), ""))
        return program if self.link(command.replace("TEST", name).replace("FOLDER", folder), program) else None

    def build(self):
        """Builds the program that has to find the mutant, without running it."""
        return self.compile() and (self.area not in TESTS or bool(self.link_test(TESTS[self.area][-1])))

    def run(self, command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self.error = "does not compile: " + (done.stderr.strip().splitlines() or ["?"])[0]
        return not done.returncode

    def workload(self):
        """The options of its runs that name its area's workload."""
        return ["--workload", WORKLOADS[self.area]] if self.area in WORKLOADS else []

    def soak(self, seed, limit):
        """The first failure of a seed with the mutant, or None."""
        report = os.path.join(BUILD, self.name, "soak.json")
        command = [self.sim, "--soak", "--seed", str(seed), "--cpu-seconds", str(limit), "--failures", "1",
                   "--hang-seconds", str(HANG_SECONDS), "--json", report, *self.workload()]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with open(report, encoding="utf-8") as f:
            self.report = json.load(f)
        return self.report["failures"][0] if self.report["failures"] else None

    def test(self, name):
        """Links a unit test with the mutant and runs it: its seconds of processor time, its first failure or
        None, and how it hung or None. A test that hangs has said nothing: a limit is no oracle."""
        program = self.link_test(name)
        if not program:
            return None
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text, code, hung = "", 0, None
        try:
            done = subprocess.run([program], capture_output=True, text=True, check=False,
                                  timeout=TEST_SECONDS * WALL_FACTOR, preexec_fn=limit_cpu)
            text, code = done.stdout + done.stderr, done.returncode
        except subprocess.TimeoutExpired:
            hung = f"{name} waits for ever"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        signs = ("CU_ASSERT", "fix_", "ssert", "Sanitizer", "runtime error")
        said = [line.strip() for line in text.splitlines() if any(s in line for s in signs)]
        # The kernel kills at the limit, and a handler of a sanitizer may turn that into another end.
        if code and not said and (code in (-signal.SIGXCPU, -signal.SIGKILL) or seconds >= TEST_SECONDS):
            code, hung = 0, f"{name} runs for {TEST_SECONDS} s of processor time"
        return seconds, (said or [f"ends with {code}"])[0] if code else None, hung


def read_table():
    mutants, number = [], 0
    with open(TABLE, encoding="utf-8") as f:
        for line in f.read().splitlines():
            number += 1
            if line.startswith("== "):
                fields = [x.strip() for x in line[3:].split("|")]
                if len(fields) != 4 or any(m.name == fields[0] for m in mutants):
                    sys.exit(f"{TABLE}:{number}: a head is == NAME | AREA | FILE | WHAT, each name once")
                mutants.append(Mutant(*fields))
            elif line.startswith("#") or not line.strip():
                continue
            elif mutants and line[0] in " -+":
                if line[0] != "+":
                    mutants[-1].old.append(line[1:])
                if line[0] != "-":
                    mutants[-1].new.append(line[1:])
            else:
                sys.exit(f"{TABLE}:{number}: a line begins with a blank, - or +")
    return mutants


def holds_without(seed, options):
    """True if the unchanged firmware passes this seed."""
    command = [os.environ["MUTANT_SIM"], "--seed", str(seed), "--random", *options]
    return not subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


unsound = set()  # seeds that fail without a mutant: defects, or checks that are wrong


def hunt(mutant, seed, limit):
    """One mutant: its row."""
    row = {"mutant": mutant.name, "area": mutant.area, "file": mutant.path, "what": mutant.what, "caught": False}
    if not mutant.compile():
        return dict(row, error=mutant.error)
    row.update(runs=0, seconds=0.0)
    for name in TESTS.get(mutant.area, []):
        result = mutant.test(name)
        if not result:
            return dict(row, error=mutant.error)
        seconds, failure, hung = result
        row.update(runs=row["runs"] + 1, seconds=round(row["seconds"] + seconds, 1))
        if hung:
            row["hung"] = hung
        if failure:
            return dict(row, caught=True, oracle=os.path.basename(name), seed="-", message=failure)
    while mutant.area not in TESTS and not row["caught"] and row["seconds"] < limit:
        failure = mutant.soak(seed, max(1, round(limit - row["seconds"])))
        row["runs"] += mutant.report["runs"]
        row["seconds"] += failure["after_cpu_s"] if failure else limit
        if failure and holds_without(failure["seed"], mutant.workload()):
            row.update(caught=True, oracle=failure["oracle"], seed=failure["seed"], message=failure["message"])
        elif failure:
            unsound.add(failure["seed"])
            seed = failure["seed"] + 1
    return row


def show(row):
    if row["caught"]:
        end = f"{row['seconds']:7.1f} s  seed {row['seed']:<6} {row['oracle']:<13}"
    elif "hung" in row:
        end = f"{row['seconds']:7.1f} s  HANGS, and no oracle saw it: {row['hung']}"
    else:
        end = f"{row.get('seconds', 0):7.1f} s  SURVIVED: {row.get('error', 'no oracle saw it')}"
    print(f"{row['area']:<10} {row['mutant']:<34} {end}  {row['what']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Lets the soak look for deliberate faults in the firmware.")
    parser.add_argument("--check", action="store_true", help="only build each, to a program")
    parser.add_argument("--seed", type=int, default=1, help="first seed of each soak (1)")
    parser.add_argument("--limit", type=int, default=60, help="processor seconds for each mutant (60)")
    parser.add_argument("--json", help="the rows, as JSON")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of mutants; all when none is given")
    args = parser.parse_args()
    mutants = read_table()
    unknown = set(args.names) - {m.name for m in mutants}
    if unknown:
        print(f"mutants.py: there is no mutant called {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    mutants = [m for m in mutants if not args.names or m.name in args.names]
    if args.check:
        FLAGS.extend(["-O0", "-g0"])  # nothing is run
        LINK_FLAGS.append("-Wl,-s")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            built = list(pool.map(Mutant.build, mutants))
        broken = [m for m, right in zip(mutants, built) if not right]
        for m in broken:
            print(f"tests/mutants/mutants.txt: {m.name}: {m.error}")
        print(f"{len(mutants)} mutants, {len(broken)} broken")
        return 1 if broken else 0
    rows = []
    for mutant in mutants:
        rows.append(hunt(mutant, args.seed, args.limit))
        show(rows[-1])
    survived = [r["mutant"] for r in rows if not r["caught"]]
    print(f"{len(rows)} mutants, {len(survived)} survived{': ' if survived else ''}{' '.join(survived)}")
    hung = [r["mutant"] for r in rows if "hung" in r]
    if hung:
        print(f"tests that hung: {' '.join(hung)}")
    if unsound:
        print(f"seeds that fail without any mutant: {' '.join(map(str, sorted(unsound)))}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"limit_s": args.limit, "first_seed": args.seed, "unsound_seeds": sorted(unsound),
                       "mutants": rows}, f, indent=1)
            f.write("\n")
    return 1 if survived or unsound else 0


if __name__ == "__main__":
    sys.exit(main())
