#!/usr/bin/env python3
"""Lines of one source folder that a coverage build's tests reached, by gcov.

  coverage.py FOLDER SOURCES     FOLDER: the build folder; SOURCES: for example src/core

A line counts once however many objects contain it, and as reached if any of them reached it.
"""
import json
import os
import subprocess
import sys


def notes_below(folder):
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(".gcno"):
                yield os.path.join(root, name)


def add_lines(note, sources, reached):
    answer = subprocess.run(["gcov", "--json-format", "--stdout", note], check=True,
                            capture_output=True, text=True, cwd=os.path.dirname(note))
    for report in answer.stdout.splitlines():
        if not report.startswith("{"):
            continue
        document = json.loads(report)
        for file in document["files"]:
            path = os.path.realpath(os.path.join(document["current_working_directory"], file["file"]))
            if path.startswith(sources + os.sep):
                lines = reached.setdefault(path, {})
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[number] = lines.get(number, 0) + line["count"]


def print_row(name, lines):
    hit = sum(1 for count in lines if count)
    share = 100 * hit / len(lines) if lines else 100
    print(f"{name:<48} {hit:>6} of {len(lines):>6} lines  {share:5.1f} %")


def main(folder, sources):
    sources = os.path.realpath(sources)
    reached = {}
    for note in notes_below(os.path.abspath(folder)):
        add_lines(note, sources, reached)
    for path in sorted(reached):
        print_row(os.path.relpath(path, os.path.dirname(sources)), list(reached[path].values()))
    print_row(os.path.basename(sources), [n for file in reached.values() for n in file.values()])
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
