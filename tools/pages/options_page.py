# SPDX-License-Identifier: BSD-3-Clause
"""docs/options.md: every option of every program, from --help=json, sorted by its word. A word that
programs use for different things shows as several rows."""
import json
import subprocess

HEAD = """<!-- Made from --help=json of the programs. "make options-page" makes it again. -->
# Options

A word that programs use for different things, or with different values, has a row for each.
`PROGRAM --help` has defaults and bounds; in a configuration file (`--config FILE`) a line
`word = value` is the option `--word value`.

| option | value | programs | meaning |
|---|---|---|---|
"""


def cell(text):
    """Text of a table's cell."""
    return (text or "").replace("|", "\\|").replace("\n", " ")


def page(programs):
    """The page as text; programs are paths."""
    rows = {}
    for path in programs:
        text = subprocess.run([path, "--help=json"], check=True, stdout=subprocess.PIPE).stdout
        described = json.loads(text)
        for option in described["options"]:
            key = (option["name"], option.get("value") or "", option["help"])
            rows.setdefault(key, []).append(described["name"])
    lines = []
    for (name, value, phrase), users in sorted(rows.items()):
        code = "`%s`" % cell(value) if value else ""
        lines.append("| `--%s` | %s | %s | %s |" % (name, code, ", ".join(sorted(users)), cell(phrase)))
    return HEAD + "\n".join(lines) + "\n"
