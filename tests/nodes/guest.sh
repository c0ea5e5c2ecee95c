#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# An emulated x86-64 or arm64 machine with weftd and PCI cards, made of Debian's kernel and of programs
# of this tree. The scripts of this folder run it.
#
#	guest.sh why			exit status 0, or a line that says why no guest can run here
#	guest.sh kernel			loads the kernel and its modules once (70 MB) into the cache; for arm64 Debian's
#					libraries and programs, too
#	guest.sh noiommu		makes vfio for it that works without an IOMMU, which Debian's does not (140 MB
#					are loaded once), or ends with a line that says why not; x86-64 alone
#	guest.sh image FILE		makes the initial file system: weft's programs of WEFT_BIN, DPDK's
#					drivers for emulated cards, modules, acts
#	guest.sh run IMAGE CONSOLE ACTS [QEMU-OPTION]...
#					boots it, which carries out ACTS (words of guest_acts.sh) and
#					ends; its console goes to the file. Runs QEMU in the foreground
#
#	GUEST_ARCH		x86_64 (default) or arm64
#	WEFT_BIN		programs of weft, for that machine
#	WEFT_INT		programs of tests, likewise
#	ARM_LIBS		folder of the unpacked arm64 libraries that weftd is linked with
#	WEFT_NODES_CACHE	the kernel (default: weft-nodes in XDG_CACHE_HOME or ~/.cache)

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${WEFT_NODES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft-nodes}
tool=$here/../interop/guest_tool.py
arch=${GUEST_ARCH:-x86_64}
host_tools="python3 cpio xz depmod ldd busybox readelf"
modules="virtio_pci virtio_net vfio_pci vfio_iommu_type1 uio_pci_generic e1000 e1000e vmxnet3 8021q
	tun bridge sch_ingress sch_multiq cls_flower act_skbedit act_gact"
pmd_dir=
pmds="bus_pci bus_vdev mempool_ring net_virtio net_e1000 net_vmxnet3 net_tap net_ring"
programs="rping iperf3 ibv_rc_pingpong ib_send_lat ib_write_lat ib_read_lat"
test_programs="mcast_prog mpa_sock rc_peer verbs_data goal_prog"
strip=strip qemu=qemu-system-x86_64
if [ "$arch" = arm64 ]; then
	cache=$cache/arm64
	# Debian's packages for that machine: the kernel, and what weftd's libraries need in turn.
	arm_packages="linux-image-arm64 busybox-static libc6 libgcc-s1 libfdt1 libpcap0.8 libdbus-1-3 libsystemd0 libcap2
		librte-bus-pci23 librte-bus-vdev23 librte-mempool-ring23 librte-net-virtio23 librte-net-e1000-23
		librte-net-vmxnet3-23 librte-net-ring23 libgcrypt20 liblzma5 libzstd1 liblz4-1 libgpg-error0 libnl-3-200 libnl-route-3-200 libibverbs1 librdmacm1
		rdmacm-utils ibverbs-utils perftest libibumad3 libpci3 libudev1 iperf3 libiperf0 libsctp1 libssl3 libgnutls30 libp11-kit0 libidn2-0
		libunistring2 libtasn1-6 libnettle8 libhogweed6 libgmp10 libffi8
		ibverbs-providers"
	arm_root=$cache/root
	strip=aarch64-linux-gnu-strip qemu=qemu-system-aarch64
	modules="virtio_pci virtio_net vfio_pci vfio_iommu_type1 uio_pci_generic 8021q"
	host_tools="$host_tools $strip"
fi
host_tools="$host_tools $qemu"

die()
{
	echo "guest.sh: $*" >&2
	exit 1
}

kernel_package()
{
	apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image/ { name = $2 } END { print name }'
}

why()
{
	local tool
	[ "$arch" = arm64 ] || [ "$(uname -m)" = x86_64 ] || { echo "the guest is built for x86_64"; return 1; }
	for tool in $host_tools; do
		PATH=$PATH:/sbin:/usr/sbin command -v "$tool" >/dev/null ||
			{ echo "$tool is not installed (tools/deps.sh nodes)"; return 1; }
	done
	[ -e "$cache/ready" ] || [ "$arch" = arm64 ] || [ -n "$(kernel_package)" ] ||
		{ echo "no package linux-image-amd64: the guest runs Debian's kernel"; return 1; }
}

# kernel_take TREE VERSION: modules of an unpacked kernel
kernel_take()
{
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$1" "$2" 2>/dev/null
	# shellcheck disable=SC2086 # words
	STRIP=$strip python3 "$tool" modules "$1/lib/modules/$2" "$cache/mods" $modules
	echo "$modules" >"$cache/ready"
}

kernel()
{
	local package version
	[ "$(cat "$cache/ready" 2>/dev/null)" != "$modules" ] || return 0
	rm -f "$cache/ready" "$cache/noiommu.ko"
	why || exit 1
	rm -rf "$cache/mods"
	mkdir -p "$cache/mods"
	if [ "$arch" = arm64 ]; then
		# shellcheck disable=SC2086 # words
		"$here/../../tools/cross_sysroot.sh" "$arm_root" $arm_packages || exit 1
		version=$(basename "$arm_root"/lib/modules/*)
		cp "$arm_root/boot/vmlinuz-$version" "$cache/vmlinux"
		kernel_take "$arm_root" "$version"
		rm -rf "${arm_root:?}"/lib/modules "${arm_root:?}"/boot
		return
	fi
	package=$(kernel_package)
	version=${package#linux-image-}
	(cd "$cache" && apt-get download "$package" >"$cache/download.log" 2>&1) ||
		die "the kernel cannot be loaded, see $cache/download.log"
	dpkg-deb -x "$cache"/linux-image-*.deb "$cache/kernel"
	python3 "$tool" vmlinux "$cache/kernel/boot/vmlinuz-$version" "$cache/vmlinux"
	kernel_take "$cache/kernel" "$version"
	rm -rf "$cache/kernel" "$cache"/*.deb
}

# Debian's kernel has no VFIO_NOIOMMU: its source's vfio, built with that against the kernel's headers.
noiommu()
{
	local version source=linux-source-6.1 src=$cache/vfio headers
	[ "$arch" = x86_64 ] || { echo "vfio without an IOMMU is built for x86-64 alone"; return 1; }
	[ ! -e "$cache/noiommu.ko" ] || return 0
	version=$(kernel_package)
	version=${version#linux-image-}
	headers=/usr/src/linux-headers-$version
	[ -e "$headers/Makefile" ] || { echo "$headers is not there (tools/deps.sh interop)"; return 1; }
	(cd "$cache" && apt-get download "$source" >"$cache/download.log" 2>&1) || { echo "$source cannot be loaded"; return 1; }
	rm -rf "$src" && mkdir -p "$src"
	dpkg-deb --fsys-tarfile "$cache/$source"_*.deb | tar -xOf - "./usr/src/$source.tar.xz" | xz -dc -T0 |
		tar -xf - -C "$src" --strip-components=3 "$source/drivers/vfio"
	rm -f "$cache/$source"_*.deb
	sed -i '/^obj-/d' "$src/Makefile"
	echo 'obj-m += vfio.o' >>"$src/Makefile"
	make -C "$headers" M="$src" KCFLAGS=-DCONFIG_VFIO_NOIOMMU=1 modules >"$cache/vfio.log" 2>&1 ||
		{ echo "vfio cannot be built, see $cache/vfio.log"; return 1; }
	strip -g "$src/vfio.ko"
	mv "$src/vfio.ko" "$cache/noiommu.ko"
	rm -rf "$src"
}

# libraries FILE: the libraries that it loads, as lines with their place here and in the guest
libraries()
{
	local name dir found
	if [ "$arch" = x86_64 ]; then
		{ ldd "$1" 2>/dev/null || true; } | { grep -o '/[^ ]*' || true; } | sed 's/.*/& &/'
		return
	fi
	{ readelf -d "$1" 2>/dev/null || true; } | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r name; do
		found=
		# Libraries of weft find it beside them.
		case $name in libweft.so.*) continue ;; esac
		for dir in "$arm_root"/lib/aarch64-linux-gnu "$arm_root"/usr/lib/aarch64-linux-gnu "$ARM_LIBS" \
			"$ARM_LIBS/../../../lib/aarch64-linux-gnu"; do
			[ -e "$dir/$name" ] || continue
			found=yes
			case $name in
			ld-*) echo "$dir/$name /lib/$name" ;;
			*) echo "$dir/$name /lib/aarch64-linux-gnu/$name" ;;
			esac
			break
		done
		[ -n "$found" ] || echo "guest.sh: $1 needs $name, which none of the packages has" >&2
	done
}

# install_file FILE TREE FOLDER: copies it, without symbols if it is a program, and the libraries that it loads
install_file()
{
	local lib to
	mkdir -p "$2/$3"
	cp -L "$1" "$2/$3/"
	$strip -g "$2/$3/${1##*/}" 2>/dev/null || true
	libraries "$1" | while read -r lib to; do
		[ ! -e "$2$to" ] && [ ! -L "$2$to" ] || continue
		# A driver that was loaded twice would register twice.
		case $(readlink -f "$lib") in
		*/pmds-*)
			mkdir -p "$2${to%/*}"
			ln -s "$pmd_dir/${lib##*/}" "$2$to"
			continue
			;;
		esac
		install_file "$lib" "$2" "${to%/*}"
	done
}

# program NAME: where the machine's packages have it
program()
{
	if [ "$arch" = arm64 ]; then
		compgen -G "$arm_root/*bin/$1" || compgen -G "$arm_root/usr/*bin/$1"
	else
		command -v "$1"
	fi
}

image()
{
	local out=$1 tree pmd file pmds_here
	local bin=${WEFT_BIN:?} lib
	lib=$(cd "$bin/../lib" && pwd)
	if [ "$arch" = arm64 ]; then
		: "${ARM_LIBS:?}"
		pmds_here=$(compgen -G "$arm_root/usr/lib/*/dpdk/pmds-*")
		pmd_dir=${pmds_here#"$arm_root"}
	else
		pmds_here=$(compgen -G '/usr/lib/*/dpdk/pmds-*')
		pmd_dir=$pmds_here
	fi
	tree=$(mktemp -d "${TMPDIR:-/tmp}/weft-guest.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$tree'" EXIT
	mkdir -p "$tree"/{bin,sbin,proc,sys,dev,tmp,run,etc,var/run,usr/bin,weft/lib/verbs}
	install_file "$(program busybox)" "$tree" bin
	ln -s busybox "$tree/bin/sh"
	for file in weftd weftctl weft-bench weft-run goal-run; do
		[ ! -e "$bin/$file" ] || install_file "$bin/$file" "$tree" weft/bin
	done
	# Libraries of weft look for each other beside them.
	for file in "$lib"/libweft.so.?; do
		install_file "$file" "$tree" weft/lib
	done
	for file in "$lib"/verbs/*.so*; do
		[ ! -e "$file" ] || install_file "$file" "$tree" weft/lib/verbs
	done
	for file in $programs; do
		file=$(program "$file") && install_file "$file" "$tree" usr/bin
	done
	for file in $test_programs; do
		[ ! -e "$WEFT_INT/$file" ] || install_file "$WEFT_INT/$file" "$tree" weft/bin
	done
	for pmd in $pmds; do
		file=$(compgen -G "$pmds_here/librte_$pmd.so.*.*") || continue
		install_file "$file" "$tree" "${pmd_dir#/}"
		ln -s "${file##*/}" "$tree$pmd_dir/$(basename "${file%.*}")"
	done
	# Threads of glibc are ended by it.
	if [ "$arch" = arm64 ]; then
		install_file "$arm_root/lib/aarch64-linux-gnu/libgcc_s.so.1" "$tree" lib/aarch64-linux-gnu
	else
		file=$(ldconfig -p | awk '/libgcc_s.so.1/ && /x86-64/ { file = $NF } END { print file }')
		[ -e "$tree$file" ] || install_file "$file" "$tree" "${file%/*}"
	fi
	mkdir -p "$tree/mods"
	cp "$cache"/mods/* "$tree/mods/"
	[ ! -e "$cache/noiommu.ko" ] || cp "$cache/noiommu.ko" "$tree/mods/vfio.ko"
	install -m 755 "$here/guest_init.sh" "$tree/init"
	install -m 755 "$here/guest_acts.sh" "$tree/acts"
	echo root:x:0:0:root:/tmp:/bin/sh >"$tree/etc/passwd"
	echo root:x:0: >"$tree/etc/group"
	echo 127.0.0.1 localhost >"$tree/etc/hosts"
	(cd "$tree" && find . | sort | cpio --quiet -o -H newc -R 0:0) >"$out"
}

run()
{
	local image=$1 console=$2 acts=$3 words=() machine=()
	shift 3
	words=(loglevel=4 panic=-1 reboot=t nokaslr audit=0 cryptomgr.notests random.trust_cpu=on
		"weft.acts=$(printf '%s' "$acts" | base64 -w0)")
	if [ "$arch" = arm64 ]; then
		words+=(console=ttyAMA0)
		machine=(-cpu cortex-a72)
	else
		words+=(console=ttyS0 mitigations=off tsc=reliable no_timer_check nopti intel_iommu=on iommu=pt)
		machine=(-cpu 'qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+pclmulqdq')
	fi
	exec "$qemu" -accel tcg,thread=multi,tb-size=256 "${machine[@]}" -m "${WEFT_NODES_MEM:-768}" -smp 2 \
		-nodefaults -no-user-config -display none -no-reboot -kernel "$cache/vmlinux" -initrd "$image" \
		-append "${words[*]}" -chardev "file,id=c0,path=$console" -serial chardev:c0 "$@"
}

case ${1:-} in
why) why ;;
kernel) kernel ;;
noiommu) noiommu ;;
image) image "$2" ;;
run)
	shift
	run "$@"
	;;
*)
	echo "usage: guest.sh why | kernel | noiommu | image FILE | run IMAGE CONSOLE ACTS [QEMU-OPTION]..." >&2
	exit 2
	;;
esac
