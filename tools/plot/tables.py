# SPDX-License-Identifier: BSD-3-Clause
"""The command line of a program that measures the parts of a page of tables and draws them.

main() measures each part, or those that are asked for, writes its rows into pictures/PREFIX_PART.tsv, and puts its
pictures and its table into the page from there alone. Calls tools/bench/harness.py, figures.py.
"""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

from figures import measured_on, put, read, write
from harness import Env, Failed


def main(doc, page, prefix, parts, seconds):
    """parts: name: (function of the Env that returns rows, function of rows and the folder of pictures that returns
    lines). seconds: the length of one measurement by default, times 0.3."""
    name = os.path.basename(sys.argv[0])
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--draw-only", action="store_true", help="from the figures that are there")
    parser.add_argument("--part", action="append", choices=list(parts), help="these alone")
    parser.add_argument("--seconds", type=float, default=seconds, help="of one measurement, times 0.3 (%g)" % seconds)
    parser.add_argument("--windows", type=int, default=3, help="measurements of each figure (3)")
    parser.add_argument("dir", nargs="?", default="docs")
    args = parser.parse_args()
    for part in args.part or list(parts):
        measure, make = parts[part]
        path = "%s/pictures/%s_%s.tsv" % (args.dir, prefix, part)
        if not args.draw_only:
            env = Env(args)
            try:
                rows = measure(env)
            except (Failed, subprocess.SubprocessError, LookupError, ValueError) as e:
                sys.exit("%s: %s: %s" % (name, part, e))
            finally:
                env.close()
                os.rmdir(env.dir)
            write(path, rows)
        put("%s/%s" % (args.dir, page), part, measured_on(path) + make(read(path), args.dir + "/pictures"))
