# SPDX-License-Identifier: BSD-3-Clause
"""A man page and a completion for bash from the --help text of a program that has no table of
options in C: weft-run, weft-tune. Rows are "  --word VALUE   phrase", headings stand at the margin."""
import re

from header_page import roff

ROW = re.compile(r"^  (--\S+(?: [A-Z][^ ]*)?)(?:  +(.*))?$")


class Help:
    """The parts of a help text: usage, paragraphs, rows (term, phrase) and headings (term None)."""

    def __init__(self, text):
        self.usage, self.about, self.rows, self.after = [], [], [], []
        lines = text.rstrip().split("\n")
        while lines and lines[0].strip():
            self.usage.append(re.sub(r"^(Usage:)?\s+", "", lines.pop(0)))
        heading = None
        for i, line in enumerate(lines):
            match = ROW.match(line)
            if match:
                if heading:
                    self.rows.append((None, heading))
                    heading = None
                self.rows.append((match.group(1), [match.group(2) or ""]))
            elif self.rows and self.rows[-1][0] and re.match(r"^ {10,}\S", line) and not self.after:
                self.rows[-1][1].append(line.strip())
            elif i + 1 < len(lines) and ROW.match(lines[i + 1]) and line.strip():
                heading = line.strip()
            else:
                (self.after if self.rows else self.about).append(line)

    def words(self):
        """Options without their values."""
        return [term.split()[0].split("=")[0].split("[")[0].rstrip(",") for term, _ in self.rows if term]


def man(text, name, section, version, summary):
    """The page as text."""
    parts = Help(text)
    out = ['.TH %s %s "" "%s %s"' % (name, section, name, version), ".SH NAME"]
    out += ["%s \\- %s" % (roff(name), roff(summary)), ".SH SYNOPSIS", ".nf"]
    out += [roff(line) for line in parts.usage] + [".fi", ".SH DESCRIPTION"]
    out += [roff(line) if line.strip() else ".PP" for line in "\n".join(parts.about).strip().split("\n")]
    out.append(".SH OPTIONS")
    for term, phrase in parts.rows:
        if term is None:
            out.append(".SS %s" % roff(phrase))
        else:
            out += [".TP", ".B %s" % roff(term)] + [roff(line) for line in phrase if line]
    if parts.after:
        out += [".SH NOTES", ".nf"] + [roff(line) for line in "\n".join(parts.after).strip().split("\n")]
        out.append(".fi")
    return "\n".join(out) + "\n"


def bash(text, name):
    """The completion as text: options, else files and programs."""
    function = "_" + name.replace("-", "_")
    words = Help(text).words()
    return (
        "# bash completion for %s: made from its --help\n%s()\n{\n"
        "\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
        "\tif [[ $cur == -* ]]; then\n"
        '\t\tCOMPREPLY=($(compgen -W "%s" -- "$cur"))\n'
        "\telse\n"
        '\t\tCOMPREPLY=($(compgen -f -c -- "$cur"))\n'
        "\tfi\n}\ncomplete -F %s %s\n" % (name, function, " ".join(sorted(set(words))), function, name)
    )
