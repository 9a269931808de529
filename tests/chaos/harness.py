"""A run from its plan to what it leaves for the checker: see README.md for the files."""
import dataclasses
import json

import random
import sqlite3
import threading
import time

import bounds
import deployment
import nemeses
import world
from deployment import HOSTS, HTTP, node_of


@dataclasses.dataclass
class Options:
    seed: int
    minutes: float
    only: tuple = ()
    without: tuple = ()
    ttl: int = 3
    shards: int = 24
    rate: int = 60  # writes a second
    build: str = ""
    case: str = "mixed"
    count: int = 0
    remembered: int = 10000  # transitions that each node keeps in memory
    kept_revisions: int = 0  # by etcd, which compacts the others; 0: all
    through: tuple = ()  # folders with one etcd each, for an upgrade
    minima: dict = dataclasses.field(default_factory=dict)


def bound_of(options):
    """When all is led again at the latest, once nothing is wrong: etcd may lose its leader once, and the brake may hold."""
    return bounds.of_a_leader(options.ttl) + deployment.SETTLE


def plan(options, able):
    """Steps of nemeses that strike together, without end: alone, in pairs, in threes. And what is left out, and why."""
    generator = random.Random(options.seed)
    wanted = [name for name in sorted(nemeses.NEMESES) if (not options.only or name in options.only)
              and name not in options.without]
    skipped = {name: sorted(nemeses.NEMESES[name].needs - able) for name in wanted
               if not nemeses.NEMESES[name].needs <= able}
    names = [name for name in wanted if name not in skipped]

    def steps():
        size = 0
        while True:
            bag = names[:]
            generator.shuffle(bag)
            if "freeze_leaders_disk" in bag and size == 0:  # what it shows must be seen in each run
                bag.remove("freeze_leaders_disk")
                bag.append("freeze_leaders_disk")
            while bag:
                step = [bag.pop() for _ in range(min(len(bag), size % 3 + 1))]
                yield [(name, random.Random(generator.getrandbits(64))) for name in step]
                size += 1
    return steps() if names else iter(()), skipped


def record_of(fault, step):
    """The part of a fault that the checker reads, and of the step that it was part of."""
    kept = ("name", "targets", "begin", "end", "hits", "notes", "early", "void", "tampered", "clocks")
    return {**{name: getattr(fault, name) for name in kept}, **step}


class Run:
    def __init__(self, the_world, options, say):
        self.world, self.options, self.say = the_world, options, say
        self.there = deployment.Deployment(the_world, options)
        self.stop = threading.Event()
        self.faults = []
        self.record = {"options": dataclasses.asdict(options), "bound": bound_of(options), "ttl": options.ttl,
                       "world": "namespaces" if the_world.namespaces else "loopback", "shards": options.shards,
                       "nodes": len(HOSTS), "faults": [], "unexpected": [], "footprints": [],
                       "errors": [], "skipped": {}, "without_v1": sorted(the_world.without_v1), "revived": []}

    def go(self):
        self.there.start()
        self.record["begin"] = world.now()
        self.say(f"all is led; {self.options.minutes:g} minutes of faults begin, seed {self.options.seed}")
        steps, self.record["skipped"] = plan(self.options, self.world.able)
        for name, needs in self.record["skipped"].items():
            self.say(f"skipped: {name} (no {', '.join(needs)}: {'; '.join(self.world.why_not.get(n, '') for n in needs)})")
        ends = time.monotonic() + 60 * self.options.minutes
        for step in steps:
            if time.monotonic() > ends or self.stop.is_set():
                break
            self.strike(step)
        self.record["end"] = world.now()
        self.finish()

    def strike(self, step):
        faults = [nemeses.Fault(self.there, name, generator) for name, generator in step]
        striker = nemeses.Striker(self.there, self.stop)
        striker.strike(faults)
        ended = world.now()
        extra = sum(nemeses.NEMESES[name].extra for name, _ in step)
        recovered = self.recovers(self.record["bound"] + extra)
        # So that what follows meets a group at rest, most of the time.
        for fault in faults:
            took = f"{(recovered - ended) / 1e9:.1f} s" if recovered else "NOT"
            self.say(f"{fault.name:24} {','.join(fault.targets):12} {(fault.end - fault.begin) / 1e9:5.1f} s, "
                     f"{fault.hits:6} hits, recovered {took} {'; '.join(fault.notes)}")
            self.record["faults"].append(record_of(fault, {
                "with": [name for name, _ in step if name != fault.name], "step_end": ended, "recovered": recovered,
                "may_end_early": nemeses.NEMESES[fault.name].early, "allowed": self.record["bound"] + extra}))
        self.record["errors"] += striker.errors
        self.undo_revived()
        for ended_one in self.there.ended_by_themselves():
            self.say(f"ENDED BY ITSELF: {ended_one}")
            host = "h" + ended_one["process"].partition("n")[2][:1]
            if ended_one["process"].startswith("kv-n"):
                self.there.start_kv(host)
            elif ended_one["process"].startswith("batond-n"):
                self.there.start_plain(host)
        self.record["footprints"].append([world.now(), self.there.footprint()])

    def undo_revived(self):
        """Drains that are there after they were undone, as an operator would, who sees it. Whether there were any. One
        whose answer never came may be carried out at any time (docs/decisions/04-guards-and-unknown-outcomes.md); of others none may."""
        revived = [key for key in self.there.reader.live("/baton/v1/") if "/policy/drain/" in key]
        for key in revived:
            port = deployment.KV if key.split("/")[3] == "kv" else deployment.PLAIN
            answered = (port, key.rsplit("/", 1)[1]) not in self.there.drains_unanswered
            self.record["revived"].append([world.now(), key, answered])
            self.say(f"a drain came back: {key}")
            world.until("it is undone", lambda port=port, node=key.rsplit("/", 1)[1]: any(self.there.ctl(
                f"{self.world.address(host)}:{port}", "--timeout", "5s", "nodes", "undrain", node) in (0, 4) for host in HOSTS))
        return bool(revived)

    def recovers(self, bound):
        """When all was led again; None: not within far more than the bound."""
        try:
            world.until("all is led", self.there.all_led, 2 * bound + 10)
            return world.now()
        except world.Unmet:
            return None

    def all_are_members(self):
        keys = set(self.there.reader.live("/baton/v1/"))
        return all(f"/baton/v1/{group}/members/{node_of(host)}" in keys for group in ("kv", "plain") for host in HOSTS)

    # At the end.
    def finish(self):
        there = self.there
        code = there.writer.terminate()
        if code != 0:
            self.record["unexpected"].append({"process": "writer", "code": code})
        try:
            # A node that joins later makes moves that no fault needs.
            world.until("all nodes are members", self.all_are_members)
        except world.Unmet:
            pass  # the judge sees sessions that end, and moves
        self.record["quiet"] = world.now()
        self.record["rested"] = True
        try:
            world.until("the views of all agree, balanced, and nothing moves", self.at_rest)
        except world.Unmet:
            self.record["rested"] = False
        self.record["rest"] = world.now()
        self.write("views.json", self.views_or_nothing())
        keys, revision = there.cluster.all()
        self.write("final.json", {"revision": revision, "keys": [key for key in keys if key["key"].startswith("/baton/v1/")]})
        for host in HOSTS:
            try:
                self.write(f"plain/{node_of(host)}.json", self.told_by(host))
            except OSError as error:
                self.record["errors"].append(f"events of {host}: {error}")
        self.record["exits"] = {process.name: process.terminate() for host in HOSTS for process in there.processes(host)}
        keys, _ = there.cluster.all()
        newest = max(key["rev"] for key in keys if key["key"].startswith("/baton"))
        world.until("the reader has all", lambda: there.reader.revision >= newest, 30)
        self.record["unexpected"] += there.unexpected
        there.tail.stop()
        there.reader.stop()
        self.export_store()
        self.write("run.json", self.record)

    def told_by(self, host):
        """All that its batond still knows of, since it was started."""
        told, last = [], 0
        while True:
            page = deployment.fetch(f"http://{self.world.address(host)}:{HTTP}/v1/events?after={last}&limit=1000")["events"]
            if not page:
                return told
            told += [event for event in page if "change" not in event]
            last = page[-1]["seq"]

    def views_or_nothing(self):
        try:
            return self.there.views()
        except (OSError, ValueError) as error:
            self.record["errors"].append(f"views: {error}")
            return {}

    def at_rest(self):
        if not self.there.all_led() or self.undo_revived():
            return False
        if any("/moves/" in key for key in self.there.reader.live("/baton/v1/")):
            return False
        try:
            views = self.there.views()
        except (OSError, ValueError):
            return False
        for group in ("kv", "plain"):
            of_group = [view for name, view in views.items() if name.startswith(group)]
            if any(view != of_group[0] for view in of_group):
                return False
            counts = [sum(leader == node_of(host) for leader, _ in of_group[0]) for host in HOSTS]
            if max(counts) - min(counts) > 1:
                return False
        return True

    def write(self, name, what):
        with open(self.world.folder / name, "w", encoding="ascii") as file:
            json.dump(what, file)

    def export_store(self):
        """Writes down what the resource accepted, in its own order, and what it holds."""
        with open(self.world.folder / "accepted.jsonl", "w", encoding="ascii") as accepted, \
                open(self.world.folder / "entries.jsonl", "w", encoding="ascii") as entries:
            for shard in range(self.options.shards):
                store = sqlite3.connect(self.world.folder / "store" / f"shard-{shard}.db")
                for place, request, answer, term, node, at in store.execute(
                        "SELECT place, id, answer, term, node, at FROM accepted ORDER BY place"):
                    accepted.write(json.dumps({"shard": shard, "place": place, "id": request, "answer": answer,
                                               "term": term, "node": node, "at": at}) + "\n")
                for key, value in store.execute("SELECT key, value FROM entries"):
                    entries.write(json.dumps({"shard": shard, "key": key, "value": value}) + "\n")
                store.close()


