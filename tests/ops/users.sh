#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Users that exist in the test alone, for scripts that run in a mount namespace of their own and source
# this file after tests/int/lib.sh.

# users_make: mounts files of $WEFT_TMP/etc over /etc/passwd and /etc/group. They add the user weft, and
# ann and bob, who are members of the group weft and have homes in $WEFT_TMP.
users_make()
{
	local f
	chmod 755 "$WEFT_TMP"
	mkdir -m 755 "$WEFT_TMP/etc"
	cp /etc/passwd /etc/group "$WEFT_TMP/etc/"
	sed -i '/^weft:/d' "$WEFT_TMP/etc/passwd" "$WEFT_TMP/etc/group"
	cat >>"$WEFT_TMP/etc/passwd" <<PASSWD
weft:x:60801:60801::/nonexistent:/usr/sbin/nologin
ann:x:60802:60802::$WEFT_TMP/ann:/bin/sh
bob:x:60803:60803::$WEFT_TMP/bob:/bin/sh
PASSWD
	printf '%s\n' weft:x:60801:ann,bob ann:x:60802: bob:x:60803: >>"$WEFT_TMP/etc/group"
	for f in passwd group; do
		mount --bind "$WEFT_TMP/etc/$f" /etc/$f
	done
}
