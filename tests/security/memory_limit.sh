#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Address space that ends, by `ulimit -v`, as vm.overcommit_memory=2 ends it for a whole machine:
# weftd that gets too little does not start, reports the reason, and leaves nothing behind. With
# little to spare it refuses processes for which none is left, and serves again when there is some.

. tests/int/lib.sh
need prlimit

# Release build: sanitizers need terabytes of address space.
[ -x build/bin/weftd ] || die 'there is no release build: make all'
WEFT_BIN=$PWD/build/bin

# limited KIB COMMAND...
limited()
{
	(
		ulimit -v "$1"
		shift
		exec "$@"
	)
}

# too_little KIB TEXT: weftd ends by itself, with a message
too_little()
{
	tool 1 limited "$1" timeout 20 "$WEFT_BIN/weftd" --nics 2
	grep -qE -- "$2" "$err" || die "with $1 KiB weftd says: $(cat "$err")"
	for left in "$WEFT_RUN_DIR"/*; do
		[ ! -S "$left" ] || die "with $1 KiB weftd leaves $left"
	done
}

too_little 40000 'no address space for the list of mappings.*ulimit -v'
too_little 1000000 'weft0 needs .* of address space.*ulimit -v.*vm.overcommit_ratio'
too_little 4500000 'weft1 needs .* of address space'

weftd_start weftd --nics 2
bench weft1 weft0 lat --iters 200
# From now on it gets no more than it has.
kib=$(awk '/^VmSize/ { print $2 }' "/proc/${pid[weftd]}/status")
prlimit --pid "${pid[weftd]}" --as="$((kib * 1024)):"
tool 1 timeout 20 "$WEFT_BIN/weft-bench" loop bw --size 64M --device weft0 --device2 weft1 --iters 1
grep -q 'Cannot allocate memory' "$err" || die "a process without room is told: $(cat "$err")"
alive weftd || die 'weftd has ended for lack of address space'
prlimit --pid "${pid[weftd]}" --as=unlimited:
bench weft1 weft0 lat --iters 200
expect_objects weft0 '0 0 0 0'
weftd_stop weftd
