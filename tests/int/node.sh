#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A short part of make test-nodes: weftd on two PCI cards by DPDK's driver in an emulated machine,
# with the kernel's pings, RD and TCP in both directions with every byte looked at, a VLAN and a GOAL
# program. Where make fw-cross has built weft-sim for arm64, a run of each workload has this machine's
# digest there.
#
# timeout: 600

. tests/int/lib.sh
. tests/nodes/lib.sh
# Programs with sanitizers take minutes in there.
WEFT_BIN=$PWD/build/bin
[ -x "$WEFT_BIN/weftd" ] || die 'there is no build/bin/weftd: make all'
reason=$(tests/nodes/guest.sh why) || skip "$reason"
tests/nodes/guest.sh kernel || skip 'the kernel of the guest cannot be loaded'
guest_image x86_64
guest_arch x86_64
rd=bw,--qp,rd,--size,16K,--iters,20,--window,4
tcp=bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
# shellcheck disable=SC2086,SC2046 # words
guest_start node "hugepages,100 bind,uio_pci_generic,0,1 weftd list kernel_up,10.9.0.9/24 ping,10.9.0.1 bench,$rd back,$tcp goal stop
	vlan,5 weftd list no_ping,10.9.0.1 back,$rd bench,$tcp stop" $machine_uio $(cards e1000e)
guest_end node

sim=build/aarch64/bin/weft-sim
if [ "$sim" -nt build/bin/weft-sim ] && command -v qemu-aarch64-static >/dev/null; then
	printf '#!/bin/sh\nexec qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=%s %s "$@"\n' \
		"$PWD/build/aarch64/sysroot/usr/lib/aarch64-linux-gnu" "$PWD/$sim" >"$WEFT_TMP/sim"
	chmod +x "$WEFT_TMP/sim"
	SEEDS=1 KEPT=no tools/digests.sh build/bin/weft-sim "$WEFT_TMP/sim" 2 >"$WEFT_TMP/digests" ||
		{ cat "$WEFT_TMP/digests"; die 'runs differ between this machine and arm64'; }
	cat "$WEFT_TMP/digests"
else
	say 'left out: weft-sim on arm64: needs qemu-user-static, and make fw-cross since weft-sim was built'
fi
