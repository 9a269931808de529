"""Judges a run: the invariants, whether it counts at all, and its figures. Shares no code with the product.

  run --check FOLDER      what `run` calls at its end
"""
import collections
import json
import pathlib
import sys

import bounds
import flatness
import history
import invariants
import matrix
import stuckness

SECOND = history.SECOND
SHOWN = 20  # violations of one kind
RESULTS = pathlib.Path(__file__).resolve().parent / "RESULTS.md"
ORIGIN = "origin.json"  # in the run's folder


def violations(past):
    """All, as (invariant, text), and the replay of etcd that they were judged by."""
    replay = invariants.Replay(past)
    checks = (*invariants.CHECKS, *([flatness.violations] if soaked(past) else []),
              *([calls_succeed] if past.run["options"]["case"] == "etcd_upgrade" else []))
    found = [violation for check in checks for violation in check(past, replay)]
    return found, replay


def soaked(past):
    return past.run["options"]["case"] == "soak"


def calls_succeed(past, _):
    failed = flatness.failed_requests(past)
    if failed:
        yield "calls", f"{len(failed)} requests through routers failed, the first: {failed[0]}"


def counted(past):
    """The faults of the run that count."""
    return [fault for fault in past.run["faults"] if bounds.hit(fault)]


def invalid(past, replay):
    """Why the run proves nothing, even without a violation."""
    run, minima = past.run, past.run["options"]["minima"]
    for error in run["errors"]:
        yield f"not everything was carried out: {error}"
    if run.get("world") == "namespaces":  # all works there, except what the kernel was booted without
        for name, needs in sorted(run["skipped"].items()):
            if set(needs) <= set(run.get("without_v1", ())):
                continue
            yield f"skipped: {name}, as the machine did not allow {', '.join(needs)}"
    yield from past.holes()
    acknowledged = sum(line["code"] == 0 and line["op"] == "add" for line in past.writes)
    for what, has in (("faults", len(counted(past))), ("changes", past.leadership_changes(replay)), ("writes", acknowledged)):
        if has < minima.get(what, 0):
            yield f"{has} {what}, at least {minima[what]} are needed"
    notes = {note for fault in run["faults"] for note in fault["notes"]}
    for note in minima.get("seen", ()):
        if note not in notes:
            yield f"not seen: {note}"
    if past.samples < 10 * (run["end"] - run["begin"]) // SECOND:
        yield f"{past.samples} samples of Leads() are too few"
    if soaked(past):
        yield from flatness.invalid(past, replay)


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def figures(past):
    """Of each fault: how often, its hits, how long shards were without a leader that served, and how long until all had
    one after it had ended. Gaps count for the faults in which they began, so they are exact where a fault was alone."""
    rows = []
    gaps = bounds.all_gaps(past)
    by_name = collections.defaultdict(list)
    for fault in counted(past):
        by_name[fault["name"]].append(fault)
    for name, faults in sorted(by_name.items()):
        alone = [fault for fault in faults if bounds.alone(fault)] or faults
        lengths = [(end - begin) / SECOND for fault in alone for _, begin, end in bounds.begun_in(fault, gaps, past.run["faults"])]
        after = [(fault["recovered"] - fault["step_end"]) / SECOND for fault in faults if fault["recovered"]]
        rows.append((name + ("" if alone is not faults else " (with others)"), len(faults),
                     sum(fault["hits"] for fault in faults), lengths, after))
    return rows


def table(past):
    if soaked(past):
        yield from flatness.table(past)
        return
    yield ("| fault | times | hits | shards without a leader | p50 | p90 | longest, s | bound, s | above it + settle + 1 s | "
           "all led after its end: p50 | longest, s |")
    yield "| --- |" + " ---: |" * 10
    for name, times, hits, lengths, after in figures(past):
        kind = name.partition(" ")[0]
        bound, limit = bounds.bound_of(kind, past.run["ttl"]), bounds.limit_of(kind, past.run)
        cells = [f"{percentile(lengths, 50):.2f}", f"{percentile(lengths, 90):.2f}", f"{max(lengths):.2f}"] if lengths else \
            ["-", "-", "-"]
        cells += [f"{bound:.1f}", str(sum(length > limit for length in lengths))] if bound else ["-", "-"]
        cells += [f"{percentile(after, 50):.2f}", f"{max(after):.2f}"] if after else ["-", "-"]
        yield f"| {name} | {times} | {hits} | {len(lengths)} | {' | '.join(cells)} |"


def summary(past, replay, found):
    run = past.run
    writes = [line for line in past.writes if line["op"] == "add"]
    seen = collections.Counter(note for fault in run["faults"] for note in fault["notes"]
                               if note in ("lying keepalive", "late revoke"))
    yield "seed", run["options"]["seed"]
    if soaked(past):
        yield from flatness.summary(past, replay)
    else:
        yield "minutes of faults", f"{(run['end'] - run['begin']) / 60 / SECOND:.1f}"
        yield "faults that hit something, of", f"{len(counted(past))}, {len(run['faults'])}"
        yield "kinds of faults, skipped", f"{len({fault['name'] for fault in counted(past)})}, {len(run['skipped'])}"
    yield "changes of leadership records, handoffs", f"{past.leadership_changes(replay)}, {len(replay.transfers)}"
    if "no_change_from" in run:
        yield "leaderships that changed meanwhile", len(list(invariants.nothing_changed(past, replay)))
    yield "samples of Leads() of all shards", past.samples
    routed = [line for line in writes if not line["id"].startswith("insister")]
    yield "writes through routers: acknowledged, failed", (f"{sum(line['code'] == 0 for line in routed)}, "
                                                           f"{sum(line['code'] != 0 for line in routed)}")
    yield "writes accepted, also of who insists on each node", len(past.accepted)
    yield "writes that the fence refused", sum("a newer leader has written" in line.get("why", "") for line in writes)
    yield "lying keepalives seen, late revokes seen", f"{seen['lying keepalive']}, {seen['late revoke']}"
    for cause, what in (("ended early", "etcd or an operator ended a session early"),
                        ("by hand", "a record was changed by hand")):
        lengths = past.overlaps[cause]
        yield f"led on after {what}, the longest", f"{len(lengths)}, {max(lengths, default=0) / SECOND:.2f} s"
    yield "drains without an answer that were carried out after they were undone", len(run.get("revived", ()))
    yield "bound of recovery without extras", f"{run['bound']} s"
    yield "at rest after all had recovered from the last fault", f"{(run['rest'] - run['quiet']) / SECOND:.1f} s"
    yield "violations", len(found)


def origin_of(folder):
    """Of which day, commit and etcd the run is; empty if it did not write that down."""
    path = pathlib.Path(folder) / ORIGIN
    return json.loads(path.read_text(encoding="ascii")).items() if path.exists() else ()


def judge(folder, results=False):
    """Prints what came of the run in `folder`; 0: nothing was violated, and it counts."""
    try:
        run = json.loads((pathlib.Path(folder) / "run.json").read_text())
        case = run["options"]["case"]
        if case == "etcd_behaviour":  # nothing is judged
            return tell(None, [], [], run["figures"].items(), [], False)
        past = {"stuck_shards": stuckness, "matrix": matrix}.get(case, history).load(folder)
    except OSError as error:
        print(f"no whole run is in {folder}: {error}", file=sys.stderr)
        return 1
    rows = list(origin_of(folder))
    if case == "stuck_shards":
        found = [("stuck", text) for text in stuckness.violations(past)]
        return tell(past, found, list(stuckness.invalid(past)), [*rows, *stuckness.summary(past, found)], [], results)
    if case == "matrix":
        found = [("matrix", text) for text in matrix.violations(past)]
        return tell(past, found, list(matrix.invalid(past)), [*rows, *matrix.summary(past, found)], list(matrix.table(past)), results)
    found, replay = violations(past)
    return tell(past, found, list(invalid(past, replay)), [*rows, *summary(past, replay, found)], list(table(past)), results)


def tell(past, found, reasons, rows, lines, results):
    shown = collections.Counter()
    for invariant, text in found:
        shown[invariant] += 1
        if shown[invariant] <= SHOWN:
            print(f"VIOLATION {invariant}: {text}")
    for reason in reasons[:SHOWN]:
        print(f"INVALID: {reason}")
    for what, figure in rows:
        print(f"{what}: {figure}")
    for line in lines:
        print(line)
    if results and not found and not reasons:
        write_results(past, rows, lines)
    return 1 if found or reasons else 0


def write_results(past, rows, table_lines):
    """Replaces the case's part of RESULTS.md; the others stay."""
    case = past.run["options"]["case"]
    head = f"## {case}\n"
    lines = [head, "| what | figure |", "| --- | --- |", *(f"| {what} | {figure} |" for what, figure in rows)]
    lines += ["", *table_lines] if table_lines else []
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else "# Figures of real faults\n"
    parts = [part for part in text.split("\n## ") if not part.startswith(case + "\n")]
    RESULTS.write_text("\n## ".join([*(part.rstrip() + "\n" for part in parts), "\n".join(lines)[3:] + "\n"]), encoding="utf-8")
