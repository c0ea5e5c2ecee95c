#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Rules that every file of the tree keeps: licence line, header comment, formatting, size, words
# and file names of comments, nothing unfinished; a README.md in every folder of sources. The
# rules on text are in tools/check_source.py, the format is clang-format's.
#
#	tools/check_tidy.sh [DIR]	DIR: root of the tree (default: this one)
#
# Prints FILE:LINE: what is wrong. Exit status 0, 1 when something is, 2 usage.
# tests/int/lint_selftest.sh breaks each rule once to see it fail.

set -u
[ $# -le 1 ] || { echo "usage: check_tidy.sh [DIR]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 2
cd "${1:-$here/..}" || exit 2

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
[ "${#files[@]}" -gt 0 ] || exit 0

printf '%s\0' "${files[@]}" | "$here/check_source.py" || broken=1
printf '%s\0' "${files[@]}" | "$here/check_docs.py" || broken=1

# Every first-level folder has a README.md, so none is there by mistake, and so has every folder of
# sources. Folders within one of tests mirror those of the tree, and stand-ins for missing headers
# explain themselves.
while IFS= read -r d; do
	[ -f "$d/README.md" ] || complain "$d/README.md: missing"
done < <({
	printf '%s\n' "${files[@]}" | grep -E '^[^./][^/]*/' | cut -d/ -f1
	printf '%s\n' "${files[@]}" | grep -E '^[^./][^/]*/.*\.(c|h|py|sh)$' |
		grep -vE '^tests/[^/]*/[^/]*/|/missing/' | sed 's|/[^/]*$||'
} | sort -u)

# BPF programs keep the layout of the kernel's sources.
formatted=()
for f in "${files[@]}"; do
	case $f in
	*.bpf.c) ;;
	*.c | *.h) [ ! -f "$f" ] || formatted+=("$f") ;;
	esac
done
if [ "${#formatted[@]}" -gt 0 ]; then
	if ! out=$(printf '%s\0' "${formatted[@]}" |
		xargs -0 -n 100 -P 2 clang-format --dry-run -Werror 2>&1); then
		lines=$(grep -E '^[^ ]+:[0-9]+:[0-9]+:' <<<"$out" |
			sed 's/: error: .*/: clang-format -i mends the format/' | sort -u -t: -k1,1)
		complain "${lines:-$out}"
	fi
fi

exit "$broken"
