#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A run directory that others can change: weftd, which is root, makes, removes and gives away no
# file there through a path that they may have replaced. One that is root's alone, and one like
# /tmp, work as before.

. tests/int/lib.sh
need setpriv

dir=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
at_exit "rm -rf '$dir'"
chmod 755 "$dir"
WEFT_RUN_DIR=$dir/run
nobody=65534
mkdir "$WEFT_RUN_DIR"

# refused NAME TEXT: weftd does not start, says why, and has made no file there
refused()
{
	local before
	before=$(ls -lA --time-style=+ "$WEFT_RUN_DIR"/)
	spawn "$1" "$WEFT_BIN/weftd" --nics 1
	expect_fail "$1" "$2"
	[ "$(ls -lA --time-style=+ "$WEFT_RUN_DIR"/)" = "$before" ] || die "$1: it changed the directory"
	say "ok: $1"
}

chown $nobody "$WEFT_RUN_DIR"
refused owner "belongs to user $nobody"
chown 0 "$WEFT_RUN_DIR"
chmod 777 "$WEFT_RUN_DIR"
refused world 'is writable by other users'
chmod 775 "$WEFT_RUN_DIR"
refused group 'is writable by other users'
chmod 755 "$WEFT_RUN_DIR"
mv "$WEFT_RUN_DIR" "$dir/real"
ln -s real "$WEFT_RUN_DIR"
refused link 'must be a directory, not a link to one'
rm "$WEFT_RUN_DIR"
mv "$dir/real" "$WEFT_RUN_DIR"

# In a directory that anybody may write, as /tmp, an attacker was there first.
chmod 1777 "$WEFT_RUN_DIR"
setpriv --reuid $nobody --regid $nobody --clear-groups touch "$WEFT_RUN_DIR/weft0.lock" ||
	skip 'other users than root cannot reach the programs'
refused lock "weft0.lock: "
rm "$WEFT_RUN_DIR/weft0.lock"
echo untouched >"$dir/victim"
for how in -s ''; do
	ln $how "$dir/victim" "$WEFT_RUN_DIR/weft0.lock"
	refused "lock_link$how" 'weft0.lock: '
	rm "$WEFT_RUN_DIR/weft0.lock"
done
mkfifo "$WEFT_RUN_DIR/weft0.lock"
refused lock_fifo 'weft0.lock: '
rm "$WEFT_RUN_DIR/weft0.lock"

# A file in the socket's place is removed, and the target of a link is not.
ln -s "$dir/victim" "$WEFT_RUN_DIR/weft0"
weftd_start weftd --nics 1
[ -S "$WEFT_RUN_DIR/weft0" ] || die 'there is no socket'
[ "$(stat -c %a "$WEFT_RUN_DIR/weft0")" = 660 ] || die 'others may connect'
ctl list >"$WEFT_TMP/list"
grep -q '^weft0 ' "$WEFT_TMP/list" || die 'nobody can attach'
weftd_stop weftd
[ ! -e "$WEFT_RUN_DIR/weft0" ] || die 'the socket is still there'
[ "$(cat "$dir/victim")" = untouched ] || die 'the file of somebody else was changed'
[ "$(stat -c %u:%g:%a "$dir/victim")" = 0:0:644 ] || die 'the file of somebody else was given away'
say 'ok: the socket'
