#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A bare Debian 12 for the scripts of this folder, which source it after tests/int/lib.sh. debootstrap
# makes it once, from the mirror of this machine's apt, and build/root keeps it with the packages
# that were fetched. Commands run in it with mounts and processes of their own: nothing is left.

ROOT_CACHE=$PWD/build/root

# root_mirror: prints the address of the Debian mirror that apt uses here
root_mirror()
{
	# shellcheck disable=SC2016 # apt replaces them
	apt-get indextargets --format '$(CODENAME) $(ORIGIN) $(COMPONENT) $(SITE)' 'Created-By: Packages' |
		awk '$1 == "bookworm" && $2 == "Debian" && $3 == "main" { print $4; exit }'
}

# root_make DIR: unpacks a bare Debian 12 into DIR
root_make()
{
	local mirror new=$ROOT_CACHE/new.$$
	need debootstrap unshare tar
	[ "$(id -u)" -eq 0 ] || skip 'a Debian root needs root'
	if [ ! -s "$ROOT_CACHE/debian-12.tar" ]; then
		mirror=$(root_mirror)
		[ -n "$mirror" ] || die 'apt names no mirror of Debian 12'
		mkdir -p "$new"
		debootstrap --variant=minbase bookworm "$new" "$mirror" >"$WEFT_TMP/debootstrap.out" 2>&1 ||
			{ rm -rf "$new"; die "debootstrap: $(tail -n 5 "$WEFT_TMP/debootstrap.out")"; }
		tar -C "$new" -cf "$new.tar" . && mv "$new.tar" "$ROOT_CACHE/debian-12.tar"
		rm -rf "$new"
	fi
	mkdir -p "$1" "$ROOT_CACHE/archives/partial"
	tar -C "$1" -xf "$ROOT_CACHE/debian-12.tar"
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
}

# root_run DIR COMMAND...: in DIR as root, with its own mounts and processes; fetched packages stay
root_run()
{
	local dir=$1
	shift
	# shellcheck disable=SC2016 # the inner shell expands them
	unshare --mount --pid --fork --kill-child sh -ec '
		dir=$1 archives=$2
		shift 2
		mount --bind "$dir" "$dir"
		mount -t proc proc "$dir/proc"
		mount --rbind /dev "$dir/dev"
		mount -t tmpfs tmpfs "$dir/dev/shm"
		mount --rbind /sys "$dir/sys"
		mount --bind "$archives" "$dir/var/cache/apt/archives"
		exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive \
			${http_proxy:+http_proxy="$http_proxy"} chroot "$dir" "$@"
	' sh "$dir" "$ROOT_CACHE/archives" "$@"
}

# root_apt DIR WORD...: apt-get in it, without questions; configuration files that were changed stay
root_apt()
{
	local dir=$1
	shift
	root_run "$dir" apt-get -q -y --no-install-recommends -o APT::Keep-Downloaded-Packages=true \
		-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" \
		>"$WEFT_TMP/apt.out" 2>&1 || die "apt-get $*: $(tail -n 15 "$WEFT_TMP/apt.out")"
}

# root_debs: builds the packages of this tree into build/deb, unless they are newer than its sources
root_debs()
{
	local newest
	newest=$(find . \( -path ./build -o -path ./.git \) -prune -o -type f -newer build/deb/built -print -quit 2>/dev/null)
	[ -e build/deb/built ] && [ -z "$newest" ] && return
	make -s deb >"$WEFT_TMP/make.out" 2>&1 || die "make deb: $(tail -n 30 "$WEFT_TMP/make.out")"
}
