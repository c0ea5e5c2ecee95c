#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Unreliable datagrams between two processes: one frame, libweft's long messages, Write-Record;
# then over a bad wire, where what arrives must be right and the rest is counted as lost.

. tests/int/lib.sh

weftd_start weftd --nics 2
bench weft1 weft0 lat --qp ud --iters 1000 --size 64
bench weft1 weft0 lat --qp ud --iters 300 --size 1400 --event
bench weft1 weft0 lat --qp ud --iters 300 --size 60000
bench weft1 weft0 lat --qp ud --op write --iters 300 --size 20000
bench weft1 weft0 rate --qp ud --iters 5000 --size 64 --mem malloc
weftd_stop weftd

weftd_start lossy --nics 2 --loss 2 --dup 2 --reorder 2 --seed 5
bench weft1 weft0 rate --qp ud --iters 5000 --size 64
bench weft1 weft0 bw --qp ud --iters 500 --size 20000
bench weft1 weft0 bw --qp ud --op write --iters 500 --size 20000
[ "$(counter weft0 switch_lost)" -gt 0 ] || die 'nothing was lost: nothing was tested'
expect_objects weft0 '0 0 0 0'
weftd_stop lossy
