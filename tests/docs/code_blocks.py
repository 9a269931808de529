#!/usr/bin/env python3
"""Compiles the C++ that headers and documents show, so that examples can't grow wrong.

  code_blocks.py ROOT headers|documents COMPILER [FLAG...]

All examples of the headers are one translation unit, those of all documents another one, and each is
only checked (-fsyntax-only). Messages of the compiler name the header or document and its line.

In a public header, an example is what a comment indents by three or more spaces between two empty
comment lines, if a line of it ends with a semicolon or an opening brace. In a document, it is a block
that begins with ```cpp.

An example may use the names that given.h declares: a node, a router, a shard, Fail() and the like. It
may declare such a name itself. A line of three dots stands for code that is left out. What kind of code
an example is, the script sees by its words:

  file            it includes headers: `#include "..."` is left out, as given.h stands for it
  members         a method is marked `override`, without a class around: the members of a class that
                  derives from given::Service
  declarations    its first line opens a class, a function or a namespace
  statements      all else: the body of a function, which may return anything

A comment right before a document's block says what the script can't see:

  <!-- compiled as: KIND -->                another kind
  <!-- compiled after: STATEMENTS -->       statements to put in front, for example `auto& x = *router;`
  <!-- not compiled: REASON -->             leave it out; the reason must be there
  <!-- examples/orders/service.cc: job -->  a part of a file: the build compiles the file, and
                                            tests/tidy compares the part
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tidy"))
import source  # noqa: E402

KINDS = ("file", "members", "declarations", "statements")
COMMENT = re.compile(r"^\s*//[/!]?(.*)$")
CODE_END = re.compile(r"[;{]\s*(?://.*)?$")
OPENS_DECLARATION = re.compile(
    r"^(?:class|struct|union|enum|namespace|template)\b|^(?!(?:if|for|while|switch|do|else|try)\b).*\)"
    r"(?:\s*(?:const|noexcept|override|final))*\s*\{")
ELLIPSIS = re.compile(r"^\s*(?://\s*)?\.\.\.\s*$")
FENCE = re.compile(r"^(?P<indent>\s*)```(?P<language>[\w+]*)")
# Other words for C++, under which a block would not be found.
ALIASES = ("c++", "cc", "cxx", "hpp", "C++")
DIRECTIVE = re.compile(r"^<!-- (?P<what>compiled as|compiled after|not compiled):(?P<words>.*?)-->$")
SHOWN = re.compile(r"^<!-- (?P<path>[\w-]+/[\w./-]+)(?:: [\w -]+)? -->$")


class Example:
    """One piece of code: `line` is its first one in the file `path`."""

    def __init__(self, path, line, lines, kind=None, before=""):
        self.path = path
        self.line = line
        self.lines = lines
        self.kind = kind or guess(lines)
        self.before = before


class Wrong(Exception):
    """A document that breaks the rules above."""


def guess(lines):
    """The kind of code, by its words."""
    code = source.strip("\n".join(lines)).splitlines()
    first = next((line for line in code if line.strip()), "")
    if any(line.startswith("#include") for line in code) and "int main(" in "\n".join(code):
        return "file"
    opening = " ".join(line for line in code if line.strip() and not line.startswith("#include"))
    if re.search(r"\boverride\b", opening) and not re.search(r"\b(?:class|struct)\b", opening):
        return "members"
    first = next((line for line in code if line.strip() and not line.startswith("#include")), first)
    return "declarations" if OPENS_DECLARATION.match(first) else "statements"


def in_header(path, text):
    """The examples in a header's comments."""
    block, start, after_empty = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], start=1):
        comment = COMMENT.match(line)
        words = comment.group(1) if comment else None
        if words is not None and words.startswith("   ") and (block or after_empty):
            start = start if block else number
            block.append(words[3:])
            continue
        if block and (words is None or not words.strip()):
            if any(CODE_END.search(source.strip(each)) for each in block):
                yield Example(path, start, block)
        block, after_empty = [], words is not None and not words.strip()


def in_document(path, text):
    """The examples in a document's fenced blocks."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        fence = FENCE.match(lines[number])
        if not fence:
            number += 1
            continue
        begin = number + 1
        end = next((i for i in range(begin, len(lines)) if lines[i].strip() == "```"), len(lines))
        if fence["language"] in ALIASES:
            raise Wrong(f"{path}:{number + 1}: write ```cpp, so that the block is compiled")
        if fence["language"] == "cpp":
            example = directed(path, begin, lines[begin:end], lines[number - 1] if number else "")
            if example:
                yield example
        number = end + 1


def directed(path, begin, block, line_before):
    """The example as the comment before it says; None if it is not compiled here."""
    if SHOWN.match(line_before):
        return None
    directive = DIRECTIVE.match(line_before)
    if not directive:
        return Example(path, begin + 1, block)
    what, words = directive["what"], directive["words"].strip()
    if not words:
        raise Wrong(f"{path}:{begin - 1}: \"{what}:\" without a word after it")
    if what == "not compiled":
        return None
    if what == "compiled after":
        return Example(path, begin + 1, block, before=words)
    if words not in KINDS:
        raise Wrong(f"{path}:{begin - 1}: no kind \"{words}\"; one of {', '.join(KINDS)}")
    return Example(path, begin + 1, block, kind=words)


FRAMES = {
    "file": ("namespace {name} {{", "}}"),
    "declarations": ("namespace {name} {{", "}}"),
    "members": ("class {name} : public given::Service {{", "}};"),
    "statements": ("given::Anything {name}() {{ {before}", "return 0; }}"),
}


def translation_unit(examples):
    """All examples as one file: what they include, given.h, then each in a frame of its own."""
    includes, bodies = [], []
    for number, example in enumerate(examples):
        code = []
        for line in example.lines:
            if line.startswith("#include"):
                includes += [line] if "<" in line else []
                line = ""
            code.append("" if ELLIPSIS.match(line) else line)
        opening, closing = FRAMES[example.kind]
        names = {"name": f"Example{number}", "before": example.before}
        bodies += [opening.format(**names), f'#line {example.line} "{example.path}"', *code,
                   closing.format(**names)]
    return "\n".join([*dict.fromkeys(includes), '#include "given.h"', "using namespace given;", *bodies, ""])


def examples_of(root, which):
    for file in source.text_files(root):
        if which == "headers" and re.match(r"include/baton/\w+\.h$", file.path):
            yield from in_header(file.path, file.text)
        if which == "documents" and file.path.endswith(".md"):
            yield from in_document(file.path, file.text)


def main(arguments):
    if len(arguments) < 3 or arguments[1] not in ("headers", "documents"):
        print(__doc__, file=sys.stderr)
        return 2
    root, which, *command = arguments
    try:
        examples = list(examples_of(root, which))
    except Wrong as wrong:
        print(wrong)
        return 1
    if not examples and which == "headers":
        print("no example was found in include/baton")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, which + ".cc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(translation_unit(examples))
        here = os.path.dirname(os.path.abspath(__file__))
        done = subprocess.run([*command, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror=unused-result",
                               "-Wno-unused-variable", "-Wno-unused-but-set-variable",
                               "-Wno-unused-function",
                               "-I", os.path.join(root, "include"), "-I", here, path], check=False)
    kinds = ", ".join(f"{sum(e.kind == kind for e in examples)} {kind}" for kind in KINDS)
    print(f"{len(examples)} examples of {which}: {kinds}")
    return 0 if done.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
