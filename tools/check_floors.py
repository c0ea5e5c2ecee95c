#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# The floors of nic_fw: a file uses functions, constants and structs of its own floor and of those
# that FLOORS allows. An include of fw_nic.h shows all floors to all files, so this script looks at
# the names that a file uses and at the header that declares each.
#
#	tools/check_floors.py [DIR]	DIR: root of the tree (default: this one)
#
# The list of stages of a turn in ARCHITECTURE.md is compared with nic_fw/fw.c, too.
#
# Prints FILE: the names that are not for its floor. Exit status 0, 1 when a rule is broken, 2 usage.

import collections
import os
import re
import sys

# Each floor, and the floors that it may use besides itself. ARCHITECTURE.md, "Floors of nic_fw".
FLOORS = {
    "base": "",
    "net": "base",
    "tcp": "base net",
    "stream": "base net",
    "host": "base net stream",
    "rdmap": "base net stream host",
    "dgram": "base net host rdmap",
    "tag": "base net host rdmap dgram",
    "mpa": "base net tcp host rdmap cm",  # a connection is made for an endpoint: struct cm_ep
    "cm": "base net tcp host rdmap dgram mpa",
    "coll": "base net stream host",
    "up": None,  # fills in the tables by which a floor calls those above it
}
# Names that upper floors give to lower ones on purpose: NAME: why.
ALLOWED = {
    "cm_closed": "a counter's name as well",
    "mpa_rx_early": "a counter's name as well",
    "struct esp_rdmap": "a queue pair holds the state of its two streams by value",
}

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.S)


def read_sources(root):
    sources = {}
    for folder, _, names in os.walk(os.path.join(root, "nic_fw")):
        for name in names:
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    sources[os.path.relpath(path, root)] = COMMENT.sub(" ", f.read())
    return sources


def flatten(text):
    """The text without what braces hold: declarations of the file alone."""
    before = None
    while before != text:
        before, text = text, re.sub(r"\{[^{}]*\}", ";", text)
    return text


def declared(text):
    """Names that a header declares: (functions, macros, constants), complete structs."""
    names, structs = set(), set()
    structs.update(re.findall(r"^(?:struct|union) (\w+) \{", text, re.M))
    names.update(re.findall(r"^#\s*define (\w+)", text, re.M))
    for body in re.findall(r"enum(?: \w+)? \{(.*?)\}", text, re.S):
        names.update(re.findall(r"(?:^|,)\s*([A-Z]\w+)", body))
    flat = flatten(text)
    names.update(re.findall(r"^[a-z][\w \*]*?[ \*](\w+)\(", flat, re.M))
    names.update(re.findall(r"^extern [^;]*?\b(\w+)(?:\[[^\]]*\])?;", flat, re.M))
    return names, structs


def floor_of(path):
    parts = path.split(os.sep)
    return parts[1] if len(parts) == 3 else None


def check(root):
    sources = read_sources(root)
    home, homes = {}, {}
    for path, text in sources.items():
        floor = floor_of(path)
        if path.endswith(".h") and floor:
            names, structs = declared(text)
            home.update(dict.fromkeys(names, path))
            homes.update(dict.fromkeys(structs, path))
    broken = collections.defaultdict(set)
    for path, text in sources.items():
        floor = floor_of(path)
        if not floor:
            continue
        if floor not in FLOORS:
            broken[path].add(f"the folder {floor} has no rule in check_floors.py")
            continue
        if FLOORS[floor] is None:
            continue
        allowed = FLOORS[floor].split() + [floor]
        used = [(name, home[name]) for name in set(re.findall(r"(?<![.>\w])[A-Za-z_]\w*", text)) if name in home]
        # A struct by value, or its size: a pointer needs no more than its name.
        for name in set(re.findall(r"\bstruct (\w+)(?= [a-z_]\w*[;,=\[ )]|\))", text)):
            if name in homes:
                used.append(("struct " + name, homes[name]))
        for name, header in used:
            if floor_of(header) not in allowed and name not in ALLOWED and header != path:
                broken[path].add(f"{name} ({header})")
    for path in sorted(broken):
        print(f"{path}: not for its floor: {', '.join(sorted(broken[path]))}")
    return bool(broken)


def check_turn(root):
    """ARCHITECTURE.md lists the stages of fw_poll() in the order of FW_TURN."""
    paths = [os.path.join(root, p) for p in ("nic_fw/fw.c", "ARCHITECTURE.md")]
    if not all(os.path.exists(p) for p in paths):
        return False
    with open(paths[0], encoding="utf-8") as f:
        stages = re.findall(r"^\t(?:STAGE\(\w+, |ALSO\()\(?(\w+)\(", f.read(), re.M)
    with open(paths[1], encoding="utf-8") as f:
        section = f.read().partition("## One turn")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.M)
    if stages == listed:
        return False
    print(f"ARCHITECTURE.md: the stages of a turn are {', '.join(stages)} in nic_fw/fw.c, here {', '.join(listed)}")
    return True


def main():
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and not os.path.isdir(sys.argv[1])):
        print("usage: check_floors.py [DIR]", file=sys.stderr)
        return 2
    root = sys.argv[1] if len(sys.argv) == 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    floors, turn = check(root), check_turn(root)
    return 1 if floors or turn else 0


if __name__ == "__main__":
    sys.exit(main())
