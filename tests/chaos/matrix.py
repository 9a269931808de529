"""The judge of the matrix, and what is promised of each cell: see README.md. Pure: a run's files in, words out.

A cell is a fault and a group, with guards or without. Its time is from the fault until each shard is led again: the end of
the last gap, in which no node's samples show a leader of some shard. Nodes are sampled every 10 ms.
"""
import collections
import json
import pathlib
from typing import Callable, NamedTuple

import bounds
import history
import records
import stuckness

SECOND = bounds.SECOND
HOLE = SECOND  # with no sample of a node for this long, unless it was struck, too little is known


class Promise(NamedTuple):
    words: str
    seconds: Callable  # of the TTL; delivery and sampling (bounds.MARGIN) come on top
    moves: str  # which leaderships change: "its" of the node that was struck, "none", or "any"


def hang_timeout(ttl):
    """Seconds: of the nodes with guards."""
    return ttl / 3


DEATH = Promise("milliseconds", lambda ttl: 0, "its")
LEASE = Promise("the lease: T + 0.5 s", bounds.of_a_node, "its")
# The lease is renewed once more, by a node that does not hear that it was.
RENEWED = Promise("the lease, renewed once more: 4/3 T + 0.5 s", lambda ttl: ttl / 3 + bounds.of_a_node(ttl), "its")
HANG = Promise("the hang timeout: T / 3", hang_timeout, "its")
NOTHING = Promise("nothing: a thread of its own writes there", lambda ttl: 0, "none")
PAUSE = Promise("a pause of 3 E", lambda ttl: 3 * bounds.ELECTION, "none")
ETCD = Promise("2 T + 3 E + 0.5 s", bounds.of_a_leader, "any")


class Row(NamedTuple):
    words: str
    off: Promise
    on: Promise
    # A stopped process may hold the store's lock on a shard. Then its next leader can't activate it, and moves it, and balance
    # moves another one back: the application's trouble, neither judged nor timed.
    keeps_store: bool = False
    ends_early: bool = False  # etcd may end sessions before their time: two leaders are measured, for a TTL and a second at most


ROWS = {
    "sigkill": Row("SIGKILL", LEASE, DEATH),
    "abort": Row("abort", LEASE, DEATH),
    "oom_kill": Row("killed for its memory, in a control group", LEASE, DEATH),
    "container_killed": Row("its whole container killed, also the guard", LEASE, LEASE),
    "loop_stands_still": Row("deadlock of its loop", LEASE, HANG),
    "sigstop": Row("SIGSTOP", LEASE, HANG, keeps_store=True),
    "forked_child": Row("SIGKILL, and a forked child keeps the lock", LEASE, LEASE),
    "state_disk_frozen": Row("the disk of its state directory frozen", NOTHING, NOTHING),
    "etcd_followers_disk_frozen": Row("the disk of a follower of etcd frozen", ETCD, ETCD),
    "etcd_leaders_disk_frozen": Row("the disk of etcd's leader frozen", ETCD, ETCD, ends_early=True),
    "etcd_leader_killed": Row("etcd's leader killed", PAUSE, PAUSE),
    "cut_off": Row("a node cut off both ways", LEASE, LEASE),
    "receives_only": Row("a node that can only receive", LEASE, LEASE),
    "sends_only": Row("a node that can only send", RENEWED, RENEWED),
    "loss_5_percent": Row("5 % of all packets lost", ETCD, ETCD),
}


def longest(ttl):
    """The most that any promise allows, in seconds."""
    return max(promise.seconds(ttl) for row in ROWS.values() for promise in (row.off, row.on)) + bounds.MARGIN


class Cell:
    """`nodes`: the lines of the group's processes, by node; `committed`: (shard, when, leader, reason) of its records."""

    def __init__(self, cell, run, nodes, calls, committed):
        self.name, self.guard, self.node = cell["name"], cell["guard"], cell["node"]
        self.begin, self.end, self.ttl = cell["begin"], cell["end"], run["ttl"]
        self.cell, self.row = cell, ROWS[cell["name"]]
        self.promise = self.row.on if self.guard == "on" else self.row.off
        self.shards = run["shards"]
        self.spans = {activated: self._spans(nodes, activated) for activated in (False, True)}
        self.ticks = {node: [line["t"][1] for line in lines if "t" in line] for node, lines in nodes.items()
                      if node != self.node}
        self.by_store = self._moves_for_the_store(committed)
        self.changed = self._changes(committed)
        routed = [line for line in calls if not line["id"].startswith("insister")]
        self.calls = [line for line in routed if line["t"][1] >= self.begin and line["t"][0] <= self.end]
        self.failed = sum(line["code"] != 0 for line in self.calls)
        self.failed_before = sum(line["code"] != 0 for line in routed if line["t"][1] < self.begin)

    @staticmethod
    def _spans(nodes, activated):
        """By shard: (from, to, node) of each leadership that samples show."""
        spans = collections.defaultdict(list)
        for node, lines in nodes.items():
            for shard, begin, end in stuckness.spans_of(lines, activated):
                spans[shard].append((begin, end, node))
        return {shard: sorted(found) for shard, found in spans.items()}

    def _moves_for_the_store(self, committed):
        """(shard, when) of moves after the first `callback_timeout`, by that reason or for balance."""
        if not self.row.keeps_store:
            return set()
        first = min((at for _, at, _, reason in committed if reason == "callback_timeout" and at >= self.begin), default=None)
        return {(shard, at) for shard, at, _, reason in committed
                if first is not None and at >= first and reason in ("callback_timeout", "rebalance")}

    def _changes(self, committed):
        """(shard, leader before, leader) of each leadership that began from the fault until the end."""
        leaders, changed = {}, []
        for shard, at, leader, _ in committed:
            if at > self.end:
                continue
            if at >= self.begin and leader and (shard, at) not in self.by_store:
                changed.append((shard, leaders.get(shard), leader))
            if leader or at < self.begin:
                leaders[shard] = leader
        return changed

    def words(self):
        return f"{self.row.words}, guard {self.guard}, pass {self.cell['pass'] + 1}"

    def gaps(self, activated=False):
        """(from, to) of each time at which a shard had no leader, from the fault on; `to` is None at the end of the cell."""
        for shard in range(self.shards):
            at = self.begin - bounds.SAMPLED
            for begin, end, _ in self.spans[activated].get(shard, ()):
                if begin > self.end:
                    break
                if begin > max(at, self.begin) and end > at and not any(
                        moved == shard and abs(at - when) <= SECOND and when <= begin for moved, when in self.by_store):
                    yield at, begin
                at = max(at, end)
            if at < self.end - HOLE:
                yield at, None

    def led_after(self, activated=False):
        """Seconds from the fault until all are led; None: they were all the time. -1: not within the cell."""
        ends = [end for _, end in self.gaps(activated)]
        if None in ends:
            return -1
        return (max(ends) - self.begin) / SECOND if ends else None

    def longest_gap(self):
        """In seconds, or None and -1 as above."""
        if self.led_after() in (None, -1):
            return self.led_after()
        return max(end - max(begin, self.begin) for begin, end in self.gaps()) / SECOND

    def bound(self):
        """Seconds, with the margin. A cell in which etcd elected a leader meanwhile may take as long as that."""
        bound = self.promise.seconds(self.ttl)
        if self.cell["elected"] and self.promise is not PAUSE:
            bound = max(3 * bounds.ELECTION, bound if self.promise is DEATH else bounds.of_a_leader(self.ttl))
        return bound + bounds.MARGIN

    def overlaps(self):
        """(shard, node, other, seconds) of each time at which two nodes led a shard."""
        for shard, spans in self.spans[False].items():
            for number, (_, end, node) in enumerate(spans):
                for begin, until, other in spans[number + 1:]:
                    if begin >= end:
                        break
                    if node != other:
                        yield shard, node, other, (min(end, until) - begin) / SECOND

    def violations(self):
        for shard, node, other, seconds in self.overlaps():
            if not self.row.ends_early or seconds > self.ttl + bounds.MARGIN:
                yield f"{self.words()}: shard {shard} was led by {node} and {other} for {seconds:.3f} s"
        after = self.led_after()
        if after == -1:
            yield f"{self.words()}: not all shards were led at its end"
        elif after is not None and after > self.bound():
            yield f"{self.words()}: all were led after {after:.2f} s, at most {self.bound():.1f} s are allowed"
        for shard, before, leader in self.changed:
            if self.promise.moves == "none" or (self.promise.moves == "its" and before != self.node):
                yield f"{self.words()}: shard {shard} went from {before} to {leader}"
        for name in self.cell["ended_by_themselves"]:
            yield f"{self.words()}: {name} ended by itself"

    def invalid(self):
        if self.cell["dropped"] == 0:
            yield f"{self.words()}: not a packet was lost"
        if self.promise.moves == "its" and not self.changed:
            yield f"{self.words()}: its shards went nowhere, so the fault did nothing"
        if len(self.calls) < 10:
            yield f"{self.words()}: only {len(self.calls)} calls were made"
        if self.failed_before:
            yield f"{self.words()}: {self.failed_before} calls failed before the fault"
        if self.cell["caller"] != 0:
            yield f"{self.words()}: the caller ended with {self.cell['caller']}"
        for node, ticks in sorted(self.ticks.items()):
            ticks = [self.begin, *(tick for tick in ticks if self.begin <= tick <= self.end), self.end]
            if any(after - before > HOLE for before, after in zip(ticks, ticks[1:])):
                yield f"{self.words()}: there are holes in the samples of {node}"


class Past:
    def __init__(self, run, nodes, calls, etcd):
        """`nodes` by GROUP-NODE, `calls` by group."""
        self.run = run
        committed = collections.defaultdict(list)
        for event in sorted(etcd, key=lambda event: event["rev"]):
            _, _, _, group, kind, *name = event["key"].split("/") + [""] * 5
            if kind == "shards" and event["type"] == "PUT":
                record = records.leadership(event["value"], int(name[0]))
                committed[group].append((int(name[0]), event["at"], record and record["leader"], record and record["reason"]))
        self.cells = []
        for cell in run["cells"]:
            group = cell["group"]
            own = {process[len(group) + 1:]: lines for process, lines in nodes.items() if process.rpartition("-")[0] == group}
            self.cells.append(Cell(cell, run, own, calls.get(group, ()), committed[group]))

    def of(self, name, guard):
        return [cell for cell in self.cells if cell.name == name and cell.guard == guard]


def load(folder):
    folder = pathlib.Path(folder)

    def all_in(name):
        return {path.stem: list(history.lines_of(path)) for path in (folder / name).glob("*.jsonl")}
    etcd = list(history.lines_of(folder / "etcd.jsonl"))
    return Past(json.loads((folder / "run.json").read_text()), all_in("nodes"), all_in("writers"), etcd)


def violations(past):
    for cell in past.cells:
        yield from cell.violations()


def invalid(past):
    """Why the run proves nothing."""
    for error in past.run["errors"]:
        yield f"not everything was carried out: {error}"
    for name, row in ROWS.items():
        for guard in ("on", "off"):
            if len(past.of(name, guard)) < past.run["options"]["count"] and name not in past.run["skipped"]:
                yield f"{row.words}, guard {guard}: {len(past.of(name, guard))} passes of {past.run['options']['count']}"
    for cell in past.cells:
        yield from cell.invalid()


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def time_of(seconds, percent):
    """None counts as the least: nothing changed; -1 as the most."""
    value = percentile([-1 if each is None else float("inf") if each == -1 else each for each in seconds], percent)
    return "no change" if value < 0 else f"{value:.3f}" if value < 1 else f"{value:.1f}" if value < 1e6 else "not in time"


def table(past):
    yield ("| fault | guard | times | all led again after, s: median | p99 | also activated: p99 | a shard without a leader, s: "
           "longest | leaderships changed: median | most | calls failed | of | promised | held |")
    yield "| --- | --- |" + " ---: |" * 9 + " --- | --- |"
    for name, row in ROWS.items():
        for guard in ("on", "off"):
            cells = past.of(name, guard)
            if not cells:
                yield f"| {row.words} | {guard} | 0 |" + " - |" * 10
                continue
            led = [cell.led_after() for cell in cells]
            activated = [cell.led_after(activated=True) for cell in cells]
            changed = [len(cell.changed) for cell in cells]
            broken = sum(any(True for _ in cell.violations()) for cell in cells)
            yield f"| {row.words} | {guard} | {len(cells)} | " + " | ".join(map(str, (
                time_of(led, 50), time_of(led, 99), time_of(activated, 99),
                time_of([cell.longest_gap() for cell in cells], 100), percentile(changed, 50),
                max(changed), sum(cell.failed for cell in cells), sum(len(cell.calls) for cell in cells),
                cells[0].promise.words, f"no, {broken} times" if broken else "yes"))) + " |"


def summary(past, found):
    overlaps = [seconds for cell in past.cells for *_, seconds in cell.overlaps()]
    yield "seed", past.run["options"]["seed"]
    yield "TTL, s; shards of each group; nodes", f"{past.run['ttl']}; {past.run['shards']}; 3"
    yield "passes; cells", f"{past.run['options']['count']}; {len(past.cells)}"
    yield "skipped", ", ".join(past.run["skipped"]) or "nothing"
    yield "cells besides those of etcd's members in which etcd elected a leader", sum(
        cell.cell["elected"] for cell in past.cells if not cell.name.startswith("etcd_"))
    yield "times at which two led a shard, as etcd ended a session early; the longest, s", (
        f"{len(overlaps)}, {max(overlaps, default=0):.2f}")
    yield "violations", len(found)
