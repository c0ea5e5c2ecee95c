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

# deb_repack PACKAGE VERSION NEW-VERSION FILE [COMMAND...]: that package of build/deb under another
# version, as FILE. COMMAND edits its files, which are in the current folder.
deb_repack()
{
	local package=$1 version=$2 new=$3 file=$4 dir=$WEFT_TMP/pack
	shift 4
	rm -rf "$dir"
	dpkg-deb -R "$(echo build/deb/"${package}_${version}"_*.deb)" "$dir"
	sed -i "/^Version:/s/$version/$new/; /^Depends:/s/= $version)/= $new)/g" "$dir/DEBIAN/control"
	if [ $# -gt 0 ]; then
		(cd "$dir" && "$@" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums) ||
			die "$package: $*"
	fi
	dpkg-deb --root-owner-group -b "$dir" "$file" >/dev/null || die "$package at version $new"
	rm -rf "$dir"
}

# ---- booted -----------------------------------------------------------------------------------

# root_cgroups: the hierarchies that systemd needs, or nothing
root_cgroups()
{
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		echo /sys/fs/cgroup
	elif [ -d /sys/fs/cgroup/unified ] && [ -d /sys/fs/cgroup/systemd ]; then
		echo /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
	fi
}

# root_uncgroup FOLDER: removes it and those in it, once their processes have ended
root_uncgroup()
{
	local i
	for i in $(seq 100); do
		find "$1" -depth -type d -exec rmdir {} ';' 2>"$WEFT_TMP/rmdir.out"
		[ -d "$1" ] || return 0
		sleep 0.1
	done
	say "$i times: $(cat "$WEFT_TMP/rmdir.out")"
	return 1
}

# root_boot DIR: starts its systemd as the first process of namespaces of its own, in cgroups of its
# own, and waits until it runs. Its network has a loopback alone.
root_boot()
{
	local dir=$1 cgroups h
	cgroups=$(root_cgroups)
	[ -n "$cgroups" ] || skip 'no cgroups for a systemd here'
	for h in $cgroups; do
		mkdir "$h/weft-test.$$" || skip 'no cgroups for a systemd here'
		at_exit "root_uncgroup $h/weft-test.$$"
	done
	# shellcheck disable=SC2016 # the inner shells expand them
	spawn boot sh -ec '
		for h in $2; do echo $$ >"$h/$3/cgroup.procs"; done
		exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc --net sh -ec "$0" sh "$1" "$2"
	' '
		dir=$1
		mount --make-rprivate /
		mount --bind "$dir" "$dir"
		mount -t proc proc "$dir/proc"
		mount -t sysfs -o ro sysfs "$dir/sys"
		for d in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$dir/$d"; done
		chmod 1777 "$dir/tmp"
		mkdir "$dir/dev/pts" "$dir/dev/shm"
		mount -t devpts -o newinstance,ptmxmode=0666 devpts "$dir/dev/pts"
		mount -t tmpfs -o mode=1777 tmpfs "$dir/dev/shm"
		ln -s pts/ptmx "$dir/dev/ptmx"
		for d in null zero full random urandom tty; do
			touch "$dir/dev/$d"
			mount --bind "/dev/$d" "$dir/dev/$d"
		done
		if [ "$2" = /sys/fs/cgroup ]; then
			mount -t cgroup2 cgroup2 "$dir/sys/fs/cgroup"
		else
			mount -t tmpfs -o mode=755 tmpfs "$dir/sys/fs/cgroup"
			mkdir "$dir/sys/fs/cgroup/systemd" "$dir/sys/fs/cgroup/unified"
			mount -t cgroup -o none,name=systemd systemd "$dir/sys/fs/cgroup/systemd"
			mount -t cgroup2 cgroup2 "$dir/sys/fs/cgroup/unified"
		fi
		exec env -i container=weft PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$dir" \
			/lib/systemd/systemd --system --log-target=console --unit=basic.target
	' "$dir" "$cgroups" "weft-test.$$"
	wait_until 'systemd runs' root_runs
}

# The process that systemd is, seen from here.
root_init()
{
	# shellcheck disable=SC2154 # lib.sh has pid
	pgrep -P "${pid[boot]}" -x systemd
}

# root_in COMMAND...: in the root that was booted
root_in()
{
	nsenter -t "$(root_init)" -m -p -C -u -i -n -r -w env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive "$@"
}

root_runs()
{
	alive boot || die "systemd ends: $(cat "$WEFT_TMP/boot.err")"
	[ -n "$(root_init)" ] && [ "$(root_in systemctl is-system-running 2>/dev/null)" = running ]
}

# root_halt: all of its processes end with the first
root_halt()
{
	kill -KILL "$(root_init)"
	finish boot
}
