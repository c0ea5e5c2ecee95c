#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A neighbour on the link sends small frames as fast as it can, of every protocol of weft, most of
# them nonsense. weftd drops and counts them; traffic between the other NICs of that core goes on,
# and the flooded NIC answers again when the flood is over.

. tests/int/lib.sh
need python3 ping ethtool

veth_add a b
a=$(unique a) b=$(unique b)
ip -n "$a" addr add 10.9.0.2/24 dev va
ip netns exec "$a" ethtool -K va tx off >/dev/null
ip netns exec "$b" ethtool -K vb tx off >/dev/null

cat >"$WEFT_TMP/flood.py" <<'PY'
import random, socket, struct, sys

mac = bytes.fromhex(sys.argv[1].replace(":", ""))
rng = random.Random(1)
me, ip, to = bytes([2, 0, 0, 0, 0, 9]), bytes([10, 9, 0, 2]), bytes([10, 9, 0, 10])

def checksum(b):
    s = sum(struct.unpack(">%dH" % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff

def ipv4(proto, payload, src=ip):
    h = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, proto, 0, src, to)
    return mac + me + b"\x08\x00" + h[:10] + struct.pack(">H", checksum(h)) + h[12:] + payload

def udp(port):
    body = rng.randbytes(rng.randrange(4, 40))
    return ipv4(17, struct.pack(">HHHH", port, port, 8 + len(body), 0) + body)

def syn():
    src = bytes([10, 9, rng.randrange(256), rng.randrange(256)])
    h = struct.pack(">HHIIBBHHH", rng.randrange(65536), rng.choice((22, 80, 40000)),
                    rng.getrandbits(32), 0, 0x50, 2, 1000, 0, 0)
    pseudo = src + to + struct.pack(">HH", 6, len(h))
    return ipv4(6, h[:16] + struct.pack(">H", checksum(pseudo + h)) + h[18:], src)

def arp():
    return (b"\xff" * 6 + me + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x800, 6, 4, 1) + me +
            bytes([10, 9, 0, rng.randrange(256)]) + bytes(6) + to)

kinds = [lambda: udp(47810), lambda: udp(rng.randrange(65536)), syn, arp,
         lambda: mac + me + b"\x88\xb5" + rng.randbytes(40),
         lambda: mac + me + b"\x08\x00" + rng.randbytes(30)]
frames = [f.ljust(60, b"\0") for f in (rng.choice(kinds)() for _ in range(4096))]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("va", 0))
sent = 0
while True:
    for f in frames:
        try:
            s.send(f)
        except OSError:
            pass
    if not sent:
        print("flooding", flush=True)
    sent += len(frames)
PY

in_ns="ip netns exec $b"
weftd_start weftd --nics 2 --port vb --ip 10.9.0.10/24 --netdev packet --mtu 1500
in_ns=
mac=$(ctl --json list | python3 -c '
import json, sys
print([n["mac"] for n in json.load(sys.stdin)if n["nic"] == "weft2"][0])') || die 'no address of weft2'

flood_answers()
{
	ip netns exec "$a" ping -q -c 1 -W 2 10.9.0.10 >"$WEFT_TMP/ping" 2>&1
}
wait_until 'the NIC on the link answers' flood_answers
bench weft1 weft0 lat --iters 200
for n in 1 2; do
	spawn "flood$n" ip netns exec "$a" python3 "$WEFT_TMP/flood.py" "$mac"
	says "flood$n" flooding
done
before=$(counter weft2 rx_frames)
bench weft1 weft0 lat --iters 200
bench weft0 weft1 bw --size 64K --iters 100
bench weft1 weft0 lat --qp ud --iters 200
wait_until 'the flood arrives' counter_above weft2 rx_frames "$((before + 20000))"
for n in 1 2; do
	alive "flood$n" || die 'the flood has ended'
	kill9 "flood$n"
done
ctl stats weft2 --nonzero >"$WEFT_TMP/stats"
dropped=$(awk '$1 ~ /drop/ { n += $2 } END { print n + 0 }' "$WEFT_TMP/stats")
[ "$dropped" -ge 10000 ] || die "only $dropped frames count as dropped: $(grep drop "$WEFT_TMP/stats")"
wait_until 'the NIC on the link answers again' flood_answers
bench weft1 weft0 lat --iters 200
weftd_stop weftd
