#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd in an emulated arm64 machine (Cortex-A72) with virtio cards, bound to uio_pci_generic with
# hugepages and to vfio-pci behind an SMMUv3: what pci.sh does on each card. The acts of `make run` on
# the built-in switch. Then an arm64 and an
# x86-64 machine with a card each on a cable: RD, TCP and ESP with every byte looked at, either of
# them active, rping, perftest and a GOAL program with a rank on each. Emulation does not show the
# processor's weak ordering: tests/int/barriers.sh is for that.
#
# CASES names the cases to run: lib.sh. `make test-nodes` builds the programs and sets
#
#	ARM_BIN		weft's programs for arm64, beside int/ and lib/
#	ARM_LIBS	folder of the unpacked arm64 libraries
#
# timeout: 7200

. tests/int/lib.sh
. tests/nodes/lib.sh

guest_image arm64
guest_arch arm64
virtio='virtio-net-pci,disable-legacy=on'
card_case arm_uio uio "$virtio,packed=on" "$large"
card_case arm_vfio vfio "$virtio,iommu_platform=on" stats,wire_rx_interrupts
card_case arm_e1000e uio e1000e

if wanted arm_switch; then
	# shellcheck disable=SC2086 # words
	guest_start arm_switch "$run_acts" $machine_uio
	guest_end arm_switch
fi

# Two machines: a and b are the ends of their cable.
if wanted mixed; then
	guest_image x86_64
	macs=52:54:00:12:35:01,52:54:00:12:35:02
	rd=bw,--qp,rd,--size,16K,--iters,20,--window,4
	read=bw,--qp,rd,--op,read,--size,16K,--iters,10,--window,2
	tcp=bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
	esp=bw,--qp,rc-esp,--size,16K,--iters,10,--window,2
	lat='ib_send_lat,-F,-R,-n,20,-s,4096,-p,18600'
	guest_arch arm64
	# shellcheck disable=SC2086,SC2046 # words
	guest_start mixed_arm "hugepages,80 bind,uio_pci_generic,0 weftd kernel_up,10.8.0.1/24 serve,$rd serve,$read serve,$tcp serve,$esp
		client,10.8.0.2,$rd client,10.8.0.2,$read client,10.8.0.2,$tcp client,10.8.0.2,$esp
		here,rping,-s,-a,10.9.0.1,-C,5,-V there,rping,-c,-a,10.9.0.2,-C,5,-V
		here,$lat there,$lat,10.9.0.2 rank,0,$macs stop" \
		$machine_uio $(one_card "$virtio,mac=52:54:00:12:35:01" "$WEFT_TMP/a" "$WEFT_TMP/b" 71)
	guest_arch x86_64
	# shellcheck disable=SC2086,SC2046 # words
	guest_start mixed_x86 "hugepages,80 bind,uio_pci_generic,0 first,2 weftd kernel_up,10.8.0.2/24 client,10.8.0.1,$rd
		client,10.8.0.1,$read client,10.8.0.1,$tcp client,10.8.0.1,$esp
		serve,$rd serve,$read serve,$tcp serve,$esp
		there,rping,-c,-a,10.9.0.1,-C,5,-V here,rping,-s,-a,10.9.0.2,-C,5,-V
		there,$lat,10.9.0.1 here,$lat rank,1,$macs stop" \
		$machine_uio $(one_card "e1000e,mac=52:54:00:12:35:02" "$WEFT_TMP/b" "$WEFT_TMP/a" 72)
	guest_end mixed_x86
	guest_end mixed_arm
	for guest in mixed_arm mixed_x86; do
		tr -d '\r' <"$WEFT_TMP/$guest.console" | grep -E 'rank|act: (here|there|serve|client)'
	done
fi
