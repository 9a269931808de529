#!/usr/bin/python3
"""Compiles sources of src alone, without making code of them: in a build whose sources are compiled several at a time, one
may lack an #include that another one has.

  compiled_alone.py BUILD [--all]    an eighth of them, another one each day; with --all each of them

Exits with 77 if the build compiles each source alone.
"""
import concurrent.futures
import datetime
import json
import os
import re
import shlex
import subprocess
import sys

PARTS = 8


def commands(build):
    """Each source that is compiled together with others, and the command that compiles it alone."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        if "/Unity/" not in entry["file"]:
            continue
        words = shlex.split(entry["command"])
        at = words.index("-o")
        words = [word for word in words[:at] + words[at + 2:] if word not in ("-c", entry["file"])]
        if os.path.basename(words[0]) == "ccache":
            words = words[1:]
        with open(entry["file"], encoding="utf-8") as unity:
            for source in re.findall(r'^#include "(.*/src/.*\.cc)"$', unity.read(), re.MULTILINE):
                found[source] = (entry["directory"], words + ["-fsyntax-only", source])
    return found


def compiles(source, directory, words):
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        print(f"{source} does not compile alone:\n{done.stderr}", flush=True)
    return done.returncode == 0


def main(build, everything):
    found = sorted(commands(build).items())
    if not found:
        print("each source is compiled alone in this build")
        return 77
    day = datetime.date.today().toordinal()
    chosen = [entry for number, entry in enumerate(found) if everything or number % PARTS == day % PARTS]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        well = list(pool.map(lambda entry: compiles(entry[0], *entry[1]), chosen))
    print(f"{sum(well)} of {len(well)} sources compile alone")
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--all" in sys.argv[2:]))
