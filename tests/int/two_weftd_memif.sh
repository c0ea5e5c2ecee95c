#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two weftd processes over memif: weft-bench between them, with small and jumbo frames.

. tests/int/lib.sh

weftd_start first --port "memif:$WEFT_RUN_DIR/m.sock,server" --ip 10.9.0.1/24 --mtu 9000 --name left
weftd_start second --port "memif:$WEFT_RUN_DIR/m.sock" --ip 10.9.0.2/24 --mtu 9000 --name right
bench left0 right0 lat --iters 500
bench left0 right0 lat --iters 200 --op atomic
bench right0 left0 bw --op write --size 200000 --iters 100
bench right0 left0 bw --op read --size 200000 --iters 100
bench right0 left0 lat --qp ud --iters 500 --size 8000
weftd_stop second
weftd_stop first
