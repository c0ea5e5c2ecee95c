#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of attacks in docs/security.md: each row is filled in, and names tests, cases and seeds that exist and that
make test runs."""
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = 4
# A test with its folders, or a case of the test before it.
TEST = re.compile(r"(?:[a-z_]+/)*[a-z0-9_]+(?:_ut|\.sh)")
SEED = re.compile(r"seed (\d+)")


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rows():
    table = text_of("docs/security.md").split("\n## Attacks, before and now\n")[1]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def run_by_make():
    """Paths of the tests of make test, below tests/ and without suffix, but for scripts."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    words = subprocess.run(["make", "-s", "--no-print-directory", "--eval", "names: ; @echo $(UT_BINS) $(INT_SCRIPTS)", "names"],
                           cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout.split()
    return {re.sub(r"^.*?/ut/|^tests/", "", word) for word in words}


class Attacks(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tests = run_by_make()
        cls.seeds = text_of("tests/sim/seeds.txt")

    def files_of(self, word):
        """Sources of a test that a row names, with some of its folders or none."""
        paths = [path for path in self.tests if ("/" + path).endswith("/" + word)]
        if not paths and "/" in word:
            # The folder of the family stands for its floors: nic_fw/cq_ut, coll/goal_ut.
            first, last = word.split("/")[0], word.split("/")[-1]
            paths = [path for path in self.tests if path.split("/")[-1] == last and first in path.split("/")]
        sources = []
        for path in paths:
            stem = os.path.join("tests", path)
            sources += [name for name in (stem, stem + ".c", stem[:-3] + ".c", stem[:-3] + ".h")
                        if os.path.isfile(os.path.join(ROOT, name))]
        return "".join(text_of(name) for name in sources)

    def test_rows_are_full(self):
        """Four cells, none of them empty; the same attack once."""
        all_rows = rows()
        self.assertGreater(len(all_rows), 100)
        for row in all_rows:
            self.assertEqual(len(row), COLUMNS, row)
            self.assertTrue(all(row), row)
        names = [row[0] for row in all_rows if not row[0].startswith("the same")]
        self.assertEqual(len(names), len(set(names)))

    def test_tests_are_run(self):
        """Each test is one of make test; a case is in the test that the row names before it, or an input of the fuzzer; a seed is
        one of the kept ones."""
        missing = []
        inputs = {name for _, _, names in os.walk(os.path.join(ROOT, "tests/fuzz")) for name in names}
        for row in rows():
            source = ""
            for part in re.split(r"[,;] +", re.sub(r" \([^)]*\)", "", row[1])):
                if SEED.fullmatch(part):
                    self.assertIn("--seed %s " % SEED.fullmatch(part).group(1), self.seeds, row[0])
                    continue
                if part.startswith("workloads "):
                    for word in part.split()[1:]:
                        self.assertTrue(word == "and" or "--workload " + word in self.seeds, row[0])
                    continue
                words = part.split()
                if TEST.fullmatch(words[0]):
                    source = self.files_of(words[0])
                    if not source:
                        missing.append("make test runs no %s: %s" % (words[0], row[0]))
                    words.pop(0)
                for case in words:
                    if case.strip("`") in inputs:
                        continue
                    if not re.search(r"\b%s\b" % re.escape(case.strip("`")), source):
                        missing.append("no %s in the test of: %s: %s" % (case, row[0], row[1]))
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
