#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Comments begin with their subject. One that begins with "What", "Who", "Those" or "Of" makes the
# reader search for it, so a stranger has to read such a comment twice. Checks the lines that were
# added since a commit: older comments of that kind are many, and change as their code does.
#
#	tools/check_prose.sh [BASE]	BASE: a commit (default: the one in this script)
#
# Prints FILE:LINE: what is wrong. Exit status 0, 1 when something is, 2 usage.
# tests/int/lint_selftest.sh breaks the rule once to see it fail.

set -u
[ $# -le 1 ] || { echo "usage: check_prose.sh [BASE]" >&2; exit 2; }
cd "$(git rev-parse --show-toplevel 2>/dev/null || echo .)" || exit 2

base=${1:-65b7607a6b7c}
git rev-parse --git-dir >/dev/null 2>&1 || exit 0 # an unpacked archive has no history
if ! git rev-parse -q --verify "$base^{commit}" >/dev/null; then
	[ $# -eq 0 ] || { echo "check_prose.sh: there is no commit $base" >&2; exit 2; }
	echo "check_prose.sh: nothing is checked, commit $base is not in this clone: git fetch --unshallow" >&2
	exit 0
fi

# A line of context tells the first line of a comment from its others.
out=$(git diff -U1 "$base" -- '*.c' '*.h' '*.sh' '*.py' Makefile .ci/run | awk '
	/^\+\+\+ b\// { file = substr($0, 7); next }
	/^@@/ { line = substr($3, 2) + 0; before = ""; next }
	/^[ +]/ {
		text = substr($0, 2)
		first = text ~ /^[ \t]*\/\*+ / || text ~ /^[ \t]*\/\/ / ||
			(text ~ /^[ \t]*\* / && before ~ /^[ \t]*\/\*+$/) ||
			(text ~ /^[ \t]*# / && before !~ /^[ \t]*# /)
		if (/^\+/ && first &&
		    text ~ /^[ \t]*[\/*#]+ (What|Who|Whose|Whoever|Those|Of|One that|Nobody|Behind|Beside)[ ,:]/)
			print file ":" line ": a comment begins with its subject: " text
		before = text
		line++
	}')
[ -z "$out" ] || { echo "$out"; exit 1; }
