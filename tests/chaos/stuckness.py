"""Judges what stuck shards cost the others: see README.md. Pure: a run's files in, words out.

A shard's leaderless time is what no node's samples cover in which it leads the shard and has activated it. After a death most
of it is the wait for the lease, which etcd ends up to a third of the TTL and half a second sooner or later, by chance. So both
groups are charged with the same wait, that of the group without stuck shards, and compared by that and by their own rest. The
rest has a bound of its own, too: it is short, so that much more of it would be lost beside the wait.
"""
import collections
import json
import pathlib

SECOND = 10**9
KINDS = {0: "slow start", 20: "stuck start", 40: "slow stop", 60: "stuck stop", 80: "throwing start"}  # as in stuck_node.cc
# Their leaders' words about them. A stuck stop is named by a line of the log, and by the status of the node that has not finished
# to stop it; and if its shard comes back to that node, as a stuck start.
NAMED = {"stuck start": "still runs", "throwing start": "its data can't be read"}
MAY_BE_NAMED = {**NAMED, "stuck stop": "still runs"}
GRACE = 1.0  # seconds, for a line to reach the log, and for a handoff's write
REST_TIMES, REST_MORE = 1.5, 0.5  # the rest beside stuck shards is at most so many times that without them, and these seconds


def kind_of(shard):
    return KINDS.get(shard % 100, "good")


def is_good(shard):
    return kind_of(shard) == "good"


def spans_of(lines, activated):
    """(shard, from, to) of each leadership that a process's samples show: the sides that prove the least. With `activated` only
    of those that the application had taken up."""
    spans, led, last = [], {}, 0
    for line in lines:
        if "t" not in line:
            continue
        before, after = line["t"]
        for shard, term, taken_up in line.get("leads", ()):
            now = term if taken_up or not activated else 0
            if shard in led and led[shard][0] != now:
                spans.append((shard, led.pop(shard)[1], last))
            if now and shard not in led:
                led[shard] = (now, after)
        last = before
    return spans + [(shard, begin, last) for shard, (_, begin) in led.items()]


class Group:
    """One of the two groups: `nodes` has the lines of its processes, by name (GROUP-NODE.NUMBER)."""

    def __init__(self, phase, nodes, etcd, shards):
        self.phase, self.name, self.shards = phase, phase["name"], shards
        self.last_sample = {process: max((line["t"][0] for line in lines if "t" in line), default=0)
                            for process, lines in nodes.items()}
        self.releases = [(process, line["shard"], line["at"]) for process, lines in nodes.items() for line in lines
                         if line.get("event") == "releasing"]
        self.spans, self.served = collections.defaultdict(list), collections.defaultdict(list)
        for process, lines in nodes.items():
            for shard, begin, end in spans_of(lines, activated=False):
                self.spans[shard].append((begin, end, process))
            for shard, begin, end in spans_of(lines, activated=True):
                self.served[shard].append((begin, end))
        prefix = f"/baton/v1/{self.name}/members/"
        self.ended_sessions = [(event["key"][len(prefix):], event["at"]) for event in etcd
                               if event["key"].startswith(prefix) and event["type"] == "DELETE"]
        self.good = [shard for shard in range(shards) if is_good(shard)]

    def gaps(self, shard):
        """(from, to) of each time in the phase at which no node led it, activated."""
        at, end, found = self.phase["begin"], self.phase["end"], []
        for begin, until in sorted(self.served[shard]):
            if begin > at:
                found.append((at, min(begin, end)))
            at = max(at, until)
            if at >= end:
                return found
        return found + [(at, end)]

    def waits(self):
        """(from, to): from the kill of a node to the end of its lease."""
        found = []
        for step in self.phase["steps"]:
            if step["kind"] == "kill":
                ends = [at for node, at in self.ended_sessions if node == step["node"] and step["begin"] < at < step["end"]]
                found.append((step["begin"], min(ends, default=step["end"])))
        return found

    def leaderless(self):
        """(waiting for leases, the rest), in seconds a good shard."""
        waits, waiting, whole = self.waits(), 0, 0
        for shard in self.good:
            for begin, end in self.gaps(shard):
                whole += end - begin
                waiting += sum(max(0, min(end, to) - max(begin, since)) for since, to in waits)
        return waiting / SECOND / len(self.good), (whole - waiting) / SECOND / len(self.good)

    def lost_leases(self):
        """Sessions that ended though nobody ended their node. A step ends one session of its node, not the next one, too."""
        struck = set()
        for node, at in self.ended_sessions:
            step = next((number for number, step in enumerate(self.phase["steps"])
                         if step["node"] == node and step["kind"] in ("kill", "stop") and step["begin"] <= at <= step["end"]
                         and number not in struck), None)
            if step is not None:
                struck.add(step)
            elif self.phase["begin"] <= at <= self.phase["end"]:
                yield f"group {self.name}: the session of {node} ended at {at}, and nobody had ended the node"

    def two_leaders(self):
        for shard, spans in self.spans.items():
            spans = sorted(spans)
            for (_, end, process), (begin, _, other) in zip(spans, spans[1:]):
                if begin < end and process != other:
                    yield f"group {self.name}: shard {shard} was led by {process} and {other} at {begin}"

    def unnamed(self):
        """Stuck shards that nobody names, and good ones that are named."""
        wanted = {shard for shard in range(self.shards) if kind_of(shard) in NAMED} if self.name == "with" else set()
        for shard in sorted(wanted - {shard for shard, _ in self.phase["failing"]}):
            yield f"group {self.name}: shard {shard} ({kind_of(shard)}) is not listed as failing"
        for shard, error in self.phase["failing"]:
            words = MAY_BE_NAMED.get(kind_of(shard))
            if self.name != "with" or words is None or words not in error:
                yield f"group {self.name}: shard {shard} ({kind_of(shard)}) is listed as failing: {error}"
        failing = {shard for shard, _ in self.phase["failing"]}
        for process, shard, at in self.releases:
            said = self.phase["stopping"].get(process)
            if said is None:
                continue  # it ended before
            # The release times out, the shard is handed over, and `lost` exceeds its bound, too.
            late = at + (2 * self.phase["callback_timeout"] + GRACE) * SECOND
            if said["at"] > late and shard not in said["shards"] and shard not in failing:
                yield f"group {self.name}: the status of {process} does not name shard {shard} as stopping"
        for process, shard, at in self.releases:
            late = at + (self.phase["callback_timeout"] + GRACE) * SECOND
            if self.last_sample[process] > late and shard not in self.phase["timed_out"].get(process, ()):
                yield f"group {self.name}: {process} does not say that the release of shard {shard} timed out"


class Past:
    def __init__(self, run, nodes, etcd):
        self.run = run
        self.groups = {phase["name"]: Group(phase, {process: lines for process, lines in nodes.items()
                                                    if process.startswith(phase["name"] + "-")}, etcd, run["shards"])
                       for phase in run["phases"]}


def load(folder):
    folder = pathlib.Path(folder)

    def lines(path):
        with open(path, encoding="ascii") as file:
            return [json.loads(line) for line in file]
    return Past(json.loads((folder / "run.json").read_text()), {path.stem: lines(path) for path in
                                                                (folder / "nodes").glob("*.jsonl")}, lines(folder / "etcd.jsonl"))


def charged(past):
    """Seconds that a good shard was without a leader, in both groups, with the same wait for leases."""
    waiting, rest = past.groups["without"].leaderless()
    return waiting + rest, waiting + past.groups["with"].leaderless()[1]


def violations(past):
    for group in past.groups.values():
        yield from group.lost_leases()
        yield from group.two_leaders()
        yield from group.unnamed()
        for process in group.phase["ended_by_themselves"]:
            yield f"{process} ended by itself"
    without, with_stuck = charged(past)
    bound = past.run["options"]["bound"]
    if with_stuck > without * (1 + bound):
        yield (f"beside stuck shards a good one was without a leader for {with_stuck:.3f} s, without them for {without:.3f} s: "
               f"{bound:.0%} more are allowed")
    rest, with_rest = (past.groups[name].leaderless()[1] for name in ("without", "with"))
    if with_rest > REST_TIMES * rest + REST_MORE:
        yield (f"beside stuck shards a good one was without a leader for {with_rest:.3f} s apart from the waits for leases, "
               f"without them for {rest:.3f} s: {REST_TIMES} times that and {REST_MORE} s are allowed")


def invalid(past):
    """Why the run proves nothing."""
    without, with_stuck = (past.groups[name] for name in ("without", "with"))
    kinds = collections.Counter(step["kind"] for step in with_stuck.phase["steps"])
    for kind in ("kill", "stop", "drain"):
        if not kinds[kind]:
            yield f"no step was a {kind}"
    if [(step["kind"], step["node"]) for step in without.phase["steps"]] != \
            [(step["kind"], step["node"]) for step in with_stuck.phase["steps"]]:
        yield "the two groups did not go through the same steps"
    for group in (without, with_stuck):
        if len(set(group.phase["raft_terms"])) > 1:
            yield f"etcd elected a leader in group {group.name}, so that leases may have been lost for want of one"
    if not with_stuck.releases:
        yield "no shard that never finishes to stop was asked to stop"
    if without.leaderless()[0] == 0:
        yield "nobody waited for a lease"


def summary(past, found):
    without, with_stuck = (past.groups[name] for name in ("without", "with"))
    yield "TTL, s", past.run["ttl"]
    yield "seed", past.run["options"]["seed"]
    yield "shards; of these misbehave in one group", f"{past.run['shards']}; {past.run['shards'] - len(without.good)}"
    for group in (without, with_stuck):
        steps = group.phase["steps"]
        kinds = collections.Counter(step["kind"] for step in steps)
        yield f"group {group.name}: minutes; kills, stops, drains", (
            f"{(group.phase['end'] - group.phase['begin']) / 60 / SECOND:.1f}; {kinds['kill']}, {kinds['stop']}, {kinds['drain']}")
        waiting, rest = group.leaderless()
        yield f"group {group.name}: seconds a good shard was without a leader: waiting for leases, the rest", (
            f"{waiting:.3f}, {rest:.3f}")
        yield f"group {group.name}: leases lost", len(list(group.lost_leases()))
        longest = max((end - begin for shard in group.good for begin, end in group.gaps(shard)), default=0)
        yield f"group {group.name}: the longest time a good shard was without a leader, s", f"{longest / SECOND:.2f}"
    one, other = charged(past)
    yield "with the same wait for leases: without stuck shards, with them, more by (allowed)", (
        f"{one:.3f}, {other:.3f}, {other / one - 1:+.1%} ({past.run['options']['bound']:.0%})" if one else "-")
    listed = collections.Counter(kind_of(shard) for shard, _ in with_stuck.phase["failing"])
    yield "listed as failing, with the error: stuck starts, throwing starts, stuck stops", (
        ", ".join(str(listed[kind]) for kind in MAY_BE_NAMED))
    yield "releases that never returned, lines that say so", (
        f"{len(with_stuck.releases)}, {sum(map(len, with_stuck.phase['timed_out'].values()))}")
    said = with_stuck.phase["stopping"].values()
    yield "shards that the last processes' statuses name as stopping", sum(len(one["shards"]) for one in said)
    yield "violations", len(found)
