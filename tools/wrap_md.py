#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Wraps the prose of Markdown files at 100 columns.

Paragraphs and list items in which a line is longer are wrapped anew; all other lines stay as they are: headings,
tables, code (fenced, or indented by four blanks after an empty line), comments. Code in backquotes is never broken.
tools/check_tidy.sh refuses longer lines.

usage: wrap_md.py FILE...     FILE: rewritten in place where it changes. Exit status 0, 2 usage.
"""
import re
import sys

WIDTH = 100
ITEM = re.compile(r"( *)([-*+]|\d+[.)]) +")
# A line must not begin with a word that makes it a list item, a heading, a quotation or a table.
BLOCK = re.compile(r"([-*+]|\d+[.)]|#+|>.*|\|.*)$")


def words(text):
    """Words of a paragraph. Code in backquotes is one word, as is a word that must not begin a line with the one before."""
    out = []
    for word in text.split():
        if out and (out[-1].count("`") % 2 or BLOCK.match(word)):
            out[-1] += " " + word
        else:
            out.append(word)
    return out


def wrap(lines, first, rest):
    """Lines of a paragraph whose first line begins with first, the others with rest."""
    out, line = [], first
    for word in words(" ".join(s.strip() for s in lines)):
        if line.strip() and line != first and len(line) + 1 + len(word) > WIDTH:
            out.append(line)
            line = rest + word
        else:
            line += word if line in (first, rest) else " " + word
    return out + [line]


def paragraph(lines):
    item = ITEM.match(lines[0])
    if all(len(s) <= WIDTH for s in lines):
        return lines
    if item:
        return wrap([lines[0][item.end():]] + lines[1:], item.group(), " " * item.end())
    indent = re.match(" *", lines[0]).group()
    return wrap(lines, indent, indent)


def wrapped(text):
    out, block, fence, depth = [], [], False, 0

    def flush():
        out.extend(paragraph(block) if block else [])
        block.clear()

    for line in text.split("\n"):
        plain = line.lstrip()
        if plain.startswith("```"):
            fence = not fence
        elif not fence and plain and not plain.startswith(("|", "#", "<!--", "```")):
            item = ITEM.match(line)
            code = line.startswith("\t") or len(line) - len(plain) >= 4 + depth
            if item and not (code and not block):
                flush()
                depth = item.end()
                block.append(line)
                continue
            if block or not code:
                if not block and not line.startswith(" "):
                    depth = 0
                block.append(line)
                continue
        flush()
        out.append(line)
    flush()
    return "\n".join(out)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    for path in sys.argv[1:]:
        with open(path, encoding="utf8") as f:
            old = f.read()
        new = wrapped(old)
        if new != old:
            with open(path, "w", encoding="utf8") as f:
                f.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
