#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The firewall advice of the pages names what weft sends: its UDP ports, TCP and its EtherType. A changed number is found."""
import re
import sys

PAGES = (("docs/operating.md", "### Firewalls\n"), ("docs/two-machines.md", "## Firewalls between the machines\n"))


def constant(header, name):
    with open("shared_defs/" + header, encoding="utf8") as f:
        return int(re.search(r"\b%s = (\w+)," % name, f.read()).group(1), 0)


def missing(section, port, shards, ethertype):
    """Returns the words that a section lacks."""
    wanted = ("UDP to and from %d to %d |" % (port, port + shards - 1), "| TCP", "%#06x" % ethertype, "ARP", "nftables")
    return [word for word in wanted if word not in section]


PORT, SHARDS = constant("wire_dgram.h", "WIRE_DGRAM_PORT"), constant("wire_dgram.h", "WIRE_DGRAM_SHARDS")
ETHERTYPE = constant("wire_eth.h", "WIRE_ETHERTYPE_ESP")
found = []
for path, head in PAGES:
    with open(path, encoding="utf8") as f:
        advice = re.split(r"\n##+ ", f.read().split(head)[1])[0]
    found += ["%s: firewall advice lacks '%s'" % (path, word) for word in missing(advice, PORT, SHARDS, ETHERTYPE)]
    if len(missing(advice, PORT, SHARDS + 1, ETHERTYPE)) != 1 or len(missing(advice, PORT, SHARDS, ETHERTYPE + 1)) != 1:
        found.append(path + ": another number was not found to be wrong")
for text in found:
    print(text)
sys.exit(1 if found else 0)
