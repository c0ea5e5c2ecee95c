#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# goal-run --model against times that LogGOPSim computed for published schedules.
#
# WEFT_GOAL_DATA names a folder with predicted.tsv, whose head names the columns (file, L, o, g, G,
# O, S, max_finish_stablesort, argmax, min_finish), and the schedules that its rows name. Every row
# must agree exactly, also after goal-dump has rewritten the schedule.
# timeout: 300

import csv
import json
import os
import subprocess
import sys

data = os.environ.get("WEFT_GOAL_DATA")
if not data:
    print("WEFT_GOAL_DATA does not name a folder of schedules with predicted.tsv")
    sys.exit(77)
binaries, tmp = os.environ["WEFT_BIN"], os.environ["WEFT_TMP"]


def predict(path, row):
    """Returns goal-run's JSON for one row."""
    params = ",".join(row[c] for c in ("L", "o", "g", "G", "O", "S"))
    p = subprocess.run(
        [f"{binaries}/goal-run", "--json", "--model", params, path], capture_output=True, text=True
    )
    if not p.stdout:
        sys.exit(f"{path}: {p.stderr}")
    return json.loads(p.stdout)


def got(result):
    if result["deadlock"]:
        return {"max_finish_stablesort": "deadlock"}
    return {
        "max_finish_stablesort": str(result["finish_ns"]),
        "argmax": str(result["last_rank"]),
        "min_finish": str(min(result["rank_finish_ns"])),
    }


rows = exact = 0
dumped = {}
with open(f"{data}/predicted.tsv") as f:
    for row in csv.DictReader(f, delimiter="\t"):
        rows += 1
        path = f"{data}/{row['file']}"
        if path not in dumped:
            dumped[path] = f"{tmp}/{len(dumped)}.goal"
            subprocess.run([f"{binaries}/goal-dump", "-o", dumped[path], path], check=True)
        results = [got(predict(p, row)) for p in (path, dumped[path])]
        wrong = [r for r in results if any(row[k] != v for k, v in r.items())]
        exact += not wrong
        for r in wrong:
            print(f"{row['file']} {row.get('params', '')}: {r}, LogGOPSim {row['max_finish_stablesort']}")
print(f"{rows} rows, {exact} exact, {len(dumped)} schedules")
sys.exit(0 if rows and exact == rows else 1)
