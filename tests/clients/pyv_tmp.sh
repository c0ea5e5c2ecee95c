#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rdma-core's own pyverbs tests, as Debian ships them (python3-pyverbs, rdma-core), on a weft NIC
# that appears as a RoCE device. The failing tests must be exactly those that docs/conformance.md
# lists.
# timeout: 300

. tests/int/lib.sh

run=build/bin/weft-run
shipped=/usr/share/doc/rdma-core/tests
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
[ -e "$shipped/run_tests.py" ] || skip 'rdma-core is not installed'
/usr/bin/python3 -c 'import pyverbs' 2>/dev/null || skip 'python3-pyverbs is not installed'
weftd_start weftd --nics 2
# The rdma_cm tests read the device's net interface and its address from sysfs. The NIC has none:
# the tests get an interface with the NIC's address, which carries no traffic.
netns_add py
ns=$(unique py)
ip -n "$ns" link add shown type veth peer name other || skip 'no veth here'
ip -n "$ns" addr add 10.77.0.1/24 dev shown
ip -n "$ns" link set shown up
ip -n "$ns" link set other up
mkdir "$WEFT_TMP/py"
cp -r "$shipped" "$WEFT_TMP/py/tests"
find "$WEFT_TMP/py" -name '*.gz' -exec gunzip -f {} +
cat >"$WEFT_TMP/shown.sh" <<-'END'
	mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband/weft0/device/net/shown || exit
	exec "$@"
END
ip netns exec "$ns" unshare --mount bash "$WEFT_TMP/shown.sh" "$run" --transport iwarp \
	/usr/bin/python3 "$WEFT_TMP/py/tests/run_tests.py" -v --dev weft0 --port 1 >"$WEFT_TMP/pyverbs.log" 2>&1
cp "$WEFT_TMP/pyverbs.log" /tmp/hD/build/pyv_iwarp.log
grep -q '^Ran [0-9]* tests' "$WEFT_TMP/pyverbs.log" || { tail -n 30 "$WEFT_TMP/pyverbs.log"; die 'they did not run'; }
sed -n 's/^\(ERROR\|FAIL\): \([a-z_0-9]*\) .*/\2/p' "$WEFT_TMP/pyverbs.log" | sort -u >"$WEFT_TMP/failed"
# shellcheck disable=SC2016 # backquotes of the table
sed -n 's/^| `\(test_[a-z_0-9]*\)` | fails .*/\1/p' docs/conformance.md | sort -u >"$WEFT_TMP/listed"
diff "$WEFT_TMP/listed" "$WEFT_TMP/failed" ||
	{ grep -A 40 '^===' "$WEFT_TMP/pyverbs.log" | head -n 60; die 'what fails is not what docs/conformance.md lists'; }
passed=$(grep -c ' ok$' "$WEFT_TMP/pyverbs.log")
[ "$passed" -ge 100 ] || die "$passed tests passed, fewer than docs/conformance.md says"
say "$passed passed, $(wc -l <"$WEFT_TMP/failed") failed as listed; $(tail -n 1 "$WEFT_TMP/pyverbs.log")"
weftd_stop weftd
