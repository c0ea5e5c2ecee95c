# SPDX-License-Identifier: BSD-3-Clause
"""The groups mpi_* of bench.py: Open MPI over weft, unchanged, beside Open MPI's tcp BTL over a
veth.

Rows without _rc: UCX's rc_verbs, which connects by itself, so reliable datagrams; with _rc:
libfabric (verbs;ofi_rxm) on an iWARP device, so RDMAP over TCP. Two ranks of mpi_base with
mpi_yield_when_idle 1: over weft they share the CPUs that weftd leaves, which polls on the last
one; over tcp they have all. Latency is half a ping-pong of 8 bytes, bandwidth that of windows
of eight messages of 1 MiB one way; the receiver checks the bytes. Imported by bench.py.
"""
import json
import os
import shutil
import stat

import goal
from harness import BIN, Failed, in_turn, run

HERE = os.path.dirname(os.path.abspath(__file__))
RANK = os.path.join(HERE, "..", "run", "mpi_rank.sh")
UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any", "--mca", "btl", "self",
       "--mca", "mtl", "^ofi", "--mca", "osc", "ucx"]
OFI = ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "verbs;ofi_rxm", "--mca", "btl", "self"]
TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "10.78.0.0/24"]
BYTES = 1 << 20


def printed(cpu, pre, options, wrapper, path, *words):
    """The text that a program of two ranks prints."""
    if not shutil.which("mpirun") or not os.path.exists(path):
        raise Failed("no Open MPI: install openmpi-bin and libopenmpi-dev, then make bench again")
    return run(*pre, *goal.MPIRUN, *options, "-n", 2, wrapper, path, *words, cpu=cpu)


def launch(cpu, pre, options, wrapper, program, *words):
    """The rows that a program of ours prints."""
    return json.loads(printed(cpu, pre, options, wrapper, BIN + "/" + program, *words))


def before(env, ns=None, **more):
    """The words before mpirun for ranks on the NICs of env's weftd."""
    return (["ip", "netns", "exec", ns] if ns else []) + [
        "env", "WEFT_RUN=" + os.path.abspath(BIN + "/weft-run"), "WEFT_MPI_NICS=%s:weft0 %s:weft1" % (env.dir, env.dir),
        *["%s=%s" % v for v in more.items()]]


def ranks(env, cpu, pre, options, wrapper, mode, size):
    """Microseconds of a message."""
    return launch(cpu, pre, options, wrapper, "mpi_base", mode, goal.length(env), size)[0]["us"]


def over_weft(env, options, mode, size, ns=None, **more):
    return ranks(env, goal.ALL_BUT_LAST, before(env, ns, **more), options, RANK, mode, size)


def over_rc(env, ns, mode, size):
    return over_weft(env, OFI, mode, size, ns, WEFT_MPI_OVER="iwarp", WEFT_LLP="tcp")


def addresses(env):
    """A namespace with the NICs' addresses on an idle interface: libfabric finds a NIC by its
    address."""
    ns = env.netns("c")
    run("ip", "-n", ns, "link", "add", "weftaddr", "type", "veth", "peer", "name", "weftaddr2", cpu=None)
    for ip in ("10.77.0.1/24", "10.77.0.2/24"):
        run("ip", "-n", ns, "addr", "add", ip, "dev", "weftaddr", cpu=None)
    for name in ("lo", "weftaddr", "weftaddr2"):
        run("ip", "-n", ns, "link", "set", name, "up", cpu=None)
    return ns


class Veth:
    """Rank 0 in one namespace and rank 1 in the other; mpirun reaches them through the veth, too."""

    def __init__(self, env, spaces):
        self.env, self.ns = env, spaces[0]
        self.wrapper = env.dir + "/rank.sh"
        with open(self.wrapper, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK = 0 ] && exec \"$@\"\nexec ip netns exec %s \"$@\"\n" % spaces[1])
        os.chmod(self.wrapper, stat.S_IRWXU)

    def before(self):
        return ["ip", "netns", "exec", self.ns, "env", "PMIX_MCA_ptl_base_if_include=va", "PMIX_MCA_ptl_base_remote_connections=1"]

    def measure(self, mode, size):
        return ranks(self.env, None, self.before(), TCP, self.wrapper, mode, size)


def gbps(us):
    return BYTES * 8 / us / 1e3


def point_to_point(env):
    rows = []
    for mtu, suffix in ((9000, ""), (1500, "_mtu1500")):
        env.close()
        veth = Veth(env, env.veth(mtu))
        ns = addresses(env)
        env.weftd("--nics", "2", "--mtu", mtu)
        rows.append(in_turn(env, "mpi_8b_lat" + suffix, "us", lambda: over_weft(env, UCX, "pingpong", 8),
                            lambda v=veth: v.measure("pingpong", 8)))
        rows.append(in_turn(env, "mpi_1m_bw" + suffix, "Gb/s", lambda: gbps(over_weft(env, UCX, "stream", BYTES)),
                            lambda v=veth: gbps(v.measure("stream", BYTES))))
        rows.append(in_turn(env, "mpi_8b_lat_rc" + suffix, "us", lambda n=ns: over_rc(env, n, "pingpong", 8),
                            lambda v=veth: v.measure("pingpong", 8)))
        rows.append(in_turn(env, "mpi_1m_bw_rc" + suffix, "Gb/s", lambda n=ns: gbps(over_rc(env, n, "stream", BYTES)),
                            lambda v=veth: gbps(v.measure("stream", BYTES))))
    return rows


GROUPS = {"mpi_p2p": point_to_point}
GOALS = {"mpi_8b_lat": "<= 0.9", "mpi_1m_bw": ">= 1.0", "mpi_8b_lat_rc": "<= 0.9", "mpi_1m_bw_rc": ">= 1.0"}
