#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-run --sockets with plain sockets programs: call by call (tests/clients/sk_data.c) and through
# exec, vfork and posix_spawn (sk_exec.c), by themselves on the kernel's loopback and on a NIC; a
# shell's exec; nc both ways between two namespaces, which no interface connects.
# tests/clients/sockets.sh is longer.
# timeout: 300

. tests/int/lib.sh

need nc gcc
run=build/bin/weft-run
[ -e build/lib/verbs/libweft-sockets.so ] || skip 'librdmacm-dev is not installed'
netns_add a
netns_add b
a="ip netns exec $(unique a) $run --sockets --device weft0"
b="ip netns exec $(unique b) $run --sockets --device weft1"
weftd_start weftd --nics 2

for program in sk_data sk_exec; do
	gcc -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -Werror -I. "tests/clients/$program.c" tests/clients/sk_calls.c \
		-o "$WEFT_TMP/$program" -lpthread || die "$program.c does not compile"
	spawn "$program.kernel" ip netns exec "$(unique b)" "$WEFT_TMP/$program" 127.0.0.1
	expect_ok "$program.kernel"
	# shellcheck disable=SC2086 # words
	spawn "$program.nic" $b "$WEFT_TMP/$program" 10.77.0.2
	expect_ok "$program.nic"
done

head -c 16777216 /dev/urandom >"$WEFT_TMP/file"
before=$(counter weft1 rx_bytes)
# nc prints nothing when it listens, so a refused client tries again.
sends()
{
	$a nc -N 10.77.0.2 5000 <"$WEFT_TMP/file"
}
asks()
{
	$a nc 10.77.0.2 5001 </dev/null >"$WEFT_TMP/back"
}
spawn listen1 sh -c "exec $b nc -l 5000 >'$WEFT_TMP/there'"
wait_until 'weftctl clients shows sockets' uses weft1 sockets
wait_until 'nc sends' sends
expect_ok listen1
cmp "$WEFT_TMP/file" "$WEFT_TMP/there" || die 'what nc received is not what was sent'
spawn listen2 sh -c "exec $b nc -lN 5001 <'$WEFT_TMP/file'"
wait_until 'nc asks' asks
expect_ok listen2
cmp "$WEFT_TMP/file" "$WEFT_TMP/back" || die 'what nc received back is not what was sent'
# A shell opens the connection and executes the program that uses it.
spawn listen3 sh -c "exec $b nc -l 5002 >'$WEFT_TMP/there'"
shell_sends()
{
	$a bash -c "exec 3<>/dev/tcp/10.77.0.2/5002 || exit 1; exec cat '$WEFT_TMP/file' >&3" 2>>"$WEFT_TMP/shell.err"
}
wait_until 'the shell sends' shell_sends
expect_ok listen3
cmp "$WEFT_TMP/file" "$WEFT_TMP/there" || die 'what the shell executed has not sent it all'
[ "$(($(counter weft1 rx_bytes) - before))" -gt 16777216 ] || die 'the NIC has not carried it'
weftd_stop weftd
