#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""weft-tune's command line: defaults, limits, and that what makes no sense is refused before anything is opened."""
import unittest

from tune_fix import plan_of

import options
from apply import by_hand
from space import ALL_PARAMS, Setting
from start import Start
from tool import Usage

REFUSED = """
--sim --device weft0
--device
--sim --peer weft1
--sim --objective speed
--sim --method magic
--sim --budget 0
--sim --budget -1
--sim --budget 1e9
--sim --budget 100M
--sim --seed x
--sim --seed 18446744073709551616
--sim --repeats 65
--sim --params rx-usec
--sim --params rx-usecs,
--sim --also speed
--sim --also lat_us,
--sim --grid 1,2
--sim --method grid
--sim --method grid --grid 1024
--sim --method grid --grid 1,,2
--sim --method grid --grid ,
--sim --samples 10
--sim --start off
--sim --method hill --start there
--sim --method hill --start rx-usecs
--sim --method hill --start rx-usecs=5,
--sim --method hill --start rx-usecs=x
--sim --paper --method random
--sim --paper --objective latency
--sim --paper --grid 1
--sim --objective pareto --method linear
--sim --objective pareto --method hill
--sim --dry-run
--sim --frobnicate
--sim --p rx-usecs
--sim --paper=1
--sim -x
--sim again
search dir
report
report a b
report a --seed 3
report a --sim
apply dir
apply dir --sim
apply dir --device weft0 --budget 3
--resume dir --budget 3
--resume dir --device weft0
--resume dir other
--resume dir --objective cpu
"""
AGAIN = """
--sim --budget 10 --also bw_1m,cpu_us_per_msg
--sim=espgoal --method genetic --objective cpu --budget 5 --seed 9 --repeats 4
--device weft0 --peer weft1 --method grid --grid 0,1,2 --params rx-usecs,rx-frames --budget 20
--sim --paper --samples 30 --budget 600
--sim --paper --start off --budget 600
--sim --method hill --budget 99 --start rx-usecs=7,tx-frames=0
"""


def parse(line):
    return options.parse(line.split())


class Lines(unittest.TestCase):
    def test_defaults(self):
        o = parse("--sim")
        plan = o.plan
        self.assertEqual((o.command, plan.method, plan.objective, plan.seed, plan.repeats, plan.samples, plan.budget),
                         ("run", "halving", "latency", 1, 1, 250, 0))
        self.assertEqual((plan.params, plan.target, plan.name, plan.start), ((), "sim", "", Start()))
        self.assertEqual(o.out, "weft-tune-latency-halving")
        self.assertEqual(parse("--sim --paper").out, "weft-tune-paper")

    def test_values(self):
        o = parse("--sim=espgoal --objective bandwidth --method grid --grid 0,10,1023 --params rx-usecs,tx-frames-irq "
                  "--budget 7 --seed 18446744073709551615 --repeats 3 --out x/y --json --quiet")
        plan = o.plan
        self.assertEqual((plan.name, plan.objective, plan.method, plan.grid, plan.params, plan.budget, plan.seed),
                         ("espgoal", "bandwidth", "grid", (0, 10, 1023), (0, 7), 7, (1 << 64) - 1))
        self.assertEqual((plan.repeats, o.out, o.json, o.quiet), (3, "x/y", True, True))
        # Options are shortened as far as they stay clear, and stand anywhere; K and M are 1024 and its square.
        self.assertEqual(parse("--sim --bud 2K").plan.budget, 2048)
        self.assertEqual(parse("report --js dir").path, "dir")
        plan = parse("--sim --method hill --start rx-usecs=5,tx-frames=0").plan
        self.assertEqual(plan.start, Start("given", ((0, 5), (3, 0))))
        self.assertEqual(parse("--netdev eth1 --peer 10.0.0.2:7000").plan.name, "eth1@10.0.0.2:7000")
        o = parse("--resume dir")
        self.assertEqual((o.command, o.path), ("resume", "dir"))
        self.assertEqual(parse("report dir --json").command, "report")
        o = parse("apply dir --device weft3 --objective pareto --dry-run")
        self.assertEqual((o.command, o.objective, o.dry_run), ("apply", "pareto", True))
        self.assertEqual([parse(line).command for line in ("--help", "-h --bad", "--version")],
                         ["help", "help", "version"])

    def test_refused(self):
        for line in [""] + REFUSED.split("\n")[1:-1]:
            with self.assertRaises(Usage, msg=line):
                parse(line)

    def test_command_again(self):
        """The line that a report names makes the same plan."""
        for line in AGAIN.split("\n")[1:-1]:
            plan = parse(line).plan
            command = options.command_of(plan)
            self.assertTrue(command.startswith("weft-tune "))
            self.assertEqual(parse(command[10:]).plan, plan)
        plan = plan_of("halving", "latency", 10, params=ALL_PARAMS)
        self.assertNotIn("--params", options.command_of(plan))

    def test_by_hand(self):
        s = Setting((5, 16, 72, 0, 1, 2, 3, 4))
        self.assertEqual(by_hand("netdev", "eth0@10.0.0.2", s, (0, 1)), "ethtool -C eth0 rx-usecs 5 rx-frames 16")
        self.assertEqual(by_hand("device", "weft1", s, (3,)), "weftctl coalesce weft1 set tx-frames 0")
        self.assertEqual(by_hand("sim", "espgoal", s, (0,)), "weftctl coalesce weft0 set rx-usecs 5")


if __name__ == "__main__":
    unittest.main()
