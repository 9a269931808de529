#!/usr/bin/env python3
"""Says for tests/run.sh what ctest would run, and what came of it.

  results.py groups FOLDER [LABEL...]       the groups of all tests, or of those with one of the labels, in running order
  results.py targets FOLDER LABEL...        what the tests with one of the labels need built
  results.py summary GROUP LOGS SECONDS     prints a group's line and the output of what failed
  results.py summaries FOLDER LOGS          the same for groups that ran together; a group's seconds are those of its tests
  results.py check GROUP LOGS SECONDS CODE [WHY]
                                            the same for a check that is no ctest: well if CODE is 0, skipped if 77
  results.py beside LOG LOGS RUNS           counts what whole runs said in LOG, and prints it but for their sums
  results.py total LOGS                     prints "skipped: LOGS/TEST CASE: WHY" of each that was skipped, "failed: LOGS/TEST
                                            CASE..." of each that failed, and "N passed, N failed, N skipped"; 1 unless all well

Each test has its group's label, and "essential" if tests/run.sh runs it without options.
A gtest binary counts as its cases (it writes XML to LOGS; its JSON has no reasons of skipped cases), every other test as one.
"""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

# Tests that compute come first, and last those that need another build.
ORDER = ["tidy", "unit", "sim", "contract", "model", "install", "packages", "etcd", "dashboards", "page", "e2e", "chaos", "fuzz"]
UNLABELLED = "other"
ESSENTIAL = "essential"
SUM = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
NAMED = "failed: "  # how total begins a line that names what failed
NAMED_SKIPPED = "skipped: "  # and one that names what was skipped
LONGEST_REASON = 300
SHOWN_LINES = 120  # of a failed test's output; the rest is in its log


def listed_tests(folder):
    answer = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True,
                            capture_output=True, text=True)
    return json.loads(answer.stdout).get("tests", [])


def labels_of(test):
    for entry in test.get("properties", []):
        if entry["name"] == "LABELS" and entry["value"]:
            return entry["value"]
    return [UNLABELLED]


def is_wanted(test, wanted):
    return not wanted or bool(set(labels_of(test)) & set(wanted))


def group_of(test):
    return next((label for label in labels_of(test) if label != ESSENTIAL), UNLABELLED)


def in_running_order(chosen):
    rank = {name: place for place, name in enumerate(ORDER)}
    return sorted(chosen, key=lambda name: (rank.get(name, len(ORDER)), name))


def groups(folder, wanted):
    tests = listed_tests(folder)
    missing = set(wanted) - {label for test in tests for label in labels_of(test)}
    if missing:
        sys.exit(f"no tests in {folder} of: {', '.join(sorted(missing))}")
    chosen = {group_of(test) for test in tests if is_wanted(test, wanted)}
    return in_running_order(chosen)


def targets(folder, wanted):
    answer = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], check=True,
                            capture_output=True, text=True)
    known = {line.rpartition(":")[0] for line in answer.stdout.splitlines()}
    needed = set()
    for test in listed_tests(folder):
        if is_wanted(test, wanted):
            # ctest tells no command while its program is not built; a binary is named as its test, and a test of
            # some of its cases has a word behind that.
            binary = test["name"].removesuffix("." + ESSENTIAL)
            for word in [binary] + test.get("command", []):
                needed.add(os.path.relpath(word, folder) if os.path.isabs(word) else word)
    return sorted(needed & known)


def gtest_cases(path):
    """The cases of a gtest XML report, or None if there is no whole one."""
    try:
        with open(path, encoding="utf-8", errors="replace") as report:
            return list(ElementTree.fromstring(report.read()).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return None


def is_skipped(case):
    return case.find("failure") is None and case.get("result") in ("skipped", "suppressed")


def report_of(case, logs):
    """The path of the report that a gtest binary writes."""
    return os.path.join(logs, case.get("name") + ".xml")


def count_gtest(path):
    """[passed, failed, skipped] of a gtest XML report, or None if there is no whole one."""
    cases = gtest_cases(path)
    if cases is None:
        return None
    counts = [0, 0, 0]
    for case in cases:
        if case.find("failure") is not None:
            counts[1] += 1
        elif is_skipped(case):
            counts[2] += 1
        elif case.get("status") == "run":
            counts[0] += 1
    return counts


def verdict(case):
    """ctest's own word: 0 passed, 1 failed, 2 skipped. A test that could not start has failed."""
    if case.get("status") == "run":
        return 0
    skipped = case.find("skipped")
    if case.get("status") == "disabled":
        return 2
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return 2
    return 1


def count_test(case, logs):
    word = verdict(case)
    single = [int(word == 0), int(word == 1), int(word == 2)]
    counts = count_gtest(report_of(case, logs))
    if counts is None or word == 2:
        return single
    # It crashed, leaked or ran out of time around its cases.
    if word == 1 and counts[1] == 0:
        counts[1] = 1
    return counts if sum(counts) else single


def name_of(case):
    return f"{case.get('classname')}.{case.get('name')}"


def name_of_failure(case, logs):
    """The test's name, and of a gtest binary which of its cases failed."""
    cases = gtest_cases(report_of(case, logs)) or []
    words = [name_of(each) for each in cases if each.find("failure") is not None]
    return " ".join([case.get("name")] + words)


def reason_of_case(case):
    """Why a case of gtest was skipped: its words behind the line with the place."""
    if case.get("result") == "suppressed":
        return "it is disabled"
    words = [each.get("message", "").partition("\n")[2] for each in case.iter("skipped")]
    return " ".join(" ".join(words).split()) or "it does not say why"


def reason_of_test(case):
    """Why a test of ctest's was skipped: the last line that says so, else its last line."""
    if case.get("status") == "disabled":
        return "it is disabled"
    lines = [" ".join(line.split()) for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    said = [line for line in lines if "skipped" in line] or lines or ["it does not say why"]
    return said[-1].removeprefix(NAMED_SKIPPED)


def reasons_of_skips(case, logs):
    """"TEST: WHY" if the test was skipped, and of a gtest binary "TEST CASE: WHY" for each case that was."""
    if verdict(case) == 2:
        found = [(case.get("name"), reason_of_test(case))]
    else:
        found = [(f"{case.get('name')} {name_of(each)}", reason_of_case(each))
                 for each in gtest_cases(report_of(case, logs)) or [] if is_skipped(each)]
    return [f"{name}: {why[:LONGEST_REASON]}" for name, why in found]


def show_failure(case, logs):
    lines = (case.findtext("system-out") or "").rstrip().splitlines()
    print(f"--- {case.get('name')} failed; its log: {os.path.join(logs, 'ctest.log')}")
    if len(lines) > SHOWN_LINES:
        print(f"    ({len(lines) - SHOWN_LINES} lines before these)")
    for line in lines[-SHOWN_LINES:]:
        print("    " + line)


def finished_tests(logs):
    """ctest's report on each test; None if it reports nothing."""
    try:
        return list(ElementTree.parse(os.path.join(logs, "ctest.xml")).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        print(f"--- ctest itself failed; its log: {os.path.join(logs, 'ctest.log')}")
        return None


def count_tests(cases, logs):
    """The sum of their counts, the names of what failed, which it shows, and of what was skipped, with the reasons."""
    counts, failed, skipped = [0, 0, 0], [], []
    for case in cases:
        single = count_test(case, logs)
        counts = add(counts, single)
        skipped += reasons_of_skips(case, logs)
        if single[1]:
            show_failure(case, logs)
            failed.append(name_of_failure(case, logs))
    return counts, failed, skipped


def add(one, other):
    return [sum(pair) for pair in zip(one, other)]


def summary(group, logs, seconds):
    cases = finished_tests(logs)
    counts, failed, skipped = ([0, 1, 0], [group], []) if cases is None else count_tests(cases, logs)
    print_counts(group, counts, seconds)
    write_counts(logs, counts, failed, skipped)


def summaries(folder, logs):
    cases, sums, failed, skipped = finished_tests(logs), [0, 0, 0], [], []
    if cases is None:
        sums, failed = [0, 1, 0], ["ctest"]
    else:
        group_of_name = {test["name"]: group_of(test) for test in listed_tests(folder)}
        for group in in_running_order({group_of_name[case.get("name")] for case in cases}):
            members = [case for case in cases if group_of_name[case.get("name")] == group]
            counts, names, reasons = count_tests(members, logs)
            failed += names
            skipped += reasons
            print_counts(group, counts, round(sum(float(case.get("time") or 0) for case in members)))
            sums = add(sums, counts)
    write_counts(logs, sums, failed, skipped)


def check(group, logs, seconds, code, why="it does not say why"):
    counts = [int(code == "0"), int(code not in ("0", "77")), int(code == "77")]
    print_counts(group, counts, seconds)
    write_counts(logs, counts, [group] * counts[1], [f"{group}: {why}"] * counts[2])


def write_counts(logs, counts, failed, skipped):
    with open(os.path.join(logs, "counts.json"), "w", encoding="utf-8") as file:
        json.dump({"counts": counts, "failed": failed, "skipped": skipped}, file)


def print_counts(group, counts, seconds):
    print(f"{group:<13} {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped, {seconds} s")


def beside(log, logs, expected):
    """Prints the words of whole runs beside this one, except their sums and the names of what failed or was skipped, which
    become this run's; one without a sum came to no end."""
    counts, sums, failed, skipped = [0, 0, 0], 0, [], []
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = SUM.fullmatch(line.rstrip())
            if found:
                sums += 1
                counts = add(counts, map(int, found.groups()))
            elif line.startswith(NAMED):
                failed.append(line.rstrip().removeprefix(NAMED))
            elif line.startswith(NAMED_SKIPPED):
                skipped.append(line.rstrip().removeprefix(NAMED_SKIPPED))
            else:
                print(line, end="")
    if sums < int(expected):
        print(f"--- of {expected} runs beside this one {sums} came to an end; their log: {log}")
        counts[1] += int(expected) - sums
        failed.append("beside")
    write_counts(logs, counts, failed, skipped)


def total(logs):
    counts, failed, skipped = [0, 0, 0], [], []
    for group in sorted(os.listdir(logs)):
        path = os.path.join(logs, group, "counts.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                part = json.load(file)
            counts = add(counts, part["counts"])
            before = "" if group == "beside" else group + "/"
            failed += [before + name for name in part["failed"]]
            skipped += [before + reason for reason in part["skipped"]]
    for reason in skipped:
        print(NAMED_SKIPPED + reason)
    for name in failed:
        print(NAMED + name)
    if counts[1]:
        print(f"the logs are in {logs}")
    print(f"{counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
    return 0 if counts[1] == 0 and counts[0] > 0 else 1


def main(arguments):
    command, rest = arguments[0], arguments[1:]
    if command == "groups":
        print(*groups(rest[0], rest[1:]), sep="\n", end="")
    elif command == "targets":
        print(*targets(rest[0], rest[1:]), sep="\n", end="")
    elif command == "summary":
        summary(*rest)
    elif command == "summaries":
        summaries(*rest)
    elif command == "check":
        check(*rest)
    elif command == "beside":
        beside(*rest)
    elif command == "total":
        return total(rest[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
