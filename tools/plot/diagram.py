#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a diagram of boxes and arrows from a text file: docs/pictures/parts.txt becomes parts.svg.

A line of the file is one of: size W H; box X Y W H KIND LINE | LINE ...; label X Y TEXT; arrow X1 Y1 X2 Y2. The same
text gives the same bytes. `make pictures` runs it.

usage: diagram.py [--check] FILE.txt...     each makes FILE.svg beside it; --check compares instead. Exit status 0, 1 for a
    line that is none of these, or a picture that differs, 2 usage.
"""
import html
import sys

FILLS = {"program": "#e8f0fa", "tool": "#f2f2f2", "library": "#dcebdc", "daemon": "#fbf3e2", "firmware": "#ffffff",
         "wire": "#ffffff", "net": "#ececf6"}
FONT = "font-family='sans-serif' font-size='14'"


def text(x, y, line, extra=""):
    return "<text x='%d' y='%d' %s%s>%s</text>" % (x, y, FONT, extra, html.escape(line))


def box(x, y, w, h, kind, lines):
    out = ["<rect x='%d' y='%d' width='%d' height='%d' rx='6' fill='%s' stroke='#555555'/>" % (x, y, w, h, FILLS[kind])]
    top = y + 24 if kind == "daemon" else y + h / 2 + 5 - 10 * (len(lines) - 1)
    for i, line in enumerate(lines):
        weight = " font-weight='bold'" if not i else " fill='#333333'"
        out.append(text(x + w / 2, top + 20 * i, line, " text-anchor='middle'" + weight))
    return out


def draw(path):
    """The SVG of a text file."""
    out, size = [], (800, 400)
    with open(path, encoding="utf8") as f:
        for number, line in enumerate(f, 1):
            words = line.split()
            if not words or words[0] == "#" or words[0].startswith("#"):
                continue
            try:
                if words[0] == "size":
                    size = (int(words[1]), int(words[2]))
                elif words[0] == "box":
                    out += box(*map(int, words[1:5]), words[5], " ".join(words[6:]).split(" | "))
                elif words[0] == "label":
                    out.append(text(int(words[1]), int(words[2]), " ".join(words[3:]), " fill='#333333'"))
                elif words[0] == "arrow":
                    out.append("<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='#333333' stroke-width='1.5' "
                               "marker-start='url(#a)' marker-end='url(#a)'/>" % tuple(map(int, words[1:5])))
                else:
                    raise ValueError
            except (ValueError, KeyError, IndexError, TypeError):
                sys.exit("%s:%d: not size, box, label or arrow as diagram.py has them: %s" % (path, number, line.strip()))
    head = ["<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d'>" % (size + size),
            "<defs><marker id='a' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' markerHeight='8' "
            "orient='auto-start-reverse'><path d='M0,0L8,4L0,8z' fill='#333333'/></marker></defs>",
            "<rect width='100%' height='100%' fill='white'/>"]
    return "\n".join(head + out + ["</svg>"]) + "\n"


def differs(path, svg):
    with open(path, encoding="utf8") as f:
        if f.read() == svg:
            return False
    print("diagram.py: %s is not what its text gives: make pictures" % path, file=sys.stderr)
    return True


def main():
    check = sys.argv[1:2] == ["--check"]
    paths = sys.argv[2 if check else 1:]
    if not paths or not all(p.endswith(".txt") for p in paths):
        print(__doc__, file=sys.stderr)
        return 2
    wrong = False
    for path in paths:
        svg = draw(path)
        if check:
            wrong |= differs(path[:-4] + ".svg", svg)
            continue
        with open(path[:-4] + ".svg", "w", encoding="utf8") as f:
            f.write(svg)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
