#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-bench stages: the three streams run and are right, every stage that a message passes has
# cycles, and the output says if weftd does not count them.

. tests/int/lib.sh

weftd_start plain --nics 2
spawn none "$WEFT_BIN/weft-bench" stages --device weft0 --device2 weft1 --duration 0.1
expect_fail none 'start weftd with --stages'
kill9 plain

weftd_start counting --nics 2 --mtu 9000 --stages
spawn table "$WEFT_BIN/weft-bench" stages --device weft0 --device2 weft1 --duration 0.2
expect_ok table
grep -qE '^ rd_tx( +[0-9.]+){5}$' "$WEFT_TMP/table.out" || die 'no rd_tx in the table'

# The cost of reading the clock is subtracted: a stage that takes little may come out as nothing, and not in a later
# run.
every_stage_has_cycles()
{
	spawn json "$WEFT_BIN/weft-bench" stages --device weft0 --device2 weft1 --duration 0.2 --json
	expect_ok json
	python3 - "$WEFT_TMP/json.out" <<'END'
import json
import sys

runs = {r["name"]: r for r in json.load(open(sys.argv[1]))["runs"]}
passed = {"ud_send_64": ["db", "wqe", "ud_tx", "port_tx", "wire_rx", "dgram", "ud_rx", "cq"],
          "rd_send_64": ["db", "wqe", "rd_tx", "port_tx", "wire_rx", "dgram", "rd_rx", "ddp_rx", "cq"],
          "rd_write_1m": ["rd_tx", "port_tx", "dgram", "rd_rx", "ddp_rx"],
          "goal_local_8": ["db", "goal"],
          "goal_msg_8": ["db", "goal", "esp", "port_tx", "wire_rx"]}
assert set(runs) == set(passed), list(runs)
for name, run in runs.items():
    cycles = run["cycles_per_packet"]
    assert run["packets"] > 0, name
    assert 0 <= run["idle_share"] < 1, name
    assert abs(sum(cycles.values()) - run["all"]) < 1, name
sys.exit(0 if all(runs[name]["cycles_per_packet"][stage] > 0 for name in passed for stage in passed[name]) else 3)
END
	case $? in
	0) ;;
	3) return 1 ;;
	*) die 'the JSON object is not what it should be' ;;
	esac
}
wait_until 'every stage has cycles' every_stage_has_cycles
