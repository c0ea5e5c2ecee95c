#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# shellcheck disable=SC2154 # tests/int/lib.sh has pid
#
# For scripts of this folder that attack as one user and test that another user can still work. They
# source it after tests/int/lib.sh. Needs root.

taker=65501 # uids without another user
other=65502
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	skip 'needs root, to run processes of two other users'
fi

# A copy of the programs that other users can reach, wherever this tree is.
users_dir=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
at_exit "rm -rf '$users_dir'"
chmod 755 "$users_dir"
export WEFT_RUN_DIR=$users_dir/run

# by UID PROGRAM: sets $by to the words that run a program of $WEFT_INT as that user, so that spawn
# knows the process itself
by()
{
	[ -e "$users_dir/$2.prog" ] || cp "$WEFT_INT/$2" "$users_dir/$2.prog"
	chmod 755 "$users_dir/$2.prog"
	by=(setpriv --reuid "$1" --regid "$1" --clear-groups "$users_dir/$2.prog" "$WEFT_RUN_DIR/weft0")
}

# open_to_all: opens the sockets of a running weftd to all users
open_to_all()
{
	chmod 755 "$WEFT_RUN_DIR"
	chmod 666 "$WEFT_RUN_DIR"/weft?
}

start()
{
	weftd_start "$@"
	open_to_all
}

# no_share UID: nothing is left in its share; weftctl users shows the number of a user without a
# name
no_share()
{
	ctl users >"$WEFT_TMP/users"
	! grep -q "^$1 " "$WEFT_TMP/users"
}

# release NAME: kills its processes and waits until their objects are free
release()
{
	kill -TERM "${pid[$1]}"
	finish "$1"
	wait_until 'the shares are free' no_share "$taker"
	expect_objects weft0 '0 0 0 0'
}

# other_user_gets_on BESIDE: another user makes an object of each kind and completes a request
other_user_gets_on()
{
	by "$other" shares
	"${by[@]}" use >"$WEFT_TMP/other" 2>&1 ||
		die "another user does not get on beside $1: $(cat "$WEFT_TMP/other")"
}
