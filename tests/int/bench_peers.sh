#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tools/bench/peers.py answers as a NIC of this tree does: weft-bench mem opens a session with each of
# 20 peers that it plays.

. tests/int/lib.sh
need python3 ethtool

veth_add a b
a=$(unique a) b=$(unique b)
ip netns exec "$a" ethtool -K va tx off >/dev/null
spawn peers ip netns exec "$b" python3 tools/bench/peers.py vb 10.90.0.0/16
says peers ready
in_ns="ip netns exec $a"
weftd_start d --port va --ip 10.90.0.1/16 --netdev packet
in_ns=
spawn mem "$WEFT_BIN/weft-bench" mem --pid "${pid[d]}" --peers 20 --peer-ip 10.90.1.1 --device weft0
expect_ok mem
out_has mem '^20 idle peers'
weftd_stop d
