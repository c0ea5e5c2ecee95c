# SPDX-License-Identifier: BSD-3-Clause
"""The group veth_bw of bench.py: RDMA Writes of 64 KiB on RD over a veth of the kernel, by AF_XDP (MTU 1500) and AF_PACKET
(MTU 9000), beside iperf3 over a veth like it, both with the offloads that a veth has. Both NICs are weftd's, on the last CPU.
Imported by bench.py.
"""
from harness import Failed, in_turn, run


def write(env):
    r = env.bench("loop", "bw", "--op", "write", "--size", "64K", "--device", "weft0", "--device2", "weft1", "--duration",
                  env.seconds(), "--stamps")
    if r["errors"]:
        raise Failed("weft-bench found %d errors" % r["errors"])
    return r["gbps"]


def bandwidth(iperf):
    def measure(env):
        rows = []
        env.stamps = True
        for mtu in (1500, 9000):
            env.close()
            spaces = env.veth(mtu)
            ns = env.netns("w")
            run("ip", "-n", ns, "link", "add", "wa", "mtu", mtu, "type", "veth", "peer", "name", "wb", "mtu", mtu, cpu=None)
            for dev in ("wa", "wb"):
                run("ip", "-n", ns, "link", "set", dev, "up", cpu=None)
            env.weftd("--port", "wa", "--ip", "10.79.0.1/24", "--port", "wb", "--ip", "10.79.0.2/24", "--mtu", mtu, ns=ns)
            rows.append(in_turn(env, "rd_write_64k_bw_veth%d" % mtu, "Gb/s", lambda: write(env),
                                lambda s=spaces: iperf(env, s)))
        return rows
    return measure


def groups(iperf):
    return {"veth_bw": bandwidth(iperf)}


GOALS = {"rd_write_64k_bw_veth1500": ">= 1.0", "rd_write_64k_bw_veth9000": ">= 1.0"}
