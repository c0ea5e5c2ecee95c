#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd on PCI cards by DPDK's drivers, in an emulated machine (guest.sh): each kind of card that QEMU
# has and DPDK drives, bound to uio_pci_generic (hugepages), to vfio-pci behind an emulated IOMMU
# (ordinary memory) and to vfio-pci without one. Two cards and an interface of the kernel are on one Ethernet in there: pings of
# the kernel, data over RD, TCP and ESP from card to card with every byte looked at, rping, pings of
# libibverbs and perftest, iperf3 over sockets in both directions, a GOAL program, large packets,
# counters of drivers, cards that cannot be used, and one that is taken out.
#
# CASES names the cases to run: lib.sh.
#
# timeout: 7200

. tests/int/lib.sh
. tests/nodes/lib.sh
without_iommu=
if wanted virtio_noiommu || wanted e1000e_noiommu; then
	without_iommu=$(tests/nodes/guest.sh kernel && tests/nodes/guest.sh noiommu) && without_iommu=
fi
guest_image x86_64
guest_arch x86_64

# The same behind ports from which they can be taken out.
cards_behind_ports()
{
	printf '%s ' -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0 -netdev hubport,id=h2,hubid=0 \
		-device pcie-root-port,id=r0,chassis=1,slot=1,addr=1c -device pcie-root-port,id=r1,chassis=2,slot=2,addr=1d \
		-device "$1,netdev=h0,bus=r0,romfile=" -device "$1,netdev=h1,bus=r1,romfile=,id=c1,mac=52:54:00:12:34:99" \
		-device "virtio-net-pci,netdev=h2,addr=18,romfile=,mac=52:54:00:12:34:77"
}

virtio_iommu="$virtio,disable-legacy=on,iommu_platform=on"

card_case virtio_split uio $virtio
card_case virtio_packed uio "$virtio,packed=on,disable-legacy=on,mq=on,vectors=6" "$large"
card_case virtio_legacy uio "$virtio,disable-modern=on"
card_case e1000 uio e1000
card_case e1000_82545em uio e1000-82545em
card_case e1000e uio e1000e "$large"
card_case vmxnet3 uio vmxnet3 "$large"
# Runs of which QEMU makes fragments of IP packets, which weft drops: connections go back to single frames.
if wanted vmxnet3_lost_runs; then
	# shellcheck disable=SC2086,SC2046 # words
	guest_start vmxnet3_lost_runs "hugepages,100 bind,uio_pci_generic,0,1 weftd list bench,bw,--qp,rc-tcp,--size,64K,--iters,20,--window,4
		back,bw,--qp,rc-tcp,--size,64K,--iters,20,--window,4 sockets stats,tso_runs,tcp_tx_retransmits stop" $machine_uio $(cards vmxnet3)
	guest_end vmxnet3_lost_runs
fi
# Receive interrupts come from virtio and vmxnet3, so that an idle weftd need not look; those of e1000e go astray.
card_case virtio_vfio vfio "$virtio_iommu" stats,wire_rx_interrupts
card_case virtio_packed_vfio vfio "$virtio_iommu,packed=on" stats,wire_rx_interrupts "$large"
card_case e1000e_vfio vfio e1000e stats,wire_polled_idle "$large"
card_case vmxnet3_vfio vfio vmxnet3 stats,wire_rx_interrupts

# vfio without an IOMMU: another way to the same cards.
if [ -z "$without_iommu" ]; then
	data=$brief card_case virtio_noiommu noiommu $virtio stats,wire_rx_interrupts
	data=$brief card_case e1000e_noiommu noiommu e1000e
else
	say "left out: vfio without an IOMMU: $without_iommu"
fi

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
		stats,card_tx_q0,card_tx_q1,card_rx_q,tso_runs stop" $machine_uio $cards
	guest_end virtio_queues
	guest_ns=
	tr -d '\r' <"$WEFT_TMP/virtio_queues.console" | grep -E 'a queue for each|card_[rt]x_q._good_packets|tso_' | sort -u
fi

# Rules by which a device brings frames to the queue of their shard (rte_flow): no emulated card takes
# any, DPDK's tap gives them to the kernel, which needs cls_flower: two for UDP ports, one for ESP.
if wanted flows; then
	guest_start flows "cores,0:io,1:coll taps,--verbose logged,for.each.of.2.shards..3.rules list
		bench,bw,--qp,rd,--size,16K,--iters,20,--window,4 bench,bw,--qp,rd,--size,16K,--iters,20,--window,4
		bench,bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4 back,bw,--qp,rc-esp,--size,16K,--iters,10,--window,2
		goal stats,port_rx_frames rules stop" $machine_uio
	guest_end flows
	tr -d '\r' <"$WEFT_TMP/flows.console" | grep -E 'a queue for each|rule' | sort -u
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

# A card behind an IOMMU is kept from weftd by another program, and by another card of its group that
# the kernel drives.
if wanted refusals_vfio; then
	# shellcheck disable=SC2086,SC2046 # words
	guest_start refusals_vfio "bind,vfio-pci,0 ports
		refused,IOMMU.group.*also.has,--port,pci:01:01.0,--ip,10.9.0.1/24
		bind,vfio-pci,1 held,0
		refused,another.program.has.it.open,--port,pci:01:01.0,--ip,10.9.0.1/24" \
		$machine_vfio -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0 -device pcie-pci-bridge,id=b0,addr=1c \
		-device e1000,netdev=h0,bus=b0,addr=1,romfile= -device e1000,netdev=h1,bus=b0,addr=2,romfile=,mac=52:54:00:12:34:99
	guest_end refusals_vfio
fi

# The link of a card goes and comes, as weftd sees it; frames that were sent meanwhile are sent again.
for device in e1000e vmxnet3 $virtio; do
	name=link_${device%%-*}
	wanted link || wanted "$name" || continue
	# shellcheck disable=SC2086,SC2046 # words
	guest_start "$name" "hugepages,100 bind,uio_pci_generic,0,1 $(singly "$device") weftd list kernel_up,10.9.0.9/24 ping,10.9.0.1 link,0,down
		no_ping,10.9.0.1 ping,10.9.0.2 link,0,up ping,10.9.0.1 bench,bw,--qp,rd,--size,16K,--iters,20,--window,4 stop" \
		$machine_uio $(cards "$device") $(qmp "$name")
	host_does "$name" 'link 0 down' '{"execute": "set_link", "arguments": {"name": "c0", "up": false}}'
	host_does "$name" 'link 0 up' '{"execute": "set_link", "arguments": {"name": "c0", "up": true}}'
	guest_end "$name"
done

# NICs on a VLAN with the kernel's interface on it; those of another VLAN do not answer.
for device in e1000e vmxnet3 $virtio; do
	name=vlan_${device%%-*}
	wanted vlan || wanted "$name" || continue
	# shellcheck disable=SC2086,SC2046 # words
	guest_start "$name" "hugepages,100 bind,uio_pci_generic,0,1 $(singly "$device") vlan,5 weftd list kernel_vlan,5,10.9.0.9/24 ping,10.9.0.1 ping,10.9.0.2
		bench,bw,--qp,rd,--size,16K,--iters,20,--window,4 bench,bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
		bench,bw,--qp,rc-esp,--size,16K,--iters,10,--window,2 back,bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
		goal groups linux_tcp stop vlan,6 weftd list no_ping,10.9.0.1 bench,bw,--qp,rd,--size,16K,--iters,20,--window,4 stop" \
		$machine_uio $(cards "$device")
	guest_end "$name"
	tr -d '\r' <"$WEFT_TMP/$name.console" | grep -E 'weft0: card'
done

if wanted unplug; then
	# shellcheck disable=SC2086,SC2046 # words
	guest_start unplug "bind,vfio-pci,0,1 weftd list unplugged,1 kernel_up,10.9.0.9/24 ping,10.9.0.1 stop" $machine_vfio $(cards_behind_ports e1000e) \
		$(qmp unplug)
	host_does unplug 'unplug 1' '{"execute": "device_del", "arguments": {"id": "c1"}}'
	guest_end unplug
fi

# again COMMAND...: until the guest is there, too
again()
{
	local left=60
	until timeout 600 $guest_ns "$@" >"$WEFT_TMP/again.out" 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || { cat "$WEFT_TMP/again.out"; return 1; }
		sleep 2
	done
	say "ok: host: $*"
}

# host_side NAME BYTES: what the host does with the guest, in the order of its acts
host_side()
{
	again ping -c 3 10.9.0.1 || return
	again "$WEFT_INT/mpa_sock" listen 10.9.0.9 7300 -s "$2" -n 30 -d both || return
	again "$WEFT_INT/mpa_sock" connect 10.9.0.1 7301 -s "$2" -n 30 -d both
}

# host_case NAME DEVICE VNET-HDR BYTES ACT...: a card on the host's tap, and messages of so many bytes
host_case()
{
	local name=$1 device=$2 header=$3 bytes=$4 alone
	shift 4
	wanted host || wanted "$name" || return 0
	[ "$header" = on ] && alone='' || alone=$(singly "$device")
	# shellcheck disable=SC2086 # words
	guest_start "$name" "hugepages,80 bind,uio_pci_generic,0 $alone weftd list
		there,rc_peer,connect,10.9.0.9,7300,-s,$bytes,-n,30,-d,both here,rc_peer,listen,10.9.0.1,7301,-s,$bytes,-n,30,-d,both $* stop" \
		$machine_uio -netdev "tap,id=h0,ifname=wt,script=no,downscript=no,vhost=off,vnet_hdr=$header" \
		-device "$device,netdev=h0,addr=10,romfile="
	until dead "$name" || guest_said "$name" '^act: list'; do sleep 0.5; done
	dead "$name" || { host_side "$name" "$bytes" || guest_failed "$name" 'the host fails'; }
	guest_end "$name"
	tr -d '\r' <"$WEFT_TMP/$name.console" | grep -E 'weft0: card|tso_'
}

# Linux's software iWARP in a guest of its own (tests/interop/guest.sh) as the peer of a card: rping,
# perftest, and rc_peer, which looks at every byte; either of them active.
siw_guest=tests/interop/guest.sh
siw_card=
siw()
{
	timeout 900 $siw_guest sh siw "$*" >"$WEFT_TMP/siw.out" 2>&1 || { cat "$WEFT_TMP/siw.out"; guest_failed "$siw_card" "siw: $*"; }
}

# siw_until WORD...: again until the other guest's program is there, too; a wrong byte ends it
siw_until()
{
	siw "for i in \$(seq 60); do $* >/tmp/out 2>&1 && exit 0; grep -q wrong /tmp/out && break; sleep 3; done; tail -n 20 /tmp/out; exit 1"
	say "ok: siw: $*"
}

# The wire of both guests. siw misses an FPDU that comes right behind its own MPA reply: the wire
# delays it.
siw_up()
{
	[ -e "${WEFT_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft-guest}/ready" ] || $siw_guest build || die 'no guest with siw'
	export WEFT_GUEST_RUN=$WEFT_TMP/guest
	netns_add siw
	ns=$(unique siw)
	guest_ns="ip netns exec $ns"
	ip -n "$ns" link add br0 type bridge && ip -n "$ns" link add ga type veth peer name gb || die 'no bridge'
	$guest_ns ip tuntap add dev wt mode tap || die 'no tap'
	for dev in br0 ga gb wt; do
		$guest_ns sysctl -q -w "net.ipv6.conf.$dev.disable_ipv6=1" 2>/dev/null
		ip -n "$ns" link set $dev up
	done
	ip -n "$ns" link set gb master br0
	spawn wire $guest_ns "$WEFT_INT/lossy_wire" wt ga -m 200
	wait_until 'the wire is ready' grep -q '^ready' "$WEFT_TMP/wire.out"
	at_exit "$siw_guest stop siw"
	$siw_guest boot siw --ns "$ns" --bridge br0 --ip 10.9.0.3/24 --add "$WEFT_INT/rc_peer" || die 'the guest with siw does not boot'
}

# siw_case DEVICE: without vnet_hdr QEMU makes the checksums that the driver leaves to the card;
# with it they would be left to the tap, and a program that reads frames from there gets none.
siw_case()
{
	local acts='' op ops='send,-d,both write,-d,passive read,-d,passive'
	siw_card=siw_${1%%-*}
	for op in $ops; do
		acts="$acts there,rc_peer,connect,10.9.0.3,7300,-w,300,-s,5000,-n,30,-o,$op here,rc_peer,listen,10.9.0.1,7301,-s,5000"
	done
	acts="$acts there,rping,-c,-a,10.9.0.3,-C,10,-V here,rping,-s,-a,10.9.0.1,-C,10,-V"
	acts="$acts there,ib_write_lat,-F,-R,-n,20,-s,4096,10.9.0.3 here,ib_write_lat,-F,-R,-n,20,-s,4096"
	# shellcheck disable=SC2086 # words
	guest_start "$siw_card" "hugepages,80 bind,uio_pci_generic,0 $(singly "$1") weftd list $acts stop" $machine_uio \
		-netdev tap,id=h0,ifname=wt,script=no,downscript=no,vhost=off,vnet_hdr=off -device "$1,netdev=h0,addr=10,romfile="
	until dead "$siw_card" || guest_said "$siw_card" '^act: list'; do sleep 0.5; done
	for op in $ops; do
		siw_until "rc_peer listen 10.9.0.3 7300 -s 5000"
		siw_until "rc_peer connect 10.9.0.1 7301 -w 300 -s 5000 -n 30 -o ${op//,/ }"
	done
	# At its end rping closes the event channel on which one of its threads waits, which may exit with -1.
	siw "rping -s -a 10.9.0.3 -C 10 -V >/tmp/out 2>&1 || grep -qx 'rdma_get_cm_event: Bad file descriptor' /tmp/out"
	siw_until "rping -c -a 10.9.0.1 -C 10 -V"
	siw "ib_write_lat -F -R -n 20 -s 4096"
	siw_until "ib_write_lat -F -R -n 20 -s 4096 10.9.0.1"
	guest_end "$siw_card"
}

if wanted siw && reason=$($siw_guest why) && [ -x "$WEFT_INT/lossy_wire" ] && [ -x "$WEFT_INT/rc_peer" ]; then
	siw_up
	for device in e1000e vmxnet3 $virtio; do
		siw_case "$device"
	done
	guest_ns=
	kill9 wire
elif wanted siw; then
	say "left out: siw as the peer: ${reason:-no programs of tests/interop}"
fi

# The host itself at the other end of a tap: its pings, and its TCP (mpa_sock) with RC over TCP. A tap
# that takes frames with a header (vnet_hdr) divides runs: long messages come in such.
if wanted host || wanted host_e1000e || wanted host_vmxnet3 || wanted host_virtio || wanted host_vmxnet3_tso || wanted host_virtio_tso; then
	netns_add host
	ns=$(unique host)
	guest_ns="ip netns exec $ns"
	$guest_ns ip tuntap add dev wt mode tap && ip -n "$ns" addr add 10.9.0.9/24 dev wt && ip -n "$ns" link set wt up || die 'no tap'
	host_case host_e1000e e1000e off 5000
	host_case host_vmxnet3 vmxnet3 off 5000
	host_case host_virtio $virtio off 5000
	host_case host_vmxnet3_tso vmxnet3 on 20000 stats,tso_runs,tso_frames
	host_case host_virtio_tso $virtio on 20000 stats,tso_runs,tso_frames
	guest_ns=
fi

# Two machines with cards of different kinds: a and b are the ends of their cable, either of them active.
if wanted two; then
	macs=52:54:00:12:35:01,52:54:00:12:35:02
	rd=bw,--qp,rd,--size,16K,--iters,20,--window,4
	tcp=bw,--qp,rc-tcp,--size,16K,--iters,20,--window,4
	esp=bw,--qp,rc-esp,--size,16K,--iters,10,--window,2
	# shellcheck disable=SC2086,SC2046 # words
	guest_start two_a "hugepages,80 bind,uio_pci_generic,0 weftd kernel_up,10.8.0.1/24 serve,$rd serve,$tcp serve,$esp
		client,10.8.0.2,$rd client,10.8.0.2,$tcp client,10.8.0.2,$esp
		here,rping,-s,-a,10.9.0.1,-C,5,-V there,rping,-c,-a,10.9.0.2,-C,5,-V rank,0,$macs stop" \
		$machine_uio $(one_card e1000e,mac=52:54:00:12:35:01 "$WEFT_TMP/a" "$WEFT_TMP/b" 71)
	# shellcheck disable=SC2086,SC2046 # words
	guest_start two_b "hugepages,80 bind,uio_pci_generic,0 first,2 tso,off weftd kernel_up,10.8.0.2/24 client,10.8.0.1,$rd
		client,10.8.0.1,$tcp client,10.8.0.1,$esp serve,$rd serve,$tcp serve,$esp
		there,rping,-c,-a,10.9.0.1,-C,5,-V here,rping,-s,-a,10.9.0.2,-C,5,-V rank,1,$macs stop" \
		$machine_uio $(one_card vmxnet3,mac=52:54:00:12:35:02 "$WEFT_TMP/b" "$WEFT_TMP/a" 72)
	guest_end two_b
	guest_end two_a
fi
