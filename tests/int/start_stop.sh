#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd starts, reports that it is ready, serves, and ends cleanly on SIGTERM and SIGINT. A second
# weftd for the same NIC is refused. Options come from a file. A wrong command line of any program
# gives exit status 2 and one line that says what is wrong and how to mend it.

. tests/int/lib.sh

# wrong TEXT PROGRAM WORD...: expects exit status 2, one line with TEXT on standard error, and no
# other output
wrong()
{
	local text=$1 program=$2
	shift 2
	timeout 60 "$WEFT_BIN/$program" "$@" >"$WEFT_TMP/wrong.out" 2>"$WEFT_TMP/wrong.err"
	status=$?
	[ "$status" -eq 2 ] || die "$program $*: exit status $status, not 2: $(cat "$WEFT_TMP/wrong.err")"
	[ "$(wc -l <"$WEFT_TMP/wrong.err")" -eq 1 ] || die "$program $*: not one line: $(cat "$WEFT_TMP/wrong.err")"
	[ ! -s "$WEFT_TMP/wrong.out" ] || die "$program $*: wrote to the standard output"
	grep -q "^$program: " "$WEFT_TMP/wrong.err" || die "$program $*: does not say who complains"
	grep -qF -- "$text" "$WEFT_TMP/wrong.err" || die "$program $*: no '$text' in: $(cat "$WEFT_TMP/wrong.err")"
}

wrong '--nics' weftd
wrong '--bogus' weftd --bogus
wrong 'zero' weftd --nics zero
wrong '33' weftd --nics 33
wrong '--ip' weftd --port eth0
wrong '10.9.0.1' weftd --port eth0 --ip 10.9.0.1
wrong '--loss' weftd --nics 2 --loss 101
wrong '--mtu' weftd --nics 2 --mtu 100
wrong '--quota' weftd --nics 1 --quota sheep=3
wrong '--cores' weftd --nics 1 --cores 99999
wrong 'stray' weftd --nics 1 stray
wrong "$WEFT_TMP/absent" weftd --config "$WEFT_TMP/absent"
printf 'nics = 2\nlos = 1\n' >"$WEFT_TMP/bad.conf"
wrong 'los' weftd --config "$WEFT_TMP/bad.conf"
wrong 'list' weftctl
wrong 'lists' weftctl lists
wrong '--bogus' weftctl list --bogus
wrong '-w' weftctl capture weft0
wrong 'lat' weft-bench
wrong 'latency' weft-bench latency --server
wrong '--server' weft-bench lat
wrong '--bogus' weft-bench lat --server --bogus
wrong '--qp' weft-bench lat --server --qp xx
wrong '--size' weft-bench lat --server --size 0
wrong '--iters' weft-bench lat --server --iters many
wrong 'rd' weft-bench lat --server --qp ud --op read

# Cards: the list works without rights and without cards, and a wrong address says where to look.
wrong 'no address of a card' weftd --port pci:eth0 --ip 10.9.0.1/24
wrong 'that card has a NIC already' weftd --port pci:3b:00.1 --ip 10.9.0.1/24 --port pci:0000:3b:00.1 --ip 10.9.0.2/24
tool 0 "$WEFT_BIN/weftd" --list-ports
grep -q '^made by weftd: --nics N' "$out" || die '--list-ports does not end'

# Failures that are not the command line's fault give exit status 1.
for words in 'weftctl stats weft0' 'weft-bench loop lat --device weft0'; do
	# shellcheck disable=SC2086 # words
	timeout 60 "$WEFT_BIN/"$words >"$WEFT_TMP/none.out" 2>&1
	status=$?
	[ "$status" -eq 1 ] || die "$words without weftd: exit status $status, not 1"
	[ "$(wc -l <"$WEFT_TMP/none.out")" -eq 1 ] || die "$words without weftd: not one line"
done

for program in weftd weftctl weft-bench; do
	"$WEFT_BIN/$program" --help >"$WEFT_TMP/help.out" || die "$program --help: exit status $?"
	grep -q '^Usage: ' "$WEFT_TMP/help.out" || die "$program --help has no usage"
	"$WEFT_BIN/$program" --version | grep -q '[0-9]' || die "$program --version says none"
done

begin=$EPOCHREALTIME
weftd_start first --nics 2
end=$EPOCHREALTIME
say "started in $(((${end/./} - ${begin/./}) / 1000)) ms (built with sanitizers)"
ctl list >"$WEFT_TMP/list"
grep -q '^weft0 .*10.77.0.1' "$WEFT_TMP/list" || die 'weft0 is not listed'
grep -q '^weft1 .*10.77.0.2' "$WEFT_TMP/list" || die 'weft1 is not listed'
bench weft1 weft0 lat --iters 200

spawn second "$WEFT_BIN/weftd" --nics 1
expect_fail second "weft0 .*weftd process ${pid[first]} "
[ "$(wc -l <"$WEFT_TMP/second.err")" -eq 1 ] || die 'the second weftd says more than one line'
# The refused weftd did the first one no harm; another name is accepted.
bench weft0 weft1 lat --iters 200
weftd_start third --nics 1 --name other --subnet 10.88.0.0/24
ctl list >"$WEFT_TMP/list"
[ "$(grep -c '^weft[01] \|^other0 ' "$WEFT_TMP/list")" -eq 3 ] || die 'not all three NICs are listed'
weftd_stop third
weftd_stop first
[ -z "$(find "$WEFT_RUN_DIR" -type s)" ] || die "sockets are left: $(ls "$WEFT_RUN_DIR")"

# The same name again, from a file; ended by SIGINT as by Ctrl-C.
printf '# four words\nnics = 3\nsubnet = 10.66.0.0/24 # behind a value\n\nmtu = 4000\n' >"$WEFT_TMP/weftd.conf"
weftd_start again --config "$WEFT_TMP/weftd.conf"
ctl list >"$WEFT_TMP/list"
grep -qE '^weft2 +10.66.0.3/24 .* 4000 ' "$WEFT_TMP/list" || die 'the file did not count'
bench weft2 weft0 lat --iters 200 --size 3900
kill -INT "${pid[again]}"
expect_ok again

# A killed weftd leaves its sockets behind; the next one replaces them.
weftd_start killed --nics 2
kill9 killed
weftd_start after --nics 2
bench weft1 weft0 lat --iters 200
weftd_stop after
