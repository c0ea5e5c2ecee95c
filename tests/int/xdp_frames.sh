#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The XDP program, frame by frame, by xdp_frames: frames that it takes, passes and drops, counted by
# reason; frames cut at every length, fragments, wrong headers, groups, an address shared with the
# kernel, random frames.

. tests/int/lib.sh

"$WEFT_INT/xdp_frames"
case $? in
0) say 'ok: every frame' ;;
77) exit 77 ;;
*) die 'the XDP program did something else with a frame' ;;
esac
