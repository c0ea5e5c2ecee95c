# SPDX-License-Identifier: BSD-3-Clause
"""The file of measured rows, build/bench.json: new rows replace those of the same name, the others stay.

Each row says where it comes from: commit ("+" where the tree had changes that are not committed),
date, processor and kernel. The file is replaced whole, so a run that is stopped leaves the old one.
"""
import json
import os
import platform
import subprocess
import time


def git(folder, *words):
    """git's output for a folder, or an empty text where there is no git or no repository."""
    try:
        p = subprocess.run(["git", "-C", folder] + list(words), capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return p.stdout.strip() if p.returncode == 0 else ""


def processor(cpuinfo="/proc/cpuinfo"):
    """The name of the first processor."""
    with open(cpuinfo) as f:
        for line in f:
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "CPU part"):
                return value.strip()
    return platform.machine()


def origin(folder):
    """Origin of rows that are measured now, with the programs of this tree."""
    commit = git(folder, "rev-parse", "--short=12", "HEAD")
    if commit and git(folder, "status", "--porcelain", "--untracked-files=no"):
        commit += "+"
    return {"commit": commit or "unknown", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "processor": processor(), "kernel": platform.release()}


def read(path):
    """The rows of a file; none if it is missing or not valid."""
    try:
        with open(path) as f:
            rows = json.load(f)
    except (OSError, ValueError):
        return []
    if not isinstance(rows, list):
        return []
    return [r for r in rows if isinstance(r, dict) and "name" in r]


def merge(path, rows, where):
    """Puts rows into the file, with their origin. A row keeps its place; new ones come last."""
    fresh = {r["name"]: dict(r, **where) for r in rows}
    merged = [fresh.pop(r["name"], r) for r in read(path)] + [fresh[r["name"]] for r in rows if r["name"] in fresh]
    part = path + ".part"
    with open(part, "w") as f:
        json.dump(merged, f, indent=1)
        f.write("\n")
    os.replace(part, path)
