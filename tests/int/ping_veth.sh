#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A weftd on one end of a veth answers the ping of another namespace, by AF_XDP and by AF_PACKET, while the
# kernel's own ping and TCP go over the same interface.

. tests/int/lib.sh
need python3 ping ethtool

veth_add a b
a=$(unique a) b=$(unique b)
ip -n "$a" addr add 10.9.0.2/24 dev va
ip -n "$b" addr add 10.9.0.1/24 dev vb
# Full checksums: no device fills them in on the way to a NIC.
ip netns exec "$a" ethtool -K va tx off >/dev/null
ip netns exec "$b" ethtool -K vb tx off >/dev/null

# Sends from namespace a to b over TCP until the file "enough" exists; every byte is checked.
cat >"$WEFT_TMP/tcp.py" <<'PY'
import os, socket, sys

block = bytes(range(251)) * 256
enough = sys.argv[2]
if sys.argv[1] == "server":
    s = socket.create_server(("10.9.0.1", 7777))
    print("listening", flush=True)
    c, _ = s.accept()
    total, data = 0, b""
    while part := c.recv(65536):
        data += part
        while len(data) >= len(block):
            assert data[:len(block)] == block, "wrong bytes"
            data = data[len(block):]
            total += len(block)
    assert not data and total > 0, "cut short"
    print("received", total)
else:
    s = socket.create_connection(("10.9.0.1", 7777))
    s.sendall(block)
    while not os.path.exists(enough):
        s.sendall(block)
    s.shutdown(socket.SHUT_WR)
PY

round()
{
	local how=$1 tcp=tcp_$1
	in_ns="ip netns exec $b"
	weftd_start "weftd_$how" --port vb --ip 10.9.0.10/24 --netdev "$how" --mtu 1500
	in_ns=
	[ "$how" = xdp ] && { says "weftd_$how" 'on AF_XDP' || die 'it is not AF_XDP'; }
	[ "$how" = packet ] && { says "weftd_$how" 'on AF_PACKET' || die 'it is not AF_PACKET'; }
	rm -f "$WEFT_TMP/enough"
	spawn "$tcp.s" ip netns exec "$b" python3 "$WEFT_TMP/tcp.py" server "$WEFT_TMP/enough"
	says "$tcp.s" listening
	spawn "$tcp.c" ip netns exec "$a" python3 "$WEFT_TMP/tcp.py" client "$WEFT_TMP/enough"
	spawn "kernel_$how" ip netns exec "$a" ping -c 20 -i 0.05 -W 10 10.9.0.1
	spawn "ping_$how" ip netns exec "$a" ping -c 20 -i 0.05 -W 10 10.9.0.10
	spawn "large_$how" ip netns exec "$a" ping -c 10 -i 0.05 -W 10 -s 1472 -M "do" 10.9.0.10
	expect_ok "ping_$how" "large_$how" "kernel_$how"
	out_has "ping_$how" ' 20 received' || die "not all pings were answered: $(tail -n 3 "$WEFT_TMP/ping_$how.out")"
	out_has "large_$how" ' 10 received' || die 'not all large pings were answered'
	out_has "kernel_$how" ' 20 received' || die "not all pings of the kernel were answered"
	touch "$WEFT_TMP/enough"
	expect_ok "$tcp.c" "$tcp.s"
	say "$how: $(tail -n 1 "$WEFT_TMP/ping_$how.out"); TCP $(tail -n 1 "$WEFT_TMP/$tcp.s.out") bytes"
	[ "$(counter weft0 icmp_echo_rx)" -ge 30 ] || die 'the NIC did not count the echoes'
	weftd_stop "weftd_$how"
	# The interface is the kernel's alone again.
	ip -n "$b" link show vb | grep -q 'prog/xdp' && die 'the XDP program is still there'
	ip netns exec "$a" ping -c 1 -W 10 10.9.0.1 >/dev/null || die 'the kernel does not answer any more'
}

round xdp
round packet
