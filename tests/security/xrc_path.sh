#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The XRC domain of a file that a user cannot open is not his by a descriptor of O_PATH (xrc_path.c).

. tests/int/lib.sh
. tests/security/users.sh

start weftd --nics 1
: >"$users_dir/domain"
spawn users "$WEFT_INT/xrc_path" "$WEFT_RUN_DIR/weft0" "$users_dir/domain"
expect_ok users
expect_objects weft0 '0 0 0 0'
weftd_stop weftd
