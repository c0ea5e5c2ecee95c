#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Jumbo frames on the switch: sizes around a frame's and a segment's, one message in flight
# and many, reliable and not.

. tests/int/lib.sh

weftd_start weftd --nics 2 --mtu 9000
for size in 1 8880 8881 8889 8896 8897 9000 17793 1000000; do
	bench weft1 weft0 lat --op send --iters 20 --size "$size"
done
bench weft1 weft0 bw --op write --size 1M --iters 20
bench weft1 weft0 lat --qp ud --iters 50 --size 8900
weftd_stop weftd
