# SPDX-License-Identifier: BSD-3-Clause
"""The groups iwarp_* of bench.py: standard iWARP on the NIC's own TCP beside the kernel's TCP.

iwarp_rtt and iwarp_bw are weft-bench with --qp rc-tcp between two NICs of one weftd, by the switch; the kernel's figures are a
ping-pong in one thread (udp_base tcp) and iperf3, over a veth of the same MTU. iwarp_bulk is RDMA Writes of 1 MB to an iWARP
endpoint over a socket of Linux (tests/interop/mpa_sock), and from it, over a veth by AF_XDP, beside iperf3 over a veth like
it, without offloads and with those that a veth has. Each row names its MTU. Imported by bench.py.
"""
import os
import re
import subprocess

from harness import BIN, BUILD, CLIENT_CPU, Failed, in_turn, run

BULK_BYTES = 1000000


def loop(env, what, *options):
    r = env.bench("loop", what, "--qp", "rc-tcp", "--device", "weft0", "--device2", "weft1", "--duration", env.seconds(),
                  *options)
    if r["errors"]:
        raise Failed("weft-bench found %d errors" % r["errors"])
    return r


def rtt(env):
    a, b = env.veth(1500)
    env.weftd("--nics", "2")
    return [in_turn(env, "rc_send_64_rtt_switch", "us", lambda: loop(env, "lat")["rtt_us"]["typical"],
                    lambda: float(run(BIN + "/udp_base", "tcp", a, "10.78.0.1", b, "10.78.0.2", env.seconds())))]


def bandwidth(iperf):
    def measure(env):
        rows = []
        for mtu, suffix in ((9000, ""), (1500, "_mtu1500")):
            env.close()
            spaces = env.veth(mtu)
            env.weftd("--nics", "2", "--mtu", mtu, "--mpa-crc", "off")
            rows.append(in_turn(env, "rc_write_1m_bw_switch" + suffix, "Gb/s",
                                lambda: loop(env, "bw", "--op", "write", "--size", "1M")["gbps"],
                                lambda s=spaces: iperf(env, s)))
        return rows
    return measure


def bulk_once(env, ns, num, receiver):
    """Gb/s of num Writes between the NIC, whose end of the veth has no address and which connects, and Linux."""
    progs = BUILD + "/int/"
    bulk_once.port = getattr(bulk_once, "port", 7000) + 1
    words = [str(bulk_once.port), "-s", str(BULK_BYTES), "-q"]
    pre = ["ip", "netns", "exec", ns, "taskset", "-c", CLIENT_CPU]
    sink = env.spawn(pre + [progs + "mpa_sock", "listen", "10.79.0.1"] + words, "listening")
    out = run(*pre, BIN + "/weft-run", "--run-dir", env.dir, "--device", "weft0", progs + "rc_peer", "connect", "10.79.0.1",
              *words, "-o", "write", "-d", receiver, "-n", num, cpu=None)
    if sink.wait(30):
        raise Failed("mpa_sock ended with exit status %d" % sink.returncode)
    ms = re.search(r" in ([0-9]+) ms", out)
    return num * BULK_BYTES * 8 / 1e6 / max(1, int(ms.group(1)))


def bulk_rows(env, iperf, suffix, offloads):
    spaces = env.veth(1500, offloads=offloads)
    ns = env.netns("w")
    run("ip", "-n", ns, "link", "add", "wa", "type", "veth", "peer", "name", "la", cpu=None)
    for dev in ("wa", "la"):
        if not offloads:
            subprocess.run(["ip", "netns", "exec", ns, "ethtool", "-K", dev, "tso", "off", "gso", "off", "gro", "off", "tx",
                            "off"], check=True, stdout=subprocess.DEVNULL)
        run("ip", "-n", ns, "link", "set", dev, "up", cpu=None)
    run("ip", "-n", ns, "addr", "add", "10.79.0.1/24", "dev", "la", cpu=None)
    env.weftd("--port", "wa", "--ip", "10.79.0.2/24", "--netdev", "xdp", "--mpa-crc", "off", ns=ns)
    num = max(10, int(600 * env.args.seconds))  # some as long as iperf3's window
    return [in_turn(env, "tcp_bulk_%s_linux%s" % (way, suffix), "Gb/s", lambda r=receiver: bulk_once(env, ns, num, r),
                    lambda: iperf(env, spaces)) for way, receiver in (("to", "passive"), ("from", "active"))]


def bulk(iperf):
    def measure(env):
        if not os.path.exists(BUILD + "/int/rc_peer"):
            raise Failed("no rc_peer: install librdmacm-dev, then make bench again")
        rows = bulk_rows(env, iperf, "", False)
        env.close()
        return rows + bulk_rows(env, iperf, "_offloads", True)
    return measure


def groups(iperf):
    """Named iwarp_* so that ROWS=iwarp is all of them."""
    return {"iwarp_rtt": rtt, "iwarp_bw": bandwidth(iperf), "iwarp_bulk": bulk(iperf)}


GOALS = {"rc_send_64_rtt_switch": "<= 0.5", "rc_write_1m_bw_switch": ">= 1.0", "rc_write_1m_bw_switch_mtu1500": ">= 1.0",
         "tcp_bulk_to_linux": ">= 0.9", "tcp_bulk_from_linux": ">= 0.9"}
