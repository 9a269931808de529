#!/usr/bin/env python3
"""Code that documents show from files. In a document,

  <!-- examples/orders/caller.cc: router call -->
  ```cpp
  ...
  ```

shows the parts `router` and `call` of that file, with an empty line between them; without names, the
whole file. In the file, a part stands between the lines `// [call]` and `// [/call]` (or `# [call]`).
The document's lines are the file's, without the indentation that they share and without other parts'
marks.

  shown_code.py ROOT DOCUMENT...    writes the files' code into the documents
"""
import os
import re
import sys
import textwrap

SHOWN = re.compile(r"^<!-- (?P<path>[\w./-]+\.\w+|[\w./-]+/[\w-]+)(?:: (?P<parts>[\w -]+))? -->\n"
                   r"(?P<fence>```\w*\n)(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"^\s*(?://|#) \[/?\w+\]\n", re.MULTILINE)


def part(text, name):
    """The lines between a part's marks; None if there is no such part, or more than one."""
    found = re.findall(r"^\s*(?://|#) \[%s\]\n(.*?)^\s*(?://|#) \[/%s\]$" % (name, name), text,
                       re.DOTALL | re.MULTILINE)
    return textwrap.dedent(MARK.sub("", found[0])).strip("\n") if len(found) == 1 else None


def expected(root, match):
    """The code that a document should show, or the reason why there is none: (code, reason)."""
    path = os.path.join(root, match["path"])
    if not os.path.isfile(path):
        return None, f"{match['path']} does not exist"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    names = (match["parts"] or "").split()
    parts = [part(text, name) for name in names] if names else [MARK.sub("", text).strip("\n")]
    for name, code in zip(names, parts):
        if code is None:
            return None, f"{match['path']} has no single part [{name}]"
    return "\n\n".join(parts) + "\n", None


def differences(root, text):
    """(line, what is wrong) for each block that does not show its file."""
    for match in SHOWN.finditer(text):
        code, reason = expected(root, match)
        if reason or code != match["code"]:
            yield (text.count("\n", 0, match.start()) + 1,
                   reason or f"does not show {match['path']} as it is; run tests/tidy/shown_code.py")


def blocks_without_file(text):
    """The lines of C++ blocks that name no file."""
    named = {match.start("fence") for match in SHOWN.finditer(text)}
    for match in re.finditer(r"^```cpp$", text, re.MULTILINE):
        if match.start() not in named:
            yield text.count("\n", 0, match.start()) + 1


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    root = arguments[0]
    for document in arguments[1:]:
        with open(document, encoding="utf-8") as file:
            text = file.read()

        def fill(match):
            code, reason = expected(root, match)
            if reason:
                sys.exit(f"{document}: {reason}")
            return match[0][:match.start("code") - match.start()] + code + "```"

        with open(document, "w", encoding="utf-8") as file:
            file.write(SHOWN.sub(fill, text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
