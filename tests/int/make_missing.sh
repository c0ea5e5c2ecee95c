#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Makefile on machines that lack a dependency, simulated by fake programs: no compiler, no
# pkg-config, PMIx or jansson, no DPDK. It reports once what is missing and what to type; what needs
# no DPDK is built and installed. `make uninstall` removes everything but a changed configuration.

. tests/int/lib.sh

there=$(command -v pkg-config)
cat >"$WEFT_TMP/pkg-config" <<EOF
#!/bin/sh
# A fake pkg-config that lacks the modules in HIDDEN.
for word; do
	case " \$HIDDEN " in *" \$word "*) exit 1 ;; esac
done
exec $there "\$@"
EOF
chmod +x "$WEFT_TMP/pkg-config"

# lacks TEXT ARGUMENT...: make with these arguments fails and prints TEXT once
lacks()
{
	local text=$1
	shift
	if make "$@" >"$WEFT_TMP/said" 2>&1; then
		die "make $* ended well"
	fi
	[ "$(grep -cF -- "$text" "$WEFT_TMP/said")" -eq 1 ] || die "make $* said: $(cat "$WEFT_TMP/said")"
	[ "$(wc -l <"$WEFT_TMP/said")" -eq 1 ] || die "make $* said more than one line: $(head -n 5 "$WEFT_TMP/said")"
}

lacks 'apt-get install gcc libc6-dev' CC=/nowhere/gcc all
lacks 'apt-get install gcc libc6-dev' CC=/nowhere/gcc san
lacks 'apt-get install gcc libc6-dev' CC=/nowhere/gcc install DESTDIR="$WEFT_TMP/none"
lacks 'apt-get install pkg-config' PKG_CONFIG=/nowhere/pkg-config all
make CC=/nowhere/gcc help >/dev/null || die 'make help wants a compiler'
make CC=/nowhere/gcc -n clean >/dev/null || die 'make clean wants a compiler'

# Without DPDK: weftd is neither built nor linked, and one line says so.
export HIDDEN=libdpdk
make -n all B="$WEFT_TMP/b" PKG_CONFIG="$WEFT_TMP/pkg-config" >"$WEFT_TMP/plan" 2>&1 || die "$(tail "$WEFT_TMP/plan")"
if grep -q -- '-o [^ ]*/bin/weftd ' "$WEFT_TMP/plan"; then
	die 'weftd is built without DPDK'
fi
grep -q -- '-o [^ ]*/bin/weft-sim ' "$WEFT_TMP/plan" || die 'weft-sim is not built without DPDK'
[ "$(grep -c 'not built: weftd; packages are missing: libdpdk-dev ' "$WEFT_TMP/plan")" -eq 1 ] || die "$(tail "$WEFT_TMP/plan")"

# Installs fake files from a build folder that make takes as it is.
mkdir -p "$WEFT_TMP/b/bin" "$WEFT_TMP/b/lib"
touch "$WEFT_TMP/b/bin/weftctl" "$WEFT_TMP/b/lib/libweft.so.0"
prefix=(-o all B="$WEFT_TMP/b" DESTDIR="$WEFT_TMP/stage" PREFIX=/usr)
make "${prefix[@]}" install >"$WEFT_TMP/said" 2>&1 || die "$(cat "$WEFT_TMP/said")"
grep -qx 'not built and so not installed: /usr/sbin/weftd' "$WEFT_TMP/said" || die "$(cat "$WEFT_TMP/said")"
if grep -q 'installed: /usr/bin/weftctl' "$WEFT_TMP/said"; then
	die "$(cat "$WEFT_TMP/said")"
fi
[ -x "$WEFT_TMP/stage/usr/bin/weftctl" ] || die 'weftctl was not installed'

# Foreign files next to weft's stay, and a changed configuration stays.
touch "$WEFT_TMP/stage/usr/bin/other"
echo '# changed' >>"$WEFT_TMP/stage/etc/weft/weftd.conf"
make "${prefix[@]}" uninstall >"$WEFT_TMP/said" 2>&1 || die "$(cat "$WEFT_TMP/said")"
grep -q 'left, for it was changed: .*/etc/weft/weftd.conf' "$WEFT_TMP/said" || die "$(cat "$WEFT_TMP/said")"
left=$(cd "$WEFT_TMP/stage" && find . ! -type d | sort | tr '\n' ' ')
[ "$left" = './etc/weft/weftd.conf ./usr/bin/other ' ] || die "uninstall left: $left"
cp dist/weftd.conf "$WEFT_TMP/stage/etc/weft/weftd.conf"
make "${prefix[@]}" uninstall >"$WEFT_TMP/said" 2>&1 || die "$(cat "$WEFT_TMP/said")"
left=$(cd "$WEFT_TMP/stage" && find . ! -type d -o -path '*weft*' | tr '\n' ' ')
[ "$left" = './usr/bin/other ' ] || die "uninstall left: $left"
