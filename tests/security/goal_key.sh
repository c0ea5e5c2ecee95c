#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks with a static list share a secret key. Without a key, or with one that others may read, no
# rank starts; a rank with another key does not reach the rest.

. tests/int/lib.sh

weftd_start weftd --nics 2
peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | paste -sd,)

# rank NAME I COMMAND...: COMMAND begins with its environment
rank()
{
	local name=$1 i=$2
	shift 2
	spawn "$name" env "$@" WEFT_PEERS="$peers" WEFT_RANK="$i" WEFT_DEVICE="weft$i" "$WEFT_INT/goal_prog" -n 2
}

rank none 0 -u WEFT_KEY
expect_fail none 'neither WEFT_KEY nor WEFT_KEY_FILE is set.*openssl rand -hex 16'
rank short 0 WEFT_KEY=00112233
expect_fail short 'WEFT_KEY is not a valid key'
umask 022
say "$WEFT_KEY" >"$WEFT_TMP/key"
rank open 0 -u WEFT_KEY WEFT_KEY_FILE="$WEFT_TMP/key"
expect_fail open 'others may read it'
chmod 600 "$WEFT_TMP/key"
rank a 0 -u WEFT_KEY WEFT_KEY_FILE="$WEFT_TMP/key"
rank b 1
expect_ok a b
