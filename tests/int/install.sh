#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make install` into a staging folder: every file is present, ~ => a second install keeps a changed
# weftd.conf, and a program outside of the tree builds against the installed libweft, shared and
# static, with pkg-config and no other include path. The examples of docs/programming.md, built so,
# run; no link of the installed pages leads nowhere.
# timeout: 300

# shellcheck disable=SC2154 # lib.sh has out
. tests/int/lib.sh
set -e
stage=$WEFT_TMP/stage
make -s install DESTDIR="$stage" PREFIX=/opt/weft >"$WEFT_TMP/log" 2>&1 || { cat "$WEFT_TMP/log"; exit 1; }
p=$stage/opt/weft
for f in sbin/weftd bin/weftctl bin/weft-bench bin/goal-run bin/goal-dump bin/goal-bench bin/weft-run lib/weft/verbs/libibverbs.so.1 lib/weft/firmware.so lib/libfabric/libweft-fi.so lib/libweft.so.0 lib/libweft.so lib/libweft.a \
	lib/pkgconfig/weft.pc lib/pkgconfig/goal.pc include/weft.h include/weft_device.h include/weft_mr.h include/weft_cq.h include/weft_qp.h include/weft_atomic.h include/weft_coalesce.h include/weft_tag.h lib/systemd/system/weftd.service \
	lib/sysusers.d/weft.conf etc/weft/weftd.conf share/weft/weft.lua share/weft/weft_esp.lua share/weft/weftd.conf.example \
	bin/weft-tune bin/weft-measure share/weft/weft-tune/main.py share/doc/weft/docs/operating.md share/man/man8/weftd.8 share/man/man8/weftctl.8 \
	share/man/man1/weft-bench.1 share/man/man1/weft-sim.1 share/man/man1/weft-run.1 share/man/man1/weft-tune.1 share/man/man3/weft_poll_cq.3 share/man/man3/goal.3 share/bash-completion/completions/weftd \
	share/bash-completion/completions/goal-run; do
	[ -e "$p/$f" ] || { echo "not installed: $f"; exit 1; }
done
# The component of Open MPI, beside weft's libraries for weft-run, and where Open MPI looks for it.
system_components=/usr/lib/$(gcc -dumpmachine)/openmpi/lib/openmpi3
if [ -e build/lib/openmpi/mca_coll_weft.so ]; then
	for f in "$p/lib/weft/openmpi" "$stage$system_components"; do
		[ -e "$f/mca_coll_weft.so" ] || { echo "not installed: $f/mca_coll_weft.so"; exit 1; }
	done
fi
[ ! -e build/lib/mpich/libweft-mpich.so ] || [ -e "$p/lib/weft/mpich/libweft-mpich.so" ] || { echo 'not installed: libweft-mpich.so'; exit 1; }
if grep -rn '@[A-Z]*@' "$p/lib/pkgconfig" "$p/lib/systemd" "$p/etc"; then
	echo 'a place holder was left'
	exit 1
fi
# what programs say of themselves: pages that groff takes without a word, completions that bash takes
for page in "$p"/share/man/man*/*; do
	# A page of a function names the page of its header.
	if read -r so target <"$page" && [ "$so" = .so ]; then
		[ -e "$p/share/man/$target" ] || { echo "$page: leads to $target, which is not installed"; exit 1; }
		continue
	fi
	! command -v groff >/dev/null || [ -z "$(groff -man -Tascii -ww -z "$page" 2>&1)" ] || { echo "$page: groff complains"; exit 1; }
done
for completion in "$p"/share/bash-completion/completions/*; do
	bash -n "$completion" || exit 1
done
# shellcheck disable=SC2016 # the inner shell expands them
got=$(bash -c '. "$1"; COMP_WORDS=(weftd --netdev n); COMP_CWORD=2; _weftd; echo "${COMPREPLY[@]}"' bash \
	"$p/share/bash-completion/completions/weftd")
[ "$got" = native ] || { echo "weftd --netdev n is completed as '$got'"; exit 1; }

grep -q 'ExecStart=/opt/weft/sbin/weftd --config /opt/weft/etc/weft/weftd.conf' \
	"$p/lib/systemd/system/weftd.service"

echo '# changed by hand' >>"$p/etc/weft/weftd.conf"
make -s install DESTDIR="$stage" PREFIX=/opt/weft >/dev/null
grep -q 'changed by hand' "$p/etc/weft/weftd.conf" || { echo 'weftd.conf was overwritten'; exit 1; }

cat >"$WEFT_TMP/user.c" <<'C'
#include <weft.h>
#include <weft_tag.h>
#include <stdio.h>

int main(void)
{
	return puts("linked") < 0;
}
C
export PKG_CONFIG_PATH=$p/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage
root=$PWD
cd "$WEFT_TMP"
# shellcheck disable=SC2046 # the flags are words
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror user.c -o user -Wl,--no-as-needed $(pkg-config --cflags --libs weft)
# programs link the shared library by its soname, and every public name is weft_*
readelf -d user | grep -q 'NEEDED.*libweft.so.0'
LD_LIBRARY_PATH=$p/lib ./user | grep -q linked
if nm -D --defined-only "$p/lib/libweft.so.0" | awk '{ print $3 }' | grep -v '^weft_'; then
	echo 'libweft.so exports names that are not its own'
	exit 1
fi
[ "$(nm -D --defined-only "$p/lib/libweft.so.0" | wc -l)" -gt 20 ] || { echo 'libweft.so exports almost nothing'; exit 1; }
# shellcheck disable=SC2046
gcc user.c -o user_static $(pkg-config --cflags weft) "$p/lib/libweft.a" -pthread
./user_static | grep -q linked
# a C++ program can include it
# shellcheck disable=SC2046
clang -fsyntax-only -x c++ $(pkg-config --cflags weft) user.c

# the examples
export LD_LIBRARY_PATH=$p/lib
for f in hello:weft tagged:weft allreduce:goal; do
	# shellcheck disable=SC2046
	gcc -std=gnu11 -Wall -Wextra -Werror "$p/share/doc/weft/docs/examples/${f%:*}.c" -o "${f%:*}" $(pkg-config --cflags --libs "${f#*:}")
done
weftd_start weftd --nics 2
tool 0 ./hello
grep -qx 'received 24 bytes: hello from the other NIC' "$out" || die "hello says: $(cat "$out")"
grep -qx 'read 42' "$out" || die "hello says: $(cat "$out")"
tool 0 ./tagged
[ "$(cat "$out")" = $'tag 2: the second one\ntag 1: the first message\ntag 3: 1048576 bytes' ] || die "tagged says: $(cat "$out")"
export WEFT_PEERS=02:77:0a:4d:00:01,02:77:0a:4d:00:02
spawn rank0 env WEFT_RANK=0 WEFT_DEVICE=weft0 ./allreduce
spawn rank1 env WEFT_RANK=1 WEFT_DEVICE=weft1 ./allreduce
expect_ok rank0 rank1
grep -qx 'rank 1 of 2, round 3: 9' rank1.out || die "allreduce says: $(cat rank1.out)"

# Open MPI finds the installed component in its own folder, and by the installed weft-run. The folder is one
# of links to the system's components, and has the staged one.
if [ -e "$stage$system_components/mca_coll_weft.so" ] && command -v mpicc.openmpi >/dev/null; then
	mpicc.openmpi -O1 -o coll_comms "$root/tests/mpi/coll_comms.c"
	mkdir -p components home
	ln -s "$system_components"/* components
	ln -sf "$stage$system_components/mca_coll_weft.so" components
	touch go
	mpi=(mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ob1 --mca btl 'self,vader' --mca coll_weft_verbose 1 -n 2)
	spawn component env HOME="$PWD/home" OPAL_PKGLIBDIR="$PWD/components" "${mpi[@]}" ./coll_comms hold "$PWD/go"
	expect_ok component
	grep -q '^coll_weft: rank 0: all collectives: 4 of' component.out || die 'Open MPI does not find the component in its folder'
	if [ -x "$p/bin/weft-run" ]; then
		# Without the path to weft's libraries, and for messages as above.
		spawn by_run env -u LD_LIBRARY_PATH HOME="$PWD/home" "$p/bin/weft-run" "${mpi[@]}" ./coll_comms hold "$PWD/go"
		expect_ok by_run
		grep -q '^coll_weft: rank 0: all collectives: 4 of' by_run.out || die 'weft-run does not name the component to Open MPI'
	fi
fi
weftd_stop weftd

# links of the pages, to files that are installed too
(cd "$p/share/doc/weft" && find . -name '*.md' | while read -r page; do
	grep -oE '\]\([^)#: ]+' "$page" | cut -c3- | grep -v '^https*$' | while read -r link; do
		[ -e "$(dirname "$page")/$link" ] || echo "$page: leads to $link, which is not installed"
	done
done) >links
[ ! -s links ] || die "$(cat links)"

# weft-tune finds its modules and weft-measure
"$p/bin/weft-tune" --version | grep -qx 'weft-tune [0-9.]*'
"$p/bin/weft-tune" --sim --budget 5 --params rx-usecs --out tuned >/dev/null
[ -s tuned/report.html ] || die 'the installed weft-tune writes no report'

# weftd accepts the example configuration
"$p/sbin/weftd" --config "$p/etc/weft/weftd.conf" --help >/dev/null

# what was installed goes again, with the folder for components of Open MPI; a changed file stays
make -s -C "$root" uninstall DESTDIR="$stage" PREFIX=/opt/weft >left
grep -q 'weftd.conf' left || die 'uninstall does not mention the weftd.conf that it leaves'
[ "$(find "$stage" -type f)" = "$p/etc/weft/weftd.conf" ] || die "left: $(find "$stage" -type f)"
[ ! -e "$stage/usr" ] || die "left: $(find "$stage/usr")"
