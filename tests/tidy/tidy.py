#!/usr/bin/env python3
"""Checks the tree against the rules of the house (rules.py).

  tidy.py ROOT [RULE...]    all rules without RULE; prints what it finds, exits 1 if that is anything
  tidy.py --list            the rules' names
"""
import sys

sys.dont_write_bytecode = True
import rules  # noqa: E402
import source  # noqa: E402


def main(arguments):
    by_name = {rule.__name__: rule for rule in rules.RULES}
    if arguments == ["--list"]:
        print("\n".join(by_name))
        return 0
    if not arguments or not set(arguments[1:]) <= set(by_name):
        print(__doc__, file=sys.stderr)
        return 2
    root = arguments[0]
    files = source.text_files(root)
    findings = [finding for name in arguments[1:] or by_name for finding in by_name[name](root, files)]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
