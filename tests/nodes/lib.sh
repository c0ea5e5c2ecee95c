#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Guests (guest.sh) for the scripts of this folder, which source it behind tests/int/lib.sh: their
# images, start and end, and the acts that every kind of card goes through.
# shellcheck disable=SC2034 # the scripts use what is set here
#
#	CASES	the cases to run, by name (default: all)
#
# A guest has no time limit on the clock: it fails when it prints nothing for WEFT_NODES_QUIET
# seconds (500). The acts in it have limits of their own.

quiet=${WEFT_NODES_QUIET:-500}

# Small windows: on a busy machine an emulated one moves some ten frames a second over virtio. What
# moves in one direction moves in the other as well.
data='bench,bw,--qp,rd,--size,16K,--iters,20,--window,4 bench,lat,--qp,rd,--iters,20,--warmup,5
	bench,bw,--qp,rd,--op,read,--size,16K,--iters,10,--window,2 bench,bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
	bench,bw,--qp,rc-esp,--size,16K,--iters,10,--window,2 back,bw,--qp,rd,--size,16K,--iters,20,--window,4
	back,bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4 back,bw,--qp,rc-esp,--size,16K,--iters,10,--window,2
	rping pingpong perftest verbs goal groups linux_tcp sockets sockets,-R'
brief='bench,bw,--qp,rd,--size,16K,--iters,20,--window,4 bench,bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
	back,bw,--qp,rd,--size,16K,--iters,20,--window,4 rping goal'
large='stop hugepages,180 weftd,--mtu,9000 list bench,bw,--qp,rd,--size,64K,--iters,10,--window,2
	bench,bw,--qp,rc-tcp,--size,64K,--iters,10,--window,2 mtu,1400 bench,bw,--qp,rd,--size,64K,--iters,10,--window,2'
# The acts of `make run`, on the built-in switch, with the runners of weftd's defaults.
run_acts='switch,4 list loop,lat,--qp,rd,--iters,100 loop,lat,--qp,ud,--iters,100 loop,rate,--qp,rd,--iters,500
	loop,rate,--qp,ud,--iters,500 bench,lat,--qp,rd,--iters,50,--warmup,5 bench,lat,--qp,ud,--iters,50,--warmup,5
	bench,lat,--qp,rd,--op,read,--iters,50,--warmup,5 bench,bw,--qp,rd,--op,write,--size,1M,--iters,5,--window,2
	bench,bw,--qp,rd,--op,read,--size,1M,--iters,5,--window,2 counter rping sockets sockets,-R
	collectives,4 collectives,16 goal stop switch,2,--mtu,1500,--loss,1 file,2000000 stop'
pings='kernel_up,10.9.0.9/24 ping,10.9.0.1 ping,10.9.0.2'
virtio='virtio-net-pci'

# guest_arch ARCH: of the guests that are started after it
guest_arch()
{
	export GUEST_ARCH=$1
	case $1 in
	arm64)
		machine_uio='-M virt,gic-version=2'
		machine_vfio='-M virt,gic-version=3,iommu=smmuv3'
		;;
	x86_64)
		machine_uio='-M pc,vmport=off,hpet=off'
		machine_vfio='-M q35,vmport=off,hpet=off,kernel-irqchip=split -device intel-iommu,intremap=on,aw-bits=48'
		;;
	esac
}

# guest_image ARCH: makes its initial file system; 77, with the reason, where none can run
guest_image()
{
	local reason bin=$WEFT_BIN int=$WEFT_INT
	export GUEST_ARCH=$1
	[ "$1" = x86_64 ] || { bin=${ARM_BIN:?} int=$ARM_BIN/../int; }
	reason=$(tests/nodes/guest.sh why) || skip "$reason"
	tests/nodes/guest.sh kernel || die 'the kernel of the guest is not there'
	WEFT_BIN=$bin WEFT_INT=$int tests/nodes/guest.sh image "$WEFT_TMP/image.$1" || die 'the initial file system cannot be made'
}

# cards DEVICE: QEMU's options for two of them on the first bus, and the kernel's, on one Ethernet
cards()
{
	printf '%s ' -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0 -netdev hubport,id=h2,hubid=0 \
		-device "$1,id=c0,netdev=h0,addr=10,romfile=" -device "$1,id=c1,netdev=h1,addr=11,romfile=,mac=52:54:00:12:34:99" \
		-device "$virtio,netdev=h2,addr=18,romfile=,mac=52:54:00:12:34:77"
}

# one_card DEVICE LINK PEER: QEMU's options for a card and the kernel's interface, joined to another guest
one_card()
{
	printf '%s ' -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0 \
		-netdev "dgram,id=d0,local.type=unix,local.path=$2,remote.type=unix,remote.path=$3" \
		-netdev hubport,id=h2,hubid=0,netdev=d0 -device "$1,netdev=h0,addr=10,romfile=" \
		-device "$virtio,netdev=h1,addr=18,romfile=,mac=52:54:00:12:34:$4"
}

# singly DEVICE: an act for cards that divide runs of TCP segments into fragments of IP packets, as vmxnet3
# of QEMU before 8.1 does where nothing behind it divides them
singly()
{
	case $1 in
	vmxnet3*) echo tso,off ;;
	esac
}

# guest_start NAME ACTS QEMU-OPTION...: in the network namespace of $guest_ns
guest_ns=
guest_start()
{
	local name=$1 acts=$2
	shift 2
	: >"$WEFT_TMP/$name.console"
	# shellcheck disable=SC2086 # words
	spawn "$name" $guest_ns tests/nodes/guest.sh run "$WEFT_TMP/image.$GUEST_ARCH" "$WEFT_TMP/$name.console" "$(echo $acts)" "$@"
}

# host_does NAME LINE COMMAND: when the guest prints the line, QEMU gets the command (QMP at $WEFT_TMP/NAME.qmp)
host_does()
{
	until dead "$1" || guest_said "$1" "^host: $2"; do sleep 0.5; done
	dead "$1" || printf '{"execute": "qmp_capabilities"}\n%s\n' "$3" |
		timeout 60 socat -t 5 - "UNIX-CONNECT:$WEFT_TMP/$1.qmp" >>"$WEFT_TMP/$1.qmp.out"
}

qmp()
{
	printf '%s ' -qmp "unix:$WEFT_TMP/$1.qmp,server=on,wait=off"
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

# card_case NAME uio|vfio|noiommu DEVICE ACTS...: further acts behind those that every card has
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
	noiommu) bind='hugepages,100 noiommu bind,vfio-pci,0,1' how=uio ;;
	esac
	local machine=machine_$how
	# shellcheck disable=SC2086,SC2046 # words
	guest_start "$name" "$bind $(singly "$device") weftd list $pings $data stats,card_ $* stop" ${!machine} $(cards "$device")
	guest_end "$name"
	tr -d '\r' <"$WEFT_TMP/$name.console" | grep -E 'weft0: card|polled_idle|rx_interrupts|act: no |requests,' | sort -u
}
