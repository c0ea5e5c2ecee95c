#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A small guest with a stock Debian kernel and siw, Linux's software iWARP, as a peer for weft. The
# scripts of this folder run it, as root.
#
#	guest.sh build			makes kernel, siw.ko and initramfs, once; some 150 MB are loaded and kept
#	guest.sh why			exit status 0, or a line that says why no guest can run here
#	guest.sh boot NAME --ns NS --bridge BR --ip A.B.C.D/LEN [--mtu N] [--siw 'crc=1 ...'] [--offload on]
#			[--add FILE]...	and it is ready; FILEs are in its /usr/bin
#	guest.sh sh NAME COMMAND	runs a command in it, by a side channel; its output and exit status
#	guest.sh log NAME		what its console shows
#	guest.sh stop NAME
#
# It needs Debian's packages only. qemu-system-x86 and the tools of build (tools/deps.sh interop
# installs them); the kernel's image, rdma-core and perftest for the guest are unpacked into the
# cache, never installed. Debian's kernel has no siw: it is built from Debian's linux-source against
# the kernel's own headers, with its constants made parameters. No hardware virtualisation is
# needed: a guest boots within 10 s without.
#
#	WEFT_GUEST_CACHE	what is built (default: weft-guest in XDG_CACHE_HOME or ~/.cache)
#	WEFT_GUEST_RUN		the guests that run (default: /run/weft-guest)

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${WEFT_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft-guest}
run=${WEFT_GUEST_RUN:-/run/weft-guest}
meta=linux-image-amd64
source=linux-source-6.1
host_tools="qemu-system-x86_64 python3 make gcc cpio xz flex bison depmod"
guest_packages="busybox-static rdma-core ibverbs-providers ibverbs-utils libibverbs1 librdmacm1 rdmacm-utils libibumad3
	perftest iproute2 libc6 libnl-3-200 libnl-route-3-200 libmnl0 libbpf1 libelf1 libcap2 libbsd0 libmd0 libpci3 libudev1
	libtirpc3 libgssapi-krb5-2 libkrb5-3 libkrb5support0 libk5crypto3 libcom-err2 libkeyutils1 libssl3 libselinux1
	libpcre2-8-0 zlib1g libxtables12 libzstd1 ethtool liblzma5 libdb5.3 libgcc-s1"
guest_programs="rping ucmatose ibv_devinfo ib_send_lat ib_send_bw ib_write_lat ib_write_bw ib_read_lat ib_read_bw
	rdma ip ethtool ss nstat"
guest_modules="virtio_pci virtio_net virtio_console crc32c_generic crc32c-intel libcrc32c ib_core iw_cm ib_cm
	rdma_cm ib_uverbs rdma_ucm siw"

die()
{
	echo "guest.sh: $*" >&2
	exit 1
}

# The kernel that the guest runs: the newest of this Debian.
kernel_package()
{
	apt-cache depends "$meta" 2>/dev/null | awk '/Depends: linux-image/ { print $2; exit }'
}

why()
{
	local tool package
	[ "$(id -u)" -eq 0 ] || { echo "guests need root"; return 1; }
	[ "$(uname -m)" = x86_64 ] || { echo "the guest is built for x86_64"; return 1; }
	for tool in $host_tools; do
		PATH=$PATH:/sbin:/usr/sbin command -v "$tool" >/dev/null ||
			{ echo "$tool is not installed (tools/deps.sh interop)"; return 1; }
	done
	[ ! -e "$cache/ready" ] || return 0
	package=$(kernel_package)
	[ -n "$package" ] || { echo "no package $meta: the guest is built from Debian's packages"; return 1; }
	[ -e "/usr/src/linux-headers-${package#linux-image-}/Makefile" ] ||
		{ echo "linux-headers-${package#linux-image-} is not installed (tools/deps.sh interop)"; return 1; }
}

# ---- building -------------------------------------------------------------------------------

load_packages()
{
	local package=$1 deb
	mkdir -p "$cache/debs"
	# shellcheck disable=SC2086 # words
	(cd "$cache/debs" && apt-get download "$package" "$source" $guest_packages >"$cache/download.log" 2>&1) ||
		die "packages cannot be loaded, see $cache/download.log"
	rm -rf "$cache/base" "$cache/kernel"
	mkdir -p "$cache/base" "$cache/kernel"
	for deb in "$cache"/debs/*.deb; do
		case ${deb##*/} in
		linux-image-*) dpkg-deb -x "$deb" "$cache/kernel" ;;
		linux-source-*) ;;
		*) dpkg-deb -x "$deb" "$cache/base" ;;
		esac
	done
}

# siw, its constants made parameters: parameter names are siw's own.
build_siw()
{
	local version=$1 src=$cache/siw
	rm -rf "$src"
	mkdir -p "$src"
	dpkg-deb --fsys-tarfile "$cache"/debs/${source}_*.deb | tar -xOf - "./usr/src/$source.tar.xz" | xz -dc -T0 |
		tar -xf - -C "$src" --strip-components=5 "$source/drivers/infiniband/sw/siw"
	sed -i -E \
		-e 's/^const bool ([a-z_]+)( = true)?;/bool \1\2; module_param(\1, bool, 0644);/' \
		-e 's/^u_char mpa_version = MPA_REVISION_2;/u_char mpa_version = MPA_REVISION_2; module_param(mpa_version, byte, 0644);/' \
		"$src/siw_main.c"
	sed -i -E 's/^extern const bool /extern bool /' "$src/siw.h"
	[ "$(grep -c module_param "$src/siw_main.c")" -eq 8 ] || die "siw's source has changed: its constants were not found"
	make -C "/usr/src/linux-headers-$version" M="$src" CONFIG_RDMA_SIW=m modules >"$cache/siw.log" 2>&1 ||
		die "siw cannot be built, see $cache/siw.log"
	strip -g "$src/siw.ko"
	mkdir -p "$cache/kernel/lib/modules/$version/updates"
	cp "$src/siw.ko" "$cache/kernel/lib/modules/$version/updates/"
}

# Copies programs with the libraries that they load, all from the guest's packages.
install_programs()
{
	local tree=$1 libs=$cache/base/lib/x86_64-linux-gnu:$cache/base/usr/lib/x86_64-linux-gnu
	local loader=$cache/base/lib64/ld-linux-x86-64.so.2 program file lib dir
	mkdir -p "$tree"/{bin,usr/bin,lib64,lib/x86_64-linux-gnu,proc,sys,dev,tmp,mods} \
		"$tree"/etc/libibverbs.d "$tree"/usr/lib/x86_64-linux-gnu/libibverbs
	cp "$cache/base/bin/busybox" "$tree/bin/"
	ln -s busybox "$tree/bin/sh"
	cp -L "$loader" "$tree/lib64/"
	cp -L "$cache/base/lib/x86_64-linux-gnu/libgcc_s.so.1" "$tree/lib/x86_64-linux-gnu/"
	for program in $guest_programs; do
		file=
		for dir in usr/bin bin sbin usr/sbin; do
			[ -e "$cache/base/$dir/$program" ] && file=$cache/base/$dir/$program
		done
		[ -n "$file" ] || die "no $program in the packages of the guest"
		cp -L "$file" "$tree/usr/bin/"
		"$loader" --library-path "$libs" --list "$file" | awk -v r="$cache/base" 'index($3, r) == 1 { print $3 }' |
			while read -r lib; do cp -nL "$lib" "$tree/lib/x86_64-linux-gnu/"; done
	done
	cp -L "$cache"/base/usr/lib/x86_64-linux-gnu/libibverbs/libsiw-rdmav*.so "$tree/usr/lib/x86_64-linux-gnu/libibverbs/"
	echo "driver siw" >"$tree/etc/libibverbs.d/siw.driver"
}

build()
{
	local package version tree
	why || exit 1
	mkdir -p "$cache"
	package=$(kernel_package)
	version=${package#linux-image-}
	rm -f "$cache/ready"
	load_packages "$package"
	python3 "$here/guest_tool.py" vmlinux "$cache/kernel/boot/vmlinuz-$version" "$cache/vmlinux"
	build_siw "$version"
	tree=$cache/tree
	rm -rf "$tree"
	install_programs "$tree"
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$cache/kernel" "$version" 2>/dev/null
	# shellcheck disable=SC2086 # words
	python3 "$here/guest_tool.py" modules "$cache/kernel/lib/modules/$version" "$tree/mods" $guest_modules
	install -m 755 "$here/guest_init.sh" "$tree/init"
	# Not compressed: without virtualization, decompression takes longer than reading.
	(cd "$tree" && find . | sort | cpio --quiet -o -H newc -R 0:0) >"$cache/initramfs"
	rm -rf "$tree" "$cache/siw" "$cache/base" "$cache/kernel" "$cache/debs"
	echo "$version" >"$cache/ready"
}

# ---- running --------------------------------------------------------------------------------

boot()
{
	local name=$1 ns='' bridge='' ip='' mtu=1500 siw='' offload=off
	local add=() dir tap nic args waited=0
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		--ns) ns=$2 ;;
		--bridge) bridge=$2 ;;
		--ip) ip=$2 ;;
		--mtu) mtu=$2 ;;
		--siw) siw=$2 ;;
		--offload) offload=$2 ;;
		--add) add+=("$2") ;;
		*) die "no option $1" ;;
		esac
		shift 2
	done
	[ -n "$ns$bridge$ip" ] || die "boot: --ns, --bridge and --ip are needed"
	[ -e "$cache/ready" ] || die "there is no guest yet: guest.sh build"
	dir=$run/$name
	[ ! -e "$dir/pid" ] || die "there is a guest called $name already"
	mkdir -p "$dir/add/usr/bin"
	tap=t$(printf '%s' "$name" | cksum | cut -d' ' -f1)
	echo "$ns $tap" >"$dir/net"
	ip netns exec "$ns" ip tuntap add dev "$tap" mode tap vnet_hdr
	ip -n "$ns" link set "$tap" mtu "$mtu" master "$bridge" up
	cp "$cache/initramfs" "$dir/initramfs"
	if [ "${#add[@]}" -gt 0 ]; then
		cp "${add[@]}" "$dir/add/usr/bin/"
		(cd "$dir/add" && find usr/bin -type f | cpio --quiet -o -H newc -R 0:0) >>"$dir/initramfs"
	fi
	nic=virtio-net-pci,netdev=n0,romfile=,host_mtu=$mtu
	nic=$nic,mac=$(printf '%s' "${ip%/*}" | awk -F. '{ printf "52:54:%02x:%02x:%02x:%02x", $1, $2, $3, $4 }')
	[ "$offload" = on ] || nic=$nic,csum=off,gso=off,host_tso4=off,host_tso6=off,host_ufo=off,host_ecn=off$(
		)",guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off,guest_ecn=off,mrg_rxbuf=off"
	args="console=ttyS0 loglevel=4 panic=-1 reboot=t nokaslr mitigations=off tsc=reliable no_timer_check"
	args="$args random.trust_cpu=on cryptomgr.notests nopti audit=0 weft.ip=$ip weft.mtu=$mtu"
	args="$args weft.siw=$(printf '%s' "$siw" | base64 -w0)"
	ip netns exec "$ns" qemu-system-x86_64 -accel tcg,thread=multi,tb-size=256 \
		-cpu qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt -M pc,vmport=off,hpet=off -m 320 \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$cache/vmlinux" -initrd "$dir/initramfs" -append "$args" \
		-chardev "file,id=c0,path=$dir/console" -serial chardev:c0 \
		-chardev "socket,id=c1,path=$dir/sock,server=on,wait=off" -device virtio-serial-pci -device virtconsole,chardev=c1 \
		-netdev "tap,id=n0,ifname=$tap,script=no,downscript=no,vhost=off" -device "$nic" \
		</dev/null >"$dir/qemu.log" 2>&1 &
	echo $! >"$dir/pid"
	until grep -aq '^guest: ready' "$dir/console" 2>/dev/null; do
		kill -0 "$(cat "$dir/pid")" 2>/dev/null || { cat "$dir/qemu.log" "$dir/console" >&2; die "guest $name ended"; }
		[ "$waited" -lt 1200 ] || { cat "$dir/console" >&2; die "guest $name is not ready after 120 s"; }
		waited=$((waited + 1))
		sleep 0.1
	done
}

stop()
{
	local dir=$run/$1 ns tap p
	[ -e "$dir/pid" ] || return 0
	p=$(cat "$dir/pid")
	kill "$p" 2>/dev/null || true
	for _ in $(seq 100); do
		kill -0 "$p" 2>/dev/null || break
		sleep 0.05
	done
	read -r ns tap <"$dir/net"
	ip -n "$ns" link del "$tap" 2>/dev/null || true
	rm -rf "$dir"
}

case ${1:-} in
build) build ;;
why) why ;;
boot)
	shift
	boot "$@"
	;;
sh) exec python3 "$here/guest_tool.py" sh "$run/$2/sock" "$3" ;;
log) cat "$run/$2/console" ;;
stop) stop "$2" ;;
*)
	echo "usage: guest.sh build | why | boot NAME ... | sh NAME COMMAND | log NAME | stop NAME" >&2
	exit 2
	;;
esac
