#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# An emulated x86-64 machine with weftd and PCI cards, made of Debian's kernel and of programs of
# this tree. The scripts of this folder run it.
#
#	guest.sh why			exit status 0, or a line that says why no guest can run here
#	guest.sh kernel			loads the kernel and its modules once (70 MB) into the cache
#	guest.sh image FILE		makes the initial file system: weft's programs of WEFT_BIN, DPDK's
#					drivers for emulated cards, modules, acts
#	guest.sh run IMAGE CONSOLE ACTS [QEMU-OPTION]...
#					boots it, which carries out ACTS (words of guest_acts.sh) and
#					ends; its console goes to the file. Runs QEMU in the foreground
#
#	WEFT_NODES_CACHE	the kernel (default: weft-nodes in XDG_CACHE_HOME or ~/.cache)

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${WEFT_NODES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft-nodes}
tool=$here/../interop/guest_tool.py
host_tools="qemu-system-x86_64 python3 cpio xz depmod ldd busybox"
modules="virtio_pci virtio_net vfio_pci vfio_iommu_type1 uio_pci_generic e1000 e1000e vmxnet3"
pmd_dir=
pmds="bus_pci bus_vdev mempool_ring net_virtio net_e1000 net_vmxnet3 net_ring"

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
	[ "$(uname -m)" = x86_64 ] || { echo "the guest is built for x86_64"; return 1; }
	for tool in $host_tools; do
		PATH=$PATH:/sbin:/usr/sbin command -v "$tool" >/dev/null ||
			{ echo "$tool is not installed (tools/deps.sh nodes)"; return 1; }
	done
	[ -e "$cache/ready" ] || [ -n "$(kernel_package)" ] ||
		{ echo "no package linux-image-amd64: the guest runs Debian's kernel"; return 1; }
}

kernel()
{
	local package version
	[ ! -e "$cache/ready" ] || return 0
	why || exit 1
	package=$(kernel_package)
	version=${package#linux-image-}
	rm -rf "$cache"
	mkdir -p "$cache/mods"
	(cd "$cache" && apt-get download "$package" >"$cache/download.log" 2>&1) ||
		die "the kernel cannot be loaded, see $cache/download.log"
	dpkg-deb -x "$cache"/linux-image-*.deb "$cache/kernel"
	python3 "$tool" vmlinux "$cache/kernel/boot/vmlinuz-$version" "$cache/vmlinux"
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$cache/kernel" "$version" 2>/dev/null
	# shellcheck disable=SC2086 # words
	python3 "$tool" modules "$cache/kernel/lib/modules/$version" "$cache/mods" $modules
	rm -rf "$cache/kernel" "$cache"/*.deb
	echo "$version" >"$cache/ready"
}

# install_file FILE TREE FOLDER: copies it, without symbols if it is a program, and the libraries that it loads
install_file()
{
	local lib
	mkdir -p "$2/$3"
	cp -L "$1" "$2/$3/"
	strip -g "$2/$3/${1##*/}" 2>/dev/null || true
	{ ldd "$1" 2>/dev/null || true; } | { grep -o '/[^ ]*' || true; } | while read -r lib; do
		[ ! -e "$2$lib" ] || continue
		mkdir -p "$2${lib%/*}"
		# A driver that was loaded twice would register twice.
		case $(readlink -f "$lib") in
		*/pmds-*)
			ln -s "$pmd_dir/${lib##*/}" "$2$lib"
			continue
			;;
		esac
		cp -L "$lib" "$2$lib"
		strip -g "$2$lib" 2>/dev/null || true
	done
}

image()
{
	local out=$1 tree pmd file
	local bin=${WEFT_BIN:?} lib
	lib=$(cd "$bin/../lib" && pwd)
	pmd_dir=$(compgen -G '/usr/lib/*/dpdk/pmds-*')
	tree=$(mktemp -d "${TMPDIR:-/tmp}/weft-guest.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$tree'" EXIT
	mkdir -p "$tree"/{bin,sbin,proc,sys,dev,tmp,run,etc,var/run,usr/bin,weft/lib/verbs}
	install_file "$(command -v busybox)" "$tree" bin
	ln -s busybox "$tree/bin/sh"
	for file in weftd weftctl weft-bench weft-run goal-run; do
		install_file "$bin/$file" "$tree" weft/bin
	done
	# Libraries of weft look for each other beside them.
	for file in "$lib"/libweft.so.?; do
		install_file "$file" "$tree" weft/lib
	done
	for file in "$lib"/verbs/*.so*; do
		install_file "$file" "$tree" weft/lib/verbs
	done
	for file in rping iperf3 ibv_rc_pingpong ib_send_lat ib_write_lat ib_read_lat; do
		file=$(command -v "$file") && install_file "$file" "$tree" usr/bin
	done
	for file in mcast_prog mpa_sock rc_peer; do
		install_file "$bin/../int/$file" "$tree" weft/bin
	done
	for pmd in $pmds; do
		file=$(compgen -G "$pmd_dir/librte_$pmd.so.*.*")
		install_file "$file" "$tree" "${pmd_dir#/}"
		ln -s "${file##*/}" "$tree${file%.*}"
	done
	# Threads of glibc are ended by it.
	file=$(ldconfig -p | awk '/libgcc_s.so.1/ && /x86-64/ { file = $NF } END { print file }')
	[ -e "$tree$file" ] || install_file "$file" "$tree" "${file%/*}"
	mkdir -p "$tree/mods"
	cp "$cache"/mods/* "$tree/mods/"
	install -m 755 "$here/guest_init.sh" "$tree/init"
	install -m 755 "$here/guest_acts.sh" "$tree/acts"
	echo root:x:0:0:root:/tmp:/bin/sh >"$tree/etc/passwd"
	echo root:x:0: >"$tree/etc/group"
	echo 127.0.0.1 localhost >"$tree/etc/hosts"
	(cd "$tree" && find . | sort | cpio --quiet -o -H newc -R 0:0) >"$out"
}

run()
{
	local image=$1 console=$2 acts=$3 words
	shift 3
	words="console=ttyS0 loglevel=4 panic=-1 reboot=t nokaslr mitigations=off tsc=reliable no_timer_check"
	words="$words random.trust_cpu=on cryptomgr.notests nopti audit=0 intel_iommu=on iommu=pt weft.acts=$(
		printf '%s' "$acts" | base64 -w0)"
	exec qemu-system-x86_64 -accel tcg,thread=multi,tb-size=256 \
		-cpu qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+pclmulqdq -m "${WEFT_NODES_MEM:-768}" -smp 2 -nodefaults -no-user-config \
		-display none -no-reboot -kernel "$cache/vmlinux" -initrd "$image" -append "$words" \
		-chardev "file,id=c0,path=$console" -serial chardev:c0 "$@"
}

case ${1:-} in
why) why ;;
kernel) kernel ;;
image) image "$2" ;;
run)
	shift
	run "$@"
	;;
*)
	echo "usage: guest.sh why | kernel | image FILE | run IMAGE CONSOLE ACTS [QEMU-OPTION]..." >&2
	exit 2
	;;
esac
