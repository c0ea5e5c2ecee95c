#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rdma-core's own pyverbs tests, as Debian ships them (python3-pyverbs, rdma-core), on a weft NIC
# that appears as a RoCE device and as an iWARP device, at weftd's switch and on a veth. The failing
# tests must be exactly those that docs/conformance.md lists; a test whose outcome is a race may fail.
# timeout: 900

. tests/int/lib.sh

run=build/bin/weft-run
shipped=/usr/share/doc/rdma-core/tests
[ -x "$run" ] || skip 'libibverbs-dev is not installed'
[ -e "$shipped/run_tests.py" ] || skip 'rdma-core is not installed'
/usr/bin/python3 -c 'import pyverbs' 2>/dev/null || skip 'python3-pyverbs is not installed'
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

# listed HOW: tests that docs/conformance.md lists as failing so
listed()
{
	sed -n "s/^| \`\(test_[a-z_0-9]*\)\` | $1.*/\1/p" docs/conformance.md
}

# tests WIRE TRANSPORT LEAST: so many pass at least, and none fails but those that are listed
tests()
{
	local wire=$1 transport=$2 least=$3 log=$WEFT_TMP/pyverbs.$1.$2.log passed
	ip netns exec "$ns" unshare --mount bash "$WEFT_TMP/shown.sh" "$run" --transport "$transport" \
		/usr/bin/python3 "$WEFT_TMP/py/tests/run_tests.py" -v --dev weft0 --port 1 >"$log" 2>&1
	grep -q '^Ran [0-9]* tests' "$log" || { tail -n 30 "$log"; die "$wire $transport: they did not run"; }
	{
		listed 'fails'
		[ "$transport" = ib ] || listed 'as iWARP fails'
	} | sort -u >"$WEFT_TMP/listed"
	sed -n 's/^\(ERROR\|FAIL\): \([a-z_0-9]*\) .*/\2/p' "$log" | sort -u |
		grep -vxF "$([ "$transport" = ib ] || listed 'as iWARP may fail')" >"$WEFT_TMP/failed"
	diff "$WEFT_TMP/listed" "$WEFT_TMP/failed" ||
		{ grep -A 40 '^===' "$log" | head -n 60; die "$wire $transport: what fails is not what docs/conformance.md lists"; }
	# "Ran 273 tests ...", "FAILED (errors=2, skipped=166)"
	passed=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p; s/^FAILED (//p; s/^OK (//p' "$log" |
		grep -o '[0-9]*' | awk 'NR == 1 { n = $1; next } { n -= $1 } END { print n }')
	[ "$passed" -ge "$least" ] || die "$wire $transport: $passed tests passed, fewer than docs/conformance.md says"
	say "$wire $transport: $passed passed, $(wc -l <"$WEFT_TMP/failed") failed as listed; $(tail -n 1 "$log")"
}

weftd_start weftd --nics 2
tests switch ib 105
tests switch iwarp 101
weftd_stop weftd
veth_add a b
in_ns="ip netns exec $(unique a)"
weftd_start weftd --port va --ip 10.77.0.1/24
in_ns=
tests veth ib 105
tests veth iwarp 101
weftd_stop weftd
