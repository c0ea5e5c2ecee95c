#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The XRC domain of a file that a user cannot open is not his by a descriptor of O_PATH (xrc_path.c).

. tests/int/lib.sh
[ "$(id -u)" -eq 0 ] || skip 'not root: cannot be other users'
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
at_exit "rm -rf '$dir'"
chmod 755 "$dir"
export WEFT_RUN_DIR=$dir/run

weftd_start weftd --nics 1
chmod 755 "$WEFT_RUN_DIR"
chmod 666 "$WEFT_RUN_DIR/weft0"
: >"$dir/domain"
spawn users "$WEFT_INT/xrc_path" "$WEFT_RUN_DIR/weft0" "$dir/domain"
expect_ok users
expect_objects weft0 '0 0 0 0'
weftd_stop weftd
