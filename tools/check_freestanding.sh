#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the symbols of a compiled firmware: it may need the four functions of
# tools/freestanding/string.h and no other, and hold no variable that outlives a call (every
# instance lives in its arena).
#
#	tools/check_freestanding.sh NM ARCHIVE
#
# Exit status 0, 1 when the archive needs or holds more, 2 usage. `make fw-cross` runs it;
# tests/int/lint_selftest.sh tests it.

set -u
[ $# -eq 2 ] || { echo "usage: check_freestanding.sh NM ARCHIVE" >&2; exit 2; }
symbols=$("$1" -A "$2" 2>&1) || { echo "$symbols" >&2; exit 2; }

awk -v archive="$2" '
	/:$/ || NF < 3 && $0 !~ / U / { next }
	{
		name = $NF
		type = $(NF - 1)
		where = $1
		sub(/:[^:]*$/, "", where)
		sub(/^.*:/, "", where)
		if (type == "U" || type == "w")
			needed[name] = needed[name] " " where
		else
			defined[name] = 1
		if (type ~ /^[bBcCdDgGsS]$/) {
			print where ": variable " name ": firmware keeps its state in the arena"
			bad = 1
		}
	}
	END {
		split("memcpy memmove memset memcmp", given, " ")
		for (i in given)
			defined[given[i]] = 1
		for (name in needed)
			if (!(name in defined)) {
				print archive ": needs " name ":" needed[name]
				bad = 1
			}
		exit bad
	}' <<<"$symbols"
