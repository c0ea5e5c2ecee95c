#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Unpacks arm64 packages into a folder, without installing anything and without touching dpkg's own
# list of architectures: those that weftd and the tools are linked with (`make fw-cross`), or those
# that are named (tests/nodes/guest.sh).
#
#	tools/cross_sysroot.sh DIR [PACKAGE]...
#
# linux-image-arm64 stands for the newest kernel, whose package depends on the kernel's version.
# Makes DIR/usr/...; DIR/complete lists the packages of a finished one, and a second call for the
# same packages does nothing. Exit status 0, 1 when the packages cannot be downloaded (no network,
# not Debian), 2 usage.

set -u
[ $# -ge 1 ] || { echo "usage: cross_sysroot.sh DIR [PACKAGE]..." >&2; exit 2; }
mkdir -p "$1" || exit 1
cd "$1" || exit 1
shift
root=$PWD

for tool in apt-get dpkg-deb pkg-config; do
	command -v "$tool" >/dev/null || { echo "cross_sysroot.sh: $tool is missing" >&2; exit 1; }
done

linked_packages()
{
	local abi libs lib
	# DPDK's libraries have one package each, named after them and its ABI.
	abi=$(dpkg-query -W -f '${Package}\n' 'librte-eal*' 2>/dev/null | sed -n 's/^librte-eal\([0-9]*\)$/\1/p' | head -n 1)
	libs=$(pkg-config --libs libdpdk 2>/dev/null | tr ' ' '\n' | sed -n 's/^-lrte_//p' | tr _ -)
	if [ -z "$abi" ] || [ -z "$libs" ]; then
		echo "cross_sysroot.sh: libdpdk-dev is missing" >&2
		exit 1
	fi
	packages=(libdpdk-dev libbpf-dev libbpf1 libisal-dev libisal2 libjansson-dev libjansson4 libmicrohttpd-dev libmicrohttpd12
		libncurses-dev libncurses6 libtinfo6 libmnl-dev libmnl0
		libelf1 zlib1g libbsd-dev libbsd0 libmd-dev libmd0 libnuma1 libnuma-dev libcunit1 libcunit1-dev)
	for lib in $libs net-ring; do
		packages+=("librte-$lib$abi")
	done
}

if [ $# -gt 0 ]; then
	packages=("$@")
else
	linked_packages
fi

[ "$(cat complete 2>/dev/null)" != "${packages[*]}" ] || exit 0
rm -f complete

mkdir -p apt/lists/partial apt/state apt/cache/archives/partial debs
: >apt/state/status
cat >apt/apt.conf <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::State "$root/apt/state";
Dir::State::lists "$root/apt/lists";
Dir::State::status "$root/apt/state/status";
Dir::Cache "$root/apt/cache";
CONF
export APT_CONFIG=$root/apt/apt.conf
newest_kernel()
{
	apt-cache depends linux-image-arm64 | awk '/Depends: linux-image/ { name = $2 } END { print name }'
}

download()
{
	local names=" ${packages[*]} "
	apt-get update -q || return 1
	names=${names/ linux-image-arm64 / $(newest_kernel) }
	# shellcheck disable=SC2086 # words
	(cd debs && apt-get download -q $names)
}

if ! download >apt/log 2>&1; then
	tail -n 5 apt/log >&2
	echo "cross_sysroot.sh: the arm64 packages cannot be downloaded" >&2
	exit 1
fi
for deb in debs/*.deb; do
	dpkg-deb -x "$deb" "$root" || exit 1
done
rm -rf debs apt
echo "${packages[*]}" >complete
