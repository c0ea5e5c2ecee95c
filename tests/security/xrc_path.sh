#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A user who cannot open a file does not get its XRC domain by an O_PATH descriptor (xrc_path.c).

. tests/int/lib.sh
. tests/security/users.sh

start weftd --nics 1
: >"$users_dir/domain"
spawn users "$WEFT_INT/xrc_path" "$WEFT_RUN_DIR/weft0" "$users_dir/domain"
expect_ok users
expect_objects weft0 '0 0 0 0'
weftd_stop weftd
