#!/usr/bin/env python3
"""Lines of one source folder that a coverage build's tests reached, by gcov.

  coverage.py FOLDER SOURCES [--least PERCENT]

FOLDER: the build folder; SOURCES: for example src/core. Prints a row for each file, with the lines that
were not reached, and one for all. Exits 1 where the share of all is below PERCENT, or nothing was built.
A line counts once however many objects contain it, and as reached if any of them reached it.
"""
import argparse
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


def stretches(lines):
    """The lines not reached, "12-14, 20": from the first to the last with no reached one between."""
    texts, open_at, last = [], None, None
    for number in sorted(lines) + [None]:
        missed = number is not None and lines[number] == 0
        if open_at is not None and not missed:
            texts.append(str(open_at) if open_at == last else f"{open_at}-{last}")
            open_at = None
        elif missed and open_at is None:
            open_at = number
        last = number
    return ", ".join(texts)


def share(lines):
    return 100 * sum(1 for count in lines if count) / len(lines) if lines else 0


def print_row(name, lines, missed=""):
    hit = sum(1 for count in lines if count)
    print(f"{name:<28} {hit:>6} of {len(lines):>6} lines  {share(lines):5.1f} %  {missed}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("sources")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT")
    arguments = parser.parse_args()
    sources = os.path.realpath(arguments.sources)
    reached = {}
    for note in notes_below(os.path.abspath(arguments.folder)):
        add_lines(note, sources, reached)
    for path in sorted(path for path, lines in reached.items() if lines):
        print_row(os.path.relpath(path, os.path.dirname(sources)), list(reached[path].values()),
                  stretches(reached[path]))
    every = [count for file in reached.values() for count in file.values()]
    print_row(os.path.basename(sources), every)
    if share(every) >= arguments.least and every:
        return 0
    print(f"--- fewer than {arguments.least:g} % of the lines of {arguments.sources} were reached")
    return 1


if __name__ == "__main__":
    sys.exit(main())
