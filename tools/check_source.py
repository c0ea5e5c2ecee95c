#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the text of the source files named on standard input (separated by NUL), in the current
# folder: everything of check_tidy.sh that needs no other program. tools/check_tidy.sh runs it.
#
#	git ls-files -z | tools/check_source.py
#
# Prints FILE:LINE: what is wrong. Exit status 0, 1 when a rule is broken.
# tests/int/lint_selftest.sh breaks each rule once to see it fail.

import ast
import collections
import os
import re
import sys

MAX_FILE_LINES = 600
# Files that are longer, and why.
LONG_FILES = {
    "tests/fuzz/control.c": "what it plays of weftd has to stand in the object of the target",
    "tests/int/goal_every.c": "one source, which a C++ compiler builds alone with installed headers",
    "tests/nodes/guest_acts.sh": "one program of a guest, whose disk has no other files of the tree",
}
MAX_LONG_FILE_LINES = 700
MAX_FUNCTION_LINES = 70
MAX_PAGE_COLUMNS = 100

SPDX = "SPDX-License-Identifier: BSD-3-Clause"
SCRIPTS = (".sh", ".py", ".lua")

# Written in pieces, or this file would break its own rules.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|not " r"implemented")
MACHINE = re.compile(r"(^|[^A-Za-z0-9_.])/(wo" r"rk|ro" r"ot|ho" r"me|fa" r"rm)/")

# A comment begins with its subject. These words begin a clause instead, so that the reader has to
# search for the subject behind it.
FIRST_WORD = re.compile(
    r"(What|Who|Whose|Whoever|Those|Of|One that|Nobody|Told|Heard|Behind|Beside|Whether)\b"
)
# Lists of callers are out of date with the next commit; `git grep` finds the callers.
CALLERS = re.compile(r"\bCalled (only )?(by|from)\b")

# File names in comments. Names with an ellipsis of some kind (x_*.c, NAME.c, $file.sh, a.b.c.d)
# are no file names; <x.h> is a header of the system.
FILE_NAME = re.compile(
    r"(?<![\w*<./$}\-])([A-Za-z][\w./-]*\.(?:bpf\.c|c|h|sh|py|lua|md))\b(?![\w*(]|\.\w)"
)
FOREIGN = re.compile(
    # Files of Linux, rdma-core, DPDK: their path begins with one of these folders.
    r"(include/)?(linux|asm-generic|uapi|infiniband|rdma|net|drivers|kernel|providers"
    r"|libibverbs|librdmacm|sys|netinet|arpa|usertools)/"
    r"|(.*/)?[A-Z]+\.[a-z]+$"  # NAME.c stands for any name
    r"|.*\.skel\.h$"  # made by the build
)

# In C a string may hold the marks of a comment, and the other way round.
TOKEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S
)
DECLARATION = re.compile(
    r"^(?!typedef|return|static|extern \"C\")[a-z_][\w \t*\n]*?"
    r"\b(\w+)\((?:[^(){};]|\([^(){};]*\))*\)[\w\s()]*;",
    re.M,
)
STATIC_FUNCTION = re.compile(r"^static [\w \t*\n]*?\b(\w+)\([^;{}]*\)\n\{", re.M)
API_FOLDERS = ("lib/", "nic_fw/", "host_driver/", "dpdk_app/", "sim_harness/")

broken = 0


def complain(where, line, text):
    global broken
    print("%s:%d: %s" % (where, line, text))
    broken = 1


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def c_comments(text):
    """Yields (offset, comment) of a C source."""
    for match in TOKEN.finditer(text):
        if match.group()[0] == "/":
            yield match.start(), match.group()


def docstrings(text):
    """Yields (offset, string) of the docstrings of a Python source."""
    starts = [0]
    for line in text.splitlines(True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            if isinstance(first.value.value, str):
                yield starts[first.lineno - 1], first.value.value


def script_comments(text, mark):
    """Yields (offset, comment) of a script: lines in a row that begin with the mark."""
    begin = None
    at = 0
    for line in text.splitlines(True) + ["\n"]:
        is_comment = line.lstrip().startswith(mark) and not line.startswith("#!")
        if is_comment and begin is None:
            begin = at
        elif not is_comment and begin is not None:
            yield begin, text[begin:at]
            begin = None
        at += len(line)


def first_text(comment):
    """Offset of a comment's first word, after its marks and the licence line."""
    at = re.match(r"[\s/*#-]*", comment).end()
    if comment.startswith("SPDX", at):
        at = re.compile(r"[^\n]*[\s/*#-]*").match(comment, at).end()
    return at


def check_layout(name, text):
    """Licence line, header comment, trailing blanks, length, unfinished work, paths of a machine."""
    lines = text.split("\n")
    if name.endswith((".c", ".h")):
        if lines[0] != "/* %s */" % SPDX:
            complain(name, 1, "first line is not /* %s */" % SPDX)
        if lines[1:2] != ["/*"]:
            complain(name, 2, "no header comment (purpose, what it calls, RFC section)")
    elif name.endswith(SCRIPTS) or os.path.basename(name) == "Makefile" or name == ".ci/run":
        if not any(SPDX in line for line in lines[:2]):
            complain(name, 1, "no line %s" % SPDX)
    for number, line in enumerate(lines, 1):
        if line.endswith((" ", "\t")):
            complain(name, number, "blanks at the end of the line")
        if name == "CHANGELOG.md":
            continue
        if UNFINISHED.search(line):
            complain(name, number, "unfinished work: " + line)
        if MACHINE.search(line):
            complain(name, number, "path of one machine: " + line)
    if name.endswith((".c", ".h") + SCRIPTS):
        length = len(lines) - 1
        limit = MAX_LONG_FILE_LINES if name in LONG_FILES else MAX_FILE_LINES
        if length > limit:
            complain(name, length, "more than %d lines: one stage or object each?" % limit)
        elif name in LONG_FILES and length <= MAX_FILE_LINES:
            complain(name, length, "no long file any more: check_source.py lists it as one")


def check_page(name, text):
    """Columns of Markdown, outside tables; a word without blanks, as a long link, stays whole."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("|") or " " not in line.strip(" -"):
            continue
        if len(line) > MAX_PAGE_COLUMNS:
            complain(
                name,
                number,
                "%d columns, at most %d: tools/wrap_md.py" % (len(line), MAX_PAGE_COLUMNS),
            )


def check_places(name, text):
    """Rows of a table that name files and functions: each file has a function, each function a file."""
    for number, line in enumerate(text.split("\n"), 1):
        files = re.findall(r"`([\w/.-]+\.[ch])`", line)
        functions = re.findall(r"`(\w+)\(\)`", line)
        if not line.startswith("|") or not files or not functions:
            continue
        bodies = []
        for path in files:
            if not os.path.isfile(path):
                complain(name, number, "no such file: " + path)
                continue
            with open(path, encoding="utf-8", errors="replace") as stream:
                bodies.append(stream.read())
        defined = r"^(?![ \t#])[^;=\n]*\b%s\((?:[^;{}]*)\)\n\{"
        found = [{f for f in functions if re.search(defined % f, body, re.M)} for body in bodies]
        for function in set(functions).difference(*found):
            complain(name, number, "%s() is in none of the row's files" % function)
        if not all(found):
            complain(name, number, "a file of the row has none of its functions")


def check_functions(name, code):
    """Length of functions, by the braces that clang-format puts into the first column."""
    begin = None
    for number, line in enumerate(code.split("\n"), 1):
        if line == "{":
            begin = number
        elif line.startswith("}") and begin:
            length = number - begin - 1
            if length > MAX_FUNCTION_LINES:
                complain(
                    name,
                    begin,
                    "function of %d lines, at most %d" % (length, MAX_FUNCTION_LINES),
                )
            begin = None


def check_comments(name, text, comments, known):
    """First words, lists of callers, names of files that do not exist."""
    for at, comment in comments:
        first = first_text(comment)
        match = FIRST_WORD.match(comment, first)
        if match:
            complain(
                name,
                line_of(text, at + first),
                "a comment begins with its subject, not '%s'" % match.group(),
            )
        for match in CALLERS.finditer(comment):
            complain(name, line_of(text, at + match.start()), "list of callers: git grep finds them")
        for match in FILE_NAME.finditer(comment):
            file_name = match.group(1)
            if FOREIGN.match(file_name) or exists(name, file_name, known):
                continue
            complain(name, line_of(text, at + match.start()), "no such file: " + file_name)


def exists(where, file_name, known):
    """True if a comment in where may name file_name: a path's end, or relative to its folder."""
    ends = known.get(os.path.basename(file_name), ())
    if any(path == file_name or path.endswith("/" + file_name) for path in ends):
        return True
    return os.path.exists(os.path.join(os.path.dirname(where), file_name))


def check_unused(sources):
    """Functions that a header declares and no file but their own uses."""
    users = collections.defaultdict(set)
    for name, code in sources.items():
        for word in set(re.findall(r"[A-Za-z_]\w+", code)):
            users[word].add(name)
    for name, code in sources.items():
        if not name.endswith(".h") or not name.startswith(API_FOLDERS):
            continue
        for match in DECLARATION.finditer(code):
            word = match.group(1)
            # Inline functions and macros of the header use it, and their users do.
            if len(re.findall(r"\b" + word + r"\(", code)) > 1:
                continue
            definition = re.compile(r"^[a-z_][^;{}=\n]*\b" + word + r"\([^;{}]*\)\n\{", re.M)
            others = [
                user
                for user in users[word]
                if user != name and not (user.endswith(".c") and definition.search(sources[user]))
            ]
            if not others:
                complain(
                    name,
                    line_of(code, match.start(1)),
                    "%s() is used by no other file: static, or nothing" % word,
                )


def check_static_names(sources):
    """Static functions of the firmware have one name each: perf and gdb show it without its file."""
    homes = {}
    for name in sorted(sources):
        if not name.startswith("nic_fw/"):
            continue
        for match in STATIC_FUNCTION.finditer(sources[name]):
            word = match.group(1)
            home = homes.setdefault(word, name)
            if home != name:
                complain(
                    name,
                    line_of(sources[name], match.start(1)),
                    "%s() is in %s, too: begin both names with their files'" % (word, home),
                )


def main():
    names = [name for name in sys.stdin.read().split("\0") if os.path.isfile(name)]
    known = collections.defaultdict(list)
    for name in names:
        known[os.path.basename(name)].append(name)
    sources = {}
    for name in names:
        with open(name, "rb") as stream:
            raw = stream.read()
        if b"\0" in raw:
            continue
        text = raw.decode("utf-8", "replace")
        check_layout(name, text)
        if name.endswith(".md"):
            check_page(name, text)
        if name == "CONTRIBUTING.md":
            check_places(name, text)
        comments = []
        if name.endswith((".c", ".h")):
            comments = list(c_comments(text))
            # Comments become blanks, so that lines keep their numbers.
            code = TOKEN.sub(
                lambda m: re.sub(r"[^\n]", " ", m.group()) if m.group()[0] == "/" else m.group(),
                text,
            )
            sources[name] = code
            check_functions(name, code)
        elif name.endswith(".lua"):
            comments = list(script_comments(text, "--"))
        elif name.endswith(SCRIPTS) or name.endswith((".mk", "Makefile")) or name == ".ci/run":
            comments = list(script_comments(text, "#"))
            if name.endswith(".py"):
                comments += docstrings(text)
        check_comments(name, text, comments, known)
    check_unused(sources)
    check_static_names(sources)
    return broken


if __name__ == "__main__":
    sys.exit(main())
