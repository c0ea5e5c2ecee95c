#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench/apps.py: rows from turns, differing results, missing programs."""
import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "tools/bench")
import apps  # noqa: E402


def check(got, want):
    if got != want:
        print("%r, not %r" % (got, want))
        sys.exit(1)


rows = apps.rows_of({"x_2": {"weft": [(2.0, "s"), (4.0, "s"), (3.0, "s")], "weft_ud": [(6.0, "s")] * 3,
                             "tcp": [(4.0, "s"), (2.0, "s"), (4.0, "s")], "vader": [(1.0, "s")] * 3}}, 3)
check([r["name"] for r in rows], ["app_x_2", "app_x_2_ud"])
row = rows[0]
check((row["value"], row["baseline"], row["ratio"], row["min"], row["max"], row["vader"], row["less_is_better"]),
      (3.0, 4.0, 0.75, 0.5, 2.0, 1.0, True))
check(apps.rows_of({"n": {"weft": [(5.0, "k/s")], "tcp": [(4.0, "k/s")]}}, 1)[0]["less_is_better"], False)

apps.same(("energies", 2), [1.0, -5.5], "weft")
apps.same(("energies", 2), [1.0 + 1e-9, -5.5], "tcp")
try:
    apps.same(("energies", 2), [1.0, -5.4], "tcp")
    check("a wrong result", "an error")
except apps.Failed as e:
    check("over tcp" in str(e), True)

args = argparse.Namespace(npb="", osu="/nonexistent")
for command in apps.TOOLS:
    if command != "mpirun":
        apps.TOOLS[command] = "package-of-" + command
os.environ["PATH"] = "/nonexistent"
if not os.path.exists("/usr/sbin/nginx"):
    check(apps.missing("nginx", args), "no nginx: apt-get install package-of-nginx")
check(apps.missing("hpcc", args), "no mpirun: apt-get install openmpi-bin")
check(apps.missing("redis", args), "no redis-server: apt-get install package-of-redis-server")
os.environ["PATH"] = os.defpath

listed = subprocess.run([sys.executable, "-B", "tools/bench/apps.py", "--list"], check=True, capture_output=True, text=True).stdout
for name in ("hpcc", "lammps_melt", "lammps_shear", "npb_cg_w", "osu_latency", "fio", "iperf3", "redis", "nginx"):
    check(name in listed.split(), True)
check(subprocess.run([sys.executable, "-B", "tools/bench/apps.py", "nope"], capture_output=True, check=False).returncode, 2)
