"""Whether a soak stayed flat: what each process held in the last sixth of the run, against the first sixth once it was warm,
and the one that begins in the middle, from which on its memory may grow a quarter as much.

Medians are compared, so that neither a spike nor the sample at an end decides. Pure: samples in, words out. A sample is a
line of footprints.jsonl: {"at", "processes": {name: [rss, fds, threads, cpu, anon]}, "etcd": {"revision", "bytes", "term"}},
in KiB, numbers, and seconds of processors since the process began; `anon`, of rss, is for whoever looks for a growth's cause.
README.md says why the bounds are what they are.
"""
import dataclasses
import statistics

SECOND = 10**9
PARTS = 6  # the run is compared by sixths
WARM = 120  # seconds that a run warms up at least, if it is long enough
FEWEST = 5  # samples of each process in each of the three sixths
RESIDENT_FROM = 1200  # seconds: in shorter runs memory is shown and not judged
RSS, FDS, THREADS, CPU = range(4)
MOVES_PER_SECOND = 0.8  # of each group
GROUPS = ("kv", "plain")
PLANNED = ("operator", "rebalance")


@dataclasses.dataclass(frozen=True)
class Windows:
    """The three sixths, in nanoseconds."""
    first: tuple
    middle: tuple
    last: tuple

    @staticmethod
    def of(begin, end):
        """The first sixth begins once the run is warm: after a sixth, or two minutes if that is more; a third at most."""
        whole = end - begin
        warm = max(whole // PARTS, min(WARM * SECOND, whole // 3))
        starts = (begin + warm, begin + whole // 2, end - whole // PARTS)
        return Windows(*((start, start + whole // PARTS) for start in starts))


@dataclasses.dataclass(frozen=True)
class Held:
    """A process's resources, as [rss, fds, threads]: medians of the sixths, and the greatest from the first one on. `cpu`: its
    share of one processor in the first and the last."""
    process: str
    first: list
    middle: list
    last: list
    greatest: list
    cpu: list


def within(samples, window):
    return [sample for sample in samples if window[0] <= sample["at"] <= window[1]]


def share(samples, process):
    one, other = samples[0], samples[-1]
    used = other["processes"][process][CPU] - one["processes"][process][CPU]
    return used * SECOND / max(1, other["at"] - one["at"])


def held(samples, windows, process):
    sixths = [[sample for sample in within(samples, window) if process in sample["processes"]]
              for window in (windows.first, windows.middle, windows.last)]
    if min(map(len, sixths)) < FEWEST:
        return None
    since = [sample["processes"][process] for sample in samples
             if windows.first[0] <= sample["at"] <= windows.last[1] and process in sample["processes"]]
    return Held(process, *([statistics.median(sample["processes"][process][place] for sample in window)
                            for place in (RSS, FDS, THREADS)] for window in sixths),
                [max(figures[place] for figures in since) for place in (RSS, FDS, THREADS)],
                [share(sixths[0], process), share(sixths[-1], process)])


def all_held(samples, windows):
    names = sorted({name for sample in samples for name in sample["processes"]})
    return [one for one in (held(samples, windows, name) for name in names) if one]


def ours(process):
    """Whether it is judged: members of etcd are shown."""
    return not process.startswith("etcd ")


def memory_counts(begin, end):
    return end - begin >= RESIDENT_FROM * SECOND


def growths(samples, begin, end):
    """Yields what grew beyond its bound, as text."""
    for one in all_held(samples, Windows.of(begin, end)):
        judged = [(one.first[FDS], one.last[FDS], 4, "descriptors"), (one.first[THREADS], one.last[THREADS], 2, "threads")]
        if memory_counts(begin, end):
            judged += [(one.first[RSS], one.last[RSS], one.first[RSS] * 0.02 + 1024, "KiB resident"),
                       (one.middle[RSS], one.last[RSS], one.middle[RSS] * 0.005 + 256, "KiB resident since the middle")]
        for before, after, allowed, what in judged if ours(one.process) else ():
            if after - before > allowed:
                yield f"{one.process} went from {before:.0f} to {after:.0f} {what}; {allowed:.0f} more are allowed"


def unseen(samples, begin, end, expected):
    """Why nothing can be said of some process."""
    windows = Windows.of(begin, end)
    known = {one.process for one in all_held(samples, windows) if ours(one.process)}
    if len(known) < expected:
        yield f"{len(known)} processes were sampled {FEWEST} times in each sixth, of {expected}: {', '.join(sorted(known))}"


# The whole run.
def changes(past, replay):
    """(group, reason) of each change of a leadership record while moves were made."""
    return [(group, terms[revision]["reason"] if revision in terms else "")
            for (group, shard), made in replay.changes.items() for terms in (replay.terms.get((group, shard), {}),)
            for revision, at in made if past.run["begin"] <= at <= past.run["end"]]


def failed_requests(past):
    """Only through routers: nodes should refuse a writer that tries each of them."""
    return [line for line in past.writes if line["code"] != 0 and not line["id"].startswith("insister")]


def violations(past, replay):
    """("flat", text): what a soak promises beyond the invariants."""
    run = past.run
    for text in growths(past.footprints, run["begin"], run["end"]):
        yield "flat", text
    for line in failed_requests(past)[:5]:
        yield "flat", f"request {line['id']} failed though every move was planned: {line['code']} {line.get('why', '')}"
    for group, reason in changes(past, replay):
        if reason not in PLANNED:
            yield "flat", f"a leadership of {group} changed unplanned: {reason or 'nobody led'}"


def invalid(past, replay):
    """Why a soak proves nothing."""
    run = past.run
    yield from unseen(past.footprints, run["begin"], run["end"], 2 * run["nodes"] + 1)
    seconds, made = (run["end"] - run["begin"]) / SECOND, changes(past, replay)
    warm = Windows.of(run["begin"], run["end"]).first[0]
    for group in GROUPS:
        moves = made.count((group, "operator"))
        if moves < MOVES_PER_SECOND * seconds:
            yield f"{moves} moves of {group} in {seconds:.0f} s, at least {MOVES_PER_SECOND} a second are needed"
        remembered = sum(at < warm for (of, _), made in replay.changes.items() if of == group for _, at in made)
        if memory_counts(run["begin"], run["end"]) and remembered < run["options"]["remembered"]:
            yield f"{group}: {remembered} changes were seen before the first sixth, so that histories were not full yet"


def summary(past, replay):
    run, made = past.run, changes(past, replay)
    seconds = (run["end"] - run["begin"]) / SECOND
    yield "minutes of moves", f"{seconds / 60:.1f}"
    said = [sample["etcd"] for sample in past.footprints if sample.get("etcd")]
    yield "operators' moves of kv, of plain", ", ".join(str(made.count((group, "operator"))) for group in GROUPS)
    yield "moves a second of kv, of plain", ", ".join(f"{made.count((group, 'operator')) / seconds:.2f}" for group in GROUPS)
    yield "other changes of leadership", len(made) - sum(reason == "operator" for _, reason in made)
    yield "batonctl's exit codes", ", ".join(f"{code}: {count}" for code, count in sorted(run["moves"].items()))
    yield "requests through routers: made, failed", (
        f"{sum(not line['id'].startswith('insister') for line in past.writes)}, {len(failed_requests(past))}")
    if said:
        begun, ended = said[0], said[-1]
        yield "revisions of etcd a second", f"{(ended['revision'] - begun['revision']) / seconds:.1f}"
        yield "etcd's database at first, at last, MiB", f"{begun['bytes'] / 2**20:.1f}, {ended['bytes'] / 2**20:.1f}"
        yield "terms of etcd's leaders", ended["term"] - begun["term"] + 1
    yield "samples of footprints", len(past.footprints)


def table(past):
    def cells(one, place):
        divisor, digits = (1024, 2) if place == RSS else (1, 0)
        shown = (one.first, *((one.middle,) if place == RSS else ()), one.last, one.greatest)
        return " | ".join(f"{figures[place] / divisor:.{digits}f}" for figures in shown)
    yield ("| process | MiB resident: first sixth | middle | last | greatest | descriptors: first | last | greatest | "
           "threads: first | last | greatest | of a processor, %: first | last |")
    yield "| --- |" + " ---: |" * 12
    windows = Windows.of(past.run["begin"], past.run["end"])
    for one in all_held(past.footprints, windows):
        yield (f"| {one.process} | {' | '.join(cells(one, place) for place in (RSS, FDS, THREADS))} | "
               f"{100 * one.cpu[0]:.1f} | {100 * one.cpu[1]:.1f} |")
