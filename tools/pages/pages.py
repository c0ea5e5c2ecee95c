#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Pages that are made from the programs and headers themselves; the Makefile runs it.
#
#	pages.py man PROGRAM SECTION VERSION SUMMARY	man page from PROGRAM --help
#	pages.py bash PROGRAM				completion for bash from PROGRAM --help
#	pages.py header VERSION HEADER FOLDER		HEADER's page and those of its functions, into FOLDER
#	pages.py names HEADER...			names of the pages that "header" writes
#	pages.py options PROGRAM...			docs/options.md from PROGRAM --help=json
#
# Exit status 0, 1 failure, 2 usage.

import os
import subprocess
import sys

import header_page
import help_page
import options_page


def help_of(path):
    return subprocess.run([path, "--help"], check=True, stdout=subprocess.PIPE).stdout.decode()


def header_name(path):
    return os.path.splitext(os.path.basename(path))[0]


def write_header(version, path, folder):
    """Writes the page, and for each function one line that names it."""
    with open(path, encoding="utf-8") as f:
        names = header_page.functions(f.read())
    with open(os.path.join(folder, header_name(path) + ".3"), "w", encoding="utf-8") as f:
        f.write(header_page.page(path, version))
    for name in names:
        with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as f:
            f.write(".so man3/%s.3\n" % header_name(path))


def print_names(paths):
    for path in paths:
        with open(path, encoding="utf-8") as f:
            print(header_name(path), *header_page.functions(f.read()))


def main(args):
    what, rest = (args[0], args[1:]) if args else ("", [])
    if what == "man" and len(rest) == 4:
        path, section, version, summary = rest
        name = os.path.basename(path)
        sys.stdout.write(help_page.man(help_of(path), name, section, version, summary))
    elif what == "bash" and len(rest) == 1:
        sys.stdout.write(help_page.bash(help_of(rest[0]), os.path.basename(rest[0])))
    elif what == "header" and len(rest) == 3:
        write_header(*rest)
    elif what == "names" and rest:
        print_names(rest)
    elif what == "options" and rest:
        sys.stdout.write(options_page.page(rest))
    else:
        print("pages.py: man, bash, header, names or options; see the top of the file", file=sys.stderr)
        return 2
    return 0


sys.exit(main(sys.argv[1:]))
