#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What every file of the tree has in common: licence line, header comment, formatting, size,
# no trailing blanks, nothing left unfinished, no path of somebody's machine; a README.md in
# every folder of sources.
#
#	tools/check_tidy.sh [DIR]	DIR: root of the tree (default: this one)
#
# Prints FILE:LINE: what is wrong. Exit status 0, 1 when something is, 2 usage. Called by
# tools/lint.sh; tests/int/lint_selftest.sh breaks each rule once to see it fail.

set -u
[ $# -le 1 ] || { echo "usage: check_tidy.sh [DIR]" >&2; exit 2; }
cd "${1:-$(dirname "$0")/..}" || exit 2

max_lines=700
broken=0
complain()
{
	echo "$1"
	broken=1
}

# Files that belong to the tree: what git knows or would add; all of them without git.
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
	mapfile -t files < <(git ls-files -co --exclude-standard | sort -u)
else
	mapfile -t files < <(find . -path ./build -prune -o -path ./.git -prune -o -type f -print |
		sed 's|^\./||' | sort)
fi

spdx='SPDX-License-Identifier: BSD-3-Clause'
# Written in pieces, or this file would find itself.
unfinished="\\b(TO""DO|FIX""ME|XX""X)\\b|not ""implemented"
machine='(^|[^A-Za-z0-9_.])/(wo''rk|ro''ot|ho''me|fa''rm)/'

formatted=()
for f in "${files[@]}"; do
	[ -f "$f" ] || continue
	case $f in
	*.c | *.h)
		[ "$(head -n 1 "$f")" = "/* $spdx */" ] || complain "$f:1: first line is not /* $spdx */"
		[ "$(sed -n 2p "$f")" = '/*' ] || complain "$f:2: no header comment (what, called by, calls)"
		case $f in *.bpf.c) ;; *) formatted+=("$f") ;; esac
		;;
	Makefile | *.sh | *.py | .ci/run | *.lua)
		head -n 2 "$f" | grep -q "$spdx" || complain "$f:1: no line $spdx"
		;;
	*.md | *.in | *.conf | *.hex | LICENSE | .gitignore | .clang-format | *.txt | *.sysusers | *.supp) ;;
	*)
		grep -qI . "$f" || continue # binary, or empty
		;;
	esac

	while IFS= read -r line; do
		complain "$f:${line%%:*}: blanks at the end of the line"
	done < <(grep -nIE '[[:blank:]]+$' "$f")
	if [ "$f" != CHANGELOG.md ]; then
		while IFS= read -r line; do
			complain "$f:${line%%:*}: unfinished work: ${line#*:}"
		done < <(grep -nIE "$unfinished" "$f")
		while IFS= read -r line; do
			complain "$f:${line%%:*}: path of one machine: ${line#*:}"
		done < <(grep -nIE "$machine" "$f")
	fi
	case $f in
	host_driver/weft.h) ;; # the one public header: as long as its documentation
	*.c | *.h | *.sh | *.py | *.lua)
		lines=$(wc -l <"$f")
		[ "$lines" -le $max_lines ] ||
			complain "$f:$lines: more than $max_lines lines: one stage or object each?"
		;;
	esac
done

# Every first-level folder says what it is; so none is there by mistake.
while IFS= read -r d; do
	[ -f "$d/README.md" ] || complain "$d/README.md: missing"
done < <(printf '%s\n' "${files[@]}" | grep -E '^[^./][^/]*/' | cut -d/ -f1 | sort -u)

if [ "${#formatted[@]}" -gt 0 ]; then
	if ! out=$(clang-format --dry-run -Werror "${formatted[@]}" 2>&1); then
		while IFS= read -r line; do
			complain "$line"
		done < <(grep -E '^[^ ]+:[0-9]+:[0-9]+:' <<<"$out" | sed 's/: error: .*/: clang-format -i mends the format/' |
			sort -u -t: -k1,1)
		[ "$broken" -ne 0 ] || complain "$out"
		broken=1
	fi
fi

exit "$broken"
