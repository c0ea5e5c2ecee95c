#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The tree keeps the rules that a program can check in seconds: includes, floors, licence lines, names,
# format, documents. `make lint` adds cppcheck, shellcheck and the subjects of commits.

. tests/int/lib.sh

for check in check_layers.sh check_floors.py check_tidy.sh; do
	"tools/$check" >"$WEFT_TMP/$check.out" 2>&1 || {
		cat "$WEFT_TMP/$check.out"
		die "tools/$check has findings"
	}
done
