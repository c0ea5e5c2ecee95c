#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of guest.sh that the shell cannot do:

    guest_tool.py vmlinux VMLINUZ OUT         the kernel, unpacked: an emulated machine takes seconds to do it
    guest_tool.py modules DIR OUT NAME...     modules and what they depend on, unpacked, with a file "order";
                                              STRIP: the program that takes their symbols away
    guest_tool.py sh SOCKET COMMAND           runs a command in the guest; its output, and its exit status
"""
import base64
import os
import re
import socket
import subprocess
import sys

PACKED = ((b"\xfd7zXZ\0", ["xz", "-dc", "--single-stream"]), (b"\x28\xb5\x2f\xfd", ["zstd", "-dc"]),
          (b"\x1f\x8b\x08", ["gzip", "-dc"]))


def vmlinux(path, out):
    """Finds the packed kernel behind its loader: tries every place with its signature."""
    with open(path, "rb") as f:
        data = f.read()
    for magic, command in PACKED:
        at = data.find(magic)
        while at >= 0:
            elf = subprocess.run(command, input=data[at:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 check=False).stdout
            if elf[:4] == b"\x7fELF":
                with open(out, "wb") as f:
                    f.write(elf)
                return 0
            at = data.find(magic, at + 1)
    return f"guest_tool.py: no kernel found in {path}"


def name_of(path):
    return os.path.basename(path).split(".ko")[0]


def modules(folder, out, names):
    depends, path_of = {}, {}
    with open(folder + "/modules.dep", encoding="ascii") as f:
        for line in f:
            path, rest = line.strip().split(":", 1)
            depends[path] = rest.split()
            path_of[name_of(path).replace("-", "_")] = path
    order = []

    def add(path):
        if path in order:
            return
        for dependency in reversed(depends[path]):
            add(dependency)
        order.append(path)

    for name in names:
        path = path_of.get(name.replace("-", "_"))
        if path:
            add(path)
        elif "crc32c" not in name:  # part of some kernels
            return f"guest_tool.py: the kernel has no module {name}"
    with open(out + "/order", "w", encoding="ascii") as list_file:
        for path in order:
            target = f"{out}/{name_of(path)}.ko"
            with open(folder + "/" + path, "rb") as f:
                data = f.read()
            if path.endswith(".xz"):
                data = subprocess.run(["xz", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
            with open(target, "wb") as f:
                f.write(data)
            subprocess.run([os.environ.get("STRIP", "strip"), "-g", target], check=True)
            list_file.write(name_of(path) + ".ko\n")
    return 0


def shell(path, command):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(base64.b64encode(command.encode()) + b"\n")
        got = bytearray()
        while True:
            data = s.recv(65536)
            if not data:
                return "guest_tool.py: the guest has gone"
            got += data
            # Only the end is inspected: a program's output may be long, and arrives in small
            # pieces.
            end = re.search(rb"@@(\d+)\r?\n$", got[-16:])
            if end:
                del got[len(got) - len(end.group(0)):]
                sys.stdout.write(got.decode("utf8", "replace").replace("\r\n", "\n"))
                return int(end.group(1))


def main(argv):
    if len(argv) == 4 and argv[1] == "vmlinux":
        return vmlinux(argv[2], argv[3])
    if len(argv) > 4 and argv[1] == "modules":
        return modules(argv[2], argv[3], argv[4:])
    if len(argv) == 4 and argv[1] == "sh":
        return shell(argv[2], argv[3])
    sys.stderr.write(__doc__ + "\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv))
