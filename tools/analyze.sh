#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make analyze` runs gcc's -fanalyzer over sources: it follows paths through each function and
# those that it calls, and finds uses of NULL or of freed memory, leaks and double frees.
#
#	tools/analyze.sh COMMAND FILE...	COMMAND: the compiler with the flags of these files
#
# Prints the findings, one a line. JOBS: files at a time (1). Exit status 0, 1 when something was
# found, 2 usage.
#
# The analyzer takes an object that is kept or returned by a pointer to one of its members for lost,
# and values that a function sets when it succeeds for unset, so only nic_fw has no findings.

set -u
[ $# -ge 2 ] || { echo "usage: analyze.sh COMMAND FILE..." >&2; exit 2; }
export ANALYZE_COMMAND=$1
shift

# A file that does not compile prints its errors.
# shellcheck disable=SC2016 # the inner shell expands them
found=$(printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -n 1 bash -c '
	eval "$ANALYZE_COMMAND -fanalyzer -Wno-error -fdiagnostics-plain-output -c -o /dev/null \"\$1\"" 2>&1 |
		grep -E ": (warning|error|fatal error): "' analyze | sort -u)
[ -z "$found" ] || { echo "$found"; exit 1; }
