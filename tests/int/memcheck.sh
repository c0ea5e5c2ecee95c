#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# libweft under valgrind's memcheck: every_call.c uses every function of weft.h; no error, no leak.
# The library is built without sanitizers for that. Accesses that valgrind cannot see are listed in
# docs/host-interface.md.

. tests/int/lib.sh
need valgrind
program=${WEFT_PLAIN:?}/every_call

# every_call.c really calls every function of weft.h.
missing=$(grep -ohE '\bweft_[a-z_]+\(' host_driver/weft{,_device,_mr,_cq,_qp,_coalesce,_tag}.h | sort -u | while read -r f; do
	grep -qF -- "$f" tests/int/every_call.c tests/int/host.h || echo "$f"
done)
[ -z "$missing" ] || die "not called by every_call.c: $missing"

weftd_start weftd --nics 2
spawn check valgrind --tool=memcheck --error-exitcode=33 --leak-check=full --show-leak-kinds=all \
	--errors-for-leak-kinds=all --track-fds=yes --trace-children=no --child-silent-after-fork=yes \
	"$program"
expect_ok check
grep -E 'ERROR SUMMARY|All heap blocks|FILE DESCRIPTORS' "$WEFT_TMP/check.err"
cat "$WEFT_TMP/check.out"
# The library leaves no descriptor open; those that remain were inherited.
if grep -E '^==[0-9]*== Open ' -A 2 "$WEFT_TMP/check.err" | grep -q 'at 0x'; then
	die 'a descriptor is left open'
fi
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop weftd
