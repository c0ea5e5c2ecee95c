# SPDX-License-Identifier: BSD-3-Clause
"""A man page of section 3 from a public header: its comment, then each group of declarations with
the comment in front of it. Names of functions lead to the page of their header."""
import os
import re

FUNCTION = re.compile(r"^(?:WEFT|GOAL)_API\b[^;]*?\b((?:weft|GOAL)_\w+)\(", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# Preprocessor lines that are no part of the interface: guards, C++, attributes of compilers.
GUARD = re.compile(r"^#\s*(ifndef|ifdef|if|else|endif|include|undef)\b")
PRIVATE = re.compile(r"^#define (\w+_H$|\w+_API\b|\w+_CHECK_RET\b|GOAL_DEFAULT|WEFT_VERSION)")
RULE = re.compile(r"^/\* -{3,} (.*?)[ -]*\*/$")


def functions(text):
    """Names of the functions that a header declares, in its order."""
    return FUNCTION.findall(COMMENT.sub("", text))


def roff(text):
    """Text in which troff finds no requests of its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text)


def plain(comment):
    """The text of a comment, without its marks."""
    lines = [re.sub(r"^\s*\*( |$)?", "", line) for line in comment[2:-2].split("\n")]
    lines[0] = lines[0].strip()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def paragraphs(text):
    """Prose as filled paragraphs; indented lines stay as they are, a leading dash begins an item."""
    out, literal = [], False
    for line in text.split("\n"):
        indented = line[:1] in "\t " and line.strip() != "" and not line.startswith("  ")
        if indented != literal:
            out.append(".nf" if indented else ".fi")
            literal = indented
        if not line.strip():
            out.append(".PP")
        elif line.startswith("- "):
            out += [".IP \\(bu 2", roff(line[2:])]
        else:
            out.append(roff(line if indented else line.strip()))
    return out + ([".fi"] if literal else [])


def pieces(text):
    """Yields ("rule", title), ("comment", text) and ("code", text) of what follows the guard."""
    code, depth = [], 0
    lines = iter(text.split("\n"))
    for line in lines:
        if not depth and not code:
            if RULE.match(line):
                yield "rule", RULE.match(line).group(1)
                continue
            if line.startswith("/*"):
                comment = [line]
                while "*/" not in comment[-1]:
                    comment.append(next(lines))
                yield "comment", plain("\n".join(comment))
                continue
            if GUARD.match(line) or PRIVATE.match(line) or line.startswith('extern "C"'):
                while line.endswith("\\"):
                    line = next(lines)
                continue
        if not line.strip() and not depth:
            if code:
                yield "code", "\n".join(code)
                code = []
            yield "gap", ""
            continue
        code.append(line)
        bare = COMMENT.sub("", line)
        depth += bare.count("{") - bare.count("}")
        ended = bare.rstrip().endswith((";", "}")) or line.startswith("#")
        if not depth and ended and not line.endswith("\\"):
            yield "code", "\n".join(code)
            code = []


def code_lines(code):
    """A declaration without the marks that are the compiler's alone."""
    code = re.sub(r"\b(WEFT_API|GOAL_API|WEFT_CHECK_RET) ", "", code)
    return [".PP", ".nf"] + roff(code).split("\n") + [".fi"]


def page(path, version):
    """The page of a header as text."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    name = os.path.splitext(os.path.basename(path))[0]
    library = name.split("_")[0]
    start = text.index("/*", text.index("*/"))
    about = plain(text[start : text.index("*/", start) + 2])
    guard = text.index("#define", text.index("*/", start))
    body = text[text.index("\n", guard) :]
    body = body[: body.index("#ifdef __cplusplus\n}")] if "#ifdef __cplusplus\n}" in body else body
    body = re.sub(r'#ifdef __cplusplus\nextern "C" \{\n(#define.*\n#else\n#define.*\n)?#endif\n', "", body)
    body = re.sub(r"#ifdef __GNUC__\n(#.*\n)+?#endif\n", "", body)
    # Macros that fill in omitted arguments are described with the functions.
    body = re.split(r"\n/\*[^\n]*\n?[^/]*?\*/\n#ifdef __cplusplus\n(?!extern)|\n#ifdef __cplusplus\n(?!extern)", body)[0]
    summary = re.split(r"[.:](?:\s|$)", re.sub(r"^lib\w+: ", "", about))[0].replace("\n", " ")
    out = [
        '.TH %s 3 "" "weft %s"' % (name, version),
        ".SH NAME",
        "%s \\- %s" % (name, roff(summary)),
        ".SH SYNOPSIS",
        ".nf",
        "#include <%s.h>" % name,
        "",
        "cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs %s)" % library,
        ".fi",
        ".SH DESCRIPTION",
    ] + paragraphs(about)
    note = None
    for kind, piece in pieces(body):
        if kind == "code":
            out += code_lines(piece)
            if note:
                out += [".RS 4"] + paragraphs(note) + [".RE"]
            note = None
            continue
        # A comment with nothing below it stands for itself.
        if note and kind != "gap":
            out += [".PP"] + paragraphs(note)
            note = None
        if kind == "rule":
            out.append(".SS %s" % roff(piece))
        elif kind == "comment":
            note = piece
    if note:
        out += [".PP"] + paragraphs(note)
    return "\n".join(out) + "\n"
