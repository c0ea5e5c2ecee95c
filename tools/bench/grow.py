# SPDX-License-Identifier: BSD-3-Clause
"""The groups grow and tail of bench.py: how the rate of small messages changes with the number of queue pairs, peers, processes
and regions of memory; and delays in the NIC beside what other processes send.
"""
import subprocess

from harness import BIN, CLIENT_CPU, windows_row

LOAD = ("--device", "weft2", "--device2", "weft3")


def grow(env):
    """weft-bench grow; the ratio is how many times one message costs what it costs with one queue pair, peer, process, region."""
    env.weftd("--nics", "17")
    rows = []
    for part, names in (("qps", ("qps",)), ("peers", ("peers",)), ("procs", ("processes",)), ("memory", ("mib", "regions"))):
        got = env.bench("grow", "--part", part, "--device", "weft0", "--device2", "weft1", "--duration", env.seconds())["rows"]
        rows += [dict({"name": "_".join(["grow", part] + [str(r[n]) for n in names]), "value": r["mmps"], "unit": "M/s",
                       "baseline": r["first_mmps"], "ratio": r["cost"], "min": r["cost_min"], "max": r["cost_max"]}, **env.setup)
                 for r in got]
    return rows


def delays(env):
    """The way of a message by the NIC's clock: both processes share the clients' CPU, and the kernel's part is left out."""
    return env.bench("loop", "lat", "--device", "weft0", "--device2", "weft1", "--duration", env.seconds())["nic_us"]


def beside(env, *words):
    """Delays while another process sends on another pair of NICs."""
    seconds = str(float(env.seconds()) + 2)
    other = subprocess.Popen(["taskset", "-c", CLIENT_CPU, BIN + "/weft-bench", "loop", *words, *LOAD, "--run-dir", env.dir,
                              "--duration", seconds], stdout=subprocess.DEVNULL)
    env.children.append(other)
    try:
        return delays(env)
    finally:
        other.wait(60)
        env.children.remove(other)


def tail(env):
    """P99 and P99.9 of a 64 B ping-pong: unloaded, beside RDMA Writes of 1 MiB, and beside a stream of 64 B at a share of the
    greatest rate."""
    rows = []
    for mtu in ("1500", "9000"):
        env.close()
        env.weftd("--nics", "4", "--mtu", mtu)
        most = env.bench("loop", "rate", *LOAD, "--duration", env.seconds())["mmps"] * 1e6
        loads = {"1m": ("bw", "--op", "write", "--size", "1M", "--stamps", "--event")}
        if mtu == "1500":
            loads.update({str(share): ("rate", "--pace", str(int(most * share / 100))) for share in (25, 50, 75)})
        for name, words in loads.items():
            alone, loaded = [], []
            for _ in range(env.args.windows):
                alone.append(delays(env))
                loaded.append(beside(env, *words))
            rows += [windows_row("tail_%s_%s%s" % (name, key, "" if mtu == "1500" else "_" + mtu), "us", [w[key] for w in loaded],
                                 [w[key] for w in alone], **env.setup) for key in ("p99", "p99_9")]
    return rows


GROUPS = {"grow": grow, "tail": tail}
GOALS = {"grow_qps_8192": "<= 1.5", "grow_peers_16": "<= 1.5", "grow_procs_64": "<= 1.5", "grow_memory_1024_16384": "<= 1.5",
         **{"tail_%s_p99_9" % load: "<= 3" for load in ("1m", "25", "50", "75")}}
