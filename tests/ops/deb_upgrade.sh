#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd as a service of systemd in a bare Debian 12 that is booted in namespaces, and packages of
# `make deb`: an upgrade hands over to the new firmware, and rping and weft-bench go on; one whose
# firmware does not fit restarts weftd; a killed weftd is back within a second; a removed package
# stops its services. The packages of the last tag or of an older commit, or of $WEFT_OLDER, are
# upgraded, too.
#
# timeout: 3000

# shellcheck disable=SC2154 # lib.sh has out, err and status
. tests/int/lib.sh
. tests/ops/root.sh
need dpkg-buildpackage nsenter python3 git
export LIMIT=120
root_debs

version=$(sed -n 's/^VERSION := //p' Makefile)
served='weft weft-tools libweft0 libgoal0 weft-verbs'
root=$WEFT_TMP/root
root_make "$root"
mkdir -p "$root/packages/old" "$root/packages/new" "$root/packages/odd" "$root/packages/older"
root_apt "$root" update
root_apt "$root" install systemd systemd-sysv dbus rdmacm-utils

# A firmware whose state has another layout: the number behind its mark (nic_fw/fw.h).
other_layout()
{
	python3 - usr/lib/weft/firmware.so <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.find(struct.pack("<II", 0x57465431, 1))
assert at > 0
data[at + 8] ^= 1
open(sys.argv[1], "wb").write(data)
PY
}
for p in $served; do
	cp build/deb/"${p}_${version}"_*.deb "$root/packages/new/"
	deb_repack "$p" "$version" 0.1.0 "$root/packages/old/$p.deb"
	edit=()
	[ "$p" != weft ] || edit=(other_layout)
	deb_repack "$p" "$version" 9.0.0 "$root/packages/odd/$p.deb" ${edit[@]+"${edit[@]}"}
done
root_apt "$root" install /packages/old/{weft,weft-tools,libweft0,libgoal0,weft-verbs}.deb
root_boot "$root"

# install FOLDER: its packages, in the root that runs
install_from()
{
	root_in sh -c "dpkg -i --force-confold --force-downgrade /packages/$1/*.deb" >"$WEFT_TMP/dpkg.out" 2>&1 || die "dpkg: $(cat "$WEFT_TMP/dpkg.out")"
}
main_pid()
{
	root_in systemctl show -p MainPID --value weftd.service
}
answers()
{
	root_in weftctl list >"$WEFT_TMP/list" 2>&1
}
# nic_counter NIC NAME
nic_counter()
{
	root_in weftctl stats "$1" | awk -v name="$2:" '$1 == name { print $2 }'
}
moved()
{
	[ "$(nic_counter weft1 rx_frames)" -gt "$1" ]
}
# traffic NAME: programs that end by an error alone
traffic()
{
	spawn "rping$1.s" root_in weft-run --device weft1 rping -s -V -C 100000000 -a 10.77.0.2
	spawn "bench$1.s" root_in weft-bench bw --device weft1 --server --port 7001 --duration 3000 --event
	sleep 1
	spawn "rping$1.c" root_in weft-run --device weft0 rping -c -V -C 100000000 -a 10.77.0.2
	spawn "bench$1.c" root_in weft-bench bw --device weft0 --connect 127.0.0.1 --port 7001 --duration 3000 --event
	wait_until 'frames move' moved 1000
	goes_on "$1"
}
goes_on()
{
	local n at
	at=$(nic_counter weft1 rx_frames)
	wait_until 'frames move on' moved $((at + 1000))
	for n in rping bench; do
		alive "$n$1.c" || die "$n noticed: $(cat "$WEFT_TMP/$n$1.c.err")"
		alive "$n$1.s" || die "$n noticed: $(cat "$WEFT_TMP/$n$1.s.err")"
	done
}
# notices NAME: each ends, with an error
notices()
{
	local n
	for n in rping bench; do
		finish "$n$1.c"
		[ "$status" -ne 0 ] || die "$n did not notice the end of weftd"
		finish "$n$1.s"
	done
}
doctor_says()
{
	root_in weftctl doctor >"$WEFT_TMP/doctor" 2>&1
	grep -q "$1" "$WEFT_TMP/doctor"
}
replaced='^note  weft0: weftd itself was replaced'

say 'an upgrade hands over'
start=$((${EPOCHREALTIME/./} / 1000))
root_in systemctl start weftd.service || die "$(root_in journalctl -u weftd --no-pager)"
wait_until 'weftd answers' answers
start=$((${EPOCHREALTIME/./} / 1000 - start))
before=$(main_pid)
! doctor_says "$replaced" || die 'replaced, before anything was'
traffic a
install_from new
grep -q 'weft: weftd was not restarted' "$WEFT_TMP/dpkg.out" || die "$(cat "$WEFT_TMP/dpkg.out")"
[ "$(main_pid)" = "$before" ] || die 'weftd was restarted'
goes_on a
root_in journalctl -u weftd --no-pager >"$WEFT_TMP/journal"
grep -q 'firmware .* goes on in place of' "$WEFT_TMP/journal" || die "no line of the new firmware: $(cat "$WEFT_TMP/journal")"
doctor_says "$replaced" || die "$(cat "$WEFT_TMP/doctor")"

say 'the journal has fields'
# of_journal FIELD=VALUE...: the records of weftd with these fields, as JSON
of_journal()
{
	root_in journalctl -u weftd --no-pager -o json "$@"
}
root_in weftctl log debug
root_in timeout -s INT 2 weft-bench bw --device weft0 --server --port 7009 >/dev/null 2>&1
root_in weftctl log info
recorded()
{
	of_journal WEFT_NIC=weft0 WEFT_PROGRAM=weft-bench WEFT_UID=0 >"$WEFT_TMP/fields"
	grep -q 'weft0: process .* attached' "$WEFT_TMP/fields"
}
wait_until 'the journal has a record of the process' recorded
python3 - "$WEFT_TMP/fields" <<'PY' || die "wrong fields: $(cat "$WEFT_TMP/fields")"
import json, sys
for r in map(json.loads, open(sys.argv[1])):
    assert r["SYSLOG_IDENTIFIER"] == "weftd" and r["_SYSTEMD_UNIT"] == "weftd.service", r
    assert r["MESSAGE"].startswith("weft0: process " + r["WEFT_PID"]) and r["PRIORITY"] == "7", r
    assert r["CODE_FILE"].startswith("dpdk_app/client/") and r["CODE_FUNC"] and int(r["CODE_LINE"]) > 0, r
PY

say 'one that does not fit restarts weftd'
install_from odd
grep -q 'weft: weftd cannot go on with this firmware and is restarted' "$WEFT_TMP/dpkg.out" || die "$(cat "$WEFT_TMP/dpkg.out")"
notices a
[ "$(main_pid)" != "$before" ] || die 'weftd was not restarted'
! doctor_says "$replaced" || die "$(cat "$WEFT_TMP/doctor")"
traffic b

say 'killed: the unit has it back within a second'
for signal in SEGV KILL; do
	before=$(main_pid)
	begin=$((${EPOCHREALTIME/./} / 1000))
	root_in sh -c "kill -$signal $before"
	until [ "$(main_pid)" != "$before" ] && answers; do
		[ $((${EPOCHREALTIME/./} / 1000)) -lt $((begin + 60000)) ] || die 'weftd does not come back'
		sleep 0.01
	done
	back=$((${EPOCHREALTIME/./} / 1000 - begin))
	say "SIG$signal: back after $back ms; the first start took $start ms"
	# A loaded machine starts it more slowly: 100 ms of the unit, and twice the time of its first start.
	[ "$back" -le 1000 ] || [ "$back" -le $((100 + 2 * start)) ] || die 'the service was not back within a second'
	[ $signal = KILL ] || { notices b; traffic c; }
done
notices c

say 'a removed package stops its services'
root_in systemctl start weft-exporter.service
root_in dpkg -r weft weft-tools >"$WEFT_TMP/dpkg.out" 2>&1 || die "$(cat "$WEFT_TMP/dpkg.out")"
for unit in weftd weft-exporter; do
	! root_in systemctl --quiet is-active $unit.service || die "$unit goes on without its package"
done
# shellcheck disable=SC2086 # the names are words
root_in dpkg -P $served >"$WEFT_TMP/dpkg.out" 2>&1 || die "$(cat "$WEFT_TMP/dpkg.out")"

# ---- packages of an older commit

# The last tag of which packages can be made, else the first commit of which they can.
older=${WEFT_OLDER:-$(git describe --tags --abbrev=0 2>/dev/null)}
git cat-file -e "${older:-none}:dist/debian/control" 2>/dev/null ||
	older=$(git log --reverse --format=%h -- dist/debian/control 2>/dev/null | head -n 1)
[ -n "$older" ] || { say 'no history of this tree: no packages of an older commit'; exit; }
older=$(git rev-parse --short "$older^{commit}")
say "packages of commit $(git log -1 --format='%h, %s' "$older")"
# They are kept in build. lintian may complain of a commit whose overrides are older than it.
kept=build/deb-older/$older
if [ ! -d "$kept" ]; then
	mkdir -p "$WEFT_TMP/older" build/deb-older
	git archive "$older" | tar -x -C "$WEFT_TMP/older"
	make -s -C "$WEFT_TMP/older" deb >"$WEFT_TMP/make.out" 2>&1 || say 'its "make deb" complains'
	mkdir "$WEFT_TMP/kept"
	for p in $served; do
		cp "$WEFT_TMP/older/build/deb/${p}"_*.deb "$WEFT_TMP/kept/" || die "make deb: $(tail -n 30 "$WEFT_TMP/make.out")"
	done
	mv "$WEFT_TMP/kept" "$kept"
	rm -rf "$WEFT_TMP/older"
fi
cp "$kept"/*.deb "$root/packages/older/"
install_from older
root_in systemctl start weftd.service || die "$(root_in journalctl -u weftd --no-pager)"
before=$(main_pid)
traffic d
install_from new
if [ "$(main_pid)" = "$before" ]; then
	grep -q 'weft: weftd was not restarted' "$WEFT_TMP/dpkg.out" || die "$(cat "$WEFT_TMP/dpkg.out")"
	say 'handed over'
	goes_on d
else
	grep -q 'weft: weftd cannot go on with this firmware and is restarted' "$WEFT_TMP/dpkg.out" || die "$(cat "$WEFT_TMP/dpkg.out")"
	say 'restarted'
	notices d
	wait_until 'weftd answers' answers
	traffic e
fi
root_halt
