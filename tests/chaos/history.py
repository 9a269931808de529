"""The files of a run, in the form in which it is judged. All times are nanoseconds of the host's CLOCK_BOOTTIME.

A span is a row of samples of one process in which Leads() was true of a shard with one term. Each sample holds for some
instant between the times before and after it: `first_known` and `last` are the sides that prove the least.
"""
import collections
import dataclasses
import json
import pathlib

import records

SECOND = 10**9
MARGIN = 0.05  # of the lease, before which a node stops
STATUS_AGE = SECOND // 20  # a node's answer shows what was true at most so long before it was asked


@dataclasses.dataclass
class Span:
    process: str
    shard: int
    term: int
    first: int  # before the first sample
    first_known: int  # after it
    last: int = 0  # before the last sample
    activated: int = 0  # after the first sample with `acquired` returned; 0: none

    @property
    def node(self):
        return self.process.partition(".")[0]


def _renewal(status):
    """(not earlier than, not later than, how many confirmed so far) of the last one when the status was made."""
    if not status["session"]:
        return None
    return status["asked"] - STATUS_AGE - status["renewal_age"], status["at"] - status["renewal_age"], status["confirmed"]


class Samples:
    """Reads one process's lines in order."""

    def __init__(self, process, ttl):
        self.process, self.ttl = process, ttl
        self.open, self.spans, self.events, self.late = {}, [], [], []
        self.renewals, self.status_at = [], 0  # as the last three statuses show them
        self.waiting, self.judged = [], []  # samples with a leader since the last status, and since the one before
        self.count = 0

    def take(self, line):
        if "t" in line:
            self._sample(line)
        elif line["event"] == "status":
            self._status(line)
        else:
            self.events.append({"process": self.process, "node": self.process.partition(".")[0], "phase": "", **line})

    def _sample(self, line):
        before, after = line["t"]
        self.count += 1
        for shard, term, activated in line.get("leads", ()):
            span = self.open.get(shard)
            if span and (term != span.term):
                self._close(shard)
                span = None
            if term and not span:
                span = self.open[shard] = Span(self.process, shard, term, before, after)
            if term and activated and not span.activated:
                span.activated = after
        for span in self.open.values():
            span.last = before
        if self.open:
            self.waiting.append((before, after))

    def _status(self, line):
        """Samples are judged at the second status after them, which was made after them: an earlier one may miss a
        renewal that has just made the node lead again. A renewal may be seen too late to be told from the next: so many
        were confirmed, and where one was not seen nothing is judged."""
        if line["asked"] - STATUS_AGE <= self.status_at:
            return  # it may show what the one before showed: asked of a loop that stalled, many answer at once
        self.renewals = [*self.renewals[-2:], _renewal(line)]
        if None not in self.renewals and all(after[2] - before[2] <= 1
                                             for before, after in zip(self.renewals, self.renewals[1:])):
            longest = line["ttl_ms"] * 10**6 * (1 - MARGIN) + SECOND // 10
            for before, after in self.judged:
                ended = before - max((latest for earliest, latest, _ in self.renewals if earliest <= after), default=before)
                if ended > longest:
                    self.late.append((self.process, before, line["at"], int(ended - longest)))
                    break
        self.judged, self.waiting, self.status_at = self.waiting, [], line["at"]

    def _close(self, shard):
        self.spans.append(self.open.pop(shard))

    def end(self):
        for shard in list(self.open):
            self._close(shard)


class History:
    def __init__(self, parts):
        """`parts`: run, etcd, nodes (by process), writes, accepted, entries, views, final, told (by batond), footprints; all
        as parsed JSON."""
        self.run = parts["run"]
        self.ttl = self.run["ttl"] * SECOND
        self.shards = self.run["shards"]
        self.writes = sorted(parts["writes"], key=lambda line: line["t"][1])
        self.accepted, self.entries = parts["accepted"], parts["entries"]
        self.views, self.final = parts["views"], parts["final"]
        self.told = parts["told"]
        self.footprints = parts["footprints"]
        self.etcd = sorted(parts["etcd"], key=lambda event: (event["rev"], event["key"]))
        self.overlaps = {"ended early": [], "by hand": []}  # lengths, by cause: of a session, of a record
        self.events, self.late_samples, self.samples = [], [], 0
        self._spans = collections.defaultdict(list)
        for process, lines in sorted(parts["nodes"].items()):
            samples = Samples(process, self.ttl)
            for line in lines:
                samples.take(line)
            samples.end()
            self.events += samples.events
            self.late_samples += samples.late
            self.samples += samples.count
            for span in samples.spans:
                self._spans[span.shard].append(span)

    def spans(self, shard):
        return self._spans[shard]

    def revisions(self):
        events = []
        for event in self.etcd:
            if events and events[0]["rev"] != event["rev"]:
                yield events[0]["rev"], events
                events = []
            events.append(event)
        if events:
            yield events[0]["rev"], events

    def holes(self):
        """Holes in the watch of etcd: with one, nothing can be judged."""
        versions, state = {}, {}
        for event in self.etcd:
            key, at_rest = event["key"], event["rev"] <= self.final["revision"]
            before = versions.get(key, 0)
            if event["type"] == "DELETE":
                versions[key] = 0
                if at_rest:
                    state.pop(key, None)
                if before == 0:
                    yield f"{key} was deleted at {event['rev']}, and its put was not seen"
            else:
                if event["version"] != before + 1:
                    yield f"{key} has version {event['version']} at {event['rev']}, after {before}"
                versions[key] = event["version"]
                if at_rest:
                    state[key] = event["rev"]
        for key in self.final["keys"]:
            if state.get(key["key"]) != key["rev"]:
                yield f"{key['key']} is of revision {key['rev']} at the end, its last change seen of {state.get(key['key'])}"

    # Excuses by faults.
    def _windows(self, *kinds):
        for fault in self.run["faults"]:
            for kind in kinds:
                yield from fault[kind]

    def void(self, node, begin, end):
        """I1 does not hold for a node whose clock is beyond the bound."""
        return any(window["node"] == node and window["from"] <= end and begin <= window["to"]
                   for window in self._windows("void"))

    def clock_is_wrong(self, node, begin, end):
        """At any time of these, or a TTL before."""
        return any(window["node"] == node and window["from"] <= end and begin <= window["to"] + self.ttl
                   for window in self._windows("void", "clocks"))

    def may_end_early(self, node, at):
        """Whether it was said that a session of the node may end before its time, then."""
        after = self.ttl + 3 * SECOND
        for fault in self.run["faults"]:
            if fault["may_end_early"] and fault["begin"] <= at <= fault["end"] + after:
                return True
            for early in fault["early"]:
                if early.get("node", node) == node and early.get("group", "kv") == "kv" and "shard" not in early and \
                        early["at"] - SECOND <= at <= early["at"] + after:
                    return True
        return False

    # Measured times.
    def gaps(self, shard):
        """When nobody led the shard, activated, from the first fault to the end of the last one's recovery."""
        covered = self.run["begin"]
        for span in sorted(self.spans(shard), key=lambda span: span.activated or span.last):
            if not span.activated or span.last < covered:
                continue
            if span.activated > covered and covered < self.run["quiet"]:
                yield covered, min(span.activated, self.run["quiet"])
            covered = max(covered, span.last)
        if covered < self.run["quiet"] - SECOND:
            yield covered, self.run["quiet"]

    def moves_needed(self, replay, group, since):
        """To balance what was there at that revision; moves under way then count, too."""
        counts = collections.Counter()
        for (of, shard), changes in replay.changes.items():
            newest = max((revision for revision, _ in changes if revision <= since), default=None)
            record = replay.terms.get((of, shard), {}).get(newest)
            if of == group and record and record["leader"]:
                counts[record["leader"]] += 1
        moves = {}
        for event in self.etcd:
            if event["key"].startswith(f"/baton/v1/{group}/moves/") and event["rev"] <= since:
                moves[event["key"]] = event["type"] == "PUT" and records.move(event["value"])
        nodes = [f"n{number + 1}" for number in range(self.run["nodes"])]
        floor, more = divmod(sum(counts.values()), len(nodes))
        # Those with the most keep the seats that are left over.
        targets = [floor + (place < more) for place in range(len(nodes))]
        held = sorted((counts[node] for node in nodes), reverse=True)
        return sum(max(0, has - target) for has, target in zip(held, targets)) + 2 * sum(bool(move) for move in moves.values())

    def leadership_changes(self, replay):
        return sum(len(changes) for changes in replay.changes.values())


def lines_of(path):
    """A process that was killed may have left half a line."""
    if path.exists():
        with open(path, encoding="ascii") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)


def load(folder):
    folder = pathlib.Path(folder)

    def whole(name):
        return json.loads((folder / name).read_text(encoding="ascii"))
    return History({
        "run": whole("run.json"), "views": whole("views.json"), "final": whole("final.json"),
        "etcd": lines_of(folder / "etcd.jsonl"), "accepted": list(lines_of(folder / "accepted.jsonl")),
        "entries": list(lines_of(folder / "entries.jsonl")), "writes": lines_of(folder / "writers" / "writer.jsonl"),
        "footprints": list(lines_of(folder / "footprints.jsonl")),
        "told": {path.stem: json.loads(path.read_text(encoding="ascii")) for path in (folder / "plain").glob("*.json")},
        "nodes": {path.name.removesuffix(".jsonl"): lines_of(path) for path in (folder / "nodes").glob("*.jsonl")},
    })
