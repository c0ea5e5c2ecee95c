#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# timeout: 600
#
# Every mutant of tests/mutants/mutants.txt still applies, compiles and is linked to a program; a
# fake one that does not is found. `make mutants` runs them, which takes longer.

. tests/int/lib.sh

make -s _mutants-check >"$WEFT_TMP/check.out" 2>&1 || {
	cat "$WEFT_TMP/check.out"
	die "mend tests/mutants/mutants.txt: the firmware has changed below it"
}
grep -Eq '^[0-9]{2,} mutants, 0 broken$' "$WEFT_TMP/check.out" || die "hardly any mutants were looked at"

make -s _mutants-check T=no-such-mutant >"$WEFT_TMP/none.out" 2>&1 &&
	die "a mutant that does not exist was found"
say "$(tail -n 1 "$WEFT_TMP/check.out")"
