"""The matrix: each fault of `matrix_faults.py` strikes a group whose nodes have guards, and a group whose nodes have none.

Both groups are new for each fault, since shards whose leaders died twice in a minute wait for their next leader. They run on
the same hosts, and a fault strikes the same host's node of both. `matrix.py` judges what that cost.
"""
import dataclasses
import json
import pathlib
import random
import shutil
import time

import deployment
import etcd
import matrix
import matrix_faults
import world
from deployment import KV, MEMBERS, node_of

HOSTS = ("h1", "h2", "h3")
PORTS = {"on": KV, "off": KV + 100}
DISK = "64M"  # of a host: for its nodes' state
QUIET = 1.0  # seconds without a change: more than the delay of balance
CALLS = 30  # that a router must have answered before a fault
LINGERS = 0.5  # seconds that a group is watched after it has recovered, and after the fault was mended


@dataclasses.dataclass
class Options:
    seed: int
    count: int  # passes
    ttl: int
    build: str
    shards: int = 300
    rate: int = 60  # calls a second through a router, of each group
    case: str = "matrix"
    kept_revisions: int = 0
    remembered: int = 1000


class Container:
    """The control groups of a node and its guard."""

    def __init__(self, the_world, name):
        self.folders, self._memory, self._kill = [], None, None
        the_world.attempt("cgroup.kill", lambda: self._join_v2(the_world, name))
        the_world.attempt("memory", lambda: self._join_memory(the_world, name))

    def _join_v2(self, the_world, name):
        folder = the_world.top_group("v2") / name
        folder.mkdir()
        self.folders.append(folder)
        if not (folder / "cgroup.kill").exists():
            raise OSError("this kernel has no cgroup.kill")
        self._kill = folder / "cgroup.kill"

    def _join_memory(self, the_world, name):
        try:
            folder = the_world.top_group("memory") / name
            folder.mkdir()
            self.folders.append(folder)
            self._memory = (folder / "memory.usage_in_bytes", folder / "memory.limit_in_bytes", "-1")
        except world.NotMounted:
            top = the_world.top_group("v2")
            for folder in (top.parent, top):
                (folder / "cgroup.subtree_control").write_text("+memory")
            self._memory = (top / name / "memory.current", top / name / "memory.max", "max")

    def limit(self, more):
        """To so many bytes more than what is used now."""
        usage, limit, _ = self._memory
        limit.write_text(str(int(usage.read_text()) + more))

    def unlimit(self):
        _, limit, none = self._memory
        limit.write_text(none)

    def kill(self):
        self._kill.write_text("1")

    def end(self):
        """All that still runs in it: guards, forked children."""
        for folder in self.folders:
            for pid in (folder / "cgroup.procs").read_text().split():
                world.kill(int(pid))


class Deployment(deployment.Deployment):
    """The members of etcd, and disks for the state of nodes."""
    quota = 1 << 30
    hosts = HOSTS

    def start(self):
        self.containers = {(guard, host): Container(self.world, f"{guard}-{host}") for guard in PORTS for host in HOSTS}
        self.world.attempt("fsfreeze", lambda: world.call("fsfreeze", "--version"))
        if self.world.namespaces:
            self.world.attempt("state disk", lambda: [self.world.make_disk(host, DISK) for host in HOSTS])
        for name in MEMBERS:
            self.start_member(name)
        world.until("etcd has a leader", lambda: self.member_answers(MEMBERS[0]))
        self.cluster.learn_ids()
        self.reader = etcd.Reader(self.members, self.folder / "etcd.jsonl")

    def endpoints(self):
        return ",".join(f"{self.world.address(member)}:{deployment.CLIENT}" for member in MEMBERS)

    def raft_term(self):
        return self.cluster.insist("etcd says its term", lambda member: int(member.status()["raftTerm"]))


class Group:
    """Three nodes, with guards or without, and callers that go through a router."""

    def __init__(self, there, guard, name, host):
        self.there, self.guard, self.name = there, guard, name
        self.tail, self.store = deployment.Tail(), there.folder / "store" / name
        self.store.mkdir()
        self.others = []  # pids of processes that must end with the group
        self.changed, self.changed_at = None, 0
        self.nodes = {each: self._start(each) for each in HOSTS}
        self.victim, self.container = self.nodes[host], there.containers[guard, host]
        self.record = {"guard": guard, "group": name, "node": node_of(host)}
        self.calls = there.folder / "writers" / f"{name}.jsonl"
        self.caller = None

    def history(self, host):
        return self.there.folder / "nodes" / f"{self.name}-{node_of(host)}.jsonl"

    def _address(self, host):
        return f"{self.there.world.address(host)}:{PORTS[self.guard]}"

    def _start(self, host):
        there = self.there
        state = there.world.disks.get(host, there.folder / "state") / f"{self.name}-{node_of(host)}"
        self.tail.follow(node_of(host), self.history(host))
        return world.Process(there.world, host, f"{self.name}-{node_of(host)}", [
            there.program("tests/chaos_kv_node"), "--etcd", there.endpoints(), "--group", self.name, "--shards",
            there.options.shards, "--node", node_of(host), "--listen", self._address(host), "--data", self.store, "--ttl",
            there.options.ttl, "--expect-nodes", len(HOSTS), "--state-dir", state, "--remembered", there.options.remembered,
            "--history", self.history(host), *self._guard_flags()],
            groups=there.containers[self.guard, host].folders)

    def _guard_flags(self):
        if self.guard == "off":
            return []
        timeout = matrix.hang_timeout(self.there.options.ttl)
        return ["--guard-program", self.there.program("bin/baton-guard"), "--hang-timeout-ms", int(timeout * 1000)]

    def start_calls(self):
        there = self.there
        self.caller = world.Process(there.world, "c", f"{self.name}-calls", [
            there.program("tests/chaos_writer"), "--group", self.name, "--routes", ",".join(map(self._address, HOSTS)),
            "--clients", "8", "--rate", there.options.rate, "--history", self.calls])

    def calls_answered(self):
        return self.calls.exists() and self.calls.read_bytes().count(b'"code":0') >= CALLS

    def guarded(self):
        return self.guard == "off" or all(guard_of(node.process.pid) for node in self.nodes.values())

    def led(self, without=None):
        """Each shard has one leader, which has activated it; `without`: a node that leads none."""
        leaders = self.tail.leaders()
        return len(leaders) == self.there.options.shards and all(
            len(nodes) == 1 and nodes[0] != without for nodes in leaders.values())

    def at_rest(self):
        leaders = {shard: tuple(nodes) for shard, nodes in self.tail.leaders().items()}
        if leaders != self.changed:
            self.changed, self.changed_at = leaders, time.monotonic()
        counts = [sum(nodes == (node_of(host),) for nodes in leaders.values()) for host in HOSTS]
        return self.led() and max(counts) - min(counts) <= 1 and time.monotonic() - self.changed_at > QUIET

    def adopts(self, pid):
        """A process that must end with the group, also if this one is killed."""
        self.others.append(pid)
        with open(self.there.folder / "pids", "a", encoding="ascii") as pids:
            pids.write(f"{pid}\n")

    def strikes(self):
        self.record["begin"] = world.now()

    def end(self):
        if self.caller:
            self.record["caller"] = self.caller.terminate()
        self.record["ended_by_themselves"] = [node.name for node in self.nodes.values()
                                              if not node.expected and not node.running()]
        for node in self.nodes.values():
            if self.guard == "on" and node.running() and (guard := guard_of(node.process.pid)):
                self.others.append(guard)
        for pid in self.others:
            world.kill(pid)
        for host, node in self.nodes.items():
            node.kill()
            self.there.containers[self.guard, host].end()
        self.tail.stop()
        shutil.rmtree(self.store)


def guard_of(pid):
    """The process of a node's guard; None: it has none now."""
    try:
        children = [child for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
        return next((int(child) for child in children
                     if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "baton-guard"), None)
    except OSError:  # one of them has just ended
        return None


class Cell:
    """One fault and both groups."""

    def __init__(self, run, name, number):
        self.there, self.name = run.there, name
        self.random = random.Random(f"{run.options.seed} {number} {name}")
        self.host = self.random.choice(HOSTS)
        self.dropped = None
        order = self.random.sample(sorted(PORTS), len(PORTS))
        self.groups = [Group(self.there, guard, f"{guard}-{number}", self.host) for guard in order]

    def all_strike(self):
        for group in self.groups:
            group.strikes()

    def recovered(self):
        without = node_of(self.host) if matrix_faults.FAULTS[self.name].loses_its_shards else None
        return all(group.led(without) for group in self.groups)

    def strike(self, ttl):
        function = matrix_faults.FAULTS[self.name]
        harm = function(self)
        try:
            next(harm)
            ends = time.monotonic() + matrix.longest(ttl)
            if not function.loses_its_shards:
                time.sleep(1.2 * ttl)
            while not self.recovered() and time.monotonic() < ends:
                time.sleep(0.02)
            time.sleep(LINGERS)
            for group in self.groups:
                group.record["end"] = world.now()
            next(harm, None)
            time.sleep(LINGERS)
        finally:
            harm.close()


class Run:
    def __init__(self, the_world, options, say):
        self.world, self.options, self.say = the_world, options, say
        self.there = Deployment(the_world, options)
        self.record = {"options": dataclasses.asdict(options), "ttl": options.ttl, "shards": options.shards, "cells": [],
                       "errors": [], "skipped": {}}

    def go(self):
        self.there.start()
        for name, function in matrix_faults.FAULTS.items():
            missing = sorted(function.needs - self.world.able)
            if missing:
                self.record["skipped"][name] = missing
                self.say(f"skipped: {name} (no {', '.join(missing)}: "
                         f"{'; '.join(self.world.why_not.get(need, '') for need in missing)})")
        number = 0
        for turn in range(self.options.count):
            for name in matrix_faults.FAULTS:
                if name not in self.record["skipped"]:
                    number += 1
                    self.cell(name, number, turn)
        self.there.reader.stop()
        with open(self.world.folder / "run.json", "w", encoding="ascii") as file:
            json.dump(self.record, file)

    def cell(self, name, number, turn):
        began = time.monotonic()
        cell, error = Cell(self, name, number), None
        try:
            self.prepare(cell)
            time.sleep(cell.random.uniform(0, self.options.ttl / 3))  # so that faults strike anywhere between two renewals
            before = self.there.raft_term()
            cell.strike(self.options.ttl)
            elected = self.there.raft_term() != before
        except (world.Unmet, OSError, etcd.Refused) as refusal:
            error = f"{name}: {refusal}"
        finally:
            for group in cell.groups:
                group.end()
        if error:
            self.record["errors"].append(error)
            self.say(error)
        else:
            self.record["cells"] += [{"name": name, "pass": turn, "elected": elected, "dropped": cell.dropped, **group.record}
                                     for group in cell.groups]
        self.say(f"{turn + 1}/{self.options.count} {name}: {cell.host}, {time.monotonic() - began:.1f} s")

    @staticmethod
    def prepare(cell):
        for what, holds in (("at rest", Group.at_rest), ("guarded", Group.guarded)):
            for group in cell.groups:
                world.until(f"group {group.name} is {what}", lambda group=group, holds=holds: holds(group))
        for group in cell.groups:
            group.start_calls()
        for group in cell.groups:
            world.until(f"calls of {group.name} are answered", group.calls_answered)
            world.until(f"group {group.name} is at rest", group.at_rest)
