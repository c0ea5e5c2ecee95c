#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Subjects of commits: "area: what it does", without a full stop, at most 75 characters.
#
#	tools/check_commit.sh [RANGE]		commits of RANGE (default: all of HEAD)
#	tools/check_commit.sh --message FILE	a message not yet committed (a commit-msg hook)
#
# Exit status 0, 1 when a subject is not like that, 2 usage. Merges are left out. Called by
# tools/lint.sh.

set -u

usage()
{
	echo "usage: check_commit.sh [RANGE | --message FILE]" >&2
	exit 2
}

broken=0
check()
{
	local id=$1 subject=$2
	if ! grep -qE '^[a-z0-9_][a-z0-9_./-]*(, [a-z0-9_][a-z0-9_./-]*)*: [^[:space:]]' <<<"$subject"; then
		echo "$id '$subject': not 'area: what it does'"
		broken=1
	elif [ "${subject%.}" != "$subject" ]; then
		echo "$id '$subject': ends with a full stop"
		broken=1
	elif [ "${#subject}" -gt 75 ]; then
		echo "$id '$subject': ${#subject} characters, at most 75"
		broken=1
	fi
}

case ${1:-} in
--message)
	[ $# -eq 2 ] || usage
	[ -r "$2" ] || { echo "check_commit.sh: cannot read $2" >&2; exit 2; }
	check message "$(head -n 1 "$2")"
	exit "$broken"
	;;
-*) usage ;;
esac
[ $# -le 1 ] || usage

git rev-parse --git-dir >/dev/null 2>&1 || exit 0 # an unpacked archive has no history
git rev-parse -q --verify HEAD >/dev/null || exit 0 # nothing is committed yet
if ! list=$(git log --no-merges --format='%h %s' "${1:-HEAD}"); then
	usage
fi
while read -r id subject; do
	[ -z "$id" ] || check "$id" "$subject"
done <<<"$list"
exit "$broken"
