#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# timeout: 300
#
# Resources that weftd holds for a process that holds none itself (hoard.c): registered memory,
# mappings, address space, descriptors of extents, descriptors in answers that the process never
# reads. A user gets its share and then "over quota"; another user still works; everything is freed
# when the processes die.

. tests/int/lib.sh
. tests/security/users.sh

# status FIELD: a field of weftd's /proc/PID/status, in KiB or a number
status()
{
	awk -v field="$1:" '$1 == field { print $2 }' "/proc/${pid[weftd]}/status"
}

# takes NAME LINE... -- WORD...: expects these lines of its processes, and another user that still
# works
takes()
{
	local name=$1
	shift
	: >"$WEFT_TMP/wanted"
	while [ "$1" != -- ]; do
		say "$1" >>"$WEFT_TMP/wanted"
		shift
	done
	shift
	by "$taker" hoard
	spawn "$name" "${by[@]}" "$@"
	says "$name" '^all '
	grep -v '^all ' "$WEFT_TMP/$name.out" | diff "$WEFT_TMP/wanted" - >"$WEFT_TMP/diff" ||
		die "shares of $name: $(cat "$WEFT_TMP/diff")"
	other_user_gets_on "$name"
}

start weftd --nics 2 --quota memory=8M --quota user:memory=12M
before=$(status RssShmem)
# One MiB and 8 KiB of page tables; each process has 64 KiB for its own use first.
takes memory '7 over quota: process memory 8388608' '4 over quota: user memory 12582912' -- memory $((1 << 20)) 2
now=$(status RssShmem)
say "weftd has $((now - before)) KiB more of shared memory"
[ $((now - before)) -lt 14000 ] || die 'weftd holds more than the share'
ctl users >"$WEFT_TMP/users"
grep -qE "^$taker +all +- +memory " "$WEFT_TMP/users" || die "weftctl users: $(cat "$WEFT_TMP/users")"
out_has weftd 'over quota: a process may have 8388608 bytes of registered memory; weftd --quota memory=N' ||
	die 'weftd does not say it'
release memory
weftd_stop weftd

# A BAR, the memory for the process's own use, then one mapping for each extent.
start weftd --nics 2 --quota mappings=100 --quota user:mappings=150
takes mappings '98 over quota: process mappings 100' '48 over quota: user mappings 150' -- memory 4096 2
release mappings
weftd_stop weftd

# One CPU: a process has a doorbell for each on which weftd may work.
start weftd --nics 2 --cores 0 --quota descriptors=50 --quota user:descriptors=75
# The process has 6 descriptors already: 3 of its connection, 2 of its events, 1 of the answer.
takes extents '44 over quota: process descriptors 50' '20 over quota: user descriptors 75' -- extents 2
release extents
weftd_stop weftd

# Extents of 4 TiB with one page registered, in 32 TiB of address space: limits of a half and three
# quarters.
start weftd --nics 2
takes space '3 No space left on device' '2 No space left on device' -- space $((1 << 42)) 2
release space
weftd_stop weftd

# The kernel allows weftd no more descriptors in sockets than open ones.
in_ns='prlimit --nofile=512:512'
start weftd --nics 2
in_ns=
by "$taker" hoard
spawn unread "${by[@]}" unread 7
says unread '^all '
other_user_gets_on 'descriptors in sockets'
out_has weftd 'over quota: a process may have [0-9]* descriptors of weftd' || die 'weftd does not say it'
release unread
weftd_stop weftd

