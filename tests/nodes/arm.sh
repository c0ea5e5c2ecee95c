#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The firmware on arm64, by user-mode emulation: its unit tests pass, as do those of lib and of CRC32C
# by the processor's instructions, and the simulator's runs of each workload and of each kept line
# (tools/digests.sh) have the digests that they have on this machine, so that every frame has the same
# bytes at the same virtual time. Emulation does not show the processor's weak ordering.
# `make test-nodes` builds the programs and sets
#
#	ARM_SIM		weft-sim for arm64
#	ARM_LIBS	folder of the unpacked arm64 libraries
#	ARM_UT		unit tests for arm64
#	SEEDS		of each workload (20)
#
# timeout: 3600

. tests/int/lib.sh
need qemu-aarch64-static
emulate=(qemu-aarch64-static -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=${ARM_LIBS:?}")

printf '#!/bin/sh\nexec %s %s/%s "$@"\n' "${emulate[*]}" "$PWD" "${ARM_SIM:?}" > "$WEFT_TMP/sim"
chmod +x "$WEFT_TMP/sim"
"$WEFT_TMP/sim" --seed 1 --workload rd_send --nics 2 --duration-ms 1 > "$WEFT_TMP/out" 2>&1 ||
	die "weft-sim does not run: $(cat "$WEFT_TMP/out")"

failed=0 passed=0
for test in ${ARM_UT:?}; do
	if timeout 600 "${emulate[@]}" "$test" > "$WEFT_TMP/out" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$test:"
		tail -n 20 "$WEFT_TMP/out"
	fi
done
echo "$passed programs of unit tests passed, $failed failed"

tools/digests.sh build/bin/weft-sim "$WEFT_TMP/sim" "$(nproc)" > "$WEFT_TMP/digests" || {
	cat "$WEFT_TMP/digests"
	die 'runs differ between this machine and arm64'
}
cat "$WEFT_TMP/digests"
[ "$failed" = 0 ]
