#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks what the pages of the tree named on standard input (separated by NUL) say by name, in the
# current folder: links and their headings, files, options, commands, targets of make, functions and
# variables of the environment. The README.md of a folder names each of its sources if it has a table
# of files. tools/check_tidy.sh runs it.
#
#	git ls-files -z | tools/check_docs.py
#
# Names stand in code, as `name` or in an indented or fenced block. A name that is another project's
# counts as there when a source of the tree has it, too, or when FOREIGN lists it. CHANGELOG.md tells
# of versions that are over, so it may name what is gone.
#
# Prints FILE:LINE: what is wrong. Exit status 0, 1 when a name is stale.
# tests/int/lint_selftest.sh breaks each rule once to see it fail.

import collections
import glob
import os
import re
import shlex
import sys

OPTIONS_PAGE = "docs/options.md"
HISTORY = "CHANGELOG.md"

# Programs whose options are not in OPTIONS_PAGE, with the source that takes them.
SCRIPTS = {
    "weft-run": "tools/weft-run.sh",
    "weft-tune": "tools/weft-tune",
    "weft-measure": "tools/weft-measure",
    "goal-dump": "tools/goal-dump",
}

# Programs whose first word is a command, a string of their sources.
COMMANDED = {"weftctl": "tools/weftctl/", "weft-bench": "tools/weft-bench/", "goal-bench": "tools/goal-bench/"}

# Other projects' options that stand alone in a page, and functions that no source of the tree calls.
FOREIGN_OPTIONS = {"tmpfs", "ulimit", "userns"}
FOREIGN_FUNCTION = re.compile(
    r"(rdma|rxm|mca|ompi|MPI)_\w+|create_single_mr|validate_info|pidfd_open"
)
# Steps of an algorithm that a page writes down, and names with a gap.
STEP = re.compile(r"full_fence|fuzz_NAME(_begin)?")

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
FUNCTION = re.compile(r"\b([a-z]\w{2,}|[A-Z][a-z]\w+|GOAL_\w+|MPI_\w+)\(\)")
VARIABLE = re.compile(r"\bWEFT_[A-Z0-9_]+\b")
FILE = re.compile(r"[\w*-][\w*.-]*\.(?:c|h|py|sh|md|lua|conf|service|svg|tsv|mk)$")
PLACEHOLDER = re.compile(r"[<>$]|\.\.\.|\bNAME\b|\bFILE\b|\bDIR\b|[A-Z]{3,}")

# The first cell of a README's table of files, and sources that it names. Headers go with the source
# of the same name; folders of headers alone name them.
TABLE_OF_FILES = re.compile(r"^\| (?:files?|scripts?) \|", re.M)
SOURCES = (".c", ".sh", ".py", ".lua")

broken = 0


def complain(where, line, text):
    global broken
    print("%s:%d: %s" % (where, line, text))
    broken = 1


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def braces(text):
    """Yields the words that {a,b} stands for."""
    match = re.search(r"\{([^{}]*)\}", text)
    if not match:
        yield text
        return
    for word in match.group(1).split(","):
        yield from braces(text[: match.start()] + word + text[match.end() :])


class Page:
    """A page's lines, each as prose or as code."""

    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.anchors = set()
        self.prose = []  # (line number, text)
        self.code = []  # (line number, code): a span, or a line of a block
        fence = False
        blank = True
        block = False
        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith("```"):
                fence = not fence
                continue
            indented = line.startswith("    ")
            block = indented and (blank or block) or (block and not line.strip())
            blank = not line.strip()
            if fence or (block and indented):
                # Two blanks and more set the explanation of a command apart.
                self.code.append((number, re.split(r"\s{2,}", line.strip())[0]))
                continue
            if line.startswith("#"):
                self.anchors.add(slug(line.lstrip("#")))
            self.prose.append((number, line))
            for match in SPAN.finditer(line):
                self.code.append((number, match.group(1)))


class Tree:
    """Names that exist: files, words of sources, options by program, targets of make."""

    def __init__(self, names):
        self.files = set(names)
        self.folders = set()
        for name in names:
            while os.path.dirname(name):
                name = os.path.dirname(name)
                self.folders.add(name)
        self.by_name = collections.defaultdict(list)
        self.words = set()
        self.options = set()
        self.texts = {}
        for name in names:
            self.by_name[os.path.basename(name)].append(name)
            if name.endswith((".md", ".svg", ".tsv", ".pcap", ".pcapng", ".bin")):
                continue
            with open(name, "rb") as stream:
                raw = stream.read()
            if b"\0" in raw:
                continue
            text = raw.decode("utf-8", "replace")
            self.texts[name] = text
            self.words.update(re.findall(r"[A-Za-z_]\w+", text))
            self.options.update(OPTION.findall(text))
            if name.endswith(".py") and '"--" +' in text:
                self.options.update(re.findall(r'"([a-z][a-z0-9-]*)"', text))
        self.top = {name.split("/")[0] for name in names if "/" in name}
        self.program_options = collections.defaultdict(set)
        if os.path.isfile(OPTIONS_PAGE):
            with open(OPTIONS_PAGE, encoding="utf-8") as stream:
                for line in stream:
                    match = re.match(r"\| `--([\w-]+)` \|[^|]*(?:\\\|[^|]*)*\| ([\w, -]+) \|", line)
                    if match:
                        for program in match.group(2).split(", "):
                            self.program_options[program].add(match.group(1))
        for options in self.program_options.values():
            options.update(("help", "version"))
            self.options.update(options)
        for program, source in SCRIPTS.items():
            for name, text in self.texts.items():
                if name == source or name.startswith(source + "/"):
                    self.program_options[program].update(OPTION.findall(text))
        makefile = "\n".join(
            text for name, text in self.texts.items() if name == "Makefile" or name.endswith(".mk")
        )
        self.targets = set(re.findall(r"^([\w.-]+):(?!=)", makefile, re.M))
        for line in re.findall(r"^([\w. -]+):(?!=)", makefile, re.M):
            self.targets.update(line.split())

    def has_path(self, page, path):
        path = path.rstrip("/")
        here = os.path.normpath(os.path.join(os.path.dirname(page), path))
        return (
            bool({path, here} & (self.files | self.folders))
            or "tests/%s.c" % path in self.files  # a unit test, as its results name it
            or "tests/%s.py" % path in self.files
            or any(name.endswith("/" + path) for name in self.by_name[os.path.basename(path)])
            or bool(glob.glob(path) or glob.glob(here))
        )

    def has_command(self, program, word):
        return any(
            '"%s"' % word in text or ".name = %s," % word in text
            for name, text in self.texts.items()
            if name.startswith(COMMANDED[program])
        )


def check_links(page, pages, tree):
    for number, line in page.prose:
        for target in LINK.findall(line) + IMAGE.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            where = os.path.normpath(os.path.join(os.path.dirname(page.name), path)) if path else page.name
            if where not in tree.files and where not in tree.folders:
                complain(page.name, number, "link to no file: " + target)
            elif anchor and where in pages and anchor not in pages[where].anchors:
                complain(page.name, number, "link to no heading: " + target)


def check_listed(name, text, tree):
    """Sources of the folder that its README.md leaves out."""
    match = TABLE_OF_FILES.search(text)
    if os.path.basename(name) != "README.md" or not match:
        return
    folder = os.path.dirname(name)
    here = [path for path in tree.files if os.path.dirname(path) == folder]
    sources = SOURCES if any(path.endswith(".c") for path in here) else SOURCES + (".h",)
    # The first cell of a row may leave out the ending.
    cells = re.findall(r"^\| ([^|]*) \|", text, re.M)
    words = {word for piece in " ".join(cells).split() for word in braces(piece.strip("`,"))}
    words.update(word for piece in text.split() for word in braces(piece.strip("`,;:()|.")) if "." in word)
    words = {word for word in words if re.match(r"\w|\*\w", word)}
    for path in sorted(here):
        base = os.path.basename(path)
        if not path.endswith(sources) or base.split(".")[0] in words:
            continue
        if not any(glob.fnmatch.fnmatch(base, word) for word in words):
            complain(name, text.count("\n", 0, match.start()) + 1, "the table of files lacks " + base)


def check_words(page, number, code, tree):
    """Files, functions and variables that code names."""
    whole = (word for piece in code.split() for word in braces(piece))
    for word in re.split(r"[\s'\"`,;:()=|]+", " ".join(whole)):
        if not word or PLACEHOLDER.search(word):
            continue
        word = word.lstrip("./") if word.startswith("./") else word.rstrip(".")
        if word.startswith("lib/weft/"):
            continue  # of an installation
        if word.split("/")[0] in tree.top and "/" in word and word.split("/")[0] != "build":
            if re.fullmatch(r"[\w./*-]+", word) and not tree.has_path(page.name, word):
                complain(page.name, number, "no such file: " + word)
        elif FILE.fullmatch(word) and "/" not in word:
            found = glob.fnmatch.filter(tree.by_name, word)
            if not found and not any(word in text for text in tree.texts.values()):
                complain(page.name, number, "no such file: " + word)
    for word in FUNCTION.findall(code):
        if word not in tree.words and not (FOREIGN_FUNCTION.fullmatch(word) or STEP.fullmatch(word)):
            complain(page.name, number, "no source has a function %s()" % word)
    for word in VARIABLE.findall(code):
        if word not in tree.words and not word.endswith("_"):
            complain(page.name, number, "no source has " + word)


def command_words(code):
    """The words of a command line, without settings of the environment before it; [] if it is none."""
    try:
        words = shlex.split(re.sub(r"\s#.*", "", code))
    except ValueError:
        words = code.split()
    while words and (re.match(r"[A-Z_]+=", words[0]) or words[0] in ("sudo", "env", "$", "#")):
        words.pop(0)
    return words


def check_command(page, number, code, tree):
    for part in re.split(r"\s(?:\||&&|\|\||;|&)(?:\s|$)|\$\(", code):
        words = command_words(part)
        if not words:
            continue
        program = os.path.basename(words[0])
        if program == "make" and len(words) > 1:
            for word in words[1:]:
                if re.fullmatch(r"[a-z][\w-]*", word) and word not in tree.targets:
                    complain(page.name, number, "the Makefile has no target " + word)
            continue
        known = tree.program_options.get(program)
        if known is None:
            # Options alone, or of a program of another project.
            if words[0].startswith("--"):
                check_options(page, number, words, tree.options | FOREIGN_OPTIONS, "the tree")
            continue
        if program in COMMANDED and len(words) > 1 and re.fullmatch(r"[a-z][a-z0-9-]*", words[1]):
            if not tree.has_command(program, words[1]):
                complain(page.name, number, "%s has no command %s" % (program, words[1]))
        if program == "weft-run":
            words = own_words(words, known)
        elif "--" in words:
            rest = words[words.index("--") + 1 :]
            words = words[: words.index("--")]
            check_command(page, number, " ".join(rest), tree)
        check_options(page, number, words, known, program)


def own_words(words, known):
    """weft-run's own options: those before the program that it starts."""
    own = []
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        own.append(rest.pop(0))
        if rest and own[-1] in ("--device", "--transport", "--llp", "--run-dir", "--cm"):
            rest.pop(0)
    return own


def check_options(page, number, words, known, who):
    for word in words:
        match = OPTION.match(word)
        if match and match.group(1) not in known:
            complain(page.name, number, "%s has no option --%s" % (who, match.group(1)))


def main():
    names = [name for name in sys.stdin.read().split("\0") if os.path.isfile(name)]
    tree = Tree(names)
    pages = {}
    for name in names:
        if name.endswith(".md"):
            with open(name, encoding="utf-8") as stream:
                pages[name] = Page(name, stream.read())
    for name, page in pages.items():
        check_links(page, pages, tree)
        check_listed(name, page.text, tree)
        if name == HISTORY:
            continue
        for number, code in page.code:
            check_words(page, number, code, tree)
            check_command(page, number, code, tree)
    return broken


if __name__ == "__main__":
    sys.exit(main())
