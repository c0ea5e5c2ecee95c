#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Processes that misuse the NIC as far as they can: malformed commands, handles of others, wrong
# descriptors, and random bytes all over their BAR while they ring. Meanwhile the traffic of others
# on the same NICs stays right, and afterwards none of their objects is left.

. tests/int/lib.sh
need python3

cat >"$WEFT_TMP/hostile.py" <<'PY'
import array, mmap, os, random, socket, struct, sys, time

CMD, RESP, ATTACH, START, REG_MR, CREATE_CQ, CREATE_QP, ALLOC_PD = 128, 512, 1, 58, 5, 9, 17, 3
path, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
rnd = random.Random(seed)


def cmd(op, body=b"", tag=0):
    return struct.pack("<IIQ", op, tag, 0) + body.ljust(CMD - 16, b"\0")


def call(s, message, fds=()):
    """Sends; the answer's status and the descriptors that came, or None: it hung up."""
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    try:
        s.sendmsg([message], ancillary)
        data, anc, _, _ = s.recvmsg(RESP, socket.CMSG_SPACE(64))
    except (OSError, socket.timeout):
        return None
    got = array.array("i")
    for level, kind, payload in anc:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            got.frombytes(payload[: len(payload) // 4 * 4])
    if len(data) < 16:
        return None
    return struct.unpack("<i", data[8:12])[0], data[16:], list(got)


def attach(start=True):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(2)
    s.connect(path)
    answer = call(s, cmd(ATTACH, struct.pack("<II24s", 3, 0, b"hostile")))
    if start and answer and answer[0] == 0:
        for fd in answer[2]:
            os.close(fd)
        answer = call(s, cmd(START))
    return s, answer


def garbage():
    """Packets that are no commands, before and after attaching."""
    for attached in (False, True):
        s, answer = attach() if attached else (socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), None)
        if not attached:
            s.settimeout(2)
            s.connect(path)
        for _ in range(40):
            size = rnd.choice((0, 1, 15, 16, 127, 128, 129, 4000))
            if call(s, rnd.randbytes(size)) is None:
                break
        s.close()


def commands():
    """Every command with small random words: handles of others, sizes that cannot be."""
    s, answer = attach()
    assert answer and answer[0] == 0, answer
    for _ in range(400):
        words = [rnd.choice((0, 1, 2, 3, 7, 64, 4096, 65535, 2**31, 2**32 - 1)) for _ in range(28)]
        if call(s, cmd(rnd.randrange(0, 62), struct.pack("<28I", *words))) is None:
            s, answer = attach()
            assert answer and answer[0] == 0, "refused after a bad command"
    s.close()


def memories():
    """REG_MR with a memfd, a pipe, a directory: it takes no descriptor."""
    s, _ = attach()
    status, body, _ = call(s, cmd(ALLOC_PD))
    assert status == 0
    pd = struct.unpack("<I", body[:4])[0]
    fd = os.memfd_create("unsealed")
    os.ftruncate(fd, 1 << 16)
    r, w = os.pipe()
    d = os.open("/", os.O_RDONLY)
    for bad in (fd, r, w, d):
        a = call(s, cmd(REG_MR, struct.pack("<QQQQIIII", 0x10000, 1 << 16, 0x10000, 0, pd, 7, 1, 0)), [bad])
        assert a is not None and a[0] != 0, "a descriptor was taken that must not be"
    s.close()


def scribble(until):
    """Random bytes over the BAR, its doorbell ring and what lies behind, while ringing."""
    s, answer = attach(start=False)
    status, body, fds = answer
    assert status == 0 and len(fds) >= 2, answer
    size = min(os.fstat(fds[0]).st_size, 8 << 20)
    bar = mmap.mmap(fds[0], size)
    assert call(s, cmd(START))[0] == 0
    call(s, cmd(ALLOC_PD))
    for _ in range(4):
        call(s, cmd(CREATE_CQ, struct.pack("<III", 64, 0, 0)))
        call(s, cmd(CREATE_QP, struct.pack("<12I", 0, 16, 0, 0, 2**32 - 1, 64, 16, 16, 2, 2, 64, 0)))
    while time.monotonic() < until:
        for _ in range(200):
            at = rnd.choice((rnd.randrange(0, 4096), rnd.randrange(4096, 270336), rnd.randrange(266240, size - 64)))
            at = min(at, size - 64)
            piece = rnd.randbytes(rnd.choice((1, 4, 8, 64)))
            if rnd.random() < 0.5:  # a doorbell that may be one
                at = 4096 + 4 * rnd.randrange(0, 65536)
                piece = struct.pack("<I", rnd.choice((1, 2, 9)) << 24 | rnd.randrange(0, 8))
            bar[at : at + len(piece)] = piece
        try:
            os.write(fds[1], struct.pack("<Q", 1))
        except OSError:
            pass
    os._exit(0)  # as it stands, like a process that is killed


garbage()
commands()
memories()
scribble(time.monotonic() + seconds)
PY

weftd_start weftd --nics 3
for i in 1 2 3; do
	spawn "hostile$i" python3 "$WEFT_TMP/hostile.py" "$WEFT_RUN_DIR/weft$((i - 1))" "$i" 4
done
# weft0 and weft1 carry the traffic that must stay right; every NIC has a hostile client.
bench weft1 weft0 lat --iters 3000
bench weft1 weft0 bw --op write --size 50000 --iters 300
bench weft0 weft1 rate --op atomic --iters 5000
bench weft1 weft0 lat --qp ud --iters 2000
bench weft1 weft0 bw --op read --size 50000 --iters 300 --event
expect_ok hostile1 hostile2 hostile3
alive weftd || die 'weftd is gone'
for nic in weft0 weft1 weft2; do
	expect_objects "$nic" '0 0 0 0'
done
[ "$(counter weft0 commands_bad)" -gt 0 ] || die 'no bad command was counted: nothing was tested'
[ "$(counter weft0 doorbells_bad)" -gt 0 ] || die 'no bad doorbell was counted: nothing was tested'
bench weft2 weft0 lat --iters 300
weftd_stop weftd
