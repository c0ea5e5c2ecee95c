#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make deb`: packages that lintian has no error or warning for, hardened, with debug symbols; in a
# bare Debian 12 they are installed at a lower version, upgraded, removed and purged. After each step
# programs of the packages move data, or nothing of them is left.
#
# timeout: 3000

# shellcheck disable=SC2154 # lib.sh has out
. tests/int/lib.sh
. tests/ops/root.sh
need dpkg-buildpackage lintian hardening-check readelf
root_debs

version=$(sed -n 's/^VERSION := //p' Makefile)
older=0.1.0
multiarch=$(gcc -dumpmachine)
all='weft weft-tools libweft0 libweft-dev libgoal0 libgoal-dev weft-verbs weft-ofi weft-openmpi weft-mpich weft-doc'
for p in $all; do
	ls build/deb/"${p}_${version}"_*.deb >/dev/null || die "there is no package $p"
done

# before the packages of the root are those that pkg-config finds
# shellcheck disable=SC2046 # the programs are words
python3 -B tools/pages/pages.py options $(make -s described) | diff - docs/options.md >"$out" ||
	die "docs/options.md is old: make options-page: $(head -n 5 "$out")"

# debug symbols, and what dpkg-buildflags and "hardening=+all" are to bring
for p in weft weft-tools libweft0 libgoal0 weft-verbs weft-ofi weft-openmpi weft-mpich; do
	dpkg-deb -c build/deb/"$p-dbgsym_${version}"_*.deb >"$out"
	grep -q '/usr/lib/debug/.*\.debug$' "$out" || die "$p has no debug symbols"
done
root=$WEFT_TMP/root
mkdir -p "$WEFT_TMP/look"
for p in weft libweft0 libgoal0; do
	dpkg-deb -x build/deb/"${p}_${version}"_*.deb "$WEFT_TMP/look"
done
for f in usr/sbin/weftd "usr/lib/$multiarch/libweft.so.0" "usr/lib/$multiarch/libgoal.so.0"; do
	# bookworm's dpkg-buildflags do not ask for control-flow protection.
	hardening-check --nocfprotection "$WEFT_TMP/look/$f" >"$out" 2>&1 || die "$f is not hardened: $(cat "$out")"
done

# The lower version: the same packages by another number, with another configuration file.
mkdir -p "$WEFT_TMP/old" "$WEFT_TMP/new"
changed_conf()
{
	echo '# of the lower version' >>etc/weft/weftd.conf
}
for p in $all; do
	cp build/deb/"${p}_${version}"_*.deb "$WEFT_TMP/new/"
	edit=()
	[ "$p" != weft ] || edit=(changed_conf)
	deb_repack "$p" "$version" "$older" "$WEFT_TMP/old/$p.deb" ${edit[@]+"${edit[@]}"}
done

root_make "$root"
mkdir "$root/packages"
cp -r "$WEFT_TMP/old" "$WEFT_TMP/new" "$root/packages/"
cat >"$root/packages/try.sh" <<'SH'
# weftd by the installed configuration, and programs on it; every byte is looked at by weft-bench
set -eu
weftd --config /etc/weft/weftd.conf >/tmp/weftd.log 2>&1 &
weftd=$!
n=0
until grep -q '^weftd: ready' /tmp/weftd.log; do
	n=$((n + 1))
	[ $n -lt 600 ] && kill -0 $weftd || { cat /tmp/weftd.log; exit 1; }
	sleep 0.1
done
[ "$(weftctl list | grep -c '^weft[0-3] ')" -eq 4 ]
[ "$(stat -c %U /run/weft/weft0)" = weft ]
weft-bench lat --device weft1 --server --port 7001 --timeout 60 >/tmp/server.log 2>&1 &
server=$!
sleep 1
weft-bench lat --device weft0 --connect 127.0.0.1 --port 7001 --timeout 60 --iters 200
wait $server
weft-run ibv_devices | grep -c 'weft[0-3]' | grep -qx 4
weft-run --device weft1 rping -s -C 5 &
server=$!
sleep 1
weft-run --device weft0 rping -c -a 10.77.0.2 -C 5
wait $server
fi_info -p weft | grep -q 'provider: weft'
weft-tune --version
kill $weftd
wait $weftd
SH
root_apt "$root" update
root_apt "$root" install ibverbs-utils rdmacm-utils libfabric-bin man-db

listed()
{
	(cd "$root" && find . \( -path ./packages -o -path ./proc -o -path ./tmp \) -prune -o -iname '*weft*' -print \
		-o -iname '*goal*' -path '*lib*goal*' -print) | grep -vE '^\./var/(lib/(apt|dpkg|systemd)|cache|log)/' | sort
}
listed >"$WEFT_TMP/before"

old=()
new=()
for p in $all; do
	old+=("/packages/old/$p.deb")
	f=$(echo "$WEFT_TMP/new/${p}_"*.deb)
	new+=("/packages/new/${f##*/}")
done

say "install $older"
root_apt "$root" install "${old[@]}"
tool 0 root_run "$root" sh /packages/try.sh
root_run "$root" getent passwd weft | grep -q '/run/weft' || die 'there is no user weft'
root_run "$root" sh -c 'test -e /lib/systemd/system/weftd.service && ! find /etc/systemd -name "weft*" | grep .' ||
	die 'the unit is missing, or enabled'

say "upgrade to $version, with a configuration file that was changed"
echo '# changed by hand' >>"$root/etc/weft/weftd.conf"
root_apt "$root" install "${new[@]}"
for p in $all; do
	[ "$(root_run "$root" dpkg-query -W -f '${Version}' "$p")" = "$version" ] || die "$p was not upgraded"
done
grep -q 'changed by hand' "$root/etc/weft/weftd.conf" || die 'the upgrade changed a file of the operator'
cmp -s dist/weftd.conf "$root/etc/weft/weftd.conf.dpkg-dist" || die 'the new configuration is not beside it'
tool 0 root_run "$root" sh /packages/try.sh

say 'upgrade with a configuration file that was not changed'
root_apt "$root" purge weft
root_apt "$root" install /packages/old/weft.deb
root_apt "$root" install "${new[@]}"
cmp -s dist/weftd.conf "$root/etc/weft/weftd.conf" || die 'the upgrade kept a file that was not changed'

say 'programs, pages, completions'
cat >"$WEFT_TMP/user.c" <<'C'
#include <goal.h>
#include <stdio.h>
#include <weft.h>

int main(void)
{
	return puts(weft_version()) < 0 || GOAL_IsInitialized();
}
C
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/$multiarch/pkgconfig
# shellcheck disable=SC2046 # the flags are words
gcc "$WEFT_TMP/user.c" -o "$root/packages/user" $(pkg-config --cflags --libs weft goal) "-Wl,-rpath-link,$root/usr/lib/$multiarch" ||
	die 'a program does not build against the packages'
[ "$(root_run "$root" /packages/user)" = "$version" ] || die 'a program does not run with the packages'
for program in "$root"/usr/bin/weft* "$root"/usr/bin/goal-* "$root"/usr/sbin/weftd; do
	n=${program##*/}
	ls "$root/usr/share/man/"man?/"$n".?.gz >/dev/null || die "$n has no manual page"
	[ -e "$root/usr/share/bash-completion/completions/$n" ] || die "$n has no completion"
done
for page in weft weft_cq weft_poll_cq goal goal_coll GOAL_Run; do
	root_run "$root" man -P cat "$page" >"$out" 2>&1 || die "man $page: $(cat "$out")"
	[ "$(wc -l <"$out")" -gt 40 ] || die "man $page: $(cat "$out")"
done
say 'remove, purge'
# shellcheck disable=SC2086 # the names are words
root_apt "$root" remove $all
[ -e "$root/etc/weft/weftd.conf" ] || die 'remove took the configuration'
[ ! -e "$root/usr/sbin/weftd" ] || die 'remove left weftd'
# apt no longer knows packages of which no configuration file is left.
# shellcheck disable=SC2086
root_run "$root" dpkg --purge $all >"$out" 2>&1 || die "purge: $(cat "$out")"
rm -rf "$root/run/weft" # systemd's RuntimeDirectory= does it where weftd is a service
listed >"$WEFT_TMP/after"
diff "$WEFT_TMP/before" "$WEFT_TMP/after" || die 'purge left something'
