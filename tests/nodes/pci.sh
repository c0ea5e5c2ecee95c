#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd on PCI cards by DPDK's drivers, in an emulated machine (guest.sh): each kind of card that QEMU
# has and DPDK drives, bound to uio_pci_generic (hugepages) and to vfio-pci behind an emulated IOMMU
# (ordinary memory). Two cards and an interface of the kernel are on one Ethernet in there: pings of
# the kernel, data over RD, TCP and ESP from card to card with every byte looked at, rping, pings of
# libibverbs and perftest, iperf3 over sockets in both directions, a GOAL program, large packets,
# counters of drivers, cards that cannot be used, and one that is taken out.
#
#	CASES	the cases to run, by name (default: all)
#
# A guest has no time limit on the clock: it fails when it prints nothing for WEFT_NODES_QUIET
# seconds (500). The acts in it have limits of their own.
#
# timeout: 7200

. tests/int/lib.sh
reason=$(tests/nodes/guest.sh why) || skip "$reason"
tests/nodes/guest.sh kernel || die 'the kernel of the guest is not there'
image=$WEFT_TMP/image
tests/nodes/guest.sh image "$image" || die 'the initial file system cannot be made'
quiet=${WEFT_NODES_QUIET:-500}

# Small windows: on a busy machine an emulated one moves some ten frames a second over virtio.
data='bench,bw,--qp,rd,--size,16K,--iters,20,--window,4 bench,lat,--qp,rd,--iters,20,--warmup,5
	bench,bw,--qp,rd,--op,read,--size,16K,--iters,10,--window,2 bench,bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
	bench,bw,--qp,rc-esp,--size,16K,--iters,10,--window,2 rping pingpong perftest goal groups linux_tcp
	sockets sockets,-R'
pings='kernel_up,10.9.0.9/24 ping,10.9.0.1 ping,10.9.0.2'
machine_uio='-M pc,vmport=off,hpet=off'
machine_vfio='-M q35,vmport=off,hpet=off,kernel-irqchip=split -device intel-iommu,intremap=on,aw-bits=48'

# cards DEVICE: QEMU's options for two of them on the first bus, and the kernel's, on one Ethernet
cards()
{
	printf '%s ' -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0 -netdev hubport,id=h2,hubid=0 \
		-device "$1,netdev=h0,addr=10,romfile=" -device "$1,netdev=h1,addr=11,romfile=,mac=52:54:00:12:34:99" \
		-device "virtio-net-pci,netdev=h2,addr=18,romfile=,mac=52:54:00:12:34:77"
}

# The same behind ports from which they can be taken out.
cards_behind_ports()
{
	printf '%s ' -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0 -netdev hubport,id=h2,hubid=0 \
		-device pcie-root-port,id=r0,chassis=1,slot=1,addr=1c -device pcie-root-port,id=r1,chassis=2,slot=2,addr=1d \
		-device "$1,netdev=h0,bus=r0,romfile=" -device "$1,netdev=h1,bus=r1,romfile=,id=c1,mac=52:54:00:12:34:99" \
		-device "virtio-net-pci,netdev=h2,addr=18,romfile=,mac=52:54:00:12:34:77"
}

# guest_start NAME ACTS QEMU-OPTION...: in the network namespace of $guest_ns
guest_ns=
guest_start()
{
	local name=$1 acts=$2
	shift 2
	: >"$WEFT_TMP/$name.console"
	# shellcheck disable=SC2086 # words
	spawn "$name" $guest_ns tests/nodes/guest.sh run "$image" "$WEFT_TMP/$name.console" "$(echo $acts)" "$@"
}

# guest_end NAME: waits while it goes on; all of its acts must have passed
guest_end()
{
	local name=$1 bytes=0 now at=$SECONDS
	while alive "$name"; do
		now=$(stat -c %s "$WEFT_TMP/$name.console")
		[ "$now" = "$bytes" ] || { bytes=$now at=$SECONDS; }
		[ $((SECONDS - at)) -lt "$quiet" ] || guest_failed "$name" "silent for $quiet s"
		sleep 0.5
	done
	finish "$name"
	guest_said "$name" '^guest: ended 0' || guest_failed "$name" 'an act failed'
	say "ok: $name: $(tr -d '\r' <"$WEFT_TMP/$name.console" | sed -n 's/^guest: \(booted.*\)/\1/p')"
}

guest_said()
{
	tr -d '\r' <"$WEFT_TMP/$1.console" | grep -qE -- "$2"
}

guest_failed()
{
	tr -d '\r' <"$WEFT_TMP/$1.console" | tail -n 60
	die "guest $1: $2"
}

# wanted NAME: true if the case is to be run
wanted()
{
	[ -z "${CASES:-}" ] && return
	case " $CASES " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# card_case NAME uio|vfio DEVICE ACTS...: further acts behind those that every card has
card_case()
{
	local name=$1 how=$2 device=$3 bind
	shift 3
	wanted "$name" || return 0
	case $how in
	uio)
		bind='hugepages,100 bind,uio_pci_generic,0,1'
		set -- stats,wire_polled_idle "$@"
		;;
	vfio) bind='bind,vfio-pci,0,1' ;;
	esac
	local machine=machine_$how
	# shellcheck disable=SC2086,SC2046 # words
	guest_start "$name" "$bind weftd list $pings $data stats,card_ $* stop" ${!machine} $(cards "$device")
	guest_end "$name"
	tr -d '\r' <"$WEFT_TMP/$name.console" | grep -E 'weft0: card|polled_idle|rx_interrupts' | sort -u
}

large='stop hugepages,180 weftd,--mtu,9000 list bench,bw,--qp,rd,--size,64K,--iters,10,--window,2
	bench,bw,--qp,rc-tcp,--size,64K,--iters,10,--window,2'
virtio='virtio-net-pci'
virtio_iommu="$virtio,disable-legacy=on,iommu_platform=on"

card_case virtio_split uio $virtio
card_case virtio_packed uio "$virtio,packed=on,disable-legacy=on,mq=on,vectors=6" "$large"
card_case e1000 uio e1000
card_case e1000e uio e1000e "$large"
card_case vmxnet3 uio vmxnet3 "$large"
# Receive interrupts come from virtio, so that an idle weftd need not look; e1000e's go astray.
card_case virtio_vfio vfio "$virtio_iommu" stats,wire_rx_interrupts
card_case virtio_packed_vfio vfio "$virtio_iommu,packed=on" stats,wire_rx_interrupts "$large"
card_case e1000e_vfio vfio e1000e stats,wire_polled_idle "$large"
card_case vmxnet3_vfio vfio vmxnet3

# Two queues for two shards: QEMU has several queues of taps alone, and spreads frames by the hash that
# the driver sets (RSS).
if wanted virtio_queues; then
	netns_add nodes
	guest_ns="ip netns exec $(unique nodes)"
	cards=
	$guest_ns ip link add name wbr type bridge && $guest_ns ip link set wbr up || die 'no bridge'
	for n in 0 1; do
		$guest_ns ip tuntap add dev wq$n mode tap multi_queue vnet_hdr && $guest_ns ip link set wq$n master wbr up || die 'no tap'
		cards="$cards -netdev tap,id=h$n,ifname=wq$n,script=no,downscript=no,queues=2,vhost=off"
		cards="$cards -device virtio-net-pci,netdev=h$n,addr=1$n,romfile=,mq=on,rss=on,vectors=6,disable-legacy=on,mac=52:54:00:12:36:0$n"
	done
	# shellcheck disable=SC2086 # words
	guest_start virtio_queues "hugepages,100 bind,uio_pci_generic,0,1 cores,1*4 weftd,--verbose logged,a.queue.for.each.of.2.shards list
		bench,bw,--qp,rd,--size,16K,--iters,20,--window,4 bench,bw,--qp,rd,--size,16K,--iters,20,--window,4
		bench,bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4 bench,bw,--qp,rc-esp,--size,16K,--iters,10,--window,2
		stats,card_tx_q0,card_tx_q1,card_rx_q stop" $machine_uio $cards
	guest_end virtio_queues
	guest_ns=
	tr -d '\r' <"$WEFT_TMP/virtio_queues.console" | grep -E 'a queue for each|card_[rt]x_q._good_packets' | sort -u
fi

if wanted refusals; then
	# shellcheck disable=SC2086,SC2046 # words
	guest_start refusals "ports
		refused,the.kernel.drives.it,--port,pci:00:10.0,--ip,10.9.0.1/24
		refused,no.device.has.this.address,--port,pci:00:19.0,--ip,10.9.0.1/24
		refused,is.no.network.card,--port,pci:00:00.0,--ip,10.9.0.1/24
		bind,uio_pci_generic,0
		refused,needs.*in.free.hugepages,--port,pci:00:10.0,--ip,10.9.0.1/24
		hugepages,80
		refused,takes.packets.of.1500.bytes.at.most:.--mtu.1500,--port,pci:00:10.0,--ip,10.9.0.1/24,--mtu,1501
		weftd refused,another.weftd.uses.it,--port,pci:00:10.0,--ip,10.9.0.3/24,--run-dir,/tmp/other stop" \
		$machine_uio $(cards $virtio,host_mtu=1500)
	guest_end refusals
fi

if wanted unplug; then
	# shellcheck disable=SC2086,SC2046 # words
	guest_start unplug "bind,vfio-pci,0,1 weftd list unplugged,1 kernel_up,10.9.0.9/24 ping,10.9.0.1 stop" $machine_vfio $(cards_behind_ports e1000e) \
		-qmp "unix:$WEFT_TMP/qmp,server=on,wait=off"
	until dead unplug || guest_said unplug '^host: unplug 1'; do sleep 0.5; done
	dead unplug || printf '{"execute": "qmp_capabilities"}\n{"execute": "device_del", "arguments": {"id": "c1"}}\n' |
		timeout 60 socat -t 5 - "UNIX-CONNECT:$WEFT_TMP/qmp" >"$WEFT_TMP/qmp.out"
	guest_end unplug
fi

# one_card DEVICE LINK PEER: QEMU's options for a card and the kernel's interface, joined to another guest
one_card()
{
	printf '%s ' -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0 \
		-netdev "dgram,id=d0,local.type=unix,local.path=$2,remote.type=unix,remote.path=$3" \
		-netdev hubport,id=h2,hubid=0,netdev=d0 -device "$1,netdev=h0,addr=10,romfile=" \
		-device "virtio-net-pci,netdev=h1,addr=18,romfile=,mac=52:54:00:12:34:$4"
}

# Two machines with cards of different kinds: a and b are the ends of their cable.
if wanted two; then
	rd=bw,--qp,rd,--size,16K,--iters,20,--window,4
	tcp=bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
	# shellcheck disable=SC2086,SC2046 # words
	guest_start two_a "hugepages,80 bind,uio_pci_generic,0 weftd kernel_up,10.8.0.1/24 serve,$rd serve,$tcp stop" \
		$machine_uio $(one_card e1000e,mac=52:54:00:12:35:01 "$WEFT_TMP/a" "$WEFT_TMP/b" 71)
	# shellcheck disable=SC2086,SC2046 # words
	guest_start two_b "hugepages,80 bind,uio_pci_generic,0 first,2 weftd kernel_up,10.8.0.2/24 client,10.8.0.1,$rd
		client,10.8.0.1,$tcp stop" \
		$machine_uio $(one_card vmxnet3,mac=52:54:00:12:35:02 "$WEFT_TMP/b" "$WEFT_TMP/a" 72)
	guest_end two_b
	guest_end two_a
fi
