#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tests/skips.txt lists each reason for a skip that a script gives, but the want of what tools/deps.sh installs."""
import fnmatch
import glob
import re
import sys

# skip 'REASON', or echo 'REASON' && exit 77. Reasons with variables are known at run time alone.
GIVEN = re.compile(r"""\bskip (?:'([^']+)'|"([^"$]+)")|echo '([^']+)' && exit 77""")
PACKAGE = re.compile(r"(\S+) is (?:not installed|missing)\b.*")


def listed():
    """Rows of the list: pattern of the test, pattern of the reason."""
    with open("tests/skips.txt", encoding="utf8") as f:
        return [line.split(None, 1) for line in f.read().splitlines() if line and not line.startswith("#")]


def packages():
    with open("tools/deps.sh", encoding="utf8") as f:
        return set(re.findall(r"[a-z0-9][a-z0-9+.-]+", f.read()))


def unlisted(name, text, rows, known):
    """The reasons in a script that neither the list nor a package explains."""
    wrong = []
    for groups in GIVEN.findall(text):
        reason = "".join(groups)
        package = PACKAGE.fullmatch(reason)
        if package and package[1] in known:
            continue
        if not any(fnmatch.fnmatch(name, test) and re.fullmatch(why, reason) for test, why in rows):
            wrong.append("%s: %s" % (name, reason))
    return wrong


found, scripts = [], 0
for path in sorted(glob.glob("tests/*/*.sh")):
    with open(path, encoding="utf8") as script:
        source = script.read()
    scripts += 1
    # A library of scripts gives its reasons in the name of each.
    users = path[6:] if not path.endswith("/lib.sh") else path[6:].replace("lib.sh", "any.sh")
    if not path.endswith("run_selftest.sh"):
        found += unlisted(users, source, listed(), packages())

if scripts < 50:
    sys.exit("hardly any scripts were looked at")
if unlisted("int/x.sh", "skip 'no moon here'", listed(), packages()) != ["int/x.sh: no moon here"]:
    sys.exit("a reason that nothing lists was not found")
if unlisted("int/x.sh", "skip 'moon is not installed'", listed(), packages()) != ["int/x.sh: moon is not installed"]:
    sys.exit("a package that nothing installs was not found")
if unlisted("int/x.sh", "skip 'ethtool is not installed'; skip \"no veth here\"", listed(), packages()):
    sys.exit("a package that deps.sh names, or a reason of the list, was refused")
if found:
    sys.exit("not in tests/skips.txt, and no package of tools/deps.sh:\n" + "\n".join(found))
